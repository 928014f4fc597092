//! A disk that crashes: what is written is readable at once (volatile) and safe only after a sync (durable). A power cut keeps any
//! subset of the unsynced sectors; a kill of the process keeps them all. Must not know what is stored on it.

use crate::dice::Dice;
use redb::StorageBackend;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

const SECTOR: usize = 512;

#[derive(Clone, Debug)]
enum Unsynced {
    Write { offset: usize, data: Vec<u8> },
    SetLen(usize),
}

#[derive(Debug, Default)]
struct Image {
    durable: Vec<u8>,
    volatile: Vec<u8>,
    unsynced: Vec<Unsynced>,
    /// Handles of an older generation belong to a dead process.
    generation: u64,
    /// Writes, syncs and changes of length so far.
    operations: u64,
    fails_at: Option<Failure>,
    dead: bool,
    /// Nothing more is taken.
    full: bool,
    /// Planted: says that it synced, and did not.
    lies: bool,
}

#[derive(Clone, Copy, Debug)]
struct Failure {
    operation: u64,
    /// Whether the last operation still takes effect, unacknowledged.
    takes_effect: bool,
}

/// How the world ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// The process alone dies; the operating system still has every write.
    Process,
    Power,
}

/// The medium: it survives processes and power cuts.
#[derive(Clone, Debug, Default)]
pub struct Disk {
    image: Arc<Mutex<Image>>,
    died: Arc<Notify>,
}

impl Disk {
    pub fn lying() -> Disk {
        let disk = Disk::default();
        disk.image().lies = true;
        disk
    }

    /// The file as a new process sees it.
    pub fn open(&self) -> Handle {
        Handle { disk: self.clone(), generation: self.image().generation }
    }

    /// From its `n`-th operation from now on everything fails, as if the process stood still there.
    pub fn fail_after(&self, n: u64, takes_effect: bool) {
        let mut image = self.image();
        image.fails_at = Some(Failure { operation: image.operations + n.max(1), takes_effect });
    }

    /// From now on whatever changes the file is refused, or nothing is.
    pub fn fill(&self, full: bool) {
        self.image().full = full;
    }

    /// Resolves when the failing operation was met.
    pub async fn died(&self) {
        while !self.is_dead() {
            self.died.notified().await;
        }
    }

    pub fn is_dead(&self) -> bool {
        self.image().dead
    }

    /// Nothing that still holds a handle can touch the file from now on.
    pub fn crash(&self, cut: Cut, dice: &mut Dice) {
        let image = &mut *self.image();
        if cut == Cut::Power {
            image.lose_power(dice);
        }
        image.generation += 1;
        (image.dead, image.fails_at) = (false, None);
    }

    /// An empty disk in the place of this one: somebody "restored" nothing.
    pub fn wipe(&self) {
        let image = &mut *self.image();
        image.durable.clear();
        image.volatile.clear();
        image.unsynced.clear();
    }

    fn image(&self) -> MutexGuard<'_, Image> {
        self.image.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Image {
    /// Each unsynced sector arrives or does not, by a probability that belongs to this cut.
    fn lose_power(&mut self, dice: &mut Dice) {
        let permille = *dice.pick(&[0, 0, 500, 500, 900, 1000]);
        let mut kept = std::mem::take(&mut self.durable);
        for operation in self.unsynced.drain(..) {
            match operation {
                Unsynced::SetLen(len) if dice.chance(permille) => kept.resize(len, 0),
                Unsynced::SetLen(_) => {}
                Unsynced::Write { offset, data } => {
                    for (at, sector) in sectors(offset, &data) {
                        if dice.chance(permille) {
                            put(&mut kept, at, sector);
                        }
                    }
                }
            }
        }
        self.volatile = kept.clone();
        self.durable = kept;
    }

    fn apply(&mut self, operation: Unsynced) {
        match &operation {
            Unsynced::Write { offset, data } => put(&mut self.volatile, *offset, data),
            Unsynced::SetLen(len) => self.volatile.resize(*len, 0),
        }
        self.unsynced.push(operation);
    }

    fn sync(&mut self) {
        if self.lies {
            return;
        }
        for operation in self.unsynced.drain(..) {
            match operation {
                Unsynced::Write { offset, data } => put(&mut self.durable, offset, &data),
                Unsynced::SetLen(len) => self.durable.resize(len, 0),
            }
        }
    }
}

/// Cuts a write where sectors end.
fn sectors(offset: usize, data: &[u8]) -> Vec<(usize, &[u8])> {
    let (mut at, mut rest, mut all) = (offset, data, Vec::new());
    while !rest.is_empty() {
        let (sector, after) = rest.split_at(rest.len().min(SECTOR - at % SECTOR));
        all.push((at, sector));
        (at, rest) = (at + sector.len(), after);
    }
    all
}

fn put(image: &mut Vec<u8>, at: usize, data: &[u8]) {
    if image.len() < at + data.len() {
        image.resize(at + data.len(), 0);
    }
    image[at..at + data.len()].copy_from_slice(data);
}

/// One process's open file.
#[derive(Debug)]
pub struct Handle {
    disk: Disk,
    generation: u64,
}

fn gone() -> io::Error {
    io::Error::other("the process is dead")
}

impl Handle {
    fn image(&self) -> io::Result<MutexGuard<'_, Image>> {
        let image = self.disk.image();
        if image.dead || image.generation != self.generation { Err(gone()) } else { Ok(image) }
    }

    /// Counts the operation; `effect` is what it does. The fatal one may still take effect, but nobody is told.
    fn operate(&self, effect: impl FnOnce(&mut Image)) -> io::Result<()> {
        let mut image = self.image()?;
        if image.full {
            return Err(io::ErrorKind::StorageFull.into());
        }
        image.operations += 1;
        let fatal = image.fails_at.filter(|f| image.operations >= f.operation);
        if fatal.is_none_or(|f| f.takes_effect) {
            effect(&mut image);
        }
        if fatal.is_none() {
            return Ok(());
        }
        image.dead = true;
        self.disk.died.notify_one();
        Err(gone())
    }
}

impl StorageBackend for Handle {
    fn len(&self) -> io::Result<u64> {
        Ok(self.image()?.volatile.len() as u64)
    }
    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let image = self.image()?;
        let from = offset as usize;
        let bytes = image.volatile.get(from..from + out.len());
        out.copy_from_slice(bytes.ok_or_else(|| io::Error::from(io::ErrorKind::UnexpectedEof))?);
        Ok(())
    }
    fn set_len(&self, len: u64) -> io::Result<()> {
        self.operate(|image| image.apply(Unsynced::SetLen(len as usize)))
    }
    fn sync_data(&self) -> io::Result<()> {
        self.operate(Image::sync)
    }
    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.operate(|image| image.apply(Unsynced::Write { offset: offset as usize, data: data.to_vec() }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(disk: &Disk, offset: u64, len: usize) -> Vec<u8> {
        let mut out = vec![0; len];
        disk.open().read(offset, &mut out).expect("inside the file");
        out
    }

    #[test]
    fn what_was_synced_survives_a_power_cut_and_what_was_not_may_be_torn() {
        let mut torn = 0;
        for seed in 0..50 {
            let (disk, mut dice) = (Disk::default(), Dice::new(seed));
            let file = disk.open();
            file.set_len(4096).expect("alive");
            file.write(0, &[1; 2048]).expect("alive");
            file.sync_data().expect("alive");
            file.write(0, &[2; 2048]).expect("alive");
            assert_eq!(read(&disk, 0, 1), [2], "readable at once");
            disk.crash(Cut::Power, &mut dice);
            let found = read(&disk, 0, 2048);
            assert!(found.chunks(SECTOR).all(|s| s.iter().all(|b| *b == s[0])), "a sector is whole");
            torn += usize::from(found.contains(&1) && found.contains(&2));
            assert!(file.write(0, &[3]).is_err(), "the dead write nothing");
        }
        assert!(torn > 5, "{torn} of 50 were torn");
    }

    #[test]
    fn a_killed_process_loses_nothing_that_it_wrote() {
        let disk = Disk::default();
        disk.open().write(100, &[7; 10]).expect("alive");
        disk.crash(Cut::Process, &mut Dice::new(1));
        assert_eq!(read(&disk, 100, 10), [7; 10]);
    }

    #[test]
    fn the_fatal_operation_is_never_acknowledged() {
        for takes_effect in [false, true] {
            let disk = Disk::default();
            let file = disk.open();
            disk.fail_after(2, takes_effect);
            file.write(0, &[1]).expect("the first");
            assert!(file.write(0, &[2]).is_err() && disk.is_dead());
            assert!(file.read(0, &mut [0]).is_err(), "the dead read nothing");
            disk.crash(Cut::Process, &mut Dice::new(1));
            assert_eq!(read(&disk, 0, 1), [if takes_effect { 2 } else { 1 }]);
        }
    }
}
