//! What is too much for one transaction, published in one: rows are written beside their tables in bounded batches, then *switched* by
//! one small row, and from that commit on every reader sees them in their place. Afterwards they are moved there, again in bounded batches.
//! A crash before the switch leaves nothing to see, one after it nothing to do but to go on moving. Knows keys and bytes; must not know
//! what a generation is of. The overlay of the readers, the moving of the writer.

use super::core::Core;
use super::read::{Order, Range, Snapshot, below};
use super::rows::{Part, Row, Rows};
use super::tables::{self, Table, WRITES};
use super::write::Writing;
use super::{Store, StoreError};
use redb::{ReadableTable, WriteTransaction};
use std::borrow::Cow;
use std::ops::{Bound, ControlFlow};

/// Tables that a generation may write to, each with its tag.
const STAGED: [(Table, u8); 3] = [(Table::State, b's'), (Table::Items, b'i'), (Table::History, b'h')];

pub(super) fn staged_table(tag: u8) -> Option<Table> {
    STAGED.into_iter().find(|(_, t)| *t == tag).map(|(table, _)| table)
}

fn tag_of(table: Table) -> Option<u8> {
    STAGED.into_iter().find(|(t, _)| *t == table).map(|(_, tag)| tag)
}

/// Where a row waits for its generation to be switched; `None`: rows of its table cannot wait.
pub(super) fn waiting(generation: &[u8], table: Table, key: &[u8]) -> Option<Vec<u8>> {
    let mut rest = Vec::with_capacity(1 + key.len());
    rest.push(tag_of(table)?);
    rest.extend_from_slice(key);
    Some(tables::scan_row(generation, WRITES, &rest))
}

impl Snapshot<'_> {
    /// Generations that are published and not moved yet.
    fn switched(&self) -> Result<&[Vec<u8>], StoreError> {
        if let Some(known) = self.switched.get() {
            return Ok(known);
        }
        let mut found = Vec::new();
        self.visit(Table::Switched, super::read::ALL, Order::Forth, |key, _| {
            found.push(key.to_vec());
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(self.switched.get_or_init(|| found))
    }

    /// The row as a switched generation has it.
    pub(super) fn unsettled(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        if tag_of(table).is_none() {
            return Ok(None);
        }
        for generation in self.switched()? {
            let Some(waiting) = waiting(generation, table, key) else { continue };
            let open = self.txn.open_table(Table::ScanRows.definition()).map_err(|e| self.failed(e))?;
            if let Some(value) = open.get(waiting.as_slice()).map_err(|e| self.failed(e))? {
                return Ok(Some(value.value().to_vec()));
            }
        }
        Ok(None)
    }

    /// The rows of a range that are not in their table: of switched generations, and over them the lazy ones.
    pub(super) fn over(&self, table: Table, range: Range<'_>) -> Result<Cow<'_, Part>, StoreError> {
        let lazy = self.lazy.part(table);
        if tag_of(table).is_none() || self.switched()?.is_empty() {
            return Ok(Cow::Borrowed(lazy));
        }
        let mut over = Part::new();
        for generation in self.switched()? {
            self.add_waiting(generation, table, range, &mut over)?;
        }
        over.extend(lazy.range::<[u8], _>(range).map(|(key, value)| (key.clone(), value.clone())));
        Ok(Cow::Owned(over))
    }

    fn add_waiting(
        &self,
        generation: &[u8],
        table: Table,
        range: Range<'_>,
        over: &mut Part,
    ) -> Result<(), StoreError> {
        let Some(prefix) = waiting(generation, table, &[]) else { return Ok(()) };
        let at = |key: &[u8]| [prefix.as_slice(), key].concat();
        let from = match range.0 {
            Bound::Included(key) => Bound::Included(at(key)),
            Bound::Excluded(key) => Bound::Excluded(at(key)),
            Bound::Unbounded => Bound::Included(prefix.clone()),
        };
        let until = match range.1 {
            Bound::Included(key) => Bound::Included(at(key)),
            Bound::Excluded(key) => Bound::Excluded(at(key)),
            Bound::Unbounded => tables::after_prefix(&prefix).map_or(Bound::Unbounded, Bound::Excluded),
        };
        let bounds = (from.as_ref().map(Vec::as_slice), until.as_ref().map(Vec::as_slice));
        self.visit(Table::ScanRows, bounds, Order::Forth, |key, value| {
            over.insert(key[prefix.len()..].to_vec(), Some(value.to_vec()));
            Ok(ControlFlow::Continue(()))
        })
    }

    /// At most `rows` keys of `scan_rows` below a prefix.
    pub(super) fn scan_keys(&self, prefix: &[u8], rows: usize) -> Result<Vec<Vec<u8>>, StoreError> {
        let end = tables::after_prefix(prefix);
        let mut keys = Vec::new();
        self.visit(Table::ScanRows, below(prefix, end.as_deref()), Order::Forth, |key, _| {
            if keys.len() >= rows {
                return Ok(ControlFlow::Break(()));
            }
            keys.push(key.to_vec());
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(keys)
    }
}

/// What is written to a table now is newer than what waits for that place: called in every transaction, before its rows, while
/// anything may wait. Whether anything does.
pub(super) fn supersede(txn: &WriteTransaction, lazy: &Rows, staged: &Rows) -> Result<bool, redb::Error> {
    let switched: Vec<Vec<u8>> = {
        let table = txn.open_table(Table::Switched.definition())?;
        let keys = table.iter()?.map(|row| Ok(row?.0.value().to_vec()));
        keys.collect::<Result<_, redb::Error>>()?
    };
    if switched.is_empty() {
        return Ok(false);
    }
    let mut rows = txn.open_table(Table::ScanRows.definition())?;
    for (table, _) in STAGED {
        for key in lazy.part(table).keys().chain(staged.part(table).keys()) {
            for waiting in switched.iter().filter_map(|generation| waiting(generation, table, key)) {
                rows.remove(waiting.as_slice())?;
            }
        }
    }
    Ok(true)
}

impl Writing {
    /// Moves at most `most` rows of a switched generation to their place (in this transaction [`supersede`] takes them away from where
    /// they waited), and ends the switch with the last. Whether there is more to do.
    pub(super) fn settle_generation(&mut self, core: &Core, most: usize) -> Result<bool, StoreError> {
        let snapshot = core.snapshot()?;
        let Some(generation) = snapshot.switched()?.first() else { return Ok(false) };
        let prefix = tables::scan_row(generation, WRITES, &[]);
        let end = tables::after_prefix(&prefix);
        let mut moved = Vec::new();
        snapshot.visit(Table::ScanRows, below(&prefix, end.as_deref()), Order::Forth, |key, value| {
            if moved.len() >= most {
                return Ok(ControlFlow::Break(()));
            }
            moved.push((key[prefix.len()..].to_vec(), value.to_vec()));
            Ok(ControlFlow::Continue(()))
        })?;
        if moved.len() < most {
            self.staged.set(Row::delete(Table::Switched, generation.as_slice()));
        }
        for (place, value) in moved {
            let Some((tag, key)) = place.split_first() else { continue };
            let Some(table) = staged_table(*tag) else { continue };
            // Somebody has written there since: that is newer.
            if self.staged.get(table, key).is_none() && snapshot.lazy.get(table, key).is_none() {
                self.staged.set(Row::put(table, key, value));
            }
        }
        Ok(true)
    }
}

impl Store {
    /// Moves at most `rows` rows that were published to their place. False: there is nothing to move any more. To readers it makes no
    /// difference.
    pub async fn settle_generation(&self, rows: usize) -> Result<bool, StoreError> {
        if self.core().read(|s| Ok(s.switched()?.is_empty()))? {
            return Ok(false);
        }
        self.queue.submit(|reply| super::work::Work::Settle(rows, reply)).await
    }
}
