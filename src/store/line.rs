//! The line before the writer: who comes is counted, and the writer is woken once for all that it waits for. Who comes while nobody
//! is there may take the writer's place. Knows nothing of what is handed over. Reads no clock: it only waits.

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
    /// How many it took together the last time.
    before: usize,
    writes: Writes,
    closed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Writes {
    Nobody,
    /// What it took.
    Writer,
    /// Who took its place.
    Another,
}

impl<T> State<T> {
    fn is_enough(&self) -> bool {
        self.writes == Writes::Nobody && self.waiting.len() >= self.wanted
    }
}

#[derive(Debug)]
pub(super) struct Line<T> {
    state: Mutex<State<T>>,
    enough: Condvar,
}

impl<T> Line<T> {
    pub fn new() -> Line<T> {
        let state = State { waiting: Vec::new(), wanted: 1, before: 0, writes: Writes::Nobody, closed: false };
        Line { state: Mutex::new(state), enough: Condvar::new() }
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
        let enough = state.is_enough();
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

    /// Takes the writer's place, until the answer is dropped: nobody is here, nobody writes, and nobody came together with
    /// others the last time. Who comes meanwhile waits, and is the writer's.
    pub fn take_place(&self) -> Option<InPlace<'_, T>> {
        let mut state = self.state();
        if state.closed || state.writes != Writes::Nobody || state.before > 1 || !state.waiting.is_empty() {
            return None;
        }
        state.writes = Writes::Another;
        Some(InPlace(self))
    }

    /// Ends what was taken before. Sleeps until somebody is here, a moment longer for as many as were taken then, and moves all of
    /// them into the empty `batch`.
    pub fn take(&self, batch: &mut Vec<T>) {
        let mut state = self.state();
        if state.writes == Writes::Writer {
            state.writes = Writes::Nobody;
        }
        if state.before > 1 {
            state.wanted = state.before;
            let waited = self.enough.wait_timeout_while(state, GATHERING, |s| !s.is_enough());
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        state.wanted = 1;
        let waited = self.enough.wait_while(state, |s| !s.is_enough());
        let mut state = waited.unwrap_or_else(PoisonError::into_inner);
        std::mem::swap(batch, &mut state.waiting);
        state.before = batch.len();
        state.writes = Writes::Writer;
    }

    /// Nobody is let in any more. Who is here still.
    pub fn close(&self) -> Vec<T> {
        let mut state = self.state();
        state.closed = true;
        std::mem::take(&mut state.waiting)
    }
}

/// The writer's place, taken. Dropped it is given back, and the writer is woken for those who came meanwhile.
pub(super) struct InPlace<'a, T>(&'a Line<T>);

impl<T> Drop for InPlace<'_, T> {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.writes = Writes::Nobody;
        let enough = state.is_enough();
        drop(state);
        if enough {
            self.0.enough.notify_one();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::thread;

    fn taken(line: &Line<u32>) -> Vec<u32> {
        let mut batch = Vec::new();
        line.take(&mut batch);
        batch
    }

    /// A line whose writer took so many together, and is not back yet.
    fn after(before: u32) -> Arc<Line<u32>> {
        let line = Line::new();
        (0..before).for_each(|n| line.push(n).unwrap());
        if before > 0 {
            assert_eq!(taken(&line), (0..before).collect::<Vec<_>>());
        }
        Arc::new(line)
    }

    fn writer(line: &Arc<Line<u32>>) -> thread::JoinHandle<Vec<u32>> {
        let line = Arc::clone(line);
        let writer = thread::spawn(move || taken(&line));
        thread::sleep(Duration::from_millis(5));
        writer
    }

    #[test]
    fn all_that_wait_are_taken_in_their_order() {
        let line = after(3);
        line.push(3).unwrap();
        assert_eq!(taken(&line), [3], "the others do not come: it goes on with what there is");
    }

    #[test]
    fn a_sleeping_writer_is_woken_by_one_and_by_the_last() {
        for before in [0, 1, 2, 64] {
            let line = after(before);
            let writer = writer(&line);
            line.push_last(7).unwrap();
            assert_eq!(writer.join().unwrap(), [7]);
        }
    }

    #[test]
    fn who_is_alone_takes_the_writers_place_and_who_comes_meanwhile_is_the_writers() {
        let line = after(0);
        let place = line.take_place().unwrap();
        assert!(line.take_place().is_none(), "one at a time");
        let writer = writer(&line);
        line.push(1).unwrap();
        line.push_last(2).unwrap();
        thread::sleep(Duration::from_millis(5));
        assert!(!writer.is_finished(), "it waits until the place is given back");
        drop(place);
        assert_eq!(writer.join().unwrap(), [1, 2]);
        assert!(line.take_place().is_none(), "those two are being written");
    }

    #[test]
    fn a_place_that_is_given_back_can_be_taken_again() {
        let line = after(1);
        assert!(line.take_place().is_none(), "the writer has work");
        let writer = writer(&line);
        (0..3).for_each(|_| drop(line.take_place().unwrap()));
        line.push(1).unwrap();
        assert!(line.take_place().is_none(), "who waits is first");
        assert_eq!(writer.join().unwrap(), [1]);
    }

    #[test]
    fn those_who_came_together_are_expected_together() {
        let line = after(2);
        let writer = writer(&line);
        assert!(line.take_place().is_none(), "they share a commit");
        line.push(2).unwrap();
        assert_eq!(writer.join().unwrap(), [2]);
        line.close();
        assert!(line.take_place().is_none(), "nobody is let in any more");
    }

    #[test]
    fn nothing_is_lost_between_many_that_come_and_the_end() {
        let line = Arc::new(Line::new());
        let comers = (0..4).map(|n| {
            let line = line.clone();
            thread::spawn(move || (0..1000).filter(|i| line.push(n * 1000 + i).is_ok()).count())
        });
        let comers: Vec<_> = comers.collect();
        let mut all = Vec::new();
        while all.len() < 2000 {
            all.extend(taken(&line));
        }
        all.extend(line.close());
        let let_in: usize = comers.into_iter().map(|c| c.join().unwrap()).sum();
        assert!(line.push(1).is_err());
        assert_eq!(all.len(), let_in);
        (0..4).for_each(|n| assert!(all.iter().filter(|x| *x / 1000 == n).is_sorted(), "each in its order"));
    }

    /// Each is done once, by whoever holds the place, and nobody waits for ever.
    #[test]
    fn whoever_writes_writes_alone() {
        const EACH: usize = 500;
        let (line, writing, done) = (Arc::new(Line::new()), Arc::new(Mutex::new(())), Arc::new(Mutex::new(0)));
        let comers: Vec<_> = (0..3)
            .map(|n| {
                let (line, writing, done) = (line.clone(), writing.clone(), done.clone());
                thread::spawn(move || {
                    (0..EACH).for_each(|_| match line.take_place() {
                        Some(_place) => {
                            let _alone = writing.try_lock().unwrap();
                            *done.lock().unwrap() += 1;
                        }
                        None => line.push(n).unwrap(),
                    });
                })
            })
            .collect();
        let (mut batch, mut taken) = (Vec::new(), 0);
        while taken + *done.lock().unwrap() < 3 * EACH {
            line.push_last(9).unwrap();
            line.take(&mut batch);
            let _alone = writing.try_lock().unwrap();
            taken += batch.drain(..).filter(|n| *n != 9).count();
        }
        comers.into_iter().for_each(|c| c.join().unwrap());
    }
}
