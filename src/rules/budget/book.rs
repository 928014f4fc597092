//! The book of one limit, for one endpoint where it is scoped so: by arrival, or by the windows that requests opened. Knows how to
//! count under its window; what may be added is the ledger's to say.

use super::anchors::{Anchors, Past, Seen};
use super::slots::{Slots, Units};
use super::window::Window;
use crate::domain::ids::Caller;
use crate::domain::time::{Now, Span, Steady};

/// A charge as one limit counts it.
#[derive(Clone, Copy, Debug)]
pub struct Posting {
    pub reserved: Steady,
    /// When its answer arrived, or is feared to arrive.
    pub arrived: Steady,
    pub caller: Caller,
    pub units: u64,
    pub seen: Seen,
}

#[derive(Clone, Debug)]
pub enum Book {
    Slots(Slots),
    Anchors(Anchors),
}

impl Book {
    /// `past`: what was before the first charge that is posted.
    pub fn new(window: &Window, past: Past) -> Book {
        match window {
            Window::Anchored { span } => Book::Anchors(Anchors::new(*span, past)),
            _ => Book::Slots(Slots::default()),
        }
    }

    /// `grain`: arrivals are rounded up to a multiple of it, where they are counted in slots.
    pub fn post(&mut self, posting: Posting, grain: Span) {
        match self {
            Book::Slots(slots) => slots.post(posting.arrived, grain, posting.caller, posting.units),
            Book::Anchors(anchors) => anchors.post(posting),
        }
    }

    /// Takes out what `post` put in with the same arguments.
    pub fn withdraw(&mut self, posting: Posting, grain: Span) {
        match self {
            Book::Slots(slots) => slots.withdraw(posting.arrived, grain, posting.caller, posting.units),
            Book::Anchors(anchors) => anchors.withdraw(posting),
        }
    }

    /// Units that count at `now`.
    pub fn live(&self, window: &Window, now: &Now) -> Units {
        match self {
            Book::Slots(slots) => slots.live(window, now),
            Book::Anchors(anchors) => sum(anchors.counting(now.steady).iter().map(|(_, units)| units)),
        }
    }

    /// What counts at `now`, each with the first moment at which it does not any more, the next to be free first.
    pub fn counting<'a>(&'a self, window: &'a Window, now: &'a Now) -> Box<dyn Iterator<Item = (Steady, Units)> + 'a> {
        match self {
            Book::Slots(slots) => {
                Box::new(slots.counting(window, now).map(|(arrived, units)| (window.release(arrived, now), units)))
            }
            Book::Anchors(anchors) => Box::new(anchors.counting(now.steady).into_iter()),
        }
    }

    /// Of an anchored window: the arrival of each charge and when it stops counting, in the order of arrivals. Nothing of others.
    pub fn opened(&self) -> Vec<(Steady, Steady)> {
        match self {
            Book::Slots(_) => Vec::new(),
            Book::Anchors(anchors) => anchors.opened(),
        }
    }

    /// Units that arrived at or after `from`, whether they count or not. Anchored windows are not asked this.
    pub fn since(&self, from: Steady) -> Units {
        match self {
            Book::Slots(slots) => slots.since(from),
            Book::Anchors(anchors) => sum(anchors.counting(from).iter().map(|(_, units)| units)),
        }
    }

    /// Moves the running total to `now`, so that the next question is cheap.
    pub fn advance(&mut self, window: &Window, now: &Now) {
        if let Book::Slots(slots) = self {
            slots.advance(window, now);
        }
    }

    /// Forgets what cannot count any more if nothing before `horizon` can.
    pub fn forget(&mut self, horizon: Steady) {
        match self {
            Book::Slots(slots) => slots.forget(horizon),
            Book::Anchors(anchors) => anchors.forget(horizon),
        }
    }

    pub fn is_empty(&self) -> bool {
        match self {
            Book::Slots(slots) => slots.is_empty(),
            Book::Anchors(anchors) => anchors.is_empty(),
        }
    }
}

fn sum<'a>(units: impl Iterator<Item = &'a Units>) -> Units {
    units.fold(Units::default(), |sum, units| sum.plus(units))
}
