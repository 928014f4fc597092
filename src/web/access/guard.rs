//! The layers that judge each request before a handler sees it: host, token, rate. Forms have their own layer beside this one,
//! because their token is in the body. Fails closed: a route is open only if it is listed here.

use super::limits::{Change, Peer};
use super::{Intent, Listener, Shown, Viewer, decide, hosts, presented};
use crate::web::WebState;
use crate::web::base;
use crate::web::errors::{Kind, Problem};
use axum::extract::{ConnectInfo, FromRequestParts, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};

/// Judges everything but forms; puts a [`Viewer`] into the request.
pub async fn guard(State(web): State<WebState>, mut request: Request, next: Next) -> Response {
    let listener = listener_of(&web, request.headers());
    let peer = peer_of(&request);
    let intent = Intent::of(request.method());
    let change = Change::of(request.method(), request.uri().path());
    match judge(&web, (listener, peer), (intent, change), request.headers()) {
        Ok(viewer) => {
            request.extensions_mut().insert(viewer);
            next.run(request).await
        }
        Err(problem) if is_open(request.uri().path()) && intent == Intent::Read => {
            // Probes and style sheets carry nothing that needs guarding; what they may say depends on the viewer.
            tracing::trace!("open route without viewer: {}", problem.detail);
            next.run(request).await
        }
        Err(problem) => Problem { ask: listener == Listener::Network, ..problem }.into_response(),
    }
}

/// From where a request came, for what is told of it afterwards. Through a proxy it is the proxy's address.
pub struct Whence(Option<IpAddr>);

impl<S: Sync> FromRequestParts<S> for Whence {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Whence, Infallible> {
        Ok(Whence(parts.extensions.get::<ConnectInfo<SocketAddr>>().map(|ConnectInfo(address)| address.ip())))
    }
}

impl Whence {
    /// `ann (page, 192.0.2.7)`
    pub fn tell(&self, who: &str, how: &str) -> String {
        match self.0 {
            Some(address) => format!("{who} ({how}, {})", address.to_canonical()),
            None => format!("{who} ({how}, this machine)"),
        }
    }
}

/// Served to everybody, whatever the address: without a viewer they tell nothing.
fn is_open(path: &str) -> bool {
    path == "/livez" || path == "/readyz" || path.starts_with("/static/")
}

/// What proxies say of who asked them.
static PROXIED: [HeaderName; 3] =
    [header::FORWARDED, HeaderName::from_static("x-forwarded-for"), HeaderName::from_static("x-real-ip")];

/// A request that came through a proxy is not from this machine, whatever address it arrives at.
pub fn listener_of(web: &WebState, headers: &HeaderMap) -> Listener {
    match web.access().listener {
        Listener::Loopback if PROXIED.iter().chain(&base::TOLD).any(|name| headers.contains_key(name)) => {
            Listener::Network
        }
        listener => listener,
    }
}

pub fn peer_of(request: &Request) -> Option<IpAddr> {
    request.extensions().get::<ConnectInfo<SocketAddr>>().map(|ConnectInfo(address)| address.ip())
}

/// Host, token, table, rate: in this order.
fn judge(
    web: &WebState,
    (listener, peer): (Listener, Option<IpAddr>),
    (intent, change): (Intent, Change),
    headers: &HeaderMap,
) -> Result<Viewer, Problem> {
    let shown = match presented(headers) {
        None => Shown::Nothing,
        Some(_) if listener == Listener::Local => Shown::Nothing,
        Some(text) => look_up(web, peer, &text)?,
    };
    check_host(web, listener, &shown, headers)?;
    if intent == Intent::Change {
        check_origin(listener, headers)?;
    }
    let viewer = decide(listener, intent, &shown)?;
    if intent == Intent::Change {
        check_rate(web, &viewer, change)?;
    }
    Ok(viewer)
}

/// Looks a token up, unless its sender has guessed too often.
pub fn look_up(web: &WebState, peer: Option<IpAddr>, text: &str) -> Result<Shown, Problem> {
    let (peer, now) = (Peer::of(peer), web.shelf().now().steady);
    if !web.limits().listens_to(peer, now) {
        let wait = super::limits::BLOCK.as_secs_ceil();
        let problem = Problem::new(Kind::TooFast, "Too many wrong tokens from this address. Wait a moment.");
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
    let configured = &web.access().hosts;
    let name = hosts::host_of(headers).and_then(hosts::name_of);
    match &name {
        Some(name) if hosts::is_allowed(name, configured) => Ok(()),
        _ => Err(Problem::new(Kind::UnknownHost, hosts::advice(name.as_deref(), configured))),
    }
}

pub fn check_origin(listener: Listener, headers: &HeaderMap) -> Result<(), Problem> {
    if listener != Listener::Local && hosts::is_foreign(headers) {
        let detail =
            "The request was sent by a page of another site, or of another name of this one. Nothing was changed.";
        return Err(Problem::new(Kind::ForeignOrigin, detail));
    }
    Ok(())
}

pub fn check_rate(web: &WebState, viewer: &Viewer, change: Change) -> Result<(), Problem> {
    if web.limits().admits_change(viewer.rate_key(), change) {
        return Ok(());
    }
    Err(Problem::new(Kind::TooFast, "Too many changes at once from this token. Nothing was changed.").retry_after(1))
}
