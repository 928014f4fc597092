//! A provider on loopback whose answers are ready before anybody asks: any cache may keep them for an hour. It counts what it is asked, and
//! thinks about what lies below `/slow`.

use super::http::next_head;
use std::fmt::Write as _;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};

pub const SMALL: usize = 2048;
pub const LARGE: usize = 100 * 1024;
pub const ETAG: &str = "\"7f3a9c51\"";
/// How long it thinks about what is slow.
pub const THINKS: Duration = Duration::from_millis(200);

pub struct Origin {
    pub address: SocketAddr,
    pub asked: AtomicU64,
    small: Vec<u8>,
    large: Vec<u8>,
}

impl Origin {
    pub async fn start() -> Arc<Origin> {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let answers = [SMALL, LARGE].map(answer);
        let [small, large] = answers;
        let origin = Arc::new(Origin { address, asked: AtomicU64::new(0), small, large });
        let serving = Arc::clone(&origin);
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let origin = Arc::clone(&serving);
                tokio::spawn(async move { origin.serve(socket).await });
            }
        });
        origin
    }

    pub fn asked(&self) -> u64 {
        self.asked.load(Ordering::Relaxed)
    }

    /// Until the other side hangs up.
    async fn serve(&self, mut socket: TcpStream) {
        let mut buffer = Vec::new();
        while next_head(&mut socket, &mut buffer).await {
            self.asked.fetch_add(1, Ordering::Relaxed);
            let head = String::from_utf8_lossy(&buffer);
            let path = head.split(' ').nth(1).unwrap_or_default();
            if path.contains("/slow") {
                tokio::time::sleep(THINKS).await;
            }
            let answer = if path.contains("/large") { &self.large } else { &self.small };
            if socket.write_all(answer).await.is_err() {
                return;
            }
        }
    }
}

/// What an API says beside its body.
pub fn headers() -> Vec<(&'static str, String)> {
    let now = SystemTime::now();
    let changed = now - Duration::from_secs(86_400);
    vec![
        ("Date", httpdate::fmt_http_date(now)),
        ("Content-Type", "application/json; charset=utf-8".to_owned()),
        ("Cache-Control", "public, max-age=3600".to_owned()),
        ("ETag", ETAG.to_owned()),
        ("Last-Modified", httpdate::fmt_http_date(changed)),
        ("X-Request-Id", "6f1c2b7e-9d3a-4c55-8a10-2f7d5b9e4c31".to_owned()),
        ("X-RateLimit-Limit", "5000".to_owned()),
        ("X-RateLimit-Remaining", "4987".to_owned()),
        ("Server", "provider".to_owned()),
    ]
}

/// A list of rows as JSON, of exactly this many bytes.
pub fn body(bytes: usize) -> String {
    let mut text = String::from("{\"rows\":[");
    for n in 0.. {
        let row = format!("{{\"id\":{n},\"name\":\"Zone {n}\",\"state\":\"idle\",\"run_seconds\":600}},");
        if text.len() + row.len() + 16 > bytes {
            break;
        }
        text.push_str(&row);
    }
    let filled = bytes - text.len() - "\"\"]}".len();
    write!(text, "\"{}\"]}}", "x".repeat(filled)).expect("a string");
    text
}

fn answer(bytes: usize) -> Vec<u8> {
    let mut text = format!("HTTP/1.1 200 OK\r\nContent-Length: {bytes}\r\n");
    for (name, value) in headers() {
        write!(text, "{name}: {value}\r\n").expect("a string");
    }
    text.push_str("\r\n");
    text.push_str(&body(bytes));
    text.into_bytes()
}
