//! Plans as they are shown: the read models of `/plan`, and the sentences. Must not know how a plan is made, nor what is spent.

use super::appliance::Appliance;
use super::core::Conn;
use super::targets::Target;
use super::view::*;
use crate::domain::connection::ConnectionState;
use crate::domain::ids::ConnectionKey;
use crate::domain::spec::{Interval, TargetSpec};
use crate::domain::time::Span;
use crate::rules::plan::choice::{Cost, Way, choose, pages};
use crate::rules::plan::{Demand, Load, Plan, Rate, Share, per_day, plan};
use crate::store::StoreError;
use std::sync::Arc;

/// What somebody wants to know before it is so; what is not said is as it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WhatIf {
    pub interval: Option<Interval>,
    pub targets: Option<u64>,
    pub page_size: Option<u64>,
    /// Of one target.
    pub rows: Option<u64>,
}

impl Appliance {
    pub fn plans(&self) -> Result<Vec<PlanView>, Denied> {
        let of = |conn: Arc<Conn>| Ok(view(&conn, &self.core.store.connection(&conn.spec.key)?.unwrap_or_default()));
        self.core.connections.values().map(of).collect()
    }

    /// What the connection would ask if it were otherwise. Changes nothing.
    pub fn what_if(&self, key: &ConnectionKey, asked: &WhatIf) -> Result<WhatIfView, Denied> {
        let conn = self.conn(key)?;
        let rows = |t: &Arc<Target>| Ok(self.core.store.target(&t.key)?.map_or(0, |state| state.item_count));
        let rows = conn.targets.now().iter().map(rows).collect::<Result<Vec<u64>, StoreError>>()?;
        let seen = rows.iter().filter(|n| **n > 0).count().max(1) as u64;
        Ok(what_if(&conn, asked, rows.iter().sum::<u64>().div_ceil(seen)))
    }
}

/// Both figures, and the limit that binds.
pub fn stretched(plan: &Plan) -> Option<StretchView> {
    let (from, to) = plan.stretched()?;
    let limit = plan.bound_by.clone();
    let binds = limit
        .as_deref()
        .map(|limit| format!("limit \"{limit}\" gives"))
        .unwrap_or_else(|| "the limits give".to_owned());
    let sentence = format!(
        "A round every {} cannot be kept up: {binds} pollers no more than one every {}, so that is how often it polls.",
        from.exact(),
        to.exact()
    );
    Some(StretchView { from_seconds: Seconds(from), to_seconds: Seconds(to), limit, sentence })
}

pub fn view(conn: &Conn, state: &ConnectionState) -> PlanView {
    let (plan, (every, over)) = (conn.plan(), conn.wish());
    let until = conn.overrides().interval.and_then(|set| set.until);
    PlanView {
        name: conn.spec.key.connection.to_string(),
        organization: conn.spec.key.organization.to_string(),
        provider: conn.spec.provider.clone(),
        enabled: conn.enabled(state),
        auto: every == Span::ZERO,
        until: until.map(|at| When(at.wall)),
        figures: figures(&plan, conn.question(&[], (every, over)).targets, over),
        renewals_per_day: conn
            .renewals(every)
            .map_or(0, |load| per_day(load.requests(), load.every.max(plan.kept.interval))),
    }
}

/// What it would ask with other targets, pages or intervals, among everybody who spends with it as they do now.
pub fn what_if(conn: &Conn, asked: &WhatIf, usual_rows: u64) -> WhatIfView {
    let limits = conn.in_force();
    let (wish, over) = conn.wish();
    let (every, over) = match asked.interval {
        Some(Interval::Every(every)) => (every, None),
        Some(Interval::Auto) => (Span::ZERO, None),
        None => (wish, over),
    };
    let mut question = conn.question(&limits, (every, over));
    let page_size = asked.page_size.or_else(|| page_size(conn));
    let rows = page_size.map(|_| asked.rows.unwrap_or(usual_rows).max(1));
    let as_it_is = asked.targets.is_none() && asked.page_size.is_none() && asked.rows.is_none();
    let targets = asked.targets.unwrap_or(question.targets);
    let asked_now = [question.own.demands.clone(), timed(conn)].concat();
    let request = asked_now.iter().max_by_key(|d| d.units()).cloned().or_else(|| first(conn));
    let ask = |requests: u64| request.iter().map(|d| Demand { requests, ..d.clone() }).collect::<Vec<Demand>>();
    let each = rows.zip(page_size).map_or(1, |(rows, size)| pages(rows, size));
    // What is asked now is known, of whichever way it is; the other one, and whatever would be otherwise, is reckoned.
    let now = |scans: bool| Some(asked_now.clone()).filter(|_| as_it_is && scans == has_scans(conn));
    let single = now(false).unwrap_or_else(|| ask(targets.saturating_mul(each)));
    let scan = now(true).or(rows.zip(page_size).map(|(rows, size)| ask(pages(rows.saturating_mul(targets), size))));
    let choice = scan.as_deref().map(|scan| choose(Some(&single), scan));
    let way = choice.map_or(Way::Single, |choice| choice.way);
    let cost = |demands: &[Demand]| CostView::from(Cost::of(demands));
    let (single_cost, scan_cost) = (cost(&single), scan.as_deref().map(cost));
    let demands = if way == Way::Scan { scan.unwrap_or_default() } else { single };
    if !as_it_is || (way == Way::Scan) != has_scans(conn) {
        // One interval for all of it: what is reckoned has none of its own.
        (question.own, question.beside) = (Load { demands, every }, conn.renewals(every).into_iter().collect());
    }
    question.targets = targets;
    WhatIfView {
        connection: conn.spec.key.connection.to_string(),
        targets,
        rows,
        page_size,
        way: way.word(),
        single: single_cost,
        scan: scan_cost,
        figures: figures(&plan(&question), targets, over),
    }
}

impl From<Cost> for CostView {
    fn from(cost: Cost) -> CostView {
        CostView { requests: cost.requests, units: cost.units }
    }
}

/// What a target of it would ask, where none is polled.
fn first(conn: &Conn) -> Option<Demand> {
    conn.targets.now().iter().find_map(|t| Demand::of(&t.spec, t.pages.get(), t.cost()))
}

/// What scans ask at intervals of their own.
fn timed(conn: &Conn) -> Vec<Demand> {
    let timed = conn.scans.iter().filter(|scan| scan.interval.is_some() && !scan.rests());
    timed.filter_map(|scan| Demand::of(&scan.question.spec, scan.question.pages.get(), scan.question.cost())).collect()
}

/// Whether a scan is read now, and does not rest.
fn has_scans(conn: &Conn) -> bool {
    conn.scans.iter().any(|scan| !scan.rests())
}

/// As the largest of its lists is asked for, a scan's or a target's.
fn page_size(conn: &Conn) -> Option<u64> {
    let size = |spec: &TargetSpec| spec.page.as_ref()?.size.as_ref().map(|size| size.rows);
    let targets = conn.targets.now().iter().filter_map(|t| size(&t.spec)).max();
    targets.max(conn.spec.scans.iter().filter_map(|scan| size(&scan.question)).max())
}

fn figures(plan: &Plan, targets: u64, over: Option<Span>) -> PlanFigures {
    let Rate { requests_per_day, units_per_day, .. } = plan.kept;
    PlanFigures {
        interval_seconds: Seconds(plan.wished.interval),
        effective_interval_seconds: Seconds(plan.kept.interval),
        stretched: stretched(plan),
        shortest_interval_seconds: plan.shortest_interval.map(Seconds),
        bound_by: plan.bound_by.clone(),
        targets,
        requests_per_round: plan.requests_per_round,
        units_per_round: plan.units_per_round,
        requests_per_day,
        units_per_day,
        wished_requests_per_day: plan.wished.requests_per_day,
        wished_units_per_day: plan.wished.units_per_day,
        requests_meanwhile: over.map(|over| plan.requests_in(over)),
        ceiling_targets: plan.ceiling_targets,
        limits: plan.wished.shares.iter().map(share).collect(),
        sentence: sentence(plan, over),
    }
}

fn share(share: &Share) -> ShareView {
    ShareView {
        limit: share.limit.clone(),
        endpoint: share.endpoint.as_ref().map(|endpoint| endpoint.to_string()),
        available: share.available,
        percent: share.percent,
        own_percent: share.own_percent,
    }
}

fn sentence(plan: &Plan, over: Option<Span>) -> String {
    let bound = plan.bound_by.as_deref().map(|limit| format!(" (limit \"{limit}\")")).unwrap_or_default();
    let Some(shortest) = plan.shortest_interval else {
        return match plan.is_starved {
            true => format!("It cannot be polled at all: the limits leave polls nothing{bound}."),
            false => format!("It cannot be kept up at any interval: a round would take longer than a year{bound}."),
        };
    };
    if let Some(stretched) = stretched(plan) {
        return stretched.sentence;
    }
    let kept = plan.kept.interval.exact();
    match over {
        Some(over) => format!("A round every {kept} can be kept up for {over}: {} requests.", plan.requests_in(over)),
        None => format!(
            "A round every {kept} can be kept up for ever; the shortest interval is {}{bound}.",
            shortest.exact()
        ),
    }
}

/// At the interval that is kept.
pub fn forecast(plan: &Plan) -> ForecastView {
    ForecastView {
        requests_per_day: plan.kept.requests_per_day,
        units_per_day: plan.kept.units_per_day,
        ceiling_targets: plan.ceiling_targets,
    }
}
