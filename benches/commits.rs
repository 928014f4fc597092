//! What an answer costs once it is there: extracting, comparing and committing 2,000 items, all changed and none changed; and the bytes that an
//! unchanged poll puts on the disk, charge included.

mod shared;

use larder::clock::{Clock, SystemClock};
use larder::domain::charge::{Resolution, Settlement};
use larder::domain::connection::{Ask, ConnectionState};
use larder::domain::cursor::ItemsAsk;
use larder::domain::ids::{Caller, ChargeId, TargetKey};
use larder::domain::outcome::Outcome;
use larder::domain::reply::{Answer, Reply};
use larder::domain::spec::{
    Carrier, Conditional, ConnectionSpec, FieldKind, FieldSpec, Interval, NetworkSpec, PollSpec, ReadingSpec,
    SecretSource, TargetSpec, WaitSpec,
};
use larder::domain::time::{Now, Span};
use larder::engine::Parts;
use larder::rules::budget::{Permit, Request};
use larder::rules::extract::Extractor;
use larder::rules::reconcile::reconcile;
use larder::store::{Admission, Commit, Lane, Options, Store, Write, Writer};
use larder::upstream::{self, Door};
use serde_json::{Value, json};
use shared::process::own_writes;
use shared::{CREDENTIAL, connection, median, ms, now, scratch, table, wide_limit};
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

const ITEMS: usize = 2000;
const ROUNDS: u64 = 21;
const POLLS: u64 = 500;

fn field(name: &str, kind: FieldKind) -> FieldSpec {
    FieldSpec {
        name: name.into(),
        path: format!("$.{name}"),
        kind,
        when: None,
        volatile: false,
        plausible: Default::default(),
    }
}

fn spec() -> TargetSpec {
    TargetSpec {
        name: shared::target_name(0).as_str().into(),
        get: Some("/tasks".into()),
        send: larder::domain::send::SendSpec::default(),
        cost: 1,
        page: None,
        items: "$.data[*]".into(),
        key: "$.id".into(),
        title: Some("$.title".into()),
        fresh_for: None,
        expires_after: None,
        observed_at: None,
        complete: None,
        push: false,
        fields: vec![
            field("status", FieldKind::Text),
            field("crew", FieldKind::Text),
            field("hours", FieldKind::Number),
            field("urgent", FieldKind::Bool),
            field("starts_at", FieldKind::Time),
        ],
        states: Vec::new(),
        volatile: Vec::new(),
    }
}

/// An answer of a task API. A new `version` changes one field of every item.
fn answer(items: usize, version: u64) -> Value {
    let item = |n: usize| {
        json!({
            "id": format!("T-{n:06}"), "title": format!("Replace meter at post {n}"), "status": "in_progress",
            "crew": format!("crew {}", n % 40), "hours": version, "urgent": n.is_multiple_of(7), "starts_at": "2027-03-01T06:00:00Z",
            "notes": "Call ahead; the gate is locked after four. Key at the desk.",
        })
    };
    json!({ "data": (0..items).map(item).collect::<Vec<_>>() })
}

async fn charge(store: &Store, now: Now) -> ChargeId {
    let ask = Ask {
        caller: Caller::Poller,
        endpoint: spec().endpoint().expect("a target that is asked"),
        cost: 1,
        organization: None,
    };
    let schedule = ConnectionState {
        last_poll_at: Some(now.stamp()),
        next_poll_at: Some(now.stamp() + Span::from_secs(75)),
        ..ConnectionState::default()
    };
    let request = Request {
        connection: connection(),
        target: Some(spec().name),
        ask,
        send_grace: Span::from_secs(5),
        request_timeout: Span::from_secs(30),
    };
    let with = Box::new(move |_| vec![Write::Connection(connection(), schedule)]);
    let admission = Admission { credential: CREDENTIAL, request, now, with };
    store.admit(admission).await.expect("a store").expect("a permit").id()
}

/// Steps 4 and 5 of a poll: from a parsed body to what the disk has to know.
async fn settle(store: &Store, extractor: &Extractor, key: &TargetKey, id: ChargeId, body: &Value) {
    let at = now().stamp();
    let seen = extractor.extract(body, &[], at).expect("items");
    let state = store.target(key).expect("a store").unwrap_or_default();
    let found = reconcile(&state, &store.items(key).expect("a store"), seen, at);
    let mut writes = vec![Write::Target(key.clone(), found.state)];
    writes.extend(found.put.into_iter().map(|i| Write::Item(key.clone(), i)));
    writes.extend(found.history.into_iter().map(|h| Write::History(key.clone(), h)));
    let resolution = Resolution {
        at,
        settlement: Settlement::Posted,
        outcome: Outcome::Data,
        status: Some(200),
        rule: "data".into(),
        said: None,
        cost: None,
    };
    let resolve = Some((CREDENTIAL, id, resolution));
    let (events, lane) = match found.changed {
        true => (vec![shared::changed(key, at)], Lane::Durable),
        false => (Vec::new(), Lane::Lazy),
    };
    store.commit(Commit { resolve, writes, events, lane, ..Commit::default() }).await.expect("a commit");
}

#[derive(Clone, Copy, PartialEq)]
enum Content {
    Changed,
    Unchanged,
}

async fn answers(store: &Store, extractor: &Extractor, key: &TargetKey, content: Content) -> Duration {
    let mut took = Vec::new();
    for round in 1..=ROUNDS {
        let version = if content == Content::Changed { round } else { 0 };
        let body = answer(ITEMS, version);
        let id = charge(store, now()).await;
        let began = Instant::now();
        settle(store, extractor, key, id, &body).await;
        took.push(began.elapsed());
    }
    median(took)
}

/// A provider that answers at once, always the same.
struct CannedDoor {
    clock: Arc<SystemClock>,
    body: Vec<u8>,
}

impl Door for CannedDoor {
    fn send(&self, permit: Permit, _: upstream::Request) -> Pin<Box<dyn Future<Output = Reply> + Send + '_>> {
        drop(permit);
        let headers = vec![("content-type".to_owned(), "application/json".to_owned())];
        let answer = Answer { status: 200, headers, body: self.body.clone() };
        let arrived_at = self.clock.now().stamp();
        Box::pin(std::future::ready(Reply { arrived_at, result: Ok(answer), detail: String::new() }))
    }
    fn redact(&self, text: &str) -> String {
        text.to_owned()
    }
}

fn connection_spec() -> ConnectionSpec {
    ConnectionSpec {
        key: connection(),
        provider: "canned".into(),
        recipe: None,
        base_url: "http://127.0.0.1:9".into(),
        secret: SecretSource::None,
        carrier: Carrier::None,
        new_secret: Default::default(),
        oauth: None,
        conditional: Conditional::default(),
        limits: vec![wide_limit()],
        quotas: Vec::new(),
        poll: PollSpec {
            enabled: true,
            interval: Interval::Every(Span::from_secs(86_400)),
            inactivity_ttl: None,
            completion_grace: Span::ZERO,
        },
        targets: vec![spec()],
        scans: Vec::new(),
        commands: Vec::new(),
        rules: Vec::new(),
        waits: WaitSpec::default(),
        network: NetworkSpec::default(),
        reading: ReadingSpec::default(),
        time_zone: "UTC".to_owned(),
        keep_history: None,
        webhooks: Vec::new(),
        refresh_min_age: Span::ZERO,
        gateway: Default::default(),
    }
}

/// Bytes handed to write calls and bytes sent to the disk, per poll, over the engine's whole path. Each charge is a commit of its own, as in quiet
/// times. The requests are asked for as refreshes, one after another, because no poller would be that fast; a poll also stamps
/// the connection, a row of the same commit.
async fn unchanged_polls(items: usize) -> (u64, u64) {
    let folder = scratch();
    let path = folder.path().join("larder.redb");
    let options = Options { writer: Writer::Thread, cache_bytes: 32 << 20 };
    let (store, opening) = Store::open(&path, options).expect("a store");
    let clock = Arc::new(SystemClock::start(opening.mark.clone(), opening.high_water));
    let body = answer(items, 0).to_string().into_bytes();
    let door = Arc::new(CannedDoor { clock: clock.clone(), body });
    let credentials = [(connection(), CREDENTIAL)].into();
    let parts = Parts {
        shelf: Default::default(),
        store,
        opening,
        clock,
        door,
        connections: vec![connection_spec()],
        polling: Default::default(),
        credentials,
        organizations: Default::default(),
        stored: Default::default(),
        putting: Default::default(),
        notes: Vec::new(),
    };
    let (appliance, running) = larder::engine::start(parts).await.expect("an engine");
    let key = shared::target(0);
    for _ in 0..3 {
        appliance.refresh(&key, "bench").await.expect("a refresh");
    }
    let (calls, disk) = own_writes();
    for _ in 0..POLLS {
        appliance.refresh(&key, "bench").await.expect("a refresh");
    }
    let (calls_after, disk_after) = own_writes();
    assert_eq!(appliance.target(&key, &ItemsAsk::default()).expect("a target").generation, 1, "nothing changed");
    running.stop().await.expect("a clean stop");
    ((calls_after - calls) / POLLS, (disk_after - disk) / POLLS)
}

fn main() {
    shared::runtime().block_on(async {
        let folder = scratch();
        let store = shared::open(&folder.path().join("larder.redb"));
        store.install_budget(CREDENTIAL, vec![wide_limit()], &now()).expect("a budget");
        let extractor = Extractor::compile(&spec(), "UTC").expect("a spec");
        let key = shared::target(0);

        let id = charge(&store, now()).await;
        let began = Instant::now();
        settle(&store, &extractor, &key, id, &answer(ITEMS, 0)).await;
        let first = began.elapsed();
        let unchanged = answers(&store, &extractor, &key, Content::Unchanged).await;
        let changed = answers(&store, &extractor, &key, Content::Changed).await;
        let rows = [("all new", first), ("all changed", changed), ("unchanged", unchanged)];
        let rows = rows.map(|(what, took)| vec![what.to_owned(), ms(took)]);
        table("An answer of 2,000 items, extracted, compared and committed", &["answer", "time"], &rows);

        let mut rows = Vec::new();
        for items in [6, ITEMS] {
            let (calls, disk) = unchanged_polls(items).await;
            let kib = |bytes: u64| format!("{:.1} KiB", bytes as f64 / 1024.0);
            rows.push(vec![items.to_string(), kib(calls), kib(disk)]);
        }
        let columns = ["items", "written by calls", "written to the disk"];
        table("An unchanged poll, charge and answer", &columns, &rows);
        store.close().expect("a clean close");
    });
}
