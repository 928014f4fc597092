//! How long somebody waits who tries passwords or codes: back-off instead of lock-out. The first few wrong tries cost nothing but themselves; each
//! one after them doubles the wait before the next is looked at, up to a bound, and after a quiet hour all is forgotten. Who is somewhere else
//! never waits for it. Knows neither passwords nor addresses: a key is whatever its caller tells tries apart by.
//!
//! A try is counted when it begins and forgiven when it was right: of many that are made at once none is looked at for free.

use crate::domain::time::{Span, Steady};
use std::collections::BTreeMap;

/// Wrong tries in a row without a wait.
pub const FREE: u32 = 5;
/// Before the first try after them ...
const SHORTEST: Span = Span::from_secs(1);
/// ... and at most.
pub const LONGEST: Span = Span::from_secs(300);
/// After so long without a try the counting begins anew.
const FORGOTTEN: Span = Span::from_secs(3600);
/// Keys that are remembered at most: the one that tried longest ago makes room.
const MOST: usize = 4096;

/// The tries of everybody.
#[derive(Clone, Debug)]
pub struct Attempts<K> {
    made: BTreeMap<K, Made>,
}

impl<K> Default for Attempts<K> {
    fn default() -> Self {
        Attempts { made: BTreeMap::new() }
    }
}

#[derive(Clone, Copy, Debug)]
struct Made {
    count: u32,
    last: Steady,
    /// Nothing is looked at before.
    until: Steady,
}

impl<K: Ord + Clone> Attempts<K> {
    /// A try begins. `Err`: it is not looked at, and not counted; how long until one is.
    pub fn begin(&mut self, key: &K, now: Steady) -> Result<(), Span> {
        let before = self.made.get(key).filter(|made| now.since(made.last) < FORGOTTEN).copied();
        let wait = before.map(|made| made.until.since(now)).unwrap_or_default();
        if wait > Span::ZERO {
            return Err(wait);
        }
        let count = before.map_or(0, |made| made.count).saturating_add(1);
        self.make_room(key);
        self.made.insert(key.clone(), Made { count, last: now, until: now + wait_after(count) });
        Ok(())
    }

    /// The try was right: what came before it is forgiven.
    pub fn succeed(&mut self, key: &K) {
        self.made.remove(key);
    }

    /// Whether the wrong tries of `key` have just become so many that the next one waits: once in a row, for the book.
    pub fn has_just_run_out(&self, key: &K) -> bool {
        self.made.get(key).is_some_and(|made| made.count == FREE)
    }

    fn make_room(&mut self, key: &K) {
        if self.made.len() < MOST || self.made.contains_key(key) {
            return;
        }
        if let Some(oldest) = self.made.iter().min_by_key(|(_, made)| made.last).map(|(key, _)| key.clone()) {
            self.made.remove(&oldest);
        }
    }
}

/// Before the try that follows `count` wrong ones in a row.
fn wait_after(count: u32) -> Span {
    let Some(doublings) = count.checked_sub(FREE) else { return Span::ZERO };
    Span(SHORTEST.0.saturating_mul(1 << doublings.min(20))).min(LONGEST)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn five_are_free_and_then_the_wait_doubles_up_to_its_bound() {
        let (mut attempts, mut now) = (Attempts::default(), Steady(1_000_000));
        for _ in 0..FREE {
            assert_eq!(attempts.begin(&1, now), Ok(()));
        }
        assert!(attempts.has_just_run_out(&1));
        let mut waits = Vec::new();
        for _ in 0..11 {
            let wait = attempts.begin(&1, now).expect_err("it waits");
            waits.push(wait.as_secs());
            assert_eq!(attempts.begin(&1, now + Span(wait.0 - 1)), Err(Span(1)), "not a moment earlier");
            now = now + wait;
            assert_eq!(attempts.begin(&1, now), Ok(()), "and not a moment later: it is never a lock");
        }
        assert_eq!(waits, [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]);
        assert_eq!(attempts.begin(&2, now), Ok(()), "others do not wait");
    }

    #[test]
    fn a_right_one_forgives_and_a_quiet_hour_forgets() {
        let (mut attempts, now) = (Attempts::default(), Steady(0));
        for _ in 0..FREE {
            attempts.begin(&1, now).unwrap();
        }
        attempts.succeed(&1);
        assert_eq!(attempts.begin(&1, now), Ok(()));
        for _ in 1..FREE {
            attempts.begin(&1, now).unwrap();
        }
        assert!(attempts.begin(&1, now).is_err());
        let later = now + FORGOTTEN;
        assert!((0..FREE).all(|_| attempts.begin(&1, later).is_ok()));
    }

    #[test]
    fn memory_is_bounded() {
        let mut attempts = Attempts::default();
        for key in 0..(MOST as u64 + 100) {
            assert_eq!(attempts.begin(&key, Steady(key)), Ok(()));
        }
        assert_eq!(attempts.made.len(), MOST);
    }

    proptest! {
        /// Whoever tries as fast as is let through gets at most the free ones and one for each wait.
        #[test]
        fn a_guesser_gets_few_tries_in_an_hour(steps in prop::collection::vec(0u64..2_000, 1..2_000)) {
            let (mut attempts, mut now, mut looked_at) = (Attempts::default(), Steady(0), 0u32);
            for step in steps {
                now = now + Span(step);
                looked_at += u32::from(attempts.begin(&(), now).is_ok());
            }
            let seconds = now.since(Steady(0)).as_secs();
            let bound = FREE + 1 + (seconds + 1).ilog2() + 1 + u32::try_from(seconds / LONGEST.as_secs()).unwrap();
            prop_assert!(looked_at <= bound, "{} tries in {} s", looked_at, seconds);
        }
    }
}
