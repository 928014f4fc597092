//! The ledger of one credential in memory: every limit and the hold, decided together. Rebuilt from the durable charges.

use super::anchors::{Past, Seen};
use super::book::{Book, Posting};
use super::open::Open;
use super::share::{Own, Share, unused_keep};
use super::slots::Units;
use super::window::Window;
use super::{Refusal, Request, Reserved};
use crate::domain::charge::{Charge, Resolution, Settlement};
use crate::domain::connection::{Ask, Hold, HoldChange, HoldScope};
use crate::domain::ids::{Caller, ChargeId, CredentialId, Endpoint};
use crate::domain::limit::{Kind, Limit, Scope};
use crate::domain::quota::Learned;
use crate::domain::time::{Now, Span, Steady};
use std::collections::{BTreeMap, BTreeSet, HashMap};

mod usage;

/// Whether a window stands for its limit, or only agrees with the one that does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Shown,
    /// Of a paced limit: asked by requests that cost more than one (see [`Window::Pace`]).
    Beside,
}

/// One window of a limit with its books: one, or one for each endpoint.
#[derive(Clone, Debug)]
struct Counter {
    limit: Limit,
    window: Window,
    role: Role,
    grain: Span,
    books: BTreeMap<Option<Endpoint>, Book>,
    /// Where the provider's own count has taught something.
    shares: BTreeMap<Option<Endpoint>, Share>,
}

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
}

/// The ledger of one credential. `Clone` is for what-if questions and for undoing a batch that did not become durable.
#[derive(Clone, Debug)]
pub struct Ledger {
    credential: CredentialId,
    counters: Vec<Counter>,
    in_flight: HashMap<ChargeId, InFlight>,
    open: Open,
    holds: BTreeMap<HoldScope, Hold>,
}

impl Counter {
    /// The counters of a limit, one for each of its windows.
    fn all_of(limit: &Limit) -> impl Iterator<Item = Counter> {
        Window::all_of(limit).into_iter().enumerate().map(|(n, window)| {
            let grain = window.grain(limit.amount);
            let role = if n == 0 { Role::Shown } else { Role::Beside };
            let (books, shares) = Default::default();
            Counter { limit: limit.clone(), window, role, grain, books, shares }
        })
    }

    fn key(&self, endpoint: &Endpoint) -> Option<Endpoint> {
        match self.limit.scope {
            Scope::Credential => None,
            Scope::Endpoint => Some(endpoint.clone()),
        }
    }

    /// Units of this limit that a request of `cost` takes. In flight a request is one, whatever it costs.
    fn units(&self, cost: u64) -> u64 {
        if self.window.is_in_flight() { 1 } else { cost }
    }

    /// As declared, or stricter where the provider says so.
    fn window(&self, key: &Option<Endpoint>) -> &Window {
        self.shares.get(key).map_or(&self.window, Share::window)
    }

    /// The amount in force.
    fn in_force(&self, key: &Option<Endpoint>) -> u64 {
        self.shares.get(key).map_or(self.limit.amount, Share::amount)
    }

    /// How a charge stands in the book that arrived (or is feared to arrive) at `arrived`.
    fn posting(&self, charge: &InFlight, arrived: Steady, seen: Seen) -> Posting {
        let units = self.units(charge.cost);
        Posting { reserved: charge.reserved_at, arrived, caller: charge.caller, units, seen }
    }

    /// Returns when it arrives in the book: the pause after a paced one is longer the more it cost, it stands as much later.
    fn post(&mut self, charge: &InFlight, (arrived, seen): (Steady, Seen), past: Past) -> Steady {
        let key = self.key(&charge.endpoint);
        let arrived = match self.window(&key) {
            Window::Pace { unit, .. } => arrived + Span(unit.0.saturating_mul(charge.cost.saturating_sub(1))),
            _ => arrived,
        };
        let posting = self.posting(charge, arrived, seen);
        let book = self.books.entry(key).or_insert_with(|| Book::new(&self.window, past));
        book.post(posting, self.grain);
        arrived
    }

    fn withdraw(&mut self, charge: &InFlight, place: Steady) {
        let posting = self.posting(charge, place, Seen::Perhaps);
        if let Some(book) = self.books.get_mut(&self.key(&charge.endpoint)) {
            book.withdraw(posting, self.grain);
        }
    }

    /// Whether `caller` may take `cost` more beside what counts already, of ours and of `others`.
    fn fits(&self, key: &Option<Endpoint>, counting: &Units, others: u64, caller: Caller, cost: u64) -> bool {
        if matches!(self.window, Window::Pace { .. }) {
            return counting.total() == 0;
        }
        let kept: u64 = match self.limit.kind {
            Kind::Pace { .. } => 0,
            _ => unused_keep(&self.limit, key.as_ref(), counting, Some(caller)),
        };
        let total = counting.total().saturating_add(self.units(cost)).saturating_add(kept).saturating_add(others);
        let capped = match self.limit.cap.get(&caller) {
            Some(cap) if self.window.is_in_flight() => counting.of(caller) < *cap,
            _ => true,
        };
        total <= self.in_force(key) && capped
    }

    /// Whether it could ever fit: on an empty book.
    fn could_fit(&self, key: &Option<Endpoint>, caller: Caller, cost: u64) -> bool {
        self.units(cost) <= self.in_force(key).max(1) && self.fits(key, &Units::default(), 0, caller, cost)
    }

    /// `Ok`, or the first moment at which it fits if nothing else happens.
    fn question(&self, now: &Now, ask: &Ask, open: &Open) -> Result<(), Option<Steady>> {
        let (key, cost) = (self.key(&ask.endpoint), u64::from(ask.cost));
        if !self.could_fit(&key, ask.caller, cost) {
            return Err(None);
        }
        if self.role == Role::Beside && cost <= 1 {
            return Ok(());
        }
        let (book, window) = (self.books.get(&key), self.window(&key));
        let mut counting = book.map(|b| b.live(window, now)).unwrap_or_default().plus(&self.standing(&key, open));
        let taken = self.shares.get(&key).and_then(|share| share.taken(now));
        let mut others = taken.map_or(0, |(units, _)| units);
        if self.fits(&key, &counting, others, ask.caller, cost) {
            return Ok(());
        }
        let mut mine = book.into_iter().flat_map(|b| b.counting(window, now)).peekable();
        let mut theirs = taken.map(|(_, release)| release);
        loop {
            let at = match (mine.peek().map(|(release, _)| *release), theirs) {
                (None, None) => return Err(Some(Steady::MAX)),
                (Some(own), foreign) if foreign.is_none_or(|f| own <= f) => {
                    counting = counting.minus(&mine.next().map(|(_, units)| units).unwrap_or_default());
                    own
                }
                (_, foreign) => {
                    (others, theirs) = (0, None);
                    foreign.unwrap_or(Steady::MAX)
                }
            };
            if self.fits(&key, &counting, others, ask.caller, cost) {
                return Err(Some(at));
            }
        }
    }

    /// What of those that stay open counts here.
    fn standing(&self, key: &Option<Endpoint>, open: &Open) -> Units {
        if self.window.is_in_flight() { open.units(key) } else { Units::default() }
    }
}

impl Ledger {
    pub fn new(credential: CredentialId, limits: Vec<Limit>) -> Ledger {
        let counters = limits.iter().flat_map(Counter::all_of).collect();
        let (in_flight, open, holds) = Default::default();
        Ledger { credential, counters, in_flight, open, holds }
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
            let window = counter.shares.get(&key).map_or(&counter.window, Share::window);
            if let Some(book) = counter.books.get_mut(&key) {
                book.advance(window, now);
            }
        }
        self.would_admit(now, &request.ask)?;
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
    pub fn may_stay_open(&self, endpoint: &Endpoint) -> Result<(), Refusal> {
        for counter in self.counters.iter().filter(|counter| counter.window.is_in_flight()) {
            let (key, limit) = (counter.key(endpoint), counter.limit.name.clone());
            match counter.in_force(&key) {
                0 | 1 => return Err(Refusal::NeverFits { limit }),
                most if self.open.units(&key).total() + 1 < most => {}
                _ => return Err(Refusal::NotUntil { at: Steady::MAX, limit }),
            }
        }
        Ok(())
    }

    /// As [`Ledger::admit`], without taking anything.
    pub fn would_admit(&self, now: &Now, ask: &Ask) -> Result<(), Refusal> {
        let concerned = || self.holds().filter(|h| h.scope.covers(&ask.endpoint));
        if let Some(hold) = concerned().filter(|h| h.is_in_force(now.steady)).max_by_key(|h| h.until) {
            return Err(Refusal::Held(Box::new(hold.clone())));
        }
        let probe = concerned().filter_map(|h| self.probe_of(h, now.steady)).max();
        let mut latest: Option<(Steady, &str)> = None;
        for counter in &self.counters {
            match counter.question(now, ask, &self.open) {
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
        for counter in &mut self.counters {
            let horizon = Steady(now.steady.0.saturating_sub(counter.window.memory().0));
            for (key, book) in &mut counter.books {
                book.advance(counter.shares.get(key).map_or(&counter.window, Share::window), now);
                book.forget(horizon);
            }
            counter.books.retain(|_, book| !book.is_empty());
        }
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
        };
        let feared = (entry.deadline, Seen::Perhaps);
        entry.places = self.counters.iter_mut().map(|c| c.post(&entry, feared, past)).collect();
        self.in_flight.insert(charge.id, entry);
    }
}

#[cfg(test)]
#[path = "ledger_tests.rs"]
mod tests;
