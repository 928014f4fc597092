//! Words for people: stdout carries data, stderr carries talk. A closed pipe is the reader's choice, not an error.

use super::ending::Failure;
use crate::domain::time::Span;
use std::io::{ErrorKind, Write};

/// Writes data to stdout.
pub fn show(text: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::failed(format!("The output could not be written: {e}.")))
        }
        _ => Ok(()),
    }
}

/// Says a sentence on stderr. Where nobody can hear it, nothing is lost that could be told elsewhere.
pub fn talk(sentence: &str) {
    _ = writeln!(std::io::stderr().lock(), "{sentence}");
}

/// `7.5 s`, `293.76 s`, `5 min`: exact below an hour, then as [`Span`] reads.
pub fn span(span: Span) -> String {
    span.exact()
}

/// As configuration spells it, in whole seconds, rounded up.
pub fn setting(span: Span) -> String {
    format!("{}s", span.as_secs_ceil())
}

/// `1 target`, `3 targets`.
pub fn count(n: u64, noun: &str) -> String {
    if n == 1 { format!("1 {noun}") } else { format!("{n} {noun}s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_below_an_hour_are_exact() {
        for (ms, shown) in [
            (7_500, "7.5 s"),
            (250, "0.25 s"),
            (75_000, "75 s"),
            (300_000, "5 min"),
            (293_760, "293.76 s"),
            (3_700_000, "1 h 1 min"),
        ] {
            assert_eq!(span(Span(ms)), shown);
        }
    }

    #[test]
    fn a_setting_is_never_shorter_than_what_it_stands_for() {
        assert_eq!([setting(Span(75_000)), setting(Span(8_640))], ["75s", "9s"]);
    }

    #[test]
    fn one_is_not_many() {
        assert_eq!([count(0, "zone"), count(1, "zone"), count(2, "zone")], ["0 zones", "1 zone", "2 zones"]);
    }
}
