//! A connection at one moment, as everything that is shown of it is made from: durable state, holds, what the ledger says, and the facts that
//! decide the words of its targets. Reads the store; must not know what a surface makes of it.

use super::core::{Conn, Core};
use super::scans::show;
use super::targets::Target;
use super::view::{TurnView, When};
use super::voices::Voice;
use crate::domain::connection::{Breaker, ConnectionState, Hold, HoldScope};
use crate::domain::ids::{Caller, Endpoint};
use crate::domain::state::State;
use crate::domain::target::{Phase, TargetState};
use crate::domain::time::{ClockTrust, Now, Span, Stamp, Steady, Wall};
use crate::rules::budget::{Refusal, Usage};
use crate::rules::freshness::{self, Facts};
use crate::store::StoreError;
use std::sync::Arc;

/// A connection at one moment: everything that its views are made of.
pub struct Snapshot {
    pub now: Now,
    pub state: ConnectionState,
    /// All that are not lifted.
    pub holds: Vec<Hold>,
    pub usage: Vec<Usage>,
    /// What the budget would tell the poller at its next poll.
    pub exhausted_until: Option<Steady>,
    /// As planned: what decides freshness. Neither a backoff nor a ramp makes an answer fresh for longer.
    pub planned: Span,
    /// As it is now: with the backoff and what the way back from a hold adds.
    pub pace: Span,
    /// Why nothing that comes in can be written, if so.
    pub store: Option<String>,
    /// Polling is off for the whole process; who switched it off and when, if that was an operator.
    pub all_off: Option<Option<(String, Wall)>>,
    /// How the scans stand.
    pub feeds: Vec<TargetState>,
}

impl Snapshot {
    pub fn take(core: &Core, conn: &Conn) -> Result<Snapshot, StoreError> {
        let now = core.clock.now();
        let state = core.store.connection(&conn.spec.key)?.unwrap_or_default();
        let targets = conn.targets.now();
        let mut endpoints: Vec<Endpoint> = targets.iter().filter_map(|t| t.endpoint.clone()).collect();
        endpoints.extend(conn.scans.iter().filter_map(|scan| scan.question.endpoint.clone()));
        endpoints.extend(conn.spec.commands.iter().map(|c| c.endpoint()));
        endpoints.sort_unstable();
        endpoints.dedup();
        let holds = core.store.holds(conn.credential);
        let planned = conn.base_interval();
        Ok(Snapshot {
            pace: conn.effective_interval(&state, &holds),
            holds,
            usage: core.store.usage(conn.credential, &now, &endpoints),
            exhausted_until: exhausted_until(core, conn, &state, planned, &now),
            all_off: core.polling.off(&core.store)?,
            store: core.store.health().err().map(|e| e.to_string()),
            feeds: show::asked(core, conn)?,
            state,
            planned,
            now,
        })
    }

    /// What stops everybody now.
    pub fn hold(&self) -> Option<&Hold> {
        self.holds.iter().find(|h| h.scope == HoldScope::Credential && h.is_in_force(self.now.steady))
    }

    /// What stops a target alone: a hold of its endpoint, in force.
    pub fn hold_of(&self, target: &Target) -> Option<&Hold> {
        let endpoint = HoldScope::Endpoint(target.endpoint.clone()?);
        self.holds.iter().find(|h| h.scope == endpoint && h.is_in_force(self.now.steady))
    }

    pub fn facts(&self, conn: &Conn, target: Option<(&Target, &TargetState)>) -> Facts {
        let spec = target.map(|(t, _)| &t.spec);
        let interval = target.map_or(self.planned, |(t, _)| conn.renewed_every(t, self.planned));
        Facts {
            clock_untrusted: self.now.trust == ClockTrust::Untrusted,
            enabled: self.is_polled(conn),
            hold: self.hold().map(|h| h.reason),
            endpoint_held: target.is_some_and(|(t, _)| self.hold_of(t).is_some()),
            exhausted: self.exhausted_until.is_some(),
            breaker_open: !matches!(self.state.breaker, Breaker::Closed),
            age: target.and_then(|(_, s)| s.as_of).map(|as_of| self.now.age_of(as_of)),
            reading_age: target.and_then(|(t, s)| s.reading_age(&t.spec, &self.now)),
            failing: self.store.is_some() || target.is_some_and(|(_, s)| s.trouble.is_some()),
            interval,
            fresh_for: spec.map(|s| s.fresh_within(interval)).unwrap_or_default(),
            expires_after: spec.and_then(|s| s.expires_after),
        }
    }

    /// Whether Larder asks by itself.
    pub fn is_polled(&self, conn: &Conn) -> bool {
        conn.enabled(&self.state) && self.all_off.is_none()
    }

    pub fn turns(&self, turns: &[(Span, State)]) -> Vec<TurnView> {
        turns.iter().map(|(left, state)| TurnView { state: *state, at: When(self.now.wall() + *left) }).collect()
    }

    pub fn at(&self, stamp: Stamp) -> When {
        When(stamp.wall)
    }

    pub fn steady(&self, at: Steady) -> When {
        When(self.now.wall_of(at))
    }
}

/// The budget is exhausted for the poller if it must skip a whole poll for it.
fn exhausted_until(core: &Core, conn: &Conn, state: &ConnectionState, interval: Span, now: &Now) -> Option<Steady> {
    let targets = conn.targets.now();
    let mut polled = conn.scans.iter().map(|scan| &scan.question).chain(targets.iter()).filter(|t| t.is_polled());
    let (target, endpoint) = polled.find_map(|t| Some((t, t.endpoint.clone()?)))?;
    let due = now.steady.max(state.next_poll_at.map(|at| at.steady).unwrap_or_default());
    let ask = conn.ask(Caller::Poller, endpoint, target.cost());
    match core.store.would_admit(conn.credential, now, &ask) {
        Err(Refusal::NotUntil { at, .. }) if at > due + interval => Some(at),
        Err(Refusal::NeverFits { .. }) => Some(Steady::MAX),
        _ => None,
    }
}

/// A target that is watched, and what decides its word.
pub struct Watched {
    pub target: Arc<Target>,
    pub state: TargetState,
    pub facts: Facts,
}

/// Those whose words are the connection's, in the order of the file.
pub fn watched(core: &Core, conn: &Conn, s: &Snapshot) -> Result<Vec<Watched>, StoreError> {
    let is_watched = |target: &&Arc<Target>| matches!(target.life().phase, Phase::Active | Phase::Pending);
    let targets: Vec<Arc<Target>> = conn.targets.now().iter().filter(is_watched).cloned().collect();
    let states = core.store.targets(targets.iter().map(|target| &target.key))?;
    let watch = |(target, state): (Arc<Target>, TargetState)| {
        let state = show::through(conn, &target, state, &s.feeds);
        Watched { facts: s.facts(conn, Some((&target, &state))), target, state }
    };
    Ok(targets.into_iter().zip(states).map(watch).collect())
}

pub fn voices(watched: &[Watched]) -> Vec<Voice<'_>> {
    watched.iter().map(|w| Voice::of(&w.target.key.target, &w.facts, w.state.trouble.as_ref())).collect()
}

/// The word of a connection without targets.
pub fn own_word(conn: &Conn, s: &Snapshot) -> State {
    freshness::state(&s.facts(conn, None))
}
