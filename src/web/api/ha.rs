//! The shelf as one flat document, for programs that pick values by name: Home Assistant's `rest` sensors, and whatever reads one JSON object. Must
//! not know how a value came about.

use super::{Ask, json};
use crate::engine::flat;
use crate::engine::view::{Denied, Flat, FlatDocument};
use crate::web::WebState;
use crate::web::errors::Problem;
use axum::extract::State;
use axum::response::Response;

/// Every value of the organization in one flat object: costs the provider nothing.
///
/// Keys stay as long as the names that they are made of: `yard__state`, `yard__controller__age_seconds`, `yard__controller__5143__next_run`. Of
/// every connection there are `state`, `problem`, `age_seconds`, `limit`, `remaining`, `resets_at` (of the tightest limit), `next_poll_at`,
/// `findings`; of every target `state`, `problem`, `available`, `as_of`, `age_seconds`, `count`; of every item `title`, `state` and its fields, where
/// a target has at most 100. What is too old to be used is null.
#[utoipa::path(
    get, path = "/ha", operation_id = "ha", tag = "Targets",
    responses((status = 200, description = "Texts, numbers, truths and nulls.", body = FlatDocument)),
)]
pub async fn document(State(web): State<WebState>, ask: Ask) -> Result<Response, Problem> {
    Ok(json(whole(&web, &ask)?))
}

fn whole(web: &WebState, ask: &Ask) -> Result<Flat, Denied> {
    Ok(flat::document(web.shelf().flats(&ask.organization)?))
}
