//! The way back from a hold. When its time is up one request alone finds out (the ledger sees to that, whoever asks); after a long
//! hold polls then come slower than usual, and with each step less so. Everything here only slows (law 8).

use crate::domain::connection::{Hold, HoldChange, HoldReason, HoldScope, Ramp};
use crate::domain::outcome::Outcome;
use crate::domain::time::{Now, Span, Stamp, Steady};

/// From this length on a hold has a ramp behind it; shorter ones are a matter of one window.
const LONG: Span = Span::from_secs(600);

/// How many times the usual interval polls are apart, step by step: a quarter of the rate, a third, half.
const RAMP: [u64; 3] = [4, 3, 2];

/// Whoever wakes at a release is spread over this part of the hold ...
const SPREAD_PART: u64 = 20;
/// ... but over no more than this.
const LONGEST_SPREAD: Span = Span::from_secs(60);

/// Whether an answer shows that the provider lets us in again.
pub fn proves(outcome: Outcome) -> bool {
    outcome.is_good() || outcome == Outcome::NotReady
}

fn length(hold: &Hold) -> Span {
    hold.until.since(hold.since.steady)
}

/// A good answer to a request of `reserved_at`, which was let out after the hold began.
pub(super) fn after_good(hold: &Hold, reserved_at: Stamp, interval: Span, now: &Now) -> Option<HoldChange> {
    let step = |steps| HoldChange::Put(Hold { ramp: Some(Ramp { since: now.stamp(), steps }), ..hold.clone() });
    let lift = || HoldChange::Lift(hold.scope.clone());
    match hold.ramp {
        None if hold.scope == HoldScope::Credential && length(hold) >= LONG.max(interval) => Some(step(0)),
        None => Some(lift()),
        // Several answers of one round are one step.
        Some(ramp) if reserved_at.steady < ramp.since.steady + interval => None,
        Some(ramp) if (ramp.steps as usize) + 1 < RAMP.len() => Some(step(ramp.steps + 1)),
        Some(_) => Some(lift()),
    }
}

/// How far apart polls are on the way back: never less than `interval`, and no longer after it than the hold was.
pub fn slowed(holds: &[Hold], interval: Span) -> Span {
    let slow = |hold: &Hold| {
        let factor = RAMP.get(hold.ramp?.steps as usize)?;
        Some(Span(interval.0.saturating_mul(*factor)).min(Span(interval.0.saturating_add(length(hold).0))))
    };
    holds.iter().filter_map(slow).max().unwrap_or(interval).max(interval)
}

/// The ramp that the credential is on.
pub fn ramp(holds: &[Hold]) -> Option<(&Hold, Ramp)> {
    holds.iter().find_map(|hold| Some((hold, hold.ramp?)))
}

/// The share of the usual rate that a step of the ramp allows, in words.
pub fn share(ramp: Ramp) -> &'static str {
    ["a quarter", "a third", "half"].get(ramp.steps as usize).copied().unwrap_or("most")
}

/// When a poller that waits for the end of a hold asks again: a little after it, each somewhere else, so that not everybody
/// who was told the same moment comes at the same moment. `phase`: where in a span this poller has its place.
pub fn wakes(hold: &Hold, phase: impl Fn(Span) -> Span) -> Steady {
    hold.until + phase(Span(length(hold).0 / SPREAD_PART).min(LONGEST_SPREAD))
}

/// Which of the targets, given by their costs, is asked first once the credential's hold is over: the cheapest, and of those the one that
/// waits longest (`waiting`: the targets, longest first). After a second refusal it is the one that waits longest whatever it costs: the
/// cheapest may be the only one that is refused. A rejected credential is tried at the next one after each strike, for the cheapest may
/// be the one that the plan does not cover.
pub fn probe(costs: &[u32], waiting: &[usize], hold: &Hold) -> Option<usize> {
    if hold.reason != HoldReason::CredentialRejected {
        return match hold.strikes {
            0 | 1 => waiting.iter().copied().min_by_key(|at| costs.get(*at)),
            _ => waiting.first().copied(),
        };
    }
    let mut order: Vec<usize> = (0..costs.len()).collect();
    order.sort_by_key(|at| costs[*at]);
    let turn = hold.strikes.saturating_sub(1) as usize;
    order.get(turn.checked_rem(order.len())?).copied()
}
