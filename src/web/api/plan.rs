//! What the limits can keep up, as JSON; and what they could if a connection were otherwise.

use super::{Ask, Known, json};
use crate::domain::ids::{ConnectionKey, ConnectionName, Organization};
use crate::domain::spec::Interval;
use crate::domain::time::Span;
use crate::engine::plans::WhatIf;
use crate::engine::view::{PlanView, WhatIfView};
use crate::web::WebState;
use crate::web::errors::Problem;
use axum::extract::State;
use axum::response::Response;
use serde::Serialize;
use utoipa::{IntoParams, ToSchema};

/// No plan of a person has more of anything.
const MOST: u64 = 1_000_000_000;

/// The query as it comes. A form sends its empty fields too.
#[derive(Clone, Debug, Default, serde::Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct Query {
    /// Which connection could be otherwise; the others say how.
    pub connection: Option<String>,
    /// How often to poll: `auto`, a duration (`75s`, `5m`), or seconds.
    #[param(example = "5m")]
    pub interval: Option<String>,
    /// How many targets it has.
    #[param(value_type = Option<u64>, maximum = 1_000_000_000)]
    pub targets: Option<String>,
    /// Rows of a page.
    #[param(value_type = Option<u64>, minimum = 1, maximum = 1_000_000_000)]
    pub page_size: Option<String>,
    /// Rows of one target.
    #[param(value_type = Option<u64>, maximum = 1_000_000_000)]
    pub rows: Option<String>,
}

#[derive(Serialize, ToSchema)]
struct Plans {
    connections: Vec<PlanView>,
    /// Null: nothing was asked.
    what_if: Option<WhatIfView>,
}

impl Known for Query {
    const NAMES: &'static [&'static str] = &["connection", "interval", "targets", "page_size", "rows"];
}

impl Query {
    /// Of which connection, and what if; `None`: nothing is asked.
    pub fn read(&self, organization: &Organization) -> Result<Option<(ConnectionKey, WhatIf)>, Problem> {
        let Some(connection) = said(&self.connection) else {
            let others = [&self.interval, &self.targets, &self.page_size, &self.rows];
            return match others.into_iter().any(|other| said(other).is_some()) {
                true => Err(Problem::bad_request("Name the connection: connection=NAME.")),
                false => Ok(None),
            };
        };
        let key =
            ConnectionKey { organization: organization.clone(), connection: ConnectionName(connection.to_owned()) };
        let asked = WhatIf {
            interval: said(&self.interval).map(interval).transpose()?,
            targets: number("targets", &self.targets, 0)?,
            page_size: number("page_size", &self.page_size, 1)?,
            rows: number("rows", &self.rows, 0)?,
        };
        Ok(Some((key, asked)))
    }
}

fn said(text: &Option<String>) -> Option<&str> {
    text.as_deref().map(str::trim).filter(|text| !text.is_empty())
}

/// `auto`, a duration, or a bare number: seconds.
fn interval(text: &str) -> Result<Interval, Problem> {
    if text == "auto" {
        return Ok(Interval::Auto);
    }
    let bare = text.bytes().all(|b| b.is_ascii_digit());
    let span = Span::parse(&if bare { format!("{text}s") } else { text.to_owned() });
    match span {
        Ok(span) if span >= crate::rules::plan::SHORTEST => Ok(Interval::Every(span)),
        Ok(_) => Err(Problem::bad_request("interval: no provider is polled faster than every second.")),
        Err(wrong) => Err(Problem::bad_request(format!("interval: {wrong}, or \"auto\"."))),
    }
}

fn number(name: &str, text: &Option<String>, least: u64) -> Result<Option<u64>, Problem> {
    let Some(text) = said(text) else { return Ok(None) };
    match text.parse() {
        Ok(n) if (least..=MOST).contains(&n) => Ok(Some(n)),
        _ => Err(Problem::bad_request(format!("{name} is a whole number from {least} to {MOST}."))),
    }
}

/// What each connection asks a day and what its limits keep up; and the same if one were otherwise.
///
/// Nothing is saved, and nobody is asked.
#[utoipa::path(
    get, path = "/plan", operation_id = "plan", tag = "Spending", params(Query),
    responses(
        (status = 200, description = "The plans, and what was asked.", body = Plans),
        (status = 404, description = "There is no such connection.", body = Problem, content_type = "application/problem+json"),
    ),
)]
pub async fn list(State(web): State<WebState>, ask: Ask<Query>) -> Result<Response, Problem> {
    let what_if = match ask.query.read(&ask.organization)? {
        Some((key, asked)) => Some(web.shelf().what_if(&key, &asked)?),
        None => None,
    };
    Ok(json(Plans { connections: own(&web, &ask.organization)?, what_if }))
}

/// The plans of an organization's connections.
pub fn own(web: &WebState, organization: &Organization) -> Result<Vec<PlanView>, Problem> {
    let mut plans = web.shelf().plans()?;
    plans.retain(|plan| plan.organization == organization.as_str());
    Ok(plans)
}
