//! Judges that read a calendar: days, weeks and months in a time zone, across its changes of the clock. Where a reset is left out or
//! comes twice providers differ: there is a judge for each way to read the clock, and none of them may count too many.

use super::{Judge, Ms, Over};
use jiff::civil::{Date, Time};
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};
use std::collections::BTreeMap;

/// What is counted together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Period {
    Day,
    /// From this day of the week on, 0 is Monday.
    Week(u8),
    /// From this day of the month on; from the last one where it is shorter.
    Month(u8),
}

/// How a provider reads its clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// It resets at an instant: of a time that comes twice the first; one that is left out comes as much later.
    First,
    /// It resets at an instant: of a time that comes twice the second; one that is left out comes as much earlier.
    Second,
    /// It never resets: it counts under the date that its wall clock shows, reckoned from the time of day of the reset.
    ByDate,
}

impl Reading {
    pub const ALL: [Reading; 3] = [Reading::First, Reading::Second, Reading::ByDate];
}

#[derive(Clone, Debug)]
struct Clock {
    zone: TimeZone,
    minute_of_day: u16,
    period: Period,
    reading: Reading,
}

impl Clock {
    /// Names the period that `at` is in.
    fn period(&self, at: Ms) -> Ms {
        let instant = Timestamp::from_millisecond(at).expect("an instant in this era");
        let local = self.zone.to_datetime(instant);
        let passed = local.time() >= Time::midnight() + i64::from(self.minute_of_day).minutes();
        let day = if passed { local.date() } else { local.date().saturating_sub(1.day()) };
        if self.reading == Reading::ByDate {
            return Ms::from(day.since(Date::constant(1970, 1, 1)).expect("days").get_days())
                - self.days_since_start(day);
        }
        // The instants of the resets around, and the last of them that has come.
        let around = (-33i64..=2).map(|d| local.date().saturating_add(d.days()));
        let resets = around.filter(|date| self.days_since_start(*date) == 0).map(|date| self.reset_on(date));
        resets.filter(|reset| *reset <= at).max().expect("a reset within the last month")
    }

    /// How many days `day` is into its period.
    fn days_since_start(&self, day: Date) -> Ms {
        match self.period {
            Period::Day => 0,
            Period::Week(first) => (7 + Ms::from(day.weekday().to_monday_zero_offset()) - Ms::from(first)) % 7,
            Period::Month(first) => {
                let of = |month: Date| {
                    let day = (first as i8).min(month.days_in_month());
                    Date::new(month.year(), month.month(), day).expect("a day of that month")
                };
                let this = of(day);
                let start = if this <= day { this } else { of(day.first_of_month().saturating_sub(1.day())) };
                Ms::from(day.since(start).expect("days").get_days())
            }
        }
    }

    fn reset_on(&self, date: Date) -> Ms {
        let time = Time::midnight() + i64::from(self.minute_of_day).minutes();
        let instants = self.zone.to_ambiguous_timestamp(date.to_datetime(time));
        let twice = instants.is_ambiguous()
            && self.zone.to_datetime(instants.earlier().expect("an instant")) == date.to_datetime(time);
        let instant = match (self.reading, twice) {
            (Reading::First, true) | (Reading::Second, false) => instants.earlier(),
            _ => instants.later(),
        };
        instant.expect("an instant in this era").as_millisecond()
    }
}

/// Counts by the period that the provider's clock says, which runs `skew` ahead of the line that it is told.
#[derive(Clone, Debug)]
pub struct Zoned {
    name: String,
    clock: Clock,
    limit: u64,
    skew: Ms,
    periods: BTreeMap<Ms, u64>,
}

impl Zoned {
    pub fn new(limit: u64, zone: &str, period: Period, minute_of_day: u16, skew_ms: i64, reading: Reading) -> Zoned {
        let name = format!("{period:?} in {zone} from minute {minute_of_day} ({reading:?})");
        let zone = TimeZone::get(zone).unwrap_or_else(|e| panic!("no zone {zone}: {e}"));
        let clock = Clock { zone, minute_of_day, period, reading };
        Zoned { name, clock, limit, skew: skew_ms, periods: BTreeMap::new() }
    }

    /// One for each way to read the clock.
    pub fn all(limit: u64, zone: &str, period: Period, minute_of_day: u16, skew_ms: i64) -> Vec<Box<dyn Judge>> {
        let one = |reading| Zoned::new(limit, zone, period, minute_of_day, skew_ms, reading);
        Reading::ALL.into_iter().map(|reading| Box::new(one(reading)) as Box<dyn Judge>).collect()
    }

    /// The reset that began the period of `at`, by the provider's clock without its skew; a number of days by date.
    pub fn start(&self, at: Ms) -> Ms {
        self.clock.period(at)
    }
}

impl Judge for Zoned {
    fn count(&mut self, at: Ms, cost: u64) -> Result<(), Over> {
        let units = self.periods.entry(self.clock.period(at + self.skew)).or_default();
        *units += cost;
        if *units <= self.limit {
            return Ok(());
        }
        let judge = format!("{} by a clock {} ms ahead", self.name, self.skew);
        Err(Over { judge, at, count: *units, limit: self.limit })
    }

    fn level(&self, at: Ms) -> u64 {
        self.periods.get(&self.clock.period(at + self.skew)).copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Ms {
        text.parse::<Timestamp>().expect("RFC 3339").as_millisecond()
    }

    fn judge(zone: &str, period: Period, minute: u16, reading: Reading) -> Zoned {
        Zoned::new(1, zone, period, minute, 0, reading)
    }

    #[test]
    fn a_day_is_23_to_25_hours_across_a_change_of_the_clock() {
        let day = judge("America/New_York", Period::Day, 0, Reading::First);
        let rows = [
            // (an instant, the reset before it)
            ("2027-03-14T04:59:59Z", "2027-03-13T05:00:00Z"), // EST, one second before midnight
            ("2027-03-14T05:00:00Z", "2027-03-14T05:00:00Z"),
            ("2027-03-15T03:59:59Z", "2027-03-14T05:00:00Z"), // EDT: 23 hours later is the next midnight
            ("2027-03-15T04:00:00Z", "2027-03-15T04:00:00Z"),
            ("2027-11-08T04:59:59Z", "2027-11-07T04:00:00Z"), // 25 hours
        ];
        for (instant, reset) in rows {
            assert_eq!(day.start(at(instant)), at(reset), "{instant}");
        }
    }

    #[test]
    fn a_reset_that_is_left_out_or_comes_twice_is_read_in_three_ways() {
        let start = |reading, instant: &str| judge("Europe/Berlin", Period::Day, 150, reading).start(at(instant));
        // 02:30 does not exist on 2027-03-28, and comes twice on 2027-10-31.
        assert_eq!(start(Reading::First, "2027-03-28T12:00:00Z"), at("2027-03-28T01:30:00Z"), "03:30 CEST");
        assert_eq!(start(Reading::Second, "2027-03-28T12:00:00Z"), at("2027-03-28T00:30:00Z"), "01:30 CET");
        assert_eq!(start(Reading::First, "2027-10-31T12:00:00Z"), at("2027-10-31T00:30:00Z"), "02:30 CEST");
        assert_eq!(start(Reading::Second, "2027-10-31T12:00:00Z"), at("2027-10-31T01:30:00Z"), "02:30 CET");
        // By its date the clock goes back into the day before for half an hour.
        let by_date = |instant| start(Reading::ByDate, instant);
        let (before, after) = (by_date("2027-10-31T00:29:00Z"), by_date("2027-10-31T00:31:00Z"));
        assert_eq!(after, before + 1);
        assert_eq!(by_date("2027-10-31T01:10:00Z"), before, "02:10 CET");
        assert_eq!(by_date("2027-10-31T01:40:00Z"), after);
        let midnight = judge("Asia/Beirut", Period::Day, 0, Reading::First); // the clock goes from 00:00 to 01:00
        assert_eq!(midnight.start(at("2026-03-29T12:00:00Z")), at("2026-03-28T22:00:00Z"));
    }

    #[test]
    fn a_week_begins_on_its_day() {
        for reading in Reading::ALL {
            let week = judge("UTC", Period::Week(2), 60, reading); // Wednesdays at 01:00
            let start = week.start(at("2027-01-06T01:00:00Z"));
            assert_eq!(week.start(at("2027-01-13T00:59:59Z")), start, "{reading:?}");
            assert_ne!(week.start(at("2027-01-13T01:00:00Z")), start, "{reading:?}");
            assert_ne!(week.start(at("2027-01-06T00:59:59Z")), start, "{reading:?}");
        }
    }

    #[test]
    fn a_month_from_the_31st_begins_on_its_last_day_where_it_is_shorter() {
        let month = judge("UTC", Period::Month(31), 0, Reading::First);
        assert_eq!(month.start(at("2027-02-27T23:59:59Z")), at("2027-01-31T00:00:00Z"));
        assert_eq!(month.start(at("2027-02-28T00:00:00Z")), at("2027-02-28T00:00:00Z"));
        assert_eq!(month.start(at("2027-03-30T23:59:59Z")), at("2027-02-28T00:00:00Z"));
        assert_eq!(month.start(at("2028-02-29T00:00:00Z")), at("2028-02-29T00:00:00Z"));
        let by_date = judge("UTC", Period::Month(31), 0, Reading::ByDate);
        assert_eq!(by_date.start(at("2027-03-30T23:59:59Z")) * 86_400_000, at("2027-02-28T00:00:00Z"));
    }

    #[test]
    fn the_skew_of_the_providers_clock_moves_its_reset() {
        let midnight = at("2027-01-02T00:00:00Z");
        let mut ahead = Zoned::new(1, "UTC", Period::Day, 0, 2000, Reading::First);
        assert!(ahead.count(midnight - 2001, 1).is_ok());
        assert!(ahead.count(midnight - 2000, 1).is_ok(), "their day has turned");
        assert!(ahead.count(midnight, 1).is_err());
        assert_eq!(ahead.level(midnight), 2);
    }
}
