//! RFC 9111 section 3: what comes onto the shelf.

use super::*;
use crate::domain::outcome::Outcome;
use proptest::prelude::*;
use proptest::sample::select;

struct Case<'a> {
    asked: &'a [(&'a str, &'a str)],
    authorized: bool,
    status: u16,
    headers: &'a [(&'a str, &'a str)],
    outcome: Outcome,
}

const GOOD: Case<'static> = Case { asked: &[], authorized: false, status: 200, headers: &[], outcome: Outcome::Data };

fn kept(case: &Case<'_>, gate: &Gate) -> Result<(Kept, Variant), NotKept> {
    let (sent, headers) = (pairs(case.asked), pairs(case.headers));
    let wishes = Wishes::of(&sent);
    let asked = Asked { reading: Reading::Get, sent: &sent, wishes: &wishes, authorized: case.authorized };
    let answered = Answered { status: case.status, headers: &headers, outcome: case.outcome };
    may_keep(&asked, &answered, &gate.policy(&location("/tasks")))
}

fn by_http(status: u16, cache_control: &str) -> Result<(), NotKept> {
    kept(&Case { status, headers: &[("cache-control", cache_control)], ..GOOD }, &http_gate()).map(drop)
}

#[test]
fn only_good_answers_are_kept_whatever_they_say() {
    let say = [("cache-control", "public, max-age=3600")];
    let memo = gate_of(GatewaySpec::default());
    for status in [200, 301, 404, 429, 500] {
        for outcome in Outcome::ALL.into_iter().filter(|outcome| *outcome != Outcome::Data) {
            let case = Case { outcome, status, headers: &say, ..GOOD };
            assert_eq!(kept(&case, &memo), Err(NotKept::NotGood), "{outcome} {status}");
        }
    }
    for gate in [http_gate(), memo] {
        assert_eq!(kept(&Case { headers: &say, ..GOOD }, &gate), Ok((Kept::Data, vec![])));
    }
}

#[test]
fn by_http_what_is_no_good_answer_is_kept_as_that_where_it_says_for_how_long() {
    let fresh: &[(&str, &str)] = &[("cache-control", "max-age=60")];
    let of =
        |outcome, status, headers| kept(&Case { outcome, status, headers, ..GOOD }, &http_gate()).map(|(kept, _)| kept);
    for (outcome, status) in [
        (Outcome::Redirected, 301),
        (Outcome::Redirected, 307),
        (Outcome::Unexpected, 404),
        (Outcome::Unexpected, 499),
        (Outcome::Gone, 410),
        (Outcome::Overloaded, 503),
    ] {
        assert_eq!(of(outcome, status, fresh), Ok(Kept::Declared), "{outcome} {status}");
        for unsaid in [&[][..], &[("cache-control", "public")], &[("last-modified", "Mon, 30 Nov 2026 15:00:00 GMT")]] {
            assert_eq!(of(outcome, status, unsaid), Err(NotKept::NotGood), "{outcome} {status} {unsaid:?}");
        }
        assert_eq!(of(outcome, status, &[("cache-control", "max-age=60, private")]), Err(NotKept::Private));
    }
    // What is said to the account, and a success that is none.
    for (outcome, status) in [
        (Outcome::Limited, 429),
        (Outcome::Limited, 503),
        (Outcome::Unpaid, 402),
        (Outcome::CredentialRejected, 401),
        (Outcome::CredentialRejected, 403),
        (Outcome::Overloaded, 408),
        (Outcome::Unexpected, 200),
        (Outcome::NotModified, 304),
        (Outcome::RedirectRefused, 302),
    ] {
        assert_eq!(of(outcome, status, fresh), Err(NotKept::NotGood), "{outcome} {status}");
    }
}

#[test]
fn no_store_of_the_client_holds_for_both_and_that_of_the_provider_by_http() {
    let memo = gate_of(GatewaySpec::default());
    let asked = Case { asked: &[("cache-control", "no-store")], headers: &[("cache-control", "max-age=9")], ..GOOD };
    assert_eq!(kept(&asked, &memo), Err(NotKept::NoStore));
    assert_eq!(kept(&asked, &http_gate()), Err(NotKept::NoStore));
    let said = Case { headers: &[("cache-control", "no-store, max-age=9")], ..GOOD };
    assert_eq!(kept(&said, &http_gate()), Err(NotKept::NoStore));
    assert!(kept(&said, &memo).is_ok(), "the memo goes by the connection's word");
}

#[test]
fn private_is_for_no_shared_cache() {
    assert_eq!(by_http(200, "private, max-age=60"), Err(NotKept::Private));
    assert_eq!(by_http(200, "private=\"x-own\", max-age=60"), Ok(()), "but for that field");
    assert_eq!(by_http(200, "private, s-maxage=60"), Err(NotKept::Private));
}

#[test]
fn must_understand_lifts_no_store_where_the_status_is_understood() {
    assert_eq!(by_http(200, "must-understand, no-store, max-age=60"), Ok(()));
    assert_eq!(by_http(299, "must-understand, max-age=60"), Err(NotKept::NoStore));
    assert_eq!(by_http(299, "must-understand, no-store, max-age=60"), Err(NotKept::NoStore));
    assert_eq!(by_http(299, "max-age=60"), Ok(()));
}

#[test]
fn without_a_word_the_status_decides_and_the_answer_is_over_at_once() {
    assert_eq!(by_http(200, ""), Ok(()));
    assert_eq!(by_http(203, "max-age="), Ok(()));
    assert_eq!(by_http(201, ""), Err(NotKept::Unsaid));
    for said in ["public", "max-age=1", "s-maxage=1"] {
        assert_eq!(by_http(201, said), Ok(()), "{said}");
    }
    let expires = Case { status: 201, headers: &[("expires", "0")], ..GOOD };
    assert!(kept(&expires, &http_gate()).is_ok());
}

#[test]
fn an_authorization_of_the_client_s_needs_leave_to_be_shared() {
    let with = |cache_control: &'static str| {
        let headers = &[("cache-control", cache_control)];
        kept(&Case { authorized: true, headers, ..GOOD }, &http_gate()).map(drop)
    };
    assert_eq!(with("max-age=60"), Err(NotKept::Authorized));
    for leave in ["public, max-age=60", "must-revalidate, max-age=60", "s-maxage=60"] {
        assert_eq!(with(leave), Ok(()), "{leave}");
    }
}

#[test]
fn parts_are_not_kept() {
    for gate in [http_gate(), gate_of(GatewaySpec::default())] {
        let part =
            Case { status: 206, headers: &[("content-range", "bytes 0-1/9"), ("cache-control", "max-age=9")], ..GOOD };
        assert_eq!(kept(&part, &gate), Err(NotKept::Partial));
        // By HTTP the header means nothing with another status; the memo trusts nobody who names a part.
        let whole = kept(&Case { status: 200, ..part }, &gate);
        assert_eq!(whole.is_ok(), gate.policy(&location("/tasks")).freshness == Freshness::Http);
    }
}

#[test]
fn what_varies_by_everything_fits_nobody() {
    for vary in ["*", "accept, *"] {
        assert_eq!(kept(&Case { headers: &[("vary", vary)], ..GOOD }, &http_gate()), Err(NotKept::VariesByAll));
    }
}

#[test]
fn an_expected_not_ready_is_kept_as_that() {
    let not_ready = NotReadySpec { status: vec![409], lasts: Span::from_secs(600), until: vec![Until::Write] };
    let rule = PathRule { path: "/tasks".into(), not_ready: Some(not_ready), ..PathRule::default() };
    let gate = gate_of(GatewaySpec { rules: vec![rule], ..GatewaySpec::default() });
    let case = Case { status: 409, outcome: Outcome::Unexpected, ..GOOD };
    assert_eq!(kept(&case, &gate), Ok((Kept::NotReady, vec![])));
    assert_eq!(kept(&Case { status: 410, ..case }, &gate), Err(NotKept::NotGood));
}

#[test]
fn a_limit_is_never_an_expected_not_ready() {
    let not_ready = NotReadySpec { status: vec![403, 429], lasts: Span::from_secs(600), until: vec![] };
    let rule = PathRule { path: "/tasks".into(), not_ready: Some(not_ready), ..PathRule::default() };
    let gate = gate_of(GatewaySpec { rules: vec![rule], ..GatewaySpec::default() });
    for outcome in [Outcome::Limited, Outcome::Unpaid] {
        for status in [403, 429] {
            assert_eq!(kept(&Case { status, outcome, ..GOOD }, &gate), Err(NotKept::NotGood), "{outcome} {status}");
        }
    }
    assert_eq!(kept(&Case { status: 403, outcome: Outcome::NotReady, ..GOOD }, &gate), Ok((Kept::NotReady, vec![])));
}

#[test]
fn of_a_head_the_length_is_kept_that_it_tells() {
    let headers = pairs(&[("content-type", "a/b"), ("content-length", "4711")]);
    let answered = Answered { status: 200, headers: &headers, outcome: Outcome::Data };
    let times = Times { asked_at: at(0).stamp(), as_of: at(0).stamp() };
    let kept = |reading| {
        shelve(key_of(reading, "/tasks"), (Kept::Data, vec![]), &answered, (*b"").into(), times, 1, None).head.headers
    };
    assert_eq!(kept(Reading::Head), headers);
    assert_eq!(kept(Reading::Get), headers[..1], "the length of a GET is that of the body that is kept");
}

#[test]
fn a_body_has_its_digest_and_the_moment_at_which_it_was_first_seen() {
    let headers = pairs(&[
        ("content-type", "application/json"),
        ("connection", "close, X-Hop"),
        ("x-hop", "1"),
        ("keep-alive", "9"),
        ("transfer-encoding", "chunked"),
        ("content-length", "3"),
        ("set-cookie", "a=b"),
        ("x-ratelimit-remaining", "7"),
        ("ratelimit", "\"a\";r=1"),
        ("x-own", "kept"),
    ]);
    let answered = Answered { status: 200, headers: &headers, outcome: Outcome::Data };
    let put = |body: &[u8], seconds, before: Option<&Head>| {
        let times = Times { asked_at: at(seconds).stamp(), as_of: at(seconds).stamp() };
        shelve(key_of(Reading::Get, "/tasks"), (Kept::Data, vec![]), &answered, body.into(), times, 1, before)
    };
    let first = put(b"[1]", 0, None);
    assert_eq!(first.head.headers, pairs(&[("content-type", "application/json"), ("x-own", "kept")]));
    assert_eq!((first.head.body_bytes, first.head.changed_at), (3, at(0).stamp()));
    let same = put(b"[1]", 60, Some(&first.head));
    assert_eq!((same.head.as_of, same.head.changed_at), (at(60).stamp(), at(0).stamp()));
    let other = put(b"[2]", 120, Some(&same.head));
    assert_eq!(other.head.changed_at, at(120).stamp());
    assert_ne!(other.head.digest, same.head.digest);
}

#[test]
fn fields_that_are_for_one_client_or_never_shown_again_are_not_kept() {
    let headers = pairs(&[
        ("cache-control", "private=\"x-own\", no-cache=\"X-Once\""),
        ("x-own", "1"),
        ("x-once", "2"),
        ("x", "3"),
    ]);
    assert!(has_own_fields(&headers) && !has_own_fields(&headers[..1]));
    let answered = Answered { status: 200, headers: &headers, outcome: Outcome::Data };
    let times = Times { asked_at: at(0).stamp(), as_of: at(0).stamp() };
    let key = key_of(Reading::Get, "/tasks");
    let shelved = shelve(key, (Kept::Data, vec![]), &answered, (*b"1").into(), times, 1, None);
    let names: Vec<&str> = shelved.head.headers.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["cache-control", "x"]);
}

#[test]
fn no_body_takes_more_than_an_eighth_of_the_shelf() {
    assert_eq!(largest(&ShelfSpec { memory: 32 << 20, disk: 256 << 20 }), 4 << 20);
    assert_eq!(largest(&ShelfSpec { memory: 1 << 30, disk: 1 << 30 }), 16 << 20);
    assert_eq!(largest(&ShelfSpec { memory: 1 << 30, disk: 8 << 16 }), 1 << 16);
}

proptest! {
    /// Law 4, whatever headers an error comes with: it takes no good answer's place.
    #[test]
    fn no_error_is_ever_kept_as_a_good_answer(
        outcome in select(Outcome::ALL.to_vec()),
        status in 100u16..600,
        control in "[a-z=0-9, -]{0,40}",
        http in any::<bool>(),
    ) {
        let gate = if http { http_gate() } else { gate_of(GatewaySpec::default()) };
        let headers = [("cache-control", control.as_str())];
        let result = kept(&Case { status, headers: &headers, outcome, ..GOOD }, &gate);
        prop_assert!(outcome == Outcome::Data || result.as_ref().map(|(kept, _)| *kept) != Ok(Kept::Data));
        prop_assert!(outcome == Outcome::Data || http || result == Err(NotKept::NotGood));
    }
}
