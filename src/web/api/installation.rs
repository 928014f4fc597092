//! What concerns the whole installation: tokens and backups. Only for an admin, or over the unix socket.

use super::{Ask, json, json_with, object, sentence};
use crate::domain::ids::Organization;
use crate::engine::appliance::TokenInfo;
use crate::engine::polling::PollingControls;
use crate::web::WebState;
use crate::web::errors::{Kind, Problem};
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::{Map, Value};

/// `{"tokens": [{id, name, role, organization, created_at, revoked_at}]}`; never a token's text.
pub async fn tokens(State(web): State<WebState>, ask: Ask) -> Result<Response, Problem> {
    ask.may_administer()?;
    let tokens: Vec<Value> = web.shelf().tokens()?.iter().map(shown).collect();
    Ok(json(serde_json::json!({ "tokens": tokens })))
}

fn shown(t: &TokenInfo) -> Value {
    serde_json::json!({
        "id": t.id, "name": t.name, "role": t.role, "organization": t.organization,
        "created_at": t.created_at, "revoked_at": t.revoked_at,
    })
}

/// `{name, role, organization?}` -> 201 `{"token": text}`: the only time that the text is told.
pub async fn create_token(State(web): State<WebState>, ask: Ask, body: Bytes) -> Result<Response, Problem> {
    ask.may_administer()?;
    let wanted = object(&ask.headers, &body)?;
    let name = text(&wanted, "name")?;
    let role = text(&wanted, "role")?;
    let organization = wanted.get("organization").and_then(Value::as_str).map(Organization::from).unwrap_or_default();
    let token = web.shelf().create_token(name, role, &organization).await?;
    Ok(json_with(StatusCode::CREATED, serde_json::json!({ "token": token })))
}

pub async fn revoke_token(State(web): State<WebState>, Path(id): Path<u64>, ask: Ask) -> Result<Response, Problem> {
    ask.may_administer()?;
    web.shelf().revoke_token(id).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// The polling of the whole process, as configured and as set.
pub async fn polling(State(web): State<WebState>, _: Ask) -> Result<Response, Problem> {
    Ok(json(web.shelf().polling().await?))
}

/// `PATCH`: `enabled` and `workers`; null clears.
pub async fn change_polling(State(web): State<WebState>, ask: Ask, body: Bytes) -> Result<Response, Problem> {
    ask.may_administer()?;
    let wanted = PollingControls::read(&object(&ask.headers, &body)?);
    let wanted = wanted.map_err(|why| Problem::new(Kind::Invalid, sentence(&why)))?;
    Ok(json(web.shelf().change_polling(wanted, ask.viewer.by()).await?))
}

/// `{destination}`, an absolute path on the appliance's machine -> `{"message": sentence}`.
pub async fn backup(State(web): State<WebState>, ask: Ask, body: Bytes) -> Result<Response, Problem> {
    ask.may_administer()?;
    let wanted = object(&ask.headers, &body)?;
    let destination = std::path::Path::new(text(&wanted, "destination")?);
    if !destination.is_absolute() {
        return Err(Problem::new(
            Kind::Invalid,
            "The destination has to be an absolute path on the appliance's machine.",
        ));
    }
    let message = web.shelf().backup(destination).await?;
    Ok(json(serde_json::json!({ "message": message })))
}

fn text<'a>(object: &'a Map<String, Value>, name: &str) -> Result<&'a str, Problem> {
    let text = object.get(name).and_then(Value::as_str).filter(|t| !t.is_empty() && t.len() <= 4096);
    text.ok_or_else(|| Problem::new(Kind::Invalid, format!("The body needs {name:?}, a text.")))
}
