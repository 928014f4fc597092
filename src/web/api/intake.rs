//! Observations: answers that are pushed, as JSON. A batch is taken one by one; what becomes of one is no matter of the others.

use super::json;
use crate::domain::ids::{ConnectionKey, ConnectionName, Organization, TargetKey, TargetName};
use crate::domain::reply::Answer;
use crate::domain::time::Wall;
use crate::engine::intake::Observed;
use crate::engine::view::{BecameWord, ObservationView, When};
use crate::web::WebState;
use crate::web::access::Viewer;
use crate::web::access::guard::ByWhom;
use crate::web::errors::{Kind, Problem};
use axum::body::Bytes;
use axum::extract::{Extension, Query, State};
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Observations of one request.
pub const MOST: usize = 100;

/// Observations that are pushed together.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct ObservationsBody {
    /// What the sender's clock shows while it sends: where that is ahead of the appliance's, the ages are put right by it.
    #[schema(format = DateTime)]
    sent_at: Option<String>,
    #[schema(min_items = 1, max_items = 100)]
    observations: Vec<ObservationBody>,
}

/// An answer of the provider, as it was given to somebody else.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct ObservationBody {
    /// Made by the sender, another for each observation of a connection; the same again is the same observation.
    #[schema(min_length = 1, max_length = 128)]
    id: String,
    connection: String,
    target: String,
    /// When the provider gave it, by the sender's clock.
    #[schema(format = DateTime)]
    as_of: String,
    /// Of the provider's answer; 200 unless said.
    #[schema(minimum = 100, maximum = 599)]
    status: Option<u16>,
    /// Of the provider's answer; `application/json` unless said.
    content_type: Option<String>,
    /// The provider's answer, where it is JSON.
    answer: Option<serde_json::Value>,
    /// The provider's answer as it was, where it is not.
    text: Option<String>,
}

#[derive(Serialize, ToSchema)]
struct Observations {
    /// In the order of the request.
    results: Vec<ObservationResult>,
}

/// What became of one of them.
#[derive(Serialize, ToSchema)]
struct ObservationResult {
    id: String,
    /// 200: it is taken in, durably. Anything else is the status of a request with this one alone.
    status: u16,
    /// Why it is not.
    detail: Option<String>,
    #[schema(value_type = Option<BecameWord>)]
    became: Option<&'static str>,
    /// It had been taken in before: what became of it then.
    again: bool,
    as_of: Option<When>,
    received_at: Option<When>,
}

/// Whose connections are meant.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Whose {
    organization: Option<String>,
}

/// Pushes answers that the provider gave to somebody else: they become what their targets are shown by, with the age that they have.
///
/// For tokens with the role `agent`, `owner` or `admin`. An answer that is older than what is on the shelf changes nothing, whenever it comes. The same
/// observation again is answered as it was first. Of a request with one observation alone a refusal is the answer's own.
#[utoipa::path(
    post, path = "/intake/observations", operation_id = "observe", tag = "Targets", request_body = ObservationsBody,
    responses(
        (status = 200, description = "What became of each.", body = Observations),
        (status = 404, description = "There is no such connection or target.", body = Problem, content_type = "application/problem+json"),
        (status = 409, description = "The id stands for something else.", body = Problem, content_type = "application/problem+json"),
    ),
)]
pub async fn observe(
    State(web): State<WebState>,
    Extension(viewer): Extension<Viewer>,
    ByWhom(by): ByWhom,
    whose: Result<Query<Whose>, axum::extract::rejection::QueryRejection>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, Problem> {
    let Query(whose) = whose.map_err(|_| Problem::bad_request("There is one query parameter here: organization."))?;
    let organization = whose.organization.map_or_else(|| viewer.home(), |named| Organization::from(named.as_str()));
    if !viewer.may_push(&organization) {
        let detail = format!("This token may push nothing to the organization {organization}.");
        return Err(Problem::new(Kind::Forbidden, detail));
    }
    let ObservationsBody { sent_at, observations } = read(&headers, &body)?;
    let sent_at = sent_at.map(|text| moment("sent_at", &text)).transpose()?;
    let is_alone = observations.len() == 1;
    let mut results = Vec::with_capacity(observations.len());
    for one in observations {
        let id = one.id.clone();
        match take(&web, &organization, one, sent_at, &by).await {
            Err(problem) if is_alone => return Err(problem),
            Err(problem) => results.push(ObservationResult::refused(id, problem)),
            Ok(view) => results.push(ObservationResult::from(view)),
        }
    }
    Ok(json(Observations { results }).into_response())
}

async fn take(
    web: &WebState,
    organization: &Organization,
    one: ObservationBody,
    sent_at: Option<Wall>,
    by: &str,
) -> Result<ObservationView, Problem> {
    let as_of = moment("as_of", &one.as_of)?;
    let body = match (one.answer, one.text) {
        (Some(answer), None) => answer.to_string(),
        (None, Some(text)) => text,
        _ => return Err(invalid("An observation has either \"answer\", which is JSON, or \"text\".")),
    };
    let status = one.status.unwrap_or(200);
    if !(100..600).contains(&status) {
        return Err(invalid("\"status\" is one of HTTP: 100 to 599."));
    }
    let content_type = one.content_type.unwrap_or_else(|| "application/json".to_owned());
    let answer = Answer { status, headers: vec![("content-type".to_owned(), content_type)], body: body.into_bytes() };
    let connection = ConnectionKey { organization: organization.clone(), connection: ConnectionName(one.connection) };
    let key = TargetKey { connection, target: TargetName(one.target) };
    Ok(web.shelf().observe(&key, Observed { id: one.id, as_of, sent_at, answer }, by).await?)
}

fn read(headers: &HeaderMap, body: &[u8]) -> Result<ObservationsBody, Problem> {
    let object = super::object(headers, body)?;
    let body: ObservationsBody =
        serde_json::from_value(object.into()).map_err(|e| invalid(format!("These are no observations: {e}.")))?;
    match body.observations.len() {
        0 => Err(invalid("\"observations\" has none.")),
        n if n > MOST => Err(invalid(format!("\"observations\" has {n}, and one request takes {MOST} at most."))),
        _ => Ok(body),
    }
}

fn moment(key: &str, text: &str) -> Result<Wall, Problem> {
    let at: Result<jiff::Timestamp, _> = text.parse();
    at.map(|at| Wall(at.as_millisecond())).map_err(|_| {
        invalid(format!("\"{key}\" is a moment of RFC 3339 with its offset, such as 2026-12-01T04:20:00Z."))
    })
}

fn invalid(detail: impl Into<String>) -> Problem {
    Problem::new(Kind::Invalid, detail)
}

impl ObservationResult {
    fn refused(id: String, problem: Problem) -> ObservationResult {
        let status = problem.kind.status().as_u16();
        let detail = Some(problem.detail);
        ObservationResult { id, status, detail, became: None, again: false, as_of: None, received_at: None }
    }
}

impl From<ObservationView> for ObservationResult {
    fn from(view: ObservationView) -> ObservationResult {
        ObservationResult {
            id: view.id,
            status: 200,
            detail: None,
            became: Some(view.became),
            again: view.again,
            as_of: Some(view.as_of),
            received_at: Some(view.received_at),
        }
    }
}
