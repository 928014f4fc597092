//! A scan on a disk that ends the world at any of its operations (T7): what its targets show is of one reading for all of them, and what was
//! begun is brought to its end. The real engine, a provider of a few pages, and no chance but that of the disk.

use crate::dice::Dice;
use crate::disk::{Cut, Disk};
use crate::machine::{FakeClock, Machine};
use larder::config::{Environment, Recipes, parse};
use larder::domain::cursor::{Cursor, HistoryAsk, ItemsAsk};
use larder::domain::ids::{ConnectionKey, CredentialId, Organization, TargetKey};
use larder::domain::reply::{Answer, Reply};
use larder::domain::spec::ConnectionSpec;
use larder::domain::time::Wall;
use larder::engine::appliance::Appliance;
use larder::engine::view::FieldShown;
use larder::engine::{Parts, Running};
use larder::rules::budget::Permit;
use larder::store::{Options, Store, Writer};
use larder::upstream::{Door, Request};
use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// More than fit into one transaction of a publication, where each row is an item and a line of history.
const ORDERS: usize = 4;
const EACH: usize = 450;
const PAGES: usize = 3;

const CONFIG: &str = r#"
[[connection]]
name = "field"
base_url = "https://provider.invalid"
refresh_min_age = "0s"
limit = [{ name = "day", requests = 1000, window = "24h", kind = "rolling" }]
[connection.poll]
interval = "12h"
[[connection.scan]]
name = "project"
get = "/tasks"
items = "$.rows[*]"
key = "$.id"
feeds = "$.order"
page = { style = "page-number", param = "page", total_pages = "$.pages" }
[connection.scan.fields]
word = { path = "$.word" }
"#;

/// What the provider says, and how often it was asked.
#[derive(Default)]
struct Provider {
    word: AtomicU64,
    asked: AtomicUsize,
}

struct Pages {
    provider: Arc<Provider>,
    clock: Arc<FakeClock>,
}

impl Door for Pages {
    fn send(&self, permit: Permit, request: Request) -> Pin<Box<dyn Future<Output = Reply> + Send + '_>> {
        use larder::clock::Clock;
        drop(permit);
        self.provider.asked.fetch_add(1, Ordering::Relaxed);
        let page: usize = request.location.rsplit('=').next().and_then(|n| n.parse().ok()).unwrap_or(1);
        let word = self.provider.word.load(Ordering::Relaxed);
        let all = ORDERS * EACH;
        let rows = (all * (page - 1) / PAGES..all * page / PAGES)
            .map(|id| serde_json::json!({"id": id, "order": format!("s{}", id % ORDERS), "word": word}));
        let body = serde_json::json!({"rows": rows.collect::<Vec<_>>(), "pages": PAGES}).to_string().into_bytes();
        let headers = vec![("content-type".to_owned(), "application/json".to_owned())];
        let answer = Answer { status: 200, headers, body };
        let reply = Reply { arrived_at: self.clock.now().stamp(), result: Ok(answer), detail: String::new() };
        Box::pin(std::future::ready(reply))
    }

    fn redact(&self, text: &str) -> String {
        text.to_owned()
    }
}

fn field() -> ConnectionKey {
    ConnectionKey { organization: Organization::default(), connection: "field".into() }
}

fn order(n: usize) -> TargetKey {
    TargetKey { connection: field(), target: format!("s{n}").as_str().into() }
}

fn connections() -> Vec<ConnectionSpec> {
    let targets: String = (0..ORDERS).map(|n| format!("[[connection.target]]\nname = \"s{n}\"\n")).collect();
    let text = format!("{CONFIG}{targets}");
    let nothing = Environment::new(Vec::<(String, String)>::new());
    parse(&text, Path::new("larder.toml"), &nothing, &Recipes::default()).expect("a configuration").connections
}

struct World {
    disk: Disk,
    machine: Machine,
    provider: Arc<Provider>,
}

impl World {
    async fn start(&self) -> Result<(Appliance, Running), String> {
        let options = Options { writer: Writer::Inline, cache_bytes: 1 << 20 };
        let (store, mut opening) = Store::open_backend(self.disk.open(), options).map_err(|e| e.to_string())?;
        opening.installation = [9; 32];
        let clock = FakeClock::start(&self.machine, opening.mark.clone(), opening.high_water, 1000);
        let clock = Arc::new(clock);
        let parts = Parts {
            shelf: Default::default(),
            store,
            opening,
            clock: clock.clone(),
            door: Arc::new(Pages { provider: Arc::clone(&self.provider), clock }),
            connections: connections(),
            polling: Default::default(),
            organizations: Default::default(),
            stored: Default::default(),
            putting: Default::default(),
            credentials: BTreeMap::from([(field(), CredentialId([7; 16]))]),
            notes: Vec::new(),
        };
        larder::engine::start(parts).await
    }
}

/// The word of every item that is there, and how many there are; of one target.
fn shown(appliance: &Appliance, n: usize) -> (usize, BTreeSet<String>) {
    let view = appliance.target(&order(n), &ItemsAsk::default()).expect("a target");
    let present: Vec<_> = view.items.into_iter().filter(|i| i.removed_at.is_none()).collect();
    let word = |fields: &[(String, FieldShown)]| match fields.first() {
        Some((_, FieldShown::Text(word))) => word.clone(),
        other => panic!("no word: {other:?}"),
    };
    (present.len(), present.iter().map(|i| word(&i.fields)).collect())
}

/// The one word that all targets show.
fn word(appliance: &Appliance, when: &str) -> String {
    let all: Vec<_> = (0..ORDERS).map(|n| shown(appliance, n)).collect();
    assert!(all.iter().all(|(items, words)| *items == EACH && words.len() == 1), "{when}: a part is shown: {all:?}");
    let words: BTreeSet<_> = all.into_iter().flat_map(|(_, words)| words).collect();
    assert_eq!(words.len(), 1, "{when}: some targets have the new reading and some have not");
    words.into_iter().next().unwrap_or_default()
}

fn history_is_whole(appliance: &Appliance, when: &str) {
    for n in 0..ORDERS {
        let (mut after, mut lines) = (0, 0);
        loop {
            let ask = HistoryAsk { from: Cursor::After(after), limit: 1_000, ..HistoryAsk::default() };
            let page = appliance.history(&order(n), &ask).expect("its history").rows;
            let Some(last) = page.last() else { break };
            let numbers: Vec<u64> = page.iter().map(|h| h.seq).collect();
            assert_eq!(numbers, (after + 1..=last.seq).collect::<Vec<_>>(), "{when}: a gap in the history of s{n}");
            (after, lines) = (last.seq, lines + page.len());
        }
        assert_eq!(lines, 2 * EACH, "{when}: each row of s{n} appeared once and changed once");
    }
}

/// The first reading on a new disk, ended in order.
async fn first_reading() -> World {
    let world =
        World { disk: Disk::default(), machine: Machine::new(Wall(1_796_026_800_000)), provider: Arc::default() };
    let (appliance, running) = world.start().await.expect("a start");
    appliance.refresh(&order(0), "test").await.expect("the first reading");
    assert_eq!(word(&appliance, "at first"), "0");
    drop(appliance);
    running.stop().await.expect("a stop");
    world.provider.word.store(1, Ordering::Relaxed);
    world
}

/// Reads anew and lets the world end at operation `at`; whether it did.
async fn ends(at: u64, cut: Cut, dice: &mut Dice) -> bool {
    let world = first_reading().await;
    let when = format!("operation {at}, {cut:?}");
    let (appliance, running) = world.start().await.expect("a start");
    world.disk.fail_after(at, at.is_multiple_of(2));
    let first = order(0);
    let refreshed = tokio::select! {
        biased;
        () = world.disk.died() => false,
        done = appliance.refresh(&first, "test") => done.is_ok(),
    };
    // What is published is moved behind everybody's back.
    for _ in 0..if refreshed { 200 } else { 0 } {
        tokio::task::yield_now().await;
    }
    let died = world.disk.is_dead();
    assert!(died || refreshed, "{when}");
    drop((appliance, running));
    world.disk.crash(cut, dice);
    let asked = world.provider.asked.load(Ordering::Relaxed);
    let (appliance, running) = world.start().await.expect("a start after the end");
    let after = word(&appliance, &when);
    tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    if after == "0" {
        appliance.refresh(&order(0), "test").await.expect("the reading is brought to its end");
        let again = world.provider.asked.load(Ordering::Relaxed) - asked;
        assert!(again <= PAGES, "{when}: {again} requests for {PAGES} pages");
    }
    assert_eq!(word(&appliance, &when), "1");
    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    assert_eq!(word(&appliance, &when), "1", "moved to its place");
    history_is_whole(&appliance, &when);
    running.stop().await.expect("a stop");
    died
}

#[test]
fn t7_whichever_operation_of_the_disk_is_the_last_a_scan_is_published_whole_or_not_at_all() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().expect("tokio");
    runtime.block_on(async {
        let mut dice = Dice::new(7);
        let (mut at, mut deaths) = (1, 0);
        // Closer together at first, where the pages are; then through the batches, the switch and the moving.
        loop {
            let cut = if u32::is_multiple_of(deaths, 2) { Cut::Process } else { Cut::Power };
            if !ends(at, cut, &mut dice).await {
                break;
            }
            deaths += 1;
            at += 1 + at / 8;
        }
        assert!(deaths > 20, "the disk ended {deaths} worlds");
    });
}
