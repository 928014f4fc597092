//! The records of the sample morning.

use super::{NOW, ago};
use crate::domain::event::EventKind;
use crate::domain::ids::*;
use crate::domain::outcome::Outcome;
use crate::domain::spend::{Hour, Spend, SpendLine};
use crate::domain::state::State;
use crate::engine::access::tokens::TokenInfo;
use crate::engine::view::*;
use std::collections::BTreeMap;

pub fn tokens() -> Vec<(&'static str, TokenInfo)> {
    let token = |id, role: &str, organization: &str, revoked_at| TokenInfo {
        id,
        name: format!("{role} of {organization}"),
        role: role.to_owned(),
        organization: Organization::from(organization),
        created_at: ago(86_400),
        revoked_at,
        expires_at: None,
        used_at: None,
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
        banner: banner("Everything is as it should be.", &format!("Next poll at {}.", told(-34, "09:20 CET")), None),
        turns: turns(),
        enabled: true,
        hold: None,
        endpoint_holds: vec![],
        passing_holds: vec![],
        recovery: None,
        breaker: "closed",
        budget: vec![
            BudgetView {
                limit: "status".to_owned(),
                endpoint: Some("/statusschedule.php".to_owned()),
                kind: "rolling",
                requests: 5,
                declared: 5,
                window_seconds: Some(Seconds::whole(300)),
                used: 3,
                foreign: 0,
                remaining: 2,
                kept: 1,
                next_free_at: Some(ago(-72)),
                period_begins: None,
                resets_at: None,
                planned_used: Some(4),
                used_by: BTreeMap::from([("poller", 3)]),
                keeps: BTreeMap::from([("refresh", 1)]),
                caps: BTreeMap::new(),
                share: None,
            },
            BudgetView {
                limit: "account".to_owned(),
                endpoint: None,
                kind: "daily",
                requests: 2000,
                declared: 2000,
                window_seconds: Some(Seconds::whole(86_400)),
                used: 412,
                foreign: 0,
                remaining: 1588,
                kept: 40,
                next_free_at: Some(ago(-56_400)),
                period_begins: Some("00:00 UTC".to_owned()),
                resets_at: Some(ago(-56_400)),
                planned_used: Some(400),
                used_by: BTreeMap::from([("poller", 390), ("refresh", 14), ("command", 8)]),
                keeps: BTreeMap::from([("command", 20), ("refresh", 20)]),
                caps: BTreeMap::new(),
                share: Some(PartView {
                    units: 980,
                    floor: 196,
                    used: 412,
                    held: 0,
                    held_for_others: 300,
                    others: 1,
                    sentence: "Divided with 1 other organization on the same credential; 300 held for others. This organization's share is 980 (196 never lent): 412 used."
                        .to_owned(),
                }),
            },
        ],
        poll: PollView {
            interval_seconds: Seconds::whole(75),
            effective_interval_seconds: Seconds::whole(75),
            stretched: None,
            last_poll_at: Some(ago(41)),
            next_poll_at: Some(ago(-34)),
        },
        controls: ControlsView {
            enabled: ControlView { configured: true, set: None },
            interval: ControlView { configured: IntervalView::Every(Seconds::whole(75)), set: None },
            inactivity_ttl_seconds: ControlView { configured: None, set: None },
            completion_grace_seconds: ControlView { configured: Some(Seconds::whole(0)), set: None },
        },
        credential: CredentialView {
            configured: Some("the file /etc/larder/yard.key".to_owned()),
            set: None,
            same_account: false,
            since: None,
        },
        forecast: ForecastView { requests_per_day: 1152, units_per_day: 1152, ceiling_targets: Some(1) },
        oldest_age_seconds: Some(41),
        oldest_since: Some(ago(41)),
        findings: vec![],
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

/// A moment in a sentence.
pub fn told(seconds_ago: i64, here: &str) -> String {
    instant(ago(seconds_ago).0, here)
}

pub fn banner(what: &str, change: &str, action: Option<ActionView>) -> BannerView {
    BannerView {
        what: what.into(),
        since: None,
        works: format!("The values of {} are shown, with their age.", told(41, "09:19 CET")).into(),
        change: change.into(),
        changes_at: Some(ago(-34)),
        action,
    }
}

/// Refused at 09:14, until 09:24.
pub fn refused() -> BannerView {
    let see = ActionView { kind: ActionKind::SeeRequests, label: "See the last requests", requests: 0, target: None };
    BannerView {
        since: Some(ago(330)),
        works: format!(
            "The values of {} are shown, with their age. Nothing is requested meanwhile, so no quota is lost.",
            told(400, "09:13 CET")
        )
        .into(),
        changes_at: Some(ago(-270)),
        ..banner(
            &format!("hydrawise rate limited us at {}.", told(330, "09:14 CET")),
            &format!("Held until {}.", told(-270, "09:24 CET")),
            Some(see),
        )
    }
}

fn never() -> BannerView {
    let ask = ActionView { kind: ActionKind::Refresh, label: "Ask now", requests: 1, target: Some("up".to_owned()) };
    let banner = banner("Not polled yet.", &format!("First request at {}.", told(-300, "09:25 CET")), Some(ask));
    BannerView { works: "There is nothing on the shelf yet.".into(), changes_at: Some(ago(-300)), ..banner }
}

/// Due in 42 s, stale in 50 s, and too old to use an hour after the answer.
fn turns() -> Vec<TurnView> {
    [(State::Ageing, -42), (State::Stale, -50), (State::Expired, -3559)]
        .map(|(state, at)| TurnView { state, at: ago(at) })
        .to_vec()
}

/// A probe of the controller.
pub fn probe(key: &ConnectionKey, probed: Option<Probed>) -> ProbeView {
    ProbeView {
        connection: key.connection.to_string(),
        target: "controller".to_owned(),
        endpoint: "/statusschedule.php".to_owned(),
        caller: "probe",
        requests: 1,
        units: 1,
        refused: None,
        budget: Vec::new(),
        probed,
    }
}

pub fn data() -> Probed {
    Probed { outcome: "data", status: Some(200), rule: "JSON".to_owned(), said: None, units: 1, at: ago(0) }
}

/// The whole process, as configured.
pub fn polling() -> PollingView {
    PollingView {
        enabled: true,
        enabled_configured: true,
        enabled_set: None,
        workers: 8,
        workers_configured: 8,
        workers_set: None,
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
            declared: 60,
            window_seconds: Some(Seconds::whole(3600)),
            used: 0,
            foreign: 0,
            remaining: 60,
            kept: 0,
            next_free_at: None,
            period_begins: None,
            resets_at: None,
            planned_used: None,
            used_by: BTreeMap::new(),
            keeps: BTreeMap::new(),
            caps: BTreeMap::new(),
            share: None,
        }],
        poll: PollView {
            interval_seconds: Seconds::whole(300),
            effective_interval_seconds: Seconds::whole(300),
            stretched: None,
            last_poll_at: None,
            next_poll_at: Some(ago(-300)),
        },
        banner: never(),
        turns: vec![],
        oldest_age_seconds: None,
        oldest_since: None,
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
        observed_at: None,
        reading_age_seconds: None,
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
        phase_since: None,
        phase_by: None,
        phase_why: None,
        origin: "configured",
        endpoint: Some("/statusschedule.php".to_owned()),
        state: State::Fresh,
        sentence: "Answered at 09:19; fresh until 09:20.".to_owned(),
        banner: banner("Everything is as it should be.", &format!("Next poll at {}.", told(-34, "09:20 CET")), None),
        turns: turns(),
        available: true,
        expires_at: Some(ago(-3559)),
        as_of: Some(ago(41)),
        age_seconds: Some(41),
        aged_since: Some(ago(41)),
        observed_at: None,
        reading_age_seconds: None,
        fresh: true,
        fresh_for_seconds: Seconds::whole(90),
        stale: None,
        changed_at: Some(ago(370)),
        attempted_at: Some(ago(41)),
        item_count: 4,
        generation: 17,
        scan: None,
        fed_by: None,
        pushed: None,
        refresh: RefreshCost { requests: 1, units_each: 1 },
        items: vec![
            water,
            zone("5144", "Back lawn"),
            zone("5145", "Hedge & roses"),
            zone("5146", "Vegetable bed"),
            greenhouse,
        ],
        next: None,
        etag: "0011223344556677".to_owned(),
        reason: "".into(),
        is_undated: false,
    }
}

pub fn up() -> TargetView {
    TargetView {
        name: "up".to_owned(),
        connection: "cellar".to_owned(),
        state: State::Never,
        sentence: "Not polled yet: first request at 09:25.".to_owned(),
        banner: never(),
        turns: vec![],
        available: false,
        expires_at: None,
        as_of: None,
        age_seconds: None,
        aged_since: None,
        fresh: false,
        fresh_for_seconds: Seconds::whole(600),
        changed_at: None,
        attempted_at: None,
        item_count: 0,
        generation: 0,
        scan: None,
        fed_by: None,
        pushed: None,
        refresh: RefreshCost { requests: 1, units_each: 1 },
        items: vec![],
        etag: "0000000000000000".to_owned(),
        reason: format!("Not polled yet: first request at {}.", told(-300, "09:25 CET")).into(),
        ..controller()
    }
}

pub fn history() -> Vec<HistoryView> {
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

pub fn charges() -> Vec<ChargeView> {
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

pub fn jobs() -> Vec<JobView> {
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

pub fn event(id: u64, kind: EventKind, at: i64, target: Option<&str>, message: &str) -> EventView {
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

pub fn events() -> Vec<EventView> {
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

pub fn foreign_spending() -> FindingView {
    FindingView {
        id: FindingId(2),
        organization: "default".to_owned(),
        connection: Some("yard".to_owned()),
        target: None,
        kind: "foreign_spending",
        subject: Some("account".to_owned()),
        opened_at: ago(7000),
        last_seen_at: ago(330),
        count: 12,
        closed_at: None,
        sentence: "Somebody else spends on this credential: 38 of the 2000 of limit \"account\" were not ours."
            .to_owned(),
        detail: Some("The provider says 1550 are left; by our own charges it would be 1588.".to_owned()),
    }
}

pub fn was_empty() -> FindingView {
    FindingView {
        id: FindingId(1),
        target: Some("controller".to_owned()),
        kind: "sudden_emptiness",
        subject: None,
        opened_at: ago(90_000),
        last_seen_at: ago(90_000),
        count: 1,
        closed_at: Some(ago(89_925)),
        sentence: "hydrawise answered controller with nothing, where 4 items were at 08:19.".to_owned(),
        detail: None,
        ..foreign_spending()
    }
}

/// Three days of spending, of two connections; in the yard somebody was refused.
pub fn spent() -> Vec<(SpendLine, Spend)> {
    let line = |hours_ago: i64, connection: &str, caller, outcome, target: Option<&str>, endpoint: &str| SpendLine {
        hour: Hour(Hour::of(NOW).0 - hours_ago),
        connection: ConnectionKey { organization: Organization::default(), connection: connection.into() },
        caller,
        outcome,
        endpoint: endpoint.into(),
        target: target.map(TargetName::from),
    };
    let status =
        |ago, caller, outcome| line(ago, "yard", caller, Some(outcome), Some("controller"), "/statusschedule.php");
    let spend = |requests, units| Spend { requests, units };
    let mut lines: Vec<_> = (0..72).map(|ago| (status(ago, Caller::Poller, Outcome::Data), spend(48, 48))).collect();
    lines.extend([
        (status(0, Caller::Poller, Outcome::Limited), spend(1, 1)),
        (status(0, Caller::Refresh, Outcome::Data), spend(3, 3)),
        (status(30, Caller::Poller, Outcome::Unreachable), spend(2, 0)),
        (line(0, "yard", Caller::Command, Some(Outcome::Data), None, "/setzone.php"), spend(2, 2)),
        (line(0, "yard", Caller::Refresh, None, Some("controller"), "/statusschedule.php"), spend(1, 1)),
        (line(20, "cellar", Caller::Poller, Some(Outcome::Data), Some("up"), "/up <b>"), spend(10, 50)),
    ]);
    lines
}

/// The yard was held for ten minutes, and Larder was away for a quarter of an hour before that.
pub fn stood(key: &ConnectionKey) -> StoodView {
    let stretch = |from, until, state| StoodStretch { from: ago(from), until: ago(until), state };
    let stretches = match key.connection.as_str() {
        "yard" => vec![
            stretch(86_400, 30_000, Some(State::Fresh)),
            stretch(30_000, 29_100, None),
            stretch(29_100, 9_000, Some(State::Fresh)),
            stretch(9_000, 8_400, Some(State::Held)),
            stretch(8_400, 0, Some(State::Fresh)),
        ],
        _ => Vec::new(),
    };
    StoodView { from: ago(86_400), until: ago(0), stretches }
}

/// The day of the account began at 01:00 in Zurich; a fifth of it is spent.
pub fn burn(wanted: Option<(&str, Option<&str>)>) -> BurnView {
    let level = |seconds, left| LevelView { at: ago(seconds), left };
    let limits = [("status", Some("/statusschedule.php")), ("account", None)];
    let (limit, endpoint) = limits.into_iter().find(|l| Some(*l) == wanted).unwrap_or(("account", None));
    BurnView {
        limit: limit.to_owned(),
        endpoint: endpoint.map(str::to_owned),
        requests: 2000,
        used: 412,
        foreign: 0,
        remaining: 1588,
        kept: 40,
        resets_at: Some(ago(-56_400)),
        from: ago(30_000),
        now: ago(0),
        until: ago(-56_400),
        actual: vec![level(30_000, 2000.0), level(9_000, 1700.0), level(8_400, 1700.0), level(0, 1588.0)],
        planned: vec![level(30_000, 2000.0), level(-56_400, 848.0)],
        projected: vec![level(0, 1588.0), level(-56_400, 836.0)],
        looked_at_seconds: Seconds::whole(21_600),
        runs_out_at: None,
        spare: 796,
        limits: limits.map(|(l, e)| (l.to_owned(), e.map(str::to_owned))).to_vec(),
    }
}

/// The zone ran twice; nobody saw it for a quarter of an hour, and for an hour it was not in the answers.
pub fn series(item: &ItemView) -> SeriesView {
    let points = |points: &[(i64, Option<&str>)]| {
        points.iter().map(|(at, value)| (ago(*at), value.map(str::to_owned))).collect::<Vec<_>>()
    };
    let state = points(&[
        (86_400, Some("idle")),
        (50_000, Some("running")),
        (49_400, Some("idle")),
        (40_000, None),
        (36_400, Some("idle")),
        (370, Some("running")),
    ]);
    let seconds = points(&[(86_400, Some("600")), (60_000, Some("900")), (40_000, None), (36_400, Some("300"))]);
    SeriesView {
        key: item.key.clone(),
        title: item.title.clone(),
        from: ago(86_400),
        until: ago(0),
        fields: vec![
            FieldSeries { field: "state".to_owned(), points: state },
            FieldSeries { field: "planned_seconds".to_owned(), points: seconds },
        ],
        stale: vec![(ago(30_000), ago(29_100))],
        stale_known_from: None,
        cut_at: None,
        kept_for: None,
    }
}
