//! `/spend`: who spent what, by hour or day, for as long as it is kept. A form asks; the chart has a table beside it.

use super::saved::{self, Saved};
use super::show::{self, Face, Moment};
use super::{Asked, Frame, Visit, html};
use crate::domain::ids::{Caller, Organization};
use crate::domain::spend::SpendBy;
use crate::domain::time::Span;
use crate::engine::view::{SpendGroup, SpendSlice, SpendView, When};
use crate::web::api::spend::asked;
use crate::web::errors::Problem;
use crate::web::period::{Per, Period, Query, RANGES};
use crate::web::svg::stack::{self, Bar};
use crate::web::texts;
use crate::web::{WebState, svg};
use askama::Template;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use std::collections::BTreeMap;

/// Bars of the chart, and lines of its table.
const BARS: usize = 48;
/// Groups of the table; JSON has all.
const GROUPS: usize = 60;

#[derive(Template)]
#[template(path = "spend.html")]
struct Page {
    frame: Frame,
    sentence: String,
    form: Form,
    chart: Option<Chart>,
    by: &'static str,
    groups: Vec<Group>,
    more: Option<String>,
    saved: Saved,
    json: String,
}

struct Form {
    from: String,
    to: String,
    ranges: Vec<Choice>,
    by: Vec<Choice>,
    per: Vec<Choice>,
    connections: Vec<Choice>,
}

struct Choice {
    value: String,
    name: String,
    chosen: bool,
}

struct Chart {
    svg: String,
    bar: String,
    callers: Vec<(&'static str, String)>,
    rows: Vec<(Moment, Vec<String>)>,
}

struct Group {
    name: String,
    caller: Option<&'static str>,
    requests: String,
    units: String,
    share: String,
}

pub async fn page(State(web): State<WebState>, visit: Visit, Asked(query): Asked<Query>) -> Result<Response, Problem> {
    let face = visit.face(&web);
    let period = Period::read(&query, face.now().0, face.zone())?;
    let own = Some(visit.organization.clone());
    let by_caller = Period { by: SpendBy::Caller, ..period.clone() };
    let callers = web.shelf().spend(&asked(by_caller, own.clone()))?;
    let groups = match period.by {
        SpendBy::Caller => callers.clone(),
        SpendBy::Organization => {
            let all = web.shelf().spend(&asked(period.clone(), None))?;
            all.only(|name| visit.viewer.may_read(&Organization::from(name)))
        }
        _ => web.shelf().spend(&asked(period.clone(), own))?,
    };
    let frame = visit.frame(&web, &face, None);
    let page = Page {
        sentence: sentence(&face, &callers),
        form: form(&web, &visit, &query, &period)?,
        chart: chart(&face, &period, &callers),
        by: period.by.word(),
        more: (groups.groups.len() > GROUPS).then(|| show::count((groups.groups.len() - GROUPS) as u64)),
        json: format!("{}api/v1/spend{}", frame.root, address(&visit, &query)),
        saved: saved::saved(&web, &visit, &face),
        groups: groups.groups.iter().take(GROUPS).map(|g| group(g, &period, &groups)).collect(),
        frame,
    };
    Ok(html(StatusCode::OK, &page))
}

fn sentence(face: &Face, view: &SpendView) -> String {
    let since = face.clock(view.from);
    let requests = |n: u64| show::counted(n, show::Noun::Request);
    let Some(first) = view.groups.first() else {
        return texts::t("spend-nobody-has-asked-anything").with("since", &since).plain();
    };
    let most = texts::t("spend-most-by")
        .with("name", &first.name)
        .with("units", share(first.spent.units, view.total.units))
        .plain();
    let until = texts::t("spend-from-to").with("since", &since).with("to", face.clock(view.to)).plain();
    match (view.total.requests, view.total.units) {
        (n, units) if n == units => format!("{} {until}, {most}.", requests(n)),
        (n, units) => texts::t("spend-of-units-together")
            .with("n", requests(n))
            .with("units", show::count(units))
            .with("until", &until)
            .with("most", &most)
            .plain(),
    }
}

fn share(part: u64, whole: u64) -> String {
    match (part, whole) {
        (0, _) | (_, 0) => "0\u{a0}%".to_owned(),
        _ => match u128::from(part) * 100 / u128::from(whole) {
            0 => "<\u{a0}1\u{a0}%".to_owned(),
            percent => format!("{percent}\u{a0}%"),
        },
    }
}

fn group(group: &SpendGroup, period: &Period, all: &SpendView) -> Group {
    let caller = Caller::from_word(&group.name).filter(|_| period.by == SpendBy::Caller);
    Group {
        name: match period.by {
            SpendBy::Outcome => group.name.replace('_', " "),
            _ => show::shorten(&group.name, 120),
        },
        caller: caller.map(Caller::word),
        requests: show::count(group.spent.requests),
        units: show::count(group.spent.units),
        share: share(group.spent.units, all.total.units),
    }
}

fn form(web: &WebState, visit: &Visit, query: &Query, period: &Period) -> Result<Form, Problem> {
    let choice =
        |value: &str, name: &str, chosen: bool| Choice { value: value.to_owned(), name: name.to_owned(), chosen };
    let mut connections = vec![choice("", &texts::t("any-all").plain(), period.connection.is_none())];
    for name in web.shelf().names(&visit.organization) {
        connections.push(choice(&name, &name, period.connection.as_ref().is_some_and(|k| k.as_str() == name)));
    }
    let ranges = RANGES.iter().map(|(range, name)| choice(range, &name.plain(), period.range == Some(range)));
    let by = SpendBy::ALL.iter().map(|by| choice(by.word(), by.word(), *by == period.by));
    let per = [Per::Hour, Per::Day].map(|per| choice(per.word(), per.word(), per == period.per));
    let named = query.per.as_deref().is_some_and(|per| !per.is_empty());
    let per = [choice("", &texts::t("spend-as-it-fits").plain(), !named)]
        .into_iter()
        .chain(per.map(|c| Choice { chosen: c.chosen && named, ..c }));
    Ok(Form {
        from: query.from.clone().unwrap_or_default(),
        to: query.to.clone().unwrap_or_default(),
        ranges: ranges.collect(),
        by: by.collect(),
        per: per.collect(),
        connections,
    })
}

/// The query of this page for the same question as JSON.
fn address(visit: &Visit, query: &Query) -> String {
    let organization = (visit.organization != Organization::default()).then(|| visit.organization.0.clone());
    let pairs = [
        ("organization", &organization),
        ("from", &query.from),
        ("to", &query.to),
        ("range", &query.range),
        ("by", &query.by),
        ("per", &query.per),
        ("connection", &query.connection),
    ];
    let said = pairs.iter().filter_map(|(name, value)| {
        let value = value.as_deref().filter(|v| !v.is_empty())?;
        Some(format!("{name}={}", super::segment(value)))
    });
    let said: Vec<String> = said.collect();
    if said.is_empty() { String::new() } else { format!("?{}", said.join("&")) }
}

/// As many slices in one bar as needed; callers that spent anything, bars in which anything was spent.
fn chart(face: &Face, period: &Period, view: &SpendView) -> Option<Chart> {
    let together = view.slices.len().div_ceil(BARS).max(1);
    let fold = |slices: &[SpendSlice]| {
        let mut units: BTreeMap<&'static str, u64> = BTreeMap::new();
        for (name, spent) in slices.iter().flat_map(|slice| &slice.groups) {
            if let Some(caller) = Caller::from_word(name) {
                *units.entry(caller.word()).or_default() += spent.units;
            }
        }
        Bar { at: slices.first().map_or(view.from, |slice| slice.at).0, units }
    };
    let bars: Vec<Bar> = view.slices.chunks(together).map(fold).collect();
    let spent = |caller: Caller| bars.iter().filter_map(|bar| bar.units.get(caller.word())).sum::<u64>();
    let callers: Vec<Caller> = Caller::ALL.into_iter().filter(|c| spent(*c) > 0).collect();
    if callers.is_empty() {
        return None;
    }
    let row = |bar: &Bar| {
        let units = callers.iter().map(|c| show::count(bar.units.get(c.word()).copied().unwrap_or(0))).collect();
        (face.moment(When(bar.at)), units)
    };
    let one = Span::from_secs(if period.per == Per::Hour { 3600 } else { 86_400 });
    let bar = Span(one.0.saturating_mul(together as u64));
    Some(Chart {
        bar: show::span(bar.as_secs()),
        rows: bars.iter().filter(|bar| svg::total(&bar.units) > 0).map(row).collect(),
        callers: callers.iter().map(|c| (c.word(), show::count(spent(*c)))).collect(),
        svg: stack::bars(&bars, view.to.0, &face.axis()),
    })
}
