//! The JSON API under `/api/v1`: reads come from the shelf, changes go through the facade. Lists are wrapped
//! (`{"connections": [...]}`), errors are problem+json. What a route takes and answers stands at its handler, and makes the document
//! (`web::document`). Must not know how a view came about.
//!
//! Wrappers: `connections`, `targets` (with `next`, the name for `after` where more are behind these), `history`, `charges` and `findings`
//! (these three with `next`, the number for `after` to go on from here, also when nothing is there yet to go on to), `jobs`. `history` and
//! `events` have `before` too, for those before these. Where there is more, `Link` says where (RFC 8288): `next`, and `prev` for what is older.

mod bodies;
mod configuration;
mod connections;
mod findings;
mod ha;
pub mod history;
mod installation;
mod intake;
pub mod plan;
pub mod spend;
mod targets;
mod webhooks;

use super::WebState;
use super::access::Viewer;
use super::access::guard::told_by;
use super::document::routes::{Routes, listed};
use super::errors::{Kind, Problem};
use super::pages::segment;
use crate::domain::ids::{ConnectionKey, ConnectionName, Organization, TargetKey, TargetName};
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use utoipa::IntoParams;

/// Entries of a page of history or ledger unless `limit` says otherwise, and at most.
const PAGE: usize = 100;
const PAGE_MAX: usize = 1000;
/// The longest name, key or number that stands in a `Link`.
const LONGEST_PLACE: usize = 1000;

/// Every route with its document; `/api/v1` stands before their paths.
pub fn routes() -> Routes {
    Routes::default()
        .with(listed!(self::connections: list))
        .with(listed!(self::connections: one, change))
        .with(listed!(self::connections: set_credential, clear_credential))
        .with(listed!(self::connections: scans))
        .with(listed!(self::connections: ledger))
        .with(listed!(self::connections: probe_cost, probe))
        .with(listed!(self::connections: jobs))
        .with(listed!(self::connections: command))
        .with(listed!(self::connections: job))
        .with(listed!(self::targets: list))
        .with(listed!(self::targets: one, put, change, drop))
        .with(listed!(self::targets: refresh))
        .with(listed!(self::intake: observe))
        .with(listed!(self::history: history))
        .with(listed!(self::history: activity))
        .with(listed!(self::webhooks: list))
        .with(listed!(self::webhooks: redeliver))
        .with(listed!(self::webhooks: test))
        .with(listed!(self::configuration: export, import))
        .with(listed!(self::ha: document))
        .with(listed!(self::findings: list))
        .with(listed!(self::plan: list))
        .with(listed!(self::spend: list))
        .with(listed!(super::events: stream))
        .with(listed!(self::installation: polling, change_polling))
        .with(listed!(self::installation: tokens, create_token))
        .with(listed!(self::installation: revoke_token))
        .with(listed!(self::installation: operators))
        .with(listed!(self::installation: issue_claim))
}

/// What may take longer than a reader's patience: a large file on a small card.
pub fn unhurried() -> Routes {
    Routes::default().with(listed!(self::installation: backup))
}

/// The organization that a request speaks of: the one it names, else the viewer's own.
pub fn scope(viewer: &Viewer, named: Option<&str>) -> Result<Organization, Problem> {
    let organization = named.map_or_else(|| viewer.home(), Organization::from);
    if viewer.may_read(&organization) {
        return Ok(organization);
    }
    Err(Problem::new(Kind::Forbidden, format!("This token does not belong to the organization {organization}.")))
}

/// Who asks, about which organization, with which query: what each handler of this room starts from.
pub struct Ask<Q = NoQuery> {
    pub viewer: Viewer,
    pub organization: Organization,
    pub query: Q,
    pub headers: HeaderMap,
    by: String,
    /// The query as it was sent.
    sent: Vec<(String, String)>,
}

/// A query whose names are known: another one is a mistake that must not be answered with everything.
pub trait Known: DeserializeOwned {
    /// Beside `organization`.
    const NAMES: &'static [&'static str];
}

/// For routes whose only query parameter is `organization`.
#[derive(serde::Deserialize)]
pub struct NoQuery {}

impl Known for NoQuery {
    const NAMES: &'static [&'static str] = &[];
}

impl Known for Paging {
    const NAMES: &'static [&'static str] = &["after", "limit"];
}

/// `after` and `limit` of paged lists.
#[derive(serde::Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct Paging {
    /// Goes on after the entry with this number: what `next` said. Without it the newest.
    pub after: Option<u64>,
    /// Entries of an answer; 100 unless said, at most 1000.
    #[param(minimum = 0)]
    limit: Option<usize>,
}

impl Paging {
    pub fn limit(&self) -> usize {
        limited(self.limit)
    }
}

/// `after` and `limit` of lists in the order of their names.
#[derive(serde::Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ByName {
    /// Goes on after the one with this name: what `next` said. Without it the first.
    pub after: Option<String>,
    /// Entries of an answer; 100 unless said, at most 1000.
    #[param(minimum = 0)]
    limit: Option<usize>,
}

impl Known for ByName {
    const NAMES: &'static [&'static str] = &["after", "limit"];
}

impl ByName {
    pub fn limit(&self) -> usize {
        limited(self.limit)
    }
}

/// `limit` of lists that are not paged.
#[derive(serde::Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct Limit {
    /// Entries of an answer; 100 unless said, at most 1000.
    #[param(minimum = 0)]
    limit: Option<usize>,
}

impl Known for Limit {
    const NAMES: &'static [&'static str] = &["limit"];
}

impl Limit {
    pub fn limit(&self) -> usize {
        limited(self.limit)
    }
}

fn limited(limit: Option<usize>) -> usize {
    limit.unwrap_or(PAGE).clamp(1, PAGE_MAX)
}

#[derive(serde::Deserialize)]
struct Named {
    organization: Option<String>,
}

impl<Q: Known> FromRequestParts<WebState> for Ask<Q> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &WebState) -> Result<Self, Problem> {
        let unreadable = |_| Problem::bad_request("The query cannot be read: after and limit are whole numbers.");
        let sent = refuse_unknown(&parts.uri, Q::NAMES)?;
        let named = axum::extract::Query::<Named>::try_from_uri(&parts.uri).map_err(unreadable)?.0;
        let query = axum::extract::Query::<Q>::try_from_uri(&parts.uri).map_err(unreadable)?.0;
        // No viewer means that no guard stood before this route: refuse.
        let viewer = parts.extensions.get::<Viewer>().cloned();
        let viewer = viewer.ok_or_else(|| Problem::new(Kind::TokenNeeded, "This address needs a token."))?;
        let organization = scope(&viewer, named.organization.as_deref())?;
        let by = told_by(parts, &viewer, "API");
        Ok(Ask { viewer, organization, query, headers: parts.headers.clone(), by, sent })
    }
}

/// The query; a parameter that means nothing here is told, not left out.
pub fn refuse_unknown(uri: &Uri, names: &[&str]) -> Result<Vec<(String, String)>, Problem> {
    let pairs = axum::extract::Query::<Vec<(String, String)>>::try_from_uri(uri)
        .map_err(|_| Problem::bad_request("The query cannot be read."))?;
    let unknown = |(name, _): &&(String, String)| name != "organization" && !names.contains(&name.as_str());
    let Some((name, _)) = pairs.0.iter().find(unknown) else { return Ok(pairs.0) };
    let known: Vec<&str> = names.iter().copied().chain(["organization"]).collect();
    let name: String = name.chars().take(40).collect();
    Err(Problem::bad_request(format!("There is no query parameter \"{name}\" here; there is: {}.", known.join(", "))))
}

impl<Q> Ask<Q> {
    pub fn connection(&self, name: String) -> ConnectionKey {
        ConnectionKey { organization: self.organization.clone(), connection: ConnectionName(name) }
    }
    pub fn target(&self, connection: String, target: String) -> TargetKey {
        TargetKey { connection: self.connection(connection), target: TargetName(target) }
    }
    /// Who did it and from where, for the book.
    pub fn by(&self) -> &str {
        &self.by
    }
    /// Tells where the list goes on: `relation` to the same question from `value` of `name` on. Relative, so that it holds behind a proxy's prefix
    /// too; a place that no header could hold stands in the body alone.
    fn linked(&self, mut list: Response, relation: &str, name: &str, value: Option<&str>) -> Response {
        let Some(value) = value.filter(|value| value.len() <= LONGEST_PLACE) else { return list };
        let same = self.sent.iter().filter(|(sent, _)| sent != "after" && sent != "before");
        let asked = same.map(|(name, value)| (name.as_str(), value.as_str())).chain([(name, value)]);
        let asked: Vec<String> = asked.map(|(name, value)| format!("{name}={}", segment(value))).collect();
        if let Ok(link) = HeaderValue::from_str(&format!("<?{}>; rel=\"{relation}\"", asked.join("&"))) {
            list.headers_mut().append(header::LINK, link);
        }
        list
    }
    /// The same for a list that is read on from a number: behind a full page of what comes `after` one there may be more. The newest of all have
    /// nothing behind them yet.
    fn linked_on(
        &self,
        (after, limit): (Option<u64>, usize),
        (rows, next): (usize, Option<u64>),
        list: Response,
    ) -> Response {
        let may_have_more = after.is_some() && rows >= limit;
        self.linked(list, "next", "after", next.filter(|_| may_have_more).map(|n| n.to_string()).as_deref())
    }
    /// The guard has judged the role; this judges the organization.
    pub fn may_change(&self) -> Result<(), Problem> {
        if self.viewer.may_change(&self.organization) {
            return Ok(());
        }
        let detail = format!("This token may change nothing in the organization {}.", self.organization);
        Err(Problem::new(Kind::Forbidden, detail))
    }
    /// What concerns every organization.
    pub fn may_administer(&self) -> Result<(), Problem> {
        if self.viewer.may_administer() {
            return Ok(());
        }
        Err(Problem::new(
            Kind::Forbidden,
            "This needs a token with the role admin, or the unix socket beside the data file.",
        ))
    }
}

/// A reason as a sentence of its own.
pub fn sentence(why: &str) -> String {
    let mut letters = why.chars();
    let first = letters.next().map(|c| c.to_uppercase().collect::<String>()).unwrap_or_default();
    format!("{first}{}.", letters.as_str().trim_end_matches('.'))
}

/// JSON that no cache may use without asking.
fn json(body: impl serde::Serialize) -> Response {
    ([(header::CACHE_CONTROL, "no-cache")], axum::Json(body)).into_response()
}

fn json_with(status: StatusCode, body: impl serde::Serialize) -> Response {
    (status, json(body)).into_response()
}

/// The body as an object; an empty body is an empty object. Only `application/json`, which no form of a foreign page can send.
fn object(headers: &HeaderMap, body: &[u8]) -> Result<Map<String, Value>, Problem> {
    if body.is_empty() {
        return Ok(Map::new());
    }
    let is_json = headers
        .get(header::CONTENT_TYPE)
        .and_then(|v| v.to_str().ok())
        .is_some_and(|t| t.split(';').next().is_some_and(|t| t.trim().eq_ignore_ascii_case("application/json")));
    if !is_json {
        return Err(Problem::new(Kind::MediaType, "The body has to be application/json."));
    }
    match serde_json::from_slice(body) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => Err(Problem::bad_request("The body has to be a JSON object.")),
        Err(e) => Err(Problem::bad_request(format!("The body is not JSON: {e}."))),
    }
}
