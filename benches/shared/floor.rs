//! The floor of a hit: hyper as Larder serves with it, and an answer with as many headers that is ready. Nothing is looked up or decided.
//! What is above this is Larder's own; what is below it is not to be had with this library.

use super::origin::{ETAG, LARGE, SMALL, body, headers};
use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::header::{HeaderMap, HeaderName, HeaderValue, IF_NONE_MATCH};
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::sync::Arc;
use tokio::net::TcpListener;

pub const NAME: &str = "hyper alone";
/// The argument that makes the benchmark this server.
pub const WORD: &str = "serve-what-is-ready";

/// What a gateway adds to the provider's.
const ADDED: [(&str, &str); 8] = [
    ("age", "12"),
    ("cache-status", "larder; hit; ttl=3587"),
    ("ratelimit", "\"hour\";r=999999;t=3588"),
    ("ratelimit-policy", "\"hour\";q=1000000;w=3600"),
    ("content-security-policy", "sandbox; default-src 'none'; frame-ancestors 'none'"),
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-resource-policy", "same-origin"),
];

struct Ready {
    headers: HeaderMap,
    small: Bytes,
    large: Bytes,
}

impl Ready {
    fn answer(&self, request: &Request<Incoming>) -> Response<Full<Bytes>> {
        let large = request.uri().path() == "/large";
        let unmodified = request.headers().get(IF_NONE_MATCH).is_some_and(|tag| tag == ETAG);
        let body = match (unmodified, large) {
            (true, _) => Bytes::new(),
            (false, true) => self.large.clone(),
            (false, false) => self.small.clone(),
        };
        let mut response = Response::new(Full::new(body));
        *response.headers_mut() = self.headers.clone();
        if unmodified {
            *response.status_mut() = StatusCode::NOT_MODIFIED;
        }
        response
    }
}

/// Until it is ended, with the one thread that Larder has on one core.
pub fn serve(address: &str) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    runtime.expect("a runtime").block_on(listen(address));
}

async fn listen(address: &str) {
    let listener = TcpListener::bind(address).await.expect("the port");
    let own = headers().into_iter().map(|(name, value)| (name.to_ascii_lowercase(), value));
    let added = ADDED.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let header = |(name, value): (String, String)| {
        (HeaderName::try_from(name).expect("a name"), HeaderValue::try_from(value).expect("a value"))
    };
    let ready = Ready {
        headers: own.chain(added).map(header).collect(),
        small: Bytes::from(body(SMALL)),
        large: Bytes::from(body(LARGE)),
    };
    let ready = Arc::new(ready);
    while let Ok((socket, _)) = listener.accept().await {
        socket.set_nodelay(true).expect("a socket");
        let ready = Arc::clone(&ready);
        tokio::spawn(async move {
            let service = service_fn(move |request| {
                let answer = ready.answer(&request);
                async move { Ok::<_, Infallible>(answer) }
            });
            let http = hyper::server::conn::http1::Builder::new()
                .timer(TokioTimer::new())
                .serve_connection(TokioIo::new(socket), service);
            let _ = http.await;
        });
    }
}
