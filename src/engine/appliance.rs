//! The appliance as its readers see it: every surface goes through here. What operators do is in `operate`.

use super::core::{Conn, Core};
use super::snapshot::Snapshot;
use super::targets::Target;
use super::view::*;
use super::{flat, items, present, scans, spending};
use crate::domain::cursor::{EventsAsk, HistoryAsk, ItemsAsk, Paged};
use crate::domain::event::Event;
use crate::domain::finding::Wanted;
use crate::domain::ids::*;
use crate::domain::item::Item;
use crate::domain::spend::{Counted, Spend, SpendAsk};
use crate::domain::target::TargetState;
use crate::domain::time::{ClockTrust, Now, Span, Stamp, Steady};
use crate::rules::freshness;
use crate::store::StoreError;
use std::sync::Arc;
use tokio::sync::broadcast;

/// The poller's watch ticks every 5 s; silent for longer than this, it is dead.
const HEARTBEAT: Span = Span::from_secs(30);
/// No page or answer holds more rows.
const MOST_ROWS: usize = 1_000;

/// Cheap to clone; everything here answers from the shelf without waiting for the provider (law 3).
#[derive(Clone)]
pub struct Appliance {
    pub(super) core: Arc<Core>,
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
    /// Bytes written to the file since it was opened.
    pub written_bytes: u64,
    pub started_at: When,
    /// Sentences about the store and the last start (a file that takes no writes or was repaired, an untrusted clock), empty if there is nothing to say.
    pub notes: Vec<String>,
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
        let store = self.core.store.health().map_err(|e| e.to_string());
        Health {
            notes: store.as_ref().err().cloned().into_iter().chain(self.core.notes.all()).collect(),
            store,
            poller_alive: self.core.begun.is_cancelled() && now.steady.since(self.core.last_beat()) < HEARTBEAT,
            clock: now.trust,
            file_bytes: self.core.store.file_bytes(),
            written_bytes: self.core.store.written_bytes(),
            started_at: When(self.core.started.wall),
        }
    }

    /// Requests since the start, and the units that they took.
    pub fn counters(&self) -> Vec<(Counted, Spend)> {
        self.core.counters()
    }

    pub fn connections(&self) -> Result<Vec<ConnectionView>, Denied> {
        self.core.connections.values().map(|conn| Ok(present::connection(&self.core, &conn)?)).collect()
    }

    pub fn connection(&self, key: &ConnectionKey) -> Result<ConnectionView, Denied> {
        let conn = self.conn(key)?;
        Ok(present::connection(&self.core, &conn)?)
    }

    /// Those of an organization in the order of their names, from behind `after` on.
    pub fn connections_page(
        &self,
        of: &Organization,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Paged<ConnectionView, String>, Denied> {
        let own = self.core.connections.values().filter(|conn| conn.spec.key.organization == *of);
        let named = own.map(|conn| (conn.spec.key.connection.0.clone(), conn));
        let page = by_name(named.collect(), after, limit);
        let shown = page.rows.iter().map(|conn| present::connection(&self.core, conn)).collect::<Result<_, _>>()?;
        Ok(Paged { rows: shown, on: page.on })
    }

    /// Of the connections of an organization, in the order of the file.
    pub fn names(&self, organization: &Organization) -> Vec<String> {
        let all = self.core.connections.values();
        let own = all.filter(|conn| conn.spec.key.organization == *organization);
        own.map(|conn| conn.spec.key.connection.0.clone()).collect()
    }

    /// Its scans, in the order of the file.
    pub fn scans(&self, key: &ConnectionKey) -> Result<Vec<FeedView>, Denied> {
        let conn = self.conn(key)?;
        Ok(scans::show::feeds(&self.core, &conn)?)
    }

    /// Without items.
    pub fn targets(&self, key: &ConnectionKey) -> Result<Vec<TargetView>, Denied> {
        self.first_targets(key, usize::MAX)
    }

    /// The first few of them in the order of the file.
    pub fn first_targets(&self, key: &ConnectionKey, few: usize) -> Result<Vec<TargetView>, Denied> {
        let conn = self.conn(key)?;
        let snapshot = Snapshot::take(&self.core, &conn)?;
        let targets = conn.targets.now();
        let first: Vec<&Arc<Target>> = targets.iter().take(few).collect();
        self.shown(&conn, &snapshot, &first)
    }

    /// Without items, in the order of their names, from behind `after` on.
    pub fn targets_page(
        &self,
        key: &ConnectionKey,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Paged<TargetView, String>, Denied> {
        let conn = self.conn(key)?;
        let snapshot = Snapshot::take(&self.core, &conn)?;
        let targets = conn.targets.now();
        let page = by_name(targets.iter().map(|t| (t.key.target.0.clone(), t)).collect(), after, limit);
        Ok(Paged { rows: self.shown(&conn, &snapshot, &page.rows)?, on: page.on })
    }

    fn shown(&self, conn: &Conn, snapshot: &Snapshot, targets: &[&Arc<Target>]) -> Result<Vec<TargetView>, Denied> {
        let states = self.core.store.targets(targets.iter().map(|target| &target.key))?;
        let show = |(target, state): (&&Arc<Target>, TargetState)| {
            let as_of = state.as_of;
            self.sourced(target, as_of, present::target(conn, snapshot, target, (state, &nothing())))
        };
        targets.iter().zip(states).map(show).collect()
    }

    /// Value by value. A target with more than [`flat::MOST_ITEMS`] items is told by their number alone.
    pub fn flat(&self, key: &ConnectionKey) -> Result<FlatView, Denied> {
        let conn = self.conn(key)?;
        let (snapshot, targets) = (Snapshot::take(&self.core, &conn)?, conn.targets.now());
        let view = |target: &Arc<Target>| {
            let (state, items) = self.core.store.whole_target(&target.key, flat::MOST_ITEMS)?;
            let items = Paged { rows: items.unwrap_or_default(), on: None };
            Ok(present::target(&conn, &snapshot, target, (state, &items)))
        };
        let targets = targets.iter().map(view).collect::<Result<Vec<_>, StoreError>>()?;
        Ok(flat::flat(&present::connection(&self.core, &conn)?, &targets))
    }

    /// The present items of those targets of a connection that may be used, in the order of the file as long as they are together at most `few`; a longer
    /// list is passed over. A target that cannot be read has none here: its own page says why.
    pub fn items(&self, key: &ConnectionKey, few: u64) -> Result<Vec<ItemView>, Denied> {
        let (conn, now) = (self.conn(key)?, self.now());
        let (mut items, mut left) = (Vec::new(), few);
        for target in conn.targets.now().iter() {
            let Ok((state, Some(present))) = self.core.store.whole_target(&target.key, left) else { continue };
            let answered = state.as_of.map(|as_of| now.age_of(as_of));
            let age = freshness::counted_age(answered, state.reading_age(&target.spec, &now));
            if freshness::is_beyond(target.spec.expires_after, age) {
                continue;
            }
            left -= state.item_count;
            items.extend(present.iter().map(|i| items::item(&now, &target.spec, &state, i)));
        }
        Ok(items)
    }

    /// With these of its items.
    pub fn target(&self, key: &TargetKey, ask: &ItemsAsk) -> Result<TargetView, Denied> {
        let (conn, target) = self.target_of(key)?;
        let ask = ItemsAsk { limit: ask.limit.min(MOST_ROWS), ..ask.clone() };
        // First: what a scan has brought meanwhile may look older than it is, and never younger (law 1).
        let snapshot = Snapshot::take(&self.core, &conn)?;
        let (state, items) = self.core.store.target_page(&target.key, &ask)?;
        let as_of = state.as_of;
        self.sourced(&target, as_of, present::target(&conn, &snapshot, &target, (state, &items)))
    }

    /// The lines of a target's history, or of one item of it, from either end.
    pub fn history(&self, key: &TargetKey, ask: &HistoryAsk) -> Result<Paged<HistoryView>, Denied> {
        self.target_of(key)?;
        let ask = HistoryAsk { limit: ask.limit.min(MOST_ROWS), ..ask.clone() };
        Ok(self.core.store.history_page(key, &ask)?.map(present::history))
    }

    /// Charges with id > after, oldest first; with `after = None` the newest `limit`, oldest first.
    pub fn ledger(&self, key: &ConnectionKey, after: Option<u64>, limit: usize) -> Result<Vec<ChargeView>, Denied> {
        self.conn(key)?;
        let charges = self.core.store.charges(key, after.map(ChargeId), limit.min(MOST_ROWS))?;
        Ok(charges.into_iter().map(spending::charge).collect())
    }

    /// Units spent by caller over the longest window of at most 24 h that the connection declares, in `slices` slices.
    pub fn spend_strip(&self, key: &ConnectionKey, slices: usize) -> Result<SpendStrip, Denied> {
        let conn = self.conn(key)?;
        let now = self.now();
        let day = Span::from_secs(86_400);
        let windows = conn.sharing.limits.iter().filter_map(|l| l.kind.nominal_window());
        let window = windows.filter(|w| *w <= day).max().unwrap_or(day).max(Span::from_secs(60));
        let from =
            Stamp { steady: Steady(now.steady.0.saturating_sub(window.0)), wall: now.wall() - window, era: now.era };
        let charges = self.core.store.charges_since(key, from)?;
        Ok(spending::spend_strip(&now, &charges, window, slices))
    }

    /// Every request that was made, by whom and for what; also those whose charges are gone.
    pub fn spend(&self, ask: &SpendAsk) -> Result<SpendView, Denied> {
        Ok(spending::spend(ask, self.core.store.spend(&ask.hours(), |line| ask.place(line))?))
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

    /// What happened, from either end.
    pub fn activity(&self, ask: &EventsAsk) -> Result<Paged<EventView>, Denied> {
        let ask = EventsAsk { limit: ask.limit.min(MOST_ROWS), ..ask.clone() };
        Ok(self.core.store.events_page(&ask)?.map(|event| present::event(&event)))
    }

    /// Durable events with id > after, oldest first, at most `limit`.
    pub fn events_after(&self, after: EventId, limit: usize) -> Result<Vec<EventView>, Denied> {
        Ok(self.core.store.events_after(after, limit.min(MOST_ROWS + 1))?.iter().map(present::event).collect())
    }

    /// Findings with id > after, oldest first; with `after = None` the newest `limit`, oldest first.
    pub fn findings(&self, wanted: &Wanted, after: Option<u64>, limit: usize) -> Result<Vec<FindingView>, Denied> {
        let found = self.core.store.findings(wanted, after.map(FindingId), limit.min(MOST_ROWS))?;
        Ok(found.into_iter().map(FindingView::from).collect())
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

    /// Begun, it goes on to its end, also where nobody waits for it any more: what is written has to come into force.
    pub(super) async fn to_the_end<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, Denied>> + Send + 'static,
    ) -> Result<T, Denied> {
        self.core.begun.cancelled().await;
        let (tell, told) = tokio::sync::oneshot::channel();
        self.core.spawn(async move {
            // Who went away need not be told.
            let _ = tell.send(work.await);
        });
        told.await.unwrap_or_else(|_| Err(Denied::Unavailable("the appliance is stopping".to_owned())))
    }

    pub(super) fn conn(&self, key: &ConnectionKey) -> Result<Arc<Conn>, Denied> {
        let found = self.core.connections.get(key);
        found.ok_or_else(|| Denied::NotFound(format!("there is no connection \"{}\"", key.connection)))
    }

    pub(super) fn target_of(&self, key: &TargetKey) -> Result<(Arc<Conn>, Arc<Target>), Denied> {
        let conn = self.conn(&key.connection)?;
        let target = conn.target(&key.target);
        let missing = || Denied::NotFound(format!("{} has no target \"{}\"", key.connection.connection, key.target));
        let target = target.ok_or_else(missing)?;
        Ok((conn, target))
    }
}

/// No items, and none behind them.
fn nothing() -> Paged<Item, String> {
    Paged { rows: Vec::new(), on: None }
}

/// What is in the order of its names, from behind `after` on.
fn by_name<T>(mut named: Vec<(String, T)>, after: Option<&str>, limit: usize) -> Paged<T, String> {
    named.retain(|(name, _)| after.is_none_or(|after| name.as_str() > after));
    named.sort_by(|(a, _), (b, _)| a.cmp(b));
    let limit = limit.clamp(1, MOST_ROWS);
    let has_more = named.len() > limit;
    named.truncate(limit);
    let on = named.last().map(|(name, _)| name.clone()).filter(|_| has_more);
    Paged { rows: named.into_iter().map(|(_, one)| one).collect(), on }
}
