//! Durations, times of day, sizes: a whole value or an error.

use super::super::place::{nearest, suggestion};
use super::super::words::*;
use crate::domain::limit::TimeOfDay;
use crate::domain::time::Span;

#[test]
fn a_duration_is_a_whole_number_and_a_unit() {
    for (text, ms) in
        [("250ms", 250), ("75s", 75_000), ("5m", 300_000), ("48h", 172_800_000), ("7d", 604_800_000), ("0s", 0)]
    {
        assert_eq!(span(text), Ok(Span(ms)), "{text}");
    }
    for text in ["", "s", "75", "75 s", " 75s", "75s ", "1.5h", "1h30m", "-5s", "+5s", "5M", "5 min", "5minutes", "٣s"]
    {
        assert!(span(text).is_err_and(|said| said.contains("is not a duration")), "{text}");
    }
    for text in ["99999999999999999d", "18446744073709551615ms", "9999999d"] {
        assert!(span(text).is_err(), "{text}");
    }
}

#[test]
fn a_time_of_day_has_two_digits_twice() {
    assert_eq!(time_of_day("00:00"), Ok(TimeOfDay(0)));
    assert_eq!(time_of_day("23:59"), Ok(TimeOfDay(1439)));
    for text in ["24:00", "00:60", "1:00", "01:0", "0100", "", "+1:00", "01:00:00"] {
        assert!(time_of_day(text).is_err(), "{text}");
    }
}

#[test]
fn time_zones_are_those_of_the_database() {
    assert_eq!(time_zone("Europe/Berlin").as_deref(), Ok("Europe/Berlin"));
    assert_eq!(time_zone("UTC").as_deref(), Ok("UTC"));
    let said = time_zone("Europe/Berln").unwrap_err();
    assert_eq!(said, "\"Europe/Berln\" is not a time zone; did you mean \"Europe/Berlin\"?");
    assert!(time_zone("").is_err() && time_zone("GMT+25").is_err());
}

#[test]
fn names_fit_an_address() {
    for text in ["yard", "run-zone", "2nd", "a_b"] {
        assert_eq!(name(text).as_deref(), Ok(text));
    }
    for text in ["", "Yard", "a b", "a/b", "ü", "-a", "..", &"x".repeat(65)] {
        assert!(name(text).is_err(), "{text}");
    }
}

#[test]
fn a_base_url_is_an_origin_and_a_path() {
    for (text, kept) in [
        ("https://api.test", "https://api.test"),
        ("https://api.test/", "https://api.test"),
        ("http://10.0.0.1:9090/api//", "http://10.0.0.1:9090/api"),
        ("http://[fd00::1]:80/x", "http://[fd00::1]:80/x"),
        ("http://localhost", "http://localhost"),
    ] {
        assert_eq!(base_url(text).as_deref(), Ok(kept), "{text}");
    }
    for (text, says) in [
        ("api.test", "must begin with http:// or https://"),
        ("ftp://api.test", "must begin with"),
        ("https://", "has no valid host name"),
        ("https:///x", "has no valid host name"),
        ("https://api.test:0", "has a port"),
        ("https://api.test:99999", "has a port"),
        ("https://[::1", "has brackets"),
        ("https://a..b", "has no valid host name"),
        ("https://api.test/x?key=hunter2", "must have no ?"),
        ("https://api.test/#x", "must have no ?"),
        ("https://api.test/a b", "must have no spaces"),
        ("https://anna:hunter2@api.test", "use `credential`"),
    ] {
        let said = base_url(text).unwrap_err();
        assert!(said.contains(says) && !said.contains("hunter2"), "{text}: {said}");
    }
}

#[test]
fn sizes_are_bytes_or_binary_units() {
    assert_eq!((size("2000"), size("512KiB"), size("10MiB")), (Ok(2000), Ok(512 << 10), Ok(10 << 20)));
    for text in ["", "0", "10MB", "10 MiB", "2000MiB", "-1"] {
        assert!(size(text).is_err(), "{text}");
    }
}

#[test]
fn a_suggestion_is_near_or_not_made() {
    let keys = ["window", "requests", "kind"];
    assert_eq!(nearest("windw", keys), Some("window"));
    assert_eq!(nearest("Window", keys), Some("window"));
    assert_eq!(nearest("request", keys), Some("requests"));
    assert_eq!(nearest("colour", keys), None);
    assert_eq!(suggestion("colour", &keys), "; there is: window, requests, kind");
    assert_eq!(suggestion("colour", &[]), "");
}
