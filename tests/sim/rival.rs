//! Somebody else renews the same credential and is quicker to store what it got, as a second process would be (A51): the engine's own
//! answer to a compare-and-swap that it lost.

use crate::dice::Dice;
use crate::issuer::refresh_token;
use crate::machine::{FakeClock, Machine, Ms};
use crate::provider::{FakeDoor, Leak, Provider};
use crate::record::What;
use crate::scenario::{Scenario, Weather};
use crate::stage::{Stage, file, play};
use larder::clock::Clock;
use larder::domain::ids::CredentialId;
use larder::domain::reply::Reply;
use larder::domain::spec::ConnectionSpec;
use larder::rules::budget::Permit;
use larder::store::{Store, Swap};
use larder::upstream::redact::{Redactor, Secret};
use larder::upstream::tokens::{Joining, Renewal, Renewed, SealKey, Vault};
use larder::upstream::{Door, Request};
use std::future::Future;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const MINUTE: Ms = 60_000;

/// When the other one is there with our first renewal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Quicker {
    /// Before we ask: the refresh token that we show is dead.
    ToAsk,
    /// Both were granted tokens, and the other's are stored.
    ToStore,
}

struct Rivalled {
    door: FakeDoor,
    clock: Arc<FakeClock>,
    provider: Provider,
    store: Store,
    /// The other's.
    vault: Vault,
    quicker: Quicker,
    /// Whose tokens the other stored; 0: not yet.
    won: Arc<AtomicU64>,
}

impl Rivalled {
    /// The other renews, uses and stores.
    async fn wins(&self, credential: CredentialId) {
        let (number, answer) = self.provider.grants_elsewhere(0);
        let now = self.clock.now().stamp();
        let Renewed::Granted(bytes) = self.vault.take(credential, now, now, answer).result else { panic!("granted") };
        let stored = self.store.swap_sealed(Swap { credential, seen: 0, bytes }).await;
        assert_eq!(stored, Ok(Some(1)), "the first to store");
        self.won.store(number, Ordering::Relaxed);
    }

    async fn ask(&self, permit: Permit, credential: CredentialId) -> Renewal {
        let is_first = self.won.load(Ordering::Relaxed) == 0;
        if is_first && self.quicker == Quicker::ToAsk {
            self.wins(credential).await;
        }
        let renewal = self.door.renew(permit, credential).await;
        if is_first && self.quicker == Quicker::ToStore {
            assert!(matches!(renewal.result, Renewed::Granted(_)), "{renewal:?}");
            self.wins(credential).await;
        }
        renewal
    }
}

impl Door for Rivalled {
    fn send(&self, permit: Permit, request: Request) -> Pin<Box<dyn Future<Output = Reply> + Send + '_>> {
        self.door.send(permit, request)
    }
    fn vault(&self) -> Option<&Vault> {
        self.door.vault()
    }
    fn renew(&self, permit: Permit, credential: CredentialId) -> Pin<Box<dyn Future<Output = Renewal> + Send + '_>> {
        Box::pin(self.ask(permit, credential))
    }
    fn redact(&self, text: &str) -> String {
        self.door.redact(text)
    }
}

fn vault(folder: &Path, spec: &ConnectionSpec, credential: CredentialId) -> Vault {
    let (key, _) = SealKey::beside(&folder.join("larder.redb")).expect("a key");
    let vault = Vault::new(key, Redactor::new([]));
    let refresh = Secret::new(refresh_token(0)).expect("a secret");
    let (connection, spec) = (spec.key.clone(), spec.oauth.as_ref().expect("a credential that renews itself"));
    vault.join(Joining { connection, credential, spec, refresh: &refresh, client_secret: None, stored: None });
    vault
}

/// Twenty minutes, which is two lives of an access token.
fn lived(quicker: Quicker) {
    play(async move {
        let scenario = Scenario { weather: Weather { slow: 0, ..Weather::CALM }, ..Scenario::draw_tokens(1) };
        let spec = scenario.connections[0].clone();
        let credential = scenario.credentials[&spec.key];
        let machine = Machine::new(scenario.began);
        let provider = Provider::new(&machine, &scenario, &mut Dice::new(1), Leak::None);
        let folder = tempfile::tempdir().expect("a folder");
        let (store, opening) = file();
        let clock = Arc::new(FakeClock::start(&machine, opening.mark.clone(), opening.high_water, 1000));
        let ours = vault(folder.path(), &spec, credential);
        let won = Arc::new(AtomicU64::new(0));
        let door = Rivalled {
            door: provider.door(clock.clone(), Arc::new(true.into()), Some(ours), None),
            clock: clock.clone(),
            provider: provider.clone(),
            store: store.clone(),
            vault: vault(folder.path(), &spec, credential),
            quicker,
            won: won.clone(),
        };
        let stage = Stage::set(&machine, (store, opening), clock, door, (spec, credential)).await;
        stage
            .until(20 * MINUTE, 1000, |at, view| {
                assert!(
                    view.hold.is_none() && view.findings.is_empty(),
                    "at {at}: {} {:?}",
                    view.sentence,
                    view.findings
                );
            })
            .await;
        let winner = won.load(Ordering::Relaxed);
        let (mut carried, mut presented) = (Vec::new(), Vec::new());
        for fact in provider.record() {
            match fact.what {
                What::Carried { token, accepted } => carried.push((token, accepted)),
                What::Presented { refresh, .. } => presented.push(refresh),
                _ => {}
            }
        }
        assert_eq!(
            carried.first(),
            Some(&(winner, true)),
            "the winner's tokens go with the first request: {carried:?}"
        );
        let losers = |(token, _): &&(u64, bool)| quicker == Quicker::ToStore && *token == 1;
        assert_eq!(carried.iter().filter(losers).count(), 0, "and ours never: {carried:?}");
        assert_eq!(presented[..2], [0, winner], "what is renewed next is the winner's: {presented:?}");
        assert!(stage.store.sealed(credential).is_ok_and(|s| s.is_some_and(|s| s.version > 1)), "and stored");
    });
}

#[test]
fn a51_who_is_granted_tokens_too_late_to_store_them_goes_on_with_the_winners() {
    lived(Quicker::ToStore);
}

#[test]
fn a51_who_shows_a_token_that_another_has_used_goes_on_with_the_winners_and_holds_nothing() {
    lived(Quicker::ToAsk);
}
