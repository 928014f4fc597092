//! A disk that can be looked at, filled, stopped and cut off: what was written, and what is known to be on it.

use redb::StorageBackend;
use std::collections::BTreeMap;
use std::io::{Error, ErrorKind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Duration;

const SECTOR: usize = 512;

/// A sync that does not begin by then does not begin.
const LONGEST: Duration = Duration::from_secs(20);

#[derive(Debug, Default)]
struct Image {
    /// What a reader sees.
    now: Vec<u8>,
    /// What survives a power cut for certain.
    synced: Vec<u8>,
    /// Sectors written since the last sync: each may or may not survive.
    loose: BTreeMap<usize, ()>,
    syncs: u64,
    /// The thread of the last sync.
    synced_by: String,
    written: u64,
    fails: Option<ErrorKind>,
    /// A sync waits while this is set.
    held: bool,
    waiting: usize,
}

#[derive(Clone, Debug, Default)]
pub struct Disk(Arc<(Mutex<Image>, Condvar)>);

impl Disk {
    fn image(&self) -> MutexGuard<'_, Image> {
        self.0.0.lock().unwrap()
    }

    pub fn syncs(&self) -> u64 {
        self.image().syncs
    }

    /// The name of the thread that called the last sync.
    pub fn synced_by(&self) -> String {
        self.image().synced_by.clone()
    }

    /// Bytes written so far.
    pub fn written(&self) -> u64 {
        self.image().written
    }

    /// Every write fails from now on; `None`: they work again.
    pub fn fail(&self, kind: Option<ErrorKind>) {
        self.image().fails = kind;
    }

    /// No sync ends before `let_go`.
    pub fn hold_syncs(&self) {
        self.image().held = true;
    }

    pub fn let_go(&self) {
        self.image().held = false;
        self.0.1.notify_all();
    }

    /// Waits until a sync is being held up, and not for ever: what should have written may have been refused.
    #[track_caller]
    pub fn until_a_sync_waits(&self) {
        let nobody = |image: &mut Image| image.waiting == 0;
        let (image, waited) = self.0.1.wait_timeout_while(self.image(), LONGEST, nobody).unwrap();
        drop(image);
        assert!(!waited.timed_out(), "nothing was synced");
    }

    /// The disk after a power cut at this moment. `seed` decides which of the loose sectors made it.
    pub fn power_cut(&self, seed: u64) -> Disk {
        let image = self.image();
        let mut left = image.synced.clone();
        // The length is the file system's: it may have grown already.
        if seed & 1 == 1 {
            left.resize(image.now.len().max(left.len()), 0);
        }
        let mut random = seed | 1;
        for at in image.loose.keys().map(|s| s * SECTOR) {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            let end = (at + SECTOR).min(image.now.len()).min(left.len());
            if random & 1 == 1 && at < end {
                left[at..end].copy_from_slice(&image.now[at..end]);
            }
        }
        Disk::of(left)
    }

    pub fn of(bytes: Vec<u8>) -> Disk {
        let image = Image { now: bytes.clone(), synced: bytes, ..Image::default() };
        Disk(Arc::new((Mutex::new(image), Condvar::new())))
    }
}

impl StorageBackend for Disk {
    fn len(&self) -> Result<u64, Error> {
        Ok(self.image().now.len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> Result<(), Error> {
        let image = self.image();
        let bytes = image.now.get(offset as usize..offset as usize + out.len());
        out.copy_from_slice(bytes.ok_or(ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn set_len(&self, len: u64) -> Result<(), Error> {
        let mut image = self.image();
        if let Some(kind) = image.fails {
            return Err(kind.into());
        }
        image.now.resize(len as usize, 0);
        Ok(())
    }

    fn sync_data(&self) -> Result<(), Error> {
        let mut image = self.image();
        while image.held {
            image.waiting += 1;
            self.0.1.notify_all();
            image = self.0.1.wait(image).unwrap();
            image.waiting -= 1;
        }
        if let Some(kind) = image.fails {
            return Err(kind.into());
        }
        image.synced = image.now.clone();
        image.loose.clear();
        image.syncs += 1;
        image.synced_by = std::thread::current().name().unwrap_or_default().to_owned();
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> Result<(), Error> {
        let mut image = self.image();
        if let Some(kind) = image.fails {
            return Err(kind.into());
        }
        image.written += data.len() as u64;
        let (at, end) = (offset as usize, offset as usize + data.len());
        image.now.get_mut(at..end).ok_or(ErrorKind::UnexpectedEof)?.copy_from_slice(data);
        image.loose.extend((at / SECTOR..=(end - 1) / SECTOR).map(|s| (s, ())));
        Ok(())
    }
}
