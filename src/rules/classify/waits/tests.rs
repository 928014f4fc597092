//! Waits as answers bring them: by header, by member, by sentence, by recipe.

use super::*;
use crate::domain::wait::{WaitForm, WaitPlace, WaitSource};
use proptest::prelude::*;

/// 2026-11-30T02:56:13Z
const NOW: Wall = Wall(1_796_007_373_000);
const DATE: &str = "Mon, 30 Nov 2026 02:56:13 GMT";

fn hint_of(spec: &WaitSpec, headers: &[(&str, &str)], body: &str, now: Wall) -> Option<WaitHint> {
    let headers = headers.iter().map(|(n, v)| (n.to_string(), v.to_string())).collect();
    let answer = Answer { status: 429, headers, body: body.as_bytes().to_vec() };
    let reading = Reading::of(&answer, &crate::domain::spec::ReadingSpec::default());
    Waits::compile(spec).unwrap().hint(&reading, now)
}
fn told(headers: &[(&str, &str)]) -> Option<WaitHint> {
    hint_of(&WaitSpec::default(), headers, "", NOW)
}
fn wait(headers: &[(&str, &str)]) -> Option<u64> {
    told(headers).map(|h| h.wait.as_secs_ceil())
}
fn said(body: &str) -> Option<u64> {
    hint_of(&WaitSpec::default(), &[], body, NOW).map(|h| h.wait.as_secs_ceil())
}

const RETRY_AFTER: [(&str, Option<u64>); 31] = [
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

#[test]
fn retry_after_is_understood_whole_or_not_at_all() {
    for (value, expected) in RETRY_AFTER {
        assert_eq!(wait(&[("retry-after", value)]), expected, "{value:?}");
    }
}

#[test]
fn a09_a_long_wait_is_not_cut_to_minutes() {
    assert_eq!(wait(&[("retry-after", "8008")]), Some(8008));
}

#[test]
fn a18_a_decimal_is_rounded_up() {
    assert_eq!(wait(&[("retry-after", "7.2")]), Some(8));
    assert_eq!(wait(&[("retry-after", "2.0")]), Some(5), "the floor");
}

#[test]
fn a19_a_date_is_a_wait_too_and_one_above_the_ceiling_is_held_to_the_ceiling() {
    let until = told(&[("retry-after", "Fri, 07 Sep 2029 21:00:00 GMT")]).unwrap();
    assert_eq!((until.wait, until.beyond.is_some()), (WaitSpec::default().ceiling, true));
}

#[test]
fn a20_a_date_of_long_ago_is_no_wait_and_no_error() {
    assert_eq!(wait(&[("retry-after", "Sun Nov  6 08:49:37 1994")]), None);
}

#[test]
fn a21_a_negative_value_is_no_wait() {
    assert_eq!(wait(&[("retry-after", "-5")]), None);
}

#[test]
fn a22_a_reset_of_another_bucket_is_not_believed() {
    assert_eq!(wait(&[("ratelimit-remaining", "595"), ("ratelimit-reset", "60")]), None);
    assert_eq!(wait(&[("ratelimit-remaining", "0"), ("ratelimit-reset", "60")]), Some(60));
    assert_eq!(wait(&[("ratelimit-remaining", "595"), ("retry-after", "300")]), Some(300));
    // Each bucket by its own count.
    let day_is_spent = [
        ("x-ratelimit-remaining-minute", "7"),
        ("x-ratelimit-reset-minute", "30"),
        ("x-ratelimit-remaining-day", "0"),
        ("x-ratelimit-reset-day", "6000"),
    ];
    assert_eq!(wait(&day_is_spent), Some(6000));
    let minute_is_spent = [
        ("x-ratelimit-remaining-minute", "0"),
        ("x-ratelimit-reset-minute", "30"),
        ("x-ratelimit-remaining-day", "9"),
        ("x-ratelimit-reset-day", "6000"),
    ];
    assert_eq!(wait(&minute_is_spent), Some(30));
    assert_eq!(wait(&[("ratelimit-remaining", "595"), ("ratelimit-resettime", "Mon, 30 Nov 2026 03:56:13 GMT")]), None);
}

#[test]
fn a_date_is_relative_to_the_clock_of_its_writer() {
    let until = ("retry-after", "Mon, 30 Nov 2026 03:06:13 GMT");
    assert_eq!(wait(&[until]), Some(600));
    assert_eq!(wait(&[until, ("date", "Mon, 30 Nov 2026 03:05:13 GMT")]), Some(60));
    assert_eq!(wait(&[until, ("date", "nonsense")]), Some(600));
    let skewed = hint_of(&WaitSpec::default(), &[until, ("date", DATE)], "", Wall(0));
    assert_eq!(skewed.unwrap().wait, Span::from_secs(600));
}

#[test]
fn the_bounds_and_the_source() {
    let spec = WaitSpec { floor: Span::from_secs(30), ceiling: Span::from_secs(86_400), ..WaitSpec::default() };
    let told = |value| hint_of(&spec, &[("retry-after", value)], "", NOW).unwrap();
    assert_eq!(
        told("3"),
        WaitHint {
            wait: Span::from_secs(30),
            source: "Retry-After (3 s, raised to the floor of 30 s)".into(),
            beyond: None
        }
    );
    let clipped = told("Fri, 07 Sep 2029 21:00:00 GMT");
    assert_eq!(clipped.wait, spec.ceiling);
    assert_eq!(clipped.source, "Retry-After (1012 d 18 h, clipped to 1 d)");
}

#[test]
fn resets_are_told_apart_by_magnitude() {
    let table = [
        ("60", Some(60)),
        ("600000", Some(600_000)),
        ("1796007433", Some(60)),
        ("1796007433.5", Some(61)),
        ("1796007433000", Some(60)),
        ("1796007433000000", Some(60)),
        ("1796007433000000000", Some(60)),
        ("2026-11-30T02:57:13Z", Some(60)),
        ("2026-11-30T02:57Z", Some(47)),
        ("2026-11-30 02:57:13", Some(60)),
        ("Mon, 30 Nov 2026 02:57:13 GMT", Some(60)),
        ("Mon Nov 30 2026 02:57:13 GMT+0000 (Coordinated Universal Time)", Some(60)),
        ("6m0s", Some(360)),
        ("1796007313", None),
        ("500000000", None),
        ("tomorrow", None),
    ];
    for (value, expected) in table {
        assert_eq!(wait(&[("x-ratelimit-reset", value)]), expected, "{value:?}");
    }
}

#[test]
fn the_names_that_providers_use() {
    for name in [
        "retryafter",
        "x-ratelimit-retry-after",
        "x-rate-limit-reset",
        "x-ratelimit-reset-after",
        "x-ratelimit-reset-requests",
        "x-ratelimit-requests-reset",
        "x-ratelimit-complexity-reset",
        "x-readratelimit-reset",
        "x-ratelimit-reset-minute",
        "fitbit-rate-limit-reset",
        "anthropic-ratelimit-requests-reset",
        "api-ratelimit-reset",
        "x-ratelimit-next",
    ] {
        assert_eq!(wait(&[(name, "90")]), Some(90), "{name}");
    }
    for name in ["retry-after-ms", "x-ms-retry-after-ms", "x-ratelimit-interval-milliseconds"] {
        assert_eq!(wait(&[(name, "90000")]), Some(90), "{name}");
    }
    for name in ["x-ratelimit-limit", "x-ratelimit-remaining", "x-reset", "expires", "age", "x-ratelimit-used"] {
        assert_eq!(wait(&[(name, "90")]), None, "{name}");
    }
}

#[test]
fn a07_the_structured_fields_in_both_forms() {
    let of = |field| wait(&[("ratelimit", field)]);
    assert_eq!(of(r#""perday";r=0;t=43200"#), Some(43_200));
    assert_eq!(of(r#""permin";r=0;t=30, "perday"; r=0; t=600"#), Some(600));
    assert_eq!(of(r#""permin";r=0;t=30, "perday";r=7;t=600"#), Some(30));
    assert_eq!(of(r#""permin";r=5;t=30"#), None);
    assert_eq!(of("limit=10, remaining=0, reset=50"), Some(50), "the older form");
    assert_eq!(of("limit=10, remaining=3, reset=50"), None);
    for nonsense in ["", ";;;", "\"open", "r=0;t=", "remaining=-, reset=9", "\"d\";r=0;t=-4", "\"d\";r=0;t=1.5e9"] {
        assert_eq!(of(nonsense), None, "{nonsense}");
    }
    let with_policy = |policy| wait(&[("ratelimit", r#""permin";r=0"#), ("ratelimit-policy", policy)]);
    assert_eq!(with_policy(r#""permin";q=100;w=60, "perday";q=9;w=86400"#), Some(60), "its window");
    assert_eq!(with_policy("100;w=60"), Some(60), "the only one there is");
    assert_eq!(with_policy("100"), None);
}

#[test]
fn members_of_the_body() {
    let table = [
        (r#"{"retry_after":6.457,"global":false}"#, Some(7)),
        (r#"{"error":{"retryAfter":"90"}}"#, Some(90)),
        (r#"{"error":{"details":[{"retryDelay":"37s"}]}}"#, Some(37)),
        (r#"{"retryAfterMs":90000}"#, Some(90)),
        (r#"{"limitReset":1796007433000}"#, Some(60)),
        (r#"{"code":429,"period_end":1796007433}"#, Some(60)),
        (r#"{"rateLimitNextRequest":"Mon, 30 Nov 2026 02:57:13 Z"}"#, Some(60)),
        (r#"{"message":"Retry in 37829 seconds"}"#, Some(37_829)),
        (r#"{"message":"Out of call volume quota. Quota will be replenished in 00:46:40."}"#, Some(2800)),
        (r#"{"timestamp":"2026-11-30T04:00:00Z","message":"slow down"}"#, None),
        (r#"{"retry_after":null}"#, None),
        (r#"{"retry_after":-3}"#, None),
        (r#"{"retry_after":[5,6]}"#, None),
    ];
    for (body, expected) in table {
        assert_eq!(said(body), expected, "{body}");
    }
}

#[test]
fn sentences_that_are_no_json() {
    assert_eq!(said("Rate limit exceeded. Try again in 2 minutes"), Some(120));
    assert_eq!(said("Rate limit exceeded. Try again later"), None);
}

fn source(name: &str, place: WaitPlace, form: WaitForm) -> WaitSource {
    WaitSource { name: name.into(), place, form, status: vec![], time_zone: None }
}

/// One header name, two units: the API counts milliseconds, the layer in front of it seconds.
#[test]
fn a16_the_unit_goes_by_the_layer_that_speaks() {
    let own = source("the API's milliseconds", WaitPlace::Header("retry-after".into()), WaitForm::Milliseconds);
    let spec = WaitSpec { sources: vec![own], ..WaitSpec::default() };
    let hint = |headers: &[(&str, &str)], body: &str| hint_of(&spec, headers, body, NOW).unwrap();
    let page = hint(&[("server", "cloudflare"), ("retry-after", "3600")], "<html>error 1015</html>");
    assert_eq!((page.wait, page.source.as_str()), (Span::from_secs(3600), "Retry-After"));
    let api = hint(&[("retry-after", "64570")], r#"{"message":"You are being rate limited."}"#);
    assert_eq!((api.wait, api.source.as_str()), (Span(64_570), "the API's milliseconds"));
    // Without a recipe nobody knows: the longer.
    assert_eq!(said(r#"{"retry_after":6457}"#), Some(6457));
}

#[test]
fn a17_header_and_body_are_read_together_and_the_longer_counts() {
    let both = |body| hint_of(&WaitSpec::default(), &[("retry-after", "6")], body, NOW).unwrap().wait.as_secs();
    assert_eq!(both(r#"{"retry_after":5.8}"#), 6);
    assert_eq!(both(r#"{"retry_after":60}"#), 60);
    // A recipe that pins the unit of the body is asked instead of the general reading.
    let own =
        source("v8 counts seconds, v6 milliseconds", WaitPlace::Json("$.retry_after".into()), WaitForm::Milliseconds);
    let spec = WaitSpec { sources: vec![own], ..WaitSpec::default() };
    let hint = hint_of(&spec, &[("retry-after", "6")], r#"{"retry_after":6457}"#, NOW).unwrap();
    assert_eq!(hint.wait, Span(6457));
}

#[test]
fn a_recipe_reads_its_own_sources() {
    let lock = source("lock", WaitPlace::Json("$..lock".into()), WaitForm::Seconds);
    let slot = source("slot", WaitPlace::Text(r"free at ([0-9: -]+)\.".into()), WaitForm::Time);
    let slot = WaitSource { time_zone: Some("Europe/Vienna".into()), ..slot };
    let other = source("other", WaitPlace::Header("X-Else".into()), WaitForm::Duration);
    let other = WaitSource { status: vec![503], ..other };
    let spec = WaitSpec { sources: vec![lock, slot, other], ..WaitSpec::default() };
    let hint = |headers: &[(&str, &str)], body: &str| hint_of(&spec, headers, body, NOW).map(|h| h.wait.as_secs());
    assert_eq!(hint(&[], r#"{"a":{"lock":40},"b":{"lock":"50"}}"#), Some(50));
    assert_eq!(hint(&[], "A slot is free at 2026-11-30 03:57:13."), Some(60));
    assert_eq!(hint(&[("x-else", "20m")], ""), None, "only with its status");
}

#[test]
fn every_mistake_in_a_source_is_told_with_its_name() {
    let sources = vec![
        source("a", WaitPlace::Json("lock".into()), WaitForm::Seconds),
        source("b", WaitPlace::Text("(".into()), WaitForm::Seconds),
        source("c", WaitPlace::Text("no group".into()), WaitForm::Seconds),
        source("d", WaitPlace::Text("(two) (groups)".into()), WaitForm::Seconds),
    ];
    let errors = Waits::compile(&WaitSpec { sources, ..WaitSpec::default() }).unwrap_err();
    let starts = [
        "wait `a`: json: `lock` is not a JSONPath",
        "wait `b`: text: `(` is not a regular expression: unclosed group",
        "wait `c`: text: `no group` has 0 groups and needs exactly one",
        "wait `d`: text: `(two) (groups)` has 2 groups",
    ];
    assert_eq!(errors.len(), starts.len(), "{errors:#?}");
    for (error, start) in errors.iter().zip(starts) {
        assert!(error.starts_with(start), "{error}");
    }
}

#[test]
fn the_longest_credible_hint_wins() {
    let several = [("retry-after", "10"), ("retry-after", "40"), ("x-ratelimit-reset", "90"), ("retryafter", "x")];
    assert_eq!(wait(&several), Some(90));
    assert_eq!(told(&several).unwrap().source, "X-Ratelimit-Reset");
    assert_eq!(wait(&[]), None);
}

#[test]
fn nothing_left_is_told_by_a_header() {
    for (name, value, nothing) in [
        ("x-ratelimit-remaining", "0", true),
        ("x-ratelimit-remaining", "0.0", true),
        ("x-ratelimit-remaining-day", "0", true),
        ("x-ratelimit-remaining", "1", false),
        ("x-ratelimit-remaining", "", false),
        ("ratelimit", r#""d";r=0;t=9"#, true),
        ("ratelimit", r#""d";r=1;t=9"#, false),
    ] {
        let headers = vec![(name.to_owned(), value.to_owned())];
        let answer = Answer { status: 403, headers, body: vec![] };
        assert_eq!(says_that_nothing_is_left(&answer), nothing, "{name}: {value}");
    }
}

proptest! {
    #[test]
    fn no_value_panics_and_every_hint_keeps_the_bounds(
        value in r"([0-9.+eE:;=,-]|Mon|Nov|GMT| |r=0|t=|\PC){0,30}", date in ".{0,30}", now: i64,
        name in "retry-after|retry-after-ms|x-ratelimit-reset|x-ratelimit-remaining-reset|ratelimit|ratelimit-policy",
        body in r#"([\[\]{}":,a-z0-9.]|retry_after|reset_at|wait|in 5 minutes| ){0,40}"#,
    ) {
        let spec = WaitSpec::default();
        if let Some(hint) = hint_of(&spec, &[(&name, &value), ("date", &date)], &body, Wall(now)) {
            prop_assert!(hint.wait >= spec.floor && hint.wait <= spec.ceiling);
        }
    }

    #[test]
    fn whole_seconds_are_never_cut_short(s in 1u64..100_000_000) {
        let spec = WaitSpec { ceiling: Span(u64::MAX), ..WaitSpec::default() };
        let hint = hint_of(&spec, &[("retry-after", &s.to_string())], "", NOW).unwrap();
        prop_assert_eq!(hint.wait, Span::from_secs(s.max(5)));
    }
}
