//! From answers to holds and back, as a credential lives through them.

use super::*;
use crate::domain::connection::Ramp;
use crate::domain::outcome::{Outcome, Reach, WaitHint};
use crate::domain::time::{ClockTrust, Steady};

const MINUTE: Span = Span::from_secs(60);

fn at(s: u64) -> Now {
    Now { steady: Steady(s * 1000), era: 0, trust: ClockTrust::Trusted, offsets: vec![0] }
}

/// A credential with its holds, as the ledger keeps them.
#[derive(Default)]
struct Desk {
    holds: Vec<Hold>,
    row: u32,
    spent: Option<Spent>,
    waits: WaitSpec,
    brought: Option<Brought>,
}

impl Desk {
    /// An answer to a request that was sent at the same moment.
    fn hears(&mut self, s: u64, endpoint: &str, verdict: &Verdict) -> Vec<HoldChange> {
        let endpoint = Endpoint::from(endpoint);
        let in_use = [Endpoint::from("/a"), Endpoint::from("/b")];
        let now = at(s);
        let answered = Answered {
            verdict,
            endpoint: &endpoint,
            reserved_at: now.stamp(),
            row: self.row,
            usage: &[],
            holds: &self.holds,
            in_use: &in_use,
            waits: &self.waits,
            interval: MINUTE,
            spent: self.spent.as_ref(),
            brought: self.brought.unwrap_or(Brought::Something),
        };
        let changes = changes(&answered, &now);
        for change in &changes {
            self.holds.retain(|h| h.scope != *change.scope());
            if let HoldChange::Put(hold) = change {
                self.holds.push(hold.clone());
            }
        }
        changes
    }
    fn scopes(&self) -> Vec<HoldScope> {
        self.holds.iter().map(|h| h.scope.clone()).collect()
    }
}

fn verdict(outcome: Outcome) -> Verdict {
    Verdict::new(outcome, "rule")
}
fn limited(s: u64) -> Verdict {
    let wait = WaitHint { wait: Span::from_secs(s), source: "Retry-After".into(), beyond: None };
    Verdict { wait: Some(wait), ..verdict(Outcome::Limited) }
}
fn alone(endpoint: &str) -> HoldScope {
    HoldScope::Endpoint(endpoint.into())
}

#[test]
fn one_endpoint_that_is_rejected_is_not_a_dead_credential() {
    let mut desk = Desk::default();
    desk.hears(0, "/a", &verdict(Outcome::CredentialRejected));
    assert_eq!(desk.scopes(), [alone("/a")]);
    desk.hears(1, "/b", &verdict(Outcome::Data));
    assert_eq!(desk.scopes(), [alone("/a")], "another endpoint says nothing about it");
    desk.hears(1000, "/a", &verdict(Outcome::Data));
    assert!(desk.holds.is_empty());
}

#[test]
fn what_is_not_ready_until_a_stated_time_is_not_asked_before() {
    let not_ready = |s| Verdict { outcome: Outcome::NotReady, ..limited(s) };
    let mut desk = Desk::default();
    desk.hears(0, "/a", &verdict(Outcome::NotReady));
    assert!(desk.holds.is_empty(), "nothing is stated");
    for (row, s) in [0, 100, 200].into_iter().enumerate() {
        desk.hears(s, "/a", &not_ready(90));
        assert_eq!(desk.scopes(), [alone("/a")], "the others go on");
        assert_eq!(desk.holds[0].until, Steady((s + 90) * 1000), "and it does not grow: answer {row}");
    }
    desk.hears(250, "/a", &not_ready(5));
    assert_eq!(desk.holds[0].until, Steady(290 * 1000), "nor is it brought forward");
    desk.hears(300, "/a", &verdict(Outcome::Data));
    assert!(desk.holds.is_empty());
    desk.hears(400, "/a", &Verdict { reach: Some(Reach::Nobody), ..not_ready(90) });
    assert!(desk.holds.is_empty(), "a recipe knows better");
}

#[test]
fn when_every_endpoint_in_use_is_rejected_it_is_the_credential() {
    let mut desk = Desk::default();
    desk.hears(0, "/a", &verdict(Outcome::CredentialRejected));
    desk.hears(1, "/b", &verdict(Outcome::CredentialRejected));
    assert_eq!(desk.scopes(), [HoldScope::Credential]);
    assert_eq!(desk.holds[0].until.since(at(1).steady), Span::from_secs(900));
    // Until something works, each further rejection is the credential's, and waits longer.
    desk.hears(901, "/a", &verdict(Outcome::CredentialRejected));
    assert_eq!(desk.scopes(), [HoldScope::Credential]);
    assert_eq!(desk.holds[0].until.since(at(901).steady), Span::from_secs(1800));
}

#[test]
fn who_is_stopped_by_what() {
    let by = |outcome, reach| Verdict { reach, ..verdict(outcome) };
    let credential = Some(HoldScope::Credential);
    for (outcome, reach, expected) in [
        (Outcome::Limited, None, credential.clone()),
        (Outcome::Unpaid, None, credential.clone()),
        (Outcome::Gone, None, Some(alone("/a"))),
        (Outcome::CredentialRejected, None, Some(alone("/a"))),
        (Outcome::CredentialRejected, Some(Reach::Credential), credential.clone()),
        (Outcome::Limited, Some(Reach::Endpoint), Some(alone("/a"))),
        (Outcome::Limited, Some(Reach::Nobody), None),
        (Outcome::Overloaded, None, None),
        (Outcome::Unexpected, None, None),
    ] {
        let mut desk = Desk::default();
        desk.hears(0, "/a", &by(outcome, reach));
        assert_eq!(desk.scopes().first(), expected.as_ref(), "{outcome} {reach:?}");
    }
}

#[test]
fn a_short_hold_is_over_with_the_first_good_answer() {
    let mut desk = Desk::default();
    desk.hears(0, "/a", &limited(300));
    desk.hears(300, "/a", &verdict(Outcome::TimedOut));
    assert_eq!(desk.scopes(), [HoldScope::Credential], "no answer proves nothing");
    assert_eq!(desk.hears(301, "/b", &verdict(Outcome::Data)), [HoldChange::Lift(HoldScope::Credential)]);
}

/// A socket that is refused again and again knocks less and less: ten refusals without a word take hours, not seconds.
#[test]
fn a01_each_knock_at_a_closed_door_makes_the_next_one_later() {
    let (mut desk, mut now, mut knocks) = (Desk::default(), 0, Vec::new());
    for _ in 0..10 {
        desk.hears(now, "/a", &verdict(Outcome::Limited));
        let until = desk.holds[0].until.0 / 1000;
        knocks.push(until - now);
        now = until;
    }
    assert!(knocks.windows(2).all(|w| w[1] >= w[0]), "{knocks:?}");
    assert!(knocks.iter().skip(4).all(|gap| *gap >= 600), "{knocks:?}");
}

/// Where the ban is known no knock comes before its end, and whoever else holds the credential waits too, whatever they ask it for.
#[test]
fn a01_ten_refusals_without_a_word_are_a_ban_apart() {
    let ban = Span::from_secs(600);
    let mut desk = Desk { waits: WaitSpec { floor: ban, ..WaitSpec::default() }, ..Desk::default() };
    let mut now = 0;
    for knock in 0..10 {
        desk.hears(now, ["/socket", "/a"][knock % 2], &verdict(Outcome::Limited));
        assert_eq!(desk.scopes(), [HoldScope::Credential]);
        assert!(desk.holds[0].until.since(at(now).steady) >= ban, "knock {knock}: {:?}", desk.holds);
        now = desk.holds[0].until.0 / 1000;
    }
}

#[test]
fn after_a_long_hold_the_rate_grows_back_over_some_polls() {
    let mut desk = Desk::default();
    desk.hears(0, "/a", &limited(3600));
    let mut paces = Vec::new();
    let mut now = 3600;
    while !desk.holds.is_empty() {
        desk.hears(now, "/a", &verdict(Outcome::Data));
        // What else the round asked is no further step.
        desk.hears(now + 1, "/b", &verdict(Outcome::Data));
        let pace = back::slowed(&desk.holds, MINUTE);
        paces.push(pace.as_secs());
        now += pace.as_secs();
    }
    assert_eq!(paces, [240, 180, 120, 60]);
}

#[test]
fn on_the_way_back_polls_are_no_further_apart_than_the_hold_was_long() {
    let hold = Hold { ramp: Some(Ramp { since: at(900).stamp(), steps: 0 }), ..a_hold(900) };
    assert_eq!(back::slowed(std::slice::from_ref(&hold), Span::from_secs(800)), Span::from_secs(1700));
    assert_eq!(back::slowed(&[], MINUTE), MINUTE);
    assert_eq!(back::slowed(&[a_hold(900)], MINUTE), MINUTE, "only a hold that a good answer ended");
}

#[test]
fn a_second_strike_on_the_way_back_is_a_longer_hold() {
    let mut desk = Desk::default();
    desk.hears(0, "/a", &limited(3600));
    desk.hears(3600, "/a", &verdict(Outcome::Data));
    desk.hears(3900, "/a", &limited(60));
    let [hold] = desk.holds.as_slice() else { panic!("one hold") };
    assert_eq!((hold.strikes, hold.ramp, hold.until.since(at(3900).steady)), (2, None, Span::from_secs(7200)));
}

fn a_hold(s: u64) -> Hold {
    Hold {
        scope: HoldScope::Credential,
        since: at(0).stamp(),
        until: at(s).steady,
        reason: HoldReason::RateLimited,
        source: "Retry-After".into(),
        rule: "status 429".into(),
        said: None,
        strikes: 1,
        ramp: None,
    }
}

#[test]
fn the_cheapest_target_is_asked_first_and_a_rejected_credential_is_tried_elsewhere_next_time() {
    let rejected = |strikes| Hold { reason: HoldReason::CredentialRejected, strikes, ..a_hold(900) };
    let strikes = |strikes| Hold { strikes, ..a_hold(900) };
    assert_eq!(back::probe(&[5, 1, 3], &[2, 0, 1], &strikes(1)), Some(1));
    assert_eq!(back::probe(&[1, 1, 1], &[2, 0, 1], &strikes(1)), Some(2), "of equals the one that waits longest");
    assert_eq!(back::probe(&[5, 1, 3], &[2, 0, 1], &strikes(2)), Some(2), "the cheapest was refused");
    let tried: Vec<_> = (1..=4).map(|strikes| back::probe(&[5, 1, 3], &[0, 1, 2], &rejected(strikes))).collect();
    assert_eq!(tried, [Some(1), Some(2), Some(0), Some(1)]);
    assert_eq!(back::probe(&[], &[], &a_hold(900)), None);
}

#[test]
fn whoever_waits_for_a_release_comes_a_little_after_it() {
    let half = |span: Span| Span(span.0 / 2);
    assert_eq!(back::wakes(&a_hold(100), half), Steady(102_500));
    assert_eq!(back::wakes(&a_hold(1_000_000), half), Steady(1_000_030_000), "never more than a minute");
    assert_eq!(back::wakes(&a_hold(100), |_| Span::ZERO), Steady(100_000));
}

#[test]
fn a_good_answer_elsewhere_does_not_end_the_growth_of_who_is_refused() {
    let mut desk = Desk::default();
    for (row, expected) in [(0, None), (1, Some(10)), (2, Some(20)), (3, Some(40))] {
        let s = u64::from(row) * 100;
        desk.row = row;
        desk.hears(s, "/b", &limited(5));
        let own = desk.holds.iter().find(|h| h.scope == alone("/b"));
        assert_eq!(own.map(|h| h.until.since(at(s).steady).as_secs()), expected, "after {row}");
        let all = desk.holds.iter().find(|h| h.scope == HoldScope::Credential).expect("everybody waits as asked");
        assert_eq!(all.until.since(at(s).steady).as_secs(), 5, "after {row}");
        desk.hears(s + 50, "/a", &verdict(Outcome::Data));
        assert!(desk.holds.iter().all(|h| h.scope == alone("/b")), "{:?}", desk.scopes());
    }
    desk.hears(1000, "/b", &verdict(Outcome::Data));
    assert!(desk.holds.is_empty());
}

#[test]
fn refusals_in_a_row_are_counted_from_the_ledger() {
    use crate::domain::charge::{Resolution, Settlement};
    use crate::domain::ids::{Caller, ChargeId, ConnectionKey, CredentialId};
    let charge = |(sent, heard, outcome): &(u64, u64, Outcome)| Charge {
        id: ChargeId(*sent),
        credential: CredentialId([0; 16]),
        connection: ConnectionKey { organization: "o".into(), connection: "c".into() },
        target: None,
        caller: Caller::Poller,
        endpoint: "/b".into(),
        cost: 1,
        reserved_at: at(*sent).stamp(),
        deadline: at(*heard).steady,
        resolution: Some(Resolution {
            at: at(*heard).stamp(),
            settlement: Settlement::Posted,
            outcome: *outcome,
            status: None,
            rule: String::new(),
            said: None,
            cost: None,
        }),
    };
    use Outcome::{Data, Limited, TimedOut};
    let row = |charges: &[(u64, u64, Outcome)], since: Option<u64>| {
        let newest_first: Vec<Charge> = charges.iter().rev().map(charge).collect();
        in_a_row(&newest_first, Limited, at(100).stamp(), since.map(|s| at(s).stamp()))
    };
    assert_eq!(row(&[], None), 0);
    assert_eq!(row(&[(1, 2, Limited), (10, 11, TimedOut), (20, 21, Limited)], None), 2);
    assert_eq!(row(&[(1, 2, Limited), (10, 11, Data), (20, 21, Limited)], None), 1, "a good answer ends the row");
    assert_eq!(row(&[(1, 2, Limited), (10, 11, Data), (20, 21, Limited)], Some(2)), 2, "a good page does not");
    assert_eq!(row(&[(1, 2, Limited), (20, 21, Limited)], Some(21)), 1, "before the trouble it was answered");
    assert_eq!(row(&[(20, 22, Limited), (21, 23, Limited)], None), 1, "sent together they are one refusal");
    assert_eq!(row(&[(90, 101, Limited)], None), 0, "heard after this one was sent");
}

#[test]
fn nothing_left_is_waited_for_until_its_reset_and_believed_as_long_as_it_is_borne_out() {
    let (limit, source, wait) = ("day".to_owned(), "RateLimit".to_owned(), Span::from_secs(7200));
    let spent = Spent { limit, source, wait, reach: Reach::Credential, is_single: false };
    let mut desk = Desk { spent: Some(spent.clone()), ..Desk::default() };
    desk.hears(0, "/a", &verdict(Outcome::Unexpected));
    assert_eq!(desk.holds, [], "only a good answer speaks for its provider's count");
    let mut empty = Desk { spent: Some(spent.clone()), brought: Some(Brought::Nothing), ..Desk::default() };
    empty.hears(0, "/a", &verdict(Outcome::Unexpected));
    assert_eq!(empty.holds.first().map(|h| h.until), Some(Steady(7_200_000)), "or one that brought nothing");
    empty.hears(7200, "/a", &verdict(Outcome::Unexpected));
    assert_eq!(empty.holds.first().map(|h| h.until), Some(Steady(7_200_000)), "believed once");
    desk.hears(0, "/a", &verdict(Outcome::Data));
    let [hold] = &desk.holds[..] else { panic!("{:?}", desk.holds) };
    assert_eq!(
        (&hold.scope, hold.reason, hold.until),
        (&HoldScope::Credential, HoldReason::Exhausted, Steady(7_200_000))
    );
    assert_eq!(
        (hold.rule.as_str(), hold.source.as_str()),
        ("no request left of limit \"day\"", "the reset that RateLimit states")
    );
    assert_eq!(desk.hears(0, "/b", &verdict(Outcome::Data)), [], "an answer that was under way says the same");

    // Once its reset is there one request finds out; that says the same again, and so it counts something else.
    desk.hears(7200, "/a", &verdict(Outcome::Data));
    assert!(desk.holds.iter().all(|h| !h.is_in_force(Steady(7_200_001))), "{:?}", desk.holds);
    let single = Spent { is_single: true, ..spent.clone() };
    let mut desk = Desk { spent: Some(single), ..Desk::default() };
    desk.hears(0, "/a", &verdict(Outcome::Data));
    desk.hears(7200, "/a", &verdict(Outcome::Data));
    assert!(desk.holds.iter().any(|h| h.until == Steady(14_400_000)), "one at a time: {:?}", desk.holds);

    let mut desk = Desk { spent: Some(Spent { reach: Reach::Endpoint, ..spent }), ..Desk::default() };
    desk.hears(0, "/a", &verdict(Outcome::NotModified));
    assert_eq!(desk.scopes(), [alone("/a")]);
}
