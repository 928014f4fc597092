//! One value, one form: the whole text is understood or nothing of it. Zero, negative, past and absurd values are no waits; they
//! are nothing, never an error (A18 to A21). Must not know where a value stood.

use super::tongues;
use crate::domain::time::{Span, Wall};
use crate::domain::wait::WaitForm;
use crate::rules::calendar::http_date;
use crate::rules::instant::{Doubt, instant};
use jiff::tz::TimeZone;

/// From here on a number of seconds is no wait: it is an epoch, or nonsense (`VENDORS` section 3).
const ABSURD_S: f64 = 1e8;

/// Longer texts are no single value. Bytes.
const LONGEST: usize = 64;

/// A text in the form that a recipe names. `now`: by the clock of whoever wrote it; `zone`: for times without one.
pub(in crate::rules) fn read(form: WaitForm, text: &str, now: Wall, zone: &TimeZone) -> Option<Span> {
    let text = text.trim();
    if text.len() > LONGEST {
        return None;
    }
    match form {
        WaitForm::Seconds => seconds(text),
        WaitForm::Milliseconds => decimal(text).and_then(|n| credible(n, 1.0)),
        WaitForm::Minutes => decimal(text).and_then(|n| credible(n, 60e3)),
        WaitForm::Hours => decimal(text).and_then(|n| credible(n, 3600e3)),
        WaitForm::EpochS => epoch(decimal(text)?, 1e3, now),
        WaitForm::EpochMs => epoch(decimal(text)?, 1.0, now),
        WaitForm::EpochUs => epoch(decimal(text)?, 1e-3, now),
        WaitForm::EpochNs => epoch(decimal(text)?, 1e-6, now),
        WaitForm::Time => ahead(time(text, zone)?, now),
        WaitForm::HttpDate => until(text, now),
        WaitForm::Duration => duration(text),
        WaitForm::Auto => auto(text, now, zone),
    }
}

/// By magnitude where it is a number, else as an instant or a duration.
pub(in crate::rules) fn auto(text: &str, now: Wall, zone: &TimeZone) -> Option<Span> {
    let text = text.trim();
    if text.len() > LONGEST {
        return None;
    }
    if let Some(n) = decimal(text) {
        return by_magnitude(n, now);
    }
    match time(text, zone) {
        Some(at) => ahead(at, now),
        None => duration(text),
    }
}

/// One header name, many units: what is below 1e8 counts down, the rest is an epoch whose unit its magnitude tells. Between the
/// magnitudes nothing is credible: read either way it lies in the past or after our time.
fn by_magnitude(n: f64, now: Wall) -> Option<Span> {
    match n {
        n if n < ABSURD_S => credible(n.ceil(), 1e3),
        n if n < 1e11 => epoch(n, 1e3, now),
        n if n < 1e14 => epoch(n, 1.0, now),
        n if n < 1e17 => epoch(n, 1e-3, now),
        n => epoch(n, 1e-6, now),
    }
}

fn epoch(n: f64, ms: f64, now: Wall) -> Option<Span> {
    let at = (n * ms).ceil();
    (at < 1e15).then(|| ahead(Wall(at as i64), now)).flatten()
}

/// `n` units of `ms` milliseconds, rounded up.
fn credible(n: f64, ms: f64) -> Option<Span> {
    let wait = (n * ms).ceil();
    (wait > 0.0 && wait < ABSURD_S * 1e3).then_some(Span(wait as u64))
}

/// A positive decimal number and nothing else: no sign, no exponent, no hex, no list.
pub(super) fn decimal(text: &str) -> Option<f64> {
    let text = text.trim_matches([' ', '\t']);
    let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
    if !(digits(whole) && digits(part)) {
        return None;
    }
    text.parse().ok().filter(|n: &f64| n.is_finite() && *n > 0.0)
}

/// Delta seconds; decimals are rounded up to the next whole second (A18).
pub(super) fn seconds(text: &str) -> Option<Span> {
    decimal(text).filter(|s| *s < ABSURD_S).and_then(|s| credible(s.ceil(), 1e3))
}

/// An HTTP-date in any of its three forms (RFC 9110 section 5.6.7), if it lies ahead and within reason.
pub(super) fn until(text: &str, now: Wall) -> Option<Span> {
    ahead(http_date(text)?, now)
}

fn ahead(at: Wall, now: Wall) -> Option<Span> {
    let wait = at.since(now);
    (wait > Span::ZERO && (wait.as_secs() as f64) < ABSURD_S).then_some(wait)
}

/// Where a local time comes twice, the later: the longer wait.
pub(super) fn time(text: &str, zone: &TimeZone) -> Option<Wall> {
    instant(text, zone, Doubt::Later)
}

/// `6m0s`, `1h30m`, `20ms`, `2 minutes`, `1 Stunde und 20 Minuten`, `PT15M`, `00:46:40`: whole days have 24 hours here.
pub(super) fn duration(text: &str) -> Option<Span> {
    let text = text.trim();
    if !text.bytes().next()?.is_ascii_alphanumeric() || !text.bytes().any(|b| b.is_ascii_digit()) {
        return None;
    }
    let span: jiff::Span = match clock(text) {
        Some(span) => span,
        None if text.contains(':') => return None,
        None => text.parse().or_else(|_| tongues::plain(text).parse()).ok()?,
    };
    let exact = span.to_duration(jiff::SpanRelativeTo::days_are_24_hours()).ok()?;
    let ms = u64::try_from(exact.as_millis()).ok()?;
    credible(ms as f64, 1.0).or_else(|| (exact.is_positive() && ms == 0).then_some(Span(1)))
}

/// `00:46:40`, hours first.
fn clock(text: &str) -> Option<jiff::Span> {
    let mut parts = text.split(':').map(|part| {
        let digits = (1..=3).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit());
        part.parse::<i64>().ok().filter(|_| digits)
    });
    let (hours, minutes, seconds) = (parts.next()??, parts.next()??, parts.next()??);
    let sound = parts.next().is_none() && minutes < 60 && seconds < 60;
    sound.then(|| jiff::Span::new().hours(hours).minutes(minutes).seconds(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// 2026-11-30T02:56:13Z
    const NOW: Wall = Wall(1_796_007_373_000);

    fn ms(form: WaitForm, text: &str) -> Option<u64> {
        read(form, text, NOW, &TimeZone::UTC).map(|wait| wait.0)
    }

    #[test]
    fn every_form_reads_its_own_and_nothing_else() {
        use WaitForm::*;
        let table = [
            (Seconds, "30", Some(30_000)),
            (Seconds, "0.8", Some(1_000)),
            (Seconds, "1796007433", None),
            (Milliseconds, "6457", Some(6_457)),
            (Milliseconds, "0.2", Some(1)),
            (Minutes, "15", Some(900_000)),
            (Minutes, "0", None),
            (Hours, "24", Some(86_400_000)),
            (Hours, "1.5", Some(5_400_000)),
            (Hours, "1796007433", None),
            (EpochS, "1796007433", Some(60_000)),
            (EpochS, "1796007433.25", Some(60_250)),
            (EpochS, "60", None),
            (EpochMs, "1796007433000", Some(60_000)),
            (EpochUs, "1796007433000000", Some(60_000)),
            (EpochNs, "1796007433000000000", Some(60_000)),
            (EpochNs, "1796007313000000000", None),
            (Time, "2026-11-30T02:57:13Z", Some(60_000)),
            (Time, "2026-11-30T02:57Z", Some(47_000)),
            (Time, "2026-11-30T02:57:13.5+00:00", Some(60_500)),
            (Time, "2026-11-30T03:57:13+01:00", Some(60_000)),
            (Time, "2026-11-30 02:57:13", Some(60_000)),
            (Time, "2026-11-30T02:57:13.000000", Some(60_000)),
            (Time, "Mon, 30 Nov 2026 02:57:13 GMT", Some(60_000)),
            (Time, "Mon, 30 Nov 2026 02:57:13 +0000", Some(60_000)),
            (Time, "Mon, 30 Nov 2026 02:57:13 Z", Some(60_000)),
            (Time, "Mon Nov 30 2026 02:57:13 GMT+0000 (Coordinated Universal Time)", Some(60_000)),
            (Time, "2026-11-30", None),
            (Time, "2026-11-29T02:57:13Z", None),
            (Time, "9999-11-30T02:57:13Z", None),
            (HttpDate, "Monday, 30-Nov-26 02:57:13 GMT", Some(60_000)),
            (HttpDate, "2026-11-30T02:57:13Z", None),
            (Duration, "6m0s", Some(360_000)),
            (Duration, "1h30m", Some(5_400_000)),
            (Duration, "20ms", Some(20)),
            (Duration, "1.5s", Some(1_500)),
            (Duration, "PT15M", Some(900_000)),
            (Duration, "P1D", Some(86_400_000)),
            (Duration, "00:46:40", Some(2_800_000)),
            (Duration, "2 minutes", Some(120_000)),
            (Duration, "1 Stunde und 20 Minuten", Some(4_800_000)),
            (Duration, "5 segundos", Some(5_000)),
            (Duration, "1 uur, 5 seconden", Some(3_605_000)),
            (Duration, "5 Äpfel", None),
            (Duration, "-5s", None),
            (Duration, "5s ago", None),
            (Duration, "00:61:00", None),
            (Duration, "P1Y", None),
            (Duration, "0s", None),
            (Duration, "soon", None),
            (Duration, "5", None),
            (Auto, "60", Some(60_000)),
            (Auto, "1796007433000", Some(60_000)),
            (Auto, "6m0s", Some(360_000)),
            (Auto, "2026-11-30T02:57Z", Some(47_000)),
            (Auto, "500000000", None),
            (Auto, "NaN", None),
            (Auto, "0x10", None),
            (Auto, "1e3", None),
            (Auto, "5, 10", None),
            (Auto, "", None),
        ];
        for (form, text, expected) in table {
            assert_eq!(ms(form, text), expected, "{}: {text:?}", form.word());
        }
    }

    #[test]
    fn a_time_without_a_zone_is_read_in_the_zone_of_the_recipe() {
        let vienna = TimeZone::get("Europe/Vienna").unwrap();
        assert_eq!(read(WaitForm::Time, "2026-11-30 03:57:13", NOW, &vienna), Some(Span::from_secs(60)));
        assert_eq!(read(WaitForm::Time, "2026-11-30T02:57:13Z", NOW, &vienna), Some(Span::from_secs(60)));
    }

    proptest! {
        #[test]
        fn no_text_panics_and_every_wait_is_within_reason(
            text in r"([0-9.+eE:;=,-]|Mon|Nov|GMT|[PTYMWDHmsuh]|min|hour| |\PC){0,30}", now: i64,
            form in proptest::sample::select(WaitForm::ALL.to_vec()),
        ) {
            if let Some(wait) = read(form, &text, Wall(now), &TimeZone::UTC) {
                prop_assert!(wait > Span::ZERO && (wait.as_secs() as f64) < ABSURD_S + 1.0);
            }
        }

        #[test]
        fn any_number_is_no_panic(n: f64, now: i64) {
            let text = n.abs().to_string();
            for form in WaitForm::ALL {
                read(form, &text, Wall(now), &TimeZone::UTC);
            }
        }
    }
}
