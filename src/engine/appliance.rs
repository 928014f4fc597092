//! The appliance as its readers and operators see it: every surface goes through here.

use super::core::{Conn, Core, Target};
use super::fetch::{Done, Stopped, fetch};
use super::view::*;
use super::{jobs, present, words};
use crate::domain::connection::Switch;
use crate::domain::event::{Event, EventKind, NewEvent};
use crate::domain::ids::*;
use crate::domain::job::{Job, JobState};
use crate::domain::outcome::Outcome;
use crate::domain::time::{ClockTrust, Now, Span, Stamp, Steady};
use crate::rules::budget::Refusal;
use crate::store::{Commit, Lane, StoreError, TokenRecord, Write};
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio::sync::broadcast;

/// The poller's watch ticks every 5 s; silent for longer than this, it is dead.
const HEARTBEAT: Span = Span::from_secs(30);
/// No page or answer holds more rows.
const MOST_ROWS: usize = 1_000;

/// Cheap to clone; all methods but `refresh`, `command` and the operator's answer from the shelf without waiting (law 3).
#[derive(Clone)]
pub struct Appliance {
    core: Arc<Core>,
}

/// How the process itself stands.
#[derive(Clone, Debug)]
pub struct Health {
    /// The store takes writes.
    pub store: Result<(), String>,
    /// The engine's loops ticked lately.
    pub poller_alive: bool,
    pub clock: ClockTrust,
    pub file_bytes: u64,
    pub started_at: When,
    /// Sentences about the last start (repaired file, untrusted clock), empty if there is nothing to say.
    pub notes: Vec<String>,
}

/// A stored token, without anything that could be used.
#[derive(Clone, Debug)]
pub struct TokenInfo {
    pub id: u64,
    pub name: String,
    pub role: String,
    pub organization: Organization,
    pub created_at: When,
    pub revoked_at: Option<When>,
}

impl From<TokenRecord> for TokenInfo {
    fn from(t: TokenRecord) -> TokenInfo {
        TokenInfo {
            id: t.id,
            name: t.name,
            role: t.role,
            organization: t.organization,
            created_at: When(t.created_at.wall),
            revoked_at: t.revoked_at.map(|r| When(r.wall)),
        }
    }
}

impl From<StoreError> for Denied {
    fn from(e: StoreError) -> Denied {
        Denied::Unavailable(e.to_string())
    }
}

impl Appliance {
    pub(super) fn new(core: Arc<Core>) -> Appliance {
        Appliance { core }
    }

    pub fn now(&self) -> Now {
        self.core.clock.now()
    }

    pub fn health(&self) -> Health {
        let now = self.now();
        Health {
            store: self.core.store.health().map_err(|e| e.to_string()),
            poller_alive: now.steady.since(self.core.last_beat()) < HEARTBEAT,
            clock: now.trust,
            file_bytes: self.core.store.file_bytes(),
            started_at: When(self.core.started.wall),
            notes: self.core.notes.clone(),
        }
    }

    /// Requests since the start, by connection, caller and outcome.
    pub fn counters(&self) -> Vec<((ConnectionKey, Caller, Outcome), u64)> {
        self.core.counters()
    }

    pub fn connections(&self) -> Result<Vec<ConnectionView>, Denied> {
        self.core.connections.values().map(|conn| Ok(present::connection(&self.core, conn)?)).collect()
    }

    pub fn connection(&self, key: &ConnectionKey) -> Result<ConnectionView, Denied> {
        Ok(present::connection(&self.core, self.conn(key)?)?)
    }

    /// Without items.
    pub fn targets(&self, key: &ConnectionKey) -> Result<Vec<TargetView>, Denied> {
        let conn = self.conn(key)?;
        conn.targets.iter().map(|t| Ok(present::target(&self.core, conn, t, &[])?)).collect()
    }

    /// With items.
    pub fn target(&self, key: &TargetKey) -> Result<TargetView, Denied> {
        let (conn, target) = self.target_of(key)?;
        let items = self.core.store.items(&target.key)?;
        Ok(present::target(&self.core, conn, target, &items)?)
    }

    /// Entries with seq > after, oldest first; with `after = None` the newest `limit`, oldest first.
    pub fn history(&self, key: &TargetKey, after: Option<u64>, limit: usize) -> Result<Vec<HistoryView>, Denied> {
        self.target_of(key)?;
        let entries = self.core.store.history(key, after, limit.min(MOST_ROWS))?;
        Ok(entries.into_iter().map(present::history).collect())
    }

    /// Charges with id > after, oldest first; with `after = None` the newest `limit`, oldest first.
    pub fn ledger(&self, key: &ConnectionKey, after: Option<u64>, limit: usize) -> Result<Vec<ChargeView>, Denied> {
        self.conn(key)?;
        let charges = self.core.store.charges(key, after.map(ChargeId), limit.min(MOST_ROWS))?;
        Ok(charges.into_iter().map(present::charge).collect())
    }

    /// Units spent by caller over the longest window of at most 24 h that the connection declares, in `slices` slices.
    pub fn spend_strip(&self, key: &ConnectionKey, slices: usize) -> Result<SpendStrip, Denied> {
        let conn = self.conn(key)?;
        let now = self.now();
        let day = Span::from_secs(86_400);
        let windows = conn.limits.iter().filter_map(|l| l.kind.nominal_window());
        let window = windows.filter(|w| *w <= day).max().unwrap_or(day).max(Span::from_secs(60));
        let from =
            Stamp { steady: Steady(now.steady.0.saturating_sub(window.0)), wall: now.wall() - window, era: now.era };
        let charges = self.core.store.charges_since(key, from)?;
        Ok(present::spend_strip(&now, &charges, window, slices))
    }

    pub fn job(&self, id: JobId) -> Result<JobView, Denied> {
        let job = self.core.store.job(id)?;
        job.map(present::job).ok_or_else(|| Denied::NotFound(format!("there is no job {}", id.0)))
    }

    /// Newest first.
    pub fn jobs(&self, key: &ConnectionKey, limit: usize) -> Result<Vec<JobView>, Denied> {
        self.conn(key)?;
        Ok(self.core.store.jobs(key, limit.min(MOST_ROWS))?.into_iter().map(present::job).collect())
    }

    /// Newest first: the activity list; of one connection or of all.
    pub fn activity(&self, key: Option<&ConnectionKey>, limit: usize) -> Result<Vec<EventView>, Denied> {
        if let Some(key) = key {
            self.conn(key)?;
        }
        Ok(self.core.store.events_newest(key, limit.min(MOST_ROWS))?.iter().map(present::event).collect())
    }

    /// Durable events with id > after, oldest first, at most `limit`.
    pub fn events_after(&self, after: EventId, limit: usize) -> Result<Vec<EventView>, Denied> {
        Ok(self.core.store.events_after(after, limit.min(MOST_ROWS + 1))?.iter().map(present::event).collect())
    }

    pub fn last_event_id(&self) -> EventId {
        self.core.store.last_event_id()
    }

    /// Every event from now on: durable ones after they are durable, and `target_seen` hints (id = the last durable id).
    pub fn subscribe(&self) -> broadcast::Receiver<Event> {
        self.core.subscribe()
    }

    pub fn show_event(&self, event: &Event) -> EventView {
        present::event(event)
    }

    /// Asks the provider now, if the answer is old enough and the budget funds it. Goes on if the caller goes away.
    pub async fn refresh(&self, key: &TargetKey, by: &str) -> Result<RefreshView, Denied> {
        let (conn, target) = self.target_of(key)?;
        let (conn, target) = (conn.clone(), target.clone());
        self.refuse_while_paused(&conn).await?;
        self.refuse_young(&conn, &target)?;
        tracing::info!(target = %key, by, "refresh by hand");
        let (tell, told) = tokio::sync::oneshot::channel();
        let core = self.core.clone();
        self.core.spawn(async move {
            let wished = core.clock.now().stamp();
            let result = fetch(&core, &conn, &target, Caller::Refresh, None, wished).await;
            // Nobody waits any more: the answer is on the shelf all the same.
            let _ = tell.send(result);
        });
        match told.await {
            Ok(Ok(Done { asked, .. })) => Ok(RefreshView { refreshed: asked, target: self.target(key)? }),
            Ok(Err(stopped)) => Err(self.denied(&stopped, "No refresh")),
            Err(_) => Err(Denied::Unavailable("the appliance is stopping".to_owned())),
        }
    }

    async fn refuse_while_paused(&self, conn: &Conn) -> Result<(), Denied> {
        if conn.enabled(&*conn.state.lock().await) {
            return Ok(());
        }
        let sentence = format!("{} is paused: nothing is requested until it is resumed.", conn.spec.key.connection);
        Err(Denied::NotYet { sentence, not_before: None, retry_after_s: None })
    }

    /// I2: not unless the answer on the shelf is old enough.
    fn refuse_young(&self, conn: &Conn, target: &Target) -> Result<(), Denied> {
        let now = self.now();
        let state = self.core.store.target(&target.key)?.unwrap_or_default();
        let Some(as_of) = state.as_of else { return Ok(()) };
        let (age, min) = (now.age_of(as_of), conn.spec.refresh_min_age);
        if age >= min {
            return Ok(());
        }
        let at = now.steady + min.saturating_sub(age);
        let sentence = format!("The reading is only {age} old; a refresh is worth a request once it is {min} old.");
        Err(self.not_before(at, sentence))
    }

    fn not_before(&self, at: Steady, sentence: String) -> Denied {
        let now = self.now();
        Denied::NotYet {
            sentence,
            not_before: Some(When(now.wall_of(at))),
            retry_after_s: Some(at.since(now.steady).as_secs_ceil()),
        }
    }

    fn denied(&self, stopped: &Stopped, what: &str) -> Denied {
        let sentence = format!("{what}: {}.", jobs::why(&self.core, stopped));
        match stopped {
            Stopped::Refused(Refusal::NotUntil { at, .. }) if *at != Steady::MAX => self.not_before(*at, sentence),
            Stopped::Refused(Refusal::Held(hold)) => self.not_before(hold.until, sentence),
            Stopped::Refused(_) => Denied::NotYet { sentence, not_before: None, retry_after_s: None },
            Stopped::Store(e) => Denied::Unavailable(e.to_string()),
        }
    }

    /// Accepts a command as a durable job and sends it when the budget lets it.
    pub async fn command(
        &self,
        key: &ConnectionKey,
        name: &str,
        parameters: BTreeMap<String, String>,
        idempotency_key: Option<String>,
        by: &str,
    ) -> Result<JobView, Denied> {
        let conn = self.conn(key)?.clone();
        let Some(command) = conn.spec.commands.iter().find(|c| c.name == name) else {
            return Err(Denied::NotFound(format!("{} has no command \"{name}\"", key.connection)));
        };
        jobs::fill(command, &parameters).map_err(Denied::Invalid)?;
        self.refuse_while_paused(&conn).await?;
        let now = self.now();
        let job = Job {
            id: JobId(0),
            connection: key.clone(),
            command: name.to_owned(),
            request_digest: digest(name, &parameters),
            parameters,
            state: JobState::Queued,
            created_at: now.stamp(),
            updated_at: now.stamp(),
            by: by.to_owned(),
            idempotency_key,
            charge: None,
            message: None,
            refresh: None,
        };
        let event = NewEvent {
            kind: EventKind::JobChanged,
            at: now.stamp(),
            connection: Some(key.clone()),
            target: None,
            message: format!("{name} asked for by {by}"),
        };
        let wanted = job.request_digest;
        let (job, created, events) = self.core.store.create_job(job, event).await?;
        self.core.publish(events);
        if !created && job.request_digest != wanted {
            let sentence = "this Idempotency-Key was used for another command or other parameters; take a new one";
            return Err(Denied::KeyReused(sentence.to_owned()));
        }
        if created {
            jobs::start(&self.core, conn, job.clone());
        }
        Ok(present::job(job))
    }

    /// The operator's switch (F11); `None` clears it, the file's value is in force again.
    pub async fn set_enabled(&self, key: &ConnectionKey, on: Option<bool>, by: &str) -> Result<ConnectionView, Denied> {
        let conn = self.conn(key)?;
        let now = self.now();
        let mut state = conn.state.lock().await;
        let enabled = on.map(|on| Switch { on, by: by.to_owned(), at: now.stamp() });
        let next = crate::domain::connection::ConnectionState { enabled, ..state.clone() };
        let what = match on {
            Some(true) => "resumed",
            Some(false) => "paused",
            None => "left to the configuration",
        };
        let message = format!("{} {what} by {by}", key.connection);
        let event = NewEvent {
            kind: EventKind::ControlChanged,
            at: now.stamp(),
            connection: Some(key.clone()),
            target: None,
            message,
        };
        let commit = Commit {
            resolve: None,
            hold: None,
            writes: vec![Write::Connection(key.clone(), next.clone())],
            events: vec![event],
            lane: Lane::Durable,
        };
        let events = self.core.store.commit(commit).await?;
        *state = next;
        drop(state);
        self.core.publish(events);
        conn.wake.notify_one();
        self.connection(key)
    }

    /// Copies the file while it is in use; the copy is verified before it gets its name. Returns a sentence.
    pub async fn backup(&self, destination: &std::path::Path) -> Result<String, Denied> {
        Ok(self.core.store.backup(destination).await?)
    }

    /// Returns the token's text, shown once; only its digest is kept.
    pub async fn create_token(&self, name: &str, role: &str, organization: &Organization) -> Result<String, Denied> {
        if !["admin", "owner", "reader", "agent"].contains(&role) {
            return Err(Denied::Invalid(format!("there is no role \"{role}\"; take admin, owner, reader or agent")));
        }
        let mut bytes = [0u8; 24];
        getrandom::fill(&mut bytes)
            .map_err(|e| Denied::Unavailable(format!("no random numbers from the system: {e}")))?;
        let text = bytes.iter().fold("larder_".to_owned(), |text, b| format!("{text}{b:02x}"));
        let token = TokenRecord {
            id: 0,
            name: name.to_owned(),
            hash: *blake3::hash(text.as_bytes()).as_bytes(),
            role: role.to_owned(),
            organization: organization.clone(),
            created_at: self.now().stamp(),
            revoked_at: None,
        };
        self.core.store.create_token(token).await?;
        Ok(text)
    }

    pub fn tokens(&self) -> Result<Vec<TokenInfo>, Denied> {
        Ok(self.core.store.tokens()?.into_iter().map(TokenInfo::from).collect())
    }

    pub async fn revoke_token(&self, id: u64) -> Result<(), Denied> {
        let tokens = self.core.store.tokens()?;
        let Some(token) = tokens.into_iter().find(|t| t.id == id) else {
            return Err(Denied::NotFound(format!("there is no token {id}")));
        };
        let revoked_at = token.revoked_at.or_else(|| Some(self.now().stamp()));
        let commit = Commit {
            resolve: None,
            hold: None,
            writes: vec![Write::Token(TokenRecord { revoked_at, ..token })],
            events: Vec::new(),
            lane: Lane::Durable,
        };
        self.core.store.commit(commit).await?;
        Ok(())
    }

    /// The token that this text is, if it is one and not revoked.
    pub fn check_token(&self, text: &str) -> Option<TokenInfo> {
        use subtle::ConstantTimeEq;
        let hash = blake3::hash(text.as_bytes());
        let tokens = self.core.store.tokens().ok()?;
        let known = tokens.into_iter().filter(|t| t.revoked_at.is_none());
        known.filter(|t| bool::from(t.hash.ct_eq(hash.as_bytes()))).map(TokenInfo::from).next()
    }

    fn conn(&self, key: &ConnectionKey) -> Result<&Arc<Conn>, Denied> {
        let found = self.core.connections.get(key);
        found.ok_or_else(|| Denied::NotFound(format!("there is no connection \"{}\"", key.connection)))
    }

    fn target_of(&self, key: &TargetKey) -> Result<(&Arc<Conn>, &Arc<Target>), Denied> {
        let conn = self.conn(&key.connection)?;
        let target = conn.target(&key.target);
        let missing = || Denied::NotFound(format!("{} has no target \"{}\"", key.connection.connection, key.target));
        Ok((conn, target.ok_or_else(missing)?))
    }

    /// A moment as this machine's people read it.
    pub fn local_time(&self, when: When) -> String {
        words::clock_time(when.0, self.now().wall())
    }
}

/// What an `Idempotency-Key` stands for: the command and its parameters, unambiguously.
fn digest(name: &str, parameters: &BTreeMap<String, String>) -> [u8; 16] {
    let mut hash = blake3::Hasher::new();
    for part in std::iter::once(name).chain(parameters.iter().flat_map(|(k, v)| [k.as_str(), v.as_str()])) {
        hash.update(&(part.len() as u64).to_be_bytes());
        hash.update(part.as_bytes());
    }
    let mut out = [0; 16];
    out.copy_from_slice(&hash.finalize().as_bytes()[..16]);
    out
}
