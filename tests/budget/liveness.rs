//! Careful is not enough: a greedy caller gets what the rule allows. And a hold holds everybody, to its moment.

use crate::book::{Book, CREDENTIAL};
use larder::domain::charge::{Resolution, Settlement};
use larder::domain::connection::{Ask, Hold, HoldChange, HoldReason, HoldScope};
use larder::domain::ids::{Caller, ChargeId, ConnectionKey, ConnectionName, Organization};
use larder::domain::limit::{Kind, Limit, Scope, TimeOfDay, Weekday};
use larder::domain::outcome::Outcome;
use larder::domain::time::{ClockTrust, Now, Span, Stamp, Steady, Wall};
use larder::rules::budget::{Ledger, Refusal, Request};
use std::collections::BTreeMap;

const DAY: u64 = 86_400_000;

pub fn limit(amount: u64, kind: Kind) -> Limit {
    let (keep, cap) = (BTreeMap::new(), BTreeMap::new());
    Limit { name: "rule".to_owned(), amount, kind, scope: Scope::Credential, keep, reach: Default::default(), cap }
}

/// 2027-06-01T00:00:00Z at steady zero.
fn at(steady: u64) -> Now {
    let offsets = vec![1_811_808_000_000];
    Now { steady: Steady(steady), era: 0, trust: ClockTrust::Trusted, offsets }
}

pub fn request(caller: Caller, cost: u32) -> Request {
    Request {
        connection: ConnectionKey {
            organization: Organization::default(),
            connection: ConnectionName("greedy".to_owned()),
        },
        target: None,
        ask: Ask { caller, endpoint: "/a".into(), cost, organization: None },
        send_grace: Span::from_secs(2),
        request_timeout: Span::from_secs(30),
    }
}

pub fn answered(at: Stamp) -> Resolution {
    let (settlement, outcome) = (Settlement::Posted, Outcome::Data);
    Resolution { at, settlement, outcome, status: Some(200), rule: String::new(), said: None, cost: None }
}

/// Asks without pause for `until`, answered after `latency`. Units that it got.
fn greedy(limits: Vec<Limit>, cost: u32, latency: Span, until: u64) -> u64 {
    let mut ledger = Ledger::new(CREDENTIAL, limits);
    let (mut now, mut units, mut id) = (0u64, 0u64, 0u64);
    while now < until {
        id += 1;
        match Book::admit(&mut ledger, &at(now), ChargeId(id), &request(Caller::Poller, cost)) {
            Ok(_) => {
                units += u64::from(cost);
                now += latency.0;
                ledger.resolve(ChargeId(id), &answered(at(now).stamp()));
                ledger.sweep(&at(now));
            }
            Err(Refusal::NotUntil { at, .. }) => now = at.0,
            Err(refusal) => panic!("{refusal:?}"),
        }
    }
    units
}

#[test]
fn a_greedy_caller_without_latency_gets_the_whole_amount_of_every_window() {
    let window = Span::from_secs(300);
    let rolling = limit(5, Kind::Rolling { window });
    assert_eq!(greedy(vec![rolling], 1, Span::ZERO, 20 * window.0), 5 * 20);
    let fixed = limit(5, Kind::Fixed { window });
    assert_eq!(greedy(vec![fixed], 1, Span::ZERO, 20 * window.0), 5 * 20);
    let pace = limit(7, Kind::Pace { window: Span(7_000) });
    assert_eq!(greedy(vec![pace], 1, Span::ZERO, 7_000 * 20), 7 * 20);
    let daily = limit(9, Kind::Daily { resets_at: TimeOfDay(0), time_zone: "America/New_York".to_owned() });
    assert!(greedy(vec![daily], 1, Span::ZERO, 20 * DAY) >= 9 * 20);
    let weekly =
        Kind::Weekly { day: Weekday::Friday, resets_at: TimeOfDay(17 * 60), time_zone: "America/New_York".to_owned() };
    assert!(greedy(vec![limit(9, weekly)], 1, Span::ZERO, 70 * DAY) >= 9 * 10);
    let anchored = limit(5, Kind::Anchored { window });
    assert_eq!(greedy(vec![anchored], 1, Span::ZERO, 20 * window.0), 5 * 20);
    let monthly = limit(9, Kind::Monthly { day: 5, resets_at: TimeOfDay(60), time_zone: "Asia/Kolkata".to_owned() });
    assert!(greedy(vec![monthly], 1, Span::ZERO, 365 * DAY) >= 9 * 12);
}

#[test]
fn weight_costs_a_pace_no_more_than_a_sliding_count_demands() {
    let minute = || limit(10, Kind::Pace { window: Span::from_secs(60) });
    assert_eq!(greedy(vec![minute()], 1, Span::ZERO, 60_000 * 20), 10 * 20, "one by one nothing is lost");
    assert_eq!(greedy(vec![minute()], 5, Span::ZERO, 60_000 * 20), 10 * 20);
    assert_eq!(greedy(vec![minute()], 3, Span::ZERO, 60_000 * 20), 9 * 20, "a fourth would be the twelfth unit");
}

#[test]
fn latency_costs_a_rolling_window_no_more_than_itself() {
    let window = Span::from_secs(10);
    let got = greedy(vec![limit(1, Kind::Rolling { window })], 1, Span(500), 105 * 1000);
    assert_eq!(got, 10, "one per window and latency");
}

#[test]
fn coarser_slots_of_a_large_amount_cost_little() {
    let month = limit(1_000_000, Kind::Rolling { window: Span(30 * DAY) });
    assert!(greedy(vec![month], 50_000, Span::ZERO, 300 * DAY) >= 9_500_000);
    let day = limit(100_000, Kind::Rolling { window: Span(DAY) });
    assert!(greedy(vec![day], 1_000, Span(100), 20 * DAY) >= 1_900_000);
}

#[test]
fn as_many_are_in_flight_as_may_be_and_the_next_waits_for_the_first_to_land() {
    let mut ledger = Ledger::new(CREDENTIAL, vec![limit(3, Kind::Concurrent)]);
    for id in 1..=3 {
        Book::admit(&mut ledger, &at(id), ChargeId(id), &request(Caller::Poller, 1)).expect("there is room");
    }
    let refusal = Book::admit(&mut ledger, &at(4), ChargeId(4), &request(Caller::Poller, 1));
    let deadline = Steady(1 + 2_000 + 30_000);
    assert_eq!(refusal.err(), Some(Refusal::NotUntil { at: deadline, limit: "rule".to_owned() }));
    ledger.resolve(ChargeId(2), &answered(at(5).stamp()));
    Book::admit(&mut ledger, &at(5), ChargeId(4), &request(Caller::Poller, 1)).expect("one has landed");
}

#[test]
fn what_the_provider_never_saw_is_free_at_once() {
    let mut ledger = Ledger::new(CREDENTIAL, vec![limit(1, Kind::Rolling { window: Span::from_secs(300) })]);
    Book::admit(&mut ledger, &at(0), ChargeId(1), &request(Caller::Poller, 1)).expect("the first");
    assert!(Book::admit(&mut ledger, &at(10), ChargeId(2), &request(Caller::Poller, 1)).is_err());
    let voided =
        Resolution { settlement: Settlement::Voided, outcome: Outcome::Unreachable, ..answered(at(10).stamp()) };
    ledger.resolve(ChargeId(1), &voided);
    Book::admit(&mut ledger, &at(10), ChargeId(2), &request(Caller::Poller, 1)).expect("given back");
}

#[test]
fn the_fifth_request_is_the_refreshs() {
    let mut rule = limit(5, Kind::Rolling { window: Span::from_secs(300) });
    rule.keep.insert(Caller::Refresh, 1);
    let mut ledger = Ledger::new(CREDENTIAL, vec![rule]);
    for id in 1..=4 {
        Book::admit(&mut ledger, &at(0), ChargeId(id), &request(Caller::Poller, 1)).expect("four are the poller's");
    }
    assert!(Book::admit(&mut ledger, &at(0), ChargeId(5), &request(Caller::Poller, 1)).is_err());
    Book::admit(&mut ledger, &at(0), ChargeId(5), &request(Caller::Refresh, 1)).expect("the fifth");
    assert!(Book::admit(&mut ledger, &at(0), ChargeId(6), &request(Caller::Refresh, 1)).is_err());
}

/// What is kept is kept from everybody else: a burst of commands is no poller, and finds it closed all the same.
#[test]
fn kept_units_are_safe_from_a_burst_of_commands() {
    for kind in [Kind::Rolling { window: Span(DAY) }, Kind::Anchored { window: Span(DAY) }] {
        let mut rule = limit(10, kind);
        rule.keep.insert(Caller::Refresh, 3);
        let mut ledger = Ledger::new(CREDENTIAL, vec![rule]);
        let others = [Caller::Command, Caller::Gateway, Caller::Trigger, Caller::Probe];
        let got = (0..40).filter(|id| {
            let caller = others[*id as usize % others.len()];
            Book::admit(&mut ledger, &at(*id), ChargeId(*id + 1), &request(caller, 1)).is_ok()
        });
        assert_eq!(got.count(), 7);
        for id in 50..53 {
            Book::admit(&mut ledger, &at(id), ChargeId(id), &request(Caller::Refresh, 1)).expect("kept for it");
        }
    }
}

#[test]
fn a_hold_holds_every_caller_until_its_moment_and_not_longer() {
    let mut ledger = Ledger::new(CREDENTIAL, vec![limit(5, Kind::Rolling { window: Span::from_secs(300) })]);
    let hold = Hold {
        scope: HoldScope::Credential,
        since: Stamp { steady: Steady(0), wall: Wall(0), era: 0 },
        until: Steady(10_000),
        reason: HoldReason::RateLimited,
        source: "Retry-After".to_owned(),
        rule: "status 429".to_owned(),
        said: None,
        strikes: 1,
        ramp: None,
    };
    ledger.change_hold(HoldChange::Put(hold.clone()));
    for caller in Caller::ALL {
        let ask = request(caller, 1).ask;
        assert_eq!(ledger.would_admit(&at(9_999), &ask), Err(Refusal::Held(Box::new(hold.clone()))), "{caller}");
        assert_eq!(ledger.would_admit(&at(10_000), &ask), Ok(()), "{caller}");
    }
    ledger.change_hold(HoldChange::Lift(HoldScope::Credential));
    assert_eq!(ledger.would_admit(&at(1), &request(Caller::Poller, 1).ask), Ok(()));
}
