//! What an answer does to the holds of its credential: a refusal sets one, a good answer lifts it, at once or by way of a ramp.
//!
//! * [`scope`] says whom a refusal stops.
//! * [`length`] says for how long, and why.
//! * [`back`] is the way back: one request alone, then slower polls.
//!
//! Pure; must not know who keeps the holds.

pub mod back;
pub mod length;
pub mod scope;

use crate::domain::connection::{Hold, HoldChange, HoldReason, HoldScope};
use crate::domain::ids::Endpoint;
use crate::domain::outcome::Verdict;
use crate::domain::spec::WaitSpec;
use crate::domain::time::{Now, Span, Stamp};
use crate::rules::budget::Usage;
use length::{Refused, hold_for};

/// An answer, and what is known around it.
pub struct Answered<'a> {
    pub verdict: &'a Verdict,
    /// What was asked for; a redirect may have led elsewhere.
    pub endpoint: &'a Endpoint,
    pub reserved_at: Stamp,
    /// The ledger for this endpoint.
    pub usage: &'a [Usage],
    /// Every hold of the credential that is not lifted.
    pub holds: &'a [Hold],
    /// Every endpoint that is polled with the credential.
    pub in_use: &'a [Endpoint],
    pub waits: &'a WaitSpec,
    /// How often the connection polls when nothing is in its way.
    pub interval: Span,
}

/// What becomes of the holds; empty for most answers.
pub fn changes(answered: &Answered<'_>, now: &Now) -> Vec<HoldChange> {
    if answered.verdict.outcome.is_refusal() {
        return refused(answered, now);
    }
    if !back::proves(answered.verdict.outcome) {
        return Vec::new();
    }
    // A good answer to a request from before the hold says nothing about it.
    let concerned = answered.holds.iter().filter(|h| h.scope.covers(answered.endpoint));
    let proven = concerned.filter(|h| answered.reserved_at.steady >= h.since.steady);
    proven.filter_map(|hold| back::after_good(hold, answered.reserved_at, answered.interval, now)).collect()
}

fn refused(answered: &Answered<'_>, now: &Now) -> Vec<HoldChange> {
    let Answered { verdict, reserved_at, usage, holds, waits, .. } = *answered;
    let Some(scope) = scope::scope(verdict, answered.endpoint, holds, answered.in_use) else { return Vec::new() };
    // Endpoints that were rejected one by one until none was left become the credential's own rejection.
    let merged: Vec<&Hold> = match scope {
        HoldScope::Credential if verdict.outcome == crate::domain::outcome::Outcome::CredentialRejected => holds
            .iter()
            .filter(|h| h.scope != HoldScope::Credential && h.reason == HoldReason::CredentialRejected)
            .collect(),
        _ => Vec::new(),
    };
    let last = holds.iter().find(|h| h.scope == scope);
    let Some(hold) = hold_for(&Refused { verdict, scope, reserved_at, usage, last, waits }, now) else {
        return Vec::new();
    };
    let lifted = merged.iter().map(|h| HoldChange::Lift(h.scope.clone()));
    std::iter::once(HoldChange::Put(hold)).chain(lifted).collect()
}

#[cfg(test)]
mod tests;
