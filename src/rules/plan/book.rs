//! One book of one limit, and what is asked of it again and again: is that kept for ever? Knows units and lengths of time; must not
//! know who asks, nor when.
//!
//! Two arguments, each enough by itself. *Whole rounds*: whoever asks every `g` asks at most `ceil(window / g)` times in a window, wherever
//! that lies; if all of that fits together, nobody ever waits. *A line*: who waits, waits because what counts is above
//! `amount - cost`, so in every window in which somebody waits at least that much is served; if more is served than asked, no line grows for
//! ever. Both know that a request is not divisible: of five units, requests of two take four.

use crate::domain::ids::{Caller, Endpoint};
use crate::domain::limit::{Kind, Limit, Scope};
use crate::domain::time::Span;
use crate::rules::budget::window::Window;
use crate::rules::plan::Load;
use std::collections::BTreeSet;

/// A year: what cannot be kept at one round in so long is not called an interval any more.
const LONGEST: Span = Span::from_secs(366 * 86_400);
/// Fixed point of rates.
const ONE: u128 = 1 << 20;

/// Which of the two may be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Argument {
    Any,
    WholeRounds,
}

/// What one load asks of the book in each of its rounds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Part {
    pub units: u64,
    /// Of one request.
    dearest: u64,
    /// Greatest common divisor of the costs.
    step: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rule {
    /// So many units in any stretch of the window.
    Window { window: Span, amount: u64 },
    /// One unit after the other.
    Line { unit: Span },
    /// In flight: no bound by itself, unless there is no place for a poller at all.
    Flight { places: u64 },
}

/// A book with what every load asks of it: the own one first.
#[derive(Clone, Debug)]
pub(super) struct Book<'a> {
    pub limit: &'a Limit,
    pub endpoint: Option<Endpoint>,
    rule: Rule,
    parts: Vec<Part>,
}

impl Part {
    fn of(load: &Load, endpoint: Option<&Endpoint>) -> Part {
        let meant = load.demands.iter().filter(|d| endpoint.is_none_or(|e| *e == d.endpoint) && d.units() > 0);
        meant.fold(Part::default(), |part, demand| Part {
            units: part.units.saturating_add(demand.units()),
            dearest: part.dearest.max(demand.cost.into()),
            step: divisor(part.step, demand.cost.into()),
        })
    }

    /// `by / of` as much, in whole units.
    fn scaled(self, by: u64, of: u64) -> Part {
        let units = u128::from(self.units).saturating_mul(by.into()).div_ceil(u128::from(of.max(1)));
        Part { units: u64::try_from(units).unwrap_or(u64::MAX), ..self }
    }
}

fn divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { divisor(b, a % b) }
}

impl<'a> Book<'a> {
    /// Every book of the limit that the first of the loads asks anything of.
    pub fn all_of(limit: &'a Limit, loads: &[&Load]) -> Vec<Book<'a>> {
        let own: BTreeSet<&Endpoint> =
            loads.first().into_iter().flat_map(|l| &l.demands).map(|d| &d.endpoint).collect();
        let keys: Vec<Option<&Endpoint>> = match limit.scope {
            Scope::Credential => vec![None],
            Scope::Endpoint => own.into_iter().map(Some).collect(),
        };
        let mut books = Vec::new();
        for key in keys {
            let parts: Vec<Part> = loads.iter().map(|load| Part::of(load, key)).collect();
            let weighty = parts.iter().any(|part| part.dearest > 1);
            for rule in rules(limit, key, weighty) {
                let parts = parts.clone();
                books.push(Book { limit, endpoint: key.cloned(), rule, parts });
            }
        }
        books.retain(|book| book.own().units > 0);
        books
    }

    fn own(&self) -> Part {
        self.parts.first().copied().unwrap_or_default()
    }

    /// The units that pollers may have of it in `window`; `None` where nothing is counted over time.
    pub fn supply(&self) -> Option<(Span, u64)> {
        match self.rule {
            Rule::Window { window, amount } => Some((window, amount)),
            Rule::Line { unit } => Some((unit, 1)),
            Rule::Flight { .. } => None,
        }
    }

    /// Units that every load asks in each round.
    pub fn units(&self) -> impl Iterator<Item = u64> + '_ {
        self.parts.iter().map(|part| part.units)
    }

    /// Whether a round of ours is too large to be sent at once.
    pub fn waits_inside_a_round(&self) -> bool {
        match self.rule {
            Rule::Window { amount, .. } => self.own().units > amount,
            Rule::Line { .. } => self.own().units > 1,
            Rule::Flight { .. } => false,
        }
    }

    /// Whether a request of ours can ever be funded.
    pub fn is_open(&self) -> bool {
        match self.rule {
            Rule::Window { amount, .. } => self.own().dearest <= amount,
            Rule::Line { .. } => true,
            Rule::Flight { places } => places > 0,
        }
    }

    /// The shortest interval that is kept where nobody asks more often than that, nor than `every` of its own.
    pub fn shortest(&self, every: &[Span], over: Option<Span>, argument: Argument) -> Option<Span> {
        let holds = |interval: Span| self.keeps(self.own(), &gaps(every, interval), over, argument);
        if !self.is_open() || !holds(LONGEST) {
            return None;
        }
        let (mut no, mut yes) = (0, LONGEST.0);
        while yes - no > 1 {
            let middle = no + (yes - no) / 2;
            if holds(Span(middle)) { yes = middle } else { no = middle }
        }
        Some(Span(yes))
    }

    /// The most targets such as ours, of which `of` make up the own load, that are kept at `gaps`; `None`: any number.
    pub fn ceiling(&self, of: u64, gaps: &[Span], over: Option<Span>) -> Option<u64> {
        const MANY: u64 = 1 << 40;
        let holds = |n: u64| self.keeps(self.own().scaled(n, of), gaps, over, Argument::Any);
        if !self.is_open() || !holds(0) {
            return Some(0);
        }
        if holds(MANY) {
            return None;
        }
        let (mut yes, mut no) = (0, MANY);
        while no - yes > 1 {
            let middle = yes + (no - yes) / 2;
            if holds(middle) { yes = middle } else { no = middle }
        }
        Some(yes)
    }

    /// Whether loads that ask every `gaps` are kept; `over`: for so long, and for ever where it is `None`.
    fn keeps(&self, own: Part, gaps: &[Span], over: Option<Span>, argument: Argument) -> bool {
        let others = self.parts.iter().skip(1).copied();
        let asked = std::iter::once(own).chain(others).zip(gaps.iter().copied()).filter(|(part, _)| part.units > 0);
        match self.rule {
            Rule::Flight { .. } => true,
            Rule::Line { unit } => rate(&asked.collect::<Vec<_>>(), unit) <= ONE,
            Rule::Window { window, amount } => {
                // Of somebody whose requests never fit nothing is ever sent.
                let asked: Vec<(Part, Span)> = asked.filter(|(part, _)| part.dearest <= amount).collect();
                let window = over.map_or(window, |over| window.min(over));
                in_whole_rounds(&asked, window) <= u128::from(amount)
                    || (argument == Argument::Any && in_line(&asked, window, amount))
            }
        }
    }
}

/// How often each load asks, where none does so more often than `interval`.
pub(super) fn gaps(every: &[Span], interval: Span) -> Vec<Span> {
    every.iter().map(|every| interval.max(*every).max(Span(1))).collect()
}

fn rules(limit: &Limit, endpoint: Option<&Endpoint>, weighty: bool) -> Vec<Rule> {
    let kept: u64 = limit.keeps_on(endpoint).filter(|(caller, _)| *caller != Caller::Poller).map(|(_, n)| n).sum();
    let left = limit.amount.saturating_sub(kept);
    let of = |window: Window| {
        // Amounts in coarser slots come free later.
        let late = Span(window.grain(limit.amount).0 - 1);
        match &window {
            Window::Pace { unit, .. } => Some(Rule::Line { unit: *unit }),
            // Beside a pace; it knows no keeps, and only weightier requests are asked of it.
            Window::Rolling { span } if matches!(limit.kind, Kind::Pace { .. }) => {
                weighty.then_some(Rule::Window { window: *span, amount: limit.amount })
            }
            Window::Rolling { span } | Window::Anchored { span } => {
                Some(Rule::Window { window: Span(span.0.saturating_add(late.0)), amount: left })
            }
            Window::Periods { calendar, .. } => Some(Rule::Window { window: calendar.longest_period(), amount: left }),
            Window::InFlight => {
                Some(Rule::Flight { places: limit.cap.get(&Caller::Poller).map_or(left, |cap| left.min(*cap)) })
            }
        }
    };
    Window::all_of(limit).into_iter().filter_map(of).collect()
}

/// Units in `window`, in fixed point, rounded up.
fn rate(asked: &[(Part, Span)], window: Span) -> u128 {
    let of = |(part, gap): &(Part, Span)| {
        let units = u128::from(part.units).saturating_mul(window.0.into()).saturating_mul(ONE);
        units.div_ceil(u128::from(gap.0))
    };
    asked.iter().map(of).fold(0, u128::saturating_add)
}

fn in_whole_rounds(asked: &[(Part, Span)], window: Span) -> u128 {
    asked.iter().map(|(part, gap)| u128::from(part.units).saturating_mul(window.0.div_ceil(gap.0).into())).sum()
}

fn in_line(asked: &[(Part, Span)], window: Span, amount: u64) -> bool {
    let step = asked.iter().fold(0, |step, (part, _)| divisor(step, part.step)).max(1);
    let dearest = asked.iter().map(|(part, _)| part.dearest).max().unwrap_or(0);
    let served = (amount / step * step + step).saturating_sub(dearest);
    rate(asked, window) <= u128::from(served).saturating_mul(ONE)
}
