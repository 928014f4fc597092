//! Backups: a copy of the file while it is in use, and what is in a copy. A copy gets its name only when every page and
//! every row of it has been read. Never touches the file that it is made from, never replaces another.

use super::StoreError;
use super::core::Core;
use super::files::{self, Scratch, Source};
use super::open::{self, Check, How, Place};
use super::read::Snapshot;
use super::sentences::{self, Doing};
use super::survey::{self, Contents};
use redb::ReadableDatabase;
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Enough to check a copy from front to back.
const CHECK_CACHE: usize = 8 << 20;

/// Copies the file of a running store. What is durable at this moment is in it.
pub(super) fn backup(core: &Core, destination: &Path) -> Result<String, StoreError> {
    let name = destination.display().to_string();
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
    // The pin comes first: it keeps every page of this moment, and of all that follow, where the copy will look for it.
    let pin = core.begin_read()?;
    files::copy(&core.disk()?, &file).map_err(failed)?;
    drop(pin);
    let found = check(&part.0, &name)?;
    let bytes = file.length().map_err(failed)?;
    files::publish(&part.0, destination).map_err(failed)?;
    Ok(format!("{name} is a whole backup of {}: {}", size(bytes), found.sentence()))
}

/// Opens a copy of `path` in a temporary folder, checks every page and record, and says what is in it. The file itself is
/// not touched, and may be in use: a plain copy of a live file, or the live file, is as good.
pub fn verify(path: &Path) -> Result<String, StoreError> {
    static COPIES: AtomicU64 = AtomicU64::new(0);
    let name = path.display().to_string();
    let source = File::open(path).map_err(|e| sentences::explain_io(&name, Doing::Opening, &e))?;
    let length = source.length().map_err(|e| sentences::explain_io(&name, Doing::Reading, &e))?;
    if path.is_dir() {
        return Err(sentences::is_a_folder(&name));
    }
    if length == 0 {
        return Err(sentences::empty(&name));
    }
    let copy = format!("larder-verify-{}-{}.redb", std::process::id(), COPIES.fetch_add(1, Ordering::Relaxed));
    let copy = Scratch(std::env::temp_dir().join(copy));
    let room = |e: io::Error| {
        let why = sentences::explain_io(&copy.0.display().to_string(), Doing::Writing, &e);
        StoreError::Io(format!(
            "{name} was not checked, the temporary copy failed (TMPDIR names another folder): {why}"
        ))
    };
    let file = files::create_private(&copy.0).map_err(room)?;
    files::copy(&source, &file).map_err(room)?;
    drop(file);
    let found = check(&copy.0, &name)?;
    Ok(format!("{name} is whole, {}: {}", size(length), found.sentence()))
}

/// Opens the copy as a start would, with every page checked, decodes every row and closes it. Errors name `name`.
fn check(copy: &Path, name: &str) -> Result<Contents, StoreError> {
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
