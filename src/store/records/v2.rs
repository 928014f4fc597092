//! Second forms of records. Frozen like the first: a further change is a `v3`. Knows nothing but shapes; meaning is in `records`.

use super::v1::{Breaker, Stamp, Switch, Trouble};
use bincode::{Decode, Encode};

/// With the way back after it. Whom it stops is in the row's key.
#[derive(Encode, Decode)]
pub(super) struct Hold {
    pub since: Stamp,
    pub until: u64,
    pub reason: u8,
    pub source: String,
    pub rule: String,
    pub said: Option<String>,
    pub strikes: u32,
    pub ramp: Option<Ramp>,
}

#[derive(Encode, Decode)]
pub(super) struct Ramp {
    pub since: Stamp,
    pub steps: u32,
}

impl From<super::v1::Hold> for Hold {
    fn from(h: super::v1::Hold) -> Hold {
        let super::v1::Hold { since, until, reason, source, rule, said, strikes } = h;
        Hold { since, until, reason, source, rule, said, strikes, ramp: None }
    }
}

/// With what operators set in place of the file's, and the newest answers.
#[derive(Encode, Decode)]
pub(super) struct Connection {
    pub last_poll_at: Option<Stamp>,
    pub next_poll_at: Option<Stamp>,
    pub breaker: Breaker,
    pub failures: u32,
    pub backoff_ms: u64,
    pub last_outcome: Option<(Stamp, u8)>,
    pub enabled: Option<Switch>,
    pub interval: Option<IntervalOverride>,
    pub inactivity_ttl: Option<SpanOverride>,
    pub completion_grace: Option<SpanOverride>,
    /// Bits, how many, trips.
    pub recent: (u32, u32, u32),
}

#[derive(Encode, Decode)]
pub(super) struct IntervalOverride {
    /// Milliseconds; `None`: the shortest that the budget keeps up.
    pub every: Option<u64>,
    pub until: Option<Stamp>,
    pub by: String,
    pub at: Stamp,
}

#[derive(Encode, Decode)]
pub(super) struct SpanOverride {
    /// Milliseconds; `None`: never.
    pub span: Option<u64>,
    pub by: String,
    pub at: Stamp,
}

impl From<super::v1::Connection> for Connection {
    /// The first form knew the switch alone.
    fn from(c: super::v1::Connection) -> Connection {
        Connection {
            last_poll_at: c.last_poll_at,
            next_poll_at: c.next_poll_at,
            breaker: c.breaker,
            failures: c.failures,
            backoff_ms: c.backoff_ms,
            last_outcome: c.last_outcome,
            enabled: c.enabled,
            interval: None,
            inactivity_ttl: None,
            completion_grace: None,
            recent: (0, 0, 0),
        }
    }
}

/// With its pages.
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
    pub scan: Option<Scan>,
}

#[derive(Encode, Decode)]
pub(super) struct Scan {
    pub pages: u32,
    pub of: Option<u64>,
    pub incomplete: Option<String>,
    pub at: Stamp,
    pub usual_pages: u32,
}

impl From<super::v1::Target> for Target {
    /// The first form knew no pages.
    fn from(t: super::v1::Target) -> Target {
        Target {
            phase: t.phase,
            as_of: t.as_of,
            changed_at: t.changed_at,
            attempted_at: t.attempted_at,
            generation: t.generation,
            fingerprint: t.fingerprint,
            item_count: t.item_count,
            next_seq: t.next_seq,
            etag: t.etag,
            last_modified: t.last_modified,
            trouble: t.trouble,
            scan: None,
        }
    }
}
