//! A snapshot: one moment of the file with the lazy rows over it, and the questions asked of it. Reads only. Never held
//! across an await.

use super::codec::Damaged;
use super::entry::no_known_form;
use super::records;
use super::rows::Rows;
use super::sentences::{self, Doing};
use super::tables::{self, Table};
use super::{StoreError, TokenRecord};
use crate::domain::charge::Charge;
use crate::domain::connection::{ConnectionState, Hold, HoldScope};
use crate::domain::event::Event;
use crate::domain::ids::*;
use crate::domain::item::Item;
use crate::domain::job::Job;
use crate::domain::polling::PollingState;
use crate::domain::target::{Life, PutTarget, TargetState};
use crate::domain::time::{Span, Stamp, Steady};
use redb::{ReadTransaction, ReadableTableMetadata};
use std::cell::OnceCell;
use std::ops::{Bound, ControlFlow};
use std::sync::Arc;

/// Charges are numbered by the writer but stamped by whoever asked: how far their stamps may be out of order.
pub(super) const DISORDER: Span = Span::from_secs(600);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    Forth,
    Back,
}

pub(super) type Range<'a> = (Bound<&'a [u8]>, Bound<&'a [u8]>);
pub(super) const ALL: Range<'static> = (Bound::Unbounded, Bound::Unbounded);
type Seen = Result<ControlFlow<()>, Damaged>;
const ON: Seen = Ok(ControlFlow::Continue(()));

pub(super) struct Snapshot<'a> {
    name: &'a str,
    pub(super) txn: ReadTransaction,
    pub(super) lazy: Arc<Rows>,
    /// The generations of `switched`, once somebody asked.
    pub(super) switched: OnceCell<Vec<Vec<u8>>>,
}

impl<'a> Snapshot<'a> {
    pub fn new(name: &'a str, txn: ReadTransaction, lazy: Arc<Rows>) -> Snapshot<'a> {
        Snapshot { name, txn, lazy, switched: OnceCell::new() }
    }

    pub fn name(&self) -> &str {
        self.name
    }

    pub(super) fn failed(&self, error: impl Into<redb::Error>) -> StoreError {
        sentences::explain(self.name, Doing::Reading, error)
    }

    /// One row.
    pub fn get<T>(
        &self,
        table: Table,
        key: &[u8],
        of: impl FnOnce(&[u8]) -> Result<T, Damaged>,
    ) -> Result<Option<T>, StoreError> {
        let read = |bytes: &[u8]| of(bytes).map_err(|d| sentences::unreadable(self.name, table, &d));
        match self.lazy.get(table, key) {
            Some(Some(value)) => read(value).map(Some),
            Some(None) => Ok(None),
            None => {
                if let Some(value) = self.unsettled(table, key)? {
                    return read(&value).map(Some);
                }
                let open = self.txn.open_table(table.definition()).map_err(|e| self.failed(e))?;
                let value = open.get(key).map_err(|e| self.failed(e))?;
                value.map(|v| read(v.value())).transpose()
            }
        }
    }

    /// Shows the rows of a range, those of switched generations and lazy ones in their place, until `see` breaks off.
    pub fn visit(
        &self,
        table: Table,
        range: Range<'_>,
        order: Order,
        mut see: impl FnMut(&[u8], &[u8]) -> Seen,
    ) -> Result<(), StoreError> {
        let mut see =
            |key: &[u8], value: &[u8]| see(key, value).map_err(|d| sentences::unreadable(self.name, table, &d));
        let open = self.txn.open_table(table.definition()).map_err(|e| self.failed(e))?;
        let stored = open.range::<&[u8]>(range).map_err(|e| self.failed(e))?;
        let over = self.over(table, range)?;
        let lazy = over.range::<[u8], _>(range);
        let (mut stored, lazy): (Box<dyn Iterator<Item = _>>, Box<dyn Iterator<Item = _>>) = match order {
            Order::Forth => (Box::new(stored), Box::new(lazy)),
            Order::Back => (Box::new(stored.rev()), Box::new(lazy.rev())),
        };
        let mut lazy = lazy.peekable();
        let comes_first = |a: &[u8], b: &[u8]| if order == Order::Forth { a < b } else { a > b };
        for row in &mut stored {
            let (key, value) = row.map_err(|e| self.failed(e))?;
            let key = key.value();
            while let Some((early, late_word)) = lazy.next_if(|(k, _)| comes_first(k, key)) {
                if let Some(value) = late_word
                    && see(early, value)?.is_break()
                {
                    return Ok(());
                }
            }
            let flow = match lazy.next_if(|(k, _)| k.as_slice() == key) {
                Some((_, Some(value))) => see(key, value)?,
                Some((_, None)) => ControlFlow::Continue(()),
                None => see(key, value.value())?,
            };
            if flow.is_break() {
                return Ok(());
            }
        }
        for (key, value) in lazy {
            if let Some(value) = value
                && see(key, value)?.is_break()
            {
                return Ok(());
            }
        }
        Ok(())
    }

    /// How many there are; lazy ones are not among them.
    pub fn rows(&self, table: Table) -> Result<u64, StoreError> {
        let open = self.txn.open_table(table.definition()).map_err(|e| self.failed(e))?;
        open.len().map_err(|e| self.failed(e))
    }

    /// The number of the last row of a numbered table; 0 if it is empty.
    pub fn last_number(&self, table: Table) -> Result<u64, StoreError> {
        let mut last = 0;
        self.visit(table, ALL, Order::Back, |key, _| {
            last = numbered(key)?;
            Ok(ControlFlow::Break(()))
        })?;
        Ok(last)
    }

    pub fn connection(&self, key: &ConnectionKey) -> Result<Option<ConnectionState>, StoreError> {
        self.get(Table::State, &tables::connection_state(key), records::connection_of)
    }

    pub fn polling(&self) -> Result<Option<PollingState>, StoreError> {
        self.get(Table::Meta, tables::meta::POLLING, records::polling_of)
    }

    pub fn target(&self, key: &TargetKey) -> Result<Option<TargetState>, StoreError> {
        self.get(Table::State, &tables::target_state(key), records::target_of)
    }

    pub fn life(&self, key: &TargetKey) -> Result<Option<Life>, StoreError> {
        self.get(Table::State, &tables::life(key), records::life_of)
    }

    pub fn put_target(&self, key: &TargetKey) -> Result<Option<PutTarget>, StoreError> {
        let put = self.get(Table::Targets, &tables::target_prefix(key), records::put_target_of)?;
        Ok(put.map(|(_, put)| put))
    }

    pub fn put_targets(&self, connection: &ConnectionKey) -> Result<Vec<(TargetName, PutTarget)>, StoreError> {
        let prefix = tables::connection_prefix(connection);
        let end = tables::after_prefix(&prefix);
        let mut targets = Vec::new();
        self.visit(Table::Targets, below(&prefix, end.as_deref()), Order::Forth, |_, value| {
            targets.push(records::put_target_of(value)?);
            ON
        })?;
        Ok(targets)
    }

    pub fn holds(&self, credential: &CredentialId) -> Result<Vec<Hold>, StoreError> {
        let prefix = tables::hold(credential, &HoldScope::Credential);
        let end = tables::after_prefix(&prefix);
        let mut holds = Vec::new();
        self.visit(Table::Credentials, below(&prefix, end.as_deref()), Order::Forth, |key, value| {
            holds.push(records::hold_of(held(key)?, value)?);
            ON
        })?;
        Ok(holds)
    }

    pub fn items(&self, key: &TargetKey) -> Result<Vec<Item>, StoreError> {
        let prefix = tables::target_prefix(key);
        let end = tables::after_prefix(&prefix);
        let mut items = Vec::new();
        self.visit(Table::Items, below(&prefix, end.as_deref()), Order::Forth, |key, value| {
            items.push(records::item_of(item_name(&key[prefix.len()..])?, value)?);
            ON
        })?;
        Ok(items)
    }

    pub fn charge(&self, id: ChargeId) -> Result<Option<Charge>, StoreError> {
        self.get(Table::Charges, &tables::number(id.0), |bytes| records::charge_of(id.0, bytes))
    }

    pub fn charges(
        &self,
        connection: &ConnectionKey,
        after: Option<ChargeId>,
        limit: usize,
    ) -> Result<Vec<Charge>, StoreError> {
        let from = after.map(|id| tables::number(id.0));
        let (range, order) = match &from {
            Some(from) => ((Bound::Excluded(from.as_slice()), Bound::Unbounded), Order::Forth),
            None => (ALL, Order::Back),
        };
        let mut charges = Vec::new();
        self.visit(Table::Charges, range, order, |key, value| {
            if charges.len() >= limit {
                return Ok(ControlFlow::Break(()));
            }
            charges.extend(charge_if(key, value, connection)?);
            ON
        })?;
        if order == Order::Back {
            charges.reverse();
        }
        Ok(charges)
    }

    pub fn charges_since(&self, connection: &ConnectionKey, from: Stamp) -> Result<Vec<Charge>, StoreError> {
        let mut charges = Vec::new();
        self.visit(Table::Charges, ALL, Order::Back, |key, value| {
            if is_before(value, from.steady) {
                return Ok(ControlFlow::Break(()));
            }
            charges.extend(charge_if(key, value, connection)?.filter(|c| c.reserved_at.steady >= from.steady));
            ON
        })?;
        charges.reverse();
        Ok(charges)
    }

    pub fn job(&self, id: JobId) -> Result<Option<Job>, StoreError> {
        self.get(Table::Jobs, &tables::number(id.0), |bytes| records::job_of(id.0, bytes))
    }

    pub fn jobs(&self, connection: &ConnectionKey, limit: usize) -> Result<Vec<Job>, StoreError> {
        self.jobs_if(|job| job.connection == *connection, limit)
    }

    pub fn jobs_newest(&self, limit: usize) -> Result<Vec<Job>, StoreError> {
        self.jobs_if(|_| true, limit)
    }

    fn jobs_if(&self, wanted: impl Fn(&Job) -> bool, limit: usize) -> Result<Vec<Job>, StoreError> {
        let mut jobs = Vec::new();
        self.visit(Table::Jobs, ALL, Order::Back, |key, value| {
            if jobs.len() >= limit {
                return Ok(ControlFlow::Break(()));
            }
            jobs.extend(Some(records::job_of(numbered(key)?, value)?).filter(&wanted));
            ON
        })?;
        Ok(jobs)
    }

    pub fn open_jobs(&self) -> Result<Vec<Job>, StoreError> {
        let mut ids = Vec::new();
        self.visit(Table::OpenJobs, ALL, Order::Forth, |key, _| {
            ids.push(JobId(numbered(key)?));
            ON
        })?;
        let jobs: Result<Vec<_>, _> = ids.into_iter().map(|id| self.job(id)).collect();
        Ok(jobs?.into_iter().flatten().collect())
    }

    pub fn events_after(&self, after: EventId, limit: usize) -> Result<Vec<Event>, StoreError> {
        let from = tables::number(after.0);
        let mut events = Vec::new();
        let range = (Bound::Excluded(from.as_slice()), Bound::Unbounded);
        self.visit(Table::Events, range, Order::Forth, |key, value| {
            if events.len() >= limit {
                return Ok(ControlFlow::Break(()));
            }
            events.push(records::event_of(numbered(key)?, value)?);
            ON
        })?;
        Ok(events)
    }

    pub fn tokens(&self) -> Result<Vec<TokenRecord>, StoreError> {
        self.all(Table::Tokens, |key, value| records::token_of(numbered(key)?, value))
    }

    /// Every row of a small table, in the order of the keys.
    pub fn all<T>(
        &self,
        table: Table,
        read: impl Fn(&[u8], &[u8]) -> Result<T, Damaged>,
    ) -> Result<Vec<T>, StoreError> {
        let mut rows = Vec::new();
        self.visit(table, ALL, Order::Forth, |key, value| {
            rows.push(read(key, value)?);
            ON
        })?;
        Ok(rows)
    }
}

pub(super) fn numbered(key: &[u8]) -> Result<u64, Damaged> {
    tables::read_number(key).ok_or_else(|| Damaged::because("its key is not a number"))
}

/// The last part of an item's key.
pub(super) fn item_name(key: &[u8]) -> Result<String, Damaged> {
    let name = std::str::from_utf8(key).map_err(|_| Damaged::because("its key is not text"))?;
    Ok(name.to_owned())
}

/// Whom a hold's row stops.
pub(super) fn held(key: &[u8]) -> Result<HoldScope, Damaged> {
    tables::hold_scope(key).ok_or_else(no_known_form)
}

/// From the prefix to its end.
pub(super) fn below<'a>(prefix: &'a [u8], end: Option<&'a [u8]>) -> Range<'a> {
    (Bound::Included(prefix), end.map_or(Bound::Unbounded, Bound::Excluded))
}

/// Whether a charge, and with it every earlier one, was certainly reserved before `moment`.
pub(super) fn is_before(value: &[u8], moment: Steady) -> bool {
    records::peek(value).is_some_and(|row| row.reserved + DISORDER < moment)
}

fn charge_if(key: &[u8], value: &[u8], connection: &ConnectionKey) -> Result<Option<Charge>, Damaged> {
    if records::peek(value).is_some_and(|row| !row.is_of(connection)) {
        return Ok(None);
    }
    Ok(Some(records::charge_of(numbered(key)?, value)?).filter(|c| c.connection == *connection))
}
