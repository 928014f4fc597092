//! How old, and what to call it. One function and one precedence, so that no two surfaces can name the same answer
//! differently (A28). Must not know where the facts come from, nor a clock: an age is an argument.

use crate::domain::connection::HoldReason;
use crate::domain::state::State;
use crate::domain::time::Span;

/// Everything that decides the word, each already reduced to a fact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    pub clock_untrusted: bool,
    pub enabled: bool,
    /// Of the whole credential.
    pub hold: Option<HoldReason>,
    /// The target's endpoint is held by itself, for whatever reason: the credential is not in doubt for that.
    pub endpoint_held: bool,
    /// The budget has nothing left for the poller before the next poll after the one that is due.
    pub exhausted: bool,
    pub breaker_open: bool,
    /// Of the last good answer, since it arrived; `None`: never answered.
    pub age: Option<Span>,
    /// Of what it says, where the provider dates it (A27).
    pub reading_age: Option<Span>,
    /// The last attempt brought no good answer, or its answer could not be written: it is due to be renewed, however young.
    pub failing: bool,
    /// As planned. A backoff makes polls rarer and no answer fresh for longer.
    pub interval: Span,
    pub fresh_for: Span,
    pub expires_after: Option<Span>,
}

impl Facts {
    /// The age that counts: see [`counted_age`].
    pub fn counted_age(&self) -> Option<Span> {
        counted_age(self.age, self.reading_age)
    }

    /// The same, so much later, if nothing happens.
    fn after(&self, passed: Span) -> Facts {
        let older = |age: Span| Span(age.0.saturating_add(passed.0));
        Facts { age: self.age.map(older), reading_age: self.reading_age.map(older), ..*self }
    }
}

/// The age that counts: that of what the answer says, where the provider dates it, and never younger than the answer's. `None`: never answered.
pub fn counted_age(answered: Option<Span>, reading: Option<Span>) -> Option<Span> {
    answered.map(|age| age.max(reading.unwrap_or_default()))
}

/// The first that is true, in the order of [`State::ALL`].
///
/// What keeps the answer from being renewed comes before how old it is: somebody who reads `held` still sees the age beside it.
pub fn state(facts: &Facts) -> State {
    obstacle(facts).unwrap_or_else(|| by_age(facts))
}

/// Why nobody asks the provider, if nobody does.
fn obstacle(facts: &Facts) -> Option<State> {
    if facts.clock_untrusted {
        return Some(State::ClockUntrusted);
    }
    if !facts.enabled {
        return Some(State::Disabled);
    }
    match facts.hold {
        Some(HoldReason::CredentialRejected) => return Some(State::CredentialRejected),
        // Out of money is an exhausted budget that time alone does not refill; the sentence beside the word says which.
        Some(HoldReason::Exhausted | HoldReason::Unpaid) => return Some(State::Exhausted),
        _ if facts.exhausted => return Some(State::Exhausted),
        Some(HoldReason::RateLimited | HoldReason::Overloaded | HoldReason::Gone) => return Some(State::Held),
        None if facts.endpoint_held => return Some(State::Held),
        None => {}
    }
    facts.breaker_open.then_some(State::BreakerOpen)
}

/// The age alone. Every bound is inclusive: exactly `fresh_for` old is still fresh.
fn by_age(facts: &Facts) -> State {
    let (Some(answered), Some(age)) = (facts.age, facts.counted_age()) else { return State::Never };
    if is_expired(facts) {
        return State::Expired;
    }
    if age > facts.fresh_for {
        return State::Stale;
    }
    // When to ask again goes by when it was asked, however old the provider's news is.
    if facts.failing || answered > due_age(facts.interval) { State::Ageing } else { State::Fresh }
}

/// Whether the last good answer is older than it may be used, whatever keeps it from being renewed: then it is shown as unavailable.
pub fn is_expired(facts: &Facts) -> bool {
    is_beyond(facts.expires_after, facts.counted_age())
}

/// The same of an age that counts, where nothing else is to be known.
pub fn is_beyond(expires_after: Option<Span>, age: Option<Span>) -> bool {
    expires_after.zip(age).is_some_and(|(bound, age)| age > bound)
}

/// What the word becomes by age alone if nothing is answered, and in how long, in the order of time. Empty where something else
/// decides the word: an obstacle, or that there is no answer.
pub fn turns(facts: &Facts) -> Vec<(Span, State)> {
    let (None, Some(answered), Some(age)) = (obstacle(facts), facts.age, facts.counted_age()) else {
        return Vec::new();
    };
    let beyond = |bound: Span, age: Span| (age <= bound).then(|| Span((bound.0 - age.0).saturating_add(1)));
    let mut moments: Vec<Span> = [
        beyond(due_age(facts.interval), answered),
        beyond(facts.fresh_for, age),
        facts.expires_after.and_then(|bound| beyond(bound, age)),
    ]
    .into_iter()
    .flatten()
    .collect();
    moments.sort_unstable();
    let mut word = by_age(facts);
    let turn = |at: Span| {
        let next = by_age(&facts.after(at));
        let turned = next != word;
        word = next;
        turned.then_some((at, next))
    };
    moments.into_iter().filter_map(turn).collect()
}

/// The age at which a renewal is overdue: the interval and a grace for the request itself, a tenth of it but at least 2 s.
fn due_age(interval: Span) -> Span {
    let grace = (interval.as_millis() / 10).max(2_000);
    Span(interval.as_millis().saturating_add(grace))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOLDS: [Option<HoldReason>; 7] = [
        None,
        Some(HoldReason::RateLimited),
        Some(HoldReason::Exhausted),
        Some(HoldReason::CredentialRejected),
        Some(HoldReason::Overloaded),
        Some(HoldReason::Gone),
        Some(HoldReason::Unpaid),
    ];

    /// Interval 75 s (due at 82.5 s), fresh for 90 s, expired after 600 s.
    fn facts() -> Facts {
        Facts {
            clock_untrusted: false,
            enabled: true,
            hold: None,
            endpoint_held: false,
            exhausted: false,
            breaker_open: false,
            age: Some(Span::from_secs(10)),
            reading_age: None,
            failing: false,
            interval: Span::from_secs(75),
            fresh_for: Span::from_secs(90),
            expires_after: Some(Span::from_secs(600)),
        }
    }

    /// The words that are true of the facts, told apart from each other and without any precedence.
    fn all_that_are_true(f: &Facts) -> Vec<State> {
        let age = f.age.map(Span::as_millis);
        let truth = |s: State| match s {
            State::ClockUntrusted => f.clock_untrusted,
            State::Disabled => !f.enabled,
            State::CredentialRejected => f.hold == Some(HoldReason::CredentialRejected),
            State::Exhausted => f.exhausted || matches!(f.hold, Some(HoldReason::Exhausted | HoldReason::Unpaid)),
            State::Held => f.hold.is_some() || f.endpoint_held,
            State::BreakerOpen => f.breaker_open,
            State::Expired => age.is_some_and(|a| a > 600_000) && f.expires_after.is_some(),
            State::Stale => age.is_some_and(|a| a > 90_000),
            State::Ageing => age.is_some_and(|a| a > 82_500 || f.failing),
            State::Fresh => age.is_some(),
            State::Never => true,
        };
        State::ALL.into_iter().filter(|s| truth(*s)).collect()
    }

    #[test]
    fn the_first_true_word_wins_over_every_combination_of_facts() {
        let ages = [None, Some(10_000), Some(82_501), Some(90_001), Some(600_001)];
        let mut met = std::collections::BTreeSet::new();
        for bits in 0..128u32 {
            for hold in HOLDS {
                for age in ages {
                    let bit = |n: u32| bits & (1 << n) != 0;
                    let f = Facts {
                        clock_untrusted: bit(0),
                        enabled: bit(1),
                        hold,
                        exhausted: bit(2),
                        breaker_open: bit(3),
                        age: age.map(Span),
                        expires_after: bit(4).then_some(Span::from_secs(600)),
                        endpoint_held: bit(5),
                        failing: bit(6),
                        ..facts()
                    };
                    assert_eq!(Some(&state(&f)), all_that_are_true(&f).first(), "{f:?}");
                    met.insert(state(&f));
                }
            }
        }
        assert_eq!(met.len(), State::ALL.len(), "every word can be met");
    }

    #[test]
    fn the_bounds_of_age_are_inclusive() {
        let table = [
            (0, State::Fresh),
            (82_500, State::Fresh),
            (82_501, State::Ageing),
            (90_000, State::Ageing),
            (90_001, State::Stale),
            (600_000, State::Stale),
            (600_001, State::Expired),
        ];
        for (ms, word) in table {
            assert_eq!(state(&Facts { age: Some(Span(ms)), ..facts() }), word, "{ms} ms");
        }
    }

    #[test]
    fn a_reading_is_as_old_as_the_provider_says_and_never_younger_than_its_answer() {
        let aged = |reading| Facts { reading_age: Some(Span::from_secs(reading)), ..facts() };
        for (reading, counted, word) in [
            (0, 10, State::Fresh),
            (85, 85, State::Fresh),
            (90, 90, State::Fresh),
            (91, 91, State::Stale),
            (601, 601, State::Expired),
        ] {
            assert_eq!(aged(reading).counted_age(), Some(Span::from_secs(counted)));
            assert_eq!(state(&aged(reading)), word, "{reading} s");
        }
        let never = Facts { age: None, ..aged(5) };
        assert_eq!((never.counted_age(), state(&never)), (None, State::Never));
    }

    #[test]
    fn what_could_not_be_renewed_is_due_and_gets_no_older_for_that() {
        let failing = Facts { failing: true, ..facts() };
        let at = |ms| state(&Facts { age: Some(Span(ms)), ..failing });
        assert_eq!([at(0), at(90_000), at(90_001)], [State::Ageing, State::Ageing, State::Stale]);
    }

    #[test]
    fn a_short_interval_has_two_seconds_of_grace() {
        let f = Facts { interval: Span::from_secs(5), fresh_for: Span::from_secs(60), ..facts() };
        assert_eq!(state(&Facts { age: Some(Span(7_000)), ..f }), State::Fresh);
        assert_eq!(state(&Facts { age: Some(Span(7_001)), ..f }), State::Ageing);
    }

    #[test]
    fn nothing_ages_where_freshness_ends_before_the_next_poll() {
        let f = Facts { fresh_for: Span::from_secs(80), ..facts() };
        for ms in (0..200_000).step_by(500) {
            let word = state(&Facts { age: Some(Span(ms)), ..f });
            assert_eq!(word, if ms <= 80_000 { State::Fresh } else { State::Stale }, "{ms} ms");
        }
    }

    /// Every half second of a quarter of an hour, over combinations of ages, bounds and failures.
    #[test]
    fn the_turns_say_every_later_word_and_when() {
        let bounds = [(75, 90, None), (75, 90, Some(600)), (600, 80, Some(90)), (75, 90, Some(90)), (5, 700, None)];
        for ((interval, fresh, expires), failing) in bounds.into_iter().flat_map(|b| [(b, false), (b, true)]) {
            for (age, reading) in [(0, None), (10, Some(85)), (89, None), (90, Some(91)), (400, None), (601, None)] {
                let now = Facts {
                    age: Some(Span::from_secs(age)),
                    reading_age: reading.map(Span::from_secs),
                    failing,
                    interval: Span::from_secs(interval),
                    fresh_for: Span::from_secs(fresh),
                    expires_after: expires.map(Span::from_secs),
                    ..facts()
                };
                let turns = turns(&now);
                for ms in (0..900_000).step_by(500).flat_map(|ms| [ms, ms + 1]) {
                    let told = turns.iter().rev().find(|(at, _)| at.0 <= ms).map_or(state(&now), |(_, word)| *word);
                    assert_eq!(told, state(&now.after(Span(ms))), "{ms} ms after {now:?}: {turns:?}");
                }
            }
        }
        for still in [Facts { hold: Some(HoldReason::RateLimited), ..facts() }, Facts { age: None, ..facts() }] {
            assert_eq!(turns(&still), [], "no age decides there");
        }
    }

    #[test]
    fn what_is_too_old_is_expired_behind_every_obstacle() {
        let old = Facts { age: Some(Span(600_001)), ..facts() };
        for facts in [
            old,
            Facts { enabled: false, ..old },
            Facts { hold: Some(HoldReason::RateLimited), ..old },
            Facts { age: Some(Span(0)), reading_age: old.age, ..facts() },
        ] {
            assert!(is_expired(&facts), "{facts:?}");
        }
        for young in [facts(), Facts { age: Some(Span(600_000)), ..facts() }, Facts { expires_after: None, ..old }] {
            assert!(!is_expired(&young), "{young:?}");
        }
        assert!(!is_expired(&Facts { age: None, ..facts() }), "never answered is another word");
    }

    #[test]
    fn an_absurd_interval_does_not_overflow() {
        let f = Facts { interval: Span(u64::MAX), fresh_for: Span(u64::MAX), ..facts() };
        assert_eq!(state(&Facts { age: Some(Span(u64::MAX)), expires_after: None, ..f }), State::Fresh);
    }
}
