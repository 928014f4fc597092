//! `/polling`: the switch and the workers of the whole appliance, beside what the file says, and the form that changes them. For who
//! administers it: what is set here holds for every organization.

use super::actions::{Sent, back};
use super::controls::{Control, Set};
use super::show::{self, Face};
use super::{Action, Frame, Visit, html};
use crate::domain::polling::MOST_WORKERS;
use crate::engine::polling::PollingControls;
use crate::engine::view::{PollingView, SetView};
use crate::web::WebState;
use crate::web::access::forms::Form;
use crate::web::api::{plan, sentence};
use crate::web::errors::{Kind, Problem};
use crate::web::texts;
use askama::Template;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::{Map, Value};

#[derive(Template)]
#[template(path = "polling.html")]
struct Page {
    frame: Frame,
    enabled: bool,
    controls: [Control; 2],
    most_workers: u32,
    /// Requests that the plans of the visitor's organization make in a day.
    a_day: String,
    change: Action,
}

pub async fn page(State(web): State<WebState>, visit: Visit) -> Result<Response, Problem> {
    let face = visit.face(&web);
    let view = web.shelf().polling().await?;
    let plans = plan::own(&web, &visit.organization)?;
    let frame = visit.frame(&web, &face, None);
    let change = visit.action(&web, &frame.root, "polling");
    let page = Page {
        enabled: view.enabled,
        controls: controls(&face, &view),
        most_workers: MOST_WORKERS,
        a_day: show::count(plans.iter().filter(|p| p.enabled).map(|p| p.figures.requests_per_day).sum()),
        change: Action { needs_token: !visit.viewer.may_administer(), ..change },
        frame,
    };
    Ok(html(StatusCode::OK, &page))
}

fn controls(face: &Face, view: &PollingView) -> [Control; 2] {
    let word = |on: bool| if on { texts::t("polling-is-on") } else { texts::t("polling-is-off") }.plain();
    [
        Control {
            key: "enabled",
            label: texts::t("polling-polling"),
            in_force: word(view.enabled),
            configured: word(view.enabled_configured),
            set: set(face, view.enabled_set.as_ref()),
        },
        Control {
            key: "workers",
            label: texts::t("polling-workers-at-once"),
            in_force: view.workers.to_string(),
            configured: view.workers_configured.to_string(),
            set: set(face, view.workers_set.as_ref()),
        },
    ]
}

fn set<T>(face: &Face, set: Option<&SetView<T>>) -> Option<Set> {
    set.map(|set| Set::of(face, set))
}

/// `on=true|false` and `workers`, of which what is blank stays; or `clear`, which names one that the file decides again.
pub async fn change(State(web): State<WebState>, sent: Sent) -> Result<Response, Problem> {
    if !sent.viewer.may_administer() {
        let detail = "This concerns every organization: it needs a token with the role admin.";
        return Err(Problem::new(Kind::Forbidden, detail));
    }
    let wanted =
        PollingControls::read(&wanted(&sent.form)).map_err(|why| Problem::new(Kind::Invalid, sentence(&why)))?;
    web.shelf().change_polling(wanted, sent.by()).await?;
    Ok(back("polling", &sent.organization, ""))
}

fn wanted(form: &Form) -> Map<String, Value> {
    if let Some(cleared) = form.get("clear") {
        return Map::from_iter([(cleared.to_owned(), Value::Null)]);
    }
    let switch =
        form.get("on").map(|on| ("enabled".to_owned(), on.parse().map_or_else(|_| Value::from(on), Value::Bool)));
    let number = |text: &str| text.trim().parse::<u32>().map_or_else(|_| Value::from(text), Value::from);
    let workers = form.get("workers").map(|text| ("workers".to_owned(), number(text)));
    switch.into_iter().chain(workers).collect()
}
