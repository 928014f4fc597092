//! Third forms of records. Frozen like those before: a further change is a `v4`. Knows nothing but shapes; meaning is in `records`.

use super::v1::{Stamp, Trouble};
use super::v2::{IntervalOverride, Scan};
use bincode::{Decode, Encode};

/// With the interval that is back when what was set for a time is over.
#[derive(Encode, Decode)]
pub(super) struct Connection {
    pub second: super::v2::Connection,
    pub standing: Option<IntervalOverride>,
}

impl From<super::v2::Connection> for Connection {
    fn from(second: super::v2::Connection) -> Connection {
        Connection { second, standing: None }
    }
}

/// With the time that the provider gives its readings.
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
    pub observed_at: Option<i64>,
}

impl From<super::v2::Target> for Target {
    /// The second form knew arrivals alone.
    fn from(t: super::v2::Target) -> Target {
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
            scan: t.scan,
            observed_at: None,
        }
    }
}
