//! `/setup/{recipe}`: what a recipe knows, what it leaves to the connection, and the form that adds one on trial: it asks nothing by itself.

use super::super::actions::{Sent, back};
use super::super::{Action, Frame, Visit, html, segment};
use crate::domain::setup::{Client, RecipeSheet, Sketch};
use crate::engine::setup::Typed;
use crate::web::WebState;
use crate::web::errors::Problem;
use crate::web::texts;
use askama::Template;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;

#[derive(Template)]
#[template(path = "recipe.html")]
struct Page {
    frame: Frame,
    sheet: RecipeSheet,
    add: Action,
    said: Said,
    wrong: Option<String>,
}

/// What was filled in, for a form that comes back. Never the credential.
#[derive(Default)]
struct Said {
    name: String,
    base_url: String,
    requests: String,
    window: String,
    interval: String,
    client_id: String,
    account: String,
}

impl Said {
    fn of(sent: &Sent) -> Said {
        let field = |name: &str| sent.form.get(name).unwrap_or_default().trim().to_owned();
        Said {
            name: field("name"),
            base_url: field("base_url"),
            requests: field("requests"),
            window: field("window"),
            interval: field("interval"),
            client_id: field("client_id"),
            account: field("account"),
        }
    }

    fn sketch(&self, sent: &Sent, recipe: &str) -> Result<Sketch, Problem> {
        let given = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        let limit = match (given(&self.requests), given(&self.window)) {
            (None, None) => None,
            (Some(requests), Some(window)) => match requests.parse() {
                Ok(requests) => Some((requests, window)),
                Err(_) => {
                    return Err(Problem::bad_request("The requests of the limit are a whole number, such as 1000."));
                }
            },
            _ => return Err(Problem::bad_request("A limit has requests and a window, such as 1000 in 24h.")),
        };
        Ok(Sketch {
            key: sent.connection(self.name.clone())?,
            recipe: recipe.to_owned(),
            base_url: given(&self.base_url),
            limit,
            interval: given(&self.interval),
            client: given(&self.client_id).map(|id| Client {
                id,
                has_secret: sent.form.get("client_secret").is_some(),
                account: given(&self.account),
            }),
        })
    }
}

pub async fn page(State(web): State<WebState>, Path(recipe): Path<String>, visit: Visit) -> Result<Response, Problem> {
    shown(&web, &visit, &recipe, Said::default(), None)
}

fn shown(web: &WebState, visit: &Visit, recipe: &str, said: Said, wrong: Option<String>) -> Result<Response, Problem> {
    let frame = visit.frame(web, &visit.face(web), None);
    let status = if wrong.is_some() { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::OK };
    let page = Page {
        sheet: web.shelf().appliance()?.recipe(recipe)?,
        add: visit.action(web, &frame.root, &format!("setup/{}", segment(recipe))),
        said,
        wrong,
        frame,
    };
    Ok(html(status, &page))
}

/// `name`, `secret`, and what the recipe leaves open: where its tokens renew themselves `client_id`, `client_secret` and `account` too.
pub async fn add(State(web): State<WebState>, Path(recipe): Path<String>, sent: Sent) -> Result<Response, Problem> {
    super::admin(&sent)?;
    let said = Said::of(&sent);
    let sketch = said.sketch(&sent, &recipe)?;
    let typed = |name: &str| sent.form.get(name).map(|secret| secret.trim().to_owned());
    let secrets = Typed { secret: typed("secret"), client_secret: typed("client_secret") };
    match web.shelf().appliance()?.sketch(&sketch, secrets, sent.by()).await {
        Ok(()) => {
            let there = format!("../c/{}/setup", segment(sketch.key.connection.as_str()));
            Ok(back(&there, &sketch.key.organization, ""))
        }
        Err(denied) => {
            let why = super::wrong(denied)?;
            shown(&web, &sent.visit(&format!("/setup/{}", segment(&recipe))), &recipe, said, Some(why))
        }
    }
}
