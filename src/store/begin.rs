//! From a place to a running store: opened, its newest moments read, what kind of file it is found out, its writer started.

use super::behind::Verdict;
use super::copied;
use super::core::Core;
use super::open::{self, Check, Found, How, Place};
use super::queue::Queue;
use super::read::Snapshot;
use super::sentences::{self, Doing};
use super::survey;
use super::whereabouts::Whereabouts;
use super::write::Writing;
use super::{CopyKind, Opening, Options, Store, StoreError, Writer};
use redb::ReadableDatabase;
use std::path::Path;
use std::sync::Arc;

impl Store {
    /// Opens the file, or makes it (mode 0600) if there is none. Blocks: checks every page of a file below 200 MB, and of
    /// any file that was not closed.
    pub fn open(path: &Path, options: Options) -> Result<(Store, Opening), StoreError> {
        let (store, opening, _) = Store::start(Place::File(path.to_owned()), options, Check::Small)?;
        Ok((store, opening))
    }

    /// As [`Store::open`], but a closed file is checked behind its first readers. Until its pages are known to be whole
    /// nothing is written to it, and whoever wants to write waits; if they are not, nothing ever is.
    pub fn open_at_once(path: &Path, options: Options) -> Result<(Store, Opening, Verdict), StoreError> {
        Store::start(Place::File(path.to_owned()), options, Check::Behind)
    }

    /// On any redb storage: for the simulator's crashing disk. Its `close` is called once, when the store is closed or
    /// dropped.
    pub fn open_backend(backend: impl redb::StorageBackend, options: Options) -> Result<(Store, Opening), StoreError> {
        let (store, opening, _) = Store::start(Place::Backend(Arc::new(backend)), options, Check::Small)?;
        Ok((store, opening))
    }

    pub(super) fn start(place: Place, options: Options, check: Check) -> Result<(Store, Opening, Verdict), StoreError> {
        let installation = new_installation(options.writer)?;
        let how = How { cache_bytes: options.cache_bytes, installation: Some(installation), check };
        let found = open::open(&place, how)?;
        let name = place.to_string();
        let whereabouts = Whereabouts::of(&place);
        let (opening, writing) = open::guarded(&name, || look(&name, &found, &whereabouts))?;
        let threaded = options.writer == Writer::Thread;
        let core = Arc::new(Core::new((place, whereabouts), options, found.live, writing));
        core.settle_in(opening.copied.is_some());
        let queue = if threaded { Queue::threaded(core)? } else { Queue::inline(core) };
        Ok((Store { queue: Arc::new(queue) }, opening, found.verdict))
    }
}

fn look(name: &str, found: &Found, whereabouts: &Whereabouts) -> Result<(Opening, Writing), StoreError> {
    let txn = found.live.db.begin_read().map_err(|e| sentences::explain(name, Doing::Reading, e))?;
    let snapshot = Snapshot::new(name, txn, Arc::default());
    let high_water = survey::high_water(&snapshot)?;
    let copied = copied::of(&snapshot, found, whereabouts, high_water)?;
    let is_copy = copied.as_ref().is_some_and(|copied| copied.kind == CopyKind::Running);
    let opening = Opening {
        created: found.created,
        repaired: found.repaired.clone().map(|repaired| if is_copy { sentences::copy_checked(name) } else { repaired }),
        mark: survey::mark(&snapshot)?,
        copied,
        high_water,
        installation: survey::installation(&snapshot)?,
    };
    Ok((opening, Writing::new(&snapshot)?))
}

/// Random; in the simulator's writer the same every time, so that a run can be repeated.
fn new_installation(writer: Writer) -> Result<[u8; 32], StoreError> {
    let mut key = [0x5A; 32];
    if writer == Writer::Thread {
        getrandom::fill(&mut key)
            .map_err(|e| StoreError::Io(format!("the system has no random numbers for a new installation ({e})")))?;
    }
    Ok(key)
}
