//! A field of work orders by its seed: who is fed by which project, who asks for himself, what the provider has, when it is in trouble,
//! and what operators do in three days.

use crate::dice::Dice;
use crate::machine::Ms;
use crate::scenario::{Clocks, HOUR, MINUTE, Scenario, Weather};
use larder::config::{Environment, Recipes, parse};
use larder::domain::ids::{ConnectionKey, CredentialId, Organization};
use larder::domain::target::Phase;
use larder::domain::time::Wall;
use std::collections::BTreeMap;
use std::path::Path;

pub const DAY: Ms = 24 * HOUR;
/// The demonstration: one round a minute for three hours.
pub const SHOWN_EVERY: Ms = MINUTE;
pub const SHOWN_FOR: Ms = 3 * HOUR;

/// How large a field is, and how closely it is looked at.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    pub orders: usize,
    pub projects: usize,
    /// Orders that no project has: each is asked by itself.
    pub apart: usize,
    /// Every so many of the others can be asked by themselves too.
    pub own_every: usize,
    pub rows: usize,
    pub page: usize,
    pub interval: Ms,
    pub lasts: Ms,
    /// Mean time between deaths.
    pub lives: Ms,
    /// Permille of the pages at which the world ends soon after.
    pub kills: u64,
    /// Between two looks, at most.
    pub looks: Ms,
    /// The demonstration is given.
    pub is_shown: bool,
}

pub const TWELVE: Size = Size {
    orders: 12,
    projects: 1,
    apart: 4,
    own_every: 2,
    rows: 4,
    page: 12,
    interval: 5 * MINUTE,
    lasts: 3 * DAY,
    lives: 5 * HOUR,
    kills: 12,
    looks: 6 * MINUTE,
    is_shown: true,
};

pub const HUNDRED: Size = Size {
    orders: 100,
    projects: 2,
    apart: 6,
    own_every: 5,
    rows: 4,
    page: 100,
    interval: 15 * MINUTE,
    lives: 9 * HOUR,
    kills: 15,
    looks: 12 * MINUTE,
    is_shown: false,
    ..TWELVE
};

pub const THOUSAND: Size = Size {
    orders: 1000,
    projects: 1,
    apart: 6,
    own_every: 100,
    rows: 3,
    page: 2000,
    interval: 40 * MINUTE,
    lives: 20 * HOUR,
    kills: 50,
    looks: 30 * MINUTE,
    is_shown: false,
    ..TWELVE
};

/// What operators do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    Phase(usize, Phase),
    Refresh(usize),
    Show,
}

/// How the provider is in trouble. Whatever it is, it answers a bare 429.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Most requests are refused for a moment.
    Momentary,
    /// Somebody else has spent the rest of the day.
    Exhausted,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trouble {
    pub from: Ms,
    pub until: Ms,
    pub kind: Kind,
}

/// The rows of one order at one time: which, and what they say.
pub type Rows = BTreeMap<u8, u32>;

pub struct Field {
    pub size: Size,
    /// For the laws that know no field.
    pub scenario: Scenario,
    pub troubles: Vec<Trouble>,
    pub acts: Vec<(Ms, Act)>,
    /// Of each order: its rows from some moment on.
    pub versions: Vec<Vec<(Ms, Rows)>>,
}

pub fn key() -> ConnectionKey {
    ConnectionKey { organization: Organization::default(), connection: "field".into() }
}

impl Field {
    pub fn draw(size: Size, seed: u64) -> Field {
        let dice = &mut Dice::new(seed ^ 0x000f_1e1d);
        let connections = configured(&size);
        let scenario = Scenario {
            credentials: connections.iter().map(|c| (c.key.clone(), CredentialId([4; 16]))).collect(),
            connections,
            clocks: Clocks::Honest,
            weather: Weather::CALM,
            validators: false,
            skew: dice.between(0, 2_000) as Ms - 1_000,
            // A midnight of the provider's, some hours ago.
            began: Wall(1_796_083_200_000 + dice.between(0, 20) as Ms * HOUR),
            lasts: size.lasts,
            lives: size.lives,
            fills: false,
            shared: false,
            rotates: false,
        };
        let versions = (0..size.orders).map(|_| versions(&size, dice)).collect();
        let troubles = troubles(&scenario, dice);
        let acts = acts(&size, &troubles, dice);
        Field { size, scenario, troubles, acts, versions }
    }

    /// `None`: it is apart.
    pub fn project(&self, order: usize) -> Option<usize> {
        (order >= self.size.apart).then(|| order % self.size.projects)
    }

    pub fn can_ask(&self, order: usize) -> bool {
        self.size.can_ask(order)
    }

    pub fn rows(&self, order: usize, at: Ms) -> &Rows {
        let versions = &self.versions[order];
        let version = versions.partition_point(|(since, _)| *since <= at).max(1) - 1;
        &versions[version].1
    }

    /// Requests of one round, at the most.
    pub fn requests(&self) -> Ms {
        let all = self.size.orders * (self.size.rows + 3);
        (self.size.apart + self.size.projects + all / self.size.page) as Ms
    }

    /// Longer than any reading takes from its first page to its end, and than the line before it.
    pub fn cycle(&self) -> Ms {
        90_000 + 1_000 * self.requests()
    }
}

impl Size {
    pub fn can_ask(&self, order: usize) -> bool {
        order < self.apart || order.is_multiple_of(self.own_every)
    }
}

fn configured(size: &Size) -> Vec<larder::domain::spec::ConnectionSpec> {
    const ROWS: &str = r#"items = "$.rows[*]"
key = "$.id"
"#;
    let mut text = format!(
        r#"
[[connection]]
name = "field"
base_url = "https://provider.test"
refresh_min_age = "60s"
request_timeout = "20s"
limit = [
  {{ name = "day", requests = 10000, kind = "daily", time_zone = "UTC", keep = {{ trigger = 200, refresh = 100 }} }},
  {{ name = "second", requests = 2, window = "1s", kind = "rolling" }},
  {{ name = "at-once", requests = 5, kind = "concurrent", cap = {{ poller = 3, refresh = 2 }} }},
]
[connection.poll]
interval = "{}s"
"#,
        size.interval / 1000
    );
    for project in 0..size.projects {
        text += &format!(
            "[[connection.scan]]\nname = \"p{project}\"\nget = \"/tasks?project={project}\"\nfeeds = \"$.order\"\n{ROWS}\
             page = {{ style = \"page-number\", param = \"page\", size_param = \"page_size\", size = {}, next = \"$.next_page\" }}\n\
             fields = {{ level = {{ path = \"$.level\", as = \"number\" }} }}\n",
            size.page
        );
    }
    for order in 0..size.orders {
        text += &format!("[[connection.target]]\nname = \"w{order}\"\n");
        if size.can_ask(order) {
            text += &format!(
                "get = \"/tasks?order={order}\"\n{ROWS}fields = {{ level = {{ path = \"$.level\", as = \"number\" }} }}\n"
            );
        }
    }
    let nothing = Environment::new(Vec::<(String, String)>::new());
    parse(&text, Path::new("larder.toml"), &nothing, &Recipes::default()).expect("a configuration").connections
}

/// Now and then a row moves, comes or goes; there is always one. No level is given twice.
fn versions(size: &Size, dice: &mut Dice) -> Vec<(Ms, Rows)> {
    let mut rows: Rows = (0..size.rows as u8).map(|row| (row, u32::from(row) + 1)).collect();
    let (mut at, mut all, mut level) = (0, Vec::new(), size.rows as u32);
    while at <= size.lasts {
        all.push((at, rows.clone()));
        at += *dice.pick(&[HOUR, 4 * HOUR, 12 * HOUR]) + dice.below(HOUR as u64) as Ms;
        let row = dice.below(size.rows as u64 + 2) as u8;
        if rows.contains_key(&row) && rows.len() > 1 && dice.chance(300) {
            rows.remove(&row);
        } else {
            level += 1;
            rows.insert(row, level);
        }
    }
    all
}

/// Moments of throttling on each day, and the second day spent by somebody else at noon.
fn troubles(scenario: &Scenario, dice: &mut Dice) -> Vec<Trouble> {
    let midnight = |day: Ms| day * DAY - (scenario.began.0 + scenario.skew).rem_euclid(DAY);
    let noon = midnight(2) - DAY / 2;
    let mut all = vec![Trouble { from: noon, until: midnight(2), kind: Kind::Exhausted }];
    let mut at = 0;
    loop {
        at += dice.between(2, 9) as Ms * HOUR + dice.below(HOUR as u64) as Ms;
        if at > scenario.lasts {
            break;
        }
        let lasts = *dice.pick(&[20, 90, 300]) * 1000;
        all.push(Trouble { from: at, until: at + lasts, kind: Kind::Momentary });
    }
    all.sort_by_key(|t| t.from);
    all
}

/// Bursts of dispatch, a refresh now and then, and the demonstration.
fn acts(size: &Size, troubles: &[Trouble], dice: &mut Dice) -> Vec<(Ms, Act)> {
    let mut all = Vec::new();
    let mut at = HOUR;
    while at < size.lasts {
        let many = dice.between(2, (size.orders as u64 / 3).min(15));
        let sent: std::collections::BTreeSet<usize> = (0..many)
            .map(|_| if dice.chance(500) { dice.below(size.apart as u64 + 6) } else { dice.below(size.orders as u64) })
            .map(|order| order as usize)
            .collect();
        for order in sent {
            all.push((at, Act::Phase(order, Phase::Pending)));
            let out = at + dice.between(10, 90) as Ms * MINUTE;
            // Together, as people are sent out when work begins.
            all.push((out - out % (30 * MINUTE), Act::Phase(order, Phase::Active)));
        }
        all.push((at + 3 * MINUTE, Act::Refresh(dice.below(size.orders as u64) as usize)));
        at += dice.between(2, 6) as Ms * HOUR;
    }
    if size.is_shown {
        // Not on the day on which it would be given for nothing.
        let exhausted = troubles.iter().find(|t| t.kind == Kind::Exhausted).map_or(0, |t| t.from);
        all.push((exhausted - 6 * HOUR, Act::Show));
    }
    all.sort_by_key(|(at, _)| *at);
    all.retain(|(at, _)| *at >= 0);
    all
}
