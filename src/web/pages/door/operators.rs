//! `/settings/operators`: who may come in and where everybody is signed in; one's own password; adding, removing, signing out. A code that lets a new
//! operator in is shown once, to who asked for it.

use super::let_in;
use crate::engine::access::operators::{OperatorView, SessionView};
use crate::engine::access::sessions::SignedIn;
use crate::engine::view::Denied;
use crate::web::WebState;
use crate::web::access::front::{begin_try, end_try};
use crate::web::access::proxy::Came;
use crate::web::access::{Means, Viewer};
use crate::web::errors::{Kind, Problem};
use crate::web::pages::actions::{Sent, back};
use crate::web::pages::show::{Face, Moment};
use crate::web::pages::{Action, Frame, Visit, html, segment};
use crate::web::texts;
use askama::Template;
use axum::Extension;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;

#[derive(Template)]
#[template(path = "operators.html")]
struct Page {
    frame: Frame,
    operators: Vec<Row>,
    add: Action,
    /// For who is signed in with a password.
    password: Option<Action>,
    sign_out: Option<Action>,
}

struct Row {
    name: String,
    added: Moment,
    added_by: String,
    password: Option<Moment>,
    sessions: Vec<Browser>,
    sign_out: Action,
    remove: Action,
}

struct Browser {
    from: String,
    begun: Moment,
    seen: Moment,
}

#[derive(Template)]
#[template(path = "code.html")]
struct Code {
    frame: Frame,
    name: String,
    code: String,
    until: Moment,
    claim: String,
}

pub(super) fn administers(viewer: &Viewer) -> Result<(), Problem> {
    if viewer.may_administer() {
        return Ok(());
    }
    let detail = "This concerns who may come in: it needs a signed-in operator, or a token with the role admin.";
    Err(Problem::new(Kind::Forbidden, detail))
}

pub async fn page(State(web): State<WebState>, visit: Visit) -> Result<Response, Problem> {
    administers(&visit.viewer)?;
    let face = visit.face(&web);
    let frame = visit.frame(&web, &face, None);
    let is_signed_in = matches!(visit.viewer, Viewer::Operator { means: Means::Session(_), .. });
    let own = |address: &str| is_signed_in.then(|| visit.action(&web, &frame.root, address));
    let page = Page {
        operators: web.shelf().operators()?.into_iter().map(|o| row(&web, &visit, &face, &frame.root, o)).collect(),
        add: visit.action(&web, &frame.root, "settings/operators"),
        password: own("settings/password"),
        sign_out: own("sign-out"),
        frame,
    };
    Ok(html(StatusCode::OK, &page))
}

fn row(web: &WebState, visit: &Visit, face: &Face, root: &str, operator: OperatorView) -> Row {
    let action = |what: &str| {
        let address = format!("settings/operators/{}/{what}", segment(&operator.name));
        visit.action(web, root, &address)
    };
    let browser = |s: &SessionView| Browser {
        from: s.from.clone(),
        begun: face.moment(s.begun_at),
        seen: face.moment(s.seen_at),
    };
    Row {
        added: face.moment(operator.added_at),
        password: face.maybe(operator.password_at),
        sessions: operator.sessions.iter().map(browser).collect(),
        sign_out: action("sign-out"),
        remove: action("remove"),
        added_by: operator.added_by,
        name: operator.name,
    }
}

/// `name` of a new one.
pub async fn add(State(web): State<WebState>, sent: Sent) -> Result<Response, Problem> {
    administers(&sent.viewer)?;
    let Some(name) = sent.form.get("name").map(str::trim) else {
        return Err(Problem::bad_request("The form has no name in it. Nothing was changed."));
    };
    let issued = web.shelf().add_operator(name, sent.by()).await?;
    let face = Face::of(&web, &sent.reader);
    let frame = super::quiet_frame(&web, &face, "/settings/operators", Some(&sent.viewer));
    let page = Code {
        name: name.to_owned(),
        code: issued.code,
        until: face.moment(issued.until),
        claim: format!("{}claim", frame.root),
        frame,
    };
    Ok(html(StatusCode::OK, &page))
}

pub async fn remove(State(web): State<WebState>, Path(name): Path<String>, sent: Sent) -> Result<Response, Problem> {
    administers(&sent.viewer)?;
    web.shelf().remove_operator(&name, sent.by()).await?;
    Ok(back("../../operators", &sent.organization, ""))
}

pub async fn sign_out(State(web): State<WebState>, Path(name): Path<String>, sent: Sent) -> Result<Response, Problem> {
    administers(&sent.viewer)?;
    web.shelf().sign_out_everywhere(&name, sent.by()).await?;
    Ok(back("../../operators", &sent.organization, ""))
}

/// `old` and `new`, of who is signed in with a password; the browser gets a new session.
pub async fn password(
    State(web): State<WebState>,
    Extension(came): Extension<Came>,
    sent: Sent,
) -> Result<Response, Problem> {
    let Viewer::Operator { name, means: Means::Session(session) } = sent.viewer else {
        return Err(Problem::bad_request("Only who is signed in with a password can change it here."));
    };
    let text = |name: &str| sent.form.0.get(name).map(String::as_str).unwrap_or_default();
    begin_try(&web, &came)?;
    let who = SignedIn { operator: name, session };
    let changed = web.shelf().change_password(who, text("old"), text("new"), &came.from()).await;
    // A new password that is refused was asked for with the right old one; what failed otherwise forgives nothing.
    end_try(&web, &came, matches!(changed, Ok(Some(_)) | Err(Denied::Invalid(_))));
    match changed? {
        Some(secret) => Ok(let_in(&web, &came, &secret, "/operators")),
        None => Err(Problem::new(Kind::Invalid, "The password of now is not right. Nothing was changed.")),
    }
}
