//! The answers that are kept under one address, in memory. Knows nothing of connections or of the file.

use crate::domain::gateway::{Head, Reading, Shelved};
use crate::domain::ids::Endpoint;
use crate::domain::time::Steady;
use crate::rules::gateway::{CacheStatus, EntryId, Gate, Location, NotAllowed, Passage};
use bytes::Bytes;
use hyper::HeaderMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock, RwLockWriteGuard};

/// An answer on the shelf.
#[derive(Debug)]
pub struct Entry {
    pub shelved: Shelved,
    pub body: Bytes,
    pub id: EntryId,
    /// Its standing headers as they are written, once somebody asked for them.
    pub written: OnceLock<HeaderMap>,
    /// Those of them that go with a 304.
    pub written_304: OnceLock<HeaderMap>,
    /// The same as they were last written, whole and as a 304: how it was answered, its age, and what is left of its life and of the budget,
    /// stand in them.
    pub of_now: [RwLock<Option<OfNow>>; 2],
    /// Steady ms of its last use.
    used: AtomicU64,
}

/// The headers of an answer, for as long as its age and how it was answered are these, in this second of the steady timeline.
#[derive(Debug)]
pub struct OfNow {
    pub age_s: u64,
    pub how: CacheStatus,
    pub second: u64,
    pub headers: HeaderMap,
}

impl Entry {
    pub fn new(shelved: Shelved, now: Steady) -> Entry {
        let id = EntryId::of(&shelved.head);
        let body = Bytes::from_owner(shelved.body.clone());
        Entry {
            shelved,
            body,
            id,
            written: OnceLock::new(),
            written_304: OnceLock::new(),
            of_now: Default::default(),
            used: AtomicU64::new(now.0),
        }
    }

    pub fn head(&self) -> &Head {
        &self.shelved.head
    }

    pub fn is_used(&self, now: Steady) {
        self.used.store(now.0, Ordering::Relaxed);
    }

    pub fn last_used(&self) -> Steady {
        Steady(self.used.load(Ordering::Relaxed))
    }
}

/// How a client writes an address below the connection's base URL.
#[derive(Debug)]
pub struct Address {
    /// Without the parameter of the credential.
    pub location: Location,
    /// Path and query as they go out.
    pub sent: String,
    pub endpoint: Endpoint,
    /// What it is kept under, however it is written.
    pub place: Arc<Place>,
    /// What the connection's gate says of it, found once: the rules that fit, and whether it may be read.
    pub rules: Vec<usize>,
    passages: [OnceLock<Result<Passage, NotAllowed>>; 2],
}

impl Address {
    pub fn new(location: Location, place: Arc<Place>, gate: &Gate) -> Address {
        let (sent, endpoint, rules) = (location.sent(), location.endpoint(), gate.rules_of(&location));
        Address { location, sent, endpoint, place, rules, passages: Default::default() }
    }

    /// `method` as it was sent.
    pub fn passage(&self, method: &str, gate: &Gate) -> Result<Passage, NotAllowed> {
        let known = match Reading::of(method) {
            Some(Reading::Get) => &self.passages[0],
            Some(Reading::Head) => &self.passages[1],
            None => return gate.passage(method, &self.location),
        };
        known.get_or_init(|| gate.passage(method, &self.location)).clone()
    }
}

/// What is kept under one address.
#[derive(Debug)]
pub struct Place {
    pub target: String,
    answers: RwLock<Vec<Arc<Entry>>>,
    /// Grows with each change of the answers.
    version: AtomicU64,
    /// The file was looked at for what is kept here.
    pub looked: AtomicBool,
    /// Somebody asked for it through the gateway.
    pub asked: AtomicBool,
    /// The provider forbade to keep what a target read here last.
    pub forbidden: AtomicBool,
}

impl Place {
    pub fn new(target: String) -> Place {
        let (version, looked, asked, forbidden) = Default::default();
        Place { target, answers: RwLock::default(), version, looked, asked, forbidden }
    }

    /// The same only as long as the same answers are here.
    pub fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// To change them; whoever sees the new version waits for what is changed.
    fn answers(&self) -> RwLockWriteGuard<'_, Vec<Arc<Entry>>> {
        let answers = self.answers.write().unwrap_or_else(PoisonError::into_inner);
        self.version.fetch_add(1, Ordering::AcqRel);
        answers
    }

    /// What `pick` makes of the answers that are here.
    pub fn with<T>(&self, pick: impl FnOnce(&[Arc<Entry>]) -> T) -> T {
        pick(&self.answers.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Takes the place of what was kept under the same headers, unless that is newer. Returns what it made of the bytes that are here.
    pub fn put(&self, entry: Arc<Entry>) -> i64 {
        let mut answers = self.answers();
        let bytes = |entry: &Entry| i64::try_from(entry.head().bytes()).unwrap_or(i64::MAX);
        let Some(same) = answers.iter_mut().find(|known| known.id == entry.id) else {
            let more = bytes(&entry);
            answers.push(entry);
            return more;
        };
        let order = |entry: &Entry| (entry.head().as_of.era, entry.head().as_of.steady);
        if order(same) > order(&entry) {
            return 0;
        }
        let change = bytes(&entry) - bytes(same);
        *same = entry;
        change
    }

    /// Those that `is_one` names go. Returns them.
    pub fn remove(&self, is_one: impl Fn(&Entry) -> bool) -> Vec<Arc<Entry>> {
        let mut answers = self.answers();
        let (gone, kept) = answers.drain(..).partition(|entry| is_one(entry));
        *answers = kept;
        gone
    }

    pub fn is_empty(&self) -> bool {
        self.with(<[_]>::is_empty)
    }
}
