//! A provider made of raw bytes: answers every socket with the same script, and counts what it saw.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

#[derive(Clone)]
pub enum Step {
    Send(Vec<u8>),
    Wait(u64),
    /// Closes with a TCP reset instead of an orderly end.
    Reset,
    /// Keeps the socket open and says nothing more.
    Hang,
    /// Waits for the next request on the same socket.
    NextRequest,
}

pub fn says(text: &str) -> Step {
    Step::Send(text.as_bytes().to_vec())
}

/// A whole answer with a body as it is.
pub fn answers(head: &str, body: &[u8]) -> Step {
    let mut bytes = format!("HTTP/1.1 {head}\r\ncontent-length: {}\r\n\r\n", body.len()).into_bytes();
    bytes.extend_from_slice(body);
    Step::Send(bytes)
}

#[derive(Clone)]
pub struct Provider {
    pub address: SocketAddr,
    heads: Arc<Mutex<Vec<String>>>,
    closed: Arc<Notify>,
}

impl Provider {
    pub async fn with(script: Vec<Step>) -> Provider {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let provider =
            Provider { address: listener.local_addr().unwrap(), heads: Arc::default(), closed: Arc::default() };
        let seen = provider.clone();
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                tokio::spawn(serve(socket, script.clone(), seen.clone()));
            }
        });
        provider
    }

    pub fn base_url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Ends when a socket that waited for another request was closed instead.
    pub async fn sees_a_close(&self) {
        self.closed.notified().await;
    }

    /// Heads of the requests that were counted, in order.
    pub fn requests(&self) -> Vec<String> {
        self.heads.lock().unwrap().clone()
    }
}

async fn serve(mut socket: TcpStream, script: Vec<Step>, seen: Provider) {
    if !read_head(&mut socket, &seen.heads).await {
        return;
    }
    for step in script {
        match step {
            Step::Send(bytes) => {
                let _ = socket.write_all(&bytes).await;
            }
            Step::Wait(ms) => tokio::time::sleep(Duration::from_millis(ms)).await,
            Step::Reset => {
                let _ = socket.set_zero_linger();
                return;
            }
            Step::Hang => tokio::time::sleep(Duration::from_secs(3600)).await,
            Step::NextRequest => {
                if !read_head(&mut socket, &seen.heads).await {
                    seen.closed.notify_one();
                    return;
                }
            }
        }
    }
}

async fn read_head(socket: &mut TcpStream, heads: &Mutex<Vec<String>>) -> bool {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        match socket.read_u8().await {
            Ok(byte) => head.push(byte),
            Err(_) => return false,
        }
    }
    heads.lock().unwrap().push(String::from_utf8_lossy(&head).into_owned());
    true
}
