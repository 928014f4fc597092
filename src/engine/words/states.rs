//! A state in words, part by part: what happened, when it changes, what works meanwhile. Must not know how a state is found.

use super::{Said, Standing, Telling, clock_time, moment, no_answer_yet, renewed_since, time_ahead, when};
use crate::domain::state::State;
use crate::domain::time::{Now, Span, Stamp, Wall};
use crate::engine::fetch::circuit::ailing;

/// What happened, and when it changes. Together they are one sentence, or two.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parts {
    pub what: String,
    /// Empty where nothing is known.
    pub change: String,
}

impl Parts {
    pub fn new(what: impl Into<String>, change: impl Into<String>) -> Parts {
        Parts { what: what.into(), change: change.into() }
    }

    pub fn sentence(&self) -> String {
        match self.change.chars().next() {
            None => super::ended(&self.what),
            Some(first) if first.is_lowercase() => format!("{}; {}", self.what.trim_end_matches('.'), self.change),
            Some(_) => format!("{} {}", super::ended(&self.what), self.change),
        }
    }

    /// Each by itself, as whole sentences.
    pub fn apart(&self) -> (String, String) {
        let mut letters = self.change.chars();
        let first = letters.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
        (super::ended(&self.what), format!("{first}{}", letters.as_str()))
    }
}

pub fn parts(s: &Standing, now: &Now, telling: Telling) -> Parts {
    let next = s.next_poll.map_or_else(|| "when polling is on".to_owned(), |at| when(at, now, telling));
    let trouble =
        s.trouble.map(|(target, t)| format!("{target} is not {}", renewed_since(t, now, Said::Quoted, telling)));
    let failing = trouble.as_ref().map(|t| format!(" {t}")).unwrap_or_default();
    let next_poll = format!("Next poll {next}.");
    match s.state {
        State::ClockUntrusted => Parts::new(
            format!(
                "This machine's clock says {}, which is behind the newest entry of the file.",
                clock_time(now.wall(), Wall(i64::MIN))
            ),
            "Set the clock; until then ages from before the restart may be greater than shown. The limits are kept under either clock.",
        ),
        State::Disabled => switched_off(s, now, telling),
        State::CredentialRejected | State::Held => held(s, now, telling).unwrap_or_else(|| Parts::new("Held.", "")),
        State::Exhausted => match (held(s, now, telling), s.next_free) {
            (Some(held), _) => held,
            (None, Some(at)) => {
                Parts::new("The budget is used up.", format!("New values from {}.", time_ahead(at, now, telling)))
            }
            (None, None) => Parts::new("The budget leaves the poller nothing.", ""),
        },
        State::BreakerOpen => {
            let again = s.breaker_until.map_or_else(|| "once it is due,".to_owned(), |at| when(at, now, telling));
            Parts::new(
                format!("{}.{failing}", ailing(s.conn, s.recent)),
                format!("Tried again {again} with one request."),
            )
        }
        State::Expired => Parts::new(format!("The values are too old to use.{failing}"), next_poll),
        State::Stale => Parts::new(format!("The values are older than they should be.{failing}"), next_poll),
        State::Ageing => {
            Parts::new(trouble.unwrap_or_else(|| "The values are due to be renewed.".to_owned()), next_poll)
        }
        State::Fresh => Parts::new("Everything is as it should be.", next_poll),
        State::Never => match s.trouble {
            Some((target, t)) => Parts::new(format!("{target}: {}", no_answer_yet(t, Said::Quoted)), next_poll),
            None => Parts::new("Not polled yet.", format!("First request {next}.")),
        },
    }
}

fn held(s: &Standing, now: &Now, telling: Telling) -> Option<Parts> {
    Some(super::holds::parts(s.conn, s.hold?, now, telling))
}

fn switched_off(s: &Standing, now: &Now, telling: Telling) -> Parts {
    match (&s.all_off, &s.disabled_by) {
        (Some(Some((by, at))), _) => Parts::new(
            format!("Polling of the whole appliance was switched off by {by} at {}", moment(*at, now, telling)),
            "only what people ask for is requested.",
        ),
        (Some(None), _) => Parts::new(
            "Polling of the whole appliance is switched off in the configuration",
            "only what people ask for is requested.",
        ),
        (None, Some((by, at))) => {
            Parts::new(format!("Paused by {by} at {}", moment(*at, now, telling)), "nothing is requested.")
        }
        (None, None) => Parts::new("Polling is switched off in the configuration", "nothing is requested."),
    }
}

/// What still works. `as_of`: the arrival of the answer that is shown; `None`: there is none. `expired`: it is too old, by this bound.
pub fn works(state: State, as_of: Option<Stamp>, expired: Option<Span>, now: &Now, telling: Telling) -> String {
    let values = match (as_of, expired) {
        (None, _) => "There is nothing on the shelf yet.".to_owned(),
        (Some(_), Some(bound)) => format!("No value is shown: the last one is older than {}.", bound.exact()),
        (Some(as_of), None) => {
            format!("The values of {} are shown, with their age.", moment(as_of.wall, now, telling))
        }
    };
    match state {
        State::CredentialRejected | State::Held | State::BreakerOpen => {
            format!("{values} Nothing is requested meanwhile, so no quota is lost.")
        }
        _ => values,
    }
}

/// `held; it was fresh since 09:12 CET`: kept, so with instants alone.
pub fn turned(was: State, since: Stamp, is: State, now: &Now) -> String {
    let word = |state: State| state.word().replace('_', " ");
    format!("{}; it was {} since {}", word(is), word(was), clock_time(since.wall, now.wall()))
}

/// From which state into which: what [`turned`] said of it. `None` for any other text.
pub fn turned_between(said: &str) -> Option<(State, State)> {
    let (is, rest) = said.split_once("; it was ")?;
    let (was, _) = rest.split_once(" since ")?;
    let state = |words: &str| State::ALL.into_iter().find(|state| state.word().replace('_', " ") == words);
    state(was).zip(state(is))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::time::{ClockTrust, Steady};

    #[test]
    fn parts_are_one_sentence_together_and_each_one_by_itself() {
        for (what, change, sentence, apart) in [
            ("Paused by ann", "nothing is requested.", "Paused by ann; nothing is requested.", "Nothing is requested."),
            ("Not polled yet.", "First request now.", "Not polled yet. First request now.", "First request now."),
            ("Held", "", "Held.", ""),
        ] {
            let parts = Parts::new(what, change);
            assert_eq!((parts.sentence(), parts.apart().1), (sentence.to_owned(), apart.to_owned()));
            assert!(parts.apart().0.ends_with('.'));
        }
    }

    #[test]
    fn a_turn_says_from_where_to_where() {
        let now = Now { steady: Steady(60_000), era: 1, trust: ClockTrust::Trusted, offsets: vec![1_796_007_373_000] };
        for (was, is) in State::ALL.into_iter().flat_map(|was| State::ALL.map(|is| (was, is))) {
            assert_eq!(turned_between(&turned(was, now.stamp(), is, &now)), Some((was, is)));
        }
        assert_eq!(turned_between("held; it was late since noon"), None);
    }

    #[test]
    fn what_is_too_old_is_never_said_to_be_shown() {
        let now = Now { steady: Steady(60_000), era: 1, trust: ClockTrust::Trusted, offsets: vec![1_796_007_373_000] };
        for state in State::ALL {
            let expired = works(state, Some(now.stamp()), Some(Span::from_secs(86_400)), &now, Telling::Kept);
            assert!(expired.starts_with("No value is shown: the last one is older than 1 d."), "{expired}");
            assert!(works(state, None, None, &now, Telling::Kept).starts_with("There is nothing on the shelf yet."));
            assert!(works(state, Some(now.stamp()), None, &now, Telling::Kept).contains("are shown, with their age."));
        }
    }
}
