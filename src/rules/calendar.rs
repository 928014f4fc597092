//! Provider calendars: windows aligned to the clock; days, weeks and months in a time zone. And RFC 3339.
//!
//! Everything is a question about wall time; which wall time is to be believed is the budget's business.
//!
//! Where a change of the clock leaves a reset out, or makes it come twice, nobody outside knows which instant the provider takes: the
//! first or the second 02:30, the 02:30 by the offset before the gap or after it, or, where it counts by the local date, something
//! in between. So a boundary is not an instant but the stretch from the earliest to the latest of them ([`Turn`]); on every other
//! day both are the same. Who must not spend too much waits for the latest, and takes what arrived since the earliest as new.

use crate::domain::limit::{Kind, TimeOfDay, Weekday};
use crate::domain::time::{Span, Wall};
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};
use std::time::UNIX_EPOCH;

/// RFC 3339 in UTC with whole seconds: `2026-11-30T02:56:13Z`.
pub fn rfc3339(wall: Wall) -> String {
    match Timestamp::from_millisecond(wall.0 - wall.0.rem_euclid(1000)) {
        Ok(t) => t.to_string(),
        Err(_) => "9999-12-31T23:59:59Z".to_owned(),
    }
}

/// The same for the name of a file: `20261130T025613Z`.
pub fn compact(wall: Wall) -> String {
    rfc3339(wall).chars().filter(|c| !"-:".contains(*c)).collect()
}

/// An HTTP-date in any of its three forms (RFC 9110 section 5.6.7), not before 1970.
pub fn http_date(text: &str) -> Option<Wall> {
    let since = httpdate::parse_http_date(text.trim()).ok()?.duration_since(UNIX_EPOCH).ok()?;
    i64::try_from(since.as_millis()).ok().map(Wall)
}

/// When one period ends and the next begins: somewhere from `earliest` to `latest`, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    pub earliest: Wall,
    pub latest: Wall,
}

/// Periods that follow each other without a gap. A boundary belongs to the period that it opens.
#[derive(Clone, Debug, PartialEq)]
pub enum Calendar {
    Fixed { window: Span },
    Daily { resets_at: TimeOfDay, zone: TimeZone },
    Weekly { day: Weekday, resets_at: TimeOfDay, zone: TimeZone },
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
            Kind::Weekly { day, resets_at, time_zone } => {
                Some(Calendar::Weekly { day: *day, resets_at: *resets_at, zone: zone(time_zone) })
            }
            Kind::Monthly { day, resets_at, time_zone } => {
                Some(Calendar::Monthly { day: *day, resets_at: *resets_at, zone: zone(time_zone) })
            }
            Kind::Rolling { .. } | Kind::Anchored { .. } | Kind::Pace { .. } | Kind::Concurrent => None,
        }
    }

    /// The last boundary that has certainly passed at `at`.
    pub fn last_turn(&self, at: Wall) -> Turn {
        let never = Turn { earliest: Wall(i64::MIN / 2), latest: Wall(i64::MIN / 2) };
        let passed = self.turns(at).into_iter().filter(|t| t.latest <= at);
        passed.max_by_key(|t| (t.earliest, t.latest)).unwrap_or(never)
    }

    /// The first boundary that has certainly not begun at `at`.
    pub fn next_turn(&self, at: Wall) -> Turn {
        let never = Turn { earliest: Wall(i64::MAX / 2), latest: Wall(i64::MAX / 2) };
        let coming = self.turns(at).into_iter().filter(|t| t.earliest > at);
        coming.min_by_key(|t| (t.latest, t.earliest)).unwrap_or(never)
    }

    /// The longest that a period can be: 25 h for a day in a zone with DST, 7 days (and an hour) for a week, 31 for a month.
    pub fn longest_period(&self) -> Span {
        let dst = |zone: &TimeZone| if zone.to_fixed_offset().is_ok() { 0 } else { 3600 };
        match self {
            Calendar::Fixed { window } => *window,
            Calendar::Daily { zone, .. } => Span::from_secs(86_400 + dst(zone)),
            Calendar::Weekly { zone, .. } => Span::from_secs(7 * 86_400 + dst(zone)),
            Calendar::Monthly { zone, .. } => Span::from_secs(31 * 86_400 + dst(zone)),
        }
    }

    /// Boundaries around `at`: enough on both sides that the nearest ones are among them.
    fn turns(&self, at: Wall) -> Vec<Turn> {
        let (dates, resets_at, zone) = match self {
            Calendar::Fixed { window } => {
                let start = aligned(at, *window);
                return [start, start + *window].map(|t| Turn { earliest: t, latest: t }).to_vec();
            }
            Calendar::Daily { resets_at, zone } => {
                let today = local_date(at, zone);
                let dates: Vec<Date> = (-3i32..=3).filter_map(|d| today.checked_add(d.days()).ok()).collect();
                (dates, resets_at, zone)
            }
            Calendar::Weekly { day, resets_at, zone } => {
                let today = local_date(at, zone);
                let since = i32::from(today.weekday().to_monday_zero_offset()) - *day as i32;
                let dates = (-2i32..=2).filter_map(|w| today.checked_add((w * 7 - since).days()).ok()).collect();
                (dates, resets_at, zone)
            }
            Calendar::Monthly { day, resets_at, zone } => {
                let first = local_date(at, zone).first_of_month();
                let months = (-2i32..=2).filter_map(|m| first.checked_add(m.months()).ok());
                (months.filter_map(|month| day_of(month, *day)).collect(), resets_at, zone)
            }
        };
        dates.into_iter().filter_map(|date| turn(date, *resets_at, zone)).collect()
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

/// That day of the month, and its last where it has no such day: billing from the 31st falls on 28 February, and on 31 March again.
fn day_of(month: Date, day: u8) -> Option<Date> {
    let day = i8::try_from(day).unwrap_or(31).clamp(1, month.days_in_month());
    month.with().day(day).build().ok()
}

/// A local time that happens twice is either; one that is left out is taken by the offset before the gap or after it. The change of
/// the clock itself lies between the two.
fn turn(date: Date, at: TimeOfDay, zone: &TimeZone) -> Option<Turn> {
    let midnight: DateTime = date.at(0, 0, 0, 0);
    let local = midnight.checked_add(i64::from(at.0).minutes()).ok()?;
    let instants = zone.to_ambiguous_timestamp(local);
    let (earliest, latest) = (instants.earlier().ok()?, instants.later().ok()?);
    Some(Turn { earliest: Wall(earliest.as_millisecond()), latest: Wall(latest.as_millisecond()) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wall(s: &str) -> Wall {
        Wall(s.parse::<Timestamp>().map(|t| t.as_millisecond()).unwrap_or_else(|e| panic!("{s}: {e}")))
    }

    fn calendar(kind: &Kind) -> Calendar {
        Calendar::of(kind).unwrap_or_else(|| panic!("{kind:?}"))
    }

    fn daily(zone: &str, minutes: u16) -> Calendar {
        calendar(&Kind::Daily { resets_at: TimeOfDay(minutes), time_zone: zone.to_owned() })
    }

    fn monthly(day: u8) -> Calendar {
        calendar(&Kind::Monthly { day, resets_at: TimeOfDay(0), time_zone: "UTC".to_owned() })
    }

    /// A boundary as text; one that is not an instant as `earliest/latest`.
    fn told(turn: Turn) -> String {
        match (rfc3339(turn.earliest), rfc3339(turn.latest)) {
            (earliest, latest) if earliest == latest => earliest,
            (earliest, latest) => format!("{earliest}/{latest}"),
        }
    }

    #[test]
    fn a_day_is_23_24_or_25_hours_long_in_berlin() {
        let c = daily("Europe/Berlin", 0);
        for (inside, start, end) in [
            ("2026-03-29T10:00:00Z", "2026-03-28T23:00:00Z", "2026-03-29T22:00:00Z"),
            ("2026-06-01T10:00:00Z", "2026-05-31T22:00:00Z", "2026-06-01T22:00:00Z"),
            ("2026-10-25T10:00:00Z", "2026-10-24T22:00:00Z", "2026-10-25T23:00:00Z"),
        ] {
            assert_eq!(told(c.last_turn(wall(inside))), start);
            assert_eq!(told(c.next_turn(wall(inside))), end);
        }
    }

    #[test]
    fn a_reset_that_the_clock_skips_or_repeats_is_any_instant_that_it_may_be() {
        let c = daily("Europe/Berlin", 150);
        let (gap, fold) = ("2026-03-29T00:30:00Z/2026-03-29T01:30:00Z", "2026-10-25T00:30:00Z/2026-10-25T01:30:00Z");
        assert_eq!(told(c.next_turn(wall("2026-03-29T00:00:00Z"))), gap);
        assert_eq!(told(c.next_turn(wall("2026-10-24T23:00:00Z"))), fold);
        // Inside the stretch the old period has not certainly ended, and the new one may have begun.
        assert_eq!(told(c.last_turn(wall("2026-10-25T01:00:00Z"))), "2026-10-24T00:30:00Z");
        assert_eq!(told(c.next_turn(wall("2026-10-25T01:00:00Z"))), "2026-10-26T01:30:00Z");
        assert_eq!(told(c.last_turn(wall("2026-10-25T01:30:00Z"))), fold);
        // Beirut's clock goes from 00:00 to 01:00: the change itself is the latest.
        let beirut = daily("Asia/Beirut", 0);
        assert_eq!(told(beirut.next_turn(wall("2026-03-28T20:00:00Z"))), "2026-03-28T21:00:00Z/2026-03-28T22:00:00Z");
    }

    #[test]
    fn a_day_that_a_zone_left_out_is_one_boundary_with_its_neighbours() {
        let samoa = daily("Pacific/Apia", 0);
        let (before, after) = ("2011-12-30T09:59:00Z", "2011-12-30T10:00:00Z");
        assert_eq!(told(samoa.next_turn(wall(before))), "2011-12-30T10:00:00Z");
        assert_eq!(told(samoa.last_turn(wall(after))), "2011-12-30T10:00:00Z");
    }

    #[test]
    fn a_week_begins_on_its_day_in_its_zone() {
        let kind = |day| Kind::Weekly { day, resets_at: TimeOfDay(17 * 60), time_zone: "America/New_York".to_owned() };
        let c = calendar(&kind(Weekday::Sunday));
        // The clock goes back on Sunday 2026-11-01: the week before it has an hour more.
        assert_eq!(told(c.last_turn(wall("2026-11-01T21:59:59Z"))), "2026-10-25T21:00:00Z");
        assert_eq!(told(c.next_turn(wall("2026-11-01T21:59:59Z"))), "2026-11-01T22:00:00Z");
        let c = calendar(&kind(Weekday::Monday));
        assert_eq!(told(c.next_turn(wall("2026-11-01T22:00:00Z"))), "2026-11-02T22:00:00Z");
        for day in Weekday::ALL {
            let turn = calendar(&kind(day)).last_turn(wall("2026-11-30T00:00:00Z")).earliest;
            let date = local_date(turn, &TimeZone::get("America/New_York").unwrap_or(TimeZone::UTC));
            assert_eq!(format!("{:?}", date.weekday()).to_lowercase(), day.word());
        }
    }

    #[test]
    fn a_month_without_the_day_resets_on_its_last_and_goes_back_to_the_day() {
        let c = monthly(31);
        assert_eq!(told(c.next_turn(wall("2026-02-01T00:00:00Z"))), "2026-02-28T00:00:00Z");
        assert_eq!(told(c.last_turn(wall("2026-02-28T00:00:00Z"))), "2026-02-28T00:00:00Z");
        assert_eq!(told(c.next_turn(wall("2026-02-28T00:00:00Z"))), "2026-03-31T00:00:00Z");
        assert_eq!(told(monthly(29).next_turn(wall("2028-02-01T00:00:00Z"))), "2028-02-29T00:00:00Z");
    }

    #[test]
    fn fixed_windows_follow_the_unix_clock() {
        let c = Calendar::Fixed { window: Span::from_secs(900) };
        assert_eq!(told(c.last_turn(wall("2026-01-01T10:14:59Z"))), "2026-01-01T10:00:00Z");
        assert_eq!(told(c.next_turn(wall("2026-01-01T10:15:00Z"))), "2026-01-01T10:30:00Z");
    }
}
