//! Dates of HTTP, read as robustly as RFC 9110 section 5.6.7 wishes: what can mean one moment alone means that, whatever its spaces, dashes and
//! case; all else is none. Must not know what follows from a moment.

use crate::domain::time::Wall;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

const MONTHS: [&str; 12] = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const DAYS: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];

/// A date and its time, in GMT: the three forms of HTTP, and what is written beside them. The day of the week adds nothing and is not looked
/// at; of any other zone nobody knows what is meant (RFC 9111 section 4.2).
pub(super) fn date(text: &str) -> Option<Wall> {
    let text = text.to_ascii_lowercase();
    let is_between = |c: char| matches!(c, ' ' | '\t' | ',' | '-');
    let mut words: Vec<&str> = text.split(is_between).filter(|word| !word.is_empty()).collect();
    if is_weekday(words.first()?) {
        words.remove(0);
    }
    let (day, month, year, time) = match words[..] {
        [day, month, year, time, "gmt"] => (day, month, year, time),
        // As `asctime` writes it.
        [month, day, time, year] => (day, month, year, time),
        _ => return None,
    };
    let month = MONTHS.iter().position(|known| *known == month).and_then(|at| i8::try_from(at + 1).ok())?;
    let parts: Vec<&str> = time.split([':', '.']).collect();
    let [hour, minute, second] = parts[..] else { return None };
    let part = |text: &str| i8::try_from(number(text, 1..=2)?).ok();
    let written =
        DateTime::new(year_of(year)?, month, part(day)?, part(hour)?, part(minute)?, part(second)?, 0).ok()?;
    let moment = TimeZone::UTC.to_timestamp(written).ok()?.as_millisecond();
    (moment >= 0).then_some(Wall(moment))
}

/// A date in one of the three forms of HTTP, in any case, and nothing written beside them: what RFC 9111 section 5.3 takes for a date in
/// `Expires`, where any other is past.
pub(super) fn http_date(text: &str) -> Option<Wall> {
    let text = text.trim().to_ascii_lowercase();
    let parts: Vec<&str> = text.split(' ').collect();
    let digits = |text: &str, count: usize| number(text, count..=count).is_some();
    let is_time = |time: &str| time.len() == 8 && time.split(':').filter(|part| digits(part, 2)).count() == 3;
    let (is_day, is_month) = (|day: &str| DAYS.contains(&day), |month: &str| MONTHS.contains(&month));
    let is_one = match parts[..] {
        [day, date, month, year, time, "gmt"] => {
            let is_date = digits(date, 2) && is_month(month) && digits(year, 4);
            day.strip_suffix(',').is_some_and(is_day) && is_date && is_time(time)
        }
        [day, date, time, "gmt"] => {
            let date: Vec<&str> = date.split('-').collect();
            let is_date =
                matches!(date[..], [day, month, year] if digits(day, 2) && is_month(month) && digits(year, 2));
            day.strip_suffix("day,").is_some_and(is_weekday) && is_date && is_time(time)
        }
        [day, month, "", date, time, year] => {
            is_day(day) && is_month(month) && digits(date, 1) && is_time(time) && digits(year, 4)
        }
        [day, month, date, time, year] => {
            is_day(day) && is_month(month) && digits(date, 2) && is_time(time) && digits(year, 4)
        }
        _ => false,
    };
    date(&text).filter(|_| is_one)
}

/// The same, written.
pub(super) fn date_of(wall: Wall) -> String {
    let since = std::time::Duration::from_millis(u64::try_from(wall.0).unwrap_or_default());
    httpdate::fmt_http_date(std::time::UNIX_EPOCH + since)
}

fn is_weekday(word: &str) -> bool {
    DAYS.iter().any(|day| word.starts_with(day)) && word.bytes().all(|b| b.is_ascii_alphabetic())
}

/// Two digits are a year of this century up to 69.
fn year_of(text: &str) -> Option<i16> {
    let year = number(text, 2..=4).filter(|_| text.len() != 3)?;
    let century = if text.len() == 4 { 0 } else { if year < 70 { 2000 } else { 1900 } };
    i16::try_from(year + century).ok()
}

/// Digits alone, so many.
fn number(text: &str, digits: std::ops::RangeInclusive<usize>) -> Option<u16> {
    let is_one = digits.contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
    text.parse().ok().filter(|_| is_one)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Thursday, 18 Aug 2050 02:01:18 GMT.
    const THEN: i64 = 2_544_400_878_000;

    #[test]
    fn what_means_one_moment_is_read() {
        for text in [
            "Thu, 18 Aug 2050 02:01:18 GMT",
            "Thursday, 18-Aug-50 02:01:18 GMT",
            "Thu Aug 18 02:01:18 2050",
            "THU, 18 AUG 2050 02:01:18 gmt",
            "Thu 18 Aug 2050 02:01:18 GMT",
            "Thu, 18  Aug  2050  02:01:18  GMT",
            "Thu, 18-Aug-2050 02:01:18 GMT",
            "Thu, 18 Aug 50 02:01:18 GMT",
            "Thu, 18 Aug 2050 02.01.18 GMT",
            "Thu, 18 Aug 2050 2:01:18 GMT",
            "18 Aug 2050 02:01:18 GMT",
            "Fri, 18 Aug 2050 02:01:18 GMT",
            " Thu, 18 Aug 2050 02:01:18 GMT ",
        ] {
            assert_eq!(date(text), Some(Wall(THEN)), "{text}");
        }
        assert_eq!(date("Sunday, 06-Nov-94 08:49:37 GMT"), Some(Wall(784_111_777_000)), "of the last century");
    }

    #[test]
    fn three_forms_are_dates_of_http_and_no_other() {
        for text in [
            "Thu, 18 Aug 2050 02:01:18 GMT",
            "Thursday, 18-Aug-50 02:01:18 GMT",
            "Thu Aug 18 02:01:18 2050",
            "THU, 18 aug 2050 02:01:18 gMT",
        ] {
            assert_eq!(http_date(text), Some(Wall(THEN)), "{text}");
        }
        assert_eq!(http_date("Mon Aug  8 02:01:18 2050"), date("Mon, 08 Aug 2050 02:01:18 GMT"));
        for text in [
            "Thu 18 Aug 2050 02:01:18 GMT",
            "Thu, 18  Aug  2050 02:01:18 GMT",
            "Thu, 18-Aug-2050 02:01:18 GMT",
            "Thu, 18 Aug 50 02:01:18 GMT",
            "Thu, 18 Aug 2050 02.01.18 GMT",
            "Thu, 18 Aug 2050 2:01:18 GMT",
            "18 Aug 2050 02:01:18 GMT",
            "Thu, 18 Aug 2050 02:01:18 UTC",
            "0",
            "",
        ] {
            assert_eq!(http_date(text), None, "{text}");
        }
    }

    #[test]
    fn what_may_mean_another_is_none() {
        for text in [
            "",
            "0",
            "-1",
            "Thu, 18 Aug 2050 02:01:18 UTC",
            "Thu, 18 Aug 2050 02:01:18 AEST",
            "Thu, 18 Aug 2050 02:01:18 +0000",
            "Thu, 18 Aug 2050 02:01:18",
            "Thu, 18 Aug 2050 02:01 GMT",
            "Thu, 18 Aug 2050 25:01:18 GMT",
            "Thu, 31 Feb 2050 02:01:18 GMT",
            "Thu, 18 08 2050 02:01:18 GMT",
            "18 Aug 18 Aug 2050 02:01:18 GMT",
            "2050-08-18T02:01:18Z",
            "Thu, 18 Aug 205 02:01:18 GMT",
            "Thu, 18 Aug 1950 02:01:18 GMT",
            "Thu, +8 Aug 2050 02:01:18 GMT",
        ] {
            assert_eq!(date(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again(seconds in 0i64..253_000_000_000) {
            prop_assert_eq!(date(&date_of(Wall(seconds * 1000))), Some(Wall(seconds * 1000)));
        }

        #[test]
        fn any_text_is_survived(text in ".{0,40}") {
            _ = (date(&text), http_date(&text));
        }
    }
}
