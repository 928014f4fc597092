//! How holds are shown: since when, until when, by which rule and in whose words; and the way back from them.

use super::view::{HoldView, RecoveryView, When};
use super::words;
use crate::domain::connection::{Hold, HoldScope};
use crate::domain::time::Now;
use crate::rules::hold::back;

pub fn hold(now: &Now, hold: &Hold) -> HoldView {
    HoldView {
        since: When(hold.since.wall),
        until: When(now.wall_of(hold.until)),
        scope: hold.scope.word(),
        endpoint: hold.scope.endpoint().map(|e| e.to_string()),
        reason: hold.reason.word(),
        said: hold.said.clone(),
        rule: hold.rule.clone(),
        source: hold.source.clone(),
        strikes: hold.strikes,
    }
}

/// The holds in force of single endpoints.
pub fn alone(now: &Now, holds: &[Hold]) -> Vec<HoldView> {
    let alone = holds.iter().filter(|h| h.scope != HoldScope::Credential && h.is_in_force(now.steady));
    alone.map(|h| hold(now, h)).collect()
}

/// Those whose time is up and that are not over: no answer has shown it yet, or polls still come slower after it. The credential's first.
pub fn passing(now: &Now, holds: &[Hold]) -> Vec<HoldView> {
    let (own, alone): (Vec<_>, Vec<_>) =
        holds.iter().filter(|h| !h.is_in_force(now.steady)).partition(|h| h.scope == HoldScope::Credential);
    own.into_iter().chain(alone).map(|h| hold(now, h)).collect()
}

/// The way back after the credential's hold; `None` where there was none.
pub fn recovery(now: &Now, holds: &[Hold]) -> Option<RecoveryView> {
    let hold = holds.iter().find(|h| h.scope == HoldScope::Credential && !h.is_in_force(now.steady))?;
    let (phase, sentence) = match hold.ramp {
        None => ("probing", words::probing(hold, now)),
        Some(ramp) => ("ramp", words::easing(back::share(ramp), hold, now)),
    };
    Some(RecoveryView { since: When(hold.ramp.map_or(now.wall_of(hold.until), |r| r.since.wall)), phase, sentence })
}
