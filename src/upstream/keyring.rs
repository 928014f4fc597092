//! The secrets of all connections as they are now: the configured one, what an operator set instead, and those of before, for the requests
//! that were admitted with them. Shows none. Knows the key beside the data file; must not know budgets, nor when a secret is replaced.

use super::boundary::{self, Secrets};
use super::redact::{Redactor, Secret, fingerprint};
use super::route;
use super::tokens::SealKey;
use crate::domain::ids::{ConnectionKey, CredentialId};
use crate::domain::spec::{Carrier, ConnectionSpec};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard};
use zeroize::Zeroizing;

const PURPOSE: &str = "set by an operator";

/// What an operator gives a connection: its secret, and that of its client where it renews its tokens.
#[derive(Clone)]
pub struct Pasted {
    pub secret: Secret,
    /// `None`: it has none, or the one of before stays.
    pub client: Option<Secret>,
}

impl From<Secret> for Pasted {
    fn from(secret: Secret) -> Pasted {
        Pasted { secret, client: None }
    }
}

/// Between the two, sealed as one: neither can have it inside.
const BETWEEN: char = '\n';

impl Pasted {
    fn text(&self) -> Zeroizing<String> {
        let client = self.client.as_ref().map_or("", Secret::expose);
        let mut text = Zeroizing::new(String::with_capacity(self.secret.expose().len() + client.len() + 1));
        text.push_str(self.secret.expose());
        if !client.is_empty() {
            text.push(BETWEEN);
            text.push_str(client);
        }
        text
    }
    fn of(text: String) -> Option<Pasted> {
        let text = Zeroizing::new(text);
        let secret = |text: &str| Secret::new(text.to_owned()).ok();
        match text.split_once(BETWEEN) {
            Some((own, client)) => Some(Pasted { secret: secret(own)?, client: Some(secret(client)?) }),
            None => Some(Pasted { secret: secret(&text)?, client: None }),
        }
    }
}

/// What a connection gets.
pub enum Change {
    /// What the file or the environment says now; with the client's secret, where it renews its tokens.
    Configured(Option<Secret>, Option<Secret>),
    /// Instead of the configured one, until it is cleared.
    Set(Pasted),
    Cleared,
}

/// A change that was looked at and is not in force yet.
pub struct Considered {
    connection: ConnectionKey,
    /// Of the secret that will be in force.
    pub fingerprint: CredentialId,
    /// The secret in force becomes another one, or its client's does.
    pub differs: bool,
    /// For the store: what an operator set. `None`: nothing is set afterwards.
    pub sealed: Option<Vec<u8>>,
    after: Held,
    /// How it will travel, and where, if that is another or the connection is new.
    way: Option<(Carrier, String)>,
}

impl Considered {
    /// What will be in force, and the client's secret.
    pub fn secrets(&self) -> (Option<&Secret>, Option<&Secret>) {
        (self.after.in_force(), self.after.client_in_force())
    }
}

#[derive(Clone, Default)]
struct Held {
    configured: Option<Secret>,
    client: Option<Secret>,
    set: Option<Pasted>,
    sealed: Option<Vec<u8>>,
}

impl Held {
    fn in_force(&self) -> Option<&Secret> {
        self.set.as_ref().map(|set| &set.secret).or(self.configured.as_ref())
    }
    fn client_in_force(&self) -> Option<&Secret> {
        self.set.as_ref().and_then(|set| set.client.as_ref()).or(self.client.as_ref())
    }
    fn differs(&self, other: &Held) -> bool {
        !same(self.in_force(), other.in_force()) || !same(self.client_in_force(), other.client_in_force())
    }
}

/// A connection's secrets, and how they travel.
struct Ring {
    carrier: Carrier,
    origin: String,
    held: Held,
    /// By the credentials that requests with them are charged to.
    former: BTreeMap<CredentialId, Secret>,
}

impl Ring {
    fn carried(&self, payer: Option<CredentialId>) -> Option<&Secret> {
        payer.and_then(|payer| self.former.get(&payer)).or(self.held.in_force())
    }
}

/// Replaced while requests are under way: each goes out with the secret whose budget paid for it.
pub struct Keyring {
    installation: [u8; 32],
    data: PathBuf,
    redactor: Redactor,
    rings: RwLock<BTreeMap<ConnectionKey, Ring>>,
    seal: Mutex<Option<SealKey>>,
}

impl Keyring {
    /// `data` is the data file: the key that seals lies beside it, and is made when something is sealed first.
    pub fn new(
        installation: [u8; 32],
        data: PathBuf,
        connections: &[ConnectionSpec],
        secrets: &Secrets,
        redactor: Redactor,
    ) -> Keyring {
        let ring = |spec: &ConnectionSpec| {
            let configured = secrets.own.get(&spec.key).cloned();
            let held = Held { configured, client: secrets.clients.get(&spec.key).cloned(), ..Held::default() };
            let (carrier, origin) = (spec.carrier.clone(), boundary::origin(&spec.base_url).to_owned());
            (spec.key.clone(), Ring { carrier, origin, held, former: BTreeMap::new() })
        };
        let rings = RwLock::new(connections.iter().map(ring).collect());
        Keyring { installation, data, redactor, rings, seal: Mutex::default() }
    }

    pub fn installation(&self) -> &[u8; 32] {
        &self.installation
    }
    pub fn data(&self) -> &Path {
        &self.data
    }

    /// What an operator set in an earlier run. The error is a sentence: then the configured one is in force.
    pub fn restore(&self, connection: &ConnectionKey, sealed: Vec<u8>) -> Result<(), String> {
        let pasted = self.opened(connection, &sealed)?;
        if let Some(ring) = self.rings.write().unwrap_or_else(PoisonError::into_inner).get_mut(connection) {
            (ring.held.set, ring.held.sealed) = (Some(pasted), Some(sealed));
        }
        Ok(())
    }

    fn opened(&self, connection: &ConnectionKey, sealed: &[u8]) -> Result<Pasted, String> {
        let lost = || {
            format!(
                "the credential that was set for connection {connection} cannot be opened with the key file (it is another one, or new); \
                 Larder uses the configured one. Set it again, or clear it"
            )
        };
        let bytes = self.with_key(|key| Ok(key.open(bound_to(&self.installation, connection), PURPOSE, sealed)))?;
        let text = bytes.and_then(|bytes| String::from_utf8(bytes.to_vec()).ok());
        let pasted = text.and_then(Pasted::of).ok_or_else(lost)?;
        self.keep(&pasted);
        Ok(pasted)
    }

    /// A connection that comes or becomes another. What an operator set stays; `sealed` is that of an earlier run. Beside it a sentence where
    /// that cannot be opened any more; the error is one too.
    pub(super) fn look_at(
        &self,
        spec: &ConnectionSpec,
        secrets: &Secrets,
        sealed: Option<Vec<u8>>,
    ) -> Result<(Considered, Option<String>), String> {
        let (rings, mut note) = (self.rings(), None);
        let known = rings.get(&spec.key).map(|ring| &ring.held);
        let configured = secrets.own.get(&spec.key).cloned();
        let mut after = Held { configured, client: secrets.clients.get(&spec.key).cloned(), ..Held::default() };
        match (known, sealed) {
            (Some(held), _) => (after.set, after.sealed) = (held.set.clone(), held.sealed.clone()),
            (None, Some(sealed)) => match self.opened(&spec.key, &sealed) {
                Ok(pasted) => (after.set, after.sealed) = (Some(pasted), Some(sealed)),
                Err(why) => note = Some(why),
            },
            (None, None) => {}
        }
        let origin = boundary::origin(&spec.base_url).to_owned();
        let considered = Considered {
            connection: spec.key.clone(),
            fingerprint: fingerprint(&self.installation, after.in_force(), &origin),
            differs: known.is_none_or(|held| held.differs(&after)),
            sealed: after.sealed.clone(),
            after,
            way: Some((spec.carrier.clone(), origin)),
        };
        Ok((considered, note))
    }

    /// A connection's first secret, sealed for the data file. The error is a sentence.
    pub fn sealed_for(&self, spec: &ConnectionSpec, pasted: &Pasted) -> Result<Vec<u8>, String> {
        self.sealed(&spec.carrier, &spec.key, pasted)
    }

    /// If it can travel. From here on nothing shows it.
    fn sealed(&self, carrier: &Carrier, connection: &ConnectionKey, pasted: &Pasted) -> Result<Vec<u8>, String> {
        if *carrier == Carrier::None {
            return Err("this connection sends no credential, so none can be set".to_owned());
        }
        route::attach(carrier, Some(&pasted.secret))?;
        self.keep(pasted);
        let bound = bound_to(&self.installation, connection);
        self.with_key(|key| key.seal(bound, PURPOSE, pasted.text().as_bytes()))
    }

    /// From now on no log, page or answer shows it.
    fn keep(&self, pasted: &Pasted) {
        self.redactor.keep(&pasted.secret);
        pasted.client.iter().for_each(|client| self.redactor.keep(client));
    }

    pub(super) fn forget(&self, connection: &ConnectionKey) {
        self.rings.write().unwrap_or_else(PoisonError::into_inner).remove(connection);
    }

    /// Whether an operator's is in force.
    pub fn is_set(&self, connection: &ConnectionKey) -> bool {
        self.rings().get(connection).is_some_and(|ring| ring.held.set.is_some())
    }

    /// The fingerprint of what travels with a request that this credential pays for; `None`: of what is in force.
    pub fn fingerprint(&self, connection: &ConnectionKey, payer: Option<CredentialId>) -> Option<CredentialId> {
        let rings = self.rings();
        let ring = rings.get(connection)?;
        Some(fingerprint(&self.installation, ring.carried(payer), &ring.origin))
    }

    /// What is in force, and the client's secret.
    pub fn in_force(&self, connection: &ConnectionKey) -> (Option<Secret>, Option<Secret>) {
        let rings = self.rings();
        let held = rings.get(connection).map(|ring| &ring.held);
        (held.and_then(|held| held.in_force().cloned()), held.and_then(|held| held.client_in_force().cloned()))
    }

    /// What travels with a request that this credential pays for.
    pub(super) fn secret(&self, connection: &ConnectionKey, payer: Option<CredentialId>) -> Option<Secret> {
        self.rings().get(connection)?.carried(payer).cloned()
    }

    /// Whether the change can be made, and what it comes to. From here on nothing shows the new secret. The error is a sentence.
    pub fn consider(&self, connection: &ConnectionKey, change: Change) -> Result<Considered, String> {
        let rings = self.rings();
        let ring = rings.get(connection).ok_or_else(|| format!("there is no connection {connection}"))?;
        let mut after = ring.held.clone();
        match change {
            Change::Configured(own, client) => (after.configured, after.client) = (own, client),
            Change::Set(mut pasted) => {
                let before = after.set.as_ref().and_then(|set| set.client.clone());
                pasted.client = pasted.client.or(before);
                let sealed = self.sealed(&ring.carrier, connection, &pasted)?;
                (after.set, after.sealed) = (Some(pasted), Some(sealed));
            }
            Change::Cleared => (after.set, after.sealed) = (None, None),
        }
        // Where there was none and is none, none is to be looked at.
        if after.in_force().or(ring.held.in_force()).is_some() {
            route::attach(&ring.carrier, after.in_force())?;
        }
        after.configured.iter().chain(&after.client).for_each(|secret| self.redactor.keep(secret));
        Ok(Considered {
            connection: connection.clone(),
            fingerprint: fingerprint(&self.installation, after.in_force(), &ring.origin),
            differs: ring.held.differs(&after),
            sealed: after.sealed.clone(),
            after,
            way: None,
        })
    }

    /// From now on it is in force. What was admitted for `before` still goes out with the secret of before, unless that is the same credential.
    pub fn adopt(&self, considered: Considered, before: CredentialId, now: CredentialId) {
        let mut rings = self.rings.write().unwrap_or_else(PoisonError::into_inner);
        let Considered { connection, after, way, .. } = considered;
        let Some(ring) = rings.get_mut(&connection) else {
            let ring = |(carrier, origin)| Ring { carrier, origin, held: after, former: BTreeMap::new() };
            rings.extend(way.map(ring).map(|ring| (connection, ring)));
            return;
        };
        ring.former.remove(&now);
        if before != now {
            ring.former.extend(ring.held.in_force().map(|secret| (before, secret.clone())));
        }
        ring.held = after;
        if let Some((carrier, origin)) = way {
            (ring.carrier, ring.origin) = (carrier, origin);
        }
    }

    fn rings(&self) -> RwLockReadGuard<'_, BTreeMap<ConnectionKey, Ring>> {
        self.rings.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn with_key<T>(&self, doing: impl FnOnce(&SealKey) -> Result<T, String>) -> Result<T, String> {
        let mut key: MutexGuard<'_, Option<SealKey>> = self.seal.lock().unwrap_or_else(PoisonError::into_inner);
        let key = match &mut *key {
            Some(key) => key,
            none => none.insert(SealKey::beside(&self.data)?.0),
        };
        doing(key)
    }
}

fn same(one: Option<&Secret>, other: Option<&Secret>) -> bool {
    one.map(Secret::expose) == other.map(Secret::expose)
}

/// What is sealed for one connection opens for no other.
fn bound_to(installation: &[u8; 32], connection: &ConnectionKey) -> CredentialId {
    let mut hasher = blake3::Hasher::new_keyed(installation);
    for part in ["connection", connection.organization.as_str(), connection.connection.as_str()] {
        hasher.update(&(part.len() as u64).to_be_bytes()).update(part.as_bytes());
    }
    let mut id = [0; 16];
    id.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
    CredentialId(id)
}
