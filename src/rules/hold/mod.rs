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

use crate::domain::charge::Charge;
use crate::domain::connection::{Hold, HoldChange, HoldReason, HoldScope};
use crate::domain::ids::Endpoint;
use crate::domain::outcome::{Outcome, Reach, Verdict, WaitHint};
use crate::domain::spec::WaitSpec;
use crate::domain::time::{Now, Span, Stamp};
use crate::rules::budget::Usage;
use crate::rules::classify::within;
use crate::rules::quota::{Brought, Spent, is_believed};
use length::{Refused, hold_for};

/// An answer, and what is known around it.
pub struct Answered<'a> {
    pub verdict: &'a Verdict,
    /// What was asked for; a redirect may have led elsewhere.
    pub endpoint: &'a Endpoint,
    pub reserved_at: Stamp,
    /// Refusals of the same question before this one, by [`in_a_row`].
    pub row: u32,
    /// The ledger for this endpoint.
    pub usage: &'a [Usage],
    /// Every hold of the credential that is not lifted.
    pub holds: &'a [Hold],
    /// Every endpoint that is polled with the credential.
    pub in_use: &'a [Endpoint],
    pub waits: &'a WaitSpec,
    /// How often the connection polls when nothing is in its way.
    pub interval: Span,
    /// Of what the answer says that nothing is left.
    pub spent: Option<&'a Spent>,
    pub brought: Brought,
}

/// What becomes of the holds; empty for most answers.
pub fn changes(answered: &Answered<'_>, now: &Now) -> Vec<HoldChange> {
    let outcome = answered.verdict.outcome;
    if outcome.is_refusal() {
        return refused(answered, now);
    }
    // A good answer to a request from before the hold says nothing about it.
    let concerned = answered.holds.iter().filter(|h| back::proves(outcome) && h.scope.covers(answered.endpoint));
    let proven = concerned.filter(|h| answered.reserved_at.steady >= h.since.steady);
    let eased = proven.filter_map(|hold| back::after_good(hold, answered.reserved_at, answered.interval, now));
    let spent = answered.spent.filter(|_| is_believed(outcome, answered.brought));
    let hold = spent.and_then(|spent| until_reset(answered, spent, now)).or_else(|| until_ready(answered, now));
    let eased = eased.filter(|change| hold.as_ref().is_none_or(|h| h.scope != *change.scope()));
    let news = hold.as_ref().filter(|h| !answered.holds.contains(h)).cloned().map(HoldChange::Put);
    eased.chain(news).collect()
}

/// Nothing was refused, and nothing is left until a reset that the ledger does not know of: the hold that stands until then.
fn until_reset(answered: &Answered<'_>, spent: &Spent, now: &Now) -> Option<Hold> {
    let scope = match spent.reach {
        Reach::Nobody => return None,
        Reach::Credential => HoldScope::Credential,
        Reach::Endpoint => HoldScope::Endpoint(answered.endpoint.clone()),
    };
    let WaitHint { wait, source, .. } =
        within(answered.waits, format!("the reset that {} states", spent.source), spent.wait);
    let (until, rule) = (now.steady + wait, format!("no request left of limit \"{}\"", spent.limit));
    let last = answered.holds.iter().find(|h| h.scope == scope);
    // Asked once its reset was there, and answered well with nothing left again: it counts something else.
    let is_belied = |h: &Hold| h.rule == rule && !h.is_in_force(now.steady) && !spent.is_single;
    if last.is_some_and(is_belied) {
        return None;
    }
    if let Some(longer) = last.filter(|h| h.is_in_force(now.steady) && h.until >= until) {
        return Some(longer.clone());
    }
    let (reason, said) = (HoldReason::Exhausted, answered.verdict.said.clone());
    Some(Hold { scope, since: now.stamp(), until, reason, source, rule, said, strikes: 0, ramp: None })
}

/// Nothing was refused, and the answer is not ready until a time that is stated with it. It grows with nothing: to wait was all that was
/// asked.
fn until_ready(answered: &Answered<'_>, now: &Now) -> Option<Hold> {
    let Answered { verdict, endpoint, holds, waits, .. } = *answered;
    let hint = verdict.wait.as_ref().filter(|_| verdict.outcome == Outcome::NotReady)?;
    let scope = match verdict.reach {
        Some(Reach::Nobody) => return None,
        Some(Reach::Credential) => HoldScope::Credential,
        Some(Reach::Endpoint) | None => HoldScope::Endpoint(endpoint.clone()),
    };
    let WaitHint { wait, source, .. } = within(waits, hint.source.clone(), hint.wait);
    let until = now.steady + wait;
    let last = holds.iter().find(|h| h.scope == scope && h.is_in_force(now.steady));
    if let Some(longer) = last.filter(|h| h.until >= until) {
        return Some(longer.clone());
    }
    let (reason, rule, said) = (HoldReason::Overloaded, verdict.rule.clone(), verdict.said.clone());
    Some(Hold { scope, since: now.stamp(), until, reason, source, rule, said, strikes: 0, ramp: None })
}

fn refused(answered: &Answered<'_>, now: &Now) -> Vec<HoldChange> {
    let Answered { verdict, reserved_at, usage, holds, waits, .. } = *answered;
    let Some(scope) = scope::scope(verdict, answered.endpoint, holds, answered.in_use) else { return Vec::new() };
    // Endpoints that were rejected one by one until none was left become the credential's own rejection.
    let merged: Vec<&Hold> = match scope {
        HoldScope::Credential if verdict.outcome == Outcome::CredentialRejected => holds
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
    let own = grows_alone(answered, &hold, last, now).map(HoldChange::Put);
    std::iter::once(HoldChange::Put(hold)).chain(own).chain(lifted).collect()
}

/// A good answer of another endpoint lifts the credential's hold and says nothing about the one that was refused. Refused again, that one
/// waits longer by itself, and longer with each refusal, while all others wait only as long as the provider asks.
fn grows_alone(answered: &Answered<'_>, hold: &Hold, last: Option<&Hold>, now: &Now) -> Option<Hold> {
    let scope = HoldScope::Endpoint(answered.endpoint.clone());
    let own = answered.holds.iter().find(|h| h.scope == scope);
    let is_lifted = last.is_none_or(|h| h.ramp.is_some());
    let is_a_limit = matches!(hold.reason, HoldReason::RateLimited | HoldReason::Overloaded | HoldReason::Unpaid);
    let fits = hold.scope == HoldScope::Credential && is_a_limit && own.is_none_or(|h| h.reason == hold.reason);
    if answered.row == 0 || !fits || !(is_lifted || own.is_some()) {
        return None;
    }
    let Answered { verdict, reserved_at, usage, waits, .. } = *answered;
    let base = hold_for(&Refused { verdict, scope, reserved_at, usage, last: None, waits }, now)?;
    let strikes = answered.row.saturating_add(1);
    let until = now.steady + length::grown(base.until.since(now.steady), strikes);
    let until = until.max(own.map_or(until, |h| h.until));
    let source = format!("{strikes} refusals in a row, each twice as long; {}", base.source);
    Some(Hold { until, strikes, source, ..base })
}

/// How many of `charges`, newest first and all of one question, were refused like this one (`outcome`), each let out after the one before
/// was heard; the first of them before `reserved_at`. `since`: when the question stopped being answered in full, which the good pages of a
/// list that is never read to its end do not change; `None`: the first good answer ends the row.
pub fn in_a_row<'a>(
    charges: impl IntoIterator<Item = &'a Charge>,
    outcome: Outcome,
    reserved_at: Stamp,
    since: Option<Stamp>,
) -> u32 {
    let (mut row, mut before) = (0, reserved_at.steady);
    for charge in charges {
        let Some(end) = &charge.resolution else { continue };
        let is_over = since.map_or(back::proves(end.outcome), |since| end.at.steady < since.steady);
        if is_over {
            break;
        }
        if end.outcome == outcome && end.at.steady <= before {
            (row, before) = (row + 1, charge.reserved_at.steady);
        }
    }
    row
}

#[cfg(test)]
mod tests;
