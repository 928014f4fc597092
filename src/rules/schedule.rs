//! When to poll next: max(interval, backoff), phases spread by name, one catch-up after a gap. Everything here can only slow a
//! loop down (law 8). Must not know what limits allow: that is the budget's, and it has the last word.

use crate::domain::time::{Now, Span, Stamp};

/// Connections are at most this far apart ...
const LONGEST_SPREAD: Span = Span::from_secs(120);
/// ... and not less than this, where their interval is longer.
const SHORTEST_SPREAD: Span = Span::from_secs(10);
/// Backoff begins at no less than this ...
const SHORTEST_BACKOFF: Span = Span::from_secs(1);
/// ... and ends at no more than this.
const LONGEST_BACKOFF: Span = Span::from_secs(6 * 3600);

/// Where in its interval a connection polls: a fraction of `interval` that depends on the installation and the name alone,
/// so that restarts keep it and fleets do not align (A41, A42). Always shorter than `interval` (zero for an interval of zero).
pub fn phase(installation: &[u8; 32], name: &str, interval: Span) -> Span {
    let digest = blake3::keyed_hash(installation, name.as_bytes());
    let mut first = [0; 8];
    first.copy_from_slice(&digest.as_bytes()[..8]);
    let scaled = u128::from(u64::from_le_bytes(first)) * u128::from(interval.as_millis());
    Span((scaled >> 64) as u64)
}

/// How far from the others a connection begins, and goes on after a reset that all wait for: far enough that fleets do not ask in one
/// second (A41, A42), soon enough for people. A tenth of the interval (five connections that poll hourly are a minute apart), but
/// ten seconds, or the interval, where that is less; and never more than two minutes.
/// Folded, not clipped, at that bound: clipping would gather everybody with a long interval at one instant.
pub fn spread(phase: Span, interval: Span) -> Span {
    let least = SHORTEST_SPREAD.min(interval).as_millis();
    if interval.as_millis() / 10 >= least {
        return Span(phase.as_millis() / 10 % LONGEST_SPREAD.as_millis());
    }
    let scaled = u128::from(phase.as_millis()) * u128::from(least) / u128::from(interval.as_millis().max(1));
    Span(u64::try_from(scaled).unwrap_or(least).min(least))
}

/// Of the first poll of a connection that never polled.
pub fn first(now: &Now, spread: Span) -> Stamp {
    now.stamp() + spread
}

/// After an attempt that was due at `due` and began at `began`: one step of max(interval, backoff) later (F3).
///
/// The step is counted from where the attempt *began*, not from where it was due. A grid over `due` would have to choose for an
/// attempt that began some milliseconds late: either the next gap is shorter than the interval, or a whole interval is lost.
/// Counted so, no gap is ever shorter than the step, phases set by [`first`] drift by the milliseconds of each start alone,
/// and after a gap (suspend, hold, downtime) there is one catch-up and no burst (A40).
/// An attempt that began before it was due, by less than a step, does not pull the cadence forward.
pub fn next(due: Stamp, began: Stamp, interval: Span, backoff: Span) -> Stamp {
    let step = interval.max(backoff);
    let early = due.era == began.era && due.steady > began.steady && due.steady.since(began.steady) < step;
    (if early { due } else { began }) + step
}

/// Doubles from `interval / 4` (at least 1 s) up to 16 x interval (at most 6 h); zero at no failures.
pub fn backoff(failures: u32, interval: Span) -> Span {
    let Some(doublings) = failures.checked_sub(1) else { return Span::ZERO };
    let base = Span(interval.as_millis() / 4).max(SHORTEST_BACKOFF);
    let cap = Span(interval.as_millis().saturating_mul(16)).min(LONGEST_BACKOFF).max(SHORTEST_BACKOFF);
    let factor = 1u64.checked_shl(doublings).unwrap_or(u64::MAX);
    Span(base.as_millis().saturating_mul(factor)).min(cap)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::time::{ClockTrust, Steady, Wall};
    use proptest::prelude::*;

    fn stamp(ms: u64) -> Stamp {
        Stamp { steady: Steady(ms), wall: Wall(1_700_000_000_000 + ms as i64), era: 1 }
    }
    fn now(ms: u64) -> Now {
        Now { steady: Steady(ms), era: 1, trust: ClockTrust::Trusted, offsets: vec![1_700_000_000_000] }
    }
    const S75: Span = Span::from_secs(75);

    #[test]
    fn the_next_poll() {
        let table = [
            // due, began, interval, backoff -> next (all ms)
            ("in time", 0, 0, 75_000, 0, 75_000),
            ("a little late keeps a whole interval", 0, 12, 75_000, 0, 75_012),
            ("an hour late catches up once", 0, 3_600_000, 75_000, 0, 3_675_000),
            ("backoff slows", 0, 0, 75_000, 150_000, 150_000),
            ("a short backoff does not speed up (F3)", 0, 0, 75_000, 18_750, 75_000),
            ("early does not pull forward", 75_000, 70_000, 75_000, 0, 150_000),
            ("a due time beyond a step is a stale plan", 900_000, 70_000, 75_000, 0, 145_000),
        ];
        for (what, due, began, interval, back, then) in table {
            assert_eq!(next(stamp(due), stamp(began), Span(interval), Span(back)), stamp(then), "{what}");
        }
    }

    #[test]
    fn a_due_time_of_another_boot_is_not_compared() {
        let due = Stamp { era: 0, ..stamp(100_000) };
        assert_eq!(next(due, stamp(70_000), S75, Span::ZERO), stamp(145_000));
    }

    #[test]
    fn backoff_doubles_between_its_bounds() {
        let table = [(0, 0), (1, 18_750), (2, 37_500), (3, 75_000), (4, 150_000), (7, 1_200_000), (8, 1_200_000)];
        for (failures, ms) in table {
            assert_eq!(backoff(failures, S75), Span(ms), "{failures} failures");
        }
        assert_eq!(backoff(1, Span::from_secs(2)), Span::from_secs(1), "at least a second");
        assert_eq!(backoff(u32::MAX, Span::from_secs(86_400)), Span::from_secs(6 * 3600), "at most six hours");
        assert_eq!(backoff(40, Span::ZERO), Span::from_secs(1));
        assert_eq!(backoff(64 + 3, Span(u64::MAX)), Span::from_secs(6 * 3600));
    }

    #[test]
    fn a40_suspended_for_78_minutes_a_10_s_schedule_calls_once() {
        let interval = Span::from_secs(10);
        let (mut due, mut calls) = (stamp(0), 0);
        let wake = 78 * 60_000;
        // From the wake-up on, drain what is due at once.
        while due.steady <= Steady(wake) {
            calls += 1;
            due = next(due, stamp(wake), interval, Span::ZERO);
        }
        assert_eq!(calls, 1);
        assert_eq!(due, stamp(wake + 10_000));
    }

    fn spreads(n: u8, interval: Span) -> Vec<Span> {
        (0..n).map(|i| spread(phase(&[i; 32], "yard", interval), interval)).collect()
    }

    #[test]
    fn a41_twenty_five_jobs_of_10_s_do_not_start_in_one_second_and_stay_apart() {
        let interval = Span::from_secs(10);
        let names = (0..25).map(|n| phase(&[7; 32], &format!("c{n}"), interval));
        let starts: Vec<Stamp> = names.map(|p| first(&now(0), spread(p, interval))).collect();
        for round in 0..3 {
            let mut seconds = std::collections::BTreeMap::<u64, u32>::new();
            for start in &starts {
                let due = (0..round).fold(*start, |due, _| next(due, due, interval, Span::ZERO));
                *seconds.entry(due.steady.0 / 1000).or_default() += 1;
            }
            assert!(seconds.len() >= 8 && seconds.values().all(|n| *n <= 8), "round {round}: {seconds:?}");
        }
    }

    #[test]
    fn a42_five_installations_that_poll_hourly_are_a_minute_apart_at_the_ends() {
        let at = spreads(5, Span::from_secs(3600));
        let apart = at.iter().max().unwrap().saturating_sub(*at.iter().min().unwrap());
        assert!(apart >= Span::from_secs(60), "{apart}");
    }

    #[test]
    fn everybody_who_waits_for_one_reset_goes_on_at_a_moment_of_his_own() {
        for interval in [60, 300, 3600, 86_400].map(Span::from_secs) {
            let mut at = spreads(50, interval);
            at.sort_unstable();
            assert!(at.windows(8).all(|w| w[7].saturating_sub(w[0]) > Span(200)), "{interval}: {at:?}");
        }
    }

    #[test]
    fn the_first_poll_comes_soon() {
        assert_eq!(first(&now(5), Span::ZERO), stamp(5));
        for (interval, most) in [(1, 1), (10, 10), (75, 10), (100, 10), (600, 60), (86_400, 120)] {
            let (interval, most) = (Span::from_secs(interval), Span::from_secs(most));
            assert!(spreads(200, interval).into_iter().all(|s| s < most), "{interval}");
        }
        assert!(spread(Span(u64::MAX), Span(u64::MAX)) < Span::from_secs(120));
        assert_eq!(spread(Span::ZERO, Span::ZERO), Span::ZERO);
    }

    proptest! {
        #[test]
        fn law_8_the_next_poll_is_never_sooner_than_a_whole_step(
            due in 0..1u64 << 50, late in 0..1u64 << 40, early in proptest::bool::ANY,
            interval in 0..1u64 << 40, failures in 0..100u32,
        ) {
            let began = if early { due.saturating_sub(late) } else { due + late };
            let pause = backoff(failures, Span(interval));
            let then = next(stamp(due), stamp(began), Span(interval), pause);
            prop_assert!(then.steady >= Steady(began) + Span(interval).max(pause));
            prop_assert!(then.steady <= Steady(began) + Span(2 * interval.max(pause.as_millis())), "and never starves");
        }

        #[test]
        fn more_failures_never_wait_less(failures in 0..200u32, interval in 0..1u64 << 45) {
            let interval = Span(interval);
            prop_assert!(backoff(failures + 1, interval) >= backoff(failures, interval));
            prop_assert!(backoff(failures, interval) <= LONGEST_BACKOFF);
        }

        #[test]
        fn a_phase_lies_in_its_interval_and_stays(installation: [u8; 32], name in ".{0,40}", interval: u64) {
            let p = phase(&installation, &name, Span(interval));
            prop_assert!(p.as_millis() < interval.max(1));
            prop_assert_eq!(p, phase(&installation, &name, Span(interval)));
        }
    }
}
