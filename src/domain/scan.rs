//! A scan: one complete reading, page by page where the list is long, that feeds many targets (F12, T7). What it asks, and where it stands.

use super::page::Ask;
use super::spec::TargetSpec;
use super::time::{Span, Stamp};

/// What a scan asks, and to whom its rows belong.
#[derive(Clone, Debug, PartialEq)]
pub struct ScanSpec {
    /// A question like a target's own, under the name of the scan. Its items belong to the targets that they name.
    pub question: TargetSpec,
    /// RFC 9535, from the row: the name of the target that it belongs to.
    pub feeds: String,
    /// It is not begun more often than this; `None`: with every round of its connection.
    pub interval: Option<Span>,
}

/// The durable state of a scan, beside what it has in common with a target (its attempts, its trouble, how its pages went).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ScanState {
    /// Readings that were ever begun: the number of the newest. A generation of the scan has the number of its reading.
    pub readings: u64,
    /// The reading under way.
    pub building: Option<Building>,
    /// The last one that was read to its end and published.
    pub published: Option<Published>,
    /// The last one that was not.
    pub discarded: Option<Discarded>,
}

/// A new generation that is being read. Its rows are in the file; nobody sees them before it is published.
#[derive(Clone, Debug, PartialEq)]
pub struct Building {
    /// Of the reading.
    pub number: u64,
    /// What it is an answer to: a question about another day is another question.
    pub question: Ask,
    /// The page that is asked next; `None`: it was read to its proven end and waits to be published.
    pub next: Option<Ask>,
    pub walked: Walked,
    /// When it was begun, before its first page was asked.
    pub begun_at: Stamp,
    /// Arrival of its first page: how old everything is that it will publish.
    pub as_of: Option<Stamp>,
    /// Arrival of the newest.
    pub last_at: Stamp,
    /// Attempts at the next page that were not good.
    pub failures: u32,
    pub count: Count,
}

/// What was met on the way so far: enough to go on from the last page, and to notice one that comes again.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Walked {
    pub pages: u32,
    /// Pages of which the provider spoke last.
    pub of: Option<u64>,
    pub rows: u64,
    /// Rows of which it spoke last.
    pub total: Option<u64>,
    pub bytes: u64,
    /// Digests of what was asked, and of what the pages said.
    pub asked: Vec<[u8; 16]>,
    pub said: Vec<[u8; 16]>,
}

/// What became of the rows of a reading.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Count {
    /// Each once.
    pub rows: u64,
    /// That belong to no target of this scan.
    pub unmatched: u64,
    /// Of targets that are not watched any more.
    pub unwatched: u64,
    /// Some of the unmatched, so that somebody can look.
    pub examples: Vec<Unmatched>,
}

/// A row that belongs to no target of this scan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unmatched {
    pub key: String,
    /// The target that it names; `None`: it names none.
    pub names: Option<String>,
}

/// A generation that readers see.
#[derive(Clone, Debug, PartialEq)]
pub struct Published {
    pub number: u64,
    pub as_of: Stamp,
    /// When its last page had arrived and it took the place of the one before, for all targets at once.
    pub at: Stamp,
    pub pages: u32,
    pub count: Count,
    /// Targets that have it, and those among them of which it told something new.
    pub targets: u64,
    pub changed: u64,
    /// Targets that kept an answer of their own, because it is newer or was under way.
    pub fresher: u64,
}

/// A reading that was given up. Nothing of it was published.
#[derive(Clone, Debug, PartialEq)]
pub struct Discarded {
    pub number: u64,
    pub at: Stamp,
    pub pages: u32,
    pub of: Option<u64>,
    pub rows: u64,
    /// In words.
    pub why: String,
}

/// One row of a reading, as far as it has to be remembered: whose it is, which one, and what it said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Place of its target among those of the reading.
    pub target: u32,
    /// Digest of its key.
    pub key: u64,
    /// Digest of what it said, where the shelf says the same; `None`: the row is kept whole.
    pub same: Option<u64>,
}
