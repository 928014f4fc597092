//! Files as files: created private, copied with holes, given their name only when they are on the disk. Must not know
//! what is in them.

use super::shield::Shield;
use redb::{BackendError, StorageBackend};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;
use std::fs::{File, OpenOptions};
use std::io;
use std::ops::Bound;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const CHUNK: usize = 1 << 20;

/// A new file that nobody else may read. Refuses an existing one.
pub(super) fn create_private(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(path)
}

/// The folder that a file is in; the current one for a bare name.
pub(super) fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// `name.suffix` in the same folder, so that it can become `name` by a rename.
pub(super) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.{suffix}", std::process::id()));
    folder_of(path).join(name)
}

/// Gives a finished file its name, for good. Never replaces another file: `AlreadyExists`.
pub(super) fn publish(part: &Path, name: &Path) -> io::Result<()> {
    File::open(part)?.sync_all()?;
    match renameat_with(CWD, part, CWD, name, RenameFlags::NOREPLACE) {
        Ok(()) => {}
        // A file system without that flag: the look before the rename has to do.
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) if !name.exists() => std::fs::rename(part, name)?,
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => return Err(io::ErrorKind::AlreadyExists.into()),
        Err(other) => return Err(other.into()),
    }
    settle(name)
}

/// Puts the names of a file's folder onto the disk.
pub(super) fn settle(name: &Path) -> io::Result<()> {
    File::open(folder_of(name))?.sync_all()
}

/// Gives a finished file the name of another, which from then on has the name that this one had: at no moment is there neither. Where this fails,
/// `part` is not the other one. It lasts over a power cut from [`settle`] on.
pub(super) fn exchange(part: &Path, name: &Path) -> io::Result<()> {
    File::open(part)?.sync_all()?;
    match renameat_with(CWD, part, CWD, name, RenameFlags::EXCHANGE) {
        Ok(()) => Ok(()),
        // A file system without that: by a second name for the old file.
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
            let aside = beside(name, "aside");
            std::fs::hard_link(name, &aside)?;
            std::fs::rename(part, name)?;
            std::fs::rename(aside, part)
        }
        Err(other) => Err(other.into()),
    }
}

/// Removes the file when it goes out of scope, unless it was published meanwhile.
pub(super) struct Scratch(pub PathBuf);

impl Scratch {
    /// It stays.
    pub fn keep(mut self) -> PathBuf {
        std::mem::take(&mut self.0)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // It is gone if it was renamed or kept; a leftover is named so that it explains itself.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Something that can be read from front to back while somebody writes it.
pub(super) trait Source {
    fn length(&self) -> io::Result<u64>;
    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()>;
}

impl Source for File {
    fn length(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }
    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.read_exact_at(out, offset)
    }
}

/// Copies header first, front to back, which is what makes a copy of a live file whole. The length is taken after the
/// header: whatever the header names was in the file by then. What is all zero stays a hole.
pub(super) fn copy(source: &impl Source, to: &File) -> io::Result<()> {
    let mut buffer = vec![0; CHUNK];
    let first = usize::try_from(source.length()?).unwrap_or(CHUNK).min(CHUNK);
    source.read(0, &mut buffer[..first])?;
    write_unless_zero(to, &buffer[..first], 0)?;
    let (mut at, mut end) = (first as u64, source.length()?);
    while at < end {
        let n = usize::try_from(end - at).unwrap_or(CHUNK).min(CHUNK);
        match source.read(at, &mut buffer[..n]) {
            Ok(()) => write_unless_zero(to, &buffer[..n], at)?,
            Err(e) => {
                // The file may have been cut meanwhile: only free pages go that way.
                let now = source.length()?;
                if now >= at + n as u64 {
                    return Err(e);
                }
                end = now;
                continue;
            }
        }
        at += n as u64;
    }
    to.set_len(end.max(first as u64))
}

fn write_unless_zero(to: &File, bytes: &[u8], at: u64) -> io::Result<()> {
    if bytes.iter().all(|b| *b == 0) { Ok(()) } else { to.write_all_at(bytes, at) }
}

/// A disk that is lent to redb, so that it can be opened again after a failure, measured and copied.
#[derive(Debug)]
pub(super) struct Lent {
    disk: Arc<dyn StorageBackend>,
    /// Bytes written since it was opened.
    pub written: Arc<AtomicU64>,
    end: End,
    shield: Arc<Shield>,
}

/// What becomes of a disk when the database on it is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Closes,
    /// It may be opened again.
    Stays,
}

impl Lent {
    pub fn new(disk: Arc<dyn StorageBackend>, end: End) -> Lent {
        Lent::behind(disk, end, Arc::new(Shield::none()))
    }

    pub fn behind(disk: Arc<dyn StorageBackend>, end: End, shield: Arc<Shield>) -> Lent {
        Lent { disk, written: Arc::default(), end, shield }
    }
}

impl StorageBackend for Lent {
    fn len(&self) -> Result<u64, io::Error> {
        self.disk.len()
    }
    fn read(&self, offset: u64, out: &mut [u8]) -> Result<(), io::Error> {
        self.shield.read(&*self.disk, offset, out)
    }
    fn set_len(&self, len: u64) -> Result<(), io::Error> {
        self.shield.set_len(&*self.disk, len)
    }
    fn sync_data(&self) -> Result<(), io::Error> {
        self.shield.sync_data(&*self.disk)
    }
    fn write(&self, offset: u64, data: &[u8]) -> Result<(), io::Error> {
        self.written.fetch_add(data.len() as u64, Ordering::Relaxed);
        self.shield.write(&*self.disk, offset, data)
    }
    fn close(&self) -> Result<(), io::Error> {
        if self.end == End::Closes { self.disk.close() } else { Ok(()) }
    }
    fn try_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.disk.try_lock_range(start, end)
    }
    fn try_lock_shared_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.disk.try_lock_shared_range(start, end)
    }
    fn lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.disk.lock_range(start, end)
    }
    fn lock_shared_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.disk.lock_shared_range(start, end)
    }
    fn unlock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.disk.unlock_range(start, end)
    }
    fn query_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.disk.query_lock_range(start, end)
    }
}
