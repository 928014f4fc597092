//! Whose word stands for a connection: the worst of what is true of it as a whole. A hold of one endpoint is its targets' word, and the
//! connection's only where it is so for all of them. Knows words and troubles alone.

use crate::domain::ids::TargetName;
use crate::domain::state::State;
use crate::domain::target::Trouble;
use crate::domain::time::Span;
use crate::rules::freshness::{self, Facts};

/// What one target says.
pub struct Voice<'a> {
    name: &'a TargetName,
    trouble: Option<&'a Trouble>,
    /// Its own word.
    word: State,
    /// The same, were its endpoint not held by itself.
    apart: State,
    /// What that becomes by age.
    turns: Vec<(Span, State)>,
}

impl<'a> Voice<'a> {
    pub fn of(name: &'a TargetName, facts: &Facts, trouble: Option<&'a Trouble>) -> Voice<'a> {
        let alone = Facts { endpoint_held: false, ..*facts };
        let (word, apart) = (freshness::state(facts), freshness::state(&alone));
        Voice { name, trouble, word, apart, turns: freshness::turns(&alone) }
    }
}

/// What all say together.
#[derive(Debug)]
pub struct Spoken<'v> {
    pub state: State,
    /// The target whose word it is, the first of the file; `None`: the connection's own.
    pub speaker: Option<&'v TargetName>,
    /// The gravest trouble, and of those the first of the file.
    pub trouble: Option<(&'v TargetName, &'v Trouble)>,
    /// What the word becomes by age alone, in the order of time.
    pub turns: Vec<(Span, State)>,
}

/// `own`: the word of a connection without targets.
pub fn spoken<'v>(voices: &'v [Voice<'_>], own: State) -> Spoken<'v> {
    let all_wait = voices.iter().all(|voice| voice.word != voice.apart);
    let word = |voice: &Voice<'_>| if all_wait { voice.word } else { voice.apart };
    let troubled = voices.iter().filter(|voice| voice.trouble.is_some());
    let gravest = troubled.min_by_key(|voice| gravity(word(voice)));
    // One that was never asked speaks only where all are such.
    let asked = voices.iter().filter(|voice| word(voice) != State::Never).chain(gravest);
    let speaker = asked.min_by_key(|voice| gravity(word(voice))).or(voices.first());
    let state = speaker.map_or(own, word);
    let trouble = gravest.and_then(|voice| Some((voice.name, voice.trouble?)));
    let turns = if all_wait { Vec::new() } else { turns(voices, state) };
    Spoken { state, speaker: speaker.map(|voice| voice.name), trouble, turns }
}

/// Words only get graver with age: each that is graver than all before it, when the first voice comes to it.
fn turns(voices: &[Voice<'_>], now: State) -> Vec<(Span, State)> {
    let mut turns: Vec<(Span, State)> = voices.iter().flat_map(|voice| voice.turns.iter().copied()).collect();
    turns.sort_unstable();
    let mut word = now;
    turns.retain(|(_, next)| {
        let graver = gravity(*next) < gravity(word);
        word = if graver { *next } else { word };
        graver
    });
    turns
}

/// For the order of the words where one speaks for all. Asked and never answered is worse than an answer that is due to be renewed.
fn gravity(word: State) -> (State, bool) {
    if word == State::Never { (State::Ageing, false) } else { (word, true) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use State::{Ageing, Exhausted, Expired, Fresh, Held, Never, Stale};

    fn word(voices: &[(State, State)], own: State) -> State {
        let name = TargetName::from("t");
        let voice = |(word, apart): &(State, State)| Voice {
            name: &name,
            trouble: None,
            word: *word,
            apart: *apart,
            turns: Vec::new(),
        };
        spoken(&voices.iter().map(voice).collect::<Vec<_>>(), own).state
    }

    #[test]
    fn the_first_voice_that_comes_to_a_graver_word_turns_the_connection() {
        let name = TargetName::from("t");
        let s = Span::from_secs;
        let voice = |word, turns: &[(Span, State)]| Voice {
            name: &name,
            trouble: None,
            word,
            apart: word,
            turns: turns.to_vec(),
        };
        let (slow, quick) = ([(s(60), Ageing), (s(90), Stale)], [(s(10), Ageing), (s(70), Stale), (s(99), Expired)]);
        let turns = |word| spoken(&[voice(word, &slow), voice(Fresh, &quick)], Never).turns;
        assert_eq!(turns(Fresh), [(s(10), Ageing), (s(70), Stale), (s(99), Expired)]);
        assert_eq!(turns(Stale), [(s(99), Expired)]);
        assert_eq!(spoken(&[], Never).turns, []);
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
