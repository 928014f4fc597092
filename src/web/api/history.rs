//! What happened: the history of targets by pages and as files, and the list of events.

use super::bodies::FormatWord;
use super::{Ask, Known, json, limited};
use crate::domain::cursor::{Cursor, EventsAsk, HistoryAsk};
use crate::domain::event::EventKind;
use crate::domain::ids::{ConnectionName, TargetKey};
use crate::engine::view::{EventKindWord, EventView, HistoryView};
use crate::rules::calendar::rfc3339;
use crate::web::WebState;
use crate::web::errors::Problem;
use axum::body::{Body, Bytes};
use axum::extract::{Path, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use std::fmt::Write;
use utoipa::{IntoParams, ToSchema};

/// Lines of a file that are in memory at once.
const STEP: usize = 500;

#[derive(serde::Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct Query {
    /// Those after the line with this number.
    after: Option<u64>,
    /// The newest before the line with this number; not together with `after`.
    before: Option<u64>,
    /// Of one item, by its key.
    item: Option<String>,
    /// Lines of a page; 100 unless said, at most 1000. A file has all of them.
    #[param(minimum = 0)]
    limit: Option<usize>,
    /// `csv` and `jsonl` are files of all lines, from `after` on.
    #[param(inline, value_type = Option<FormatWord>)]
    format: Option<String>,
}

impl Known for Query {
    const NAMES: &'static [&'static str] = &["after", "before", "item", "limit", "format"];
}

#[derive(serde::Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ActivityQuery {
    /// Those after the event with this number.
    after: Option<u64>,
    /// The newest before the event with this number; not together with `after`.
    before: Option<u64>,
    /// Of one connection.
    connection: Option<String>,
    /// Of one kind.
    #[param(value_type = Option<EventKindWord>)]
    kind: Option<String>,
    /// Events of an answer; 100 unless said, at most 1000.
    #[param(minimum = 0)]
    limit: Option<usize>,
}

#[derive(Serialize, ToSchema)]
struct History {
    history: Vec<HistoryView>,
    /// What to give as `after` to go on from here, also when nothing is there yet.
    next: Option<u64>,
    /// What to give as `before` for older ones; null: there are none.
    before: Option<u64>,
}

#[derive(Serialize, ToSchema)]
struct Activity {
    events: Vec<EventView>,
    /// What to give as `after` to go on from here, also when nothing is there yet.
    next: Option<u64>,
    /// What to give as `before` for older ones; null: there are none.
    before: Option<u64>,
}

impl Known for ActivityQuery {
    const NAMES: &'static [&'static str] = &["after", "before", "connection", "kind", "limit"];
}

pub fn cursor(after: Option<u64>, before: Option<u64>) -> Result<Cursor, Problem> {
    match (after, before) {
        (Some(_), Some(_)) => Err(Problem::bad_request("Either \"after\" or \"before\" says where a page begins.")),
        (Some(after), None) => Ok(Cursor::After(after)),
        (None, Some(before)) => Ok(Cursor::Before(before)),
        (None, None) => Ok(Cursor::Newest),
    }
}

pub fn kind(word: &str) -> Result<EventKind, Problem> {
    EventKind::from_word(word).ok_or_else(|| {
        let known: Vec<&str> = EventKind::ALL.iter().map(|kind| kind.word()).collect();
        Problem::bad_request(format!("\"kind\" is one of: {}.", known.join(", ")))
    })
}

/// Where a list of numbered rows goes on, to either side.
fn ends(from: Cursor, numbers: impl Iterator<Item = u64>, on: Option<u64>) -> (Option<u64>, Option<u64>) {
    let numbers: Vec<u64> = numbers.collect();
    let (first, last) = (numbers.first().copied(), numbers.last().copied());
    match from {
        Cursor::After(after) => (on.or(last).or(Some(after)), first),
        Cursor::Newest => (last, on),
        Cursor::Before(before) => (last.or(Some(before.saturating_sub(1))), on),
    }
}

/// The list with where it goes on in the direction in which it is read, if it does.
fn on<Q>(ask: &Ask<Q>, from: Cursor, edge: Option<u64>, list: Response) -> Response {
    let (relation, name) = match from {
        Cursor::After(_) => ("next", "after"),
        Cursor::Newest | Cursor::Before(_) => ("prev", "before"),
    };
    ask.linked(list, relation, name, edge.map(|edge| edge.to_string()).as_deref())
}

/// What happened to a target, or to one item of it.
///
/// Oldest first: those after a number, else the newest, or the newest before a number.
#[utoipa::path(
    get, path = "/connections/{connection}/targets/{target}/history", operation_id = "history", tag = "Targets", params(Query),
    responses((status = 200, description = "A page, or a file.", content(
        (History = "application/json"), (String = "text/csv"), (String = "application/jsonl"),
    ))),
)]
pub async fn history(
    State(web): State<WebState>,
    Path((connection, target)): Path<(String, String)>,
    ask: Ask<Query>,
) -> Result<Response, Problem> {
    let key = ask.target(connection, target);
    let from = cursor(ask.query.after, ask.query.before)?;
    let item = ask.query.item.clone().filter(|item| !item.is_empty());
    let format = match ask.query.format.as_deref() {
        None | Some("json") => {
            let page = web.shelf().history(&key, &HistoryAsk { from, item, limit: limited(ask.query.limit) })?;
            let (next, before) = ends(from, page.rows.iter().map(|h| h.seq), page.on);
            return Ok(on(&ask, from, page.on, json(History { history: page.rows, next, before })));
        }
        Some("csv") => Format::Csv,
        Some("jsonl") => Format::JsonLines,
        Some(_) => return Err(Problem::bad_request("\"format\" is json, csv or jsonl.")),
    };
    match from {
        Cursor::Before(_) => {
            Err(Problem::bad_request("A file has its lines from \"after\" on; \"before\" is for pages."))
        }
        Cursor::After(after) => file(web, key, item, after, format),
        Cursor::Newest => file(web, key, item, 0, format),
    }
}

/// Everything that happened, oldest first.
#[utoipa::path(
    get, path = "/activity", operation_id = "activity", tag = "What happened", params(ActivityQuery),
    responses((status = 200, description = "A page of events.", body = Activity)),
)]
pub async fn activity(State(web): State<WebState>, ask: Ask<ActivityQuery>) -> Result<Response, Problem> {
    let asked = &ask.query;
    let from = cursor(asked.after, asked.before)?;
    let page = web.shelf().activity(&EventsAsk {
        from,
        organization: Some(ask.organization.clone()),
        connection: asked.connection.clone().map(ConnectionName),
        kind: asked.kind.as_deref().map(kind).transpose()?,
        audience: ask.viewer.audience(),
        limit: limited(asked.limit),
    })?;
    let (next, before) = ends(from, page.rows.iter().map(|e| e.id.0), page.on);
    Ok(on(&ask, from, page.on, json(Activity { events: page.rows, next, before })))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Csv,
    JsonLines,
}

const COLUMNS: &str = "seq,at,generation,kind,key,title,state,changes\r\n";

impl Format {
    /// Media type, and how such files end.
    const fn names(self) -> (&'static str, &'static str) {
        match self {
            Format::Csv => ("text/csv; charset=utf-8", "csv"),
            Format::JsonLines => ("application/jsonl; charset=utf-8", "jsonl"),
        }
    }
    const fn head(self) -> &'static str {
        match self {
            Format::Csv => COLUMNS,
            Format::JsonLines => "",
        }
    }
    fn line(self, out: &mut String, entry: &HistoryView) {
        // Texts and numbers alone: they always become JSON, and writing to a String cannot fail.
        let json = |value: &dyn Fn() -> serde_json::Result<String>| value().unwrap_or_default();
        match self {
            Format::JsonLines => out.push_str(&(json(&|| serde_json::to_string(entry)) + "\n")),
            Format::Csv => {
                let changes = json(&|| serde_json::to_string(&entry.changes));
                let changes = if entry.changes.is_empty() { "" } else { &changes };
                let state = entry.state.as_deref().unwrap_or_default();
                let cells = [entry.key.as_str(), &entry.title, state, changes].map(cell).join(",");
                let at = rfc3339(entry.at.0);
                let _ = write!(out, "{},{at},{},{},{cells}\r\n", entry.seq, entry.generation, entry.kind);
            }
        }
    }
}

/// RFC 4180. What a spreadsheet would take for a formula gets an apostrophe before it, which says that it is text; JSON lines have what was said.
fn cell(text: &str) -> String {
    let is_number = text.parse::<f64>().is_ok();
    let guard = if text.starts_with(['=', '+', '-', '@', '\t', '\r']) && !is_number { "'" } else { "" };
    if guard.is_empty() && !text.contains(['"', ',', '\n', '\r']) {
        return text.to_owned();
    }
    format!("\"{guard}{}\"", text.replace('"', "\"\""))
}

/// Everything up to the line that is the newest now, a few lines at a time: each look is a moment of its own, and a line once written stays.
fn file(web: WebState, key: TargetKey, item: Option<String>, after: u64, format: Format) -> Result<Response, Problem> {
    let newest = web.shelf().history(&key, &HistoryAsk { limit: 1, ..HistoryAsk::default() })?;
    let last = newest.rows.last().map_or(0, |h| h.seq);
    let name = format!("attachment; filename=\"history.{}\"", format.names().1);
    let lines = async_stream::stream! {
        yield Ok(Bytes::from_static(format.head().as_bytes()));
        let mut from = after;
        while from < last {
            let ask = HistoryAsk { from: Cursor::After(from), item: item.clone(), limit: STEP };
            let page = match web.shelf().history(&key, &ask) {
                Ok(page) => page,
                // The file ends in the middle, and the client sees that it did.
                Err(denied) => {
                    yield Err(std::io::Error::other(format!("{denied:?}")));
                    break;
                }
            };
            let mut text = String::new();
            page.rows.iter().filter(|h| h.seq <= last).for_each(|h| format.line(&mut text, h));
            from = page.on.unwrap_or(last);
            yield Ok::<_, std::io::Error>(Bytes::from(text));
        }
    };
    let headers = [
        (header::CONTENT_TYPE, format.names().0),
        (header::CONTENT_DISPOSITION, &name),
        (header::CACHE_CONTROL, "no-store"),
    ];
    Ok((headers, Body::from_stream(lines)).into_response())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_holds_whatever_was_said() {
        for (said, written) in [
            ("Roses", "Roses"),
            ("a \"b\", c", "\"a \"\"b\"\", c\""),
            ("two\nlines", "\"two\nlines\""),
            ("=1+1", "\"'=1+1\""),
            ("-5.2", "-5.2"),
            ("-cmd", "\"'-cmd\""),
            ("", ""),
        ] {
            assert_eq!(cell(said), written);
        }
    }
}
