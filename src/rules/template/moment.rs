//! `{today+1d:%d.%m.%Y}`: a moment relative to now, in the provider's zone, in a form. Pure: the same `When`, the same text.

use crate::domain::time::Wall;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Span, Timestamp, ZonedDateTime};

/// Now, and where the provider's days begin.
#[derive(Clone, Debug)]
pub struct When {
    now: Timestamp,
    zone: TimeZone,
}

impl When {
    /// An unknown zone is read as UTC; configuration refuses it earlier.
    pub fn new(now: Wall, zone: &str) -> When {
        let now = Timestamp::from_millisecond(now.0).unwrap_or(Timestamp::UNIX_EPOCH);
        When { now, zone: TimeZone::get(zone).unwrap_or(TimeZone::UTC) }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Base {
    /// The first moment of the day.
    Today,
    Now,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Form {
    Date,
    Rfc3339,
    EpochS,
    EpochMs,
    /// strftime, as jiff reads it.
    Pattern(String),
}

/// How far from the base.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Offset {
    number: i64,
    unit: Unit,
}

/// Months and years belong to days of the calendar; hours and shorter to the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    Seconds(i64),
    Days(i64),
    Months(i64),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Moment {
    base: Base,
    offset: Option<Offset>,
    form: Form,
}

impl Moment {
    /// `None` where the name is neither `today` nor `now`.
    pub fn parse(inner: &str) -> Result<Option<Moment>, String> {
        let (head, form) = match inner.split_once(':') {
            Some((head, form)) => (head, Some(form)),
            None => (inner, None),
        };
        let end = head.find(['+', '-']).unwrap_or(head.len());
        let base = match &head[..end] {
            "today" => Base::Today,
            "now" => Base::Now,
            _ => return Ok(None),
        };
        let wrong = |why: &str| format!("{{{inner}}} {why}; written {{{{{inner}}}}} it is sent as it stands");
        let offset = match &head[end..] {
            "" => None,
            text => Some(Offset::parse(text, base).map_err(|why| wrong(&why))?),
        };
        let form = match form {
            None if base == Base::Today => Form::Date,
            None => Form::Rfc3339,
            Some(form) => Form::parse(form).map_err(|why| wrong(&why))?,
        };
        let moment = Moment { base, offset, form };
        // The form is tried on one moment: what jiff cannot write it says now and not at the first request.
        moment.text(&When::new(Wall(1_796_007_373_000), "UTC")).map_err(|why| wrong(&why))?;
        Ok(Some(moment))
    }

    pub fn text(&self, when: &When) -> Result<String, String> {
        let out_of_range = |_| "is further away than any calendar".to_owned();
        let now = when.now.to_zoned_datetime(when.zone.clone());
        let at = match self.base {
            Base::Now => match self.offset {
                Some(offset) => now.checked_add(offset.duration()).map_err(out_of_range)?,
                None => now,
            },
            Base::Today => {
                let day: Date = match self.offset {
                    Some(offset) => now.date().checked_add(offset.days()?).map_err(out_of_range)?,
                    None => now.date(),
                };
                day.to_zoned_datetime(when.zone.clone()).and_then(|d| d.start_of_day()).map_err(out_of_range)?
            }
        };
        self.form.write(&at)
    }
}

impl Offset {
    fn parse(text: &str, base: Base) -> Result<Offset, String> {
        let (sign, rest) = text.split_at(1);
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let (number, unit) = rest.split_at(digits);
        let unit = match (base, unit) {
            (_, "d") => Unit::Days(1),
            (_, "w") => Unit::Days(7),
            (Base::Today, "mo") => Unit::Months(1),
            (Base::Today, "y") => Unit::Months(12),
            (Base::Now, "h") => Unit::Seconds(3600),
            (Base::Now, "m") => Unit::Seconds(60),
            (Base::Now, "s") => Unit::Seconds(1),
            (Base::Today, _) => return Err("has no offset of days; write +1d, -2w, +1mo or -1y".to_owned()),
            (Base::Now, _) => return Err("has no offset; write +30s, -15m, -1h, -7d or +1w".to_owned()),
        };
        let number: i64 = number.parse().ok().filter(|n| *n <= 100_000).ok_or("has no number before its unit")?;
        Ok(Offset { number: if sign == "-" { -number } else { number }, unit })
    }

    /// A day of `now` is 24 hours: `now-1d` is a stretch of time, `today-1d` a date.
    fn duration(self) -> SignedDuration {
        let seconds = match self.unit {
            Unit::Seconds(s) => s,
            Unit::Days(d) => d * 86_400,
            Unit::Months(m) => m * 30 * 86_400,
        };
        SignedDuration::from_secs(self.number * seconds)
    }

    fn days(self) -> Result<Span, String> {
        let span = match self.unit {
            Unit::Seconds(s) => Span::new().try_seconds(self.number * s),
            Unit::Days(d) => Span::new().try_days(self.number * d),
            Unit::Months(m) => Span::new().try_months(self.number * m),
        };
        span.map_err(|_| "is further away than any calendar".to_owned())
    }
}

impl Form {
    fn parse(text: &str) -> Result<Form, String> {
        match text {
            "date" => Ok(Form::Date),
            "rfc3339" => Ok(Form::Rfc3339),
            "epoch-s" => Ok(Form::EpochS),
            "epoch-ms" => Ok(Form::EpochMs),
            pattern if pattern.contains('%') && !pattern.contains(['?', '#']) => Ok(Form::Pattern(pattern.to_owned())),
            _ => {
                Err("has no form that is known: date, rfc3339, epoch-s, epoch-ms, or strftime such as %Y%m%d"
                    .to_owned())
            }
        }
    }

    fn write(&self, at: &ZonedDateTime) -> Result<String, String> {
        let unwritable = |_| "has a form that cannot be written; the letters are those of strftime".to_owned();
        match self {
            Form::Date => Ok(at.date().to_string()),
            Form::Rfc3339 => Ok(at.timestamp().round(jiff::Unit::Second).unwrap_or(at.timestamp()).to_string()),
            Form::EpochS => Ok(at.timestamp().as_second().to_string()),
            Form::EpochMs => Ok(at.timestamp().as_millisecond().to_string()),
            Form::Pattern(pattern) => jiff::fmt::strtime::format(pattern.as_bytes(), at).map_err(unwritable),
        }
    }
}
