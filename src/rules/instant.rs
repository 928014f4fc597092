//! Instants in the spellings of providers (`VENDORS` section 3). Text in, instant out: the whole text is understood or nothing of it. Must
//! not know what the instant is for.

use super::calendar::http_date;
use crate::domain::time::Wall;
use jiff::fmt::rfc2822::DateTimeParser;
use jiff::tz::TimeZone;

/// Which of two instants a local time means that comes twice, or that does not exist, where the clock is changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doubt {
    Earlier,
    Later,
}

/// An instant as RFC 3339 with or without seconds, an RFC 1123 date (also with `+0000` or `Z`), the text of a JavaScript `Date`; without a
/// zone it is read in `zone`.
pub fn instant(text: &str, zone: &TimeZone, doubt: Doubt) -> Option<Wall> {
    let wall = |at: jiff::Timestamp| Wall(at.as_millisecond());
    let naive = |text: &str| {
        let local = zone.to_ambiguous_timestamp(text.parse().ok()?);
        let at = if doubt == Doubt::Later { local.later() } else { local.earlier() };
        at.ok()
    };
    if let Some(at) = http_date(text).or_else(|| text.parse().ok().map(wall)) {
        return Some(at);
    }
    let mail = text.strip_suffix(" Z").map_or_else(|| text.to_owned(), |date| format!("{date} +0000"));
    DateTimeParser::new()
        .parse_timestamp(&mail)
        .ok()
        .or_else(|| javascript(text))
        .or_else(|| naive(text).filter(|_| text.contains(':')))
        .map(wall)
}

/// `Mon Nov 30 2026 03:56:13 GMT+0000 (Coordinated Universal Time)`
fn javascript(text: &str) -> Option<jiff::Timestamp> {
    let date = text.split_once(" (").map_or(text, |(date, _)| date);
    jiff::Timestamp::strptime("%a %b %d %Y %H:%M:%S GMT%z", date).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_local_time_that_comes_twice_is_one_of_both() {
        let berlin = TimeZone::get("Europe/Berlin").expect("built in");
        let at = |text: &str, doubt| instant(text, &berlin, doubt).map(|wall| wall.0 / 1000);
        // 2026-10-25: 03:00 CEST becomes 02:00 CET.
        assert_eq!(at("2026-10-25T02:30:00", Doubt::Earlier), Some(1_792_888_200));
        assert_eq!(at("2026-10-25T02:30:00", Doubt::Later), Some(1_792_888_200 + 3600));
        for doubt in [Doubt::Earlier, Doubt::Later] {
            assert_eq!(at("2026-10-25T02:30:00+01:00", doubt), Some(1_792_888_200 + 3600), "an offset leaves no doubt");
        }
    }
}
