//! `/activity`: everything that happened, newest first, by pages; of one connection or of one kind where that is asked for.

use super::history::{Numbered, ways};
use super::overview::{Activity, line};
use super::{Asked, Frame, Visit, html};
use crate::domain::cursor::EventsAsk;
use crate::domain::event::EventKind;
use crate::domain::ids::{ConnectionKey, ConnectionName};
use crate::engine::view::EventView;
use crate::web::WebState;
use crate::web::api::history::{cursor, kind};
use crate::web::errors::Problem;
use crate::web::texts;
use askama::Template;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;

const LINES: usize = 50;

#[derive(Template)]
#[template(path = "activities.html")]
struct Page {
    frame: Frame,
    connections: Vec<Choice>,
    kinds: Vec<Choice>,
    activity: Vec<Activity>,
    newer: Option<String>,
    older: Option<String>,
}

struct Choice {
    value: String,
    name: String,
    chosen: bool,
}

#[derive(Default, serde::Deserialize)]
pub struct Query {
    connection: Option<String>,
    kind: Option<String>,
}

impl Numbered for EventView {
    fn number(&self) -> u64 {
        self.id.0
    }
}

pub async fn page(State(web): State<WebState>, visit: Visit, Asked(query): Asked<Query>) -> Result<Response, Problem> {
    let face = visit.face(&web);
    let said = |text: Option<String>| text.filter(|t| !t.is_empty());
    let (connection, word) = (said(query.connection), said(query.kind));
    let from = cursor(visit.query.after, visit.query.before)?;
    let page = web.shelf().activity(&EventsAsk {
        from,
        organization: Some(visit.organization.clone()),
        connection: connection.clone().map(ConnectionName),
        kind: word.as_deref().map(kind).transpose()?,
        audience: visit.viewer.audience(),
        limit: LINES,
    })?;
    let (newer, older) = ways(from, &page);
    let way = |(name, number): (&str, u64)| {
        let number = number.to_string();
        let pairs = [("connection", connection.as_deref()), ("kind", word.as_deref()), (name, Some(number.as_str()))];
        super::history::tail(&visit, &pairs)
    };
    let frame = visit.frame(&web, &face, None);
    let page = Page {
        connections: connections(&web, &visit, connection.as_deref()),
        kinds: kinds(&visit, word.as_deref()),
        newer: newer.map(way),
        older: older.map(way),
        activity: page.rows.into_iter().rev().map(|e| line(&face, &frame.root, e)).collect(),
        frame,
    };
    Ok(html(StatusCode::OK, &page))
}

/// The newest lines for another page, newest first.
pub fn newest(
    web: &WebState,
    visit: &Visit,
    connection: Option<&ConnectionKey>,
    limit: usize,
) -> Result<Vec<EventView>, Problem> {
    let organization = Some(visit.organization.clone());
    let connection = connection.map(|key| key.connection.clone());
    let audience = visit.viewer.audience();
    let page =
        web.shelf().activity(&EventsAsk { organization, connection, audience, limit, ..EventsAsk::default() })?;
    Ok(page.rows.into_iter().rev().collect())
}

fn all(chosen: bool) -> Choice {
    Choice { value: String::new(), name: texts::t("any-all").plain(), chosen }
}

fn connections(web: &WebState, visit: &Visit, chosen: Option<&str>) -> Vec<Choice> {
    let choice = |name: String| Choice { chosen: chosen == Some(name.as_str()), value: name.clone(), name };
    std::iter::once(all(chosen.is_none()))
        .chain(web.shelf().names(&visit.organization).into_iter().map(choice))
        .collect()
}

/// Those that are kept: an unchanged answer is a hint and no more.
fn kinds(visit: &Visit, chosen: Option<&str>) -> Vec<Choice> {
    let is_for_them = |kind: &&EventKind| kind.is_durable() && visit.viewer.audience().may_see(**kind);
    let kept = EventKind::ALL.iter().filter(is_for_them).map(|kind| kind.word());
    let choice =
        |word: &str| Choice { value: word.to_owned(), name: word.replace('_', " "), chosen: chosen == Some(word) };
    std::iter::once(all(chosen.is_none())).chain(kept.map(choice)).collect()
}
