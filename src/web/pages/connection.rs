//! `/c/{connection}`: how one connection stands, what its budget is spent on, and what can be done.

use super::banner::{Banner, banner};
use super::burn::{self, Burned};
use super::latency::{self, Latency};
use super::overview::{Activity, Finding, Gauge, findings, gauge, line};
use super::plan::cost_of;
use super::scans::{self, Scan};
use super::show::{self, Age, Chip, Face, Moment};
use super::stood::{self, Stood};
use super::webhooks::{Webhook, webhooks};
use super::{Action, Frame, Visit, controls, html, segment};
use crate::domain::cursor::{Filling, ItemsAsk};
use crate::domain::ids::{Caller, ConnectionKey, TargetKey, TargetName};
use crate::domain::state::State as Word;
use crate::domain::time::Wall;
use crate::engine::view::{ChargeView, CommandView, ConnectionView, HoldView, JobView, SpendStrip, TargetView, When};
use crate::web::errors::Problem;
use crate::web::svg::stack::{self, Bar};
use crate::web::texts;
use crate::web::{WebState, svg};
use askama::Template;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use std::collections::BTreeMap;

const SLICES: usize = 30;
const CHARGES: usize = 20;
/// Targets on the page; a page of their own has them all.
const TARGETS: usize = 3;
/// Targets that are looked through for items to choose from.
const LOOKED_THROUGH: usize = 10;
const JOBS: usize = 8;
const ACTIVITY: usize = 5;
/// Items that a command's list offers.
const CHOICES: usize = 200;

#[derive(Template)]
#[template(path = "connection.html")]
struct Page {
    frame: Frame,
    name: String,
    provider: String,
    chip: Chip,
    banner: Banner,
    is_calm: bool,
    /// The credential's, and those of single endpoints.
    holds: Vec<Hold>,
    /// Whose time is up, and of which nobody knows yet that they are over, or after which polls come slower.
    passing: Vec<Hold>,
    recovery: Option<String>,
    breaker: Option<&'static str>,
    stood: Stood,
    burned: Option<Burned>,
    findings: Vec<Finding>,
    gauges: Vec<Gauge>,
    strip: Strip,
    poll: Poll,
    targets: Vec<Target>,
    all_targets: String,
    scans: Vec<Scan>,
    commands: Vec<Command>,
    jobs: Vec<Job>,
    charges: Vec<Charge>,
    latency: Option<Latency>,
    webhooks: Vec<Webhook>,
    activity: Vec<Activity>,
    enabled: bool,
    switch: Action,
    /// What operators set, in short.
    overrides: Vec<controls::Control>,
    controls_href: String,
    credential_href: String,
    plan_query: String,
}

struct Hold {
    /// `None`: everything that holds the credential.
    endpoint: Option<String>,
    strikes: u32,
    since: Moment,
    until: Moment,
    reason: String,
    said: Option<String>,
    source: String,
    rule: String,
}

struct Poll {
    interval: String,
    /// Where it differs from the interval.
    effective: Option<String>,
    stretched: Option<String>,
    last: Option<Moment>,
    next: Option<Moment>,
    per_day: String,
    ceiling: String,
}

struct Strip {
    svg: String,
    from: Moment,
    slice: String,
    total: String,
    callers: Vec<(&'static str, String)>,
    rows: Vec<(Moment, Vec<String>)>,
}

struct Target {
    name: String,
    href: String,
    chip: Chip,
    phase: Option<&'static str>,
    sentence: Option<String>,
    items: String,
    age: Option<Age>,
    as_of: Option<Moment>,
}

struct Command {
    name: String,
    title: String,
    fields: Vec<Field>,
    never_repeated: bool,
    action: Action,
}

struct Field {
    name: String,
    label: String,
    numeric: bool,
    choices: Vec<Choice>,
}

struct Choice {
    key: String,
    title: String,
    state: Option<String>,
}

struct Job {
    id: u64,
    command: String,
    parameters: String,
    state: &'static str,
    icon: &'static str,
    at: Moment,
    by: String,
    message: Option<String>,
    refresh: Option<(String, String)>,
}

struct Charge {
    at: Moment,
    caller: &'static str,
    endpoint: String,
    cost: u32,
    outcome: String,
    is_good: bool,
    settlement: &'static str,
    status: Option<u16>,
    took: Option<String>,
    rule: Option<String>,
    said: Option<String>,
}

pub async fn page(State(web): State<WebState>, Path(name): Path<String>, visit: Visit) -> Result<Response, Problem> {
    let face = visit.face(&web);
    let key = visit.connection(&name);
    let view = web.shelf().connection(&key)?;
    let targets = web.shelf().first_targets(&key, TARGETS)?;
    let frame = visit.frame(&web, &face, Some(&name));
    let choices = choices(&web, &key, &view);
    let charges = web.shelf().ledger(&key, None, CHARGES)?;
    let activity = super::activity::newest(&web, &visit, Some(&key), ACTIVITY)?;
    let page = Page {
        name: view.name.clone(),
        provider: view.provider.clone(),
        chip: Chip::turning(view.state, &view.turns),
        banner: banner(&face, &visit, &frame.root, &name, &view.banner),
        is_calm: matches!(view.state, Word::Fresh | Word::Ageing | Word::Never),
        holds: view.hold.iter().chain(&view.endpoint_holds).map(|h| hold(&face, h)).collect(),
        passing: view.passing_holds.iter().map(|h| hold(&face, h)).collect(),
        recovery: view.recovery.as_ref().map(|r| face.told(&r.sentence)),
        breaker: (view.breaker != "closed").then_some(view.breaker),
        burned: burn::burned(&web, &visit, &face, &key)?,
        stood: stood::stood(&face, &web.shelf().stood(&key, stood::DAY)?),
        findings: findings(&face, &view),
        gauges: view.budget.iter().map(|b| gauge(&face, b)).collect(),
        strip: strip(&face, &web.shelf().spend_strip(&key, SLICES)?),
        poll: poll(&face, &view),
        commands: commands(&web, &visit, &view, &choices, &frame.root),
        all_targets: show::count(view.targets.len() as u64),
        targets: targets.into_iter().map(|t| target(&face, &visit, t)).collect(),
        scans: web.shelf().scans(&key)?.iter().map(|s| scans::scan(&face, s)).collect(),
        jobs: web.shelf().jobs(&key, JOBS)?.into_iter().map(|j| job(&face, j, &choices)).collect(),
        latency: latency::latency(&charges),
        charges: charges.into_iter().rev().map(|c| charge(&face, c)).collect(),
        activity: activity.into_iter().map(|e| line(&face, &frame.root, e)).collect(),
        webhooks: webhooks(&web, &visit, &face, (&name, &frame.root), web.shelf().webhooks(&key).await?),
        enabled: view.enabled,
        overrides: controls::overrides(&face, &view),
        credential_href: format!("{}/credential{}", segment(&name), visit.suffix()),
        controls_href: format!("{}/controls{}", segment(&name), visit.suffix()),
        plan_query: format!("?connection={}{}", segment(&name), visit.suffix_more()),
        switch: visit.action(&web, &frame.root, &format!("c/{}/polling", segment(&name))),
        frame,
    };
    Ok(html(StatusCode::OK, &page))
}

fn hold(face: &Face, hold: &HoldView) -> Hold {
    Hold {
        endpoint: hold.endpoint.clone(),
        strikes: hold.strikes,
        since: face.moment(hold.since),
        until: face.moment(hold.until),
        reason: hold.reason.replace('_', " "),
        said: hold.said.clone(),
        source: hold.source.clone(),
        rule: hold.rule.clone(),
    }
}

fn poll(face: &Face, view: &ConnectionView) -> Poll {
    let poll = &view.poll;
    Poll {
        interval: show::exact(poll.interval_seconds),
        effective: (poll.effective_interval_seconds != poll.interval_seconds)
            .then(|| show::exact(poll.effective_interval_seconds)),
        stretched: poll.stretched.as_ref().map(|stretch| stretch.sentence.clone()),
        last: face.maybe(poll.last_poll_at),
        next: face.maybe(poll.next_poll_at),
        per_day: cost_of(view.forecast.requests_per_day, view.forecast.units_per_day),
        ceiling: view.forecast.ceiling_targets.map_or_else(|| texts::t("connection-any-number").plain(), show::count),
    }
}

/// The chart and its twin as a table: callers that spent anything, slices that saw anything.
fn strip(face: &Face, strip: &SpendStrip) -> Strip {
    let spent = |caller: Caller| strip.slices.iter().filter_map(|s| s.get(caller.word())).sum::<u64>();
    let callers: Vec<Caller> = Caller::ALL.into_iter().filter(|c| spent(*c) > 0).collect();
    let begins = |i: u64| {
        let ms = i64::try_from(i.saturating_mul(strip.slice_seconds).saturating_mul(1000)).unwrap_or(i64::MAX);
        Wall(strip.from.0.0.saturating_add(ms))
    };
    let bar = |(i, slice): (u64, &BTreeMap<&'static str, u64>)| Bar { at: begins(i), units: slice.clone() };
    let bars: Vec<Bar> = (0u64..).zip(&strip.slices).map(bar).collect();
    let row = |bar: &Bar| {
        let units = callers.iter().map(|c| show::count(bar.units.get(c.word()).copied().unwrap_or(0))).collect();
        (face.moment(When(bar.at)), units)
    };
    Strip {
        svg: stack::bars(&bars, strip.until.0, &face.axis()),
        from: face.moment(strip.from),
        slice: show::span(strip.slice_seconds),
        total: show::count(strip.slices.iter().map(svg::total).sum()),
        rows: bars.iter().filter(|bar| svg::total(&bar.units) > 0).map(row).collect(),
        callers: callers.into_iter().map(|c| (c.word(), show::count(spent(c)))).collect(),
    }
}

fn target(face: &Face, visit: &Visit, target: TargetView) -> Target {
    Target {
        href: format!("{}/t/{}{}", segment(&target.connection), segment(&target.name), visit.suffix()),
        chip: Chip::turning(target.state, &target.turns),
        phase: (target.phase != "active").then_some(target.phase),
        // The age stands beside it, and grows.
        sentence: Some(face.told(&target.reason)).filter(|reason| !reason.is_empty()),
        items: show::counted(target.item_count, show::Noun::Item),
        age: target.aged_since.map(|at| Age::since(face, at)),
        as_of: face.maybe(target.as_of),
        name: target.name,
    }
}

fn commands(web: &WebState, visit: &Visit, view: &ConnectionView, choices: &[Choice], root: &str) -> Vec<Command> {
    let command = |command: &CommandView| Command {
        title: title(&command.name),
        fields: command.parameters.iter().map(|p| parameter(p, choices)).collect(),
        never_repeated: command.retry == "never",
        action: visit.action(web, root, &format!("c/{}/commands/{}", segment(&view.name), segment(&command.name))),
        name: command.name.clone(),
    };
    view.commands.iter().map(command).collect()
}

/// `run-zone` reads as `Run zone`.
fn title(name: &str) -> String {
    let text = name.replace(['-', '_'], " ");
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().collect::<String>() + letters.as_str()).unwrap_or_default()
}

fn parameter(name: &str, choices: &[Choice]) -> Field {
    let copy = |c: &Choice| Choice { key: c.key.clone(), title: c.title.clone(), state: c.state.clone() };
    Field {
        label: show::label(name),
        numeric: matches!(name, "seconds" | "minutes" | "hours" | "count" | "custom" | "duration"),
        choices: if name == "item" { choices.iter().map(copy).collect() } else { Vec::new() },
        name: name.to_owned(),
    }
}

/// What is on the connection's shelf now, if a command asks for an item. A target that cannot be read leaves the list shorter,
/// not the page away.
fn choices(web: &WebState, key: &ConnectionKey, view: &ConnectionView) -> Vec<Choice> {
    if !view.commands.iter().any(|c| c.parameters.iter().any(|p| p == "item")) {
        return Vec::new();
    }
    let items = view.targets.iter().take(LOOKED_THROUGH).filter_map(|name| {
        let key = TargetKey { connection: key.clone(), target: TargetName(name.clone()) };
        let few = ItemsAsk { filling: Filling::Present, limit: CHOICES, ..ItemsAsk::default() };
        web.shelf().target(&key, &few).ok()
    });
    items
        .flat_map(|t| t.items)
        .filter(|i| i.removed_at.is_none())
        .take(CHOICES)
        .filter(|i| i.key.len() <= show::LONGEST_KEY)
        .map(|i| Choice { title: show::shorten(&i.title, 80), state: i.state.as_deref().map(show::state), key: i.key })
        .collect()
}

fn job(face: &Face, job: JobView, choices: &[Choice]) -> Job {
    let title_of = |key: &str| choices.iter().find(|c| c.key == key).map(|c| c.title.clone());
    let said = |(name, value): (&String, &String)| match title_of(value).filter(|_| name == "item") {
        Some(title) => texts::t("connection-item").with("value", value).with("title", &title).plain(),
        None => format!("{} {value}", show::label(name)),
    };
    let parameters: Vec<String> = job.parameters.iter().map(said).collect();
    Job {
        id: job.id.0,
        command: title(&job.command),
        parameters: parameters.join(", "),
        state: job.state,
        icon: match job.state {
            "done" => "fresh",
            "failed" => "expired",
            "unknown" => "unknown",
            "sent" => "play",
            _ => "held",
        },
        at: face.moment(job.created_at),
        by: job.by,
        message: job.message.as_deref().map(|message| show::shorten(message, 600)),
        refresh: job.refresh.map(|r| (r.target, r.result)),
    }
}

fn charge(face: &Face, charge: ChargeView) -> Charge {
    Charge {
        took: latency::took(&charge),
        at: face.moment(charge.at),
        caller: charge.caller,
        endpoint: charge.endpoint,
        cost: charge.cost,
        outcome: charge.outcome.replace('_', " "),
        is_good: matches!(charge.outcome, "data" | "not_modified" | "pending"),
        // What is as usual needs no explanation.
        rule: charge.rule.filter(|_| !matches!(charge.outcome, "data" | "not_modified")),
        settlement: charge.settlement,
        status: charge.status,
        said: charge.said,
    }
}
