//! What an answer does to the holds of its credential, with the store and the words around the rule.

use super::exchange::Exchanged;
use crate::domain::charge::Charge;
use crate::domain::connection::{Hold, HoldChange, HoldReason, HoldScope};
use crate::domain::event::{EventKind, NewEvent};
use crate::domain::finding::FindingChange;
use crate::domain::outcome::{Outcome, Verdict};
use crate::domain::time::{Now, Stamp, Steady};
use crate::engine::core::{Conn, Core};
use crate::engine::{findings, words};
use crate::rules::hold::{self, Answered};
use crate::rules::quota;

/// What the verdict does to the holds of its credential. That a secret was rejected says nothing of the one that took its place meanwhile.
pub fn changes(core: &Core, conn: &Conn, exchanged: &Exchanged, verdict: &Verdict, now: &Now) -> Vec<HoldChange> {
    let secret_since = core.connections.get(&conn.spec.key).map_or(Steady(0), |now| now.secret_since.steady);
    if verdict.outcome == Outcome::CredentialRejected && exchanged.reserved_at.steady < secret_since {
        return Vec::new();
    }
    let usage = core.store.usage(conn.credential, now, std::slice::from_ref(&exchanged.endpoint));
    let usage: Vec<_> = usage.into_iter().filter(|u| u.endpoint.iter().all(|e| *e == exchanged.endpoint)).collect();
    let spent = quota::spent(&exchanged.claims, &conn.sharing.limits, exchanged.charged);
    let answered = Answered {
        verdict,
        endpoint: &exchanged.asked,
        reserved_at: exchanged.reserved_at,
        row: if verdict.outcome.is_refusal() { row(core, conn, exchanged, verdict) } else { 0 },
        usage: &usage,
        holds: &core.store.holds(conn.credential),
        in_use: &conn.sharing.in_use(),
        waits: &conn.spec.waits,
        interval: conn.base_interval(),
        spent: spent.as_ref(),
        brought: exchanged.brought,
    };
    hold::changes(&answered, now)
}

/// Charges that are looked through for refusals before this one.
const LOOKED_THROUGH: usize = 500;

/// Refusals in a row of what was asked, from the ledger: a restart keeps them. One that cannot be read counts none; the hold itself does
/// not depend on it.
fn row(core: &Core, conn: &Conn, exchanged: &Exchanged, verdict: &Verdict) -> u32 {
    let charges = core.store.charges(&conn.spec.key, None, LOOKED_THROUGH).unwrap_or_default();
    let Some(own) = charges.iter().find(|c| c.id == exchanged.charge) else { return 0 };
    let known = |name| conn.target(name).map(|t| t.key.clone()).or_else(|| conn.scan(name).map(|s| s.key().clone()));
    let trouble = own.target.as_ref().and_then(known).and_then(|key| core.store.target(&key).ok()??.trouble);
    // A target without a trouble was answered in full the last time.
    if own.target.is_some() && trouble.is_none() {
        return 0;
    }
    let same =
        |c: &&Charge| c.id != own.id && c.target == own.target && (c.target.is_some() || c.endpoint == own.endpoint);
    let before = charges.iter().rev().filter(same);
    hold::in_a_row(before, verdict.outcome, exchanged.reserved_at, trouble.map(|t| t.since))
}

/// One event for each hold that begins or ends. A step of a ramp is none, and neither is its end: the hold ended before it. `outcome`: of the
/// answer that decided it.
pub fn events(core: &Core, conn: &Conn, now: &Now, outcome: Outcome, changes: &[HoldChange]) -> Vec<NewEvent> {
    let holds = core.store.holds(conn.credential);
    let before = |scope: &HoldScope| holds.iter().find(|h| h.scope == *scope && h.ramp.is_none());
    let told = |change: &HoldChange| match change {
        HoldChange::Put(hold) if hold.ramp.is_none() => {
            Some((EventKind::HoldStarted, words::hold_started(conn, hold, outcome, now)))
        }
        HoldChange::Put(hold) => {
            before(&hold.scope).map(|_| (EventKind::HoldEnded, words::ramp_began(conn, hold, now)))
        }
        HoldChange::Lift(scope) => before(scope).map(|h| (EventKind::HoldEnded, words::hold_ended(conn, h, now))),
    };
    // Rejections of single endpoints that become the credential's do not end.
    let began = changes.iter().any(|c| matches!(c, HoldChange::Put(hold) if hold.ramp.is_none()));
    let told = changes.iter().filter(|c| !began || matches!(c, HoldChange::Put(_))).filter_map(told);
    told.map(|(kind, message)| event(conn, now, kind, message)).collect()
}

fn event(conn: &Conn, now: &Now, kind: EventKind, message: String) -> NewEvent {
    NewEvent { kind, at: now.stamp(), connection: Some(conn.spec.key.clone()), target: None, message }
}

/// The end of what is held because the credential was not accepted: there is another one, says `because`. The provider has not answered yet.
pub fn asked_again(core: &Core, conn: &Conn, now: &Now, because: &str) -> (Vec<HoldChange>, Vec<NewEvent>) {
    let rejected = |hold: &Hold| hold.reason == HoldReason::CredentialRejected;
    let rejected: Vec<Hold> = core.store.holds(conn.credential).into_iter().filter(rejected).collect();
    let told = || event(conn, now, EventKind::HoldEnded, format!("{because} {} is asked again.", conn.spec.provider));
    let events = rejected.iter().filter(|hold| hold.ramp.is_none()).map(|_| told()).collect();
    (rejected.into_iter().map(|hold| HoldChange::Lift(hold.scope)).collect(), events)
}

/// The holds as they will be.
pub fn after(core: &Core, conn: &Conn, changes: &[HoldChange]) -> Vec<Hold> {
    let unchanged = |h: &Hold| !changes.iter().any(|c| *c.scope() == h.scope);
    let mut holds: Vec<Hold> = core.store.holds(conn.credential).into_iter().filter(unchanged).collect();
    holds.extend(changes.iter().filter_map(|change| match change {
        HoldChange::Put(hold) => Some(hold.clone()),
        HoldChange::Lift(_) => None,
    }));
    holds
}

/// A wait beyond what is credible is told to the owners, until the hold that came of it is over.
pub fn findings(
    core: &Core,
    conn: &Conn,
    exchanged: &Exchanged,
    verdict: &Verdict,
    changes: &[HoldChange],
    at: Stamp,
) -> Vec<FindingChange> {
    let spent = quota::spent(&exchanged.claims, &conn.sharing.limits, exchanged.charged).map(|spent| spent.wait);
    let is_believed = quota::is_believed(verdict.outcome, exchanged.brought);
    let stated = spent.filter(|wait| is_believed && *wait > conn.spec.waits.ceiling);
    let beyond = verdict.wait.as_ref().and_then(|wait| wait.beyond).or(stated).filter(|_| !changes.is_empty());
    let is_over = |change: &HoldChange| !matches!(change, HoldChange::Put(hold) if hold.ramp.is_none());
    match beyond {
        Some(told) => vec![findings::wait_above_ceiling(conn, told, at)],
        None if !changes.is_empty() && changes.iter().all(is_over) => findings::ceiling_is_past(core, conn, at),
        None => Vec::new(),
    }
}
