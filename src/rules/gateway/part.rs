//! A part of an answer that is kept whole (RFC 9110 section 14). Must not know whether it is fresh.

use super::moment::date;
use crate::domain::gateway::joined;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// No part was asked for, or none that can be given alone: the whole does (RFC 9110 section 14.2).
    Whole,
    /// From this octet up to, and without, that one.
    Of { from: usize, to: usize },
    /// It begins behind the end: 416.
    Nothing,
}

/// `asked`: the client's headers, lower-case names. `bytes`: of the whole, which has these validators.
pub fn part(asked: &[(String, String)], bytes: usize, etag: &str, last_modified: &str) -> Part {
    let Some(range) = joined(asked, "range") else { return Part::Whole };
    let is_still_it = |had: String| match had.trim() {
        // By strong comparison (RFC 9110 section 13.1.5).
        tag if tag.starts_with('"') => tag == etag,
        moment => date(moment).is_some_and(|moment| date(last_modified) == Some(moment)),
    };
    if !joined(asked, "if-range").is_none_or(is_still_it) {
        return Part::Whole;
    }
    range.trim().strip_prefix("bytes=").and_then(|set| of_one(set.trim(), bytes)).unwrap_or(Part::Whole)
}

/// `None`: that is several parts, or no range.
fn of_one(set: &str, bytes: usize) -> Option<Part> {
    let (first, last) = set.split_once('-')?;
    // Digits alone; what does not fit is far behind the end.
    let number = |text: &str| {
        let sound = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        sound.then(|| text.parse().unwrap_or(usize::MAX))
    };
    let (from, to) = match (first, last) {
        ("", last) => (bytes.saturating_sub(number(last).filter(|_| bytes > 0)?), bytes),
        (first, "") => (number(first)?, bytes),
        (first, last) => {
            let (first, last) = (number(first)?, number(last)?);
            (first <= last).then_some((first, last.saturating_add(1).min(bytes)))?
        }
    };
    Some(if from < to { Part::Of { from, to } } else { Part::Nothing })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TAG: &str = "\"v1\"";
    const MOMENT: &str = "Mon, 30 Nov 2026 15:00:00 GMT";

    fn of(range: &str, bytes: usize) -> Part {
        part(&[("range".to_owned(), range.to_owned())], bytes, TAG, MOMENT)
    }

    #[test]
    fn one_part_is_given_and_anything_else_is_answered_whole() {
        for (range, part) in [
            ("bytes=0-1", Part::Of { from: 0, to: 2 }),
            ("bytes=1-", Part::Of { from: 1, to: 10 }),
            ("bytes=-3", Part::Of { from: 7, to: 10 }),
            ("bytes=-99", Part::Of { from: 0, to: 10 }),
            ("bytes=8-99999999999999999999999", Part::Of { from: 8, to: 10 }),
            ("bytes=10-", Part::Nothing),
            ("bytes=99999999999999999999999-", Part::Nothing),
            ("bytes=-0", Part::Nothing),
            ("bytes=0-1,4-5", Part::Whole),
            ("bytes=5-1", Part::Whole),
            ("bytes=-", Part::Whole),
            ("bytes=+1-2", Part::Whole),
            ("bytes=a-b", Part::Whole),
            ("rows=0-1", Part::Whole),
        ] {
            assert_eq!(of(range, 10), part, "{range}");
        }
        assert_eq!((of("bytes=0-", 0), of("bytes=-1", 0)), (Part::Nothing, Part::Whole));
    }

    #[test]
    fn a_part_is_given_only_of_what_the_client_has_the_rest_of() {
        for (had, is_given) in [
            (TAG, true),
            ("\"v2\"", false),
            ("W/\"v1\"", false),
            (MOMENT, true),
            ("Mon, 30 Nov 2026 15:00:01 GMT", false),
            ("yesterday", false),
        ] {
            let asked = [("range", "bytes=0-1"), ("if-range", had)].map(|(n, v)| (n.to_owned(), v.to_owned()));
            assert_eq!(part(&asked, 10, TAG, MOMENT) != Part::Whole, is_given, "{had}");
        }
    }

    proptest! {
        #[test]
        fn a_part_never_reaches_beyond_the_whole(range in "bytes=[0-9]{0,21}-[0-9]{0,21}", bytes in 0usize..100) {
            if let Part::Of { from, to } = of(&range, bytes) {
                prop_assert!(from < to && to <= bytes);
            }
        }
    }
}
