//! What a round of each connection is expected to ask, beyond what its configuration says: how many pages a list has, what the provider
//! says a request costs, which targets were put, which are left alone, and whom scans feed. As the running appliance says, else as its file
//! knew. Asks no provider.

use super::client::{Client, Trouble};
use super::offline::Offline;
use super::text::count;
use crate::config::{Puttable, Settings};
use crate::domain::ids::{ConnectionKey, Endpoint, TargetKey, TargetName};
use crate::domain::scan::ScanSpec;
use crate::domain::spec::{ConnectionSpec, TargetSpec};
use crate::domain::target::{Life, Phase};
use crate::domain::time::Span;
use crate::engine::build::PRICES;
use crate::engine::planning::price;
use crate::rules::plan::choice::{Way, choose};
use crate::rules::plan::{Demand, Load};
use crate::store::{Store, StoreError};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(10);

/// Pages of the last complete reading, and the highest cost that an answer named; 0 where there was none.
#[derive(Clone, Copy, Debug, Default)]
struct Taken {
    pages: u32,
    price: u32,
}

/// What is known of one connection.
#[derive(Debug, Default)]
struct Known {
    /// By its targets and scans.
    taken: BTreeMap<TargetName, Taken>,
    /// Targets that operators put, with what each asks by itself.
    put: Vec<(TargetName, Option<Demand>)>,
    /// Completed, inactive, stopped: not asked about.
    left: BTreeSet<TargetName>,
    /// Whom each scan feeds.
    members: BTreeMap<TargetName, BTreeSet<TargetName>>,
    /// Scans whose targets are asked one by one.
    resting: BTreeSet<TargetName>,
}

/// Of a new installation nothing.
#[derive(Debug, Default)]
pub struct Expected(BTreeMap<ConnectionKey, Known>);

/// What a connection asks in a round, how many targets that renews, and what it asks at intervals of its own.
#[derive(Debug, Default)]
pub struct Round {
    pub demands: Vec<Demand>,
    pub targets: u64,
    pub beside: Vec<Load>,
}

impl Expected {
    pub async fn known(settings: &Settings) -> Expected {
        let client = Client::new(&settings.server.socket, PATIENCE);
        let mut all = BTreeMap::new();
        for spec in &settings.connections {
            match told(&client, spec).await {
                Ok(known) => all.insert(spec.key.clone(), known),
                // Of a connection that it does not have yet nobody knows anything.
                Err(Trouble::Refused(_)) => continue,
                Err(Trouble::NotRunning) => return Expected::kept(settings).unwrap_or_default(),
                Err(Trouble::Broken(_)) => return Expected::default(),
            };
        }
        Expected(all)
    }

    fn kept(settings: &Settings) -> Option<Expected> {
        let file = Offline::open(&settings.server.data).ok()?;
        let read = |spec: &ConnectionSpec| Some((spec.key.clone(), kept(&file.store, spec, &settings.puttable).ok()?));
        let known = settings.connections.iter().filter_map(read).collect();
        file.close(Ok(Expected(known))).ok()
    }

    /// As it is in an open file.
    pub fn read(store: &Store, spec: &ConnectionSpec, puttable: &Puttable) -> Expected {
        Expected(kept(store, spec, puttable).map(|known| (spec.key.clone(), known)).into_iter().collect())
    }

    /// Who is fed by a scan is not asked besides; a scan whose targets cost less one by one rests.
    pub fn round(&self, spec: &ConnectionSpec) -> Round {
        let nothing = Known::default();
        let known = self.0.get(&spec.key).unwrap_or(&nothing);
        let mut watched = known.watched(spec);
        let mut round = Round { targets: watched.len() as u64, ..Round::default() };
        for scan in &spec.scans {
            let Some(whole) = known.demand(&scan.question) else { continue };
            let fed = known.fed_by(spec, scan, &watched);
            if known.rests(scan, &fed, &whole, &watched) {
                continue;
            }
            watched.retain(|name, _| !fed.contains(name));
            match scan.interval {
                Some(every) => round.beside.push(Load { demands: vec![whole], every }),
                None => round.demands.push(whole),
            }
        }
        round.demands.extend(watched.into_values().flatten());
        round
    }

    /// What the plan takes for granted: a sentence for each list that has to be read to know, and of targets that were put.
    pub fn sentences(&self, settings: &Settings) -> Vec<String> {
        settings.connections.iter().flat_map(|spec| self.sentences_of(spec)).collect()
    }

    fn sentences_of(&self, spec: &ConnectionSpec) -> Vec<String> {
        let known = self.0.get(&spec.key);
        let questions = spec.targets.iter().chain(spec.scans.iter().map(|scan| &scan.question));
        let told = |target: &TargetSpec| {
            let name = format!("{}/{}", spec.key.connection, target.name);
            let taken = known.and_then(|known| known.taken.get(&target.name)).copied().unwrap_or_default();
            let pages = target.page.as_ref().map(|_| paged(&name, taken.pages));
            pages.into_iter().chain(target.send.cost_from.as_ref().map(|_| priced(&name, target.cost, taken.price)))
        };
        let put = known.map_or(0, |known| known.put.iter().filter(|(name, _)| !known.left.contains(name)).count());
        let put = (put > 0).then(|| {
            let targets = count(put as u64, "target");
            format!("{}: planned with {targets} that were put while Larder ran.", spec.key.connection)
        });
        questions.flat_map(told).chain(put).collect()
    }
}

fn paged(name: &str, pages: u32) -> String {
    match pages {
        0 => format!("{name}: planned with one page; how many there are is known after the first complete reading."),
        pages => format!("{name}: planned with {}, as in the last complete reading.", count(pages.into(), "page")),
    }
}

fn priced(name: &str, declared: u32, price: u32) -> String {
    if price > declared {
        return format!("{name}: planned with {} a request, as the provider named it.", count(price.into(), "unit"));
    }
    let declared = count(declared.into(), "unit");
    format!("{name}: planned with {declared} a request, as declared, until the provider names a higher cost.")
}

/// Targets with what each asks by itself.
type Watched = BTreeMap<TargetName, Option<Demand>>;

impl Known {
    fn demand(&self, target: &TargetSpec) -> Option<Demand> {
        let Taken { pages, price } = self.taken.get(&target.name).copied().unwrap_or_default();
        Demand::of(target, pages, price)
    }

    fn watched(&self, spec: &ConnectionSpec) -> Watched {
        let configured = spec.targets.iter().map(|target| (target.name.clone(), self.demand(target)));
        // What is in the configuration too is what that says.
        let all = self.put.iter().cloned().chain(configured);
        all.filter(|(name, _)| !self.left.contains(name)).collect()
    }

    /// Those that it named; where a connection has one scan alone, whoever cannot be asked too.
    fn fed_by(&self, spec: &ConnectionSpec, scan: &ScanSpec, watched: &Watched) -> BTreeSet<TargetName> {
        let named = self.members.get(&scan.question.name);
        let is_named = |name: &TargetName| named.is_some_and(|named| named.contains(name));
        let only = spec.scans.len() == 1;
        let fed = watched.iter().filter(|(name, own)| is_named(name) || (only && own.is_none()));
        fed.map(|(name, _)| name.clone()).collect()
    }

    fn rests(&self, scan: &ScanSpec, fed: &BTreeSet<TargetName>, whole: &Demand, watched: &Watched) -> bool {
        let is_known = self.members.get(&scan.question.name).is_some_and(|named| !named.is_empty());
        if self.resting.contains(&scan.question.name) || scan.interval.is_some() || !is_known {
            return self.resting.contains(&scan.question.name);
        }
        let single: Option<Vec<Demand>> = fed.iter().map(|name| watched.get(name).cloned().flatten()).collect();
        choose(single.as_deref(), std::slice::from_ref(whole)).way == Way::Single
    }
}

fn is_left(phase: Phase) -> bool {
    matches!(phase, Phase::Completed | Phase::Inactive | Phase::Stopped)
}

fn kept(store: &Store, spec: &ConnectionSpec, puttable: &Puttable) -> Result<Known, StoreError> {
    let mut known = Known::default();
    let key = |name: &TargetName| TargetKey { connection: spec.key.clone(), target: name.clone() };
    let put: Vec<TargetSpec> = put_targets(store, spec, puttable)?;
    let questions = || spec.targets.iter().chain(&put).chain(spec.scans.iter().map(|scan| &scan.question));
    let charges = match questions().any(|target| target.send.cost_from.is_some()) {
        true => store.charges(&spec.key, None, PRICES)?,
        false => Vec::new(),
    };
    for target in questions() {
        let read = store.target(&key(&target.name))?.and_then(|state| state.scan);
        let pages = read.map_or(0, |scan| scan.usual_pages);
        known.taken.insert(target.name.clone(), Taken { pages, price: price(target, &charges) });
    }
    for name in spec.targets.iter().chain(&put).map(|target| &target.name) {
        if store.life(&key(name))?.is_some_and(|Life { phase, .. }| is_left(phase)) {
            known.left.insert(name.clone());
        }
    }
    for scan in &spec.scans {
        let name = &scan.question.name;
        known.members.insert(name.clone(), store.scan_members(&key(name))?.into_iter().collect());
    }
    known.put = put.iter().map(|target| (target.name.clone(), known.demand(target))).collect();
    Ok(known)
}

/// Those that run: what is in the configuration too, or cannot be read any more, does not.
pub fn put_targets(store: &Store, spec: &ConnectionSpec, puttable: &Puttable) -> Result<Vec<TargetSpec>, StoreError> {
    let put = store.put_targets(&spec.key)?.into_iter();
    let own = put.filter(|(name, _)| spec.targets.iter().all(|target| target.name != *name));
    Ok(own.filter_map(|(name, put)| puttable.read(&spec.key, &name, &put.body).ok()).collect())
}

async fn told(client: &Client, spec: &ConnectionSpec) -> Result<Known, Trouble> {
    let (connection, organization) = (&spec.key.connection, &spec.key.organization);
    let list = async |what: &str| {
        let path = format!("/api/v1/connections/{connection}/{what}?organization={organization}");
        Ok::<_, Trouble>(client.list(&path, what).await?.0)
    };
    let mut known = Known::default();
    for target in list("targets").await? {
        known.hear(&target);
    }
    for scan in list("scans").await? {
        let name = TargetName(text(&scan, "/name").unwrap_or_default().to_owned());
        let pages = if scan["last_run"]["complete"] == true { number(&scan, "/last_run/pages") } else { 0 };
        if !scan["resting"].is_null() {
            known.resting.insert(name.clone());
        }
        known.taken.insert(name, Taken { pages, price: 0 });
    }
    Ok(known)
}

impl Known {
    /// A target, as the API shows it.
    fn hear(&mut self, target: &Value) {
        let name = TargetName(text(target, "/name").unwrap_or_default().to_owned());
        let (pages, price) = (number(target, "/scan/usual_pages"), number(target, "/refresh/units_each"));
        let taken = Taken { pages, price };
        if text(target, "/phase").and_then(Phase::from_word).is_some_and(is_left) {
            self.left.insert(name.clone());
        }
        if let Some(scan) = text(target, "/fed_by/scan") {
            self.members.entry(TargetName(scan.to_owned())).or_default().insert(name.clone());
        }
        if text(target, "/origin") == Some("put") {
            let own = |endpoint: &str| Demand {
                endpoint: Endpoint(endpoint.to_owned()),
                cost: price,
                requests: number(target, "/refresh/requests").into(),
            };
            self.put.push((name.clone(), text(target, "/endpoint").map(own)));
        }
        self.taken.insert(name, taken);
    }
}

fn text<'a>(value: &'a Value, pointer: &str) -> Option<&'a str> {
    value.pointer(pointer).and_then(Value::as_str)
}

fn number(value: &Value, pointer: &str) -> u32 {
    let told = value.pointer(pointer).and_then(Value::as_u64).unwrap_or(0);
    u32::try_from(told).unwrap_or(u32::MAX)
}

/// How far apart the readings of a target are, where rounds are so far apart: those of the scan that feeds it, if they are rarer.
pub fn renewed_every(store: &Store, spec: &ConnectionSpec, target: &TargetSpec, rounds: Span) -> Span {
    let feeds = |scan: &&ScanSpec| {
        let key = TargetKey { connection: spec.key.clone(), target: scan.question.name.clone() };
        let named = store.scan_members(&key).unwrap_or_default().contains(&target.name);
        named || (spec.scans.len() == 1 && target.endpoint().is_none())
    };
    rounds.max(spec.scans.iter().find(feeds).and_then(|scan| scan.interval).unwrap_or_default())
}
