//! A target: a standing question asked of a connection. This is its durable state; what to ask is in `spec`.

use super::outcome::Outcome;
use super::page::Scan;
use super::spec::TargetSpec;
use super::time::{Now, Span, Stamp, Wall};
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    Pending,
    #[default]
    Active,
    Completed,
    Inactive,
    Stopped,
}

impl Phase {
    pub const ALL: [Phase; 5] = [Phase::Pending, Phase::Active, Phase::Completed, Phase::Inactive, Phase::Stopped];

    pub const fn word(self) -> &'static str {
        match self {
            Phase::Pending => "pending",
            Phase::Active => "active",
            Phase::Completed => "completed",
            Phase::Inactive => "inactive",
            Phase::Stopped => "stopped",
        }
    }
    pub fn from_word(word: &str) -> Option<Phase> {
        Phase::ALL.into_iter().find(|phase| phase.word() == word)
    }
}

/// Where a target stands in its life, and who put it there: a row of its own, so that no answer under way writes over what an operator
/// says meanwhile. `Default` is a target that nobody touched.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Life {
    pub phase: Phase,
    /// Since when; `None`: ever since.
    pub since: Option<Stamp>,
    /// Who said so: an operator, or the appliance itself.
    pub by: Option<String>,
    /// In words, where the appliance decided it.
    pub why: Option<String>,
    /// When somebody last made it active: it is asked at once (F5), also where a restart came between.
    pub activated_at: Option<Stamp>,
}

/// A target that was put while the appliance ran: what it asks, in the words in which it was put. Read again at every start, as a
/// configuration is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PutTarget {
    /// A JSON object with the keys of a `[[connection.target]]`.
    pub body: String,
    pub by: String,
    pub at: Stamp,
}

/// The durable state of a target. `Default` is a target that was never asked.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TargetState {
    /// Arrival of the last good answer (data or not modified). `None`: never.
    pub as_of: Option<Stamp>,
    /// Arrival of the last answer whose content differed.
    pub changed_at: Option<Stamp>,
    /// Start of the last attempt, whatever became of it (A29: received, changed and attempted are three things).
    pub attempted_at: Option<Stamp>,
    /// Grows by one with each answer whose content differed; 0 before the first.
    pub generation: u64,
    /// Digest over the fingerprints of all items of the last good answer.
    pub fingerprint: [u8; 16],
    /// Present items.
    pub item_count: u64,
    /// The next `HistoryEntry::seq`; numbers begin at 1.
    pub next_seq: u64,
    /// Validators of the last good answer, sent back to ask cheaply (RFC 9110 section 13).
    pub etag: Option<String>,
    pub last_modified: Option<String>,
    /// Set by the first attempt that was not good, cleared by the next good one.
    pub trouble: Option<Trouble>,
    /// How the last reading of its pages went; `None`: it has no pages, or was never read.
    pub scan: Option<Scan>,
    /// The newest time that the provider gives the readings of the last good answer: when it last heard of anything itself (A27).
    /// `None`: it gives none, or none that can be believed.
    pub observed_at: Option<Wall>,
}

impl TargetState {
    /// How old the readings are by the provider's own time, where the target says that it gives one.
    pub fn reading_age(&self, spec: &TargetSpec, now: &Now) -> Option<Span> {
        spec.observed_at.as_ref().and_then(|_| now.age_of_reading(self.observed_at?, self.as_of?))
    }
}

/// Why the shelf is not being renewed.
#[derive(Clone, Debug, PartialEq)]
pub struct Trouble {
    pub since: Stamp,
    pub outcome: Outcome,
    /// In words (`rate limited`, `no answer within 30 s`).
    pub reason: String,
    /// What the provider said, at most 160 characters.
    pub said: Option<String>,
    /// Attempts in a row that were not good.
    pub failures: u32,
}

impl Trouble {
    /// It begins, or it is another than the one before: then people are told.
    pub fn is_news(&self, before: Option<&Trouble>) -> bool {
        before.is_none_or(|t| t.outcome != self.outcome || t.reason != self.reason)
    }
}
