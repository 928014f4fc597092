//! How long nobody calls, and why. Must not know whom it stops.

use crate::domain::connection::{Hold, HoldReason, HoldScope};
use crate::domain::limit::{Kind, Limit};
use crate::domain::outcome::{Outcome, Verdict, WaitHint};
use crate::domain::spec::WaitSpec;
use crate::domain::time::{Now, Span, Stamp, Steady};

use crate::rules::budget::Usage;
use crate::rules::classify::within;

/// First hold after a rejected credential; doubles with every further rejection. Not for ever: providers in trouble reject good
/// credentials, and one request a day costs little.
const REJECTED: Span = Span::from_secs(15 * 60);
/// No growth goes beyond this.
const LONGEST_GROWN: Span = Span::from_secs(24 * 3600);
/// A window at least this long is "the long window" of F8.
const LONG: Span = Span::from_secs(3600);
/// So many refusals in a row, and a pause of so long before the last, are no momentary throttling.
const REPEATED: u32 = 3;
const MOMENTARY: Span = Span::from_secs(300);
/// First hold where money, points or plan are used up: nobody pays a bill within minutes. Doubles like the others.
const UNPAID: Span = Span::from_secs(6 * 3600);
/// Gone for good (410): ask once a day whether that is still so.
const GONE: Span = Span::from_secs(24 * 3600);

/// P5: a refusal that says nothing of a wait, nor which limit it is, is waited out at least so long, however short the windows of the limits
/// are: somebody else spends, or one is not declared. Where an operator has set a shorter `default`, that counts.
const LEAST_UNTOLD: Span = Span::from_secs(15);

/// A refusal, and what is known around it.
pub struct Refused<'a> {
    pub verdict: &'a Verdict,
    pub scope: HoldScope,
    /// When the request that was refused was let out.
    pub reserved_at: Stamp,
    /// The ledger for the endpoint that was refused.
    pub usage: &'a [Usage],
    /// The hold before it that is not lifted: its strikes count while no good answer came between.
    pub last: Option<&'a Hold>,
    pub waits: &'a WaitSpec,
}

/// The hold that a refusal asks for; `None` where it asks for none.
pub fn hold_for(refused: &Refused<'_>, now: &Now) -> Option<Hold> {
    let Refused { verdict, usage, last, waits, .. } = refused;
    let reason = reason(verdict)?;
    let counted = last.filter(|h| h.reason == reason || reason == HoldReason::RateLimited);
    // Sent before the hold began: the same refusal, heard twice.
    let again = counted.filter(|h| refused.reserved_at.steady >= h.since.steady);
    let strikes = counted.map_or(0, |h| h.strikes) + u32::from(again.is_some() || counted.is_none());
    let named = named_limit(verdict, usage, strikes, now).filter(|_| reason == HoldReason::RateLimited);
    let spent = spent_long_window(usage);
    let inferred = again.filter(|_| spent.is_none() && verdict.wait.is_none() && reason == HoldReason::RateLimited);
    if let Some(hold) = inferred.and_then(|before| spent_by_repetition(refused, before, strikes, now)) {
        return Some(hold);
    }
    let (length, reason, source) = match (reason, &verdict.wait, spent) {
        (_, None, _) if let Some(named) = named => named,
        (HoldReason::RateLimited, None, Some((until, limit))) => {
            let source = format!("the reset of limit \"{limit}\", which is spent");
            (until.since(now.steady), HoldReason::Exhausted, source)
        }
        (HoldReason::Unpaid, hint, _) => {
            let hinted = hint.as_ref().filter(|h| h.wait >= UNPAID).map(|h| clamp(h, waits));
            let (base, source) = hinted.unwrap_or_else(|| unhinted(reason, usage, waits));
            (grown(base, strikes), reason, source)
        }
        (_, Some(hint), _) => {
            let (length, source) = clamp(hint, waits);
            (length, reason, source)
        }
        (_, None, _) => {
            let (base, source) = unhinted(reason, usage, waits);
            (grown(base, strikes), reason, source)
        }
    };
    // Refused again after the announced time: the announcement is not the whole truth.
    let before = again.filter(|h| h.reason == reason).map(|h| h.until.since(h.since.steady));
    let (length, source) = match before.map(|before| grown(before, 2)).filter(|twice| *twice > length.max(waits.floor))
    {
        Some(twice) => (twice, format!("a refusal right after the last hold, so twice as long; {source}")),
        None => (length.max(waits.floor), source),
    };
    // Law 8: no refusal brings the end of a hold forward.
    let until = (now.steady + length).max(last.map_or(Steady(0), |h| h.until));
    let (scope, rule, said) = (refused.scope.clone(), verdict.rule.clone(), verdict.said.clone());
    Some(Hold { scope, since: now.stamp(), until, reason, source, rule, said, strikes, ramp: None })
}

fn reason(verdict: &Verdict) -> Option<HoldReason> {
    match verdict.outcome {
        Outcome::Limited => Some(HoldReason::RateLimited),
        Outcome::Unpaid => Some(HoldReason::Unpaid),
        Outcome::CredentialRejected => Some(HoldReason::CredentialRejected),
        Outcome::Gone => Some(HoldReason::Gone),
        // Without a wait of the provider's own an overload is the breaker's business.
        Outcome::Overloaded if verdict.wait.is_some() => Some(HoldReason::Overloaded),
        _ => None,
    }
}

/// A wait within its bounds, and what its length then comes from.
fn clamp(hint: &WaitHint, waits: &WaitSpec) -> (Span, String) {
    let WaitHint { wait, source, .. } = within(waits, hint.source.clone(), hint.wait);
    (wait, source)
}

/// Doubles with each strike; what is already longer than the longest growth is left as it is.
pub(super) fn grown(base: Span, strikes: u32) -> Span {
    let factor = 1u64 << strikes.saturating_sub(1).min(16);
    Span(base.0.saturating_mul(factor).min(LONGEST_GROWN.0.max(base.0)))
}

/// How long to hold where the provider gave no wait, before growth.
fn unhinted(reason: HoldReason, usage: &[Usage], waits: &WaitSpec) -> (Span, String) {
    match reason {
        HoldReason::CredentialRejected => {
            (REJECTED, "no wait given, and a rejected credential is asked again rarely".into())
        }
        HoldReason::Unpaid => {
            (UNPAID, "no wait given, and an account without money or plan is asked again rarely".into())
        }
        HoldReason::Gone => (GONE, "what is gone for good, asked again once a day".into()),
        HoldReason::RateLimited | HoldReason::Exhausted | HoldReason::Overloaded => {
            match short_window(usage.iter().map(|u| &u.limit)) {
                // I5: the whole window.
                Some((window, limit)) => {
                    let least = LEAST_UNTOLD.min(waits.default).max(waits.floor);
                    let beyond = if window < least { format!(" ({least} at least)") } else { String::new() };
                    (window.max(least), format!("the window of limit \"{limit}\"{beyond}, as no wait was given"))
                }
                None => (waits.default, "the default, as no wait was given".into()),
            }
        }
    }
}

/// The longest window that is not a "long" one; where there are only long ones, nothing is known about the short term.
fn short_window<'a>(limits: impl Iterator<Item = &'a Limit>) -> Option<(Span, &'a str)> {
    limits
        .filter(|l| !matches!(l.kind, Kind::Concurrent))
        .filter_map(|l| Some((l.kind.nominal_window()?, l.name.as_str())))
        .filter(|(window, _)| *window < LONG)
        .max_by_key(|(window, _)| *window)
}

/// The rule names the limit: until that one resets, or where its window rolls until the ledger shows room, which what others take
/// may belie; so never below an hour or the window, growing.
fn named_limit(verdict: &Verdict, usage: &[Usage], strikes: u32, now: &Now) -> Option<(Span, HoldReason, String)> {
    let named = || usage.iter().filter(|u| Some(&u.limit.name) == verdict.limit.as_ref());
    let limit = &named().next()?.limit;
    let window = limit.kind.nominal_window()?;
    let reason = if window >= LONG { HoldReason::Exhausted } else { HoldReason::RateLimited };
    let name = &limit.name;
    if let Some(at) = named().filter_map(|u| u.resets_at).max() {
        return Some((at.since(now.steady), reason, format!("the reset of limit \"{name}\", which the refusal names")));
    }
    let spent = named().filter(|u| u.remaining() <= u.kept).filter_map(|u| u.next_free_at).max();
    let free = spent.map_or(Span::ZERO, |at| at.since(now.steady));
    let source = format!("limit \"{name}\", which the refusal names, as no wait was given");
    Some((free.max(grown(window.min(LONG), strikes)), reason, source))
}

/// F8, by repetition: where nothing was sent for longer than any short window, and for some minutes at least, and the next request alone
/// is refused again, it is no matter of moments: a long window is spent, by others too. That is a conclusion and no knowledge, so it holds
/// for an hour first, then for twice as long each time, and never beyond the reset.
fn spent_by_repetition(refused: &Refused<'_>, before: &Hold, strikes: u32, now: &Now) -> Option<Hold> {
    let waited = before.until.since(before.since.steady);
    let short = short_window(refused.usage.iter().map(|u| &u.limit)).map_or(Span::ZERO, |(window, _)| window);
    let is_long = |u: &&Usage| u.limit.kind.nominal_window().is_some_and(|w| w >= LONG);
    let long = refused.usage.iter().filter(is_long).min_by_key(|u| u.limit.kind.nominal_window())?;
    if strikes < REPEATED || waited < MOMENTARY.max(short) {
        return None;
    }
    let grown = if before.reason == HoldReason::Exhausted { grown(waited, 2) } else { LONG };
    let reset = long.resets_at.filter(|at| *at > now.steady);
    let until = reset.map_or(now.steady + grown, |at| at.min(now.steady + grown)).max(before.until);
    let until = until.max(now.steady + refused.waits.floor);
    let source = format!(
        "{strikes} refusals in a row, the last after a pause of {waited}: limit \"{}\" must be spent, by others too",
        long.limit.name
    );
    let (scope, rule, said) = (refused.scope.clone(), refused.verdict.rule.clone(), refused.verdict.said.clone());
    let reason = HoldReason::Exhausted;
    Some(Hold { scope, since: now.stamp(), until, reason, source, rule, said, strikes, ramp: None })
}

/// F8: the ledger tells a momentary refusal from a spent day.
fn spent_long_window(usage: &[Usage]) -> Option<(Steady, String)> {
    usage
        .iter()
        .filter(|u| u.limit.kind.nominal_window().is_some_and(|w| w >= LONG) && u.remaining() <= u.kept)
        .filter_map(|u| Some((u.next_free_at?, u.limit.name.clone())))
        .max_by_key(|(at, _)| *at)
}

#[cfg(test)]
#[path = "length_tests.rs"]
mod tests;
