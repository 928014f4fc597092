//! How many pages each paged target is expected to have: as the running appliance says, else as its file knew. Asks no provider.

use super::client::{Answer, Client};
use super::offline::Offline;
use super::text::count;
use crate::config::Settings;
use crate::domain::ids::TargetKey;
use crate::domain::spec::{ConnectionSpec, TargetSpec};
use crate::rules::plan::Demand;
use crate::store::Store;
use serde_json::Value;
use std::collections::BTreeMap;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(10);

/// Pages of the last complete reading, of the targets that had one.
#[derive(Debug, Default)]
pub struct Pages(BTreeMap<TargetKey, u32>);

/// Paged targets, with their keys.
fn paged(settings: &Settings) -> impl Iterator<Item = (TargetKey, &ConnectionSpec, &TargetSpec)> {
    settings.connections.iter().flat_map(|spec| {
        let own = spec.targets.iter().filter(|target| target.page.is_some());
        own.map(move |target| (key(spec, target), spec, target))
    })
}

fn key(spec: &ConnectionSpec, target: &TargetSpec) -> TargetKey {
    TargetKey { connection: spec.key.clone(), target: target.name.clone() }
}

impl Pages {
    /// Where nobody knows (a new installation), there is nothing to read.
    pub async fn known(settings: &Settings) -> Pages {
        if paged(settings).next().is_none() {
            return Pages::default();
        }
        match Pages::told(settings).await {
            Some(told) => told,
            None => Pages::kept(settings).unwrap_or_default(),
        }
    }

    async fn told(settings: &Settings) -> Option<Pages> {
        let client = Client::new(&settings.server.socket, PATIENCE);
        let mut known = BTreeMap::new();
        for (key, spec, target) in paged(settings) {
            let (connection, organization) = (&spec.key.connection, &spec.key.organization);
            let path = format!("/api/v1/connections/{connection}/targets/{}?organization={organization}", target.name);
            let Answer { body, .. } = client.get(&path).await.ok()?;
            let pages = body.pointer("/scan/usual_pages").and_then(Value::as_u64).unwrap_or(0);
            known.insert(key, u32::try_from(pages).unwrap_or(u32::MAX));
        }
        Some(Pages(known))
    }

    fn kept(settings: &Settings) -> Option<Pages> {
        let file = Offline::open(&settings.server.data).ok()?;
        let known = paged(settings).map(|(key, ..)| (key.clone(), Pages::of(&file.store, &key))).collect();
        file.close(Ok(Pages(known))).ok()
    }

    fn of(store: &Store, key: &TargetKey) -> u32 {
        let state = store.target(key).ok().flatten();
        state.and_then(|state| state.scan).map_or(0, |scan| scan.usual_pages)
    }

    /// As it is in an open file.
    pub fn read(store: &Store, spec: &ConnectionSpec) -> Pages {
        Pages(spec.targets.iter().map(|t| key(spec, t)).map(|key| (key.clone(), Pages::of(store, &key))).collect())
    }

    /// What a round of the connection takes.
    pub fn demands(&self, spec: &ConnectionSpec) -> Vec<Demand> {
        let pages = |target: &TargetSpec| self.0.get(&key(spec, target)).copied().unwrap_or(0);
        spec.targets.iter().filter_map(|target| Demand::of(target, pages(target))).collect()
    }

    /// What the plan takes for granted, a sentence for each paged target.
    pub fn sentences(&self, settings: &Settings) -> Vec<String> {
        let told = |(key, spec, target): (TargetKey, &ConnectionSpec, &TargetSpec)| {
            let name = format!("{}/{}", spec.key.connection, target.name);
            match self.0.get(&key).copied().unwrap_or(0) {
                0 => format!(
                    "{name}: planned with one page; how many there are is known after the first complete reading."
                ),
                pages => {
                    format!("{name}: planned with {}, as in the last complete reading.", count(pages.into(), "page"))
                }
            }
        };
        paged(settings).map(told).collect()
    }
}
