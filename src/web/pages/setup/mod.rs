//! `/setup`: where each connection is written, the recipes, and the configuration as one text, out and in. A connection comes of a recipe
//! (`recipe`), is tried and saved (`trial`); `rewrite` is about one target. Each form ends on the page that shows what it did (303), or says what
//! is wrong. The guard has judged token, origin and form before these run.

pub mod recipe;
pub mod rewrite;
pub mod trial;
mod tried;

use super::actions::Sent;
use super::show::Moment;
use super::{Action, Frame, Visit, html, segment};
use crate::engine::setup::ImportView;
use crate::engine::view::Denied;
use crate::web::WebState;
use crate::web::access::forms::guarded;
use crate::web::errors::{Kind, Problem};
use crate::web::texts;
use askama::Template;
use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};

/// Of the configuration as one text.
const FILE: &str = "/setup/larder.toml";

/// The pages, behind the guard of pages.
pub fn pages() -> Router<WebState> {
    Router::new()
        .route("/setup", get(page))
        .route(FILE, get(export))
        .route("/setup/{recipe}", get(recipe::page))
        .route("/c/{connection}/setup", get(trial::page))
        .route("/c/{connection}/t/{target}/edit", get(rewrite::page))
}

/// The forms, each behind the guard of forms.
pub fn forms(state: &WebState) -> Router<WebState> {
    let form = |handler| guarded(state, handler);
    Router::new()
        .route(FILE, form(post(import)))
        .route("/setup/{recipe}", form(post(recipe::add)))
        .route("/c/{connection}/setup/test", form(post(trial::test)))
        .route("/c/{connection}/setup/save", form(post(trial::save)))
        .route("/c/{connection}/setup/discard", form(post(trial::discard)))
        .route("/c/{connection}/t/{target}/edit", form(post(rewrite::change)))
}

#[derive(Template)]
#[template(path = "setup.html")]
struct Page {
    frame: Frame,
    lines: Vec<Line>,
    recipes: Vec<Known>,
    import: Action,
    imported: Option<ImportView>,
    /// As it was handed over, to be taken in after a look.
    text: String,
}

struct Line {
    name: String,
    href: String,
    setup_href: String,
    recipe: Option<String>,
    stored: Option<(String, Moment)>,
    on_trial: bool,
    variables: Vec<String>,
}

struct Known {
    name: String,
    href: String,
    about: String,
}

pub async fn page(State(web): State<WebState>, visit: Visit) -> Result<Response, Problem> {
    Ok(html(StatusCode::OK, &setup(&web, &visit, None, String::new())?))
}

fn setup(web: &WebState, visit: &Visit, imported: Option<ImportView>, text: String) -> Result<Page, Problem> {
    let face = visit.face(web);
    let frame = visit.frame(web, &face, None);
    let desk = web.shelf().appliance()?;
    let mut lines = Vec::new();
    for key in desk.connections()?.into_iter().filter(|c| c.organization == visit.organization.as_str()).map(|c| c.name)
    {
        let origin = desk.origin(&visit.connection(&key))?;
        lines.push(Line {
            href: format!("{}c/{}{}", frame.root, segment(&key), visit.suffix()),
            setup_href: format!("{}c/{}/setup{}", frame.root, segment(&key), visit.suffix()),
            recipe: origin.recipe,
            stored: origin.stored.map(|(by, at)| (by, face.moment(at))),
            on_trial: origin.on_trial,
            variables: origin.variables,
            name: key,
        });
    }
    let known = |(name, provider, about): (String, String, String)| Known {
        href: format!("{}setup/{}{}", frame.root, segment(&name), visit.suffix()),
        about: if about.is_empty() { provider } else { about },
        name,
    };
    let recipes = desk.recipes()?.into_iter().map(known).collect();
    let import = visit.action(web, &frame.root, FILE.trim_start_matches('/'));
    Ok(Page { lines, recipes, import, imported, text, frame })
}

/// The whole installation's, so only for admins.
async fn export(State(web): State<WebState>, visit: Visit) -> Result<Response, Problem> {
    if !visit.viewer.may_administer() {
        let why = "The configuration as a whole is for admins. Sign in, or send a token of theirs as Authorization: Bearer ...; on this machine \
                   `larder config export` writes it out.";
        return Err(Problem::new(Kind::Forbidden, why));
    }
    let text = web.shelf().export()?;
    let headers = [
        (header::CONTENT_TYPE, "application/toml"),
        (header::CONTENT_DISPOSITION, "attachment; filename=\"larder.toml\""),
        (header::CACHE_CONTROL, "no-store"),
    ];
    Ok((headers, text).into_response())
}

/// `text`; with `take` it is taken in, else looked at.
async fn import(State(web): State<WebState>, sent: Sent) -> Result<Response, Problem> {
    admin(&sent)?;
    let text = sent.form.get("text").unwrap_or_default().to_owned();
    let view = web.shelf().import(&text, sent.form.get("take").map(|_| sent.by())).await?;
    let text = if view.done { String::new() } else { text };
    let visit = sent.visit(FILE);
    Ok(html(StatusCode::OK, &setup(&web, &visit, Some(view), text)?))
}

/// Which addresses this machine asks, and with what, is for admins to say.
pub(super) fn admin(sent: &Sent) -> Result<(), Problem> {
    match sent.viewer.may_administer() {
        true => Ok(()),
        false => Err(Problem::new(
            Kind::Forbidden,
            "Connections are added by admins: an operator, or a token with the role admin.",
        )),
    }
}

/// What is wrong with what was written, for the page that the form was on.
pub(super) fn wrong(denied: Denied) -> Result<String, Problem> {
    match denied {
        Denied::Invalid(why) => Ok(why),
        other => Err(other.into()),
    }
}
