//! What readers ask of the store: one snapshot each, lazy writes included. Hands on to `read`; knows neither writer nor disk.

use super::tables::{self, Table};
use super::{Store, StoreError, TokenRecord, records};
use crate::domain::charge::Charge;
use crate::domain::connection::ConnectionState;
use crate::domain::credential::CredentialState;
use crate::domain::cursor::{Cursor, HistoryAsk};
use crate::domain::event::Event;
use crate::domain::ids::*;
use crate::domain::item::{HistoryEntry, Item};
use crate::domain::job::Job;
use crate::domain::polling::PollingState;
use crate::domain::spend::{Hour, Spend, SpendLine};
use crate::domain::target::{Life, PutTarget, TargetState};
use crate::domain::time::Stamp;
use std::collections::BTreeMap;
use std::ops::Range;

impl Store {
    pub fn connection(&self, key: &ConnectionKey) -> Result<Option<ConnectionState>, StoreError> {
        self.core().read(|s| s.connection(key))
    }

    /// What operators set of the whole process's polling.
    pub fn polling(&self) -> Result<Option<PollingState>, StoreError> {
        self.core().read(|s| s.polling())
    }

    /// What is remembered of a connection's credential.
    pub fn credential(&self, key: &ConnectionKey) -> Result<Option<CredentialState>, StoreError> {
        self.core().read(|s| s.get(Table::Accounts, &tables::connection_prefix(key), records::credential_of))
    }

    /// The same of every connection that there ever was.
    pub fn credentials(&self) -> Result<Vec<CredentialState>, StoreError> {
        self.core().read(|s| s.all(Table::Accounts, |_, value| records::credential_of(value)))
    }

    pub fn target(&self, key: &TargetKey) -> Result<Option<TargetState>, StoreError> {
        self.core().read(|s| s.target(key))
    }

    /// Of all these as of one moment, in their order; the default where nothing is known.
    pub fn targets<'k, K>(&self, keys: K) -> Result<Vec<TargetState>, StoreError>
    where
        K: Iterator<Item = &'k TargetKey> + Clone,
    {
        self.core().read(|s| keys.clone().map(|key| Ok(s.target(key)?.unwrap_or_default())).collect())
    }

    /// `None`: nobody ever touched its phase.
    pub fn life(&self, key: &TargetKey) -> Result<Option<Life>, StoreError> {
        self.core().read(|s| s.life(key))
    }

    /// The targets that operators put, in the order of their names.
    pub fn put_targets(&self, connection: &ConnectionKey) -> Result<Vec<(TargetName, PutTarget)>, StoreError> {
        self.core().read(|s| s.put_targets(connection))
    }

    pub fn put_target(&self, key: &TargetKey) -> Result<Option<PutTarget>, StoreError> {
        self.core().read(|s| s.put_target(key))
    }

    /// Every item, removed ones too, in key order.
    pub fn items(&self, key: &TargetKey) -> Result<Vec<Item>, StoreError> {
        self.core().read(|s| s.items(key))
    }

    /// seq > after, oldest first; `None`: the newest `limit`, oldest first.
    pub fn history(&self, key: &TargetKey, after: Option<u64>, limit: usize) -> Result<Vec<HistoryEntry>, StoreError> {
        let ask = HistoryAsk { from: after.map_or(Cursor::Newest, Cursor::After), item: None, limit };
        Ok(self.history_page(key, &ask)?.rows)
    }

    /// id > after, oldest first; `None`: the newest `limit`, oldest first.
    pub fn charges(
        &self,
        connection: &ConnectionKey,
        after: Option<ChargeId>,
        limit: usize,
    ) -> Result<Vec<Charge>, StoreError> {
        self.core().read(|s| s.charges(connection, after, limit))
    }

    /// Charges of the connection reserved at or after `from`, oldest first.
    pub fn charges_since(&self, connection: &ConnectionKey, from: Stamp) -> Result<Vec<Charge>, StoreError> {
        self.core().read(|s| s.charges_since(connection, from))
    }

    /// Every request reserved in these hours, of all connections, summed by what `group` makes of its line; `None` leaves it out.
    pub fn spend<K: Ord>(
        &self,
        hours: &Range<Hour>,
        group: impl Fn(&SpendLine) -> Option<K>,
    ) -> Result<BTreeMap<K, Spend>, StoreError> {
        self.core().read(|s| s.spend(hours, &group))
    }

    pub fn job(&self, id: JobId) -> Result<Option<Job>, StoreError> {
        self.core().read(|s| s.job(id))
    }

    /// Newest first.
    pub fn jobs(&self, connection: &ConnectionKey, limit: usize) -> Result<Vec<Job>, StoreError> {
        self.core().read(|s| s.jobs(connection, limit))
    }

    /// Jobs that are not final, oldest first, over all connections.
    pub fn open_jobs(&self) -> Result<Vec<Job>, StoreError> {
        self.core().read(|s| s.open_jobs())
    }

    pub fn events_after(&self, after: EventId, limit: usize) -> Result<Vec<Event>, StoreError> {
        self.core().read(|s| s.events_after(after, limit))
    }

    /// Of the newest durable event; 0 before the first.
    pub fn last_event_id(&self) -> EventId {
        EventId(self.core().last_event())
    }

    pub fn tokens(&self) -> Result<Vec<TokenRecord>, StoreError> {
        self.core().read(|s| s.tokens())
    }
}
