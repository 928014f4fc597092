//! A storm that a web application once made (CASES P), for a minute, straight at a provider and then through Larder: lists that are asked for
//! all the time, receipts that are hardly ever ready, and tabs that open their stream again and again. Counted is what the provider gets.

mod shared;

use shared::http::Reader;
use shared::process::{Process, free_port, until};
use shared::{runtime, scratch, table};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

const BINARY: &str = env!("CARGO_BIN_EXE_larder");
const LASTS: Duration = Duration::from_secs(60);
/// 50,000 an hour, of so many lists.
const LISTS_A_SECOND: u32 = 14;
const LISTS: u32 = 5;
const ROWS: usize = 1000;
/// 13,000 reads an hour, of so many receipts; one of them is ready.
const RECEIPT_READS_IN_TEN_SECONDS: u32 = 36;
const RECEIPTS: u32 = 100;
const TABS: usize = 40;
/// Each opens its stream anew after so long.
const TAB_STAYS: Duration = Duration::from_secs(3);

const GATEWAY: &str = r#"
[connection.gateway]
fresh_for = "5s"

[[connection.gateway.rule]]
path = "/receipts/*"
not_ready = { status = 409, for = "10m", until = ["write"] }
"#;

/// Requests by kind: what a provider got, or what clients asked for.
type Counts = Arc<Mutex<BTreeMap<&'static str, u64>>>;

fn count(counts: &Counts, kind: &'static str) {
    *counts.lock().expect("nobody panics with it").entry(kind).or_default() += 1;
}

fn kind_of(path: &str) -> &'static str {
    match path {
        _ if path.starts_with("/tasks") => "lists",
        _ if path.starts_with("/receipts") => "receipts",
        _ => "streams",
    }
}

async fn provide(listener: TcpListener, counts: Counts) {
    let row = |n| format!("{{\"id\":{n},\"title\":\"Task number {n}\",\"status\":\"live\"}}");
    let list: Arc<str> = format!("[{}]", (0..ROWS).map(row).collect::<Vec<_>>().join(",")).into();
    let began = Instant::now();
    while let Ok((socket, _)) = listener.accept().await {
        let (counts, list) = (counts.clone(), list.clone());
        tokio::spawn(async move { serve(socket, &counts, &list, began).await });
    }
}

/// `None`: the client went away.
async fn serve(socket: TcpStream, counts: &Counts, list: &str, began: Instant) -> Option<()> {
    let mut socket = BufReader::new(socket);
    loop {
        let mut lines = Vec::new();
        loop {
            let mut line = String::new();
            if socket.read_line(&mut line).await.ok()? == 0 {
                return None;
            }
            match line.trim() {
                "" => break,
                text => lines.push(text.to_owned()),
            }
        }
        let path = lines.first()?.split(' ').nth(1)?.to_owned();
        count(counts, kind_of(&path));
        let (status, body) = match kind_of(&path) {
            "streams" => return events(socket.into_inner(), &lines, began).await,
            "lists" => (200, list),
            _ if path.ends_with("/0") => (200, "{\"number\":0,\"paid\":true}"),
            _ => (409, "{\"message\":\"not ready\"}"),
        };
        let head = format!(
            "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        socket.write_all(head.as_bytes()).await.ok()?;
    }
}

/// An event each 200 ms, numbered from the beginning of the storm; who comes back gets what it missed.
async fn events(mut socket: TcpStream, lines: &[String], began: Instant) -> Option<()> {
    let last =
        lines.iter().find_map(|line| line.to_ascii_lowercase().strip_prefix("last-event-id:")?.trim().parse().ok());
    socket.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n").await.ok()?;
    let now = || (began.elapsed().as_millis() / 200) as u64;
    let mut next: u64 = last.map_or_else(now, |last: u64| last + 1);
    loop {
        while next <= now() {
            socket.write_all(format!("id: {next}\ndata: {next}\n\n").as_bytes()).await.ok()?;
            next += 1;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// What clients asked for, and what they got.
#[derive(Default)]
struct Storm {
    asked: Counts,
    /// Answers that were not as they ought to be.
    wrong: Counts,
    /// Events that a tab did not get, or got twice.
    gaps: Counts,
}

async fn rages(address: SocketAddr, prefix: &'static str, storm: &Arc<Storm>) {
    let ends = Instant::now() + LASTS;
    let mut clients = JoinSet::new();
    for n in 0..LISTS_A_SECOND {
        let (storm, path) = (storm.clone(), format!("{prefix}/tasks?list={}", n % LISTS));
        let times = (Duration::from_secs(1), ends);
        clients.spawn(async move { asks(address, times, |_| (path.clone(), 200), &storm).await });
    }
    for first in 0..RECEIPT_READS_IN_TEN_SECONDS {
        let storm = storm.clone();
        let times = (Duration::from_secs(10), ends);
        let next = move |turn: u32| {
            let number = (first + turn * RECEIPT_READS_IN_TEN_SECONDS) % RECEIPTS;
            (format!("{prefix}/receipts/{number}"), if number == 0 { 200 } else { 409 })
        };
        clients.spawn(async move { asks(address, times, next, &storm).await });
    }
    for tab in 0..TABS {
        let storm = storm.clone();
        clients.spawn(async move {
            tokio::time::sleep(TAB_STAYS * tab as u32 / TABS as u32).await;
            stays_open(address, prefix, ends, &storm).await;
        });
    }
    clients.join_all().await;
}

async fn asks(
    address: SocketAddr,
    (every, ends): (Duration, Instant),
    next: impl Fn(u32) -> (String, u16),
    storm: &Storm,
) {
    // Not all at once.
    tokio::time::sleep(every * phase_of(&next(0).0) / 100).await;
    let mut reader = Reader::connect(address).await.expect("somebody listens");
    for turn in 0.. {
        if Instant::now() >= ends {
            break;
        }
        let (path, expected) = next(turn);
        let kind = if path.contains("/tasks") { "lists" } else { "receipts" };
        count(&storm.asked, kind);
        match reader.get(&path).await {
            Ok((status, _)) if status == expected => {}
            Ok(_) => count(&storm.wrong, kind),
            Err(_) => {
                count(&storm.wrong, kind);
                reader = Reader::connect(address).await.expect("somebody listens");
            }
        }
        tokio::time::sleep(every).await;
    }
}

/// Hundredths: the same for the same text, and another for most others.
fn phase_of(text: &str) -> u32 {
    text.bytes().fold(7, |sum: u32, byte| sum.wrapping_mul(31).wrapping_add(u32::from(byte))) % 100
}

/// A tab: reads its stream for a while, then opens it anew with the last id that it saw.
async fn stays_open(address: SocketAddr, prefix: &str, ends: Instant, storm: &Storm) {
    let mut last: Option<u64> = None;
    while Instant::now() < ends {
        count(&storm.asked, "streams");
        let mut socket = TcpStream::connect(address).await.expect("somebody listens");
        let id = last.map(|last| format!("Last-Event-ID: {last}\r\n")).unwrap_or_default();
        let ask = format!("GET {prefix}/events HTTP/1.1\r\nHost: {address}\r\nAccept: text/event-stream\r\n{id}\r\n");
        if socket.write_all(ask.as_bytes()).await.is_err() {
            continue;
        }
        let leaves = tokio::time::Instant::now() + TAB_STAYS;
        let (mut text, mut piece) = (String::new(), [0; 4096]);
        while let Ok(Ok(n)) = tokio::time::timeout_at(leaves, socket.read(&mut piece)).await {
            if n == 0 {
                break;
            }
            text.push_str(&String::from_utf8_lossy(&piece[..n]));
        }
        if !text.starts_with("HTTP/1.1 200") {
            count(&storm.wrong, "streams");
        }
        for id in text.lines().filter_map(|line| line.strip_prefix("data:")?.trim().parse::<u64>().ok()) {
            if last.is_some_and(|last| id != last + 1) {
                count(&storm.gaps, "streams");
            }
            last = Some(id);
        }
    }
}

/// Requests at the provider, and the storm as its clients saw it.
fn run(through_larder: bool) -> (BTreeMap<&'static str, u64>, Arc<Storm>) {
    runtime().block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let provider = listener.local_addr().expect("bound");
        let got = Counts::default();
        let serving = tokio::spawn(provide(listener, got.clone()));
        let storm = Arc::new(Storm::default());
        if through_larder {
            let (folder, address) = (scratch(), free_port());
            let config = format!(
                "[server]\nlisten = \"{address}\"\ndata = \"{}\"\n\n[[connection]]\nname = \"web\"\nbase_url = \"http://{provider}\"\n\
                 [[connection.limit]]\nname = \"hour\"\nrequests = 100000\nwindow = \"1h\"\nkind = \"rolling\"\n\
                 [connection.poll]\ninterval = \"1h\"\n{GATEWAY}",
                folder.path().join("larder.redb").display()
            );
            let file = folder.path().join("larder.toml");
            std::fs::write(&file, config).expect("a configuration");
            let mut appliance =
                Process::start(BINARY, &["serve", "--config", &file.display().to_string()], folder.path());
            until(|| {
                appliance.assert_alive(folder.path());
                std::net::TcpStream::connect(address).ok()
            });
            rages(address, "/gateway/web", &storm).await;
        } else {
            rages(provider, "", &storm).await;
        }
        serving.abort();
        let got = got.lock().expect("nobody panics with it").clone();
        (got, storm)
    })
}

fn main() {
    let ((straight, before), (through, after)) = (run(false), run(true));
    let of = |counts: &BTreeMap<&'static str, u64>, kind| counts.get(kind).copied().unwrap_or_default();
    let in_all = |counts: &Counts, kind| of(&counts.lock().expect("nobody panics with it"), kind);
    let rows: Vec<Vec<String>> = ["lists", "receipts", "streams"]
        .into_iter()
        .map(|kind| {
            let (many, few) = (of(&straight, kind), of(&through, kind));
            let factor = many as f64 / few.max(1) as f64;
            let wrong = in_all(&after.wrong, kind) + in_all(&after.gaps, kind);
            let asked = format!("{} / {}", in_all(&before.asked, kind), in_all(&after.asked, kind));
            vec![kind.to_owned(), asked, many.to_string(), few.to_string(), format!("{factor:.0}"), wrong.to_string()]
        })
        .collect();
    let names =
        ["", "asked, straight / through", "at the provider, straight", "through Larder", "factor", "wrong or missed"];
    table(&format!("{} s of a storm", LASTS.as_secs()), &names, &rows);
}
