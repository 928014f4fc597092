//! `/c/{connection}/targets`: all targets of a connection, however many, and what the forms about targets do: put one that is like a
//! pattern, give one a phase, take one away. Each form ends on the page that shows it (303). The guard has judged token, origin and form
//! before these run.

use super::actions::{Sent, back};
use super::show::{self, Age, Chip, Face};
use super::{Action, Frame, Visit, html, segment};
use crate::domain::ids::{ConnectionKey, TargetKey, TargetName};
use crate::domain::target::Phase;
use crate::engine::plans::WhatIf;
use crate::engine::view::TargetView;
use crate::web::WebState;
use crate::web::access::forms::Form;
use crate::web::errors::Problem;
use crate::web::texts;
use askama::Template;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::json;

/// Rows of a page.
const ROWS: usize = 50;

#[derive(Template)]
#[template(path = "targets.html")]
struct Page {
    frame: Frame,
    connection: String,
    connection_href: String,
    sentence: String,
    rows: Vec<Row>,
    back: Option<String>,
    on: Option<String>,
    patterns: Vec<String>,
    /// What one more would ask.
    one_more: Option<String>,
    put: Action,
}

struct Row {
    name: String,
    href: String,
    phase: &'static str,
    chip: Chip,
    items: String,
    age: Option<Age>,
}

pub async fn page(State(web): State<WebState>, Path(name): Path<String>, visit: Visit) -> Result<Response, Problem> {
    let face = visit.face(&web);
    let key = visit.connection(&name);
    let targets = web.shelf().targets(&key)?;
    let frame = visit.frame(&web, &face, Some(&name));
    let last = targets.len().div_ceil(ROWS).max(1);
    let at = visit.query.page.unwrap_or(1).clamp(1, last);
    let there = |to: usize| {
        let organization = visit.suffix();
        let begin = if organization.is_empty() { "?".to_owned() } else { format!("{organization}&") };
        (to >= 1 && to <= last && to != at).then(|| format!("targets{begin}page={to}"))
    };
    let active = targets.iter().filter(|t| t.phase == "active").count();
    let page = Page {
        connection_href: format!("../{}{}", segment(&name), visit.suffix()),
        sentence: texts::t("targets-targets-of-them-active")
            .with("targets", show::count(targets.len() as u64))
            .with("active", active)
            .plain(),
        rows: targets.iter().skip((at - 1) * ROWS).take(ROWS).map(|t| row(&face, &visit, t)).collect(),
        back: there(at - 1),
        on: there(at + 1),
        patterns: web.shelf().patterns(&key),
        one_more: one_more(&web, &key),
        put: visit.action(&web, &frame.root, &format!("c/{}/targets", segment(&name))),
        connection: name,
        frame,
    };
    Ok(html(StatusCode::OK, &page))
}

/// In figures of a day, and whether the limits keep it up.
fn one_more(web: &WebState, key: &ConnectionKey) -> Option<String> {
    let now = web.shelf().what_if(key, &WhatIf::default()).ok()?;
    let then = web.shelf().what_if(key, &WhatIf { targets: Some(now.targets + 1), ..WhatIf::default() }).ok()?;
    let (before, after) = (now.figures.requests_per_day, then.figures.requests_per_day);
    let every = show::exact(then.figures.effective_interval_seconds);
    Some(
        texts::t("targets-one-more-that-is")
            .with("after", show::count(after))
            .with("before", show::count(before))
            .with("every", &every)
            .plain(),
    )
}

fn row(face: &Face, visit: &Visit, target: &TargetView) -> Row {
    Row {
        href: format!("t/{}{}", segment(&target.name), visit.suffix()),
        phase: target.phase,
        chip: Chip::turning(target.state, &target.turns),
        items: show::count(target.item_count),
        age: target.aged_since.map(|at| Age::since(face, at)),
        name: target.name.clone(),
    }
}

/// `name`, `pattern`, `phase`.
pub async fn put(State(web): State<WebState>, Path(connection): Path<String>, sent: Sent) -> Result<Response, Problem> {
    let connection = sent.connection(connection)?;
    let name = sent.form.get("name").map(str::trim).filter(|name| !name.is_empty());
    let name = name.ok_or_else(|| Problem::bad_request("The form does not name the target."))?;
    let body = json!({ "pattern": sent.form.get("pattern").unwrap_or_default() }).to_string();
    let key = TargetKey { connection, target: TargetName(name.to_owned()) };
    web.shelf().put_target(&key, &body, Some(phase(&sent.form)?), sent.by()).await?;
    let there = format!("{}/t/{}", segment(key.connection.connection.as_str()), segment(name));
    Ok(back(&format!("../{there}"), &key.connection.organization, ""))
}

/// `phase=stopped`.
pub async fn change(
    State(web): State<WebState>,
    Path((connection, target)): Path<(String, String)>,
    sent: Sent,
) -> Result<Response, Problem> {
    let key = sent.target(connection, target)?;
    web.shelf().set_phase(&key, phase(&sent.form)?, sent.by()).await?;
    Ok(back(&format!("../{}", segment(key.target.as_str())), &key.connection.organization, ""))
}

pub async fn remove(
    State(web): State<WebState>,
    Path((connection, target)): Path<(String, String)>,
    sent: Sent,
) -> Result<Response, Problem> {
    let key = sent.target(connection, target)?;
    web.shelf().drop_target(&key, sent.by()).await?;
    let there = segment(key.connection.connection.as_str());
    Ok(back(&format!("../../../{there}"), &key.connection.organization, "#targets"))
}

fn phase(form: &Form) -> Result<Phase, Problem> {
    let found = form.get("phase").and_then(Phase::from_word);
    found.ok_or_else(|| Problem::bad_request("The form does not say in which phase the target is to be."))
}
