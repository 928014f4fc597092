//! Who else opens and closes the data file: asked of the kernel now and then (inotify(7)), by name once, then by the file itself. Knows nothing of
//! pins. Where the kernel has no watch to spare nobody is seen, and a plain copy has the time that it has anyway.

use super::open::Place;
use super::pin::Seen;
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
use rustix::fs::statvfs;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

/// Some hundred events at once: each is 16 bytes.
const BUFFER: usize = 4096;

pub(super) struct Watch {
    path: PathBuf,
    events: OwnedFd,
}

impl Watch {
    /// From here on; what was opened before is not known. Only what has a name can be opened by others.
    pub fn of(place: &Place) -> Option<Watch> {
        let Place::File(path) = place else { return None };
        match watch(path) {
            Ok(events) => Some(Watch { path: path.clone(), events }),
            Err(e) => {
                let name = path.display();
                tracing::info!(
                    "{name} is not watched ({e}): a plain copy of it that takes two minutes or longer is not noticed"
                );
                None
            }
        }
    }

    /// Since the last look. Two that open it at the very same moment can be seen as one.
    pub fn look(&self) -> Seen {
        let mut seen = Seen::default();
        let mut buffer = [MaybeUninit::uninit(); BUFFER];
        let mut reader = Reader::new(&self.events, &mut buffer);
        // Whatever the error is, there is no more to be had.
        while let Ok(event) = reader.next() {
            let what = event.events();
            if what.intersects(ReadFlags::OPEN | ReadFlags::QUEUE_OVERFLOW) {
                seen.opened += 1;
            } else if what.intersects(ReadFlags::CLOSE_WRITE | ReadFlags::CLOSE_NOWRITE) {
                seen.closed += 1;
            }
        }
        seen
    }

    /// Bytes on the disk of the file that its user may take.
    pub fn free(&self) -> Option<u64> {
        statvfs(&self.path).ok().map(|disk| disk.f_bavail.saturating_mul(disk.f_frsize))
    }
}

fn watch(path: &Path) -> rustix::io::Result<OwnedFd> {
    let events = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)?;
    inotify::add_watch(&events, path, WatchFlags::OPEN | WatchFlags::CLOSE_WRITE | WatchFlags::CLOSE_NOWRITE)?;
    Ok(events)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, File};

    #[test]
    fn openings_and_closings_are_counted() {
        let folder = tempfile::TempDir::new().unwrap();
        let path = folder.path().join("f");
        fs::write(&path, "x").unwrap();
        let watch = Watch::of(&Place::File(path.clone())).unwrap();
        assert_eq!(watch.look(), Seen::default());
        let one = File::open(&path).unwrap();
        assert_eq!(watch.look(), Seen { opened: 1, closed: 0 });
        assert_eq!(fs::read(&path).unwrap(), b"x");
        assert_eq!(watch.look(), Seen { opened: 1, closed: 1 });
        fs::rename(&path, folder.path().join("g")).unwrap();
        drop(one);
        assert_eq!(watch.look(), Seen { opened: 0, closed: 1 }, "it is the file that is watched, and not its name");
        assert!(watch.free().is_none_or(|free| free > 0));
    }
}
