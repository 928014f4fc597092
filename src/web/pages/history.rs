//! The history on a target's page: newest first, by pages, of the target or of one item. Must not know the rest of the page.

use super::show::{self, Face, Moment};
use super::{Visit, segment};
use crate::domain::cursor::{Cursor, HistoryAsk, Paged};
use crate::domain::ids::TargetKey;
use crate::engine::view::{FieldChangeView, HistoryView};
use crate::web::WebState;
use crate::web::api::history::cursor;
use crate::web::errors::Problem;

const LINES: usize = 30;

pub struct History {
    pub entries: Vec<Entry>,
    /// The title of the item that it is of, and the way back to all.
    pub item: Option<(String, String)>,
    pub newer: Option<String>,
    pub older: Option<String>,
    /// The page with its plot.
    pub plot: Option<String>,
    pub csv: String,
    pub jsonl: String,
}

pub struct Entry {
    pub at: Moment,
    pub kind: &'static str,
    pub icon: &'static str,
    pub title: String,
    /// To the history of its item alone.
    pub href: Option<String>,
    pub state: Option<String>,
    pub changes: Vec<(String, String, String)>,
}

/// `root` leads from the page to the root of the site.
pub fn history(web: &WebState, visit: &Visit, face: &Face, root: &str, key: &TargetKey) -> Result<History, Problem> {
    let query = &visit.query;
    let from = cursor(query.after, query.before)?;
    let item = query.item.clone().filter(|item| !item.is_empty());
    let page = web.shelf().history(key, &HistoryAsk { from, item: item.clone(), limit: LINES })?;
    let (connection, target) = (segment(key.connection.connection.as_str()), segment(key.target.as_str()));
    let file = |format| {
        let address = format!("{root}api/v1/connections/{connection}/targets/{target}/history");
        format!("{address}{}", tail(visit, &[("format", Some(format)), ("item", item.as_deref())]))
    };
    let (newer, older) = ways(from, &page);
    let way = |(name, number): (&str, u64)| {
        format!("{}#history", tail(visit, &[("item", item.as_deref()), (name, Some(&number.to_string()))]))
    };
    let title = page.rows.last().map(|h| show::shorten(&h.title, 80));
    Ok(History {
        item: item
            .clone()
            .map(|key| (title.unwrap_or(show::shorten(&key, 60)), format!("{}#history", tail(visit, &[])))),
        newer: newer.map(way),
        older: older.map(way),
        plot: Some(format!("{root}c/{connection}/t/{target}/history{}", tail(visit, &[("item", item.as_deref())]))),
        csv: file("csv"),
        jsonl: file("jsonl"),
        entries: page.rows.into_iter().rev().map(|h| entry(visit, face, h, item.is_some())).collect(),
    })
}

/// Where another page begins, as its query says it.
pub type Way = Option<(&'static str, u64)>;

/// Where the pages before and behind this one begin: of what is newer, and of what is older.
pub fn ways<T: Numbered>(from: Cursor, page: &Paged<T>) -> (Way, Way) {
    let first = page.rows.first().map(|row| ("before", row.number()));
    let last = page.rows.last().map(|row| ("after", row.number()));
    match from {
        Cursor::Newest => (None, page.on.map(|on| ("before", on))),
        Cursor::Before(edge) => (last.or(Some(("after", edge.saturating_sub(1)))), page.on.map(|on| ("before", on))),
        Cursor::After(edge) => (page.on.map(|on| ("after", on)), first.or(Some(("before", edge.saturating_add(1))))),
    }
}

/// A row of a list that has pages.
pub trait Numbered {
    fn number(&self) -> u64;
}

impl Numbered for HistoryView {
    fn number(&self) -> u64 {
        self.seq
    }
}

/// A query for this page, with its organization. A question mark alone asks nothing more, where an empty address would ask the same again.
pub fn tail(visit: &Visit, pairs: &[(&str, Option<&str>)]) -> String {
    let mut said: Vec<String> = Vec::new();
    said.extend(visit.suffix().strip_prefix('?').map(str::to_owned));
    said.extend(pairs.iter().filter_map(|(name, value)| Some(format!("{name}={}", segment((*value)?)))));
    format!("?{}", said.join("&"))
}

fn entry(visit: &Visit, face: &Face, entry: HistoryView, is_of_item: bool) -> Entry {
    let nothing = || "—".to_owned();
    let change = |c: FieldChangeView| {
        let cut = |v: Option<String>| v.map_or_else(nothing, |v| show::shorten(&v, 80));
        (show::label(&c.field), cut(c.before), cut(c.after))
    };
    Entry {
        at: face.moment(entry.at),
        kind: entry.kind,
        icon: match entry.kind {
            "appeared" | "reappeared" => "plus",
            "removed" => "minus",
            _ => "change",
        },
        title: show::shorten(&entry.title, 80),
        href: (!is_of_item && entry.key.len() <= show::LONGEST_KEY)
            .then(|| format!("{}#history", tail(visit, &[("item", Some(&entry.key))]))),
        state: entry.state.as_deref().map(show::state),
        changes: entry.changes.into_iter().map(change).collect(),
    }
}
