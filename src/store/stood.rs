//! How a connection stood, change by change. Part of the facade; must not know what a state means.

use super::read::{Order, Snapshot};
use super::tables::{self, Table};
use super::{Store, StoreError, records};
use crate::domain::ids::ConnectionKey;
use crate::domain::state::Stood;
use crate::domain::time::Steady;
use std::ops::{Bound, ControlFlow};

impl Store {
    /// The changes at and after `from`, oldest first, and the one before them: how it stood then. At most the newest `limit`.
    pub fn stood(&self, key: &ConnectionKey, from: Steady, limit: usize) -> Result<Vec<Stood>, StoreError> {
        self.core().read(|s| stood(s, key, from, limit))
    }

    /// The oldest changes before `before`, but for the newest of them; at most `limit`.
    pub fn stood_before(&self, key: &ConnectionKey, before: Steady, limit: usize) -> Result<Vec<Steady>, StoreError> {
        self.core().read(|s| stood_before(s, key, before, limit))
    }
}

fn stood(snapshot: &Snapshot<'_>, key: &ConnectionKey, from: Steady, limit: usize) -> Result<Vec<Stood>, StoreError> {
    let prefix = tables::connection_prefix(key);
    let end = tables::after_prefix(&prefix);
    let mut rows: Vec<Stood> = Vec::new();
    snapshot.visit(Table::Stood, super::read::below(&prefix, end.as_deref()), Order::Back, |_, value| {
        let row = records::stood_of(value)?;
        let is_last = row.since.steady <= from || rows.len() + 1 >= limit;
        rows.push(row);
        Ok(if is_last { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    })?;
    rows.reverse();
    Ok(rows)
}

fn stood_before(
    snapshot: &Snapshot<'_>,
    key: &ConnectionKey,
    before: Steady,
    limit: usize,
) -> Result<Vec<Steady>, StoreError> {
    let (first, end) = (tables::connection_prefix(key), tables::stood(key, before));
    let range = (Bound::Included(first.as_slice()), Bound::Excluded(end.as_slice()));
    let mut old: Vec<Steady> = Vec::new();
    snapshot.visit(Table::Stood, range, Order::Forth, |_, value| {
        old.push(records::stood_of(value)?.since.steady);
        Ok(if old.len() > limit { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    })?;
    old.pop();
    Ok(old)
}
