//! Who spent what, as JSON.

use super::{Ask, Known, json};
use crate::domain::ids::Organization;
use crate::domain::spend::{SpendAsk, SpendBy};
use crate::engine::view::{PerWord, SpendView};
use crate::web::WebState;
use crate::web::errors::Problem;
use crate::web::period::{Per, Period, Query};
use axum::extract::State;
use axum::response::Response;
use serde::Serialize;
use utoipa::ToSchema;

impl Known for Query {
    const NAMES: &'static [&'static str] = Query::NAMES;
}

#[derive(Serialize, ToSchema)]
struct Spending {
    #[schema(value_type = PerWord)]
    per: &'static str,
    /// Days begin here.
    time_zone: Option<String>,
    #[serde(flatten)]
    view: SpendView,
}

/// Who spent what, over a stretch of time and in slices of it.
///
/// What waits for its answer counts; `requests` are also those that the provider cannot have counted. By organization: all that the viewer may see.
#[utoipa::path(
    get, path = "/spend", operation_id = "spend", tag = "Spending", params(Query),
    responses((status = 200, description = "The sums.", body = Spending)),
)]
pub async fn list(State(web): State<WebState>, ask: Ask<Query>) -> Result<Response, Problem> {
    let period = Period::read(&ask.query, web.shelf().now().wall(), web.zone())?;
    let per = period.per;
    let all = period.by == SpendBy::Organization;
    let view = web.shelf().spend(&asked(period, Some(ask.organization.clone()).filter(|_| !all)))?;
    let view = if all { view.only(|name| ask.viewer.may_read(&Organization::from(name))) } else { view };
    let time_zone = web.zone().iana_name().filter(|_| per == Per::Day).map(str::to_owned);
    Ok(json(Spending { per: per.word(), time_zone, view }))
}

pub fn asked(period: Period, organization: Option<Organization>) -> SpendAsk {
    let Period { starts, until, by, connection, .. } = period;
    SpendAsk { organization, connection, by, starts, until }
}
