//! How long a hold is: tables, and the laws for any run of refusals.

use super::*;
use crate::domain::connection::Ramp;
use crate::domain::limit::{Scope, TimeOfDay};
use crate::domain::outcome::WaitHint;
use crate::domain::time::ClockTrust;
use proptest::prelude::*;
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
        reach: BTreeMap::new(),
    };
    let next_free_at = Some(Steady(next_free_at));
    let (declared, used_by) = (limit.amount, BTreeMap::new());
    Usage {
        limit,
        declared,
        endpoint: None,
        used,
        used_by,
        foreign: 0,
        kept: 0,
        next_free_at,
        parts: Vec::new(),
        resets_at: None,
    }
}
fn five_minutes() -> Usage {
    usage(Kind::Rolling { window: Span::from_secs(300) }, 5, 4, 1_100_000)
}
fn day(used: u64) -> Usage {
    usage(Kind::Daily { resets_at: TimeOfDay(0), time_zone: "UTC".into() }, 300, used, 50_000_000)
}
/// As if the request had been let out at `now`, with nothing on the way before.
fn hold(verdict: &Verdict, usage: &[Usage], last: Option<&Hold>) -> Option<Hold> {
    let waits = &WaitSpec::default();
    let (scope, reserved_at) = (HoldScope::Credential, now().stamp());
    hold_for(&Refused { verdict, scope, reserved_at, usage, last, waits }, &now())
}
fn length(verdict: &Verdict, usage: &[Usage], last: Option<&Hold>) -> Option<(u64, HoldReason)> {
    let hold = hold(verdict, usage, last)?;
    Some((hold.until.since(now().steady).as_secs(), hold.reason))
}

/// A refusal that names its limit is held for that one, whatever else is declared.
#[test]
fn a_limit_that_the_refusal_names() {
    use HoldReason::*;
    let rolling = |s, used| usage(Kind::Rolling { window: Span::from_secs(s) }, 300, used, 8_000_000);
    let turning = Usage { resets_at: Some(Steady(21_000_000)), ..day(10) };
    let speaks = |of: &str, wait| Verdict { limit: Some(of.into()), ..verdict(Outcome::Limited, wait) };
    for (what, verdict, usage, expected) in [
        ("until it resets", speaks("daily", None), vec![five_minutes(), turning.clone()], (20_000, Exhausted)),
        ("a hint is believed", speaks("daily", Some(30)), vec![five_minutes(), turning], (30, RateLimited)),
        ("it rolls", speaks("rolling", None), vec![rolling(86_400, 10)], (3_600, Exhausted)),
        ("it rolls, and is spent", speaks("rolling", None), vec![rolling(86_400, 300)], (7_000, Exhausted)),
        ("a short one", speaks("rolling", None), vec![rolling(10, 10), day(300)], (10, RateLimited)),
        ("an unknown one", speaks("week", None), vec![five_minutes()], (300, RateLimited)),
    ] {
        assert_eq!(length(&verdict, &usage, None), Some(expected), "{what}");
    }
    let verdict = speaks("rolling", None);
    let first = hold(&verdict, &[rolling(86_400, 10)], None).unwrap();
    assert!(first.source.contains("limit \"rolling\""), "{}", first.source);
    assert_eq!(length(&verdict, &[rolling(86_400, 10)], Some(&first)), Some((7_200, Exhausted)), "it grows");
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
        ("rejected", verdict(Outcome::CredentialRejected, None), vec![five_minutes()], Some((900, CredentialRejected))),
        ("overload with a wait", verdict(Outcome::Overloaded, Some(30)), vec![], Some((30, Overloaded))),
        ("overload without", verdict(Outcome::Overloaded, None), vec![five_minutes()], None),
        ("out of money", verdict(Outcome::Unpaid, None), vec![five_minutes()], Some((21_600, Unpaid))),
        ("out of money, asked to wait a minute", verdict(Outcome::Unpaid, Some(60)), vec![], Some((21_600, Unpaid))),
        ("out of money for a week", verdict(Outcome::Unpaid, Some(604_800)), vec![], Some((604_800, Unpaid))),
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
        let hold = hold(&verdict(Outcome::Limited, None), &[five_minutes()], last.as_ref());
        lengths.push(hold.as_ref().map_or(0, |h| h.until.since(now().steady).as_secs()));
        last = hold;
    }
    assert_eq!(&lengths[..4], [300, 600, 1200, 2400]);
    assert_eq!(lengths.last(), Some(&86_400));
}

#[test]
fn p5_a_refusal_without_a_wait_is_waited_out_for_fifteen_seconds_at_least() {
    let window = |s| usage(Kind::Rolling { window: Span::from_secs(s) }, 5, 4, 1_001_000);
    let untold = verdict(Outcome::Limited, None);
    let of = |usage: &[Usage], default_s| {
        let waits = &WaitSpec { default: Span::from_secs(default_s), ..WaitSpec::default() };
        let (verdict, scope, reserved_at) = (&untold, HoldScope::Credential, now().stamp());
        let held = hold_for(&Refused { verdict, scope, reserved_at, usage, last: None, waits }, &now()).unwrap();
        (held.until.since(now().steady).as_secs(), held.source)
    };
    for (what, usage, default_s, expected) in [
        ("a short window", vec![window(1)], 60, 15),
        ("a longer one", vec![window(1), window(20)], 60, 20),
        ("none, and the general default", vec![], 60, 60),
        ("an operator's own default", vec![window(1)], 8, 8),
        ("never below the floor", vec![window(1)], 5, 5),
    ] {
        assert_eq!(of(&usage, default_s).0, expected, "{what}");
    }
    assert!(of(&[window(1)], 60).1.contains("(15 s at least)"), "{}", of(&[window(1)], 60).1);
}

/// VENDORS: somebody who waited 100 s after a hint of 93 s was still refused.
#[test]
fn refused_again_after_the_announced_time_the_next_hold_is_longer() {
    let limited = verdict(Outcome::Limited, Some(93));
    let first = hold(&limited, &[], None).unwrap();
    let later = Now { steady: first.until, ..now() };
    let again = |verdict: &Verdict, last: &Hold, at: &Now| {
        let (scope, reserved_at) = (HoldScope::Credential, at.stamp());
        let waits = &WaitSpec::default();
        hold_for(&Refused { verdict, scope, reserved_at, usage: &[], last: Some(last), waits }, at).unwrap()
    };
    let second = again(&verdict(Outcome::Limited, Some(1)), &first, &later);
    assert_eq!((second.until.since(later.steady), second.strikes), (Span::from_secs(186), 2));
    assert!(second.source.starts_with("a refusal right after the last hold, so twice as long"), "{}", second.source);
    // A second strike on the way back counts as well.
    let easing = Hold { ramp: Some(Ramp { since: later.stamp(), steps: 1 }), ..first };
    assert_eq!(again(&limited, &easing, &later).until.since(later.steady), Span::from_secs(186));
}

#[test]
fn one_refusal_heard_twice_is_one_strike() {
    let first = hold(&verdict(Outcome::Limited, Some(60)), &[], None).unwrap();
    let (verdict, waits) = (&verdict(Outcome::Limited, Some(60)), &WaitSpec::default());
    let reserved_at = Stamp { steady: Steady(now().steady.0 - 1), ..now().stamp() };
    let refused = Refused { verdict, scope: HoldScope::Credential, reserved_at, usage: &[], last: Some(&first), waits };
    let second = hold_for(&refused, &now()).unwrap();
    assert_eq!((second.strikes, second.until), (1, first.until));
}

#[test]
fn a_shorter_hint_does_not_shorten_a_hold() {
    let first = hold(&verdict(Outcome::Limited, Some(8008)), &[five_minutes()], None);
    let second = hold(&verdict(Outcome::Limited, Some(10)), &[five_minutes()], first.as_ref());
    assert!(second.map(|h| h.until) >= first.map(|h| h.until));
}

proptest! {
    /// Law 8, for any refusal after any other: never sooner, never below the floor, never for ever.
    #[test]
    fn no_refusal_shortens_and_none_is_for_ever(
        outcome in proptest::sample::select(vec![Outcome::Limited, Outcome::Unpaid, Outcome::CredentialRejected, Outcome::Gone]),
        waits in proptest::collection::vec(proptest::option::of(0..1u64 << 40), 1..30),
    ) {
        let mut last: Option<Hold> = None;
        for wait in waits {
            let next = hold(&verdict(outcome, wait), &[five_minutes()], last.as_ref()).unwrap();
            prop_assert!(last.is_none_or(|l| l.until <= next.until));
            prop_assert!(next.until >= now().steady + WaitSpec::default().floor);
            prop_assert!(next.until <= now().steady + WaitSpec::default().ceiling);
            last = Some(next);
        }
    }
}

/// A length that is not the provider's is not said to be.
#[test]
fn the_source_of_a_length_is_what_made_it() {
    let waits = WaitSpec { floor: Span::from_secs(10), ceiling: Span::from_secs(3600), ..WaitSpec::default() };
    for (wait_s, length_s, source) in [
        (1, 10, "Retry-After (1 s, raised to the floor of 10 s)"),
        (60, 60, "Retry-After"),
        (86_400, 3600, "Retry-After (1 d, clipped to 1 h)"),
    ] {
        let verdict = verdict(Outcome::Limited, Some(wait_s));
        let (scope, reserved_at) = (HoldScope::Credential, now().stamp());
        let refused = Refused { verdict: &verdict, scope, reserved_at, usage: &[], last: None, waits: &waits };
        let hold = hold_for(&refused, &now()).unwrap();
        assert_eq!((hold.until.since(now().steady).as_secs(), hold.source.as_str()), (length_s, source));
    }
}

/// From the header to the length of the hold: what is no wait is none, and the refusal holds all the same.
#[test]
fn a21_a_wait_that_is_none_leaves_the_length_to_the_window_or_the_default() {
    use crate::domain::reply::{Answer, Reply};
    let classifier = crate::rules::classify::Classifier::compile(&[], &WaitSpec::default()).unwrap();
    for wait in ["-5", "0", "-0.5", "NaN", "0x10", "Sun, 06 Nov 1994 08:49:37 GMT"] {
        let headers = vec![("retry-after".to_owned(), wait.to_owned())];
        let result = Ok(Answer { status: 429, headers, body: Vec::new() });
        let reply = Reply { arrived_at: now().stamp(), result, detail: String::new() };
        let verdict = classifier.classify(&reply, false, now().wall()).verdict;
        let held = length(&verdict, &[five_minutes()], None);
        assert_eq!(held, Some((300, HoldReason::RateLimited)), "Retry-After: {wait}");
        assert_eq!(length(&verdict, &[], None), Some((60, HoldReason::RateLimited)), "Retry-After: {wait}");
    }
}
