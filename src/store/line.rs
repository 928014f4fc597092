//! The line before the writer: who comes is counted, and the writer is woken once for all that it waits for. Knows nothing of
//! what is handed over. Reads no clock: it only waits.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Those who were answered together come back one after another. Whoever took the first of them at once would let the others
/// wait for two commits, so for this long the writer waits for as many as it answered. Far less than a commit takes, and
/// nothing where one waits alone.
const GATHERING: Duration = Duration::from_micros(50);

#[derive(Debug)]
struct State<T> {
    waiting: Vec<T>,
    /// The writer sleeps until so many are here.
    wanted: usize,
    closed: bool,
}

#[derive(Debug)]
pub(super) struct Line<T> {
    state: Mutex<State<T>>,
    enough: Condvar,
}

impl<T> Line<T> {
    pub fn new() -> Line<T> {
        Line { state: Mutex::new(State { waiting: Vec::new(), wanted: 1, closed: false }), enough: Condvar::new() }
    }

    fn state(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// `Err`: nobody takes it any more.
    pub fn push(&self, one: T) -> Result<(), T> {
        let mut state = self.state();
        if state.closed {
            return Err(one);
        }
        state.waiting.push(one);
        let enough = state.waiting.len() >= state.wanted;
        drop(state);
        if enough {
            self.enough.notify_one();
        }
        Ok(())
    }

    /// As [`Line::push`], and does not let the writer wait for more.
    pub fn push_last(&self, one: T) -> Result<(), T> {
        self.state().wanted = 1;
        self.push(one)
    }

    /// Sleeps until somebody is here, a moment longer for as many as `before`, and moves all of them into the empty `batch`.
    pub fn take(&self, batch: &mut Vec<T>, before: usize) {
        let mut state = self.state();
        if before > 1 && state.waiting.len() < before {
            state.wanted = before;
            let short = |s: &mut State<T>| s.waiting.len() < s.wanted;
            let waited = self.enough.wait_timeout_while(state, GATHERING, short);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        state.wanted = 1;
        let waited = self.enough.wait_while(state, |s| s.waiting.is_empty());
        std::mem::swap(batch, &mut waited.unwrap_or_else(PoisonError::into_inner).waiting);
    }

    /// Nobody is let in any more. Who is here still.
    pub fn close(&self) -> Vec<T> {
        let mut state = self.state();
        state.closed = true;
        std::mem::take(&mut state.waiting)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::thread;

    fn taken(line: &Line<u32>, before: usize) -> Vec<u32> {
        let mut batch = Vec::new();
        line.take(&mut batch, before);
        batch
    }

    #[test]
    fn all_that_wait_are_taken_in_their_order() {
        let line = Line::new();
        (0..3).for_each(|n| line.push(n).unwrap());
        assert_eq!(taken(&line, 0), [0, 1, 2]);
        line.push(3).unwrap();
        assert_eq!(taken(&line, 64), [3], "the others do not come: it goes on with what there is");
    }

    #[test]
    fn a_sleeping_writer_is_woken_by_one_and_by_the_last() {
        for before in [0, 1, 2, 64] {
            let line = Arc::new(Line::new());
            let writer = thread::spawn({
                let line = line.clone();
                move || taken(&line, before)
            });
            thread::sleep(Duration::from_millis(5));
            line.push_last(7).unwrap();
            assert_eq!(writer.join().unwrap(), [7]);
        }
    }

    #[test]
    fn nothing_is_lost_between_many_that_come_and_the_end() {
        let line = Arc::new(Line::new());
        let comers = (0..4).map(|n| {
            let line = line.clone();
            thread::spawn(move || (0..1000).filter(|i| line.push(n * 1000 + i).is_ok()).count())
        });
        let comers: Vec<_> = comers.collect();
        let (mut all, mut before) = (Vec::new(), 0);
        while all.len() < 2000 {
            let batch = taken(&line, before);
            before = batch.len();
            all.extend(batch);
        }
        all.extend(line.close());
        let let_in: usize = comers.into_iter().map(|c| c.join().unwrap()).sum();
        assert!(line.push(1).is_err());
        assert_eq!(all.len(), let_in);
        (0..4).for_each(|n| assert!(all.iter().filter(|x| *x / 1000 == n).is_sorted(), "each in its order"));
    }
}
