//! `/livez` and `/readyz`: whether the process is alive, and whether it can do its work. Not whether the provider is up. Details
//! only for a viewer who may read.

use super::WebState;
use super::access::Viewer;
use crate::domain::time::ClockTrust;
use crate::engine::appliance::Health;
use crate::engine::view::When;
use axum::Extension;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa::ToSchema;

/// For everybody.
#[derive(Serialize, ToSchema)]
struct Readiness {
    ready: bool,
}

/// For who may read.
#[derive(Serialize, ToSchema)]
struct ReadinessDetail {
    ready: bool,
    /// `writable`, or why it is not.
    store: String,
    /// `ticking`, or `not ticking`.
    poller: &'static str,
    /// `trusted`, or `untrusted`.
    clock: &'static str,
    db_bytes: u64,
    /// Bytes written to the data file since it was opened.
    db_written_bytes: u64,
    started_at: When,
    /// What there is to say of the last start, in sentences.
    notes: Vec<String>,
    version: &'static str,
}

#[derive(Serialize, ToSchema)]
#[serde(untagged)]
enum Ready {
    Detail(ReadinessDetail),
    Bare(Readiness),
}

/// Whether the process is alive: answers as long as it can.
#[utoipa::path(
    get, path = "/livez", operation_id = "livez", tag = "Health",
    responses((status = 200, description = "Alive.", body = String, content_type = "text/plain")),
)]
pub async fn livez() -> Response {
    ([(header::CACHE_CONTROL, "no-store")], "alive\n").into_response()
}

/// Whether it can do its work: the store takes writes and the poller's loop ticks. Not whether the provider is up.
#[utoipa::path(
    get, path = "/readyz", operation_id = "readyz", tag = "Health",
    responses(
        (status = 200, description = "It can. Details for who may read.", body = Ready),
        (status = 503, description = "It cannot. Details for who may read.", body = Ready),
    ),
)]
pub async fn readyz(State(web): State<WebState>, viewer: Option<Extension<Viewer>>) -> Response {
    let health = web.shelf().health();
    let status = if is_ready(&health) { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let no_store = [(header::CACHE_CONTROL, "no-store")];
    let ready = match viewer {
        Some(_) => Ready::Detail(detail(health)),
        None => Ready::Bare(Readiness { ready: is_ready(&health) }),
    };
    (status, no_store, axum::Json(ready)).into_response()
}

pub fn is_ready(health: &Health) -> bool {
    health.store.is_ok() && health.poller_alive
}

fn detail(health: Health) -> ReadinessDetail {
    ReadinessDetail {
        ready: is_ready(&health),
        store: health.store.map_or_else(|why| why, |()| "writable".to_owned()),
        poller: if health.poller_alive { "ticking" } else { "not ticking" },
        clock: if health.clock == ClockTrust::Trusted { "trusted" } else { "untrusted" },
        db_bytes: health.file_bytes,
        db_written_bytes: health.written_bytes,
        started_at: health.started_at,
        notes: health.notes,
        version: env!("CARGO_PKG_VERSION"),
    }
}
