//! What the owners should know, as JSON.

use super::{Ask, Known, json, limited};
use crate::domain::finding::{Wanted, Which};
use crate::domain::ids::ConnectionName;
use crate::engine::view::FindingView;
use crate::web::WebState;
use crate::web::errors::Problem;
use axum::extract::State;
use axum::response::Response;
use serde::Serialize;
use utoipa::{IntoParams, ToSchema};

#[derive(serde::Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct Filter {
    /// Of one connection.
    connection: Option<String>,
    /// `true`: without those that are closed.
    #[param(value_type = Option<bool>)]
    open: Option<String>,
    /// Goes on after the finding with this number: what `next` said. Without it the newest.
    after: Option<u64>,
    /// Findings of an answer; 100 unless said, at most 1000.
    #[param(minimum = 0)]
    limit: Option<usize>,
}

#[derive(Serialize, ToSchema)]
struct Findings {
    findings: Vec<FindingView>,
    /// What to give as `after` to go on from here, also when nothing is there yet.
    next: Option<u64>,
}

impl Known for Filter {
    const NAMES: &'static [&'static str] = &["connection", "open", "after", "limit"];
}

/// What the owners should know: since when, how often seen, whether it is still so.
#[utoipa::path(
    get, path = "/findings", operation_id = "findings", tag = "What happened", params(Filter),
    responses((status = 200, description = "Oldest first: the newest of them, or those after `after`.", body = Findings)),
)]
pub async fn list(State(web): State<WebState>, ask: Ask<Filter>) -> Result<Response, Problem> {
    let which = match ask.query.open.as_deref() {
        None | Some("false") => Which::All,
        Some("true") => Which::Open,
        Some(_) => return Err(Problem::bad_request("\"open\" is true or false.")),
    };
    let (after, limit) = (ask.query.after, limited(ask.query.limit));
    let connection = ask.query.connection.clone().map(ConnectionName);
    let wanted = Wanted { organization: Some(ask.organization.clone()), connection, which };
    let findings = web.shelf().findings(&wanted, after, limit)?;
    let next = findings.last().map(|f| f.id.0).or(after);
    Ok(ask.linked_on((after, limit), (findings.len(), next), json(Findings { findings, next })))
}
