//! Waits in sentences: "Retry in 37829 seconds", "try again in 2 minutes", "Quota will be replenished in 00:46:40", "Please try after
//! 2025-09-09T17:03:57.0". Only where the sentence speaks of waiting; the longest counts. English, as providers write it.

use super::forms;
use super::headers::Hint;
use crate::domain::time::Wall;
use crate::domain::wait::WaitForm;
use jiff::tz::TimeZone;
use regex::bytes::{Regex, RegexBuilder};
use std::sync::LazyLock;

/// Words after which a number is a wait. Between them and the number stands no other number and no end of a sentence.
const SPEAKS_OF_WAITING: &str = r#"\b(?:retry(?:ing)?|try(?:ing)?|again|wait|replenished|resets?|renewed|refreshed|available|unblocked|lifted|blocked|banned|locked|suspended|back)\b[^0-9.!?\n]{0,40}?[\s:(\["']"#;

/// `00:46:40`, `1h2m3.5s`, `1 hour and 20 minutes`, `37829 seconds`, `37.5s`. A part of a value is none.
const LENGTH: &str = r"(?P<length>\d{1,3}:\d{2}:\d{2}|(?:\d+[dhm])+\d+(?:\.\d+)?(?:ms|[hms])\b|\d+(?:\.\d+)?\s*(?:ms|milliseconds?|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?)\b(?:(?:\s*,?\s*(?:and\s+)?|\s*)\d+(?:\.\d+)?\s*(?:s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?)\b)*)";

/// An RFC 1123 date or an RFC 3339 instant, naive or not.
const INSTANT: &str = r"(?P<instant>(?:mon|tue|wed|thu|fri|sat|sun), \d{1,2} [a-z]{3} \d{4} \d{2}:\d{2}:\d{2} (?:gmt|utc|z|[+-]\d{4})|\d{4}-\d{2}-\d{2}[t ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:z|[+-]\d{2}:?\d{2})?)";

/// Texts are looked at up to here. Bytes.
const LOOKED_AT: usize = 4096;

/// The compiled patterns. `None` is a pattern that does not compile, which a test forbids.
struct Prose {
    length: Option<Regex>,
    instant: Option<Regex>,
}

/// One for all connections, compiled when the first refusal needs it; over bytes, because the wording is ASCII.
static PROSE: LazyLock<Prose> = LazyLock::new(Prose::compile);

impl Prose {
    fn compile() -> Prose {
        let regex = |what: &str| {
            let pattern = format!("{SPEAKS_OF_WAITING}{what}");
            RegexBuilder::new(&pattern).case_insensitive(true).unicode(false).build().ok()
        };
        Prose { length: regex(LENGTH), instant: regex(INSTANT) }
    }
}

pub(super) fn hints(text: &str, now: Wall) -> Vec<Hint> {
    let text = &text[..text.floor_char_boundary(LOOKED_AT)];
    let found = |regex: &Option<Regex>, group: &str| -> Vec<String> {
        let captured = regex.iter().flat_map(|regex| regex.captures_iter(text.as_bytes()));
        captured.filter_map(|c| String::from_utf8(c.name(group)?.as_bytes().to_vec()).ok()).collect()
    };
    let lengths = found(&PROSE.length, "length").into_iter().filter_map(|said| {
        // The words between the parts are no part of the form.
        let plain = said.to_lowercase().replace(" and ", " ").replace(',', " ");
        Some((told(&said), forms::duration(&plain)?))
    });
    let instants = found(&PROSE.instant, "instant").into_iter().filter_map(|said| {
        let plain = said.strip_suffix(" UTC").map_or_else(|| said.clone(), |date| format!("{date} GMT"));
        Some((told(&said), forms::read(WaitForm::Time, &plain, now, &TimeZone::UTC)?))
    });
    lengths.chain(instants).collect()
}

/// The part of the sentence that was believed: digits and units, nothing that could be a secret.
fn told(said: &str) -> String {
    format!("its words \u{201c}{said}\u{201d}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// 2026-11-30T02:56:13Z
    const NOW: Wall = Wall(1_796_007_373_000);

    fn wait(text: &str) -> Option<u64> {
        hints(text, NOW).into_iter().map(|(_, wait)| wait.0.div_ceil(1000)).max()
    }

    #[test]
    fn every_pattern_compiles() {
        let Prose { length, instant } = Prose::compile();
        assert!(length.is_some() && instant.is_some());
    }

    #[test]
    fn sentences_of_real_providers() {
        let table = [
            ("Retry in 37829 seconds", Some(37_829)),
            ("Rate limit exceeded, try again in 2 minutes", Some(120)),
            ("Out of call volume quota. Quota will be replenished in 00:46:40.", Some(2800)),
            ("Please wait 5 minutes before trying again.", Some(300)),
            ("You can retry after 1 hour and 20 minutes.", Some(4800)),
            ("Please retry in 37.5s.", Some(38)),
            ("Slot available after: 2026-11-30T02:58:13Z, in 120 seconds.", Some(120)),
            ("Please try after 2026-11-30T02:57:13.0", Some(60)),
            ("Your quota resets at Mon, 30 Nov 2026 02:57:13 GMT", Some(60)),
            ("Your quota resets at Mon, 30 Nov 2026 02:57:13 +0000", Some(60)),
            ("You are temporarily blocked for 1 day", Some(86_400)),
            ("Rate limit reached. Please try again in 6m0s. Visit the page of your account.", Some(360)),
            ("Please try again in 1h2m3s", Some(3_723)),
            ("Please try again in 1m30.5s.", Some(91)),
            ("Please try again in 5m 30.5s.", Some(331)),
            ("Please try again in 2d3h", Some(183_600)),
            ("Please try again in 20ms.", Some(1)),
            ("Please try again in 6m0", None),
            ("Please try again in 6m0sec1", None),
            ("Only 5 requests are allowed every 5 minutes, please wait before you try again.", None),
            ("Max 400 requests per 60 seconds", None),
            ("Try again later", None),
            ("Please wait. 5 minutes were not enough", None),
            ("Retry in 0 seconds", None),
            ("Retry in -5 seconds", None),
            ("Please try after 2025-09-09T17:03:57.0", None),
            ("Retry in 99999999999999999999 seconds", None),
            ("", None),
        ];
        for (text, expected) in table {
            assert_eq!(wait(text), expected, "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in r"(retry|wait|in |after |[0-9.:TZ-]|seconds|minutes| |\PC){0,40}", now: i64) {
            hints(&text, Wall(now));
        }
    }
}
