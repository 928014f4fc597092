//! Answers that were pushed: what is remembered of each by its id, and which one a target is shown by. Part of the facade.

use super::read::{Order, Snapshot};
use super::records;
use super::rows::Row;
use super::tables::{self, Table};
use super::work::written;
use super::{Store, StoreError};
use crate::domain::ids::{ConnectionKey, TargetKey};
use crate::domain::observation::Observation;
use crate::domain::time::Steady;
use std::ops::{Bound, ControlFlow};

impl Store {
    pub fn observation(&self, connection: &ConnectionKey, id: &str) -> Result<Option<Observation>, StoreError> {
        let key = tables::observation(connection, id);
        self.core().read(|s| s.get(Table::Observations, &key, records::observation_of))
    }

    /// The last one that a target was shown by; an answer that was polled may be newer.
    pub fn standing(&self, target: &TargetKey) -> Result<Option<Observation>, StoreError> {
        let key = tables::standing(target);
        self.core().read(|s| s.get(Table::Observations, &key, records::observation_of))
    }

    /// When those came that came before `before`, and their ids: the oldest first, at most `limit`.
    pub fn observations_before(
        &self,
        connection: &ConnectionKey,
        before: Steady,
        limit: usize,
    ) -> Result<Vec<(Steady, String)>, StoreError> {
        self.core().read(|s| received(s, connection, before, limit))
    }
}

fn received(
    snapshot: &Snapshot<'_>,
    connection: &ConnectionKey,
    before: Steady,
    limit: usize,
) -> Result<Vec<(Steady, String)>, StoreError> {
    let (first, end) = tables::received_before(connection, before);
    let range = (Bound::Included(first.as_slice()), Bound::Excluded(end.as_slice()));
    let mut old = Vec::new();
    snapshot.visit(Table::Observations, range, Order::Forth, |key, _| {
        if old.len() >= limit {
            return Ok(ControlFlow::Break(()));
        }
        if let Some(Some(row)) = tables::observation_row(key) {
            old.push((row.at, row.id));
        }
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(old)
}

/// The rows of one that was taken in.
pub(super) fn push(connection: &ConnectionKey, one: &Observation, rows: &mut Vec<Row>) -> Result<(), StoreError> {
    let record = written(Table::Observations, records::observation(one))?;
    if one.became.is_shown() {
        let target = TargetKey { connection: connection.clone(), target: one.target.clone() };
        rows.push(Row::put(Table::Observations, tables::standing(&target), record.clone()));
    }
    rows.push(Row::put(Table::Observations, tables::observation(connection, &one.id), record));
    let arrival = tables::received(connection, one.received_at.steady, &one.id);
    rows.push(Row::put(Table::Observations, arrival, Vec::new()));
    Ok(())
}

/// What a target is shown by stays known.
pub(super) fn forget(connection: &ConnectionKey, (at, id): (Steady, &str), rows: &mut Vec<Row>) {
    rows.push(Row::delete(Table::Observations, tables::observation(connection, id)));
    rows.push(Row::delete(Table::Observations, tables::received(connection, at, id)));
}
