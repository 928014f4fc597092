//! Judges that need no calendar: the sliding log, windows aligned to the clock, windows that a request opens, and GCRA.

use super::{Judge, Ms, Over};
use std::collections::VecDeque;

/// Remembers every request for `window`: no stretch of `window`, wherever it starts, may hold more than `limit`.
/// A stretch contains its first instant and not its last.
#[derive(Clone, Debug)]
pub struct SlidingLog {
    limit: u64,
    window: Ms,
    log: VecDeque<(Ms, u64)>,
    units: u64,
}

impl SlidingLog {
    pub fn new(limit: u64, window_ms: u64) -> SlidingLog {
        SlidingLog { limit, window: window_ms as Ms, log: VecDeque::new(), units: 0 }
    }
}

impl Judge for SlidingLog {
    fn count(&mut self, at: Ms, cost: u64) -> Result<(), Over> {
        while let Some(&(then, units)) = self.log.front().filter(|(then, _)| then + self.window <= at) {
            debug_assert!(then <= at);
            self.units -= units;
            self.log.pop_front();
        }
        self.log.push_back((at, cost));
        self.units += cost;
        if self.units <= self.limit {
            return Ok(());
        }
        Err(Over { judge: format!("sliding log of {} ms", self.window), at, count: self.units, limit: self.limit })
    }

    fn level(&self, at: Ms) -> u64 {
        self.log.iter().filter(|(then, _)| then + self.window > at).map(|(_, units)| units).sum()
    }
}

/// Counts in windows aligned to the provider's clock, which runs `phase` ahead of the line that it is told.
#[derive(Clone, Debug)]
pub struct FixedWindows {
    limit: u64,
    window: Ms,
    phase: Ms,
    current: Ms,
    units: u64,
}

impl FixedWindows {
    pub fn new(limit: u64, window_ms: u64, phase_ms: i64) -> FixedWindows {
        FixedWindows { limit, window: window_ms as Ms, phase: phase_ms, current: Ms::MIN, units: 0 }
    }
    fn index(&self, at: Ms) -> Ms {
        (at + self.phase).div_euclid(self.window)
    }
}

impl Judge for FixedWindows {
    fn count(&mut self, at: Ms, cost: u64) -> Result<(), Over> {
        let index = self.index(at);
        if index != self.current {
            (self.current, self.units) = (index, 0);
        }
        self.units += cost;
        if self.units <= self.limit {
            return Ok(());
        }
        let judge = format!("windows of {} ms aligned to a clock {} ms ahead", self.window, self.phase);
        Err(Over { judge, at, count: self.units, limit: self.limit })
    }

    fn level(&self, at: Ms) -> u64 {
        if self.index(at) == self.current { self.units } else { 0 }
    }
}

/// Counts in windows of their own: the first request after the last window ended opens the next.
#[derive(Clone, Debug)]
pub struct Opened {
    limit: u64,
    window: Ms,
    opened: Option<Ms>,
    units: u64,
}

impl Opened {
    pub fn new(limit: u64, window_ms: u64) -> Opened {
        Opened { limit, window: window_ms as Ms, opened: None, units: 0 }
    }
    fn is_open(&self, at: Ms) -> bool {
        self.opened.is_some_and(|opened| at < opened + self.window)
    }
}

impl Judge for Opened {
    fn count(&mut self, at: Ms, cost: u64) -> Result<(), Over> {
        if !self.is_open(at) {
            (self.opened, self.units) = (Some(at), 0);
        }
        self.units += cost;
        if self.units <= self.limit {
            return Ok(());
        }
        let judge = format!("windows of {} ms from their first request", self.window);
        Err(Over { judge, at, count: self.units, limit: self.limit })
    }

    fn level(&self, at: Ms) -> u64 {
        if self.is_open(at) { self.units } else { 0 }
    }
}

/// Generic cell rate algorithm (a leaky bucket as a meter): `limit` units per `window`, evenly, with room for `burst`
/// units more at once. Exact: its time runs in `limit`-ths of a millisecond.
#[derive(Clone, Debug)]
pub struct Gcra {
    limit: i128,
    window: i128,
    burst: i128,
    /// Theoretical arrival time of the next request, in `limit`-ths of a millisecond.
    next: Option<i128>,
}

impl Gcra {
    pub fn new(limit: u64, window_ms: u64, burst: u64) -> Gcra {
        Gcra { limit: limit.into(), window: window_ms.into(), burst: burst.into(), next: None }
    }
    /// Work that is still in the bucket at `at`, in `limit`-ths of a millisecond.
    fn backlog(&self, at: Ms) -> i128 {
        self.next.map_or(0, |next| (next - i128::from(at) * self.limit).max(0))
    }
}

impl Judge for Gcra {
    fn count(&mut self, at: Ms, cost: u64) -> Result<(), Over> {
        let backlog = self.backlog(at);
        self.next = Some(i128::from(at) * self.limit + backlog + self.window * i128::from(cost));
        if backlog <= self.burst * self.window {
            return Ok(());
        }
        let units = (backlog + self.window - 1) / self.window;
        let judge = format!("GCRA of {} per {} ms, burst {}", self.limit, self.window, self.burst);
        Err(Over { judge, at, count: units as u64 + cost, limit: self.burst as u64 + cost })
    }

    fn level(&self, at: Ms) -> u64 {
        ((self.backlog(at) + self.window - 1) / self.window) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::super::judge_all;
    use super::*;

    #[test]
    fn the_sliding_log_counts_any_stretch_and_forgets_after_the_window() {
        let mut log = SlidingLog::new(2, 1000);
        assert_eq!(log.count(0, 1), Ok(()));
        assert_eq!(log.count(900, 1), Ok(()));
        assert_eq!(log.level(999), 2);
        assert_eq!(log.level(1000), 1);
        assert_eq!(log.count(1000, 1), Ok(()), "the first is a whole window ago");
        assert_eq!(log.count(1899, 1).map_err(|o| o.count), Err(3));
    }

    #[test]
    fn a_burst_over_a_boundary_is_over_for_the_sliding_log_and_fine_for_fixed_windows() {
        let burst = [(990, 2), (1010, 2)];
        assert!(judge_all(&mut SlidingLog::new(2, 1000), burst).is_err());
        assert!(judge_all(&mut FixedWindows::new(2, 1000, 0), burst).is_ok());
        assert!(judge_all(&mut FixedWindows::new(2, 1000, 500), burst).is_err(), "their boundary is elsewhere");
    }

    #[test]
    fn fixed_windows_are_aligned_below_zero_too() {
        let mut windows = FixedWindows::new(1, 1000, -200);
        assert_eq!(windows.count(100, 1), Ok(()), "window -1 by their clock");
        assert_eq!(windows.count(200, 1), Ok(()), "window 0");
        assert_eq!(windows.level(1199), 1);
        assert_eq!(windows.level(1200), 0);
    }

    #[test]
    fn a_window_opens_with_the_first_request_after_the_last_one_ended() {
        let mut opened = Opened::new(2, 1000);
        assert_eq!(opened.count(700, 1), Ok(()));
        assert_eq!(opened.count(1699, 1), Ok(()));
        assert_eq!(opened.level(1699), 2);
        assert_eq!(opened.level(1700), 0);
        assert_eq!(opened.count(1800, 2), Ok(()), "three within 110 ms, in two windows");
        assert!(opened.count(2799, 1).is_err(), "it ends at 2800");
    }

    #[test]
    fn gcra_without_burst_is_one_then_nothing() {
        let mut gcra = Gcra::new(3, 1000, 0);
        assert_eq!(gcra.count(0, 1), Ok(()));
        assert!(gcra.clone().count(333, 1).is_err(), "a third of a second is 333.3 ms");
        assert_eq!(gcra.count(334, 1), Ok(()));
        assert_eq!(gcra.level(667), 1);
        assert_eq!(gcra.level(668), 0);
    }

    #[test]
    fn gcra_with_burst_lets_more_than_the_limit_into_one_window() {
        let (mut gcra, mut log) = (Gcra::new(2, 1000, 1), SlidingLog::new(2, 1000));
        let fast = [(0, 1), (0, 1), (500, 1)];
        assert!(judge_all(&mut gcra, fast).is_ok());
        assert!(judge_all(&mut log, fast).is_err(), "what a token bucket promises is not a sliding count");
    }

    #[test]
    fn gcra_takes_weight_into_account() {
        let mut gcra = Gcra::new(4, 1000, 0);
        assert_eq!(gcra.count(0, 3), Ok(()));
        assert_eq!(gcra.level(0), 3);
        assert!(gcra.clone().count(749, 1).is_err());
        assert_eq!(gcra.count(750, 1), Ok(()));
    }
}
