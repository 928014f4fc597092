//! A connection's webhooks, as JSON: how far they are, what was given up, and what can be done about it.

use super::{Ask, json, json_with};
use crate::web::WebState;
use crate::web::errors::Problem;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;

/// `GET .../webhooks` -> `{"webhooks": [{name, to, signed, events, state, sentence, waiting, delivered, dead_letters: [...], ...}]}`
pub async fn list(State(web): State<WebState>, Path(name): Path<String>, ask: Ask) -> Result<Response, Problem> {
    let webhooks = web.shelf().webhooks(&ask.connection(name)).await?;
    Ok(json(serde_json::json!({ "webhooks": webhooks })))
}

/// `POST .../webhooks/{w}/redeliver` -> 202 `{"redelivering": n}`: every dead letter is sent once more.
pub async fn redeliver(
    State(web): State<WebState>,
    Path((connection, webhook)): Path<(String, String)>,
    ask: Ask,
) -> Result<Response, Problem> {
    ask.may_change()?;
    let number = web.shelf().redeliver(&ask.connection(connection), &webhook, ask.viewer.by()).await?;
    Ok(json_with(StatusCode::ACCEPTED, serde_json::json!({ "redelivering": number })))
}

/// `POST .../webhooks/{w}/test` -> `{taken, status, sentence, took_seconds}`
pub async fn test(
    State(web): State<WebState>,
    Path((connection, webhook)): Path<(String, String)>,
    ask: Ask,
) -> Result<Response, Problem> {
    ask.may_change()?;
    let heard = web.shelf().test_webhook(&ask.connection(connection), &webhook, ask.viewer.by()).await?;
    Ok(json(heard))
}
