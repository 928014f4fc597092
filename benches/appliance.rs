//! The real binary: its size, its memory, how soon it answers with many items in the file, and how many reads a second it serves from the shelf.

mod shared;

use shared::house::{BINARY, House, answers};
use shared::http::Reader;
use shared::process::{Process, until};
use shared::{median, ms, per_second, table};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Items of one target in the large files: a full page of the task API.
const PAGE: usize = 2000;
const STARTS: usize = 5;

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
