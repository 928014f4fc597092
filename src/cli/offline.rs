//! The data file without a running appliance. The file's lock is what keeps two from writing. Never creates a file.

use super::ending::Failure;
use crate::clock::{Clock, ClockMark, SystemClock};
use crate::domain::time::Now;
use crate::store::{Opening, Options, Store, Writer};
use std::path::Path;

/// Small: a command reads a handful of records.
const CACHE_BYTES: usize = 4 * 1024 * 1024;

/// An open file, and the moment of its opening.
pub struct Offline {
    pub store: Store,
    pub now: Now,
    pub mark: ClockMark,
}

impl Offline {
    /// Fails if there is no file, or if somebody else has it open.
    pub fn open(data: &Path) -> Result<Offline, Failure> {
        if !data.exists() {
            let shown = data.display();
            return Err(Failure::failed(format!(
                "Larder is not running, and its data file {shown} is not there yet; start `larder serve` first."
            )));
        }
        let options = Options { writer: Writer::Thread, cache_bytes: CACHE_BYTES };
        let (store, opening) = Store::open(data, options).map_err(Failure::failed)?;
        let Opening { mark, high_water, .. } = opening;
        let clock = SystemClock::start(mark, high_water);
        Ok(Offline { store, now: clock.now(), mark: clock.mark() })
    }

    /// Closes the file cleanly, after whatever was done with it.
    pub fn close<T>(self, result: Result<T, Failure>) -> Result<T, Failure> {
        let closed = self.store.close().map_err(Failure::failed);
        let value = result?;
        closed.map(|()| value)
    }
}
