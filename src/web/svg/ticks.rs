//! Where the lines of a plot lie and what they are called: round numbers, and round times of the place where they are read.

use super::plot::{Anchor, Plot};
use crate::domain::time::Wall;
use crate::web::pages::reader::Decimal;
use jiff::Timestamp;
use jiff::tz::TimeZone;

/// A moment on the axis of time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tick {
    pub at: Wall,
    pub label: String,
}

/// Whose time an axis shows, and how times of the day are written there.
#[derive(Clone, Debug)]
pub struct Axis<'a> {
    pub zone: &'a TimeZone,
    pub hours: &'a str,
    pub seconds: &'a str,
    pub decimal: Decimal,
}

const DAY: i64 = 86_400_000;
/// Distances between ticks, ms.
const STEPS: [i64; 22] = [
    5_000,
    10_000,
    30_000,
    60_000,
    120_000,
    300_000,
    600_000,
    900_000,
    1_800_000,
    3_600_000,
    7_200_000,
    10_800_000,
    21_600_000,
    43_200_000,
    DAY,
    2 * DAY,
    7 * DAY,
    14 * DAY,
    28 * DAY,
    91 * DAY,
    182 * DAY,
    364 * DAY,
];

/// Where a moment lies between two others: 0 to 1 inside.
pub fn place(from: Wall, until: Wall, at: Wall) -> f64 {
    let length = until.0.saturating_sub(from.0).max(1);
    at.0.saturating_sub(from.0) as f64 / length as f64
}

/// Strokes and times below the ground of a plot.
pub fn below(plot: &mut Plot, (from, until): (Wall, Wall), ground: f64, axis: &Axis<'_>) {
    for tick in times(from, until, axis, 5) {
        let x = place(from, until, tick.at);
        plot.upright("grid", x, (ground, ground + 5.0));
        plot.text("time", (x, ground + 19.0), Anchor::near(x), &tick.label);
    }
}

/// At most `most` round moments of the place between the two.
pub fn times(from: Wall, until: Wall, axis: &Axis<'_>, most: usize) -> Vec<Tick> {
    let length = until.0.saturating_sub(from.0).max(1);
    let fits = |step: &&i64| length / **step < i64::try_from(most).unwrap_or(i64::MAX);
    let Some(step) = STEPS.iter().find(fits).copied().or(STEPS.last().copied()) else { return Vec::new() };
    let Ok(start) = Timestamp::from_millisecond(from.0) else { return Vec::new() };
    let Axis { zone, hours, seconds, .. } = axis;
    // Local time, reckoned as if it were that of Greenwich: there every day has 24 hours.
    let local = from.0.saturating_add(i64::from(zone.to_offset(start).seconds()) * 1000);
    let first = local.div_euclid(step) * step;
    let rounds = (0..=i64::try_from(most).unwrap_or(i64::MAX).saturating_add(1)).map(|n| first + n * step);
    let ticks = rounds.filter_map(|local| {
        let civil = TimeZone::UTC.to_datetime(Timestamp::from_millisecond(local).ok()?);
        let at = civil.to_zoned_datetime((*zone).clone()).ok()?;
        let form = if local.rem_euclid(DAY) == 0 {
            "%-d %b"
        } else if step < 60_000 {
            seconds
        } else {
            hours
        };
        Some(Tick { at: Wall(at.timestamp().as_millisecond()), label: at.strftime(form).to_string() })
    });
    ticks.filter(|tick| tick.at >= from && tick.at <= until).take(most).collect()
}

/// Round numbers from a step above nothing to the first that is no less than `highest`; at most five.
pub fn units(highest: u64) -> Vec<u64> {
    let highest = highest.max(1);
    let mut step = 1u64;
    for factor in [2, 5, 10].into_iter().cycle() {
        if highest.div_ceil(step) <= 4 {
            break;
        }
        let decade = 10u64.pow(step.ilog10());
        step = decade.saturating_mul(factor);
    }
    (1..=highest.div_ceil(step)).map(|n| n.saturating_mul(step)).collect()
}

/// Round numbers that a value lies between, from one no greater than `low` to one no less than `high`.
pub fn values(low: f64, high: f64) -> Vec<f64> {
    let (low, high) = match (low, high) {
        (low, high) if !(low.is_finite() && high.is_finite()) => (0.0, 1.0),
        (low, high) if high - low <= low.abs().max(high.abs()) * 1e-9 => {
            let room = (low.abs() * 0.05).max(0.5);
            (low - room, high + room)
        }
        both => both,
    };
    let raw = (high - low) / 3.0;
    let decade = 10f64.powf(raw.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|n| n * decade).find(|step| *step >= raw).unwrap_or(raw);
    let (first, last) = ((low / step).floor(), (high / step).ceil());
    let count = (last - first).clamp(1.0, 8.0) as usize;
    (0..=count).map(|n| (first + n as f64) * step).collect()
}

/// As the tests read times.
#[cfg(test)]
pub const UTC: Axis<'static> =
    Axis { zone: &TimeZone::UTC, hours: "%H:%M", seconds: "%H:%M:%S", decimal: Decimal::Point };

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn wall(iso: &str) -> Wall {
        Wall(iso.parse::<Timestamp>().unwrap().as_millisecond())
    }

    fn labels(from: &str, until: &str, most: usize) -> Vec<String> {
        let zone = TimeZone::get("Europe/Zurich").unwrap();
        let axis = Axis { zone: &zone, ..UTC };
        times(wall(from), wall(until), &axis, most).into_iter().map(|t| t.label).collect()
    }

    #[test]
    fn a_day_has_round_hours_of_its_place() {
        let day = labels("2026-11-29T08:20:00Z", "2026-11-30T08:20:00Z", 5);
        assert_eq!(day, ["12:00", "18:00", "30 Nov", "06:00"]);
        assert_eq!(labels("2026-11-30T08:00:00Z", "2026-11-30T08:05:00Z", 6).first().unwrap(), "09:00");
        let month = labels("2026-11-01T00:00:00Z", "2026-11-30T08:20:00Z", 5);
        assert_eq!(month, ["5 Nov", "12 Nov", "19 Nov", "26 Nov"]);
    }

    #[test]
    fn through_a_change_of_the_clock_the_hours_stay_round() {
        let day = labels("2026-10-24T22:00:00Z", "2026-10-25T23:00:00Z", 5);
        assert_eq!(day, ["25 Oct", "06:00", "12:00", "18:00", "26 Oct"]);
    }

    #[test]
    fn numbers_are_round() {
        for (highest, expected) in [
            (0, &[1][..]),
            (1, &[1]),
            (4, &[1, 2, 3, 4]),
            (5, &[2, 4, 6]),
            (17, &[5, 10, 15, 20]),
            (300, &[100, 200, 300]),
            (2001, &[1000, 2000, 3000]),
        ] {
            assert_eq!(units(highest), expected, "{highest}");
        }
    }

    #[test]
    fn values_lie_between_round_ones() {
        for (low, high, expected) in [
            (10.0, 20.0, &[10.0, 15.0, 20.0][..]),
            (0.0, 1.0, &[0.0, 0.5, 1.0]),
            (-3.0, 7.0, &[-5.0, 0.0, 5.0, 10.0]),
            (f64::INFINITY, f64::NEG_INFINITY, &[0.0, 0.5, 1.0]),
        ] {
            assert_eq!(values(low, high), expected, "{low} to {high}");
        }
        assert!(values(21.5, 21.5).windows(2).all(|w| w[0] < w[1]));
    }

    proptest! {
        #[test]
        fn every_value_has_a_line_above_and_below(a in -1e12f64..1e12, b in -1e12f64..1e12) {
            let (low, high) = (a.min(b), a.max(b));
            let lines = values(low, high);
            prop_assert!(lines.len() <= 9 && lines[0] <= low + 1e-3 && lines[lines.len() - 1] >= high - 1e-3, "{:?}", lines);
        }

        #[test]
        fn there_are_few_of_them_and_they_reach_far_enough(highest in any::<u64>(), length in 1i64..40_000_000_000, most in 3usize..9) {
            let numbers = units(highest);
            prop_assert!(numbers.len() <= 5 && numbers.last().is_some_and(|top| *top >= highest), "{:?}", numbers);
            let from = wall("2026-11-30T08:20:00Z");
            let times = times(from, Wall(from.0 + length), &UTC, most);
            prop_assert!(times.len() <= most, "{:?}", times);
            prop_assert!(times.windows(2).all(|w| w[0].at < w[1].at));
        }
    }
}
