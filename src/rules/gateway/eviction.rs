//! What goes first where the shelf is full: what is worth least for the room that it takes. Must not know whether it is memory or disk.

use crate::domain::time::Span;
use std::cmp::Ordering;

/// What keeping an answer is worth, and what it takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Worth {
    /// Units that asking again takes.
    pub cost: u32,
    pub bytes: u64,
    /// Since somebody last used it.
    pub idle: Span,
}

impl Worth {
    /// The least valuable first: cost, per byte and per time without use; what saves nothing goes before all else.
    pub fn order(&self, other: &Worth) -> Ordering {
        let burden = |w: &Worth| u128::from(w.bytes.max(1)).saturating_mul(u128::from(w.idle.0.max(1)));
        let left = u128::from(self.cost).saturating_mul(burden(other));
        let right = u128::from(other.cost).saturating_mul(burden(self));
        left.cmp(&right).then(other.bytes.cmp(&self.bytes)).then(other.idle.cmp(&self.idle))
    }
}

/// Which go so that the rest takes at most `most` bytes: as few as that takes, of the least valuable, by their places.
pub fn surplus<T: Clone>(all: &[(T, Worth)], most: u64) -> Vec<T> {
    let mut total: u64 = all.iter().fold(0, |sum, (_, worth)| sum.saturating_add(worth.bytes));
    if total <= most {
        return Vec::new();
    }
    let mut by_worth: Vec<&(T, Worth)> = all.iter().collect();
    by_worth.sort_by(|(_, a), (_, b)| a.order(b));
    let mut gone = Vec::new();
    for (what, worth) in by_worth {
        if total <= most {
            break;
        }
        total = total.saturating_sub(worth.bytes);
        gone.push(what.clone());
    }
    gone
}
