//! `/metrics` for Prometheus, in its text format or as OpenMetrics: what the pages show, as numbers. Gauges are read from the same views as the
//! pages at the moment of the scrape. Labels are bounded: names from the configuration, words from closed enums, route
//! templates, and of each connection a bounded number of endpoints; never a text of the provider.

use super::WebState;
use super::access::Viewer;
use super::errors::{Kind, Problem};
use super::headers::listed;
use crate::domain::finding::{FindingKind, Wanted, Which};
use crate::domain::ids::{ConnectionKey, ConnectionName, Organization};
use crate::domain::spend::Counted;
use crate::domain::state::State as Word;
use crate::domain::time::ClockTrust;
use crate::engine::findings::MOST_OPEN;
use crate::engine::view::{BudgetView, ConnectionView, TargetView, When};
use axum::Extension;
use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use prometheus_client::encoding::{prometheus_text, text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::Registry;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

type Labels = Vec<(&'static str, String)>;
type Gauges = Family<Labels, Gauge>;
type Counters = Family<Labels, Counter>;

/// Requests to this appliance since the start.
#[derive(Clone, Default)]
pub struct HttpMetrics {
    requests: Counters,
    reads: Arc<AtomicU64>,
}

impl HttpMetrics {
    /// Those that were answered from the shelf: pages of it, and its JSON.
    pub fn reads(&self) -> u64 {
        self.reads.load(Ordering::Relaxed)
    }
}

/// Whether a good answer by this route shows something of the shelf. Not so `/spend`, which tells of these and would change by being read.
fn is_reading(route: &str, method: &Method) -> bool {
    let of_the_shelf = matches!(route, "/" | "/plan" | "/activity")
        || ["/c/", "/o/", "/api/v1/connections", "/api/v1/ha", "/api/v1/activity", "/api/v1/findings"]
            .iter()
            .any(|root| route.starts_with(root));
    of_the_shelf && matches!(*method, Method::GET | Method::HEAD)
}

/// Counts each request by route template, method and status.
pub async fn count(State(web): State<WebState>, request: Request, next: Next) -> Response {
    let route = request.extensions().get::<MatchedPath>().map_or("none", MatchedPath::as_str).to_owned();
    let reads = is_reading(&route, request.method());
    let method = match request.method().as_str() {
        known @ ("GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE" | "OPTIONS") => known.to_owned(),
        _ => "other".to_owned(),
    };
    let response = next.run(request).await;
    if reads && matches!(response.status(), StatusCode::OK | StatusCode::NOT_MODIFIED) {
        web.shared.http.reads.fetch_add(1, Ordering::Relaxed);
    }
    let status = response.status().as_u16().to_string();
    web.shared.http.requests.get_or_create(&vec![("route", route), ("method", method), ("status", status)]).inc();
    response
}

/// The metrics of everything that the viewer may read.
///
/// OpenMetrics for those who name it in `Accept`, as Prometheus does; else Prometheus's own text.
#[utoipa::path(
    get, path = "/metrics", operation_id = "metrics", tag = "Health",
    responses((status = 200, description = "One scrape.", content((String = "text/plain"), (String = "application/openmetrics-text")))),
)]
pub async fn page(
    State(web): State<WebState>,
    Extension(viewer): Extension<Viewer>,
    request: HeaderMap,
) -> Result<Response, Problem> {
    let registry = collect(&web, &viewer)?;
    let (content_type, encode): (_, fn(&mut String, &Registry) -> std::fmt::Result) = match wants_openmetrics(&request)
    {
        true => ("application/openmetrics-text; version=1.0.0; charset=utf-8", text::encode),
        false => (prometheus_text::CONTENT_TYPE, prometheus_text::encode),
    };
    let mut out = String::new();
    encode(&mut out, &registry).map_err(|_| Problem::new(Kind::Internal, "The metrics cannot be written."))?;
    let headers: [(HeaderName, HeaderValue); 3] = [
        (header::CONTENT_TYPE, HeaderValue::from_static(content_type)),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
        (header::VARY, HeaderValue::from_static("accept")),
    ];
    Ok((headers, out).into_response())
}

fn wants_openmetrics(request: &HeaderMap) -> bool {
    let mut ranges = listed(request, header::ACCEPT);
    ranges.any(|range| range.to_ascii_lowercase().starts_with("application/openmetrics-text"))
}

fn collect(web: &WebState, viewer: &Viewer) -> Result<Registry, Problem> {
    let mut registry = Registry::with_prefix("larder");
    registry.register("build", "The version of this binary", Info::new(vec![("version", env!("CARGO_PKG_VERSION"))]));
    registry.register("http_requests", "Requests to this appliance", web.shared.http.requests.clone());
    process(web, &mut registry);
    upstream(web, viewer, &mut registry);

    gateways(web, viewer, &mut registry);
    observations(web, viewer, &mut registry);

    let connections: Vec<ConnectionView> = web
        .shelf()
        .connections()?
        .into_iter()
        .filter(|c| viewer.may_read(&Organization(c.organization.clone())))
        .collect();
    let quota = Quota::register(&mut registry);
    let states = register(&mut registry, "connection_state", "1 for the state that the connection is in, else 0");
    let findings = register(&mut registry, "findings_open", "Findings that are open: what the owners should know");
    let holds =
        register(&mut registry, "holds", "Holds in force, of the credential and of single endpoints, by reason");
    let targets = Targets::register(&mut registry);
    if viewer.may_read(&Organization::default()) {
        let wanted = Wanted { organization: Some(Organization::default()), which: Which::Open, ..Wanted::default() };
        let of_appliance = web.shelf().findings(&wanted, None, MOST_OPEN)?;
        for kind in FindingKind::ALL.into_iter().filter(|kind| !kind.is_of_a_connection()) {
            let open = of_appliance.iter().filter(|f| f.connection.is_none() && f.kind == kind.word()).count();
            findings.get_or_create(&vec![("kind", kind.word().to_owned())]).set(whole(open as u64));
        }
    }
    for connection in &connections {
        one_hot(&states, connection);
        open_findings(&findings, connection);
        connection.budget.iter().for_each(|b| quota.set(connection, b));
        for hold in connection.hold.iter().chain(&connection.endpoint_holds) {
            let mut labels = labels(connection);
            labels.extend([("scope", hold.scope.to_owned()), ("reason", hold.reason.to_owned())]);
            holds.get_or_create(&labels).inc();
        }
        let key = ConnectionKey {
            organization: Organization(connection.organization.clone()),
            connection: ConnectionName(connection.name.clone()),
        };
        web.shelf().targets(&key)?.iter().for_each(|t| targets.set(connection, t));
    }
    Ok(registry)
}

fn register(registry: &mut Registry, name: &str, help: &str) -> Gauges {
    let gauges = Gauges::default();
    registry.register(name, help, gauges.clone());
    gauges
}

fn process(web: &WebState, registry: &mut Registry) {
    let health = web.shelf().health();
    let mut one = |name: &str, help: &str, value: i64| {
        let gauge: Gauge = Gauge::default();
        gauge.set(value);
        registry.register(name, help, gauge);
    };
    one("clock_trusted", "1 while the wall clock may be believed", i64::from(health.clock == ClockTrust::Trusted));
    one("db_bytes", "Size of the data file", whole(health.file_bytes));
    one("ready", "1 while the store takes writes and the poller ticks", i64::from(super::health::is_ready(&health)));
    one("start_timestamp_seconds", "When the process started", seconds(health.started_at));
    let written: Counter = Counter::default();
    written.inc_by(health.written_bytes);
    let help = "Bytes written to the data file since it was opened: what a memory card has to bear";
    registry.register("db_commit_bytes", help, written);
}

fn upstream(web: &WebState, viewer: &Viewer, registry: &mut Registry) {
    let (requests, units) = (Counters::default(), Counters::default());
    registry.register(
        "upstream_requests",
        "Requests to providers, by who spent them, where, and what became of them",
        requests.clone(),
    );
    registry.register("upstream_units", "Units of the limits that these requests took", units.clone());
    for (Counted { connection, caller, endpoint, outcome }, spent) in web.shelf().counters() {
        if viewer.may_read(&connection.organization) {
            let labels = vec![
                ("organization", connection.organization.0),
                ("connection", connection.connection.0),
                ("caller", caller.word().to_owned()),
                ("endpoint", endpoint.0),
                ("outcome", outcome.word().to_owned()),
            ];
            requests.get_or_create(&labels).inc_by(spent.requests);
            units.get_or_create(&labels).inc_by(spent.units);
        }
    }
}

/// Each way, also where nobody came by it: a share needs the zero.
fn gateways(web: &WebState, viewer: &Viewer, registry: &mut Registry) {
    let requests = Counters::default();
    let help = "Requests to gateways, by how they were answered; they are not among http_requests";
    registry.register("gateway_requests", help, requests.clone());
    for (key, how, count) in web.shelf().gateway_counts() {
        if viewer.may_read(&key.organization) {
            let labels = vec![
                ("organization", key.organization.0),
                ("connection", key.connection.0),
                ("cache", how.word().to_owned()),
            ];
            requests.get_or_create(&labels).inc_by(count);
        }
    }
    let open = register(registry, "gateway_streams_open", "Event streams of the provider that are open for readers");
    let readers =
        register(registry, "gateway_stream_readers", "Readers of those streams, also while one is interrupted");
    for (key, standing) in web.shelf().streams() {
        if viewer.may_read(&key.organization) {
            let labels = vec![("organization", key.organization.0), ("connection", key.connection.0)];
            open.get_or_create(&labels).set(whole(standing.open));
            readers.get_or_create(&labels).set(whole(standing.readers));
        }
    }
}

/// Each word, also where nothing became of any so: an alert needs the zero.
fn observations(web: &WebState, viewer: &Viewer, registry: &mut Registry) {
    let taken = Counters::default();
    registry.register(
        "intake_observations",
        "Pushed answers that were taken in, by what became of them",
        taken.clone(),
    );
    for (key, became, count) in web.shelf().intake_counts() {
        if viewer.may_read(&key.organization) {
            let labels = vec![
                ("organization", key.organization.0),
                ("connection", key.connection.0),
                ("became", became.word().to_owned()),
            ];
            taken.get_or_create(&labels).inc_by(count);
        }
    }
}

fn one_hot(states: &Gauges, connection: &ConnectionView) {
    for state in Word::ALL {
        let mut labels = labels(connection);
        labels.push(("state", state.word().to_owned()));
        states.get_or_create(&labels).set(i64::from(connection.state == state));
    }
}

/// Of each kind, also where there are none: an alert needs the zero.
fn open_findings(findings: &Gauges, connection: &ConnectionView) {
    for kind in FindingKind::ALL.into_iter().filter(|kind| kind.is_of_a_connection()) {
        let mut labels = labels(connection);
        labels.push(("kind", kind.word().to_owned()));
        let open = connection.findings.iter().filter(|f| f.kind == kind.word()).count();
        findings.get_or_create(&labels).set(whole(open as u64));
    }
}

struct Quota {
    limit: Gauges,
    used: Gauges,
    foreign: Gauges,
    remaining: Gauges,
    kept: Gauges,
    reset: Gauges,
    next_free: Gauges,
    /// Of the organization, where others spend with the same credential.
    share: Gauges,
    share_used: Gauges,
    share_held: Gauges,
}

impl Quota {
    fn register(registry: &mut Registry) -> Quota {
        Quota {
            limit: register(registry, "quota_limit", "Units that a limit lets through in its window, as in force"),
            used: register(registry, "quota_used", "Units of a limit that are spent"),
            foreign: register(registry, "quota_foreign", "Units that others have taken, by the provider's own count"),
            remaining: register(registry, "quota_remaining", "Units of a limit that are left, the kept ones included"),
            kept: register(registry, "quota_kept", "Units left that only the caller they are kept for may take"),
            reset: register(
                registry,
                "quota_reset_timestamp_seconds",
                "When the provider's period turns; absent for windows that roll",
            ),
            next_free: register(
                registry,
                "quota_next_free_timestamp_seconds",
                "When the next unit comes back; absent while none is out",
            ),
            share: register(
                registry,
                "quota_share",
                "Units that the organization can count on where others spend with the same credential; absent where none do",
            ),
            share_used: register(
                registry,
                "quota_share_used",
                "Units of a divided limit that the organization has spent",
            ),
            share_held: register(registry, "quota_share_held", "Units of a divided limit that are there for it alone"),
        }
    }
    fn set(&self, connection: &ConnectionView, budget: &BudgetView) {
        let mut labels = labels(connection);
        labels.push(("limit", budget.limit.clone()));
        if let Some(endpoint) = &budget.endpoint {
            labels.push(("endpoint", endpoint.clone()));
        }
        self.limit.get_or_create(&labels).set(whole(budget.requests));
        self.used.get_or_create(&labels).set(whole(budget.used));
        self.foreign.get_or_create(&labels).set(whole(budget.foreign));
        self.remaining.get_or_create(&labels).set(whole(budget.remaining));
        self.kept.get_or_create(&labels).set(whole(budget.kept));
        if let Some(share) = &budget.share {
            self.share.get_or_create(&labels).set(whole(share.units));
            self.share_used.get_or_create(&labels).set(whole(share.used));
            self.share_held.get_or_create(&labels).set(whole(share.held));
        }
        for (gauges, at) in [(&self.reset, budget.resets_at), (&self.next_free, budget.next_free_at)] {
            if let Some(at) = at {
                gauges.get_or_create(&labels).set(seconds(at));
            }
        }
    }
}

struct Targets {
    age: Gauges,
    last_success: Gauges,
    fresh: Gauges,
    available: Gauges,
    state: Gauges,
    items: Gauges,
}

impl Targets {
    fn register(registry: &mut Registry) -> Targets {
        Targets {
            age: register(
                registry,
                "target_age_seconds",
                "Age of the last good answer, or of its reading where the provider dates it and it is older",
            ),
            last_success: register(
                registry,
                "target_last_success_timestamp_seconds",
                "When the last good answer arrived",
            ),
            fresh: register(registry, "target_fresh", "1 while the last good answer is fresh"),
            available: register(
                registry,
                "target_available",
                "1 while there is an answer that may be used, 0 before the first and once it is older than expires_after",
            ),
            state: register(registry, "target_state", "1 for the state that the target is in; the others are absent"),
            items: register(registry, "target_items", "Items that are present"),
        }
    }
    /// A target that was never answered has no age: its series is absent, not zero.
    fn set(&self, connection: &ConnectionView, target: &TargetView) {
        let mut labels = labels(connection);
        labels.push(("target", target.name.clone()));
        if let Some(age) = target.age_seconds {
            self.age.get_or_create(&labels).set(whole(age));
        }
        if let Some(as_of) = target.as_of {
            self.last_success.get_or_create(&labels).set(seconds(as_of));
        }
        self.fresh.get_or_create(&labels).set(i64::from(target.fresh));
        self.available.get_or_create(&labels).set(i64::from(target.available));
        self.items.get_or_create(&labels).set(whole(target.item_count));
        labels.push(("state", target.state.word().to_owned()));
        self.state.get_or_create(&labels).set(1);
    }
}

fn labels(connection: &ConnectionView) -> Labels {
    vec![("organization", connection.organization.clone()), ("connection", connection.name.clone())]
}

/// As Prometheus tells moments.
fn seconds(at: When) -> i64 {
    at.0.0.div_euclid(1000)
}

fn whole(n: u64) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}
