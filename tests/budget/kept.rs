//! What a plan says can be kept up for ever is kept up by the ledger itself, and what is a little shorter is not: pollers that ask as
//! the plan says, one request after the other, answered at once, over many windows.

use crate::book::Book;
use crate::liveness::{answered, limit, request};
use larder::domain::connection::Ask;
use larder::domain::ids::{Caller, ChargeId};
use larder::domain::limit::{Kind, Limit, Scope, TimeOfDay, Weekday};
use larder::domain::time::{ClockTrust, Now, Span, Steady};
use larder::rules::budget::{Ledger, Refusal, Request};
use larder::rules::plan::{self, Demand, Load, Plan, Question, plan};
use proptest::collection::vec;
use proptest::prelude::*;

/// 2026-09-28, a Monday: weeks before the clocks of Berlin go back, and months before a short February.
const BEGINS: i64 = 1_790_553_600_000;
/// Requests that one life may have.
const MOST: usize = 6_000;
/// Of the longest limit.
const WINDOWS: u64 = 300;

fn at(steady: u64) -> Now {
    Now { steady: Steady(steady), era: 0, trust: ClockTrust::Trusted, offsets: vec![BEGINS] }
}

/// Somebody who polls by the plan: every round is due on a fixed grid, and begins when the last one is done.
struct Poller {
    requests: Vec<Ask>,
    every: Span,
    round: u64,
    next: usize,
    /// Not to be tried before.
    wakes: u64,
    waits_since: u64,
    /// Lag of each finished round behind its due time.
    lags: Vec<u64>,
}

impl Poller {
    fn of(load: &Load, every: Span) -> Poller {
        let asks = |d: &Demand| {
            let ask = Ask { caller: Caller::Poller, endpoint: d.endpoint.clone(), cost: d.cost, organization: None };
            std::iter::repeat_n(ask, d.requests as usize)
        };
        let requests = load.demands.iter().flat_map(asks).collect();
        Poller { requests, every, round: 0, next: 0, wakes: 0, waits_since: 0, lags: Vec::new() }
    }

    fn sent(&mut self, now: u64) {
        self.next += 1;
        if self.next == self.requests.len() {
            self.lags.push(now - self.round * self.every.0);
            (self.next, self.round) = (0, self.round + 1);
        }
        self.wakes = now.max(if self.next == 0 { self.round * self.every.0 } else { 0 });
        self.waits_since = self.wakes;
    }
}

/// Lives until `end`, or for so many requests; the lags of the first poller.
fn live(limits: &[Limit], pollers: &mut [Poller], end: u64, most: usize) -> Vec<u64> {
    let mut ledger = Ledger::open(limits);
    let mut sent = 0;
    // Who waits longest asks first.
    while let Some(one) = pollers.iter_mut().min_by_key(|p| (p.wakes, p.waits_since)) {
        let now = one.wakes;
        if now >= end || sent >= most {
            break;
        }
        let Some(ask) = one.requests.get(one.next).cloned() else { break };
        let wish = Request { ask, ..request(Caller::Poller, 1) };
        sent += 1;
        match Book::admit(&mut ledger, &at(now), ChargeId(sent as u64), &wish) {
            Ok(_) => {
                ledger.resolve(ChargeId(sent as u64), &answered(at(now).stamp()));
                one.sent(now);
            }
            Err(Refusal::NotUntil { at, .. }) => one.wakes = at.0.max(now + 1),
            Err(refusal) => panic!("{refusal:?} in {limits:?}"),
        }
        if sent % 64 == 0 {
            ledger.sweep(&at(now));
        }
    }
    pollers[0].lags.clone()
}

/// Nobody is ever later than this, however long it goes on: two windows and two rounds, and what clocks around a reset and coarse
/// slots make. What falls behind by a hundredth only is later than that before a life of [`WINDOWS`] ends.
fn bound(limits: &[Limit], pollers: &[Poller]) -> u64 {
    let rounds = pollers.iter().map(|p| p.every.0).max().unwrap_or(0);
    2 * (windows(limits) + rounds) + slack(limits)
}

fn windows(limits: &[Limit]) -> u64 {
    limits.iter().filter_map(|l| l.kind.nominal_window()).map(|w| w.0).max().unwrap_or(1_000)
}

fn slack(limits: &[Limit]) -> u64 {
    let slots = |l: &Limit| if l.amount > 4096 { l.kind.nominal_window().unwrap_or_default().0 / 512 } else { 0 };
    // Two seconds on both sides of a reset, twice; and an hour where a clock changes.
    8_100 + limits.iter().map(slots).max().unwrap_or(0)
}

/// Some of many lags.
struct Told<'a>(&'a [u64]);

impl std::fmt::Debug for Told<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.0.iter().step_by(self.0.len() / 20 + 1)).finish()
    }
}

fn planned(limits: &[Limit], own: &Load, beside: &[Load], others: &[Load]) -> Plan {
    let (own, beside, others) = (own.clone(), beside.to_vec(), others.to_vec());
    plan(&Question { limits, targets: own.requests(), own, beside, others, ..Question::default() })
}

fn asks(endpoint: &str, cost: u32, requests: u64) -> Demand {
    Demand { endpoint: endpoint.into(), cost, requests }
}

fn load(demands: Vec<Demand>) -> Load {
    Load { demands, every: Span::ZERO }
}

fn kinds() -> impl Strategy<Value = Kind> {
    let window = prop_oneof![Just(1_000u64), Just(60_000), Just(300_000), 5_000u64..100_000].prop_map(Span);
    let zone = prop_oneof![Just("UTC"), Just("Asia/Kolkata")];
    prop_oneof![
        3 => window.clone().prop_map(|window| Kind::Rolling { window }),
        2 => window.clone().prop_map(|window| Kind::Fixed { window }),
        2 => window.clone().prop_map(|window| Kind::Anchored { window }),
        2 => window.prop_map(|window| Kind::Pace { window }),
        2 => zone.clone().prop_map(|z| Kind::Daily { resets_at: TimeOfDay(90), time_zone: z.to_owned() }),
        1 => zone.clone().prop_map(|z| Kind::Weekly { day: Weekday::Friday, resets_at: TimeOfDay(0), time_zone: z.to_owned() }),
        1 => zone.prop_map(|z| Kind::Monthly { day: 31, resets_at: TimeOfDay(0), time_zone: z.to_owned() }),
        1 => Just(Kind::Concurrent),
    ]
}

fn a_limit() -> impl Strategy<Value = Limit> {
    (kinds(), 1u64..25, 0u64..4, any::<bool>()).prop_map(|(kind, amount, kept, by_endpoint)| {
        let mut limit = limit(amount + kept, kind);
        if kept > 0 {
            limit.keep.insert(Caller::Refresh, kept);
        }
        limit.scope = if by_endpoint { Scope::Endpoint } else { Scope::Credential };
        limit
    })
}

fn a_round(most_cost: u32) -> impl Strategy<Value = Load> {
    let demand = (prop_oneof![Just("/a"), Just("/b")], 1..=most_cost, 1u64..9);
    vec(demand, 1..4).prop_map(|demands| load(demands.into_iter().map(|(e, c, n)| asks(e, c, n)).collect()))
}

proptest! {
    // Each of them is a long life.
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: ProptestConfig::default().cases / 4, ..ProptestConfig::default() })]

    #[test]
    fn the_shortest_interval_of_a_plan_is_kept_for_ever(limits in vec(a_limit(), 1..=2), own in a_round(4)) {
        let plan = planned(&limits, &own, &[], &[]);
        let Some(shortest) = plan.shortest_interval else { return Ok(()) };
        let mut pollers = [Poller::of(&own, shortest)];
        let bound = bound(&limits, &pollers);
        let lags = live(&limits, &mut pollers, WINDOWS * windows(&limits), MOST);
        prop_assert!(lags.iter().all(|lag| *lag <= bound), "every {shortest:?}: {:?}", Told(&lags));
    }

    #[test]
    fn who_spends_together_keeps_his_plan_beside_the_others(
        limits in vec(a_limit(), 1..=1), own in a_round(2), other in a_round(2), wish_ms in 1_000u64..400_000, lives_ms in 1_000u64..400_000,
    ) {
        let other = Load { every: Span(wish_ms), ..other };
        let token = plan::renewals("/token".into(), Span(lives_ms), Span::ZERO);
        let (mine, theirs) = (planned(&limits, &own, std::slice::from_ref(&token), std::slice::from_ref(&other)),
            planned(&limits, &other, &[], &[own.clone(), token.clone()]));
        let (Some(shortest), Some(_)) = (mine.shortest_interval, theirs.shortest_interval) else { return Ok(()) };
        let every = |load: &Load| load.every.max(shortest);
        let mut pollers = [Poller::of(&own, shortest), Poller::of(&other, theirs.kept.interval), Poller::of(&token, every(&token))];
        let bound = bound(&limits, &pollers);
        let lags = live(&limits, &mut pollers, WINDOWS * windows(&limits), MOST);
        prop_assert!(lags.iter().all(|lag| *lag <= bound), "every {shortest:?}, the others {:?}: {:?}", theirs.kept.interval, Told(&lags));
    }

    /// Of requests that cost the same nothing is left over that a shorter interval could use.
    #[test]
    fn a_little_shorter_is_not_kept(kind in kinds().prop_filter("days of 24 hours", |kind| !format!("{kind:?}").contains("Kolkata")), amount in 1u64..25, cost in 1u32..4, requests in 1u64..9) {
        let limits = [limit(amount, kind)];
        let own = load(vec![asks("/a", cost, requests)]);
        let plan = planned(&limits, &own, &[], &[]);
        let Some(shortest) = plan.shortest_interval.filter(|s| *s > plan::SHORTEST) else { return Ok(()) };
        let sooner = Span(shortest.0 - shortest.0 / 50 - 1);
        let end = WINDOWS * windows(&limits);
        let lags = live(&limits, &mut [Poller::of(&own, sooner)], end, MOST);
        // A fiftieth of all that time, but for where in its window it began.
        let latest = lags.iter().copied().max().unwrap_or(0) + windows(&limits) + sooner.0;
        // Months are shorter than 31 days now and then: what is short by a fiftieth may be made up for in February alone.
        let is_months = matches!(limits[0].kind, Kind::Monthly { .. });
        let lived = lags.len() as u64 * sooner.0;
        prop_assert!(is_months || latest > lived / 60, "every {sooner:?} in {shortest:?}: {:?}", Told(&lags));
    }
}

#[test]
fn ten_thousand_a_day_are_kept_at_8_64_seconds_each_but_for_the_last_slot_of_a_day() {
    let daily = [limit(10_000, Kind::Daily { resets_at: TimeOfDay(0), time_zone: "UTC".to_owned() })];
    let own = load(vec![asks("/tasks", 1, 34)]);
    let shortest = planned(&daily, &own, &[], &[]).shortest_interval.expect("one");
    assert_eq!(shortest, Span(293_760));
    let lags = live(&daily, &mut [Poller::of(&own, shortest)], 3 * 86_400_000, usize::MAX);
    assert!(lags.iter().all(|lag| *lag < 100_000), "{:?}", lags.iter().max());
    assert_eq!(lags.len(), 882, "three days of rounds");
}
