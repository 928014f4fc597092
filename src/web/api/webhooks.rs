//! A connection's webhooks, as JSON: how far they are, what was given up, and what can be done about it.

use super::{Ask, json, json_with};
use crate::engine::view::{WebhookTestView, WebhookView};
use crate::web::WebState;
use crate::web::errors::Problem;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use serde::Serialize;
use utoipa::ToSchema;

#[derive(Serialize, ToSchema)]
struct Webhooks {
    webhooks: Vec<WebhookView>,
}

#[derive(Serialize, ToSchema)]
struct Redelivering {
    /// Dead letters that are sent once more.
    redelivering: u64,
}

/// Where the connection's events are posted to: how far, and what was given up.
#[utoipa::path(
    get, path = "/connections/{connection}/webhooks", operation_id = "webhooks", tag = "Webhooks",
    responses((status = 200, description = "Every webhook of the connection.", body = Webhooks)),
)]
pub async fn list(State(web): State<WebState>, Path(name): Path<String>, ask: Ask) -> Result<Response, Problem> {
    let webhooks = web.shelf().webhooks(&ask.connection(name)).await?;
    Ok(json(Webhooks { webhooks }))
}

/// Sends every dead letter once more.
#[utoipa::path(
    post, path = "/connections/{connection}/webhooks/{webhook}/redeliver", operation_id = "redeliver", tag = "Webhooks",
    responses((status = 202, description = "They are about to be sent.", body = Redelivering)),
)]
pub async fn redeliver(
    State(web): State<WebState>,
    Path((connection, webhook)): Path<(String, String)>,
    ask: Ask,
) -> Result<Response, Problem> {
    ask.may_change()?;
    let number = web.shelf().redeliver(&ask.connection(connection), &webhook, ask.by()).await?;
    Ok(json_with(StatusCode::ACCEPTED, Redelivering { redelivering: number }))
}

/// Sends a message to see whether it arrives.
#[utoipa::path(
    post, path = "/connections/{connection}/webhooks/{webhook}/test", operation_id = "test_webhook", tag = "Webhooks",
    responses((status = 200, description = "What came of it.", body = WebhookTestView)),
)]
pub async fn test(
    State(web): State<WebState>,
    Path((connection, webhook)): Path<(String, String)>,
    ask: Ask,
) -> Result<Response, Problem> {
    ask.may_change()?;
    let heard = web.shelf().test_webhook(&ask.connection(connection), &webhook, ask.by()).await?;
    Ok(json(heard))
}
