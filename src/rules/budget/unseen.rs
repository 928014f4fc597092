//! What was sent that no book here knows of: by the appliance whose file a backup is, after it was made. How much that can have
//! been follows from the limits themselves, which that appliance kept.

use crate::domain::limit::{Kind, Limit};
use crate::domain::time::Span;

/// The most units that can have been sent in `time`, where each limit was kept; `None`: in an unknown time. Never more than
/// all limits can count together.
pub fn at_most(limits: &[Limit], time: Option<Span>) -> u64 {
    let counted = || limits.iter().filter(|l| !matches!(l.kind, Kind::Concurrent));
    let all = counted().map(|l| l.amount).max().unwrap_or(0);
    let sent = time.and_then(|time| counted().map(|l| l.amount.saturating_mul(windows(&l.kind, time))).min());
    // Where a window opened is not known either, so that only a full one proves when the next can.
    let opened = counted().filter(|l| matches!(l.kind, Kind::Anchored { .. })).map(|l| l.amount).max().unwrap_or(0);
    sent.unwrap_or(all).min(all).max(opened)
}

/// Windows that a stretch of `time` can have part in, if as much as fits was sent in each.
fn windows(kind: &Kind, time: Span) -> u64 {
    let Some(window) = kind.nominal_window() else { return u64::MAX };
    match kind {
        Kind::Rolling { .. } | Kind::Pace { .. } => time.0 / window.0.max(1) + 1,
        // They begin by the provider's clock, and the shortest of them (23 hours, 28 days) are a tenth shorter.
        _ => time.0 / (window.0 - window.0 / 10).max(1) + 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limit(amount: u64, kind: Kind) -> Limit {
        let (scope, keep, cap) = Default::default();
        Limit { name: "l".to_owned(), amount, kind, scope, keep, reach: Default::default(), cap }
    }

    fn rolling(amount: u64, seconds: u64) -> Limit {
        limit(amount, Kind::Rolling { window: Span::from_secs(seconds) })
    }

    #[test]
    fn a_short_time_leaves_what_the_short_window_did_not_let_through() {
        let day = || limit(1_000, Kind::Daily { resets_at: Default::default(), time_zone: "UTC".to_owned() });
        let minutes = |n: u64| Some(Span::from_secs(60 * n));
        assert_eq!(at_most(&[rolling(10, 60), day()], minutes(5)), 60);
        assert_eq!(at_most(&[rolling(10, 60), day()], minutes(50_000)), 1_000, "never more than counts");
        assert_eq!(at_most(&[rolling(10, 60), day()], None), 1_000);
        assert_eq!(at_most(&[rolling(8, 40)], Some(Span::ZERO)), 8, "all at once in the first moment");
        assert_eq!(at_most(&[limit(3, Kind::Concurrent)], None), 0, "nothing is in flight for ever");
        assert_eq!(at_most(&[], None), 0);
    }

    #[test]
    fn a_window_that_requests_open_is_taken_as_full() {
        let anchored = || limit(100, Kind::Anchored { window: Span::from_secs(3_600) });
        assert_eq!(at_most(&[rolling(1, 60), anchored()], Some(Span::from_secs(90))), 100);
    }
}
