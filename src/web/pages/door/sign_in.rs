//! `/sign-in`: name and password, and on to the page that was wanted. Who may not read a page yet gets this one in its place, so that nothing is lost on
//! the way. `/sign-out` ends the session of this browser.

use super::{Who, front_action, let_in, own_path};
use crate::web::WebState;
use crate::web::access::forms::Form;
use crate::web::access::front::{Visitor, begin_try, end_try};
use crate::web::access::guard::cookie;
use crate::web::access::proxy::Came;
use crate::web::access::{Means, Viewer};
use crate::web::errors::{Kind, Problem};
use crate::web::pages::actions::Sent;
use crate::web::pages::reader::Reader;
use crate::web::pages::show::Face;
use crate::web::pages::{Action, Asked, Frame, html, root_of};
use crate::web::texts;
use askama::Template;
use axum::Extension;
use axum::extract::State;
use axum::http::{StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};

#[derive(Template)]
#[template(path = "sign_in.html")]
struct Page {
    frame: Frame,
    /// Why the page that was wanted is not this one, or what was wrong.
    said: Option<String>,
    name: String,
    /// The path that was wanted.
    next: String,
    claim: Option<String>,
    form: Action,
}

#[derive(Default, serde::Deserialize)]
pub struct Query {
    next: Option<String>,
}

pub async fn page(
    State(web): State<WebState>,
    Asked(query): Asked<Query>,
    visitor: Visitor,
) -> Result<Response, Problem> {
    let next = own_path(query.next.as_deref()).to_owned();
    let wanted = (None, String::new(), next);
    Ok(draw(&web, ("/sign-in", &visitor.reader), StatusCode::OK, wanted, visitor.viewer.as_ref()))
}

/// In the place of a page that needs somebody: the same address, so that its reload is the page.
pub fn instead(web: &WebState, asked: &Uri, reader: &Reader, problem: &Problem) -> Response {
    let next = asked.path_and_query().map_or("/", |path| path.as_str());
    let said = (problem.kind == Kind::BadToken).then(|| problem.detail.clone());
    let wanted = (said, String::new(), own_path(Some(next)).to_owned());
    draw(web, (asked.path(), reader), problem.kind.status(), wanted, None)
}

fn draw(
    web: &WebState,
    (path, reader): (&str, &Reader),
    status: StatusCode,
    (said, name, next): (Option<String>, String, String),
    viewer: Option<&Viewer>,
) -> Response {
    let face = Face::of(web, reader);
    let mut frame = super::quiet_frame(web, &face, path, viewer);
    let root = root_of(path);
    // The page itself is where one signs in.
    if frame.who.name.is_none() {
        frame.who = Who::unknown();
    }
    let unclaimed = web.shelf().has_operators().is_ok_and(|some| !some);
    let page = Page {
        said,
        name,
        next,
        claim: unclaimed.then(|| format!("{root}claim")),
        form: front_action(web, &root, "sign-in"),
        frame,
    };
    html(status, &page)
}

/// `name`, `password`, `next`.
pub async fn sign_in(
    State(web): State<WebState>,
    visitor: Visitor,
    Extension(form): Extension<Form>,
) -> Result<Response, Problem> {
    let next = own_path(form.get("next")).to_owned();
    let name = form.get("name").unwrap_or_default().trim().to_owned();
    begin_try(&web, &visitor.came)?;
    let password = form.0.get("password").map(String::as_str).unwrap_or_default();
    let from = visitor.came.from();
    let secret = web.shelf().sign_in(&name, password, &from, visitor.session()).await?;
    end_try(&web, &visitor.came, secret.is_some());
    let Some(secret) = secret else {
        let said = Some(texts::t("sign-in-the-name-or-the").plain());
        let page = ("/sign-in", &visitor.reader);
        return Ok(draw(&web, page, StatusCode::FORBIDDEN, (said, name, next), None));
    };
    Ok(let_in(&web, &visitor.came, &secret, &next))
}

/// Of this browser. Who has come in through a proxy has no session here to end.
pub async fn sign_out(
    State(web): State<WebState>,
    Extension(came): Extension<Came>,
    sent: Sent,
) -> Result<Response, Problem> {
    let Viewer::Operator { name, means: Means::Session(session) } = sent.viewer else {
        return Err(Problem::bad_request("Nobody is signed in here with a password; there is nothing to sign out of."));
    };
    let who = crate::engine::access::sessions::SignedIn { operator: name, session };
    web.shelf().sign_out(who, &came.from()).await?;
    let mut response = (StatusCode::SEE_OTHER, [(header::LOCATION, "./")]).into_response();
    let tag = web.shelf().tag();
    let forgotten = cookie(&web, &came, &tag).forget();
    response.headers_mut().extend(forgotten.map(|cookie| (header::SET_COOKIE, cookie)));
    Ok(response)
}
