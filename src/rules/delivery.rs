//! Deliveries of webhooks: what an answer means, when the next attempt is due, when an event is given up. Must not know how anything is
//! sent. Order is kept: while an event waits for its next attempt, those behind it wait too, and none is ever skipped unseen.

use crate::domain::ids::EventId;
use crate::domain::state::State;
use crate::domain::time::{Now, Span, Stamp};
use crate::domain::webhook::WebhookState;

/// An event that is this old when an attempt fails is given up.
pub const GIVE_UP_AFTER: Span = Span::from_secs(24 * 3600);
const FIRST_PAUSE: Span = Span::from_secs(5);
const LONGEST_PAUSE: Span = Span::from_secs(3600);
/// What says that this very message will never be taken, however often it is sent. It must not hold up those behind it.
const HOPELESS: [u16; 8] = [400, 406, 410, 411, 413, 415, 422, 431];

/// What came back from a receiver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Heard {
    Status {
        status: u16,
        /// `Retry-After`, as far as it is credible.
        retry_after: Option<Span>,
    },
    /// No answer, in words.
    Nothing(String),
}

impl Heard {
    pub fn is_taken(&self) -> bool {
        matches!(self, Heard::Status { status: 200..=299, .. })
    }

    /// Why it was not taken.
    pub fn reason(&self) -> String {
        match self {
            Heard::Status { status, .. } => format!("the receiver answered {status}"),
            Heard::Nothing(why) => why.clone(),
        }
    }
}

/// What becomes of the event that was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    Delivered,
    /// It is sent again, not before this.
    Again(Stamp),
    /// It becomes a dead letter; the next event is not sent before this.
    GivenUp(Stamp),
}

/// What becomes of a turn of a state that waits to be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settling {
    Told,
    /// It is not known before this has passed.
    In(Span),
    /// It was over before it had lasted: nobody is told.
    Passed,
    /// With it all is as it was before some turns that nobody was told of: nor of this one.
    Back,
}

impl Settling {
    /// How it stood before the turns that nobody was told of so far, for the next look: at this turn again, where it is not known yet, or at
    /// the one after it.
    pub fn remembers(self, before: State) -> Option<State> {
        match self {
            Settling::In(_) | Settling::Passed => Some(before),
            Settling::Told | Settling::Back => None,
        }
    }
}

/// `before`: how it stood before this turn and those that passed before it; `is`: what it turned into, `age` ago; `next`: how long ago it turned
/// again. A turn is told once it has lasted for `settle`.
pub fn settling(before: State, is: State, age: Span, next: Option<Span>, settle: Span) -> Settling {
    let lasted = Span(age.0.saturating_sub(next.unwrap_or(Span::ZERO).0));
    match next {
        _ if settle == Span::ZERO => Settling::Told,
        Some(_) if lasted < settle => Settling::Passed,
        None if lasted < settle => Settling::In(Span(settle.0 - lasted.0)),
        _ if !before.is_left_for(is) => Settling::Back,
        _ => Settling::Told,
    }
}

/// What left the log unseen is behind the webhook: counted once, however often the event after it has to be sent.
pub fn skipped(state: WebhookState, missed: u64) -> WebhookState {
    let done = EventId(state.done.0.saturating_add(missed));
    WebhookState { done, missed: state.missed.saturating_add(missed), ..state }
}

/// `happened`: the moment of the event. `draw`: 0 to 1, spreads receivers that failed together.
pub fn next(state: &WebhookState, happened: Stamp, heard: &Heard, now: &Now, draw: f64) -> Next {
    if heard.is_taken() {
        return Next::Delivered;
    }
    let (hopeless, told) = match heard {
        Heard::Status { status, retry_after } => (HOPELESS.contains(status), retry_after.unwrap_or(Span::ZERO)),
        Heard::Nothing(_) => (false, Span::ZERO),
    };
    if hopeless {
        // The receiver is there and reads: nothing keeps the next one waiting.
        return Next::GivenUp(now.stamp());
    }
    let at = now.stamp() + pause(state.failures.saturating_add(1), draw).max(told.min(GIVE_UP_AFTER));
    if now.age_of(happened) >= GIVE_UP_AFTER { Next::GivenUp(at) } else { Next::Again(at) }
}

/// Doubles with each failure in a row, up to an hour; spread over a quarter of itself. Never shorter than 5 s.
pub fn pause(failures: u32, draw: f64) -> Span {
    let doublings = failures.saturating_sub(1).min(16);
    let whole = FIRST_PAUSE.as_millis().saturating_mul(1 << doublings).min(LONGEST_PAUSE.as_millis());
    Span(whole + (whole as f64 / 4.0 * draw.clamp(0.0, 1.0)) as u64)
}

/// The state after an attempt, but for `done`: that it is behind the event is the caller's to write.
pub fn after(state: &WebhookState, heard: &Heard, next: &Next, now: &Now) -> WebhookState {
    use crate::domain::webhook::DeliveryTrouble;
    let at = match next {
        Next::Delivered => {
            let delivered = state.delivered.saturating_add(1);
            return WebhookState { failures: 0, not_before: None, trouble: None, delivered, ..state.clone() };
        }
        Next::Again(at) | Next::GivenUp(at) => *at,
    };
    let since = state.trouble.as_ref().map_or(now.stamp(), |trouble| trouble.since);
    WebhookState {
        failures: state.failures.saturating_add(1),
        not_before: Some(at),
        trouble: Some(DeliveryTrouble { since, reason: heard.reason() }),
        ..state.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::time::{ClockTrust, Steady};
    use proptest::prelude::*;

    fn at(s: u64) -> Now {
        Now { steady: Steady(s * 1000), era: 1, trust: ClockTrust::Trusted, offsets: vec![1_700_000_000_000] }
    }
    fn status(status: u16) -> Heard {
        Heard::Status { status, retry_after: None }
    }
    /// Looked at as often as an appliance does: also while it is not known yet what becomes of a turn.
    #[test]
    fn a_flicker_that_is_watched_meanwhile_is_told_to_nobody() {
        let (settle, mut run) = (Span::from_secs(30), None);
        let mut look = |(was, is): (State, State), age, next: Option<u64>| {
            let before = run.unwrap_or(was);
            let settling = settling(before, is, Span::from_secs(age), next.map(Span::from_secs), settle);
            run = settling.remembers(before);
            settling
        };
        let (away, back) = ((State::Fresh, State::Held), (State::Held, State::Fresh));
        assert_eq!(look(away, 0, None), Settling::In(settle));
        assert_eq!(look(away, 10, Some(0)), Settling::Passed);
        assert_eq!(look(back, 0, None), Settling::In(settle));
        assert_eq!(look(back, 20, None), Settling::In(Span::from_secs(10)));
        assert_eq!(look(back, 30, None), Settling::Back);
        assert_eq!(look(away, 30, None), Settling::Told, "one that lasts is told");
    }

    fn failed(times: u32) -> WebhookState {
        WebhookState { failures: times, ..WebhookState::default() }
    }

    #[test]
    fn what_an_answer_makes_of_an_event() {
        let (young, old) = (at(99_990).stamp(), at(100).stamp());
        let now = at(100_000);
        let later = |span: u64| now.stamp() + Span::from_secs(span);
        let told = |s| Heard::Status { status: 503, retry_after: Some(Span::from_secs(s)) };
        let nothing = Heard::Nothing("nobody listens there".to_owned());
        for (what, state, happened, heard, expected) in [
            ("taken", failed(9), old, status(204), Next::Delivered),
            ("the first failure", failed(0), young, status(500), Next::Again(later(5))),
            ("the second", failed(1), young, nothing.clone(), Next::Again(later(10))),
            ("many", failed(40), young, status(404), Next::Again(later(3600))),
            ("told to wait longer", failed(0), young, told(600), Next::Again(later(600))),
            ("told to wait shorter", failed(3), young, told(1), Next::Again(later(40))),
            ("told to wait absurdly long", failed(0), young, told(u64::MAX / 1000), Next::Again(later(86_400))),
            ("of no use to anybody", failed(0), young, status(422), Next::GivenUp(now.stamp())),
            ("a day old", failed(3), old, nothing, Next::GivenUp(later(40))),
            ("a redirect is no receipt", failed(0), young, status(301), Next::Again(later(5))),
        ] {
            assert_eq!(next(&state, happened, &heard, &now, 0.0), expected, "{what}");
        }
    }

    /// However often the event behind the gap has to be sent, the gap is counted once.
    #[test]
    fn what_left_the_log_unseen_is_counted_once() {
        let behind = WebhookState { done: EventId(10), ..WebhookState::default() };
        let (mut state, first_kept) = (behind, 50);
        for _ in 0..3 {
            let missed = first_kept - state.done.0 - 1;
            let skipped = skipped(state, missed);
            state = after(&skipped, &status(500), &Next::Again(at(20).stamp()), &at(10));
        }
        assert_eq!((state.missed, state.done, state.failures), (39, EventId(49), 3));
    }

    #[test]
    fn a_receipt_ends_the_trouble_and_a_failure_keeps_its_beginning() {
        let again = Next::Again(at(20).stamp());
        let once = after(&failed(0), &status(500), &again, &at(10));
        let twice = after(&once, &Heard::Nothing("silence".to_owned()), &again, &at(15));
        let trouble = twice.trouble.clone().expect("it goes on");
        assert_eq!((twice.failures, trouble.since, trouble.reason.as_str()), (2, at(10).stamp(), "silence"));
        let over = after(&twice, &status(200), &Next::Delivered, &at(30));
        assert_eq!((over.failures, over.not_before, &over.trouble, over.delivered), (0, None, &None, 1));
    }

    #[test]
    fn what_flickers_is_one_message_or_none() {
        use State::{Fresh, Held, Stale};
        let s = Span::from_secs;
        for (what, before, is, age, next, expected) in [
            ("it lasts", Fresh, Held, 30, None, Settling::Told),
            ("it may not last", Fresh, Held, 10, None, Settling::In(s(20))),
            ("it did not last", Fresh, Held, 40, Some(20), Settling::Passed),
            ("it lasted before it turned again", Fresh, Held, 90, Some(50), Settling::Told),
            ("it is as it was", Fresh, Fresh, 31, None, Settling::Back),
            ("another way than it went", Fresh, Stale, 31, None, Settling::Told),
        ] {
            assert_eq!(settling(before, is, s(age), next.map(s), s(30)), expected, "{what}");
        }
        assert_eq!(
            settling(Fresh, Held, Span::ZERO, Some(Span::ZERO), Span::ZERO),
            Settling::Told,
            "nobody asked for it"
        );
    }

    proptest! {
        /// However a state flickers: who is told of its turns is never told the same twice in a row, and knows in the end how it stands.
        #[test]
        fn who_is_told_of_turns_knows_how_it_stands(turns in proptest::collection::vec((0usize..11, 1u64..90), 1..30)) {
            let settle = Span::from_secs(30);
            let (mut stands, mut told, mut run, mut at) = (State::Fresh, State::Fresh, None, 0);
            let mut all = Vec::new();
            for (n, lasts) in turns {
                let is = State::ALL[n];
                if stands.is_left_for(is) {
                    all.push((stands, is, at));
                    stands = is;
                }
                at += lasts;
            }
            let now = at + 100;
            for (i, (was, is, since)) in all.iter().enumerate() {
                let next = all.get(i + 1).map(|(.., then)| Span::from_secs(now - then));
                let before = *run.get_or_insert(*was);
                match settling(before, *is, Span::from_secs(now - since), next, settle) {
                    Settling::Told => {
                        prop_assert!(told.is_left_for(*is), "told twice: {is}");
                        (told, run) = (*is, None);
                    }
                    Settling::Back => run = None,
                    Settling::Passed => {}
                    Settling::In(_) => prop_assert!(false, "all of it is over"),
                }
            }
            prop_assert!(!told.is_left_for(stands), "told {told}, stands {stands}");
        }

        /// Law 8: more failures never bring an attempt nearer, and none is nearer than the shortest pause.
        #[test]
        fn backoff_only_slows(failures in 0u32..200, draw in 0.0f64..=1.0) {
            prop_assert!(pause(failures + 1, 0.0) >= pause(failures, 0.0));
            prop_assert!(pause(failures, draw) >= FIRST_PAUSE);
            prop_assert!(pause(failures, draw).as_millis() <= LONGEST_PAUSE.as_millis() * 5 / 4);
        }

        /// Every event ends as delivered or given up, whatever a receiver says for ever.
        #[test]
        fn no_event_waits_for_ever(codes in proptest::collection::vec(300u16..600, 1..5)) {
            let (mut now, mut state) = (at(0), WebhookState::default());
            let happened = now.stamp();
            for code in codes.into_iter().cycle().take(400) {
                match next(&state, happened, &status(code), &now, 0.0) {
                    Next::Again(due) => {
                        state = after(&state, &status(code), &Next::Again(due), &now);
                        now.steady = due.steady;
                    }
                    _ => return Ok(()),
                }
            }
            prop_assert!(false, "still waiting at {:?}", now.steady);
        }
    }
}
