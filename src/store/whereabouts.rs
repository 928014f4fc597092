//! Whether the open file is still the one that its name leads to, and whether it is a copy of the one that it was when it was used last. A file that
//! was moved away, deleted or replaced takes writes like any other, and the next start does not know them. Reads names only.

use super::StoreError;
use super::open::Place;
use super::sentences;
use rustix::fs::{AtFlags, CWD, StatxFlags, statx};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::sync::atomic::{AtomicBool, Ordering};

/// Where a file was when it was opened.
pub(super) struct Whereabouts {
    /// Device and number; `None` for what has no name.
    home: Option<(u64, u64)>,
    /// It was told that it is gone.
    told: AtomicBool,
    birth: Option<Vec<u8>>,
}

impl Whereabouts {
    /// Called while the file is open, so that its number is nobody else's.
    pub fn of(place: &Place) -> Whereabouts {
        Whereabouts { home: found(place).unwrap_or_default(), told: AtomicBool::new(false), birth: birth(place) }
    }

    /// What tells the file from every copy of it; `None`: it cannot be told.
    pub fn birth(&self) -> Option<&[u8]> {
        self.birth.as_deref()
    }

    /// The error is a sentence. Told in the log when it begins, and when it is over.
    pub fn check(&self, place: &Place) -> Result<(), StoreError> {
        let (Some(home), Place::File(path)) = (self.home, place) else { return Ok(()) };
        let name = path.display().to_string();
        let gone = match found(place) {
            Ok(now) if now == Some(home) => {
                if self.told.swap(false, Ordering::Relaxed) {
                    tracing::info!("{name} is in its place again; sending goes on");
                }
                return Ok(());
            }
            Ok(_) => sentences::replaced(&name),
            Err(_) => sentences::moved(&name),
        };
        if !self.told.swap(true, Ordering::Relaxed) {
            tracing::error!("{gone}");
        }
        Err(gone)
    }
}

fn found(place: &Place) -> Result<Option<(u64, u64)>, std::io::Error> {
    match place {
        Place::File(path) => fs::metadata(path).map(|there| Some((there.dev(), there.ino()))),
        Place::Backend(_) => Ok(None),
    }
}

const BORN: u8 = 1;
const NUMBERED: u8 = 2;

/// When the file was made: whoever copies a file makes another, and a move within a file system leaves it as it is. Where the file system does not
/// know, the number of the file there. Neither can tell a file that was written over in place.
fn birth(place: &Place) -> Option<Vec<u8>> {
    let Place::File(path) = place else { return None };
    let found = statx(CWD, path, AtFlags::empty(), StatxFlags::BTIME | StatxFlags::INO).ok()?;
    let born = found.stx_btime;
    let knows = found.stx_mask & StatxFlags::BTIME.bits() != 0 && born.tv_sec != 0;
    let (tag, number, part) =
        if knows { (BORN, born.tv_sec as u64, born.tv_nsec) } else { (NUMBERED, found.stx_ino, 0) };
    Some([&[tag][..], &number.to_be_bytes(), &part.to_be_bytes()].concat())
}
