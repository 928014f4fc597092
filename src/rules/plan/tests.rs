//! The figures of CASES F and I1, and where plans are easily wrong: what is not divisible, what is kept, what others take.

use super::choice::{Way, choose, pages};
use super::*;
use crate::domain::ids::Caller;
use crate::domain::limit::{Kind, Scope, TimeOfDay};
use std::collections::BTreeMap;

fn limit(amount: u64, kind: Kind) -> Limit {
    Limit {
        name: kind.word().into(),
        amount,
        kind,
        scope: Scope::Credential,
        keep: BTreeMap::new(),
        cap: BTreeMap::new(),
        reach: BTreeMap::new(),
    }
}

fn daily(amount: u64) -> Limit {
    limit(amount, Kind::Daily { resets_at: TimeOfDay(0), time_zone: "UTC".into() })
}

fn rolling(amount: u64, window_s: u64) -> Limit {
    limit(amount, Kind::Rolling { window: Span::from_secs(window_s) })
}

fn asks(endpoint: &str, cost: u32, requests: u64) -> Demand {
    Demand { endpoint: endpoint.into(), cost, requests }
}

/// `interval_s = 0`: auto.
fn load(demands: Vec<Demand>, interval_s: u64) -> Load {
    Load { demands, every: Span::from_secs(interval_s) }
}

fn alone(limits: &[Limit], own: Load) -> Plan {
    let targets = own.requests();
    plan(&Question { limits, own, targets, ..Question::default() })
}

fn work_orders(n: u64, interval_s: u64) -> Plan {
    alone(&[daily(10_000)], load(vec![asks("/tasks", 1, n)], interval_s))
}

fn shortest_ms(limits: &[Limit], demands: Vec<Demand>) -> Option<u64> {
    alone(limits, load(demands, 0)).shortest_interval.map(Span::as_millis)
}

#[test]
fn ten_thousand_a_day_is_one_in_8_64_seconds() {
    for (interval_s, ceiling) in [(60, 6), (120, 13), (300, 34), (600, 69), (5, 0)] {
        for n in [1, 34, 1000] {
            assert_eq!(work_orders(n, interval_s).ceiling_targets, Some(ceiling), "{n} at {interval_s} s");
        }
    }
    for (n, shortest) in [(1, 8_640), (34, 293_760), (35, 302_400), (1000, 8_640_000)] {
        assert_eq!(work_orders(n, 0).shortest_interval, Some(Span(shortest)), "{n}");
    }
    let (at_34, at_35) = (work_orders(34, 300), work_orders(35, 300));
    assert_eq!((at_34.sustainable(), at_34.kept.requests_per_day, at_34.stretched()), (true, 9_792, None));
    assert_eq!(at_35.stretched(), Some((Span::from_secs(300), Span(302_400))));
    assert_eq!((at_35.wished.requests_per_day, at_35.kept.requests_per_day), (10_080, 10_000));
    assert_eq!((at_34.kept.shares[0].percent, at_35.wished.shares[0].percent), (98, 101));
}

/// F12: a thousand work orders of 200 tasks are a hundred pages of 2,000.
#[test]
fn the_curve_of_a_scan_follows_pages_and_not_work_orders() {
    let by = |n: u64, rows: u64| {
        let single = [asks("/tasks", 1, n * pages(rows, 2000))];
        let scan = [asks("/tasks", 1, pages(rows * n, 2000))];
        let choice = choose(Some(&single), &scan);
        let cheaper = if choice.way == Way::Scan { scan } else { single };
        let own = load(cheaper.to_vec(), 0);
        let plan = plan(&Question { limits: &[daily(10_000)], own, targets: n, ..Question::default() });
        (
            choice.way,
            plan.requests_per_round,
            plan.shortest_interval.map_or(0, Span::as_millis),
            plan.kept.requests_per_day,
        )
    };
    assert_eq!(by(1, 200), (Way::Single, 1, 8_640, 10_000));
    assert_eq!(by(12, 200), (Way::Scan, 2, 17_280, 10_000));
    assert_eq!(by(34, 200), (Way::Scan, 4, 34_560, 10_000));
    assert_eq!(by(1000, 200), (Way::Scan, 100, 864_000, 10_000));
    assert_eq!(by(1000, 2), (Way::Scan, 1, 8_640, 10_000), "rows count, whoever they belong to");
    assert_eq!(by(2, 1_000_000), (Way::Single, 1000, 8_640_000, 10_000), "as many pages: the narrower answers");
    let at = |interval_s| {
        let own = load(vec![asks("/tasks", 1, 100)], interval_s);
        plan(&Question { limits: &[daily(10_000)], own, targets: 1000, ..Question::default() })
    };
    // Ten work orders share a page.
    assert_eq!((at(300).ceiling_targets, at(900).ceiling_targets), (Some(340), Some(1040)));
    assert_eq!(at(900).kept.requests_per_day, 9_600);
}

#[test]
fn whichever_way_takes_fewer_units_is_chosen_and_a_target_without_a_request_of_its_own_needs_the_scan() {
    let one = |cost, requests| vec![asks("/x", cost, requests)];
    for (single, scan, way) in [
        (Some(one(1, 3)), one(1, 3), Way::Single),
        (Some(one(1, 4)), one(1, 3), Way::Scan),
        (Some(one(1, 4)), one(5, 1), Way::Single),
        (Some(one(2, 2)), one(1, 4), Way::Single),
        (None, one(1, 500), Way::Scan),
    ] {
        assert_eq!(choose(single.as_deref(), &scan).way, way, "{single:?} {scan:?}");
    }
    assert_eq!((pages(0, 2000), pages(2000, 2000), pages(2001, 2000), pages(7, 0)), (1, 1, 2, 7));
}

#[test]
fn the_fifth_request_is_left_alone() {
    let mut five = rolling(5, 300);
    five.keep.insert(Caller::Refresh, 1);
    let plan = alone(std::slice::from_ref(&five), load(vec![asks("/status", 1, 1)], 0));
    assert_eq!((plan.shortest_interval, plan.kept.requests_per_day), (Some(Span::from_secs(75)), 1152));
    // What is kept on another endpoint is not kept here.
    five.scope = Scope::Endpoint;
    five.reach.insert(Caller::Refresh, ["/other".into()].into());
    assert_eq!(shortest_ms(&[five], vec![asks("/status", 1, 1)]), Some(60_000));
}

/// A request is not divisible.
#[test]
fn of_five_units_polls_of_two_are_two_and_not_two_and_a_half() {
    for (amount, demands, shortest_s) in [
        (5, vec![asks("/a", 2, 1)], 150),
        (5, vec![asks("/a", 1, 2)], 120),
        (5, vec![asks("/a", 3, 1)], 300),
        (5, vec![asks("/a", 2, 2)], 300),
        (5, vec![asks("/a", 2, 3)], 450),
        (5, vec![asks("/a", 3, 1), asks("/b", 2, 1)], 300),
        (6, vec![asks("/a", 3, 1), asks("/b", 2, 1)], 300),
        (10, vec![asks("/a", 3, 1), asks("/b", 2, 1)], 150),
    ] {
        assert_eq!(
            shortest_ms(&[rolling(amount, 300)], demands.clone()),
            Some(shortest_s * 1000),
            "{amount} {demands:?}"
        );
    }
    assert_eq!(shortest_ms(&[rolling(5, 300)], vec![asks("/a", 6, 1)]), None, "never");
    // A pace spreads units, and counts them beside: 7 in 7 s, by threes.
    let pace = limit(7, Kind::Pace { window: Span::from_secs(7) });
    assert_eq!(shortest_ms(std::slice::from_ref(&pace), vec![asks("/a", 1, 3)]), Some(3_000));
    assert_eq!(shortest_ms(&[pace], vec![asks("/a", 3, 1)]), Some(3_500));
}

#[test]
fn the_slowest_limit_dictates_and_a_day_may_have_25_hours() {
    let berlin = limit(300, Kind::Daily { resets_at: TimeOfDay(0), time_zone: "Europe/Berlin".into() });
    let pace = limit(2, Kind::Pace { window: Span::from_secs(1) });
    let plan = alone(&[berlin, pace], load(vec![asks("/a", 1, 1)], 0));
    assert_eq!((plan.shortest_interval, plan.bound_by.as_deref()), (Some(Span::from_secs(300)), Some("daily")));
    let shares: Vec<(&str, u64)> = plan.kept.shares.iter().map(|s| (s.limit.as_str(), s.percent)).collect();
    assert_eq!(shares, [("daily", 100), ("pace", 1)]);
}

#[test]
fn large_amounts_are_counted_in_slots_that_come_free_late() {
    // 8,192 in 1,024 s, in slots of a second: a unit may count for almost one more.
    assert_eq!(shortest_ms(&[rolling(8192, 1024)], vec![asks("/a", 1, 8192)]), Some(1_024_999));
    assert_eq!(shortest_ms(&[rolling(4096, 1024)], vec![asks("/a", 1, 4096)]), Some(1_024_000));
}

#[test]
fn a_limit_that_is_kept_whole_leaves_the_poller_nothing() {
    let mut one = daily(1);
    one.keep.insert(Caller::Refresh, 1);
    let mut capped = limit(5, Kind::Concurrent);
    capped.cap.insert(Caller::Poller, 0);
    let mut kept = limit(2, Kind::Concurrent);
    kept.keep.insert(Caller::Gateway, 2);
    for limit in [one, capped, kept] {
        let plan = alone(std::slice::from_ref(&limit), load(vec![asks("/a", 1, 1)], 60));
        assert_eq!((plan.shortest_interval, plan.sustainable()), (None, false), "{limit:?}");
        assert_eq!((plan.ceiling_targets, plan.bound_by.as_deref()), (Some(0), Some(limit.kind.word())));
    }
    let five = limit(5, Kind::Concurrent);
    assert_eq!(shortest_ms(&[five], vec![asks("/a", 50, 1)]), Some(1_000), "in flight a request is one");
}

#[test]
fn endpoints_are_planned_apart() {
    let mut five = rolling(5, 300);
    five.scope = Scope::Endpoint;
    let two = vec![asks("/a", 1, 1), asks("/b", 1, 1)];
    assert_eq!(shortest_ms(std::slice::from_ref(&five), two), Some(60_000));
    // Seven pages of each, one after the other: those of /b wait behind those of /a.
    let lists = vec![asks("/a", 1, 7), asks("/b", 1, 7)];
    assert_eq!(shortest_ms(std::slice::from_ref(&five), lists), Some(840_000));
    // What others ask elsewhere is no burden.
    let elsewhere = load(vec![asks("/c", 1, 50)], 10);
    let own = load(vec![asks("/a", 1, 1)], 0);
    let plan = plan(&Question { limits: &[five], own, targets: 1, others: vec![elsewhere], ..Question::default() });
    assert_eq!(plan.shortest_interval, Some(Span::from_secs(60)));
}

/// Everybody is slowed to the same bound, but nobody below his own wish: who asks rarely leaves the rest to the others.
#[test]
fn who_spends_together_gets_what_the_others_leave() {
    let four = [rolling(4, 300)];
    let one = |interval_s| load(vec![asks("/a", 1, 1)], interval_s);
    let among = |own: Load, others: Vec<Load>| {
        plan(&Question { limits: &four, own, targets: 1, others, ..Question::default() })
    };
    assert_eq!(among(one(0), vec![one(300)]).shortest_interval, Some(Span::from_secs(100)));
    assert_eq!(among(one(0), vec![one(0)]).shortest_interval, Some(Span::from_secs(150)));
    assert_eq!(among(one(300), vec![one(75)]).stretched(), None, "who wishes little gets it");
    assert_eq!(among(one(75), vec![one(300)]).stretched(), Some((Span::from_secs(75), Span::from_secs(100))));
    let share = among(one(300), vec![one(100)]).kept.shares.remove(0);
    assert_eq!((share.available, share.percent, share.own_percent), (4, 100, 25));
    // Whose requests never fit sends nothing.
    assert_eq!(among(one(0), vec![load(vec![asks("/b", 9, 1)], 60)]).shortest_interval, Some(Span::from_secs(75)));
}

#[test]
fn renewals_of_tokens_are_planned_beside_the_polls() {
    let with = |limits: &[Limit], n, interval_s, lives_s| {
        let own = load(vec![asks("/a", 1, n)], interval_s);
        let token = renewals("https://id.example.test/token".into(), Span::from_secs(lives_s), own.every);
        plan(&Question { limits, own, targets: n, beside: vec![token], ..Question::default() })
    };
    let hourly = with(&[daily(10_000)], 1, 60, 3600);
    assert_eq!((hourly.kept.requests_per_day, hourly.requests_per_round), (1440 + 24, 1));
    // A token that lives five minutes takes one of five in five minutes.
    assert_eq!(with(&[rolling(5, 300)], 1, 0, 300).shortest_interval, Some(Span::from_secs(75)));
    assert_eq!(with(&[rolling(5, 300)], 1, 0, 150).shortest_interval, Some(Span::from_secs(100)));
    // One that is over before the next poll takes one with each.
    assert_eq!(with(&[rolling(4, 300)], 1, 0, 10).shortest_interval, Some(Span::from_secs(150)));
    assert_eq!(with(&[daily(1000)], 1, 600, 60).kept.requests_per_day, 2 * 144);
}

/// F13: a demonstration of 12 work orders every minute cannot be kept up for ever, and can for three hours.
#[test]
fn what_cannot_be_kept_for_ever_may_be_kept_for_three_hours() {
    let three_hours = Span::from_secs(3 * 3600);
    let demo = |over| {
        let own = load(vec![asks("/tasks", 1, 12)], 60);
        plan(&Question { limits: &[daily(10_000)], own, targets: 12, over, ..Question::default() })
    };
    assert_eq!(demo(None).stretched(), Some((Span::from_secs(60), Span(103_680))));
    let bounded = demo(Some(three_hours));
    assert_eq!((bounded.stretched(), bounded.requests_in(three_hours)), (None, 2_160));
    let too_long = demo(Some(Span::from_secs(20 * 3600)));
    assert!(!too_long.sustainable() && too_long.kept.interval < Span(103_680), "{too_long:?}");
}

/// The limit that is used most speaks, and of a limit by endpoint its busiest endpoint.
#[test]
fn what_several_take_together_is_a_share_of_what_pollers_may_have() {
    let ask = |endpoint: &str, units: u64, seconds| load(vec![asks(endpoint, 1, units)], seconds);
    let mut five = rolling(5, 300);
    five.keep.insert(Caller::Refresh, 1);
    let by_endpoint = Limit { scope: Scope::Endpoint, ..five.clone() };
    for (pollers, together, apart) in [
        (vec![], 0, 0),
        (vec![ask("/a", 1, 75), ask("/a", 1, 75)], 200, 200),
        (vec![ask("/a", 1, 150), ask("/b", 1, 150)], 100, 50),
        (vec![ask("/a", 2, 150), ask("/b", 1, 300)], 125, 100),
    ] {
        assert_eq!(percent(std::slice::from_ref(&five), &pollers), together, "{pollers:?}");
        assert_eq!(percent(std::slice::from_ref(&by_endpoint), &pollers), apart, "{pollers:?}");
    }
}

#[test]
fn what_no_limit_bounds_is_asked_every_second_at_most() {
    let plan = alone(&[], load(vec![asks("/a", 1, 5)], 0));
    assert_eq!((plan.shortest_interval, plan.ceiling_targets, plan.bound_by), (Some(SHORTEST), None, None));
    let idle = alone(&[daily(10)], load(vec![], 60));
    assert_eq!((idle.shortest_interval, idle.kept.requests_per_day), (Some(SHORTEST), 0));
}

/// What cannot be kept at any interval asks nothing a day, and it is told from what is never let through at all.
#[test]
fn a_round_of_more_than_a_year_is_not_the_same_as_nothing_left() {
    let crowd = alone(&[daily(10_000)], load(vec![asks("/tasks", 1, 1_000_000_000)], 60));
    assert_eq!((crowd.shortest_interval, crowd.is_starved, crowd.kept.requests_per_day), (None, false, 0));
    assert!(crowd.wished.requests_per_day > 0, "the wish is still told");
    let starved = alone(&[daily(1)], load(vec![asks("/tasks", 2, 1)], 60));
    assert_eq!((starved.shortest_interval, starved.is_starved, starved.kept.units_per_day), (None, true, 0));
}
