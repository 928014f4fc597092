//! Sealed secrets: what a credential learned at run time, readable only with the key beside the file. Bytes to this room; replaced only
//! by who has seen what is there. Part of the writer and of the facade.

use super::core::Core;
use super::records;
use super::rows::Row;
use super::tables::Table;
use super::work::{Work, written};
use super::write::Writing;
use super::{Store, StoreError};
use crate::domain::ids::CredentialId;

/// A sealed secret as it is stored.
#[derive(Clone, PartialEq, Eq)]
pub struct Sealed {
    /// Grows by one with each replacement; 1 is the first.
    pub version: u64,
    pub bytes: Vec<u8>,
}

impl std::fmt::Debug for Sealed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Sealed(version {}, {} bytes)", self.version, self.bytes.len())
    }
}

/// Compare and swap: `seen` is the version that the new secret was made from, 0 where there was none.
#[derive(Clone, Debug)]
pub struct Swap {
    pub credential: CredentialId,
    pub seen: u64,
    pub bytes: Vec<u8>,
}

impl Store {
    pub fn sealed(&self, credential: CredentialId) -> Result<Option<Sealed>, StoreError> {
        self.core().read(|s| s.get(Table::Secrets, &credential.0, records::sealed_of))
    }

    /// The new version, once it is durable; `None` where somebody else was first, and nothing was changed (A51).
    pub async fn swap_sealed(&self, swap: Swap) -> Result<Option<u64>, StoreError> {
        self.queue.submit(|reply| Work::Swap(swap, reply)).await
    }
}

impl Writing {
    pub(super) fn swap(&mut self, core: &Core, swap: Swap) -> Result<Option<u64>, StoreError> {
        let there = self.look_up(core, Table::Secrets, &swap.credential.0, records::sealed_of)?;
        if there.map_or(0, |sealed| sealed.version) != swap.seen {
            return Ok(None);
        }
        let new = Sealed { version: swap.seen + 1, bytes: swap.bytes };
        let record = written(Table::Secrets, records::sealed(&new))?;
        self.staged.set(Row::put(Table::Secrets, swap.credential.0, record));
        Ok(Some(new.version))
    }
}
