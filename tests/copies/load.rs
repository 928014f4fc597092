//! The load: a process of its own that writes to the file as fast as it can, and says what is on the disk. Charges with what was learned from them,
//! answers of 2,000 items that all change at once, items that come, go and are forgotten, so that the file grows and its pages come free, and
//! charges that are too old to be kept, an hour passing with each.

use larder::domain::charge::{Resolution, Settlement};
use larder::domain::connection::Ask;
use larder::domain::event::{EventKind, NewEvent};
use larder::domain::ids::{Caller, ChargeId, ConnectionKey, CredentialId, Organization, TargetKey};
use larder::domain::item::{Item, Removed};
use larder::domain::limit::{Kind, Limit, Scope};
use larder::domain::outcome::Outcome;
use larder::domain::target::TargetState;
use larder::domain::time::{ClockTrust, Now, Span, Steady};
use larder::rules::budget::Request;
use larder::store::{Admission, Commit, Options, Retention, Store, Write, Writer};
use std::io::{BufRead, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

pub const OPTIONS: Options = Options { writer: Writer::Thread, cache_bytes: 8 << 20 };
const KEY: CredentialId = CredentialId([9; 16]);
const FILE: &str = "COPIES_FILE";
/// Of an answer.
const ITEMS: usize = 2_000;
const HOUR: u64 = 3_600_000;

fn target(name: &str) -> TargetKey {
    let connection = ConnectionKey { organization: Organization::default(), connection: "yard".into() };
    TargetKey { connection, target: name.into() }
}

/// The hour of a charge.
fn at(charge: u64) -> Now {
    Now { steady: Steady(charge * HOUR), era: 0, trust: ClockTrust::Trusted, offsets: vec![1_000_000] }
}

fn item(n: usize, round: u64) -> Item {
    Item {
        key: format!("{n:05}"),
        title: format!("round {round}"),
        state: None,
        fields: Vec::new(),
        fingerprint: [round as u8; 16],
        first_seen: at(round).stamp(),
        changed: at(round).stamp(),
        removed: None,
    }
}

/// What the child does.
pub fn run() {
    let Ok(file) = std::env::var(FILE) else { return };
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime");
    runtime.block_on(write(Path::new(&file)));
}

async fn write(file: &Path) {
    let (store, _) = Store::open(file, OPTIONS).expect("the file");
    let found = newest_charge(&store);
    println!("found {found}");
    let (keep, cap) = Default::default();
    let kind = Kind::Rolling { window: Span::from_secs(300) };
    let limit = Limit {
        name: "wide".into(),
        amount: 1 << 40,
        kind,
        scope: Scope::Credential,
        keep,
        reach: Default::default(),
        cap,
    };
    store.install_budget(KEY, vec![limit], &at(found)).expect("a budget");
    let mut charge = found;
    loop {
        charge = asks(&store, charge + 1).await;
        println!("confirmed {charge}");
        // Nobody listens any more: whoever started this is gone.
        if std::io::stdout().flush().is_err() {
            return;
        }
    }
}

/// A charge, and what its answer taught.
async fn asks(store: &Store, round: u64) -> u64 {
    let now = at(round);
    let request = Request {
        connection: target("answer").connection,
        target: Some("answer".into()),
        ask: Ask { caller: Caller::Poller, endpoint: "/status".into(), cost: 1, organization: None },
        send_grace: Span::from_secs(1),
        request_timeout: Span::from_secs(30),
    };
    let admission = Admission { credential: KEY, request, now: now.clone(), with: Box::new(|_| Vec::new()) };
    let id = store.admit(admission).await.expect("a store").expect("a permit").id();
    let state = TargetState { as_of: Some(now.stamp()), ..TargetState::default() };
    let mut writes =
        vec![Write::Target(target("answer"), state), Write::Item(target("few"), item(round as usize % 50, round))];
    match round % 16 {
        0 => writes.extend((0..ITEMS).map(|n| Write::Item(target("answer"), item(n, round)))),
        5 => writes.extend((0..ITEMS).map(|n| Write::Item(target("comes and goes"), item(n, round)))),
        10 => writes.extend((0..ITEMS).map(|n| Write::Item(target("comes and goes"), gone(n, round)))),
        15 => forget(store, &now).await,
        _ => (),
    }
    let resolution = Resolution {
        at: now.stamp(),
        settlement: Settlement::Posted,
        outcome: Outcome::Data,
        status: Some(200),
        rule: "data".into(),
        said: None,
        cost: None,
    };
    let ChargeId(number) = id;
    let commit = Commit { resolve: Some((KEY, id, resolution)), writes, ..Commit::default() };
    store.commit(commit).await.expect("a commit");
    number
}

fn gone(n: usize, round: u64) -> Item {
    let (at, last_seen) = (at(round).stamp(), at(round - 5).stamp());
    Item { removed: Some(Removed { at, last_seen }), ..item(n, round - 5) }
}

async fn forget(store: &Store, now: &Now) {
    let rule = Retention { keep: Span(HOUR), now: now.clone() };
    let at = now.stamp();
    let mut from = None;
    loop {
        let mut outdated = store.outdated(&target("few").connection, &rule, from.as_ref()).expect("a store");
        from = outdated.on.take();
        let message = "forgotten".to_owned();
        let tell = move |_| NewEvent { kind: EventKind::Appliance, at, connection: None, target: None, message };
        store.forget(outdated, rule.clone(), tell).await.expect("a store");
        if from.is_none() {
            return;
        }
    }
}

pub fn newest_charge(store: &Store) -> u64 {
    let newest = store.charges(&target("answer").connection, None, 1).expect("charges");
    newest.first().map_or(0, |charge| charge.id.0)
}

/// All items of an answer were written in one commit: a copy in which they differ is of two moments.
pub fn is_of_one_moment(store: &Store) {
    let items = store.items(&target("answer")).expect("items");
    assert!(items.is_empty() || items.len() == ITEMS, "{} items", items.len());
    assert!(items.windows(2).all(|pair| pair[0].title == pair[1].title), "an answer of two moments");
}

/// The process, and what it says.
pub struct Appliance {
    pub file: PathBuf,
    child: Child,
    listening: Option<JoinHandle<()>>,
    confirmed: Arc<AtomicU64>,
    found: Arc<AtomicU64>,
    began: Instant,
}

impl Appliance {
    /// With some answers in it already.
    pub fn start(file: &Path) -> Appliance {
        let (confirmed, found) = Default::default();
        let (child, listening) = spawn(file, &confirmed, &found);
        let listening = Some(listening);
        let appliance = Appliance { file: file.to_owned(), child, listening, confirmed, found, began: Instant::now() };
        appliance.until(40);
        appliance
    }

    /// The newest charge that is on the disk, and everything before it.
    pub fn confirmed(&self) -> u64 {
        self.confirmed.load(Ordering::SeqCst)
    }

    /// What the last start found.
    pub fn found(&self) -> u64 {
        self.found.load(Ordering::SeqCst)
    }

    pub fn until(&self, charge: u64) {
        let patience = Instant::now() + Duration::from_secs(120);
        while self.confirmed() < charge {
            assert!(Instant::now() < patience, "the load stands still at {}", self.confirmed());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// `kill -9`. What was confirmed by then.
    pub fn kill(&mut self) -> u64 {
        self.child.kill().expect("the load");
        self.child.wait().expect("the load");
        self.listening.take().map(JoinHandle::join);
        self.confirmed()
    }

    pub fn starts_again(&mut self) {
        let (child, listening) = spawn(&self.file, &self.confirmed, &self.found);
        (self.child, self.listening) = (child, Some(listening));
    }

    pub fn report(&self) -> String {
        let (charges, took) = (self.confirmed(), self.began.elapsed().as_secs().max(1));
        let size = std::fs::metadata(&self.file).expect("the file").len() >> 20;
        format!(
            "{charges} charges and as many answers in {took} s, {} commits a second; the file has {size} MB",
            2 * charges / took
        )
    }
}

impl Drop for Appliance {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn spawn(file: &Path, confirmed: &Arc<AtomicU64>, found: &Arc<AtomicU64>) -> (Child, JoinHandle<()>) {
    let mut command = Command::new(std::env::current_exe().expect("this test"));
    command.args(["--exact", "load", "--ignored", "--nocapture"]).env(FILE, file);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn().expect("the load");
    let lines = BufReader::new(child.stdout.take().expect("what it says")).lines();
    let (confirmed, found) = (confirmed.clone(), found.clone());
    let listening = std::thread::spawn(move || {
        for line in lines.map_while(Result::ok) {
            let number = |word| line.strip_prefix(word).and_then(|n| n.parse().ok());
            if let Some(n) = number("confirmed ") {
                confirmed.fetch_max(n, Ordering::SeqCst);
            } else if let Some(n) = number("found ") {
                found.store(n, Ordering::SeqCst);
            }
        }
    });
    (child, listening)
}
