//! `/c/{connection}/t/{target}/history`: how a field of an item went, as a plot, in a sentence and as a table, with gaps as gaps; and the lines of
//! the item's history.

use super::history::{History, history};
use super::show::{self, Face, Moment};
use super::{Asked, Frame, Visit, html, segment};
use crate::domain::cursor::{Edge, Filling, ItemsAsk};
use crate::domain::ids::{TargetKey, TargetName};
use crate::domain::time::Wall;
use crate::engine::view::{FieldSeries, ItemView, SeriesView, TargetView, When};
use crate::web::WebState;
use crate::web::errors::Problem;
use crate::web::period::{RANGES, read_length};
use crate::web::svg::series;
use crate::web::texts::{self, Text};
use askama::Template;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;

/// Shorter times than others ask for: what has just begun is seen in them.
static SHORT: [(&str, Text); 2] = [("1h", texts::t("series-last-1h")), ("6h", texts::t("series-last-6h"))];
const USUAL: &str = "24h";
/// Items that can be picked from a list; a link leads to any other.
const ITEMS: usize = 200;
/// Lines of the table, the newest.
const LINES: usize = 60;
/// Words whose times are told.
const WORDS: usize = 3;
/// Words in the legend: each tone once.
const LEGEND: usize = 6;

#[derive(Default, serde::Deserialize)]
pub struct Query {
    field: Option<String>,
    range: Option<String>,
}

#[derive(Template)]
#[template(path = "series.html")]
struct Page {
    frame: Frame,
    connection: String,
    connection_href: String,
    name: String,
    target_href: String,
    form: Form,
    drawn: Option<Drawn>,
    history: History,
    changed: Option<Moment>,
    attempted: Option<Moment>,
}

struct Form {
    items: Vec<Choice>,
    fields: Vec<Choice>,
    ranges: Vec<Choice>,
}

struct Choice {
    value: String,
    name: String,
    chosen: bool,
}

struct Drawn {
    title: String,
    field: String,
    svg: String,
    sentence: String,
    is_line: bool,
    is_stale: bool,
    /// Each with its tone, where it is words.
    words: Vec<(String, usize)>,
    rows: Vec<Row>,
    /// Lines that the table leaves out.
    more: Option<String>,
    notes: Vec<String>,
}

/// What was so from a moment on.
struct Row {
    at: Moment,
    /// `None`: it had none.
    value: Option<String>,
    /// Set where it is about a time in which nobody knew: until when.
    stale_until: Option<Moment>,
}

pub async fn page(
    State(web): State<WebState>,
    Path((connection, target)): Path<(String, String)>,
    visit: Visit,
    Asked(query): Asked<Query>,
) -> Result<Response, Problem> {
    let face = visit.face(&web);
    let key = TargetKey { connection: visit.connection(&connection), target: TargetName(target) };
    let wanted = visit.query.item.clone().filter(|item| !item.is_empty());
    let view = some_items(&web, &key, wanted.as_deref())?;
    let item = wanted.or_else(|| newest(&view));
    let known = item.as_ref().and_then(|key| view.items.iter().find(|i| i.key == *key));
    let range = match query.range.as_deref().filter(|r| !r.is_empty()) {
        Some(wanted) => range(wanted)?,
        None => usual(face.now(), known),
    };
    let long = read_length(range).unwrap_or_default();
    let found = item.as_deref().map(|item| web.shelf().series(&key, item, long)).transpose()?;
    let field = found.as_ref().and_then(|series| field(series, query.field.as_deref()));
    let frame = visit.frame(&web, &face, Some(&connection));
    let connection_href = format!("{}c/{}", frame.root, segment(&connection));
    let page = Page {
        form: form(&view, found.as_ref(), (field.map(|f| f.field.as_str()), range)),
        drawn: found.as_ref().zip(field).map(|(series, field)| drawn(&face, series, field)),
        history: History { plot: None, ..history(&web, &visit, &face, &frame.root, &key)? },
        target_href: format!("{connection_href}/t/{}{}", segment(&view.name), visit.suffix()),
        connection_href: format!("{connection_href}{}", visit.suffix()),
        changed: None,
        attempted: None,
        name: view.name,
        connection,
        frame,
    };
    Ok(html(StatusCode::OK, &page))
}

/// The target with the first of its items, and with the one that is asked for.
fn some_items(web: &WebState, key: &TargetKey, wanted: Option<&str>) -> Result<TargetView, Problem> {
    let first = ItemsAsk { filling: Filling::Present, limit: ITEMS, ..ItemsAsk::default() };
    let mut view = web.shelf().target(key, &first)?;
    if let Some(wanted) = wanted.filter(|wanted| view.items.iter().all(|item| item.key != *wanted)) {
        let one = ItemsAsk { from: Edge::From(wanted.to_owned()), limit: 1, ..ItemsAsk::default() };
        view.items.extend(web.shelf().target(key, &one)?.items.into_iter().filter(|item| item.key == wanted));
    }
    Ok(view)
}

fn ranges() -> impl Iterator<Item = (&'static str, &'static Text)> {
    SHORT.iter().chain(&RANGES).map(|(range, name)| (*range, name))
}

fn range(wanted: &str) -> Result<&'static str, Problem> {
    ranges().map(|(range, _)| range).find(|range| *range == wanted).ok_or_else(|| {
        let known: Vec<&str> = ranges().map(|(range, _)| range).collect();
        Problem::bad_request(format!("\"range\" is one of: {}.", known.join(", ")))
    })
}

/// A day, or less where the item is not known for so long.
fn usual(now: When, item: Option<&ItemView>) -> &'static str {
    let known = item.map(|i| now.0.since(i.first_seen_at.0));
    let fits = |range: &&str| known.zip(read_length(range)).is_some_and(|(known, long)| known <= long);
    SHORT.iter().map(|(range, _)| *range).find(|range| fits(range)).unwrap_or(USUAL)
}

fn is_there(item: &&ItemView) -> bool {
    item.removed_at.is_none()
}

/// The present item that changed last, or where there is none the one that went last.
fn newest(view: &TargetView) -> Option<String> {
    view.items.iter().max_by_key(|i| (is_there(i), i.changed_at)).map(|i| i.key.clone())
}

/// The one that was asked for; else the first that is a number and moved, else the first.
fn field<'a>(series: &'a SeriesView, wanted: Option<&str>) -> Option<&'a FieldSeries> {
    let mut fields = series.fields.iter();
    let moved = |f: &&FieldSeries| f.points.len() > 1 && numbers(f).is_some();
    let named = fields.clone().find(|f| wanted == Some(f.field.as_str()));
    named.or_else(|| series.fields.iter().find(moved)).or_else(|| fields.next())
}

/// As numbers, where all of them are.
fn numbers(field: &FieldSeries) -> Option<Vec<series::Step<f64>>> {
    let number = |text: &String| text.parse::<f64>().ok().filter(|n| n.is_finite());
    let step = |(at, value): &(When, Option<String>)| match value {
        Some(text) => Some((at.0, Some(number(text)?))),
        None => Some((at.0, None)),
    };
    let all: Option<Vec<_>> = field.points.iter().map(step).collect();
    all.filter(|steps| steps.iter().any(|(_, value)| value.is_some()))
}

fn form(view: &TargetView, series: Option<&SeriesView>, (field, range): (Option<&str>, &str)) -> Form {
    let mut items: Vec<&ItemView> = view.items.iter().filter(is_there).take(ITEMS).collect();
    let shown = series.map(|s| s.key.as_str());
    items.extend(
        view.items
            .iter()
            .filter(|i| Some(i.key.as_str()) == shown && !items.iter().any(|k| k.key == i.key))
            .collect::<Vec<_>>(),
    );
    let item = |i: &&ItemView| Choice {
        value: i.key.clone(),
        name: show::shorten(&i.title, 60),
        chosen: Some(i.key.as_str()) == shown,
    };
    let choice = |f: &FieldSeries| Choice {
        value: f.field.clone(),
        name: show::label(&f.field),
        chosen: Some(f.field.as_str()) == field,
    };
    let of_time =
        |(value, name): (&str, &Text)| Choice { value: value.to_owned(), name: name.plain(), chosen: value == range };
    Form {
        items: items.iter().map(item).collect(),
        fields: series.map(|s| s.fields.iter().map(choice).collect()).unwrap_or_default(),
        ranges: ranges().map(of_time).collect(),
    }
}

fn drawn(face: &Face, view: &SeriesView, field: &FieldSeries) -> Drawn {
    let stale: Vec<(Wall, Wall)> = view.stale.iter().map(|(from, until)| (from.0, until.0)).collect();
    let frame = series::Frame { from: view.from.0, until: view.until.0, stale: &stale };
    let numbers = numbers(field);
    let words = || field.points.iter().map(|(at, value)| (at.0, value.as_deref())).collect::<Vec<_>>();
    let svg = match &numbers {
        Some(steps) => series::line(&frame, steps, &face.axis()),
        None => series::words(&frame, &words(), &face.axis()),
    };
    let (rows, more) = rows(face, view, field);
    Drawn {
        title: show::shorten(&view.title, 80),
        field: show::label(&field.field),
        svg,
        sentence: match &numbers {
            Some(steps) => of_numbers(face, view, steps),
            None => of_words(view, &words()),
        },
        is_line: numbers.is_some(),
        words: match &numbers {
            Some(_) => Vec::new(),
            None => told(series::known(&words())),
        },
        is_stale: !view.stale.is_empty(),
        rows,
        more,
        notes: notes(face, view),
    }
}

/// The first few: of many the table tells.
fn told(words: Vec<(&str, usize)>) -> Vec<(String, usize)> {
    words.into_iter().take(LEGEND).map(|(word, tone)| (show::shorten(word, 40), tone)).collect()
}

/// Whether the last value may not be so any more.
fn is_old(view: &SeriesView) -> bool {
    view.stale.last().is_some_and(|(_, until)| *until >= view.until)
}

fn of_numbers(face: &Face, view: &SeriesView, steps: &[series::Step<f64>]) -> String {
    let values = || steps.iter().filter_map(|(_, value)| *value);
    let (low, high) = (values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max));
    let last = match steps.last().and_then(|(_, value)| *value) {
        Some(value) if is_old(view) => texts::t("series-last-seen").with("value", face.number(value)).plain(),
        Some(value) => texts::t("series-now").with("value", face.number(value)).plain(),
        None => texts::t("series-now-nothing").plain(),
    };
    match low < high {
        true => texts::t("series-between-and")
            .with("low", face.number(low))
            .with("high", face.number(high))
            .with("last", &last)
            .plain(),
        false => texts::t("series-it-did-not-move").with("last", &last).plain(),
    }
}

fn of_words(view: &SeriesView, steps: &[series::Step<&str>]) -> String {
    let lasted = steps.iter().enumerate().filter_map(|(n, (at, word))| {
        let ends = steps.get(n + 1).map_or(view.until.0, |(next, _)| *next);
        Some(((*word)?, ends.since(*at).as_secs()))
    });
    let sums = show::longest_first(lasted);
    let told: Vec<String> = sums
        .iter()
        .take(WORDS)
        .map(|(word, seconds)| format!("{} {}", show::shorten(word, 40), show::span(*seconds)))
        .collect();
    match (told.is_empty(), is_old(view)) {
        (true, _) => texts::t("series-it-had-no-value").plain(),
        (false, true) => texts::t("series-as-far-as-it").with("told", told.join(", ")).plain(),
        (false, false) => format!("{}.", told.join(", ")),
    }
}

/// Newest first; and how many are left out.
fn rows(face: &Face, view: &SeriesView, field: &FieldSeries) -> (Vec<Row>, Option<String>) {
    let values = field.points.iter().map(|(at, value)| Row {
        at: face.moment(*at),
        value: value.as_ref().map(|v| show::shorten(v, 80)),
        stale_until: None,
    });
    let stale = view.stale.iter().map(|(from, until)| Row {
        at: face.moment(*from),
        value: None,
        stale_until: Some(face.moment(*until)),
    });
    let mut rows: Vec<Row> = values.chain(stale).collect();
    rows.sort_by_key(|row| row.at.age_seconds);
    let more = rows.len().saturating_sub(LINES);
    rows.truncate(LINES);
    (rows, (more > 0).then(|| show::count(more as u64)))
}

fn notes(face: &Face, view: &SeriesView) -> Vec<String> {
    let mut notes = Vec::new();
    notes.extend(view.cut_at.map(|at| texts::t("series-there-are-more-changes").with("at", face.clock(at)).plain()));
    notes.extend(
        view.stale_known_from
            .filter(|at| *at > view.from)
            .map(|at| texts::t("series-whether-it-was-renewed").with("at", face.clock(at)).plain()),
    );
    notes.push(match view.kept_for {
        Some(kept) => texts::t("series-changes-are-kept-for").with("kept", show::exact(kept)).plain(),
        None => texts::t("series-changes-are-kept-for-ever").plain(),
    });
    notes
}
