//! `/c/{connection}/controls`: what operators set of a connection, beside what the file says, and the forms that change it
//! or ask the provider what it says now.

use super::plan::cost_of;
use super::show::{self, Face, Moment};
use super::{Action, Asked, Frame, Visit, html, segment};
use crate::domain::ids::ConnectionKey;
use crate::domain::time::Span;
use crate::engine::controls::Controls;
use crate::engine::view::{ConnectionView, ControlView, IntervalView, ProbeView, Seconds, SetView, WhatIfView};
use crate::web::WebState;
use crate::web::api::{plan, sentence};
use crate::web::errors::Problem;
use crate::web::texts::{self, Text};
use askama::Template;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::{Map, Value};

#[derive(Template)]
#[template(path = "controls.html")]
struct Page {
    frame: Frame,
    name: String,
    /// Of the connection's page, beside this one.
    href: String,
    controls: Vec<Control>,
    asked: Asks,
    /// What it would do, where something was asked.
    effect: Option<Effect>,
    change: Action,
    /// `None`: no target can be asked by itself.
    probe: Option<Probe>,
}

/// What shall be otherwise, as the form sends it: the keys of a `PATCH`.
#[derive(Clone, Debug, Default, serde::Deserialize)]
pub struct Asks {
    interval: Option<String>,
    interval_for: Option<String>,
    inactivity_ttl: Option<String>,
    completion_grace: Option<String>,
}

impl Asks {
    const NAMES: [&'static str; 4] = ["interval", "interval_for", "inactivity_ttl", "completion_grace"];

    /// Those that are not blank.
    fn said(&self) -> Vec<(&'static str, &str)> {
        let values = [&self.interval, &self.interval_for, &self.inactivity_ttl, &self.completion_grace];
        let said =
            Self::NAMES.into_iter().zip(values).filter_map(|(name, value)| Some((name, value.as_deref()?.trim())));
        said.filter(|(_, value)| !value.is_empty()).collect()
    }
}

/// The body of a `PATCH`, of what `get` finds of its keys.
pub fn wanted<'v>(get: impl Fn(&str) -> Option<&'v str>) -> Map<String, Value> {
    let named = |name: &str| Some((name.to_owned(), Value::from(get(name)?.trim())));
    Asks::NAMES.iter().filter_map(|name| named(name)).collect()
}

/// What a change would do, told before it is made.
struct Effect {
    sentences: Vec<String>,
    kept: bool,
    /// Sent on as it was asked; empty where it cannot be.
    fields: Vec<(&'static str, String)>,
}

/// One question to the provider, to see what it says now.
struct Probe {
    target: String,
    endpoint: String,
    cost: String,
    refused: Option<String>,
    action: Action,
}

/// What can be set beside the switch.
pub struct Control {
    pub key: &'static str,
    pub label: Text,
    pub in_force: String,
    pub configured: String,
    pub set: Option<Set>,
}

impl Control {
    fn is_set(&self) -> bool {
        self.set.is_some()
    }
}

pub struct Set {
    pub by: String,
    pub at: Moment,
    pub until: Option<Moment>,
}

impl Set {
    pub fn of<T>(face: &Face, set: &SetView<T>) -> Set {
        Set { by: set.by.clone(), at: face.moment(set.at), until: face.maybe(set.until) }
    }
}

pub async fn page(
    State(web): State<WebState>,
    Path(name): Path<String>,
    visit: Visit,
    Asked(asked): Asked<Asks>,
) -> Result<Response, Problem> {
    let face = visit.face(&web);
    let key = visit.connection(&name);
    let view = web.shelf().connection(&key)?;
    let frame = visit.frame(&web, &face, Some(&name));
    let page = Page {
        href: format!("{}{}", segment(&name), visit.suffix()),
        controls: controls(&face, &view),
        effect: effect(&web, &key, &asked, &view),
        asked,
        probe: web.shelf().probe_cost(&key, None).await.ok().map(|p| probe(&web, &visit, p, &frame.root)),
        change: visit.action(&web, &frame.root, &format!("c/{}/controls", segment(&name))),
        name,
        frame,
    };
    Ok(html(StatusCode::OK, &page))
}

fn probe(web: &WebState, visit: &Visit, probe: ProbeView, root: &str) -> Probe {
    Probe {
        cost: cost_of(probe.requests.into(), probe.units.into()),
        action: visit.action(web, root, &format!("c/{}/probe", segment(&probe.connection))),
        target: probe.target,
        endpoint: probe.endpoint,
        refused: probe.refused,
    }
}

/// Nothing is saved, and nobody is asked.
fn effect(web: &WebState, key: &ConnectionKey, asked: &Asks, now: &ConnectionView) -> Option<Effect> {
    let said = asked.said();
    if said.is_empty() {
        return None;
    }
    let get = |name: &str| said.iter().find(|(said, _)| *said == name).map(|(_, value)| *value);
    let wrong = |why: String| Some(Effect { sentences: vec![why], kept: false, fields: Vec::new() });
    if let Err(why) = Controls::read(&wanted(get)) {
        return wrong(sentence(&why));
    }
    let mut sentences = Vec::new();
    let mut kept = true;
    if let Some(interval) = get("interval") {
        let query = plan::Query {
            connection: Some(now.name.clone()),
            interval: Some(interval.to_owned()),
            ..plan::Query::default()
        };
        let planned = match query.read(&key.organization) {
            Ok(Some((key, what_if))) => web.shelf().what_if(&key, &what_if).map_err(Problem::from),
            Ok(None) => return None,
            Err(problem) => Err(problem),
        };
        match planned {
            Err(problem) => return wrong(problem.detail),
            Ok(planned) => {
                kept = super::plan::is_kept(&planned.figures);
                sentences.extend(of_interval(&planned, now, get("interval_for")));
            }
        }
    }
    sentences.extend(get("inactivity_ttl").map(|length| match length {
        "never" => texts::t("controls-targets-are-asked-however").plain(),
        _ => texts::t("controls-a-target-whose-content").with("length", length).plain(),
    }));
    sentences.extend(get("completion_grace").map(|length| match length {
        "never" => texts::t("controls-completed-targets-are-asked").plain(),
        _ => texts::t("controls-a-completed-target-is").with("length", length).plain(),
    }));
    let fields = said.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
    Some(Effect { sentences, kept, fields })
}

fn of_interval(planned: &WhatIfView, now: &ConnectionView, lasts: Option<&str>) -> Vec<String> {
    let figures = &planned.figures;
    let every = show::exact(figures.effective_interval_seconds);
    let per_day = show::count(figures.requests_per_day);
    let before = show::count(now.forecast.requests_per_day);
    let mut told = vec![
        texts::t("controls-a-round-every-makes")
            .with("every", &every)
            .with("per-day", &per_day)
            .with("before", &before)
            .plain(),
    ];
    if let Some(span) = lasts.and_then(|text| Span::parse(text).ok()) {
        let meanwhile = u128::from(figures.requests_per_day) * u128::from(span.as_secs()) / 86_400;
        let meanwhile = show::count(u64::try_from(meanwhile).unwrap_or(u64::MAX));
        told.push(
            texts::t("controls-in-that-is-then").with("span", span.exact()).with("meanwhile", &meanwhile).plain(),
        );
    }
    told.push(figures.sentence.clone());
    told
}

/// What is set, for the connection's own page.
pub fn overrides(face: &Face, view: &ConnectionView) -> Vec<Control> {
    controls(face, view).into_iter().filter(|c| c.set.is_some()).collect()
}

fn controls(face: &Face, view: &ConnectionView) -> Vec<Control> {
    let c = &view.controls;
    let interval = |i: IntervalView| match i {
        IntervalView::Auto => texts::t("controls-auto").plain(),
        IntervalView::Every(seconds) => show::exact(seconds),
    };
    let span = |s: Option<Seconds>| s.map_or_else(|| texts::t("controls-never").plain(), show::exact);
    vec![
        control(face, "interval", texts::t("controls-every"), &c.interval, interval),
        control(face, "inactivity_ttl", texts::t("controls-stop-without-a-change"), &c.inactivity_ttl_seconds, span),
        control(
            face,
            "completion_grace",
            texts::t("controls-stop-after-completion"),
            &c.completion_grace_seconds,
            span,
        ),
    ]
}

fn control<T: Copy>(
    face: &Face,
    key: &'static str,
    label: Text,
    control: &ControlView<T>,
    words: impl Fn(T) -> String,
) -> Control {
    let (in_force, configured) = (words(control.in_force()), words(control.configured));
    Control { key, label, in_force, configured, set: control.set.as_ref().map(|set| Set::of(face, set)) }
}
