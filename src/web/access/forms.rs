//! Forms of the pages, which work without JavaScript: the token travels in a field, and a field of ours shows that the form came
//! from a page of this process. Knows nothing of what a form does.

use super::guard::{check_host, check_origin, check_rate, listener_of, look_up, peer_of};
use super::limits::Change;
use super::{Intent, Listener, Shown, decide, presented};
use crate::domain::time::{Span, Steady};
use crate::web::WebState;
use crate::web::errors::{Kind, Problem};
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::rejection::FormRejection;
use axum::extract::{FromRequest, Request, State};
use axum::http::request::Parts;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::collections::BTreeMap;

/// Bytes that a form may have.
const MAX_FORM: usize = 64 * 1024;
/// How long a page may lie open before its forms are too old.
const LIFETIME: Span = Span::from_secs(12 * 3600);

/// The fields of a form that was let in, without the token and without our own field.
#[derive(Clone, Debug, Default)]
pub struct Form(pub BTreeMap<String, String>);

impl Form {
    /// A field that is there and not blank.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str).filter(|v| !v.trim().is_empty())
    }
}

/// The key behind the forms' own field. Lives as long as the process: a form from before a restart is told so.
pub struct FormKey([u8; 32]);

impl FormKey {
    /// # Panics
    /// If the kernel has no random bytes to give, at start.
    pub fn random() -> FormKey {
        let mut key = [0; 32];
        getrandom::fill(&mut key).expect("the kernel gives random bytes");
        FormKey(key)
    }
    /// The field's value for a form that posts to `action`.
    pub fn issue(&self, action: &str, now: Steady) -> String {
        format!("{:x}.{}", now.0, self.seal(action, now))
    }
    /// Whether the value was issued for `action` by this process, not too long ago.
    pub fn accepts(&self, action: &str, value: &str, now: Steady) -> bool {
        let Some((issued, seal)) = value.split_once('.') else { return false };
        let Ok(issued) = u64::from_str_radix(issued, 16).map(Steady) else { return false };
        let expected = self.seal(action, issued);
        let same = subtle::ConstantTimeEq::ct_eq(expected.as_bytes(), seal.as_bytes());
        bool::from(same) && issued <= now && now.since(issued) <= LIFETIME
    }
    fn seal(&self, action: &str, issued: Steady) -> String {
        let hash = blake3::keyed_hash(&self.0, format!("{} {action}", issued.0).as_bytes());
        hash.to_hex()[..32].to_owned()
    }
}

/// Judges a form and puts its [`Form`] and its viewer into the request.
pub async fn guard_form(State(web): State<WebState>, request: Request, next: Next) -> Response {
    let listener = listener_of(&web, request.headers());
    match admit(&web, listener, request).await {
        Ok(request) => next.run(request).await,
        Err(problem) => Problem { ask: listener == Listener::Network, ..problem }.into_response(),
    }
}

async fn admit(web: &WebState, listener: Listener, request: Request) -> Result<Request, Problem> {
    check_host(web, listener, &Shown::Nothing, request.headers())?;
    check_origin(listener, request.headers())?;
    let peer = peer_of(&request);
    let (mut parts, body) = request.into_parts();
    let bytes = to_bytes(body, MAX_FORM).await.map_err(|_| Problem::new(Kind::TooLarge, "The form is too large."))?;
    let mut form = fields(parts.clone(), bytes).await?;
    let (token, own) = (form.remove("token").unwrap_or_default(), form.remove("csrf").unwrap_or_default());

    let text = if token.trim().is_empty() { presented(&parts.headers) } else { Some(token.trim().to_owned()) };
    let shown = match text {
        Some(text) if listener != Listener::Local => look_up(web, peer, &text)?,
        _ => Shown::Nothing,
    };
    let viewer = decide(listener, Intent::Change, &shown)?;
    if !web.form_key().accepts(parts.uri.path(), &own, web.shelf().now().steady) {
        let detail = "The page that this form belongs to is from before a restart, or older than 12 hours. Load it again; nothing was changed.";
        return Err(Problem::new(Kind::FormExpired, detail));
    }
    check_rate(web, &viewer, Change::Other)?;
    parts.extensions.insert(viewer);
    parts.extensions.insert(Form(form));
    Ok(Request::from_parts(parts, Body::empty()))
}

async fn fields(parts: Parts, bytes: Bytes) -> Result<BTreeMap<String, String>, Problem> {
    let request = Request::from_parts(parts, Body::from(bytes));
    match axum::Form::<BTreeMap<String, String>>::from_request(request, &()).await {
        Ok(axum::Form(fields)) => Ok(fields),
        Err(FormRejection::InvalidFormContentType(_)) => {
            Err(Problem::new(Kind::MediaType, "This address takes a form. Programs use /api/v1."))
        }
        Err(_) => Err(Problem::bad_request("The form cannot be read. Nothing was changed.")),
    }
}
