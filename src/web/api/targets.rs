//! Targets, and the refresh by hand, as JSON.

use super::{Ask, json};
use crate::engine::view::Denied;
use crate::web::WebState;
use crate::web::errors::Problem;
use crate::web::headers;
use axum::extract::{Path, State};
use axum::response::Response;

pub async fn list(State(web): State<WebState>, Path(name): Path<String>, ask: Ask) -> Result<Response, Problem> {
    Ok(json(serde_json::json!({ "targets": web.shelf().targets(&ask.connection(name))? })))
}

/// With items, and with the headers that say how old it is. Answers 200 in every state: the state is part of the answer.
pub async fn one(
    State(web): State<WebState>,
    Path((connection, target)): Path<(String, String)>,
    ask: Ask,
) -> Result<Response, Problem> {
    let view = web.shelf().target(&ask.target(connection, target))?;
    Ok(headers::conditional(&ask.headers, &view, web.shelf().now().wall(), || json(&view)))
}

/// Asks the provider, if the answer is old enough and the budget funds it: 200 with the target, else 429 and when.
pub async fn refresh(
    State(web): State<WebState>,
    Path((connection, target)): Path<(String, String)>,
    ask: Ask,
) -> Result<Response, Problem> {
    ask.may_change()?;
    let key = ask.target(connection, target);
    match web.shelf().refresh(&key, ask.viewer.by()).await {
        Ok(done) => {
            let headers = headers::shelf_headers(&done.target, web.shelf().now().wall());
            let mut response = json(&done);
            response.headers_mut().extend(headers);
            Ok(response)
        }
        Err(denied @ (Denied::NotYet { .. } | Denied::Paused(_))) => {
            let state = web.shelf().connection(&key.connection).ok().map(|c| c.state);
            Err(Problem::from(denied).in_state(state))
        }
        Err(denied) => Err(denied.into()),
    }
}
