//! Backups: a copy of the file while it is in use, and what is in a copy. A copy gets its name only when every page and
//! every row of it has been read. Never touches the file that it is made from, never replaces another.

use super::StoreError;
use super::core::Core;
use super::files::{self, End, Lent, Scratch, Source};
use super::open::{self, Check, How, Pages, Place};
use super::read::Snapshot;
use super::records;
use super::sentences::{self, Doing};
use super::survey::{self, Contents};
use super::tables::{Table, meta};
use super::work::written;
use crate::clock::ClockMark;
use redb::backends::FileBackend;
use redb::{Database, ReadTransaction, ReadableDatabase, ReadableTable};
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Enough to check a copy from front to back.
const CHECK_CACHE: usize = 8 << 20;
/// Bytes of rows that one transaction of a copy takes: what it has not written yet is in memory.
const COPY_BYTES: usize = 4 << 20;

/// Copies the rows of a running store into a new file: without the pages that are free, and those that its readers pin, of
/// which a busy file may have more than of any others. What is durable at this moment is in it.
pub(super) fn backup(core: &Core, destination: &Path, made: &ClockMark) -> Result<String, StoreError> {
    let name = destination.display().to_string();
    copied(core, destination, &name, made).map_err(|e| without_room(e, &name))
}

/// It is the copy that has no room: nothing else waits for it.
fn without_room(error: StoreError, name: &str) -> StoreError {
    match error {
        StoreError::Full(_) => StoreError::Full(format!(
            "there is no room for {name}: free some space there, or name a place with more of it. No copy was kept, and \
             the file it was made from is as it was"
        )),
        other => other,
    }
}

fn copied(core: &Core, destination: &Path, name: &str, made: &ClockMark) -> Result<String, StoreError> {
    let name = name.to_owned();
    if destination.symlink_metadata().is_ok() {
        return Err(StoreError::Io(format!(
            "{name} is there already and was left as it is: name a new file, or move that one away"
        )));
    }
    let folder = files::folder_of(destination);
    if !folder.is_dir() {
        return Err(sentences::folder_missing(&name, &folder.display().to_string()));
    }
    let failed = |e: io::Error| sentences::explain_io(&name, Doing::Writing, &e);
    let part = Scratch(files::beside(destination, "part"));
    let file = files::create_private(&part.0).map_err(failed)?;
    let disk = FileBackend::new(file).map_err(|e| sentences::explain(&name, Doing::Writing, e))?;
    let db = open::start(&name, Lent::new(Arc::new(disk), End::Closes), CHECK_CACHE, Pages::Trusted)?;
    let moment = core.begin_read()?;
    open::guarded(core.name(), || {
        let copying = Copying { from: core.name(), to: &name };
        Table::ALL.into_iter().try_for_each(|table| copying.table(table, &moment, &db))?;
        mark(&db, &name, made)
    })?;
    drop(moment);
    db.close().map_err(|e| sentences::explain(&name, Doing::Closing, e))?;
    let found = check(&part.0, &name)?;
    let bytes = part.0.metadata().map_err(failed)?.len();
    files::publish(&part.0, destination).map_err(failed)?;
    Ok(format!("{name} is a whole backup of {}: {}", size(bytes), found.sentence()))
}

/// It says of itself that it is a copy. That of a backup that nobody began to send from keeps the earlier moment.
pub(super) fn mark(db: &Database, name: &str, made: &ClockMark) -> Result<(), StoreError> {
    let record = written(Table::Meta, records::mark(made))?;
    let mark = || -> Result<(), redb::Error> {
        let txn = db.begin_write()?;
        let mut meta = txn.open_table(Table::Meta.definition())?;
        if meta.get(meta::COPIED)?.is_none() {
            meta.insert(meta::COPIED, record.as_slice())?;
        }
        meta.remove(meta::HOME)?;
        drop(meta);
        Ok(txn.commit()?)
    };
    mark().map_err(|e| sentences::explain(name, Doing::Writing, e))
}

/// Which file a failure is told of.
struct Copying<'a> {
    from: &'a str,
    to: &'a str,
}

impl Copying<'_> {
    /// In the order of the keys, so that the pages of the copy are full.
    fn table(&self, table: Table, moment: &ReadTransaction, db: &Database) -> Result<(), StoreError> {
        let reading = |e: redb::Error| sentences::explain(self.from, Doing::Reading, e);
        let writing = |e: redb::Error| sentences::explain(self.to, Doing::Writing, e);
        let from = moment.open_table(table.definition()).map_err(|e| reading(e.into()))?;
        let mut rows = from.iter().map_err(|e| reading(e.into()))?.peekable();
        loop {
            let txn = db.begin_write().map_err(|e| writing(e.into()))?;
            let mut to = txn.open_table(table.definition()).map_err(|e| writing(e.into()))?;
            let mut taken = 0;
            for row in rows.by_ref() {
                let (key, value) = row.map_err(|e| reading(e.into()))?;
                let (key, value) = (key.value(), value.value());
                to.insert(key, value).map_err(|e| writing(e.into()))?;
                taken += key.len() + value.len();
                if taken >= COPY_BYTES {
                    break;
                }
            }
            drop(to);
            txn.commit().map_err(|e| writing(e.into()))?;
            if rows.peek().is_none() {
                return Ok(());
            }
        }
    }
}

/// Opens a copy of `path` in a temporary folder, checks every page and record, and says what is in it. The file itself is
/// not touched, and may be in use: a plain copy of a live file, or the live file, is as good.
pub fn verify(path: &Path) -> Result<String, StoreError> {
    let (length, found) = look_at(path)?;
    Ok(format!("{} is whole, {}: {}", path.display(), size(length), found.sentence()))
}

/// As [`verify`]: how long it is, and what is in it.
pub(super) fn look_at(path: &Path) -> Result<(u64, Contents), StoreError> {
    static COPIES: AtomicU64 = AtomicU64::new(0);
    let name = path.display().to_string();
    let copy = format!("larder-verify-{}-{}.redb", std::process::id(), COPIES.fetch_add(1, Ordering::Relaxed));
    let copy = Scratch(std::env::temp_dir().join(copy));
    let room = |e: io::Error| {
        let place = copy.0.display().to_string();
        let why = without_room(sentences::explain_io(&place, Doing::Writing, &e), &place);
        StoreError::Io(format!(
            "{name} was not checked, the temporary copy failed (TMPDIR names another folder): {why}"
        ))
    };
    let length = copy_to(path, &copy, room)?;
    Ok((length, check(&copy.0, &name)?))
}

/// Front to back, into a new file that nobody else may read. `failed` has the words for a copy that cannot be written.
pub(super) fn copy_to(
    path: &Path,
    copy: &Scratch,
    failed: impl Fn(io::Error) -> StoreError,
) -> Result<u64, StoreError> {
    let name = path.display().to_string();
    let source = File::open(path).map_err(|e| sentences::explain_io(&name, Doing::Opening, &e))?;
    let length = source.length().map_err(|e| sentences::explain_io(&name, Doing::Reading, &e))?;
    if path.is_dir() {
        return Err(sentences::is_a_folder(&name));
    }
    if length == 0 {
        return Err(sentences::empty(&name));
    }
    let file = files::create_private(&copy.0).map_err(&failed)?;
    files::copy(&source, &file).map_err(failed)?;
    Ok(length)
}

/// Opens the copy as a start would, with every page checked, decodes every row and closes it. Errors name `name`.
pub(super) fn check(copy: &Path, name: &str) -> Result<Contents, StoreError> {
    let rename = |e: StoreError| e.map(|sentence| sentence.replace(&copy.display().to_string(), name));
    check_at(copy).map_err(rename)
}

fn check_at(copy: &Path) -> Result<Contents, StoreError> {
    let name = copy.display().to_string();
    let how = How { cache_bytes: CHECK_CACHE, installation: None, check: Check::All };
    let db = open::open(&Place::File(copy.to_owned()), how)?.live.db;
    let contents = open::guarded(&name, || {
        let txn = db.begin_read().map_err(|e| sentences::explain(&name, Doing::Reading, e))?;
        survey::contents(&Snapshot::new(&name, txn, Arc::default()))
    })?;
    db.close().map_err(|e| sentences::explain(&name, Doing::Closing, e))?;
    Ok(contents)
}

fn size(bytes: u64) -> String {
    match bytes {
        b if b < 1 << 20 => format!("{} kB", b.div_ceil(1 << 10)),
        b if b < 10 << 20 => format!("{:.1} MB", b as f64 / f64::from(1 << 20)),
        b => format!("{} MB", b >> 20),
    }
}
