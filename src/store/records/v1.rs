//! The first form of every record. Frozen: bincode notices neither a moved field nor an added variant, so nothing here
//! is ever edited; a change is a `v2` beside it. Knows nothing but shapes; meaning is in `records`.

use bincode::{Decode, Encode};

#[derive(Clone, Copy, Encode, Decode)]
pub(super) struct Stamp {
    pub steady: u64,
    pub wall: i64,
    pub era: u32,
}

/// Begins with fields of fixed width, so that a row can be judged without decoding it: see `records::charge::peek`.
#[derive(Encode, Decode)]
pub(super) struct Charge {
    pub credential: [u8; 16],
    /// Milliseconds of the steady timeline, big-endian.
    pub reserved_steady: [u8; 8],
    /// 1 while there is no resolution.
    pub pending: u8,
    pub organization: String,
    pub connection: String,
    pub target: Option<String>,
    pub caller: u8,
    pub endpoint: String,
    pub cost: u32,
    pub reserved_wall: i64,
    pub reserved_era: u32,
    pub deadline: u64,
    pub resolution: Option<Resolution>,
}

#[derive(Encode, Decode)]
pub(super) struct Resolution {
    pub at: Stamp,
    pub settlement: u8,
    pub outcome: u8,
    pub status: Option<u16>,
    pub rule: String,
    pub said: Option<String>,
}

#[derive(Encode, Decode)]
pub(super) struct Hold {
    pub since: Stamp,
    pub until: u64,
    pub reason: u8,
    pub source: String,
    pub rule: String,
    pub said: Option<String>,
    pub strikes: u32,
}

#[derive(Encode, Decode)]
pub(super) enum Breaker {
    Closed,
    Open { since: Stamp, until: u64 },
    HalfOpen { since: Stamp },
}

#[derive(Encode, Decode)]
pub(super) struct Connection {
    pub last_poll_at: Option<Stamp>,
    pub next_poll_at: Option<Stamp>,
    pub breaker: Breaker,
    pub failures: u32,
    pub backoff_ms: u64,
    pub last_outcome: Option<(Stamp, u8)>,
    pub enabled: Option<Switch>,
}

#[derive(Encode, Decode)]
pub(super) struct Switch {
    pub on: bool,
    pub by: String,
    pub at: Stamp,
}

#[derive(Encode, Decode)]
pub(super) struct Target {
    pub phase: u8,
    pub as_of: Option<Stamp>,
    pub changed_at: Option<Stamp>,
    pub attempted_at: Option<Stamp>,
    pub generation: u64,
    pub fingerprint: [u8; 16],
    pub item_count: u64,
    pub next_seq: u64,
    pub etag: Option<String>,
    pub last_modified: Option<String>,
    pub trouble: Option<Trouble>,
}

#[derive(Encode, Decode)]
pub(super) struct Trouble {
    pub since: Stamp,
    pub outcome: u8,
    pub reason: String,
    pub said: Option<String>,
    pub failures: u32,
}

#[derive(Encode, Decode)]
pub(super) enum Field {
    Unknown,
    Text(String),
    Number(f64),
    Bool(bool),
    At(i64),
    Until(Stamp),
    Left(Stamp),
}

#[derive(Encode, Decode)]
pub(super) struct ItemState {
    pub word: String,
    pub decays: Option<(Stamp, String)>,
}

/// The item's key is the end of the row's key.
#[derive(Encode, Decode)]
pub(super) struct Item {
    pub title: String,
    pub state: Option<ItemState>,
    pub fields: Vec<(String, Field)>,
    pub fingerprint: [u8; 16],
    pub first_seen: Stamp,
    pub changed: Stamp,
    pub removed: Option<Removed>,
}

#[derive(Encode, Decode)]
pub(super) struct Removed {
    pub at: Stamp,
    pub last_seen: Stamp,
}

/// The sequence is the end of the row's key.
#[derive(Encode, Decode)]
pub(super) struct History {
    pub at: Stamp,
    pub generation: u64,
    pub kind: u8,
    pub key: String,
    pub title: String,
    pub state: Option<String>,
    pub detail: Vec<FieldChange>,
}

#[derive(Encode, Decode)]
pub(super) struct FieldChange {
    pub field: String,
    pub before: Option<String>,
    pub after: Option<String>,
}

#[derive(Encode, Decode)]
pub(super) struct Job {
    pub organization: String,
    pub connection: String,
    pub command: String,
    pub parameters: Vec<(String, String)>,
    pub state: u8,
    pub created_at: Stamp,
    pub updated_at: Stamp,
    pub by: String,
    pub idempotency_key: Option<String>,
    pub request_digest: [u8; 16],
    pub charge: Option<u64>,
    pub message: Option<String>,
    pub refresh: Option<JobRefresh>,
}

#[derive(Encode, Decode)]
pub(super) struct JobRefresh {
    pub target: String,
    pub result: String,
}

#[derive(Encode, Decode)]
pub(super) struct Event {
    pub kind: u8,
    pub at: Stamp,
    pub connection: Option<(String, String)>,
    pub target: Option<String>,
    pub message: String,
}

#[derive(Encode, Decode)]
pub(super) struct Token {
    pub name: String,
    pub hash: [u8; 32],
    pub role: String,
    pub organization: String,
    pub created_at: Stamp,
    pub revoked_at: Option<Stamp>,
}

#[derive(Encode, Decode)]
pub(super) struct Finding {
    pub organization: String,
    pub connection: String,
    pub target: Option<String>,
    pub kind: u8,
    pub subject: String,
    pub credential: Option<[u8; 16]>,
    pub opened_at: Stamp,
    pub last_seen_at: Stamp,
    pub count: u64,
    pub closed_at: Option<Stamp>,
    pub sentence: String,
    pub detail: Option<String>,
}

#[derive(Encode, Decode)]
pub(super) struct Learned {
    pub limit: String,
    pub endpoint: Option<String>,
    pub source: String,
    pub asked_at: Stamp,
    pub foreign: Option<Foreign>,
    pub foreign_streak: u32,
    pub foreign_seen_at: Option<Stamp>,
    pub nothing_left: bool,
    pub stated: Option<u64>,
    pub stated_streak: u32,
    pub adopted: Option<u64>,
}

#[derive(Encode, Decode)]
pub(super) struct Foreign {
    pub units: u64,
    pub at: u64,
    pub until: Option<u64>,
}

#[derive(Encode, Decode)]
pub(super) struct Sealed {
    pub version: u64,
    pub bytes: Vec<u8>,
}

#[derive(Encode, Decode)]
pub(super) struct Sum {
    pub requests: u64,
    pub units: u64,
    pub first: u64,
}

#[derive(Encode, Decode)]
pub(super) struct Polling {
    pub enabled: Option<Switch>,
    pub workers: Option<Workers>,
}

#[derive(Encode, Decode)]
pub(super) struct Workers {
    pub workers: u32,
    pub by: String,
    pub at: Stamp,
}

#[derive(Encode, Decode)]
pub(super) struct Mark {
    pub steady: u64,
    pub wall: i64,
    pub era: u32,
    pub boot_id: String,
    pub boottime_ms: u64,
    pub offsets: Vec<(i64, u64)>,
}

#[derive(Encode, Decode)]
pub(super) struct Scan {
    pub readings: u64,
    pub building: Option<Building>,
    pub published: Option<Published>,
    pub discarded: Option<Discarded>,
}

#[derive(Encode, Decode)]
pub(super) struct Building {
    pub number: u64,
    pub question: (String, Vec<u8>),
    pub next: Option<(String, Vec<u8>)>,
    pub walked: Walked,
    pub begun_at: Stamp,
    pub as_of: Option<Stamp>,
    pub last_at: Stamp,
    pub failures: u32,
    pub count: Count,
}

#[derive(Encode, Decode)]
pub(super) struct Walked {
    pub pages: u32,
    pub of: Option<u64>,
    pub rows: u64,
    pub total: Option<u64>,
    pub bytes: u64,
    pub asked: Vec<[u8; 16]>,
    pub said: Vec<[u8; 16]>,
}

#[derive(Encode, Decode)]
pub(super) struct Count {
    pub rows: u64,
    pub unmatched: u64,
    pub unwatched: u64,
    pub examples: Vec<(String, Option<String>)>,
}

#[derive(Encode, Decode)]
pub(super) struct Published {
    pub number: u64,
    pub as_of: Stamp,
    pub at: Stamp,
    pub pages: u32,
    pub count: Count,
    pub targets: u64,
    pub changed: u64,
    pub fresher: u64,
}

#[derive(Encode, Decode)]
pub(super) struct Discarded {
    pub number: u64,
    pub at: Stamp,
    pub pages: u32,
    pub of: Option<u64>,
    pub rows: u64,
    pub why: String,
}

/// Target, key, and what it said where the shelf says the same.
#[derive(Encode, Decode)]
pub(super) struct Seen(pub Vec<(u32, u64, Option<u64>)>);

/// Its key is the end of the row's key.
#[derive(Encode, Decode)]
pub(super) struct Sighting {
    pub title: String,
    pub state: Option<ItemState>,
    pub fields: Vec<(String, Field)>,
    pub fingerprint: [u8; 16],
}

#[derive(Encode, Decode)]
pub(super) struct Webhook {
    pub organization: String,
    pub connection: String,
    pub webhook: String,
    pub done: u64,
    pub failures: u32,
    pub not_before: Option<Stamp>,
    pub trouble: Option<DeliveryTrouble>,
    pub delivered_last: Option<(Stamp, u64)>,
    pub delivered: u64,
    pub missed: u64,
}

#[derive(Encode, Decode)]
pub(super) struct DeliveryTrouble {
    pub since: Stamp,
    pub reason: String,
}

#[derive(Encode, Decode)]
pub(super) struct DeadLetter {
    pub event: Event,
    pub given_up_at: Stamp,
    pub reason: String,
    pub again: bool,
}

#[derive(Encode, Decode)]
pub(super) struct ShelfHead {
    pub organization: String,
    pub connection: String,
    pub credential: [u8; 16],
    pub reading: u8,
    pub target: String,
    pub variant: Vec<(String, Option<String>)>,
    pub kept: u8,
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub asked_at: Stamp,
    pub as_of: Stamp,
    pub changed_at: Stamp,
    pub digest: [u8; 16],
    pub body_bytes: u64,
    pub cost: u32,
}
