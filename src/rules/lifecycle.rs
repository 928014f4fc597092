//! The phases of a target (F4, F5, F11): who is asked about, who speaks, and when a target leaves the active ones by itself. Pure; must
//! not know who asks.
//!
//! `pending` fills the cache only · `active` · `completed`: its condition holds; watched for the grace · `inactive`: nothing changed for
//! too long · `stopped` by somebody. What an operator says holds until something else is said: nothing leads back to `active` by itself.

use crate::domain::outcome::Outcome;
use crate::domain::target::{Life, Phase, TargetState};
use crate::domain::time::{Now, Span, Stamp};

/// The appliance, where it changes a phase by itself.
pub const ITSELF: &str = "larder";

/// Whether the target is asked about. `grace`: how long after its completion; `None`: for ever.
pub fn is_watched(life: &Life, grace: Option<Span>, now: &Now) -> bool {
    match life.phase {
        Phase::Pending | Phase::Active => true,
        Phase::Completed => {
            let Some(grace) = grace else { return true };
            life.since.is_some_and(|since| now.steady.since(since.steady) < grace)
        }
        Phase::Inactive | Phase::Stopped => false,
    }
}

/// Whether its changes are told, and its condition asked: what a pending one says may look complete before anybody was sent (F4).
pub const fn speaks(phase: Phase) -> bool {
    matches!(phase, Phase::Active)
}

/// F11: whether nothing changed for too long. Counted from the last change, or since somebody made it active after that, to the last
/// word about it (`heard_at`): what nobody asked for days may have changed all the time. A target that never answered has nothing
/// that could have changed.
pub fn is_inactive(life: &Life, state: &TargetState, ttl: Option<Span>, now: &Now) -> bool {
    let (Phase::Active, Some(changed), Some(ttl)) = (life.phase, state.changed_at, ttl) else { return false };
    let quiet_since = life.since.filter(|since| since.steady > changed.steady).unwrap_or(changed);
    let Some(heard) = heard_at(state) else { return false };
    now.age_of(quiet_since).saturating_sub(now.age_of(heard)) >= ttl
}

/// When the provider last had a word about the target: its last good answer, or a later one that is none and speaks of it all the same
/// (it is gone, or has another shape). A refusal, an outage, a pause of the polling or a night without power say nothing.
fn heard_at(state: &TargetState) -> Option<Stamp> {
    let speaks = |outcome| {
        use Outcome::*;
        matches!(outcome, NotReady | Gone | Unexpected | TooLarge | Undecodable | RedirectRefused)
    };
    let answered = state.trouble.as_ref().filter(|trouble| speaks(trouble.outcome)).and(state.attempted_at);
    state.as_of.into_iter().chain(answered).max_by_key(|at| at.steady)
}

/// Whether it has to be asked at once: it became active, and nobody has asked since (F5). A restart in between changes nothing.
pub fn is_triggered(life: &Life, attempted_at: Option<Stamp>) -> bool {
    let asked_since = |activated: Stamp| attempted_at.is_some_and(|at| at.steady >= activated.steady);
    life.phase == Phase::Active && life.activated_at.is_some_and(|activated| !asked_since(activated))
}

/// Somebody, or the appliance with a reason, puts the target into a phase.
pub fn moved(life: &Life, to: Phase, (by, why): (&str, Option<String>), at: Stamp) -> Life {
    if life.phase == to {
        return life.clone();
    }
    let activated_at = if to == Phase::Active { Some(at) } else { life.activated_at };
    Life { phase: to, since: Some(at), by: Some(by.to_owned()), why, activated_at }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::target::Trouble;
    use crate::domain::time::{ClockTrust, Steady};
    use proptest::prelude::*;

    const HOUR: u64 = 3_600_000;

    fn at(ms: u64) -> Now {
        Now { steady: Steady(ms), era: 0, trust: ClockTrust::Trusted, offsets: vec![0] }
    }
    fn life(phase: Phase, since: u64) -> Life {
        moved(
            &Life { phase: if phase == Phase::Stopped { Phase::Active } else { Phase::Stopped }, ..Life::default() },
            phase,
            ("ann", None),
            at(since).stamp(),
        )
    }

    #[test]
    fn who_is_asked_about() {
        for (phase, in_grace, after) in [
            (Phase::Pending, true, true),
            (Phase::Active, true, true),
            (Phase::Completed, true, false),
            (Phase::Inactive, false, false),
            (Phase::Stopped, false, false),
        ] {
            let (life, grace) = (life(phase, 1000), Some(Span(HOUR)));
            let told = [1000, HOUR + 999, HOUR + 1000].map(|ms| is_watched(&life, grace, &at(ms)));
            assert_eq!(told, [in_grace, in_grace, after], "{phase:?}");
            assert_eq!(speaks(phase), phase == Phase::Active);
            assert_eq!(is_watched(&life, Some(Span::ZERO), &at(1000)), after, "without a grace: {phase:?}");
            let for_ever = phase == Phase::Completed || after;
            assert_eq!(is_watched(&life, None, &at(99 * HOUR)), for_ever, "for ever: {phase:?}");
        }
    }

    /// Unchanged since `changed`, and answered now.
    fn quiet(changed: Option<u64>, now: u64) -> TargetState {
        let stamp = |ms: u64| at(ms).stamp();
        TargetState { changed_at: changed.map(stamp), as_of: Some(stamp(now)), ..TargetState::default() }
    }

    #[test]
    fn quiet_is_counted_from_the_last_change_or_from_the_activation_after_it() {
        let ttl = Some(Span(48 * HOUR));
        let is_inactive = |life: &Life, changed: Option<u64>, ttl, now: u64| {
            super::is_inactive(life, &quiet(changed, now), ttl, &at(now))
        };
        let always = Life::default();
        assert!(!is_inactive(&always, Some(0), ttl, 48 * HOUR - 1));
        assert!(is_inactive(&always, Some(0), ttl, 48 * HOUR));
        let later = life(Phase::Active, 10 * HOUR);
        assert!(!is_inactive(&later, Some(0), ttl, 58 * HOUR - 1));
        assert!(is_inactive(&later, Some(0), ttl, 58 * HOUR));
        assert!(!is_inactive(&later, Some(20 * HOUR), ttl, 58 * HOUR));
        assert!(!is_inactive(&always, None, ttl, u64::MAX / 2), "never answered");
        assert!(!is_inactive(&always, Some(0), None, u64::MAX / 2), "no bound");
        for phase in Phase::ALL.into_iter().filter(|p| *p != Phase::Active) {
            assert!(!is_inactive(&life(phase, 0), Some(0), ttl, 99 * HOUR), "{phase:?}");
        }
    }

    #[test]
    fn what_nobody_could_see_is_not_quiet() {
        let ttl = Some(Span(48 * HOUR));
        let seen_for_an_hour = TargetState { attempted_at: Some(at(99 * HOUR).stamp()), ..quiet(Some(0), HOUR) };
        let troubled = |outcome| {
            let trouble = Trouble { since: at(HOUR).stamp(), outcome, reason: String::new(), said: None, failures: 9 };
            TargetState { trouble: Some(trouble), ..seen_for_an_hour.clone() }
        };
        let is_inactive = |state: &TargetState| super::is_inactive(&Life::default(), state, ttl, &at(99 * HOUR));
        assert!(!is_inactive(&seen_for_an_hour), "paused, or without power");
        for (outcome, says) in [
            (Outcome::Unreachable, false),
            (Outcome::TimedOut, false),
            (Outcome::Limited, false),
            (Outcome::Overloaded, false),
            (Outcome::CredentialRejected, false),
            (Outcome::Gone, true),
            (Outcome::Unexpected, true),
        ] {
            assert_eq!(is_inactive(&troubled(outcome)), says, "{outcome:?}");
        }
    }

    proptest! {
        /// F5: however often somebody says the same, and whatever phases come between: a target is asked at once exactly until
        /// somebody has asked after its last becoming active.
        #[test]
        fn an_activation_is_asked_once(steps in proptest::collection::vec((0usize..6, 1u64..50), 1..40)) {
            let (mut life, mut attempted, mut moment, mut owed) = (Life::default(), None, 0, false);
            for (step, later) in steps {
                moment += later;
                match Phase::ALL.get(step) {
                    Some(phase) => {
                        owed = *phase == Phase::Active && (owed || life.phase != Phase::Active);
                        life = moved(&life, *phase, ("ann", None), at(moment).stamp());
                    }
                    None => {
                        attempted = Some(at(moment).stamp());
                        owed = false;
                    }
                }
                prop_assert_eq!(is_triggered(&life, attempted), owed);
            }
        }
    }
}
