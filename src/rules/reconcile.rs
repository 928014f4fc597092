//! The last good answer and the new one: what changed.

use crate::domain::item::{HistoryEntry, Item, Sighting};
use crate::domain::target::TargetState;
use crate::domain::time::Stamp;

/// What a complete good answer changes.
#[derive(Clone, Debug, PartialEq)]
pub struct Reconciled {
    pub state: TargetState,
    /// Items to write: appeared, changed, reappeared, removed, or with countdowns that moved by themselves.
    pub put: Vec<Item>,
    pub history: Vec<HistoryEntry>,
    /// Whether the generation grew.
    pub changed: bool,
    /// Whether a countdown stands elsewhere than its old anchor predicted (beyond `JITTER`).
    pub moved: bool,
}

/// `old` holds every item of the target, removed ones too. A complete answer: what is not in it is removed.
pub fn reconcile(_state: &TargetState, _old: &[Item], _seen: Vec<Sighting>, _arrived_at: Stamp) -> Reconciled {
    todo!()
}

/// The state after an answer that confirmed the last one (304).
pub fn confirm(_state: &TargetState, _arrived_at: Stamp) -> TargetState {
    todo!()
}
