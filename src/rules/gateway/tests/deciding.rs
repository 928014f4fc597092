//! RFC 9111 sections 4.2.4 and 5.2.1: what the shelf says to a request.

use super::*;
use proptest::prelude::*;

fn wishes(cache_control: &str) -> Wishes {
    Wishes::of(&pairs(&[("cache-control", cache_control)]))
}

/// In seconds after the arrival of an answer with that `Cache-Control`.
fn http(asked: &str, said: &str, seconds: u64) -> Decision {
    let (gate, answer) = (http_gate(), head(&[("cache-control", said)]));
    decide(&wishes(asked), Some(&answer), false, &gate.policy(&location("/tasks")), false, &at(seconds))
}

fn memo(asked: &str, seconds: u64) -> Decision {
    let (gate, answer) = (gate_of(GatewaySpec::default()), head(&[("cache-control", "no-cache")]));
    decide(&wishes(asked), Some(&answer), false, &gate.policy(&location("/tasks")), false, &at(seconds))
}

const fn ask(why: Forward, fallback: Fallback) -> Decision {
    Decision::Ask { why, fallback }
}

fn is_hit(decision: Decision) -> bool {
    matches!(decision, Decision::Hit(_))
}

#[test]
fn fresh_is_served_and_stale_is_asked_for_with_the_old_answer_in_hand() {
    assert!(is_hit(http("", "max-age=60", 59)));
    assert_eq!(http("", "max-age=60", 60), ask(Forward::Stale, Fallback::Stale));
    assert!(is_hit(memo("", 4)));
    assert_eq!(memo("", 5), ask(Forward::Stale, Fallback::Stale));
}

#[test]
fn what_is_no_good_answer_stands_only_while_the_provider_says_so() {
    let declared =
        Head { kept: Kept::Declared, status: 404, as_of: at(9).stamp(), ..head(&[("cache-control", "max-age=60")]) };
    let good = head(&[]);
    let chosen = |gate: &Gate, seconds| {
        let (policy, now) = (gate.policy(&location("/tasks")), at(seconds));
        let stands = |head: &Head| stands(head, &policy, &Happened::default(), &now);
        select([&good, &declared], Reading::Get, &[], stands).unwrap().kept
    };
    assert_eq!(chosen(&http_gate(), 59), Kept::Declared);
    assert_eq!(chosen(&http_gate(), 69), Kept::Data, "the last good answer comes back");
    assert_eq!(chosen(&gate_of(GatewaySpec::default()), 10), Kept::Data, "the connection's word is the memo");
    let (gate, now) = (http_gate(), at(20));
    let of = |asked: &str| decide(&wishes(asked), Some(&declared), false, &gate.policy(&location("/a")), false, &now);
    assert!(is_hit(of("")));
    assert_eq!(of("no-cache"), ask(Forward::Request, Fallback::Nothing), "it is never served instead of another");
}

#[test]
fn without_an_answer_the_provider_is_asked() {
    let gate = http_gate();
    let none = |asked, elsewhere| decide(&wishes(asked), None, elsewhere, &gate.policy(&location("/a")), false, &at(0));
    assert_eq!(none("", false), ask(Forward::UriMiss, Fallback::Nothing));
    assert_eq!(none("", true), ask(Forward::VaryMiss, Fallback::Nothing));
    assert_eq!(none("only-if-cached", false), Decision::Unanswerable);
}

#[test]
fn a_provider_can_forbid_that_its_answer_is_served_stale() {
    for said in ["max-age=60, must-revalidate", "max-age=60, proxy-revalidate", "s-maxage=60"] {
        assert_eq!(http("", said, 70), ask(Forward::Stale, Fallback::Nothing), "{said}");
        assert_eq!(http("max-stale", said, 70), ask(Forward::Stale, Fallback::Nothing), "{said}");
        assert!(is_hit(http("", said, 50)), "{said}");
    }
    assert_eq!(http("", "max-age=60, no-cache", 0), ask(Forward::Stale, Fallback::Nothing), "asked each time");
    assert!(is_hit(http("", "max-age=60, no-cache=\"x\"", 0)), "but for that field, which is not kept");
}

#[test]
fn what_is_over_is_served_while_it_is_asked_for_as_long_as_the_provider_says() {
    let said = "max-age=60, stale-while-revalidate=30";
    let is_meanwhile = |asked, seconds| matches!(http(asked, said, seconds), Decision::Meanwhile(_));
    assert!(is_hit(http("", said, 59)) && is_meanwhile("", 60) && is_meanwhile("", 89));
    assert_eq!(http("", said, 90), ask(Forward::Stale, Fallback::Stale));
    for other in ["no-cache", "max-age=10", "min-fresh=1", "no-store"] {
        assert_eq!(http(other, said, 70), ask(Forward::Stale, Fallback::Stale), "{other}");
    }
    assert!(is_hit(http("only-if-cached", said, 70)), "nobody is asked");
    assert!(is_hit(http("max-stale", said, 70)), "nor for who takes it as it is");
    for stricter in ["must-revalidate", "proxy-revalidate", "s-maxage=60"] {
        let said = format!("{said}, {stricter}");
        assert_eq!(http("", &said, 70), ask(Forward::Stale, Fallback::Nothing), "{stricter}");
    }
    assert_eq!(memo("", 5), ask(Forward::Stale, Fallback::Stale), "the connection's word is the memo");
}

#[test]
fn a_client_s_max_age_bounds_the_age_and_no_cache_asks_anew() {
    assert!(is_hit(http("max-age=10", "max-age=60", 10)));
    assert_eq!(http("max-age=10", "max-age=60", 11), ask(Forward::Request, Fallback::Stale));
    assert_eq!(http("no-cache", "max-age=60", 0), ask(Forward::Request, Fallback::Stale));
    assert_eq!(memo("no-cache", 0), ask(Forward::Request, Fallback::Stale));
    assert_eq!(memo("max-age=0", 1), ask(Forward::Request, Fallback::Stale));
    assert_eq!(http("no-cache, only-if-cached", "max-age=60", 0), Decision::Unanswerable);
}

#[test]
fn min_fresh_wants_some_life_left() {
    assert!(is_hit(http("min-fresh=10", "max-age=60", 50)));
    assert_eq!(http("min-fresh=10", "max-age=60", 51), ask(Forward::Request, Fallback::Stale));
}

#[test]
fn max_stale_takes_what_is_over_at_once() {
    let Decision::Hit(life) = http("max-stale=10", "max-age=60", 70) else { panic!("no hit") };
    assert_eq!((life.is_fresh(), life.ttl_s()), (false, -10));
    assert_eq!(http("max-stale=10", "max-age=60", 71), ask(Forward::Stale, Fallback::Stale));
    assert!(is_hit(http("max-stale", "max-age=60", 100_000)), "however old");
    assert_eq!(http("max-stale, max-age=30", "max-age=60", 70), ask(Forward::Stale, Fallback::Stale));
}

#[test]
fn only_if_cached_asks_nobody() {
    assert!(is_hit(http("only-if-cached", "max-age=60", 59)));
    assert_eq!(http("only-if-cached", "max-age=60", 60), Decision::Unanswerable, "to the letter");
    assert!(is_hit(memo("only-if-cached", 60)), "the memo takes it as: do not spend");
    assert!(is_hit(http("only-if-cached, max-stale=9", "max-age=60", 60)));
}

#[test]
fn what_is_not_ready_stands_for_its_time_and_is_no_last_good_answer() {
    let spec = NotReadySpec { status: vec![409], lasts: Span::from_secs(600), until: vec![Until::Write] };
    let rule = PathRule { path: "/tasks".into(), not_ready: Some(spec.clone()), ..PathRule::default() };
    let gate = gate_of(GatewaySpec { rules: vec![rule], freshness: Freshness::Http, ..GatewaySpec::default() });
    let answer = Head { kept: Kept::NotReady, status: 409, ..head(&[("cache-control", "no-store")]) };
    let policy = gate.policy(&location("/tasks"));
    let decided = |ended, seconds| decide(&Wishes::default(), Some(&answer), false, &policy, ended, &at(seconds));
    assert!(is_hit(decided(false, 599)));
    assert_eq!(decided(false, 600), ask(Forward::Stale, Fallback::Nothing));
    assert_eq!(decided(true, 1), ask(Forward::Stale, Fallback::Nothing), "something happened");
}

proptest! {
    /// No wish of a client makes the gateway serve what the provider forbids, and who wants nobody asked makes nobody ask.
    #[test]
    fn wishes_spend_nothing_that_they_forbid(
        asked in "((max-age=[0-9]{1,2}|max-stale(=[0-9]{1,2})?|min-fresh=[0-9]{1,2}|no-cache|only-if-cached),){0,4}",
        said in "((max-age=[0-9]{1,2}|s-maxage=[0-9]{1,2}|must-revalidate|no-cache|public),){0,4}",
        seconds in 0u64..120,
        memo in any::<bool>(),
    ) {
        let gate = if memo { gate_of(GatewaySpec::default()) } else { http_gate() };
        let answer = head(&[("cache-control", &said)]);
        let policy = gate.policy(&location("/tasks"));
        let decision = decide(&wishes(&asked), Some(&answer), false, &policy, false, &at(seconds));
        if wishes(&asked).only_if_cached {
            let asks = matches!(decision, Decision::Ask { .. });
            prop_assert!(!asks);
        }
        if wishes(&asked).no_cache {
            prop_assert!(!is_hit(decision));
        }
        if let Decision::Hit(life) = decision
            && !life.is_fresh()
        {
            prop_assert!(wishes(&asked).max_stale.is_some() || memo && wishes(&asked).only_if_cached);
            prop_assert!(memo || !said.contains("must-revalidate") && !said.contains("s-maxage"));
        }
        if !memo && said.split(',').any(|d| d == "no-cache") {
            prop_assert!(!is_hit(decision));
        }
    }
}
