//! Which stretch of time a query asks for, and its slices: hours, or days as this machine's people count them. Reads texts and calendars;
//! must not know what is asked about.

use super::errors::Problem;
use crate::domain::ids::ConnectionName;
use crate::domain::spend::{Hour, SpendBy};
use crate::domain::time::{Span, Wall};
use crate::engine::view::{PerWord, SpendByWord};
use crate::web::texts::{self, Text};
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use utoipa::IntoParams;

/// Slices of an answer.
const MOST_SLICES: i64 = 800;
const HOUR: i64 = 3_600_000;
const DAY: i64 = 24 * HOUR;

/// A stretch of time that is often asked for, and how it is called.
pub static RANGES: [(&str, Text); 5] = [
    ("24h", texts::t("spend-last-24h")),
    ("7d", texts::t("spend-last-7d")),
    ("30d", texts::t("spend-last-30d")),
    ("90d", texts::t("spend-last-90d")),
    ("400d", texts::t("spend-last-400d")),
];
const USUAL: &str = "24h";

/// The query as it comes. A form sends its empty fields too.
#[derive(Clone, Debug, Default, serde::Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct Query {
    /// Its beginning: a day (`2026-11-30`) or a moment (`2026-11-30T08:00:00Z`).
    pub from: Option<String>,
    /// Its end, likewise; now unless said.
    pub to: Option<String>,
    /// A usual length instead of `from`: 24h, 7d, 30d, 90d or 400d.
    #[param(pattern = "^(24h|7d|30d|90d|400d)$", example = "7d")]
    pub range: Option<String>,
    #[param(value_type = Option<SpendByWord>)]
    pub by: Option<String>,
    /// Hours up to two days, else days, unless said.
    #[param(value_type = Option<PerWord>)]
    pub per: Option<String>,
    /// Of one connection.
    pub connection: Option<String>,
}

impl Query {
    pub const NAMES: &'static [&'static str] = &["from", "to", "range", "by", "per", "connection"];
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Per {
    Hour,
    Day,
}

impl Per {
    pub const fn word(self) -> &'static str {
        match self {
            Per::Hour => "hour",
            Per::Day => "day",
        }
    }
}

/// A query that was understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Period {
    pub starts: Vec<Wall>,
    pub until: Wall,
    pub per: Per,
    pub by: SpendBy,
    pub connection: Option<ConnectionName>,
    /// One of [`RANGES`], where no beginning was named.
    pub range: Option<&'static str>,
}

impl Period {
    pub fn read(query: &Query, now: Wall, zone: &TimeZone) -> Result<Period, Problem> {
        let said = |text: &Option<String>| text.as_deref().map(str::trim).filter(|t| !t.is_empty()).map(str::to_owned);
        let moment = |name: &str, text: String| {
            read_moment(&text, zone).ok_or_else(|| {
                let (day, example) = ("2026-11-30", "2026-11-30T08:00:00Z");
                Problem::bad_request(format!("\"{name}\" is a day ({day}) or a moment ({example})."))
            })
        };
        let until = said(&query.to).map(|t| moment("to", t)).transpose()?.unwrap_or(now).min(now);
        let from = said(&query.from).map(|t| moment("from", t)).transpose()?;
        let range = said(&query.range).map(|text| read_range(&text)).transpose()?;
        let (from, range) = match (from, range.unwrap_or(USUAL)) {
            (Some(from), _) => (from, None),
            (None, range) => (until - read_length(range).unwrap_or_default(), Some(range)),
        };
        if from >= until {
            return Err(Problem::bad_request("\"from\" has to be before \"to\", and before now."));
        }
        let per = match said(&query.per).as_deref() {
            Some("hour") => Per::Hour,
            Some("day") => Per::Day,
            None if until.since(from) <= Span::from_secs(2 * 86_400) => Per::Hour,
            None => Per::Day,
            Some(_) => return Err(Problem::bad_request("\"per\" is hour or day.")),
        };
        let by = said(&query.by).map(|word| read_by(&word)).transpose()?.unwrap_or(SpendBy::Caller);
        let starts = slices(from, until, per, zone)?;
        Ok(Period { starts, until, per, by, connection: said(&query.connection).map(ConnectionName), range })
    }
}

fn read_by(word: &str) -> Result<SpendBy, Problem> {
    SpendBy::from_word(word).ok_or_else(|| {
        let known: Vec<&str> = SpendBy::ALL.iter().map(|by| by.word()).collect();
        Problem::bad_request(format!("\"by\" is one of: {}.", known.join(", ")))
    })
}

fn read_range(text: &str) -> Result<&'static str, Problem> {
    RANGES.iter().map(|(range, _)| *range).find(|range| *range == text).ok_or_else(|| {
        let known: Vec<&str> = RANGES.iter().map(|(range, _)| *range).collect();
        Problem::bad_request(format!("\"range\" is one of: {}; or name \"from\" and \"to\".", known.join(", ")))
    })
}

/// `24h`, `7d`.
pub fn read_length(range: &str) -> Option<Span> {
    let (number, unit) = range.split_at_checked(range.len().checked_sub(1)?)?;
    let seconds = if unit == "d" { 86_400 } else { 3600 };
    Some(Span::from_secs(number.parse::<u64>().ok()?.saturating_mul(seconds)))
}

/// RFC 3339, or a day: its beginning here.
fn read_moment(text: &str, zone: &TimeZone) -> Option<Wall> {
    if let Ok(at) = text.parse::<Timestamp>() {
        return Some(Wall(at.as_millisecond()));
    }
    let day = text.parse::<Date>().ok()?;
    let begins = day.to_zoned_datetime(zone.clone()).map(|at| at.timestamp());
    // A day at the very edge of the calendar begins beyond it, somewhere on earth.
    let edge = if day.year() > 0 { Timestamp::MAX } else { Timestamp::MIN };
    Some(Wall(begins.unwrap_or(edge).as_millisecond()))
}

fn slices(from: Wall, until: Wall, per: Per, zone: &TimeZone) -> Result<Vec<Wall>, Problem> {
    let length = if per == Per::Hour { HOUR } else { DAY };
    if until.0.saturating_sub(from.0) / length > MOST_SLICES {
        let fewer = match per {
            Per::Hour => "Ask per day, or for a shorter time.",
            Per::Day => "Nothing is kept for longer than 400 days.",
        };
        return Err(Problem::bad_request(format!("That is more than {MOST_SLICES} {}s. {fewer}", per.word())));
    }
    Ok(match per {
        Per::Hour => (Hour::of(from).0..Hour::from(until).0).map(|hour| Hour(hour).begins()).collect(),
        Per::Day => days(from, until, zone),
    })
}

/// Midnights, the last before `from` first.
fn days(from: Wall, until: Wall, zone: &TimeZone) -> Vec<Wall> {
    let first = Timestamp::from_millisecond(from.0).ok().map(|at| at.to_zoned_datetime(zone.clone()).date());
    let mut days = Vec::new();
    for day in first.into_iter().flat_map(|first| first.series(jiff::Span::new().days(1))) {
        let Ok(begins) = day.to_zoned_datetime(zone.clone()) else { break };
        let begins = Wall(begins.timestamp().as_millisecond());
        if begins >= until {
            break;
        }
        days.push(begins);
    }
    days
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::calendar::rfc3339;

    /// 2026-11-30T08:20:00Z.
    const NOW: Wall = Wall(1_796_026_800_000);

    fn read(tune: impl FnOnce(&mut Query)) -> Result<Period, String> {
        let mut query = Query::default();
        tune(&mut query);
        Period::read(&query, NOW, &TimeZone::get("Europe/Zurich").unwrap()).map_err(|p| p.detail)
    }

    fn some(text: &str) -> Option<String> {
        Some(text.to_owned())
    }

    #[test]
    fn a_day_by_the_hour_is_what_nobody_has_to_ask_for() {
        let usual = read(|_| ()).unwrap();
        assert_eq!((usual.per, usual.by, usual.range), (Per::Hour, SpendBy::Caller, Some("24h")));
        assert_eq!(rfc3339(usual.starts[0]), "2026-11-29T08:00:00Z", "whole hours");
        assert_eq!((usual.starts.len(), usual.until), (25, NOW));
        let empty =
            read(|q| (q.from, q.to, q.by, q.per, q.connection) = (some(""), some(" "), some(""), some(""), some("")));
        assert_eq!(empty.unwrap(), usual, "as a form sends it");
    }

    #[test]
    fn days_are_those_of_this_place_through_a_change_of_the_clock() {
        let october = read(|q| (q.from, q.to) = (some("2026-10-24"), some("2026-10-27"))).unwrap();
        let starts: Vec<String> = october.starts.iter().map(|s| rfc3339(*s)).collect();
        assert_eq!(starts, ["2026-10-23T22:00:00Z", "2026-10-24T22:00:00Z", "2026-10-25T23:00:00Z"]);
        let week = read(|q| q.range = some("7d")).unwrap();
        assert_eq!((week.starts.len(), week.per), (8, Per::Day));
        assert_eq!(rfc3339(week.starts[7]), "2026-11-29T23:00:00Z");
    }

    /// West of Greenwich the last day of the calendar begins beyond its end.
    #[test]
    fn the_last_day_of_the_calendar_is_a_day_everywhere() {
        for zone in ["America/New_York", "UTC", "Pacific/Kiritimati"] {
            let zone = TimeZone::get(zone).unwrap();
            let read = |query: Query| Period::read(&query, NOW, &zone).map_err(|p| p.detail);
            let told = read(Query { from: some("9999-12-31"), ..Query::default() }).unwrap_err();
            assert!(told.contains("before now"), "{zone:?}: {told}");
            assert_eq!(read(Query { to: some("9999-12-31"), ..Query::default() }).unwrap().until, NOW, "{zone:?}");
        }
    }

    #[test]
    fn what_cannot_be_answered_says_why() {
        for (query, words) in [
            (Query { from: some("yesterday"), ..Query::default() }, "is a day"),
            (Query { from: some("2026-12-01"), ..Query::default() }, "before now"),
            (Query { from: some("9999-12-31"), ..Query::default() }, "before now"),
            (Query { from: some("-009999-01-01"), ..Query::default() }, "400 days"),
            (Query { by: some("colour"), ..Query::default() }, "caller, endpoint"),
            (Query { per: some("week"), ..Query::default() }, "hour or day"),
            (Query { range: some("5y"), ..Query::default() }, "24h, 7d"),
            (Query { from: some("2026-01-01"), per: some("hour"), ..Query::default() }, "Ask per day"),
            (Query { from: some("2020-01-01"), ..Query::default() }, "400 days"),
        ] {
            let told = read(|q| *q = query.clone()).unwrap_err();
            assert!(told.contains(words), "{query:?}: {told}");
        }
    }
}
