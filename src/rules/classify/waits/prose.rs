//! Waits in sentences: "Retry in 37829 seconds", "try again in 2 minutes", "Quota will be replenished in 00:46:40", "Please try after
//! 2025-09-09T17:03:57.0", "Bitte warten Sie 5 Minuten". Only where the sentence speaks of waiting; the longest counts.

use super::forms;
use super::headers::Hint;
use super::tongues;
use crate::domain::time::Wall;
use crate::domain::wait::WaitForm;
use jiff::tz::TimeZone;
use regex::bytes::{Regex, RegexBuilder};
use std::sync::LazyLock;

/// Between the words that speak of waiting and the number stands no other number and no end of a sentence.
const UP_TO: &str = r#"\b[^0-9.!?\n]{0,40}?[\s:(\["']"#;

/// `00:46:40`, `1h2m3.5s`, `37829 seconds`, `37.5s`; `UNIT` and `AND` stand for the words of all languages. A part of a value is none.
const LENGTH: &str = r"(?P<length>\d{1,3}:\d{2}:\d{2}|(?:\d+[dhm])+\d+(?:\.\d+)?(?:ms|[hms])\b|\d+(?:\.\d+)?\s*(?:ms|milliseconds?|UNIT)\b(?:(?:\s*,?\s*(?:(?:AND)\s+)?|\s*)\d+(?:\.\d+)?\s*(?:UNIT)\b)*)";

/// An RFC 1123 date or an RFC 3339 instant, naive or not.
const INSTANT: &str = r"(?P<instant>(?:mon|tue|wed|thu|fri|sat|sun), \d{1,2} [a-z]{3} \d{4} \d{2}:\d{2}:\d{2} (?:gmt|utc|z|[+-]\d{4})|\d{4}-\d{2}-\d{2}[t ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:z|[+-]\d{2}:?\d{2})?)";

/// Texts are looked at up to here. Bytes.
const LOOKED_AT: usize = 4096;

/// The compiled patterns. `None` is a pattern that does not compile, which a test forbids.
struct Prose {
    length: Option<Regex>,
    /// With the words behind it.
    length_first: Option<Regex>,
    instant: Option<Regex>,
}

/// One for all connections, compiled when the first refusal needs it; over bytes, because most of the wording is ASCII.
static PROSE: LazyLock<Prose> = LazyLock::new(Prose::compile);

impl Prose {
    fn compile() -> Prose {
        let regex = |pattern: &str| RegexBuilder::new(pattern).case_insensitive(true).unicode(false).build().ok();
        let length = LENGTH.replace("UNIT", &tongues::units()).replace("AND", &tongues::ands());
        let speaks = format!(r"\b(?:{}){UP_TO}", tongues::before());
        Prose {
            length: regex(&format!("{speaks}{length}")),
            length_first: regex(&format!(r"\b{length}\s+(?:{})\b", tongues::behind())),
            instant: regex(&format!("{speaks}{INSTANT}")),
        }
    }
}

pub(super) fn hints(text: &str, now: Wall) -> Vec<Hint> {
    let text = &text[..text.floor_char_boundary(LOOKED_AT)];
    let found = |regex: &Option<Regex>, group: &str| -> Vec<String> {
        let captured = regex.iter().flat_map(|regex| regex.captures_iter(text.as_bytes()));
        captured.filter_map(|c| String::from_utf8(c.name(group)?.as_bytes().to_vec()).ok()).collect()
    };
    let lengths = found(&PROSE.length, "length").into_iter().chain(found(&PROSE.length_first, "length"));
    let lengths = lengths.filter_map(|said| Some((told(&said), forms::duration(&said)?)));
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
        let Prose { length, length_first, instant } = Prose::compile();
        assert!(length.is_some() && length_first.is_some() && instant.is_some());
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

    #[test]
    fn providers_speak_their_own_languages() {
        for (text, expected) in [
            ("Zu viele Anfragen. Bitte versuchen Sie es in 5 Minuten erneut.", Some(300)),
            ("Zu viele Anfragen, bitte 30 Sekunden warten.", Some(30)),
            ("Ihr Konto ist für 1 Stunde und 20 Minuten gesperrt.", Some(4800)),
            ("Das Kontingent ist in 2 Tagen wieder verfügbar", Some(172_800)),
            ("Maximal 60 Anfragen in 60 Sekunden", None),
            ("Bitte später erneut versuchen", None),
            ("Trop de requêtes. Veuillez réessayer dans 10 minutes.", Some(600)),
            ("Veuillez patienter 2 heures et 5 secondes", Some(7205)),
            ("Il reste 90 secondes avant de réessayer", Some(90)),
            ("60 requêtes par minute", None),
            ("Demasiadas solicitudes. Inténtelo de nuevo en 15 segundos.", Some(15)),
            ("Espere 1 día antes de reintentar", Some(86_400)),
            ("Un máximo de 5 solicitudes cada 10 minutos", None),
            ("Te veel verzoeken. Probeer het over 3 minuten opnieuw.", Some(180)),
            ("U moet 1 uur wachten", Some(3600)),
            ("Maximaal 100 verzoeken per 15 minuten", None),
        ] {
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
