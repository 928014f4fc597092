//! The peer: Redis from Debian with `appendfsync always`, on a port and in a folder of its own, and as much of its protocol as one `INCR` takes.

use super::process::{Process, free_port, until};
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

pub struct Redis {
    process: Process,
    address: SocketAddr,
}

impl Redis {
    /// `None` where it is not installed.
    pub fn start(folder: &Path) -> Option<Redis> {
        Command::new("redis-server").arg("--version").output().ok()?;
        let address = free_port();
        let port = address.port().to_string();
        let args =
            ["--port", &port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "yes", "--appendfsync", "always"];
        let process = Process::start("redis-server", &args, folder);
        until(|| std::net::TcpStream::connect(address).ok());
        Some(Redis { process, address })
    }

    pub async fn client(&self) -> Client {
        let socket = TcpStream::connect(self.address).await.expect("Redis");
        socket.set_nodelay(true).expect("a socket");
        Client { socket }
    }

    /// What Redis says of itself: `INCR` by its own client, requests a second.
    pub fn own_benchmark(&self, clients: usize, requests: u64) -> f64 {
        let output = Command::new("redis-benchmark")
            .args(["-p", &self.address.port().to_string(), "-t", "incr", "--csv"])
            .args(["-c", &clients.to_string(), "-n", &requests.to_string()])
            .output()
            .expect("redis-benchmark comes with redis-server");
        let text = String::from_utf8_lossy(&output.stdout);
        let line = text.lines().find(|l| l.starts_with("\"INCR\"")).expect("a line for INCR");
        line.split(',').nth(1).and_then(|n| n.trim_matches('"').parse().ok()).expect("requests a second")
    }

    pub fn stop(self) {
        self.process.stop();
    }
}

pub struct Client {
    socket: TcpStream,
}

impl Client {
    /// One durable step of a counter: the least that a limiter in Redis has to write.
    pub async fn incr(&mut self) {
        self.socket.write_all(b"*2\r\n$4\r\nINCR\r\n$6\r\nledger\r\n").await.expect("Redis");
        let mut answer = [0; 64];
        let mut filled = 0;
        while !answer[..filled].ends_with(b"\r\n") {
            let read = self.socket.read(&mut answer[filled..]).await.expect("Redis");
            assert!(read > 0, "Redis hung up");
            filled += read;
        }
        assert_eq!(answer[0], b':', "{}", String::from_utf8_lossy(&answer[..filled]));
    }
}
