//! A file with every key, read into its settings.

use super::*;
use crate::domain::event::EventKind;
use crate::domain::gateway::*;
use crate::domain::ids::Caller;
use crate::domain::limit::{Kind, Limit, Scope, TimeOfDay, Weekday};
use crate::domain::outcome::{Outcome, Reach};
use crate::domain::proxy::{Network, TrustedProxy};
use crate::domain::send::SendSpec;
use crate::domain::spec::*;
use crate::domain::time::Span;

const WHOLE: &str = r#"
[server]
listen = "192.0.2.1:80"
data   = "shelf/larder.redb"
hosts  = ["Larder.home.arpa", "192.0.2.1"]
base_path = "/larder/"
trusted_proxy = { addresses = ["10.0.0.0/24", "::1"], user_header = "Remote-User" }
frame_ancestors = ["'self'", "http://homeassistant.local:8123"]
shelf_memory = "64MiB"
shelf_disk   = 1_048_576
environment_file = "keys.env"

[[connection]]
name         = "yard"
organization = "acme"
base_url     = "https://api.example.test/api/v1/"
credential   = { file = "yard.key", header = "Authorization", scheme = "Bearer", same_account = true }
refresh_min_age = "90s"
time_zone       = "America/Los_Angeles"
connect_timeout = "5s"
read_timeout    = "7s"
request_timeout = "20s"
max_body        = "512KiB"
charset         = "iso-8859-1"
salvage         = "nan"
format          = "xml"

[[connection.limit]]
name = "status"
requests = 5
window   = "5m"
kind     = "rolling"
scope    = "endpoint"
keep     = { refresh = 1 }

[[connection.limit]]
name = "day"
requests  = 300
kind      = "daily"
resets_at = "01:30"
time_zone = "Europe/Berlin"

[[connection.limit]]
name = "month"
requests = 1_000
kind     = "monthly"
day      = 31

[[connection.limit]]
name = "week"
requests  = 700
kind      = "weekly"
day       = "sunday"
resets_at = "17:00"
time_zone = "America/New_York"

[[connection.limit]]
name = "ten"
requests = 120
window   = "10m"
kind     = "anchored"

[[connection.limit]]
name = "second"
requests = 2
window = "1s"
kind = "pace"

[[connection.limit]]
name = "minute"
requests = 60
window = "1m"
kind = "fixed"

[[connection.limit]]
name = "open"
requests = 5
kind = "concurrent"
cap  = { poller = 3, gateway = 2 }

[connection.history]
keep = "400d"

[connection.poll]
inactivity_ttl = "48h"
completion_grace = "30m"
enabled  = false
interval = "75s"

[[connection.target]]
name = "controller"
get  = "/statusschedule.php?x=1"
cost = 2
items = "$.relays[*]"
key   = "$.relay_id"
title = "$.name"
fresh_for = "90s"
expires_after = "1d"
volatile = ["$.seen"]
observed_at = { path = "$.measured", as = "epoch-s" }
[connection.target.fields]
remaining = { path = "$.run", as = "seconds-left", when = "@.time == 1" }
name      = { path = "$.name" }
level     = { path = "$.level", as = "number", volatile = true }
[[connection.target.state]]
is    = "running"
when  = "@.time == 1"
until = "remaining"
then  = "idle"
[[connection.target.state]]
is = "idle"

[[connection.command]]
name = "run-zone"
get  = "/setzone.php?action=run&relay_id={item}&custom={seconds}"
then_refresh = "controller"
[[connection.command]]
name  = "stop"
post  = "/stop"
cost  = 2
retry = "idempotent"

[[connection.rule]]
name = "lockout sentence"
outcome = "limited"
status = 200
header = { name = "Content-Type", matches = "^text/" }
body = "too many"
json = "@.error"
hold = "endpoint"
[[connection.rule]]
name = "not yet"
outcome = "not_ready"
status = [409, 425]

[connection.gateway]
enabled      = false
freshness    = "http"
fresh_for    = "7s"
targeted     = ["Surrogate-Control", "CDN-Cache-Control"]
[[connection.gateway.allow]]
methods = ["GET", "POST"]
path    = "/receipts/**"
[[connection.gateway.rule]]
path       = "/receipts/*"
freshness  = "memo"
fresh_for  = "0s"
not_ready  = { status = 409, for = "10m", until = ["write", "target_changed"] }
forgets    = ["/receipts/**"]
stream = true
idempotent = true
narrow     = { parameter = "status", items = "$.data[*]", field = "$.status", whole = "!@.next" }
cost       = 2

[connection.waits]
floor = "10s"
ceiling = "7d"
default = "2m"
"#;

#[test]
fn every_key_is_read() {
    let settings = sound(WHOLE);
    assert_eq!(
        settings.server,
        ServerSpec {
            listen: "192.0.2.1:80".parse().unwrap(),
            data: "/etc/larder/shelf/larder.redb".into(),
            socket: "/etc/larder/shelf/larder.redb.sock".into(),
            hosts: vec!["larder.home.arpa".to_owned(), "192.0.2.1".to_owned()],
            base_path: BasePath::read("/larder").unwrap(),
            trusted_proxy: Some(TrustedProxy {
                networks: ["10.0.0.0/24", "::1"].map(|n| Network::parse(n).unwrap()).to_vec(),
                user_header: Some("remote-user".to_owned()),
            }),
            frame_ancestors: ["'self'", "http://homeassistant.local:8123"].map(str::to_owned).to_vec(),
            shelf: ShelfSpec { memory: 64 << 20, disk: 1 << 20 },
            environment_file: Some("/etc/larder/keys.env".into()),
        }
    );
    let [yard] = settings.connections.as_slice() else { panic!("one connection") };
    assert_eq!(yard.key.to_string(), "acme/yard");
    assert_eq!((yard.provider.as_str(), yard.recipe.as_ref()), ("api.example.test", None));
    assert_eq!(yard.base_url, "https://api.example.test/api/v1");
    assert_eq!(yard.secret, SecretSource::File("/etc/larder/yard.key".into()));
    assert_eq!(yard.carrier, Carrier::Header { name: "Authorization".to_owned(), scheme: Some("Bearer".to_owned()) });
    assert_eq!(yard.new_secret, crate::domain::credential::NewSecret::SameAccount);
    assert_eq!(
        yard.poll,
        PollSpec {
            enabled: false,
            interval: Interval::Every(Span::from_secs(75)),
            inactivity_ttl: Some(Span::from_secs(48 * 3600)),
            completion_grace: Span::from_secs(1800)
        }
    );
    assert_eq!(yard.keep_history, Some(Span::from_secs(400 * 86_400)));
    assert_eq!(yard.refresh_min_age, Span::from_secs(90));
    assert_eq!(yard.time_zone, "America/Los_Angeles");
    let waits = WaitSpec {
        floor: Span::from_secs(10),
        ceiling: Span::from_secs(7 * 86_400),
        default: Span::from_secs(120),
        sources: vec![],
    };
    assert_eq!(yard.waits, waits);
    let (connect_timeout, read_timeout, request_timeout) =
        (Span::from_secs(5), Span::from_secs(7), Span::from_secs(20));
    assert_eq!(yard.network, NetworkSpec { connect_timeout, read_timeout, request_timeout, max_body: 512 * 1024 });
    let reading = ReadingSpec { charset: Some("iso-8859-1".to_owned()), salvage: Salvage::Nan, format: Format::Xml };
    assert_eq!(yard.reading, reading);
}

#[test]
fn every_key_of_a_gateway_is_read() {
    let gateway = sound(WHOLE).connections.remove(0).gateway;
    let text = str::to_owned;
    let not_ready = NotReadySpec {
        status: vec![409],
        lasts: Span::from_secs(600),
        until: vec![Until::Write, Until::Event(EventKind::TargetChanged)],
    };
    let narrow = NarrowSpec {
        parameter: text("status"),
        items: text("$.data[*]"),
        field: text("$.status"),
        whole: Some(text("!@.next")),
    };
    let rule = PathRule {
        path: text("/receipts/*"),
        freshness: Some(Freshness::Memo),
        fresh_for: Some(Span::ZERO),
        not_ready: Some(not_ready),
        forgets: vec![text("/receipts/**")],
        stream: Some(true),
        idempotent: Some(true),
        narrow: Some(narrow),
        cost: Some(2),
    };
    let wanted = GatewaySpec {
        enabled: false,
        freshness: Freshness::Http,
        fresh_for: Span::from_secs(7),
        targeted: vec![text("surrogate-control"), text("cdn-cache-control")],
        allow: vec![Allow { methods: vec![text("GET"), text("POST")], path: text("/receipts/**") }],
        rules: vec![rule],
    };
    assert_eq!(gateway, wanted);
}

#[test]
fn without_a_word_a_gateway_reads_anything_and_remembers_it_for_five_seconds() {
    let settings = sound(&yard(""));
    let gateway = &settings.connections[0].gateway;
    assert!(gateway.enabled && gateway.rules.is_empty());
    assert_eq!(settings.connections[0].new_secret, crate::domain::credential::NewSecret::OwnBudget);
    assert_eq!((gateway.freshness, gateway.fresh_for), (Freshness::Memo, Span::from_secs(5)));
    let everywhere = Allow { methods: vec!["GET".to_owned(), "HEAD".to_owned()], path: "/**".to_owned() };
    assert_eq!(gateway.allow, [everywhere]);
    assert_eq!(settings.server.shelf, ShelfSpec { memory: 32 << 20, disk: 256 << 20 });
}

#[test]
fn every_kind_of_limit_is_read() {
    let limits = sound(WHOLE).connections.remove(0).limits;
    let limit = |name: &str, amount, kind| Limit {
        name: name.to_owned(),
        amount,
        kind,
        scope: Scope::Credential,
        keep: Default::default(),
        cap: Default::default(),
        reach: Default::default(),
    };
    let utc = || "UTC".to_owned();
    let sundays = || Kind::Weekly {
        day: Weekday::Sunday,
        resets_at: TimeOfDay(17 * 60),
        time_zone: "America/New_York".to_owned(),
    };
    let expected = [
        Limit {
            scope: Scope::Endpoint,
            keep: [(Caller::Refresh, 1)].into(),
            ..limit("status", 5, Kind::Rolling { window: Span::from_secs(300) })
        },
        limit("day", 300, Kind::Daily { resets_at: TimeOfDay(90), time_zone: "Europe/Berlin".to_owned() }),
        limit("month", 1000, Kind::Monthly { day: 31, resets_at: TimeOfDay(0), time_zone: utc() }),
        limit("week", 700, sundays()),
        limit("ten", 120, Kind::Anchored { window: Span::from_secs(600) }),
        limit("second", 2, Kind::Pace { window: Span::from_secs(1) }),
        limit("minute", 60, Kind::Fixed { window: Span::from_secs(60) }),
        Limit { cap: [(Caller::Poller, 3), (Caller::Gateway, 2)].into(), ..limit("open", 5, Kind::Concurrent) },
    ];
    assert_eq!(limits, expected);
}

#[test]
fn targets_keep_the_order_of_their_fields_and_states() {
    let target = sound(WHOLE).connections.remove(0).targets.remove(0);
    let field = |name: &str, path: &str, kind| FieldSpec {
        name: name.to_owned(),
        path: path.to_owned(),
        kind,
        when: None,
        volatile: false,
        plausible: Default::default(),
    };
    let state = |is: &str| StateSpec { is: is.to_owned(), when: None, until: None, then: None };
    let expected = TargetSpec {
        name: "controller".into(),
        get: Some("/statusschedule.php?x=1".to_owned()),
        send: SendSpec::default(),
        cost: 2,
        page: None,
        items: "$.relays[*]".to_owned(),
        key: "$.relay_id".to_owned(),
        title: Some("$.name".to_owned()),
        fresh_for: Some(Span::from_secs(90)),
        expires_after: Some(Span::from_secs(86_400)),
        fields: vec![
            FieldSpec { when: Some("@.time == 1".to_owned()), ..field("remaining", "$.run", FieldKind::SecondsLeft) },
            field("name", "$.name", FieldKind::Text),
            FieldSpec { volatile: true, ..field("level", "$.level", FieldKind::Number) },
        ],
        states: vec![
            StateSpec {
                when: Some("@.time == 1".to_owned()),
                until: Some("remaining".to_owned()),
                then: Some("idle".to_owned()),
                ..state("running")
            },
            state("idle"),
        ],
        volatile: vec!["$.seen".to_owned()],
        observed_at: Some(ObservedSpec {
            place: ObservedPlace::Item("$.measured".to_owned()),
            kind: ObservedKind::EpochS,
            time_zone: None,
        }),
        complete: None,
        push: false,
    };
    assert_eq!(target, expected);
}

#[test]
fn commands_and_rules_are_read() {
    let yard = sound(WHOLE).connections.remove(0);
    let [run, stop] = yard.commands.as_slice() else { panic!("two commands") };
    assert_eq!((run.name.as_str(), run.send.method, run.cost, run.retry), ("run-zone", "GET", 1, Retry::Never));
    assert_eq!(run.then_refresh, Some("controller".into()));
    assert_eq!((stop.name.as_str(), stop.send.method, stop.cost, stop.retry), ("stop", "POST", 2, Retry::Idempotent));
    assert_eq!(stop.path, "/stop");
    let lockout = RuleSpec {
        name: "lockout sentence".to_owned(),
        outcome: Some(Outcome::Limited),
        status: vec![200],
        header: Some(("content-type".to_owned(), "^text/".to_owned())),
        body: Some("too many".to_owned()),
        json: Some("@.error".to_owned()),
        hold: Some(Reach::Endpoint),
        limit: None,
    };
    let not_yet = RuleSpec {
        name: "not yet".to_owned(),
        outcome: Some(Outcome::NotReady),
        status: vec![409, 425],
        ..RuleSpec::default()
    };
    assert_eq!(yard.rules, [lockout, not_yet]);
}

#[test]
fn what_is_not_said_has_a_default() {
    let settings = sound(&yard(""));
    assert_eq!(settings.server.listen.to_string(), "127.0.0.1:8474");
    assert_eq!(settings.server.data, Path::new("/etc/larder/larder.redb"));
    let yard = &settings.connections[0];
    assert_eq!(yard.key.to_string(), "default/yard");
    assert_eq!((&yard.secret, &yard.carrier), (&SecretSource::None, &Carrier::None));
    assert_eq!(
        yard.poll,
        PollSpec { enabled: true, interval: Interval::Auto, inactivity_ttl: None, completion_grace: Span::ZERO }
    );
    assert_eq!((&yard.waits, &yard.network), (&WaitSpec::default(), &NetworkSpec::default()));
    assert_eq!((yard.refresh_min_age, yard.time_zone.as_str()), (Span::from_secs(60), "UTC"));
    assert_eq!(sound("").connections, []);
}

#[test]
fn basic_travels_with_a_user_or_with_both_in_the_secret() {
    for (basic, user) in [("\"larder\"", Some("larder".to_owned())), ("true", None)] {
        let settings = sound(&yard(&format!("credential = {{ env = \"X\", basic = {basic} }}")));
        assert_eq!(settings.connections[0].carrier, Carrier::Basic { user });
    }
}

#[test]
fn conditional_requests_are_charged_unless_said_otherwise() {
    assert_eq!(sound(&yard("")).connections[0].conditional, Conditional::Charged);
    for conditional in Conditional::ALL {
        let settings = sound(&yard(&format!("conditional = \"{}\"", conditional.word())));
        assert_eq!(settings.connections[0].conditional, conditional);
    }
}

#[test]
fn a_file_that_is_not_there_says_how_to_name_another() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("larder.toml");
    let said = told(load(&path).expect_err("no file"));
    assert!(said.ends_with("larder.toml: cannot be read (entity not found); write one, or name another with --config"));
    std::fs::write(&path, [0xff, 0xfe]).unwrap();
    assert!(told(load(&path).expect_err("not text")).ends_with("is not UTF-8 text"));
}

#[test]
fn variables_are_looked_up_in_the_environment_file_where_there_is_one() {
    let text =
        format!("[server]\nenvironment_file = \"keys.env\"\n{}", yard("credential = { env = \"X\", query = \"key\" }"));
    let listed = SecretSource::Listed { file: "/etc/larder/keys.env".into(), name: "X".to_owned() };
    assert_eq!(sound(&text).connections[0].secret, listed);
    let own = sound(&yard("credential = { env = \"X\", query = \"key\" }"));
    assert_eq!(own.connections[0].secret, SecretSource::Env("X".to_owned()));
}
