//! A judge of requests that are in flight at one moment.

use super::{Ms, Over};
use std::collections::BTreeMap;

/// From when to when the provider had a request in hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stay {
    pub from: Ms,
    /// Not in hand any more at this instant.
    pub until: Ms,
    pub cost: u64,
}

/// At no instant more than `limit` in hand.
#[derive(Clone, Debug)]
pub struct Concurrency {
    limit: u64,
    stays: Vec<Stay>,
}

impl Concurrency {
    pub fn new(limit: u64) -> Concurrency {
        Concurrency { limit, stays: Vec::new() }
    }

    pub fn stay(&mut self, stay: Stay) {
        self.stays.push(stay);
    }

    /// In hand at `at`.
    pub fn level(&self, at: Ms) -> u64 {
        self.stays.iter().filter(|s| s.from <= at && at < s.until).map(|s| s.cost).sum()
    }

    /// The first instant at which too many were in hand.
    pub fn verdict(&self) -> Result<(), Over> {
        let mut turns: BTreeMap<Ms, (u64, u64)> = BTreeMap::new();
        for stay in self.stays.iter().filter(|stay| stay.from < stay.until) {
            turns.entry(stay.from).or_default().0 += stay.cost;
            turns.entry(stay.until).or_default().1 += stay.cost;
        }
        let mut count = 0;
        for (at, (come, gone)) in turns {
            count = count + come - gone;
            if count > self.limit {
                return Err(Over { judge: "requests in flight".to_owned(), at, count, limit: self.limit });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_that_leaves_makes_room_for_one_that_comes_at_the_same_instant() {
        let mut judge = Concurrency::new(1);
        judge.stay(Stay { from: 0, until: 10, cost: 1 });
        judge.stay(Stay { from: 10, until: 20, cost: 1 });
        assert_eq!(judge.verdict(), Ok(()));
        judge.stay(Stay { from: 19, until: 25, cost: 1 });
        assert_eq!(judge.verdict().map_err(|o| (o.at, o.count)), Err((19, 2)));
        assert_eq!(judge.level(20), 1);
    }
}
