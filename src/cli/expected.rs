//! What a reading of each target is expected to take, where that is learned: how many pages it has, and what the provider says a request
//! costs. As the running appliance says, else as its file knew. Asks no provider.

use super::client::{Answer, Client};
use super::offline::Offline;
use super::text::count;
use crate::config::Settings;
use crate::domain::ids::TargetKey;
use crate::domain::spec::{ConnectionSpec, TargetSpec};
use crate::engine::build::PRICES;
use crate::engine::planning::price;
use crate::rules::plan::Demand;
use crate::store::Store;
use serde_json::Value;
use std::collections::BTreeMap;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(10);

/// Pages of the last complete reading, and the highest cost that an answer named; 0 where there was none.
#[derive(Clone, Copy, Debug, Default)]
struct Known {
    pages: u32,
    price: u32,
}

/// Of the targets that have to be read to know what they take.
#[derive(Debug, Default)]
pub struct Expected(BTreeMap<TargetKey, Known>);

/// Those, with their keys.
fn learning(settings: &Settings) -> impl Iterator<Item = (TargetKey, &ConnectionSpec, &TargetSpec)> {
    let learns = |target: &&TargetSpec| target.page.is_some() || target.send.cost_from.is_some();
    settings.connections.iter().flat_map(move |spec| {
        let own = spec.targets.iter().filter(learns);
        own.map(move |target| (key(spec, target), spec, target))
    })
}

fn key(spec: &ConnectionSpec, target: &TargetSpec) -> TargetKey {
    TargetKey { connection: spec.key.clone(), target: target.name.clone() }
}

impl Expected {
    /// Where nobody knows (a new installation), there is nothing to read.
    pub async fn known(settings: &Settings) -> Expected {
        if learning(settings).next().is_none() {
            return Expected::default();
        }
        match Expected::told(settings).await {
            Some(told) => told,
            None => Expected::kept(settings).unwrap_or_default(),
        }
    }

    async fn told(settings: &Settings) -> Option<Expected> {
        let client = Client::new(&settings.server.socket, PATIENCE);
        let mut known = BTreeMap::new();
        for (key, spec, target) in learning(settings) {
            let (connection, organization) = (&spec.key.connection, &spec.key.organization);
            let path = format!("/api/v1/connections/{connection}/targets/{}?organization={organization}", target.name);
            let Answer { body, .. } = client.get(&path).await.ok()?;
            let number = |pointer: &str| {
                let told = body.pointer(pointer).and_then(Value::as_u64).unwrap_or(0);
                u32::try_from(told).unwrap_or(u32::MAX)
            };
            known.insert(key, Known { pages: number("/scan/usual_pages"), price: number("/refresh/units_each") });
        }
        Some(Expected(known))
    }

    fn kept(settings: &Settings) -> Option<Expected> {
        let file = Offline::open(&settings.server.data).ok()?;
        let known = settings.connections.iter().flat_map(|spec| Expected::read(&file.store, spec).0).collect();
        file.close(Ok(Expected(known))).ok()
    }

    /// As it is in an open file.
    pub fn read(store: &Store, spec: &ConnectionSpec) -> Expected {
        let learns = spec.targets.iter().any(|target| target.send.cost_from.is_some());
        let charges = if learns { store.charges(&spec.key, None, PRICES).unwrap_or_default() } else { Vec::new() };
        let of = |target: &TargetSpec| {
            let key = key(spec, target);
            let state = store.target(&key).ok().flatten();
            let pages = state.and_then(|state| state.scan).map_or(0, |scan| scan.usual_pages);
            (key, Known { pages, price: price(target, &charges) })
        };
        Expected(spec.targets.iter().map(of).collect())
    }

    fn of(&self, spec: &ConnectionSpec, target: &TargetSpec) -> Known {
        self.0.get(&key(spec, target)).copied().unwrap_or_default()
    }

    /// What a round of the connection takes.
    pub fn demands(&self, spec: &ConnectionSpec) -> Vec<Demand> {
        let demand = |target: &TargetSpec| {
            let Known { pages, price } = self.of(spec, target);
            Demand::of(target, pages, price)
        };
        spec.targets.iter().filter_map(demand).collect()
    }

    /// What the plan takes for granted, a sentence for each target that has to be read to know.
    pub fn sentences(&self, settings: &Settings) -> Vec<String> {
        let told = |(_, spec, target): (TargetKey, &ConnectionSpec, &TargetSpec)| {
            let (name, known) = (format!("{}/{}", spec.key.connection, target.name), self.of(spec, target));
            let pages = target.page.as_ref().map(|_| match known.pages {
                0 => format!(
                    "{name}: planned with one page; how many there are is known after the first complete reading."
                ),
                pages => {
                    format!("{name}: planned with {}, as in the last complete reading.", count(pages.into(), "page"))
                }
            });
            let price = target.send.cost_from.as_ref().map(|_| match known.price {
                price if price > target.cost => {
                    format!("{name}: planned with {} a request, as the provider named it.", count(price.into(), "unit"))
                }
                _ => format!(
                    "{name}: planned with {} a request, as declared, until the provider names a higher cost.",
                    count(target.cost.into(), "unit")
                ),
            });
            pages.into_iter().chain(price)
        };
        learning(settings).flat_map(told).collect()
    }
}
