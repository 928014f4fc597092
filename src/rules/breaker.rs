//! The breaker of a connection: opens after failures in a row, one probe decides.

use crate::domain::connection::Breaker;
use crate::domain::time::{Now, Span};

/// Failures in a row that open it.
pub const THRESHOLD: u32 = 6;

/// May a call go out? `Closed` yes; `Open` not before `until`; from then one probe (the caller stores what `on_attempt` returns).
pub fn allows(_breaker: &Breaker, _now: &Now) -> bool {
    todo!()
}
pub fn on_attempt(_breaker: Breaker, _now: &Now) -> Breaker {
    todo!()
}
pub fn on_success(_breaker: Breaker) -> Breaker {
    todo!()
}
/// `failures`: in a row, this one included. `pause`: how long to stay open (the schedule's backoff).
pub fn on_failure(_breaker: Breaker, _failures: u32, _pause: Span, _now: &Now) -> Breaker {
    todo!()
}
