//! What the owners should know, as JSON.

use super::{Ask, Known, Paging, json};
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
    after: Option<u64>,
    limit: Option<usize>,
}

impl Known for Filter {
    const NAMES: &'static [&'static str] = &["connection", "open", "after", "limit"];
}

/// `GET /findings` -> `{"findings": [{id, organization, connection, target, kind, subject, opened_at, last_seen_at, count,
/// closed_at, sentence, detail}], "next"}`, oldest first: the newest of them, or those after `after`.
pub async fn list(State(web): State<WebState>, ask: Ask<Filter>) -> Result<Response, Problem> {
    let which = match ask.query.open.as_deref() {
        None | Some("false") => Which::All,
        Some("true") => Which::Open,
        Some(_) => return Err(Problem::bad_request("\"open\" is true or false.")),
    };
    let Filter { connection, after, limit, .. } = ask.query;
    let paging = Paging { after, limit };
    let connection = connection.map(ConnectionName);
    let wanted = Wanted { organization: Some(ask.organization), connection, which };
    let findings = web.shelf().findings(&wanted, after, paging.limit())?;
    let next = findings.last().map(|f| f.id.0).or(after);
    Ok(json(serde_json::json!({ "findings": findings, "next": next })))
}
