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
use serde_json::json;

/// Answers as long as the process can answer.
pub async fn livez() -> Response {
    ([(header::CACHE_CONTROL, "no-store")], "alive\n").into_response()
}

/// 200 if the store takes writes and the poller's loop ticks, else 503.
pub async fn readyz(State(web): State<WebState>, viewer: Option<Extension<Viewer>>) -> Response {
    let health = web.shelf().health();
    let status = if is_ready(&health) { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let no_store = [(header::CACHE_CONTROL, "no-store")];
    match viewer {
        Some(_) => (status, no_store, axum::Json(detail(&health))).into_response(),
        None => (status, no_store, axum::Json(json!({ "ready": is_ready(&health) }))).into_response(),
    }
}

pub fn is_ready(health: &Health) -> bool {
    health.store.is_ok() && health.poller_alive
}

fn detail(health: &Health) -> serde_json::Value {
    let started_at: When = health.started_at;
    json!({
        "ready": is_ready(health),
        "store": health.store.as_ref().map_or_else(|why| why.as_str(), |()| "writable"),
        "poller": if health.poller_alive { "ticking" } else { "not ticking" },
        "clock": if health.clock == ClockTrust::Trusted { "trusted" } else { "untrusted" },
        "db_bytes": health.file_bytes,
        "db_written_bytes": health.written_bytes,
        "started_at": started_at,
        "notes": health.notes,
        "version": env!("CARGO_PKG_VERSION"),
    })
}
