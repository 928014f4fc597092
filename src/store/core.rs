//! What the writer and the readers share: the open file, the lazy lane, the ledgers, the pins. Knows how to get a
//! snapshot and how to write rows; must not know what is written or when.

use super::books::Books;
use super::generation;
use super::open::{self, Check, How, Live, Place};
use super::pin::{Pins, Sizes};
use super::quiet::quietly;
use super::read::Snapshot;
use super::rows::{Part, Row, Rows};
use super::sentences::{self, Doing};
use super::survey;
use super::tables::{Table, meta};
use super::watch::Watch;
use super::whereabouts::Whereabouts;
use super::write::Writing;
use super::{Options, StoreError};
use redb::{Durability, ReadTransaction, ReadableDatabase, WriteTransaction};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

/// The pins of the open file, and who sees whoever else opens it.
#[derive(Default)]
struct Pinned {
    pins: Pins<ReadTransaction>,
    watch: Option<Watch>,
}

pub(super) struct Core {
    place: Place,
    whereabouts: Whereabouts,
    name: String,
    options: Options,
    live: RwLock<Option<Live>>,
    /// Lazy rows: in force, not yet in the file. Readers look here first. Shared so that a reader takes it without copying.
    lazy: RwLock<Arc<Rows>>,
    pub books: Mutex<Books>,
    writing: Mutex<Writing>,
    trouble: Mutex<Option<StoreError>>,
    pinned: Mutex<Pinned>,
    last_event: AtomicU64,
    /// False only while no generation is switched and unsettled.
    may_wait: AtomicBool,
    stopping: AtomicBool,
    closed: AtomicBool,
}

impl Core {
    /// The whereabouts are those of the file that was opened.
    pub fn new((place, whereabouts): (Place, Whereabouts), options: Options, live: Live, writing: Writing) -> Core {
        let core = Core {
            name: place.to_string(),
            whereabouts,
            place,
            options,
            live: RwLock::new(Some(live)),
            lazy: RwLock::default(),
            books: Mutex::default(),
            last_event: AtomicU64::new(writing.last_event()),
            writing: Mutex::new(writing),
            may_wait: AtomicBool::new(true),
            trouble: Mutex::new(None),
            pinned: Mutex::default(),
            stopping: AtomicBool::new(false),
            closed: AtomicBool::new(false),
        };
        core.watch();
        core.pin();
        core
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn options(&self) -> &Options {
        &self.options
    }

    /// The writer's own state: whoever holds it is the writer.
    pub fn writing(&self) -> MutexGuard<'_, Writing> {
        self.writing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn books(&self) -> MutexGuard<'_, Books> {
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn health(&self) -> Result<(), StoreError> {
        if self.is_closed() {
            return Err(StoreError::Closed);
        }
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner).clone().map_or(Ok(()), Err)?;
        self.is_at_its_place()
    }

    /// Asked before anything begins that the next start has to know.
    pub fn is_at_its_place(&self) -> Result<(), StoreError> {
        self.whereabouts.check(&self.place)
    }

    /// The row that says which file this is; `None`: that cannot be told.
    pub fn home(&self) -> Option<Row> {
        self.whereabouts.birth().map(|birth| Row::put(Table::Meta, meta::HOME, birth.to_vec()))
    }

    /// From here on the file lives here; a copy only once somebody begins to send from it. On the disk with the first charge.
    pub fn settle_in(&self, is_copy: bool) {
        let was = self.read(survey::home).ok().flatten();
        let moved = was.as_deref() != self.whereabouts.birth();
        if let Some(home) = self.home().filter(|_| moved && !is_copy) {
            self.change_lazy(|lazy| lazy.set(home));
        }
    }

    pub fn set_trouble(&self, trouble: Option<StoreError>) {
        *self.trouble.lock().unwrap_or_else(PoisonError::into_inner) = trouble;
    }

    pub fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// The writer's thread ends with its batch.
    pub fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Acquire)
    }

    pub fn begin_stop(&self) {
        self.stopping.store(true, Ordering::Release);
    }

    /// Whether it was open until now.
    pub fn begin_close(&self) -> bool {
        self.begin_stop();
        !self.closed.swap(true, Ordering::AcqRel)
    }

    pub fn last_event(&self) -> u64 {
        self.last_event.load(Ordering::Acquire)
    }

    pub fn set_last_event(&self, id: u64) {
        self.last_event.store(id, Ordering::Release);
    }

    pub fn file_bytes(&self) -> u64 {
        let live = self.live.read().unwrap_or_else(PoisonError::into_inner);
        live.as_ref().and_then(|l| l.disk.len().ok()).unwrap_or(0)
    }

    // reading

    /// One moment of the file together with the lazy rows of that moment. (While a commit ends a reader may see its rows
    /// a moment before the lazy rows that it superseded are gone: what it then shows looks older than it is, never newer.)
    pub fn snapshot(&self) -> Result<Snapshot<'_>, StoreError> {
        let lazy = self.lazy.read().unwrap_or_else(PoisonError::into_inner);
        let txn = self.begin_read()?;
        Ok(Snapshot::new(&self.name, txn, Arc::clone(&lazy)))
    }

    /// A moment of the file that stays readable, also for a copy of the file, as long as it is held.
    pub fn begin_read(&self) -> Result<ReadTransaction, StoreError> {
        let live = self.live.read().unwrap_or_else(PoisonError::into_inner);
        let Some(live) = live.as_ref() else { return Err(self.why_not_open()) };
        live.db.begin_read().map_err(|e| sentences::explain(&self.name, Doing::Reading, e))
    }

    fn why_not_open(&self) -> StoreError {
        self.health().err().unwrap_or(StoreError::Closed)
    }

    /// Reads, and tells a panic over damaged pages as damage.
    pub fn read<T>(&self, f: impl Fn(&Snapshot<'_>) -> Result<T, StoreError>) -> Result<T, StoreError> {
        if self.is_closed() {
            return Err(StoreError::Closed);
        }
        let once = || {
            let read = || self.snapshot().and_then(|snapshot| f(&snapshot));
            quietly(read).unwrap_or_else(|| Err(sentences::corrupt(&self.name, "its pages contradict each other")))
        };
        match once() {
            // The file was opened anew under this reader, after a write that failed.
            Err(StoreError::Closed) if !self.is_closed() => once(),
            result => result,
        }
    }

    // the lazy lane; called by the writer only

    pub fn lazy(&self) -> Arc<Rows> {
        Arc::clone(&self.lazy.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub fn change_lazy(&self, change: impl FnOnce(&mut Rows)) {
        change(Arc::make_mut(&mut self.lazy.write().unwrap_or_else(PoisonError::into_inner)));
    }

    /// After they were written. Readers that hold the old ones keep them.
    pub fn clear_lazy(&self) {
        *self.lazy.write().unwrap_or_else(PoisonError::into_inner) = Arc::default();
    }

    // writing; called by the writer only

    /// Writes the lazy rows and then `staged`, and returns when the disk has them.
    pub fn write(&self, staged: &Rows) -> Result<(), StoreError> {
        let lazy = self.lazy();
        let live = self.live.read().unwrap_or_else(PoisonError::into_inner);
        let Some(live) = live.as_ref() else { return Err(self.why_not_open()) };
        // Before the transaction: redb may hold a lock of its readers while it waits for the disk.
        live.shield.wait().map_err(|e| sentences::explain_io(&self.name, Doing::Writing, &e))?;
        let commit = || -> Result<(), redb::Error> {
            let mut txn = live.db.begin_write()?;
            txn.set_durability(Durability::Immediate)?;
            self.make_way(&txn, &lazy, staged)?;
            for table in Table::ALL {
                write_table(&txn, table, lazy.part(table), staged.part(table))?;
            }
            Ok(txn.commit()?)
        };
        commit().map_err(|e| sentences::explain(&self.name, Doing::Writing, e))
    }

    /// What waits for a place that is written to now is older than what is written.
    fn make_way(&self, txn: &WriteTransaction, lazy: &Rows, staged: &Rows) -> Result<(), redb::Error> {
        let switches = !staged.part(Table::Switched).is_empty();
        if switches || self.may_wait.load(Ordering::Acquire) {
            let any = generation::supersede(txn, lazy, staged)?;
            self.may_wait.store(any || switches, Ordering::Release);
        }
        Ok(())
    }

    pub fn is_open(&self) -> bool {
        self.live.read().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// Lets go of the file and opens it again: an error stays with a redb database for good.
    pub fn reopen(&self) -> Result<(), StoreError> {
        self.is_at_its_place()?;
        self.unpin();
        let mut live = self.live.write().unwrap_or_else(PoisonError::into_inner);
        *live = None;
        let how = How { cache_bytes: self.options.cache_bytes, installation: None, check: Check::Small };
        *live = Some(open::open(&self.place, how)?.live);
        drop(live);
        self.watch();
        self.pin();
        Ok(())
    }

    pub fn close(&self) -> Result<(), StoreError> {
        self.unpin();
        let live = self.live.write().unwrap_or_else(PoisonError::into_inner).take();
        let result = match live {
            Some(live) => live.db.close().map_err(|e| sentences::explain(&self.name, Doing::Closing, e)),
            None => Ok(()),
        };
        result.and(self.release_backend())
    }

    fn release_backend(&self) -> Result<(), StoreError> {
        match &self.place {
            Place::File(_) => Ok(()),
            Place::Backend(disk) => disk.close().map_err(|e| sentences::explain_io(&self.name, Doing::Closing, &e)),
        }
    }

    // the pins

    fn pinned(&self) -> MutexGuard<'_, Pinned> {
        self.pinned.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn unpin(&self) {
        let mut pinned = self.pinned();
        pinned.pins.clear();
        // Before the file is closed: that would be seen.
        pinned.watch = None;
    }

    /// Called once the file is open, so that it is not seen to be opened by us.
    fn watch(&self) {
        if self.pins_at_all() {
            self.pinned().watch = Watch::of(&self.place);
        }
    }

    /// Pins this moment, and lets go of what is held long enough. Called at open and with every tick.
    pub fn pin(&self) {
        self.pinned().pins.tick();
        self.pin_now();
    }

    /// Under heavy writing: closer pins, held for less. Called with every commit.
    pub fn pin_by_bytes(&self) {
        let sizes = Sizes { written: self.written(), file: self.file_bytes(), free: None };
        if self.pinned().pins.is_due(sizes) {
            self.pin_now();
        }
    }

    /// The simulator's writer has no pins: nobody copies its disk, and its runs must not depend on time.
    fn pins_at_all(&self) -> bool {
        self.options.writer != super::Writer::Inline
    }

    fn pin_now(&self) {
        if !self.pins_at_all() {
            return;
        }
        let (written, file) = (self.written(), self.file_bytes());
        let Ok(moment) = self.begin_read() else { return };
        let mut pinned = self.pinned();
        let Pinned { pins, watch } = &mut *pinned;
        pins.hold(moment, written);
        let (seen, free) = watch.as_ref().map(|watch| (watch.look(), watch.free())).unwrap_or_default();
        let sizes = Sizes { written, file, free };
        let told = pins.look(seen, sizes);
        pins.let_go(sizes);
        drop(pinned);
        if let Some(told) = told {
            sentences::tell_copying(&self.name, told);
        }
    }

    /// Bytes written since the file was opened.
    pub fn written(&self) -> u64 {
        let live = self.live.read().unwrap_or_else(PoisonError::into_inner);
        live.as_ref().map_or(0, |l| l.written.load(Ordering::Relaxed))
    }
}

impl Drop for Core {
    /// Without `close`: as a crash, the lazy rows are lost. The lock is given back.
    fn drop(&mut self) {
        if self.begin_close() {
            let live = self.live.get_mut().unwrap_or_else(PoisonError::into_inner).take();
            drop(live);
            // Nobody is left to be told.
            let _ = self.release_backend();
        }
    }
}

fn write_table(txn: &WriteTransaction, table: Table, lazy: &Part, staged: &Part) -> Result<(), redb::Error> {
    if lazy.is_empty() && staged.is_empty() {
        return Ok(());
    }
    let mut open = txn.open_table(table.definition())?;
    let older = lazy.iter().filter(|(key, _)| !staged.contains_key(*key));
    for (key, value) in older.chain(staged) {
        match value {
            Some(value) => drop(open.insert(key.as_slice(), value.as_slice())?),
            None => drop(open.remove(key.as_slice())?),
        }
    }
    Ok(())
}
