//! A provider's own truth of its quota: a sliding log of arrivals. Independent of every line of Larder.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// What the provider counts together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CountedBy {
    Key,
    KeyAndEndpoint,
    /// All keys are one account's.
    Account,
}

/// `amount` requests in any stretch of `window`. Refused requests count too: the strictest providers do that.
#[derive(Debug)]
pub struct Quota {
    amount: usize,
    window: Duration,
    by: CountedBy,
    arrivals: BTreeMap<(String, String), Vec<Instant>>,
    violations: Vec<String>,
}

impl Quota {
    pub fn new(amount: usize, window: Duration, by: CountedBy) -> Quota {
        Quota { amount, window, by, arrivals: BTreeMap::new(), violations: Vec::new() }
    }

    pub fn is_within(&self) -> bool {
        self.violations.is_empty()
    }

    pub fn violations(&self) -> &[String] {
        &self.violations
    }

    /// Takes the arrival in; says whether it was within the limit.
    pub fn arrives(&mut self, key: &str, endpoint: &str, at: Instant) -> bool {
        let bucket = match self.by {
            CountedBy::Account => Default::default(),
            CountedBy::Key => (key.to_owned(), String::new()),
            CountedBy::KeyAndEndpoint => (key.to_owned(), endpoint.to_owned()),
        };
        let log = self.arrivals.entry(bucket).or_default();
        log.push(at);
        let inside = log.iter().filter(|seen| at.duration_since(**seen) < self.window).count();
        if inside <= self.amount {
            return true;
        }
        let gaps: Vec<u128> = log.iter().rev().take(inside).map(|t| at.duration_since(*t).as_millis()).collect();
        self.violations.push(format!(
            "{inside} requests to {endpoint} inside {:?} where {} are allowed; ms before the last: {gaps:?}",
            self.window, self.amount
        ));
        false
    }
}

#[test]
fn the_judge_itself_counts_a_sliding_window() {
    let mut quota = Quota::new(2, Duration::from_secs(10), CountedBy::KeyAndEndpoint);
    let start = Instant::now();
    let at = |s: u64| start + Duration::from_secs(s);
    assert!(quota.arrives("k", "/a", at(0)));
    assert!(quota.arrives("k", "/a", at(9)));
    assert!(quota.arrives("k", "/b", at(9)), "another endpoint has its own count");
    assert!(quota.arrives("k2", "/a", at(9)), "another key has its own count");
    assert!(quota.arrives("k", "/a", at(10)), "the first has left the window");
    assert!(!quota.arrives("k", "/a", at(18)), "9 and 10 are still in it");
    assert_eq!(quota.violations().len(), 1);
}
