//! How old, and what to call it.

use crate::domain::state::State;
use crate::domain::time::Span;

/// Everything that decides the word, each already reduced to a fact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    pub clock_untrusted: bool,
    pub enabled: bool,
    pub hold: Option<crate::domain::connection::HoldReason>,
    /// The budget has nothing left for the poller before the next poll after the one that is due.
    pub exhausted: bool,
    pub breaker_open: bool,
    /// `None`: never answered.
    pub age: Option<Span>,
    pub interval: Span,
    pub fresh_for: Span,
    pub expires_after: Option<Span>,
}

/// The first that is true, in the order of [`State::ALL`].
pub fn state(_facts: &Facts) -> State {
    todo!()
}
