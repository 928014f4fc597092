//! The only room that knows redb. One file, one writer, snapshot readers.

use crate::clock::ClockMark;
use crate::domain::charge::{Charge, Resolution};
use crate::domain::connection::{ConnectionState, Hold};
use crate::domain::event::{Event, NewEvent};
use crate::domain::ids::*;
use crate::domain::item::{HistoryEntry, Item};
use crate::domain::job::Job;
use crate::domain::limit::Limit;
use crate::domain::target::TargetState;
use crate::domain::time::{Now, Stamp};
use crate::rules::budget::{Permit, Refusal, Request, Usage};
use std::path::Path;

/// Every failure is a sentence that says what to do. Nothing was destroyed.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StoreError {
    #[error("{0}")]
    Locked(String),
    #[error("{0}")]
    Newer(String),
    #[error("{0}")]
    Corrupt(String),
    #[error("{0}")]
    Full(String),
    #[error("{0}")]
    Io(String),
    #[error("the store is closed")]
    Closed,
}

/// Where the writer works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writer {
    /// Its own thread, group commit.
    Thread,
    /// In the caller, one commit each: for the simulator, deterministic.
    Inline,
}

#[derive(Clone, Debug)]
pub struct Options {
    pub writer: Writer,
    pub cache_bytes: usize,
}

/// What was found at open.
#[derive(Clone, Debug)]
pub struct Opening {
    pub created: bool,
    /// A sentence if the last run did not close the file and it was repaired.
    pub repaired: Option<String>,
    pub mark: Option<ClockMark>,
    /// The newest stamp in the file: the high-water mark of both timelines.
    pub high_water: Option<Stamp>,
    /// Key of the credential fingerprints and of the polling phases; random, made with the file.
    pub installation: [u8; 32],
}

/// One durable change beside the charge. A table's row each.
#[derive(Clone, Debug, PartialEq)]
pub enum Write {
    Connection(ConnectionKey, ConnectionState),
    Target(TargetKey, TargetState),
    Item(TargetKey, Item),
    History(TargetKey, HistoryEntry),
    Job(Job),
    Mark(ClockMark),
    Token(TokenRecord),
}

#[derive(Clone, Debug, PartialEq)]
pub struct TokenRecord {
    pub id: u64,
    pub name: String,
    /// blake3 of the token text.
    pub hash: [u8; 32],
    pub role: String,
    pub organization: Organization,
    pub created_at: Stamp,
    pub revoked_at: Option<Stamp>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lane {
    /// The waiter is answered after the fsync.
    Durable,
    /// In force in memory at once; reaches the disk with the next durable commit, at most `LAZY_MAX` later, and at close.
    /// After a crash it is as if it had not happened, which must be safe (a resolution: its charge counts until the deadline).
    Lazy,
}

/// Write 2: the charge is resolved together with what was learned.
#[derive(Clone, Debug)]
pub struct Commit {
    pub resolve: Option<(CredentialId, ChargeId, Resolution)>,
    /// `Some(None)` lifts the hold.
    pub hold: Option<(CredentialId, Option<Hold>)>,
    pub writes: Vec<Write>,
    pub events: Vec<NewEvent>,
    pub lane: Lane,
}

/// Write 1. `with` is called with the charge's number once it is admitted; its writes ride in the same transaction.
pub struct Admission {
    pub credential: CredentialId,
    pub request: Request,
    pub now: Now,
    #[allow(clippy::type_complexity)]
    pub with: Box<dyn FnOnce(ChargeId) -> Vec<Write> + Send>,
}

/// Cheap to clone.
#[derive(Clone)]
pub struct Store {}

impl Store {
    pub fn open(_path: &Path, _options: Options) -> Result<(Store, Opening), StoreError> {
        todo!()
    }
    /// On any redb storage: for the simulator's crashing disk.
    pub fn open_backend(
        _backend: impl redb::StorageBackend,
        _options: Options,
    ) -> Result<(Store, Opening), StoreError> {
        todo!()
    }
    /// Flushes the lazy lane, closes the file cleanly. Later calls answer `Closed`.
    pub fn close(&self) -> Result<(), StoreError> {
        todo!()
    }

    // writes
    /// Declares the limits of a credential; reads its charges back. Call before the first `admit`, again when limits change.
    pub fn install_budget(&self, _credential: CredentialId, _limits: Vec<Limit>, _now: &Now) -> Result<(), StoreError> {
        todo!()
    }
    pub async fn admit(&self, _admission: Admission) -> Result<Result<Permit, Refusal>, StoreError> {
        todo!()
    }
    /// Returns the events with their numbers, after they are durable (in the lazy lane: `events` must be empty).
    pub async fn commit(&self, _commit: Commit) -> Result<Vec<Event>, StoreError> {
        todo!()
    }
    /// Creates a job with the next number unless `idempotency_key` names one already: then that one is returned, `false`.
    pub async fn create_job(&self, _job: Job, _event: NewEvent) -> Result<(Job, bool, Vec<Event>), StoreError> {
        todo!()
    }
    /// Creates a token with the next number.
    pub async fn create_token(&self, _token: TokenRecord) -> Result<TokenRecord, StoreError> {
        todo!()
    }

    // what the ledgers say (memory)
    pub fn usage(&self, _credential: CredentialId, _now: &Now, _endpoints: &[Endpoint]) -> Vec<Usage> {
        todo!()
    }
    pub fn would_admit(
        &self,
        _credential: CredentialId,
        _now: &Now,
        _ask: &crate::domain::connection::Ask,
    ) -> Result<(), Refusal> {
        todo!()
    }
    pub fn hold(&self, _credential: CredentialId) -> Option<Hold> {
        todo!()
    }

    // reads: one snapshot each, lazy writes included
    pub fn connection(&self, _key: &ConnectionKey) -> Result<Option<ConnectionState>, StoreError> {
        todo!()
    }
    pub fn target(&self, _key: &TargetKey) -> Result<Option<TargetState>, StoreError> {
        todo!()
    }
    /// Every item, removed ones too, in key order.
    pub fn items(&self, _key: &TargetKey) -> Result<Vec<Item>, StoreError> {
        todo!()
    }
    /// seq > after, oldest first; `None`: the newest `limit`, oldest first.
    pub fn history(
        &self,
        _key: &TargetKey,
        _after: Option<u64>,
        _limit: usize,
    ) -> Result<Vec<HistoryEntry>, StoreError> {
        todo!()
    }
    pub fn charges(
        &self,
        _connection: &ConnectionKey,
        _after: Option<ChargeId>,
        _limit: usize,
    ) -> Result<Vec<Charge>, StoreError> {
        todo!()
    }
    /// Charges of the connection reserved at or after `from`, oldest first.
    pub fn charges_since(&self, _connection: &ConnectionKey, _from: Stamp) -> Result<Vec<Charge>, StoreError> {
        todo!()
    }
    pub fn pending_charges(&self) -> Result<Vec<Charge>, StoreError> {
        todo!()
    }
    pub fn job(&self, _id: JobId) -> Result<Option<Job>, StoreError> {
        todo!()
    }
    /// Newest first.
    pub fn jobs(&self, _connection: &ConnectionKey, _limit: usize) -> Result<Vec<Job>, StoreError> {
        todo!()
    }
    /// Jobs that are not final, oldest first, over all connections.
    pub fn open_jobs(&self) -> Result<Vec<Job>, StoreError> {
        todo!()
    }
    pub fn events_after(&self, _after: EventId, _limit: usize) -> Result<Vec<Event>, StoreError> {
        todo!()
    }
    /// Newest first.
    pub fn events_newest(&self, _connection: Option<&ConnectionKey>, _limit: usize) -> Result<Vec<Event>, StoreError> {
        todo!()
    }
    pub fn last_event_id(&self) -> EventId {
        todo!()
    }
    pub fn tokens(&self) -> Result<Vec<TokenRecord>, StoreError> {
        todo!()
    }

    // the file
    /// Sentence about the writer: `Err` once a write failed, until it works again.
    pub fn health(&self) -> Result<(), StoreError> {
        todo!()
    }
    pub fn file_bytes(&self) -> u64 {
        todo!()
    }
    /// Copies the file while it is in use, verifies the copy, gives it its name. Returns a sentence with size and as-of.
    pub async fn backup(&self, _destination: &Path) -> Result<String, StoreError> {
        todo!()
    }
}

/// Opens a copy of `path` in a temporary folder, checks every page and record, and says what is in it. The file itself is not touched.
pub fn verify(_path: &Path) -> Result<String, StoreError> {
    todo!()
}
