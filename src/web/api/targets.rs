//! Targets, and the refresh by hand, as JSON.

use super::bodies::{PhaseBody, TargetBody};
use super::{Ask, ByName, Known, PAGE_MAX, json, json_with, object};
use crate::domain::cursor::{Edge, ItemsAsk};
use crate::domain::target::Phase;
use crate::engine::view::{Denied, RefreshView, TargetView};
use crate::web::WebState;
use crate::web::errors::{Kind, Problem};
use crate::web::headers;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

#[derive(Serialize, ToSchema)]
struct Targets {
    targets: Vec<TargetView>,
    /// What to give as `after` for those behind these; null: there are none.
    next: Option<String>,
}

/// The targets of a connection, without their items.
#[utoipa::path(
    get, path = "/connections/{connection}/targets", operation_id = "targets", tag = "Targets", params(ByName),
    responses((status = 200, description = "Configured and put ones in the order of their names; `items` is empty here.", body = Targets)),
)]
pub async fn list(
    State(web): State<WebState>,
    Path(name): Path<String>,
    ask: Ask<ByName>,
) -> Result<Response, Problem> {
    let key = ask.connection(name);
    let page = web.shelf().targets_page(&key, ask.query.after.as_deref(), ask.query.limit())?;
    let list = json(Targets { targets: page.rows, next: page.on.clone() });
    Ok(ask.linked(list, "next", "after", page.on.as_deref()))
}

/// Which of its items.
#[derive(serde::Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct Items {
    /// Goes on after the item with this key: what `next` said. Without it the first.
    after: Option<String>,
    /// Items of an answer; 1000 unless said, which is the most.
    #[param(minimum = 0)]
    limit: Option<usize>,
}

impl Known for Items {
    const NAMES: &'static [&'static str] = &["after", "limit"];
}

/// One target with its items, from the shelf: costs the provider nothing.
///
/// It answers 200 in every state: the state, the age and why it is not newer are part of the answer. The items come in the order of their keys.
#[utoipa::path(
    get, path = "/connections/{connection}/targets/{target}", operation_id = "target", tag = "Targets", params(Items),
    responses((status = 200, description = "The last good answer.", body = TargetView, headers(
        ("Age" = Option<u64>, description = "Seconds since the last good answer, or of its reading where the provider dates it and it is older; absent where there was none."),
        ("Last-Modified" = Option<String>, description = "When the last good answer arrived."),
        ("Cache-Status" = String, description = "RFC 9211; a negative ttl says for how long it has been stale."),
    ))),
)]
pub async fn one(
    State(web): State<WebState>,
    Path((connection, target)): Path<(String, String)>,
    ask: Ask<Items>,
) -> Result<Response, Problem> {
    let from = ask.query.after.clone().map_or(Edge::First, Edge::After);
    let limit = ask.query.limit.unwrap_or(PAGE_MAX).clamp(1, PAGE_MAX);
    let view = web.shelf().target(&ask.target(connection, target), &ItemsAsk { from, limit, ..ItemsAsk::default() })?;
    let answer = headers::conditional(&ask.headers, &view, web.shelf().now().wall(), || json(&view));
    Ok(ask.linked(answer, "next", "after", view.next.as_deref()))
}

/// Asks the provider now, if the answer is old enough and the budget funds it.
#[utoipa::path(
    post, path = "/connections/{connection}/targets/{target}/refresh", operation_id = "refresh", tag = "Targets",
    responses(
        (status = 200, description = "The target, and whether the provider was asked for it.", body = RefreshView),
        (status = 409, description = "The connection is paused.", body = Problem, content_type = "application/problem+json"),
        (status = 422, description = "It cannot be asked by itself.", body = Problem, content_type = "application/problem+json"),
    ),
)]
pub async fn refresh(
    State(web): State<WebState>,
    Path((connection, target)): Path<(String, String)>,
    ask: Ask,
) -> Result<Response, Problem> {
    ask.may_change()?;
    let key = ask.target(connection, target);
    match web.shelf().refresh(&key, ask.by()).await {
        Ok(done) => {
            let headers = headers::shelf_headers(&done.target, web.shelf().now().wall());
            let mut response = json(&done);
            response.headers_mut().extend(headers);
            Ok(response)
        }
        Err(denied @ (Denied::NotYet { .. } | Denied::Paused(_))) => {
            let state = web.shelf().connection(&key.connection).ok().map(|c| c.state);
            Err(Problem::from(denied).in_state(state))
        }
        Err(denied) => Err(denied.into()),
    }
}

/// Puts a target while the appliance runs. Costs no request.
///
/// The keys of a `[[connection.target]]` as an object, with `pattern` for what it is like and `phase` for where it begins.
#[utoipa::path(
    put, path = "/connections/{connection}/targets/{target}", operation_id = "put_target", tag = "Targets", request_body = TargetBody,
    responses(
        (status = 200, description = "It was there, and has another question now.", body = TargetView),
        (status = 201, description = "It is new.", body = TargetView),
        (status = 409, description = "It stands in the configuration.", body = Problem, content_type = "application/problem+json"),
    ),
)]
pub async fn put(
    State(web): State<WebState>,
    Path((connection, target)): Path<(String, String)>,
    ask: Ask,
    body: Bytes,
) -> Result<Response, Problem> {
    ask.may_change()?;
    let mut body = object(&ask.headers, &body)?;
    let phase = body.remove("phase").map(|word| phase(Some(&word))).transpose()?;
    let key = ask.target(connection, target);
    let (view, is_new) = web.shelf().put_target(&key, &Value::Object(body).to_string(), phase, ask.by()).await?;
    Ok(json_with(if is_new { StatusCode::CREATED } else { StatusCode::OK }, view))
}

/// Puts a target into another phase.
///
/// `pending` fills the shelf only, `active` is asked at once and told of, the others rest.
#[utoipa::path(
    patch, path = "/connections/{connection}/targets/{target}", operation_id = "change_target", tag = "Targets", request_body = PhaseBody,
    responses((status = 200, description = "The target in its phase.", body = TargetView)),
)]
pub async fn change(
    State(web): State<WebState>,
    Path((connection, target)): Path<(String, String)>,
    ask: Ask,
    body: Bytes,
) -> Result<Response, Problem> {
    ask.may_change()?;
    let body = object(&ask.headers, &body)?;
    if let Some(unknown) = body.keys().find(|key| *key != "phase") {
        let detail = format!("{unknown:?} cannot be changed here; put the whole target anew. Known: \"phase\".");
        return Err(Problem::new(Kind::Invalid, detail));
    }
    let view = web.shelf().set_phase(&ask.target(connection, target), phase(body.get("phase"))?, ask.by()).await?;
    Ok(json(view))
}

fn phase(word: Option<&Value>) -> Result<Phase, Problem> {
    let found = word.and_then(Value::as_str).and_then(Phase::from_word);
    let words = || Phase::ALL.map(Phase::word).join(", ");
    found.ok_or_else(|| Problem::new(Kind::Invalid, format!("\"phase\" is one of: {}.", words())))
}

/// Takes a target away that was put; its items and history stay.
#[utoipa::path(
    delete, path = "/connections/{connection}/targets/{target}", operation_id = "drop_target", tag = "Targets",
    responses(
        (status = 204, description = "It is not asked any more."),
        (status = 409, description = "It stands in the configuration.", body = Problem, content_type = "application/problem+json"),
    ),
)]
pub async fn drop(
    State(web): State<WebState>,
    Path((connection, target)): Path<(String, String)>,
    ask: Ask,
) -> Result<Response, Problem> {
    ask.may_change()?;
    web.shelf().drop_target(&ask.target(connection, target), ask.by()).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}
