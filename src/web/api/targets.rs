//! Targets, and the refresh by hand, as JSON.

use super::{Ask, json, json_with, object};
use crate::domain::target::Phase;
use crate::engine::view::Denied;
use crate::web::WebState;
use crate::web::errors::{Kind, Problem};
use crate::web::headers;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::Value;

pub async fn list(State(web): State<WebState>, Path(name): Path<String>, ask: Ask) -> Result<Response, Problem> {
    Ok(json(serde_json::json!({ "targets": web.shelf().targets(&ask.connection(name))? })))
}

/// With items, and with the headers that say how old it is. Answers 200 in every state: the state is part of the answer.
pub async fn one(
    State(web): State<WebState>,
    Path((connection, target)): Path<(String, String)>,
    ask: Ask,
) -> Result<Response, Problem> {
    let view = web.shelf().target(&ask.target(connection, target))?;
    Ok(headers::conditional(&ask.headers, &view, web.shelf().now().wall(), || json(&view)))
}

/// Asks the provider, if the answer is old enough and the budget funds it: 200 with the target, else 429 and when.
pub async fn refresh(
    State(web): State<WebState>,
    Path((connection, target)): Path<(String, String)>,
    ask: Ask,
) -> Result<Response, Problem> {
    ask.may_change()?;
    let key = ask.target(connection, target);
    match web.shelf().refresh(&key, ask.viewer.by()).await {
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

/// `PUT`: the keys of a `[[connection.target]]` as an object, with `pattern` for what it is like and `phase` for where it begins. 201
/// where it is new.
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
    let (view, is_new) = web.shelf().put_target(&key, &Value::Object(body).to_string(), phase, ask.viewer.by()).await?;
    Ok(json_with(if is_new { StatusCode::CREATED } else { StatusCode::OK }, view))
}

/// `PATCH`: `{"phase": "pending" | "active" | "completed" | "inactive" | "stopped"}`.
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
    let view =
        web.shelf().set_phase(&ask.target(connection, target), phase(body.get("phase"))?, ask.viewer.by()).await?;
    Ok(json(view))
}

fn phase(word: Option<&Value>) -> Result<Phase, Problem> {
    let found = word.and_then(Value::as_str).and_then(Phase::from_word);
    let words = || Phase::ALL.map(Phase::word).join(", ");
    found.ok_or_else(|| Problem::new(Kind::Invalid, format!("\"phase\" is one of: {}.", words())))
}

/// `DELETE`: what it learned stays.
pub async fn drop(
    State(web): State<WebState>,
    Path((connection, target)): Path<(String, String)>,
    ask: Ask,
) -> Result<Response, Problem> {
    ask.may_change()?;
    web.shelf().drop_target(&ask.target(connection, target), ask.viewer.by()).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}
