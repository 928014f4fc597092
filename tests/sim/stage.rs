//! The real engine in virtual time, between a provider by script and somebody who looks: for what is shown by one course of events and
//! not by many worlds. Nothing breaks here.

use crate::disk::Disk;
use crate::machine::{FakeClock, Machine, Ms};
use crate::world::settle;
use larder::clock::Clock;
use larder::domain::ids::CredentialId;
use larder::domain::reply::{Answer, Reply};
use larder::domain::spec::ConnectionSpec;
use larder::domain::time::Wall;
use larder::engine::appliance::Appliance;
use larder::engine::view::ConnectionView;
use larder::engine::{Parts, Running};
use larder::rules::budget::Permit;
use larder::store::{Opening, Options, Store, Writer};
use larder::upstream::{Door, Request};
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};

pub const BEGAN: Wall = Wall(1_796_000_000_000);

/// Runs a play in paused time.
pub fn play<T>(acts: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    runtime.expect("a runtime").block_on(acts)
}

pub struct Stage {
    pub machine: Machine,
    pub appliance: Appliance,
    pub store: Store,
    spec: ConnectionSpec,
    _running: Running,
}

/// What the engine opens.
pub fn file() -> (Store, Opening) {
    let options = Options { writer: Writer::Inline, cache_bytes: 1 << 20 };
    let (store, mut opening) = Store::open_backend(Disk::default().open(), options).expect("a new file");
    opening.installation = [9; 32];
    (store, opening)
}

impl Stage {
    pub async fn set(
        machine: &Machine,
        (store, opening): (Store, Opening),
        clock: Arc<FakeClock>,
        door: impl Door + 'static,
        (spec, credential): (ConnectionSpec, CredentialId),
    ) -> Stage {
        Stage::of_several(machine, (store, opening), clock, door, vec![(spec, credential)]).await
    }

    /// The first is the one that is looked at.
    pub async fn of_several(
        machine: &Machine,
        (store, opening): (Store, Opening),
        clock: Arc<FakeClock>,
        door: impl Door + 'static,
        connections: Vec<(ConnectionSpec, CredentialId)>,
    ) -> Stage {
        let spec = connections[0].0.clone();
        let parts = Parts {
            store: store.clone(),
            opening,
            clock,
            door: Arc::new(door),
            connections: connections.iter().map(|(spec, _)| spec.clone()).collect(),
            polling: Default::default(),
            shelf: Default::default(),
            credentials: connections.iter().map(|(spec, credential)| (spec.key.clone(), *credential)).collect(),
            organizations: Default::default(),
            stored: Default::default(),
            putting: Default::default(),
            notes: Vec::new(),
        };
        let (appliance, running) = larder::engine::start(parts).await.expect("an engine");
        Stage { machine: machine.clone(), appliance, store, spec, _running: running }
    }

    /// Until a moment; what is seen every so often.
    pub async fn until(&self, at: Ms, every: Ms, mut look: impl FnMut(Ms, &ConnectionView)) {
        while self.machine.true_ms() < at {
            let next = (self.machine.true_ms() / every + 1) * every;
            tokio::time::sleep_until(self.machine.instant(next)).await;
            settle().await;
            look(next, &self.appliance.connection(&self.spec.key).expect("a connection"));
        }
    }
}

/// When each request came, from 0, and what it asked for.
pub type Asked = Arc<Mutex<Vec<(Ms, String)>>>;

/// Answers at once, by the number of the request and what it asks for.
pub struct Script<F> {
    pub machine: Machine,
    pub clock: Arc<FakeClock>,
    pub asked: Asked,
    pub answer: F,
}

impl<F: Fn(usize, &str) -> Answer + Send + Sync + 'static> Door for Script<F> {
    fn send(&self, _permit: Permit, request: Request) -> Pin<Box<dyn Future<Output = Reply> + Send + '_>> {
        let mut asked = self.asked.lock().expect("nobody panicked");
        let answer = (self.answer)(asked.len(), &request.location);
        asked.push((self.machine.true_ms(), request.location));
        let arrived_at = self.clock.now().stamp();
        Box::pin(async move { Reply { arrived_at, result: Ok(answer), detail: String::new() } })
    }
    fn redact(&self, text: &str) -> String {
        text.to_owned()
    }
}
