//! Connections, their ledger, their commands and jobs, as JSON.

use super::bodies::{ControlsBody, ParametersBody, SecretBody};
use super::{Ask, ByName, Known, Limit, Paging, json, json_with, object, sentence};
use crate::domain::ids::{JobId, Organization};
use crate::engine::controls::Controls;
use crate::engine::view::{ChargeView, ConnectionView, FeedView, JobView, ProbeView};
use crate::web::WebState;
use crate::web::errors::{Kind, Problem};
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use utoipa::{IntoParams, ToSchema};

/// Bytes that an `Idempotency-Key` may have.
const MAX_KEY: usize = 255;

#[derive(Serialize, ToSchema)]
struct Connections {
    connections: Vec<ConnectionView>,
    /// What to give as `after` for those behind these; null: there are none.
    next: Option<String>,
}

/// The connections of the organization.
#[utoipa::path(
    get, path = "/connections", operation_id = "connections", tag = "Connections", params(ByName),
    responses((status = 200, description = "In the order of their names.", body = Connections)),
)]
pub async fn list(State(web): State<WebState>, ask: Ask<ByName>) -> Result<Response, Problem> {
    let page = web.shelf().connections_page(&ask.organization, ask.query.after.as_deref(), ask.query.limit())?;
    let list = json(Connections { connections: page.rows, next: page.on.clone() });
    Ok(ask.linked(list, "next", "after", page.on.as_deref()))
}

/// One connection: its state, its limits and what is left of them, its polls.
#[utoipa::path(
    get, path = "/connections/{connection}", operation_id = "connection", tag = "Connections",
    responses((status = 200, description = "As it stands now.", body = ConnectionView)),
)]
pub async fn one(State(web): State<WebState>, Path(name): Path<String>, ask: Ask) -> Result<Response, Problem> {
    Ok(json(web.shelf().connection(&ask.connection(name))?))
}

/// Changes how a connection is polled.
///
/// Any of `enabled`, `interval` with `interval_for`, `inactivity_ttl`, `completion_grace`; null clears what an operator set, and what the file
/// says is in force again.
#[utoipa::path(
    patch, path = "/connections/{connection}", operation_id = "change_connection", tag = "Connections", request_body = ControlsBody,
    responses((status = 200, description = "The connection with what is in force now.", body = ConnectionView)),
)]
pub async fn change(
    State(web): State<WebState>,
    Path(name): Path<String>,
    ask: Ask,
    body: Bytes,
) -> Result<Response, Problem> {
    ask.may_change()?;
    let wanted =
        Controls::read(&object(&ask.headers, &body)?).map_err(|why| Problem::new(Kind::Invalid, sentence(&why)))?;
    Ok(json(web.shelf().change(&ask.connection(name), wanted, ask.by()).await?))
}

/// Sets another credential instead of the configured one.
///
/// It wins until it is cleared, is sealed in the data file and never shown again. Costs no request.
#[utoipa::path(
    put, path = "/connections/{connection}/credential", operation_id = "set_credential", tag = "Connections", request_body = SecretBody,
    responses((status = 200, description = "The connection; what begins from now on has the new secret.", body = ConnectionView)),
)]
pub async fn set_credential(
    State(web): State<WebState>,
    Path(name): Path<String>,
    ask: Ask,
    body: Bytes,
) -> Result<Response, Problem> {
    ask.may_change()?;
    let object = object(&ask.headers, &body)?;
    let secret = match (object.get("secret").and_then(Value::as_str), object.len()) {
        (Some(secret), 1) => secret.to_owned(),
        _ => return Err(Problem::new(Kind::Invalid, "The body is {\"secret\": \"...\"}, a text, and nothing else.")),
    };
    set(&web, &ask, name, Some(secret)).await
}

/// Clears the credential that was set: the configured one is in force again.
#[utoipa::path(
    delete, path = "/connections/{connection}/credential", operation_id = "clear_credential", tag = "Connections",
    responses((status = 200, description = "The connection with its configured credential.", body = ConnectionView)),
)]
pub async fn clear_credential(
    State(web): State<WebState>,
    Path(name): Path<String>,
    ask: Ask,
) -> Result<Response, Problem> {
    ask.may_change()?;
    set(&web, &ask, name, None).await
}

async fn set(web: &WebState, ask: &Ask, name: String, secret: Option<String>) -> Result<Response, Problem> {
    Ok(json(web.shelf().set_credential(&ask.connection(name), secret, ask.by()).await?))
}

/// Says what a probe would ask and cost, without asking.
#[utoipa::path(
    get, path = "/connections/{connection}/probe", operation_id = "probe_cost", tag = "Connections", params(Probe),
    responses((status = 200, description = "The question, its cost, and whether it could go now.", body = ProbeView)),
)]
pub async fn probe_cost(
    State(web): State<WebState>,
    Path(name): Path<String>,
    ask: Ask<Probe>,
) -> Result<Response, Problem> {
    Ok(json(web.shelf().probe_cost(&ask.connection(name), ask.query.target.as_deref()).await?))
}

/// Asks the provider one question, as the caller `probe`.
#[utoipa::path(
    post, path = "/connections/{connection}/probe", operation_id = "probe", tag = "Connections", params(Probe),
    responses(
        (status = 200, description = "What it said, and what that cost.", body = ProbeView),
        (status = 409, description = "The connection is paused.", body = Problem, content_type = "application/problem+json"),
        (status = 422, description = "There is nothing to ask.", body = Problem, content_type = "application/problem+json"),
    ),
)]
pub async fn probe(
    State(web): State<WebState>,
    Path(name): Path<String>,
    ask: Ask<Probe>,
) -> Result<Response, Problem> {
    ask.may_change()?;
    Ok(json(web.shelf().probe(&ask.connection(name), ask.query.target.as_deref(), ask.by()).await?))
}

#[derive(serde::Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct Probe {
    /// Which target's question; without it the cheapest.
    target: Option<String>,
}

impl Known for Probe {
    const NAMES: &'static [&'static str] = &["target"];
}

#[derive(Serialize, ToSchema)]
struct Scans {
    scans: Vec<FeedView>,
}

/// Readings that feed many targets: how old what they published is, and how the last one went.
#[utoipa::path(
    get, path = "/connections/{connection}/scans", operation_id = "scans", tag = "Connections",
    responses((status = 200, description = "Every scan of the connection.", body = Scans)),
)]
pub async fn scans(State(web): State<WebState>, Path(name): Path<String>, ask: Ask) -> Result<Response, Problem> {
    let scans = web.shelf().scans(&ask.connection(name))?;
    Ok(json(Scans { scans }))
}

#[derive(Serialize, ToSchema)]
struct Ledger {
    charges: Vec<ChargeView>,
    /// What to give as `after` to go on from here, also when nothing is there yet.
    next: Option<u64>,
}

/// The ledger: every request that was charged, and what became of it.
#[utoipa::path(
    get, path = "/connections/{connection}/ledger", operation_id = "ledger", tag = "Spending", params(Paging),
    responses((status = 200, description = "Oldest first: the newest of them, or those after `after`.", body = Ledger)),
)]
pub async fn ledger(
    State(web): State<WebState>,
    Path(name): Path<String>,
    ask: Ask<Paging>,
) -> Result<Response, Problem> {
    let (after, limit) = (ask.query.after, ask.query.limit());
    let charges = web.shelf().ledger(&ask.connection(name), after, limit)?;
    let next = charges.last().map(|c| c.id.0).or(after);
    Ok(ask.linked_on((after, limit), (charges.len(), next), json(Ledger { charges, next })))
}

#[derive(Serialize, ToSchema)]
struct Jobs {
    jobs: Vec<JobView>,
}

/// The newest jobs of a connection.
#[utoipa::path(
    get, path = "/connections/{connection}/jobs", operation_id = "jobs", tag = "Commands", params(Limit),
    responses((status = 200, description = "Newest first.", body = Jobs)),
)]
pub async fn jobs(State(web): State<WebState>, Path(name): Path<String>, ask: Ask<Limit>) -> Result<Response, Problem> {
    let jobs = web.shelf().jobs(&ask.connection(name), ask.query.limit())?;
    Ok(json(Jobs { jobs }))
}

/// One job: what became of a command.
///
/// A job of another organization is not found, whatever its number.
#[utoipa::path(
    get, path = "/jobs/{job}", operation_id = "job", tag = "Commands",
    responses((status = 200, description = "How far it is.", body = JobView)),
)]
pub async fn job(State(web): State<WebState>, Path(id): Path<String>, ask: Ask) -> Result<Response, Problem> {
    let not_found = || Problem::not_found("There is no such job.");
    let id = id.parse().map(JobId).map_err(|_| not_found())?;
    let job = web.shelf().job(id)?;
    if !ask.viewer.may_read(&Organization(job.organization.clone())) {
        return Err(not_found());
    }
    Ok(json(job))
}

/// Accepts a command as a durable job.
///
/// With the same `Idempotency-Key` it is accepted once, however often it is sent.
#[utoipa::path(
    post, path = "/connections/{connection}/commands/{command}", operation_id = "command", tag = "Commands", request_body = ParametersBody,
    params(("Idempotency-Key" = Option<String>, Header, description = "1 to 255 printable characters; the quoted form is the same key.")),
    responses((status = 202, description = "It is on the disk, and will be sent.", body = JobView,
        headers(("Location" = String, description = "The job, relative to this address.")))),
)]
pub async fn command(
    State(web): State<WebState>,
    Path((connection, command)): Path<(String, String)>,
    ask: Ask,
    body: Bytes,
) -> Result<Response, Problem> {
    ask.may_change()?;
    let parameters = parameters(object(&ask.headers, &body)?)?;
    let idempotency_key = idempotency_key(&ask.headers)?;
    let key = ask.connection(connection);
    let job = web.shelf().command(&key, &command, parameters, idempotency_key, ask.by()).await?;
    Ok(accepted(&job))
}

fn accepted(job: &JobView) -> Response {
    let mut response = json_with(StatusCode::ACCEPTED, job);
    // Relative to /api/v1/connections/{c}/commands/{name}, so that it holds behind a proxy's prefix too.
    let location = format!("../../../jobs/{}", job.id.0);
    if let Ok(value) = HeaderValue::from_str(&location) {
        response.headers_mut().insert(header::LOCATION, value);
    }
    response.into_response()
}

/// Texts, numbers and booleans, as text; the template percent-encodes them.
fn parameters(object: Map<String, Value>) -> Result<BTreeMap<String, String>, Problem> {
    let as_text = |(name, value): (String, Value)| match value {
        Value::String(text) => Ok((name, text)),
        Value::Number(n) => Ok((name, n.to_string())),
        Value::Bool(b) => Ok((name, b.to_string())),
        _ => Err(Problem::new(
            Kind::Invalid,
            format!("The parameter {name:?} has to be a text, a number, true or false."),
        )),
    };
    object.into_iter().map(as_text).collect()
}

/// As sent; a quoted string (draft-ietf-httpapi-idempotency-key-header) and the bare form are one key.
fn idempotency_key(headers: &HeaderMap) -> Result<Option<String>, Problem> {
    let Some(value) = headers.get("idempotency-key") else { return Ok(None) };
    let text = value.to_str().unwrap_or("").trim();
    let bare = text.strip_prefix('"').and_then(|t| t.strip_suffix('"')).unwrap_or(text);
    if bare.is_empty() || bare.len() > MAX_KEY {
        return Err(Problem::bad_request("Idempotency-Key has 1 to 255 printable characters."));
    }
    Ok(Some(bare.to_owned()))
}
