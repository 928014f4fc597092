//! The phases of a target (F4, F5, F11): who is asked about, who speaks, and when a target leaves the active ones by itself. Pure; must
//! not know who asks.
//!
//! `pending` fills the cache only · `active` · `completed`: its condition holds; watched for the grace · `inactive`: nothing changed for
//! too long · `stopped` by somebody. What an operator says holds until something else is said: nothing leads back to `active` by itself.

use crate::domain::target::{Life, Phase};
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

/// F11: whether nothing changed for too long. Counted from the last change, or since somebody made it active after that; a target
/// that never answered has nothing that could have changed.
pub fn is_inactive(life: &Life, changed_at: Option<Stamp>, ttl: Option<Span>, now: &Now) -> bool {
    let (Phase::Active, Some(changed), Some(ttl)) = (life.phase, changed_at, ttl) else { return false };
    let quiet_since = life.since.filter(|since| since.steady > changed.steady).unwrap_or(changed);
    now.age_of(quiet_since) >= ttl
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

    #[test]
    fn quiet_is_counted_from_the_last_change_or_from_the_activation_after_it() {
        let ttl = Some(Span(48 * HOUR));
        let changed = |ms: u64| Some(at(ms).stamp());
        let always = Life::default();
        assert!(!is_inactive(&always, changed(0), ttl, &at(48 * HOUR - 1)));
        assert!(is_inactive(&always, changed(0), ttl, &at(48 * HOUR)));
        let later = life(Phase::Active, 10 * HOUR);
        assert!(!is_inactive(&later, changed(0), ttl, &at(58 * HOUR - 1)));
        assert!(is_inactive(&later, changed(0), ttl, &at(58 * HOUR)));
        assert!(!is_inactive(&later, changed(20 * HOUR), ttl, &at(58 * HOUR)));
        assert!(!is_inactive(&always, None, ttl, &at(u64::MAX / 2)), "never answered");
        assert!(!is_inactive(&always, changed(0), None, &at(u64::MAX / 2)), "no bound");
        for phase in Phase::ALL.into_iter().filter(|p| *p != Phase::Active) {
            assert!(!is_inactive(&life(phase, 0), changed(0), ttl, &at(99 * HOUR)), "{phase:?}");
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
