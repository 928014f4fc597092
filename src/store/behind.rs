//! Opening a closed file at once, with the check of its pages behind it: readers are served meanwhile, and a shield keeps the
//! file as it was found until the verdict. What must not run on an unknown file waits for [`Verdict`].

use super::StoreError;
use super::files::{End, Lent};
use super::migrate;
use super::open::{How, Live, Pages, guarded, start};
use super::sentences::{self, Doing};
use super::shield::{Held, Shield};
use redb::StorageBackend;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use tokio::sync::oneshot;

/// The check reads every page twice and keeps none.
const CHECK_CACHE: usize = 1 << 20;

pub(super) const CHECKER: &str = "larder-check";

/// What a check of the pages behind the first readers will find, or one before them has found.
#[must_use = "nothing may be sent before the pages are known to be whole"]
pub struct Verdict(Option<oneshot::Receiver<Result<(), StoreError>>>);

impl Verdict {
    pub(super) fn whole() -> Verdict {
        Verdict(None)
    }

    /// Returns when the file is known. The error is the one that opening would have had.
    pub async fn known(self) -> Result<(), StoreError> {
        let Some(coming) = self.0 else { return Ok(()) };
        coming.await.unwrap_or_else(|_| Err(StoreError::Io("the check of the data file did not end".to_owned())))
    }
}

/// Opens a file that was closed. Whatever cannot be opened like this is an error, and left as it was: checked before it
/// is opened it has the better sentence.
pub(super) fn open(
    name: &str,
    disk: Arc<dyn StorageBackend>,
    how: How,
    end: End,
) -> Result<(Live, Verdict), StoreError> {
    let shield = Arc::new(Shield::raised());
    let lent = Lent::behind(Arc::clone(&disk), end, Arc::clone(&shield));
    let written = Arc::clone(&lent.written);
    let db = start(name, lent, how.cache_bytes, Pages::Trusted)?;
    shield.opened();
    let current = guarded(name, || migrate::is_current(name, &db));
    match current.and_then(|()| check(name, Arc::clone(&disk), Arc::clone(&shield))) {
        Ok(verdict) => Ok((Live { db, disk, written, shield }, verdict)),
        Err(error) => {
            // Before the database goes: closing it would wait for a verdict.
            shield.keep_up();
            Err(error)
        }
    }
}

fn check(name: &str, disk: Arc<dyn StorageBackend>, shield: Arc<Shield>) -> Result<Verdict, StoreError> {
    let (tell, told) = oneshot::channel();
    let name = name.to_owned();
    let work = move || {
        let found = pages(&name, &disk)
            .and_then(|()| shield.lower(&*disk).map_err(|e| sentences::explain_io(&name, Doing::Opening, &e)));
        if found.is_err() {
            shield.keep_up();
        }
        // Who asked may be gone; the shield stands where it stands.
        let _ = tell.send(found);
    };
    let thread = thread::Builder::new().name(CHECKER.into()).spawn(work);
    thread.map_err(|e| StoreError::Io(format!("no thread could be started to check the file ({e})")))?;
    Ok(Verdict(Some(told)))
}

/// redb's own check of every page, on a view of the disk that keeps to itself what the check would write.
fn pages(name: &str, disk: &Arc<dyn StorageBackend>) -> Result<(), StoreError> {
    let length = disk.len().map_err(|e| sentences::explain_io(name, Doing::Opening, &e))?;
    let own = Arc::new(Mutex::new(Own { held: Held::default(), length, done: false }));
    let view = View { disk: Arc::clone(disk), own: Arc::clone(&own) };
    let db = start(name, view, CHECK_CACHE, Pages::Checked)?;
    own.lock().unwrap_or_else(PoisonError::into_inner).done = true;
    // It cannot write that it was closed, and need not.
    let _ = db.close();
    Ok(())
}

/// The disk as it was found, and what the check wrote over it. Takes no locks: it is inside those of whoever opened the file.
#[derive(Debug)]
struct View {
    disk: Arc<dyn StorageBackend>,
    own: Arc<Mutex<Own>>,
}

#[derive(Debug)]
struct Own {
    held: Held,
    length: u64,
    done: bool,
}

impl StorageBackend for View {
    fn len(&self) -> Result<u64, io::Error> {
        Ok(self.own.lock().unwrap_or_else(PoisonError::into_inner).length)
    }
    fn read(&self, offset: u64, out: &mut [u8]) -> Result<(), io::Error> {
        let own = self.own.lock().unwrap_or_else(PoisonError::into_inner);
        let there = self.disk.len()?.saturating_sub(offset).min(out.len() as u64) as usize;
        self.disk.read(offset, &mut out[..there])?;
        out[there..].fill(0);
        own.held.lay_over(offset, out);
        Ok(())
    }
    fn set_len(&self, len: u64) -> Result<(), io::Error> {
        self.own.lock().unwrap_or_else(PoisonError::into_inner).length = len;
        Ok(())
    }
    fn sync_data(&self) -> Result<(), io::Error> {
        Ok(())
    }
    fn write(&self, offset: u64, data: &[u8]) -> Result<(), io::Error> {
        let mut own = self.own.lock().unwrap_or_else(PoisonError::into_inner);
        if own.done {
            return Err(io::Error::other("the check is over"));
        }
        own.held.write(offset, data);
        Ok(())
    }
}
