//! One request to the running appliance through its unix socket: HTTP/1, JSON both ways. Knows no command.

use http_body_util::{BodyExt, Full, Limited};
use hyper::Request;
use hyper::body::Bytes;
use hyper::header::{CONTENT_TYPE, DATE, HOST};
use hyper_util::rt::TokioIo;
use jiff::Timestamp;
use serde_json::Value;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::net::UnixStream;

/// Nobody's list of connections is larger than this.
const MAX_BODY: usize = 64 * 1024 * 1024;

/// Why there is no good answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// Nothing listens: the file may be opened instead.
    NotRunning,
    /// The appliance refused, or could not; a sentence.
    Refused(String),
    /// The socket is there, and the talk over it failed; a sentence.
    Broken(String),
}

/// A good answer (2xx).
#[derive(Debug)]
pub struct Answer {
    /// The appliance's clock: what ages and waits are counted from.
    pub date: Option<Timestamp>,
    /// `Null` where there was no body.
    pub body: Value,
}

/// The appliance behind a socket. `timeout` bounds each request.
pub struct Client {
    socket: PathBuf,
    timeout: Duration,
}

impl Client {
    pub fn new(socket: &Path, timeout: Duration) -> Client {
        Client { socket: socket.to_owned(), timeout }
    }

    pub async fn get(&self, path: &str) -> Result<Answer, Trouble> {
        self.ask("GET", path, None).await
    }
    /// All of a list, page by page: `path` has a query already, and the list stands under `name`.
    pub async fn list(&self, path: &str, name: &str) -> Result<(Vec<Value>, Option<Timestamp>), Trouble> {
        let Answer { mut body, mut date } = self.get(path).await?;
        let mut all = Vec::new();
        loop {
            if let Some(Value::Array(page)) = body.get_mut(name).map(Value::take) {
                all.extend(page);
            }
            let Some(after) = body.get("next").and_then(Value::as_str) else { return Ok((all, date)) };
            Answer { body, date } = self.get(&format!("{path}&after={}", escaped(after))).await?;
        }
    }
    pub async fn post(&self, path: &str, body: Value) -> Result<Answer, Trouble> {
        self.ask("POST", path, Some(body)).await
    }
    pub async fn patch(&self, path: &str, body: Value) -> Result<Answer, Trouble> {
        self.ask("PATCH", path, Some(body)).await
    }
    pub async fn delete(&self, path: &str) -> Result<Answer, Trouble> {
        self.ask("DELETE", path, None).await
    }

    async fn ask(&self, method: &str, path: &str, body: Option<Value>) -> Result<Answer, Trouble> {
        let stream = self.connect().await?;
        let silent = || {
            let socket = self.socket.display();
            Trouble::Broken(format!("Larder did not answer on {socket} within {} s.", self.timeout.as_secs()))
        };
        match tokio::time::timeout(self.timeout, talk(stream, method, path, body)).await {
            Ok(Ok((status, answer))) if (200..300).contains(&status) => Ok(answer),
            Ok(Ok((status, answer))) => Err(Trouble::Refused(refusal(status, &answer.body))),
            Ok(Err(why)) => Err(Trouble::Broken(format!("The talk over {} failed: {why}.", self.socket.display()))),
            Err(_) => Err(silent()),
        }
    }

    async fn connect(&self) -> Result<UnixStream, Trouble> {
        let socket = self.socket.display();
        UnixStream::connect(&self.socket).await.map_err(|e| match e.kind() {
            ErrorKind::NotFound | ErrorKind::ConnectionRefused => Trouble::NotRunning,
            ErrorKind::PermissionDenied => Trouble::Broken(format!(
                "{socket} may be used only by the user that runs Larder; try again as that user or with sudo."
            )),
            _ => Trouble::Broken(format!("{socket} could not be reached: {e}.")),
        })
    }
}

async fn talk(stream: UnixStream, method: &str, path: &str, body: Option<Value>) -> Result<(u16, Answer), String> {
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(|e| e.to_string())?;
    let connection = tokio::spawn(connection);
    let mut request = Request::builder().method(method).uri(path).header(HOST, "localhost");
    if body.is_some() {
        request = request.header(CONTENT_TYPE, "application/json");
    }
    let bytes = body.map(|b| Bytes::from(b.to_string())).unwrap_or_default();
    let request = request.body(Full::new(bytes)).map_err(|e| e.to_string())?;
    let answer = sender.send_request(request).await.map_err(|e| e.to_string())?;
    let status = answer.status().as_u16();
    let date = answer.headers().get(DATE).and_then(|d| d.to_str().ok()).and_then(moment);
    let body = Limited::new(answer.into_body(), MAX_BODY).collect().await.map_err(|e| e.to_string())?.to_bytes();
    connection.abort();
    let body = match body.is_empty() {
        true => Value::Null,
        false => serde_json::from_slice(&body).map_err(|e| format!("status {status}, and no JSON ({e})"))?,
    };
    Ok((status, Answer { date, body }))
}

fn moment(date: &str) -> Option<Timestamp> {
    Timestamp::try_from(httpdate::parse_http_date(date).ok()?).ok()
}

/// The sentence of a problem (RFC 9457), else its status.
fn refusal(status: u16, body: &Value) -> String {
    let text = |key: &str| body.get(key).and_then(Value::as_str).map(str::to_owned);
    text("detail").or_else(|| text("title")).unwrap_or_else(|| format!("Larder answered with status {status}."))
}

/// One segment of a path, or one value of a query.
pub fn escaped(name: &str) -> String {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-_.~".contains(&b);
    name.bytes().map(|b| if plain(b) { char::from(b).to_string() } else { format!("%{b:02X}") }).collect()
}

#[cfg(test)]
mod tests;
