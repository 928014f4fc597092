//! Connections that are stored beside those of the configuration, and samples of answers. Part of the facade.

use super::records;
use super::tables::{self, Table};
use super::{Store, StoreError};
use crate::domain::ids::{ConnectionKey, TargetKey};
use crate::domain::setup::{Sample, StoredConnection};

impl Store {
    pub fn stored_connection(&self, key: &ConnectionKey) -> Result<Option<StoredConnection>, StoreError> {
        let key = tables::connection_prefix(key);
        let found = self.core().read(|s| s.get(Table::Connections, &key, records::stored_of))?;
        Ok(found.map(|(_, stored)| stored))
    }

    /// All of them, in the order of their keys.
    pub fn stored_connections(&self) -> Result<Vec<(ConnectionKey, StoredConnection)>, StoreError> {
        self.core().read(|s| s.all(Table::Connections, |_, value| records::stored_of(value)))
    }

    pub fn sample(&self, key: &TargetKey) -> Result<Option<Sample>, StoreError> {
        self.core().read(|s| s.get(Table::Samples, &tables::target_prefix(key), records::sample_of))
    }
}
