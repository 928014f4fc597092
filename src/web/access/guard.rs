//! The layers that judge each request before a handler sees it: host, who it is, rate. Forms have their own layer beside this one,
//! because their token is in the body, and so has what stands before the door. Fails closed: a route is open only if it is listed here.

use super::cookies::Cookie;
use super::limits::{Change, Peer};
use super::proxy::{Came, came, unknown_user};
use super::{Intent, Listener, Means, Shown, Viewer, decide, hosts, presented};
use crate::web::WebState;
use crate::web::errors::{Kind, Problem};
use axum::extract::{ConnectInfo, FromRequestParts, Request, State};
use axum::http::HeaderMap;
use axum::http::request::Parts;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::net::{IpAddr, SocketAddr};

/// Judges everything but forms; puts a [`Viewer`] into the request.
pub async fn guard(State(web): State<WebState>, mut request: Request, next: Next) -> Response {
    let came = match came_of(&web, &request) {
        Ok(came) => came,
        Err(problem) => return problem.into_response(),
    };
    let intent = Intent::of(request.method(), request.uri().path());
    let change = Change::of(request.method(), request.uri().path());
    match judge(&web, &came, (intent, change), request.headers()) {
        Ok(viewer) => {
            let extensions = request.extensions_mut();
            extensions.insert(Bound(viewer.binding()));
            extensions.insert(viewer);
            extensions.insert(came);
            next.run(request).await
        }
        Err(problem) if is_open(request.uri().path()) && intent == Intent::Read => {
            // Probes and style sheets carry nothing that needs guarding; what they may say depends on the viewer.
            tracing::trace!("open route without viewer: {}", problem.detail);
            next.run(request).await
        }
        Err(problem) => Problem { ask: came.listener == Listener::Network, ..problem }.into_response(),
    }
}

/// What the forms of a page are made out to: see [`Viewer::binding`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bound(pub String);

/// Who did it and from where, for the book: `ann (page, 192.0.2.7)`.
pub fn told_by(parts: &Parts, viewer: &Viewer, how: &str) -> String {
    let from = parts.extensions.get::<Came>().map_or_else(|| "this machine".to_owned(), Came::from);
    format!("{} ({how}, {from})", viewer.by())
}

/// Who asks and from where, as it is told of what a program hands in.
pub struct ByWhom(pub String);

impl<S: Sync> FromRequestParts<S> for ByWhom {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<ByWhom, Problem> {
        // No viewer means that no guard stood before this route: refuse.
        let viewer = parts.extensions.get::<Viewer>();
        let viewer = viewer.ok_or_else(|| Problem::new(Kind::TokenNeeded, "This address needs a token."))?;
        Ok(ByWhom(told_by(parts, viewer, "push")))
    }
}

/// Served to everybody, whatever the address: without a viewer they tell nothing.
fn is_open(path: &str) -> bool {
    path == "/livez" || path == "/readyz" || path.starts_with("/static/")
}

pub fn came_of(web: &WebState, request: &Request) -> Result<Came, Problem> {
    let peer = request.extensions().get::<ConnectInfo<SocketAddr>>().map(|ConnectInfo(address)| address.ip());
    came_from(web, peer, request.headers())
}

pub fn came_from(web: &WebState, peer: Option<IpAddr>, headers: &HeaderMap) -> Result<Came, Problem> {
    came(web.access().listener, web.access().proxy.as_ref(), peer, headers)
}

/// Host, who, table, rate: in this order.
fn judge(
    web: &WebState,
    came: &Came,
    (intent, change): (Intent, Change),
    headers: &HeaderMap,
) -> Result<Viewer, Problem> {
    let shown = shown(web, came, headers)?;
    check_host(web, came.listener, &shown, headers)?;
    if intent != Intent::Read {
        check_origin(came.listener, headers)?;
        refuse_ambient(&shown)?;
    }
    let viewer = decide(came.listener, intent, &shown)?;
    if intent != Intent::Read {
        check_rate(web, &viewer, change)?;
    }
    Ok(viewer)
}

/// Who a request says that it is: by a token, else by what a trusted proxy says, else by its cookie. A wrong token is refused; a cookie that opens
/// nothing any more is none.
pub fn shown(web: &WebState, came: &Came, headers: &HeaderMap) -> Result<Shown, Problem> {
    if came.listener == Listener::Local {
        return Ok(Shown::Nothing);
    }
    if let Some(text) = presented(headers) {
        return look_up(web, came.peer, &text);
    }
    if let Some(user) = &came.user {
        let name = web.shelf().operator(user).ok_or_else(|| unknown_user(user))?;
        return Ok(Shown::Operator { name, means: Means::Proxy });
    }
    let tag = web.shelf().tag();
    let signed_in =
        cookie(web, came, &tag).shown(headers).into_iter().find_map(|secret| web.shelf().check_session(secret));
    Ok(signed_in
        .map_or(Shown::Nothing, |who| Shown::Operator { name: who.operator, means: Means::Session(who.session) }))
}

/// Whether who was let in before would be let in still: for what outlives its request.
pub fn is_still_let_in(web: &WebState, viewer: &Viewer) -> bool {
    match viewer {
        Viewer::Passer | Viewer::Local => true,
        Viewer::Operator { means: Means::Session(digest), .. } => web.shelf().has_session(digest),
        Viewer::Operator { name, means: Means::Proxy } => web.shelf().operator(name).is_some(),
        Viewer::Token { id, .. } => web.shelf().has_token(*id),
    }
}

/// The cookie of a session, as this browser has it.
pub fn cookie<'a>(web: &'a WebState, came: &Came, tag: &'a str) -> Cookie<'a> {
    let path = if web.base().is_root() { "/" } else { web.base().as_str() };
    Cookie { tag, tls: came.tls, path }
}

/// What a browser sends along by itself, whatever page made it ask, changes nothing here: pages have forms for that, which show that they are ours.
fn refuse_ambient(shown: &Shown) -> Result<(), Problem> {
    if !matches!(shown, Shown::Operator { .. }) {
        return Ok(());
    }
    let detail = "Signed in with a browser, changes are made by the forms of the pages. Programs show a token: `Authorization: Bearer`.";
    Err(Problem::new(Kind::Forbidden, detail))
}

/// Looks a token up, unless its sender has guessed too often.
pub fn look_up(web: &WebState, peer: Option<IpAddr>, text: &str) -> Result<Shown, Problem> {
    let (peer, now) = (Peer::of(peer), web.shelf().now().steady);
    if !web.limits().listens_to(peer, now) {
        let wait = super::limits::BLOCK.as_secs_ceil();
        let problem = Problem::new(Kind::Guessing, "Too many wrong tokens from this address. Wait a moment.");
        return Err(problem.retry_after(wait));
    }
    match web.shelf().check_token(text) {
        Some(token) if token.revoked_at.is_none() => Ok(Shown::Token(token)),
        _ => {
            web.limits().wrong_token(peer, now);
            Ok(Shown::Refused)
        }
    }
}

/// Names that could be an attacker's (DNS rebinding) are refused, unless a valid token shows that no stranger's page is asking.
pub fn check_host(web: &WebState, listener: Listener, shown: &Shown, headers: &HeaderMap) -> Result<(), Problem> {
    if listener == Listener::Local || matches!(shown, Shown::Token(_)) {
        return Ok(());
    }
    let (own_name, configured) = (web.access().own_name.as_deref(), &web.access().hosts);
    let name = hosts::host_of(headers).and_then(hosts::name_of);
    match &name {
        Some(name) if hosts::is_allowed(name, own_name, configured) => Ok(()),
        _ => Err(Problem::new(Kind::UnknownHost, hosts::advice(name.as_deref(), configured))),
    }
}

pub fn check_origin(listener: Listener, headers: &HeaderMap) -> Result<(), Problem> {
    if listener != Listener::Local && hosts::is_foreign(headers) {
        return Err(foreign());
    }
    Ok(())
}

/// For what a browser may be made to send by itself: it has to say that the page was ours.
pub fn check_own_page(listener: Listener, headers: &HeaderMap) -> Result<(), Problem> {
    if listener != Listener::Local && !hosts::is_own_page(headers) {
        return Err(foreign());
    }
    Ok(())
}

fn foreign() -> Problem {
    let detail = "The request was sent by a page of another site, or of another name of this one. Nothing was changed.";
    Problem::new(Kind::ForeignOrigin, detail)
}

pub fn check_rate(web: &WebState, viewer: &Viewer, change: Change) -> Result<(), Problem> {
    if web.limits().admits_change(viewer.rate_key(), change) {
        return Ok(());
    }
    let sentence = "Too many changes at once. Nothing was changed.";
    Err(Problem::new(Kind::TooFast, sentence).by_limit(change.word()).retry_after(1))
}
