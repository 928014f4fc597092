//! The simulated task service's HTTP: the API under `/v2/`, and `/control` for whoever plays with it. hyper, and not the web framework that
//! Larder itself uses: the two share no code that could hide a mistake from both.

use super::tasks::Wanted;
use super::{KEY_HEADER, Shared, TASKS};
use crate::demo::serving::{Answer, parameter};
use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::{Request, Response, StatusCode};
use serde_json::{Value, json};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

/// How long it thinks about a page.
const THINKING: Duration = Duration::from_millis(20);

pub(super) async fn answer(shared: Arc<Shared>, request: Request<Incoming>) -> Result<Answer, Infallible> {
    let path = request.uri().path();
    if let Some(verb) = path.strip_prefix("/control") {
        return Ok(control(&shared, verb.trim_start_matches('/')));
    }
    let key = request.headers().get(KEY_HEADER).and_then(|v| v.to_str().ok());
    if key != Some(shared.rules.key.as_str()) {
        return Ok(json_answer(StatusCode::UNAUTHORIZED, &json!({ "error": "unknown key" })));
    }
    if path != TASKS {
        return Ok(json_answer(StatusCode::NOT_FOUND, &json!({ "error": "no such resource" })));
    }
    let served = shared.quota().ask((shared.rules.time)());
    if !served {
        // A bare 429: no Retry-After, no body, and no word about which of the limits it was.
        return Ok(bare(StatusCode::TOO_MANY_REQUESTS));
    }
    let _in_flight = InFlight(&shared);
    tokio::time::sleep(THINKING).await;
    Ok(page(&shared, request.uri().query().unwrap_or_default()))
}

/// A request whose socket goes away is over too.
struct InFlight<'a>(&'a Shared);

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.0.quota().done();
    }
}

fn page(shared: &Shared, query: &str) -> Answer {
    let wanted = match (parameter(query, "project"), parameter(query, "subsector")) {
        (Some(project), None) => Wanted::Project(project),
        (None, Some(order)) => Wanted::Order(order),
        _ => return json_answer(StatusCode::BAD_REQUEST, &json!({ "error": "name a project or a subsector" })),
    };
    let number = |name| parameter(query, name).and_then(|n| n.parse::<usize>().ok());
    let size = number("page_size").unwrap_or(usize::MAX).clamp(1, shared.rules.page_size);
    let page = number("page").unwrap_or(1).max(1);
    let tasks = shared.rules.projects.tasks(&wanted, (shared.rules.time)());
    let total = tasks.len();
    let data: Vec<Value> = tasks.into_iter().skip((page - 1).saturating_mul(size)).take(size).collect();
    let next = (page.saturating_mul(size) < total).then_some(page + 1);
    json_answer(StatusCode::OK, &json!({ "data": data, "page": page, "next_page": next, "total": total }))
}

fn control(shared: &Shared, verb: &str) -> Answer {
    match verb {
        "" => {}
        "exhaust" => shared.quota().exhaust((shared.rules.time)()),
        _ => return json_answer(StatusCode::NOT_FOUND, &json!({ "error": "exhaust, or nothing" })),
    }
    let standing = shared.quota().standing();
    let limits = shared.rules.limits;
    let told = json!({
        "today": standing.today, "day": limits.day, "second": limits.second, "at_once": limits.at_once,
        "in_flight": standing.in_flight, "most_at_once": standing.most_at_once,
        "refused": standing.refused, "over_limit": standing.over_limit,
    });
    json_answer(StatusCode::OK, &told)
}

fn json_answer(status: StatusCode, value: &Value) -> Answer {
    let mut answer = Response::new(Full::new(Bytes::from(format!("{value}\n"))));
    *answer.status_mut() = status;
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    answer
}

fn bare(status: StatusCode) -> Answer {
    let mut answer = Response::new(Full::default());
    *answer.status_mut() = status;
    answer
}
