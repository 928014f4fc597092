//! Pages of history and events, from either end, of one item or one kind; and of items, from any key on. A page is a snapshot of its own: whoever reads slowly holds
//! nothing. However few rows are wanted of however many there are, a look has an end.

use super::codec::Damaged;
use super::read::{Order, Range, Snapshot, below, item_name, numbered};
use super::tables::{self, Table};
use super::{Store, StoreError, records};
use crate::domain::cursor::{Cursor, Edge, EventsAsk, Filling, HistoryAsk, ItemsAsk, Paged};
use crate::domain::event::Event;
use crate::domain::ids::TargetKey;
use crate::domain::item::{HistoryEntry, Item};
use crate::domain::target::TargetState;
use std::ops::{Bound, ControlFlow};

/// Rows that are looked at for one page.
const LOOKED_AT: usize = 20_000;
/// Items that are: a page of them is looked at again with every change.
const ITEMS_LOOKED_AT: usize = 2_000;

impl Store {
    pub fn history_page(&self, key: &TargetKey, ask: &HistoryAsk) -> Result<Paged<HistoryEntry>, StoreError> {
        self.core().read(|s| s.history_page(key, ask))
    }

    pub fn events_page(&self, ask: &EventsAsk) -> Result<Paged<Event>, StoreError> {
        self.core().read(|s| s.events_page(ask))
    }

    /// A target's state and a page of its items, of one moment: no row stands under the age of another reading.
    pub fn target_page(
        &self,
        key: &TargetKey,
        ask: &ItemsAsk,
    ) -> Result<(TargetState, Paged<Item, String>), StoreError> {
        self.core().read(|s| Ok((s.target(key)?.unwrap_or_default(), s.items_page(key, ask)?)))
    }

    /// The same with every present item, however many removed ones lie between them; `None`: there are more than `most`.
    pub fn whole_target(&self, key: &TargetKey, most: u64) -> Result<(TargetState, Option<Vec<Item>>), StoreError> {
        self.core().read(|s| {
            let state = s.target(key)?.unwrap_or_default();
            let items = if state.item_count <= most { Some(s.present_items(key)?) } else { None };
            Ok((state, items))
        })
    }

    /// In the order of their keys, removed ones among them.
    pub fn items_page(&self, key: &TargetKey, ask: &ItemsAsk) -> Result<Paged<Item, String>, StoreError> {
        self.core().read(|s| s.items_page(key, ask))
    }
}

/// The rows of a page, as they come up.
struct Page<T, N = u64> {
    rows: Vec<T>,
    looked: usize,
    looks: usize,
    limit: usize,
    last: Option<N>,
    has_more: bool,
}

impl<T, N> Page<T, N> {
    fn new(limit: usize, looks: usize) -> Page<T, N> {
        Page { rows: Vec::new(), looked: 0, looks, limit: limit.max(1), last: None, has_more: false }
    }

    /// One row more: its number or key, and what it is if it is wanted.
    fn see(&mut self, place: N, row: impl FnOnce() -> Result<Option<T>, Damaged>) -> Result<ControlFlow<()>, Damaged> {
        if self.rows.len() >= self.limit || self.looked >= self.looks {
            self.has_more = true;
            return Ok(ControlFlow::Break(()));
        }
        self.rows.extend(row()?);
        (self.looked, self.last) = (self.looked + 1, Some(place));
        Ok(ControlFlow::Continue(()))
    }

    fn done(mut self, order: Order) -> Paged<T, N> {
        if order == Order::Back {
            self.rows.reverse();
        }
        Paged { on: self.last.filter(|_| self.has_more), rows: self.rows }
    }
}

/// The rows of a list that a page is made of: between `first` and `end`, from `edge` on.
fn stretch<'a>(from: Cursor, edge: &'a [u8], all: Range<'a>) -> (Range<'a>, Order) {
    match from {
        Cursor::Newest => (all, Order::Back),
        Cursor::Before(_) => ((all.0, Bound::Excluded(edge)), Order::Back),
        Cursor::After(_) => ((Bound::Excluded(edge), all.1), Order::Forth),
    }
}

const fn edge(from: Cursor) -> u64 {
    match from {
        Cursor::Newest => 0,
        Cursor::Before(number) | Cursor::After(number) => number,
    }
}

impl Snapshot<'_> {
    pub fn history_page(&self, key: &TargetKey, ask: &HistoryAsk) -> Result<Paged<HistoryEntry>, StoreError> {
        let prefix = tables::target_prefix(key);
        let (edge, end) = (tables::history(key, edge(ask.from)), tables::after_prefix(&prefix));
        let (range, order) = stretch(ask.from, &edge, below(&prefix, end.as_deref()));
        let mut page = Page::new(ask.limit, LOOKED_AT);
        self.visit(Table::History, range, order, |key, value| {
            let seq = numbered(&key[prefix.len()..])?;
            page.see(seq, || {
                let entry = records::history_of(seq, value)?;
                Ok(Some(entry).filter(|e| ask.item.as_ref().is_none_or(|item| *item == e.key)))
            })
        })?;
        Ok(page.done(order))
    }

    pub fn events_page(&self, ask: &EventsAsk) -> Result<Paged<Event>, StoreError> {
        let edge = tables::number(edge(ask.from));
        let (range, order) = stretch(ask.from, &edge, super::read::ALL);
        let mut page = Page::new(ask.limit, LOOKED_AT);
        self.visit(Table::Events, range, order, |key, value| {
            let id = numbered(key)?;
            page.see(id, || Ok(Some(records::event_of(id, value)?).filter(|e| ask.wants(&e.body))))
        })?;
        Ok(page.done(order))
    }

    pub fn items_page(&self, key: &TargetKey, ask: &ItemsAsk) -> Result<Paged<Item, String>, StoreError> {
        let prefix = tables::target_prefix(key);
        let end = tables::after_prefix(&prefix);
        let (first, end) = below(&prefix, end.as_deref());
        let edge = match &ask.from {
            Edge::First => Vec::new(),
            Edge::From(item) | Edge::After(item) | Edge::Before(item) => tables::item(key, item),
        };
        let (range, order) = match &ask.from {
            Edge::First => ((first, end), Order::Forth),
            Edge::From(_) => ((Bound::Included(edge.as_slice()), end), Order::Forth),
            Edge::After(_) => ((Bound::Excluded(edge.as_slice()), end), Order::Forth),
            Edge::Before(_) => ((first, Bound::Excluded(edge.as_slice())), Order::Back),
        };
        let mut page = Page::new(ask.limit, ITEMS_LOOKED_AT);
        self.visit(Table::Items, range, order, |key, value| {
            let name = item_name(&key[prefix.len()..])?;
            let item = records::item_of(name.clone(), value)?;
            if ask.filling == Filling::Present && item.removed.is_some() {
                page.limit += 1;
            }
            page.see(name, || Ok(Some(item)))
        })?;
        Ok(page.done(order))
    }

    /// One page may end among removed ones.
    fn present_items(&self, key: &TargetKey) -> Result<Vec<Item>, StoreError> {
        let mut ask = ItemsAsk { filling: Filling::Present, limit: ITEMS_LOOKED_AT, ..ItemsAsk::default() };
        let mut present = Vec::new();
        loop {
            let page = self.items_page(key, &ask)?;
            present.extend(page.rows.into_iter().filter(|item| item.removed.is_none()));
            match page.on {
                Some(on) => ask.from = Edge::After(on),
                None => return Ok(present),
            }
        }
    }
}
