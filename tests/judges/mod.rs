//! Providers' books, as providers keep them. A judge sees when a request was counted and what it cost, on the provider's own
//! clock, and says over or not over. Judges must know nothing of Larder: no type of its crate appears here.
//!
//! Each test target uses the part that it needs.
#![allow(dead_code)]

pub mod calendar;
pub mod concurrency;
pub mod counts;

use std::fmt;

/// Milliseconds on the provider's clock (Unix time), or on any line for judges that do not read a calendar.
pub type Ms = i64;

/// The provider's book went beyond its rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Over {
    pub judge: String,
    pub at: Ms,
    /// Units in the book with this request.
    pub count: u64,
    pub limit: u64,
}

impl fmt::Display for Over {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} counted {} of {} at {}", self.judge, self.count, self.limit, self.at)
    }
}

/// A book of counted requests.
pub trait Judge: fmt::Debug + Send {
    /// Counts `cost` units at `at`. Calls come in the order of time. A request that is over stays in the book.
    fn count(&mut self, at: Ms, cost: u64) -> Result<(), Over>;
    /// Units that stand against the client at `at`, not before the last `count`.
    fn level(&self, at: Ms) -> u64;
}

/// Feeds counted requests to a judge in the order of time and tells the first that is over.
pub fn judge_all(judge: &mut dyn Judge, counted: impl IntoIterator<Item = (Ms, u64)>) -> Result<(), Over> {
    let mut all: Vec<_> = counted.into_iter().collect();
    all.sort_unstable();
    all.into_iter().try_for_each(|(at, cost)| judge.count(at, cost))
}
