//! How long the provider says to wait. The whole value is understood or nothing of it; the longest credible hint wins; no hint
//! can shorten anything. Never fails: what is not understood is no hint (A18 to A21). Must not know outcomes.

use crate::domain::outcome::WaitHint;
use crate::domain::reply::Answer;
use crate::domain::spec::WaitSpec;
use crate::domain::time::{Span, Wall};
use std::time::UNIX_EPOCH;

/// From here on a number of seconds is no wait: it is an epoch, or nonsense (`VENDORS` section 3).
const ABSURD_S: f64 = 1e8;

/// `Retry-After` (RFC 9110 section 10.2.3) and its misspelt kin: seconds or an HTTP-date.
const RETRY_AFTER: [&str; 4] = ["retry-after", "retryafter", "x-retry-after", "x-ratelimit-retry-after"];

/// Seconds or an instant, told apart by magnitude; only believed where the same answer does not say that units remain (A22).
const RESET: [&str; 4] = ["x-ratelimit-reset", "x-rate-limit-reset", "ratelimit-reset", "x-ratelimit-reset-after"];

const REMAINING: [&str; 3] = ["x-ratelimit-remaining", "x-rate-limit-remaining", "ratelimit-remaining"];

/// The longest credible hint of an answer, within the bounds of `spec`. `now_wall` serves only where the answer has no `Date`
/// of its own: an instant is taken relative to the clock that it was written by.
pub(super) fn hint(answer: &Answer, spec: &WaitSpec, now_wall: Wall) -> Option<WaitHint> {
    let now = answer.header("date").and_then(http_date).unwrap_or(now_wall);
    let retry_after =
        values(answer, &RETRY_AFTER).filter_map(|(name, v)| Some((name, seconds(v).or_else(|| until(v, now))?)));
    let resets = values(answer, &RESET).filter(|_| !says_that_units_remain(answer));
    let resets = resets.filter_map(|(name, v)| Some((name, reset(v, now)?)));
    let fields = values(answer, &["ratelimit"]).filter_map(|(name, v)| Some((name, structured(v)?)));
    let (name, wait) = retry_after.chain(resets).chain(fields).max_by_key(|(_, wait)| *wait)?;
    Some(within(spec, canonical(name), wait))
}

/// Whether the answer says in a header that nothing is left: a 403 with it is no rejection of a credential.
pub(super) fn says_that_nothing_is_left(answer: &Answer) -> bool {
    values(answer, &REMAINING).any(|(_, v)| v.trim().parse() == Ok(0.0))
        || values(answer, &["ratelimit"]).any(|(_, v)| structured(v).is_some())
}

/// A rejection that claims to have units left describes another bucket than the one that refused.
fn says_that_units_remain(answer: &Answer) -> bool {
    values(answer, &REMAINING).any(|(_, v)| v.trim().parse::<f64>().is_ok_and(|left| left > 0.0))
}

fn values<'a>(answer: &'a Answer, names: &'a [&'a str]) -> impl Iterator<Item = (&'a str, &'a str)> {
    let wanted = |(name, value): &'a (String, String)| {
        names.iter().find(|n| name.eq_ignore_ascii_case(n)).map(|n| (*n, value.as_str()))
    };
    answer.headers.iter().filter_map(wanted)
}

/// The spelling that pages show.
fn canonical(name: &str) -> String {
    name.split('-').map(|part| part[..1].to_uppercase() + &part[1..]).collect::<Vec<_>>().join("-")
}

/// Never below the floor; above the ceiling it is the ceiling, and the source says so.
fn within(spec: &WaitSpec, source: String, wait: Span) -> WaitHint {
    if wait > spec.ceiling {
        let source = format!("{source} ({wait}, clipped to {})", spec.ceiling);
        return WaitHint { wait: spec.ceiling.max(spec.floor), source, beyond: Some(wait) };
    }
    WaitHint { wait: wait.max(spec.floor), source, beyond: None }
}

/// A positive decimal number, nothing before or after it but white space: no sign, no exponent, no hex, no list.
fn decimal(value: &str) -> Option<f64> {
    let value = value.trim_matches([' ', '\t']);
    let (whole, part) = value.split_once('.').unwrap_or((value, "0"));
    let digits = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
    if !(digits(whole) && digits(part)) {
        return None;
    }
    value.parse().ok().filter(|n: &f64| n.is_finite() && *n > 0.0)
}

/// Delta seconds; decimals are rounded up to the next whole second (A18).
fn seconds(value: &str) -> Option<Span> {
    decimal(value).filter(|s| *s < ABSURD_S).map(|s| Span::from_secs(s.ceil() as u64))
}

/// An HTTP-date in any of its three forms (RFC 9110 section 5.6.7), if it lies ahead and within reason.
fn until(value: &str, now: Wall) -> Option<Span> {
    ahead(http_date(value)?, now)
}

fn ahead(at: Wall, now: Wall) -> Option<Span> {
    let wait = at.since(now);
    (wait > Span::ZERO && (wait.as_secs() as f64) < ABSURD_S).then_some(wait)
}

fn http_date(value: &str) -> Option<Wall> {
    let at = httpdate::parse_http_date(value.trim()).ok()?;
    let since = at.duration_since(UNIX_EPOCH).ok()?;
    i64::try_from(since.as_millis()).ok().map(Wall)
}

/// One header name, many units: what is below 1e8 counts down, the rest is an epoch whose unit its magnitude tells.
fn reset(value: &str, now: Wall) -> Option<Span> {
    let Some(n) = decimal(value) else {
        let instant = || value.trim().parse::<jiff::Timestamp>().ok().map(|t| Wall(t.as_millisecond()));
        return ahead(http_date(value).or_else(instant)?, now);
    };
    let epoch_ms = match n {
        n if n < ABSURD_S => return seconds(value),
        n if (1e9..1e10).contains(&n) => n * 1e3,
        n if (1e12..1e13).contains(&n) => n,
        n if (1e15..1e16).contains(&n) => n / 1e3,
        n if (1e18..1e19).contains(&n) => n / 1e6,
        _ => return None,
    };
    ahead(Wall(epoch_ms.ceil() as i64), now)
}

/// The structured field `RateLimit: "name";r=0;t=43200` (draft-ietf-httpapi-ratelimit-headers): the longest `t` among the
/// policies with nothing left. An item that is not understood is passed over.
fn structured(value: &str) -> Option<Span> {
    let spent = |item: &str| {
        let mut parameters = item.split(';').skip(1).filter_map(|p| p.trim().split_once('='));
        let find = |name: &str| parameters.clone().find(|(n, _)| *n == name).map(|(_, v)| v);
        let left = find("r")?.trim();
        let wait = parameters.find(|(n, _)| *n == "t").and_then(|(_, v)| seconds(v))?;
        (left == "0").then_some(wait)
    };
    value.split(',').filter_map(spent).max()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// 2026-11-30T02:56:13Z
    const NOW: Wall = Wall(1_796_007_373_000);
    const DATE: &str = "Mon, 30 Nov 2026 02:56:13 GMT";

    fn answer(headers: &[(&str, &str)]) -> Answer {
        let headers = headers.iter().map(|(n, v)| (n.to_string(), v.to_string())).collect();
        Answer { status: 429, headers, body: vec![] }
    }
    fn wait(headers: &[(&str, &str)]) -> Option<u64> {
        hint(&answer(headers), &WaitSpec::default(), NOW).map(|h| h.wait.as_secs())
    }

    #[test]
    fn retry_after_is_understood_whole_or_not_at_all() {
        let table = [
            ("120", Some(120)),
            (" 120\t", Some(120)),
            ("2.0", Some(5)),
            ("7.2", Some(8)),
            ("8008", Some(8008)),
            ("1", Some(5)),
            ("3456000", Some(3_456_000)),
            ("0", None),
            ("0.0", None),
            ("-5", None),
            ("+5", None),
            ("NaN", None),
            ("inf", None),
            ("0x10", None),
            ("1e3", None),
            ("5, 10", None),
            ("5;q=1", None),
            ("120s", None),
            ("2.", None),
            (".5", None),
            ("", None),
            ("soon", None),
            ("1796007373", None),
            ("99999999999999999999999999", None),
            ("Mon, 30 Nov 2026 03:56:13 GMT", Some(3600)),
            ("Monday, 30-Nov-26 03:56:13 GMT", Some(3600)),
            ("Mon Nov 30 03:56:13 2026", Some(3600)),
            ("Mon, 30 Nov 2026 02:56:13 GMT", None),
            ("Sun Nov  6 08:49:37 1994", None),
            ("Fri, 29 Mar 2024 13:40:00 Z", None),
            ("Fri, 31 Dec 9999 23:59:59 GMT", None),
        ];
        for (value, expected) in table {
            assert_eq!(wait(&[("retry-after", value)]), expected, "{value:?}");
        }
    }

    #[test]
    fn a_date_is_relative_to_the_clock_of_its_writer() {
        let until = ("retry-after", "Mon, 30 Nov 2026 03:06:13 GMT");
        assert_eq!(wait(&[until]), Some(600));
        assert_eq!(wait(&[until, ("date", "Mon, 30 Nov 2026 03:05:13 GMT")]), Some(60));
        assert_eq!(wait(&[until, ("date", "nonsense")]), Some(600));
        assert_eq!(
            hint(&answer(&[until, ("date", DATE)]), &WaitSpec::default(), Wall(0)).unwrap().wait,
            Span::from_secs(600)
        );
    }

    #[test]
    fn the_bounds_and_the_source() {
        let spec = WaitSpec { floor: Span::from_secs(30), ceiling: Span::from_secs(86_400), ..WaitSpec::default() };
        let told = |value| hint(&answer(&[("retry-after", value)]), &spec, NOW).unwrap();
        assert_eq!(told("3"), WaitHint { wait: Span::from_secs(30), source: "Retry-After".into(), beyond: None });
        let clipped = told("Fri, 07 Sep 2029 21:00:00 GMT");
        assert_eq!(clipped.wait, spec.ceiling);
        assert_eq!(clipped.source, "Retry-After (1012 d 18 h, clipped to 1 d)");
    }

    #[test]
    fn resets_are_told_apart_by_magnitude() {
        let table = [
            ("60", Some(60)),
            ("1796007433", Some(60)),
            ("1796007433.5", Some(60)),
            ("1796007433000", Some(60)),
            ("1796007433000000", Some(60)),
            ("1796007433000000000", Some(60)),
            ("2026-11-30T02:57:13Z", Some(60)),
            ("Mon, 30 Nov 2026 02:57:13 GMT", Some(60)),
            ("1796007313", None),
            ("500000000", None),
            ("tomorrow", None),
        ];
        for (value, expected) in table {
            assert_eq!(wait(&[("x-ratelimit-reset", value)]), expected, "{value:?}");
        }
    }

    #[test]
    fn a_reset_of_another_bucket_is_not_believed() {
        assert_eq!(wait(&[("ratelimit-remaining", "595"), ("ratelimit-reset", "60")]), None, "A22");
        assert_eq!(wait(&[("ratelimit-remaining", "0"), ("ratelimit-reset", "60")]), Some(60));
        assert_eq!(wait(&[("ratelimit-remaining", "595"), ("retry-after", "300")]), Some(300));
    }

    #[test]
    fn the_structured_field() {
        assert_eq!(wait(&[("ratelimit", r#""perday";r=0;t=43200"#)]), Some(43_200), "A7");
        assert_eq!(wait(&[("ratelimit", r#""permin";r=0;t=30, "perday"; r=0; t=600"#)]), Some(600));
        assert_eq!(wait(&[("ratelimit", r#""permin";r=0;t=30, "perday";r=7;t=600"#)]), Some(30));
        assert_eq!(wait(&[("ratelimit", r#""permin";r=5;t=30"#)]), None);
        assert_eq!(wait(&[("ratelimit", "limit=10, remaining=0, reset=5")]), None);
    }

    #[test]
    fn the_longest_credible_hint_wins() {
        let several = [("retry-after", "10"), ("retry-after", "40"), ("x-ratelimit-reset", "90"), ("retryafter", "x")];
        assert_eq!(wait(&several), Some(90));
        let hint = hint(&answer(&several), &WaitSpec::default(), NOW).unwrap();
        assert_eq!(hint.source, "X-Ratelimit-Reset");
        assert_eq!(wait(&[]), None);
    }

    #[test]
    fn nothing_left_is_told_by_a_header() {
        for (name, value, nothing) in [
            ("x-ratelimit-remaining", "0", true),
            ("x-ratelimit-remaining", "0.0", true),
            ("x-ratelimit-remaining", "1", false),
            ("x-ratelimit-remaining", "", false),
            ("ratelimit", r#""d";r=0;t=9"#, true),
        ] {
            assert_eq!(says_that_nothing_is_left(&answer(&[(name, value)])), nothing, "{name}: {value}");
        }
    }

    proptest! {
        #[test]
        fn no_value_panics_and_every_hint_keeps_the_bounds(
            value in r"([0-9.+eE:;=,-]|Mon|Nov|GMT| |r=0|t=|\PC){0,30}", date in ".{0,30}", now: i64,
        ) {
            let spec = WaitSpec::default();
            for name in RETRY_AFTER.iter().chain(&RESET).chain(&["ratelimit"]) {
                let answer = answer(&[(name, &value), ("date", &date)]);
                if let Some(hint) = hint(&answer, &spec, Wall(now)) {
                    prop_assert!(hint.wait >= spec.floor && hint.wait <= spec.ceiling);
                }
            }
        }

        #[test]
        fn whole_seconds_are_never_cut_short(s in 1u64..100_000_000) {
            let spec = WaitSpec { ceiling: Span(u64::MAX), ..WaitSpec::default() };
            let hint = hint(&answer(&[("retry-after", &s.to_string())]), &spec, NOW).unwrap();
            prop_assert_eq!(hint.wait, Span::from_secs(s.max(5)));
        }
    }
}
