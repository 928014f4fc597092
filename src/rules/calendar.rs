//! Provider calendars: windows aligned to the clock, days and months in a time zone. And RFC 3339.
//!
//! Everything is a question about wall time; which wall time is to be believed is the budget's business.

use crate::domain::limit::{Kind, TimeOfDay};
use crate::domain::time::{Span, Wall};
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};

/// RFC 3339 in UTC with whole seconds: `2026-11-30T02:56:13Z`.
pub fn rfc3339(wall: Wall) -> String {
    match Timestamp::from_millisecond(wall.0 - wall.0.rem_euclid(1000)) {
        Ok(t) => t.to_string(),
        Err(_) => "9999-12-31T23:59:59Z".to_owned(),
    }
}

/// Whether the bundled zone data knows the name (`Europe/Berlin`).
pub fn knows_zone(name: &str) -> bool {
    TimeZone::get(name).is_ok()
}

/// Periods that follow each other without a gap. A boundary belongs to the period that it opens.
#[derive(Clone, Debug, PartialEq)]
pub enum Calendar {
    Fixed { window: Span },
    Daily { resets_at: TimeOfDay, zone: TimeZone },
    Monthly { day: u8, resets_at: TimeOfDay, zone: TimeZone },
}

impl Calendar {
    /// `None` for kinds without a calendar. An unknown zone is read as UTC; configuration refuses it earlier.
    pub fn of(kind: &Kind) -> Option<Calendar> {
        let zone = |name: &str| TimeZone::get(name).unwrap_or(TimeZone::UTC);
        match kind {
            Kind::Fixed { window } => Some(Calendar::Fixed { window: *window }),
            Kind::Daily { resets_at, time_zone } => {
                Some(Calendar::Daily { resets_at: *resets_at, zone: zone(time_zone) })
            }
            Kind::Monthly { day, resets_at, time_zone } => {
                Some(Calendar::Monthly { day: *day, resets_at: *resets_at, zone: zone(time_zone) })
            }
            Kind::Rolling { .. } | Kind::Pace { .. } | Kind::Concurrent => None,
        }
    }

    /// The last boundary at or before `at`.
    pub fn period_start(&self, at: Wall) -> Wall {
        match self {
            Calendar::Fixed { window } => aligned(at, *window),
            _ => self.latest(self.candidates(at), |b| b <= at).unwrap_or(Wall(i64::MIN / 2)),
        }
    }

    /// The first boundary after `at`.
    pub fn next_boundary(&self, at: Wall) -> Wall {
        match self {
            Calendar::Fixed { window } => aligned(at, *window) + *window,
            _ => self.candidates(at).into_iter().filter(|b| *b > at).min().unwrap_or(Wall(i64::MAX / 2)),
        }
    }

    /// The longest that a period can be: 25 h for a day in a zone with DST, 31 days (and an hour) for a month.
    pub fn longest_period(&self) -> Span {
        let dst = |zone: &TimeZone| if zone.to_fixed_offset().is_ok() { 0 } else { 3600 };
        match self {
            Calendar::Fixed { window } => *window,
            Calendar::Daily { zone, .. } => Span::from_secs(86_400 + dst(zone)),
            Calendar::Monthly { zone, .. } => Span::from_secs(31 * 86_400 + dst(zone)),
        }
    }

    fn latest(&self, candidates: Vec<Wall>, fits: impl Fn(Wall) -> bool) -> Option<Wall> {
        candidates.into_iter().filter(|b| fits(*b)).max()
    }

    /// Boundaries around `at`: enough on both sides that the nearest ones are among them.
    fn candidates(&self, at: Wall) -> Vec<Wall> {
        match self {
            Calendar::Fixed { .. } => Vec::new(),
            Calendar::Daily { resets_at, zone } => {
                let today = local_date(at, zone);
                (-2i32..=2)
                    .filter_map(|d| today.checked_add(d.days()).ok())
                    .filter_map(|date| instant(date, *resets_at, zone))
                    .collect()
            }
            Calendar::Monthly { day, resets_at, zone } => {
                let first = local_date(at, zone).first_of_month();
                (-2i32..=2)
                    .filter_map(|m| first.checked_add(m.months()).ok())
                    .filter_map(|month| {
                        let day = i8::try_from(*day).unwrap_or(31).clamp(1, month.days_in_month());
                        instant(month.with().day(day).build().ok()?, *resets_at, zone)
                    })
                    .collect()
            }
        }
    }
}

fn aligned(at: Wall, window: Span) -> Wall {
    let w = i64::try_from(window.0.max(1)).unwrap_or(i64::MAX);
    Wall(at.0 - at.0.rem_euclid(w))
}

fn local_date(at: Wall, zone: &TimeZone) -> Date {
    let t = Timestamp::from_millisecond(at.0).unwrap_or(if at.0 < 0 { Timestamp::MIN } else { Timestamp::MAX });
    zone.to_datetime(t).date()
}

/// A local time that a DST change skips is taken as much later as the gap is long; one that happens twice is the first.
fn instant(date: Date, at: TimeOfDay, zone: &TimeZone) -> Option<Wall> {
    let midnight: DateTime = date.at(0, 0, 0, 0);
    let local = midnight.checked_add(i64::from(at.0).minutes()).ok()?;
    let t = zone.to_ambiguous_timestamp(local).compatible().ok()?;
    Some(Wall(t.as_millisecond()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wall(s: &str) -> Wall {
        Wall(s.parse::<Timestamp>().map(|t| t.as_millisecond()).unwrap_or_else(|e| panic!("{s}: {e}")))
    }

    fn daily(zone: &str, minutes: u16) -> Calendar {
        let kind = Kind::Daily { resets_at: TimeOfDay(minutes), time_zone: zone.to_owned() };
        Calendar::of(&kind).unwrap_or_else(|| panic!("{zone}"))
    }

    #[test]
    fn a_day_is_23_24_or_25_hours_long_in_berlin() {
        let c = daily("Europe/Berlin", 0);
        for (inside, start, end) in [
            ("2026-03-29T10:00:00Z", "2026-03-28T23:00:00Z", "2026-03-29T22:00:00Z"),
            ("2026-06-01T10:00:00Z", "2026-05-31T22:00:00Z", "2026-06-01T22:00:00Z"),
            ("2026-10-25T10:00:00Z", "2026-10-24T22:00:00Z", "2026-10-25T23:00:00Z"),
        ] {
            assert_eq!(rfc3339(c.period_start(wall(inside))), start);
            assert_eq!(rfc3339(c.next_boundary(wall(inside))), end);
        }
    }

    #[test]
    fn a_reset_that_the_clock_skips_comes_after_the_gap_and_one_that_comes_twice_comes_first() {
        let c = daily("Europe/Berlin", 150);
        assert_eq!(rfc3339(c.next_boundary(wall("2026-03-29T00:00:00Z"))), "2026-03-29T01:30:00Z");
        assert_eq!(rfc3339(c.next_boundary(wall("2026-10-24T23:00:00Z"))), "2026-10-25T00:30:00Z");
    }

    #[test]
    fn a_month_without_the_day_resets_on_its_last() {
        let kind = Kind::Monthly { day: 31, resets_at: TimeOfDay(0), time_zone: "UTC".to_owned() };
        let c = Calendar::of(&kind).unwrap_or_else(|| panic!("monthly"));
        assert_eq!(rfc3339(c.next_boundary(wall("2026-02-01T00:00:00Z"))), "2026-02-28T00:00:00Z");
        assert_eq!(rfc3339(c.period_start(wall("2026-02-28T00:00:00Z"))), "2026-02-28T00:00:00Z");
        assert_eq!(rfc3339(c.next_boundary(wall("2026-02-28T00:00:00Z"))), "2026-03-31T00:00:00Z");
    }

    #[test]
    fn fixed_windows_follow_the_unix_clock() {
        let c = Calendar::Fixed { window: Span::from_secs(900) };
        assert_eq!(rfc3339(c.period_start(wall("2026-01-01T10:14:59Z"))), "2026-01-01T10:00:00Z");
        assert_eq!(rfc3339(c.next_boundary(wall("2026-01-01T10:15:00Z"))), "2026-01-01T10:30:00Z");
    }
}
