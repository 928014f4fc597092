//! What the owners should know, as JSON.

use super::{Ask, Paging, json};
use crate::domain::finding::{Wanted, Which};
use crate::domain::ids::ConnectionName;
use crate::web::WebState;
use crate::web::errors::Problem;
use axum::extract::State;
use axum::response::Response;

/// `?connection=` (of one connection) and `?open=true` (without the closed ones), beside `after` and `limit`.
#[derive(serde::Deserialize)]
pub struct Filter {
    connection: Option<String>,
    open: Option<String>,
}

/// `GET /findings` -> `{"findings": [{id, organization, connection, target, kind, subject, opened_at, last_seen_at, count,
/// closed_at, sentence, detail}], "next"}`, oldest first: the newest of them, or those after `after`.
pub async fn list(State(web): State<WebState>, filter: Ask<Filter>, ask: Ask<Paging>) -> Result<Response, Problem> {
    let which = match filter.query.open.as_deref() {
        None | Some("false") => Which::All,
        Some("true") => Which::Open,
        Some(_) => return Err(Problem::bad_request("\"open\" is true or false.")),
    };
    let Paging { after, .. } = ask.query;
    let connection = filter.query.connection.map(ConnectionName);
    let wanted = Wanted { organization: Some(ask.organization), connection, which };
    let findings = web.shelf().findings(&wanted, after, ask.query.limit())?;
    let next = findings.last().map(|f| f.id.0).or(after);
    Ok(json(serde_json::json!({ "findings": findings, "next": next })))
}
