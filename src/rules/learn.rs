//! What a provider's own count teaches about a limit: how much of it others have taken, and whether it is what was declared. Whatever
//! it says, our share only ever becomes smaller than what is declared (the ledger is the bound), and a refusal outranks what its
//! headers claim (A22). Knows figures; must not know where they were read.
//!
//! An answer counts our own requests up to some moment between its asking and its arrival. Those that overlap it may be in it or
//! not, so others have taken between `used - possible` and `used - certain`. Only where the lower bound is above zero is it proved
//! that there are others at all; then the upper bound is taken off our share, since that is what keeps the limit. What was proved lives
//! for its window or until the reset that was stated with it: a count below it is heeded only then, and one below our own ledger never
//! gives anything back before (it is another bucket's).

use super::budget::Own;
use super::budget::window::SKEW;
use super::calendar::Calendar;
use crate::domain::limit::Limit;
use crate::domain::quota::{Claim, Foreign, Learned, LimitKey};
use crate::domain::time::{Span, Stamp, Steady};

/// Answers in a row that make a matter believed.
pub const AGREE: u32 = 2;

/// What one answer alone takes off our share is given back after this, so that somebody may ask whether it was so.
const DOUBT: Span = Span::from_secs(300);

/// Others are gone when nothing was seen of them for this long, and for the whole window where that is longer.
const QUIET: Span = Span::from_secs(3600);

/// The answer that brought a claim.
#[derive(Clone, Copy, Debug)]
pub struct Evidence {
    /// When its request was reserved.
    pub asked_at: Stamp,
    pub arrived_at: Stamp,
    pub answered: Answered,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answered {
    Well,
    /// The provider says that a limit is exceeded.
    Refused,
    /// With nothing, and no word why: all that is believed of it is that nothing is left.
    Emptily,
}

/// What it means for the owners.
#[derive(Clone, Debug, PartialEq)]
pub struct Lesson {
    pub learned: Learned,
    pub others: Others,
    pub amount: Amount,
}

/// Whether it has to be written down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum News {
    Nothing,
    /// Its loss in a crash would leave our share as it was, or smaller.
    Harmless,
    /// Our share is smaller than before.
    Stricter,
}

impl Lesson {
    pub fn news(&self, before: Option<&Learned>) -> News {
        let units = |l: &Learned| l.foreign.map_or(0, |f| f.units);
        let amount = |l: &Learned| l.adopted.unwrap_or(u64::MAX);
        let after = &self.learned;
        if units(after) > before.map_or(0, units) || amount(after) < before.map_or(u64::MAX, amount) {
            return News::Stricter;
        }
        let undated = before.map(|b| Learned { asked_at: after.asked_at, ..b.clone() });
        if undated.as_ref() == Some(after) { News::Nothing } else { News::Harmless }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Others {
    /// Nothing new is known.
    Unknown,
    /// Every unit in the provider's count can be ours.
    None,
    /// And that for a while now.
    Gone,
    /// At least so many were not, and more than once.
    Spend { at_least: u64, of: u64 },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    /// Not said, or said once, or said before.
    Unknown,
    /// For the first time since it was otherwise.
    AsDeclared,
    /// In force from now on.
    Lower(u64),
    /// Not in force: the owner may declare it.
    Higher(u64),
}

/// What is known after the claim about `limit`, as it is declared; `None` where it teaches nothing. `own` is absent where counts
/// cannot be compared.
pub fn learn(
    before: Option<&Learned>,
    about: &LimitKey,
    limit: &Limit,
    claim: &Claim,
    own: Option<Own>,
    evidence: &Evidence,
) -> Option<Lesson> {
    // Refused, although units are said to be left: those are another bucket's.
    if evidence.answered != Answered::Well && claim.remaining != Some(0) {
        return None;
    }
    // Overtaken by an answer that was asked for later.
    if before.is_some_and(|b| evidence.asked_at.steady < b.asked_at.steady) {
        return None;
    }
    let before = before.cloned().unwrap_or_else(|| Learned::nothing(about.clone()));
    let mut learned = Learned { source: claim.source.clone(), asked_at: evidence.asked_at, ..before };
    let total = claim.total.filter(|t| *t > 0 && evidence.answered != Answered::Emptily);
    let amount = amount(&mut learned, limit.amount, total);
    let others = others(&mut learned, limit, claim, own, evidence);
    learned.nothing_left = claim.remaining == Some(0);
    Some(Lesson { learned, others, amount })
}

/// Both of two answers in a row must allow what is adopted, and both must be back at what is declared to lift it.
fn amount(learned: &mut Learned, declared: u64, total: Option<u64>) -> Amount {
    let Some(total) = total else { return Amount::Unknown };
    let before = learned.stated.replace(total);
    let same_side = before.is_some_and(|b| b.cmp(&declared) == total.cmp(&declared));
    let believed = same_side && learned.stated_streak >= AGREE;
    learned.stated_streak = if same_side { (learned.stated_streak + 1).min(AGREE) } else { 1 };
    if learned.stated_streak < AGREE {
        return Amount::Unknown;
    }
    learned.adopted = (total < declared).then(|| total.max(before.unwrap_or(total)));
    match learned.adopted {
        Some(lower) => Amount::Lower(lower),
        None if total > declared => Amount::Higher(total),
        None if believed => Amount::Unknown,
        None => Amount::AsDeclared,
    }
}

fn others(learned: &mut Learned, limit: &Limit, claim: &Claim, own: Option<Own>, evidence: &Evidence) -> Others {
    let of = claim.total.filter(|t| *t > 0).unwrap_or(learned.adopted.unwrap_or(limit.amount));
    let used = claim.used.or_else(|| Some(of.saturating_sub(claim.remaining?)));
    // Refused: it was full before this request, or has counted this one beyond what is there.
    let used = if evidence.answered == Answered::Refused { used.map(|u| u.max(of.saturating_add(1))) } else { used };
    let (Some(used), Some(own)) = (used, own) else { return Others::Unknown };
    let at_least = used.saturating_sub(own.possible);
    // In the window of which it was said: nothing may well be left of the next one too.
    let doubted = learned.foreign.filter(|f| learned.foreign_streak < AGREE && in_window(f.at, limit, evidence));
    let doubted = doubted.and_then(|f| f.until);
    let tried = learned.nothing_left && doubted.is_some_and(|until| until <= evidence.asked_at.steady);
    if tried && claim.remaining == Some(0) && evidence.answered == Answered::Well {
        // Asked to see whether nothing is left, and answered as before: it counts something else.
        (learned.foreign, learned.foreign_streak) = (None, 0);
        return Others::Unknown;
    }
    if at_least == 0 {
        if own.certain < own.possible || evidence.answered == Answered::Emptily {
            return Others::Unknown;
        }
        let is_another_bucket = used < own.certain;
        let may_stay = learned.foreign_streak >= AGREE || is_another_bucket;
        if learned.foreign.is_some_and(|f| may_stay && lives(&f, f.at, limit, evidence)) {
            return if is_another_bucket { Others::Unknown } else { Others::None };
        }
        (learned.foreign, learned.foreign_streak) = (None, 0);
        let quiet = limit.kind.nominal_window().unwrap_or_default().max(QUIET);
        let last = learned.foreign_seen_at.filter(|at| evidence.arrived_at.steady.since(at.steady) >= quiet);
        return if last.is_some() {
            learned.foreign_seen_at = None;
            Others::Gone
        } else {
            Others::None
        };
    }
    let units = used.saturating_sub(own.certain);
    let more = learned.foreign.filter(|f| f.units > units && learned.foreign_streak >= AGREE);
    let kept = more.filter(|f| learned.foreign_seen_at.is_some_and(|seen| lives(f, seen.steady, limit, evidence)));
    learned.foreign_streak = (learned.foreign_streak + 1).min(AGREE);
    let at = evidence.arrived_at.steady;
    let proved = learned.foreign_streak >= AGREE || evidence.answered == Answered::Refused;
    let reset = claim.reset.map(|r| at + r + SKEW);
    let until = if proved { reset } else { Some(reset.map_or(at + DOUBT, |r| r.min(at + DOUBT))) };
    learned.foreign = Some(match kept {
        Some(f) => Foreign { units: f.units, at, until: f.until.zip(until).map(|(before, now)| before.max(now)) },
        None => Foreign { units, at, until },
    });
    if kept.is_none() {
        learned.foreign_seen_at = Some(evidence.arrived_at);
    }
    // What is said approximately may be a little off.
    if proved && at_least > of / 100 { Others::Spend { at_least, of } } else { Others::Unknown }
}

/// Whether units that were there at `from` can still count when the answer arrives: their window has not passed, nor a stated reset.
fn lives(foreign: &Foreign, from: Steady, limit: &Limit, evidence: &Evidence) -> bool {
    in_window(from, limit, evidence) && foreign.until.is_none_or(|until| until > evidence.arrived_at.steady)
}

/// Whether the window of a moment has not passed when the answer arrives.
fn in_window(from: Steady, limit: &Limit, evidence: &Evidence) -> bool {
    let now = evidence.arrived_at;
    let age = now.steady.since(from);
    match Calendar::of(&limit.kind) {
        Some(calendar) => calendar.next_turn(now.wall - age).latest + SKEW > now.wall,
        None => limit.kind.nominal_window().is_some_and(|window| age < window),
    }
}

#[cfg(test)]
mod tests;
