//! What the limits can keep up for ever: the shortest interval, requests a day, the ceiling of targets.
//!
//! CASES F: `min safe interval = requests per cycle x window / amount`, for each limit; the slowest dictates.

use super::budget::window::Window;
use super::calendar::Calendar;
use crate::domain::ids::{Caller, Endpoint};
use crate::domain::limit::{Kind, Limit, Scope};
use crate::domain::spec::TargetSpec;
use crate::domain::time::Span;
use std::collections::BTreeMap;

/// No plan polls faster than this.
pub const SHORTEST: Span = Span::from_secs(1);

const DAY_MS: u64 = 86_400_000;

#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Units of cost of one polling round.
    pub requests_per_round: u64,
    /// At the planned interval.
    pub requests_per_day: u64,
    /// The interval planned with: the given one, or the shortest.
    pub interval: Span,
    /// The shortest interval that every limit can keep up for ever, with what is kept for other callers left alone.
    /// `None`: a limit leaves the poller nothing at all.
    pub shortest_interval: Option<Span>,
    /// The limit that dictates it.
    pub bound_by: Option<String>,
    /// Targets of this kind that fit at the interval; `None` where no limit bounds them.
    pub ceiling_targets: Option<u64>,
}

impl Plan {
    pub fn sustainable(&self) -> bool {
        self.shortest_interval.is_some_and(|s| self.interval >= s)
    }
}

/// What one look at a target takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Demand {
    pub endpoint: Endpoint,
    /// Cost of a request, times the requests.
    pub units: u64,
}

impl Demand {
    /// `pages`: how many requests a reading takes; 1 where the list comes in one answer. `None`: it is not asked by itself.
    pub fn of(target: &TargetSpec, pages: u32) -> Option<Demand> {
        let pages = if target.page.is_some() { u64::from(pages.max(1)) } else { 1 };
        Some(Demand { endpoint: target.endpoint()?, units: u64::from(target.cost).saturating_mul(pages) })
    }

    /// Of targets whose pages nobody has counted yet.
    pub fn first(targets: &[TargetSpec]) -> Vec<Demand> {
        targets.iter().filter_map(|target| Demand::of(target, 1)).collect()
    }
}

/// Plans for all targets that spend from one budget at one interval; `interval = None` plans for the shortest.
pub fn plan(limits: &[Limit], demands: &[Demand], interval: Option<Span>) -> Plan {
    let costs: Vec<(Endpoint, u64)> = demands.iter().map(|d| (d.endpoint.clone(), d.units)).collect();
    let round: u64 = costs.iter().map(|(_, c)| c).sum();
    let needs: Vec<(&Limit, Option<Span>)> =
        limits.iter().filter_map(|l| Some((l, needed(l, load(l, &costs))?))).collect();
    let starved = needs.iter().find(|(_, span)| span.is_none());
    let tightest = needs.iter().filter_map(|(l, span)| Some((*l, (*span)?))).max_by_key(|(_, span)| *span);
    let shortest = match (starved, tightest) {
        (Some(_), _) => None,
        (None, Some((_, span))) => Some(span.max(SHORTEST)),
        (None, None) => Some(SHORTEST),
    };
    let interval = interval.or(shortest).unwrap_or(Span(DAY_MS));
    Plan {
        requests_per_round: round,
        requests_per_day: round.saturating_mul(DAY_MS) / interval.0.max(1),
        interval,
        shortest_interval: shortest,
        bound_by: starved.map(|(l, _)| *l).or(tightest.map(|(l, _)| l)).map(|l| l.name.clone()),
        ceiling_targets: ceiling(limits, &costs, interval),
    }
}

/// How much of what the limits give to pollers these take together, each at its own interval: percent, rounded up, of the limit
/// that is used most. A limit that leaves pollers nothing is more than used by whoever asks.
pub fn percent(limits: &[Limit], pollers: &[(Vec<Demand>, Span)]) -> u64 {
    let of = |limit: &Limit| {
        let (window, available) = supply(limit)?;
        let mut books: BTreeMap<Option<&Endpoint>, f64> = BTreeMap::new();
        for (demand, interval) in pollers.iter().flat_map(|(demands, at)| demands.iter().map(move |d| (d, at))) {
            let book = Some(&demand.endpoint).filter(|_| limit.scope == Scope::Endpoint);
            let a_window = demand.units as f64 * window.0 as f64 / interval.0.max(1) as f64;
            *books.entry(book).or_default() += a_window / available as f64;
        }
        books.into_values().reduce(f64::max)
    };
    // Floats beyond a whole percent are not rounded up to the next.
    let most = limits.iter().filter_map(of).fold(0.0, f64::max);
    (most * 100.0 - 1e-6).ceil().max(0.0) as u64
}

/// The units of a round that one book of the limit has to carry: all of them, or those of the busiest endpoint.
fn load(limit: &Limit, costs: &[(Endpoint, u64)]) -> u64 {
    match limit.scope {
        Scope::Credential => costs.iter().map(|(_, c)| c).sum(),
        Scope::Endpoint => {
            let mut by_endpoint: BTreeMap<&Endpoint, u64> = BTreeMap::new();
            costs.iter().for_each(|(e, c)| *by_endpoint.entry(e).or_default() += c);
            by_endpoint.into_values().max().unwrap_or(0)
        }
    }
}

/// How long a round of `load` units must take under the limit. Outer `None`: not bounded; inner `None`: never.
fn needed(limit: &Limit, load: u64) -> Option<Option<Span>> {
    let (window, available) = supply(limit)?;
    if available == 0 {
        return Some((load == 0).then_some(Span::ZERO));
    }
    let span = u128::from(window.0).saturating_mul(u128::from(load)).div_ceil(u128::from(available));
    Some(Some(Span(u64::try_from(span).unwrap_or(u64::MAX))))
}

/// The window at its longest, and the units of it that the poller may take.
fn supply(limit: &Limit) -> Option<(Span, u64)> {
    let window = match &limit.kind {
        Kind::Concurrent => return None,
        Kind::Pace { .. } => match Window::all_of(limit).first() {
            Some(Window::Pace { unit, .. }) => return Some((*unit, 1)),
            _ => return None,
        },
        Kind::Rolling { window } | Kind::Anchored { window } => *window,
        kind => Calendar::of(kind)?.longest_period(),
    };
    Some((window, limit.amount.saturating_sub(limit.kept_from(Caller::Poller))))
}

/// `max targets = interval / (window / amount)`, with the mean cost of a target.
fn ceiling(limits: &[Limit], costs: &[(Endpoint, u64)], interval: Span) -> Option<u64> {
    let targets = u128::try_from(costs.len().max(1)).unwrap_or(1);
    let per_target = |limit: &Limit| u128::from(load(limit, costs).max(1));
    limits
        .iter()
        .filter_map(|limit| {
            let (window, available) = supply(limit)?;
            let units = u128::from(interval.0).saturating_mul(u128::from(available)) / u128::from(window.0.max(1));
            u64::try_from(units.saturating_mul(targets) / per_target(limit)).ok()
        })
        .min()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::ids::TargetName;
    use crate::domain::limit::TimeOfDay;
    use crate::domain::page::{PageSpec, PageStyle};

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
    fn targets(n: usize) -> Vec<Demand> {
        Demand::first(&specs(n))
    }
    fn specs(n: usize) -> Vec<TargetSpec> {
        let one = |i: usize| TargetSpec {
            name: TargetName(format!("t{i}")),
            get: Some(format!("/tasks?job={i}")),
            send: crate::domain::send::SendSpec::default(),
            cost: 1,
            page: None,
            items: "$[*]".into(),
            key: "$.id".into(),
            title: None,
            fresh_for: None,
            expires_after: None,
            fields: vec![],
            states: vec![],
            volatile: vec![],
            observed_at: None,
            complete: None,
        };
        (0..n).map(one).collect()
    }

    #[test]
    fn ten_thousand_a_day_is_one_in_8_64_seconds() {
        for (interval_s, ceiling) in [(60, 6), (120, 13), (300, 34), (600, 69), (5, 0)] {
            let plan = plan(&[daily(10_000)], &targets(1), Some(Span::from_secs(interval_s)));
            assert_eq!(plan.ceiling_targets, Some(ceiling), "{interval_s} s");
        }
        assert_eq!(plan(&[daily(10_000)], &targets(34), None).shortest_interval, Some(Span(293_760)));
    }

    #[test]
    fn the_fifth_request_is_left_alone() {
        let mut five = limit(5, Kind::Rolling { window: Span::from_secs(300) });
        five.keep.insert(Caller::Refresh, 1);
        let plan = plan(&[five], &targets(1), None);
        assert_eq!((plan.shortest_interval, plan.requests_per_day), (Some(Span::from_secs(75)), 1152));
    }

    #[test]
    fn the_slowest_limit_dictates_and_a_day_may_have_25_hours() {
        let berlin = limit(300, Kind::Daily { resets_at: TimeOfDay(0), time_zone: "Europe/Berlin".into() });
        let plan = plan(&[berlin, limit(2, Kind::Pace { window: Span::from_secs(1) })], &targets(1), None);
        assert_eq!((plan.shortest_interval, plan.bound_by.as_deref()), (Some(Span::from_secs(300)), Some("daily")));
    }

    #[test]
    fn a_limit_that_is_kept_whole_leaves_the_poller_nothing() {
        let mut one = daily(1);
        one.keep.insert(Caller::Refresh, 1);
        let plan = plan(&[one], &targets(1), None);
        assert_eq!((plan.shortest_interval, plan.sustainable()), (None, false));
    }

    #[test]
    fn endpoints_are_planned_apart() {
        let mut five = limit(5, Kind::Rolling { window: Span::from_secs(300) });
        five.scope = Scope::Endpoint;
        let mut two = targets(2);
        two[1].endpoint = "/other".into();
        assert_eq!(plan(&[five], &two, None).shortest_interval, Some(Span::from_secs(60)));
    }

    #[test]
    fn pages_cost_a_request_each() {
        let mut spec = specs(1).remove(0);
        assert_eq!(Demand::of(&spec, 7).unwrap().units, 1, "a list in one answer has no pages");
        spec.page = Some(PageSpec {
            style: PageStyle::Link,
            size: None,
            total: None,
            first_confirms_all: false,
            max_pages: 100,
            max_items: 1,
            max_bytes: 1,
        });
        spec.cost = 2;
        let minute = limit(5, Kind::Rolling { window: Span::from_secs(60) });
        let plan = plan(&[minute], &[Demand::of(&spec, 30).unwrap()], Some(Span::from_secs(600)));
        assert_eq!(plan.requests_per_round, 60);
        assert_eq!((plan.shortest_interval, plan.sustainable()), (Some(Span::from_secs(720)), false));
        assert_eq!(plan.requests_per_day, 60 * 144);
    }

    /// The limit that is used most speaks, and of a limit by endpoint its busiest endpoint.
    #[test]
    fn what_several_take_together_is_a_share_of_what_pollers_may_have() {
        let ask = |endpoint: &str, units, seconds| {
            (vec![Demand { endpoint: endpoint.into(), units }], Span::from_secs(seconds))
        };
        let mut five = limit(5, Kind::Rolling { window: Span::from_secs(300) });
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
}
