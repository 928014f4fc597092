//! The configuration as one text, out and in. Only for an admin, or over the unix socket.

use super::bodies::ConfigurationBody;
use super::{Ask, json, object};
use crate::engine::setup::ImportView;
use crate::web::WebState;
use crate::web::errors::{Kind, Problem};
use axum::body::Bytes;
use axum::extract::State;
use axum::response::Response;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

#[derive(Serialize, ToSchema)]
struct Configuration {
    /// As `larder.toml` says it.
    text: String,
}

/// The whole configuration as one text: what the file says, and behind it what is written in the browser. No secret is in it. Only for admins.
#[utoipa::path(
    get, path = "/configuration", operation_id = "configuration", tag = "Installation",
    responses((status = 200, description = "The text.", body = Configuration)),
)]
pub async fn export(State(web): State<WebState>, ask: Ask) -> Result<Response, Problem> {
    ask.may_administer()?;
    Ok(json(Configuration { text: web.shelf().export()? }))
}

/// Takes in the connections of a text, each on trial; without `take` it is only looked at. Only for admins.
#[utoipa::path(
    post, path = "/configuration", operation_id = "take_in_configuration", tag = "Installation", request_body = ConfigurationBody,
    responses((status = 200, description = "What becomes of each connection of it.", body = ImportView)),
)]
pub async fn import(State(web): State<WebState>, ask: Ask, body: Bytes) -> Result<Response, Problem> {
    ask.may_administer()?;
    let wanted = object(&ask.headers, &body)?;
    let text = wanted.get("text").and_then(Value::as_str);
    let text =
        text.ok_or_else(|| Problem::new(Kind::Invalid, "The body needs \"text\", the text of a larder.toml."))?;
    let takes = wanted.get("take").and_then(Value::as_bool) == Some(true);
    Ok(json(web.shelf().import(text, takes.then_some(ask.by())).await?))
}
