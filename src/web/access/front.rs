//! The layers of what stands before the door: the pages on which somebody signs in or claims, and their forms. Nobody has to be known there; the host,
//! and for forms the page that they came from, are judged as everywhere, so that no other site signs a browser in.

use super::guard::{Bound, came_of, check_host, check_own_page, shown};
use super::limits::Peer;
use super::proxy::Came;
use super::{Intent, Listener, Means, Shown, Viewer, decide};
use crate::domain::operator::Digest;
use crate::domain::time::Span;
use crate::web::WebState;
use crate::web::access::forms::{Form, check_own_field, opened};
use crate::web::errors::{Kind, Problem};
use crate::web::pages::reader::Reader;
use axum::body::Body;
use axum::extract::{FromRequestParts, Request, State};
use axum::http::request::Parts;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

/// Somebody before the door.
#[derive(Clone, Debug)]
pub struct Visitor {
    pub came: Came,
    /// Where that is known already.
    pub viewer: Option<Viewer>,
    pub reader: Reader,
}

impl FromRequestParts<WebState> for Visitor {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &WebState) -> Result<Visitor, Problem> {
        let visitor = parts.extensions.get::<Visitor>().cloned();
        visitor.ok_or_else(|| Problem::new(Kind::Internal, "No guard stood before this page."))
    }
}

impl Visitor {
    /// The session that the browser has, which another one replaces.
    pub fn session(&self) -> Option<Digest> {
        match &self.viewer {
            Some(Viewer::Operator { means: Means::Session(digest), .. }) => Some(*digest),
            _ => None,
        }
    }
}

pub async fn guard_front(State(web): State<WebState>, request: Request, next: Next) -> Response {
    match welcome(&web, request) {
        Ok((request, _)) => next.run(request).await,
        Err(problem) => problem.into_response(),
    }
}

fn welcome(web: &WebState, mut request: Request) -> Result<(Request, Listener), Problem> {
    let came = came_of(web, &request)?;
    let listener = came.listener;
    check_host(web, listener, &Shown::Nothing, request.headers())?;
    let viewer = shown(web, &came, request.headers()).and_then(|shown| decide(listener, Intent::Read, &shown));
    let reader = Reader::of(request.headers());
    request.extensions_mut().insert(Visitor { came, viewer: viewer.ok(), reader });
    Ok((request, listener))
}

pub async fn guard_front_form(State(web): State<WebState>, request: Request, next: Next) -> Response {
    match admit(&web, request).await {
        Ok(request) => next.run(request).await,
        Err(problem) => problem.into_response(),
    }
}

async fn admit(web: &WebState, request: Request) -> Result<Request, Problem> {
    let (request, listener) = welcome(web, request)?;
    check_own_page(listener, request.headers())?;
    let (mut parts, form, own) = opened(request).await?;
    check_own_field(web, &parts, &Bound::default(), &own)?;
    parts.extensions.insert(Form(form));
    Ok(Request::from_parts(parts, Body::empty()))
}

/// Counts a try of a password or a code before it is looked at: of many at once none is free.
pub fn begin_try(web: &WebState, came: &Came) -> Result<(), Problem> {
    web.limits().tries(Peer::of(came.peer), web.shelf().now().steady).map_err(|wait: Span| {
        let detail = "Too many wrong passwords or codes from this address. Nothing is locked: wait, and try again.";
        Problem::new(Kind::Guessing, detail).retry_after(wait.as_secs_ceil())
    })
}

/// Whether it was right.
pub fn end_try(web: &WebState, came: &Came, right: bool) {
    let peer = Peer::of(came.peer);
    if right {
        web.limits().was_right(peer);
    } else if web.limits().was_wrong(peer) {
        web.shelf().guessed(&came.from());
    }
}
