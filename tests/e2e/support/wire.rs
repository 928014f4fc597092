//! HTTP/1.1 by hand, for a provider that must also be able to misbehave.

use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;

/// The head, once the body is in too; `None` if the socket ends before.
pub async fn read_request(socket: &mut TcpStream) -> Option<String> {
    Some(read_whole(socket).await?.0)
}

/// Head and body; `None` if the socket ends before.
pub async fn read_whole(socket: &mut TcpStream) -> Option<(String, String)> {
    let mut bytes = Vec::new();
    let mut chunk = [0u8; 4096];
    loop {
        let n = socket.read(&mut chunk).await.ok().filter(|n| *n > 0)?;
        bytes.extend_from_slice(&chunk[..n]);
        let text = String::from_utf8_lossy(&bytes);
        let Some(end) = text.find("\r\n\r\n") else { continue };
        let length = header_lines(&text[..end])
            .find(|(name, _)| name == "content-length")
            .and_then(|(_, value)| value.parse::<usize>().ok())
            .unwrap_or(0);
        if bytes.len() >= end + 4 + length {
            let body = String::from_utf8_lossy(&bytes[end + 4..end + 4 + length]).into_owned();
            return Some((text[..end].to_owned(), body));
        }
    }
}

pub fn header_lines(head: &str) -> impl Iterator<Item = (String, String)> + '_ {
    head.lines()
        .skip(1)
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
}

/// A JSON answer with more headers.
pub fn json(status: u16, more: &[(&str, &str)], body: &str) -> Vec<u8> {
    let headers: Vec<(&str, &str)> =
        [("content-type", "application/json")].into_iter().chain(more.iter().copied()).collect();
    http(status, &headers, body.as_bytes())
}

/// A whole answer that closes its socket.
pub fn http(status: u16, headers: &[(&str, &str)], body: &[u8]) -> Vec<u8> {
    let mut head = format!("HTTP/1.1 {status} X\r\ncontent-length: {}\r\nconnection: close\r\n", body.len());
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    [head.as_bytes(), body].concat()
}

pub fn gzip(body: &[u8]) -> Vec<u8> {
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    std::io::Write::write_all(&mut packer, body).expect("memory");
    packer.finish().expect("memory")
}

/// The pairs of a query or of a form, decoded.
pub fn pairs(text: &str) -> impl Iterator<Item = (String, String)> + '_ {
    let pairs = text.split('&').filter_map(|pair| pair.split_once('='));
    pairs.map(|(name, value)| (percent_decoded(name), percent_decoded(value)))
}

pub fn percent_decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::new();
    let mut i = 0;
    while i < bytes.len() {
        let hex = bytes.get(i + 1..i + 3).and_then(|h| std::str::from_utf8(h).ok());
        match (bytes[i], hex.and_then(|h| u8::from_str_radix(h, 16).ok())) {
            (b'%', Some(byte)) => {
                out.push(byte);
                i += 3;
            }
            (b'+', _) => {
                out.push(b' ');
                i += 1;
            }
            (byte, _) => {
                out.push(byte);
                i += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}
