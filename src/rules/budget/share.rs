//! What is left of a limit for us: what others have taken of it, and the lower amount that the provider keeps to. Both only ever
//! take away; decided by `rules::learn`.

use super::book::Book;
use super::slots::Units;
use super::window::just_after_minus;
use super::window::{SKEW, Window};
use crate::domain::ids::{Caller, Endpoint};
use crate::domain::limit::Limit;
use crate::domain::quota::{Foreign, Learned};
use crate::domain::time::{Now, Steady};

/// What was learned of one book.
#[derive(Clone, Debug)]
pub(super) struct Share {
    foreign: Option<Foreign>,
    /// Of the amount in force.
    amount: u64,
    window: Window,
}

/// Our own spending as the provider may have counted it in an answer, between its asking and its arrival, that request included.
/// None is told where no count can be compared: the provider's period may have turned in between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Own {
    /// Units that it has certainly counted.
    pub certain: u64,
    /// Units that it may have counted.
    pub possible: u64,
}

impl Share {
    /// `declared` with the window that counts it.
    pub fn of(declared: &Limit, window: &Window, learned: &Learned) -> Share {
        let amount = learned.adopted.map_or(declared.amount, |a| a.clamp(1, declared.amount.max(1)));
        let window = match window {
            Window::Pace { window, .. } => Window::pace(amount, *window),
            other => other.clone(),
        };
        Share { foreign: learned.foreign.filter(|f| f.units > 0), amount, window }
    }

    pub fn amount(&self) -> u64 {
        self.amount
    }

    pub fn window(&self) -> &Window {
        &self.window
    }

    /// Units of others that count at `now`, and when they stop counting. A pace gives nobody room to take from.
    pub fn taken(&self, now: &Now) -> Option<(u64, Steady)> {
        let foreign = self.foreign.filter(|_| !matches!(self.window, Window::Pace { .. } | Window::InFlight))?;
        let release = self.window.release(foreign.at, now).min(foreign.until.unwrap_or(Steady::MAX));
        (foreign.at >= self.window.cut(now) && release > now.steady).then_some((foreign.units, release))
    }
}

impl Own {
    /// Of the `book` of one window, for a request that was reserved at `asked`, costs `cost` and is answered `now`.
    pub(super) fn of(book: Option<&Book>, window: &Window, asked: Steady, cost: u64, now: &Now) -> Option<Own> {
        let Some(book) = book else { return Some(Own { certain: 0, possible: 0 }) };
        let then = Now { steady: asked, ..now.clone() };
        let (from, sure) = match window {
            Window::InFlight => return None,
            Window::Anchored { .. } => {
                let possible = book.live(window, &then).total();
                return Some(Own { certain: possible.min(book.live(window, now).total()), possible });
            }
            Window::Pace { window, .. } => (just_after_minus(asked, *window), just_after_minus(now.steady, *window)),
            Window::Periods { .. } if window.turns_between(asked, now.steady, now) => return None,
            // What arrived just after the turn was counted after it or before.
            Window::Periods { .. } => (window.cut(&then), window.cut(now) + SKEW + SKEW),
            Window::Rolling { .. } => (window.cut(&then), window.cut(now)),
        };
        let since = |at: Steady| book.since(at).total();
        let possible = since(from);
        let uncertain = since(asked.max(sure)).saturating_add(possible.saturating_sub(since(sure)));
        Some(Own { certain: possible.saturating_sub(uncertain).saturating_add(cost).min(possible), possible })
    }
}

/// Kept units of a book that are still there, for all callers but `except`.
pub(super) fn unused_keep(limit: &Limit, endpoint: Option<&Endpoint>, counting: &Units, except: Option<Caller>) -> u64 {
    let keeps = limit.keeps_on(endpoint).filter(|(caller, _)| Some(*caller) != except);
    keeps.map(|(caller, n)| n.saturating_sub(counting.of(caller))).sum()
}
