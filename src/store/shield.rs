//! A shield in front of a closed file whose pages are still being checked: until they were found whole nothing reaches the
//! disk, and if they were not nothing ever does. Knows bytes; must not know what they mean or how they are checked.

use redb::StorageBackend;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Bytes by offset, in the order in which they were written.
#[derive(Debug, Default)]
pub(super) struct Held(Vec<(u64, Vec<u8>)>);

impl Held {
    pub fn write(&mut self, offset: u64, data: &[u8]) {
        self.0.push((offset, data.to_vec()));
    }

    /// Lays what is held over what was read from `offset`.
    pub fn lay_over(&self, offset: u64, out: &mut [u8]) {
        let end = offset + out.len() as u64;
        for (at, bytes) in &self.0 {
            let (from, to) = (offset.max(*at), end.min(at + bytes.len() as u64));
            if from < to {
                let length = (to - from) as usize;
                let (into, of) = ((from - offset) as usize, (from - at) as usize);
                out[into..into + length].copy_from_slice(&bytes[of..of + length]);
            }
        }
    }
}

#[derive(Debug)]
enum State {
    /// redb opens the file and notes in its header that it is in use: held back.
    Opening(Held),
    /// It is open. Readers have it; whoever writes waits for the verdict.
    Checking(Held),
    Down,
    Damaged,
}

#[derive(Debug)]
pub(super) struct Shield {
    /// The state is `Down`, for good.
    down: AtomicBool,
    state: Mutex<State>,
    turned: Condvar,
}

impl Shield {
    /// For a file that needs none.
    pub fn none() -> Shield {
        Shield { down: AtomicBool::new(true), state: Mutex::new(State::Down), turned: Condvar::new() }
    }

    pub fn raised() -> Shield {
        Shield {
            down: AtomicBool::new(false),
            state: Mutex::new(State::Opening(Held::default())),
            turned: Condvar::new(),
        }
    }

    /// Whether everything goes to the disk.
    pub fn is_down(&self) -> bool {
        self.down.load(Ordering::Acquire)
    }

    fn is_opening(&self) -> bool {
        !self.is_down() && matches!(*self.state(), State::Opening(_))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From here on nothing more is held back: it waits.
    pub fn opened(&self) {
        let mut state = self.state();
        if let State::Opening(held) = &mut *state {
            *state = State::Checking(std::mem::take(held));
        }
    }

    /// Every page is whole: what was held back goes to the disk, and after it whoever waited.
    pub fn lower(&self, disk: &dyn StorageBackend) -> io::Result<()> {
        let mut state = self.state();
        let written = match &*state {
            State::Opening(held) | State::Checking(held) => {
                held.0.iter().try_for_each(|(at, bytes)| disk.write(*at, bytes)).and_then(|()| disk.sync_data())
            }
            State::Down | State::Damaged => return Ok(()),
        };
        *state = if written.is_ok() { State::Down } else { State::Damaged };
        self.down.store(written.is_ok(), Ordering::Release);
        self.turned.notify_all();
        written
    }

    /// Nothing is ever written. Says nothing where it is down already.
    pub fn keep_up(&self) {
        let mut state = self.state();
        if !matches!(*state, State::Down) {
            *state = State::Damaged;
            self.turned.notify_all();
        }
    }

    pub fn read(&self, disk: &dyn StorageBackend, offset: u64, out: &mut [u8]) -> io::Result<()> {
        if self.is_down() {
            return disk.read(offset, out);
        }
        let state = self.state();
        disk.read(offset, out)?;
        if let State::Opening(held) | State::Checking(held) = &*state {
            held.lay_over(offset, out);
        }
        Ok(())
    }

    pub fn write(&self, disk: &dyn StorageBackend, offset: u64, data: &[u8]) -> io::Result<()> {
        if !self.is_down()
            && let State::Opening(held) = &mut *self.state()
        {
            held.write(offset, data);
            return Ok(());
        }
        self.wait()?;
        disk.write(offset, data)
    }

    pub fn sync_data(&self, disk: &dyn StorageBackend) -> io::Result<()> {
        if self.is_opening() {
            // Nothing was written that a crash could take: the file is as it was found.
            return Ok(());
        }
        self.wait()?;
        disk.sync_data()
    }

    pub fn set_len(&self, disk: &dyn StorageBackend, len: u64) -> io::Result<()> {
        if self.is_opening() {
            return Err(io::Error::other("a closed file has another length than its header says"));
        }
        self.wait()?;
        disk.set_len(len)
    }

    /// Returns when everything goes to the disk; the error says that it never will.
    pub fn wait(&self) -> io::Result<()> {
        if self.is_down() {
            return Ok(());
        }
        let state = self.state();
        let turned = self.turned.wait_while(state, |s| matches!(s, State::Opening(_) | State::Checking(_)));
        match *turned.unwrap_or_else(PoisonError::into_inner) {
            State::Down => Ok(()),
            _ => Err(io::Error::other("its pages were found damaged, so nothing is written to it")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use redb::backends::InMemoryBackend;
    use std::sync::Arc;
    use std::time::Duration;

    fn disk() -> Arc<InMemoryBackend> {
        let disk = InMemoryBackend::new();
        disk.set_len(8).unwrap();
        disk.write(0, b"abcdefgh").unwrap();
        Arc::new(disk)
    }

    fn bytes(read: impl FnOnce(&mut [u8]) -> io::Result<()>) -> [u8; 8] {
        let mut bytes = [0; 8];
        read(&mut bytes).unwrap();
        bytes
    }

    #[test]
    fn what_opening_writes_is_seen_and_held_back() {
        let (disk, shield) = (disk(), Shield::raised());
        shield.write(&*disk, 2, b"XYZ").unwrap();
        shield.write(&*disk, 4, b"!").unwrap();
        shield.sync_data(&*disk).unwrap();
        assert!(shield.set_len(&*disk, 9).is_err());
        assert_eq!(&bytes(|out| shield.read(&*disk, 0, out)), b"abXY!fgh");
        assert_eq!(&bytes(|out| disk.read(0, out)), b"abcdefgh");
        let mut part = [0; 2];
        shield.read(&*disk, 3, &mut part).unwrap();
        assert_eq!(&part, b"Y!");
        shield.opened();
        shield.lower(&*disk).unwrap();
        assert!(shield.is_down());
        assert_eq!(&bytes(|out| disk.read(0, out)), b"abXY!fgh");
    }

    #[test]
    fn who_writes_during_the_check_waits_for_its_verdict() {
        for whole in [true, false] {
            let (disk, shield) = (disk(), Arc::new(Shield::raised()));
            shield.opened();
            let writers = [0, 1, 2].map(|n| {
                let (disk, shield) = (disk.clone(), shield.clone());
                std::thread::spawn(move || match n {
                    0 => shield.write(&*disk, 0, b"Q"),
                    1 => shield.sync_data(&*disk),
                    _ => shield.set_len(&*disk, 9),
                })
            });
            std::thread::sleep(Duration::from_millis(20));
            assert!(writers.iter().all(|w| !w.is_finished()));
            assert_eq!(&bytes(|out| shield.read(&*disk, 0, out)), b"abcdefgh", "readers do not wait");
            match whole {
                true => shield.lower(&*disk).unwrap(),
                false => shield.keep_up(),
            }
            assert!(writers.into_iter().all(|w| w.join().unwrap().is_ok() == whole));
            assert_eq!(bytes(|out| disk.read(0, out))[0], if whole { b'Q' } else { b'a' });
            assert_eq!(disk.len().unwrap(), if whole { 9 } else { 8 });
        }
    }

    #[test]
    fn a_shield_that_stays_up_cannot_be_lowered() {
        let (disk, shield) = (disk(), Shield::raised());
        shield.write(&*disk, 0, b"Q").unwrap();
        shield.keep_up();
        shield.lower(&*disk).unwrap();
        assert!(!shield.is_down());
        assert!(shield.write(&*disk, 0, b"Q").is_err());
        assert_eq!(bytes(|out| disk.read(0, out))[0], b'a');
    }
}
