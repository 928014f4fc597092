//! A provider made of raw bytes: answers every socket with the same script, and counts what it saw.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

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
}

impl Provider {
    pub async fn with(script: Vec<Step>) -> Provider {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let provider = Provider { address: listener.local_addr().unwrap(), heads: Arc::default() };
        let heads = provider.heads.clone();
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                tokio::spawn(serve(socket, script.clone(), heads.clone()));
            }
        });
        provider
    }

    pub fn base_url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Heads of the requests that were counted, in order.
    pub fn requests(&self) -> Vec<String> {
        self.heads.lock().unwrap().clone()
    }
}

async fn serve(mut socket: TcpStream, script: Vec<Step>, heads: Arc<Mutex<Vec<String>>>) {
    if !read_head(&mut socket, &heads).await {
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
                if !read_head(&mut socket, &heads).await {
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
