//! The budget against judges that know nothing of it: whatever the limits, callers, latencies, lost answers, restarts and
//! steps of the wall clock, no provider counts more than its limit, and no refusal is longer than it must be.
//!
//! `PROPTEST_CASES=10000 cargo test --test budget` looks longer.

mod book;
mod calendars;
mod divided;
mod foreign;
#[path = "../judges/mod.rs"]
mod judges;
mod kept;
mod laws;
mod liveness;
mod planted;
mod run;
mod trace;

use larder::rules::budget::Ledger;
use laws::hold_all;
use proptest::prelude::*;
use trace::{anchored, any_kind, concurrent, daily, fixed, large, monthly, pace, rolling, traces, weekly};

fn check(story: &trace::Trace) -> Result<(), TestCaseError> {
    hold_all::<Ledger>(story).map_err(|broken| TestCaseError::fail(format!("{}: {}", broken.law, broken.detail)))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn rolling_limits_hold_under_a_sliding_log(story in traces(rolling(), 1..=1)) {
        check(&story)?;
    }

    #[test]
    fn fixed_limits_hold_under_windows_aligned_to_a_skewed_clock(story in traces(fixed(), 1..=1)) {
        check(&story)?;
    }

    #[test]
    fn paces_hold_under_gcra_without_burst_and_under_a_sliding_log_whatever_a_request_costs(story in traces(pace(), 1..=1)) {
        check(&story)?;
    }

    #[test]
    fn daily_limits_hold_in_their_zone_across_changes_of_the_clock(story in traces(daily(), 1..=1)) {
        check(&story)?;
    }

    #[test]
    fn monthly_limits_hold_in_their_zone(story in traces(monthly(), 1..=1)) {
        check(&story)?;
    }

    #[test]
    fn weekly_limits_hold_in_their_zone(story in traces(weekly(), 1..=1)) {
        check(&story)?;
    }

    #[test]
    fn anchored_limits_hold_wherever_a_window_opened(story in traces(anchored(), 1..=1)) {
        check(&story)?;
    }

    #[test]
    fn no_more_are_in_flight_than_may_be(story in traces(concurrent(), 1..=1)) {
        check(&story)?;
    }

    #[test]
    fn several_limits_hold_together(story in traces(any_kind(), 2..=3)) {
        check(&story)?;
    }

    #[test]
    fn large_amounts_in_coarser_slots_never_overspend(story in large(prop_oneof![rolling(), fixed(), daily(), weekly(), monthly(), anchored(), pace()].boxed())) {
        check(&story)?;
    }
}
