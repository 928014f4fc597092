//! Another credential while everything runs: set by an operator, or read anew from where the configuration says that it lies. What is under
//! way ends with the one that it began with; what begins afterwards has the new one, and spends from its budget. Sees fingerprints and sealed
//! bytes; must not see a secret.

use super::accounts::{self, with_secret};
use super::appliance::Appliance;
use super::core::{Conn, Core};
use super::fetch::{holds, token};
use super::findings;
use super::members::{self, Member};
use super::view::{ConnectionView, Denied};
use super::words;
use crate::domain::connection::ConnectionState;
use crate::domain::credential::{CredentialState, NewSecret, SetSecret};
use crate::domain::event::{EventKind, NewEvent};
use crate::domain::ids::{ConnectionKey, CredentialId};
use crate::domain::spec::{ConnectionSpec, SecretSource};
use crate::domain::time::{Now, Stamp};
use crate::store::{Commit, Write};
use crate::upstream::keyring::{Change, Considered, Keyring, Pasted};
use crate::upstream::redact::Secret;
use crate::upstream::tokens::Joining;
use std::sync::Arc;

/// What the configuration says of a connection's credential now.
pub struct Reread {
    /// Where it lies, and what another one is to the provider.
    pub source: SecretSource,
    pub new_secret: NewSecret,
    pub own: Option<Secret>,
    /// Of a client that renews its tokens.
    pub client: Option<Secret>,
}

/// Where a change came from.
enum From {
    /// Who, and from where.
    Operator(String),
    Configuration(SecretSource, NewSecret),
}

impl Appliance {
    /// An operator's secret instead of the configured one, until it is cleared (`None`). `by`: who, and from where. Shown to nobody again.
    pub async fn set_credential(
        &self,
        key: &ConnectionKey,
        secret: Option<String>,
        by: &str,
    ) -> Result<ConnectionView, Denied> {
        let change = match secret {
            Some(text) => Change::Set(Secret::new(text).map_err(Denied::unusable)?.into()),
            None => Change::Cleared,
        };
        self.replace(key, change, From::Operator(by.to_owned())).await?;
        self.connection(key)
    }

    /// The same for one that renews its tokens: a refresh token, and with it another secret of its client.
    pub async fn set_client(&self, key: &ConnectionKey, pasted: Pasted, by: &str) -> Result<ConnectionView, Denied> {
        self.replace(key, Change::Set(pasted), From::Operator(by.to_owned())).await?;
        self.connection(key)
    }

    /// Takes what the configuration says now; whether that made another secret the one in force.
    pub async fn reread_credential(&self, key: &ConnectionKey, said: Reread) -> Result<bool, Denied> {
        let Reread { source, new_secret, own, client } = said;
        self.replace(key, Change::Configured(own, client), From::Configuration(source, new_secret)).await
    }

    /// The configuration names a credential that cannot be read: what is in force stays, and the owners are told.
    pub async fn keep_credential(&self, key: &ConnectionKey, why: &str) -> Result<(), Denied> {
        let conn = self.conn(key)?;
        self.core.begun.cancelled().await;
        let findings = vec![accounts::unreadable(&conn, why, self.now().stamp())];
        let events = self.core.commit(Commit { findings, ..Commit::default() }).await?;
        self.core.publish(events);
        Ok(())
    }

    /// The configuration was read anew, or could not be; `notes`: what of it is not in force, for people, until it is read anew again.
    pub async fn reloaded(&self, read: Result<Vec<String>, String>) -> Result<(), Denied> {
        self.core.begun.cancelled().await;
        let at = self.now().stamp();
        let (notes, finding, message) = match read {
            Ok(notes) => {
                let told = if notes.is_empty() { "it is in force".to_owned() } else { notes.join("; ") };
                (notes, findings::configuration_read(at), format!("the configuration was read anew: {told}"))
            }
            Err(why) => {
                let note = words::not_read_anew(&why);
                (vec![note.clone()], findings::configuration_unreadable(&why, at), note)
            }
        };
        let event = NewEvent { kind: EventKind::Appliance, at, connection: None, target: None, message };
        self.core.notes.unapplied(notes);
        let commit = Commit { events: vec![event], findings: vec![finding], ..Commit::default() };
        let events = self.core.commit(commit).await?;
        self.core.publish(events);
        Ok(())
    }

    /// Goes on if the caller goes away: it is done as a whole or not at all.
    async fn replace(&self, key: &ConnectionKey, change: Change, from: From) -> Result<bool, Denied> {
        self.conn(key)?;
        let (core, key) = (self.core.clone(), key.clone());
        self.to_the_end(async move { replace(&core, &key, change, from).await }).await
    }
}

async fn replace(core: &Core, key: &ConnectionKey, change: Change, from: From) -> Result<bool, Denied> {
    let _alone = core.connections.rotating.lock().await;
    let missing = || Denied::NotFound(format!("there is no connection \"{}\"", key.connection));
    let conn = core.connections.get(key).ok_or_else(missing)?;
    let keyring =
        core.door.keyring().ok_or_else(|| Denied::Unavailable("no credential can be replaced here".to_owned()))?;
    let considered = keyring.consider(key, change).map_err(Denied::unusable)?;
    // None is under way while its refresh token becomes another one.
    let renewals = core.renewal(conn.credential);
    let _renewing = match &renewals {
        Some(alone) => Some(alone.lock().await),
        None => None,
    };
    Rotation::of(core, conn, considered, from)?.carry_out(core, keyring).await
}

/// A change that is made.
struct Rotation {
    conn: Arc<Conn>,
    spec: ConnectionSpec,
    considered: Considered,
    from: From,
    before: CredentialState,
    next: CredentialState,
    now: Now,
}

impl Rotation {
    fn of(core: &Core, conn: Arc<Conn>, considered: Considered, from: From) -> Result<Rotation, Denied> {
        let (now, mut spec) = (core.clock.now(), conn.spec.clone());
        if let From::Configuration(source, new_secret) = &from {
            (spec.secret, spec.new_secret) = (source.clone(), *new_secret);
        }
        let before = core.store.credential(&spec.key)?;
        let mut next = with_secret(&core.store, &spec, before.as_ref(), considered.fingerprint, &now)?;
        let before = before.unwrap_or_default();
        if let From::Operator(by) = &from {
            let set = |sealed: &Vec<u8>| SetSecret { sealed: sealed.clone(), by: by.clone(), at: now.stamp() };
            next.set = considered.sealed.as_ref().map(set);
        }
        Ok(Rotation { conn, spec, considered, from, before, next, now })
    }

    fn counts_for(&self) -> CredentialId {
        self.next.counts_for().unwrap_or(self.conn.credential)
    }

    fn moves(&self) -> bool {
        self.counts_for() != self.conn.credential
    }

    /// Durable first. What is admitted until the new one stands in its place goes out with the old secret, which paid for it.
    async fn carry_out(self, core: &Core, keyring: &Keyring) -> Result<bool, Denied> {
        // No answer is judged, and no target put, while one takes the other's place.
        let changing = self.conn.targets.changing.lock().await;
        let state = self.conn.state.lock().await;
        let replaced = self.replaced(core, &state).map_err(Denied::Unavailable)?;
        let events = match self.commit(core)? {
            Some(commit) => core.commit(commit).await?,
            None => Vec::new(),
        };
        let (differs, counts_for) = (self.considered.differs, self.counts_for());
        if differs {
            self.replant(core)?;
        }
        keyring.adopt(self.considered, self.conn.credential, counts_for);
        core.connections.replace(replaced);
        if let Some(conn) = core.connections.get(&self.spec.key) {
            // It may not have wished for anything while it had nothing to send.
            conn.sharing.wishes(&self.spec.key, conn.lasting_wish(&state));
        }
        if counts_for != self.conn.credential {
            self.conn.sharing.leave(&self.spec.key, &core.store);
        }
        drop((state, changing));
        core.publish(events);
        core.ring(self.conn.credential);
        if let Some(conn) = core.connections.get(&self.spec.key) {
            token::greet(core, &conn).await?;
            core.wake(&conn);
        }
        Ok(differs)
    }

    /// The tokens that are stored come of another refresh token, or of this one: the vault looks.
    fn replant(&self, core: &Core) -> Result<(), Denied> {
        let (Some(spec), Some(vault)) = (&self.spec.oauth, core.door.vault()) else { return Ok(()) };
        let (Some(refresh), client_secret) = self.considered.secrets() else { return Ok(()) };
        let (connection, credential) = (self.spec.key.clone(), self.conn.credential);
        let stored = core.store.sealed(credential)?.map(|sealed| (sealed.version, sealed.bytes));
        vault.plant(Joining { connection, credential, spec, refresh, client_secret, stored });
        Ok(())
    }

    /// `None`: nothing is to be remembered and nothing to be told.
    fn commit(&self, core: &Core) -> Result<Option<Commit>, Denied> {
        let at = self.now.stamp();
        let settled = accounts::is_read(&self.conn, at);
        let is_quiet =
            matches!(self.from, From::Configuration(..)) && !self.considered.differs && self.next == self.before;
        if is_quiet && core.store.open_finding(settled.about())?.is_none() {
            return Ok(None);
        }
        // What a refresh token was rejected for is for its own path to lift.
        let (lifted, mut events) = match self.considered.differs && !self.moves() && self.spec.oauth.is_none() {
            true => holds::asked_again(core, &self.conn, &self.now, "There is another credential."),
            false => Default::default(),
        };
        events.extend(self.told(at));
        Ok(Some(Commit {
            hold: (!lifted.is_empty()).then_some((self.conn.credential, lifted)),
            writes: vec![Write::Credential(self.spec.key.clone(), self.next.clone())],
            events,
            findings: vec![settled],
            ..Commit::default()
        }))
    }

    fn told(&self, at: Stamp) -> Option<NewEvent> {
        let what = match &self.from {
            From::Configuration(..) if !self.considered.differs => return None,
            From::Configuration(source, _) => format!("another credential was read from {}", accounts::place(source)?),
            From::Operator(by) if self.next.set.is_some() => format!("credential replaced by {by}"),
            From::Operator(by) => format!("credential that was set cleared by {by}; the configured one is in force"),
        };
        let then = match (self.considered.differs, self.moves()) {
            (false, _) => "it is the one that was in force before",
            (true, true) => "its requests spend from a budget of its own from now on",
            (true, false) => "its requests go on spending from the same budget",
        };
        Some(NewEvent {
            kind: EventKind::ControlChanged,
            at,
            connection: Some(self.spec.key.clone()),
            target: None,
            message: format!("{}: {what}; {then}", self.spec.key.connection),
        })
    }

    /// The connection with its new credential, and those that share that with it: their limits are one budget now (F1).
    fn replaced(&self, core: &Core, state: &ConnectionState) -> Result<Vec<Conn>, String> {
        let (credential, since) = (self.counts_for(), self.next.since);
        let secret_since = if self.considered.differs { self.now.stamp() } else { self.conn.secret_since };
        let lacks_secret = self.spec.waits_for_a_secret() && self.considered.secrets().0.is_none();
        let new =
            Conn { spec: self.spec.clone(), credential, since, secret_since, lacks_secret, ..(*self.conn).clone() };
        if !self.moves() {
            return Ok(vec![new]);
        }
        let mut members = members::others(core, credential, &new.spec.key);
        let targets = new.targets.now();
        members.push(Member::new(new, state, targets));
        members::together(core, credential, members, &self.now)
    }
}
