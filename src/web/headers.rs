//! Response headers: what protects a page, and what says how old an answer from the shelf is (law 5). Plain functions of views;
//! must not know who asks.

use super::{WebState, build};
use crate::domain::time::Wall;
use crate::engine::view::TargetView;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::header::AsHeaderName;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::time::{Duration, SystemTime};

/// Everything from here, nothing inline; forms come back here.
const CSP: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
                   form-action 'self'; base-uri 'none'; frame-ancestors";

/// `Content-Security-Policy`. `framed_by`: the sites that may show the pages inside their own, this one where none is named.
pub fn policy(framed_by: &[String]) -> HeaderValue {
    let sites = if framed_by.is_empty() { "'self'".to_owned() } else { framed_by.join(" ") };
    HeaderValue::from_str(&format!("{CSP} {sites}"))
        .unwrap_or(HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'"))
}

/// Puts the protecting headers on every response, and which build serves.
///
/// `Referrer-Policy` is `same-origin` and not `no-referrer`: with the latter browsers send `Origin: null` with our own forms
/// (Fetch, "append a request Origin header"), and the Origin check could not tell them from a stranger's.
pub async fn secure(State(web): State<WebState>, request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_SECURITY_POLICY, web.access().policy.clone());
    for (name, value) in [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "same-origin"),
        (HeaderName::from_static("permissions-policy"), "camera=(), geolocation=(), microphone=(), payment=(), usb=()"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
        (build::HEADER, build::BUILD),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

/// RFC 9110 section 5.6.7.
pub fn http_date(wall: Wall) -> String {
    let since = Duration::from_millis(u64::try_from(wall.0).unwrap_or(0));
    // httpdate panics past the year 9999.
    let latest = Duration::from_secs(253_402_300_799);
    httpdate::fmt_http_date(SystemTime::UNIX_EPOCH + since.min(latest))
}

/// A strong entity tag: of these octets.
pub fn tag_of(octets: &[u8]) -> String {
    format!("\"{}\"", &blake3::hash(octets).to_hex()[..32])
}

/// Gives what is read as JSON an entity tag, and tells who knows it only that it is so. What has a tag of its own keeps it.
pub async fn tagged(request: Request, next: Next) -> Response {
    if request.method() != Method::GET {
        return next.run(request).await;
    }
    let known: Vec<HeaderValue> = request.headers().get_all(header::IF_NONE_MATCH).iter().cloned().collect();
    let response = next.run(request).await;
    let kind = response.headers().get(header::CONTENT_TYPE);
    let is_json = kind.is_some_and(|kind| kind.as_bytes().starts_with(b"application/json"));
    if !is_json || response.status() != StatusCode::OK || response.headers().contains_key(header::ETAG) {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    // It was made whole before it came here.
    let Ok(octets) = to_bytes(body, usize::MAX).await else { return StatusCode::INTERNAL_SERVER_ERROR.into_response() };
    let tag = tag_of(&octets);
    if let Ok(value) = HeaderValue::from_str(&tag) {
        parts.headers.insert(header::ETAG, value);
    }
    let known = known.into_iter().map(|line| (header::IF_NONE_MATCH, line)).collect();
    if is_known(&known, &tag) {
        parts.status = StatusCode::NOT_MODIFIED;
        parts.headers.remove(header::CONTENT_LENGTH);
        parts.headers.remove(header::CONTENT_TYPE);
        return Response::from_parts(parts, Body::empty());
    }
    Response::from_parts(parts, Body::from(octets))
}

/// The strong entity tag of a target: the engine's, and what time alone changes in words (state, decayed items). Seconds that
/// tick are left out: they follow from `Age`.
pub fn entity_tag(target: &TargetView) -> String {
    let mut hash = blake3::Hasher::new();
    let mut word = |text: &str| {
        hash.update(text.as_bytes());
        hash.update(b"\0");
    };
    word(&target.etag);
    word(target.state.word());
    word(target.phase);
    word(if target.fresh { "fresh" } else { "stale" });
    word(&target.as_of.map_or(0, |w| w.0.0).to_string());
    target.items.iter().for_each(|item| word(item.state.as_deref().unwrap_or("")));
    format!("\"{}\"", &hash.finalize().to_hex()[..32])
}

/// RFC 9211: always a hit (readers never wait for the provider); a negative ttl is how long it has been stale.
pub fn cache_status(target: &TargetView) -> String {
    let Some(age) = target.age_seconds else { return format!("larder; detail={}", target.state.word()) };
    let ttl = i128::from(target.fresh_for_seconds.0.as_secs()) - i128::from(age);
    if target.fresh {
        format!("larder; hit; ttl={ttl}")
    } else {
        format!("larder; hit; ttl={ttl}; detail={}", target.state.word())
    }
}

/// The headers of every answer that comes from a target on the shelf. `Age` is the age that counts: of the reading, where the
/// provider dates it; `Last-Modified` is the arrival. So no header makes a value younger than its provider does.
pub fn shelf_headers(target: &TargetView, now: Wall) -> HeaderMap {
    let mut headers = HeaderMap::new();
    let mut put = |name: HeaderName, value: String| {
        if let Ok(value) = HeaderValue::from_str(&value) {
            headers.insert(name, value);
        }
    };
    put(header::DATE, http_date(now));
    put(header::ETAG, entity_tag(target));
    put(header::CACHE_CONTROL, "no-cache".to_owned());
    put(HeaderName::from_static("cache-status"), cache_status(target));
    if let (Some(as_of), Some(age)) = (target.as_of, target.age_seconds) {
        put(header::AGE, age.to_string());
        put(header::LAST_MODIFIED, http_date(as_of.0.min(now)));
    }
    headers
}

/// The members of a header that is a list, over all its lines (RFC 9110 section 5.6.1). A line that is no text has none.
pub fn listed(headers: &HeaderMap, name: impl AsHeaderName) -> impl Iterator<Item = &str> {
    let lines = headers.get_all(name).into_iter().filter_map(|line| line.to_str().ok());
    lines.flat_map(|line| line.split(',')).map(str::trim)
}

/// The cookies of a request, by name and value (RFC 6265 section 4.2.1).
pub fn cookies(headers: &HeaderMap) -> impl Iterator<Item = (&str, &str)> {
    let lines = headers.get_all(header::COOKIE).into_iter().filter_map(|line| line.to_str().ok());
    lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='))
}

/// Whether the client's `If-None-Match` names this tag (RFC 9110 section 13.1.2; weak comparison). `If-Modified-Since` is
/// ignored, as that section allows: an answer goes stale without being modified.
pub fn is_known(request: &HeaderMap, tag: &str) -> bool {
    listed(request, header::IF_NONE_MATCH).any(|one| one == "*" || one.strip_prefix("W/").unwrap_or(one) == tag)
}

/// A target's answer: 304 where the client has it, else `body`, with the shelf's headers either way.
pub fn conditional(request: &HeaderMap, target: &TargetView, now: Wall, body: impl FnOnce() -> Response) -> Response {
    let headers = shelf_headers(target, now);
    let mut response = match headers.get(header::ETAG).and_then(|v| v.to_str().ok()) {
        Some(tag) if is_known(request, tag) => StatusCode::NOT_MODIFIED.into_response(),
        _ => body(),
    };
    response.headers_mut().extend(headers);
    response
}
