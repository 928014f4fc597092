//! The gateway beside the caches that a site would put there: what an answer from the shelf costs a core, and what a thousand at once who ask
//! for what nobody has yet cost the provider. All servers run in one run, on one core; who asks is on the other.

mod shared;

use shared::http::Reader;
use shared::load::{self, Seen};
use shared::origin::{ETAG, LARGE, Origin, SMALL};
use shared::peers::{Peer, stand_aside};
use shared::{floor, median, runtime, table};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Barrier;

const BINARY: &str = env!("CARGO_BIN_EXE_larder");
/// Each server has its turn so often; the median counts.
const ROUNDS: usize = 3;
const TURN_S: u64 = 5;
/// Before the first turn, unmeasured.
const WARM_S: u64 = 1;
/// Who ask for one cold key at once, and how often that is tried.
const ASKERS: usize = 1000;
const STAMPEDES: usize = 5;

/// What is asked for.
#[derive(Clone, Copy)]
struct Case {
    name: &'static str,
    path: &'static str,
    /// Each socket asks for so many addresses in turn.
    keys: usize,
    unmodified: bool,
    length: usize,
}

const CASES: [Case; 4] = [
    Case { name: "2 KB", path: "/small", keys: 1, unmodified: false, length: SMALL },
    Case { name: "2 KB, 8 keys in turn", path: "/small", keys: 8, unmodified: false, length: SMALL },
    Case { name: "304", path: "/small", keys: 1, unmodified: true, length: 0 },
    Case { name: "100 KB", path: "/large", keys: 1, unmodified: false, length: LARGE },
];

impl Case {
    fn paths(&self, peer: &Peer) -> Vec<String> {
        (0..self.keys).map(|n| format!("{}{}?{n}", peer.prefix, self.path)).collect()
    }
}

/// One turn of one server.
#[derive(Clone, Copy)]
struct Turn {
    seen: Seen,
    cpu: Duration,
}

impl Turn {
    fn take(peer: &Peer, case: &Case, seconds: u64) -> Turn {
        let header = case.unmodified.then(|| format!("If-None-Match: {ETAG}"));
        let before = peer.process.cpu();
        let seen = load::ask(peer.address, &case.paths(peer), header.as_deref(), seconds);
        Turn { seen, cpu: peer.process.cpu() - before }
    }

    fn per_core_second(&self) -> f64 {
        self.seen.requests as f64 / self.cpu.as_secs_f64()
    }
}

/// One answer: its status, head and body.
fn fetch(address: SocketAddr, path: &str, header: &str) -> (u16, String, Vec<u8>) {
    let mut socket = TcpStream::connect(address).expect("a socket");
    let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nAccept: */*\r\n{header}Connection: close\r\n\r\n");
    socket.write_all(request.as_bytes()).expect("a request");
    let mut bytes = Vec::new();
    socket.read_to_end(&mut bytes).expect("an answer");
    let end = bytes.windows(4).position(|w| w == b"\r\n\r\n").expect("a head");
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let status = head.get(9..12).and_then(|s| s.parse().ok()).expect("a status");
    (status, head, bytes.split_off(end + 4))
}

/// Each asked once, and then again: the second is from the shelf and says what it should. Returns the bytes of the last one's head.
fn filled(peer: &Peer, case: &Case) -> usize {
    case.paths(peer).iter().fold(0, |_, path| filled_at(peer, case, path))
}

fn filled_at(peer: &Peer, case: &Case, path: &str) -> usize {
    let (status, head, body) = fetch(peer.address, path, "");
    assert_eq!(status, 200, "{}: {head} {}", peer.name, String::from_utf8_lossy(&body));
    let header = if case.unmodified { format!("If-None-Match: {ETAG}\r\n") } else { String::new() };
    let (status, head, body) = fetch(peer.address, path, &header);
    let expected = if case.unmodified { 304 } else { 200 };
    assert_eq!((status, body.len()), (expected, case.length), "{} {}: {head}", peer.name, case.name);
    head.len()
}

/// Larder first: the others are compared with it.
fn peers(origin: &Origin) -> Vec<Peer> {
    let own = std::env::current_exe().expect("this benchmark");
    let others = [Peer::nginx(origin.address), Peer::varnish(origin.address), Peer::haproxy(origin.address)];
    [Peer::larder(BINARY, origin.address)]
        .into_iter()
        .chain(others.into_iter().flatten())
        .chain([Peer::floor(&own)])
        .collect()
}

async fn hits(quick: bool) {
    if !load::is_there() {
        eprintln!("wrk is not installed: hits are not measured");
        return;
    }
    let origin = Origin::start().await;
    let mut peers = peers(&origin);
    let (rounds, seconds) = if quick { (1, 1) } else { (ROUNDS, TURN_S) };
    let mut rows = Vec::new();
    for case in &CASES {
        let heads: Vec<usize> = peers.iter().map(|peer| filled(peer, case)).collect();
        let asked = origin.asked();
        let mut turns: Vec<Vec<Turn>> = peers.iter().map(|_| Vec::new()).collect();
        for round in 0..=rounds {
            for (peer, turns) in peers.iter_mut().zip(&mut turns) {
                let turn = Turn::take(peer, case, if round == 0 { WARM_S } else { seconds });
                turns.extend((round > 0).then_some(turn));
                peer.assert_alive();
            }
        }
        assert_eq!(origin.asked(), asked, "all of it was on the shelves: {}", case.name);
        let larder = rate(&turns[0]);
        let all = peers.iter().zip(&turns).zip(heads);
        rows.extend(all.map(|((peer, turns), head)| row(case, peer, turns, head, larder)));
    }
    let columns = [
        "answer",
        "server",
        "bytes of head",
        "requests/core second",
        "Larder to it",
        "requests/s",
        "p50",
        "p99",
        "resident",
    ];
    table("From the shelf, 64 sockets of wrk, server and client on a core each", &columns, &rows);
}

fn rate(turns: &[Turn]) -> f64 {
    median(turns.iter().map(Turn::per_core_second).collect())
}

fn row(case: &Case, peer: &Peer, turns: &[Turn], head: usize, larder: f64) -> Vec<String> {
    let time = |of: fn(&Seen) -> Duration| micros(median(turns.iter().map(|turn| of(&turn.seen)).collect()));
    let own = rate(turns);
    vec![
        case.name.to_owned(),
        peer.name.to_owned(),
        head.to_string(),
        format!("{own:.0}"),
        format!("{:.2}", larder / own),
        format!("{:.0}", median(turns.iter().map(|turn| turn.seen.per_second).collect())),
        time(|seen| seen.p50),
        time(|seen| seen.p99),
        format!("{:.1} MiB", peer.process.resident_kb() as f64 / 1024.0),
    ]
}

fn micros(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1000.0)
}

/// How long each asker waited, from its request to the last byte of its answer.
async fn stampede(peer: &Peer, path: &str, askers: usize) -> Vec<Duration> {
    let path = format!("{}{path}", peer.prefix);
    let ready = Arc::new(Barrier::new(askers));
    let mut waiting = Vec::new();
    for _ in 0..askers {
        let mut reader = Reader::connect(peer.address).await.expect("a socket");
        let (ready, path) = (Arc::clone(&ready), path.clone());
        waiting.push(tokio::spawn(async move {
            ready.wait().await;
            let began = Instant::now();
            let (status, length) = reader.get(&path).await.expect("an answer");
            assert_eq!((status, length), (200, SMALL));
            began.elapsed()
        }));
    }
    let mut took = Vec::new();
    for asker in waiting {
        took.push(asker.await.expect("an asker"));
    }
    took
}

/// Charges on the ledger of Larder's connection.
fn charges(peer: &Peer) -> usize {
    let (status, head, body) = fetch(peer.address, "/api/v1/connections/hub/ledger?after=0&limit=1000", "");
    assert_eq!(status, 200, "{head}");
    let told: serde_json::Value = serde_json::from_slice(&body).expect("JSON");
    told["charges"].as_array().expect("charges").len()
}

async fn stampedes(quick: bool) {
    let origin = Origin::start().await;
    let mut rows = Vec::new();
    let (times, askers) = if quick { (1, ASKERS / 10) } else { (STAMPEDES, ASKERS) };
    for mut peer in peers(&origin) {
        if peer.name == floor::NAME {
            continue;
        }
        let is_larder = !peer.prefix.is_empty();
        let (asked, before) = (origin.asked(), is_larder.then(|| charges(&peer)));
        let mut took = Vec::new();
        for n in 0..times {
            took.extend(stampede(&peer, &format!("/slow/{n}"), askers).await);
        }
        peer.assert_alive();
        took.sort_unstable();
        let each = |count: usize| format!("{:.1}", count as f64 / times as f64);
        rows.push(vec![
            peer.name.to_owned(),
            each((origin.asked() - asked) as usize),
            before.map_or_else(String::new, |before| each(charges(&peer) - before)),
            micros(took[took.len() / 2]),
            micros(took[took.len() * 99 / 100]),
            micros(took[took.len() - 1]),
        ]);
    }
    let columns = ["server", "calls of the provider", "charges", "p50", "p99", "longest"];
    table(&format!("{askers} at once ask for what takes the provider 200 ms, {times} times"), &columns, &rows);
}

/// `hit`, `stampede` or both; `quick` makes it a trial of a few seconds, which measures nothing.
fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    if let [word, address] = &args[..]
        && word == floor::WORD
    {
        return floor::serve(address);
    }
    let quick = args.iter().any(|a| a == "quick");
    let only = args.iter().find(|a| *a != "quick");
    let wanted = |name: &str| only.is_none_or(|o| o == name);
    if !stand_aside() {
        eprintln!("there is no second core, or no taskset: nothing is measured");
        return;
    }
    runtime().block_on(async {
        if wanted("hit") {
            hits(quick).await;
        }
        if wanted("stampede") {
            stampedes(quick).await;
        }
    });
}
