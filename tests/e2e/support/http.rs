//! A plain HTTP/1.1 client for the tests: one socket per request, or a tab that keeps its socket. Every call is bounded.

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1::SendRequest;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// No local answer may take longer; a test that cares about latency states its own, tighter bound.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// A request before it is sent.
#[derive(Clone, Debug)]
pub struct Ask {
    method: &'static str,
    path: String,
    headers: Vec<(String, String)>,
    body: Option<String>,
}

impl Ask {
    pub fn new(method: &'static str, path: &str) -> Ask {
        Ask { method, path: path.to_owned(), headers: Vec::new(), body: None }
    }
    pub fn get(path: &str) -> Ask {
        Ask::new("GET", path)
    }
    /// As a client of the gateway that wants nothing but what is on the shelf.
    pub fn kept(path: &str) -> Ask {
        Ask::get(path).header("cache-control", "only-if-cached")
    }
    pub fn post(path: &str) -> Ask {
        Ask::new("POST", path)
    }
    pub fn header(mut self, name: &str, value: &str) -> Ask {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }
    pub fn token(self, token: &str) -> Ask {
        self.header("authorization", &format!("Bearer {token}"))
    }
    pub fn json(mut self, body: &Value) -> Ask {
        self.body = Some(body.to_string());
        self.header("content-type", "application/json")
    }
    /// A body as it is.
    pub fn text(mut self, body: &str) -> Ask {
        self.body = Some(body.to_owned());
        self
    }
    /// As a browser sends a form; the text is encoded already.
    pub fn form(mut self, body: &str) -> Ask {
        self.body = Some(body.to_owned());
        self.header("content-type", "application/x-www-form-urlencoded")
    }

    /// `Host` is the address unless a header of the test says otherwise.
    fn build(&self, address: SocketAddr) -> hyper::Request<Full<Bytes>> {
        let mut request = hyper::Request::builder().method(self.method).uri(&self.path);
        if !self.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
            request = request.header("host", address.to_string());
        }
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        request.body(Full::from(self.body.clone().unwrap_or_default())).expect("a well-formed request of the test")
    }
}

/// A complete answer.
#[derive(Clone, Debug)]
pub struct Reply {
    pub status: u16,
    pub headers: hyper::HeaderMap,
    pub body: String,
    pub took: Duration,
}

impl Reply {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body)
            .unwrap_or_else(|e| panic!("status {} with a body that is not JSON ({e}): {}", self.status, self.body))
    }
    #[track_caller]
    pub fn expect(self, status: u16) -> Reply {
        assert_eq!(self.status, status, "unexpected status; the body is: {}", self.body);
        self
    }
    /// RFC 9457: a problem says its status and a sentence, and nothing of it is HTML.
    #[track_caller]
    pub fn expect_problem(self, status: u16) -> Value {
        let reply = self.expect(status);
        let kind = reply.header("content-type").unwrap_or_default();
        assert!(kind.starts_with("application/problem+json"), "content type of an error is {kind:?}");
        let problem = reply.json();
        assert_eq!(problem["status"], status, "{problem}");
        let told = problem["detail"].as_str().or(problem["title"].as_str()).unwrap_or_default();
        assert!(!told.is_empty(), "a problem without words: {problem}");
        problem
    }
}

/// Our own field of a form.
pub fn own_field(form: &str) -> &str {
    form.split("name=\"csrf\" value=\"").nth(1).and_then(|rest| rest.split('"').next()).expect("our field")
}

async fn bounded<T>(what: &str, work: impl Future<Output = T>) -> T {
    match tokio::time::timeout(PATIENCE, work).await {
        Ok(done) => done,
        Err(_) => panic!("no complete answer within {PATIENCE:?} to {what}"),
    }
}

/// One request on a socket of its own. `Err` if nobody listens or the socket breaks.
pub async fn try_send(address: SocketAddr, ask: &Ask) -> Result<Reply, String> {
    bounded(&format!("{} {}", ask.method, ask.path), async {
        let mut tab = Tab::try_open(address).await?;
        tab.try_send(ask).await
    })
    .await
}

pub async fn send(address: SocketAddr, ask: &Ask) -> Reply {
    match try_send(address, ask).await {
        Ok(reply) => reply,
        Err(e) => panic!("{} {}: {e}", ask.method, ask.path),
    }
}

/// A browser tab as the server sees one: a socket that stays open between requests.
pub struct Tab {
    address: SocketAddr,
    sender: SendRequest<Full<Bytes>>,
}

impl Tab {
    pub async fn open(address: SocketAddr) -> Tab {
        bounded("opening a tab", Tab::try_open(address)).await.expect("somebody listens")
    }

    async fn try_open(address: SocketAddr) -> Result<Tab, String> {
        let socket = tokio::net::TcpStream::connect(address).await.map_err(|e| e.to_string())?;
        let (sender, driver) =
            hyper::client::conn::http1::handshake(TokioIo::new(socket)).await.map_err(|e| e.to_string())?;
        tokio::spawn(driver);
        Ok(Tab { address, sender })
    }

    pub async fn get(&mut self, path: &str) -> Reply {
        bounded(path, self.try_send(&Ask::get(path))).await.unwrap_or_else(|e| panic!("{path}: {e}"))
    }

    async fn try_send(&mut self, ask: &Ask) -> Result<Reply, String> {
        let began = Instant::now();
        self.sender.ready().await.map_err(|e| e.to_string())?;
        let answer = self.sender.send_request(ask.build(self.address)).await.map_err(|e| e.to_string())?;
        let (head, body) = answer.into_parts();
        let body = body.collect().await.map_err(|e| e.to_string())?.to_bytes();
        let body = String::from_utf8(body.to_vec()).map_err(|e| e.to_string())?;
        Ok(Reply { status: head.status.as_u16(), headers: head.headers, body, took: began.elapsed() })
    }

    /// The head of an answer and its body as it comes: for event streams.
    pub async fn stream(mut self, ask: &Ask) -> hyper::Response<hyper::body::Incoming> {
        bounded(&ask.path, self.sender.send_request(ask.build(self.address))).await.expect("a stream's head")
    }
}
