//! `/o/{organization}/usage`: what an organization has left, what it spent, and through whom. Reads the shelf and the sums alone.

use super::overview::{Gauge, gauge};
use super::show::{self, Chip, Face};
use super::{Frame, Visit, html, segment};
use crate::domain::ids::{Caller, ConnectionName, Organization};
use crate::domain::spend::{SpendAsk, SpendBy};
use crate::domain::time::{Span, Wall};
use crate::engine::view::{ConnectionView, SpendView};
use crate::web::WebState;
use crate::web::errors::Problem;
use crate::web::texts;
use askama::Template;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;

const DAY: Span = Span::from_secs(86_400);
const MONTH: Span = Span::from_secs(30 * 86_400);

#[derive(Template)]
#[template(path = "usage.html")]
struct Page {
    frame: Frame,
    organization: String,
    sentence: String,
    connections: Vec<Connection>,
    /// Words of the callers that asked anything, for the head of the table.
    callers: Vec<&'static str>,
    spend: String,
}

struct Connection {
    name: String,
    href: String,
    chip: Chip,
    /// The limit of which least is left.
    tightest: Option<Gauge>,
    /// Units in a day, by the callers of the head, then together; and in thirty days.
    by_caller: Vec<String>,
    day: String,
    month: String,
}

pub async fn page(
    State(web): State<WebState>,
    Path(organization): Path<String>,
    visit: Visit,
) -> Result<Response, Problem> {
    let visit = visit.of(&organization)?;
    let (face, now) = (visit.face(&web), web.shelf().now().wall());
    let all = web.shelf().connections()?;
    let own: Vec<&ConnectionView> = all.iter().filter(|c| c.organization == visit.organization.as_str()).collect();
    if own.is_empty() {
        return Err(Problem::not_found(format!("There is no organization {organization} with a connection.")));
    }
    let ask = |back: Span, by, connection| web.shelf().spend(&asked(&visit.organization, now, back, by, connection));
    let day = ask(DAY, SpendBy::Caller, None)?;
    let month = ask(MONTH, SpendBy::Connection, None)?;
    let spent = |c: &&ConnectionView| ask(DAY, SpendBy::Caller, Some(ConnectionName(c.name.clone())));
    let days = own.iter().map(spent).collect::<Result<Vec<SpendView>, _>>()?;
    let callers: Vec<Caller> = Caller::ALL.into_iter().filter(|c| units_of(&day, c.word()) > 0).collect();
    let frame = visit.frame(&web, &face, None);
    let row =
        |(c, spent): (&&ConnectionView, &SpendView)| connection(&face, &visit, &frame.root, c, &callers, spent, &month);
    let page = Page {
        connections: own.iter().zip(&days).map(row).collect(),
        callers: callers.iter().map(|c| c.word()).collect(),
        sentence: sentence(&day, &month),
        spend: format!("{}spend{}", frame.root, visit.suffix()),
        organization,
        frame,
    };
    Ok(html(StatusCode::OK, &page))
}

fn asked(
    organization: &Organization,
    now: Wall,
    back: Span,
    by: SpendBy,
    connection: Option<ConnectionName>,
) -> SpendAsk {
    SpendAsk { organization: Some(organization.clone()), connection, by, starts: vec![now - back], until: now }
}

fn units_of(view: &SpendView, name: &str) -> u64 {
    view.groups.iter().find(|group| group.name == name).map_or(0, |group| group.spent.units)
}

fn sentence(day: &SpendView, month: &SpendView) -> String {
    let requests = |n: u64| show::counted(n, show::Noun::Request);
    let month = requests(month.total.requests);
    match day.groups.first() {
        None => texts::t("usage-nothing-was-asked-in").with("month", &month).plain(),
        Some(first) => texts::t("usage-in-the-last-24")
            .with("requests", requests(day.total.requests))
            .with("name", &first.name)
            .with("month", &month)
            .plain(),
    }
}

fn connection(
    face: &Face,
    visit: &Visit,
    root: &str,
    view: &ConnectionView,
    callers: &[Caller],
    day: &SpendView,
    month: &SpendView,
) -> Connection {
    Connection {
        href: format!("{root}c/{}{}", segment(&view.name), visit.suffix()),
        name: view.name.clone(),
        chip: Chip::of(view.state),
        tightest: super::overview::tightest(&view.budget).map(|budget| gauge(face, budget)),
        by_caller: callers.iter().map(|c| show::count(units_of(day, c.word()))).collect(),
        day: show::count(day.total.units),
        month: show::count(units_of(month, &view.name)),
    }
}
