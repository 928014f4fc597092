//! Whose turn it is among callers that wait for one budget: by rank, of equals who came first, and nobody is passed for ever. Decides
//! who asks first, never whether: that is the budget's. Pure; knows no time, so that a crowd cannot be waited out or outpaced.

use crate::domain::connection::Ask;
use crate::domain::ids::Caller;
use std::collections::BTreeMap;

/// So many of better ranks may go while somebody of a rank waits; then it is that rank's turn. While the poller is in line at least every
/// fourth request is its own, however many ask by hand.
pub const MOST_PASSES: u32 = 3;

const RANKS: usize = 5;

/// What people wait for comes before what comes again by itself, and a question out of curiosity last.
const fn rank(caller: Caller) -> usize {
    match caller {
        Caller::Command => 0,
        Caller::Trigger => 1,
        Caller::Refresh | Caller::Gateway => 2,
        Caller::Poller => 3,
        Caller::Probe => 4,
    }
}

/// The waiting of one credential.
#[derive(Debug, Default)]
pub struct Line {
    next: u64,
    places: BTreeMap<u64, Ask>,
    /// By rank: how often better ones went since one of it did, while somebody of it waited.
    passes: [u32; RANKS],
}

impl Line {
    /// Returns the number of the place.
    pub fn enter(&mut self, ask: Ask) -> u64 {
        let number = self.next;
        self.next += 1;
        self.places.insert(number, ask);
        number
    }

    /// It waits no more, and was not served.
    pub fn leave(&mut self, number: u64) {
        self.places.remove(&number);
    }

    /// It was let through, and has passed every worse rank of which somebody still waits.
    pub fn serve(&mut self, number: u64) {
        let Some(served) = self.places.remove(&number).map(|ask| rank(ask.caller)) else { return };
        let mut waits = [false; RANKS];
        self.places.values().for_each(|ask| waits[rank(ask.caller)] = true);
        for (_, passes) in self.passes.iter_mut().enumerate().skip(served + 1).filter(|(worse, _)| waits[*worse]) {
            *passes = passes.saturating_add(1);
        }
        self.passes[served] = 0;
    }

    /// Who goes before this one, in no order.
    pub fn before(&self, number: u64) -> impl Iterator<Item = &Ask> {
        let own = self.places.get(&number).map(|ask| self.order(number, ask));
        let ahead = move |(n, ask): &(&u64, &Ask)| own.is_some_and(|own| self.order(**n, ask) < own);
        self.places.iter().filter(ahead).map(|(_, ask)| ask)
    }

    /// The first of a rank that was passed often enough comes before all that were not; else by rank, and of equals who came first.
    fn order(&self, number: u64, ask: &Ask) -> (bool, usize, u64) {
        let rank = rank(ask.caller);
        (self.passes[rank] < MOST_PASSES, rank, number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::ids::Endpoint;
    use proptest::prelude::*;
    use proptest::sample::select;

    fn ask(caller: Caller) -> Ask {
        Ask { caller, endpoint: Endpoint::from("/a"), cost: 1 }
    }

    /// Whoever has nobody before it.
    fn first(line: &Line) -> Option<u64> {
        line.places.keys().copied().find(|n| line.before(*n).next().is_none())
    }

    #[test]
    fn f2_by_rank_and_of_equals_who_came_first() {
        let mut line = Line::default();
        let probe = line.enter(ask(Caller::Probe));
        let poller = line.enter(ask(Caller::Poller));
        let (reader, gateway) = (line.enter(ask(Caller::Refresh)), line.enter(ask(Caller::Gateway)));
        let (trigger, command) = (line.enter(ask(Caller::Trigger)), line.enter(ask(Caller::Command)));
        let mut served = Vec::new();
        while let Some(number) = first(&line) {
            line.leave(number);
            served.push(number);
        }
        assert_eq!(served, [command, trigger, reader, gateway, poller, probe]);
    }

    #[test]
    fn f2_somebody_who_gives_up_passed_nobody() {
        let mut line = Line::default();
        let poller = line.enter(ask(Caller::Poller));
        for _ in 0..2 * MOST_PASSES {
            let reader = line.enter(ask(Caller::Refresh));
            line.leave(reader);
        }
        let reader = line.enter(ask(Caller::Refresh));
        assert_eq!((first(&line), line.before(poller).count()), (Some(reader), 1));
    }

    proptest! {
        /// However many refreshes wait and come: while the poller is in line, it is served after at most `MOST_PASSES` of them.
        #[test]
        fn f2_law_under_endless_refreshes_the_poller_gets_its_share(crowd in 1usize..40, arrivals in prop::collection::vec(0usize..5, 1..200)) {
            let mut line = Line::default();
            for _ in 0..crowd {
                line.enter(ask(Caller::Refresh));
            }
            let mut poller = line.enter(ask(Caller::Poller));
            let mut passed = 0;
            for more in arrivals {
                // At least one always waits.
                for _ in 0..=more {
                    line.enter(ask(Caller::Refresh));
                }
                let next = first(&line).unwrap();
                line.serve(next);
                if next == poller {
                    (poller, passed) = (line.enter(ask(Caller::Poller)), 0);
                } else {
                    passed += 1;
                }
                prop_assert!(passed <= MOST_PASSES, "passed {passed} times");
            }
        }

        /// No rank starves: while somebody of it waits, one of it goes within a bounded number of turns, whoever else comes.
        #[test]
        fn f2_law_no_rank_is_passed_for_ever(arrivals in prop::collection::vec(select(Caller::ALL.to_vec()), 1..300), every in 1usize..4) {
            let mut line = Line::default();
            let mut since = [0usize; RANKS];
            for (at, caller) in arrivals.into_iter().enumerate() {
                line.enter(ask(caller));
                if at % every != 0 {
                    continue;
                }
                let next = first(&line).unwrap();
                let served = rank(line.places[&next].caller);
                line.serve(next);
                for (rank_of, since) in since.iter_mut().enumerate() {
                    let waits = line.places.values().any(|ask| rank(ask.caller) == rank_of);
                    *since = if rank_of == served || !waits { 0 } else { *since + 1 };
                    prop_assert!(*since <= MOST_PASSES as usize + 2 * RANKS, "rank {rank_of}: {since}");
                }
            }
        }
    }
}
