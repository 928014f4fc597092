//! What the benchmarks share: a clock of their own, names, items, a filled file, a place on a real disk, and tables.
#![allow(dead_code)] // each benchmark takes a part of it

pub mod bare;
pub mod day;
pub mod field;
pub mod floor;
pub mod house;
pub mod http;
pub mod load;
pub mod origin;
pub mod peers;
pub mod process;
pub mod redis;

use larder::domain::event::{EventKind, NewEvent};
use larder::domain::ids::{ConnectionKey, ConnectionName, CredentialId, Organization, TargetKey};
use larder::domain::item::{FieldValue, Item, ItemState};
use larder::domain::limit::{Kind, Limit, Scope};
use larder::domain::target::TargetState;
use larder::domain::time::{ClockTrust, Now, Span, Stamp, Steady};
use larder::store::{Commit, Options, Store, Write, Writer};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::LazyLock;
use std::time::{Duration, Instant, SystemTime};

static BEGAN: LazyLock<Instant> = LazyLock::new(Instant::now);
/// A steady timeline that began an hour before the benchmark, so that nothing is at zero.
const BEFORE: u64 = 3_600_000;

pub fn now() -> Now {
    let steady = Steady(BEFORE + BEGAN.elapsed().as_millis() as u64);
    let unix = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("after 1970").as_millis();
    Now { steady, era: 0, trust: ClockTrust::Trusted, offsets: vec![unix as i64 - steady.0 as i64] }
}

/// A folder on the disk that holds `target`, gone when dropped. Not `/tmp`, which may be memory.
pub fn scratch() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder in target")
}

pub fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime")
}

pub fn open(path: &Path) -> Store {
    let options = Options { writer: Writer::Thread, cache_bytes: 32 << 20 };
    Store::open(path, options).expect("a store").0
}

pub const CREDENTIAL: CredentialId = CredentialId([7; 16]);

pub fn connection() -> ConnectionKey {
    ConnectionKey { organization: Organization::default(), connection: ConnectionName::from("yard") }
}

pub fn target(n: usize) -> TargetKey {
    TargetKey { connection: connection(), target: target_name(n).as_str().into() }
}

pub fn target_name(n: usize) -> String {
    format!("target-{n}")
}

/// A limit that never refuses within a benchmark.
pub fn wide_limit() -> Limit {
    Limit {
        name: "wide".into(),
        amount: 1_000_000_000,
        kind: Kind::Rolling { window: Span::from_secs(60) },
        scope: Scope::Credential,
        keep: BTreeMap::new(),
        cap: BTreeMap::new(),
        reach: BTreeMap::new(),
    }
}

/// An item as an irrigation controller would have it: five fields, a state, about 200 bytes on disk.
pub fn item(n: usize, version: u64, at: Stamp) -> Item {
    let fields = vec![
        ("zone".into(), FieldValue::Number(n as f64)),
        ("run_seconds".into(), FieldValue::Number((version % 1800) as f64)),
        ("program".into(), FieldValue::Text(format!("lawn behind house {}", n % 97))),
        ("enabled".into(), FieldValue::Bool(true)),
        ("next_run".into(), FieldValue::Until(at + Span::from_secs(3600))),
    ];
    let fingerprint = (n as u128 * 0x9e37_79b9_7f4a_7c15 + u128::from(version)).to_le_bytes();
    Item {
        key: format!("{n:07}"),
        title: format!("Zone {n}"),
        state: Some(ItemState { word: "idle".into(), decays: None }),
        fields,
        fingerprint,
        first_seen: at,
        changed: at,
        removed: None,
    }
}

/// Writes `targets` targets of `each` items, a commit a target: what a file looks like after a first round.
pub async fn fill(store: &Store, targets: usize, each: usize) {
    let at = now().stamp();
    for t in 0..targets {
        let key = target(t);
        let state = TargetState {
            as_of: Some(at),
            changed_at: Some(at),
            attempted_at: Some(at),
            generation: 1,
            item_count: each as u64,
            ..TargetState::default()
        };
        let mut writes = vec![Write::Target(key.clone(), state)];
        writes.extend((0..each).map(|n| Write::Item(key.clone(), item(n, 0, at))));
        let events = vec![changed(&key, at)];
        let commit = Commit { writes, events, ..Commit::default() };
        store.commit(commit).await.expect("a commit");
    }
}

pub fn changed(key: &TargetKey, at: Stamp) -> NewEvent {
    NewEvent {
        kind: EventKind::TargetChanged,
        at,
        connection: Some(key.connection.clone()),
        target: Some(key.target.clone()),
        message: "items changed".into(),
    }
}

pub fn median<T: PartialOrd + Copy>(mut of: Vec<T>) -> T {
    of.sort_by(|a, b| a.partial_cmp(b).expect("comparable"));
    of[of.len() / 2]
}

pub fn per_second(count: u64, took: Duration) -> f64 {
    count as f64 / took.as_secs_f64()
}

pub fn ms(d: Duration) -> String {
    format!("{:.1} ms", d.as_secs_f64() * 1000.0)
}

/// A heading and the rows under it, ready for `benches/README.md`.
pub fn table(title: &str, columns: &[&str], rows: &[Vec<String>]) {
    println!("\n{title}\n\n| {} |\n|{}", columns.join(" | "), " --- |".repeat(columns.len()));
    for row in rows {
        println!("| {} |", row.join(" | "));
    }
}
