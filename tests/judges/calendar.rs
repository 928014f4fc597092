//! Judges that read a calendar: days and months in a time zone, across its changes of the clock.

use super::{Judge, Ms, Over};
use jiff::civil::{Date, Time};
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};

/// Which stretch an instant belongs to: it begins at the last reset that is not after the instant. Where a reset falls into the hour
/// that a change of the clock leaves out it comes as much later, where it falls into the hour that comes twice it is the first.
#[derive(Clone, Debug)]
struct Resets {
    zone: TimeZone,
    minute_of_day: u16,
    /// `None`: every day.
    day_of_month: Option<u8>,
}

impl Resets {
    fn reset_on(&self, date: Date) -> Ms {
        let time = Time::midnight() + i64::from(self.minute_of_day).minutes();
        let zoned = date.to_datetime(time).to_zoned_datetime(self.zone.clone()).expect("a date in this era");
        zoned.timestamp().as_millisecond()
    }

    fn in_month(&self, month: Date, day: u8) -> Ms {
        let day = (day as i8).min(month.days_in_month());
        self.reset_on(Date::new(month.year(), month.month(), day).expect("a day of that month"))
    }

    /// Start of the stretch that `at` is in.
    fn start(&self, at: Ms) -> Ms {
        let instant = Timestamp::from_millisecond(at).expect("an instant in this era");
        let date = instant.to_zoned_datetime(self.zone.clone()).date();
        let candidates: Vec<Ms> = match self.day_of_month {
            None => (-2i64..=1).map(|d| self.reset_on(date.saturating_add(d.days()))).collect(),
            Some(day) => {
                (-2i64..=1).map(|m| self.in_month(date.first_of_month().saturating_add(m.months()), day)).collect()
            }
        };
        candidates.into_iter().filter(|reset| *reset <= at).max().expect("a reset before")
    }
}

/// Counts from one reset to the next. The provider's clock runs `skew` ahead of the line that it is told.
#[derive(Clone, Debug)]
struct Stretches {
    name: String,
    resets: Resets,
    limit: u64,
    skew: Ms,
    current: Ms,
    units: u64,
}

impl Stretches {
    fn count(&mut self, at: Ms, cost: u64) -> Result<(), Over> {
        let start = self.resets.start(at + self.skew);
        if start != self.current {
            (self.current, self.units) = (start, 0);
        }
        self.units += cost;
        if self.units <= self.limit {
            return Ok(());
        }
        let judge = format!("{} by a clock {} ms ahead", self.name, self.skew);
        Err(Over { judge, at, count: self.units, limit: self.limit })
    }

    fn level(&self, at: Ms) -> u64 {
        if self.resets.start(at + self.skew) == self.current { self.units } else { 0 }
    }
}

/// A day in `zone`, from `minute_of_day` to the same on the next day: 23 to 25 hours across a change of the clock.
#[derive(Clone, Debug)]
pub struct DailyZone(Stretches);

/// A month in `zone`, from `minute_of_day` on `day` (the last day where the month is shorter).
#[derive(Clone, Debug)]
pub struct MonthlyZone(Stretches);

fn zone(name: &str) -> TimeZone {
    TimeZone::get(name).unwrap_or_else(|e| panic!("no zone {name}: {e}"))
}

impl DailyZone {
    pub fn new(limit: u64, zone_name: &str, minute_of_day: u16, skew_ms: i64) -> DailyZone {
        let resets = Resets { zone: zone(zone_name), minute_of_day, day_of_month: None };
        let name = format!("days in {zone_name} from minute {minute_of_day}");
        DailyZone(Stretches { name, resets, limit, skew: skew_ms, current: Ms::MIN, units: 0 })
    }
    /// The reset that began the day of `at`, by the provider's clock without its skew.
    pub fn start(&self, at: Ms) -> Ms {
        self.0.resets.start(at)
    }
}

impl MonthlyZone {
    pub fn new(limit: u64, zone_name: &str, day: u8, minute_of_day: u16, skew_ms: i64) -> MonthlyZone {
        let resets = Resets { zone: zone(zone_name), minute_of_day, day_of_month: Some(day) };
        let name = format!("months in {zone_name} from day {day}, minute {minute_of_day}");
        MonthlyZone(Stretches { name, resets, limit, skew: skew_ms, current: Ms::MIN, units: 0 })
    }
    pub fn start(&self, at: Ms) -> Ms {
        self.0.resets.start(at)
    }
}

impl Judge for DailyZone {
    fn count(&mut self, at: Ms, cost: u64) -> Result<(), Over> {
        self.0.count(at, cost)
    }
    fn level(&self, at: Ms) -> u64 {
        self.0.level(at)
    }
}

impl Judge for MonthlyZone {
    fn count(&mut self, at: Ms, cost: u64) -> Result<(), Over> {
        self.0.count(at, cost)
    }
    fn level(&self, at: Ms) -> u64 {
        self.0.level(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Ms {
        text.parse::<Timestamp>().expect("RFC 3339").as_millisecond()
    }

    #[test]
    fn a_day_is_23_to_25_hours_across_a_change_of_the_clock() {
        let day = DailyZone::new(1, "America/New_York", 0, 0);
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
    fn a_reset_that_is_left_out_or_comes_twice() {
        let gap = DailyZone::new(1, "Europe/Berlin", 150, 0); // 02:30 does not exist on 2027-03-28
        assert_eq!(gap.start(at("2027-03-28T12:00:00Z")), at("2027-03-28T01:30:00Z"), "03:30 CEST");
        let fold = DailyZone::new(1, "Europe/Berlin", 150, 0); // 02:30 comes twice on 2027-10-31
        assert_eq!(fold.start(at("2027-10-31T12:00:00Z")), at("2027-10-31T00:30:00Z"), "02:30 CEST");
        let midnight = DailyZone::new(1, "Asia/Beirut", 0, 0); // the clock goes from 00:00 to 01:00
        assert_eq!(midnight.start(at("2026-03-29T12:00:00Z")), at("2026-03-28T22:00:00Z"));
    }

    #[test]
    fn a_month_from_the_31st_begins_on_its_last_day_where_it_is_shorter() {
        let month = MonthlyZone::new(1, "UTC", 31, 0, 0);
        assert_eq!(month.start(at("2027-02-27T23:59:59Z")), at("2027-01-31T00:00:00Z"));
        assert_eq!(month.start(at("2027-02-28T00:00:00Z")), at("2027-02-28T00:00:00Z"));
        assert_eq!(month.start(at("2027-03-30T23:59:59Z")), at("2027-02-28T00:00:00Z"));
        assert_eq!(month.start(at("2028-02-29T00:00:00Z")), at("2028-02-29T00:00:00Z"));
    }

    #[test]
    fn the_skew_of_the_providers_clock_moves_its_reset() {
        let midnight = at("2027-01-02T00:00:00Z");
        let mut ahead = DailyZone::new(1, "UTC", 0, 2000);
        assert!(ahead.count(midnight - 2001, 1).is_ok());
        assert!(ahead.count(midnight - 2000, 1).is_ok(), "their day has turned");
        assert!(ahead.count(midnight, 1).is_err());
        assert_eq!(ahead.level(midnight), 2);
    }
}
