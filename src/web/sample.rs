//! A hand-made shelf for tests: the irrigation case on one morning, calm or locked out, without engine and without clock.

use super::shelf::{RequestCount, Shelf, Slow};
use crate::domain::event::{Event, EventKind, NewEvent};
use crate::domain::ids::*;
use crate::domain::outcome::Outcome;
use crate::domain::state::State;
use crate::domain::time::{ClockTrust, Now, Stamp, Steady, Wall};
use crate::engine::appliance::{Health, TokenInfo};
use crate::engine::view::*;
use std::collections::BTreeMap;
use std::sync::Mutex;
use tokio::sync::broadcast;

/// 2026-11-30 08:20:00 UTC: 09:20 in Zurich.
pub const NOW: Wall = Wall(1_796_026_800_000);

/// A moment `seconds` before now; negative lies ahead.
pub fn ago(seconds: i64) -> When {
    When(Wall(NOW.0 - seconds * 1000))
}

/// What is on the shelf, and what was asked of it.
pub struct Sample {
    pub connections: Vec<ConnectionView>,
    pub targets: Vec<TargetView>,
    pub history: Vec<HistoryView>,
    pub charges: Vec<ChargeView>,
    pub jobs: Vec<JobView>,
    pub events: Vec<EventView>,
    pub tokens: Vec<(&'static str, TokenInfo)>,
    pub notes: Vec<String>,
    pub refresh: Result<(), Denied>,
    /// Every change that was asked for, as a line.
    pub asked: Mutex<Vec<String>>,
    pub live: broadcast::Sender<Event>,
}

impl Sample {
    /// Nothing configured.
    pub fn empty() -> Sample {
        Sample {
            connections: Vec::new(),
            targets: Vec::new(),
            history: Vec::new(),
            charges: Vec::new(),
            jobs: Vec::new(),
            events: Vec::new(),
            tokens: tokens(),
            notes: Vec::new(),
            refresh: Ok(()),
            asked: Mutex::new(Vec::new()),
            live: broadcast::channel(4).0,
        }
    }

    /// Water runs, everything is fresh, the fifth request is kept.
    pub fn calm() -> Sample {
        Sample {
            connections: vec![yard(), cellar()],
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
        yard.hold = Some(HoldView {
            since: ago(330),
            until: ago(-270),
            reason: "rate_limited",
            said: Some(said.to_owned()),
            rule: "lockout sentence".to_owned(),
            source: "window of limit \"status\"".to_owned(),
        });
        yard.budget[0].used = 5;
        yard.budget[0].remaining = 0;
        yard.budget[0].kept = 0;
        yard.budget[0].next_free_at = Some(ago(-30));
        yard.budget[0].used_by = BTreeMap::from([("poller", 4), ("refresh", 1)]);
        yard.oldest_age_seconds = Some(372);
        yard.poll.next_poll_at = Some(ago(-270));
        let controller = &mut sample.targets[0];
        controller.state = State::Held;
        controller.sentence = "Values are 6 min old. The provider refused the last request; the next one goes out at 09:24.".to_owned();
        controller.as_of = Some(ago(372));
        controller.age_seconds = Some(372);
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
    fn note(&self, line: String) {
        self.asked.lock().unwrap().push(line);
    }
}

fn tokens() -> Vec<(&'static str, TokenInfo)> {
    let token = |id, role: &str, organization: &str, revoked_at| TokenInfo {
        id,
        name: format!("{role} of {organization}"),
        role: role.to_owned(),
        organization: Organization::from(organization),
        created_at: ago(86_400),
        revoked_at,
    };
    vec![
        ("admin-token", token(1, "admin", "default", None)),
        ("owner-token", token(2, "owner", "default", None)),
        ("reader-token", token(3, "reader", "default", None)),
        ("agent-token", token(4, "agent", "default", None)),
        ("north-token", token(5, "owner", "north", None)),
        ("revoked-token", token(6, "admin", "default", Some(ago(60)))),
    ]
}

pub fn yard() -> ConnectionView {
    ConnectionView {
        name: "yard".to_owned(),
        organization: "default".to_owned(),
        provider: "hydrawise".to_owned(),
        state: State::Fresh,
        sentence: "Answered at 09:19; the next poll comes at 09:20.".to_owned(),
        enabled: true,
        hold: None,
        breaker: "closed",
        budget: vec![
            BudgetView {
                limit: "status".to_owned(),
                endpoint: Some("/statusschedule.php".to_owned()),
                kind: "rolling",
                requests: 5,
                window_seconds: Some(300),
                used: 3,
                remaining: 2,
                kept: 1,
                next_free_at: Some(ago(-72)),
                used_by: BTreeMap::from([("poller", 3)]),
            },
            BudgetView {
                limit: "account".to_owned(),
                endpoint: None,
                kind: "daily",
                requests: 2000,
                window_seconds: Some(86_400),
                used: 412,
                remaining: 1588,
                kept: 40,
                next_free_at: None,
                used_by: BTreeMap::from([("poller", 390), ("refresh", 14), ("command", 8)]),
            },
        ],
        poll: PollView {
            interval_seconds: 75,
            effective_interval_seconds: 75,
            last_poll_at: Some(ago(41)),
            next_poll_at: Some(ago(-34)),
        },
        forecast: ForecastView { requests_per_day: 1152, ceiling_targets: 1 },
        oldest_age_seconds: Some(41),
        targets: vec!["controller".to_owned()],
        commands: vec![
            CommandView {
                name: "run-zone".to_owned(),
                parameters: vec!["item".to_owned(), "seconds".to_owned()],
                retry: "never",
            },
            CommandView { name: "stop-all".to_owned(), parameters: vec![], retry: "idempotent" },
        ],
    }
}

/// A second connection without limits worth a word, that has not been asked yet.
pub fn cellar() -> ConnectionView {
    ConnectionView {
        name: "cellar".to_owned(),
        provider: "prometheus.local".to_owned(),
        state: State::Never,
        sentence: "Not polled yet: first request at 09:25.".to_owned(),
        budget: vec![BudgetView {
            limit: "gentle".to_owned(),
            endpoint: None,
            kind: "pace",
            requests: 60,
            window_seconds: Some(3600),
            used: 0,
            remaining: 60,
            kept: 0,
            next_free_at: None,
            used_by: BTreeMap::new(),
        }],
        poll: PollView {
            interval_seconds: 300,
            effective_interval_seconds: 300,
            last_poll_at: None,
            next_poll_at: Some(ago(-300)),
        },
        oldest_age_seconds: None,
        targets: vec!["up".to_owned()],
        commands: vec![],
        ..yard()
    }
}

pub fn controller() -> TargetView {
    let zone = |key: &str, title: &str| ItemView {
        key: key.to_owned(),
        title: title.to_owned(),
        state: Some("idle".to_owned()),
        decays: None,
        fields: vec![
            ("next_run".to_owned(), FieldShown::At(ago(-41_000))),
            ("remaining".to_owned(), FieldShown::Unknown),
            ("minutes".to_owned(), FieldShown::Number(12.5)),
        ],
        first_seen_at: ago(40 * 86_400),
        last_seen_at: ago(41),
        changed_at: ago(3 * 3600),
        removed_at: None,
    };
    let mut water = zone("5143", "Water: front lawn");
    water.state = Some("running".to_owned());
    water.decays = Some(DecayView { seen: "running".to_owned(), ends_at: ago(-230), then: "idle".to_owned() });
    water.fields[0].1 = FieldShown::At(ago(-86_400 + 1200));
    water.fields[1].1 = FieldShown::SecondsLeft(230);
    water.changed_at = ago(370);
    let mut greenhouse = zone("5147", "Greenhouse <script>alert(1)</script>");
    greenhouse.removed_at = Some(ago(2 * 86_400));
    greenhouse.last_seen_at = ago(2 * 86_400 + 75);
    TargetView {
        name: "controller".to_owned(),
        organization: "default".to_owned(),
        connection: "yard".to_owned(),
        phase: "active",
        state: State::Fresh,
        sentence: "Answered at 09:19; fresh until 09:20.".to_owned(),
        as_of: Some(ago(41)),
        age_seconds: Some(41),
        fresh: true,
        fresh_for_seconds: 90,
        stale: None,
        changed_at: Some(ago(370)),
        attempted_at: Some(ago(41)),
        item_count: 4,
        generation: 17,
        items: vec![
            water,
            zone("5144", "Back lawn"),
            zone("5145", "Hedge & roses"),
            zone("5146", "Vegetable bed"),
            greenhouse,
        ],
        etag: "0011223344556677".to_owned(),
    }
}

pub fn up() -> TargetView {
    TargetView {
        name: "up".to_owned(),
        connection: "cellar".to_owned(),
        state: State::Never,
        sentence: "Not polled yet: first request at 09:25.".to_owned(),
        as_of: None,
        age_seconds: None,
        fresh: false,
        fresh_for_seconds: 600,
        changed_at: None,
        attempted_at: None,
        item_count: 0,
        generation: 0,
        items: vec![],
        etag: "0000000000000000".to_owned(),
        ..controller()
    }
}

fn history() -> Vec<HistoryView> {
    let entry = |seq, at, kind, title: &str, state: Option<&str>, changes| HistoryView {
        seq,
        at: ago(at),
        generation: seq,
        kind,
        key: "5143".to_owned(),
        title: title.to_owned(),
        state: state.map(str::to_owned),
        changes,
    };
    let change = |field: &str, before: &str, after: &str| FieldChangeView {
        field: field.to_owned(),
        before: Some(before.to_owned()),
        after: Some(after.to_owned()),
    };
    vec![
        entry(14, 40 * 86_400, "appeared", "Water: front lawn", Some("idle"), vec![]),
        entry(15, 2 * 86_400, "removed", "Greenhouse", Some("idle"), vec![]),
        entry(16, 3 * 3600, "changed", "Back lawn", Some("idle"), vec![change("minutes", "10", "12.5")]),
        entry(17, 370, "changed", "Water: front lawn", Some("running"), vec![change("state", "idle", "running")]),
    ]
}

fn charges() -> Vec<ChargeView> {
    let charge = |id, at, caller, outcome, settlement, status| ChargeView {
        id: ChargeId(id),
        at: ago(at),
        connection: "yard".to_owned(),
        target: Some("controller".to_owned()),
        caller,
        endpoint: "/statusschedule.php".to_owned(),
        cost: 1,
        outcome,
        settlement,
        status,
        resolved_at: Some(ago(at - 1)),
        rule: None,
        said: None,
    };
    let mut refused = charge(1018, 1000, "poller", "limited", "posted", Some(200));
    refused.said = Some("API rate limit exceeded <i>soon</i>".to_owned());
    vec![
        refused,
        charge(1019, 700, "poller", "unreachable", "voided", None),
        charge(1020, 400, "command", "data", "posted", Some(200)),
        charge(1021, 370, "refresh", "data", "posted", Some(200)),
        charge(1022, 191, "poller", "data", "posted", Some(200)),
        charge(1023, 116, "poller", "not_modified", "posted", Some(304)),
        charge(1024, 41, "poller", "data", "posted", Some(200)),
    ]
}

fn jobs() -> Vec<JobView> {
    let job = |id, at, state, message: Option<&str>, refresh: Option<&str>| JobView {
        id: JobId(id),
        organization: "default".to_owned(),
        connection: "yard".to_owned(),
        command: "run-zone".to_owned(),
        parameters: BTreeMap::from([("item".to_owned(), "5143".to_owned()), ("seconds".to_owned(), "600".to_owned())]),
        state,
        created_at: ago(at),
        updated_at: ago(at - 2),
        by: "anna".to_owned(),
        message: message.map(str::to_owned),
        refresh: refresh.map(|r| JobRefreshView { target: "controller".to_owned(), result: r.to_owned() }),
    };
    vec![
        job(7, 400, "done", Some("Starting zone Front lawn."), Some("refreshed at 09:13")),
        job(6, 90_000, "unknown", Some("The appliance stopped between sending and the answer."), None),
        job(5, 180_000, "failed", Some("The provider refused: <relay> not found."), None),
    ]
}

fn event(id: u64, kind: EventKind, at: i64, target: Option<&str>, message: &str) -> EventView {
    EventView {
        id: EventId(id),
        kind: kind.word(),
        at: ago(at),
        organization: Some("default".to_owned()),
        connection: Some("yard".to_owned()),
        target: target.map(str::to_owned),
        message: message.to_owned(),
    }
}

fn events() -> Vec<EventView> {
    vec![
        event(1, EventKind::Appliance, 7200, None, "Started; the file was closed cleanly, no request is replayed."),
        event(2, EventKind::TargetTroubled, 1000, Some("controller"), "rate limited: the provider refused a poll."),
        event(3, EventKind::HoldStarted, 1000, None, "yard is held until 09:08: rate limited."),
        event(4, EventKind::HoldEnded, 700, None, "The hold on yard ended."),
        event(5, EventKind::JobChanged, 398, None, "Run zone (item 5143, seconds 600) is done."),
        event(6, EventKind::TargetChanged, 370, Some("controller"), "1 item changed: Water: front lawn."),
        event(7, EventKind::ControlChanged, 120, None, "anna resumed polling."),
    ]
}

/// A live event that the sample's `show_event` turns into a view of the default organization.
pub fn live(id: u64, kind: EventKind, connection: Option<(&str, &str)>) -> Event {
    let at = Stamp { steady: Steady(1), wall: NOW, era: 0 };
    let connection =
        connection.map(|(o, c)| ConnectionKey { organization: Organization::from(o), connection: ConnectionName::from(c) });
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
            started_at: ago(7200),
            notes: self.notes.clone(),
        }
    }
    fn connections(&self) -> Result<Vec<ConnectionView>, Denied> {
        Ok(self.connections.clone())
    }
    fn connection(&self, key: &ConnectionKey) -> Result<ConnectionView, Denied> {
        let is = |c: &&ConnectionView| c.name == key.connection.0 && c.organization == key.organization.0;
        self.connections.iter().find(is).cloned().ok_or_else(|| Denied::NotFound(format!("There is no connection {key}.")))
    }
    fn targets(&self, key: &ConnectionKey) -> Result<Vec<TargetView>, Denied> {
        self.connection(key)?;
        let own = self.targets.iter().filter(|t| t.connection == key.connection.0).cloned();
        Ok(own.map(|t| TargetView { items: vec![], ..t }).collect())
    }
    fn target(&self, key: &TargetKey) -> Result<TargetView, Denied> {
        self.connection(&key.connection)?;
        let is = |t: &&TargetView| t.name == key.target.0 && t.connection == key.connection.connection.0;
        self.targets.iter().find(is).cloned().ok_or_else(|| Denied::NotFound(format!("There is no target {key}.")))
    }
    fn history(&self, key: &TargetKey, after: Option<u64>, limit: usize) -> Result<Vec<HistoryView>, Denied> {
        let target = self.target(key)?;
        let all: Vec<_> = if target.as_of.is_some() { self.history.clone() } else { vec![] };
        Ok(paged(all, after, limit, |h| h.seq))
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
    fn job(&self, id: JobId) -> Result<JobView, Denied> {
        self.jobs.iter().find(|j| j.id == id).cloned().ok_or_else(|| Denied::NotFound("There is no such job.".to_owned()))
    }
    fn jobs(&self, key: &ConnectionKey, limit: usize) -> Result<Vec<JobView>, Denied> {
        Ok(self.jobs.iter().filter(|j| j.connection == key.connection.0).take(limit).cloned().collect())
    }
    fn activity(&self, key: Option<&ConnectionKey>, limit: usize) -> Result<Vec<EventView>, Denied> {
        let ours = |e: &&EventView| key.is_none_or(|k| e.connection.as_deref() == Some(k.connection.as_str()));
        Ok(self.events.iter().rev().filter(ours).take(limit).cloned().collect())
    }
    fn events_after(&self, after: EventId, limit: usize) -> Result<Vec<EventView>, Denied> {
        Ok(self.events.iter().filter(|e| e.id > after).take(limit).cloned().collect())
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
    fn counters(&self) -> Vec<RequestCount> {
        let yard = ConnectionKey { organization: Organization::default(), connection: ConnectionName::from("yard") };
        vec![((yard.clone(), Caller::Poller, Outcome::Data), 1152), ((yard, Caller::Refresh, Outcome::Limited), 2)]
    }
    fn refresh<'a>(&'a self, key: &'a TargetKey, by: &'a str) -> Slow<'a, RefreshView> {
        self.note(format!("{by} refreshes {key}"));
        Box::pin(async move {
            self.refresh.clone()?;
            Ok(RefreshView { refreshed: true, target: self.target(key)? })
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
    fn set_enabled<'a>(&'a self, key: &'a ConnectionKey, on: Option<bool>, by: &'a str) -> Slow<'a, ConnectionView> {
        self.note(format!("{by} sets {key} to {on:?}"));
        Box::pin(async move { self.connection(key) })
    }
    fn check_token(&self, text: &str) -> Option<TokenInfo> {
        self.tokens.iter().find(|(t, info)| *t == text && info.revoked_at.is_none()).map(|(_, info)| info.clone())
    }
}

fn paged<T: Clone>(all: Vec<T>, after: Option<u64>, limit: usize, id: impl Fn(&T) -> u64) -> Vec<T> {
    match after {
        Some(after) => all.into_iter().filter(|x| id(x) > after).take(limit).collect(),
        None => all[all.len().saturating_sub(limit)..].to_vec(),
    }
}
