//! `/plan`: what each connection asks a day, what its limits can keep up, and what they could if it were otherwise. A form asks; nothing is
//! saved, and nobody is asked.

use super::ahead::{self, Ahead};
use super::show::{self, Face, Moment};
use super::{Asked, Frame, Visit, html, segment};
use crate::engine::view::{CostView, PlanFigures, PlanView, ShareView, WhatIfView};
use crate::web::WebState;
use crate::web::api::plan::{Query, own};
use crate::web::errors::Problem;
use crate::web::texts::{self, Text};
use askama::Template;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;

#[derive(Template)]
#[template(path = "plan.html")]
struct Page {
    frame: Frame,
    sentence: String,
    form: Form,
    /// What the query could not be read for.
    wrong: Option<String>,
    answer: Option<Answer>,
    /// Where an interval that was asked about can be set, with its effect told once more.
    set_href: Option<String>,
    plans: Vec<Row>,
    ahead: Vec<Ahead>,
    /// Connections that are not drawn.
    more_ahead: usize,
    /// Of the whole appliance; `None`: its polling is off.
    workers: Option<u32>,
    json: String,
}

struct Form {
    connections: Vec<(String, bool)>,
    interval: String,
    targets: String,
    page_size: String,
    rows: String,
}

struct Answer {
    connection: String,
    verdict: Text,
    kept: bool,
    sentence: String,
    figures: Figures,
    /// Both ways, where there are two.
    ways: Vec<WayShown>,
}

struct WayShown {
    name: String,
    cost: String,
    chosen: bool,
}

struct Figures {
    interval: String,
    /// Where it is another.
    effective: Option<String>,
    shortest: String,
    round: String,
    a_day: String,
    /// At the wished interval, where that cannot be kept.
    wished: Option<String>,
    ceiling: String,
    shares: Vec<ShareShown>,
}

struct ShareShown {
    limit: String,
    endpoint: Option<String>,
    percent: String,
    is_over: bool,
    /// Where others take a part.
    own: Option<String>,
    available: String,
}

struct Row {
    name: String,
    href: String,
    provider: String,
    sentence: String,
    kept: bool,
    auto: bool,
    paused: bool,
    until: Option<(Moment, String)>,
    targets: String,
    renewals: Option<String>,
    figures: Figures,
}

pub async fn page(State(web): State<WebState>, visit: Visit, Asked(query): Asked<Query>) -> Result<Response, Problem> {
    let face = visit.face(&web);
    let plans = own(&web, &visit.organization)?;
    let (answer, wrong) = match query.read(&visit.organization) {
        Ok(Some((key, asked))) => (Some(answer(&web.shelf().what_if(&key, &asked)?)), None),
        Ok(None) => (None, None),
        Err(problem) => (None, Some(problem.detail)),
    };
    let polling = web.shelf().polling().await?;
    let (ahead, more_ahead) = ahead::ahead(&web, &visit, &face, &plans)?;
    let set_href = answer.as_ref().and_then(|_| set_href(&visit, &query));
    let frame = visit.frame(&web, &face, None);
    let page = Page {
        sentence: sentence(&plans),
        form: form(&query, &plans),
        wrong,
        answer,
        plans: plans.iter().map(|plan| row(&face, &visit, plan)).collect(),
        ahead,
        more_ahead,
        set_href,
        workers: polling.enabled.then_some(polling.workers),
        json: format!("{}api/v1/plan{}", frame.root, visit.suffix()),
        frame,
    };
    Ok(html(StatusCode::OK, &page))
}

fn sentence(plans: &[PlanView]) -> String {
    let polled: Vec<&PlanView> = plans.iter().filter(|plan| plan.enabled).collect();
    let stretched = polled.iter().filter(|p| !is_kept(&p.figures)).count();
    let requests = polled.iter().map(|p| p.figures.requests_per_day).sum();
    match (polled.len(), stretched) {
        (0, _) => texts::t("plan-nothing-is-polled").plain(),
        (_, 0) => texts::t("plan-requests-a-day-and").with("requests", show::count(requests)).plain(),
        (_, 1) => texts::t("plan-requests-a-day-one").with("requests", show::count(requests)).plain(),
        (_, n) => {
            texts::t("plan-requests-a-day-intervals").with("requests", show::count(requests)).with("n", n).plain()
        }
    }
}

fn form(query: &Query, plans: &[PlanView]) -> Form {
    let text = |value: &Option<String>| value.clone().unwrap_or_default();
    let chosen = |name: &str| query.connection.as_deref() == Some(name);
    Form {
        connections: plans.iter().map(|plan| (plan.name.clone(), chosen(&plan.name))).collect(),
        interval: text(&query.interval),
        targets: text(&query.targets),
        page_size: text(&query.page_size),
        rows: text(&query.rows),
    }
}

/// Only the interval can be set for a connection that runs; `None` where anything else was asked about.
fn set_href(visit: &Visit, query: &Query) -> Option<String> {
    let (connection, interval) = (query.connection.as_deref()?, query.interval.as_deref().map(str::trim)?);
    let said = |value: &Option<String>| value.as_deref().is_some_and(|text| !text.trim().is_empty());
    if interval.is_empty() || said(&query.targets) || said(&query.rows) || said(&query.page_size) {
        return None;
    }
    let query = super::history::tail(visit, &[("interval", Some(interval))]);
    Some(format!("c/{}/controls{query}#wish", segment(connection)))
}

/// Whether an interval can be kept up.
pub fn is_kept(figures: &PlanFigures) -> bool {
    figures.stretched.is_none() && figures.shortest_interval_seconds.is_some()
}

fn answer(view: &WhatIfView) -> Answer {
    let way = |name: &str, word: &str, cost: &CostView| WayShown {
        name: name.to_owned(),
        cost: cost_of(cost.requests, cost.units),
        chosen: view.way == word,
    };
    let ways = view.scan.iter().flat_map(|scan| {
        let single = match view.targets {
            1 => texts::t("plan-a-request-for-the").plain(),
            n => texts::t("plan-each-of-targets-by").with("n", show::count(n)).plain(),
        };
        [way(&single, "single", &view.single), way(&texts::t("plan-one-scan").plain(), "scan", scan)]
    });
    let kept = is_kept(&view.figures);
    Answer {
        connection: view.connection.clone(),
        verdict: if kept { texts::t("plan-can-be-kept-up") } else { texts::t("plan-cannot-be-kept-up") },
        kept,
        sentence: view.figures.sentence.clone(),
        ways: ways.collect(),
        figures: figures(&view.figures),
    }
}

/// Requests, and units where those are not the same.
pub fn cost_of(requests: u64, units: u64) -> String {
    if requests == units {
        show::counted(requests, show::Noun::Request)
    } else {
        format!("{}, {}", show::counted(requests, show::Noun::Request), show::counted(units, show::Noun::Unit))
    }
}

fn figures(plan: &PlanFigures) -> Figures {
    let stretched = plan.stretched.as_ref();
    let bound = plan.bound_by.as_deref().map(|limit| format!(" ({limit})")).unwrap_or_default();
    Figures {
        interval: show::exact(plan.interval_seconds),
        effective: stretched.map(|_| show::exact(plan.effective_interval_seconds)),
        shortest: plan
            .shortest_interval_seconds
            .map_or_else(|| texts::t("plan-never").plain(), |s| show::exact(s) + &bound),
        round: cost_of(plan.requests_per_round, plan.units_per_round),
        a_day: cost_of(plan.requests_per_day, plan.units_per_day),
        wished: (!is_kept(plan)).then(|| cost_of(plan.wished_requests_per_day, plan.wished_units_per_day)),
        ceiling: plan.ceiling_targets.map_or_else(|| texts::t("plan-any-number").plain(), show::count),
        shares: plan.limits.iter().map(share).collect(),
    }
}

fn share(share: &ShareView) -> ShareShown {
    ShareShown {
        limit: share.limit.clone(),
        endpoint: share.endpoint.clone(),
        percent: show::count(share.percent),
        is_over: share.percent > 100,
        own: (share.own_percent != share.percent).then(|| show::count(share.own_percent)),
        available: show::count(share.available),
    }
}

fn row(face: &Face, visit: &Visit, plan: &PlanView) -> Row {
    let meanwhile = || plan.figures.requests_meanwhile.map(show::count).unwrap_or_default();
    Row {
        href: format!("c/{}{}", segment(&plan.name), visit.suffix()),
        name: plan.name.clone(),
        provider: plan.provider.clone(),
        sentence: plan.figures.sentence.clone(),
        kept: is_kept(&plan.figures),
        auto: plan.auto,
        paused: !plan.enabled,
        until: plan.until.map(|at| (face.moment(at), meanwhile())),
        targets: show::count(plan.figures.targets),
        renewals: (plan.renewals_per_day > 0).then(|| show::count(plan.renewals_per_day)),
        figures: figures(&plan.figures),
    }
}
