//! A reader of `/api/v1/events`, as WHATWG HTML section 9.2 parses an event stream.

use super::http::{Ask, Tab};
use http_body_util::BodyExt;
use serde_json::Value;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::sync::mpsc;

#[derive(Clone, Debug, Default)]
pub struct SseEvent {
    pub id: Option<u64>,
    pub kind: String,
    pub data: String,
}

impl SseEvent {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.data).unwrap_or_else(|e| panic!("event data is not JSON ({e}): {self:?}"))
    }
}

/// An open stream. Dropping it closes the socket.
pub struct Events {
    pub status: u16,
    pub headers: hyper::HeaderMap,
    arrived: mpsc::UnboundedReceiver<SseEvent>,
    reader: tokio::task::JoinHandle<()>,
}

impl Drop for Events {
    fn drop(&mut self) {
        self.reader.abort();
    }
}

impl Events {
    pub async fn open(address: SocketAddr, ask: &Ask) -> Events {
        let answer = Tab::open(address).await.stream(ask).await;
        let (head, mut body) = answer.into_parts();
        let (tell, arrived) = mpsc::unbounded_channel();
        let reader = tokio::spawn(async move {
            let mut pending = String::new();
            while let Some(Ok(frame)) = body.frame().await {
                let Ok(bytes) = frame.into_data() else { continue };
                pending.push_str(&String::from_utf8_lossy(&bytes));
                while let Some(end) = pending.find("\n\n") {
                    let block: String = pending.drain(..end + 2).collect();
                    if let Some(event) = parse(&block) {
                        let _ = tell.send(event);
                    }
                }
            }
        });
        Events { status: head.status.as_u16(), headers: head.headers, arrived, reader }
    }

    /// The next event, or `None` once the stream ended or `within` passed.
    pub async fn next(&mut self, within: Duration) -> Option<SseEvent> {
        tokio::time::timeout(within, self.arrived.recv()).await.ok().flatten()
    }

    /// Reads on until an event of this kind.
    pub async fn until(&mut self, kind: &str, within: Duration) -> SseEvent {
        let mut others = Vec::new();
        let search = async {
            while let Some(event) = self.arrived.recv().await {
                if event.kind == kind {
                    return Some(event);
                }
                others.push(event.kind);
            }
            None
        };
        match tokio::time::timeout(within, search).await {
            Ok(Some(event)) => event,
            Ok(None) => panic!("the stream ended before {kind}; it brought {others:?}"),
            Err(_) => panic!("no {kind} within {within:?}; there were {others:?}"),
        }
    }

    /// Whether the server ends the stream within the time.
    pub async fn ends(&mut self, within: Duration) -> bool {
        tokio::time::timeout(within, async { while self.arrived.recv().await.is_some() {} }).await.is_ok()
    }
}

/// `None` for comments and blocks without data.
fn parse(block: &str) -> Option<SseEvent> {
    let mut event = SseEvent { kind: "message".to_owned(), ..SseEvent::default() };
    let mut data: Vec<&str> = Vec::new();
    for line in block.lines() {
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "id" => event.id = value.parse().ok(),
            "event" => event.kind = value.to_owned(),
            "data" => data.push(value),
            _ => {}
        }
    }
    if data.is_empty() {
        return None;
    }
    event.data = data.join("\n");
    Some(event)
}
