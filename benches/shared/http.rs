//! A small HTTP client with a socket that stays open: as many readers as a benchmark wants, and nothing that costs more than the server.

use std::net::SocketAddr;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Reads the head of the next request into the buffer; false: the other side has hung up.
pub async fn next_head(socket: &mut TcpStream, buffer: &mut Vec<u8>) -> bool {
    buffer.clear();
    while !buffer.ends_with(b"\r\n\r\n") {
        if !matches!(socket.read_buf(buffer).await, Ok(1..)) {
            return false;
        }
    }
    true
}

pub struct Reader {
    socket: TcpStream,
    address: SocketAddr,
    buffer: Vec<u8>,
}

impl Reader {
    pub async fn connect(address: SocketAddr) -> std::io::Result<Reader> {
        let socket = TcpStream::connect(address).await?;
        socket.set_nodelay(true)?;
        Ok(Reader { socket, address, buffer: Vec::with_capacity(1 << 16) })
    }

    /// The status and the length of the body.
    pub async fn get(&mut self, path: &str) -> std::io::Result<(u16, usize)> {
        self.ask("GET", path, "").await
    }

    /// Without a body, with a token.
    pub async fn post(&mut self, path: &str, token: &str) -> std::io::Result<(u16, usize)> {
        self.ask("POST", path, &format!("Authorization: Bearer {token}\r\nContent-Length: 0\r\n")).await
    }

    /// As a browser asks for a page: how long until its first byte is there, its status, and the length of its body as it travelled.
    pub async fn page(&mut self, path: &str) -> std::io::Result<(Duration, u16, usize)> {
        let began = Instant::now();
        self.send("GET", path, "Accept-Encoding: gzip, deflate, br, zstd\r\n").await?;
        self.more().await?;
        let first = began.elapsed();
        let (status, length) = self.answer().await?;
        Ok((first, status, length))
    }

    async fn ask(&mut self, method: &str, path: &str, more: &str) -> std::io::Result<(u16, usize)> {
        self.send(method, path, more).await?;
        self.answer().await
    }

    async fn send(&mut self, method: &str, path: &str, more: &str) -> std::io::Result<()> {
        let request = format!("{method} {path} HTTP/1.1\r\nHost: {}\r\nAccept: */*\r\n{more}\r\n", self.address);
        self.buffer.clear();
        self.socket.write_all(request.as_bytes()).await
    }

    async fn answer(&mut self) -> std::io::Result<(u16, usize)> {
        let head = loop {
            if let Some(end) = find(&self.buffer, b"\r\n\r\n") {
                break end + 4;
            }
            self.more().await?;
        };
        let text = String::from_utf8_lossy(&self.buffer[..head]).to_ascii_lowercase();
        let status = text.get(9..12).and_then(|s| s.parse().ok()).ok_or_else(|| broken("no status"))?;
        let length: Option<usize> =
            text.lines().find_map(|l| l.strip_prefix("content-length:")).and_then(|l| l.trim().parse().ok());
        match length {
            Some(length) => {
                while self.buffer.len() < head + length {
                    self.more().await?;
                }
            }
            None => {
                while !self.buffer.ends_with(b"\r\n0\r\n\r\n") {
                    self.more().await?;
                }
            }
        }
        Ok((status, self.buffer.len() - head))
    }

    async fn more(&mut self) -> std::io::Result<()> {
        match self.socket.read_buf(&mut self.buffer).await? {
            0 => Err(broken("the server hung up")),
            _ => Ok(()),
        }
    }
}

fn broken(what: &str) -> std::io::Error {
    std::io::Error::other(what.to_owned())
}

fn find(text: &[u8], part: &[u8]) -> Option<usize> {
    text.windows(part.len()).position(|w| w == part)
}
