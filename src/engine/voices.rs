//! Whose word stands for a connection: the worst of what is true of it as a whole. A hold of one endpoint is its targets' word, and the
//! connection's only where it is so for all of them. Knows words and troubles alone.

use crate::domain::ids::TargetName;
use crate::domain::state::State;
use crate::domain::target::Trouble;
use crate::rules::freshness::{self, Facts};

/// What one target says.
pub struct Voice<'a> {
    name: &'a TargetName,
    trouble: Option<Trouble>,
    /// Its own word.
    word: State,
    /// The same, were its endpoint not held by itself.
    apart: State,
}

impl<'a> Voice<'a> {
    pub fn of(name: &'a TargetName, facts: &Facts, trouble: Option<Trouble>) -> Voice<'a> {
        let apart = freshness::state(&Facts { endpoint_held: false, ..*facts });
        Voice { name, trouble, word: freshness::state(facts), apart }
    }
}

/// The word, and the trouble of the target that speaks: the gravest, and of those the first of the file. `own`: the word of a
/// connection without targets.
pub fn spoken<'v>(voices: &'v [Voice<'_>], own: State) -> (State, Option<(&'v TargetName, &'v Trouble)>) {
    let all_wait = voices.iter().all(|voice| voice.word != voice.apart);
    let word = |voice: &Voice<'_>| if all_wait { voice.word } else { voice.apart };
    let troubled = voices.iter().filter(|voice| voice.trouble.is_some());
    let gravest = troubled.min_by_key(|voice| gravity(word(voice)));
    // One that was never asked speaks only where all are such.
    let words = voices.iter().map(word).filter(|word| *word != State::Never).chain(gravest.map(word));
    let state = words.min_by_key(|word| gravity(*word)).or(voices.first().map(word)).unwrap_or(own);
    (state, gravest.and_then(|voice| Some((voice.name, voice.trouble.as_ref()?))))
}

/// For the order of the words where one speaks for all. Asked and never answered is worse than an answer that is due to be renewed.
fn gravity(word: State) -> (State, bool) {
    if word == State::Never { (State::Ageing, false) } else { (word, true) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use State::{Ageing, Exhausted, Fresh, Held, Never, Stale};

    fn word(voices: &[(State, State)], own: State) -> State {
        let name = TargetName::from("t");
        let voice = |(word, apart): &(State, State)| Voice { name: &name, trouble: None, word: *word, apart: *apart };
        spoken(&voices.iter().map(voice).collect::<Vec<_>>(), own).0
    }

    #[test]
    fn one_endpoint_does_not_hold_the_connection_and_hides_no_age() {
        for (voices, expected) in [
            (&[(Fresh, Fresh), (Held, Fresh)][..], Fresh),
            (&[(Fresh, Fresh), (Held, Stale)], Stale),
            (&[(Held, Fresh), (Held, Stale)], Held),
            (&[(Held, Held), (Held, Held)], Held),
            (&[(Exhausted, Exhausted), (Held, Exhausted)], Exhausted),
            (&[(Never, Never), (Fresh, Fresh)], Fresh),
            (&[(Ageing, Ageing), (Fresh, Fresh)], Ageing),
            (&[(Never, Never)], Never),
            (&[], State::Disabled),
        ] {
            assert_eq!(word(voices, State::Disabled), expected, "{voices:?}");
        }
    }
}
