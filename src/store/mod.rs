//! The only room that knows redb. One file, one writer, snapshot readers.
//!
//! The way of a write: a method here -> `queue` -> `write` (a batch, one commit) -> the disk -> the answer.
//! The way of a read: a method of `reads` -> `core` (a snapshot with the lazy rows over it) -> `read` -> `records`.
//! `tables` has the whole key space on one page; `open`, `migrate`, `backup` and `restore` are about the file as a file.

mod access;
mod answered;
mod audit;
mod backup;
mod backups;
mod begin;
mod behind;
mod books;
mod codec;
mod copied;
mod core;
mod create;
mod entry;
mod files;
mod findings;
mod generation;
mod header;
mod install;
mod lessons;
mod line;
mod migrate;
mod observations;
mod open;
mod open_answers;
mod pages;
mod pin;
mod purge;
mod queue;
mod quiet;
mod read;
mod reads;
mod records;
mod restore;
mod restored;
mod retention;
mod rows;
mod scans;
mod sealed;
mod sentences;
mod shelved;
mod shield;
pub mod spool;
mod stood;
mod stored;
mod sums;
mod survey;
mod tables;
#[cfg(test)]
mod tests;
mod watch;
mod webhooks;
mod whereabouts;
mod work;
mod write;

pub use backup::verify;
pub use backups::{forget_old_backups, list_backups, newest_backup};
pub use behind::Verdict;
pub use copied::{Copied, CopyKind};
pub use entry::{read_row, table_names};
pub use restore::{Newer, restore};
pub use retention::{Forgotten, Outdated, Place, Retention};
pub use scans::{Generation, GenerationRow};
pub use sealed::{Sealed, Swap};
pub use shelved::ShelfPlace;
pub use webhooks::Looked;

use self::core::Core;
use self::queue::Queue;
use self::work::{Prepared, Work};
use crate::clock::ClockMark;
use crate::domain::charge::{Charge, Resolution};
use crate::domain::connection::{ConnectionState, Hold, HoldChange};
use crate::domain::credential::CredentialState;
use crate::domain::event::{Event, NewEvent};
use crate::domain::finding::FindingChange;
use crate::domain::gateway::{Head, Shelved};
use crate::domain::ids::*;
use crate::domain::item::{HistoryEntry, Item};
use crate::domain::job::Job;
use crate::domain::observation::Observation;
use crate::domain::operator::{Claim, Digest, Operator, Session, Used};
use crate::domain::polling::PollingState;
use crate::domain::quota::Learned;
use crate::domain::scan::ScanState;
use crate::domain::setup::{Sample, StoredConnection};
use crate::domain::state::Stood;
use crate::domain::target::{Life, PutTarget, TargetState};
use crate::domain::time::{Now, Span, Stamp, Steady};
use crate::domain::webhook::{DeadLetter, WebhookState};
use crate::rules::budget::{Permit, Refusal, Request, Usage};
use std::path::Path;
use std::sync::Arc;

/// Every failure is a sentence that says what to do. Nothing was destroyed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
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

impl StoreError {
    fn map(self, change: impl FnOnce(String) -> String) -> StoreError {
        match self {
            StoreError::Locked(s) => StoreError::Locked(change(s)),
            StoreError::Newer(s) => StoreError::Newer(change(s)),
            StoreError::Corrupt(s) => StoreError::Corrupt(change(s)),
            StoreError::Full(s) => StoreError::Full(change(s)),
            StoreError::Io(s) => StoreError::Io(change(s)),
            StoreError::Closed => StoreError::Closed,
        }
    }
}

/// Where the writer works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writer {
    /// Its own thread, group commit. Who comes alone writes in its place, in a runtime that has other threads to go on with.
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
    /// Set in a copy that no appliance has begun to send from.
    pub copied: Option<Copied>,
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
    Life(TargetKey, Life),
    /// A target of an operator's; its answers and items are rows of their own.
    PutTarget(TargetKey, PutTarget),
    /// What it learned stays.
    DropTarget(TargetKey),
    Item(TargetKey, Item),
    History(TargetKey, HistoryEntry),
    Job(Job),
    Mark(ClockMark),
    Polling(PollingState),
    Credential(ConnectionKey, CredentialState),
    Token(TokenRecord),
    Scan(TargetKey, ScanState),
    /// The targets that a scan feeds: those that its generations named.
    Members(TargetKey, Vec<TargetName>),
    Generation(Generation, GenerationRow),
    Webhook(WebhookKey, WebhookState),
    /// A webhook that is configured no more: where it was is forgotten.
    ForgetWebhook(WebhookKey),
    DeadLetter(WebhookKey, DeadLetter),
    /// It was delivered after all, or nobody asks for it any more.
    BuryLetter(WebhookKey, EventId),
    Operator(Operator),
    /// By name.
    DropOperator(String),
    Session(Session),
    /// And when it was used last.
    EndSession(Digest),
    Claim(Claim),
    EndClaim(Digest),
    /// When it was used last.
    Use(Used, Stamp),
    /// A connection that is written in the browser.
    Stored(ConnectionKey, StoredConnection),
    DropStored(ConnectionKey),
    /// An answer to try words on.
    Sample(TargetKey, Sample),
    /// A connection stands otherwise from then on.
    Stood(ConnectionKey, Stood),
    /// How it stood so long ago is forgotten.
    ForgetStood(ConnectionKey, Steady),
    Observe(ConnectionKey, Observation),
    ForgetObservation(ConnectionKey, Steady, String),
    /// An answer of the gateway.
    Shelve(Shelved),
    /// It was confirmed: its body stands.
    Reshelve(Head),
    /// It is forgotten.
    Unshelve(Head),
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
    /// From then on it is none; `None`: for good.
    pub expires_at: Option<Stamp>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Lane {
    /// The waiter is answered after the fsync.
    #[default]
    Durable,
    /// In force in memory at once; reaches the disk with the next durable commit, at most `LAZY_MAX` later, and at close.
    /// After a crash it is as if it had not happened, which must be safe (a resolution: its charge counts until the deadline).
    Lazy,
}

/// Write 2: the charge is resolved together with what was learned. The default is an empty one that waits for the disk.
#[derive(Clone, Debug, Default)]
pub struct Commit {
    pub resolve: Option<(CredentialId, ChargeId, Resolution)>,
    /// What becomes of holds of one credential.
    pub hold: Option<(CredentialId, Vec<HoldChange>)>,
    pub writes: Vec<Write>,
    pub events: Vec<NewEvent>,
    /// What the owners should know, or need not mind any more. One that opens or closes is an event too, and takes the
    /// durable lane; one that is only seen again does not.
    pub findings: Vec<FindingChange>,
    /// What the provider's own count has taught of these credentials' limits: in force with the commit.
    pub learned: Vec<(CredentialId, Learned)>,
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

/// How long lazy rows may wait for a durable commit to ride on: longer than the usual polling interval, so that an unchanged
/// poll costs the one commit of its charge. A crash sets as-of back by at most this; nothing becomes younger by it.
pub const LAZY_MAX: Span = Span::from_secs(600);
/// The writer looks up this often: moves the reading pins on, and notices that lazy rows are due.
const TICK: Span = Span::from_secs(30);

/// Cheap to clone. Dropping the last clone without [`Store::close`] is a crash: lazy writes are lost.
#[derive(Clone)]
pub struct Store {
    queue: Arc<Queue>,
}

impl Store {
    fn core(&self) -> &Arc<Core> {
        self.queue.core()
    }

    /// Flushes the lazy lane, closes the file cleanly. Later calls answer `Closed`. Blocks for a commit.
    pub fn close(&self) -> Result<(), StoreError> {
        if !self.core().begin_close() {
            return Err(StoreError::Closed);
        }
        self.queue.stop();
        let flushed = self.core().writing().finish(self.core());
        flushed.and(self.core().close())
    }

    // writes

    /// Charges without a resolution, oldest first: requests in flight, and those of an earlier run whose deadline is still
    /// to come. The engine settles the latter.
    pub fn pending_charges(&self) -> Result<Vec<Charge>, StoreError> {
        self.core().read(books::pending)
    }

    /// Write 1. The permit is made after its charge is on the disk.
    pub async fn admit(&self, admission: Admission) -> Result<Result<Permit, Refusal>, StoreError> {
        self.queue.submit(|reply| Work::Admit(admission, reply)).await
    }

    /// Returns the events with their numbers, those of its findings too, after they are durable (in the lazy lane: `events`
    /// must be empty; a commit with events takes the durable lane). A charge that has a resolution already keeps it.
    pub async fn commit(&self, commit: Commit) -> Result<Vec<Event>, StoreError> {
        let prepared = Prepared::new(commit)?;
        self.queue.submit(|reply| Work::Commit(prepared, reply)).await
    }

    /// As [`Store::commit`], at the first start from a backup: `spent` is what was sent from elsewhere since it was made, and
    /// from here on it is a backup no more.
    pub async fn take_over(&self, spent: Vec<Charge>, commit: Commit) -> Result<Vec<Event>, StoreError> {
        let prepared = Prepared::new(commit)?;
        self.queue.submit(|reply| Work::TakeOver(spent, prepared, reply)).await
    }

    /// Creates a job with the next number unless `idempotency_key` names one of its connection already: then that one is
    /// returned, `false`, and no event.
    pub async fn create_job(&self, job: Job, event: NewEvent) -> Result<(Job, bool, Vec<Event>), StoreError> {
        self.queue.submit(|reply| Work::Job(Box::new(job), event, reply)).await
    }

    /// Creates a token with the next number.
    pub async fn create_token(&self, token: TokenRecord) -> Result<TokenRecord, StoreError> {
        self.queue.submit(|reply| Work::Token(Box::new(token), reply)).await
    }

    // what the ledgers say (memory)

    /// Empty where no budget is installed.
    pub fn usage(&self, credential: CredentialId, now: &Now, endpoints: &[Endpoint]) -> Vec<Usage> {
        self.core().books().get(&credential).map(|a| a.ledger.usage(now, endpoints)).unwrap_or_default()
    }

    /// As `admit` would decide now, without taking anything. Where no budget is installed nothing ever fits.
    pub fn would_admit(
        &self,
        credential: CredentialId,
        now: &Now,
        ask: &crate::domain::connection::Ask,
    ) -> Result<(), Refusal> {
        match self.core().books().get(&credential) {
            Some(account) => account.ledger.would_admit(now, ask),
            None => Err(Refusal::NeverFits { limit: "no budget is installed".to_owned() }),
        }
    }

    /// Those that are over and not proven to be, and those on their ramp, too.
    pub fn holds(&self, credential: CredentialId) -> Vec<Hold> {
        self.core().books().get(&credential).map(|a| a.ledger.holds().cloned().collect()).unwrap_or_default()
    }

    // the file

    /// Sentence about the writer: `Err` once a write failed, until it works again, and while the file is not in its place.
    pub fn health(&self) -> Result<(), StoreError> {
        self.core().health()
    }

    pub fn file_bytes(&self) -> u64 {
        self.core().file_bytes()
    }

    /// Bytes written to the file since it was opened: what a memory card has to bear.
    pub fn written_bytes(&self) -> u64 {
        self.core().written()
    }

    /// Copies the file while it is in use, verifies the copy, gives it its name. Returns a sentence with size and as-of.
    /// Never replaces a file that is there. The copy knows that it was made at `moment`: see [`Opening::copied`].
    pub async fn backup(&self, destination: &Path, moment: ClockMark) -> Result<String, StoreError> {
        // What is lazy belongs into the backup; if the disk is full, the backup is still wanted.
        let _ = self.queue.submit(Work::Flush).await;
        let (core, destination) = (Arc::clone(self.core()), destination.to_owned());
        match tokio::runtime::Handle::try_current() {
            Ok(runtime) if core.options().writer == Writer::Thread => {
                let copying = runtime.spawn_blocking(move || backup::backup(&core, &destination, &moment)).await;
                copying.unwrap_or_else(|e| Err(StoreError::Io(format!("the backup did not end ({e})"))))
            }
            _ => backup::backup(&core, &destination, &moment),
        }
    }
}
