//! RFC 9111 section 4.2: how old, and for how long fresh.

use super::*;
use proptest::prelude::*;

fn http(headers: &[(&str, &str)], seconds: u64) -> Life {
    life(&head(headers), Freshness::Http, Span::from_secs(5), &at(seconds))
}

/// Seconds for which an answer with these headers is fresh after its arrival.
fn lasts(headers: &[(&str, &str)]) -> u64 {
    http(headers, 0).left().as_secs()
}

#[test]
fn s_maxage_stands_before_max_age_and_both_before_expires() {
    let expires = http_date(1000);
    let (date, expires) = (("date", &*http_date(0)), ("expires", &*expires));
    assert_eq!(lasts(&[date, expires, ("cache-control", "max-age=20, s-maxage=10")]), 10);
    assert_eq!(lasts(&[date, expires, ("cache-control", "max-age=20")]), 20);
    assert_eq!(lasts(&[date, expires, ("cache-control", "public")]), 1000);
    assert_eq!(lasts(&[date, expires, ("cache-control", "max-age=0")]), 0);
    assert_eq!(lasts(&[date, expires, ("cache-control", "s-maxage=0, max-age=20")]), 0);
}

#[test]
fn expires_counts_from_the_date_of_the_answer() {
    let (early, late) = (http_date(-100), http_date(100));
    assert_eq!(lasts(&[("date", &early), ("expires", &late)]), 100, "200 s, of which 100 are gone");
    assert_eq!(lasts(&[("expires", &late)]), 100, "without a date, from its arrival");
    for unsound in ["0", "-1", "", "tomorrow", "Mon, 30 Nov 2026"] {
        assert_eq!(lasts(&[("expires", unsound)]), 0, "{unsound:?} is past");
        assert_eq!(lasts(&[("expires", &late), ("expires", unsound)]), 100, "the first counts");
        assert_eq!(lasts(&[("expires", unsound), ("expires", &late)]), 0);
    }
    assert_eq!(lasts(&[("expires", &early)]), 0);
}

#[test]
fn heuristics_are_off() {
    let long_ago = http_date(-10_000_000);
    assert_eq!(lasts(&[("last-modified", &long_ago), ("date", &http_date(0))]), 0);
    assert_eq!(lasts(&[("cache-control", "public"), ("last-modified", &long_ago)]), 0);
    assert!(!http(&[], 0).is_fresh());
}

#[test]
fn an_answer_is_over_at_exactly_its_lifetime() {
    let headers = [("cache-control", "max-age=10")];
    assert!(http(&headers, 9).is_fresh());
    assert!(!http(&headers, 10).is_fresh());
    assert_eq!(http(&headers, 10).over(), Span::ZERO);
    assert_eq!(http(&headers, 13).over(), Span::from_secs(3));
}

#[test]
fn the_age_is_the_greater_of_what_is_said_and_what_the_date_says() {
    let dated = http_date(-30);
    let age = |headers: &[(&str, &str)]| http(headers, 5).age.as_secs();
    assert_eq!(age(&[]), 5, "resident time");
    assert_eq!(age(&[("age", "20")]), 25);
    assert_eq!(age(&[("date", &dated)]), 35, "apparent age");
    assert_eq!(age(&[("date", &dated), ("age", "40")]), 45);
    assert_eq!(age(&[("date", &dated), ("age", "20")]), 35);
    assert_eq!(age(&[("date", &http_date(300))]), 5, "a date ahead makes nothing younger");
}

#[test]
fn the_time_that_the_answer_took_counts() {
    let slow = head_at(&[("age", "10"), ("cache-control", "max-age=60")], at(0).stamp(), at(8).stamp());
    let life = life(&slow, Freshness::Http, Span::ZERO, &at(10));
    assert_eq!(life.age.as_secs(), 10 + 8 + 2);
    assert_eq!(life.left().as_secs(), 40);
}

#[test]
fn an_unsound_age_says_nothing_and_of_several_the_first_counts() {
    let age = |value: &str| http(&[("age", value)], 0).age.as_secs();
    for (value, wanted) in [("abc", 0), ("-7", 0), ("7.5", 0), ("7a", 0), ("", 0), ("7, 0", 7), ("0, 7", 0), (" 7 ", 7)]
    {
        assert_eq!(age(value), wanted, "{value:?}");
    }
    assert_eq!(age("99999999999999999999"), 1 << 31, "very long, and no overflow");
}

#[test]
fn the_memo_counts_from_the_arrival_whatever_the_provider_says() {
    let never = head(&[("cache-control", "no-store, max-age=0"), ("expires", "0"), ("age", "100")]);
    let life_at = |seconds| life(&never, Freshness::Memo, Span::from_secs(5), &at(seconds));
    assert!(life_at(4).is_fresh() && !life_at(5).is_fresh());
    assert_eq!(life_at(4).age.as_secs(), 104, "and tells the age that it had when it arrived");
    assert_eq!((life_at(4).ttl_s(), life_at(5).ttl_s(), life_at(8).ttl_s()), (1, 0, -3));
    assert!(!life(&never, Freshness::Memo, Span::ZERO, &at(0)).is_fresh());
}

#[test]
fn a_step_of_the_wall_clock_makes_nothing_younger() {
    let answer = head(&[("cache-control", "max-age=60")]);
    let stepped = Now { offsets: vec![NOON - START as i64 - 3_600_000], ..at(59) };
    assert_eq!(life(&answer, Freshness::Http, Span::ZERO, &stepped).age.as_secs(), 59);
    // Over a restart in the dark only the wall clock knows.
    let dark = Now { era: 2, offsets: vec![NOON - START as i64 + 600_000], ..at(1) };
    assert_eq!(life(&answer, Freshness::Memo, Span::from_secs(5), &dark).age.as_secs(), 601);
}

proptest! {
    /// Time only takes away: an answer never becomes younger, nor fresh again.
    #[test]
    fn nothing_becomes_younger(
        max_age in proptest::option::of(0u64..200),
        age in proptest::option::of(0u64..200),
        date in proptest::option::of(-200i64..200),
        memo in any::<bool>(),
        (first, more) in (0u64..200, 0u64..200),
    ) {
        let mut headers = Vec::new();
        headers.extend(max_age.map(|s| ("cache-control".to_owned(), format!("max-age={s}"))));
        headers.extend(age.map(|s| ("age".to_owned(), s.to_string())));
        headers.extend(date.map(|s| ("date".to_owned(), http_date(s))));
        let answer = Head { headers, ..head(&[]) };
        let by = if memo { Freshness::Memo } else { Freshness::Http };
        let life_at = |seconds| life(&answer, by, Span::from_secs(50), &at(seconds));
        let (before, after) = (life_at(first), life_at(first + more));
        prop_assert_eq!(after.age.0, before.age.0 + more * 1000);
        prop_assert!(before.is_fresh() || !after.is_fresh());
        prop_assert!(before.ttl_s() >= after.ttl_s());
        prop_assert!(before.age.as_secs() >= age.unwrap_or_default());
        prop_assert_eq!(before.is_fresh(), before.left() > Span::ZERO);
        prop_assert!(before.is_fresh() || before.ttl_s() <= 0);
    }
}
