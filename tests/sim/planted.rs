//! Checkers are checked: records with one doctored fact, and worlds with one planted mistake. The law that is there for it must
//! break, and the same record without it must not.

use crate::laws::*;
use crate::machine::Ms;
use crate::provider::Leak;
use crate::record::{End, Fact, Meant, Sent, Shown, TargetAt, What};
use crate::scenario::{Scenario, Weather};
use crate::world::Plant;
use larder::domain::ids::Caller;

/// A world with the yard: five per five minutes, polled every 75 s, fresh for 90 s.
fn yard() -> Scenario {
    let of_yard = |s: &Scenario| {
        let spec = &s.connections[0];
        spec.key.connection.as_str() == "yard"
            && spec.poll.interval == larder::domain::spec::Interval::Every(larder::domain::time::Span(75_000))
            && spec.targets[0].fresh_for == Some(larder::domain::time::Span(90_000))
    };
    let found = (0..1000).map(Scenario::draw).find(of_yard).expect("a yard among a thousand worlds");
    Scenario { weather: Weather::CALM, ..found }
}

fn zone() -> TargetAt {
    ("yard".to_owned(), "controller".to_owned())
}

fn fact(at: Ms, what: What) -> Fact {
    Fact { at, what }
}

fn asks(at: Ms, request: usize, caller: Caller) -> Fact {
    let sent = Sent {
        request,
        charge: request as u64,
        connection: "yard".to_owned(),
        target: Some("controller".to_owned()),
        caller,
        endpoint: "/status".to_owned(),
        cost: 1,
        tag: None,
        counted: Some((at + 100, at + 200)),
    };
    fact(at, What::Sent(sent))
}

fn runs(at: Ms, request: usize, tag: &str) -> Fact {
    let sent = Sent {
        request,
        charge: request as u64,
        connection: "yard".to_owned(),
        target: None,
        caller: Caller::Command,
        endpoint: "/run".to_owned(),
        cost: 1,
        tag: Some(tag.to_owned()),
        counted: Some((at + 100, at + 200)),
    };
    fact(at, What::Sent(sent))
}

fn answers(at: Ms, request: usize, content: &str) -> Fact {
    fact(at, What::Delivered { request, meant: Meant::Good(content.to_owned()) })
}

fn refuses(at: Ms, request: usize, wait: Ms) -> Fact {
    fact(at, What::Delivered { request, meant: Meant::Refused { wait } })
}

fn shows(at: Ms, content: &str, age_s: u64, fresh: bool, generation: u64) -> Fact {
    let content = Some(content.to_owned());
    fact(
        at,
        What::Shown(Shown { target: zone(), content, age_s: Some(age_s), fresh, clock_untrusted: false, generation }),
    )
}

fn budget(at: Ms, used: u64) -> Fact {
    let (connection, limit, endpoint) = ("yard".to_owned(), "status".to_owned(), Some("/status".to_owned()));
    fact(at, What::Budget { connection, limit, endpoint, used })
}

fn history(at: Ms, entries: &[(u64, &str)]) -> Fact {
    let entries = entries.iter().map(|(seq, what)| (*seq, (*what).to_owned())).collect();
    fact(at, What::History { target: zone(), entries })
}

fn ledger(at: Ms, lines: &[(u64, &'static str)]) -> Fact {
    fact(at, What::Ledger { connection: "yard".to_owned(), lines: lines.to_vec() })
}

fn job(at: Ms, job: u64, state: Option<&'static str>) -> Fact {
    fact(at, What::Job { job, tag: "c1".to_owned(), state })
}

/// A quiet quarter of an hour in which every law holds.
fn good() -> Vec<Fact> {
    vec![
        fact(0, What::Started),
        asks(1_000, 1, Caller::Poller),
        answers(1_200, 1, "z0=1"),
        shows(10_000, "z0=1", 8, true, 1),
        budget(10_000, 1),
        history(10_000, &[(1, "z0 appeared")]),
        asks(76_000, 2, Caller::Poller),
        answers(76_200, 2, "z0=2"),
        shows(80_000, "z0=2", 3, true, 2),
        budget(80_000, 2),
        history(80_000, &[(1, "z0 appeared"), (2, "z0 changed")]),
        ledger(80_000, &[(1, "posted"), (2, "pending")]),
        fact(90_000, What::Ended(End::Killed)),
        fact(100_000, What::Started),
        shows(100_000, "z0=2", 23, true, 2),
        asks(151_000, 3, Caller::Poller),
        refuses(151_200, 3, 300_000),
        shows(200_000, "z0=2", 123, false, 2),
        fact(455_000, What::Accepted { tag: "c1".to_owned(), job: 1 }),
        runs(455_000, 4, "c1"),
        fact(455_300, What::Delivered { request: 4, meant: Meant::Nothing }),
        job(460_000, 1, Some("done")),
        asks(461_000, 5, Caller::Refresh),
        answers(461_200, 5, "z0=2"),
        shows(470_000, "z0=2", 8, true, 2),
        asks(480_000, 6, Caller::Poller),
    ]
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

#[test]
fn the_good_record_breaks_no_law() {
    assert_eq!(check(&yard(), &good()), Ok(()));
}

#[test]
fn each_checker_sees_its_doctored_record() {
    let lost =
        Shown { target: zone(), content: None, age_s: None, fresh: false, clock_untrusted: false, generation: 2 };
    let switch = |on| What::Switched { connection: "yard".to_owned(), on };
    let table: Vec<(&str, &str, Vec<Fact>)> = vec![
        ("the file was not read again", "starts again", with(fact(95_000, What::StartFailed("corrupt".to_owned())))),
        ("a task died silently", "no panic", with(fact(95_000, What::Panicked("index".to_owned())))),
        ("a charge that is gone", "every request is charged", with(ledger(95_000, &[(1, "posted")]))),
        ("two requests for one charge", "every request is charged", with(asks(100_500, 2, Caller::Poller))),
        ("a charge given back although counted", "every request is charged", {
            with(ledger(95_000, &[(1, "posted"), (2, "voided")]))
        }),
        ("a gauge that forgot a request", "shows no less", with(budget(170_000, 2))),
        ("a lockout body on the shelf", "only good answers", with(shows(170_000, "anger=999", 18, false, 3))),
        ("an older answer inside one life", "only good answers", with(shows(81_000, "z0=1", 79, true, 2))),
        ("emptiness believed at once", "only good answers", {
            let mut record = with(says_nothing(81_000));
            record.insert(record.iter().position(|f| f.at > 82_000).unwrap_or(0), shows(82_000, "", 1, true, 3));
            record
        }),
        ("an answer that was forgotten", "only good answers", with(fact(81_000, What::Shown(lost)))),
        ("too young by a second", "honest age", with(shows(170_000, "z0=2", 92, false, 2))),
        ("stale and called fresh", "honest age", with(shows(170_000, "z0=2", 93, true, 2))),
        ("a poll because of a restart", "polls keep their interval", with(asks(100_001, 9, Caller::Poller))),
        ("a poller that fell asleep", "polls go on", with(shows(1_100_000, "z0=2", 638, false, 2))),
        ("a poll of what a refresh just answered", "polls heed newer answers", {
            let mut record = with(fact(149_000, What::RefreshAsked { target: zone() }));
            let due = record.iter().position(|f| f.at == 151_000).unwrap_or(0);
            record.truncate(due);
            record.retain(|f| f.at < 90_000 || f.at > 100_000);
            record.extend([asks(150_900, 9, Caller::Refresh), answers(151_300, 9, "z0=2")]);
            record.push(asks(151_300, 10, Caller::Poller));
            record
        }),
        ("a refresh that nobody asked for", "nothing unasked", with(asks(140_500, 9, Caller::Refresh))),
        ("a request by nobody", "nothing unasked", with(asks(140_500, 9, Caller::Gateway))),
        ("a hop that nothing led to", "hops follow", with(hop(140_500, 9))),
        ("a hop that is sent twice", "hops follow", {
            let mut record = with(fact(140_300, What::Delivered { request: 2, meant: Meant::Moved }));
            let place = record.iter().position(|f| f.at > 140_600).unwrap_or(0);
            record.splice(place..place, [hop(140_500, 9), hop(140_600, 10)]);
            record
        }),
        ("sent on a full disk", "a full disk stops everything", {
            let mut record = with(fact(75_000, What::Disk { full: true }));
            record.push(fact(490_000, What::Disk { full: false }));
            record
        }),
        ("ill although it writes", "health comes back", { with(fact(481_000, What::Health { ok: false })) }),
        ("a call although refused", "holds hold", with(runs(400_000, 9, "c0"))),
        ("two at once where one should find out", "probes go alone", with(runs(455_100, 9, "c0"))),
        ("a generation that shrinks", "generations grow", with(shows(201_000, "z0=2", 124, false, 1))),
        ("one generation for two contents", "generations grow", {
            let mut record = good();
            record.retain(|f| f.at != 100_000);
            record.insert(11, shows(85_000, "z0=2", 8, true, 1));
            record.remove(8);
            record
        }),
        ("a gap in the history", "history is whole", {
            let entries = [(1, "z0 appeared"), (2, "z0 changed"), (4, "z0 changed")];
            with(history(170_000, &entries))
        }),
        ("a history that lost its end", "history is whole", with(history(170_000, &[(1, "z0 appeared")]))),
        ("a history that was rewritten", "history is whole", with(history(170_000, &[(1, "z0 was here")]))),
        ("a command carried out twice", "commands are sent once", with(runs(460_500, 9, "c1"))),
        ("a job that is gone", "commands are sent once", with(job(470_000, 1, None))),
        ("a job that changed its last word", "commands are sent once", with(job(470_000, 1, Some("unknown")))),
        ("a job done that was never sent", "commands are sent once", with(job(454_000, 1, Some("done")))),
        ("one key, two jobs", "commands are sent once", {
            with(fact(470_000, What::Accepted { tag: "c1".to_owned(), job: 2 }))
        }),
    ];
    for (what, expected, record) in table {
        assert_eq!(law(check(&yard(), &record)), Some(expected), "{what}: {:?}", check(&yard(), &record));
    }
    let mut off = with(fact(120_000, switch(false)));
    assert_eq!(law(check(&yard(), &off)), Some("switches are heeded"));
    off.insert(off.iter().position(|f| f.at > 130_000).unwrap_or(0), fact(130_000, switch(true)));
    assert_eq!(law(check(&yard(), &off)), None);
}

/// A hop by the poller.
fn hop(at: Ms, request: usize) -> Fact {
    let asked = asks(at, request, Caller::Poller);
    match asked.what {
        What::Sent(s) => fact(at, What::Sent(Sent { endpoint: "/v2/status".to_owned(), ..s })),
        what => fact(at, what),
    }
}

/// The provider says that there is nothing, in answer to the second request.
fn says_nothing(at: Ms) -> Fact {
    fact(at, What::Delivered { request: 2, meant: Meant::Hollow })
}

#[test]
fn emptiness_is_to_be_believed_where_it_was_said_twice_in_a_row_and_a_while_apart() {
    let mut record: Vec<Fact> = good().into_iter().filter(|f| f.at <= 80_000).collect();
    record.push(says_nothing(81_000));
    record.push(shows(81_500, "z0=2", 5, true, 2));
    assert_eq!(only_good_answers(&record), Ok(()), "doubted");
    record.extend([says_nothing(82_000), shows(82_500, "z0=2", 6, true, 2)]);
    assert_eq!(only_good_answers(&record), Ok(()), "asked again at once");
    let mut hasty = record.clone();
    hasty.push(shows(83_000, "", 0, true, 3));
    assert_eq!(law(only_good_answers(&hasty)), Some("only good answers"), "and not believed for that");
    record.extend([says_nothing(142_000), shows(142_500, "", 0, true, 3)]);
    assert_eq!(only_good_answers(&record), Ok(()), "believed");
    record.push(shows(143_000, "z0=2", 7, true, 2));
    assert_eq!(law(only_good_answers(&record)), Some("only good answers"), "and not forgotten");
}

#[test]
fn six_in_a_window_of_five_are_one_too_many() {
    let mut record = vec![fact(0, What::Started)];
    record.extend((0..6).map(|n| asks(n * 60_000, n as usize, Caller::Poller)));
    assert_eq!(never_over(&yard(), &record), Ok(()), "a minute apart, five fit");
    record.push(asks(359_999, 9, Caller::Poller));
    assert_eq!(law(never_over(&yard(), &record)), Some("never over"));
}

#[test]
fn a_refresh_of_a_young_answer_is_not_worth_it() {
    let mut record = good();
    record.insert(1, fact(900, What::RefreshAsked { target: zone() }));
    record.insert(4, asks(61_199, 9, Caller::Refresh));
    assert_eq!(law(refreshes_are_worth_it(&yard(), &record)), Some("refreshes are worth it"));
}

/// Lives worlds with a mistake in them until one of the laws that may see it does.
fn noticed(plant: Plant, by: &[&str]) {
    let mut others = Vec::new();
    for seed in 0..40 {
        let (_, verdict) = crate::judged(seed, plant);
        match verdict {
            Err(broken) if by.contains(&broken.law) => return,
            Err(broken) => others.push(broken.law),
            Ok(()) => {}
        }
    }
    panic!("nobody noticed {plant:?}; other laws: {others:?}");
}

#[test]
fn a_door_that_sends_everything_twice_is_noticed() {
    noticed(
        Plant { leak: Leak::SendsTwice, ..Plant::NOTHING },
        &["every request is charged", "never over", "shows no less"],
    );
}

#[test]
fn a_lockout_that_arrives_as_data_is_noticed() {
    noticed(Plant { leak: Leak::AngerAsData, ..Plant::NOTHING }, &["only good answers"]);
}

#[test]
fn a_refusal_that_is_hidden_is_noticed() {
    noticed(Plant { leak: Leak::HidesRefusals, ..Plant::NOTHING }, &["holds hold"]);
}

#[test]
fn a_clock_that_runs_slow_is_noticed() {
    noticed(Plant { clock_rate: 800, ..Plant::NOTHING }, &["honest age"]);
}

#[test]
fn a_clock_that_runs_fast_is_noticed() {
    noticed(
        Plant { clock_rate: 1300, ..Plant::NOTHING },
        &["never over", "shows no less", "polls keep their interval"],
    );
}

#[test]
fn a_file_that_is_gone_after_every_death_is_noticed() {
    let by = ["never over", "shows no less", "polls keep their interval", "history is whole", "generations grow"];
    noticed(Plant { wipes: true, ..Plant::NOTHING }, &by);
}

#[test]
fn a_disk_that_lies_is_noticed() {
    let by = ["starts again", "history is whole", "generations grow", "never over", "shows no less"];
    noticed(Plant { disk_lies: true, ..Plant::NOTHING }, &by);
}
