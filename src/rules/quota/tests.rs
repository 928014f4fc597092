//! Every form of header that is known, and of which limit it is taken to speak.

use super::*;
use crate::domain::limit::TimeOfDay;
use crate::domain::outcome::Reach;
use proptest::prelude::*;
use std::collections::BTreeMap;

/// 2026-11-30T02:56:13Z
const NOW: Wall = Wall(1_796_007_373_000);

fn answer(headers: &[(&str, &str)]) -> Answer {
    let headers = headers.iter().map(|(n, v)| (n.to_ascii_lowercase(), v.to_string())).collect();
    Answer { status: 200, headers, body: vec![] }
}

fn limit(name: &str, amount: u64, kind: Kind) -> Limit {
    let (keep, cap) = (BTreeMap::new(), BTreeMap::new());
    Limit { name: name.into(), amount, kind, scope: Scope::Credential, keep, reach: Default::default(), cap }
}

fn rolling(name: &str, amount: u64, seconds: u64) -> Limit {
    limit(name, amount, Kind::Rolling { window: Span::from_secs(seconds) })
}

fn day(amount: u64) -> Limit {
    limit("day", amount, Kind::Daily { resets_at: TimeOfDay(0), time_zone: "UTC".into() })
}

/// `limit: total/remaining/used`, of all claims.
fn read(headers: &[(&str, &str)], limits: &[Limit]) -> String {
    let said = Reader::default().claims(&answer(headers), None, limits, &"/a".into(), &|_| None, NOW).known;
    let figure = |n: Option<u64>| n.map_or("-".to_owned(), |n| n.to_string());
    let line = |(key, c): &(LimitKey, Claim)| {
        format!("{}: {}/{}/{}", key.limit, figure(c.total), figure(c.remaining), figure(c.used))
    };
    said.iter().map(line).collect::<Vec<_>>().join(", ")
}

#[test]
fn the_forms_of_the_field() {
    let hour = rolling("hour", 5000, 3600);
    let quarter = rolling("quarter", 200, 900);
    let limits = [hour, quarter, rolling("minute", 60, 60), day(2000)];
    for (headers, expected) in [
        (&[("X-RateLimit-Limit", "5000"), ("X-RateLimit-Remaining", "4987")][..], "hour: 5000/4987/-"),
        (
            &[("X-RateLimit-Limit", "5000"), ("X-RateLimit-Used", "13"), ("X-RateLimit-Resource", "core")],
            "hour: 5000/-/13",
        ),
        (&[("X-Rate-Limit-Limit", "60"), ("X-Rate-Limit-Remaining", "58.4")], "minute: 60/59/-"),
        (&[("RateLimit-Limit", "60, 60;w=60"), ("RateLimit-Remaining", "7")], "minute: 60/7/-"),
        (&[("ratelimit-limit", "4000;w=3600"), ("ratelimit-remaining", "76;w=3600")], "hour: 4000/76/-"),
        (&[("RateLimit", "limit=60, remaining=50, reset=40")], "minute: 60/50/-"),
        (&[("RateLimit", "\"x\";r=1;t=5"), ("RateLimit-Policy", "\"x\";q=70;w=60")], "minute: 70/1/-"),
        (&[("RateLimit", "\"minute\";r=1, \"day\";r=30")], "minute: -/1/-, day: -/30/-"),
        (&[("X-RateLimit-Limit-Minute", "60"), ("X-RateLimit-Remaining-Minute", "9")], "minute: 60/9/-"),
        (&[("X-RateLimit-Limit-day", "1000"), ("X-RateLimit-Remaining-day", "9")], "day: 1000/9/-"),
        (&[("X-RateLimit-Limit", "200,2000"), ("X-RateLimit-Usage", "45,321")], "quarter: 200/-/45, day: 2000/-/321"),
        (&[("Fitbit-Rate-Limit-Limit", "60"), ("Fitbit-Rate-Limit-Remaining", "3")], "minute: 60/3/-"),
        (&[("X-HubSpot-RateLimit-Daily", "2000"), ("X-HubSpot-RateLimit-Daily-Remaining", "5")], "day: 2000/5/-"),
        (
            &[
                ("X-HubSpot-RateLimit-Max", "190"),
                ("X-HubSpot-RateLimit-Remaining", "9"),
                ("X-HubSpot-RateLimit-Interval-Milliseconds", "60000"),
            ],
            "minute: 190/9/-",
        ),
        (
            &[("anthropic-ratelimit-requests-limit", "60"), ("anthropic-ratelimit-requests-remaining", "59")],
            "minute: 60/59/-",
        ),
        (&[("x-ratelimit-limit-requests", "60"), ("x-ratelimit-remaining-requests", "59")], "minute: 60/59/-"),
        (&[("X-Shopify-Shop-Api-Call-Limit", "32/60")], "minute: 60/-/32"),
        (&[("Sforce-Limit-Info", "api-usage=18/5000")], "hour: 5000/-/18"),
    ] {
        assert_eq!(read(headers, &limits), expected, "{headers:?}");
    }
}

#[test]
fn what_speaks_of_no_limit_or_of_several_teaches_nothing() {
    let limits = [rolling("a", 60, 60), rolling("b", 60, 3600), day(2000)];
    for headers in [
        &[("X-RateLimit-Limit", "777"), ("X-RateLimit-Remaining", "5")][..],
        &[("X-RateLimit-Limit", "60"), ("X-RateLimit-Remaining", "5")],
        &[("X-RateLimit-Remaining", "5")],
        &[("x-ratelimit-limit-tokens", "2000"), ("x-ratelimit-remaining-tokens", "5")],
        &[("X-RateLimit-Complexity-Limit", "2000"), ("X-RateLimit-Complexity-Remaining", "5")],
        &[("X-RateLimit-Limit", "2000,60"), ("X-RateLimit-Remaining", "5")],
        &[("X-RateLimit-Limit", "-1"), ("X-RateLimit-Remaining", "-5")],
        &[("X-RateLimit-Limit", "unlimited"), ("X-RateLimit-Remaining", "NaN")],
        &[("RateLimit-Limit", "2000;w=7"), ("RateLimit-Remaining", "5")],
        &[("RateLimit", "")],
    ] {
        assert_eq!(read(headers, &limits), "", "{headers:?}");
    }
    let concurrent = [limit("open", 2000, Kind::Concurrent)];
    assert_eq!(read(&[("X-RateLimit-Limit", "2000"), ("X-RateLimit-Remaining", "5")], &concurrent), "");
}

#[test]
fn a_lower_total_speaks_of_the_only_limit() {
    let say =
        |total, reset| [("X-RateLimit-Limit", total), ("X-RateLimit-Remaining", "45"), ("X-RateLimit-Reset", reset)];
    let alone = [rolling("minute", 200, 60), limit("open", 5, Kind::Concurrent)];
    assert_eq!(read(&say("50", "60"), &alone), "minute: 50/45/-");
    assert_eq!(read(&say("50", "60")[..2], &alone), "minute: 50/45/-", "a reset need not be said");
    assert_eq!(read(&say("50", "61"), &alone), "", "a longer window is not its own");
    assert_eq!(
        read(&say("600", "60"), &alone),
        "minute: 600/-/-",
        "more than it has is offered, and nothing is counted by it"
    );
    assert_eq!(read(&say("600", "61"), &alone), "", "nor is that of a longer window");
    assert_eq!(read(&[("RateLimit", "\"other\";r=45"), ("RateLimit-Policy", "\"other\";q=50")], &alone), "");
    let two = [("X-RateLimit-Limit", "50,200"), ("X-RateLimit-Remaining", "45,190")];
    assert_eq!(read(&two, &alone), "minute: 200/190/-", "what is declared wins");
    assert_eq!(read(&say("50", "60"), &[rolling("minute", 200, 60), day(2000)]), "", "one of several");
    assert_eq!(read(&say("50", "60"), &[limit("pace", 200, Kind::Pace { window: Span::from_secs(60) })]), "");
}

#[test]
fn a_reset_at_the_turn_of_the_calendar_tells_which() {
    let limits = [rolling("minute", 60, 60), day(2000)];
    let midnight = "2026-12-01T00:00:01Z";
    let headers = |reset| [("X-RateLimit-Limit", "1500"), ("X-RateLimit-Remaining", "5"), ("X-RateLimit-Reset", reset)];
    assert_eq!(read(&headers(midnight), &limits), "day: 1500/5/-");
    assert_eq!(read(&headers("75827"), &limits), "day: 1500/5/-", "as many seconds before it");
    assert_eq!(read(&headers("1000"), &limits), "");
}

#[test]
fn who_spoke_of_a_limit_speaks_of_it_again() {
    let limits = [rolling("minute", 60, 60), day(2000)];
    let say = |total: &str, speaker: &str| {
        let answer = answer(&[("X-RateLimit-Limit", total), ("X-RateLimit-Remaining", "5")]);
        let of_day = |key: &LimitKey| (key.limit == "day").then(|| speaker.to_owned());
        let said = Reader::default().claims(&answer, None, &limits, &"/a".into(), &of_day, NOW).known;
        said.first().map(|(key, _)| key.limit.clone())
    };
    assert_eq!(say("1500", "x-ratelimit").as_deref(), Some("day"));
    assert_eq!(say("60", "x-ratelimit").as_deref(), Some("minute"), "a total that is declared wins");
    assert_eq!(say("1500", "somebody else"), None);
}

#[test]
fn a_recipe_says_where_it_stands() {
    let json = |path: &str| Some(CountPlace::Json(path.to_owned()));
    let spec = QuotaSpec {
        limit: "day".into(),
        total: json("$.quota.max"),
        remaining: Some(CountPlace::Header("X-Left".into())),
        used: None,
        reset: json("$.quota.reset"),
    };
    let reader = Reader::compile(std::slice::from_ref(&spec), &[]).unwrap();
    let body = serde_json::json!({ "quota": { "max": "1500", "reset": 60 } });
    let answer = answer(&[("x-left", "12"), ("x-ratelimit-limit", "2000"), ("x-ratelimit-remaining", "3")]);
    let said = reader.claims(&answer, Some(&body), &[day(2000)], &"/a".into(), &|_| None, NOW).known;
    let [(key, claim)] = &said[..] else { panic!("{said:?}") };
    assert_eq!((key.limit.as_str(), claim.total, claim.remaining), ("day", Some(1500), Some(12)), "before the general");
    assert_eq!(claim.reset, Some(Span::from_secs(60)));
    let wrong = QuotaSpec { used: json("$["), ..spec };
    assert!(Reader::compile(&[wrong], &[]).unwrap_err()[0].contains("quota of `day`"));
}

#[test]
fn what_is_spent_beyond_its_window_is_told_with_its_limit() {
    let limits = [rolling("minute", 60, 60), day(2000)];
    let tell = |headers: &[(&str, &str)], waits: &[WaitSource]| {
        let reader = Reader::compile(&[], waits).unwrap();
        let said = reader.claims(&answer(headers), None, &limits, &"/a".into(), &|_| None, NOW);
        spent(&said, &limits, 1).map(|s| (s.limit, s.reach, s.wait.as_secs_ceil()))
    };
    let minute =
        |left, reset| [("X-RateLimit-Limit", "60"), ("X-RateLimit-Remaining", left), ("X-RateLimit-Reset", reset)];
    let of_minute = |s| Some(("minute".to_owned(), Reach::Credential, s));
    assert_eq!(tell(&minute("0", "3600"), &[]), of_minute(3600));
    assert_eq!(tell(&minute("0", "60"), &[]), None, "the ledger keeps to its window by itself");
    assert_eq!(tell(&minute("1", "3600"), &[]), None);
    for nonsense in ["-5", "NaN", "0", "soon", "99999999999999999999", "500000000"] {
        assert_eq!(tell(&minute("0", nonsense), &[]), None, "{nonsense}");
    }
    let own = [("RateLimit", "\"burst\";r=0;t=90, \"minute\";r=5;t=3600")];
    assert_eq!(tell(&own, &[]), Some(("burst".to_owned(), Reach::Endpoint, 90)), "nobody declared it");
    let unclear = [("X-RateLimit-Remaining", "0"), ("X-RateLimit-Reset", "90")];
    assert_eq!(tell(&unclear, &[]), Some(("x-ratelimit".to_owned(), Reach::Endpoint, 90)));
    for contradicts in [("X-RateLimit-Limit", "0"), ("X-RateLimit-Used", "3")] {
        let headers = [&minute("0", "3600")[1..], &[("X-RateLimit-Limit", "777"), contradicts]].concat();
        let headers: Vec<_> = headers.into_iter().rev().collect();
        assert_eq!(tell(&headers, &[]), None, "{contradicts:?}");
    }
    // A recipe knows the unit (A17).
    let place = crate::domain::wait::WaitPlace::Header("x-ratelimit-reset".into());
    let source = |form| WaitSource { name: "w".into(), place: place.clone(), form, status: vec![], time_zone: None };
    assert_eq!(tell(&minute("0", "600000"), &[source(WaitForm::Milliseconds)]), of_minute(600));
}

#[test]
fn a_lower_total_with_its_window_speaks_of_one_of_several() {
    let limits = [rolling("minute", 60, 60), day(2000)];
    let older = [("RateLimit", "limit=50, remaining=45, reset=40"), ("RateLimit-Policy", "50;w=60, 1500;w=86400")];
    assert_eq!(read(&older, &limits), "minute: 50/45/-");
    assert_eq!(read(&[("RateLimit", "\"x\";r=9"), ("RateLimit-Policy", "\"x\";q=50;w=60")], &limits), "minute: 50/9/-");
    assert_eq!(read(&older[..1], &limits), "", "without a window it could be either");
}

#[test]
fn a_limit_by_endpoint_is_spoken_of_for_the_endpoint_that_was_asked() {
    let limits = [Limit { scope: Scope::Endpoint, ..day(2000) }];
    let headers = answer(&[("X-RateLimit-Limit", "2000"), ("X-RateLimit-Remaining", "5")]);
    let said = Reader::default().claims(&headers, None, &limits, &"/a".into(), &|_| None, NOW).known;
    assert_eq!(said[0].0.endpoint, Some("/a".into()));
}

proptest! {
    #[test]
    fn no_header_panics(name in "(x-)?(rate-?limit|[a-z-]{0,9})(-(limit|remaining|used|reset|day|policy|interval-milliseconds))?",
                        value in r#"([0-9.,;=/"rqwt -]|\PC){0,30}"#) {
        let headers = answer(&[(&name, &value), ("ratelimit-policy", &value), ("sforce-limit-info", &value)]);
        let _ = Reader::default().claims(&headers, None, &[day(2000)], &"/a".into(), &|_| None, NOW);
    }
}
