//! RFC 9111 section 4.3 and RFC 9110 section 13: validators of both sides.

use super::*;
use proptest::prelude::*;

fn later() -> Times {
    Times { asked_at: at(99).stamp(), as_of: at(100).stamp() }
}

#[test]
fn the_provider_is_asked_with_its_own_validators() {
    let modified = http_date(-500);
    let both = head(&[("etag", "\"a\""), ("last-modified", &modified)]);
    assert_eq!(validators(&both), pairs(&[("if-none-match", "\"a\""), ("if-modified-since", &modified)]));
    assert_eq!(validators(&head(&[])), [], "never with one that the gateway made");
}

#[test]
fn a_304_renews_headers_and_age_and_leaves_the_body() {
    let date = http_date(100);
    let old = head(&[
        ("etag", "\"a\""),
        ("date", &http_date(0)),
        ("age", "50"),
        ("cache-control", "max-age=1"),
        ("content-type", "application/json"),
        ("x-own", "old"),
        ("x-stays", "1"),
    ]);
    let told = pairs(&[
        ("etag", "\"a\""),
        ("date", &date),
        ("cache-control", "max-age=60"),
        ("content-type", "text/html"),
        ("content-length", "0"),
        ("x-own", "new"),
        ("connection", "close"),
    ]);
    let new = confirmed(&old, &told, later()).unwrap();
    assert_eq!((new.header("cache-control"), new.header("x-own")), (Some("max-age=60"), Some("new")));
    assert_eq!((new.header("x-stays"), new.header("content-type")), (Some("1"), Some("application/json")));
    assert_eq!((new.header("age"), new.header("connection"), new.header("content-length")), (None, None, None));
    assert_eq!((new.as_of, new.changed_at, new.digest), (at(100).stamp(), old.changed_at, old.digest));
    let life = life(&new, Freshness::Http, Span::ZERO, &at(110));
    assert_eq!((life.is_fresh(), life.age.as_secs()), (true, 11), "a second under way and ten here");
}

#[test]
fn a_304_changes_no_type_nor_charset_of_the_body_that_is_kept() {
    let kind = |kept: &str, told: &str| {
        let old = head(&[("etag", "\"a\""), ("content-type", kept)]);
        let new = confirmed(&old, &pairs(&[("etag", "\"a\""), ("content-type", told)]), later()).unwrap();
        new.header("content-type").unwrap() == told
    };
    for (kept, told) in [
        ("text/plain", "text/plain;charset=utf-8"),
        ("text/plain; charset=UTF-8", "Text/Plain;charset=utf-8"),
        ("text/plain", "text/plain; format=flowed"),
    ] {
        assert!(kind(kept, told), "{kept} {told}");
    }
    for (kept, told) in [
        ("application/json", "text/html"),
        ("text/plain", "text/plain; charset=iso-8859-1"),
        ("text/plain; charset=iso-8859-1", "text/plain; charset=utf-8"),
        ("text/plain; charset=iso-8859-1", "text/plain"),
    ] {
        assert!(!kind(kept, told), "{kept} {told}");
    }
}

#[test]
fn a_304_without_a_date_does_not_keep_the_old_one() {
    let old = head(&[("etag", "\"a\""), ("date", &http_date(0)), ("cache-control", "max-age=60")]);
    let new = confirmed(&old, &[], later()).unwrap();
    assert_eq!(life(&new, Freshness::Http, Span::ZERO, &at(100)).age.as_secs(), 1);
}

#[test]
fn a_304_of_another_answer_confirms_nothing() {
    let modified = http_date(-500);
    let tagged = head(&[("etag", "\"a\"")]);
    assert!(confirmed(&tagged, &pairs(&[("etag", "\"b\"")]), later()).is_none());
    assert!(confirmed(&tagged, &pairs(&[("etag", "W/\"a\"")]), later()).is_some());
    let dated = head(&[("last-modified", &modified)]);
    assert!(confirmed(&dated, &pairs(&[("last-modified", &http_date(-100))]), later()).is_none());
    assert!(confirmed(&dated, &pairs(&[("last-modified", &modified)]), later()).is_some());
    assert!(confirmed(&dated, &pairs(&[("etag", "\"x\"")]), later()).is_none());
}

#[test]
fn a_head_confirms_a_get_or_makes_it_old() {
    let get = head(&[("etag", "\"a\""), ("cache-control", "max-age=1")]);
    let told = pairs(&[("etag", "\"a\""), ("cache-control", "max-age=60"), ("content-length", "3")]);
    let ByHead::Confirmed(new) = by_head(&get, &told, later()) else { panic!("not confirmed") };
    assert_eq!((new.header("cache-control"), new.as_of), (Some("max-age=60"), at(100).stamp()));
    for other in [
        pairs(&[("etag", "\"b\"")]),
        pairs(&[("etag", "\"a\""), ("content-length", "4")]),
        pairs(&[("etag", "\"a\""), ("last-modified", &http_date(0))]),
        pairs(&[]),
    ] {
        assert_eq!(by_head(&get, &other, later()), ByHead::Outdated, "{other:?}");
    }
}

#[test]
fn a_client_is_shown_the_provider_s_validators_or_the_gateway_s() {
    let modified = http_date(-500);
    let own = head(&[("etag", "W/\"a\""), ("last-modified", &modified)]);
    assert_eq!((etag(&own), last_modified(&own)), ("W/\"a\"".to_owned(), modified));
    let none = head(&[]);
    assert!(etag(&none).starts_with('"') && etag(&none).len() == 34, "strong: {}", etag(&none));
    assert_eq!(last_modified(&none), http_date(0));
    let other = Head { digest: digest(b"[2]"), ..head(&[]) };
    assert_ne!(etag(&none), etag(&other));
}

#[test]
fn what_a_client_has_is_told_by_tag_before_date() {
    let (tag, modified) = ("\"a,b\"", http_date(0));
    let has = |headers: &[(&str, &str)]| is_unmodified(&pairs(headers), tag, &modified);
    let plain = |asked: &str, kept: &str| is_unmodified(&pairs(&[("if-none-match", asked)]), kept, &modified);
    assert!(plain("v1", "\"v1\"") && plain("\"v1\"", "v1") && plain("W/\"v1\"", "v1"), "quotes tell no two apart");
    assert!(!plain("\"v1", "\"v1\"") && !plain("v2", "\"v1\""));
    for field in ["\"a,b\"", "W/\"a,b\"", "\"x\", \"a,b\"", "*", " W/\"x\" ,W/\"a,b\""] {
        assert!(has(&[("if-none-match", field)]), "{field}");
    }
    for field in ["\"a\"", "\"b\"", "a,b", "\"x\""] {
        assert!(!has(&[("if-none-match", field)]), "{field}");
    }
    assert!(has(&[("if-none-match", "\"x\""), ("if-none-match", "\"a,b\"")]));
    let (before, after) = (http_date(-1), http_date(1));
    assert!(has(&[("if-modified-since", &modified)]) && has(&[("if-modified-since", &after)]));
    assert!(!has(&[("if-modified-since", &before)]) && !has(&[("if-modified-since", "yesterday")]));
    assert!(!has(&[("if-none-match", "\"x\""), ("if-modified-since", &after)]), "the tag decides");
    assert!(!has(&[]));
}

proptest! {
    /// What the gateway shows is what it knows again.
    #[test]
    fn a_shown_validator_is_known_again(body in any::<Vec<u8>>(), seconds in 0u64..10_000) {
        let answer = Head { digest: digest(&body), changed_at: at(seconds).stamp(), ..head(&[]) };
        let (tag, modified) = (etag(&answer), last_modified(&answer));
        prop_assert!(is_unmodified(&[("if-none-match".to_owned(), tag.clone())], &tag, &modified));
        prop_assert!(is_unmodified(&[("if-modified-since".to_owned(), modified.clone())], &tag, &modified));
    }
}

#[test]
fn a_client_s_tags_go_out_in_their_quotes() {
    for (told, sent) in [("abc", "\"abc\""), ("\"a,b\", W/\"c\",d", "\"a,b\", W/\"c\", \"d\""), ("*", "*")] {
        assert_eq!(as_tags(told), sent);
    }
}
