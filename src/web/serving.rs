//! The sockets of the readers: how many may be open, and how long one may be silent. A request that is under way has its time from
//! the router; what comes before it and between two of them is bounded here. Knows HTTP/1 and no page.

use super::again::{Again, Noted};
use super::{WebState, base, gateway, router};
use crate::engine::gateway::standing::Standing;
use axum::Router;
use axum::body::Body;
use axum::extract::ConnectInfo;
use axum::http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower::ServiceExt;

/// A head that is not whole by then, and a kept socket over which nothing more is asked, end: both hold a file descriptor.
const SILENCE: Duration = Duration::from_secs(20);
/// What one socket may hold in memory of a request's head.
const HEAD_BYTES: usize = 64 * 1024;
/// Sockets of readers never take more than this share of the file descriptors: the provider and the file need some.
const SHARE: u64 = 2;
/// However many descriptors a machine has, no site needs more; however few, this many are served.
const MOST: u64 = 4096;
const FEWEST: u64 = 16;
/// After the system refused to accept (no descriptor was left): how long before the next try.
const PAUSE: Duration = Duration::from_millis(200);

const FULL: &str = "{\"type\":\"about:blank\",\"title\":\"Too many open sockets\",\"status\":503,\"detail\":\"As many sockets \
are open as are served. Try again soon.\"}\n";

/// What one listener gives.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    pub sockets: usize,
    pub silence: Duration,
}

impl Bounds {
    /// By the descriptors that this process may open.
    pub fn of_machine() -> Bounds {
        let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current.unwrap_or(u64::MAX);
        let sockets = usize::try_from((limit / SHARE).clamp(FEWEST, MOST)).unwrap_or(FEWEST as usize);
        Bounds { sockets, silence: SILENCE }
    }
}

/// Serves one TCP listener until the state's stop token is cancelled and what was open has ended.
pub async fn serve_tcp(listener: tokio::net::TcpListener, state: WebState, bounds: Bounds) -> io::Result<()> {
    let mut serving = Serving::new(state, bounds);
    while let Some(accepted) = serving.accept(listener.accept()).await {
        if let Some((socket, address)) = accepted {
            // Small answers go out at once.
            let _ = socket.set_nodelay(true);
            serving.serve(socket, Some(address));
        }
    }
    serving.end().await;
    Ok(())
}

/// Serves the unix socket likewise.
pub async fn serve_unix(listener: tokio::net::UnixListener, state: WebState, bounds: Bounds) -> io::Result<()> {
    let mut serving = Serving::new(state, bounds);
    while let Some(accepted) = serving.accept(listener.accept()).await {
        if let Some((socket, _)) = accepted {
            serving.serve(socket, None);
        }
    }
    serving.end().await;
    Ok(())
}

struct Serving {
    router: Router,
    web: WebState,
    stop: CancellationToken,
    places: Arc<Semaphore>,
    silence: Duration,
    open: TaskTracker,
}

impl Serving {
    fn new(state: WebState, bounds: Bounds) -> Serving {
        Serving {
            stop: state.shared.stop.clone(),
            router: router(state.clone()),
            web: state,
            places: Arc::new(Semaphore::new(bounds.sockets)),
            silence: bounds.silence,
            open: TaskTracker::new(),
        }
    }

    /// The next socket; `Some(None)` where the system gave none; `None` at the end.
    async fn accept<T>(&self, next: impl Future<Output = io::Result<T>>) -> Option<Option<T>> {
        tokio::select! {
            () = self.stop.cancelled() => None,
            accepted = next => match accepted {
                Ok(accepted) => Some(Some(accepted)),
                Err(e) => {
                    tracing::warn!("a socket could not be accepted: {e}");
                    tokio::time::sleep(PAUSE).await;
                    Some(None)
                }
            },
        }
    }

    fn serve<S>(&mut self, socket: S, peer: Option<SocketAddr>)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        match self.places.clone().try_acquire_owned() {
            Ok(place) => {
                let (both, stop) = ((self.router.clone(), self.web.clone()), self.stop.clone());
                self.open.spawn(speak(socket, peer, both, stop, self.silence, place));
            }
            Err(_) => turn_away(socket),
        }
    }

    async fn end(self) {
        self.open.close();
        self.open.wait().await;
    }
}

/// One socket, to its end.
async fn speak<S>(
    socket: S,
    peer: Option<SocketAddr>,
    (router, web): (Router, WebState),
    stop: CancellationToken,
    silence: Duration,
    _place: OwnedSemaphorePermit,
) where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let noted = Noted::<Standing>::default();
    let socket = Again::over(socket, noted.clone());
    let service = service_fn(move |request: Request<Incoming>| {
        let (router, web, noted) = (router.clone(), web.clone(), noted.clone());
        async move {
            let mut request = request.map(Body::new);
            if let Some(led) = base::strip(web.base(), &mut request) {
                return Ok(led);
            }
            // Before any router reads the path, and past the layers of pages: an answer from the shelf takes microseconds.
            if gateway::is_for(request.uri().path()) {
                let mut response = gateway::answer(&web, request, peer.map(|peer| peer.ip())).await;
                noted.note(&mut response);
                return Ok(response);
            }
            if let Some(peer) = peer {
                request.extensions_mut().insert(ConnectInfo(peer));
            }
            router.oneshot(request).await
        }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(silence)
        .max_buf_size(HEAD_BYTES)
        .serve_connection(TokioIo::new(socket), service);
    let mut connection = pin!(connection);
    // Whatever a client did to its own socket is nobody else's trouble.
    tokio::select! {
        _ = connection.as_mut() => return,
        () = stop.cancelled() => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}

/// Said where it goes out at once, and closed: who comes when the house is full takes no place.
fn turn_away(mut socket: impl AsyncWrite + Unpin + Send + 'static) {
    tokio::spawn(async move {
        let _ = tokio::time::timeout(Duration::from_secs(1), async {
            let head = "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/problem+json\r\nRetry-After: 5\r\n\
                        Cache-Control: no-store\r\nConnection: close\r\n";
            let answer = format!("{head}Content-Length: {}\r\n\r\n{FULL}", FULL.len());
            socket.write_all(answer.as_bytes()).await?;
            socket.shutdown().await
        })
        .await;
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::web::sample::Sample;
    use crate::web::{Access, WebState};
    use jiff::tz::TimeZone;
    use std::time::Instant;
    use tokio::io::AsyncReadExt;
    use tokio::net::{TcpListener, TcpStream};

    /// Two sockets, half a second of silence.
    async fn small_house() -> (SocketAddr, CancellationToken) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let stop = CancellationToken::new();
        let access = Access::tcp(address, Vec::new());
        let state = WebState::over(Arc::new(Sample::calm()), access, TimeZone::UTC, stop.clone());
        tokio::spawn(serve_tcp(listener, state, Bounds { sockets: 2, silence: Duration::from_millis(500) }));
        (address, stop)
    }

    /// Everything until the other side closes.
    async fn to_the_end(socket: &mut TcpStream) -> String {
        let mut bytes = Vec::new();
        let all = socket.read_to_end(&mut bytes);
        let _ = tokio::time::timeout(Duration::from_secs(20), all).await.expect("the socket is never closed");
        String::from_utf8_lossy(&bytes).into_owned()
    }

    #[tokio::test]
    async fn a_head_that_is_never_whole_and_a_socket_that_says_nothing_more_are_closed() {
        let (address, _stop) = small_house().await;
        for said in ["", "GET / HT", "GET /livez HTTP/1.1\r\nHost: 127.0.0.1\r\nX-A: b\r\n"] {
            let mut socket = TcpStream::connect(address).await.unwrap();
            socket.write_all(said.as_bytes()).await.unwrap();
            let answer = to_the_end(&mut socket).await;
            assert!(!answer.starts_with("HTTP/1.1 200"), "{said:?}: {answer}");
        }
        let mut idle = TcpStream::connect(address).await.unwrap();
        idle.write_all(b"GET /livez HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n").await.unwrap();
        assert!(to_the_end(&mut idle).await.starts_with("HTTP/1.1 200"));
    }

    #[tokio::test]
    async fn a_full_house_says_so_and_takes_the_next_once_there_is_a_place() {
        let (address, _stop) = small_house().await;
        let held = [TcpStream::connect(address).await.unwrap(), TcpStream::connect(address).await.unwrap()];
        // Accepted in order: those two have the places.
        let mut third = TcpStream::connect(address).await.unwrap();
        let answer = to_the_end(&mut third).await;
        assert!(answer.starts_with("HTTP/1.1 503") && answer.contains("Retry-After"), "{answer}");
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.contains(&format!("Content-Length: {}", body.len())), "{head}: {}", body.len());
        assert!(serde_json::from_str::<serde_json::Value>(body).is_ok(), "{body}");
        drop(held);
        let end = Instant::now() + Duration::from_secs(20);
        loop {
            let mut next = TcpStream::connect(address).await.unwrap();
            let _ = next.write_all(b"GET /livez HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n").await;
            if to_the_end(&mut next).await.starts_with("HTTP/1.1 200") {
                break;
            }
            assert!(Instant::now() < end, "no place came free");
        }
    }

    #[tokio::test]
    async fn a_stream_of_events_may_be_silent() {
        let (address, stop) = small_house().await;
        let mut socket = TcpStream::connect(address).await.unwrap();
        socket.write_all(b"GET /api/v1/events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n").await.unwrap();
        let mut bytes = [0; 4096];
        let mut heard = 0;
        let silence = async {
            loop {
                heard = socket.read(&mut bytes).await.unwrap();
                assert!(heard > 0, "the stream was closed");
            }
        };
        assert!(tokio::time::timeout(Duration::from_millis(1500), silence).await.is_err());
        stop.cancel();
    }
}
