//! Fourth forms of records, and records that came with them. Frozen like those before: a further change is a `v5`. Knows nothing but
//! shapes; meaning is in `records`.

use super::v1::{Stamp, Trouble};
use super::v2::Scan;
use bincode::{Decode, Encode};

/// Without the phase, which has a record of its own: before, nothing could change it.
#[derive(Encode, Decode)]
pub(super) struct Target {
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

impl From<super::v3::Target> for Target {
    fn from(t: super::v3::Target) -> Target {
        Target {
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
            observed_at: t.observed_at,
        }
    }
}

#[derive(Encode, Decode)]
pub(super) struct Life {
    pub phase: u8,
    pub since: Option<Stamp>,
    pub by: Option<String>,
    pub why: Option<String>,
    pub activated_at: Option<Stamp>,
}

#[derive(Encode, Decode)]
pub(super) struct PutTarget {
    pub name: String,
    pub body: String,
    pub by: String,
    pub at: Stamp,
}
