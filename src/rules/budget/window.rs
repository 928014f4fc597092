//! How long a charge counts under one limit, given when it arrived.

use crate::domain::limit::{Kind, Limit};
use crate::domain::time::{Now, Span, Steady, Wall};
use crate::rules::calendar::Calendar;

/// How far the provider's calendar clock may stand from ours. Around a boundary a charge counts on both sides.
pub const SKEW: Span = Span::from_secs(2);

/// Amounts above this are counted in coarser slots.
pub const EXACT_UP_TO: u64 = 4096;

/// The window of a limit, made ready for arithmetic.
#[derive(Clone, Debug)]
pub enum Window {
    /// Counts until `span` after its arrival.
    Rolling { span: Span },
    /// Counts until the provider's period has certainly turned, and in a fixed window at most `span` after its arrival:
    /// each of the two proves that no window can hold both the old and the new request.
    Periods { calendar: Calendar, at_most: Option<Span> },
    /// Counts until the window that it fell into, which the first request after the last one opened, has certainly ended, and at
    /// most `span` after its arrival. Where a window opened is known as well as the latencies let it be: see `anchors`.
    Anchored { span: Span },
    /// The next request not before `unit` per unit of cost after the last arrival: GCRA without burst, stricter than any token
    /// bucket. A request of cost 1 is then inside a sliding count as well: whatever cost `n` units in all took `n x unit`, which is
    /// a whole `window` where `n` is the amount. A weightier one brings more at once; it is asked of a sliding count too.
    Pace { unit: Span, window: Span },
    /// Counts while in flight: "arrival" is the deadline, until the resolution takes it out.
    InFlight,
}

impl Window {
    /// What keeps the limit; all of them must agree. Pages show the first.
    pub fn all_of(limit: &Limit) -> Vec<Window> {
        match &limit.kind {
            Kind::Rolling { window } => vec![Window::Rolling { span: *window }],
            // A rolling window is the strictest reading of an anchored one, and cheap for large amounts.
            Kind::Anchored { window } if limit.amount > EXACT_UP_TO => vec![Window::Rolling { span: *window }],
            Kind::Anchored { window } => vec![Window::Anchored { span: *window }],
            Kind::Pace { window } => vec![Window::pace(limit.amount, *window), Window::Rolling { span: *window }],
            Kind::Concurrent => vec![Window::InFlight],
            kind @ (Kind::Fixed { .. } | Kind::Daily { .. } | Kind::Weekly { .. } | Kind::Monthly { .. }) => {
                let at_most = match kind {
                    Kind::Fixed { window } => Some(*window),
                    _ => None,
                };
                match Calendar::of(kind) {
                    Some(calendar) => vec![Window::Periods { calendar, at_most }],
                    None => vec![Window::Rolling { span: Span(u64::MAX) }],
                }
            }
        }
    }

    pub fn pace(amount: u64, window: Span) -> Window {
        Window::Pace { unit: Span(window.0.div_ceil(amount.max(1))), window }
    }

    pub const fn is_in_flight(&self) -> bool {
        matches!(self, Window::InFlight)
    }

    /// Charges that arrived at or after the cut count at `now`; earlier ones do not. The inverse of [`Window::release`].
    pub fn cut(&self, now: &Now) -> Steady {
        match self {
            Window::Rolling { span } | Window::Anchored { span } => just_after_minus(now.steady, *span),
            Window::Periods { calendar, at_most } => {
                let rolling = at_most.map(|span| just_after_minus(now.steady, span)).unwrap_or_default();
                let periods = now.offsets.iter().map(|offset| {
                    let turn = calendar.last_turn(to_wall(now.steady, *offset) - SKEW);
                    to_steady(turn.earliest - SKEW, *offset)
                });
                periods.min().unwrap_or_default().max(rolling)
            }
            Window::Pace { unit, .. } => just_after_minus(now.steady, *unit),
            Window::InFlight => now.steady + Span(1),
        }
    }

    /// The first moment at which a charge that arrived at `arrived` does not count any more.
    pub fn release(&self, arrived: Steady, now: &Now) -> Steady {
        match self {
            Window::Rolling { span } | Window::Anchored { span } => arrived + *span,
            Window::Periods { calendar, at_most } => {
                let periods = now.offsets.iter().map(|offset| {
                    let turn = calendar.next_turn(to_wall(arrived, *offset) + SKEW);
                    to_steady(turn.latest + SKEW, *offset)
                });
                let periods = periods.max().unwrap_or(Steady::MAX);
                at_most.map_or(periods, |span| periods.min(arrived + span))
            }
            Window::Pace { unit, .. } => arrived + *unit,
            Window::InFlight => arrived,
        }
    }

    /// Whether the provider's period may turn between the two moments, by a clock that is not quite ours.
    pub fn turns_between(&self, from: Steady, to: Steady, now: &Now) -> bool {
        let Window::Periods { calendar, .. } = self else { return false };
        now.offsets.iter().any(|offset| {
            let turn = calendar.next_turn(to_wall(from, *offset) - SKEW);
            turn.earliest <= to_wall(to, *offset) + SKEW
        })
    }

    /// When the provider's period next turns by the clock that is believed now; `None` where there is no calendar.
    pub fn resets_at(&self, now: &Now) -> Option<Steady> {
        let Window::Periods { calendar, .. } = self else { return None };
        let offset = now.offsets.first().copied().unwrap_or(0);
        Some(to_steady(calendar.next_turn(now.wall()).latest, offset))
    }

    /// How long after its arrival a charge must be remembered: a clock that steps back can make an old one count again, and a
    /// window that one opened says when the next could open.
    pub fn memory(&self) -> Span {
        match self {
            Window::Rolling { span } => *span,
            Window::Anchored { span } => Span(span.0.saturating_mul(2)),
            Window::Periods { calendar, .. } => Span(calendar.longest_period().0 * 2 + SKEW.0 * 4),
            Window::Pace { window, .. } => *window,
            Window::InFlight => Span::ZERO,
        }
    }

    /// Arrivals are rounded up to a multiple of this, so that a book of a million units stays small and frees late rather
    /// than early.
    pub fn grain(&self, amount: u64) -> Span {
        if amount <= EXACT_UP_TO {
            return Span(1);
        }
        match self {
            Window::Rolling { span } => Span((span.0 / 1024).max(1)),
            Window::Periods { calendar, .. } => Span((calendar.longest_period().0 / 1024).max(1)),
            Window::Anchored { .. } | Window::Pace { .. } | Window::InFlight => Span(1),
        }
    }
}

/// `arrived + span > now` is `arrived >= now - span + 1`.
pub(super) fn just_after_minus(now: Steady, span: Span) -> Steady {
    match now.0.checked_sub(span.0) {
        Some(edge) => Steady(edge + 1),
        None => Steady(0),
    }
}

fn to_wall(at: Steady, offset: i64) -> Wall {
    Wall(i64::try_from(at.0).unwrap_or(i64::MAX).saturating_add(offset))
}

fn to_steady(at: Wall, offset: i64) -> Steady {
    Steady(u64::try_from(at.0.saturating_sub(offset)).unwrap_or(0))
}
