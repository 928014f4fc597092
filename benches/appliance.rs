//! The real binary: its size, its memory, how soon it answers with many items in the file, and how many reads a second it serves from the shelf.

mod shared;

use shared::http::Reader;
use shared::process::{Process, free_port, until};
use shared::{median, ms, per_second, scratch, table};
use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

const BINARY: &str = env!("CARGO_BIN_EXE_larder");
/// Items of one target in the large files: a full page of the task API.
const PAGE: usize = 2000;
const STARTS: usize = 5;

/// A file with `targets` targets of `each` items, and the configuration that goes with it. Polling is off: nothing here has a provider.
struct House {
    folder: tempfile::TempDir,
    address: SocketAddr,
}

impl House {
    async fn build(targets: usize, each: usize) -> House {
        let folder = scratch();
        let address = free_port();
        let mut config = format!(
            "[server]\nlisten = \"{address}\"\ndata = \"larder.redb\"\n\n\
             [[connection]]\nname = \"yard\"\nbase_url = \"http://127.0.0.1:9\"\n\n\
             [[connection.limit]]\nname = \"all\"\nrequests = 5\nwindow = \"5m\"\nkind = \"rolling\"\n\n\
             [connection.poll]\nenabled = false\ninterval = \"75s\"\n"
        );
        for t in 0..targets.max(1) {
            let name = shared::target_name(t);
            write!(
                config,
                "\n[[connection.target]]\nname = \"{name}\"\nget = \"/{name}\"\nitems = \"$[*]\"\nkey = \"$.id\"\n"
            )
            .expect("a string");
        }
        std::fs::write(folder.path().join("larder.toml"), config).expect("a configuration");
        if targets > 0 {
            let store = shared::open(&folder.path().join("larder.redb"));
            shared::fill(&store, targets, each).await;
            store.close().expect("a clean close");
        }
        House { folder, address }
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("larder.redb")
    }

    /// Starts the binary and waits for its first HTTP answer.
    fn serve(&self) -> (Process, Duration) {
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
fn answers(address: SocketAddr, path: &str) -> Option<()> {
    use std::io::{Read, Write};
    let mut socket = std::net::TcpStream::connect(address).ok()?;
    write!(socket, "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").ok()?;
    let mut answer = String::new();
    socket.read_to_string(&mut answer).ok()?;
    answer.starts_with("HTTP/1.1 200").then_some(())
}

fn starts(house: &House, end: fn(Process)) -> Duration {
    let took = (0..STARTS).map(|_| {
        let (process, took) = house.serve();
        // Ended while it runs: before that a kill finds the file as it was closed.
        until(|| answers(house.address, "/readyz"));
        end(process);
        took
    });
    median(took.collect())
}

fn mib(bytes: u64) -> String {
    format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20))
}

fn size_of(path: &Path) -> u64 {
    std::fs::metadata(path).expect("a file").len()
}

async fn start_up() {
    let mut rows = Vec::new();
    for items in [100_000, 1_000_000] {
        let house = House::build(items / PAGE, PAGE).await;
        let clean = starts(&house, Process::stop);
        let killed = starts(&house, Process::kill);
        rows.push(vec![items.to_string(), mib(size_of(&house.data())), ms(clean), ms(killed)]);
    }
    let columns = ["items in the file", "file", "after a clean stop", "after kill -9"];
    table("From start to the first HTTP answer", &columns, &rows);
}

async fn memory() {
    let mut rows = Vec::new();
    for (what, targets) in [("idle, empty file", 0), ("100,000 items", 100_000 / PAGE)] {
        let house = House::build(targets, PAGE).await;
        let (process, _) = house.serve();
        tokio::time::sleep(Duration::from_secs(2)).await;
        let (idle, own) = (process.memory_kb("VmRSS"), process.memory_kb("RssAnon"));
        let mut reader = Reader::connect(house.address).await.expect("a socket");
        for t in 0..targets {
            let path = format!("/api/v1/connections/yard/targets/{}", shared::target_name(t));
            assert_eq!(reader.get(&path).await.expect("an answer").0, 200, "{path}");
        }
        let read = process.memory_kb("VmRSS");
        let highest = process.memory_kb("VmHWM");
        rows.push([what.to_owned()].into_iter().chain([idle, own, read, highest].map(|kb| mib(kb << 10))).collect());
        process.stop();
    }
    let columns =
        ["", "resident after 2 s", "of it not of a file", "resident after every target was read once", "highest"];
    table("Memory", &columns, &rows);
}

async fn reads_per_second(address: SocketAddr, path: &'static str, readers: usize) -> f64 {
    let done = Arc::new(AtomicU64::new(0));
    let began = Instant::now();
    let until = began + Duration::from_secs(5);
    let tasks: Vec<_> = (0..readers)
        .map(|_| {
            let done = Arc::clone(&done);
            tokio::spawn(async move {
                let mut reader = Reader::connect(address).await.expect("a socket");
                while Instant::now() < until {
                    let (status, _) = reader.get(path).await.expect("an answer");
                    assert_eq!(status, 200, "{path}");
                    done.fetch_add(1, Ordering::Relaxed);
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.expect("a reader");
    }
    per_second(done.load(Ordering::Relaxed), began.elapsed())
}

async fn reads() {
    let mut rows = Vec::new();
    for items in [6, PAGE] {
        let house = House::build(1, items).await;
        let (process, _) = house.serve();
        for path in ["/api/v1/connections/yard/targets/target-0", "/c/yard/t/target-0", "/api/v1/connections"] {
            let rate = reads_per_second(house.address, path, 16).await;
            rows.push(vec![path.to_owned(), items.to_string(), format!("{rate:.0}")]);
        }
        process.stop();
    }
    table("Reads from the shelf, 16 readers on open sockets", &["path", "items", "reads/s"], &rows);
}

fn main() {
    let only = std::env::args().skip(1).find(|a| !a.starts_with('-'));
    let wanted = |name: &str| only.as_deref().is_none_or(|o| o == name);
    println!("binary, stripped: {}", mib(size_of(Path::new(BINARY))));
    shared::runtime().block_on(async {
        if wanted("start") {
            start_up().await;
        }
        if wanted("memory") {
            memory().await;
        }
        if wanted("reads") {
            reads().await;
        }
    });
}
