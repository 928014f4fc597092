//! Forms of the pages, which work without JavaScript: the token travels in a field or the browser says who is signed in, and a field of ours shows
//! that the form came from a page of this process that was made for the one who sends it. Knows nothing of what a form does.

use super::guard::{Bound, came_of, check_host, check_origin, check_own_page, check_rate, look_up, shown};
use super::limits::Change;
use super::proxy::Came;
use super::{Intent, Listener, Shown, Viewer, decide};
use crate::domain::time::{Span, Steady};
use crate::web::WebState;
use crate::web::errors::{Kind, Problem};
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::rejection::FormRejection;
use axum::extract::{FromRequest, Request, State};
use axum::http::request::Parts;
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::MethodRouter;
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
    /// The field's value for a form that posts to `action`, on a page that is made out to `bound`.
    pub fn issue(&self, action: &str, bound: &Bound, now: Steady) -> String {
        format!("{:x}.{}", now.0, self.seal(action, bound, now))
    }
    /// Whether the value was issued for `action` and `bound` by this process, not too long ago.
    pub fn accepts(&self, action: &str, bound: &Bound, value: &str, now: Steady) -> bool {
        let Some((issued, seal)) = value.split_once('.') else { return false };
        let Ok(issued) = u64::from_str_radix(issued, 16).map(Steady) else { return false };
        let expected = self.seal(action, bound, issued);
        let same = subtle::ConstantTimeEq::ct_eq(expected.as_bytes(), seal.as_bytes());
        bool::from(same) && issued <= now && now.since(issued) <= LIFETIME
    }
    fn seal(&self, action: &str, Bound(bound): &Bound, issued: Steady) -> String {
        // With its length, so that no name can pass for the beginning of an address.
        let sealed = format!("{} {} {bound} {action}", issued.0, bound.len());
        let hash = blake3::keyed_hash(&self.0, sealed.as_bytes());
        hash.to_hex()[..32].to_owned()
    }
}

/// The handler of a form, behind its guard.
pub fn guarded(state: &WebState, handler: MethodRouter<WebState>) -> MethodRouter<WebState> {
    handler.route_layer(from_fn_with_state(state.clone(), guard_form))
}

/// Judges a form and puts its [`Form`] and its viewer into the request.
async fn guard_form(State(web): State<WebState>, request: Request, next: Next) -> Response {
    let came = match came_of(&web, &request) {
        Ok(came) => came,
        Err(problem) => return problem.into_response(),
    };
    let listener = came.listener;
    match admit(&web, came, request).await {
        Ok(request) => next.run(request).await,
        Err(problem) => Problem { ask: listener == Listener::Network, ..problem }.into_response(),
    }
}

async fn admit(web: &WebState, came: Came, request: Request) -> Result<Request, Problem> {
    check_host(web, came.listener, &Shown::Nothing, request.headers())?;
    check_origin(came.listener, request.headers())?;
    let (mut parts, mut form, own) = opened(request).await?;
    let token = form.remove("token").unwrap_or_default();

    let by_field = !token.trim().is_empty() && came.listener != Listener::Local;
    let shown = match by_field {
        true => look_up(web, came.peer, token.trim())?,
        false => shown(web, &came, &parts.headers)?,
    };
    if matches!(shown, Shown::Operator { .. }) {
        check_own_page(came.listener, &parts.headers)?;
    }
    let viewer = decide(came.listener, Intent::Change, &shown)?;
    // Who has to show a token had the page made before anybody knew who that is.
    let bound = if by_field { Bound::default() } else { Bound(viewer.binding()) };
    check_own_field(web, &parts, &bound, &own)?;
    check_rate(web, &viewer, Change::Other)?;
    insert(&mut parts, viewer, bound, came);
    parts.extensions.insert(Form(form));
    Ok(Request::from_parts(parts, Body::empty()))
}

fn insert(parts: &mut Parts, viewer: Viewer, bound: Bound, came: Came) {
    parts.extensions.insert(viewer);
    parts.extensions.insert(bound);
    parts.extensions.insert(came);
}

/// The head, the fields, and our own one.
pub(super) async fn opened(request: Request) -> Result<(Parts, BTreeMap<String, String>, String), Problem> {
    let (parts, body) = request.into_parts();
    let bytes = to_bytes(body, MAX_FORM).await.map_err(|_| Problem::new(Kind::TooLarge, "The form is too large."))?;
    let mut form = fields(parts.clone(), bytes).await?;
    let own = form.remove("csrf").unwrap_or_default();
    Ok((parts, form, own))
}

pub(super) fn check_own_field(web: &WebState, parts: &Parts, bound: &Bound, own: &str) -> Result<(), Problem> {
    if web.form_key().accepts(parts.uri.path(), bound, own, web.shelf().now().steady) {
        return Ok(());
    }
    let detail = "The page that this form belongs to is from before a restart or a sign-in, or older than 12 hours. Load it again; nothing was \
                  changed.";
    Err(Problem::new(Kind::FormExpired, detail))
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
