//! The store from outside, in the words of its callers.

mod access;
mod answered;
mod audit;
mod behind;
mod crash;
mod disk;
mod file;
mod findings;
mod generations;
mod growth;
mod lanes;
mod pages;
mod place;
mod restore;
mod restored;
mod retention;
mod sealed;
mod shelf;
mod shelved;
mod stood;
mod sums;
mod wear;
mod whereabouts;

use super::*;
use crate::domain::charge::{Resolution, Settlement};
use crate::domain::connection::{Ask, HoldReason, HoldScope, Ramp};
use crate::domain::event::EventKind;
use crate::domain::job::JobState;
use crate::domain::limit::{Kind, Limit, Scope};
use crate::domain::outcome::Outcome;
use crate::domain::time::{ClockTrust, Span, Steady};
use disk::Disk;

const INLINE: Options = Options { writer: Writer::Inline, cache_bytes: 4 << 20 };
const THREAD: Options = Options { writer: Writer::Thread, cache_bytes: 4 << 20 };
const KEY: CredentialId = CredentialId([9; 16]);

fn at(ms: u64) -> Now {
    Now { steady: Steady(ms), era: 0, trust: ClockTrust::Trusted, offsets: vec![1_000_000] }
}

fn yard() -> ConnectionKey {
    ConnectionKey { organization: Organization::default(), connection: "yard".into() }
}

fn controller() -> TargetKey {
    TargetKey { connection: yard(), target: "controller".into() }
}

/// `amount` per five minutes, over everything the credential sends.
fn limit(amount: u64) -> Vec<Limit> {
    let kind = Kind::Rolling { window: Span::from_secs(300) };
    let (keep, cap) = Default::default();
    vec![Limit { name: "status".into(), amount, kind, scope: Scope::Credential, keep, reach: Default::default(), cap }]
}

fn ask() -> Ask {
    Ask { caller: Caller::Poller, endpoint: "/status".into(), cost: 1, organization: None }
}

fn admission(now: &Now) -> Admission {
    let request = Request {
        connection: yard(),
        target: Some("controller".into()),
        ask: ask(),
        send_grace: Span::from_secs(1),
        request_timeout: Span::from_secs(30),
    };
    Admission { credential: KEY, request, now: now.clone(), with: Box::new(|_| Vec::new()) }
}

fn answered(now: &Now) -> Resolution {
    Resolution {
        at: now.stamp(),
        settlement: Settlement::Posted,
        outcome: Outcome::Data,
        status: Some(200),
        rule: "data".into(),
        said: None,
        cost: None,
    }
}

fn learned(id: ChargeId, now: &Now, writes: Vec<Write>, lane: Lane) -> Commit {
    Commit { resolve: Some((KEY, id, answered(now))), writes, lane, ..Commit::default() }
}

fn only(writes: Vec<Write>, lane: Lane) -> Commit {
    Commit { writes, lane, ..Commit::default() }
}

/// What the writer's clock hands in every `TICK`.
fn tick(store: &Store) {
    store.core().writing().run(store.core(), &mut vec![Work::Tick]);
}

fn seen_at(ms: u64) -> TargetState {
    TargetState { as_of: Some(at(ms).stamp()), ..TargetState::default() }
}

fn event(message: &str) -> NewEvent {
    NewEvent {
        kind: EventKind::TargetChanged,
        at: at(1).stamp(),
        connection: Some(yard()),
        target: None,
        message: message.into(),
    }
}

fn hold_until(ms: u64) -> Hold {
    Hold {
        scope: HoldScope::Credential,
        since: at(1).stamp(),
        until: Steady(ms),
        reason: HoldReason::RateLimited,
        source: "Retry-After".into(),
        rule: "status 429".into(),
        said: None,
        strikes: 1,
        ramp: None,
    }
}

fn a_job(key: Option<&str>) -> Job {
    Job {
        id: JobId(0),
        connection: yard(),
        command: "run-zone".into(),
        parameters: Default::default(),
        state: JobState::Queued,
        created_at: at(1).stamp(),
        updated_at: at(1).stamp(),
        by: "operator".into(),
        idempotency_key: key.map(str::to_owned),
        request_digest: [1; 16],
        charge: None,
        message: None,
        refresh: None,
    }
}

fn an_item(key: &str, title: &str) -> Item {
    Item {
        key: key.into(),
        title: title.into(),
        state: None,
        fields: vec![("watts".into(), crate::domain::item::FieldValue::Number(4.5))],
        fingerprint: [1; 16],
        first_seen: at(1).stamp(),
        changed: at(1).stamp(),
        removed: None,
    }
}

/// On a disk, in the caller, with a budget of `amount`.
fn on(disk: &Disk, amount: u64, now: &Now) -> Store {
    let (store, _) = Store::open_backend(disk.clone(), INLINE).unwrap();
    store.install_budget(KEY, limit(amount), now).unwrap();
    store
}

fn used(store: &Store, now: &Now) -> u64 {
    store.usage(KEY, now, &[]).iter().map(|u| u.used).sum()
}

async fn admit(store: &Store, now: &Now) -> ChargeId {
    store.admit(admission(now)).await.unwrap().unwrap().id()
}
