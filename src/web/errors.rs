//! Errors as values, and their two faces: problem+json (RFC 9457) for programs, a page for browsers. A handler returns a
//! [`Problem`]; the outer layer dresses it by what the client accepts. Must not know what was asked.

use super::WebState;
use super::headers::listed;
use super::pages;
use super::pages::reader::Reader;
use crate::domain::state::State as Word;
use crate::engine::view::{Denied, When};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use serde_json::{Map, Value, json};

/// What kind of trouble: fixes status, title and `type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    BadRequest,
    TokenNeeded,
    BadToken,
    Forbidden,
    ForeignOrigin,
    FormExpired,
    NotFound,
    MethodNotAllowed,
    Timeout,
    TooLarge,
    MediaType,
    UnknownHost,
    Paused,
    Configured,
    KeyReused,
    /// An observation's id stands for another one.
    OtherContent,
    /// A page of another build asks (P6).
    StaleClient,
    Invalid,
    /// Changes come faster than this appliance takes them.
    TooFast,
    /// Wrong tokens, passwords or codes come from there, one after the other.
    Guessing,
    /// The provider's quota, a hold or the minimum age says not yet.
    NotYet,
    Unavailable,
    /// So much is asked at once that this has no place.
    Busy,
    /// The provider gave no usable answer, and the shelf has none.
    Provider,
    /// The client wants the provider not to be asked (RFC 9111 section 5.2.1.7).
    OnlyCached,
    /// The provider was asked, and what it answered could not be written down.
    Unrecorded,
    Internal,
}

impl Kind {
    /// In the order of the enumeration, whose last is `Internal`: with one forgotten this does not compile.
    pub const ALL: [Kind; Kind::Internal as usize + 1] = [
        Kind::BadRequest,
        Kind::TokenNeeded,
        Kind::BadToken,
        Kind::Forbidden,
        Kind::ForeignOrigin,
        Kind::FormExpired,
        Kind::NotFound,
        Kind::MethodNotAllowed,
        Kind::Timeout,
        Kind::TooLarge,
        Kind::MediaType,
        Kind::UnknownHost,
        Kind::Paused,
        Kind::Configured,
        Kind::KeyReused,
        Kind::OtherContent,
        Kind::StaleClient,
        Kind::Invalid,
        Kind::TooFast,
        Kind::Guessing,
        Kind::NotYet,
        Kind::Unavailable,
        Kind::Busy,
        Kind::Provider,
        Kind::OnlyCached,
        Kind::Unrecorded,
        Kind::Internal,
    ];

    const fn parts(self) -> (u16, &'static str, &'static str) {
        match self {
            Kind::BadRequest => (400, "bad-request", "The request cannot be read"),
            Kind::TokenNeeded => (401, "token-needed", "A sign-in or a token is needed"),
            Kind::BadToken => (401, "bad-token", "The token is not valid"),
            Kind::Forbidden => (403, "forbidden", "Not allowed"),
            Kind::ForeignOrigin => (403, "foreign-origin", "The request came from another site"),
            Kind::FormExpired => (403, "form-expired", "This form is too old"),
            Kind::NotFound => (404, "not-found", "Not found"),
            Kind::MethodNotAllowed => (405, "method-not-allowed", "Not this way"),
            Kind::Timeout => (408, "timeout", "It took too long"),
            Kind::TooLarge => (413, "too-large", "Too large"),
            Kind::MediaType => (415, "media-type", "Not in this format"),
            Kind::UnknownHost => (421, "unknown-host", "Not a name of this appliance"),
            Kind::Paused => (409, "paused", "The connection is paused"),
            Kind::Configured => (409, "configured", "It stands in the configuration"),
            Kind::OtherContent => (409, "other-content", "The id stands for something else"),
            Kind::StaleClient => (409, "stale_client", "The page is from another build"),
            Kind::KeyReused => (422, "key-reused", "The Idempotency-Key was used for something else"),
            Kind::Invalid => (422, "invalid", "It cannot be done as asked"),
            Kind::TooFast => (429, "quota-exceeded", "Too many requests to this appliance"),
            Kind::Guessing => (429, "abnormal-usage-detected", "Too many wrong guesses"),
            Kind::NotYet => (429, "quota-exceeded", "Not yet"),
            Kind::Unavailable => (503, "unavailable", "The appliance cannot do this now"),
            Kind::Busy => (503, "temporary-reduced-capacity", "Too much at once"),
            Kind::Provider => (503, "provider", "The provider gives no answer"),
            Kind::OnlyCached => (504, "only-if-cached", "Nothing on the shelf"),
            Kind::Unrecorded => (500, "unrecorded", "It was sent, and could not be written down"),
            Kind::Internal => (500, "internal", "Something went wrong in the appliance"),
        }
    }
    pub fn status(self) -> StatusCode {
        StatusCode::from_u16(self.parts().0).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }
    /// The stable `type`: where one fits, a registered one (draft-ietf-httpapi-ratelimit-headers, "Problem Types").
    pub fn uri(self) -> String {
        const REGISTERED: &str = "https://iana.org/assignments/http-problem-types";
        match self {
            Kind::NotYet | Kind::TooFast | Kind::Guessing | Kind::Busy => format!("{REGISTERED}#{}", self.parts().1),
            _ => format!("urn:larder:problem:{}", self.parts().1),
        }
    }
    pub const fn title(self) -> &'static str {
        self.parts().2
    }
    /// For responses that the framework made without us.
    fn of_status(status: StatusCode) -> Kind {
        match status.as_u16() {
            404 => Kind::NotFound,
            405 => Kind::MethodNotAllowed,
            408 => Kind::Timeout,
            413 => Kind::TooLarge,
            415 => Kind::MediaType,
            400..=499 => Kind::BadRequest,
            503 => Kind::Unavailable,
            _ => Kind::Internal,
        }
    }
}

/// An error on its way out. `detail` is a sentence for people, without secrets.
#[derive(Clone, Debug)]
pub struct Problem {
    pub kind: Kind,
    pub detail: String,
    pub not_before: Option<When>,
    pub retry_after_s: Option<u64>,
    /// Names of the limits that say no: `violated-policies`.
    pub policies: Vec<String>,
    /// State word of the connection concerned.
    pub state: Option<Word>,
    /// Whether the 401 may ask a browser for the token (RFC 7617). On loopback a form has its own field for it.
    pub ask: bool,
    /// The methods that would be allowed, where the framework does not say them.
    pub allow: Option<String>,
}

impl Problem {
    pub fn new(kind: Kind, detail: impl Into<String>) -> Problem {
        Problem {
            kind,
            detail: detail.into(),
            not_before: None,
            retry_after_s: None,
            policies: Vec::new(),
            state: None,
            ask: false,
            allow: None,
        }
    }
    pub fn not_found(what: impl Into<String>) -> Problem {
        Problem::new(Kind::NotFound, what)
    }
    pub fn bad_request(detail: impl Into<String>) -> Problem {
        Problem::new(Kind::BadRequest, detail)
    }
    pub fn in_state(mut self, state: Option<Word>) -> Problem {
        self.state = state;
        self
    }
    pub fn by_limit(mut self, name: &str) -> Problem {
        self.policies.push(name.to_owned());
        self
    }
    pub fn retry_after(mut self, seconds: u64) -> Problem {
        self.retry_after_s = Some(seconds);
        self
    }

    fn json(&self, request_id: &str) -> Value {
        let mut body = Map::new();
        body.insert("type".into(), json!(self.kind.uri()));
        body.insert("title".into(), json!(self.kind.title()));
        body.insert("status".into(), json!(self.kind.status().as_u16()));
        body.insert("detail".into(), json!(self.detail));
        body.insert("instance".into(), json!(format!("urn:larder:request:{request_id}")));
        if let Some(at) = self.not_before {
            body.insert("not_before".into(), json!(at));
        }
        if !self.policies.is_empty() {
            body.insert("violated-policies".into(), json!(self.policies));
        }
        if let Some(state) = self.state {
            body.insert("state".into(), json!(state.word()));
        }
        Value::Object(body)
    }

    fn extra_headers(&self, headers: &mut HeaderMap) {
        if let Some(seconds) = self.retry_after_s {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if self.kind.status() == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"Larder\""));
            if self.ask {
                let basic = HeaderValue::from_static("Basic realm=\"Larder token as the password\", charset=\"UTF-8\"");
                headers.append(header::WWW_AUTHENTICATE, basic);
            }
        }
        if let Some(allow) = self.allow.as_deref().and_then(|methods| HeaderValue::from_str(methods).ok()) {
            headers.insert(header::ALLOW, allow);
        }
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }

    /// As problem+json, whoever asks.
    pub fn plain(&self, request_id: &str) -> Response {
        let json = self.json(request_id).to_string();
        let kind = [(header::CONTENT_TYPE, "application/problem+json")];
        let mut response = (self.kind.status(), kind, json).into_response();
        self.extra_headers(response.headers_mut());
        if let Ok(value) = HeaderValue::from_str(request_id) {
            response.headers_mut().insert(HeaderName::from_static("x-request-id"), value);
        }
        response
    }
}

impl From<Denied> for Problem {
    fn from(denied: Denied) -> Problem {
        match denied {
            Denied::NotFound(what) => Problem::not_found(what),
            Denied::NotYet { sentence, limit, not_before, retry_after_s } => {
                let policies = limit.into_iter().collect();
                Problem { not_before, retry_after_s, policies, ..Problem::new(Kind::NotYet, sentence) }
            }
            Denied::Paused(why) => Problem::new(Kind::Paused, why),
            Denied::Invalid(why) => Problem::new(Kind::Invalid, why),
            Denied::Configured(why) => Problem::new(Kind::Configured, why),
            Denied::OtherContent(why) => Problem::new(Kind::OtherContent, why),
            Denied::KeyReused(why) => Problem::new(Kind::KeyReused, why),
            Denied::Unavailable(why) => Problem::new(Kind::Unavailable, why).retry_after(5),
        }
    }
}

impl IntoResponse for Problem {
    /// Bare; [`dress`] gives it its face.
    fn into_response(self) -> Response {
        let mut response = self.kind.status().into_response();
        response.extensions_mut().insert(self);
        response
    }
}

/// Numbers the request (`X-Request-Id`, the log, `instance`), and dresses every error.
pub async fn dress(State(web): State<WebState>, request: Request, next: Next) -> Response {
    let id = web.next_request_id();
    let asked = request.uri().clone();
    let page_for = wants_page(request.headers()).then(|| Reader::of(request.headers()));
    let is_browser = is_browser(request.headers());
    let reads = matches!(*request.method(), Method::GET | Method::HEAD);
    let response = next.run(request).await;
    let mut response = match problem_of(&response) {
        None => response,
        Some(problem) => {
            let problem = Problem { ask: problem.ask && !is_browser, ..problem };
            if problem.kind.status().is_server_error() {
                tracing::warn!(request = %id, path = asked.path(), "{}", problem.detail);
            }
            let mut dressed = match &page_for {
                Some(reader) if reads && problem.kind.status() == StatusCode::UNAUTHORIZED => {
                    pages::door::sign_in::instead(&web, &asked, reader, &problem)
                }
                Some(reader) => pages::error::page(&web, &asked, reader, &problem, &id),
                None => {
                    let json = problem.json(&id).to_string();
                    (problem.kind.status(), [(header::CONTENT_TYPE, "application/problem+json")], json).into_response()
                }
            };
            keep_headers(response.headers(), dressed.headers_mut());
            problem.extra_headers(dressed.headers_mut());
            dressed
        }
    };
    if let Ok(value) = HeaderValue::from_str(&id) {
        response.headers_mut().insert(HeaderName::from_static("x-request-id"), value);
    }
    response
}

/// The problem of a response, also of one that the framework refused on its own.
fn problem_of(response: &Response) -> Option<Problem> {
    if let Some(problem) = response.extensions().get::<Problem>() {
        return Some(problem.clone());
    }
    let status = response.status();
    let typed = response.headers().get(header::CONTENT_TYPE).is_some_and(|v| !v.as_bytes().starts_with(b"text/plain"));
    if !(status.is_client_error() || status.is_server_error()) || typed {
        return None;
    }
    let kind = Kind::of_status(status);
    let detail = match kind {
        Kind::NotFound => "There is nothing at this address.",
        Kind::MethodNotAllowed => "This address does not take this method.",
        Kind::TooLarge => "The body is larger than this appliance takes.",
        Kind::Timeout => "No answer within the time that a request may take.",
        _ => status.canonical_reason().unwrap_or("Refused."),
    };
    Some(Problem::new(kind, detail))
}

/// `Allow` belongs to a 405 whatever its body (RFC 9110 section 15.5.6).
fn keep_headers(from: &HeaderMap, to: &mut HeaderMap) {
    if let Some(allow) = from.get(header::ALLOW) {
        to.insert(header::ALLOW, allow.clone());
    }
}

/// Whether a page or its script asks: a browser must not put its own question for a password in front of the sign-in.
fn is_browser(headers: &HeaderMap) -> bool {
    let streams = headers.get(header::ACCEPT).is_some_and(|accept| accept.as_bytes().starts_with(b"text/event-stream"));
    wants_page(headers) || streams || headers.contains_key(header::COOKIE)
}

/// Browsers name `text/html`; programs do not.
pub fn wants_page(headers: &HeaderMap) -> bool {
    let mut ranges = listed(headers, header::ACCEPT).filter_map(|range| range.split(';').next());
    ranges.any(|kind| kind.trim().eq_ignore_ascii_case("text/html"))
}
