//! Days and weeks by the provider's clock, told as stories: a greedy caller around every kind of reset, before every reading of the
//! clock that a provider may have.

use crate::book::{Book, CREDENTIAL};
use crate::judges::calendar::{Period, Zoned};
use crate::judges::judge_all;
use crate::liveness::{answered, limit, request};
use jiff::Timestamp;
use larder::domain::ids::{Caller, ChargeId};
use larder::domain::limit::{Kind, TimeOfDay, Weekday};
use larder::domain::time::{ClockTrust, Now, Span, Steady};
use larder::rules::budget::{Ledger, Refusal};

const HOUR: u64 = 3_600_000;

fn wall(text: &str) -> i64 {
    text.parse::<Timestamp>().expect("RFC 3339").as_millisecond()
}

/// Steady time that runs with the wall clock from its zero on.
fn at(wall: i64) -> Now {
    Now { steady: Steady(wall as u64), era: 0, trust: ClockTrust::Trusted, offsets: vec![0] }
}

/// Takes what it can get from `from` on for `hours`, one every `step`: when.
fn greedy(amount: u64, kind: Kind, from: i64, hours: u64, step: u64) -> Vec<(i64, u64)> {
    let mut ledger = Ledger::new(CREDENTIAL, vec![limit(amount, kind)]);
    let (mut now, mut taken) = (from as u64, Vec::new());
    while now < from as u64 + hours * HOUR {
        let id = ChargeId(taken.len() as u64 + 1);
        match Book::admit(&mut ledger, &at(now as i64), id, &request(Caller::Poller, 1)) {
            Ok(_) => {
                ledger.resolve(id, &answered(at(now as i64).stamp()));
                taken.push((now as i64, 1));
                now += step;
            }
            Err(Refusal::NotUntil { at, .. }) => now = at.0,
            Err(refusal) => panic!("{refusal:?}"),
        }
    }
    taken
}

#[test]
fn a_reset_that_is_left_out_or_comes_twice_lets_nobody_spend_twice() {
    let zone = || "Europe/Berlin".to_owned();
    let resets_at = TimeOfDay(150); // 02:30: left out on 2027-03-28, twice on 2027-10-31, both Sundays
    let kinds = [
        (Kind::Daily { resets_at, time_zone: zone() }, Period::Day, 7),
        (Kind::Weekly { day: Weekday::Sunday, resets_at, time_zone: zone() }, Period::Week(6), 2),
        (Kind::Monthly { day: 28, resets_at, time_zone: zone() }, Period::Month(28), 1),
        (Kind::Monthly { day: 31, resets_at, time_zone: zone() }, Period::Month(31), 1),
    ];
    for from in ["2027-03-26T12:00:00Z", "2027-10-29T12:00:00Z"] {
        for (kind, period, resets) in &kinds {
            // At once, and spread out, so that some fall into the hour in doubt.
            for (amount, step) in [(3, 1_000), (100, 600_000)] {
                let taken = greedy(amount, kind.clone(), wall(from), 8 * 24, step);
                for skew in [-2_000, 0, 2_000] {
                    for mut judge in Zoned::all(amount, "Europe/Berlin", *period, 150, skew) {
                        let verdict = judge_all(judge.as_mut(), taken.iter().copied());
                        assert_eq!(verdict, Ok(()), "{kind:?} from {from}");
                    }
                }
                assert!(taken.len() as u64 >= amount * resets, "{kind:?} from {from}: {} taken", taken.len());
            }
        }
    }
}

/// A25. The host may live thirteen hours ahead: only the zone of the limit is asked, and the boundary is one instant.
#[test]
fn a25_a_day_turns_in_the_providers_zone_and_in_no_other() {
    for (zone, turns) in [
        ("UTC", "2027-01-02T00:00:00Z"),
        ("Pacific/Tongatapu", "2027-01-01T11:00:00Z"),
        ("America/Los_Angeles", "2027-01-01T08:00:00Z"),
    ] {
        let kind = Kind::Daily { resets_at: TimeOfDay(0), time_zone: zone.to_owned() };
        let taken = greedy(2, kind, wall("2027-01-01T01:00:00Z"), 24, 1_000);
        let after: Vec<i64> = taken.iter().map(|(at, _)| at - wall(turns)).filter(|since| *since > 0).collect();
        assert_eq!(after, [2_000, 3_000], "{zone}: two after the turn, as soon as it is certain");
        assert_eq!(taken.len(), 4, "{zone}: {taken:?}");
    }
}

/// A26. One day, one new amount, however often somebody looks after midnight.
#[test]
fn a26_a_day_turns_once() {
    let kind = Kind::Daily { resets_at: TimeOfDay(0), time_zone: "UTC".to_owned() };
    let mut ledger = Ledger::new(CREDENTIAL, vec![limit(2, kind)]);
    let mut takes = |text: &str, id: u64| {
        ledger.sweep(&at(wall(text)));
        let admitted = Book::admit(&mut ledger, &at(wall(text)), ChargeId(id), &request(Caller::Poller, 1)).is_ok();
        if admitted {
            ledger.resolve(ChargeId(id), &answered(at(wall(text)).stamp()));
        }
        admitted
    };
    assert!(takes("2027-01-01T18:00:00Z", 1) && takes("2027-01-01T18:00:01Z", 2));
    assert!(!takes("2027-01-01T23:59:59Z", 3) && !takes("2027-01-02T00:00:01Z", 3));
    assert!(takes("2027-01-02T00:00:02Z", 3) && takes("2027-01-02T00:00:03Z", 4));
    for text in ["2027-01-02T00:00:04Z", "2027-01-02T12:00:00Z", "2027-01-02T18:00:02Z", "2027-01-02T23:59:59Z"] {
        assert!(!takes(text, 5), "a second reset at {text}");
    }
}

/// A spent budget that is read back from disk knows when it ends: nobody waits for a date that was never saved.
#[test]
fn a_spent_budget_knows_after_a_restart_when_it_is_free_again() {
    let utc = || "UTC".to_owned();
    let (from, day) = (wall("2027-01-01T12:00:00Z"), 24 * HOUR);
    for (kind, most) in [
        (Kind::Daily { resets_at: TimeOfDay(0), time_zone: utc() }, day),
        (Kind::Weekly { day: Weekday::Friday, resets_at: TimeOfDay(0), time_zone: utc() }, 7 * day),
        (Kind::Monthly { day: 1, resets_at: TimeOfDay(0), time_zone: utc() }, 31 * day),
        (Kind::Anchored { window: Span(day) }, day + 32_000),
        (Kind::Rolling { window: Span(day) }, day + 32_000),
    ] {
        let mut ledger = Ledger::new(CREDENTIAL, vec![limit(1, kind.clone())]);
        let spent = Book::admit(&mut ledger, &at(from), ChargeId(1), &request(Caller::Poller, 1)).expect("the first");
        let mut again = Ledger::new(CREDENTIAL, vec![limit(1, kind.clone())]);
        again.restore(&spent);
        let now = at(from + 40_000);
        match Book::admit(&mut again, &now, ChargeId(2), &request(Caller::Poller, 1)) {
            Err(Refusal::NotUntil { at, .. }) => assert!(at.since(now.steady) <= Span(most), "{kind:?}: {at:?}"),
            other => panic!("{kind:?}: {other:?}"),
        }
    }
}
