//! `/claim`: a one-time code becomes an operator. The code is what the appliance prints while it has none, what `larder operator reset` prints, or
//! what another operator hands over.

use super::{front_action, let_in};
use crate::engine::view::Denied;
use crate::web::WebState;
use crate::web::access::forms::Form;
use crate::web::access::front::{Visitor, begin_try, end_try};
use crate::web::api::sentence;
use crate::web::errors::Problem;
use crate::web::pages::show::Face;
use crate::web::pages::{Action, Frame, html};
use crate::web::texts;
use askama::Template;
use axum::Extension;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;

#[derive(Template)]
#[template(path = "claim.html")]
struct Page {
    frame: Frame,
    /// What was wrong.
    said: Option<String>,
    /// Whether a code would be looked at.
    is_claimable: bool,
    is_first: bool,
    code: String,
    name: String,
    form: Action,
}

pub async fn page(State(web): State<WebState>, visitor: Visitor) -> Result<Response, Problem> {
    draw(&web, &visitor, StatusCode::OK, None, &Form::default())
}

fn draw(
    web: &WebState,
    visitor: &Visitor,
    status: StatusCode,
    said: Option<String>,
    form: &Form,
) -> Result<Response, Problem> {
    let face = Face::of(web, &visitor.reader);
    let text = |name: &str| form.get(name).unwrap_or_default().to_owned();
    let page = Page {
        said,
        is_claimable: web.shelf().is_claimable()?,
        is_first: !web.shelf().has_operators()?,
        code: text("code"),
        name: text("name"),
        form: front_action(web, "", "claim"),
        frame: super::quiet_frame(web, &face, "/claim", visitor.viewer.as_ref()),
    };
    Ok(html(status, &page))
}

/// `code`, `name`, `password`.
pub async fn claim(
    State(web): State<WebState>,
    visitor: Visitor,
    Extension(form): Extension<Form>,
) -> Result<Response, Problem> {
    begin_try(&web, &visitor.came)?;
    let password = form.0.get("password").map(String::as_str).unwrap_or_default();
    let (code, name) = (form.get("code").unwrap_or_default(), form.get("name").unwrap_or_default());
    let claimed = web.shelf().claim(code, name, password, &visitor.came.from()).await;
    // What failed otherwise says nothing of the code, and forgives nothing.
    end_try(&web, &visitor.came, matches!(claimed, Ok(Some(_)) | Err(Denied::Invalid(_))));
    let said = match claimed {
        Ok(Some(secret)) => return Ok(let_in(&web, &visitor.came, &secret, "/")),
        Ok(None) => texts::t("claim-this-code-is-not").plain(),
        Err(Denied::Invalid(why)) => sentence(&why),
        Err(denied) => return Err(denied.into()),
    };
    draw(&web, &visitor, StatusCode::FORBIDDEN, Some(said), &form)
}
