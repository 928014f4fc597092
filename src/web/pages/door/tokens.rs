//! `/settings/tokens`: the tokens of programs, when each was used last, and the forms that create and revoke them. A token's text is shown once, on the
//! page that answers its form.

use super::operators::administers;
use crate::domain::ids::Organization;
use crate::domain::time::Span;
use crate::engine::access::tokens::{NewToken, ROLES, TokenInfo};
use crate::web::WebState;
use crate::web::errors::{Kind, Problem};
use crate::web::pages::actions::{Sent, back};
use crate::web::pages::show::{Face, Moment};
use crate::web::pages::{Action, Frame, Visit, html};
use crate::web::texts;
use askama::Template;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;

/// Of those that are over the newest are shown; the API has all.
const OVER: usize = 20;

#[derive(Template)]
#[template(path = "tokens.html")]
struct Page {
    frame: Frame,
    tokens: Vec<Row>,
    roles: [&'static str; 4],
    create: Action,
}

struct Row {
    id: u64,
    name: String,
    role: String,
    organization: String,
    created: Moment,
    expires: Option<Moment>,
    used: Option<Moment>,
    revoked: Option<Moment>,
    is_over: bool,
    revoke: Action,
}

#[derive(Template)]
#[template(path = "token.html")]
struct Shown {
    frame: Frame,
    name: String,
    role: String,
    organization: String,
    text: String,
}

pub async fn page(State(web): State<WebState>, visit: Visit) -> Result<Response, Problem> {
    administers(&visit.viewer)?;
    let face = visit.face(&web);
    let frame = visit.frame(&web, &face, None);
    let rows = web.shelf().tokens()?.into_iter().rev().map(|t| row(&web, &visit, &face, &frame.root, t));
    let (in_force, over): (Vec<Row>, Vec<Row>) = rows.partition(|row| row.revoked.is_none() && !row.is_over);
    let page = Page {
        tokens: in_force.into_iter().chain(over.into_iter().take(OVER)).collect(),
        roles: ROLES,
        create: visit.action(&web, &frame.root, "settings/tokens"),
        frame,
    };
    Ok(html(StatusCode::OK, &page))
}

fn row(web: &WebState, visit: &Visit, face: &Face, root: &str, token: TokenInfo) -> Row {
    Row {
        id: token.id,
        created: face.moment(token.created_at),
        expires: face.maybe(token.expires_at),
        used: face.maybe(token.used_at),
        revoked: face.maybe(token.revoked_at),
        is_over: token.expires_at.is_some_and(|end| end.0 <= web.shelf().now().wall()),
        revoke: visit.action(web, root, &format!("settings/tokens/{}/revoke", token.id)),
        name: token.name,
        role: token.role,
        organization: token.organization.0,
    }
}

/// `name`, `role`, `organization` and, where it is to have an end, `lasts`.
pub async fn create(State(web): State<WebState>, sent: Sent) -> Result<Response, Problem> {
    administers(&sent.viewer)?;
    let text = |name: &str| sent.form.get(name).map(str::trim).unwrap_or_default().to_owned();
    let lasts = sent.form.get("lasts").map(|length| Span::parse(length.trim())).transpose();
    let lasts = lasts.map_err(|why| Problem::new(Kind::Invalid, crate::web::api::sentence(&why)))?;
    let organization =
        sent.form.get("organization").map_or_else(Organization::default, |o| Organization::from(o.trim()));
    let wanted = NewToken { name: text("name"), role: text("role"), organization, lasts };
    let secret = web.shelf().create_token(wanted.clone(), sent.by()).await?;
    let face = Face::of(&web, &sent.reader);
    let page = Shown {
        frame: super::quiet_frame(&web, &face, "/settings/tokens", Some(&sent.viewer)),
        name: wanted.name,
        role: wanted.role,
        organization: wanted.organization.0,
        text: secret,
    };
    Ok(html(StatusCode::OK, &page))
}

pub async fn revoke(State(web): State<WebState>, Path(id): Path<u64>, sent: Sent) -> Result<Response, Problem> {
    administers(&sent.viewer)?;
    web.shelf().revoke_token(id, sent.by()).await?;
    Ok(back("../../tokens", &sent.organization, ""))
}
