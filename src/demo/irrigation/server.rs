//! The simulated provider's HTTP: the API under `/api/v1/`, and `/control/...` for whoever plays with it.
//! hyper, and not the web framework that Larder itself uses: the two share no code that could hide a mistake from both.

use super::count::Verdict;
use super::zones::Zones;
use super::{Mode, SET_ZONE, STATUS, Shared};
use crate::demo::serving::{Answer, parameter};
use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use hyper::{Request, Response};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

const JSON: &str = "application/json";
const HTML: &str = "text/html; charset=UTF-8";
const WRONG_KEY: &str = "API key not valid";
const MAINTENANCE: &str = "<!DOCTYPE html><html><head><title>Maintenance</title></head>\
    <body><h1>We will be back soon</h1></body></html>";

/// The socket is to be dropped without a word.
#[derive(Debug, thiserror::Error)]
#[error("the simulated provider is down")]
pub(super) struct Drop;

pub(super) async fn answer(shared: Arc<Shared>, request: Request<Incoming>) -> Result<Answer, Drop> {
    let path = request.uri().path();
    let query = request.uri().query().unwrap_or_default();
    if let Some(verb) = path.strip_prefix("/control") {
        return Ok(control(&shared, verb.trim_start_matches('/')));
    }
    match path.strip_prefix("/api/v1/") {
        Some(endpoint @ (STATUS | SET_ZONE)) => api(&shared, endpoint, query).await,
        _ => Ok(text(404, HTML, "<html><body><h1>Not Found</h1></body></html>")),
    }
}

async fn api(shared: &Shared, endpoint: &str, query: &str) -> Result<Answer, Drop> {
    let mode = shared.state().mode;
    if mode != Mode::Down && parameter(query, "api_key") != Some(&shared.rules.key) {
        shared.state().note(endpoint, shared.now(), Verdict::WrongKey);
        return Ok(text(404, HTML, WRONG_KEY));
    }
    if let Mode::Slow(thinking) = mode {
        tokio::time::sleep(thinking).await;
    }
    let now = shared.now();
    let mut state = shared.state();
    match state.mode {
        Mode::Down | Mode::LockedOut => {
            state.note(endpoint, now, Verdict::Failed);
            if state.mode == Mode::Down { Err(Drop) } else { Ok(lockout(shared)) }
        }
        mode => match state.ask(endpoint, now) {
            Verdict::Counted => Ok(served(&mut state.zones, mode, endpoint, query, now)),
            _ => Ok(lockout(shared)),
        },
    }
}

/// The answer to a request that was counted.
fn served(zones: &mut Zones, mode: Mode, endpoint: &str, query: &str, now: Duration) -> Answer {
    match mode {
        Mode::Html => text(200, HTML, MAINTENANCE),
        Mode::ServerError => text(503, HTML, "Service Unavailable"),
        _ if endpoint == STATUS => json_answer(&zones.status(now)),
        _ => json_answer(&set_zone(zones, query, now)),
    }
}

/// HTTP 200, and a sentence where JSON was promised (I4).
fn lockout(shared: &Shared) -> Answer {
    let sentence = format!(
        "Exceeded maximum number of requests. You cannot make more than {} requests in any {} period.",
        shared.rules.requests,
        in_words(shared.rules.window),
    );
    text(200, HTML, &sentence)
}

fn in_words(window: Duration) -> String {
    match window.as_secs() {
        s if s >= 60 && s % 60 == 0 => format!("{} minute", s / 60),
        0 => format!("{} millisecond", window.as_millis()),
        s => format!("{s} second"),
    }
}

fn set_zone(zones: &mut Zones, query: &str, now: Duration) -> Value {
    let relay = parameter(query, "relay_id").and_then(|id| id.parse().ok());
    let seconds = parameter(query, "custom").and_then(|s| s.parse().ok());
    let done = match (parameter(query, "action"), relay) {
        (Some("run"), Some(id)) => zones.run(id, seconds, now).map(|name| format!("Starting zones {name}.")),
        (Some("stop"), Some(id)) => zones.stop(id, now).map(|name| format!("Stopping zones {name}.")),
        (Some("stopall"), _) => {
            zones.stop_all(now);
            Some("Stopping all zones.".to_owned())
        }
        _ => None,
    };
    match done {
        Some(message) => json!({ "message": message, "message_type": "info" }),
        None => json!({ "message": "Invalid operation requested.", "message_type": "error" }),
    }
}

/// By any method, so that an address bar is enough to play with it.
fn control(shared: &Shared, verb: &str) -> Answer {
    let mode = match verb {
        "" | "state" | "lockout" => None,
        "start" => Some(Mode::Normal),
        "stop" => Some(Mode::Down),
        "slow" => Some(Mode::Slow(Duration::from_secs(5))),
        "html" => Some(Mode::Html),
        "error" => Some(Mode::ServerError),
        _ => return text(404, JSON, "{\"error\":\"lockout, stop, start, slow, html, error or state\"}\n"),
    };
    if verb == "lockout" {
        shared.lock_out();
    }
    if let Some(mode) = mode {
        shared.state().mode = mode;
    }
    json_answer(&standing(shared))
}

fn standing(shared: &Shared) -> Value {
    let now = shared.now();
    let mut state = shared.state();
    let endpoints: Vec<Value> = state
        .count
        .standing(now)
        .into_iter()
        .map(|s| {
            json!({
                "endpoint": s.endpoint, "in_window": s.in_window, "most_in_a_window": s.most_in_a_window,
                "counted": s.counted, "seen": s.seen, "locked_for_seconds": s.locked_for.as_secs_f64().ceil() as u64,
            })
        })
        .collect();
    json!({
        "mode": state.mode.word(), "requests": shared.rules.requests, "window_seconds": shared.rules.window.as_secs(),
        "over_limit": state.count.over_limit(), "endpoints": endpoints,
    })
}

fn json_answer(value: &Value) -> Answer {
    text(200, JSON, &format!("{value}\n"))
}

fn text(status: u16, kind: &'static str, body: &str) -> Answer {
    let mut answer = Response::new(Full::new(Bytes::copy_from_slice(body.as_bytes())));
    *answer.status_mut() = hyper::StatusCode::from_u16(status).unwrap_or_default();
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    answer.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store, no-cache, must-revalidate"));
    answer
}
