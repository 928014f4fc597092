//! Findings: one that is open for each matter, counted while it is seen, kept for a while after it was settled. Part of the
//! writer and of the facade; what is worth a finding is decided elsewhere.

use super::core::Core;
use super::read::{Order, Snapshot, below, numbered};
use super::rows::{Row, Value};
use super::tables::{self, Table};
use super::work::written;
use super::write::Writing;
use super::{Store, StoreError, records, sentences};
use crate::domain::event::{EventKind, NewEvent};
use crate::domain::finding::{Finding, FindingChange, Matter, Seen, Wanted};
use crate::domain::ids::{ConnectionKey, FindingId};
use crate::domain::time::Stamp;
use std::ops::{Bound, ControlFlow};

impl Store {
    /// id > after, oldest first; `None`: the newest `limit`, oldest first.
    pub fn findings(
        &self,
        wanted: &Wanted,
        after: Option<FindingId>,
        limit: usize,
    ) -> Result<Vec<Finding>, StoreError> {
        self.core().read(|s| findings(s, wanted, after, limit))
    }

    /// The newest `limit` that are open of a connection and its targets, oldest first.
    pub fn open_findings(&self, connection: &ConnectionKey, limit: usize) -> Result<Vec<Finding>, StoreError> {
        self.core().read(|s| open_findings(s, connection, limit))
    }

    /// What is open of a matter.
    pub fn open_finding(&self, about: &Matter) -> Result<Option<Finding>, StoreError> {
        let key = tables::open_finding(about, records::finding_kind(about.kind));
        self.core().read(|s| match s.get(Table::OpenFindings, &key, numbered)? {
            Some(id) => s.get(Table::Findings, &tables::number(id), |bytes| records::finding_of(id, bytes)),
            None => Ok(None),
        })
    }
}

/// By the index of open matters, which begins with the connection.
fn open_findings(
    snapshot: &Snapshot<'_>,
    connection: &ConnectionKey,
    limit: usize,
) -> Result<Vec<Finding>, StoreError> {
    let prefix = tables::connection_prefix(connection);
    let end = tables::after_prefix(&prefix);
    let mut ids = Vec::new();
    snapshot.visit(Table::OpenFindings, below(&prefix, end.as_deref()), Order::Forth, |_, value| {
        ids.push(numbered(value)?);
        Ok(ControlFlow::Continue(()))
    })?;
    ids.sort_unstable();
    let newest = ids.into_iter().rev().take(limit).rev();
    let of = |id: u64| snapshot.get(Table::Findings, &tables::number(id), |bytes| records::finding_of(id, bytes));
    newest.filter_map(|id| of(id).transpose()).collect()
}

fn findings(
    snapshot: &Snapshot<'_>,
    wanted: &Wanted,
    after: Option<FindingId>,
    limit: usize,
) -> Result<Vec<Finding>, StoreError> {
    let from = tables::number(after.map_or(0, |id| id.0));
    let order = if after.is_some() { Order::Forth } else { Order::Back };
    let mut found = Vec::new();
    snapshot.visit(Table::Findings, (Bound::Excluded(&from), Bound::Unbounded), order, |key, value| {
        if found.len() >= limit {
            return Ok(ControlFlow::Break(()));
        }
        found.extend(Some(records::finding_of(numbered(key)?, value)?).filter(|f| wanted.is(f)));
        Ok(ControlFlow::Continue(()))
    })?;
    if order == Order::Back {
        found.reverse();
    }
    Ok(found)
}

impl Writing {
    /// Adds the rows of these changes to `rows`, which are of the same commit and not staged yet. Returns what there is to tell.
    pub(super) fn take_findings(
        &mut self,
        core: &Core,
        changes: Vec<FindingChange>,
        rows: &mut Vec<Row>,
    ) -> Result<Vec<NewEvent>, StoreError> {
        let mut told = Vec::new();
        for change in changes {
            let key = tables::open_finding(change.about(), records::finding_kind(change.about().kind));
            let open = self.open_finding(core, rows, &key)?;
            match (change, open) {
                (FindingChange::Seen(seen), Some(open)) => rows.push(put(&open.seen_again(seen))?),
                (FindingChange::Seen(seen), None) => told.push(self.open(seen, key, rows)?),
                (FindingChange::Settled { about, at, because }, Some(open)) => {
                    rows.push(put(&open.closed(at))?);
                    rows.push(Row::delete(Table::OpenFindings, key));
                    told.push(event(EventKind::FindingClosed, &about, at, because));
                }
                (FindingChange::Settled { .. }, None) => {}
            }
        }
        Ok(told)
    }

    fn open(&mut self, seen: Seen, key: Vec<u8>, rows: &mut Vec<Row>) -> Result<NewEvent, StoreError> {
        let told = event(EventKind::FindingOpened, &seen.about, seen.at, seen.sentence.clone());
        let finding = Finding::opened(FindingId(self.next.finding), seen);
        rows.push(put(&finding)?);
        rows.push(Row::put(Table::OpenFindings, key, tables::number(finding.id.0).to_vec()));
        self.next.finding += 1;
        Ok(told)
    }

    /// What is open of a matter as this commit will leave it.
    fn open_finding(&self, core: &Core, rows: &[Row], key: &[u8]) -> Result<Option<Finding>, StoreError> {
        let Some(id) = self.look(core, rows, Table::OpenFindings, key, numbered)? else { return Ok(None) };
        let of = |bytes: &[u8]| records::finding_of(id, bytes);
        match self.look(core, rows, Table::Findings, &tables::number(id), of)? {
            Some(finding) => Ok(Some(finding)),
            None => Err(sentences::corrupt(core.name(), &format!("finding {id} is missing"))),
        }
    }

    fn look<T>(
        &self,
        core: &Core,
        rows: &[Row],
        table: Table,
        key: &[u8],
        of: impl FnOnce(&[u8]) -> Result<T, super::codec::Damaged>,
    ) -> Result<Option<T>, StoreError> {
        let own: Option<&Value> = rows.iter().rev().find(|r| r.table == table && r.key == key).map(|r| &r.value);
        match own {
            Some(Some(value)) => of(value).map(Some).map_err(|d| sentences::unreadable(core.name(), table, &d)),
            Some(None) => Ok(None),
            None => self.look_up(core, table, key, of),
        }
    }
}

fn put(finding: &Finding) -> Result<Row, StoreError> {
    let record = written(Table::Findings, records::finding(finding))?;
    Ok(Row::put(Table::Findings, tables::number(finding.id.0), record))
}

fn event(kind: EventKind, about: &Matter, at: Stamp, message: String) -> NewEvent {
    NewEvent { kind, at, connection: about.of_connection().cloned(), target: about.target.clone(), message }
}
