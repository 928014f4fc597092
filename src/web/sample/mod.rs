//! A hand-made shelf for tests: the irrigation case on one morning, calm or locked out, without engine and without clock.

pub mod keeper;
mod pages;
mod planned;
mod views;
mod webhooks;

use super::shelf::{ByName, Shelf, Slow};
use crate::domain::cursor::{EventsAsk, HistoryAsk, ItemsAsk, Paged};
use crate::domain::event::{Event, EventKind, NewEvent};
use crate::domain::finding::{Wanted, Which};
use crate::domain::ids::*;
use crate::domain::outcome::Outcome;
use crate::domain::spend::{Counted, Spend, SpendAsk};
use crate::domain::state::State;
use crate::domain::target::Phase;
use crate::domain::time::{ClockTrust, Now, Span, Stamp, Steady, Wall};
use crate::engine::access::tokens::TokenInfo;
use crate::engine::appliance::Health;
use crate::engine::backups::{BackupView, BackupsView, NewestView};
use crate::engine::controls::Controls;
use crate::engine::gateway::Entrance;
use crate::engine::gateway::given::How;
use crate::engine::intake::Observed;
use crate::engine::plans::WhatIf;
use crate::engine::polling::PollingControls;
use crate::engine::setup::{ImportLine, ImportView};
use crate::engine::streams::Standing;
use crate::engine::view::*;
use pages::*;
use planned::*;
use std::collections::BTreeMap;
use std::sync::Mutex;
use tokio::sync::broadcast;
pub use views::event;
use views::*;

/// 2026-11-30 08:20:00 UTC: 09:20 in Zurich.
pub const NOW: Wall = Wall(1_796_026_800_000);

/// A moment `seconds` before now; negative lies ahead.
pub fn ago(seconds: i64) -> When {
    When(Wall(NOW.0 - seconds * 1000))
}

/// What is on the shelf, and what was asked of it.
pub struct Sample {
    pub connections: Vec<ConnectionView>,
    pub plans: Vec<PlanView>,
    pub targets: Vec<TargetView>,
    pub scans: Vec<FeedView>,
    pub history: Vec<HistoryView>,
    pub charges: Vec<ChargeView>,
    pub jobs: Vec<JobView>,
    pub events: Vec<EventView>,
    /// Findings that are closed; the open ones are with their connections.
    pub closed: Vec<FindingView>,
    pub tokens: Vec<(&'static str, TokenInfo)>,
    pub door: keeper::Door,
    pub notes: Vec<String>,
    pub refresh: Result<(), Denied>,
    /// The disk is full.
    pub no_room: bool,
    /// Every change that was asked for, as a line.
    pub asked: Mutex<Vec<String>>,
    pub live: broadcast::Sender<Event>,
}

impl Sample {
    /// Nothing configured.
    pub fn empty() -> Sample {
        Sample {
            connections: Vec::new(),
            plans: Vec::new(),
            targets: Vec::new(),
            scans: Vec::new(),
            history: Vec::new(),
            charges: Vec::new(),
            jobs: Vec::new(),
            events: Vec::new(),
            closed: Vec::new(),
            tokens: tokens(),
            door: keeper::Door::default(),
            notes: Vec::new(),
            refresh: Ok(()),
            no_room: false,
            asked: Mutex::new(Vec::new()),
            live: broadcast::channel(4).0,
        }
    }

    /// Water runs, everything is fresh, the fifth request is kept.
    pub fn calm() -> Sample {
        Sample {
            connections: vec![yard(), cellar()],
            plans: plans(),
            targets: vec![controller(), up()],
            history: history(),
            charges: charges(),
            jobs: jobs(),
            events: events(),
            ..Sample::empty()
        }
    }

    /// The provider refused in a 200 with a sentence (I4); the shelf serves what it has, and says so.
    pub fn locked_out() -> Sample {
        let mut sample = Sample::calm();
        let said = "Error: API rate limit exceeded. Please wait 5 minutes before <b>trying</b> again.";
        let yard = &mut sample.connections[0];
        yard.state = State::Held;
        yard.sentence = "The provider said \"rate limited\" at 09:14. No request before 09:24 (in 4 min). Showing values from 09:13."
            .to_owned();
        yard.banner = refused();
        yard.turns = Vec::new();
        yard.hold = Some(HoldView {
            since: ago(330),
            until: ago(-270),
            scope: "credential",
            endpoint: None,
            strikes: 1,
            reason: "rate_limited",
            said: Some(said.to_owned()),
            rule: "lockout sentence".to_owned(),
            source: "the window of limit \"status\", as no wait was given".to_owned(),
        });
        yard.findings = vec![foreign_spending()];
        yard.budget[1].foreign = 38;
        yard.budget[1].remaining = 1550;
        yard.budget[1].declared = 2500;
        yard.budget[0].used = 5;
        yard.budget[0].remaining = 0;
        yard.budget[0].kept = 0;
        yard.budget[0].next_free_at = Some(ago(-30));
        yard.budget[0].used_by = BTreeMap::from([("poller", 4), ("refresh", 1)]);
        (yard.oldest_age_seconds, yard.oldest_since) = (Some(372), Some(ago(372)));
        yard.poll.next_poll_at = Some(ago(-270));
        sample.closed = vec![was_empty()];
        let controller = &mut sample.targets[0];
        controller.state = State::Held;
        let next = views::told(-270, "09:24 CET");
        controller.reason = format!("The provider refused the last request; the next one goes out at {next}.").into();
        controller.sentence = format!("Values are 6 min old. {}", controller.reason);
        controller.banner = refused();
        controller.turns = Vec::new();
        controller.as_of = Some(ago(372));
        (controller.age_seconds, controller.aged_since) = (Some(372), Some(ago(372)));
        controller.fresh = false;
        controller.attempted_at = Some(ago(330));
        controller.stale =
            Some(StaleView { since: ago(282), reason: "rate limited".to_owned(), said: Some(said.to_owned()) });
        let water = &mut controller.items[0];
        water.state = Some("idle".to_owned());
        water.fields[1].1 = FieldShown::SecondsLeft(0);
        sample.events.push(event(8, EventKind::HoldStarted, 330, None, "yard is held until 09:24: rate limited."));
        sample
    }

    /// A connection of another organization beside the default's.
    pub fn two_organizations() -> Sample {
        let mut sample = Sample::calm();
        sample.connections[1].organization = "north".to_owned();
        sample.targets[1].organization = "north".to_owned();
        sample
    }

    pub fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
    fn made_backup(&self, by: &str) -> BackupView {
        let path = "/srv/backups/larder-20261130T082000Z.redb".to_owned();
        BackupView { at: ago(0), by: by.to_owned(), path, bytes: 1_589_248, took: Seconds(Span(420)) }
    }
    fn note(&self, line: String) {
        self.asked.lock().unwrap().push(line);
    }
}

/// A live event that the sample's `show_event` turns into a view of the default organization.
pub fn live(id: u64, kind: EventKind, connection: Option<(&str, &str)>) -> Event {
    let at = Stamp { steady: Steady(1), wall: NOW, era: 0 };
    let connection = connection
        .map(|(o, c)| ConnectionKey { organization: Organization::from(o), connection: ConnectionName::from(c) });
    Event { id: EventId(id), body: NewEvent { kind, at, connection, target: None, message: format!("event {id}") } }
}

impl Shelf for Sample {
    fn now(&self) -> Now {
        Now { steady: Steady(50_000_000), era: 0, trust: ClockTrust::Trusted, offsets: vec![NOW.0 - 50_000_000] }
    }
    fn health(&self) -> Health {
        Health {
            store: Ok(()),
            poller_alive: true,
            clock: ClockTrust::Trusted,
            file_bytes: 1_589_248,
            written_bytes: 73_728,
            started_at: ago(7200),
            notes: self.notes.clone(),
        }
    }
    fn connections(&self) -> Result<Vec<ConnectionView>, Denied> {
        Ok(self.connections.clone())
    }
    fn connections_page(&self, of: &Organization, after: Option<&str>, limit: usize) -> ByName<ConnectionView> {
        let own = self.connections.iter().filter(|c| c.organization == of.0).cloned();
        Ok(by_name(own.map(|c| (c.name.clone(), c)).collect(), after, limit))
    }
    fn plans(&self) -> Result<Vec<PlanView>, Denied> {
        Ok(self.plans.clone())
    }
    fn what_if(&self, key: &ConnectionKey, asked: &WhatIf) -> Result<WhatIfView, Denied> {
        self.connection(key)?;
        Ok(what_if(key, asked))
    }
    fn connection(&self, key: &ConnectionKey) -> Result<ConnectionView, Denied> {
        let is = |c: &&ConnectionView| c.name == key.connection.0 && c.organization == key.organization.0;
        self.connections
            .iter()
            .find(is)
            .cloned()
            .ok_or_else(|| Denied::NotFound(format!("There is no connection {key}.")))
    }
    fn targets(&self, key: &ConnectionKey) -> Result<Vec<TargetView>, Denied> {
        self.connection(key)?;
        let own = self.targets.iter().filter(|t| t.connection == key.connection.0).cloned();
        Ok(own.map(|t| TargetView { items: vec![], ..t }).collect())
    }
    fn first_targets(&self, key: &ConnectionKey, few: usize) -> Result<Vec<TargetView>, Denied> {
        Ok(self.targets(key)?.into_iter().take(few).collect())
    }
    fn targets_page(&self, key: &ConnectionKey, after: Option<&str>, limit: usize) -> ByName<TargetView> {
        Ok(by_name(self.targets(key)?.into_iter().map(|t| (t.name.clone(), t)).collect(), after, limit))
    }
    fn scans(&self, key: &ConnectionKey) -> Result<Vec<FeedView>, Denied> {
        self.connection(key)?;
        Ok(self.scans.clone())
    }
    fn items(&self, key: &ConnectionKey, few: u64) -> Result<Vec<ItemView>, Denied> {
        self.connection(key)?;
        let own = self.targets.iter().filter(|t| t.connection == key.connection.0 && t.item_count <= few);
        Ok(own.flat_map(|t| t.items.clone()).filter(|i| i.removed_at.is_none()).collect())
    }
    fn target(&self, key: &TargetKey, ask: &ItemsAsk) -> Result<TargetView, Denied> {
        self.connection(&key.connection)?;
        let is = |t: &&TargetView| t.name == key.target.0 && t.connection == key.connection.connection.0;
        let found = self.targets.iter().find(is).cloned();
        let mut target = found.ok_or_else(|| Denied::NotFound(format!("There is no target {key}.")))?;
        (target.items, target.next) = some_items(target.items, ask);
        Ok(target)
    }
    fn flats(&self, organization: &Organization) -> Result<Vec<FlatView>, Denied> {
        let flat = |c: &ConnectionView| {
            let own = self.targets.iter().filter(|t| t.connection == c.name).cloned();
            crate::engine::flat::flat(c, &own.collect::<Vec<_>>())
        };
        Ok(self.connections.iter().filter(|c| c.organization == organization.0).map(flat).collect())
    }
    fn names(&self, organization: &Organization) -> Vec<String> {
        let own = self.connections.iter().filter(|c| c.organization == organization.0);
        own.map(|c| c.name.clone()).collect()
    }
    fn history(&self, key: &TargetKey, ask: &HistoryAsk) -> Result<Paged<HistoryView>, Denied> {
        let target = self.target(key, &ItemsAsk::default())?;
        let all: Vec<_> = if target.as_of.is_some() { self.history.clone() } else { vec![] };
        let wanted = all.into_iter().filter(|h| ask.item.as_ref().is_none_or(|item| *item == h.key));
        Ok(page(wanted.collect(), ask.from, ask.limit, |h| h.seq))
    }
    fn series(&self, key: &TargetKey, item: &str, _: Span) -> Result<SeriesView, Denied> {
        let items = self.target(key, &ItemsAsk::default())?.items;
        let item = items.into_iter().find(|i| i.key == item);
        item.map(|item| views::series(&item)).ok_or_else(|| Denied::NotFound("There is no such item.".to_owned()))
    }
    fn ledger(&self, key: &ConnectionKey, after: Option<u64>, limit: usize) -> Result<Vec<ChargeView>, Denied> {
        self.connection(key)?;
        let own = self.charges.iter().filter(|c| c.connection == key.connection.0).cloned().collect();
        Ok(paged(own, after, limit, |c| c.id.0))
    }
    fn spend_strip(&self, key: &ConnectionKey, slices: usize) -> Result<SpendStrip, Denied> {
        self.connection(key)?;
        let slice = |i: usize| match i {
            _ if key.connection.0 != "yard" => BTreeMap::new(),
            3 => BTreeMap::from([("command", 1), ("refresh", 1)]),
            i if i.is_multiple_of(8) => BTreeMap::from([("poller", 1)]),
            19 => BTreeMap::from([("poller", 1), ("gateway", 2)]),
            _ => BTreeMap::new(),
        };
        Ok(SpendStrip { from: ago(300), until: ago(0), slice_seconds: 10, slices: (0..slices).map(slice).collect() })
    }
    fn burn(&self, key: &ConnectionKey, wanted: Option<(&str, Option<&str>)>) -> Result<Option<BurnView>, Denied> {
        self.connection(key)?;
        Ok((key.connection.as_str() == "yard").then(|| views::burn(wanted)))
    }
    fn stood(&self, key: &ConnectionKey, _: Span) -> Result<StoodView, Denied> {
        self.connection(key)?;
        Ok(views::stood(key))
    }
    fn spend(&self, ask: &SpendAsk) -> Result<SpendView, Denied> {
        let mut sums = BTreeMap::new();
        for (line, spend) in spent() {
            ask.place(&line).into_iter().for_each(|place| *sums.entry(place).or_default() += spend);
        }
        Ok(crate::engine::spending::spend(ask, sums))
    }
    fn job(&self, id: JobId) -> Result<JobView, Denied> {
        self.jobs
            .iter()
            .find(|j| j.id == id)
            .cloned()
            .ok_or_else(|| Denied::NotFound("There is no such job.".to_owned()))
    }
    fn jobs(&self, key: &ConnectionKey, limit: usize) -> Result<Vec<JobView>, Denied> {
        Ok(self.jobs.iter().filter(|j| j.connection == key.connection.0).take(limit).cloned().collect())
    }
    fn activity(&self, ask: &EventsAsk) -> Result<Paged<EventView>, Denied> {
        let wants = |e: &&EventView| {
            let own = |o: &Organization| e.organization.as_ref().is_none_or(|is| *is == o.0);
            let of = |c: &ConnectionName| e.connection.as_ref().is_some_and(|is| *is == c.0);
            EventKind::from_word(e.kind).is_some_and(|kind| ask.audience.may_see(kind))
                && ask.organization.as_ref().is_none_or(own)
                && ask.connection.as_ref().is_none_or(of)
                && ask.kind.is_none_or(|kind| kind.word() == e.kind)
        };
        Ok(page(self.events.iter().filter(wants).cloned().collect(), ask.from, ask.limit, |e| e.id.0))
    }
    fn events_after(&self, after: EventId, limit: usize) -> Result<Vec<EventView>, Denied> {
        Ok(self.events.iter().filter(|e| e.id > after).take(limit).cloned().collect())
    }
    fn findings(&self, wanted: &Wanted, after: Option<u64>, limit: usize) -> Result<Vec<FindingView>, Denied> {
        let is = |f: &FindingView| {
            wanted.organization.as_ref().is_none_or(|o| o.0 == f.organization)
                && wanted.connection.as_ref().is_none_or(|c| Some(&c.0) == f.connection.as_ref())
                && (wanted.which == Which::All || f.closed_at.is_none())
        };
        let all = self.connections.iter().flat_map(|c| c.findings.clone()).chain(self.closed.clone());
        let mut all: Vec<FindingView> = all.filter(is).collect();
        all.sort_by_key(|f| f.id);
        Ok(paged(all, after, limit, |f| f.id.0))
    }
    fn last_event_id(&self) -> EventId {
        self.events.last().map_or(EventId(0), |e| e.id)
    }
    fn subscribe(&self) -> broadcast::Receiver<Event> {
        self.live.subscribe()
    }
    fn show_event(&self, event: &Event) -> EventView {
        EventView {
            id: event.id,
            kind: event.body.kind.word(),
            at: When(event.body.at.wall),
            organization: event.body.connection.as_ref().map(|c| c.organization.0.clone()),
            connection: event.body.connection.as_ref().map(|c| c.connection.0.clone()),
            target: event.body.target.as_ref().map(|t| t.0.clone()),
            message: event.body.message.clone(),
        }
    }
    fn counters(&self) -> Vec<(Counted, Spend)> {
        let connection =
            ConnectionKey { organization: Organization::default(), connection: ConnectionName::from("yard") };
        let endpoint = Endpoint::from("/statusschedule.php");
        let polled = Counted { connection, caller: Caller::Poller, endpoint, outcome: Outcome::Data };
        let refused = Counted { caller: Caller::Refresh, outcome: Outcome::Limited, ..polled.clone() };
        vec![(polled, Spend { requests: 1152, units: 2304 }), (refused, Spend { requests: 2, units: 4 })]
    }
    fn refresh<'a>(&'a self, key: &'a TargetKey, by: &'a str) -> Slow<'a, RefreshView> {
        self.note(format!("{by} refreshes {key}"));
        Box::pin(async move {
            self.refresh.clone()?;
            Ok(RefreshView { refreshed: true, target: self.target(key, &ItemsAsk::default())? })
        })
    }
    fn command<'a>(
        &'a self,
        key: &'a ConnectionKey,
        name: &'a str,
        parameters: BTreeMap<String, String>,
        idempotency_key: Option<String>,
        by: &'a str,
    ) -> Slow<'a, JobView> {
        let keyed = idempotency_key.as_deref().map_or("", |k| if k == "used" { "used" } else { "once" });
        self.note(format!("{by} gives {name} {parameters:?} to {key} {keyed}"));
        Box::pin(async move {
            if keyed == "used" {
                return Err(Denied::KeyReused("That key belongs to another request.".to_owned()));
            }
            self.job(JobId(7))
        })
    }
    fn change<'a>(&'a self, key: &'a ConnectionKey, wanted: Controls, by: &'a str) -> Slow<'a, ConnectionView> {
        self.note(format!("{by} changes {key}: {wanted:?}"));
        Box::pin(async move { self.connection(key) })
    }
    fn set_credential<'a>(
        &'a self,
        key: &'a ConnectionKey,
        secret: Option<String>,
        by: &'a str,
    ) -> Slow<'a, ConnectionView> {
        self.note(format!("{by} gives {key} a credential of {:?} characters", secret.map(|s| s.len())));
        Box::pin(async move { self.connection(key) })
    }
    fn webhooks<'a>(&'a self, key: &'a ConnectionKey) -> Slow<'a, Vec<WebhookView>> {
        let failing = !self.closed.is_empty() && key.connection.as_str() == "yard";
        Box::pin(async move { Ok(if failing { vec![webhooks::dispatch()] } else { Vec::new() }) })
    }
    fn redeliver<'a>(&'a self, key: &'a ConnectionKey, webhook: &'a str, by: &'a str) -> Slow<'a, u64> {
        self.note(format!("{by} sends what {webhook} of {key} gave up again"));
        Box::pin(async move { Ok(1) })
    }
    fn test_webhook<'a>(&'a self, _: &'a ConnectionKey, webhook: &'a str, _: &'a str) -> Slow<'a, WebhookTestView> {
        let sentence = format!("Webhook \"{webhook}\" took the test message.");
        let took_seconds = Seconds::whole(0);
        Box::pin(async move { Ok(WebhookTestView { taken: true, status: Some(204), sentence, took_seconds }) })
    }
    fn probe_cost<'a>(&'a self, key: &'a ConnectionKey, _: Option<&'a str>) -> Slow<'a, ProbeView> {
        Box::pin(async move { Ok(probe(key, None)) })
    }
    fn probe<'a>(&'a self, key: &'a ConnectionKey, _: Option<&'a str>, by: &'a str) -> Slow<'a, ProbeView> {
        self.note(format!("{by} probes {key}"));
        Box::pin(async move { Ok(probe(key, Some(data()))) })
    }
    fn polling(&self) -> Slow<'_, PollingView> {
        Box::pin(async { Ok(polling()) })
    }
    fn change_polling<'a>(&'a self, wanted: PollingControls, by: &'a str) -> Slow<'a, PollingView> {
        self.note(format!("{by} changes the polling: {wanted:?}"));
        Box::pin(async { Ok(polling()) })
    }
    fn put_target<'a>(
        &'a self,
        key: &'a TargetKey,
        body: &'a str,
        phase: Option<Phase>,
        by: &'a str,
    ) -> Slow<'a, (TargetView, bool)> {
        self.note(format!("{by} puts {key} as {body} ({})", phase.map_or("as it is", Phase::word)));
        Box::pin(async move { Ok((self.target(key, &ItemsAsk::default())?, false)) })
    }
    fn set_phase<'a>(&'a self, key: &'a TargetKey, to: Phase, by: &'a str) -> Slow<'a, TargetView> {
        self.note(format!("{by} makes {key} {}", to.word()));
        Box::pin(async move { self.target(key, &ItemsAsk::default()) })
    }
    fn drop_target<'a>(&'a self, key: &'a TargetKey, by: &'a str) -> Slow<'a, ()> {
        self.note(format!("{by} takes {key} away"));
        Box::pin(async move { self.target(key, &ItemsAsk::default()).map(drop) })
    }
    fn patterns(&self, _: &ConnectionKey) -> Vec<String> {
        vec!["zone".to_owned()]
    }
    fn backup<'a>(&'a self, destination: &'a std::path::Path) -> Slow<'a, String> {
        Box::pin(async move { Ok(format!("copied to {}", destination.display())) })
    }
    fn backups(&self) -> Slow<'_, BackupsView> {
        let is_made = self.asked().iter().any(|line| line.ends_with("backs up"));
        let last = is_made.then(|| self.made_backup("ann (page, 127.0.0.1)"));
        let made = ago(105_600);
        let newest = Some(NewestView { name: "larder-20261129T030000Z.redb".to_owned(), made, bytes: 1_523_712 });
        let view = BackupsView { folder: "/srv/<b>/backups".to_owned(), files: 3, newest, last };
        Box::pin(std::future::ready(Ok(view)))
    }
    fn back_up<'a>(&'a self, by: &'a str) -> Slow<'a, BackupView> {
        self.note(format!("{by} backs up"));
        let made = match self.no_room {
            false => Ok(self.made_backup(by)),
            true => Err(Denied::Unavailable(
                "there is no room for /srv/backups/larder.redb: free some space there".to_owned(),
            )),
        };
        Box::pin(std::future::ready(made))
    }
    fn entrance(&self, _: &Organization, _: &str) -> Option<Entrance> {
        None
    }
    fn entrances(&self, _: &str) -> Vec<Entrance> {
        Vec::new()
    }
    fn gateway_counts(&self) -> Vec<(ConnectionKey, How, u64)> {
        Vec::new()
    }
    fn streams(&self) -> BTreeMap<ConnectionKey, Standing> {
        BTreeMap::new()
    }
    fn observe<'a>(&'a self, key: &'a TargetKey, observed: Observed, by: &'a str) -> Slow<'a, ObservationView> {
        self.note(format!("{by} pushes {} to {key}", observed.id));
        let view = ObservationView {
            id: observed.id,
            became: "applied",
            again: false,
            as_of: When(observed.as_of),
            received_at: When(self.now().wall()),
        };
        Box::pin(async move { self.target(key, &ItemsAsk::default()).map(|_| view) })
    }
    fn export(&self) -> Result<String, Denied> {
        Ok("[server]\n".to_owned())
    }
    fn import<'a>(&'a self, _: &'a str, by: Option<&'a str>) -> Slow<'a, ImportView> {
        let line = ImportLine {
            organization: "default".to_owned(),
            connection: "pool".to_owned(),
            becomes: "new",
            notes: vec!["its credential (env POOL_KEY) does not come along: set it here".to_owned()],
        };
        let view = ImportView { connections: vec![line], left_out: vec!["server".to_owned()], done: by.is_some() };
        Box::pin(std::future::ready(Ok(view)))
    }
}
