//! An item: a member of a target (a zone, a task, a series), with its history.

use super::time::{Now, Span, Stamp, Wall};
use serde::{Deserialize, Serialize};

/// The value of a field. Offsets are anchored to the moment the answer arrived (I6), never to the moment of reading.
#[derive(Clone, Debug, PartialEq)]
pub enum FieldValue {
    Unknown,
    Text(String),
    Number(f64),
    Bool(bool),
    /// An absolute instant that the provider gave (`time`, `epoch-s`, `epoch-ms`), Unix milliseconds.
    At(Wall),
    /// `seconds-until`: the instant it will be. Shown as a time.
    Until(Stamp),
    /// `seconds-left`: the instant it ends. Shown as the seconds that are left now, never below zero.
    Left(Stamp),
}

impl FieldValue {
    /// Whether it moves by itself, so that a new value is not a change.
    pub const fn is_countdown(&self) -> bool {
        matches!(self, FieldValue::Until(_) | FieldValue::Left(_))
    }
}

/// The field that holds the time which the provider gives the reading, where the target says where it stands (A27).
pub const OBSERVED_AT: &str = "observed_at";

/// That time, if it can be believed.
pub fn observed_at(fields: &[(String, FieldValue)]) -> Option<Wall> {
    fields.iter().find_map(|(name, value)| match value {
        FieldValue::At(at) if name == OBSERVED_AT => Some(*at),
        _ => None,
    })
}

/// The state word of an item and what becomes of it when a countdown ends (I7).
#[derive(Clone, Debug, PartialEq)]
pub struct ItemState {
    /// As the answer said it (`running`).
    pub word: String,
    /// When a countdown ends, and the word from then on (`idle`).
    pub decays: Option<(Stamp, String)>,
}

impl ItemState {
    /// The word now.
    pub fn now(&self, now: &Now) -> &str {
        match &self.decays {
            Some((ends, then)) if now.until(*ends) == Span::ZERO => then,
            _ => &self.word,
        }
    }
}

/// What one answer says of an item. Produced by `rules::extract`.
#[derive(Clone, Debug, PartialEq)]
pub struct Sighting {
    pub key: String,
    pub title: String,
    pub state: Option<ItemState>,
    pub fields: Vec<(String, FieldValue)>,
    /// Digest of the canonical content without what is volatile.
    pub fingerprint: [u8; 16],
}

/// An item on the shelf.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    pub key: String,
    pub title: String,
    pub state: Option<ItemState>,
    pub fields: Vec<(String, FieldValue)>,
    pub fingerprint: [u8; 16],
    pub first_seen: Stamp,
    pub changed: Stamp,
    /// Set while the item is absent: when the first good answer without it arrived, and when it was last in one.
    /// While it is present, its last sighting is the target's last good answer.
    pub removed: Option<Removed>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Removed {
    pub at: Stamp,
    pub last_seen: Stamp,
}

/// What happened to an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    Appeared,
    Changed,
    Removed,
    Reappeared,
}

impl ChangeKind {
    pub const fn word(self) -> &'static str {
        match self {
            ChangeKind::Appeared => "appeared",
            ChangeKind::Changed => "changed",
            ChangeKind::Removed => "removed",
            ChangeKind::Reappeared => "reappeared",
        }
    }
}

/// One line of a target's history. `seq` grows by one inside a target: a gap would be a loss.
#[derive(Clone, Debug, PartialEq)]
pub struct HistoryEntry {
    pub seq: u64,
    pub at: Stamp,
    pub generation: u64,
    pub kind: ChangeKind,
    pub key: String,
    pub title: String,
    /// State word at that moment.
    pub state: Option<String>,
    /// What the change was, in words (`state idle -> running`), field by field.
    pub detail: Vec<FieldChange>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldChange {
    pub field: String,
    pub before: Option<String>,
    pub after: Option<String>,
}
