//! What concerns the whole installation: operators, tokens and backups. Only for an admin, or over the unix socket.

use super::bodies::{BackupBody, ClaimBody, PollingBody, TokenBody};
use super::{Ask, json, json_with, object, sentence};
use crate::domain::ids::Organization;
use crate::domain::time::Span;
use crate::engine::access::operators::OperatorView;
use crate::engine::access::tokens::{NewToken, TokenInfo};
use crate::engine::polling::PollingControls;
use crate::engine::view::{PollingView, When};
use crate::web::WebState;
use crate::web::errors::{Kind, Problem};
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

#[derive(Serialize, ToSchema)]
struct Tokens {
    tokens: Vec<TokenView>,
}

/// A token, without its text.
#[derive(Serialize, ToSchema)]
struct TokenView {
    id: u64,
    name: String,
    role: String,
    organization: String,
    created_at: When,
    revoked_at: Option<When>,
    /// From then on it opens nothing; null: until it is revoked.
    expires_at: Option<When>,
    /// To the minute.
    used_at: Option<When>,
}

impl From<TokenInfo> for TokenView {
    fn from(t: TokenInfo) -> TokenView {
        let TokenInfo { id, name, role, organization, created_at, revoked_at, expires_at, used_at } = t;
        TokenView { id, name, role, organization: organization.0, created_at, revoked_at, expires_at, used_at }
    }
}

/// The text of a new token: this is the only time that it is told.
#[derive(Serialize, ToSchema)]
struct MadeToken {
    token: String,
}

#[derive(Serialize, ToSchema)]
struct Operators {
    operators: Vec<OperatorView>,
}

/// A claim code: this is the only time that it is told.
#[derive(Serialize, ToSchema)]
struct ClaimCode {
    code: String,
    until: When,
}

#[derive(Serialize, ToSchema)]
struct BackedUp {
    /// What was made, in a sentence.
    message: String,
}

/// Every token of the installation, never their texts. Only for admins.
#[utoipa::path(
    get, path = "/tokens", operation_id = "tokens", tag = "Installation",
    responses((status = 200, description = "Those in force and those that were revoked.", body = Tokens)),
)]
pub async fn tokens(State(web): State<WebState>, ask: Ask) -> Result<Response, Problem> {
    ask.may_administer()?;
    let tokens = web.shelf().tokens()?.into_iter().map(TokenView::from).collect();
    Ok(json(Tokens { tokens }))
}

/// Makes a token. Only for admins.
#[utoipa::path(
    post, path = "/tokens", operation_id = "create_token", tag = "Installation", request_body = TokenBody,
    responses((status = 201, description = "Its text, told this once.", body = MadeToken)),
)]
pub async fn create_token(State(web): State<WebState>, ask: Ask, body: Bytes) -> Result<Response, Problem> {
    ask.may_administer()?;
    let wanted = object(&ask.headers, &body)?;
    let name = text(&wanted, "name")?;
    let role = text(&wanted, "role")?;
    let organization = wanted.get("organization").and_then(Value::as_str).map(Organization::from).unwrap_or_default();
    let lasts = wanted.get("expires_in").filter(|value| !value.is_null());
    let lasts = lasts.map(|value| Span::parse(value.as_str().unwrap_or_default())).transpose();
    let lasts = lasts.map_err(|why| Problem::new(Kind::Invalid, sentence(&why)))?;
    let wanted = NewToken { name: name.to_owned(), role: role.to_owned(), organization, lasts };
    let token = web.shelf().create_token(wanted, ask.by()).await?;
    Ok(json_with(StatusCode::CREATED, MadeToken { token }))
}

/// Revokes a token. Only for admins.
#[utoipa::path(
    delete, path = "/tokens/{token}", operation_id = "revoke_token", tag = "Installation",
    responses((status = 204, description = "It opens nothing any more.")),
)]
pub async fn revoke_token(State(web): State<WebState>, Path(id): Path<u64>, ask: Ask) -> Result<Response, Problem> {
    ask.may_administer()?;
    web.shelf().revoke_token(id, ask.by()).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// Who may sign in, and where each is signed in. Only for admins.
#[utoipa::path(
    get, path = "/operators", operation_id = "operators", tag = "Installation",
    responses((status = 200, description = "Every operator, never a password.", body = Operators)),
)]
pub async fn operators(State(web): State<WebState>, ask: Ask) -> Result<Response, Problem> {
    ask.may_administer()?;
    Ok(json(Operators { operators: web.shelf().operators()? }))
}

/// Makes a claim code: with it somebody becomes an operator or sets a new password at `/claim`, once, within half an hour. Only for admins.
#[utoipa::path(
    post, path = "/operators/claims", operation_id = "issue_claim", tag = "Installation", request_body = ClaimBody,
    responses((status = 201, description = "The code, told this once.", body = ClaimCode)),
)]
pub async fn issue_claim(State(web): State<WebState>, ask: Ask, body: Bytes) -> Result<Response, Problem> {
    ask.may_administer()?;
    let wanted = object(&ask.headers, &body)?;
    let operator = match wanted.get("operator") {
        None | Some(Value::Null) => None,
        Some(_) => Some(text(&wanted, "operator")?),
    };
    let issued = web.shelf().issue_claim(operator, ask.by()).await?;
    Ok(json_with(StatusCode::CREATED, ClaimCode { code: issued.code, until: issued.until }))
}

/// The polling of the whole process, as configured and as set.
#[utoipa::path(
    get, path = "/polling", operation_id = "polling", tag = "Installation",
    responses((status = 200, description = "The switch, and how many requests are under way at once.", body = PollingView)),
)]
pub async fn polling(State(web): State<WebState>, _: Ask) -> Result<Response, Problem> {
    Ok(json(web.shelf().polling().await?))
}

/// Switches the polling of the whole process, or says how much is under way at once. Only for admins.
///
/// `enabled` and `workers`; null clears what was set.
#[utoipa::path(
    patch, path = "/polling", operation_id = "change_polling", tag = "Installation", request_body = PollingBody,
    responses((status = 200, description = "As it is in force now.", body = PollingView)),
)]
pub async fn change_polling(State(web): State<WebState>, ask: Ask, body: Bytes) -> Result<Response, Problem> {
    ask.may_administer()?;
    let wanted = PollingControls::read(&object(&ask.headers, &body)?);
    let wanted = wanted.map_err(|why| Problem::new(Kind::Invalid, sentence(&why)))?;
    Ok(json(web.shelf().change_polling(wanted, ask.by()).await?))
}

/// Makes a verified copy of the data file, while it is in use. Only for admins.
#[utoipa::path(
    post, path = "/backup", operation_id = "backup", tag = "Installation", request_body = BackupBody,
    responses((status = 200, description = "It is made, and whole.", body = BackedUp)),
)]
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
    Ok(json(BackedUp { message }))
}

fn text<'a>(object: &'a Map<String, Value>, name: &str) -> Result<&'a str, Problem> {
    let text = object.get(name).and_then(Value::as_str).filter(|t| !t.is_empty() && t.len() <= 4096);
    text.ok_or_else(|| Problem::new(Kind::Invalid, format!("The body needs {name:?}, a text.")))
}
