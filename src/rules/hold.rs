//! From a verdict to a hold: how long nobody calls, and why.

use super::budget::Usage;
use crate::domain::connection::{Hold, HoldReason};
use crate::domain::limit::{Kind, Limit};
use crate::domain::outcome::{Outcome, Verdict};
use crate::domain::spec::WaitSpec;
use crate::domain::time::{Now, Span, Steady};

/// First hold after a rejected credential; doubles with every further rejection. Not for ever: providers in trouble reject good
/// credentials, and one request a day costs little.
const REJECTED: Span = Span::from_secs(15 * 60);
/// No growth goes beyond this.
const LONGEST_GROWN: Span = Span::from_secs(24 * 3600);
/// A window at least this long is "the long window" of F8.
const LONG: Span = Span::from_secs(3600);
/// First hold where money, points or plan are used up: nobody pays a bill within minutes. Doubles like the others.
const UNPAID: Span = Span::from_secs(6 * 3600);
/// Gone for good (410): ask once a day whether that is still so.
const GONE: Span = Span::from_secs(24 * 3600);

/// The hold that a verdict asks for; `None` where it asks for none. `usage` is the ledger for the endpoint that was refused,
/// `last` the hold before (its strikes count while no good answer came between).
pub fn hold_for(verdict: &Verdict, usage: &[Usage], last: Option<&Hold>, waits: &WaitSpec, now: &Now) -> Option<Hold> {
    let reason = reason(verdict)?;
    let strikes = last.filter(|h| h.reason == reason || reason == HoldReason::RateLimited).map_or(0, |h| h.strikes) + 1;
    let spent = spent_long_window(usage);
    let (until, reason, source) = match (reason, &verdict.wait, spent) {
        (HoldReason::RateLimited, None, Some((until, limit))) => {
            (until, HoldReason::Exhausted, format!("reset of limit \"{limit}\", which is spent"))
        }
        (_, Some(hint), _) => {
            let wait = clamp(hint.wait, waits);
            // Refused again after the announced time: the announcement is not the whole truth.
            let wait = if strikes > 1 { wait.max(grown(waits.floor, strikes)) } else { wait };
            (now.steady + wait, reason, hint.source.clone())
        }
        (_, None, _) => {
            let (base, source) = unhinted(reason, usage, waits);
            (now.steady + grown(base, strikes), reason, source)
        }
    };
    // Law 8: no refusal brings the end of a hold forward.
    let until = until.max(now.steady + waits.floor).max(last.map_or(Steady(0), |h| h.until));
    let rule = verdict.rule.clone();
    Some(Hold { since: now.stamp(), until, reason, source, rule, said: verdict.said.clone(), strikes })
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

fn clamp(wait: Span, waits: &WaitSpec) -> Span {
    wait.clamp(waits.floor, waits.ceiling.max(waits.floor))
}

/// Doubles with each strike; what is already longer than the longest growth is left as it is.
fn grown(base: Span, strikes: u32) -> Span {
    let factor = 1u64 << strikes.saturating_sub(1).min(16);
    Span(base.0.saturating_mul(factor).min(LONGEST_GROWN.0.max(base.0)))
}

/// How long to hold where the provider gave no wait, before growth.
fn unhinted(reason: HoldReason, usage: &[Usage], waits: &WaitSpec) -> (Span, String) {
    match reason {
        HoldReason::CredentialRejected => {
            (REJECTED, "no wait given: a rejected credential is asked again rarely".into())
        }
        HoldReason::Unpaid => (UNPAID, "no wait given: an account without money or plan is asked again rarely".into()),
        HoldReason::Gone => (GONE, "gone for good: asked again once a day".into()),
        HoldReason::RateLimited | HoldReason::Exhausted | HoldReason::Overloaded => {
            match short_window(usage.iter().map(|u| &u.limit)) {
                // I5: the whole window.
                Some((window, limit)) => {
                    (window.max(waits.floor), format!("no wait given: window of limit \"{limit}\""))
                }
                None => (waits.default, "no wait given: the default".into()),
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

/// F8: the ledger tells a momentary refusal from a spent day.
fn spent_long_window(usage: &[Usage]) -> Option<(Steady, String)> {
    usage
        .iter()
        .filter(|u| u.limit.kind.nominal_window().is_some_and(|w| w >= LONG) && u.remaining() <= u.kept)
        .filter_map(|u| Some((u.next_free_at?, u.limit.name.clone())))
        .max_by_key(|(at, _)| *at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::limit::{Scope, TimeOfDay};
    use crate::domain::outcome::WaitHint;
    use crate::domain::time::ClockTrust;
    use std::collections::BTreeMap;

    fn now() -> Now {
        Now { steady: Steady(1_000_000), era: 0, trust: ClockTrust::Trusted, offsets: vec![0] }
    }
    fn verdict(outcome: Outcome, wait_s: Option<u64>) -> Verdict {
        let wait = wait_s.map(|s| WaitHint { wait: Span::from_secs(s), source: "Retry-After".into(), beyond: None });
        Verdict { said: Some("slow down".into()), wait, ..Verdict::new(outcome, "rule") }
    }
    fn usage(kind: Kind, amount: u64, used: u64, next_free_at: u64) -> Usage {
        let limit = Limit {
            name: kind.word().into(),
            amount,
            kind,
            scope: Scope::Credential,
            keep: BTreeMap::new(),
            cap: BTreeMap::new(),
        };
        Usage {
            limit,
            endpoint: None,
            used,
            used_by: BTreeMap::new(),
            kept: 0,
            next_free_at: Some(Steady(next_free_at)),
            resets_at: None,
        }
    }
    fn five_minutes() -> Usage {
        usage(Kind::Rolling { window: Span::from_secs(300) }, 5, 4, 1_100_000)
    }
    fn day(used: u64) -> Usage {
        usage(Kind::Daily { resets_at: TimeOfDay(0), time_zone: "UTC".into() }, 300, used, 50_000_000)
    }
    fn length(verdict: &Verdict, usage: &[Usage], last: Option<&Hold>) -> Option<(u64, HoldReason)> {
        let hold = hold_for(verdict, usage, last, &WaitSpec::default(), &now())?;
        Some((hold.until.since(now().steady).as_secs(), hold.reason))
    }

    #[test]
    fn the_length_of_a_hold() {
        use HoldReason::*;
        let limited = |wait| verdict(Outcome::Limited, wait);
        for (what, verdict, usage, expected) in [
            ("I5: no hint, the whole window", limited(None), vec![five_minutes()], Some((300, RateLimited))),
            ("a hint is believed", limited(Some(8008)), vec![five_minutes()], Some((8008, RateLimited))),
            ("never below the floor", limited(Some(1)), vec![five_minutes()], Some((5, RateLimited))),
            ("above the ceiling it is cut", limited(Some(1 << 40)), vec![], Some((40 * 86_400, RateLimited))),
            ("F8: the day is spent", limited(None), vec![five_minutes(), day(300)], Some((49_000, Exhausted))),
            ("F8: the day is not spent", limited(None), vec![five_minutes(), day(10)], Some((300, RateLimited))),
            ("nothing known", limited(None), vec![day(10)], Some((60, RateLimited))),
            (
                "rejected",
                verdict(Outcome::CredentialRejected, None),
                vec![five_minutes()],
                Some((900, CredentialRejected)),
            ),
            ("overload with a wait", verdict(Outcome::Overloaded, Some(30)), vec![], Some((30, Overloaded))),
            ("overload without", verdict(Outcome::Overloaded, None), vec![five_minutes()], None),
            ("data", verdict(Outcome::Data, Some(30)), vec![five_minutes()], None),
        ] {
            assert_eq!(length(&verdict, &usage, None), expected, "{what}");
        }
    }

    #[test]
    fn a_second_strike_lengthens_and_growth_ends_at_a_day() {
        let mut last = None;
        let mut lengths = Vec::new();
        for _ in 0..12 {
            let hold = hold_for(
                &verdict(Outcome::Limited, None),
                &[five_minutes()],
                last.as_ref(),
                &WaitSpec::default(),
                &now(),
            );
            lengths.push(hold.as_ref().map_or(0, |h| h.until.since(now().steady).as_secs()));
            last = hold;
        }
        assert_eq!(&lengths[..4], [300, 600, 1200, 2400]);
        assert_eq!(lengths.last(), Some(&86_400));
    }

    #[test]
    fn a_shorter_hint_does_not_shorten_a_hold() {
        let waits = WaitSpec::default();
        let first = hold_for(&verdict(Outcome::Limited, Some(8008)), &[five_minutes()], None, &waits, &now());
        let second = hold_for(&verdict(Outcome::Limited, Some(10)), &[five_minutes()], first.as_ref(), &waits, &now());
        assert_eq!(second.map(|h| h.until), first.map(|h| h.until));
    }
}
