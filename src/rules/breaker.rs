//! The breaker of a connection: opens after failures in a row, or when many were refused ([`super::throttle`]); one probe decides. It only ever delays: what may be spent is
//! the budget's business. Must not know what a failure is; `classify` and the engine say so.

use crate::domain::connection::Breaker;
use crate::domain::time::{Now, Span, Steady};

/// Failures in a row that open it.
pub const THRESHOLD: u32 = 6;

/// No pause is shorter, whatever the schedule says.
const SHORTEST_PAUSE: Span = Span::from_secs(1);

/// A probe that nobody reported back on (the process died with it) is given up after this; longer than any sane request
/// timeout. Without it a crash in the half-open state would close the connection for ever.
const PROBE_LOST_AFTER: Span = Span::from_secs(300);

/// May a call go out? `Closed` yes; `Open` not before `until`; from then one probe (the caller stores what `on_attempt` returns).
pub fn allows(breaker: &Breaker, now: &Now) -> bool {
    match breaker {
        Breaker::Closed => true,
        Breaker::Open { until, .. } => now.steady >= *until,
        Breaker::HalfOpen { since } => now.age_of(*since) >= PROBE_LOST_AFTER,
    }
}

/// No call before this.
pub fn not_before(breaker: &Breaker) -> Steady {
    match breaker {
        Breaker::Closed => Steady(0),
        Breaker::Open { until, .. } => *until,
        Breaker::HalfOpen { since } => since.steady + PROBE_LOST_AFTER,
    }
}

/// A call that `allows` let through is about to go out.
pub fn on_attempt(breaker: Breaker, now: &Now) -> Breaker {
    match breaker {
        Breaker::Open { .. } | Breaker::HalfOpen { .. } if allows(&breaker, now) => {
            Breaker::HalfOpen { since: now.stamp() }
        }
        other => other,
    }
}

/// Any good answer closes it.
pub fn on_success(_breaker: Breaker) -> Breaker {
    Breaker::Closed
}

/// `failures`: in a row, this one included. `pause`: how long to stay open (the schedule's backoff).
///
/// The pause grows with the failures, so a failed probe opens it for longer. A late failure of a call that was under way
/// when it opened never brings `until` forward (law 8).
pub fn on_failure(breaker: Breaker, failures: u32, pause: Span, now: &Now) -> Breaker {
    let until = now.steady + pause.max(SHORTEST_PAUSE);
    match breaker {
        Breaker::Closed if failures < THRESHOLD => Breaker::Closed,
        Breaker::Closed | Breaker::HalfOpen { .. } => Breaker::Open { since: now.stamp(), until },
        Breaker::Open { since, until: before } => Breaker::Open { since, until: before.max(until) },
    }
}

/// Opens, or stays open for longer, whatever the failures: many were refused. The pause is never brought forward (law 8).
pub fn on_throttled(breaker: Breaker, pause: Span, now: &Now) -> Breaker {
    on_failure(breaker, u32::MAX, pause, now)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::time::{ClockTrust, Stamp};

    fn at(s: u64) -> Now {
        Now { steady: Steady(s * 1000), era: 1, trust: ClockTrust::Trusted, offsets: vec![1_700_000_000_000] }
    }
    fn stamp(s: u64) -> Stamp {
        at(s).stamp()
    }
    fn open(since: u64, until: u64) -> Breaker {
        Breaker::Open { since: stamp(since), until: Steady(until * 1000) }
    }
    fn half_open(since: u64) -> Breaker {
        Breaker::HalfOpen { since: stamp(since) }
    }
    const PAUSE: Span = Span::from_secs(60);

    #[test]
    fn who_may_call() {
        let table = [
            (Breaker::Closed, 0, true),
            (open(0, 60), 0, false),
            (open(0, 60), 59, false),
            (open(0, 60), 60, true),
            (half_open(60), 60, false),
            (half_open(60), 359, false),
            (half_open(60), 360, true),
        ];
        for (breaker, now, may) in table {
            assert_eq!(allows(&breaker, &at(now)), may, "{breaker:?} at {now} s");
        }
    }

    #[test]
    fn what_an_attempt_makes_of_it() {
        let table = [
            (Breaker::Closed, 10, Breaker::Closed),
            (open(0, 60), 59, open(0, 60)),
            (open(0, 60), 61, half_open(61)),
            (half_open(61), 62, half_open(61)),
            (half_open(61), 361, half_open(361)),
        ];
        for (breaker, now, after) in table {
            assert_eq!(on_attempt(breaker, &at(now)), after, "{breaker:?} at {now} s");
        }
    }

    #[test]
    fn what_a_failure_makes_of_it() {
        let table = [
            (Breaker::Closed, 1, Breaker::Closed),
            (Breaker::Closed, THRESHOLD - 1, Breaker::Closed),
            (Breaker::Closed, THRESHOLD, open(100, 160)),
            (Breaker::Closed, u32::MAX, open(100, 160)),
            (half_open(99), 7, open(100, 160)),
            (half_open(99), 1, open(100, 160)),
            (open(50, 110), 7, open(50, 160)),
            (open(50, 900), 7, open(50, 900)),
        ];
        for (breaker, failures, after) in table {
            assert_eq!(on_failure(breaker, failures, PAUSE, &at(100)), after, "{breaker:?} after {failures}");
        }
    }

    #[test]
    fn a_success_closes_it_from_anywhere() {
        for breaker in [Breaker::Closed, open(0, 60), half_open(60)] {
            assert_eq!(on_success(breaker), Breaker::Closed);
        }
    }

    #[test]
    fn a_pause_of_nothing_still_pauses() {
        let breaker = on_failure(Breaker::Closed, THRESHOLD, Span::ZERO, &at(100));
        assert!(!allows(&breaker, &at(100)));
        assert!(allows(&breaker, &at(101)));
    }

    #[test]
    fn one_probe_then_the_verdict() {
        let mut breaker = Breaker::Closed;
        for failures in 1..=THRESHOLD {
            assert!(allows(&breaker, &at(0)));
            breaker = on_failure(on_attempt(breaker, &at(0)), failures, PAUSE, &at(0));
        }
        assert_eq!(breaker.word(), "open");
        breaker = on_attempt(breaker, &at(60));
        assert!(!allows(&breaker, &at(60)), "the probe goes alone");
        breaker = on_failure(breaker, THRESHOLD + 1, Span::from_secs(120), &at(61));
        assert!(!allows(&breaker, &at(180)), "open for longer");
        breaker = on_success(on_attempt(breaker, &at(181)));
        assert!(allows(&breaker, &at(181)));
    }
}
