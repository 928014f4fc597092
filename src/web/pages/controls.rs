//! `/c/{connection}/controls`: what operators set of a connection, beside what the file says, and the forms that change it
//! or ask the provider what it says now.

use super::plan::cost_of;
use super::show::{self, Face, Moment};
use super::{Action, Frame, Visit, html, segment};
use crate::engine::view::{ConnectionView, ControlView, IntervalView, ProbeView, Seconds, SetView};
use crate::web::WebState;
use crate::web::errors::Problem;
use askama::Template;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;

#[derive(Template)]
#[template(path = "controls.html")]
struct Page {
    frame: Frame,
    name: String,
    /// Of the connection's page, beside this one.
    href: String,
    controls: Vec<Control>,
    change: Action,
    /// `None`: no target can be asked by itself.
    probe: Option<Probe>,
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
    key: &'static str,
    pub label: &'static str,
    pub in_force: String,
    pub configured: String,
    pub set: Option<Set>,
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

pub async fn page(State(web): State<WebState>, Path(name): Path<String>, visit: Visit) -> Result<Response, Problem> {
    let face = visit.face(&web);
    let key = visit.connection(&name);
    let view = web.shelf().connection(&key)?;
    let frame = visit.frame(&web, &face, Some(&name));
    let page = Page {
        href: format!("{}{}", segment(&name), visit.suffix()),
        controls: controls(&face, &view),
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

/// What is set, for the connection's own page.
pub fn overrides(face: &Face, view: &ConnectionView) -> Vec<Control> {
    controls(face, view).into_iter().filter(|c| c.set.is_some()).collect()
}

fn controls(face: &Face, view: &ConnectionView) -> Vec<Control> {
    let c = &view.controls;
    let interval = |i: IntervalView| match i {
        IntervalView::Auto => "auto".to_owned(),
        IntervalView::Every(seconds) => show::exact(seconds),
    };
    let span = |s: Option<Seconds>| s.map_or_else(|| "never".to_owned(), show::exact);
    vec![
        control(face, "interval", "Every", &c.interval, interval),
        control(face, "inactivity_ttl", "Stop without a change for", &c.inactivity_ttl_seconds, span),
        control(face, "completion_grace", "Stop after completion", &c.completion_grace_seconds, span),
    ]
}

fn control<T: Copy>(
    face: &Face,
    key: &'static str,
    label: &'static str,
    control: &ControlView<T>,
    words: impl Fn(T) -> String,
) -> Control {
    let (in_force, configured) = (words(control.in_force()), words(control.configured));
    Control { key, label, in_force, configured, set: control.set.as_ref().map(|set| Set::of(face, set)) }
}
