//! The checkers of a field are checked: a record with one doctored fact, and fields with one planted mistake.

use super::lived;
use super::scene::{Act, DAY, Field, Kind, Size, TWELVE, Trouble};
use crate::laws::Verdict;
use crate::laws::field::*;
use crate::machine::Ms;
use crate::provider::Leak;
use crate::record::{End, Fact, Sent, What};
use crate::scenario::{HOUR, MINUTE};
use crate::world::Plant;
use larder::domain::ids::Caller;
use larder::domain::target::Phase;
use std::collections::BTreeSet;

/// Orders 0 to 3 are apart, 5, 7, 9 and 11 are fed by the project alone, 4 and 6 can be asked as well.
fn field() -> Field {
    let trouble = Trouble { from: 2 * DAY, until: 2 * DAY + HOUR, kind: Kind::Exhausted };
    Field { troubles: vec![trouble], acts: Vec::new(), ..Field::draw(TWELVE, 1) }
}

fn fact(at: Ms, what: What) -> Fact {
    Fact { at, what }
}

fn asks(at: Ms, request: usize, caller: Caller, target: &str) -> Fact {
    let sent = Sent {
        request,
        charge: request as u64,
        connection: "field".to_owned(),
        target: Some(target.to_owned()),
        caller,
        endpoint: "/tasks".to_owned(),
        cost: 1,
        tag: None,
        counted: Some((at + 100, at + 200)),
    };
    fact(at, What::Sent(sent))
}

fn page(at: Ms, request: usize, page: usize, last: bool, rows: &[(u16, u8, u32)]) -> Fact {
    let rows = rows.iter().map(|(order, row, level)| Line { order: *order, row: *row, level: *level }).collect();
    fact(at, What::Field(Seen::Page { request, project: 0, page, last, rows }))
}

type Shown<'a> = (u16, &'a [(u8, u32)], Ms);

fn looks(at: Ms, wished: Ms, orders: &[Shown<'_>]) -> Fact {
    let standing = |(order, rows, since): &Shown<'_>| Standing {
        order: *order,
        rows: Some(rows.iter().copied().collect::<BTreeSet<_>>()),
        age: Some((at - since) / 1000 * 1000),
    };
    let orders = orders.iter().map(standing).collect();
    fact(at, What::Field(Seen::Look(Look { wished, kept: wished, orders })))
}

fn acts(at: Ms, number: usize, act: Act) -> [Fact; 2] {
    [Seen::Asked { number, act }, Seen::Done { number, act }].map(|seen| fact(at, What::Field(seen)))
}

const BASE: Ms = 5 * MINUTE;
const OLD: &[(u8, u32)] = &[(0, 1), (1, 2)];
const NEW: &[(u8, u32)] = &[(0, 3), (1, 4)];

/// Three quarters of an hour in which every law holds: a reading of two pages each five minutes, one that is cut short by a death, one
/// order that is sent out.
fn good() -> Vec<Fact> {
    let round = |at: Ms, no: usize, level: u32| {
        [
            asks(at, no, Caller::Poller, "p0"),
            page(at + 300, no, 1, false, &[(5, 0, level), (7, 0, level)]),
            asks(at + 400, no + 1, Caller::Poller, "p0"),
            page(at + 700, no + 1, 2, true, &[(5, 1, level + 1), (7, 1, level + 1)]),
        ]
    };
    let mut record = vec![fact(0, What::Started)];
    record.extend(round(10_000, 1, 1));
    record.push(looks(60_000, BASE, &[(5, OLD, 10_300), (7, OLD, 10_300)]));
    for n in 1..6 {
        record.extend(round(10_000 + n * BASE, 1 + 2 * n as usize, 1));
    }
    let last = 10_000 + 5 * BASE;
    record.push(looks(last + MINUTE, BASE, &[(5, OLD, last + 300), (7, OLD, last + 300)]));
    record.extend(acts(last + 2 * MINUTE, 0, Act::Phase(4, Phase::Pending)));
    record.extend(acts(last + 3 * MINUTE, 1, Act::Phase(4, Phase::Active)));
    record.push(asks(last + 3 * MINUTE, 50, Caller::Trigger, "w4"));
    record.push(looks(last + 4 * MINUTE, BASE, &[(5, OLD, last + 300), (7, OLD, last + 300)]));
    let cut = last + BASE;
    record.extend(round(cut, 60, 3).into_iter().take(2));
    record.push(fact(cut + 350, What::Ended(End::Killed)));
    record.push(fact(cut + 20_000, What::Started));
    record.push(looks(cut + MINUTE, BASE, &[(5, OLD, last + 300), (7, OLD, last + 300)]));
    record.extend(round(cut + BASE, 70, 3).into_iter().skip(2));
    record.push(looks(cut + BASE + MINUTE, BASE, &[(5, NEW, cut + 300), (7, NEW, cut + 300)]));
    record
}

/// The good record with one more fact, in its place.
fn with(doctored: Fact) -> Vec<Fact> {
    let mut record = good();
    let place = record.iter().position(|f| f.at > doctored.at).unwrap_or(record.len());
    record.insert(place, doctored);
    record
}

fn law(verdict: Verdict) -> Option<&'static str> {
    verdict.err().map(|broken| broken.law)
}

const LAST: Ms = 10_000 + 5 * BASE;
const CUT: Ms = LAST + BASE;

#[test]
fn the_good_record_of_a_field_breaks_no_law() {
    assert_eq!(check_field(&field(), &good()), Ok(()));
}

#[test]
fn each_checker_of_a_field_sees_its_doctored_record() {
    let part: &[(u8, u32)] = &[(0, 3), (1, 2)];
    let first: &[(u8, u32)] = &[(0, 3)];
    let whole = "shown is one whole answer";
    let table: Vec<(&str, &str, Vec<Fact>)> = vec![
        ("half of a reading that was killed", whole, with(looks(CUT + 2 * MINUTE, BASE, &[(5, part, CUT + 300)]))),
        ("its second half removed", whole, with(looks(CUT + 2 * MINUTE, BASE, &[(5, first, CUT + 300)]))),
        ("published before its end", whole, with(looks(CUT + 2 * MINUTE, BASE, &[(5, NEW, CUT + 300)]))),
        ("called younger than its first page", whole, with(looks(LAST + MINUTE, BASE, &[(5, OLD, LAST + 9_000)]))),
        ("one order ahead of its siblings", whole, {
            let ahead = [(5, NEW, CUT + 300), (7, OLD, LAST + 300)];
            with(looks(CUT + BASE + MINUTE, BASE, &ahead))
        }),
        ("a round because of a restart", "rounds keep their interval", {
            with(asks(CUT + 20_001, 80, Caller::Poller, "p0"))
        }),
        (
            "a round sooner than the interval",
            "rounds keep their interval",
            with(asks(160_000, 80, Caller::Poller, "w0")),
        ),
        ("a round later for a trigger", "triggers leave the clock", {
            let mut record = good();
            let place = record.iter().position(|f| f.at == 10_000 + 3 * BASE).unwrap_or(0);
            record.drain(place..place + 4);
            record.splice(place..place, acts(700_000, 9, Act::Phase(6, Phase::Active)));
            record.insert(place + 2, asks(700_000, 80, Caller::Trigger, "w6"));
            record
        }),
        ("a trigger twice", "nobody asks unasked", with(asks(LAST + 3 * MINUTE + 500, 80, Caller::Trigger, "w4"))),
        ("a trigger after a restart", "nobody asks unasked", with(asks(CUT + 21_000, 80, Caller::Trigger, "w4"))),
        ("a refresh by nobody", "nobody asks unasked", with(asks(LAST + MINUTE, 80, Caller::Refresh, "w4"))),
        ("a probe by nobody", "nobody asks unasked", with(asks(LAST + MINUTE, 80, Caller::Probe, "w4"))),
        ("sent out and forgotten", "who is sent out is asked", {
            good().into_iter().filter(|f| !matches!(&f.what, What::Sent(s) if s.caller == Caller::Trigger)).collect()
        }),
        ("older than the plan says", "orders are fresh", {
            with(looks(LAST + 4 * MINUTE, BASE, &[(5, OLD, 10_300 + 3 * BASE)]))
        }),
        ("a demonstration that nobody gave", "demonstrations end", {
            with(looks(LAST + MINUTE, MINUTE, &[(5, OLD, LAST + 300), (7, OLD, LAST + 300)]))
        }),
    ];
    for (what, expected, record) in table {
        assert_eq!(law(check_field(&field(), &record)), Some(expected), "{what}: {:?}", check_field(&field(), &record));
    }
}

#[test]
fn a_demonstration_that_goes_on_or_ends_early_is_noticed() {
    let look = |at, wished| looks(at, wished, &[]);
    let mut record: Vec<Fact> = acts(HOUR, 0, Act::Show).into();
    record.extend([look(2 * HOUR, MINUTE), fact(2 * HOUR, What::Ended(End::Killed)), fact(5 * HOUR, What::Started)]);
    record.push(look(5 * HOUR, BASE));
    assert_eq!(demonstrations_end(&field(), &record), Ok(()));
    for (at, wished) in [(4 * HOUR + MINUTE, MINUTE), (3 * HOUR, BASE), (30 * MINUTE, MINUTE), (5 * HOUR, 2 * BASE)] {
        let mut doctored = record.clone();
        doctored.push(look(at, wished));
        assert_eq!(law(demonstrations_end(&field(), &doctored)), Some("demonstrations end"), "{wished} at {at}");
    }
}

#[test]
fn a_spent_day_that_is_asked_again_and_again_is_noticed() {
    let asked =
        |every: Ms| (0..60).map(|n| asks(2 * DAY + n * every, n as usize, Caller::Poller, "w0")).collect::<Vec<_>>();
    assert_eq!(a_spent_day_is_left_alone(&field(), &asked(3 * MINUTE)), Ok(()), "twenty in the hour");
    assert_eq!(law(a_spent_day_is_left_alone(&field(), &asked(30_000))), Some("a spent day is left alone"));
}

/// A short life of a small field.
const SHORT: Size = Size { lasts: 6 * HOUR, lives: 40 * MINUTE, kills: 60, ..TWELVE };

/// Lives fields with a mistake in them until one of the laws that may see it does.
fn noticed(size: Size, plant: Plant, by: &[&str]) {
    let mut others = Vec::new();
    for seed in 0..8 {
        let (field, record) = lived(size, seed, plant);
        match check_field(&field, &record) {
            Err(broken) if by.contains(&broken.law) => return,
            other => others.push(other),
        }
    }
    panic!("nobody noticed {plant:?}: {others:?}");
}

#[test]
fn a_list_whose_first_page_says_that_it_is_the_last_is_noticed() {
    noticed(SHORT, Plant { leak: Leak::EndsEarly, ..Plant::NOTHING }, &["shown is one whole answer"]);
}

#[test]
fn an_office_that_is_asked_twice_is_noticed() {
    noticed(SHORT, Plant { leak: Leak::SendsTwice, ..Plant::NOTHING }, &["never over", "every request is charged"]);
}

#[test]
fn a_field_whose_clock_runs_slow_or_fast_is_noticed() {
    let slow = ["orders are fresh", "shown is one whole answer", "triggers leave the clock"];
    noticed(SHORT, Plant { clock_rate: 700, ..Plant::NOTHING }, &slow);
    let fast = ["rounds keep their interval", "shown is one whole answer", "never over"];
    noticed(SHORT, Plant { clock_rate: 1300, ..Plant::NOTHING }, &fast);
}

#[test]
fn a_field_whose_file_is_gone_after_every_death_is_noticed() {
    let by = ["rounds keep their interval", "shown is one whole answer", "every request is charged"];
    noticed(SHORT, Plant { wipes: true, ..Plant::NOTHING }, &by);
}

/// Refusals that are told as garbage hold nobody.
#[test]
fn a_refusal_that_an_office_never_told_is_noticed() {
    let by = ["holds hold", "a spent day is left alone"];
    noticed(Size { lives: 6 * HOUR, ..SHORT }, Plant { leak: Leak::HidesRefusals, ..Plant::NOTHING }, &by);
}
