//! A sentence in which instants stand apart from the words, so that each surface tells them by the clock of who reads it. Must not know who that is.

use crate::domain::time::Wall;
use serde::{Serialize, Serializer};
use std::fmt;

/// Around an instant: its milliseconds, and how the appliance's own people read it. Noncharacters, which no text that is exchanged has (Unicode 23.7).
const OPENS: char = '\u{fdd0}';
const PARTS: char = '\u{fdd1}';
const CLOSES: char = '\u{fdd2}';

/// Shown and serialized as the appliance's own people read it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sentence(String);

/// An instant for the text of a [`Sentence`]; `here`: as it is read at the appliance.
pub fn instant(at: Wall, here: &str) -> String {
    format!("{OPENS}{}{PARTS}{here}{CLOSES}", at.0)
}

impl Sentence {
    /// With each instant as `tell` says it.
    pub fn by(&self, tell: impl Fn(Wall) -> String) -> String {
        self.told(|at, _| tell(at))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// For a longer one.
    pub fn text(&self) -> &str {
        &self.0
    }

    fn told(&self, tell: impl Fn(Wall, &str) -> String) -> String {
        let mut pieces = self.0.split(OPENS);
        let mut told = pieces.next().unwrap_or_default().to_owned();
        for piece in pieces {
            let read = piece.split_once(CLOSES).and_then(|(mark, rest)| {
                let (at, here) = mark.split_once(PARTS)?;
                Some((Wall(at.parse().ok()?), here, rest))
            });
            match read {
                Some((at, here, rest)) => told.extend([&tell(at, here), rest]),
                // What somebody else wrote is a text.
                None => told.push_str(piece),
            }
        }
        told
    }
}

impl From<String> for Sentence {
    fn from(text: String) -> Sentence {
        Sentence(text)
    }
}

impl From<&str> for Sentence {
    fn from(text: &str) -> Sentence {
        Sentence(text.to_owned())
    }
}

impl fmt::Display for Sentence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.told(|_, here| here.to_owned()))
    }
}

impl Serialize for Sentence {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn each_reader_has_the_instants_of_a_sentence_by_another_clock() {
        let at = |ms, here| instant(Wall(ms), here);
        let sentence = Sentence::from(format!("Held from {} to {}.", at(-5, "09:00 CET"), at(7, "10:00 CET")));
        assert_eq!(sentence.to_string(), "Held from 09:00 CET to 10:00 CET.");
        assert_eq!(sentence.by(|at| at.0.to_string()), "Held from -5 to 7.");
        assert_eq!(serde_json::to_string(&sentence).unwrap(), "\"Held from 09:00 CET to 10:00 CET.\"");
    }

    proptest! {
        /// Also of a text that was made to look like one with an instant.
        #[test]
        fn nothing_of_a_text_is_lost_and_no_mark_is_shown(text in "[a-z0-9 \u{fdd0}\u{fdd1}\u{fdd2}]{0,40}") {
            let words = |s: &str| s.chars().filter(|c| c.is_ascii_alphabetic()).collect::<String>();
            let plain = Sentence::from(text.as_str()).to_string();
            prop_assert_eq!(words(&plain), words(&text));
            prop_assert!(!plain.contains(OPENS));
        }
    }
}
