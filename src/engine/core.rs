//! What all loops and handlers share: the connections as they run, the seams to store, clock and door, and the event channel.

use super::connections::Connections;
use super::gateway::desk::Desk;
use super::gateway::room::Room;
use super::notes::Notes;
use super::polling::Polling;
use super::put::Putting;
use super::scans::Scan;
use super::sharing::Sharing;
use super::streams::Streams;
use super::targets::{Target, Targets};
use super::trigger::Triggers;
use super::turns::Turns;
use super::webhooks::Hook;
use crate::clock::Clock;
use crate::domain::connection::{Ask, ConnectionState, Hold, HoldChange, Overrides};
use crate::domain::event::{Event, EventKind, NewEvent};
use crate::domain::gateway::Until;
use crate::domain::ids::{Caller, ConnectionKey, CredentialId, Endpoint, TargetKey, TargetName};
use crate::domain::limit::{Kind, Limit};
use crate::domain::outcome::Outcome;
use crate::domain::spec::ConnectionSpec;
use crate::domain::spend::{Counted, OTHERS, Spend};
use crate::domain::time::{Now, Span, Stamp, Steady};
use crate::rules::classify::Classifier;
use crate::rules::hold::back;
use crate::rules::quota::Reader;
use crate::rules::schedule;
use crate::store::{Commit, Store, StoreError, TokenRecord, Write};
use crate::upstream::Door;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use tokio::sync::{Notify, broadcast};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// Readers that are slower than this many events get a `reset`.
const EVENT_BUFFER: usize = 1024;
/// How often the clock's mark rides on a charge.
const MARK_EVERY: Span = Span::from_secs(60);
/// Endpoints of a connection that requests are counted by; those that come later are counted together.
const MOST_ENDPOINTS: usize = 50;
/// How long the commit of a charge may take before its permit runs out unused.
pub const SLOW_COMMIT: Span = Span::from_secs(5);

pub struct Core {
    pub store: Store,
    pub clock: Arc<dyn Clock>,
    pub door: Arc<dyn Door>,
    pub polling: Polling,
    pub putting: Putting,
    /// Of the gateways' answers in memory.
    pub room: Room,
    pub connections: Connections,
    turns: RwLock<BTreeMap<CredentialId, Arc<Turns>>>,
    /// Rung when an override was set or cleared.
    pub overridden: Notify,
    /// One renewal at a time for each credential that renews itself.
    pub renewals: BTreeMap<CredentialId, tokio::sync::Mutex<()>>,
    /// As the file has them; `None`: to be read again. What changes them empties it afterwards, under the lock that fills it.
    pub tokens: RwLock<Option<Arc<Vec<TokenRecord>>>>,
    pub started: Stamp,
    /// Event streams that are read, or were lately.
    pub streams: Streams,
    pub notes: Notes,
    pub stop: CancellationToken,
    /// What a crash left behind is settled and the loops run. Before that nobody's wish is taken up.
    pub begun: CancellationToken,
    events: broadcast::Sender<Event>,
    counters: Mutex<BTreeMap<Counted, Spend>>,
    tasks: Mutex<JoinSet<()>>,
    /// Rung when a scan has published what has to be moved to its place.
    pub moving: Notify,
    /// Steady ms of the last sign of life of the poller's watch.
    heartbeat: AtomicU64,
    last_mark: AtomicU64,
}

/// A connection as it runs with one credential. A copy with another one shares everything else with it: see [`Connections`].
#[derive(Clone)]
pub struct Conn {
    pub spec: ConnectionSpec,
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

/// What `Core` is made of.
pub struct Seams {
    pub store: Store,
    pub clock: Arc<dyn Clock>,
    pub door: Arc<dyn Door>,
    pub polling: Polling,
    pub putting: Putting,
    pub room: Room,
}

impl Core {
    pub fn new(seams: Seams, connections: Vec<Conn>, notes: Vec<String>) -> Core {
        let now = seams.clock.now();
        Core {
            renewals: connections
                .iter()
                .filter(|c| c.spec.oauth.is_some())
                .map(|c| (c.credential, Default::default()))
                .collect(),
            turns: RwLock::new(connections.iter().map(|c| (c.credential, Arc::default())).collect()),
            connections: Connections::new(connections),
            store: seams.store,
            clock: seams.clock,
            door: seams.door,
            polling: seams.polling,
            overridden: Notify::new(),
            putting: seams.putting,
            room: seams.room,
            tokens: RwLock::default(),
            started: now.stamp(),
            streams: Streams::default(),
            notes: Notes::of_start(notes),
            stop: CancellationToken::new(),
            begun: CancellationToken::new(),
            events: broadcast::channel(EVENT_BUFFER).0,
            counters: Mutex::default(),
            tasks: Mutex::default(),
            moving: Notify::new(),
            heartbeat: AtomicU64::new(now.steady.0),
            last_mark: AtomicU64::new(now.steady.0),
        }
    }

    /// Runs a task that ends with the engine. A reader that goes away does not end what it started.
    pub fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        while tasks.try_join_next().is_some() {}
        tasks.spawn(task);
    }

    pub fn take_tasks(&self) -> JoinSet<()> {
        std::mem::take(&mut *self.tasks.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Write 2, and the bell for those who wait for the same budget: what they were told may be earlier now.
    pub async fn commit(&self, commit: Commit) -> Result<Vec<Event>, StoreError> {
        let resolved = commit.resolve.as_ref().map(|(credential, ..)| *credential);
        let lets_go = |change: &HoldChange| match change {
            HoldChange::Put(hold) => hold.ramp.is_some(),
            HoldChange::Lift(_) => true,
        };
        let lifted = commit.hold.as_ref().filter(|(_, changes)| changes.iter().any(lets_go)).map(|(c, _)| *c);
        let taught: Vec<CredentialId> = commit.learned.iter().map(|(credential, _)| *credential).collect();
        let events = self.store.commit(commit).await?;
        for conn in self.connections.values().filter(|c| taught.contains(&c.credential)) {
            conn.sharing.take_limits(&self.store);
        }
        for credential in resolved.into_iter().chain(lifted) {
            self.ring(credential);
        }
        Ok(events)
    }

    /// The line of those who wait for a credential's budget; `None` for a credential of no connection.
    pub fn turns(&self, credential: CredentialId) -> Option<Arc<Turns>> {
        self.turns.read().unwrap_or_else(PoisonError::into_inner).get(&credential).cloned()
    }

    /// Of a credential that comes into use.
    pub fn form_line(&self, credential: CredentialId) {
        self.turns.write().unwrap_or_else(PoisonError::into_inner).entry(credential).or_default();
    }

    /// Who waits for this budget looks again.
    pub fn ring(&self, credential: CredentialId) {
        self.turns(credential).into_iter().for_each(|turns| turns.ring());
    }

    /// Something changed that everybody who waits for this connection should look at.
    pub fn wake(&self, conn: &Conn) {
        conn.wake.notify_one();
        self.ring(conn.credential);
    }

    /// Whether `caller` may ask for this connection: nobody while it is switched off; what Larder asks by itself not while polling is off
    /// for the whole process (F11).
    pub fn may_ask(&self, conn: &Conn, state: &ConnectionState, caller: Caller) -> bool {
        let by_itself = matches!(caller, Caller::Poller | Caller::Trigger);
        conn.enabled(state) && (self.polling.is_on() || !by_itself)
    }

    /// Events leave only here, with what `commit` returned (they are durable).
    pub fn publish(&self, events: Vec<Event>) {
        for event in events {
            self.tell_desks(&event);
            // No subscriber is no error.
            let _ = self.events.send(event);
        }
    }

    /// What a "not ready" may have waited for (P3).
    fn tell_desks(&self, event: &Event) {
        if let Some(conn) = event.body.connection.as_ref().and_then(|key| self.connections.get(key)) {
            conn.desk.happens(Until::Event(event.body.kind), event.body.at);
        }
    }

    /// A hint that is not durable: an age is new, and nothing else that is told.
    pub fn hint_seen(&self, target: &TargetKey, at: Stamp, how: &str) {
        let body = NewEvent {
            kind: EventKind::TargetSeen,
            at,
            connection: Some(target.connection.clone()),
            target: Some(target.target.clone()),
            message: format!("{} answered{how}", target.target),
        };
        self.publish(vec![Event { id: self.store.last_event_id(), body }]);
    }

    pub fn subscribe(&self) -> broadcast::Receiver<Event> {
        self.events.subscribe()
    }

    /// One request more, and what it took.
    pub fn count(
        &self,
        connection: &ConnectionKey,
        (caller, endpoint): (Caller, &Endpoint),
        outcome: Outcome,
        units: u32,
    ) {
        let mut counters = self.counters.lock().unwrap_or_else(PoisonError::into_inner);
        let known: BTreeSet<&Endpoint> =
            counters.keys().filter(|c| c.connection == *connection).map(|c| &c.endpoint).collect();
        let is_named = known.contains(endpoint) || known.len() < MOST_ENDPOINTS;
        let endpoint = if is_named { endpoint.clone() } else { Endpoint(OTHERS.to_owned()) };
        let counted = Counted { connection: connection.clone(), caller, endpoint, outcome };
        *counters.entry(counted).or_default() += Spend { requests: 1, units: units.into() };
    }

    pub fn counters(&self) -> Vec<(Counted, Spend)> {
        let counters = self.counters.lock().unwrap_or_else(PoisonError::into_inner);
        counters.iter().map(|(counted, spend)| (counted.clone(), *spend)).collect()
    }

    pub fn beat(&self) {
        self.heartbeat.store(self.clock.now().steady.0, Ordering::Relaxed);
    }

    pub fn last_beat(&self) -> Steady {
        Steady(self.heartbeat.load(Ordering::Relaxed))
    }

    /// The clock's mark, if it is time for it to ride on a commit again.
    pub fn mark_if_due(&self, now: Steady) -> Option<Write> {
        let last = self.last_mark.load(Ordering::Relaxed);
        if now.since(Steady(last)) < MARK_EVERY {
            return None;
        }
        self.last_mark.store(now.0, Ordering::Relaxed);
        Some(Write::Mark(self.clock.mark()))
    }
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

    pub fn enabled(&self, state: &ConnectionState) -> bool {
        state.enabled.as_ref().map_or(self.spec.poll.enabled, |s| s.on)
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
        Ask { caller, endpoint, cost }
    }
}
