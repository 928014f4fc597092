//! `/c/{connection}/credential`: where the credential comes from, and the form that replaces it. A secret comes in by it and never goes out.

use super::actions::{Sent, back};
use super::show::Moment;
use super::{Action, Frame, Visit, html, segment};
use crate::engine::setup::Typed;
use crate::web::WebState;
use crate::web::errors::Problem;
use crate::web::texts;
use askama::Template;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;

#[derive(Template)]
#[template(path = "credential.html")]
struct Page {
    frame: Frame,
    name: String,
    /// Of the connection's page, beside this one.
    href: String,
    configured: Option<String>,
    /// By whom, and when.
    set: Option<(String, Moment)>,
    same_account: bool,
    since: Option<Moment>,
    /// Its credential is a refresh token.
    renews: bool,
    replace: Action,
}

pub async fn page(State(web): State<WebState>, Path(name): Path<String>, visit: Visit) -> Result<Response, Problem> {
    let face = visit.face(&web);
    let credential = web.shelf().connection(&visit.connection(&name))?.credential;
    let origin = web.shelf().appliance().ok().and_then(|desk| desk.origin(&visit.connection(&name)).ok());
    let frame = visit.frame(&web, &face, Some(&name));
    let page = Page {
        href: format!("{}{}", segment(&name), visit.suffix()),
        configured: credential.configured,
        set: credential.set.map(|set| (set.by, face.moment(set.at))),
        same_account: credential.same_account,
        renews: origin.is_some_and(|origin| origin.renews),
        since: face.maybe(credential.since),
        replace: visit.action(&web, &frame.root, &format!("c/{}/credential", segment(&name))),
        name,
        frame,
    };
    Ok(html(StatusCode::OK, &page))
}

/// `secret`, and `client_secret` where there is one; or `clear`, which gives the word back to the file.
pub async fn change(
    State(web): State<WebState>,
    Path(connection): Path<String>,
    sent: Sent,
) -> Result<Response, Problem> {
    let key = sent.connection(connection)?;
    let secret = match (sent.form.get("clear"), sent.form.get("secret")) {
        (Some(_), _) => None,
        (None, Some(secret)) => Some(secret.trim().to_owned()),
        (None, None) => return Err(Problem::bad_request("The form has no credential in it. Nothing was changed.")),
    };
    let client_secret = sent.form.get("client_secret").map(|secret| secret.trim().to_owned());
    match client_secret {
        None => web.shelf().set_credential(&key, secret, sent.by()).await?,
        Some(_) => {
            let typed = Typed { secret, client_secret }.pasted()?;
            let pasted = typed.ok_or_else(|| Problem::bad_request("The form has no credential in it."))?;
            web.shelf().appliance()?.set_client(&key, pasted, sent.by()).await?
        }
    };
    Ok(back("credential", &key.organization, ""))
}
