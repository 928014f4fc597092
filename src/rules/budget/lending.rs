//! What organizations have used of one limit, and what of it is held for them. Knows when charges arrived and when they stop
//! counting; how much each is entitled to is for [`super::parts`], whether a request fits for the ledger.
//!
//! Of its share an organization lends what it has not had in use at once within a window: that much is *held* for it, and its floor always
//! is. So who asks as it did before finds its units at its times, however much another asks. Who is refused below its share *wants* it
//! back: within a window what was lent has come back, nobody beyond its own share takes any of it, and for another window it can show what it
//! needs. And of what nobody used for a window nothing but floors lies idle. A limit of requests in flight has no window: there,
//! floors alone are held, and turns are taken in line.
//!
//! What counts and what is held fit together into the limit at any moment: nothing is let through that takes what is held for others.

use super::parts::Entitled;
use super::window::{SKEW, Window};
use crate::domain::time::{Now, Span, Steady};
use std::collections::BTreeMap;

/// The units of one organization under one limit, by arrival.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    arrived: BTreeMap<Steady, u64>,
    /// When it was last refused below its share.
    refused: Option<Steady>,
}

impl Tally {
    pub fn post(&mut self, at: Steady, units: u64) {
        *self.arrived.entry(at).or_default() += units;
    }

    /// Takes out what `post` put in with the same arguments.
    pub fn withdraw(&mut self, at: Steady, units: u64) {
        let Some(there) = self.arrived.get_mut(&at) else { return };
        *there = there.saturating_sub(units);
        if *there == 0 {
            self.arrived.remove(&at);
        }
    }

    pub fn is_refused(&mut self, now: Steady) {
        self.refused = Some(now);
    }

    /// Forgets what nothing is held for any more.
    pub fn forget(&mut self, moments: &Moments<'_>, now: &Now) {
        self.refused = self.refused.filter(|at| wanted(*at, moments.memory) > now.steady);
        while let Some((arrived, _)) = self.arrived.first_key_value() {
            let in_use = *arrived + moments.memory;
            if in_use.max(moments.release(*arrived, now)) + moments.memory > now.steady {
                return;
            }
            self.arrived.pop_first();
        }
    }

    pub fn is_empty(&self) -> bool {
        self.arrived.is_empty() && self.refused.is_none()
    }
}

/// Until when a whole share is held for who was refused.
fn wanted(refused: Steady, memory: Span) -> Steady {
    refused + memory + memory
}

/// When charges of a limit stop counting, and how long afterwards it is remembered that they did.
pub(super) struct Moments<'a> {
    pub window: &'a Window,
    /// Of an anchored window, by arrival.
    pub releases: Vec<(Steady, Steady)>,
    /// The length of the window; nothing for what is in flight.
    pub memory: Span,
}

impl Moments<'_> {
    fn release(&self, arrived: Steady, now: &Now) -> Steady {
        let Window::Anchored { span } = self.window else { return self.window.release(arrived, now) };
        let at = self.releases.partition_point(|(other, _)| *other <= arrived);
        let known = at.checked_sub(1).and_then(|at| self.releases.get(at)).filter(|(other, _)| *other == arrived);
        known.map_or(arrived + *span, |(_, release)| *release)
    }

    /// In the order of their arrivals. A calendar is asked once for each of its periods.
    fn released<'t>(&self, tally: &'t Tally, now: &Now) -> Vec<(Steady, Steady, u64)> {
        let is_plain = matches!(self.window, Window::Periods { at_most: None, .. }) && now.offsets.len() == 1;
        let mut last = Steady::default();
        let release = |(arrived, units): (&'t Steady, &u64)| {
            if !is_plain || *arrived + SKEW + SKEW >= last {
                last = self.release(*arrived, now);
            }
            (*arrived, last, *units)
        };
        tally.arrived.iter().map(release).collect()
    }
}

/// How one organization stands from a moment on, if nothing else happens.
#[derive(Debug, Default)]
struct Standing {
    used: u64,
    /// When units that count stop counting, the last first.
    releases: Vec<(Steady, u64)>,
    /// The most that it has in use at once from each moment on, the last first.
    peaks: Vec<(Steady, u64)>,
    peak: u64,
    /// Until when it wants all of its share, as far as is known.
    wants_until: Option<Steady>,
}

impl Standing {
    fn of(tally: &Tally, open: u64, moments: &Moments<'_>, now: &Now) -> Standing {
        let charges = moments.released(tally, now);
        let mut changes: Vec<(Steady, u64, u64)> = Vec::new();
        // Whatever the provider's windows are aligned to, asking again and again is as much in any of them.
        for (arrived, _, units) in &charges {
            let from = (*arrived).min(now.steady);
            changes.push((from, *units, 0));
            changes.push((from + moments.memory, 0, *units));
        }
        changes.sort_unstable();
        let mut level = open;
        let mut steps: Vec<(Steady, u64)> = vec![(Steady::default(), open)];
        for (at, more, less) in changes {
            // What comes at the moment at which something else goes was not beside it.
            level = (level + more).saturating_sub(less);
            match steps.last_mut() {
                Some(last) if last.0 == at => last.1 = level,
                _ => steps.push((at, level)),
            }
        }
        let mut peaks: Vec<(Steady, u64)> = Vec::with_capacity(steps.len());
        for (at, level) in steps.into_iter().rev() {
            let later = peaks.last().map_or(0, |(_, peak): &(Steady, u64)| *peak);
            peaks.push((at, level.max(later)));
        }
        let mut releases: Vec<(Steady, u64)> = charges.iter().map(|(_, release, units)| (*release, *units)).collect();
        releases.sort_unstable_by(|a, b| b.cmp(a));
        let used = open + releases.iter().map(|(_, units)| *units).sum::<u64>();
        let wants_until = tally.refused.map(|at| wanted(at, moments.memory));
        let mut standing = Standing { used, releases, peaks, peak: 0, wants_until };
        standing.move_to(now.steady, moments.memory);
        standing
    }

    fn move_to(&mut self, at: Steady, memory: Span) {
        while let Some((_, units)) = self.releases.pop_if(|(release, _)| *release <= at) {
            self.used = self.used.saturating_sub(units);
        }
        while let Some((_, peak)) = self.peaks.pop_if(|(from, _)| *from + memory <= at) {
            self.peak = peak;
        }
        self.wants_until = self.wants_until.filter(|until| *until > at);
    }

    /// When it changes next.
    fn next(&self, memory: Span) -> Option<Steady> {
        let release = self.releases.last().map(|(release, _)| *release);
        let peak = self.peaks.last().map(|(from, _)| *from + memory);
        release.into_iter().chain(peak).chain(self.wants_until).min()
    }
}

/// All organizations of one limit as they stand at a moment, which only moves on.
pub(super) struct Look {
    all: Vec<Standing>,
    memory: Span,
}

impl Look {
    /// `open`: what stays open of each, beside its tally.
    pub fn new(tallies: &[Tally], open: &[u64], moments: &Moments<'_>, now: &Now) -> Look {
        let many = tallies.len().max(open.len());
        let (none, nothing) = (Tally::default(), 0);
        let of =
            |n: usize| Standing::of(tallies.get(n).unwrap_or(&none), *open.get(n).unwrap_or(&nothing), moments, now);
        Look { all: (0..many).map(of).collect(), memory: moments.memory }
    }

    pub fn move_to(&mut self, at: Steady) {
        let memory = self.memory;
        self.all.iter_mut().for_each(|standing| standing.move_to(at, memory));
    }

    /// When one of them stands otherwise.
    pub fn next(&self) -> Option<Steady> {
        self.all.iter().filter_map(|standing| standing.next(self.memory)).min()
    }

    pub fn used(&self, place: usize) -> u64 {
        self.all.get(place).map_or(0, |standing| standing.used)
    }

    /// Units that are there for this one alone.
    pub fn held_for(&self, place: usize, entitled: Entitled) -> u64 {
        let peak = self.all.get(place).filter(|_| self.memory > Span::ZERO).map_or(0, |standing| standing.peak);
        peak.min(entitled.share).max(entitled.floor).saturating_sub(self.used(place))
    }

    /// Units that this one wants back of what it lent.
    fn wanted_by(&self, place: usize, entitled: Entitled) -> u64 {
        let wants = self.all.get(place).is_some_and(|standing| standing.wants_until.is_some());
        if wants { entitled.share.saturating_sub(self.used(place)) } else { 0 }
    }

    /// Units that are not there for one that asks for so many: what is held for others; and beyond its own share what they want back.
    pub fn withheld(&self, place: Option<usize>, units: u64, entitled: &[Entitled]) -> u64 {
        let own = place.and_then(|place| Some((place, entitled.get(place)?)));
        let within = own.is_some_and(|(place, own)| self.used(place).saturating_add(units) <= own.share.max(own.floor));
        let others = entitled.iter().enumerate().filter(|(other, _)| Some(*other) != place);
        let each = others.map(|(other, entitled)| {
            let held = self.held_for(other, *entitled);
            if within { held } else { held.max(self.wanted_by(other, *entitled)) }
        });
        each.sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::time::ClockTrust;

    const ROLLING: Window = Window::Rolling { span: Span(100) };

    fn at(steady: u64) -> Now {
        Now { steady: Steady(steady), era: 0, trust: ClockTrust::Trusted, offsets: vec![0] }
    }

    /// What is held at a moment for one that had a unit at each of these, of a share of 3.
    fn held(arrivals: &[u64], now: u64) -> u64 {
        let mut tally = Tally::default();
        arrivals.iter().for_each(|at| tally.post(Steady(*at), 1));
        let moments = Moments { window: &ROLLING, releases: Vec::new(), memory: Span(100) };
        tally.forget(&moments, &at(now));
        Look::new(&[tally], &[], &moments, &at(now)).held_for(0, Entitled { share: 3, floor: 0 })
    }

    #[test]
    fn t_what_was_in_use_at_once_within_a_window_is_held() {
        assert_eq!(held(&[], 50), 0, "nothing was used");
        assert_eq!((held(&[10], 60), held(&[10], 110), held(&[10], 209), held(&[10], 210)), (0, 1, 1, 0));
        assert_eq!(held(&[0, 80, 160, 240], 320), 1, "every 80 of 100: two at once, again and again");
        assert_eq!(held(&[0, 1, 2, 3, 4], 150), 3, "no more than its share");
        assert_eq!(held(&[0, 100, 200], 300), 1, "one after the other was never two");
    }

    #[test]
    fn t_of_what_is_in_flight_floors_alone_are_held() {
        let mut tally = Tally::default();
        tally.post(Steady(500), 1);
        let moments = Moments { window: &Window::InFlight, releases: Vec::new(), memory: Span::ZERO };
        let look = Look::new(&[tally], &[2], &moments, &at(100));
        assert_eq!(look.used(0), 3, "with what stays open");
        assert_eq!(look.held_for(0, Entitled { share: 9, floor: 0 }), 0);
        assert_eq!(look.held_for(0, Entitled { share: 9, floor: 4 }), 1);
    }
}
