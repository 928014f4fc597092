//! A connection as it runs: its specification and its credential, what it shares with those of before and after it, and what it may ask.

use super::gateway::desk::Desk;
use super::put::Putting;
use super::scans::Scan;
use super::sharing::Sharing;
use super::targets::{Target, Targets};
use super::trigger::Triggers;
use super::webhooks::Hook;
use crate::domain::connection::{Ask, ConnectionState, Hold, Overrides};
use crate::domain::ids::{Caller, CredentialId, Endpoint, TargetName};
use crate::domain::limit::{Kind, Limit};
use crate::domain::setup::Provenance;
use crate::domain::spec::ConnectionSpec;
use crate::domain::time::{Now, Span, Stamp, Steady};
use crate::rules::classify::Classifier;
use crate::rules::hold::back;
use crate::rules::quota::Reader;
use crate::rules::schedule;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// A connection as it runs with one credential and one specification. A copy with another one shares everything else with it: see
/// [`super::connections::Connections`].
#[derive(Clone)]
pub struct Conn {
    pub spec: ConnectionSpec,
    /// Tells its specifications apart, the later ones greater: with an earlier one it begins nothing any more.
    pub edition: u64,
    /// How targets that are put are read.
    pub putting: Arc<Putting>,
    /// Where it is written.
    pub provenance: Provenance,
    /// It sends a credential, and none is set yet: nothing is asked.
    pub lacks_secret: bool,
    /// It was taken away: nothing is asked for it any more, and its loops end.
    pub left: CancellationToken,
    pub credential: CredentialId,
    /// Since when its requests count for that credential: what was read before says nothing of what is read with it.
    pub since: Stamp,
    /// Since when they carry the secret of now: what was sent before says nothing of it.
    pub secret_since: Stamp,
    pub classifier: Arc<Classifier>,
    pub targets: Arc<Targets>,
    /// Those that became active and are to be asked at once.
    pub triggers: Arc<Triggers>,
    /// Readings that feed many targets each, in the order of the file.
    pub scans: Vec<Arc<Scan>>,
    /// Everything that is polled with the same credential, and all limits declared for it.
    pub sharing: Arc<Sharing>,
    /// Key of everything that is spread by name (A41).
    pub installation: [u8; 32],
    /// Reads what the provider says of its own count.
    pub quota: Arc<Reader>,
    /// The master copy of the durable state. Held across the commits that write it, so that they keep their order.
    pub state: Arc<tokio::sync::Mutex<ConnectionState>>,
    /// Its overrides once more, for those who must not wait for `state`.
    pub overrides: Arc<RwLock<Overrides>>,
    /// From and to, as the log was told last.
    pub stretch_told: Arc<Mutex<Option<(Span, Span)>>>,
    pub webhooks: Vec<Arc<Hook>>,
    /// What its gateway has in memory.
    pub desk: Arc<Desk>,
    /// Rung when something changed that the poller should look at.
    pub wake: Arc<Notify>,
}

impl Conn {
    pub fn target(&self, name: &TargetName) -> Option<Arc<Target>> {
        self.targets.now().named(name).cloned()
    }

    /// Whether a poll would ask about anything.
    pub fn has_polls(&self) -> bool {
        !self.scans.is_empty() || self.targets.now().iter().any(|target| target.is_polled())
    }

    /// What an operator set is in force from now on, for the plans of everybody who spends with it too.
    pub fn is_set_as(&self, state: &ConnectionState) {
        *self.overrides.write().unwrap_or_else(PoisonError::into_inner) = state.overrides.clone();
        self.sharing.wishes(&self.spec.key, self.lasting_wish(state));
    }

    pub fn overrides(&self) -> Overrides {
        self.overrides.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Never faster than the budget can keep up.
    pub fn base_interval(&self) -> Span {
        self.plan().kept.interval
    }

    /// A target that did not change for so long is polled no more; `None`: it always is.
    pub fn inactivity_ttl(&self) -> Option<Span> {
        let set = self.overrides().inactivity_ttl;
        set.map_or(self.spec.poll.inactivity_ttl, |o| o.span)
    }

    /// How long a completed target is still polled; `None`: for ever.
    pub fn completion_grace(&self) -> Option<Span> {
        let set = self.overrides().completion_grace;
        set.map_or(Some(self.spec.poll.completion_grace), |o| o.span)
    }

    pub fn in_force(&self) -> Arc<Vec<Limit>> {
        self.sharing.in_force()
    }

    /// How far apart rounds are: the base interval, and more on the way back from a hold.
    pub fn pace(&self, holds: &[Hold]) -> Span {
        back::slowed(holds, self.base_interval())
    }

    /// F3: max(interval, backoff).
    pub fn effective_interval(&self, state: &ConnectionState, holds: &[Hold]) -> Span {
        self.pace(holds).max(schedule::backoff(state.failures, self.base_interval()))
    }

    /// When its poller asks again where a hold keeps it waiting.
    pub fn wakes(&self, hold: &Hold) -> Steady {
        back::wakes(hold, |span| schedule::phase(&self.installation, &self.spec.key.to_string(), span))
    }

    /// Until when nothing of this connection may be polled, as far as holds go: the credential's, or those of all its endpoints.
    pub fn held_until(&self, holds: &[Hold], now: &Now) -> Option<Steady> {
        let until = |h: &Hold| if h.ramp.is_none() { self.wakes(h) } else { now.steady };
        let of = |endpoint: &Endpoint| holds.iter().filter(|h| h.scope.covers(endpoint)).map(until).max();
        let targets = self.targets.now();
        let questions = targets.iter().chain(self.scans.iter().map(|scan| &scan.question));
        let polled = questions.filter(|t| t.is_polled()).filter_map(|t| t.endpoint.as_ref());
        let freed = polled.map(|endpoint| of(endpoint).unwrap_or_default());
        freed.min().filter(|at| *at > now.steady)
    }

    /// Whether it is asked: it is switched on, not on trial, and has what it sends.
    pub fn enabled(&self, state: &ConnectionState) -> bool {
        let on = state.enabled.as_ref().map_or(self.spec.poll.enabled, |s| s.on);
        on && !self.provenance.is_on_trial() && !self.lacks_secret
    }

    /// Whether a person may probe: one on trial is asked by nobody else.
    pub fn may_probe(&self, state: &ConnectionState) -> bool {
        let stopped = state.enabled.as_ref().is_some_and(|s| !s.on);
        self.enabled(state) || self.provenance.is_on_trial() && !stopped && !self.lacks_secret
    }

    /// When to ask again that was refused until `at` by `limit`. The providers' days turn for everybody in one instant: who waits for
    /// that goes on at a moment of its own.
    pub fn after_refusal(&self, limit: &str, at: Steady) -> Steady {
        let turns = |l: &Limit| l.name == limit && l.kind.begins().is_some();
        if self.sharing.limits.iter().any(turns) { at + self.spread() } else { at }
    }

    /// When to ask again for somebody who waits, where `limit` refused it until `at`: others under way may be answered at any moment, and
    /// a pace is over soon. `None`: it is not a matter of a moment.
    pub fn moment(&self, limit: &str, at: Steady, ends: Steady) -> Option<Steady> {
        let kind = self.sharing.limits.iter().find(|l| l.name == limit).map(|l| &l.kind)?;
        match kind {
            Kind::Concurrent => Some(at.min(ends)),
            Kind::Pace { .. } => Some(at),
            _ => None,
        }
    }

    /// Requests of its poller that may be under way side by side: what the provider leaves the poller in flight; one where it says
    /// nothing of that.
    pub fn side_by_side(&self, workers: u32) -> usize {
        let limits = self.in_force();
        let in_flight = limits.iter().filter(|l| l.kind == Kind::Concurrent).map(|l| {
            let left = l.amount.saturating_sub(l.kept_from(Caller::Poller));
            l.cap.get(&Caller::Poller).map_or(left, |cap| left.min(*cap))
        });
        let most = in_flight.min().unwrap_or(1).min(u64::from(workers)).max(1);
        usize::try_from(most).unwrap_or(1)
    }

    /// How far from the others it begins, and goes on after a reset.
    pub fn spread(&self) -> Span {
        let interval = self.base_interval();
        schedule::spread(schedule::phase(&self.installation, &self.spec.key.to_string(), interval), interval)
    }

    pub fn ask(&self, caller: Caller, endpoint: Endpoint, cost: u32) -> Ask {
        let organization = self.sharing.parts().map(|_| self.spec.key.organization.clone());
        Ask { caller, endpoint, cost, organization }
    }
}
