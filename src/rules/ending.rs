//! What an answer announces of its own end: `Deprecation` (RFC 9745) and `Sunset` (RFC 8594). What is not understood announces nothing.
//! Must not know outcomes, nor who is told.

use crate::domain::reply::Answer;
use crate::domain::time::Wall;
use crate::rules::calendar::http_date;

/// The announced end of what was asked. At least one of the two is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ending {
    /// From when on it is not to be used any more.
    pub deprecated: Option<Wall>,
    /// When it is likely to answer no more.
    pub sunset: Option<Wall>,
}

pub fn announced(answer: &Answer) -> Option<Ending> {
    let deprecated = answer.header("deprecation").and_then(date);
    let sunset = answer.header("sunset").and_then(http_date);
    (deprecated.is_some() || sunset.is_some()).then_some(Ending { deprecated, sunset })
}

/// The moment of an answer by the clock of who wrote it; `now_wall` where it has no `Date` of its own.
pub fn clock_of(answer: &Answer, now_wall: Wall) -> Wall {
    answer.header("date").and_then(http_date).unwrap_or(now_wall)
}

/// Whether the sunset is past, by the clock of who wrote the answer; `now_wall` where it has no `Date` of its own.
pub fn has_set(answer: &Answer, now_wall: Wall) -> bool {
    let now = clock_of(answer, now_wall);
    announced(answer).and_then(|ending| ending.sunset).is_some_and(|sunset| sunset < now)
}

/// `@1796083200`, a date of RFC 9651; before the standard it was an HTTP-date.
fn date(text: &str) -> Option<Wall> {
    let Some(seconds) = text.trim().strip_prefix('@') else { return http_date(text) };
    let seconds: i64 = seconds.split(';').next()?.trim_end().parse().ok()?;
    // Within the calendar, so that it can be told.
    jiff::Timestamp::from_second(seconds).ok().map(|at| Wall(at.as_millisecond()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2026-12-01T00:00:00Z
    const DECEMBER: Wall = Wall(1_796_083_200_000);

    fn answer(headers: &[(&str, &str)]) -> Answer {
        let headers = headers.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
        Answer { status: 200, headers, body: Vec::new() }
    }

    #[test]
    fn an_end_is_announced_by_either_header_or_not_at_all() {
        let said = |headers: &[(&str, &str)]| announced(&answer(headers)).map(|e| (e.deprecated, e.sunset));
        let date = "Tue, 01 Dec 2026 00:00:00 GMT";
        assert_eq!(said(&[("deprecation", "@1796083200")]), Some((Some(DECEMBER), None)));
        assert_eq!(said(&[("deprecation", " @1796083200;a=1 ")]), Some((Some(DECEMBER), None)));
        assert_eq!(said(&[("deprecation", date)]), Some((Some(DECEMBER), None)));
        assert_eq!(said(&[("sunset", date)]), Some((None, Some(DECEMBER))));
        assert_eq!(said(&[("deprecation", "@0"), ("sunset", date)]), Some((Some(Wall(0)), Some(DECEMBER))));
        for nothing in ["", "true", "soon", "@", "@-", "@99999999999999999", "1796083200", "@1.5"] {
            assert_eq!(said(&[("deprecation", nothing), ("sunset", nothing)]), None, "{nothing}");
        }
        assert_eq!(said(&[]), None);
    }

    #[test]
    fn a_sunset_is_past_by_the_clock_of_its_writer() {
        let sunset = ("sunset", "Tue, 01 Dec 2026 00:00:00 GMT");
        assert!(!has_set(&answer(&[sunset]), DECEMBER));
        assert!(has_set(&answer(&[sunset]), Wall(DECEMBER.0 + 1)));
        assert!(!has_set(&answer(&[sunset, ("date", "Mon, 30 Nov 2026 00:00:00 GMT")]), Wall(i64::MAX)));
        assert!(!has_set(&answer(&[("deprecation", "@0")]), Wall(i64::MAX)), "deprecated is not gone");
    }
}
