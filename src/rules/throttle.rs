//! Partial throttling: some requests are answered, many are refused. Never enough failures in a row for a breaker that counts those,
//! and a provider that is asked for nothing half of the time (F9). A window over the newest answers says so; small enough to lie in the
//! connection's own record, so that a restart begins no new count. Must not know what a refusal is, nor who asks.

use crate::domain::connection::Recent;
use crate::domain::time::Span;

/// Answers that are looked back at.
pub const WINDOW: u32 = 20;
/// Fewer say nothing.
pub const LEAST: u32 = 10;
/// No pause grows beyond this, unless what it grows from is longer.
const LONGEST: Span = Span::from_secs(6 * 3600);

/// Another answer was heard. A whole window with fewer refusals than that is health: the next opening is a first one again.
pub fn heard(recent: Recent, refused: bool) -> Recent {
    let mask = (1u32 << WINDOW) - 1;
    let after = Recent {
        refused: (recent.refused << 1 | u32::from(refused)) & mask,
        answers: (recent.answers + 1).min(WINDOW),
        ..recent
    };
    let is_well = after.answers == WINDOW && !is_throttled(&after);
    Recent { trips: if is_well { 0 } else { after.trips }, ..after }
}

/// Refusals among the newest answers, and how many answers those are.
pub fn share(recent: &Recent) -> (u32, u32) {
    (recent.refused.count_ones(), recent.answers)
}

/// At least half of the newest answers were refusals.
pub fn is_throttled(recent: &Recent) -> bool {
    let (refused, answers) = share(recent);
    answers >= LEAST && refused * 2 >= answers
}

/// The breaker opened for it.
pub fn opened(recent: Recent) -> Recent {
    Recent { trips: recent.trips.saturating_add(1), ..recent }
}

/// A probe was answered: the count begins anew, the trips are remembered.
pub fn closed(recent: Recent) -> Recent {
    Recent { refused: 0, answers: 0, ..recent }
}

/// How long the breaker stays open: on the timescale of what was refused, twice as long with each trip, and never less than the hold. `hold`:
/// how long that is, and how often in a row it was refused by then: what has grown with that is not doubled a second time.
pub fn open_for(hold: Option<(Span, u32)>, unhinted: Span, interval: Span, trips: u32) -> Span {
    let first = |(length, strikes): (Span, u32)| Span(length.0 >> strikes.saturating_sub(1).min(16));
    let scale = hold.map_or(unhinted, first).max(interval);
    pause(scale, trips).max(hold.map_or(Span::ZERO, |(length, _)| length))
}

/// `scale`: of what was refused first.
fn pause(scale: Span, trips: u32) -> Span {
    let factor = 1u64.checked_shl(trips).unwrap_or(u64::MAX);
    Span(scale.0.saturating_mul(factor).min(LONGEST.0.max(scale.0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn after(answers: impl IntoIterator<Item = bool>) -> Recent {
        answers.into_iter().fold(Recent::default(), heard)
    }

    #[test]
    fn f9_half_refused_is_throttled_and_a_few_refusals_are_not() {
        assert!(is_throttled(&after((0..10).map(|n| n % 2 == 0))), "every second");
        assert!(is_throttled(&after([true; 10])));
        assert!(!is_throttled(&after([true; 9])), "too few to say");
        assert!(!is_throttled(&after((0..60).map(|n| n % 3 == 0))), "every third");
        let storm = after([true; 20]);
        assert!(!is_throttled(&(0..11).fold(storm, |r, _| heard(r, false))), "what is long ago does not count");
    }

    #[test]
    fn f9_each_trip_is_twice_as_long_until_a_whole_window_went_well() {
        let minute = Span::from_secs(60);
        let pauses: Vec<u64> = (0..4).map(|trips| pause(minute, trips).as_secs()).collect();
        assert_eq!(pauses, [60, 120, 240, 480]);
        assert_eq!(pause(minute, 200), LONGEST);
        assert_eq!(pause(Span::from_secs(86_400), 3), Span::from_secs(86_400), "a day-scale hold is long enough");
        let tripped = closed(opened(opened(after([true; 12]))));
        assert_eq!((tripped.trips, share(&tripped)), (2, (0, 0)));
        let well = |n| (0..n).fold(tripped, |r, _| heard(r, false)).trips;
        assert_eq!((well(WINDOW - 1), well(WINDOW)), (2, 0));
    }

    /// Refused for an hour by a bare 429: every hold is twice the last, and the breaker waits for the hold and not for its square.
    #[test]
    fn f9_what_a_hold_has_grown_is_not_doubled_again() {
        let (second, minute) = (Span::from_secs(1), Span::from_secs(60));
        for (hold, strikes, trips, expected) in
            [(5, 1, 0, 5), (5, 1, 3, 40), (160, 6, 1, 160), (3600, 10, 4, 3600), (43_200, 3, 6, 43_200)]
        {
            let open = open_for(Some((Span::from_secs(hold), strikes)), minute, second, trips);
            assert_eq!(open.as_secs(), expected, "{hold} s after {strikes} refusals, opened {trips} times before");
        }
        assert_eq!(open_for(None, minute, second, 2).as_secs(), 240, "no hold at all");
        assert_eq!(
            open_for(Some((Span::from_secs(5), 1)), minute, minute, 1).as_secs(),
            120,
            "never below the interval"
        );
    }

    proptest! {
        /// The window is exact: whatever came before the last `WINDOW` answers does not matter, and memory does not grow.
        #[test]
        fn f9_law_the_window_counts_the_newest_answers_and_nothing_else(answers in prop::collection::vec(any::<bool>(), 0..200)) {
            let recent = after(answers.iter().copied());
            let newest: Vec<bool> = answers.iter().rev().take(WINDOW as usize).copied().collect();
            let refused = newest.iter().filter(|r| **r).count();
            prop_assert_eq!(share(&recent), (refused as u32, newest.len() as u32));
            prop_assert_eq!(is_throttled(&recent), newest.len() >= LEAST as usize && refused * 2 >= newest.len());
        }

        /// More refusals never make it look healthier, and no pause is shorter than what was asked for (law 8).
        #[test]
        fn f9_law_a_refusal_more_never_closes_and_a_trip_more_never_hastens(
            answers in prop::collection::vec(any::<bool>(), 10..60), at in any::<prop::sample::Index>(), scale in 0u64..1 << 40, trips in 0u32..100,
        ) {
            let mut worse = answers.clone();
            let at = at.index(worse.len());
            worse[at] = true;
            prop_assert!(!is_throttled(&after(answers)) || is_throttled(&after(worse)));
            prop_assert!(pause(Span(scale), trips) >= Span(scale));
            prop_assert!(pause(Span(scale), trips + 1) >= pause(Span(scale), trips));
        }
    }
}
