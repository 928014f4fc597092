//! The ledger told as stories, one for each kind of limit.

use super::*;
use crate::domain::charge::Settlement;
use crate::domain::connection::{HoldReason, Ramp};
use crate::domain::ids::{ConnectionKey, ConnectionName, Organization};
use crate::domain::limit::Scope;
use crate::domain::limit::{Kind, TimeOfDay};
use crate::domain::outcome::Outcome;
use crate::domain::time::Span;
use crate::domain::time::{ClockTrust, Stamp};
use crate::rules::budget::open::Held;

fn at(ms: u64) -> Now {
    Now { steady: Steady(ms), era: 0, trust: ClockTrust::Trusted, offsets: vec![0] }
}

fn limit(amount: u64, kind: Kind) -> Limit {
    Limit {
        name: kind.word().to_owned(),
        amount,
        kind,
        scope: Scope::Credential,
        keep: BTreeMap::new(),
        cap: BTreeMap::new(),
        reach: BTreeMap::new(),
    }
}

fn rolling(amount: u64, seconds: u64) -> Limit {
    limit(amount, Kind::Rolling { window: Span::from_secs(seconds) })
}

/// A ledger with a running number and verbs.
struct Desk {
    ledger: Ledger,
    next: u64,
}

impl Desk {
    fn new(limits: Vec<Limit>) -> Desk {
        Desk { ledger: Ledger::new(CredentialId([7; 16]), limits), next: 1 }
    }
    fn asks(&mut self, now: &Now, caller: Caller, endpoint: &str, cost: u32) -> Result<ChargeId, Refusal> {
        let request = Request {
            connection: ConnectionKey {
                organization: Organization::default(),
                connection: ConnectionName::from("yard"),
            },
            target: None,
            ask: Ask { caller, endpoint: Endpoint::from(endpoint), cost, organization: None },
            send_grace: Span::from_secs(5),
            request_timeout: Span::from_secs(30),
        };
        let id = ChargeId(self.next);
        let reserved = self.ledger.admit(now, id, &request)?;
        self.next += 1;
        Ok(reserved.durable().id())
    }
    fn polls(&mut self, ms: u64) -> Result<ChargeId, Refusal> {
        self.asks(&at(ms), Caller::Poller, "/a", 1)
    }
    fn settles(&mut self, id: ChargeId, ms: u64, settlement: Settlement) {
        self.settles_at_cost(id, ms, settlement, None);
    }
    fn settles_at_cost(&mut self, id: ChargeId, ms: u64, settlement: Settlement, cost: Option<u32>) {
        let resolution = Resolution {
            at: Stamp { steady: Steady(ms), ..Stamp::default() },
            settlement,
            outcome: Outcome::Data,
            status: Some(200),
            rule: String::new(),
            said: None,
            cost,
        };
        self.ledger.resolve(id, &resolution);
    }
    fn polls_and_settles(&mut self, ms: u64, arrived: u64) {
        let id = self.polls(ms).unwrap_or_else(|r| panic!("at {ms}: {r:?}"));
        self.settles(id, arrived, Settlement::Posted);
    }
}

fn not_until(r: Result<ChargeId, Refusal>) -> u64 {
    match r {
        Err(Refusal::NotUntil { at, .. }) => at.0,
        other => panic!("expected NotUntil, got {other:?}"),
    }
}

#[test]
fn a_slot_frees_a_window_after_the_answer_arrived() {
    let mut desk = Desk::new(vec![rolling(1, 10)]);
    desk.polls_and_settles(1_000, 1_700);
    assert_eq!(not_until(desk.polls(2_000)), 11_700);
    assert_eq!(not_until(desk.polls(11_699)), 11_700);
    assert!(desk.polls(11_700).is_ok());
}

#[test]
fn an_unresolved_request_counts_as_arriving_at_its_deadline_and_a_voided_one_never_counted() {
    let mut desk = Desk::new(vec![rolling(1, 10)]);
    let id = desk.polls(1_000).unwrap_or_else(|r| panic!("{r:?}"));
    assert_eq!(not_until(desk.polls(20_000)), 1_000 + 35_000 + 10_000);
    desk.settles(id, 20_001, Settlement::Voided);
    assert!(desk.polls(20_001).is_ok());
}

#[test]
fn the_fifth_request_is_the_refreshs() {
    let mut five = rolling(5, 300);
    five.keep.insert(Caller::Refresh, 1);
    let mut desk = Desk::new(vec![five]);
    for i in 0..4 {
        desk.polls_and_settles(i * 75_000, i * 75_000 + 200);
    }
    assert_eq!(not_until(desk.polls(230_000)), 300_200);
    assert!(desk.asks(&at(230_000), Caller::Refresh, "/a", 1).is_ok());
    assert!(matches!(desk.asks(&at(230_001), Caller::Refresh, "/a", 1), Err(Refusal::NotUntil { .. })));
    // The refresh has used what was kept for it; the poller gets its own unit back, not the refresh's.
    assert!(desk.polls(300_200).is_ok());
    assert_eq!(not_until(desk.polls(300_201)), 375_200);
}

#[test]
fn endpoints_are_counted_apart_where_the_limit_says_so() {
    let mut one = rolling(1, 10);
    one.scope = Scope::Endpoint;
    let mut desk = Desk::new(vec![one]);
    assert!(desk.asks(&at(0), Caller::Poller, "/a", 1).is_ok());
    assert!(desk.asks(&at(0), Caller::Poller, "/b", 1).is_ok());
    assert!(desk.asks(&at(0), Caller::Poller, "/a", 1).is_err());
    let usage = desk.ledger.usage(&at(0), &[Endpoint::from("/c")]);
    let told: Vec<_> = usage.iter().map(|u| (u.endpoint.clone().map(|e| e.0).unwrap_or_default(), u.used)).collect();
    assert_eq!(told, [("/a".to_owned(), 1), ("/b".to_owned(), 1), ("/c".to_owned(), 0)]);
}

#[test]
fn a_refusal_by_one_limit_takes_nothing_from_another() {
    let mut desk = Desk::new(vec![rolling(10, 10), rolling(1, 100)]);
    desk.polls_and_settles(0, 0);
    assert_eq!(not_until(desk.polls(1)), 100_000);
    let used: Vec<u64> = desk.ledger.usage(&at(1), &[]).iter().map(|u| u.used).collect();
    assert_eq!(used, [1, 1]);
}

#[test]
fn pace_is_one_and_then_nothing_counted_from_the_arrival() {
    let mut desk = Desk::new(vec![limit(2, Kind::Pace { window: Span::from_secs(1) })]);
    desk.polls_and_settles(0, 120);
    assert_eq!(not_until(desk.polls(200)), 620);
    desk.polls_and_settles(620, 700);
    assert_eq!(not_until(desk.polls(701)), 1_200);
}

#[test]
fn a_weighty_request_keeps_the_pace_under_a_sliding_count_too() {
    let mut desk = Desk::new(vec![limit(2, Kind::Pace { window: Span::from_secs(60) })]);
    desk.polls_and_settles(0, 0);
    // At 30 s a third unit would be inside the minute of the first.
    assert_eq!(not_until(desk.asks(&at(30_000), Caller::Poller, "/a", 2)), 60_000);
    let id = desk.asks(&at(60_000), Caller::Poller, "/a", 2).unwrap_or_else(|r| panic!("{r:?}"));
    desk.settles(id, 60_000, Settlement::Posted);
    assert_eq!(not_until(desk.polls(60_001)), 120_000);
    assert_eq!(desk.ledger.usage(&at(60_001), &[])[0].used, 2);
}

#[test]
fn an_anchored_window_is_free_as_a_whole_once_it_has_certainly_ended() {
    let kind = Kind::Anchored { window: Span::from_secs(600) };
    let mut desk = Desk::new(vec![limit(3, kind)]);
    desk.polls_and_settles(10_000, 11_000);
    desk.polls_and_settles(580_000, 581_000);
    desk.polls_and_settles(590_000, 591_000);
    assert_eq!(not_until(desk.polls(600_000)), 611_000);
    let usage = &desk.ledger.usage(&at(600_000), &[])[0];
    assert_eq!((usage.used, usage.resets_at), (3, Some(Steady(611_000))));
    for ms in [611_000, 612_000, 613_000] {
        desk.polls_and_settles(ms, ms);
    }
    assert_eq!(not_until(desk.polls(614_000)), 1_211_000);
}

#[test]
fn concurrency_counts_requests_not_cost_and_ends_with_the_deadline() {
    let mut two = limit(2, Kind::Concurrent);
    two.cap.insert(Caller::Poller, 1);
    let mut desk = Desk::new(vec![two]);
    assert!(desk.polls(0).is_ok());
    assert_eq!(not_until(desk.polls(1)), 35_000);
    let gate = desk.asks(&at(1), Caller::Gateway, "/a", 2);
    assert!(gate.is_ok());
    assert!(desk.asks(&at(2), Caller::Gateway, "/a", 1).is_err());
    assert!(desk.polls(35_000).is_ok());
}

#[test]
fn what_stays_open_is_in_flight_until_it_is_let_go_and_leaves_others_a_place() {
    let mut desk = Desk::new(vec![limit(3, Kind::Concurrent), rolling(1000, 3600)]);
    for id in [900, 901] {
        assert_eq!(desk.ledger.may_stay_open(&"/events".into(), &Organization::default()), Ok(()));
        desk.ledger.going_on().keep(ChargeId(id), held("default"));
    }
    let full = Refusal::NotUntil { at: Steady::MAX, limit: desk.ledger.limits().next().unwrap().name.clone() };
    assert_eq!(desk.ledger.may_stay_open(&"/events".into(), &Organization::default()), Err(full));
    let used: Vec<u64> = desk.ledger.usage(&at(500_000), &[]).iter().map(|usage| usage.used).collect();
    assert_eq!(used, [2, 0], "however long ago they were opened, and by no window");
    assert!(desk.polls(500_000).is_ok());
    assert_eq!(not_until(desk.polls(500_001)), 535_000, "that one's deadline");
    let mut anew = Ledger::new(CredentialId([7; 16]), vec![limit(2, Kind::Concurrent)]);
    anew.goes_on_from(&desk.ledger);
    assert!(
        anew.would_admit(
            &at(500_002),
            &Ask { caller: Caller::Poller, endpoint: "/a".into(), cost: 1, organization: None }
        )
        .is_err()
    );
    desk.ledger.going_on().let_go(ChargeId(900));
    assert!(desk.polls(500_003).is_ok());
    let one = Ledger::new(CredentialId([7; 16]), vec![limit(1, Kind::Concurrent)]);
    assert!(matches!(one.may_stay_open(&"/events".into(), &Organization::default()), Err(Refusal::NeverFits { .. })));
    assert_eq!(
        Ledger::new(CredentialId([7; 16]), vec![rolling(1, 10)])
            .may_stay_open(&"/events".into(), &Organization::default()),
        Ok(())
    );
}

#[test]
fn a_weighty_request_may_fly_where_few_may_fly_at_once() {
    let limits = vec![limit(2, Kind::Concurrent), rolling(1000, 3600)];
    let heavy = Ask { caller: Caller::Poller, endpoint: "/a".into(), cost: 300, organization: None };
    assert_eq!(Ledger::new(CredentialId([7; 16]), limits).would_admit(&at(0), &heavy), Ok(()));
}

#[test]
fn a_cost_that_can_never_fit_is_said_so() {
    let mut five = rolling(5, 300);
    five.keep.insert(Caller::Refresh, 2);
    let mut desk = Desk::new(vec![five]);
    assert!(matches!(desk.asks(&at(0), Caller::Poller, "/a", 4), Err(Refusal::NeverFits { .. })));
    assert!(desk.asks(&at(0), Caller::Refresh, "/a", 5).is_ok());
}

#[test]
fn a_daily_limit_turns_when_the_providers_day_has_certainly_turned() {
    let kind = Kind::Daily { resets_at: TimeOfDay(0), time_zone: "UTC".to_owned() };
    let day = 86_400_000;
    let mut desk = Desk::new(vec![limit(1, kind)]);
    desk.polls_and_settles(day - 10_000, day - 9_000);
    assert_eq!(not_until(desk.polls(day - 1)), day + 2_000);
    // Arrived within the skew of the boundary: the provider may have counted it on the new day.
    assert!(desk.polls(day + 2_000).is_ok());
    let mut edge = Desk::new(vec![limit(1, Kind::Daily { resets_at: TimeOfDay(0), time_zone: "UTC".to_owned() })]);
    edge.polls_and_settles(day - 1_500, day - 1_000);
    assert_eq!(not_until(edge.polls(day + 2_000)), 2 * day + 2_000);
}

#[test]
fn after_a_step_of_the_clock_a_calendar_limit_holds_under_both_clocks() {
    let kind = || Kind::Daily { resets_at: TimeOfDay(0), time_zone: "UTC".to_owned() };
    let (day, hour) = (86_400_000u64, 3_600_000i64);
    let mut desk = Desk::new(vec![limit(1, kind())]);
    desk.polls_and_settles(10_000_000, 10_000_500);
    // The clock jumps a day ahead: perhaps it was wrong before, perhaps it is wrong now.
    let stepped = Now { offsets: vec![24 * hour, 0], ..at(10_100_000) };
    assert_eq!(not_until(desk.asks(&stepped, Caller::Poller, "/a", 1)), day + 2_000);
    // And back over midnight: what the ledger had let go counts again.
    let mut back = Desk::new(vec![limit(1, kind())]);
    back.polls_and_settles(day - 5_000_000, day - 5_000_000);
    assert!(back.ledger.would_admit(&at(day + 10_000), &ask()).is_ok());
    back.ledger.sweep(&at(day + 10_000));
    let stepped = Now { offsets: vec![-hour, 0], ..at(day + 10_000) };
    assert!(back.ledger.would_admit(&stepped, &ask()).is_err());
}

fn held(organization: &str) -> Held {
    Held { caller: Caller::Gateway, endpoint: "/events".into(), organization: organization.into() }
}

#[test]
fn t_an_organization_keeps_no_more_open_than_its_share() {
    let five = Limit { kind: Kind::Concurrent, ..rolling(5, 1) };
    let mut ledger = Ledger::new(CredentialId([7; 16]), vec![five]);
    let names: [Organization; 2] = ["loud".into(), "quiet".into()];
    ledger.divide(super::super::parts::Parts::of(&names, &Default::default()));
    let may = |ledger: &Ledger, who: &Organization| ledger.may_stay_open(&"/events".into(), who).is_ok();
    for id in 0..2 {
        assert!(may(&ledger, &names[0]));
        ledger.going_on().keep(ChargeId(900 + id), held("loud"));
    }
    assert!(!may(&ledger, &names[0]), "two of five are its share, and nobody gives them back");
    assert!(may(&ledger, &names[1]));
    assert_eq!(ledger.usage(&at(0), &[])[0].parts.iter().map(|part| part.used).collect::<Vec<_>>(), [2, 0]);
}

fn ask() -> Ask {
    Ask { caller: Caller::Poller, endpoint: Endpoint::from("/a"), cost: 1, organization: None }
}

fn hold(scope: HoldScope, until: u64) -> Hold {
    Hold {
        scope,
        since: Stamp::default(),
        until: Steady(until),
        reason: HoldReason::RateLimited,
        source: "window".to_owned(),
        rule: "status 429".to_owned(),
        said: None,
        strikes: 1,
        ramp: None,
    }
}

#[test]
fn held_beats_everything_and_ends_by_itself() {
    let mut desk = Desk::new(vec![rolling(5, 10)]);
    desk.ledger.change_hold(HoldChange::Put(hold(HoldScope::Credential, 300_000)));
    assert!(matches!(desk.polls(299_999), Err(Refusal::Held(_))));
    assert!(desk.polls(300_000).is_ok());
}

#[test]
fn an_endpoint_is_held_without_the_others() {
    let mut desk = Desk::new(vec![rolling(5, 10)]);
    let there = hold(HoldScope::Endpoint(Endpoint::from("/a")), 300_000);
    desk.ledger.change_hold(HoldChange::Put(there.clone()));
    assert_eq!(desk.asks(&at(0), Caller::Refresh, "/a", 1).err(), Some(Refusal::Held(Box::new(there.clone()))));
    assert!(desk.asks(&at(0), Caller::Refresh, "/b", 1).is_ok());
    desk.ledger.change_hold(HoldChange::Lift(there.scope));
    assert!(desk.asks(&at(0), Caller::Refresh, "/a", 1).is_ok());
}

#[test]
fn after_a_hold_one_request_alone_finds_out_whoever_asks() {
    let mut desk = Desk::new(vec![rolling(50, 10)]);
    desk.ledger.change_hold(HoldChange::Put(hold(HoldScope::Credential, 300_000)));
    let probe = desk.polls(300_000).unwrap_or_else(|r| panic!("{r:?}"));
    let deadline = Steady(335_000);
    for caller in Caller::ALL {
        let refusal = desk.asks(&at(300_001), caller, "/b", 1).err();
        assert_eq!(refusal, Some(Refusal::Probing { at: deadline }), "{caller}");
    }
    // An answer that proves nothing lets the next one try, and so does one that never came.
    desk.settles(probe, 300_500, Settlement::Posted);
    assert!(desk.asks(&at(300_501), Caller::Refresh, "/b", 1).is_ok());
    assert!(desk.polls(335_500).is_err());
    assert!(desk.polls(335_501).is_ok());
    // Proven: nobody waits for anybody, on the way back too.
    let easing = Hold { ramp: Some(Ramp::default()), ..hold(HoldScope::Credential, 300_000) };
    desk.ledger.change_hold(HoldChange::Put(easing));
    assert!(desk.polls(400_000).is_ok() && desk.polls(400_000).is_ok());
}

#[test]
fn a_restart_reads_the_same_ledger_back() {
    let limits = vec![rolling(3, 10), limit(2, Kind::Concurrent)];
    let mut first = Desk::new(limits.clone());
    first.polls_and_settles(0, 500);
    let pending = first.polls(1_000).unwrap_or_else(|r| panic!("{r:?}"));
    let charge = |id, reserved: u64, resolution| Charge {
        id,
        credential: CredentialId([7; 16]),
        connection: ConnectionKey { organization: Organization::default(), connection: ConnectionName::from("yard") },
        target: None,
        caller: Caller::Poller,
        endpoint: Endpoint::from("/a"),
        cost: 1,
        reserved_at: Stamp { steady: Steady(reserved), ..Stamp::default() },
        deadline: Steady(reserved + 35_000),
        resolution,
    };
    let posted = Resolution {
        at: Stamp { steady: Steady(500), ..Stamp::default() },
        settlement: Settlement::Posted,
        outcome: Outcome::Data,
        status: None,
        rule: String::new(),
        said: None,
        cost: None,
    };
    let mut second = Ledger::new(CredentialId([7; 16]), limits);
    second.restore(&charge(ChargeId(1), 0, Some(posted)));
    second.restore(&charge(pending, 1_000, None));
    assert_eq!(second.usage(&at(2_000), &[]), first.ledger.usage(&at(2_000), &[]));
    assert_eq!(second.overdue(&at(35_999)), []);
    assert_eq!(second.overdue(&at(36_000)), [pending]);
}

#[test]
fn a_million_a_month_takes_about_a_thousand_slots_and_frees_late_rather_than_early() {
    let month = limit(1_000_000, Kind::Rolling { window: Span::from_secs(30 * 86_400) });
    let mut desk = Desk::new(vec![month]);
    for i in 0..50_000 {
        desk.polls_and_settles(i * 60_000, i * 60_000 + 100);
    }
    let counter = &desk.ledger.counters[0];
    assert!(counter.books.values().all(|b| b.counting(&counter.window, &at(50_000 * 60_000)).count() <= 1_026));
    let usage = &desk.ledger.usage(&at(50_000 * 60_000), &[])[0];
    let truth = (0..50_000u64).filter(|i| i * 60_000 + 100 + 30 * 86_400_000 > 50_000 * 60_000).count() as u64;
    assert!(usage.used >= truth && usage.used <= truth + 50, "{} against {truth}", usage.used);
}

#[test]
fn the_provider_may_say_that_a_request_cost_more_and_never_that_it_cost_less() {
    let used = |desk: &Desk| desk.ledger.usage(&at(2_000), &[])[0].used;
    for (said, counts) in
        [(None, 10), (Some(40), 40), (Some(3), 10), (Some(0), 10), (Some(u32::MAX), u64::from(u32::MAX))]
    {
        let mut desk = Desk::new(vec![rolling(100, 10)]);
        let id = desk.asks(&at(1_000), Caller::Poller, "/a", 10).unwrap_or_else(|r| panic!("{r:?}"));
        assert_eq!(used(&desk), 10, "what was declared is charged before");
        desk.settles_at_cost(id, 1_700, Settlement::Posted, said);
        assert_eq!(used(&desk), counts, "{said:?}");
        assert!(desk.polls(11_700).is_ok(), "and all of it is free a window after the answer");
    }
}

/// A unit that nobody can ever take is not kept from the others.
#[test]
fn nothing_is_kept_where_its_caller_never_goes() {
    let (status, set_zone) = (Endpoint("/status".into()), Endpoint("/setzone".into()));
    let limit = Limit {
        scope: Scope::Endpoint,
        keep: BTreeMap::from([(Caller::Refresh, 1)]),
        reach: BTreeMap::from([(Caller::Refresh, [status.clone()].into())]),
        ..rolling(5, 300)
    };
    let mut desk = Desk::new(vec![limit]);
    let usage = desk.ledger.usage(&at(0), &[status, set_zone]);
    assert_eq!(usage.iter().map(|u| u.kept).collect::<Vec<_>>(), [0, 1], "in the order of the endpoints: {usage:?}");
    for (caller, endpoint, fit) in [(Caller::Poller, "/status", 4), (Caller::Command, "/setzone", 5)] {
        let taken = (0..10).take_while(|ms| desk.asks(&at(*ms), caller, endpoint, 1).is_ok()).count();
        assert_eq!(taken, fit, "{caller:?}");
    }
}
