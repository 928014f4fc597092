//! Opening: what is there, is it ours, was it closed, is it whole. Destroys nothing and creates nothing over a file
//! that it cannot read. Must not know what the rows mean.

use super::StoreError;
use super::behind::{self, Verdict};
use super::files::{self, End, Lent, Scratch};
use super::header::{self, Header};
use super::migrate::{self, Fresh};
use super::quiet::quietly;
use super::sentences::{self, Doing};
use super::shield::Shield;
use redb::backends::FileBackend;
use redb::{BackendError, Database, ReadableDatabase, StorageBackend};
use std::fmt;
use std::fs::{self, OpenOptions};
use std::io;
use std::ops::Bound;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// A cleanly closed file is trusted by redb, and a damaged one then panics or lies. So every page is checked at open as
/// long as that takes a moment: about 0.2 s here for 200 MB, some seconds on a slow card. A larger file (a million items)
/// would make every start wait and is checked only when it was not closed, which redb does by itself.
const CHECK_BELOW: u64 = 200_000_000;

/// Where the data is, and how to get there again after a failure.
pub(super) enum Place {
    File(PathBuf),
    Backend(Arc<dyn StorageBackend>),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::File(path) => path.display().fmt(f),
            Place::Backend(_) => f.write_str("the storage"),
        }
    }
}

/// An open file.
pub(super) struct Live {
    pub db: Database,
    pub disk: Arc<dyn StorageBackend>,
    /// Bytes written since it was opened.
    pub written: Arc<AtomicU64>,
    /// In front of the disk while its pages are not known.
    pub shield: Arc<Shield>,
}

/// What opening found.
pub(super) struct Found {
    pub live: Live,
    pub created: bool,
    pub repaired: Option<String>,
    pub verdict: Verdict,
}

/// How to open.
#[derive(Clone, Copy)]
pub(super) struct How {
    pub cache_bytes: usize,
    /// Key of a new installation; `None`: there must be a file already.
    pub installation: Option<[u8; 32]>,
    pub check: Check,
}

/// Which closed files have their pages checked. One that was not closed always has.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Check {
    /// Below [`CHECK_BELOW`].
    Small,
    /// The same ones, but readers are let in first.
    Behind,
    All,
}

pub(super) fn open(place: &Place, how: How) -> Result<Found, StoreError> {
    match place {
        Place::File(path) => open_file(path, how),
        Place::Backend(disk) => open_backend(Arc::clone(disk), how),
    }
}

fn open_file(path: &Path, how: How) -> Result<Found, StoreError> {
    let name = path.display().to_string();
    let created = match fs::metadata(path) {
        Ok(there) if there.is_dir() => return Err(sentences::is_a_folder(&name)),
        Ok(there) if there.len() == 0 => return Err(sentences::empty(&name)),
        Ok(_) => false,
        Err(e) if e.kind() == io::ErrorKind::NotFound => match how.installation {
            Some(installation) => create_file(path, &name, installation)?,
            None => return Err(sentences::explain_io(&name, Doing::Opening, &e)),
        },
        Err(e) => return Err(sentences::explain_io(&name, Doing::Opening, &e)),
    };
    let disk = file_disk(path, &name)?;
    let state = prepare(&name, &*disk)?;
    if how.check == Check::Behind && state == Closed::Cleanly && !is_large(&name, &*disk)? {
        let disk = file_disk(path, &name)?;
        if let Ok((live, verdict)) = behind::open(&name, disk, how, End::Closes) {
            return Ok(Found { live, created, repaired: None, verdict });
        }
    }
    if state == Closed::Cleanly {
        // With a descriptor of its own, so that its locks end with it.
        refuse_newer(&name, Lent::new(file_disk(path, &name)?, End::Closes))?;
    }
    let live = open_disk(&name, disk, how, None, state, End::Closes)?;
    Ok(Found { live, created, repaired: state.sentence(&name), verdict: Verdict::whole() })
}

fn file_disk(path: &Path, name: &str) -> Result<Arc<dyn StorageBackend>, StoreError> {
    let file = OpenOptions::new().read(true).write(true).open(path);
    let file = file.map_err(|e| sentences::explain_io(name, Doing::Opening, &e))?;
    Ok(Arc::new(FileBackend::new(file).map_err(|e| sentences::explain(name, Doing::Opening, e))?))
}

/// Made under another name and renamed when it is whole, so that a crash or a full disk leaves no half-made file behind.
/// `false`: somebody else was quicker.
fn create_file(path: &Path, name: &str, installation: [u8; 32]) -> Result<bool, StoreError> {
    let folder = files::folder_of(path);
    if !folder.is_dir() {
        return Err(sentences::folder_missing(name, &folder.display().to_string()));
    }
    let failed = |e: io::Error| sentences::explain_io(name, Doing::Writing, &e);
    let part = Scratch(files::beside(path, "new"));
    let file = files::create_private(&part.0).map_err(failed)?;
    let disk = FileBackend::new(file).map_err(|e| sentences::explain(name, Doing::Opening, e))?;
    let db = start(name, Lent::new(Arc::new(disk), End::Closes), 1 << 20, Pages::Trusted)?;
    migrate::run(name, &db, Some(&Fresh { installation }))?;
    db.close().map_err(|e| sentences::explain(name, Doing::Closing, e))?;
    match files::publish(&part.0, path) {
        Ok(()) => Ok(true),
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(e) => Err(failed(e)),
    }
}

fn open_backend(disk: Arc<dyn StorageBackend>, how: How) -> Result<Found, StoreError> {
    let name = "the storage";
    let failed = |e: io::Error| sentences::explain_io(name, Doing::Opening, &e);
    let length = disk.len().map_err(failed)?;
    let born = length > 0 && look(name, &*disk)?.0 != Header::Unborn;
    if born {
        let state = prepare(name, &*disk)?;
        if how.check == Check::Behind
            && state == Closed::Cleanly
            && let Ok((live, verdict)) = behind::open(name, Arc::clone(&disk), how, End::Stays)
        {
            return Ok(Found { live, created: false, repaired: None, verdict });
        }
        if state == Closed::Cleanly {
            refuse_newer(name, Lent::new(Arc::clone(&disk), End::Stays))?;
        }
        let fresh = how.installation.map(|installation| Fresh { installation });
        let live = open_disk(name, disk, how, fresh.as_ref(), state, End::Stays)?;
        return Ok(Found { live, created: false, repaired: state.sentence(name), verdict: Verdict::whole() });
    }
    let Some(installation) = how.installation else { return Err(sentences::empty(name)) };
    // The magic is the last thing that redb writes when it creates a file: without it nothing was ever in there.
    disk.set_len(0).map_err(failed)?;
    let lent = Lent::new(Arc::clone(&disk), End::Stays);
    let written = Arc::clone(&lent.written);
    let db = start(name, lent, how.cache_bytes, Pages::Trusted)?;
    migrate::run(name, &db, Some(&Fresh { installation }))?;
    Ok(Found {
        live: Live { db, disk, written, shield: Arc::new(Shield::none()) },
        created: true,
        repaired: None,
        verdict: Verdict::whole(),
    })
}

fn open_disk(
    name: &str,
    disk: Arc<dyn StorageBackend>,
    how: How,
    fresh: Option<&Fresh>,
    state: Closed,
    end: End,
) -> Result<Live, StoreError> {
    let trusted = how.check != Check::All && state == Closed::Cleanly && is_large(name, &*disk)?;
    let lent = Lent::new(Arc::clone(&disk), end);
    let written = Arc::clone(&lent.written);
    let db = start(name, lent, how.cache_bytes, if trusted { Pages::Trusted } else { Pages::Checked })?;
    migrate::run(name, &db, fresh)?;
    Ok(Live { db, disk, written, shield: Arc::new(Shield::none()) })
}

fn is_large(name: &str, disk: &dyn StorageBackend) -> Result<bool, StoreError> {
    let length = disk.len().map_err(|e| sentences::explain_io(name, Doing::Opening, &e))?;
    Ok(length >= CHECK_BELOW)
}

/// Whether redb takes the pages of a closed file as they are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Pages {
    Checked,
    Trusted,
}

/// How the last run left the file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Closed {
    Cleanly,
    NotAtAll,
}

impl Closed {
    fn sentence(self, name: &str) -> Option<String> {
        (self == Closed::NotAtAll).then(|| sentences::repaired(name))
    }
}

/// redb itself; a damaged file can make it panic, which is told like any other damage.
pub(super) fn start(name: &str, disk: impl StorageBackend, cache: usize, pages: Pages) -> Result<Database, StoreError> {
    guarded(name, || {
        let mut builder = Database::builder();
        builder.set_cache_size(cache).set_check_integrity_on_open(pages == Pages::Checked);
        builder.create_with_backend(disk).map_err(|e| sentences::explain(name, Doing::Opening, e))
    })
}

pub(super) fn guarded<T>(name: &str, f: impl FnOnce() -> Result<T, StoreError>) -> Result<T, StoreError> {
    quietly(f).unwrap_or_else(|| Err(sentences::corrupt(name, "its pages contradict each other")))
}

/// A file that was closed by a newer larder is recognised before anything is written to it. (One that was not closed
/// has to be repaired first; that loses nothing either.)
fn refuse_newer(name: &str, lent: Lent) -> Result<(), StoreError> {
    guarded(name, || {
        let read_only = Database::builder().set_cache_size(1 << 20).open_read_only_with_backend(lent);
        let read_only = match read_only {
            Ok(db) => db,
            // Says nothing about its version. The real open has the better sentence.
            Err(redb::DatabaseError::RepairAborted) => return Ok(()),
            Err(e) => return Err(sentences::explain(name, Doing::Opening, e)),
        };
        let txn = read_only.begin_read().map_err(|e| sentences::explain(name, Doing::Reading, e))?;
        migrate::format_of(name, &txn)?;
        drop(txn);
        read_only.close().map_err(|e| sentences::explain(name, Doing::Closing, e))
    })
}

const EVERYTHING: (Bound<u64>, Bound<u64>) = (Bound::Unbounded, Bound::Unbounded);

/// Looks at the header and makes an unclean file readable, under the lock of the whole file: the header of a file that
/// another process has open looks just like that of a crashed one.
fn prepare(name: &str, disk: &dyn StorageBackend) -> Result<Closed, StoreError> {
    let is_locked = match disk.try_lock_range(EVERYTHING.0, EVERYTHING.1) {
        Ok(true) => true,
        Ok(false) => return Err(sentences::locked(name)),
        Err(BackendError::Unsupported) => false,
        Err(e) => return Err(sentences::explain_io(name, Doing::Opening, &e.into())),
    };
    let result = prepare_locked(name, disk);
    if is_locked {
        let unlocked = disk.unlock_range(EVERYTHING.0, EVERYTHING.1);
        unlocked.map_err(|e| sentences::explain_io(name, Doing::Opening, &e.into()))?;
    }
    result
}

/// The file with the lock of all of it, as long as this is held.
pub(super) fn locked(path: &Path) -> Result<Arc<dyn StorageBackend>, StoreError> {
    let name = path.display().to_string();
    let disk = file_disk(path, &name)?;
    match disk.try_lock_range(EVERYTHING.0, EVERYTHING.1) {
        Ok(true) | Err(BackendError::Unsupported) => Ok(disk),
        Ok(false) => Err(sentences::locked(&name)),
        Err(e) => Err(sentences::explain_io(&name, Doing::Opening, &e.into())),
    }
}

fn prepare_locked(name: &str, disk: &dyn StorageBackend) -> Result<Closed, StoreError> {
    let (found, mut bytes) = look(name, disk)?;
    match found {
        Header::Foreign | Header::Unborn => Err(sentences::foreign(name)),
        Header::Format(format) if format > 3 => Err(sentences::newer_redb(name, format)),
        Header::Format(format) => {
            Err(sentences::explain(name, Doing::Opening, redb::DatabaseError::UpgradeRequired(format)))
        }
        Header::Clean => Ok(Closed::Cleanly),
        Header::Unclean if header::prepare_unclean(&mut bytes) => {
            write_header(disk, &bytes).map_err(|e| sentences::explain_io(name, Doing::Writing, &e))?;
            Ok(Closed::NotAtAll)
        }
        Header::Unclean => Err(sentences::corrupt(name, "both of its commit records are broken")),
    }
}

/// One write inside one sector, then the length that redb expects of a copy that ended in the middle of a page.
fn write_header(disk: &dyn StorageBackend, bytes: &[u8; header::LENGTH]) -> Result<(), io::Error> {
    disk.write(0, bytes)?;
    let length = disk.len()?;
    if !length.is_multiple_of(header::PAGE) {
        disk.set_len(length.next_multiple_of(header::PAGE))?;
    }
    disk.sync_data()
}

fn look(name: &str, disk: &dyn StorageBackend) -> Result<(Header, [u8; header::LENGTH]), StoreError> {
    let mut bytes = [0; header::LENGTH];
    let length = disk.len().map_err(|e| sentences::explain_io(name, Doing::Opening, &e))?;
    if length < header::LENGTH as u64 {
        return Err(sentences::foreign(name));
    }
    disk.read(0, &mut bytes).map_err(|e| sentences::explain_io(name, Doing::Reading, &e))?;
    Ok((header::read(&bytes), bytes))
}
