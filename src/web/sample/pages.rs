//! The pages of the sample's lists, as the store makes them.

use crate::domain::cursor::{Cursor, Edge, Filling, ItemsAsk, Paged};
use crate::engine::view::ItemView;

pub fn page<T: Clone>(all: Vec<T>, from: Cursor, limit: usize, id: impl Fn(&T) -> u64) -> Paged<T> {
    let inside = |x: &&T| match from {
        Cursor::Newest => true,
        Cursor::Before(edge) => id(x) < edge,
        Cursor::After(edge) => id(x) > edge,
    };
    let all: Vec<T> = all.iter().filter(inside).cloned().collect();
    let more = all.len() > limit;
    let (rows, last) = match from {
        Cursor::After(_) => (all[..limit.min(all.len())].to_vec(), all.get(limit.saturating_sub(1))),
        _ => (all[all.len().saturating_sub(limit)..].to_vec(), all.get(all.len().saturating_sub(limit))),
    };
    Paged { rows, on: last.filter(|_| more).map(id) }
}

pub fn paged<T: Clone>(all: Vec<T>, after: Option<u64>, limit: usize, id: impl Fn(&T) -> u64) -> Vec<T> {
    match after {
        Some(after) => all.into_iter().filter(|x| id(x) > after).take(limit).collect(),
        None => all[all.len().saturating_sub(limit)..].to_vec(),
    }
}

pub fn by_name<T>(mut named: Vec<(String, T)>, after: Option<&str>, limit: usize) -> Paged<T, String> {
    named.retain(|(name, _)| after.is_none_or(|after| name.as_str() > after));
    named.sort_by(|(a, _), (b, _)| a.cmp(b));
    let on = named.get(limit).and_then(|_| named.get(limit - 1)).map(|(name, _)| name.clone());
    Paged { rows: named.into_iter().take(limit).map(|(_, one)| one).collect(), on }
}

pub fn some_items(mut all: Vec<ItemView>, ask: &ItemsAsk) -> (Vec<ItemView>, Option<String>) {
    all.sort_by(|a, b| a.key.cmp(&b.key));
    all.retain(|item| match &ask.from {
        Edge::First => true,
        Edge::From(key) => item.key >= *key,
        Edge::After(key) => item.key > *key,
        Edge::Before(key) => item.key < *key,
    });
    let back = matches!(ask.from, Edge::Before(_));
    if back {
        all.reverse();
    }
    let (mut rows, mut full, mut on) = (Vec::<ItemView>::new(), 0, None);
    for item in all {
        let counts = ask.filling == Filling::All || item.removed_at.is_none();
        if counts && full >= ask.limit {
            on = rows.last().map(|item| item.key.clone());
            break;
        }
        full += usize::from(counts);
        rows.push(item);
    }
    if back {
        rows.reverse();
    }
    (rows, on)
}
