//! Whether the open file is still the one that its name leads to. A file that was moved away, deleted or replaced takes writes like
//! any other, and the next start does not know them. Reads names only.

use super::StoreError;
use super::open::Place;
use super::sentences;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::sync::atomic::{AtomicBool, Ordering};

/// Where a file was when it was opened.
pub(super) struct Whereabouts {
    /// Device and number; `None` for what has no name.
    home: Option<(u64, u64)>,
    /// It was told that it is gone.
    told: AtomicBool,
}

impl Whereabouts {
    /// Called while the file is open, so that its number is nobody else's.
    pub fn of(place: &Place) -> Whereabouts {
        Whereabouts { home: found(place).unwrap_or_default(), told: AtomicBool::new(false) }
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
