//! Who may come in: operators with passwords, the browsers in which they are signed in, claim codes, tokens. Decides whether what is shown
//! is good, keeps it durably and tells each change. Must not know cookies, headers or forms; guesses are slowed down before they come here.
//!
//! Everything random that is shown to somebody exists once, there; here is its digest. Passwords are kept as slow hashes ([`passwords`]).
//! [`operators`] who, [`claims`] how somebody becomes one, [`sessions`] for how long, [`tokens`] of programs.

pub mod claims;
pub mod operators;
pub mod passwords;
pub mod sessions;
pub mod tokens;

use super::appliance::Appliance;
use super::core::Core;
use super::view::Denied;
use crate::domain::event::{EventKind, NewEvent};
use crate::domain::operator::{Claim, Digest, Operator, Session, Used, key_of};
use crate::domain::time::{Now, Span, Stamp, Steady};
use crate::store::{Commit, Lane, Store, StoreError, TokenRecord, Write};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use tokio::sync::Semaphore;

/// A last use is written down no more often than this.
const COALESCED: Span = Span::from_secs(60);
/// Somebody who guesses is told of no more often than this.
const GUESSES_TOLD: Span = Span::from_secs(600);

/// What is shared of it.
pub struct Access {
    /// As the file has it; `None`: to be read again.
    book: RwLock<Option<Arc<Book>>>,
    uses: RwLock<BTreeMap<Used, Stamp>>,
    /// One change at a time, each on what the one before it left.
    changing: tokio::sync::Mutex<()>,
    hashing: Arc<Semaphore>,
    guesses_told: Mutex<Option<Steady>>,
    /// Of this installation, for names that must not be those of another one.
    tag: String,
}

/// Everybody who may come in.
#[derive(Default)]
pub(super) struct Book {
    operators: BTreeMap<String, Operator>,
    sessions: BTreeMap<Digest, Session>,
    claims: Vec<Claim>,
    tokens: Vec<TokenRecord>,
}

impl Book {
    fn read(store: &Store) -> Result<Book, StoreError> {
        Ok(Book {
            operators: store.operators()?.into_iter().map(|o| (key_of(&o.name), o)).collect(),
            sessions: store.sessions()?.into_iter().map(|s| (s.digest, s)).collect(),
            claims: store.claims()?,
            tokens: store.tokens()?,
        })
    }
}

impl Access {
    pub fn new(store: &Store, installation: &[u8; 32]) -> Result<Access, StoreError> {
        Ok(Access {
            book: RwLock::new(Some(Arc::new(Book::read(store)?))),
            uses: RwLock::new(store.uses()?),
            changing: tokio::sync::Mutex::default(),
            hashing: Arc::new(Semaphore::new(1)),
            guesses_told: Mutex::default(),
            tag: blake3::keyed_hash(installation, b"the name of the cookie").to_hex()[..8].to_owned(),
        })
    }

    /// Clients of the gateway show a token with each request: the file is read once for all of them.
    fn book(&self, store: &Store) -> Result<Arc<Book>, StoreError> {
        if let Some(known) = &*self.book.read().unwrap_or_else(PoisonError::into_inner) {
            return Ok(known.clone());
        }
        let mut known = self.book.write().unwrap_or_else(PoisonError::into_inner);
        let read = Arc::new(Book::read(store)?);
        *known = Some(read.clone());
        Ok(read)
    }

    fn forget_book(&self) {
        *self.book.write().unwrap_or_else(PoisonError::into_inner) = None;
    }

    fn used(&self, used: &Used) -> Option<Stamp> {
        self.uses.read().unwrap_or_else(PoisonError::into_inner).get(used).copied()
    }
}

impl Core {
    fn book(&self) -> Result<Arc<Book>, StoreError> {
        self.access.book(&self.store)
    }
}

/// Used now. In memory at once; in the file with the next commit that somebody waits for.
fn note_use(core: &Arc<Core>, used: Used, now: &Now) {
    if core.access.used(&used).is_some_and(|at| now.age_of(at) < COALESCED) {
        return;
    }
    let at = now.stamp();
    core.access.uses.write().unwrap_or_else(PoisonError::into_inner).insert(used, at);
    if !core.begun.is_cancelled() {
        return;
    }
    let writer = core.clone();
    core.spawn(async move {
        let commit = Commit { writes: vec![Write::Use(used, at)], lane: Lane::Lazy, ..Commit::default() };
        // A moment that is not kept makes it look unused for longer: never fresher.
        let _ = writer.store.commit(commit).await;
    });
}

/// What [`change`] needs: the writes, and the sentence that tells them.
type Change = (Vec<Write>, String);

/// Writes a change of who may come in, tells it, and has it in force for whoever is judged next. To be called under `changing`.
async fn change(core: &Arc<Core>, (writes, message): Change) -> Result<(), Denied> {
    let at = core.clock.now().stamp();
    let event = NewEvent { kind: EventKind::AccessChanged, at, connection: None, target: None, message };
    let ended: Vec<Digest> = writes.iter().filter_map(ended).collect();
    let committed = core.store.commit(Commit { writes, events: vec![event], ..Commit::default() }).await;
    // Also where it failed: what the file has is the truth.
    core.access.forget_book();
    core.publish(committed?);
    let mut uses = core.access.uses.write().unwrap_or_else(PoisonError::into_inner);
    ended.iter().for_each(|digest| {
        uses.remove(&Used::Session(*digest));
    });
    Ok(())
}

fn ended(write: &Write) -> Option<Digest> {
    match write {
        Write::EndSession(digest) => Some(*digest),
        _ => None,
    }
}

impl Appliance {
    /// A few letters of this installation: browsers share cookies between the ports of a machine.
    pub fn tag(&self) -> String {
        self.core.access.tag.clone()
    }

    /// Somebody at `from` has guessed so often that it waits. What was typed is not told: it may be a password in the wrong field.
    pub fn guessed(&self, from: &str) {
        tracing::warn!(from, "several wrong passwords or codes in a row: the next are slowed down");
        let (core, now) = (self.core.clone(), self.now());
        let mut last = core.access.guesses_told.lock().unwrap_or_else(PoisonError::into_inner);
        if last.is_some_and(|at| now.steady.since(at) < GUESSES_TOLD) {
            return;
        }
        *last = Some(now.steady);
        drop(last);
        let message = format!("several wrong passwords or codes in a row from {from}; the next are slowed down");
        self.core.spawn(async move {
            core.begun.cancelled().await;
            let _turn = core.access.changing.lock().await;
            // The log has it.
            let _ = change(&core, (Vec::new(), message)).await;
        });
    }
}

/// 256 random bits as text: what a browser shows. Error: a sentence.
fn mint_secret() -> Result<String, Denied> {
    let mut bytes = [0u8; 32];
    getrandom::fill(&mut bytes).map_err(|e| Denied::Unavailable(format!("the system has no random numbers: {e}")))?;
    Ok(blake3::Hash::from(bytes).to_hex().to_string())
}

fn digest_of(text: &str) -> Digest {
    *blake3::hash(text.as_bytes()).as_bytes()
}

/// At the start: what is over is swept away. `copied`: the file is a backup that begins to live, and who was signed in or held a code when it was
/// made is not let in by it.
pub(super) async fn begin(core: &Arc<Core>, copied: bool) -> Result<(), StoreError> {
    let (book, now) = (core.book()?, core.clock.now());
    let mut writes = Vec::new();
    writes.extend(
        book.sessions
            .values()
            .filter(|s| copied || sessions::is_over(core, s, &now))
            .map(|s| Write::EndSession(s.digest)),
    );
    writes.extend(book.claims.iter().filter(|c| copied || claims::is_over(c, &now)).map(|c| Write::EndClaim(c.digest)));
    let ended = |used: &Used| match used {
        Used::Session(digest) if !book.sessions.contains_key(digest) => Some(Write::EndSession(*digest)),
        _ => None,
    };
    writes.extend(core.access.uses.read().unwrap_or_else(PoisonError::into_inner).keys().filter_map(ended));
    if !writes.is_empty() {
        core.store.commit(Commit { writes, ..Commit::default() }).await?;
        core.access.forget_book();
    }
    Ok(())
}
