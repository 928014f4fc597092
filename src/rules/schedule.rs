//! When to poll next: max(interval, backoff), phases spread by name, one catch-up after a gap.

use crate::domain::time::{Now, Span, Stamp};

/// Where in its interval a connection polls: a fraction of `interval` that depends on the installation and the name alone,
/// so that restarts keep it and fleets do not align (A41, A42).
pub fn phase(_installation: &[u8; 32], _name: &str, _interval: Span) -> Span {
    todo!()
}

/// Of the first poll of a connection that never polled: soon, but spread (at most 10 s or a tenth of the interval).
pub fn first(_now: &Now, _phase: Span) -> Stamp {
    todo!()
}

/// After an attempt that was due at `due` and began at `began`. Keeps the cadence of `due` where the attempt was in time; after a gap
/// (suspend, hold, downtime) there is one catch-up and the cadence starts anew; never sooner than `began + max(interval, backoff)`.
pub fn next(_due: Stamp, _began: Stamp, _interval: Span, _backoff: Span) -> Stamp {
    todo!()
}

/// Doubles from `interval / 4` (at least 1 s) up to 16 x interval (at most 6 h); zero at no failures.
pub fn backoff(_failures: u32, _interval: Span) -> Span {
    todo!()
}
