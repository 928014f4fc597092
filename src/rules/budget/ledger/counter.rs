//! One window of a limit with its books, and what it answers by itself.

use super::InFlight;
use crate::domain::connection::Ask;
use crate::domain::ids::{Caller, Endpoint};
use crate::domain::limit::{Kind, Limit, Scope};
use crate::domain::time::{Now, Span, Steady};
use crate::rules::budget::anchors::{Past, Seen};
use crate::rules::budget::book::{Book, Posting};
use crate::rules::budget::lending::{Look, Moments, Tally};
use crate::rules::budget::open::Open;
use crate::rules::budget::parts::{Entitled, Parts};
use crate::rules::budget::share::{Share, unused_keep};
use crate::rules::budget::slots::{Units, round_up};
use crate::rules::budget::window::Window;
use std::collections::BTreeMap;

/// Whether a window stands for its limit, or only agrees with the one that does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Shown,
    /// Of a paced limit: asked by requests that cost more than one (see [`Window::Pace`]).
    Beside,
}

/// One window of a limit with its books: one, or one for each endpoint.
#[derive(Clone, Debug)]
pub(super) struct Counter {
    pub limit: Limit,
    pub window: Window,
    pub role: Role,
    grain: Span,
    pub books: BTreeMap<Option<Endpoint>, Book>,
    /// Where the provider's own count has taught something.
    pub shares: BTreeMap<Option<Endpoint>, Share>,
    /// Where several organizations spend: what each has used, in the order of their [`Parts`].
    pub lending: BTreeMap<Option<Endpoint>, Vec<Tally>>,
}

/// Who asks, where several organizations spend with the credential.
#[derive(Clone, Copy)]
pub(super) struct Claim<'a> {
    pub parts: &'a Parts,
    /// Which of them; `None`: none of them.
    pub place: Option<usize>,
}

impl Counter {
    /// The counters of a limit, one for each of its windows.
    pub fn all_of(limit: &Limit) -> impl Iterator<Item = Counter> {
        Window::all_of(limit).into_iter().enumerate().map(|(n, window)| {
            let grain = window.grain(limit.amount);
            let role = if n == 0 { Role::Shown } else { Role::Beside };
            let (books, shares, lending) = Default::default();
            Counter { limit: limit.clone(), window, role, grain, books, shares, lending }
        })
    }

    pub fn key(&self, endpoint: &Endpoint) -> Option<Endpoint> {
        match self.limit.scope {
            Scope::Credential => None,
            Scope::Endpoint => Some(endpoint.clone()),
        }
    }

    /// Units of this limit that a request of `cost` takes. In flight a request is one, whatever it costs.
    pub fn units(&self, cost: u64) -> u64 {
        if self.window.is_in_flight() { 1 } else { cost }
    }

    /// As declared, or stricter where the provider says so.
    pub fn window(&self, key: &Option<Endpoint>) -> &Window {
        self.shares.get(key).map_or(&self.window, Share::window)
    }

    /// The amount in force.
    pub fn in_force(&self, key: &Option<Endpoint>) -> u64 {
        self.shares.get(key).map_or(self.limit.amount, Share::amount)
    }

    /// How a charge stands in the book that arrived (or is feared to arrive) at `arrived`.
    fn posting(&self, charge: &InFlight, arrived: Steady, seen: Seen) -> Posting {
        let units = self.units(charge.cost);
        Posting { reserved: charge.reserved_at, arrived, caller: charge.caller, units, seen }
    }

    /// Returns when it arrives in the book: the pause after a paced one is longer the more it cost, it stands as much later.
    pub fn post(&mut self, charge: &InFlight, (arrived, seen): (Steady, Seen), past: Past) -> Steady {
        let key = self.key(&charge.endpoint);
        let arrived = match self.window(&key) {
            Window::Pace { unit, .. } => arrived + Span(unit.0.saturating_mul(charge.cost.saturating_sub(1))),
            _ => arrived,
        };
        let posting = self.posting(charge, arrived, seen);
        let (grain, lends) = (self.grain, self.lends());
        let book = self.books.entry(key.clone()).or_insert_with(|| Book::new(&self.window, past));
        book.post(posting, grain);
        if let Some((place, of)) = charge.part.filter(|_| lends) {
            let tallies = self.lending.entry(key).or_insert_with(|| vec![Tally::default(); of]);
            tallies.get_mut(place).into_iter().for_each(|tally| tally.post(round_up(arrived, grain), posting.units));
        }
        arrived
    }

    pub fn withdraw(&mut self, charge: &InFlight, place: Steady) {
        let (posting, key) = (self.posting(charge, place, Seen::Perhaps), self.key(&charge.endpoint));
        if let Some(book) = self.books.get_mut(&key) {
            book.withdraw(posting, self.grain);
        }
        let tallies = charge.part.and_then(|(part, _)| self.lending.get_mut(&key)?.get_mut(part));
        tallies.into_iter().for_each(|tally| tally.withdraw(round_up(place, self.grain), posting.units));
    }

    /// Whether organizations divide it. Of a pace there is nothing to lend: there turns are taken in line.
    pub fn lends(&self) -> bool {
        self.role == Role::Shown && !matches!(self.window, Window::Pace { .. })
    }

    pub fn moments(&self, key: &Option<Endpoint>) -> Moments<'_> {
        let releases = self.books.get(key).map(Book::opened).unwrap_or_default();
        Moments { window: self.window(key), releases, memory: self.limit.kind.nominal_window().unwrap_or_default() }
    }

    /// What each organization has of what callers are not kept and others have not taken.
    pub fn entitled(&self, key: &Option<Endpoint>, parts: &Parts, others: u64) -> Vec<Entitled> {
        let kept: u64 = self.limit.keeps_on(key.as_ref()).map(|(_, units)| units).sum();
        parts.entitled(self.in_force(key).saturating_sub(kept).saturating_sub(others))
    }

    /// What stays open of each organization.
    fn open_of(&self, key: &Option<Endpoint>, parts: &Parts, open: &Open) -> Vec<u64> {
        if self.window.is_in_flight() { parts.names().map(|name| open.of(key, name)).collect() } else { Vec::new() }
    }

    /// How each organization stands.
    pub fn look(&self, key: &Option<Endpoint>, parts: &Parts, open: &Open, now: &Now) -> Look {
        let tallies = self.lending.get(key).map(Vec::as_slice).unwrap_or_default();
        Look::new(tallies, &self.open_of(key, parts, open), &self.moments(key), now)
    }

    /// Who was refused here below its share wants it back.
    pub fn note_refusal(&mut self, now: &Now, ask: &Ask, open: &Open, claim: Claim<'_>) {
        let (Some(place), key) = (claim.place, self.key(&ask.endpoint)) else { return };
        if !self.lends() || !matches!(self.question(now, ask, open, Some(claim)), Err(Some(_))) {
            return;
        }
        let others = self.counting(&key, now, open).1.map_or(0, |(units, _)| units);
        let share = self.entitled(&key, claim.parts, others).get(place).map_or(0, |entitled| entitled.share);
        let units = self.units(u64::from(ask.cost));
        if self.look(&key, claim.parts, open, now).used(place).saturating_add(units) <= share {
            let tallies = self.lending.entry(key).or_insert_with(|| vec![Tally::default(); claim.parts.len()]);
            tallies.get_mut(place).into_iter().for_each(|tally| tally.is_refused(now.steady));
        }
    }

    pub fn advance(&mut self, key: &Option<Endpoint>, now: &Now) {
        let window = self.shares.get(key).map_or(&self.window, Share::window);
        if let Some(book) = self.books.get_mut(key) {
            book.advance(window, now);
        }
    }

    /// Forgets what cannot count any more, under any clock.
    pub fn sweep(&mut self, now: &Now) {
        for (key, mut tallies) in std::mem::take(&mut self.lending) {
            let moments = self.moments(&key);
            tallies.iter_mut().for_each(|tally| tally.forget(&moments, now));
            if tallies.iter().any(|tally| !tally.is_empty()) {
                self.lending.insert(key, tallies);
            }
        }
        let horizon = Steady(now.steady.0.saturating_sub(self.window.memory().0));
        for (key, book) in &mut self.books {
            book.advance(self.shares.get(key).map_or(&self.window, Share::window), now);
            book.forget(horizon);
        }
        self.books.retain(|_, book| !book.is_empty());
    }

    /// Whether `caller` may take `cost` more beside what counts already, of ours and of `others`, among them what is held for them.
    fn fits(&self, key: &Option<Endpoint>, counting: &Units, others: u64, (caller, cost): (Caller, u64)) -> bool {
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
    fn could_fit(&self, key: &Option<Endpoint>, asks: (Caller, u64), claim: Option<Claim<'_>>) -> bool {
        let floors = claim.filter(|_| self.lends()).map_or(0, |claim| {
            let entitled = self.entitled(key, claim.parts, 0);
            let others = entitled.iter().enumerate().filter(|(other, _)| Some(*other) != claim.place);
            others.map(|(_, entitled)| entitled.floor).sum()
        });
        self.units(asks.1) <= self.in_force(key).max(1) && self.fits(key, &Units::default(), floors, asks)
    }

    /// `Ok`, or the first moment at which it fits if nothing else happens.
    pub fn question(&self, now: &Now, ask: &Ask, open: &Open, claim: Option<Claim<'_>>) -> Result<(), Option<Steady>> {
        let (key, asks) = (self.key(&ask.endpoint), (ask.caller, u64::from(ask.cost)));
        if !self.could_fit(&key, asks, claim) {
            return Err(None);
        }
        if self.role == Role::Beside && asks.1 <= 1 {
            return Ok(());
        }
        match claim.filter(|_| self.lends()) {
            Some(claim) => self.question_among(now, (&key, asks), open, claim),
            None => self.question_alone(now, (&key, asks), open),
        }
    }

    /// What counts now, and of others with the moment at which that stops.
    fn counting(&self, key: &Option<Endpoint>, now: &Now, open: &Open) -> (Units, Option<(u64, Steady)>) {
        let live = self.books.get(key).map(|b| b.live(self.window(key), now)).unwrap_or_default();
        (live.plus(&self.standing(key, open)), self.shares.get(key).and_then(|share| share.taken(now)))
    }

    fn question_alone(
        &self,
        now: &Now,
        (key, asks): (&Option<Endpoint>, (Caller, u64)),
        open: &Open,
    ) -> Result<(), Option<Steady>> {
        let (book, window) = (self.books.get(key), self.window(key));
        let (mut counting, taken) = self.counting(key, now, open);
        let mut others = taken.map_or(0, |(units, _)| units);
        if self.fits(key, &counting, others, asks) {
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
            if self.fits(key, &counting, others, asks) {
                return Err(Some(at));
            }
        }
    }

    /// The same where several organizations divide it: what is held for others counts as theirs, until it lapses.
    fn question_among(
        &self,
        now: &Now,
        (key, asks): (&Option<Endpoint>, (Caller, u64)),
        open: &Open,
        Claim { parts, place }: Claim<'_>,
    ) -> Result<(), Option<Steady>> {
        let (book, window) = (self.books.get(key), self.window(key));
        let (mut counting, taken) = self.counting(key, now, open);
        let (mut others, mut theirs) = (taken.map_or(0, |(units, _)| units), taken.map(|(_, release)| release));
        let mut entitled = self.entitled(key, parts, others);
        let most: u64 = entitled.iter().map(|e| e.share.max(e.floor)).sum();
        // Nobody has to be looked at while all that can be held is there.
        if self.fits(key, &counting, others.saturating_add(most), asks) {
            return Ok(());
        }
        let (mut look, units) = (self.look(key, parts, open, now), self.units(asks.1));
        if self.fits(key, &counting, others + look.withheld(place, units, &entitled), asks) {
            return Ok(());
        }
        let mut mine = book.into_iter().flat_map(|b| b.counting(window, now)).peekable();
        loop {
            let next = [mine.peek().map(|(release, _)| *release), theirs, look.next()].into_iter().flatten().min();
            let Some(at) = next else { return Err(Some(Steady::MAX)) };
            while let Some((_, units)) = mine.next_if(|(release, _)| *release <= at) {
                counting = counting.minus(&units);
            }
            if theirs.is_some_and(|release| release <= at) {
                (others, theirs) = (0, None);
                entitled = self.entitled(key, parts, others);
            }
            look.move_to(at);
            if self.fits(key, &counting, others + look.withheld(place, units, &entitled), asks) {
                return Err(Some(at));
            }
        }
    }

    /// What of those that stay open counts here.
    pub fn standing(&self, key: &Option<Endpoint>, open: &Open) -> Units {
        if self.window.is_in_flight() { open.units(key) } else { Units::default() }
    }
}
