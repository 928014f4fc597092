//! The real binary before a file with many items, and nobody to ask.

use super::process::{Process, free_port, until};
use super::scratch;
use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::{Duration, Instant};

pub const BINARY: &str = env!("CARGO_BIN_EXE_larder");

/// A file with `targets` targets of `each` items, and the configuration that goes with it. Polling is off: nothing here has a provider.
pub struct House {
    folder: tempfile::TempDir,
    pub address: SocketAddr,
}

impl House {
    pub async fn build(targets: usize, each: usize) -> House {
        let folder = scratch();
        let address = free_port();
        let mut config = format!(
            "[server]\nlisten = \"{address}\"\ndata = \"larder.redb\"\n\n\
             [[connection]]\nname = \"yard\"\nbase_url = \"http://127.0.0.1:9\"\n\n\
             [[connection.limit]]\nname = \"all\"\nrequests = 5\nwindow = \"5m\"\nkind = \"rolling\"\n\n\
             [connection.poll]\nenabled = false\ninterval = \"75s\"\n"
        );
        for t in 0..targets.max(1) {
            let name = super::target_name(t);
            write!(
                config,
                "\n[[connection.target]]\nname = \"{name}\"\nget = \"/{name}\"\nitems = \"$[*]\"\nkey = \"$.id\"\n"
            )
            .expect("a string");
        }
        std::fs::write(folder.path().join("larder.toml"), config).expect("a configuration");
        if targets > 0 {
            let store = super::open(&folder.path().join("larder.redb"));
            super::fill(&store, targets, each).await;
            store.close().expect("a clean close");
        }
        House { folder, address }
    }

    pub fn data(&self) -> PathBuf {
        self.folder.path().join("larder.redb")
    }

    /// Starts the binary and waits for its first HTTP answer.
    pub fn serve(&self) -> (Process, Duration) {
        let began = Instant::now();
        let mut process = Process::start(BINARY, &["serve", "--config", "larder.toml"], self.folder.path());
        until(|| {
            process.assert_alive(self.folder.path());
            answers(self.address, "/livez")
        });
        (process, began.elapsed())
    }
}

/// `200` from a path that needs no token.
pub fn answers(address: SocketAddr, path: &str) -> Option<()> {
    use std::io::{Read, Write};
    let mut socket = std::net::TcpStream::connect(address).ok()?;
    write!(socket, "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").ok()?;
    let mut answer = String::new();
    socket.read_to_string(&mut answer).ok()?;
    answer.starts_with("HTTP/1.1 200").then_some(())
}
