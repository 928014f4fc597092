//! Golden bytes (old files stay readable), round trips, hostile input.

use super::*;
use crate::clock::ClockMark;
use crate::domain::charge::{Charge, Resolution, Settlement};
use crate::domain::connection::{
    Breaker, ConnectionState, Hold, HoldReason, HoldScope, IntervalOverride, Overrides, Ramp, Recent, SpanOverride,
    Switch,
};
use crate::domain::event::{Event, EventKind, NewEvent};
use crate::domain::finding::{Finding, FindingKind, Matter};
use crate::domain::ids::*;
use crate::domain::item::*;
use crate::domain::job::{Job, JobRefresh, JobState};
use crate::domain::outcome::Outcome;
use crate::domain::page::Scan;
use crate::domain::polling::{PollingState, WorkersOverride};
use crate::domain::quota::{Foreign, Learned, LimitKey};
use crate::domain::spec::Interval;
use crate::domain::spend::Spend;
use crate::domain::target::{Life, Phase, PutTarget, TargetState, Trouble};
use crate::domain::time::Span;
use crate::domain::webhook::{DeadLetter, DeliveryTrouble, WebhookState};
use crate::store::TokenRecord;
use crate::store::sealed::Sealed;
use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;
use proptest::sample::select;

fn at(n: u64) -> Stamp {
    Stamp { steady: Steady(n), wall: Wall(n as i64 * 2), era: 1 }
}

fn yard() -> ConnectionKey {
    ConnectionKey { organization: "default".into(), connection: "yard".into() }
}

fn a_charge() -> Charge {
    Charge {
        id: ChargeId(7),
        credential: CredentialId([0xAB; 16]),
        connection: yard(),
        target: Some("controller".into()),
        caller: Caller::Refresh,
        endpoint: "/status".into(),
        cost: 1,
        reserved_at: at(1000),
        deadline: Steady(31_000),
        resolution: Some(Resolution {
            at: at(1500),
            settlement: Settlement::Posted,
            outcome: Outcome::Limited,
            status: Some(200),
            rule: "lockout".into(),
            said: Some("slow down".into()),
            cost: None,
        }),
    }
}

fn a_hold() -> Hold {
    Hold {
        scope: HoldScope::Credential,
        since: at(1),
        until: Steady(300_001),
        reason: HoldReason::RateLimited,
        source: "Retry-After".into(),
        rule: "status 429".into(),
        said: None,
        strikes: 2,
        ramp: None,
    }
}

fn a_webhook() -> (WebhookKey, WebhookState) {
    let state = WebhookState {
        done: EventId(41),
        failures: 3,
        not_before: Some(at(90)),
        trouble: Some(DeliveryTrouble { since: at(7), reason: "the receiver answered 503".into() }),
        delivered_last: Some((at(6), EventId(40))),
        delivered: 12,
        missed: 2,
    };
    (WebhookKey { connection: yard(), webhook: "dispatch".into() }, state)
}

fn a_letter() -> DeadLetter {
    DeadLetter {
        event: Event { id: EventId(9), body: an_event() },
        given_up_at: at(100),
        reason: "the receiver answered 422".into(),
        again: true,
    }
}

fn a_connection() -> ConnectionState {
    ConnectionState {
        last_poll_at: Some(at(5)),
        next_poll_at: Some(at(80)),
        breaker: Breaker::Open { since: at(6), until: Steady(99) },
        failures: 3,
        backoff_ms: 4000,
        last_outcome: Some((at(6), Outcome::Overloaded)),
        enabled: Some(Switch { on: false, by: "ann".into(), at: at(2) }),
        overrides: Overrides {
            interval: Some(IntervalOverride {
                interval: Interval::Every(Span(60_000)),
                until: Some(at(10_800_003)),
                by: "ann".into(),
                at: at(3),
            }),
            standing: Some(IntervalOverride {
                interval: Interval::Every(Span(5000)),
                until: None,
                by: "ann".into(),
                at: at(2),
            }),
            inactivity_ttl: Some(SpanOverride { span: None, by: "ben".into(), at: at(4) }),
            completion_grace: Some(SpanOverride { span: Some(Span(1_800_000)), by: "ann".into(), at: at(5) }),
        },
        recent: Recent { refused: 0b1011, answers: 12, trips: 2 },
    }
}

fn a_target() -> TargetState {
    TargetState {
        as_of: Some(at(5)),
        changed_at: Some(at(4)),
        attempted_at: Some(at(6)),
        generation: 9,
        fingerprint: [3; 16],
        item_count: 2,
        next_seq: 12,
        etag: Some("\"x\"".into()),
        last_modified: None,
        trouble: Some(Trouble {
            since: at(6),
            outcome: Outcome::TimedOut,
            reason: "no answer within 30 s".into(),
            said: None,
            failures: 1,
        }),
        scan: Some(Scan { pages: 2, of: Some(7), incomplete: Some("rate limited".into()), at: at(6), usual_pages: 5 }),
        observed_at: Some(Wall(1_796_000_000_000)),
    }
}

fn a_life() -> Life {
    let (by, why) = (Some("ann".into()), Some("no change".into()));
    Life { phase: Phase::Inactive, since: Some(at(7)), by, why, activated_at: Some(at(3)) }
}

fn a_put() -> PutTarget {
    PutTarget { body: "{\"like\":\"tasks\"}".into(), by: "ann".into(), at: at(2) }
}

fn an_item() -> Item {
    Item {
        key: "3".into(),
        title: "Roses".into(),
        state: Some(ItemState { word: "running".into(), decays: Some((at(60), "idle".into())) }),
        fields: vec![
            ("a".into(), FieldValue::Unknown),
            ("b".into(), FieldValue::Text("t".into())),
            ("c".into(), FieldValue::Number(1.5)),
            ("d".into(), FieldValue::Bool(true)),
            ("e".into(), FieldValue::At(Wall(-1))),
            ("f".into(), FieldValue::Until(at(9))),
            ("g".into(), FieldValue::Left(at(8))),
        ],
        fingerprint: [4; 16],
        first_seen: at(1),
        changed: at(2),
        removed: Some(Removed { at: at(3), last_seen: at(2) }),
    }
}

fn an_entry() -> HistoryEntry {
    HistoryEntry {
        seq: 11,
        at: at(4),
        generation: 9,
        kind: ChangeKind::Reappeared,
        key: "3".into(),
        title: "Roses".into(),
        state: Some("idle".into()),
        detail: vec![FieldChange { field: "b".into(), before: None, after: Some("t".into()) }],
    }
}

fn a_job() -> Job {
    Job {
        id: JobId(2),
        connection: yard(),
        command: "run-zone".into(),
        parameters: [("item".to_owned(), "3".to_owned())].into(),
        state: JobState::Sent,
        created_at: at(1),
        updated_at: at(2),
        by: "operator".into(),
        idempotency_key: Some("k".into()),
        request_digest: [5; 16],
        charge: Some(ChargeId(7)),
        message: Some("sent".into()),
        refresh: Some(JobRefresh { target: "controller".into(), result: "refreshed".into() }),
    }
}

fn an_event() -> NewEvent {
    NewEvent { kind: EventKind::HoldStarted, at: at(4), connection: Some(yard()), target: None, message: "held".into() }
}

fn a_token() -> TokenRecord {
    TokenRecord {
        id: 1,
        name: "phone".into(),
        hash: [6; 32],
        role: "reader".into(),
        organization: "default".into(),
        created_at: at(1),
        revoked_at: Some(at(2)),
        expires_at: None,
    }
}

fn a_sealed() -> Sealed {
    Sealed { version: 2, bytes: vec![0xC0, 0, 1] }
}

fn a_finding() -> Finding {
    Finding {
        id: FindingId(3),
        about: Matter {
            connection: yard(),
            target: Some("controller".into()),
            kind: FindingKind::ForeignSpending,
            subject: "day".into(),
        },
        credential: Some(CredentialId([0xAB; 16])),
        opened_at: at(4),
        last_seen_at: at(9),
        count: 2,
        closed_at: Some(at(10)),
        sentence: "somebody else".into(),
        detail: Some("d".into()),
    }
}

fn a_lesson() -> Learned {
    Learned {
        about: LimitKey { limit: "day".into(), endpoint: Some("/status".into()) },
        source: "x-ratelimit".into(),
        asked_at: at(4),
        foreign: Some(Foreign { units: 300, at: Steady(5), until: Some(Steady(9)) }),
        foreign_streak: 2,
        foreign_seen_at: Some(at(5)),
        nothing_left: true,
        stated: Some(80),
        stated_streak: 1,
        adopted: Some(90),
    }
}

fn a_sum() -> Sum {
    Sum { spend: Spend { requests: 300, units: 620 }, first: ChargeId(70_000) }
}

fn a_polling() -> PollingState {
    PollingState {
        enabled: Some(Switch { on: false, by: "ann".into(), at: at(2) }),
        workers: Some(WorkersOverride { workers: 3, by: "ben".into(), at: at(4) }),
    }
}

fn a_mark() -> ClockMark {
    ClockMark {
        steady: Steady(10),
        wall: Wall(20),
        era: 2,
        boot_id: "b".into(),
        boottime_ms: 5,
        offsets: vec![(10, Steady(1)), (-10, Steady(2))],
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

/// The bytes that the first version wrote. If one of these fails, files in the field can no longer be read: do not change
/// the expectation, add a version.
#[test]
fn golden_bytes() {
    let samples = [
        ("charge", charge(&a_charge())),
        ("item", item(&an_item())),
        ("history", history(&an_entry())),
        ("job", job(&a_job())),
        ("event", event(&an_event())),
        ("mark", mark(&a_mark())),
        ("finding", finding(&a_finding())),
        ("learned", learned(&a_lesson())),
        ("sealed", sealed(&a_sealed())),
        ("sum", sum(&a_sum())),
        ("webhook", webhook(&a_webhook().0, &a_webhook().1)),
        ("dead_letter", dead_letter(&a_letter())),
        ("polling", polling(&a_polling())),
    ];
    let written: Vec<_> = samples.into_iter().map(|(name, bytes)| format!("{name} {}", hex(&bytes.unwrap()))).collect();
    let first: Vec<_> = include_str!("golden_v1.txt").lines().filter(|l| !is_old(l)).collect();
    assert_eq!(written, first);
}

/// Records that have a later form.
fn is_old(line: &str) -> bool {
    ["hold ", "target ", "connection ", "token "].iter().any(|old| line.starts_with(old))
}

/// What the first version wrote and no version writes any more.
#[test]
fn golden_bytes_of_old_forms_are_read() {
    let line = |file: &'static str, name: &str| -> Vec<u8> {
        let line = file.lines().find_map(|l| l.strip_prefix(name)).unwrap().trim();
        (0..line.len()).step_by(2).map(|at| u8::from_str_radix(&line[at..at + 2], 16).unwrap()).collect()
    };
    let bytes = |name: &str| line(include_str!("golden_v1.txt"), name);
    assert_eq!(hold_of(HoldScope::Credential, &bytes("hold ")), Ok(a_hold()));
    assert_eq!(token_of(1, &bytes("token ")), Ok(a_token()));
    let first = ConnectionState { overrides: Overrides::default(), recent: Recent::default(), ..a_connection() };
    assert_eq!(connection_of(&bytes("connection ")), Ok(first));
    assert_eq!(target_of(&bytes("target ")), Ok(TargetState { scan: None, observed_at: None, ..a_target() }));
    let second = line(include_str!("golden_v2.txt"), "connection ");
    let overrides = Overrides { standing: None, ..a_connection().overrides };
    assert_eq!(connection_of(&second), Ok(ConnectionState { overrides, ..a_connection() }));
    let second = line(include_str!("golden_v2.txt"), "target ");
    assert_eq!(target_of(&second), Ok(TargetState { observed_at: None, ..a_target() }));
    assert_eq!(target_of(&line(include_str!("golden_v3.txt"), "target ")), Ok(a_target()));
}

/// As for the first forms: never to be changed.
#[test]
fn golden_bytes_of_second_forms() {
    let easing = Hold { ramp: Some(Ramp { since: at(7), steps: 1 }), ..a_hold() };
    let written = format!("hold {}", hex(&hold(&easing).unwrap()));
    assert_eq!(Some(written.as_str()), include_str!("golden_v2.txt").lines().find(|l| l.starts_with("hold ")));
}

#[test]
fn golden_bytes_of_third_forms() {
    let written = format!("connection {}", hex(&connection(&a_connection()).unwrap()));
    assert_eq!(Some(written.as_str()), include_str!("golden_v3.txt").lines().find(|l| l.starts_with("connection ")));
}

#[test]
fn golden_bytes_of_fourth_forms() {
    let (controller, name) = (TargetKey { connection: yard(), target: "eco-7".into() }, "put_target");
    let samples =
        [("target", target(&a_target())), ("life", life(&a_life())), (name, put_target(&controller, &a_put()))];
    let written: Vec<_> = samples.into_iter().map(|(name, bytes)| format!("{name} {}", hex(&bytes.unwrap()))).collect();
    assert_eq!(written, include_str!("golden_v4.txt").lines().collect::<Vec<_>>());
}

#[test]
fn golden_bytes_are_read_back() {
    assert_eq!(charge_of(7, &charge(&a_charge()).unwrap()), Ok(a_charge()));
    assert_eq!(hold_of(HoldScope::Credential, &hold(&a_hold()).unwrap()), Ok(a_hold()));
    assert_eq!(connection_of(&connection(&a_connection()).unwrap()), Ok(a_connection()));
    assert_eq!(target_of(&target(&a_target()).unwrap()), Ok(a_target()));
    assert_eq!(life_of(&life(&a_life()).unwrap()), Ok(a_life()));
    let eco = TargetKey { connection: yard(), target: "eco-7".into() };
    assert_eq!(put_target_of(&put_target(&eco, &a_put()).unwrap()), Ok(("eco-7".into(), a_put())));
    assert_eq!(item_of("3".into(), &item(&an_item()).unwrap()), Ok(an_item()));
    assert_eq!(history_of(11, &history(&an_entry()).unwrap()), Ok(an_entry()));
    assert_eq!(job_of(2, &job(&a_job()).unwrap()), Ok(a_job()));
    assert_eq!(event_of(1, &event(&an_event()).unwrap()).map(|e| e.body), Ok(an_event()));
    assert_eq!(token_of(1, &token(&a_token()).unwrap()), Ok(a_token()));
    assert_eq!(mark_of(&mark(&a_mark()).unwrap()), Ok(a_mark()));
    assert_eq!(sealed_of(&sealed(&a_sealed()).unwrap()), Ok(a_sealed()));
    assert_eq!(polling_of(&polling(&a_polling()).unwrap()), Ok(a_polling()));
    assert_eq!(finding_of(3, &finding(&a_finding()).unwrap()), Ok(a_finding()));
    assert_eq!(learned_of(&learned(&a_lesson()).unwrap()), Ok(a_lesson()));
    assert_eq!(sum_of(&sum(&a_sum()).unwrap()), Ok(a_sum()));
    let (key, state) = a_webhook();
    assert_eq!(webhook_of(&webhook(&key, &state).unwrap()), Ok((key, state)));
    assert_eq!(dead_letter_of(9, &dead_letter(&a_letter()).unwrap()), Ok(a_letter()));
}

#[test]
fn another_version_is_named() {
    let mut bytes = hold(&a_hold()).unwrap();
    bytes[0] = 9;
    assert!(hold_of(HoldScope::Credential, &bytes).unwrap_err().0.contains("unknown version 9"));
}

#[test]
fn what_could_not_be_read_is_not_written() {
    let big = Item { title: "x".repeat(2 << 20), ..an_item() };
    assert!(item(&big).unwrap_err().0.contains("at most"));
    let wide = Item { fields: vec![("f".into(), FieldValue::Unknown); 1025], ..an_item() };
    assert!(item(&wide).unwrap_err().0.contains("1024"));
    let widest = Item { fields: vec![("f".into(), FieldValue::Left(at(9))); 1024], ..an_item() };
    assert_eq!(item_of("3".into(), &item(&widest).unwrap()), Ok(widest));
    let longest = Item { title: "x".repeat((1 << 20) - 500), ..an_item() };
    assert_eq!(item_of("3".into(), &item(&longest).unwrap()), Ok(longest));
}

#[test]
fn a_charge_is_judged_without_decoding_it() {
    let bytes = charge(&a_charge()).unwrap();
    let row = peek(&bytes).unwrap();
    assert_eq!((row.credential, row.reserved, row.pending), (CredentialId([0xAB; 16]), Steady(1000), false));
    assert!(row.is_of(&yard()));
    assert!(!row.is_of(&ConnectionKey { connection: "yar".into(), ..yard() }));
    assert!(!row.is_of(&ConnectionKey { organization: "d".into(), ..yard() }));
    let pending = charge(&Charge { resolution: None, ..a_charge() }).unwrap();
    assert!(peek(&pending).unwrap().pending);
}

#[test]
fn a_charge_that_contradicts_itself_is_damage() {
    let mut bytes = charge(&a_charge()).unwrap();
    bytes[25] = 1;
    assert!(charge_of(7, &bytes).is_err());
}

fn stamp() -> impl Strategy<Value = Stamp> {
    (any::<u64>(), any::<i64>(), any::<u32>()).prop_map(|(steady, wall, era)| Stamp {
        steady: Steady(steady),
        wall: Wall(wall),
        era,
    })
}

fn text() -> impl Strategy<Value = String> {
    "\\PC{0,12}"
}

fn field() -> impl Strategy<Value = FieldValue> {
    prop_oneof![
        Just(FieldValue::Unknown),
        text().prop_map(FieldValue::Text),
        any::<f64>().prop_map(FieldValue::Number),
        any::<bool>().prop_map(FieldValue::Bool),
        any::<i64>().prop_map(|w| FieldValue::At(Wall(w))),
        stamp().prop_map(FieldValue::Until),
        stamp().prop_map(FieldValue::Left),
    ]
}

fn items() -> impl Strategy<Value = Item> {
    let state = (text(), of((stamp(), text()))).prop_map(|(word, decays)| ItemState { word, decays });
    let removed = (stamp(), stamp()).prop_map(|(at, last_seen)| Removed { at, last_seen });
    (text(), text(), of(state), vec((text(), field()), 0..6), any::<[u8; 16]>(), stamp(), stamp(), of(removed))
        .prop_map(|(key, title, state, fields, fingerprint, first_seen, changed, removed)| Item {
            key,
            title,
            state,
            fields,
            fingerprint,
            first_seen,
            changed,
            removed,
        })
}

fn charges() -> impl Strategy<Value = Charge> {
    let settlement = select(vec![Settlement::Posted, Settlement::Voided]);
    let resolution = (stamp(), settlement, select(Outcome::ALL.to_vec()), of(any::<u16>()), text(), of(text()))
        .prop_map(|(at, settlement, outcome, status, rule, said)| Resolution {
            at,
            settlement,
            outcome,
            status,
            rule,
            said,
            cost: None,
        });
    let who = (any::<u64>(), any::<[u8; 16]>(), text(), "\\PC{0,300}", of(text()), select(Caller::ALL.to_vec()));
    (who, text(), any::<u32>(), stamp(), any::<u64>(), of(resolution)).prop_map(
        |(
            (id, credential, organization, connection, target, caller),
            endpoint,
            cost,
            reserved_at,
            deadline,
            resolution,
        )| {
            Charge {
                id: ChargeId(id),
                credential: CredentialId(credential),
                connection: ConnectionKey {
                    organization: Organization(organization),
                    connection: ConnectionName(connection),
                },
                target: target.map(TargetName),
                caller,
                endpoint: Endpoint(endpoint),
                cost,
                reserved_at,
                deadline: Steady(deadline),
                resolution,
            }
        },
    )
}

fn connections() -> impl Strategy<Value = ConnectionState> {
    let breaker = prop_oneof![
        Just(Breaker::Closed),
        (stamp(), any::<u64>()).prop_map(|(since, until)| Breaker::Open { since, until: Steady(until) }),
        stamp().prop_map(|since| Breaker::HalfOpen { since }),
    ];
    let switch = (any::<bool>(), text(), stamp()).prop_map(|(on, by, at)| Switch { on, by, at });
    let last = of((stamp(), select(Outcome::ALL.to_vec())));
    let recent = (any::<u32>(), any::<u32>(), any::<u32>()).prop_map(|(refused, answers, trips)| Recent {
        refused,
        answers,
        trips,
    });
    (of(stamp()), of(stamp()), breaker, any::<u32>(), any::<u64>(), last, of(switch), (overrides(), recent)).prop_map(
        |(last_poll_at, next_poll_at, breaker, failures, backoff_ms, last_outcome, enabled, (overrides, recent))| {
            ConnectionState {
                last_poll_at,
                next_poll_at,
                breaker,
                failures,
                backoff_ms,
                last_outcome,
                enabled,
                overrides,
                recent,
            }
        },
    )
}

fn overrides() -> impl Strategy<Value = Overrides> {
    let interval = prop_oneof![Just(Interval::Auto), any::<u64>().prop_map(|ms| Interval::Every(Span(ms)))];
    let interval = (interval, of(stamp()), text(), stamp()).prop_map(|(interval, until, by, at)| IntervalOverride {
        interval,
        until,
        by,
        at,
    });
    let interval = interval.boxed();
    let intervals = (of(interval.clone()), of(interval));
    let span =
        || (of(any::<u64>().prop_map(Span)), text(), stamp()).prop_map(|(span, by, at)| SpanOverride { span, by, at });
    (intervals, of(span()), of(span())).prop_map(|((interval, standing), inactivity_ttl, completion_grace)| Overrides {
        interval,
        standing,
        inactivity_ttl,
        completion_grace,
    })
}

fn targets() -> impl Strategy<Value = TargetState> {
    let trouble = (stamp(), select(Outcome::ALL.to_vec()), text(), of(text()), any::<u32>())
        .prop_map(|(since, outcome, reason, said, failures)| Trouble { since, outcome, reason, said, failures });
    let times = (of(stamp()), of(stamp()), of(stamp()));
    let counts = (any::<u64>(), any::<[u8; 16]>(), any::<u64>(), any::<u64>());
    let scan = (any::<u32>(), of(any::<u64>()), of(text()), stamp(), any::<u32>())
        .prop_map(|(pages, of, incomplete, at, usual_pages)| Scan { pages, of, incomplete, at, usual_pages });
    let observed = of(any::<i64>().prop_map(Wall));
    (times, counts, of(text()), of(text()), of(trouble), of(scan), observed).prop_map(
        |(
            (as_of, changed_at, attempted_at),
            (generation, fingerprint, item_count, next_seq),
            etag,
            lm,
            trouble,
            scan,
            observed_at,
        )| {
            TargetState {
                as_of,
                changed_at,
                attempted_at,
                generation,
                fingerprint,
                item_count,
                next_seq,
                etag,
                last_modified: lm,
                trouble,
                scan,
                observed_at,
            }
        },
    )
}

fn jobs() -> impl Strategy<Value = Job> {
    let states = vec![JobState::Queued, JobState::Sent, JobState::Done, JobState::Failed, JobState::Unknown];
    let refresh = (text(), text()).prop_map(|(target, result)| JobRefresh { target: TargetName(target), result });
    let parameters = proptest::collection::btree_map(text(), text(), 0..4);
    let rest = (of(text()), any::<[u8; 16]>(), of(any::<u64>()), of(text()), of(refresh));
    (any::<u64>(), text(), parameters, select(states), stamp(), stamp(), text(), rest).prop_map(
        |(
            id,
            command,
            parameters,
            state,
            created_at,
            updated_at,
            by,
            (key, request_digest, charge, message, refresh),
        )| Job {
            id: JobId(id),
            connection: yard(),
            command,
            parameters,
            state,
            created_at,
            updated_at,
            by,
            idempotency_key: key,
            request_digest,
            charge: charge.map(ChargeId),
            message,
            refresh,
        },
    )
}

proptest! {
    #[test]
    fn items_come_back(i in items()) {
        prop_assert_eq!(item_of(i.key.clone(), &item(&i).unwrap()), Ok(i));
    }

    #[test]
    fn charges_come_back(c in charges()) {
        let bytes = charge(&c).unwrap();
        let row = peek(&bytes).unwrap();
        prop_assert_eq!((row.credential, row.reserved), (c.credential, c.reserved_at.steady));
        prop_assert_eq!(row.pending, c.resolution.is_none());
        prop_assert!(row.is_of(&c.connection));
        prop_assert_eq!(charge_of(c.id.0, &bytes), Ok(c));
    }

    #[test]
    fn connections_come_back(c in connections()) {
        prop_assert_eq!(connection_of(&connection(&c).unwrap()), Ok(c));
    }

    #[test]
    fn targets_come_back(t in targets()) {
        prop_assert_eq!(target_of(&target(&t).unwrap()), Ok(t));
    }

    #[test]
    fn lives_and_put_targets_come_back(phase in select(Phase::ALL.to_vec()), since in of(stamp()), activated_at in of(stamp()),
                                       words in (of(text()), of(text()), text(), text()), at in stamp()) {
        let (by, why, name, body) = words;
        let l = Life { phase, since, by, why, activated_at };
        prop_assert_eq!(life_of(&life(&l).unwrap()), Ok(l));
        let (key, put) = (TargetKey { connection: yard(), target: TargetName(name) }, PutTarget { by: body.clone(), body, at });
        prop_assert_eq!(put_target_of(&put_target(&key, &put).unwrap()), Ok((key.target, put)));
    }

    #[test]
    fn jobs_come_back(j in jobs()) {
        prop_assert_eq!(job_of(j.id.0, &job(&j).unwrap()), Ok(j));
    }

    #[test]
    fn history_comes_back(seq in any::<u64>(), at in stamp(), kind in select(vec![ChangeKind::Appeared, ChangeKind::Changed, ChangeKind::Removed, ChangeKind::Reappeared]),
                          words in (text(), text(), of(text())), detail in vec((text(), of(text()), of(text())), 0..5)) {
        let (key, title, state) = words;
        let detail = detail.into_iter().map(|(field, before, after)| FieldChange { field, before, after }).collect();
        let entry = HistoryEntry { seq, at, generation: seq / 2, kind, key, title, state, detail };
        prop_assert_eq!(history_of(seq, &history(&entry).unwrap()), Ok(entry));
    }

    #[test]
    fn small_ones_come_back(until in any::<u64>(), since in stamp(), words in (text(), text(), of(text())), strikes in any::<u32>(),
                            reason in select(HoldReason::ALL.to_vec()),
                            kind in select(EventKind::ALL.to_vec()), offsets in vec((any::<i64>(), any::<u64>()), 0..4)) {
        let (a, b, c) = words;
        let scope = HoldScope::Endpoint("/a".into());
        let ramp = (strikes % 2 == 0).then_some(Ramp { since, steps: strikes });
        let h = Hold { scope, since, until: Steady(until), reason, source: a.clone(), rule: b.clone(), said: c.clone(), strikes, ramp };
        prop_assert_eq!(hold_of(h.scope.clone(), &hold(&h).unwrap()), Ok(h));
        let e = NewEvent { kind, at: since, connection: c.as_ref().map(|_| yard()), target: c.clone().map(TargetName), message: a.clone() };
        prop_assert_eq!(event_of(until, &event(&e).unwrap()).map(|e| e.body), Ok(e));
        let offsets = offsets.into_iter().map(|(o, s)| (o, Steady(s))).collect();
        let m = ClockMark { steady: Steady(until), wall: since.wall, era: strikes, boot_id: b, boottime_ms: until, offsets };
        prop_assert_eq!(mark_of(&mark(&m).unwrap()), Ok(m));
    }

    #[test]
    fn findings_come_back(id in any::<u64>(), times in (stamp(), stamp(), of(stamp())), kind in select(FindingKind::ALL.to_vec()), count in any::<u64>(),
                          words in (text(), text(), of(text()), of(text())), credential in of(any::<[u8; 16]>())) {
        let (subject, sentence, detail, target) = words;
        let about = Matter { connection: yard(), target: target.map(TargetName), kind, subject };
        let (opened_at, last_seen_at, closed_at) = times;
        let f = Finding { id: FindingId(id), about, credential: credential.map(CredentialId), opened_at, last_seen_at, count, closed_at, sentence, detail };
        prop_assert_eq!(finding_of(id, &finding(&f).unwrap()), Ok(f));
    }

    /// Whatever the bytes are: a value or an error, never a panic, never an allocation that the input only claims.
    #[test]
    fn hostile_bytes_are_survived(mut bytes in vec(any::<u8>(), 0..200), known in any::<bool>()) {
        if known && !bytes.is_empty() {
            bytes[0] = 1 + bytes[0] % 2;
        }
        read_as_everything(&bytes);
    }

    /// Real records with a byte changed or cut off: the harder case.
    #[test]
    fn mutated_records_are_survived(which in 0usize..16, place in any::<prop::sample::Index>(), byte in any::<u8>(), cut in any::<bool>()) {
        let samples = [charge(&a_charge()), hold(&a_hold()), connection(&a_connection()), target(&a_target()), item(&an_item()),
            history(&an_entry()), job(&a_job()), event(&an_event()), token(&a_token()), mark(&a_mark()), finding(&a_finding()), learned(&a_lesson()), sealed(&a_sealed()), sum(&a_sum()), life(&a_life()), polling(&a_polling())];
        let mut bytes = samples[which].clone().unwrap();
        let place = place.index(bytes.len());
        if cut { bytes.truncate(place) } else { bytes[place] = byte }
        read_as_everything(&bytes);
    }
}

fn read_as_everything(bytes: &[u8]) {
    let _ = peek(bytes).map(|row| row.is_of(&yard()));
    let _ = (
        charge_of(1, bytes),
        hold_of(HoldScope::Credential, bytes),
        connection_of(bytes),
        target_of(bytes),
        (life_of(bytes), put_target_of(bytes)),
        item_of(String::new(), bytes),
    );
    let _ = (history_of(1, bytes), job_of(1, bytes), event_of(1, bytes), token_of(1, bytes), mark_of(bytes));
    let _ = (finding_of(1, bytes), learned_of(bytes), sealed_of(bytes), sum_of(bytes), polling_of(bytes));
}
