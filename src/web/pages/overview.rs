//! `/`: how everything stands, worst first in one sentence; a card for each connection; what happened lately.

use super::headline::{self, Headline, told};
use super::lately::{Day, Lately};
use super::show::{self, Age, Chip, Face, Left, Moment};
use super::stood::{self, Stood};
use super::{Frame, Visit, html, segment, suffix};
use crate::domain::ids::Organization;
use crate::domain::state::State as Word;
pub use crate::engine::budgets::tightest;
use crate::engine::view::{BudgetView, ConnectionView, EventView, FindingView, ItemView, When};
use crate::web::errors::Problem;
use crate::web::texts;
use crate::web::{WebState, svg};
use askama::Template;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use std::collections::BTreeSet;

/// Lines of the activity list.
const ACTIVITY: usize = 20;
/// Limits on a card beside the tightest; the connection's own page has all.
const OTHERS: usize = 2;
/// Characters of one sentence; JSON has all of it.
const LONGEST: usize = 600;
/// Polls that are told of before they come.
const UPCOMING: usize = 5;
/// Items on a card.
const READINGS: usize = 3;
/// Longer targets are not read for that.
const LOOKED_THROUGH: u64 = 500;

#[derive(Template)]
#[template(path = "overview.html")]
struct Overview {
    frame: Frame,
    headline: Headline,
    notes: Vec<String>,
    /// What needs a look beside what the headline says.
    troubles: Vec<Trouble>,
    cards: Vec<Card>,
    /// The polls that come next, where several connections are polled.
    upcoming: Vec<Upcoming>,
    usage: String,
    activity: Vec<Activity>,
    organizations: Vec<Link>,
}

struct Link {
    name: String,
    href: String,
}

struct Trouble {
    name: String,
    href: String,
    chip: Chip,
    sentence: String,
}

struct Upcoming {
    name: String,
    href: String,
    at: Moment,
}

struct Card {
    name: String,
    href: String,
    provider: String,
    chip: Chip,
    sentence: Option<String>,
    /// What the provider said, while it is held.
    said: Option<String>,
    findings: Vec<Finding>,
    readings: Vec<Reading>,
    /// The limit of which least is left, and the others.
    tightest: Option<Gauge>,
    others: Vec<Gauge>,
    more_gauges: usize,
    next_poll: Option<Moment>,
    oldest: Option<Age>,
    paused: bool,
    stood: Stood,
    lately: Lately,
}

/// An item that tells most: what runs, and what changed last.
struct Reading {
    title: String,
    state: Option<String>,
    active: bool,
    left: Option<Left>,
    changed: Moment,
}

/// What the owners should know of a connection.
pub struct Finding {
    pub sentence: String,
    pub detail: Option<String>,
    pub since: Moment,
    /// How often it was seen, where it was more than once.
    pub times: Option<String>,
    pub last: Moment,
}

/// One limit: drawing, and the same in words.
pub struct Gauge {
    pub limit: String,
    pub endpoint: Option<String>,
    pub rule: String,
    pub svg: String,
    pub used: String,
    pub left: String,
    pub requests: String,
    /// Where the provider keeps to a lower amount.
    pub declared: Option<String>,
    /// What others have taken.
    pub foreign: Option<String>,
    pub kept: Option<String>,
    /// Used by now, as the plans would have it: where the bar has its mark.
    pub planned: Option<String>,
    /// What single callers may have in flight.
    pub caps: Option<String>,
    /// What the organization has of it, where others spend with the same credential.
    pub share: Option<String>,
    pub next_free: Option<Moment>,
    /// When everything comes free at once; then nobody asks for the next slot.
    pub resets: Option<Moment>,
}

/// One line of the activity list.
pub struct Activity {
    pub at: Moment,
    pub icon: &'static str,
    pub message: String,
    /// `connection` or `connection / target`, and where it is.
    pub place: Option<(String, String)>,
    /// Where the charges of its connection are, if it tells what an answer decided.
    pub requests: Option<String>,
}

pub async fn page(State(web): State<WebState>, visit: Visit) -> Result<Response, Problem> {
    let face = visit.face(&web);
    let all = web.shelf().connections()?;
    let organizations = organizations(&visit, &all);
    let own: Vec<ConnectionView> = all.into_iter().filter(|c| c.organization == visit.organization.as_str()).collect();
    let frame = visit.frame(&web, &face, None);
    let activity = super::activity::newest(&web, &visit, None, ACTIVITY)?;
    let headline = headline::headline(&face, &own);
    let day = Day::of(&web, &visit)?;
    let one = |c: &ConnectionView| {
        let stood = stood::stood(&face, &web.shelf().stood(&visit.connection(&c.name), stood::DAY)?);
        let past = (stood, day.lately(&c.name));
        Ok(card(&face, &visit, c, (&items(&web, &visit, c), past), headline.says.as_deref()))
    };
    let page = Overview {
        notes: web.shelf().health().notes,
        cards: own.iter().map(one).collect::<Result<_, Problem>>()?,
        troubles: troubles(&face, &visit, &own, &headline),
        upcoming: upcoming(&face, &visit, &own),
        usage: format!("o/{}/usage", segment(visit.organization.as_str())),
        headline,
        activity: activity.into_iter().map(|e| line(&face, &frame.root, e)).collect(),
        organizations,
        frame,
    };
    Ok(html(StatusCode::OK, &page))
}

/// The organizations that the viewer may look at, if there is more than the one shown.
fn organizations(visit: &Visit, all: &[ConnectionView]) -> Vec<Link> {
    let names: BTreeSet<Organization> = all.iter().map(|c| Organization(c.organization.clone())).collect();
    let others = names.into_iter().filter(|o| *o != visit.organization && visit.viewer.may_read(o));
    others.map(|o| Link { href: format!("./{}", suffix(&o)), name: o.0 }).collect()
}

/// Those that need a look and are not told of above, worst first.
fn troubles(face: &Face, visit: &Visit, own: &[ConnectionView], headline: &Headline) -> Vec<Trouble> {
    let mut troubled: Vec<&ConnectionView> =
        own.iter().filter(|c| c.state.is_trouble() && headline.says.as_deref() != Some(c.name.as_str())).collect();
    troubled.sort_by_key(|c| show::severity(c.state));
    let trouble = |c: &ConnectionView| Trouble {
        href: format!("c/{}{}", segment(&c.name), visit.suffix()),
        name: c.name.clone(),
        chip: Chip::turning(c.state, &c.turns),
        sentence: told(face, c),
    };
    troubled.into_iter().map(trouble).collect()
}

fn upcoming(face: &Face, visit: &Visit, own: &[ConnectionView]) -> Vec<Upcoming> {
    let planned = |c: &'_ ConnectionView| c.poll.next_poll_at.filter(|_| c.enabled);
    let mut next: Vec<(When, &ConnectionView)> = own.iter().filter_map(|c| Some((planned(c)?, c))).collect();
    if next.len() < 2 {
        return Vec::new();
    }
    next.sort_by_key(|(at, _)| *at);
    let shown = |(at, c): (When, &ConnectionView)| Upcoming {
        href: format!("c/{}{}", segment(&c.name), visit.suffix()),
        name: c.name.clone(),
        at: face.moment(at),
    };
    next.into_iter().take(UPCOMING).map(shown).collect()
}

/// `says` is the connection whose sentence stands above already.
fn card(
    face: &Face,
    visit: &Visit,
    connection: &ConnectionView,
    (items, (stood, lately)): (&[ItemView], (Stood, Lately)),
    says: Option<&str>,
) -> Card {
    let tightest = tightest(&connection.budget);
    let is_other = |b: &&BudgetView| tightest.is_none_or(|t| !std::ptr::eq(t, *b));
    let others: Vec<&BudgetView> = connection.budget.iter().filter(is_other).collect();
    Card {
        href: format!("c/{}{}", segment(&connection.name), visit.suffix()),
        name: connection.name.clone(),
        provider: connection.provider.clone(),
        chip: Chip::turning(connection.state, &connection.turns),
        sentence: (connection.state != Word::Fresh && says != Some(connection.name.as_str()))
            .then(|| told(face, connection)),
        said: connection.hold.as_ref().and_then(|h| h.said.clone()),
        findings: findings(face, connection),
        readings: readings(face, items),
        tightest: tightest.map(|b| gauge(face, b)),
        others: others.iter().take(OTHERS).map(|b| gauge(face, b)).collect(),
        more_gauges: others.len().saturating_sub(OTHERS),
        next_poll: face.maybe(connection.poll.next_poll_at),
        oldest: connection.oldest_since.map(|at| Age::since(face, at)),
        paused: !connection.enabled,
        stood,
        lately,
    }
}

/// What is on the shelf of a connection. A target that cannot be read, or that is too long to look through for a few lines, is left
/// to its own page.
fn items(web: &WebState, visit: &Visit, connection: &ConnectionView) -> Vec<ItemView> {
    web.shelf().items(&visit.connection(&connection.name), LOOKED_THROUGH).unwrap_or_default()
}

/// What runs first, then what changed last.
fn readings(face: &Face, items: &[ItemView]) -> Vec<Reading> {
    let active = |i: &ItemView| i.decays.as_ref().is_some_and(|d| i.state.as_deref() == Some(d.seen.as_str()));
    let mut telling: Vec<&ItemView> = items.iter().collect();
    telling.sort_by_key(|i| (!active(i), std::cmp::Reverse(i.changed_at)));
    let reading = |i: &ItemView| Reading {
        title: show::shorten(&i.title, 60),
        state: i.state.as_deref().map(show::state),
        active: active(i),
        left: i.decays.as_ref().filter(|_| active(i)).map(|d| Left::until(face, d.ends_at)),
        changed: face.moment(i.changed_at),
    };
    telling.into_iter().take(READINGS).map(reading).collect()
}

pub fn findings(face: &Face, connection: &ConnectionView) -> Vec<Finding> {
    let shown = |f: &FindingView| Finding {
        sentence: show::shorten(&f.sentence, LONGEST),
        detail: f.detail.as_deref().map(|detail| show::shorten(detail, LONGEST)),
        since: face.moment(f.opened_at),
        times: (f.count > 1).then(|| show::count(f.count)),
        last: face.moment(f.last_seen_at),
    };
    connection.findings.iter().map(shown).collect()
}

pub fn gauge(face: &Face, budget: &BudgetView) -> Gauge {
    let kept = budget.kept.min(budget.remaining);
    Gauge {
        limit: budget.limit.clone(),
        endpoint: budget.endpoint.clone(),
        rule: rule(budget),
        svg: svg::gauge(budget),
        used: show::count(budget.used),
        left: show::count(budget.remaining),
        requests: show::count(budget.requests),
        declared: (budget.declared != budget.requests).then(|| show::count(budget.declared)),
        foreign: (budget.foreign > 0).then(|| show::count(budget.foreign)),
        kept: (kept > 0).then(|| show::count(kept)),
        planned: budget.planned_used.filter(|_| svg::has_tick(budget)).map(show::count),
        caps: caps(budget),
        share: budget.share.as_ref().map(|share| share.sentence.clone()),
        next_free: face.maybe(budget.next_free_at.filter(|_| budget.resets_at.is_none())),
        resets: face.maybe(budget.resets_at),
    }
}

/// `poller 3, refresh 2`: what a caller may have in flight.
fn caps(budget: &BudgetView) -> Option<String> {
    let caps: Vec<String> = budget.caps.iter().map(|(caller, n)| format!("{caller} {}", show::count(*n))).collect();
    (!caps.is_empty()).then(|| caps.join(", "))
}

/// `5 in any 5 min`, `300 a day`: the limit in words.
fn rule(budget: &BudgetView) -> String {
    let requests = show::count(budget.requests);
    let window = budget.window_seconds.map(show::exact).unwrap_or_default();
    let from = budget
        .period_begins
        .as_ref()
        .map(|begins| texts::t("overview-from").with("begins", begins).plain())
        .unwrap_or_default();
    match budget.kind {
        "daily" => texts::t("overview-a-day").with("requests", &requests).with("from", &from).plain(),
        "weekly" => texts::t("overview-a-week").with("requests", &requests).with("from", &from).plain(),
        "monthly" => texts::t("overview-a-month").with("requests", &requests).with("from", &from).plain(),
        "anchored" => {
            texts::t("overview-in-from-the-first").with("requests", &requests).with("window", &window).plain()
        }
        "fixed" => texts::t("overview-in-each-of-the").with("requests", &requests).with("window", &window).plain(),
        "pace" => texts::t("overview-in-evenly").with("requests", &requests).with("window", &window).plain(),
        "concurrent" => texts::t("overview-at-once").with("requests", &requests).plain(),
        _ => texts::t("overview-in-any").with("requests", &requests).with("window", &window).plain(),
    }
}

pub fn line(face: &Face, root: &str, event: EventView) -> Activity {
    let suffix = event.organization.as_deref().map(|o| suffix(&Organization::from(o))).unwrap_or_default();
    let place = event.connection.as_ref().map(|connection| match &event.target {
        Some(target) => (
            format!("{connection} / {target}"),
            format!("{root}c/{}/t/{}{suffix}", segment(connection), segment(target)),
        ),
        None => (connection.clone(), format!("{root}c/{}{suffix}", segment(connection))),
    });
    let decided = matches!(event.kind, "hold_started" | "breaker_opened" | "target_troubled" | "scan_troubled");
    let charges = |connection: &String| format!("{root}c/{}{suffix}#charges", segment(connection));
    let requests = event.connection.as_ref().filter(|_| decided).map(charges);
    Activity {
        at: face.moment(event.at),
        icon: icon(event.kind),
        message: show::shorten(&event.message, LONGEST),
        place,
        requests,
    }
}

fn icon(kind: &str) -> &'static str {
    match kind {
        "hold_started" => "held",
        "hold_ended" | "breaker_closed" | "finding_closed" => "fresh",
        "breaker_opened" => "breaker_open",
        "target_troubled" | "finding_opened" => "stale",
        "job_changed" | "probed" => "play",
        "control_changed" => "hand",
        "appliance" => "jar",
        _ => "change",
    }
}
