//! Counting charges by the moment they arrived: a sorted book with running totals.

use super::window::Window;
use crate::domain::ids::Caller;
use crate::domain::time::{Now, Span, Steady};
use std::collections::BTreeMap;

/// Units by caller, in the order of [`Caller::ALL`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Units([u64; Caller::ALL.len()]);

impl Units {
    pub fn of(&self, caller: Caller) -> u64 {
        self.0[caller as usize]
    }
    pub fn add(&mut self, caller: Caller, units: u64) {
        self.0[caller as usize] += units;
    }
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }
    pub fn plus(mut self, other: &Units) -> Units {
        self.0.iter_mut().zip(other.0).for_each(|(a, b)| *a += b);
        self
    }
    pub fn minus(mut self, other: &Units) -> Units {
        self.0.iter_mut().zip(other.0).for_each(|(a, b)| *a = a.saturating_sub(b));
        self
    }
    pub fn by_caller(&self) -> BTreeMap<Caller, u64> {
        Caller::ALL.into_iter().map(|c| (c, self.of(c))).filter(|(_, n)| *n > 0).collect()
    }
}

/// Posted charges of one limit (for one endpoint where scoped so). `live` is the sum over arrivals at or after `cut`.
#[derive(Clone, Debug, Default)]
pub struct Slots {
    slots: BTreeMap<Steady, Units>,
    cut: Steady,
    live: Units,
}

impl Slots {
    /// `grain`: arrivals are rounded up to a multiple of it.
    pub fn post(&mut self, arrived: Steady, grain: Span, caller: Caller, units: u64) {
        let at = round_up(arrived, grain);
        self.slots.entry(at).or_default().add(caller, units);
        if at >= self.cut {
            self.live.add(caller, units);
        }
    }

    /// Takes out what `post` put in with the same arguments.
    pub fn withdraw(&mut self, arrived: Steady, grain: Span, caller: Caller, units: u64) {
        let at = round_up(arrived, grain);
        let mut one = Units::default();
        one.add(caller, units);
        let Some(slot) = self.slots.get_mut(&at) else { return };
        *slot = slot.minus(&one);
        if slot.total() == 0 {
            self.slots.remove(&at);
        }
        if at >= self.cut {
            self.live = self.live.minus(&one);
        }
    }

    /// Units that count at `now`.
    pub fn live(&self, window: &Window, now: &Now) -> Units {
        let cut = window.cut(now);
        if cut >= self.cut {
            let gone = self.slots.range(self.cut..cut).fold(Units::default(), |sum, (_, u)| sum.plus(u));
            self.live.minus(&gone)
        } else {
            let back = self.slots.range(cut..self.cut).fold(Units::default(), |sum, (_, u)| sum.plus(u));
            self.live.plus(&back)
        }
    }

    /// Moves the running total to `now`, so that the next question is cheap.
    pub fn advance(&mut self, window: &Window, now: &Now) {
        self.live = self.live(window, now);
        self.cut = window.cut(now);
    }

    /// Slots that count at `now`, oldest first.
    pub fn counting<'a>(&'a self, window: &Window, now: &Now) -> impl Iterator<Item = (Steady, Units)> + 'a {
        self.slots.range(window.cut(now)..).map(|(at, u)| (*at, *u))
    }

    /// Units that arrived at or after `from`, whether they count or not.
    pub fn since(&self, from: Steady) -> Units {
        self.slots.range(from..).fold(Units::default(), |sum, (_, u)| sum.plus(u))
    }

    /// Forgets what arrived before `horizon`.
    pub fn forget(&mut self, horizon: Steady) {
        if self.slots.first_key_value().is_some_and(|(at, _)| *at < horizon.min(self.cut)) {
            self.slots = self.slots.split_off(&horizon.min(self.cut));
        }
    }

    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }
}

/// To the next multiple of `grain`.
pub(super) fn round_up(at: Steady, grain: Span) -> Steady {
    let grain = grain.0.max(1);
    Steady(at.0.div_ceil(grain).saturating_mul(grain))
}
