//! Who is polled under which rules, how the network and the clocks of this world are, all by its seed.

use crate::dice::Dice;
use crate::issuer::ENDPOINT;
use crate::machine::Ms;
use crate::provider::{MOVED, ROWS};
use larder::domain::credential::NewSecret;
use larder::domain::ids::{Caller, ConnectionKey, ConnectionName, CredentialId, Organization, TargetName};
use larder::domain::limit::{Kind, Limit, Scope, TimeOfDay, Weekday};
use larder::domain::oauth::{ClientAuth, Counted, OAuthSpec, Rotation};
use larder::domain::outcome::Outcome;
use larder::domain::page::{PageSpec, PageStyle, Placing, ValueSource};
use larder::domain::send::SendSpec;
use larder::domain::spec::*;
use larder::domain::time::{Span, Wall};
use std::collections::{BTreeMap, BTreeSet};

pub const MINUTE: Ms = 60_000;
pub const HOUR: Ms = 60 * MINUTE;

/// How the clocks of this world misbehave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clocks {
    /// A battery-backed clock that is right; power cuts happen.
    Honest,
    /// The wall clock is set wrong and put right again, up to hours; no power cut.
    Stepping,
    /// No battery: after a power cut the wall clock shows the date of the firmware, and is put right some minutes later. (A clock
    /// that goes on from where it was saved at shutdown cannot be told from a right one: nothing here claims that.)
    NoBattery,
}

impl Clocks {
    pub fn power_may_fail(self) -> bool {
        self != Clocks::Stepping
    }
}

/// Shares of requests that meet each fate, in permille; the rest is answered well.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Weather {
    pub unreachable: u64,
    pub lost_before: u64,
    pub lost_after: u64,
    pub silent: u64,
    pub slow: u64,
    pub sentence: u64,
    pub too_many: u64,
    pub overloaded: u64,
    pub garbled: u64,
    /// An empty list where there is something.
    pub hollow: u64,
    /// 401 and 403.
    pub rejected: u64,
    /// 410.
    pub gone: u64,
    /// A redirect to another path of the same host.
    pub moved: u64,
}

impl Weather {
    /// Every request is answered well, a few slowly.
    pub fn is_calm(&self) -> bool {
        Weather { slow: 0, ..*self } == Weather::ALL_ZERO
    }

    pub const CALM: Weather = Weather { slow: 10, ..Weather::ALL_ZERO };
    const ROUGH: Weather = Weather {
        unreachable: 40,
        lost_before: 30,
        lost_after: 40,
        silent: 40,
        slow: 60,
        overloaded: 20,
        garbled: 20,
        hollow: 40,
        moved: 30,
        ..Weather::ALL_ZERO
    };
    const ANGRY: Weather = Weather {
        sentence: 80,
        too_many: 80,
        overloaded: 40,
        garbled: 40,
        silent: 20,
        hollow: 60,
        rejected: 12,
        gone: 2,
        moved: 60,
        ..Weather::ALL_ZERO
    };
    const ALL_ZERO: Weather = Weather {
        unreachable: 0,
        lost_before: 0,
        lost_after: 0,
        silent: 0,
        slow: 0,
        sentence: 0,
        too_many: 0,
        overloaded: 0,
        garbled: 0,
        hollow: 0,
        rejected: 0,
        gone: 0,
        moved: 0,
    };
}

#[derive(Clone, Debug)]
pub struct Scenario {
    pub connections: Vec<ConnectionSpec>,
    pub credentials: BTreeMap<ConnectionKey, CredentialId>,
    pub clocks: Clocks,
    pub weather: Weather,
    /// Whether the provider hands out validators and answers 304.
    pub validators: bool,
    /// The provider's clock runs ahead of true time by this.
    pub skew: Ms,
    pub began: Wall,
    pub lasts: Ms,
    /// Mean time between deaths.
    pub lives: Ms,
    /// Now and then the disk is full for a while.
    pub fills: bool,
    /// Somebody else spends from the limit, and the provider says what is left.
    pub shared: bool,
    /// Operators replace credentials now and then.
    pub rotates: bool,
}

impl Scenario {
    pub fn draw(seed: u64) -> Scenario {
        let dice = &mut Dice::new(seed ^ 0x5ce_a210);
        let clocks = *dice.pick(&[Clocks::Honest, Clocks::Honest, Clocks::Stepping, Clocks::NoBattery]);
        let connections = match (dice.below(3), clocks) {
            (0, Clocks::Honest | Clocks::Stepping) => field(dice),
            (1, Clocks::Honest | Clocks::Stepping) => meter(dice),
            _ => yard(dice),
        };
        let credentials = connections.iter().map(|c| (c.key.clone(), CREDENTIAL)).collect();
        // Midnight in New York on the day before its clock changes, an hour or two away.
        let midnight = 1_805_000_400_000;
        Scenario {
            connections,
            credentials,
            clocks,
            weather: *dice.pick(&[Weather::CALM, Weather::ROUGH, Weather::ROUGH, Weather::ANGRY]),
            validators: dice.chance(500),
            skew: dice.between(0, 4_000) as Ms - 2_000,
            began: Wall(midnight - dice.between(0, 2 * HOUR as u64) as Ms),
            lasts: 3 * HOUR,
            lives: *dice.pick(&[5 * MINUTE, 20 * MINUTE, HOUR]),
            fills: dice.chance(300),
            shared: false,
            rotates: false,
        }
    }

    /// The world of a seed with another house in it: a shop whose one list comes page by page.
    pub fn draw_paged(seed: u64) -> Scenario {
        let connections = shop(&mut Dice::new(seed ^ 0x0009_a9e5));
        let credentials = connections.iter().map(|c| (c.key.clone(), CREDENTIAL)).collect();
        let drawn = Scenario::draw(seed);
        // An empty page is the end of a list, and no emptiness.
        let weather = Weather { hollow: 0, moved: 0, ..drawn.weather };
        Scenario { connections, credentials, weather, validators: false, fills: false, ..drawn }
    }

    /// The world of a seed with a car in it, whose credential renews itself.
    pub fn draw_tokens(seed: u64) -> Scenario {
        let connections = car(&mut Dice::new(seed ^ 0x0070_c3a5));
        let credentials = connections.iter().map(|c| (c.key.clone(), CREDENTIAL)).collect();
        let drawn = Scenario::draw(seed);
        // Who is let in and who is not is the tokens' business here. No clock is lost: how old a token is must be known.
        let weather = Weather { moved: 0, rejected: 0, gone: 0, ..drawn.weather };
        let clocks = if drawn.clocks == Clocks::NoBattery { Clocks::Honest } else { drawn.clocks };
        Scenario { connections, credentials, weather, clocks, fills: false, ..drawn }
    }

    /// The world of a seed with a meter in it whose key somebody else uses too.
    pub fn draw_shared(seed: u64) -> Scenario {
        let dice = &mut Dice::new(seed ^ 0x00f0_4e16);
        let window = Span::from_secs(*dice.pick(&[120, 300]));
        let limits = vec![limit("window", dice.between(5, 9), Kind::Fixed { window })];
        let interval = Span::from_secs(*dice.pick(&[30, 60]));
        let targets = vec![target("readings", "/readings", Span::from_secs(300))];
        let connections = vec![connection("meter", interval, limits, targets)];
        let credentials = connections.iter().map(|c| (c.key.clone(), CREDENTIAL)).collect();
        let drawn = Scenario::draw(seed);
        // Refusals are the limit's own here.
        let weather = Weather { moved: 0, rejected: 0, gone: 0, too_many: 0, sentence: 0, hollow: 0, ..drawn.weather };
        Scenario { connections, credentials, weather, clocks: Clocks::Honest, fills: false, shared: true, ..drawn }
    }

    /// The world of a seed in which credentials are replaced, by other keys of one account or by those of others.
    pub fn draw_rotating(seed: u64, new_secret: NewSecret) -> Scenario {
        let drawn = Scenario::draw(seed);
        let carrier = Carrier::Query { name: "key".to_owned() };
        // All are one provider's: what it allows one key it allows every other.
        let limits = drawn.limits();
        let rotating = |c: &ConnectionSpec| ConnectionSpec {
            carrier: carrier.clone(),
            new_secret,
            limits: limits.clone(),
            ..c.clone()
        };
        let connections = drawn.connections.iter().map(rotating).collect();
        Scenario { connections, rotates: true, ..drawn }
    }

    pub fn connection(&self, name: &str) -> &ConnectionSpec {
        let found = self.connections.iter().find(|c| c.key.connection.as_str() == name);
        found.unwrap_or_else(|| panic!("no connection {name}"))
    }

    /// Every limit of the one credential, each once.
    pub fn limits(&self) -> Vec<Limit> {
        let mut limits: Vec<Limit> = Vec::new();
        for limit in self.connections.iter().flat_map(|c| &c.limits) {
            if !limits.contains(limit) {
                limits.push(limit.clone());
            }
        }
        limits
    }

    /// Every endpoint that is ever asked.
    pub fn endpoints(&self) -> BTreeSet<String> {
        let targets = self.connections.iter().flat_map(|c| &c.targets).filter_map(|t| t.endpoint());
        let commands = self.connections.iter().flat_map(|c| &c.commands).map(|c| c.endpoint());
        let moved = targets.clone().map(|e| format!("{MOVED}{e}"));
        targets.chain(commands).map(|e| e.to_string()).chain(moved).collect()
    }

    /// The interval that polls of a connection keep; `auto` is reckoned here by hand, for worlds with one target: what is not kept for
    /// others, evenly over its window.
    pub fn interval(&self, spec: &ConnectionSpec) -> Ms {
        let Interval::Auto = spec.poll.interval else {
            let Interval::Every(every) = spec.poll.interval else { return 0 };
            return every.0 as Ms;
        };
        let even = |limit: &Limit| match limit.kind {
            Kind::Rolling { window } | Kind::Fixed { window } | Kind::Anchored { window } => {
                window.0.div_ceil(limit.amount - limit.kept()) as Ms
            }
            _ => 0,
        };
        spec.limits.iter().map(even).max().unwrap_or(0)
    }

    /// The least that a refusal without an announced wait holds for.
    pub fn unannounced_hold(&self) -> Ms {
        if self.connections.iter().any(|c| c.key.connection.as_str() == "yard") { 5 * MINUTE } else { 5_000 }
    }
}

const CREDENTIAL: CredentialId = CredentialId([3; 16]);

fn key(name: &str) -> ConnectionKey {
    ConnectionKey { organization: Organization::default(), connection: ConnectionName::from(name) }
}

pub fn limit(name: &str, amount: u64, kind: Kind) -> Limit {
    let (keep, cap) = (BTreeMap::new(), BTreeMap::new());
    Limit { name: name.to_owned(), amount, kind, scope: Scope::Credential, keep, reach: Default::default(), cap }
}

pub fn target(name: &str, get: &str, fresh_for: Span) -> TargetSpec {
    let field = |name: &str, path: &str, kind| FieldSpec {
        name: name.to_owned(),
        path: path.to_owned(),
        kind,
        when: None,
        volatile: false,
        plausible: Default::default(),
    };
    TargetSpec {
        name: TargetName::from(name),
        get: Some(get.to_owned()),
        send: SendSpec::default(),
        cost: 1,
        page: None,
        items: "$.items[*]".to_owned(),
        key: "$.id".to_owned(),
        title: Some("$.name".to_owned()),
        fresh_for: Some(fresh_for),
        expires_after: None,
        fields: vec![field("level", "$.level", FieldKind::Number), field("left", "$.left", FieldKind::SecondsLeft)],
        states: Vec::new(),
        volatile: Vec::new(),
        observed_at: None,
        complete: None,
        push: false,
    }
}

fn command(then_refresh: &str) -> CommandSpec {
    CommandSpec {
        name: "run".to_owned(),
        path: "/run?relay={item}&tag={tag}".to_owned(),
        send: SendSpec::default(),
        cost: 1,
        then_refresh: Some(TargetName::from(then_refresh)),
        retry: Retry::Never,
    }
}

pub fn connection(name: &str, interval: Span, limits: Vec<Limit>, targets: Vec<TargetSpec>) -> ConnectionSpec {
    let sentence = RuleSpec {
        name: "lockout sentence".to_owned(),
        outcome: Some(Outcome::Limited),
        body: Some("asked too often".to_owned()),
        ..RuleSpec::default()
    };
    ConnectionSpec {
        key: key(name),
        provider: "simulated".to_owned(),
        recipe: None,
        base_url: "http://provider.test".to_owned(),
        secret: SecretSource::None,
        carrier: Carrier::None,
        new_secret: Default::default(),
        oauth: None,
        conditional: Conditional::default(),
        limits,
        quotas: Vec::new(),
        poll: PollSpec {
            enabled: true,
            interval: Interval::Every(interval),
            inactivity_ttl: None,
            completion_grace: Span::ZERO,
        },
        scans: Vec::new(),
        commands: vec![command(targets[0].name.as_str())],
        targets,
        rules: vec![sentence],
        waits: WaitSpec::default(),
        network: NetworkSpec { request_timeout: Span::from_secs(20), ..NetworkSpec::default() },
        reading: ReadingSpec::default(),
        time_zone: "UTC".to_owned(),
        keep_history: None,
        webhooks: Vec::new(),
        refresh_min_age: Span::from_secs(60),
        gateway: Default::default(),
    }
}

/// I: five requests per five minutes and endpoint, the fifth kept.
fn yard(dice: &mut Dice) -> Vec<ConnectionSpec> {
    let mut status = limit("status", 5, Kind::Rolling { window: Span::from_secs(300) });
    status.scope = Scope::Endpoint;
    status.keep.insert(Caller::Refresh, 1);
    let interval = Span::from_secs(*dice.pick(&[75, 75, 90, 300]));
    let fresh_for = Span::from_secs(*dice.pick(&[90, 120, 600]));
    let mut yard = connection("yard", interval, vec![status], vec![target("controller", "/status", fresh_for)]);
    leave_to_the_budget(&mut yard, dice);
    vec![yard]
}

/// F: two connections with one credential; a pace or a rolling second, a day or a week in the vendor's zone, and few in flight.
fn field(dice: &mut Dice) -> Vec<ConnectionSpec> {
    let zone = "America/New_York".to_owned();
    let mut flight = limit("flight", 3, Kind::Concurrent);
    flight.cap.insert(Caller::Poller, 2);
    // Midnight on that day is the beginning of both.
    let long = match dice.chance(300) {
        true => Kind::Weekly { day: Weekday::Sunday, resets_at: TimeOfDay(0), time_zone: zone },
        false => Kind::Daily { resets_at: TimeOfDay(0), time_zone: zone },
    };
    let mut day = limit("day", dice.between(60, 400), long);
    day.keep.insert(Caller::Refresh, 10);
    // A pace lets nothing overlap; a rolling second does.
    let second = Span::from_secs(1);
    let short = match dice.chance(400) {
        true => limit("pace", 2, Kind::Pace { window: second }),
        false => limit("second", 4, Kind::Rolling { window: second }),
    };
    let limits = vec![short, day, flight];
    let interval = Span::from_secs(*dice.pick(&[60, 120, 300]));
    let fresh_for = Span(interval.0 * 3 / 2);
    let north = vec![target("p1", "/tasks?project=1", fresh_for), target("p2", "/tasks?project=2", fresh_for)];
    let south = vec![target("p3", "/tasks?project=3", fresh_for)];
    vec![connection("north", interval, limits.clone(), north), connection("south", interval, limits, south)]
}

/// Windows aligned to the provider's clock, or opened by the first request, and a rolling hour above them.
fn meter(dice: &mut Dice) -> Vec<ConnectionSpec> {
    let window = Span::from_secs(*dice.pick(&[60, 300, 900]));
    let short = if dice.chance(400) { Kind::Anchored { window } } else { Kind::Fixed { window } };
    let limits = vec![
        limit("window", dice.between(2, 5), short),
        limit("hour", dice.between(20, 60), Kind::Rolling { window: Span::from_secs(3600) }),
    ];
    let interval = Span::from_secs(*dice.pick(&[30, 60, 240]));
    let mut meter = connection("meter", interval, limits, vec![target("readings", "/readings", Span::from_secs(300))]);
    leave_to_the_budget(&mut meter, dice);
    vec![meter]
}

/// A car of a cloud with OAuth 2.0: renewals count in the hour like every request.
fn car(dice: &mut Dice) -> Vec<ConnectionSpec> {
    let mut hour = limit("hour", dice.between(30, 90), Kind::Rolling { window: Span::from_secs(3600) });
    hour.keep.insert(Caller::Refresh, 2);
    let interval = Span::from_secs(*dice.pick(&[60, 120, 300]));
    let mut car = connection("car", interval, vec![hour], vec![target("battery", "/battery", Span::from_secs(900))]);
    car.oauth = Some(OAuthSpec {
        token_url: ENDPOINT.to_owned(),
        client_id: "larder".to_owned(),
        client_secret: SecretSource::None,
        scope: None,
        auth: ClientAuth::Body,
        rotation: Rotation::Rotates,
        counted: Counted::Budget,
        account: String::new(),
    });
    vec![car]
}

/// Now and then the interval is what the limits can keep up.
fn leave_to_the_budget(spec: &mut ConnectionSpec, dice: &mut Dice) {
    if dice.chance(250) {
        spec.poll.interval = Interval::Auto;
    }
}

/// A list of some pages under a limit that funds a reading and a bit.
fn shop(dice: &mut Dice) -> Vec<ConnectionSpec> {
    let mut minute = limit("minute", dice.between(3, 6), Kind::Rolling { window: Span::from_secs(60) });
    minute.keep.insert(Caller::Refresh, 1);
    let interval = Span::from_secs(*dice.pick(&[90, 120, 300]));
    let mut rows = target("rows", ROWS, Span::from_secs(600));
    rows.page = Some(PageSpec {
        style: PageStyle::Cursor {
            next: ValueSource::Json("$.next".to_owned()),
            placing: Placing::Query("after".to_owned()),
            more: None,
        },
        size: None,
        total: None,
        absent_ends: false,
        first_confirms_all: false,
        max_pages: 20,
        max_items: 1000,
        max_bytes: 1 << 20,
    });
    vec![connection("shop", interval, vec![minute], vec![rows])]
}
