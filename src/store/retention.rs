//! An operator's own rule of how long a history is kept. Readers look for what it is about, a bounded look at a time; the writer lets go of
//! what is still so, and tells it in the same transaction. Knows rows and ages; must not know when or whether there is such a rule.

use super::core::Core;
use super::read::{Order, Snapshot, below};
use super::records;
use super::rows::Row;
use super::tables::{self, Table};
use super::work::Work;
use super::write::Writing;
use super::{Store, StoreError};
use crate::domain::event::{Event, NewEvent};
use crate::domain::ids::ConnectionKey;
use crate::domain::time::{Now, Span, Stamp};
use std::ops::{Bound, ControlFlow};

/// Rows that one transaction lets go of.
const BATCH: usize = 1_000;
/// Rows that one look sees.
const LOOK: usize = 20_000;

/// What happened longer ago than `keep` may go.
#[derive(Clone, Debug)]
pub struct Retention {
    pub keep: Span,
    pub now: Now,
}

impl Retention {
    /// By both timelines: a wall clock that jumps ahead makes nothing old.
    fn is_over(&self, at: Stamp) -> bool {
        self.now.steady.since(at.steady) > self.keep && self.now.wall().since(at.wall) > self.keep
    }
}

/// Where a look goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place(Table, Vec<u8>);

/// What a look found.
#[derive(Debug, Default)]
pub struct Outdated {
    rows: Vec<(Table, Vec<u8>)>,
    looked: usize,
    /// `None`: that was all of it.
    pub on: Option<Place>,
}

/// Lines of history, and items that had been gone for as long, that are let go of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Forgotten {
    pub lines: u64,
    pub items: u64,
}

/// What goes, and how it is told.
pub(super) struct Forget {
    rule: Retention,
    rows: Vec<(Table, Vec<u8>)>,
    tell: Box<dyn FnOnce(Forgotten) -> NewEvent + Send>,
}

impl Store {
    pub fn outdated(
        &self,
        connection: &ConnectionKey,
        rule: &Retention,
        from: Option<&Place>,
    ) -> Result<Outdated, StoreError> {
        self.core().read(|s| outdated(s, connection, rule, from))
    }

    /// The event that tells it; none where nothing of it is old any more.
    pub async fn forget(
        &self,
        outdated: Outdated,
        rule: Retention,
        tell: impl FnOnce(Forgotten) -> NewEvent + Send + 'static,
    ) -> Result<Vec<Event>, StoreError> {
        if outdated.rows.is_empty() {
            return Ok(Vec::new());
        }
        let forget = Forget { rule, rows: outdated.rows, tell: Box::new(tell) };
        self.queue.submit(|reply| Work::Forget(forget, reply)).await
    }
}

fn outdated(
    snapshot: &Snapshot<'_>,
    connection: &ConnectionKey,
    rule: &Retention,
    from: Option<&Place>,
) -> Result<Outdated, StoreError> {
    let prefix = tables::connection_prefix(connection);
    let end = tables::after_prefix(&prefix);
    let mut found = Outdated::default();
    if from.is_none_or(|place| place.0 == Table::History) {
        let mut at = from.map_or(&prefix, |place| &place.1).clone();
        while let Some(target) = next_target(snapshot, &at, end.as_deref())? {
            lines(snapshot, &target, rule, &mut found)?;
            if found.rows.len() >= BATCH || found.looked >= LOOK {
                found.on = Some(Place(Table::History, target));
                return Ok(found);
            }
            let Some(next) = tables::after_prefix(&target) else { break };
            at = next;
        }
    }
    let first = from.filter(|place| place.0 == Table::Items).map_or(&prefix, |place| &place.1);
    snapshot.visit(Table::Items, below(first, end.as_deref()), Order::Forth, |key, value| {
        if found.rows.len() >= BATCH || found.looked >= LOOK {
            found.on = Some(Place(Table::Items, key.to_vec()));
            return Ok(ControlFlow::Break(()));
        }
        found.looked += 1;
        let item = records::item_of(String::new(), value)?;
        let gone = item.removed.is_some_and(|removed| rule.is_over(removed.at));
        found.rows.extend(gone.then(|| (Table::Items, key.to_vec())));
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(found)
}

/// The prefix of the first history at or behind `at`.
fn next_target(snapshot: &Snapshot<'_>, at: &[u8], end: Option<&[u8]>) -> Result<Option<Vec<u8>>, StoreError> {
    let mut target = None;
    let range = (Bound::Included(at), below(at, end).1);
    snapshot.visit(Table::History, range, Order::Forth, |key, _| {
        target = key.split_last_chunk::<8>().map(|(target, _)| target.to_vec());
        Ok(ControlFlow::Break(()))
    })?;
    Ok(target)
}

/// The oldest lines of one history. Its last line stays whatever its age: the next number is counted from it.
fn lines(snapshot: &Snapshot<'_>, target: &[u8], rule: &Retention, found: &mut Outdated) -> Result<(), StoreError> {
    let end = tables::after_prefix(target);
    let mut before: Option<Vec<u8>> = None;
    snapshot.visit(Table::History, below(target, end.as_deref()), Order::Forth, |key, value| {
        found.rows.extend(before.take().map(|line| (Table::History, line)));
        found.looked += 1;
        if found.rows.len() >= BATCH || !rule.is_over(records::history_of(0, value)?.at) {
            return Ok(ControlFlow::Break(()));
        }
        before = Some(key.to_vec());
        Ok(ControlFlow::Continue(()))
    })
}

impl Writing {
    /// An item that came back meanwhile stays, with the moment at which it was first seen.
    pub(super) fn forget(&mut self, core: &Core, forget: Forget) -> Result<Vec<Event>, StoreError> {
        let Forget { rule, rows, tell } = forget;
        let (mut forgotten, mut going) = (Forgotten::default(), Vec::new());
        for (table, key) in rows {
            let goes = match table {
                Table::Items => {
                    let item = self.look_up(core, table, &key, |bytes| records::item_of(String::new(), bytes))?;
                    let goes = item.and_then(|i| i.removed).is_some_and(|removed| rule.is_over(removed.at));
                    forgotten.items += u64::from(goes);
                    goes
                }
                _ => {
                    let goes = self.look_up(core, table, &key, |bytes| records::history_of(0, bytes))?.is_some();
                    forgotten.lines += u64::from(goes);
                    goes
                }
            };
            going.extend(goes.then(|| Row::delete(table, key)));
        }
        if going.is_empty() {
            return Ok(Vec::new());
        }
        let (told, events) = self.number_events(vec![tell(forgotten)])?;
        self.next.event += events.len() as u64;
        told.into_iter().chain(going).for_each(|row| self.staged.set(row));
        Ok(events)
    }
}
