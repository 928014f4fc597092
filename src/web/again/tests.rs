//! Before a plain HTTP server: with and without what is remembered, a client reads the same octets.

use super::*;
use axum::http::Request;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use proptest::prelude::*;
use std::convert::Infallible;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};

const SHORT: &str = "GET /short HTTP/1.1\r\nHost: larder\r\n\r\n";
const LONG: &str = "GET /long HTTP/1.1\r\nHost: larder\r\nAccept: */*\r\n\r\n";
const SAME: &str = "GET /short HTTP/1.1\r\nHost: larder\r\nIf-None-Match: \"1\"\r\n\r\n";
const CHANGING: &str = "GET /changing HTTP/1.1\r\nHost: larder\r\n\r\n";
const HEAD: &str = "HEAD /short HTTP/1.1\r\nHost: larder\r\n\r\n";
const POST: &str = "POST /changing HTTP/1.1\r\nHost: larder\r\nContent-Length: 38\r\n\r\nGET /short HTTP/1.1\r\nHost: larder\r\n\r\nxx";
const GET_WITH_BODY: &str = "GET /short HTTP/1.1\r\nHost: larder\r\nContent-Length: 4\r\n\r\n\r\n\r\n";
const CHUNKED: &str = "GET /chunked HTTP/1.1\r\nHost: larder\r\n\r\n";
const LAST: &str = "GET /short HTTP/1.1\r\nHost: larder\r\nConnection: close\r\n\r\n";

/// What the answers stand on.
#[derive(Default)]
struct Ground {
    broken: AtomicBool,
    served: AtomicUsize,
    repeated: AtomicUsize,
}

#[derive(Clone)]
struct Plain(Arc<Ground>, Bytes);

impl Stands for Plain {
    fn holds(&self) -> bool {
        !self.0.broken.load(Ordering::SeqCst)
    }
    fn counts(&self) {
        self.0.repeated.fetch_add(1, Ordering::SeqCst);
    }
    fn body(&self) -> &Bytes {
        &self.1
    }
}

/// Its body is read, as one must before a socket goes on.
async fn answer(ground: &Arc<Ground>, request: Request<Incoming>) -> Response<Body> {
    ground.served.fetch_add(1, Ordering::SeqCst);
    let (head, body) = request.into_parts();
    let sent = body.collect().await.map(|body| body.to_bytes()).unwrap_or_default();
    let whole = |octets: Bytes| {
        let mut response = Response::new(Body::from(octets.clone()));
        if sent.is_empty() {
            response.extensions_mut().insert(Plain(ground.clone(), octets));
        }
        response
    };
    let mut response = match head.uri.path() {
        "/long" => whole(vec![b'l'; 70_000].into()),
        "/chunked" => Response::new(Body::from_stream(futures_util::stream::iter(["a", "b"].map(Ok::<_, Infallible>)))),
        "/changing" => Response::new(Body::from(format!("{} octets came", sent.len()))),
        _ => whole("short".into()),
    };
    if head.headers.contains_key("if-none-match") {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        *response.body_mut() = Body::empty();
    }
    if head.method == "HEAD" {
        response.extensions_mut().clear();
        *response.body_mut() = Body::empty();
    }
    response
}

async fn serve(socket: DuplexStream, ground: Arc<Ground>, remembers: bool) {
    let noted = Noted::<Plain>::default();
    let service = service_fn(|request| {
        let (ground, noted) = (ground.clone(), noted.clone());
        async move {
            let mut response = answer(&ground, request).await;
            noted.note(&mut response);
            Ok::<_, Infallible>(response)
        }
    });
    let mut server = http1::Builder::new();
    server.auto_date_header(false);
    let _ = match remembers {
        true => server.serve_connection(TokioIo::new(Again::over(socket, noted.clone())), service).await,
        false => server.serve_connection(TokioIo::new(socket), service).await,
    };
}

/// What a client reads that sends these pieces, each after what was answered to those before, or at once where `hurried`.
async fn reads(pieces: &[(Vec<u8>, bool)], room: usize, remembers: bool) -> (Vec<u8>, Arc<Ground>) {
    let ground = Arc::new(Ground::default());
    let (client, server) = duplex(room);
    let serving = tokio::spawn(serve(server, ground.clone(), remembers));
    let (mut from, mut to) = tokio::io::split(client);
    let reading = tokio::spawn(async move {
        let mut all = Vec::new();
        let _ = from.read_to_end(&mut all).await;
        all
    });
    for (piece, hurried) in pieces {
        // The server may have closed.
        let _ = to.write_all(piece).await;
        if !hurried {
            // Everybody who can go on has: time is still until then.
            tokio::time::sleep(std::time::Duration::from_millis(1)).await;
        }
    }
    let _ = to.shutdown().await;
    let _ = serving.await;
    (reading.await.unwrap(), ground)
}

fn whole(requests: &[&str]) -> Vec<(Vec<u8>, bool)> {
    requests.iter().map(|request| (request.as_bytes().to_vec(), false)).collect()
}

#[tokio::test(start_paused = true)]
async fn the_same_question_is_not_read_twice() {
    for (question, room) in [(SHORT, 4096), (LONG, 4096), (SAME, 4096), (SHORT, 7), (LONG, 1000)] {
        let asked = whole(&[question; 20]);
        let (with, ground) = reads(&asked, room, true).await;
        assert_eq!(with, reads(&asked, room, false).await.0, "{question}");
        let counts = (ground.served.load(Ordering::SeqCst), ground.repeated.load(Ordering::SeqCst));
        // Through so small a pipe no question comes in one piece.
        assert_eq!(counts, if room == 7 { (20, 0) } else { (1, 19) }, "{question}");
    }
}

#[tokio::test(start_paused = true)]
async fn several_at_once_are_answered_as_often() {
    let asked = whole(&[SHORT, &SHORT.repeat(5), SHORT]);
    let (with, ground) = reads(&asked, 4096, true).await;
    assert_eq!(with, reads(&asked, 4096, false).await.0);
    assert_eq!((ground.served.load(Ordering::SeqCst), ground.repeated.load(Ordering::SeqCst)), (1, 6));
}

#[tokio::test(start_paused = true)]
async fn what_stands_no_more_is_asked_anew() {
    let ground = Arc::new(Ground::default());
    let (mut client, server) = duplex(4096);
    let serving = tokio::spawn(serve(server, ground.clone(), true));
    for (broken, served, repeated) in [(false, 1, 0), (false, 1, 1), (true, 2, 1), (true, 3, 1), (false, 3, 2)] {
        ground.broken.store(broken, Ordering::SeqCst);
        client.write_all(SHORT.as_bytes()).await.unwrap();
        let mut answer = vec![0; "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nshort".len()];
        client.read_exact(&mut answer).await.unwrap();
        assert!(answer.ends_with(b"\r\n\r\nshort"), "{}", String::from_utf8_lossy(&answer));
        let counts = (ground.served.load(Ordering::SeqCst), ground.repeated.load(Ordering::SeqCst));
        assert_eq!(counts, (served, repeated));
    }
    drop(client);
    serving.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn other_requests_between_leave_no_trace() {
    for other in [LONG, SAME, CHANGING, HEAD, POST, GET_WITH_BODY, CHUNKED] {
        let asked = whole(&[SHORT, SHORT, other, other, SHORT, SHORT, LAST]);
        let with = reads(&asked, 4096, true).await.0;
        assert_eq!(with, reads(&asked, 4096, false).await.0, "{other}");
    }
}

proptest! {
    #[test]
    fn a_client_reads_the_same_octets(
        chosen in prop::collection::vec((0..9usize, 1..4usize), 1..12),
        cuts in prop::collection::vec((1..300usize, any::<bool>()), 0..12),
        room in prop::sample::select(vec![1usize, 30, 64, 300, 4096, 100_000]),
    ) {
        let kinds = [SHORT, SHORT, LONG, SAME, CHANGING, HEAD, POST, GET_WITH_BODY, CHUNKED];
        let mut octets: Vec<Vec<u8>> = chosen.iter().map(|(kind, times)| kinds[*kind].repeat(*times).into_bytes()).collect();
        octets.push(LAST.as_bytes().to_vec());
        let mut pieces = Vec::new();
        for (request, cut) in octets.into_iter().zip(cuts.iter().map(Some).chain(std::iter::repeat(None))) {
            match cut {
                Some((at, hurried)) if *at < request.len() => {
                    pieces.push((request[..*at].to_vec(), *hurried));
                    pieces.push((request[*at..].to_vec(), !hurried));
                }
                _ => pieces.push((request, cut.is_some_and(|(_, hurried)| *hurried))),
            }
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        let (with, without) = runtime.block_on(async {
            (reads(&pieces, room, true).await.0, reads(&pieces, room, false).await.0)
        });
        prop_assert_eq!(String::from_utf8_lossy(&with), String::from_utf8_lossy(&without));
    }
}
