//! The door, as people see it: signing in, claiming, operators, tokens. Forms and what they show; who may come in is the engine's to say.

mod claim;
mod operators;
pub mod sign_in;
mod tokens;

use super::{Action, Frame, segment};
use crate::web::WebState;
use crate::web::access::Viewer;
use crate::web::access::forms::guarded;
use crate::web::access::front::{guard_front, guard_front_form};
use crate::web::access::guard::{Bound, cookie};
use crate::web::access::proxy::Came;
use axum::Router;
use axum::http::{StatusCode, header};
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get, post};

/// What may be looked at only by who is known: to be merged before the guard.
pub fn pages() -> Router<WebState> {
    Router::new().route("/settings/operators", get(operators::page)).route("/settings/tokens", get(tokens::page))
}

/// Forms, and the pages before the door; each with its own guard.
pub fn forms(state: &WebState) -> Router<WebState> {
    let form = |handler| guarded(state, handler);
    let front = |handler: MethodRouter<WebState>| handler.route_layer(from_fn_with_state(state.clone(), guard_front));
    let front_form =
        |handler: MethodRouter<WebState>| handler.route_layer(from_fn_with_state(state.clone(), guard_front_form));
    Router::new()
        .route("/sign-in", front(get(sign_in::page)))
        .route("/sign-in", front_form(post(sign_in::sign_in)))
        .route("/claim", front(get(claim::page)))
        .route("/claim", front_form(post(claim::claim)))
        .route("/sign-out", form(post(sign_in::sign_out)))
        .route("/settings/operators", form(post(operators::add)))
        .route("/settings/operators/{name}/remove", form(post(operators::remove)))
        .route("/settings/operators/{name}/sign-out", form(post(operators::sign_out)))
        .route("/settings/password", form(post(operators::password)))
        .route("/settings/tokens", form(post(tokens::create)))
        .route("/settings/tokens/{id}/revoke", form(post(tokens::revoke)))
}

/// Who looks at a page, as its head says it.
pub struct Who {
    /// `None`: nobody is signed in.
    pub name: Option<String>,
    /// Where to sign in, or what can be done about oneself; empty: nothing.
    pub href: String,
}

impl Who {
    /// Neither a name nor a way to sign in.
    pub fn unknown() -> Who {
        Who { name: None, href: String::new() }
    }

    /// Of a page at `path`, `root` of the way from there to the root.
    pub fn of(viewer: Option<&Viewer>, root: &str, path: &str) -> Who {
        match viewer {
            None | Some(Viewer::Passer) => Who { name: None, href: sign_in_from(root, path) },
            Some(Viewer::Local) => Who::unknown(),
            Some(Viewer::Operator { name, .. }) => {
                Who { name: Some(name.clone()), href: format!("{root}settings/operators") }
            }
            Some(Viewer::Token { name, .. }) => Who { name: Some(name.clone()), href: String::new() },
        }
    }
}

/// Where to sign in so as to come back to `path`.
pub fn sign_in_from(root: &str, path: &str) -> String {
    format!("{root}sign-in?next={}", segment(path))
}

/// A form before the door, at `address` from the root.
fn front_action(web: &WebState, root: &str, address: &str) -> Action {
    let now = web.shelf().now().steady;
    Action {
        action: format!("{root}{address}"),
        csrf: web.form_key().issue(&format!("/{address}"), &Bound::default(), now),
        once: String::new(),
        needs_token: false,
        sign_in: String::new(),
    }
}

/// The path within the site that somebody wanted, if it is one: never another site's address.
fn own_path(wanted: Option<&str>) -> &str {
    let is_own = |path: &&str| {
        let plain = path.bytes().all(|b| b.is_ascii_graphic() && b != b'\\');
        path.starts_with('/') && !path.starts_with("//") && plain && path.len() <= 2048
    };
    wanted.filter(is_own).unwrap_or("/")
}

/// Signed in: the cookie, and on to `next`, which is relative to a page just below the root.
fn let_in(web: &WebState, came: &Came, secret: &str, next: &str) -> Response {
    // A path segment with a colon before the first slash would be taken for a scheme; with the dot in front there is none.
    let location = format!(".{next}");
    let mut response = (StatusCode::SEE_OTHER, [(header::LOCATION, location)]).into_response();
    if let Some(cookie) = cookie(web, came, &web.shelf().tag()).set(secret) {
        response.headers_mut().insert(header::SET_COOKIE, cookie);
    }
    response
}

/// The frame of a page that has no organization and listens to nothing.
fn quiet_frame(web: &WebState, face: &super::show::Face, path: &str, viewer: Option<&Viewer>) -> Frame {
    let mut frame = Frame::plain(web, face, path);
    frame.who = Who::of(viewer, &frame.root, path);
    frame
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_sent_to_another_site() {
        for (wanted, path) in [
            ("/c/yard?page=2", "/c/yard?page=2"),
            ("/", "/"),
            ("//evil.example", "/"),
            ("/\\evil.example", "/"),
            ("https://evil.example", "/"),
            ("evil", "/"),
            ("/a b", "/"),
            ("/a\r\nSet-Cookie: x=y", "/"),
            ("", "/"),
        ] {
            assert_eq!(own_path(Some(wanted)), path, "{wanted}");
        }
    }
}
