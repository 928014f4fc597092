//! The ledger of one credential in memory: every limit and the hold, decided together. Rebuilt from the durable charges.

use super::anchors::{Past, Seen};
use super::open::Open;
use super::parts::Parts;
use super::share::{Own, Share};
use super::window::Window;
use super::{Refusal, Request, Reserved};
use crate::domain::charge::{Charge, Resolution, Settlement};
use crate::domain::connection::{Ask, Hold, HoldChange, HoldScope};
use crate::domain::ids::{Caller, ChargeId, CredentialId, Endpoint, Organization};
use crate::domain::limit::Limit;
use crate::domain::quota::Learned;
use crate::domain::time::{Now, Steady};
use counter::{Claim, Counter, Role};
use std::collections::{BTreeMap, BTreeSet, HashMap};

mod counter;
mod usage;

/// What must be known of a charge to take it out of the books again.
#[derive(Clone, Debug)]
struct InFlight {
    caller: Caller,
    endpoint: Endpoint,
    cost: u64,
    reserved_at: Steady,
    deadline: Steady,
    /// As when it arrives in the book of each counter.
    places: Vec<Steady>,
    /// Where several organizations spend: which of how many it was.
    part: Option<(usize, usize)>,
}

/// The ledger of one credential. `Clone` is for what-if questions and for undoing a batch that did not become durable.
#[derive(Clone, Debug)]
pub struct Ledger {
    credential: CredentialId,
    counters: Vec<Counter>,
    in_flight: HashMap<ChargeId, InFlight>,
    open: Open,
    holds: BTreeMap<HoldScope, Hold>,
    /// Who divides it, where several organizations spend with the credential.
    parts: Option<Parts>,
}

impl Ledger {
    pub fn new(credential: CredentialId, limits: Vec<Limit>) -> Ledger {
        let counters = limits.iter().flat_map(Counter::all_of).collect();
        let (in_flight, open, holds, parts) = Default::default();
        Ledger { credential, counters, in_flight, open, holds, parts }
    }

    /// Divided between these organizations; `None`: one has all of it. Said before charges are restored, and again with the same
    /// organizations where their parts are others.
    pub fn divide(&mut self, parts: Option<Parts>) {
        self.parts = parts;
    }

    fn claim(&self, organization: Option<&Organization>) -> Option<Claim<'_>> {
        let parts = self.parts.as_ref()?;
        Some(Claim { parts, place: organization.and_then(|name| parts.place(name)) })
    }

    pub fn limits(&self) -> impl Iterator<Item = &Limit> {
        self.counters.iter().filter(|c| c.role == Role::Shown).map(|c| &c.limit)
    }

    /// Takes in a charge read from the store. Unresolved ones count as arriving at their deadline.
    pub fn restore(&mut self, charge: &Charge) {
        // What was before the oldest charge that is read is not known.
        self.take(charge, Past::Unknown);
        if let Some(resolution) = &charge.resolution {
            self.resolve(charge.id, resolution);
        }
    }

    /// From now on our share is what `learned` leaves of it.
    /// Where the callers come: decides on which books their units are kept.
    pub fn set_reach(&mut self, reach: &BTreeMap<Caller, BTreeSet<Endpoint>>) {
        self.counters.iter_mut().for_each(|counter| counter.limit.reach = reach.clone());
    }

    pub fn teach(&mut self, learned: &Learned) {
        for counter in self.counters.iter_mut().filter(|c| c.limit.name == learned.about.limit) {
            let share = Share::of(&counter.limit, &counter.window, learned);
            counter.shares.insert(learned.about.endpoint.clone(), share);
        }
    }

    /// See [`Own`]: of the limit of that name, for that endpoint where it is scoped so.
    pub fn own(&self, limit: &str, endpoint: &Endpoint, asked: Steady, cost: u32, now: &Now) -> Option<Own> {
        let counter = self.counters.iter().find(|c| c.limit.name == limit)?;
        let key = counter.key(endpoint);
        Own::of(counter.books.get(&key), counter.window(&key), asked, u64::from(cost), now)
    }

    pub fn change_hold(&mut self, change: HoldChange) {
        match change {
            HoldChange::Put(hold) => drop(self.holds.insert(hold.scope.clone(), hold)),
            HoldChange::Lift(scope) => drop(self.holds.remove(&scope)),
        }
    }

    /// Every hold that is not lifted: in force, unproven, or on its ramp.
    pub fn holds(&self) -> impl Iterator<Item = &Hold> {
        self.holds.values()
    }

    /// Decides under all limits and the hold together; takes the units under all of them or under none. `id` is the number
    /// that the charge gets if it is taken; numbers must not repeat.
    pub fn admit(&mut self, now: &Now, id: ChargeId, request: &Request) -> Result<Reserved, Refusal> {
        for counter in &mut self.counters {
            let key = counter.key(&request.ask.endpoint);
            counter.advance(&key, now);
        }
        let organization = Some(&request.connection.organization);
        if let Err(refusal) = self.decide(now, &request.ask, self.claim(organization)) {
            if let (Some(parts), Refusal::NotUntil { .. }) = (&self.parts, &refusal) {
                let claim = Claim { parts, place: parts.place(&request.connection.organization) };
                self.counters.iter_mut().for_each(|counter| counter.note_refusal(now, &request.ask, &self.open, claim));
            }
            return Err(refusal);
        }
        let send_by = now.steady + request.send_grace;
        let charge = Charge {
            id,
            credential: self.credential,
            connection: request.connection.clone(),
            target: request.target.clone(),
            caller: request.ask.caller,
            endpoint: request.ask.endpoint.clone(),
            cost: request.ask.cost,
            reserved_at: now.stamp(),
            deadline: send_by + request.request_timeout,
            resolution: None,
        };
        self.take(&charge, Past::Quiet);
        Ok(Reserved { charge, send_by })
    }

    /// What stays open beyond its answer's arrival.
    pub fn going_on(&mut self) -> &mut Open {
        &mut self.open
    }

    /// Takes over what is open from a ledger that this one replaces.
    pub fn goes_on_from(&mut self, before: &Ledger) {
        self.open = before.open.clone();
    }

    /// Whether one more may stay open at this endpoint: it leaves others a place, whatever the limit.
    pub fn may_stay_open(&self, endpoint: &Endpoint, organization: &Organization) -> Result<(), Refusal> {
        for counter in self.counters.iter().filter(|counter| counter.window.is_in_flight()) {
            let (key, limit) = (counter.key(endpoint), counter.limit.name.clone());
            match counter.in_force(&key) {
                0 | 1 => return Err(Refusal::NeverFits { limit }),
                most if self.open.units(&key).total() + 1 < most && self.leaves_others(counter, &key, organization) => {
                }
                _ => return Err(Refusal::NotUntil { at: Steady::MAX, limit }),
            }
        }
        Ok(())
    }

    /// What stays open comes back to nobody: an organization keeps no more open than its share, or one.
    fn leaves_others(&self, counter: &Counter, key: &Option<Endpoint>, organization: &Organization) -> bool {
        let Some(Claim { parts, place: Some(place) }) = self.claim(Some(organization)) else { return true };
        let share = counter.entitled(key, parts, 0).get(place).map_or(0, |entitled| entitled.share);
        self.open.of(key, organization) < share.max(1)
    }

    /// As [`Ledger::admit`], without taking anything.
    pub fn would_admit(&self, now: &Now, ask: &Ask) -> Result<(), Refusal> {
        self.decide(now, ask, self.claim(ask.organization.as_ref()))
    }

    fn decide(&self, now: &Now, ask: &Ask, claim: Option<Claim<'_>>) -> Result<(), Refusal> {
        let concerned = || self.holds().filter(|h| h.scope.covers(&ask.endpoint));
        if let Some(hold) = concerned().filter(|h| h.is_in_force(now.steady)).max_by_key(|h| h.until) {
            return Err(Refusal::Held(Box::new(hold.clone())));
        }
        let probe = concerned().filter_map(|h| self.probe_of(h, now.steady)).max();
        let mut latest: Option<(Steady, &str)> = None;
        for counter in &self.counters {
            match counter.question(now, ask, &self.open, claim) {
                Ok(()) => {}
                Err(None) => return Err(Refusal::NeverFits { limit: counter.limit.name.clone() }),
                Err(Some(at)) => {
                    if latest.is_none_or(|(l, _)| at > l) {
                        latest = Some((at, &counter.limit.name));
                    }
                }
            }
        }
        match (latest, probe) {
            (None, None) => Ok(()),
            (latest, Some(at)) if latest.is_none_or(|(free, _)| at > free) => Err(Refusal::Probing { at }),
            (None, Some(at)) => Err(Refusal::Probing { at }),
            (Some((at, limit)), _) => Err(Refusal::NotUntil { at, limit: limit.to_owned() }),
        }
    }

    /// Until when a request is under way that was sent to find out whether `hold` is over. In flight or given up: at its
    /// deadline the next one may try.
    fn probe_of(&self, hold: &Hold, now: Steady) -> Option<Steady> {
        let tries = |c: &&InFlight| c.reserved_at >= hold.until && hold.scope.covers(&c.endpoint) && c.deadline > now;
        let under_way = self.in_flight.values().filter(|_| hold.is_unproven(now)).filter(tries);
        under_way.map(|c| c.deadline).max()
    }

    /// Posted: the charge counts from its true arrival, and with the cost that the provider named if that is more. Voided: it never
    /// counted. Unknown and repeated numbers change nothing.
    pub fn resolve(&mut self, id: ChargeId, resolution: &Resolution) {
        let Some(charge) = self.in_flight.remove(&id) else { return };
        let arrived = resolution.at.steady.max(charge.reserved_at);
        let seen = if resolution.status.is_some() { Seen::Surely } else { Seen::Perhaps };
        let cost = charge.cost.max(u64::from(resolution.cost.unwrap_or(0)));
        let posted = InFlight { cost, ..charge.clone() };
        for (counter, place) in self.counters.iter_mut().zip(&charge.places) {
            counter.withdraw(&charge, *place);
            if resolution.settlement == Settlement::Posted && !counter.window.is_in_flight() {
                counter.post(&posted, (arrived, seen), Past::Unknown);
            }
        }
    }

    /// Unresolved charges whose answer cannot come any more.
    pub fn overdue(&self, now: &Now) -> Vec<ChargeId> {
        let mut ids: Vec<_> =
            self.in_flight.iter().filter(|(_, c)| c.deadline <= now.steady).map(|(id, _)| *id).collect();
        ids.sort_unstable();
        ids
    }

    /// Forgets what no limit can count any more, under any clock.
    pub fn sweep(&mut self, now: &Now) {
        self.counters.iter_mut().for_each(|counter| counter.sweep(now));
    }

    /// No charge reserved before this is counted by any of the limits, under any clock: where a restart begins to read.
    /// Allows an hour between reservation and arrival.
    pub fn horizon(limits: &[Limit], now: &Now) -> Steady {
        let memory = limits.iter().flat_map(Window::all_of).map(|w| w.memory().0).max().unwrap_or(0);
        Steady(now.steady.0.saturating_sub(memory).saturating_sub(3_600_000))
    }

    fn take(&mut self, charge: &Charge, past: Past) {
        let mut entry = InFlight {
            caller: charge.caller,
            endpoint: charge.endpoint.clone(),
            cost: u64::from(charge.cost),
            reserved_at: charge.reserved_at.steady,
            deadline: charge.deadline,
            places: Vec::new(),
            part: self
                .parts
                .as_ref()
                .and_then(|parts| Some((parts.place(&charge.connection.organization)?, parts.len()))),
        };
        let feared = (entry.deadline, Seen::Perhaps);
        entry.places = self.counters.iter_mut().map(|c| c.post(&entry, feared, past)).collect();
        self.in_flight.insert(charge.id, entry);
    }
}

#[cfg(test)]
#[path = "ledger_tests.rs"]
mod tests;
