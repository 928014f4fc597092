//! `/c/{connection}/t/{target}/edit`: the words of a target, and what other words would make of the answer that is kept, which costs nothing. What
//! the file says is shown and can be tried, and is changed in the file.

use super::super::actions::{Sent, back};
use super::super::{Action, Frame, Visit, html, segment};
use super::tried::Tried;
use crate::domain::ids::{TargetKey, TargetName};
use crate::web::WebState;
use crate::web::errors::Problem;
use crate::web::texts;
use askama::Template;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;

#[derive(Template)]
#[template(path = "rewrite.html")]
struct Page {
    frame: Frame,
    connection: String,
    connection_href: String,
    target: String,
    target_href: String,
    words: String,
    can_save: bool,
    units: u32,
    tried: Tried,
    wrong: Option<String>,
    change: Action,
}

pub async fn page(
    State(web): State<WebState>,
    Path((connection, target)): Path<(String, String)>,
    visit: Visit,
) -> Result<Response, Problem> {
    let key = TargetKey { connection: visit.connection(&connection), target: TargetName(target) };
    shown(&web, &visit, &key, None, None)
}

fn shown(
    web: &WebState,
    visit: &Visit,
    key: &TargetKey,
    words: Option<&str>,
    wrong: Option<String>,
) -> Result<Response, Problem> {
    let face = visit.face(web);
    let (connection, target) = (key.connection.connection.as_str(), key.target.as_str());
    let frame = visit.frame(web, &face, Some(connection));
    let desk = web.shelf().appliance()?;
    let preview = desk.preview(key, words)?;
    let (in_force, can_save) = desk.target_words(key)?;
    let address = format!("c/{}/t/{}/edit", segment(connection), segment(target));
    let status = if wrong.is_some() { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::OK };
    let page = Page {
        connection_href: format!("../../../{}{}", segment(connection), visit.suffix()),
        target_href: format!("../{}{}", segment(target), visit.suffix()),
        change: visit.action(web, &frame.root, &address),
        connection: connection.to_owned(),
        target: target.to_owned(),
        words: words.map_or(in_force, str::to_owned),
        can_save,
        units: preview.units,
        tried: Tried::of(&face, preview),
        wrong,
        frame,
    };
    Ok(html(status, &page))
}

/// `words`; with `save` they are in force, else tried.
pub async fn change(
    State(web): State<WebState>,
    Path((connection, target)): Path<(String, String)>,
    sent: Sent,
) -> Result<Response, Problem> {
    let key = sent.target(connection, target)?;
    let words = sent.form.get("words").unwrap_or_default().replace("\r\n", "\n");
    let wrong = match sent.form.get("save") {
        None => None,
        Some(_) => match web.shelf().appliance()?.rewrite_target(&key, &words, sent.by()).await {
            Ok(()) => {
                let there = format!("../{}", segment(key.target.as_str()));
                return Ok(back(&there, &key.connection.organization, ""));
            }
            Err(denied) => Some(super::wrong(denied)?),
        },
    };
    let (connection, target) = (segment(key.connection.connection.as_str()), segment(key.target.as_str()));
    let visit = sent.visit(&format!("/c/{connection}/t/{target}/edit"));
    shown(&web, &visit, &key, Some(&words), wrong)
}
