//! What the simulated providers have in common: a clock, a port on loopback, and a loop that takes sockets. Knows none of their rules.

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use std::error::Error;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

/// A provider's clock, from any zero that it likes.
pub type TimeSource = Arc<dyn Fn() -> Duration + Send + Sync>;

pub(super) type Answer = Response<Full<Bytes>>;

/// On loopback and the current tokio runtime; port 0 takes a free one.
pub(super) fn bind(port: u16) -> io::Result<(TcpListener, SocketAddr)> {
    let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
    listener.set_nonblocking(true)?;
    let address = listener.local_addr()?;
    Ok((TcpListener::from_std(listener)?, address))
}

/// Accepts until it is aborted; its sockets go down with it. An error of `answer` drops the socket without a word.
pub(super) async fn accept<S, F, E>(listener: TcpListener, shared: Arc<S>, answer: fn(Arc<S>, Request<Incoming>) -> F)
where
    S: Send + Sync + 'static,
    F: Future<Output = Result<Answer, E>> + Send + 'static,
    E: Error + Send + Sync + 'static,
{
    let mut sockets = JoinSet::new();
    loop {
        while sockets.try_join_next().is_some() {}
        let Ok((socket, _)) = listener.accept().await else {
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        let shared = shared.clone();
        sockets.spawn(async move {
            let service = service_fn(move |request| answer(shared.clone(), request));
            _ = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(socket), service).await;
        });
    }
}

/// The raw value: nothing that is asked here needs percent-encoding.
pub(super) fn parameter<'a>(query: &'a str, name: &str) -> Option<&'a str> {
    query.split('&').filter_map(|pair| pair.split_once('=')).find(|(n, _)| *n == name).map(|(_, v)| v)
}
