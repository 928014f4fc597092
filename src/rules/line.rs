//! Whose turn it is among callers that wait for one budget: by rank, of equals who came first, and nobody is passed for ever. Where several
//! organizations wait, first whose turn it is among them, by weight, however many each sends. Decides who asks first, never whether:
//! that is the budget's. Pure; knows no time, so that a crowd cannot be waited out or outpaced.

use crate::domain::connection::Ask;
use crate::domain::ids::{Caller, Organization};
use crate::domain::part::PartsByOrganization;
use std::collections::BTreeMap;

/// So many of better ranks may go while somebody of a rank waits; then it is that rank's turn. While the poller is in line at least every
/// fourth request is its own, however many ask by hand.
pub const MOST_PASSES: u32 = 3;

const RANKS: usize = 5;

/// What a unit costs an organization of weight 1.
const STEP: u64 = 1 << 20;

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

/// What one organization, or everybody where there is one, has had of the line.
#[derive(Debug, Default)]
struct Turn {
    /// What it was served, in steps by its weight: who has less of it comes first (start-time fair queueing, Goyal, Vin and Cheng 1996).
    served: u64,
    /// By rank: how often better ones of its own went since one of it did, while somebody of it waited.
    passes: [u32; RANKS],
}

/// The waiting of one credential.
#[derive(Debug, Default)]
pub struct Line {
    next: u64,
    places: BTreeMap<u64, Ask>,
    turns: BTreeMap<Option<Organization>, Turn>,
    parts: PartsByOrganization,
    /// What the last one had been served that went.
    virtual_time: u64,
}

impl Line {
    /// The weights of the organizations from now on.
    pub fn divide(&mut self, parts: PartsByOrganization) {
        self.parts = parts;
    }

    /// Returns the number of the place.
    pub fn enter(&mut self, ask: Ask) -> u64 {
        let number = self.next;
        self.next += 1;
        let (of, waits) = (ask.organization.clone(), self.waits(&ask.organization));
        let turn = self.turns.entry(of).or_default();
        if !waits {
            // Nobody saves up turns by staying away.
            turn.served = turn.served.max(self.virtual_time);
        }
        self.places.insert(number, ask);
        number
    }

    /// It waits no more, and was not served.
    pub fn leave(&mut self, number: u64) {
        let left = self.places.remove(&number);
        self.forget(left.as_ref());
    }

    /// It was let through, and has passed every worse rank of which somebody still waits.
    pub fn serve(&mut self, number: u64) {
        let Some(ask) = self.places.remove(&number) else { return };
        let served = rank(ask.caller);
        let mut waits = [false; RANKS];
        let own = self.places.values().filter(|other| other.organization == ask.organization);
        own.for_each(|other| waits[rank(other.caller)] = true);
        let step = self.step(&ask.organization).saturating_mul(u64::from(ask.cost.max(1)));
        if let Some(turn) = self.turns.get_mut(&ask.organization) {
            for (_, passes) in turn.passes.iter_mut().enumerate().skip(served + 1).filter(|(worse, _)| waits[*worse]) {
                *passes = passes.saturating_add(1);
            }
            turn.passes[served] = 0;
            self.virtual_time = turn.served;
            turn.served = turn.served.saturating_add(step);
        }
        self.owe_no_more_than_one();
        self.forget(Some(&ask));
    }

    /// Who goes before this one, in no order.
    pub fn before(&self, number: u64) -> impl Iterator<Item = &Ask> {
        let own = self.places.get(&number).map(|ask| self.order(number, ask));
        let ahead = move |(n, ask): &(&u64, &Ask)| own.is_some_and(|own| self.order(**n, ask) < own);
        self.places.iter().filter(ahead).map(|(_, ask)| ask)
    }

    /// Whose organization had least; of one, the first of a rank that was passed often enough comes before all that were not; else by rank,
    /// and of equals who came first.
    fn order(&self, number: u64, ask: &Ask) -> (u64, bool, usize, u64) {
        let rank = rank(ask.caller);
        let turn = self.turns.get(&ask.organization);
        let (served, passes) = turn.map_or((0, 0), |turn| (turn.served, turn.passes[rank]));
        (served, passes < MOST_PASSES, rank, number)
    }

    fn step(&self, organization: &Option<Organization>) -> u64 {
        let part = organization.as_ref().and_then(|name| self.parts.get(name)).copied().unwrap_or_default();
        STEP / u64::from(part.weight.max(1))
    }

    fn waits(&self, organization: &Option<Organization>) -> bool {
        self.places.values().any(|ask| ask.organization == *organization)
    }

    /// Who could not go while others did was not passed: it is owed a turn, and not all of them.
    fn owe_no_more_than_one(&mut self) {
        if self.turns.len() < 2 {
            return;
        }
        let names: Vec<Option<Organization>> = self.turns.keys().filter(|name| self.waits(name)).cloned().collect();
        for name in names {
            let least = self.virtual_time.saturating_sub(self.step(&name));
            self.turns.entry(name).and_modify(|turn| turn.served = turn.served.max(least));
        }
    }

    /// Of organizations that have nobody in line, those are remembered that are ahead of the others.
    fn forget(&mut self, gone: Option<&Ask>) {
        let Some(Ask { organization: Some(_), .. }) = gone else { return };
        let waiting: Vec<&Option<Organization>> = self.places.values().map(|ask| &ask.organization).collect();
        let now = self.virtual_time;
        self.turns.retain(|name, turn| turn.served > now || waiting.contains(&name));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::ids::Endpoint;
    use proptest::prelude::*;
    use proptest::sample::select;

    fn ask(caller: Caller) -> Ask {
        Ask { caller, endpoint: Endpoint::from("/a"), cost: 1, organization: None }
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

    fn of(organization: &str, caller: Caller) -> Ask {
        Ask { organization: Some(organization.into()), ..ask(caller) }
    }

    #[test]
    fn t_a_flood_of_one_organization_lets_another_go_after_one_of_its_own() {
        let mut line = Line::default();
        for _ in 0..50 {
            line.enter(of("loud", Caller::Command));
        }
        line.serve(first(&line).unwrap());
        let poll = line.enter(of("quiet", Caller::Poller));
        line.serve(first(&line).unwrap());
        let next = first(&line).unwrap();
        assert!(
            !line.places.contains_key(&poll) || next == poll,
            "a poll waits for no more than one command of another"
        );
    }

    #[test]
    fn t_who_could_not_go_is_owed_one_turn_and_not_all_of_them() {
        let mut line = Line::default();
        let held = line.enter(of("held", Caller::Poller));
        for _ in 0..100 {
            let other = line.enter(of("other", Caller::Poller));
            line.serve(other);
        }
        line.serve(held);
        for _ in 0..10 {
            line.enter(of("held", Caller::Poller));
        }
        let other = line.enter(of("other", Caller::Poller));
        let mut passed = 0;
        while first(&line) != Some(other) {
            line.serve(first(&line).unwrap());
            passed += 1;
        }
        assert!(passed <= 2, "passed {passed} times");
    }

    proptest! {
        /// However many each sends: of two that always wait, each goes as often as its weight says, to one turn.
        #[test]
        fn t_law_who_always_waits_goes_by_weight(weights in (1u32..9, 1u32..9), crowd in 1usize..30, turns in 1u32..300) {
            let mut line = Line::default();
            let part = |weight| crate::domain::part::Part { weight, floor: 0 };
            line.divide([("loud".into(), part(weights.0)), ("quiet".into(), part(weights.1))].into());
            for _ in 0..crowd {
                line.enter(of("loud", Caller::Gateway));
            }
            line.enter(of("quiet", Caller::Poller));
            let (mut loud, mut quiet) = (0u32, 0u32);
            for _ in 0..turns {
                let next = first(&line).unwrap();
                let who = line.places[&next].clone();
                line.serve(next);
                *if who.organization == Some("loud".into()) { &mut loud } else { &mut quiet } += 1;
                line.enter(who);
            }
            let fair = |n: u32, own: u32| (f64::from(n) - f64::from(turns * own) / f64::from(weights.0 + weights.1)).abs();
            prop_assert!(fair(loud, weights.0) <= 1.01 && fair(quiet, weights.1) <= 1.01, "{loud} and {quiet}");
        }

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
