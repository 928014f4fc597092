//! `/c/{connection}/setup`: a connection on trial. Each target can be asked once, with its cost told before; the page shows the answer and what was
//! read in it; then the connection is saved, and polled from now on, or thrown away.

use super::super::actions::{Sent, back};
use super::super::show;
use super::super::{Action, Frame, Visit, html, segment};
use super::tried::{self, Tried};
use crate::domain::ids::{TargetKey, TargetName};
use crate::engine::plans::WhatIf;
use crate::engine::view::Denied;
use crate::web::WebState;
use crate::web::errors::Problem;
use crate::web::texts::{self, Text};
use askama::Template;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;

/// More are not offered one by one.
const MOST_TARGETS: usize = 12;

#[derive(Template)]
#[template(path = "trial.html")]
struct Page {
    frame: Frame,
    name: String,
    href: String,
    credential_href: String,
    targets_href: String,
    written: Text,
    on_trial: bool,
    is_stored: bool,
    lacks_secret: bool,
    /// What it will ask once it is saved.
    plan: Option<String>,
    targets: Vec<Trial>,
    test: Action,
    save: Action,
    discard: Action,
}

struct Trial {
    name: String,
    edit_href: String,
    /// In requests, or why it cannot be asked now.
    cost: String,
    can_be_asked: bool,
    tried: Tried,
}

pub async fn page(State(web): State<WebState>, Path(name): Path<String>, visit: Visit) -> Result<Response, Problem> {
    let face = visit.face(&web);
    let frame = visit.frame(&web, &face, Some(&name));
    let (desk, key) = (web.shelf().appliance()?, visit.connection(&name));
    let origin = desk.origin(&key)?;
    let mut targets = Vec::new();
    for target in desk.targets(&key)?.into_iter().take(MOST_TARGETS) {
        let (cost, can_be_asked) = match desk.probe_cost(&key, Some(&target.name)).await {
            Ok(probe) => (probe.refused.clone().unwrap_or_else(|| tried::cost(&probe)), probe.refused.is_none()),
            Err(Denied::Invalid(why) | Denied::NotFound(why)) => (why, false),
            Err(denied) => return Err(denied.into()),
        };
        let target_key = TargetKey { connection: key.clone(), target: TargetName(target.name.clone()) };
        targets.push(Trial {
            tried: Tried::of(&face, desk.preview(&target_key, None)?),
            edit_href: format!("t/{}/edit{}", segment(&target.name), visit.suffix()),
            name: target.name,
            cost,
            can_be_asked: can_be_asked && !origin.lacks_secret,
        });
    }
    let plan = desk.what_if(&key, &WhatIf::default()).ok().map(|plan| {
        let (every, day) = (plan.figures.effective_interval_seconds, plan.figures.requests_per_day);
        texts::t("trial-once-it-is-saved").with("every", show::exact(every)).with("day", show::count(day)).plain()
    });
    let action = |what: &str| visit.action(&web, &frame.root, &format!("c/{}/setup/{what}", segment(&name)));
    let page = Page {
        href: format!("{}{}", segment(&name), visit.suffix()),
        credential_href: format!("credential{}", visit.suffix()),
        targets_href: format!("targets{}", visit.suffix()),
        written: match &origin.stored {
            Some((by, at)) => texts::t("trial-written-here-by").with("by", by).with("at", face.moment(*at)),
            None => texts::t("trial-written-in-larder-toml"),
        },
        on_trial: origin.on_trial,
        is_stored: origin.stored.is_some(),
        lacks_secret: origin.lacks_secret,
        plan,
        targets,
        test: action("test"),
        save: action("save"),
        discard: action("discard"),
        name,
        frame,
    };
    Ok(html(StatusCode::OK, &page))
}

/// `target`. One request.
pub async fn test(
    State(web): State<WebState>,
    Path(connection): Path<String>,
    sent: Sent,
) -> Result<Response, Problem> {
    let target = sent.form.get("target").unwrap_or_default().to_owned();
    let key = sent.target(connection, target)?;
    web.shelf().appliance()?.try_out(&key, sent.by()).await?;
    Ok(back("../setup", &key.connection.organization, "#targets"))
}

pub async fn save(
    State(web): State<WebState>,
    Path(connection): Path<String>,
    sent: Sent,
) -> Result<Response, Problem> {
    let key = sent.connection(connection)?;
    web.shelf().appliance()?.save(&key, sent.by()).await?;
    Ok(back(&format!("../../{}", segment(key.connection.as_str())), &key.organization, ""))
}

pub async fn discard(
    State(web): State<WebState>,
    Path(connection): Path<String>,
    sent: Sent,
) -> Result<Response, Problem> {
    let key = sent.connection(connection)?;
    web.shelf().appliance()?.discard(&key, sent.by()).await?;
    Ok(back("../../../setup", &key.organization, ""))
}
