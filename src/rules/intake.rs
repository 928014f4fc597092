//! Answers that are pushed: how old one is, and whether it is newer than what is on the shelf. Must not know who pushes, or what it says.

use crate::domain::target::TargetState;
use crate::domain::time::{ClockTrust, Now, Span, Stamp, Steady, Wall};

/// How far the clock of a sender may be ahead that does not say what it shows: what is dated within it was made when it arrived.
pub const AHEAD: Span = Span::from_secs(2);

/// Why a pushed answer cannot be given an age.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Undated {
    /// This machine's own clock is in doubt.
    OwnClock,
    /// By so much in the future.
    Ahead(Span),
    /// It is dated after it was sent, by the same clock.
    AfterSent,
    /// So old that it stands before this timeline.
    BeforeTime,
}

/// When an answer was made, on both timelines. `as_of` and `sent_at` are by the sender's clock. Where that is ahead of this one, as far as
/// `sent_at` shows, it is put right: nothing is ever younger than it is by either clock.
pub fn dated(as_of: Wall, sent_at: Option<Wall>, now: &Now) -> Result<Stamp, Undated> {
    if now.trust == ClockTrust::Untrusted {
        return Err(Undated::OwnClock);
    }
    if sent_at.is_some_and(|sent| as_of > sent) {
        return Err(Undated::AfterSent);
    }
    let own = now.wall();
    let as_of = as_of - sent_at.map_or(Span::ZERO, |sent| sent.since(own));
    let ahead = as_of.since(own);
    if ahead > AHEAD {
        return Err(Undated::Ahead(ahead));
    }
    let lag = own.since(as_of);
    let steady = now.steady.0.checked_sub(lag.0).map(Steady).ok_or(Undated::BeforeTime)?;
    Ok(Stamp { steady, wall: own - lag, era: now.era })
}

/// Whether an answer of that moment takes the place of what is on the shelf. `standing`: as-of and id of the observation that was pushed
/// last to be shown. Of two of one moment the greater id is shown, whichever comes first; and a polled answer before either.
pub fn is_newer((as_of, id): (Stamp, &str), state: &TargetState, standing: Option<(Stamp, &str)>) -> bool {
    let Some(shown) = state.as_of else { return true };
    if as_of.steady == shown.steady && as_of.era == shown.era {
        return standing.is_some_and(|(at, other)| at == shown && id > other);
    }
    // Between eras the steady timeline stood still for nobody knows how long: only what both show is certain.
    as_of.steady > shown.steady && (as_of.era == shown.era || as_of.wall > shown.wall)
}

#[cfg(test)]
#[path = "intake_tests.rs"]
mod tests;
