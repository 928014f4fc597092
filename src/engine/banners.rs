//! From a state to its parts: what happened, since when, what still works, when it changes, what to do and what that costs. Must not know
//! which surface shows them.

use super::core::Conn;
use super::scans::show;
use super::snapshot::{Snapshot, Watched};
use super::targets::Target;
use super::view::{ActionKind, ActionView, BannerView, Sentence, StaleView, When};
use super::voices::Spoken;
use super::words::{self, Parts, Said, Standing, Telling};
use crate::domain::connection::HoldReason;
use crate::domain::state::State;
use crate::domain::target::TargetState;
use crate::domain::time::{Now, Stamp};
use crate::rules::freshness;

/// `stood`: since when it is seen to be in its state.
pub fn of_connection(
    conn: &Conn,
    (s, standing): (&Snapshot, &Standing<'_>),
    (watched, spoken): (&[Watched], &Spoken<'_>),
    stood: Option<Stamp>,
) -> BannerView {
    let (what, change) = words::parts(standing, &s.now, Telling::Apart).apart();
    // Of several answers the oldest that may be used: what is said of it is true of all.
    let answered = watched.iter().filter_map(|w| w.state.as_of.map(|as_of| (as_of, w)));
    let oldest = answered.max_by_key(|(as_of, w)| (!freshness::is_expired(&w.facts), s.now.age_of(*as_of)));
    let expired = oldest.and_then(|(_, w)| w.facts.expires_after.filter(|_| freshness::is_expired(&w.facts)));
    let speaker = watched.iter().find(|w| Some(&w.target.key.target) == spoken.speaker).map(|w| w.target.as_ref());
    BannerView {
        what: std::iter::once(what)
            .chain(words::beside(standing, &s.now, Telling::Apart))
            .collect::<Vec<_>>()
            .join(" ")
            .into(),
        since: cause(standing).or(stood.map(|since| When(since.wall))),
        works: words::works(spoken.state, oldest.map(|(as_of, _)| as_of), expired, &s.now, Telling::Apart).into(),
        change: change.into(),
        changes_at: changes_at(standing, &s.now),
        action: action(conn, standing, speaker),
    }
}

/// `left_alone`: why nobody asks about it any more.
pub fn of_target(
    conn: &Conn,
    (s, standing): (&Snapshot, &Standing<'_>),
    subject: &Watched,
    (left_alone, stale): (Option<Sentence>, Option<&StaleView>),
) -> BannerView {
    let (state, facts) = (&subject.state, &subject.facts);
    let is_alone = left_alone.is_some();
    let (what, change) = match left_alone {
        Some(sentence) => (sentence.text().to_owned(), String::new()),
        None => what_of(state, standing, &s.now).apart(),
    };
    let expired = facts.expires_after.filter(|_| freshness::is_expired(facts));
    BannerView {
        what: what.into(),
        since: cause(standing).or(stale.map(|stale| stale.since)),
        works: words::works(standing.state, state.as_of, expired, &s.now, Telling::Apart).into(),
        change: change.into(),
        changes_at: changes_at(standing, &s.now).filter(|_| !is_alone),
        action: action(conn, standing, Some(&subject.target)).filter(|_| !is_alone),
    }
}

/// The state, and the target's own trouble with it.
fn what_of(state: &TargetState, standing: &Standing<'_>, now: &Now) -> Parts {
    let parts = words::parts(standing, now, Telling::Apart);
    let own = || words::target_reason(state, standing, now, (Said::Beside, Telling::Apart));
    let what = match (&state.trouble, standing.state) {
        (None, _) => [vec![parts.apart().0], words::beside(standing, now, Telling::Apart)].concat().join(" "),
        (Some(_), State::Ageing | State::Fresh | State::Never) => own(),
        (Some(_), _) => format!("{} {}", parts.apart().0, own()),
    };
    Parts { what, ..parts }
}

/// The moment at which that began which stands in the way.
fn cause(standing: &Standing<'_>) -> Option<When> {
    let held = || standing.hold.filter(|hold| hold.scope.endpoint().is_none() || standing.state == State::Held);
    match standing.state {
        State::Disabled => {
            let all = standing.all_off.as_ref().and_then(|who| who.as_ref());
            all.or(standing.disabled_by.as_ref()).map(|(_, at)| When(*at))
        }
        State::CredentialRejected | State::Exhausted | State::Held => held().map(|hold| When(hold.since.wall)),
        State::BreakerOpen => standing.breaker_since.map(When),
        _ => None,
    }
}

fn changes_at(standing: &Standing<'_>, now: &Now) -> Option<When> {
    let at = match standing.state {
        State::ClockUntrusted | State::Disabled => None,
        // Paying ends it, and not the time.
        State::Exhausted if standing.hold.is_some_and(|hold| hold.reason == HoldReason::Unpaid) => None,
        State::CredentialRejected | State::Held => standing.hold.map(|hold| hold.until),
        State::Exhausted => standing.hold.map(|hold| hold.until).or(standing.next_free),
        State::BreakerOpen => standing.breaker_until,
        State::Expired | State::Stale | State::Ageing | State::Fresh | State::Never => standing.next_poll,
    };
    at.map(|at| When(now.wall_of(at)))
}

/// `target`: whose answer is missing, or too old.
fn action(conn: &Conn, standing: &Standing<'_>, target: Option<&Target>) -> Option<ActionView> {
    let free = |kind, label| Some(ActionView { kind, label, requests: 0, target: None });
    match standing.state {
        State::ClockUntrusted => free(ActionKind::SetClock, "Set the clock of this machine"),
        State::Disabled if standing.all_off.is_some() => free(ActionKind::ResumeAll, "Resume polling"),
        State::Disabled => free(ActionKind::Resume, "Resume polling"),
        State::CredentialRejected => free(ActionKind::ReplaceCredential, "Replace the credential"),
        State::Exhausted => free(ActionKind::SeeSpending, "See who used it"),
        State::Held => free(ActionKind::SeeRequests, "See the last requests"),
        State::BreakerOpen => conn.targets.now().iter().any(|t| t.endpoint.is_some()).then_some(ActionView {
            kind: ActionKind::Probe,
            label: "Try now",
            requests: 1,
            target: None,
        }),
        State::Ageing if standing.trouble.is_none() => None,
        State::Fresh => None,
        State::Expired | State::Stale | State::Ageing | State::Never => target.map(|target| ActionView {
            kind: ActionKind::Refresh,
            label: "Ask now",
            requests: show::refresh(conn, target).requests,
            target: Some(target.key.target.to_string()),
        }),
    }
}
