//! How an answer of the gateway is written: what stands with it on the shelf, and what is of this moment (how old it is, where it came from,
//! what is left of the budget). What a provider says is served from Larder's own address: it may do nothing there.

use crate::domain::gateway::Reading;
use crate::domain::octets;
use crate::domain::time::{Now, Span};
use crate::engine::gateway::Entrance;
use crate::engine::gateway::given::{Given, Halt, HaltKind, PassedOn, Rest};
use crate::engine::gateway::place::{Entry, OfNow};
use crate::engine::view::When;
use crate::rules::gateway::{
    CacheStatus, Life, Part, cache_status, etag, is_unmodified, larder_stale, last_modified, part, standing,
    standing_304,
};
use crate::web::WebState;
use crate::web::errors::{Kind, Problem};
use axum::body::Body;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode, header};
use bytes::Bytes;
use futures_util::StreamExt;
use std::io;
use std::sync::PoisonError;

pub(super) const CACHE_STATUS: HeaderName = HeaderName::from_static("cache-status");
const RATE_LIMIT: HeaderName = HeaderName::from_static("ratelimit");
const RATE_LIMIT_POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");
const LARDER_STALE: HeaderName = HeaderName::from_static("larder-stale");
const X_FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");

/// What a script or a frame of the provider's could do with the address that it is served from: nothing.
const PROTECTING: [(HeaderName, &str); 4] = [
    (header::CONTENT_SECURITY_POLICY, "sandbox; default-src 'none'; frame-ancestors 'none'"),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

/// What of a request its answer still needs once it is under way: its conditions, the part that it wants, and under which address the client sees this site.
pub(super) fn conditions(headers: &HeaderMap) -> HeaderMap {
    let conditions = [header::IF_NONE_MATCH, header::IF_MODIFIED_SINCE, header::IF_RANGE, header::RANGE];
    let kept = conditions.into_iter().chain([header::HOST, X_FORWARDED_PROTO]);
    let of = |name: HeaderName| {
        headers.get_all(&name).iter().map(move |value| (name.clone(), value.clone())).collect::<Vec<_>>()
    };
    kept.flat_map(of).collect()
}

/// A problem+json, whatever the client accepts: it is a program.
pub(super) fn problem(web: &WebState, problem: &Problem, head_only: bool) -> Response<Body> {
    let response = problem.plain(&web.next_request_id());
    if head_only { response.map(|_| Body::empty()) } else { response }
}

/// `asked`: the client's headers, or what [`conditions`] kept of them.
pub(super) fn write(
    web: &WebState,
    entrance: &Entrance,
    given: Given,
    reading: Reading,
    (asked, now): (&HeaderMap, &Now),
) -> Response<Body> {
    let mut response = match given {
        Given::Shelf { entry, life, how, stale } => {
            let mut response = shelved(entrance, &entry, (&life, &how, stale), reading, (asked, now));
            homeward(entrance, asked, response.headers_mut());
            return response;
        }
        Given::Passed { answer, how } => {
            let body = if reading == Reading::Head { Body::empty() } else { Body::from(answer.body.clone()) };
            let mut response = passed(&answer, &how, body);
            if reading == Reading::Get {
                // Told by the body itself: it may have been longer in its coding.
                response.headers_mut().remove(header::CONTENT_LENGTH);
            }
            response
        }
        Given::Long { answer, rest, how } => {
            let body = streamed(answer.body.clone(), rest);
            passed(&answer, &how, body)
        }
        Given::Denied { halt, how } => denied(web, &halt, &how, reading),
    };
    homeward(entrance, asked, response.headers_mut());
    limited(entrance, now, response.headers_mut());
    response
}

/// What is left for clients of this gateway.
fn limited(entrance: &Entrance, now: &Now, headers: &mut HeaderMap) {
    if let Some((left, policy)) = entrance.rate_limit(now) {
        headers.insert(RATE_LIMIT, left);
        headers.insert(RATE_LIMIT_POLICY, policy);
    }
}

fn shelved(
    entrance: &Entrance,
    entry: &Entry,
    (life, how, stale): (&Life, &CacheStatus, Option<String>),
    reading: Reading,
    (asked, now): (&HeaderMap, &Now),
) -> Response<Body> {
    let head = entry.head();
    let unmodified = head.status == 200 && is_as_the_client_has_it(entry, asked);
    let body = match reading {
        _ if unmodified => Body::empty(),
        Reading::Head => Body::empty(),
        Reading::Get => Body::from(entry.body.clone()),
    };
    let status = if unmodified { Ok(StatusCode::NOT_MODIFIED) } else { StatusCode::from_u16(head.status) };
    let mut headers = dated((entrance, now), entry, (life.age, how), unmodified);
    if reading == Reading::Head && !unmodified && head.key.reading == Reading::Get {
        headers.insert(header::CONTENT_LENGTH, HeaderValue::from(head.body_bytes));
    }
    let status = status.unwrap_or(StatusCode::OK);
    let (status, body) = match part_of(entry, reading, status, asked) {
        Part::Whole => (status, body),
        Part::Of { from, to } => {
            put(&mut headers, header::CONTENT_RANGE, format!("bytes {from}-{}/{}", to - 1, entry.body.len()));
            (StatusCode::PARTIAL_CONTENT, Body::from(entry.body.slice(from..to)))
        }
        Part::Nothing => {
            put(&mut headers, header::CONTENT_RANGE, format!("bytes */{}", entry.body.len()));
            (StatusCode::RANGE_NOT_SATISFIABLE, Body::empty())
        }
    };
    let reason = stale.or_else(|| (how.hit && !life.is_fresh()).then(|| TAKEN_STALE.to_owned()));
    if let Some(reason) = reason {
        warn(&mut headers, how.hit);
        put(&mut headers, LARDER_STALE, larder_stale(&reason));
    }
    respond(status, headers, body)
}

/// For clients of an age before RFC 9111, which look for nothing else (RFC 7234 section 5.5). `hit`: nobody was asked.
fn warn(headers: &mut HeaderMap, hit: bool) {
    headers.append(header::WARNING, HeaderValue::from_static("110 larder \"Response is Stale\""));
    if !hit {
        headers.append(header::WARNING, HeaderValue::from_static("111 larder \"Revalidation Failed\""));
    }
}

/// With its age, where it came from and what is left: made once a second, however many hit it or waited for it.
fn dated(
    (entrance, now): (&Entrance, &Now),
    entry: &Entry,
    (age, how): (Span, &CacheStatus),
    unmodified: bool,
) -> HeaderMap {
    let (age_s, second) = (age.as_secs(), now.steady.0 / 1000);
    let of_now = &entry.of_now[usize::from(unmodified)];
    let is_it = |known: &&OfNow| (known.age_s, known.second) == (age_s, second) && known.how == *how;
    if let Some(known) = of_now.read().unwrap_or_else(PoisonError::into_inner).as_ref().filter(is_it) {
        return known.headers.clone();
    }
    let mut headers = match unmodified {
        true => entry.written_304.get_or_init(|| written(standing_304(entry.head()))).clone(),
        false => whole(entry).clone(),
    };
    headers.insert(header::AGE, HeaderValue::from(age_s));
    put(&mut headers, CACHE_STATUS, cache_status(Some(entry.head()), how));
    limited(entrance, now, &mut headers);
    let known = OfNow { age_s, how: how.clone(), second, headers: headers.clone() };
    *of_now.write().unwrap_or_else(PoisonError::into_inner) = Some(known);
    headers
}

fn whole(entry: &Entry) -> &HeaderMap {
    entry.written.get_or_init(|| written(standing(entry.head())))
}

/// What of a whole answer the client wants.
fn part_of(entry: &Entry, reading: Reading, status: StatusCode, asked: &HeaderMap) -> Part {
    if reading != Reading::Get || status != StatusCode::OK || !asked.contains_key(header::RANGE) {
        return Part::Whole;
    }
    let text = crate::engine::gateway::ask::as_text(asked);
    part(&text, entry.body.len(), &etag(entry.head()), &last_modified(entry.head()))
}

const TAKEN_STALE: &str = "the client takes what is over (max-stale, only-if-cached)";

/// By its own conditions, and the validators that it was shown.
fn is_as_the_client_has_it(entry: &Entry, asked: &HeaderMap) -> bool {
    let text = |value: &HeaderValue| octets::text(value.as_bytes());
    let of = |name: HeaderName| {
        asked.get_all(&name).iter().map(|value| (name.as_str().to_owned(), text(value))).collect::<Vec<_>>()
    };
    let conditions: Vec<_> = [header::IF_NONE_MATCH, header::IF_MODIFIED_SINCE].into_iter().flat_map(of).collect();
    let shown = |name: HeaderName| whole(entry).get(name).map(text).unwrap_or_default();
    !conditions.is_empty() && is_unmodified(&conditions, &shown(header::ETAG), &shown(header::LAST_MODIFIED))
}

fn passed(answer: &PassedOn, how: &CacheStatus, body: Body) -> Response<Body> {
    let told = answer.headers.iter().filter(|(name, _)| name != "cache-status").cloned().collect();
    let mut headers = written(told);
    let before = answer.headers.iter().filter(|(name, _)| name == "cache-status").map(|(_, value)| value.as_str());
    let all: Vec<String> = before.map(str::to_owned).chain([how.to_string()]).collect();
    put(&mut headers, CACHE_STATUS, all.join(", "));
    let status = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::BAD_GATEWAY);
    respond(status, headers, body)
}

fn denied(web: &WebState, halt: &Halt, how: &CacheStatus, reading: Reading) -> Response<Body> {
    let kind = match halt.kind {
        HaltKind::NotYet => Kind::NotYet,
        HaltKind::Provider => Kind::Provider,
        HaltKind::Unanswerable => Kind::OnlyCached,
        HaltKind::Unrecorded => Kind::Unrecorded,
        HaltKind::Paused | HaltKind::Unavailable => Kind::Unavailable,
    };
    // What was carried out is not to be asked for again by itself.
    let soon = (kind != Kind::Unrecorded).then_some(SOON_S);
    let told = Problem {
        not_before: halt.not_before.map(When),
        retry_after_s: halt.retry_after_s.or(soon),
        policies: halt.limit.iter().cloned().collect(),
        ..Problem::new(kind, halt.sentence.clone())
    };
    let mut response = problem(web, &told, reading == Reading::Head);
    put(response.headers_mut(), CACHE_STATUS, how.to_string());
    response
}

/// Where nobody knows better.
const SOON_S: u64 = 5;

pub(super) fn respond(status: StatusCode, headers: HeaderMap, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    response
}

/// Headers as they go out; the provider's word on what a page may do is not enough here.
pub(super) fn written(told: Vec<(String, String)>) -> HeaderMap {
    let mut headers = HeaderMap::with_capacity(told.len() + 12);
    for (name, value) in told {
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::from_bytes(&octets::octets(&value))) {
            headers.append(name, value);
        }
    }
    // Where nothing could run anyway the provider's word on policies stands.
    let keeps_its_own = is_inert(&headers);
    for (name, value) in PROTECTING {
        if !(keeps_its_own && name == header::CONTENT_SECURITY_POLICY && headers.contains_key(&name)) {
            headers.insert(name, HeaderValue::from_static(value));
        }
    }
    headers
}

/// Whether no browser makes a document of it that scripts or frames belong to, told its type and not to guess another.
fn is_inert(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let essence = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    essence.ends_with("+json")
        || matches!(essence.as_str(), "application/json" | "application/octet-stream" | "text/csv" | "text/plain")
}

fn put(headers: &mut HeaderMap, name: HeaderName, value: String) {
    if let Ok(value) = HeaderValue::try_from(value) {
        headers.insert(name, value);
    }
}

fn streamed(beginning: Bytes, rest: Rest) -> Body {
    let rest = futures_util::stream::unfold(rest, |mut rest| async move {
        let next = rest.next().await?;
        Some((next.map_err(|(_, words)| io::Error::other(words)), rest))
    });
    Body::from_stream(futures_util::stream::iter([Ok(beginning)]).chain(rest))
}

/// Where the provider points at its own host, it points at this gateway: the client must not go there by itself.
fn homeward(entrance: &Entrance, asked: &HeaderMap, headers: &mut HeaderMap) {
    if let Some(location) = headers.get(header::LOCATION).and_then(|v| v.to_str().ok())
        && let Some(home) = entrance.homeward(location)
    {
        put(headers, header::LOCATION, home);
    }
    let links: Vec<HeaderValue> = headers.get_all(header::LINK).iter().cloned().collect();
    if links.is_empty() {
        return;
    }
    let host = asked.get(header::HOST).and_then(|v| v.to_str().ok()).unwrap_or_default();
    let scheme = asked.get(X_FORWARDED_PROTO).filter(|v| *v == "https").map_or("http", |_| "https");
    let home = |link: &str| entrance.homeward(link).map(|path| format!("{scheme}://{host}{path}"));
    // Clients take a link for a whole address.
    let led_home = |links: &str| -> String {
        let parts = links.split('<').map(|part| match part.split_once('>') {
            Some((link, after)) => format!("<{}>{after}", home(link).unwrap_or_else(|| link.to_owned())),
            None => part.to_owned(),
        });
        parts.collect()
    };
    headers.remove(header::LINK);
    for line in links {
        let led = line.to_str().ok().and_then(|links| HeaderValue::try_from(led_home(links)).ok());
        headers.append(header::LINK, led.unwrap_or(line));
    }
}
