//! What all loops and handlers share: the connections as they run, the seams to store, clock and door, and the event channel.

pub use super::conn::Conn;

use super::access::Access;
use super::backups::Backups;
use super::broker::Link;
use super::connections::Connections;
use super::gateway::room::Room;
use super::notes::Notes;
use super::polling::Polling;
use super::regular::Regular;
use super::setup::Scribe;
use super::streams::Streams;
use super::targets::Target;
use super::turns::Turns;
use crate::clock::Clock;
use crate::domain::connection::{ConnectionState, HoldChange};
use crate::domain::event::{Event, EventKind, NewEvent};
use crate::domain::gateway::Until;
use crate::domain::ids::{Caller, ConnectionKey, CredentialId, Endpoint, TargetKey};
use crate::domain::outcome::Outcome;
use crate::domain::part::PartsByOrganization;
use crate::domain::spend::{Counted, OTHERS, Spend};
use crate::domain::time::{Span, Stamp, Steady};
use crate::store::{Commit, Store, StoreError, Write};
use crate::upstream::Door;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};
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
    /// Key of everything that is spread by name (A41).
    pub installation: [u8; 32],
    /// Of the gateways' answers in memory.
    pub room: Room,
    pub connections: Connections,
    turns: RwLock<BTreeMap<CredentialId, Arc<Turns>>>,
    /// What each organization has of what it shares with others.
    organizations: RwLock<PartsByOrganization>,
    /// Rung when an override was set or cleared.
    pub overridden: Notify,
    /// Who knows how connections are written.
    pub scribe: OnceLock<Arc<dyn Scribe>>,
    /// Rung when a connection came, became another, or went.
    pub changed: Notify,
    /// One renewal at a time for each credential that renews itself.
    renewals: RwLock<BTreeMap<CredentialId, Arc<tokio::sync::Mutex<()>>>>,
    /// Who may come in.
    pub access: Access,
    pub started: Stamp,
    /// Event streams that are read, or were lately.
    pub streams: Streams,
    pub notes: Notes,
    /// Backups that are made by themselves.
    pub regular: Regular,
    /// The last that somebody asked for.
    pub backups: Backups,
    /// To a broker of MQTT.
    pub link: Link,
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

/// What `Core` is made of.
pub struct Seams {
    pub store: Store,
    pub clock: Arc<dyn Clock>,
    pub door: Arc<dyn Door>,
    pub polling: Polling,
    pub installation: [u8; 32],
    pub room: Room,
    pub access: Access,
}

impl Core {
    pub fn new(seams: Seams, connections: Vec<Conn>, notes: Vec<String>) -> Core {
        let now = seams.clock.now();
        Core {
            renewals: RwLock::new(
                connections.iter().filter(|c| c.spec.oauth.is_some()).map(|c| (c.credential, Arc::default())).collect(),
            ),
            scribe: OnceLock::new(),
            changed: Notify::new(),
            turns: RwLock::new(connections.iter().map(|c| (c.credential, Arc::default())).collect()),
            organizations: RwLock::default(),
            connections: Connections::new(connections),
            store: seams.store,
            clock: seams.clock,
            door: seams.door,
            polling: seams.polling,
            installation: seams.installation,
            overridden: Notify::new(),
            room: seams.room,
            access: seams.access,
            started: now.stamp(),
            streams: Streams::default(),
            notes: Notes::of_start(notes),
            regular: Regular::default(),
            backups: Backups::default(),
            link: Link::default(),
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
        let organizations = self.organizations();
        let mut turns = self.turns.write().unwrap_or_else(PoisonError::into_inner);
        turns.entry(credential).or_default().divide(organizations);
    }

    pub fn organizations(&self) -> PartsByOrganization {
        self.organizations.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Organizations have these parts from now on.
    pub fn divide(&self, organizations: &PartsByOrganization) {
        *self.organizations.write().unwrap_or_else(PoisonError::into_inner) = organizations.clone();
        let turns = self.turns.read().unwrap_or_else(PoisonError::into_inner);
        turns.values().for_each(|turns| turns.divide(organizations.clone()));
    }

    /// Held while its tokens are renewed; `None` where it does not renew itself.
    pub fn renewal(&self, credential: CredentialId) -> Option<Arc<tokio::sync::Mutex<()>>> {
        self.renewals.read().unwrap_or_else(PoisonError::into_inner).get(&credential).cloned()
    }

    /// Of a credential that comes into use and renews itself.
    pub fn renews(&self, credential: CredentialId) {
        self.renewals.write().unwrap_or_else(PoisonError::into_inner).entry(credential).or_default();
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

    /// Whether `caller` may ask for this connection: nobody while it is switched off, or once it was taken away; what Larder asks by itself not while polling is off
    /// for the whole process (F11).
    pub fn may_ask(&self, conn: &Conn, state: &ConnectionState, caller: Caller) -> bool {
        let by_itself = matches!(caller, Caller::Poller | Caller::Trigger);
        let may = if caller == Caller::Probe { conn.may_probe(state) } else { conn.enabled(state) };
        may && !conn.left.is_cancelled() && (self.polling.is_on() || !by_itself)
    }

    /// Whether the target is still the one of its name, whatever else became another.
    pub fn asks_still(&self, conn: &Conn, target: &Target) -> bool {
        let now = self.connections.get(&conn.spec.key).and_then(|conn| conn.target(&target.key.target));
        now.is_some_and(|now| now.revision == target.revision)
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
