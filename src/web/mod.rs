//! The only room that knows axum and askama: pages, JSON API and its document, events, metrics, health, and who may see them. Renders the read
//! models of `engine::view`; must not know the store, the upstream, or how a decision was made. Nothing here reaches the
//! provider but through `Shelf::refresh` and `Shelf::command` (laws 2 and 3).

pub mod access;
pub mod again;
mod api;
mod assets;
mod base;
mod build;
mod configured;
mod document;
mod errors;
mod events;
pub mod gateway;
mod headers;
mod health;
pub mod keeper;
mod live;
mod metrics;
mod pages;
mod period;
mod serving;
pub mod shelf;
mod streams;
mod svg;
mod texts;

#[cfg(test)]
mod sample;
#[cfg(test)]
mod tests;

pub use access::{Access, Listener};
pub use configured::Configured;
pub use serving::{Bounds, serve_tcp, serve_unix};

use crate::domain::base_path::BasePath;
use crate::engine::appliance::Appliance;
use access::forms::FormKey;
use access::limits::Limits;
use axum::http::{HeaderValue, Method, StatusCode, Uri, header};
use axum::middleware::{from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Extension, Router};
use jiff::tz::TimeZone;
use shelf::Shelf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio_util::sync::CancellationToken;
use tower_http::compression::CompressionLayer;
use tower_http::timeout::TimeoutLayer;

/// The longest that a request may take: a refresh waits for the provider at most its own timeout.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(90);

/// What every handler shares. Cheap to clone; one per listener, with [`WebState::behind`] for the second.
#[derive(Clone)]
pub struct WebState {
    shared: Arc<Shared>,
    access: Arc<Access>,
    base: Arc<BasePath>,
    configured: Configured,
}

struct Shared {
    shelf: Arc<dyn Shelf>,
    limits: Limits,
    form_key: FormKey,
    zone: TimeZone,
    stop: CancellationToken,
    streams: streams::Places,
    http: metrics::HttpMetrics,
    /// Random start and counter of request ids.
    boot: u32,
    requests: AtomicU64,
}

impl WebState {
    /// State for one listener before the running appliance.
    pub fn new(appliance: Appliance, access: Access) -> WebState {
        WebState::over(Arc::new(appliance), access, TimeZone::system(), CancellationToken::new())
    }
    /// As [`WebState::new`]; event streams end when `stop` is cancelled, so that a graceful stop does not wait for them.
    pub fn stopping_with(appliance: Appliance, access: Access, stop: CancellationToken) -> WebState {
        WebState::over(Arc::new(appliance), access, TimeZone::system(), stop)
    }
    /// State before any shelf; times are shown in `zone`.
    pub fn over(shelf: Arc<dyn Shelf>, access: Access, zone: TimeZone, stop: CancellationToken) -> WebState {
        let mut boot = [0; 4];
        // Only to tell the logs of two runs apart: zeros would do.
        let _ = getrandom::fill(&mut boot);
        let shared = Shared {
            shelf,
            limits: Limits::default(),
            form_key: FormKey::random(),
            zone,
            streams: streams::Places::new(stop.clone()),
            stop,
            http: metrics::HttpMetrics::default(),
            boot: u32::from_le_bytes(boot),
            requests: AtomicU64::new(0),
        };
        WebState {
            shared: Arc::new(shared),
            access: Arc::new(access),
            base: Arc::default(),
            configured: Configured::default(),
        }
    }
    /// The same, telling what is configured.
    pub fn telling(self, configured: Configured) -> WebState {
        WebState { configured, ..self }
    }
    /// The same below a path that its proxy leaves in place.
    pub fn below(self, base: BasePath) -> WebState {
        WebState { base: Arc::new(base), ..self }
    }
    /// The same appliance, counters and rates behind another listener.
    pub fn behind(&self, access: Access) -> WebState {
        WebState { access: Arc::new(access), base: Arc::default(), ..self.clone() }
    }

    fn shelf(&self) -> &dyn Shelf {
        &*self.shared.shelf
    }
    fn access(&self) -> &Access {
        &self.access
    }
    fn configured(&self) -> &Configured {
        &self.configured
    }
    fn base(&self) -> &BasePath {
        &self.base
    }
    fn limits(&self) -> &Limits {
        &self.shared.limits
    }
    fn form_key(&self) -> &FormKey {
        &self.shared.form_key
    }
    fn streams(&self) -> &streams::Places {
        &self.shared.streams
    }
    fn zone(&self) -> &TimeZone {
        &self.shared.zone
    }
    fn next_request_id(&self) -> String {
        format!("{:08x}-{:x}", self.shared.boot, self.shared.requests.fetch_add(1, Ordering::Relaxed))
    }
}

/// Behind an address by mistake; more are none.
const MOST_SLASHES: usize = 8;

/// There is nothing here; where there is something without the slash behind it, the way there. Relative, so that it holds behind a
/// proxy's prefix too.
async fn nowhere(uri: Uri, method: Method) -> Response {
    let path = uri.path().trim_end_matches('/');
    let last = path.rsplit('/').next().unwrap_or_default();
    if !uri.path().ends_with('/') || last.is_empty() || !matches!(method, Method::GET | Method::HEAD) {
        return StatusCode::NOT_FOUND.into_response();
    }
    let slashes = uri.path().len() - path.len();
    if slashes > MOST_SLASHES {
        return StatusCode::NOT_FOUND.into_response();
    }
    let up = "../".repeat(slashes);
    let query = uri.query().map(|q| format!("?{q}")).unwrap_or_default();
    match HeaderValue::from_str(&format!("{up}{last}{query}")) {
        Ok(there) => (StatusCode::PERMANENT_REDIRECT, [(header::LOCATION, there)]).into_response(),
        Err(_) => StatusCode::NOT_FOUND.into_response(),
    }
}

/// Every route, behind the guards of its listener.
pub fn router(state: WebState) -> Router {
    let form = |handler| access::forms::guarded(&state, handler);
    let forms = Router::new()
        .route("/c/{connection}/polling", form(post(pages::actions::polling)))
        .route("/c/{connection}/probe", form(post(pages::actions::probe)))
        .route("/settings/backup", form(post(pages::backups::make)))
        .route("/polling", form(post(pages::polling::change)))
        .route("/c/{connection}/controls", form(post(pages::actions::controls)))
        .route("/c/{connection}/credential", form(post(pages::credential::change)))
        .route("/c/{connection}/targets", form(post(pages::targets::put)))
        .route("/c/{connection}/t/{target}/phase", form(post(pages::targets::change)))
        .route("/c/{connection}/t/{target}/remove", form(post(pages::targets::remove)))
        .route("/c/{connection}/commands/{command}", form(post(pages::actions::command)))
        .route("/c/{connection}/webhooks/{webhook}/test", form(post(pages::webhooks::test)))
        .route("/c/{connection}/webhooks/{webhook}/redeliver", form(post(pages::webhooks::redeliver)))
        .route("/c/{connection}/t/{target}/refresh", form(post(pages::actions::refresh)))
        .merge(pages::setup::forms(&state))
        .merge(pages::door::forms(&state));
    let shown = Router::new()
        .route("/", get(pages::overview::page))
        .route("/c/{connection}", get(pages::connection::page))
        .route("/c/{connection}/controls", get(pages::controls::page))
        .route("/c/{connection}/credential", get(pages::credential::page))
        .route("/c/{connection}/targets", get(pages::targets::page))
        .route("/c/{connection}/t/{target}", get(pages::target::page))
        .route("/c/{connection}/t/{target}/history", get(pages::series::page))
        .route("/polling", get(pages::polling::page))
        .route("/plan", get(pages::plan::page))
        .route("/spend", get(pages::spend::page))
        .route("/activity", get(pages::activity::page))
        .route("/settings", get(pages::settings::page))
        .route("/o/{organization}/usage", get(pages::usage::page))
        .merge(pages::door::pages())
        .merge(pages::setup::pages())
        .merge(pages::reference::router())
        .layer(from_fn(texts::read_by));
    let drawn = live::Pages(shown.clone().with_state(state.clone()));
    let guarded = shown
        .route("/live", get(live::stream).layer(Extension(drawn)))
        .route("/reader", get(pages::reader::keep))
        .route("/static/{name}", get(assets::file))
        .merge(for_programs())
        .fallback(nowhere)
        .layer(from_fn_with_state(state.clone(), access::guard::guard));
    let unhurried = Router::new()
        .nest("/api/v1", api::unhurried().served())
        .layer(from_fn_with_state(state.clone(), access::guard::guard));
    forms
        .merge(guarded)
        .layer(TimeoutLayer::with_status_code(StatusCode::REQUEST_TIMEOUT, REQUEST_TIMEOUT))
        .merge(unhurried)
        .layer(from_fn(access::hosts::one_host))
        .layer(from_fn(build::meet))
        .layer(from_fn_with_state(state.clone(), errors::dress))
        .layer(from_fn(texts::read_by))
        .layer(CompressionLayer::new())
        .layer(from_fn_with_state(state.clone(), headers::secure))
        .layer(from_fn_with_state(state.clone(), metrics::count))
        .with_state(state)
}

/// What the document of the API tells of.
fn for_programs() -> Router<WebState> {
    document::routes().served().nest("/api/v1", api::routes().served().layer(from_fn(headers::tagged)))
}
