//! The part of a connection's page about its webhooks, and what its forms do.

use super::actions::{Sent, back};
use super::show::{Face, Moment};
use super::{Action, Visit, segment};
use crate::engine::view::WebhookView;
use crate::web::WebState;
use crate::web::errors::{Kind, Problem};
use crate::web::texts;
use axum::extract::{Path, State};
use axum::response::Response;

/// Dead letters that the page shows; the API has them all.
const LETTERS: usize = 10;

pub struct Webhook {
    pub name: String,
    pub to: String,
    pub is_failing: bool,
    pub sentence: String,
    pub events: String,
    /// As what it is told, behind the address.
    pub form: String,
    pub letters: Vec<Letter>,
    pub more: usize,
    pub test: Action,
    pub redeliver: Action,
}

pub struct Letter {
    pub at: Moment,
    pub message: String,
    pub reason: String,
    pub again: bool,
}

pub fn webhooks(
    web: &WebState,
    visit: &Visit,
    face: &Face,
    (connection, root): (&str, &str),
    views: Vec<WebhookView>,
) -> Vec<Webhook> {
    let action = |name: &str, what: &str| {
        visit.action(web, root, &format!("c/{}/webhooks/{}/{what}", segment(connection), segment(name)))
    };
    let webhook = |view: WebhookView| Webhook {
        is_failing: view.state == "failing",
        events: view.events.iter().map(|kind| kind.replace('_', " ")).collect::<Vec<_>>().join(", "),
        form: match (view.kind, view.signed) {
            ("ntfy", _) => texts::t("webhooks-as-notifications").plain(),
            (_, true) => String::new(),
            (_, false) => texts::t("webhooks-not-signed").plain(),
        },
        more: view.dead_letters.len().saturating_sub(LETTERS),
        test: action(&view.name, "test"),
        redeliver: action(&view.name, "redeliver"),
        letters: view
            .dead_letters
            .into_iter()
            .take(LETTERS)
            .map(|l| Letter { at: face.moment(l.at), message: l.message, reason: l.reason, again: l.again })
            .collect(),
        sentence: face.told(&view.sentence),
        to: view.to,
        name: view.name,
    };
    views.into_iter().map(webhook).collect()
}

type Place = Path<(String, String)>;

pub async fn redeliver(
    State(web): State<WebState>,
    Path((connection, webhook)): Place,
    sent: Sent,
) -> Result<Response, Problem> {
    let key = sent.connection(connection)?;
    web.shelf().redeliver(&key, &webhook, sent.by()).await?;
    Ok(back(&back_to(&key.connection.0), &key.organization, "#webhooks"))
}

/// Taken: back to the page. Not taken: a page that says why.
pub async fn test(
    State(web): State<WebState>,
    Path((connection, webhook)): Place,
    sent: Sent,
) -> Result<Response, Problem> {
    let key = sent.connection(connection)?;
    let heard = web.shelf().test_webhook(&key, &webhook, sent.by()).await?;
    match heard.taken {
        true => Ok(back(&back_to(&key.connection.0), &key.organization, "#webhooks")),
        false => Err(Problem::new(Kind::Unavailable, heard.sentence)),
    }
}

/// From `/c/{connection}/webhooks/{webhook}/{what}`.
fn back_to(connection: &str) -> String {
    format!("../../../{}", segment(connection))
}
