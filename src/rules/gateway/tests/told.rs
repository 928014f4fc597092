//! RFC 9211 section 2, and the other headers of an answer.

use super::*;
use crate::domain::ids::{Caller, Organization};
use crate::domain::limit::{Kind, Limit, Scope};
use crate::rules::budget::Usage;
use proptest::prelude::*;
use std::collections::BTreeMap;

fn stale(seconds: u64) -> Life {
    life(&head(&[("cache-control", "max-age=60")]), Freshness::Http, Span::ZERO, &at(seconds))
}

#[test]
fn a_hit_has_its_time_to_live_and_a_stale_one_a_negative() {
    assert_eq!(CacheStatus::hit(&stale(20)).to_string(), "larder; hit; ttl=40");
    let held = CacheStatus { detail: Some("held"), ..CacheStatus::hit(&stale(342)) };
    assert_eq!(held.to_string(), "larder; hit; ttl=-282; detail=held");
    let half = Now { steady: Steady(START + 60_500), ..at(0) };
    let life = life(&head(&[("cache-control", "max-age=60")]), Freshness::Http, Span::ZERO, &half);
    assert_eq!(life.ttl_s(), -1, "half a second over is over");
}

#[test]
fn what_was_forwarded_says_why_and_what_became_of_it() {
    let miss = CacheStatus { stored: true, ..CacheStatus::forwarded(Forward::UriMiss) };
    assert_eq!(miss.to_string(), "larder; fwd=uri-miss; stored");
    let collapsed = CacheStatus { collapsed: true, ..CacheStatus::forwarded(Forward::Stale) };
    assert_eq!(collapsed.to_string(), "larder; fwd=stale; collapsed");
    let failed = CacheStatus {
        forward_status: Some(503),
        ttl_s: Some(-9),
        detail: Some("overloaded"),
        ..CacheStatus::forwarded(Forward::Stale)
    };
    assert_eq!(failed.to_string(), "larder; fwd=stale; fwd-status=503; ttl=-9; detail=overloaded");
    let words: Vec<_> =
        [Forward::VaryMiss, Forward::Request, Forward::Method, Forward::Bypass].map(Forward::word).into();
    assert_eq!(words, ["vary-miss", "request", "method", "bypass"]);
}

/// Each form is a List of RFC 9651 whose parameters are of the types that RFC 9211 names.
#[test]
fn every_form_is_a_structured_field() {
    let forms = [
        CacheStatus::hit(&stale(20)),
        CacheStatus {
            forward_status: Some(200),
            stored: true,
            collapsed: true,
            ..CacheStatus::forwarded(Forward::Stale)
        },
        CacheStatus { detail: Some("no_store"), ..CacheStatus::default() },
    ];
    for form in forms {
        let list: sfv::List = sfv::Parser::new(&form.to_string()).parse().unwrap();
        assert_eq!(list.len(), 1, "{form}");
    }
}

#[test]
fn a_cache_before_us_stands_before_us() {
    let ours = CacheStatus::hit(&stale(0));
    assert_eq!(cache_status(Some(&head(&[("cache-status", "cdn; hit")])), &ours), "cdn; hit, larder; hit; ttl=60");
    assert_eq!(cache_status(None, &ours), "larder; hit; ttl=60");
}

#[test]
fn what_stands_on_the_shelf_is_told_with_a_date_and_validators() {
    let answer = head(&[("content-type", "a/b"), ("age", "5"), ("cache-status", "cdn; hit"), ("etag", "\"x\"")]);
    let (date, shown) = (http_date(0), standing(&answer));
    let wanted = [("content-type", "a/b"), ("date", &*date), ("etag", "\"x\""), ("last-modified", &*date)];
    assert_eq!(shown, pairs(&wanted));
    assert_eq!(standing_304(&answer), pairs(&wanted[1..]), "a 304 describes no body");
    let dated = http_date(-9);
    assert!(standing(&head(&[("date", &dated)])).contains(&("date".to_owned(), dated.clone())), "the provider's own");
    assert_eq!(age(&stale(20)), "20");
}

#[test]
fn of_a_head_only_the_provider_s_validators_are_shown() {
    let of = |headers: &[(&str, &str)]| Head { key: key_of(Reading::Head, "/tasks"), ..head(headers) };
    let (date, modified) = (http_date(0), http_date(-500));
    let none = of(&[("content-length", "4711")]);
    assert_eq!(
        standing(&none),
        pairs(&[("content-length", "4711"), ("date", &date)]),
        "there is no body to know it by"
    );
    assert_eq!(standing_304(&none), pairs(&[("date", &date)]));
    let own = standing(&of(&[("etag", "\"x\""), ("last-modified", &modified)]));
    assert_eq!(own, pairs(&[("date", &date), ("etag", "\"x\""), ("last-modified", &modified)]));
}

#[test]
fn a_reason_becomes_one_line_that_says_every_sign_of_it() {
    assert_eq!(larder_stale(" held until 16:00\r\nX: y "), "\"held until 16:00  X: y\"");
    assert_eq!(
        larder_stale("rate limited. It said: \u{201c}slow \\ down\u{201d}"),
        r#""rate limited. It said: \"slow \\ down\"""#
    );
    // The example of RFC 9651 section 3.3.8.
    assert_eq!(
        larder_stale("This is intended for display to \u{fc}sers."),
        "%\"This is intended for display to %c3%bcsers.\""
    );
    assert_eq!(larder_stale(&"x".repeat(999)).len(), 202);
}

proptest! {
    /// What a parser of structured fields reads is what was said.
    #[test]
    fn a_reason_is_read_as_it_was_said(reason in "\\PC{0,220}") {
        let said: String = reason.trim().chars().take(200).collect();
        let said = said.replace(['\u{201c}', '\u{201d}'], "\"").replace(['\u{2018}', '\u{2019}'], "'");
        let header = larder_stale(&reason);
        prop_assert!(header.is_ascii());
        let item = sfv::Parser::new(&header).parse::<sfv::Item>().expect("a structured field");
        let read = match &item.bare_item {
            sfv::BareItem::String(text) => text.as_str().to_owned(),
            sfv::BareItem::DisplayString(text) => text.to_string(),
            other => panic!("{other:?}"),
        };
        prop_assert_eq!(read, said);
    }
}

fn usage(kind: Kind, used: u64, kept: u64, keep: &[(Caller, u64)]) -> Usage {
    let limit = Limit {
        name: "day \"a\"".into(),
        amount: 10,
        kind,
        scope: Scope::Credential,
        keep: keep.iter().copied().collect(),
        cap: Default::default(),
        reach: Default::default(),
    };
    let (used_by, next) = (BTreeMap::new(), Some(at(90).steady));
    Usage {
        limit,
        declared: 10,
        endpoint: None,
        used,
        used_by,
        foreign: 1,
        kept,
        next_free_at: next,
        parts: Vec::new(),
        resets_at: None,
    }
}

#[test]
fn what_is_left_is_what_the_gateway_may_take() {
    let day = Kind::Rolling { window: Span::from_secs(86_400) };
    let of = |usages: &[Usage]| rate_limit(usages, (Caller::Gateway, &Organization::default()), &at(0));
    let (left, policy) = of(&[usage(day.clone(), 4, 2, &[(Caller::Refresh, 2)])]).unwrap();
    assert_eq!(left, "\"day \\\"a\\\"\";r=3;t=90", "ten less four, one of others and two kept for refreshes");
    assert_eq!(policy, "\"day \\\"a\\\"\";q=10;w=86400");
    let (own, _) = of(&[usage(day.clone(), 4, 2, &[(Caller::Gateway, 2)])]).unwrap();
    assert!(own.contains(";r=5;"), "what is kept for it is its own: {own}");
    let (spent, _) = of(&[usage(day.clone(), 9, 2, &[(Caller::Refresh, 2)])]).unwrap();
    assert!(spent.contains(";r=0;"), "{spent}");
    let pace = Kind::Pace { window: Span::from_secs(1) };
    let (both, policies) =
        of(&[usage(day, 0, 0, &[]), usage(Kind::Concurrent, 0, 0, &[]), usage(pace, 0, 0, &[])]).unwrap();
    for text in [&both, &policies] {
        let list: sfv::List = sfv::Parser::new(text).parse().unwrap();
        assert_eq!(list.len(), 2, "what is in flight is no quota: {text}");
    }
    assert!(both.ends_with(";r=1;t=90"), "of a pace one at a time: {both}");
    assert_eq!(of(&[]), None);
}
