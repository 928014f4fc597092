//! The door against a provider made of raw bytes: what came back, how often it was counted, and that no word tells the key.

mod bodies;
mod clock;
mod door;
mod keyring;
mod open;
mod pass;
mod provider;
mod route;
mod tls;

use super::Request;
use super::boundary::Secrets;
use super::http::HttpDoor;
use super::keyring::Keyring;
use super::redact::{Redactor, Secret};
use crate::clock::Clock;
use crate::domain::ids::{ConnectionKey, Organization};
use crate::domain::reply::Reply;
use crate::domain::spec::{
    Carrier, Conditional, ConnectionSpec, Interval, NetworkSpec, PollSpec, ReadingSpec, SecretSource, WaitSpec,
};
use crate::domain::time::{Span, Steady};
use clock::JumpClock;
use std::collections::BTreeMap;
use std::sync::Arc;

const KEY: &str = "k3y/with+odd=signs";

fn yard() -> ConnectionKey {
    ConnectionKey { organization: Organization::default(), connection: "yard".into() }
}

fn spec(base_url: &str, carrier: Carrier, network: NetworkSpec) -> ConnectionSpec {
    ConnectionSpec {
        key: yard(),
        provider: "test".to_owned(),
        recipe: None,
        base_url: base_url.to_owned(),
        secret: SecretSource::None,
        carrier,
        new_secret: Default::default(),
        oauth: None,
        conditional: Conditional::default(),
        limits: vec![],
        quotas: Vec::new(),
        poll: PollSpec { enabled: true, interval: Interval::Auto, inactivity_ttl: None, completion_grace: Span::ZERO },
        targets: vec![],
        scans: Vec::new(),
        commands: vec![],
        rules: vec![],
        waits: WaitSpec::default(),
        network,
        reading: ReadingSpec::default(),
        time_zone: "UTC".to_owned(),
        keep_history: None,
        webhooks: Vec::new(),
        refresh_min_age: Span::from_secs(60),
        gateway: Default::default(),
    }
}

/// Bounds short enough for a test and long enough for a busy machine.
fn quick() -> NetworkSpec {
    NetworkSpec { connect_timeout: Span(1000), read_timeout: Span(800), request_timeout: Span(2000), max_body: 100_000 }
}

fn query() -> Carrier {
    Carrier::Query { name: "api_key".to_owned() }
}

fn bearer() -> Carrier {
    Carrier::Header { name: "Authorization".to_owned(), scheme: Some("Bearer".to_owned()) }
}

fn get(location: &str) -> Request {
    Request { connection: yard(), method: "GET", location: location.to_owned(), headers: vec![], body: vec![] }
}

/// A door whose secrets stay as they are.
fn door(
    specs: &[ConnectionSpec],
    own: BTreeMap<ConnectionKey, Secret>,
    clock: Arc<JumpClock>,
) -> Result<HttpDoor, String> {
    let secrets = Secrets { own, ..Secrets::default() };
    let redactor = Redactor::new(secrets.all());
    let keyring = Keyring::new([0; 32], Default::default(), specs, &secrets, redactor.clone());
    HttpDoor::new(specs, keyring, clock, redactor, None)
}

struct Bench {
    door: HttpDoor,
    clock: Arc<JumpClock>,
}

impl Bench {
    fn new(base_url: &str, carrier: Carrier) -> Bench {
        Bench::with(spec(base_url, carrier, quick()))
    }

    fn with(spec: ConnectionSpec) -> Bench {
        let secrets = match spec.carrier {
            Carrier::None => BTreeMap::new(),
            _ => BTreeMap::from([(yard(), Secret::new(KEY.to_owned()).unwrap())]),
        };
        let clock = Arc::new(JumpClock::default());
        let door = door(&[spec], secrets, clock.clone()).unwrap();
        Bench { door, clock }
    }

    /// A permit as the budget makes them: a second and a half to send, five seconds in all.
    async fn ask(&self, request: Request) -> Reply {
        let now = self.clock.now().steady;
        self.ask_within(now + Span(1500), now + Span(5000), request).await
    }

    async fn ask_within(&self, send_by: Steady, deadline: Steady, request: Request) -> Reply {
        let reply = self.door.send_within(None, send_by, deadline, request).await;
        tells_no_secret(&reply);
        reply
    }
}

/// A46, A47: whatever happened, neither the key nor the query is in what the door hands back.
fn tells_no_secret(reply: &Reply) {
    let told = format!("{reply:?}");
    for spelled in [KEY, "k3y%2Fwith%2Bodd%3Dsigns", "api_key=k"] {
        assert!(!told.contains(spelled), "{told}");
    }
    assert!(!reply.detail.contains('?'), "{}", reply.detail);
}
