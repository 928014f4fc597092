//! Connections that come, become others and go while everything runs. A change is looked at as a whole, durable before it runs, and costs no
//! request; what is under way ends by the words that it began with. What a connection learned outlives it: its charges, items and history
//! stay in the file, and one of the same name finds them. Must not know in which words a connection is written, nor see a secret.

mod change;

use super::appliance::Appliance;
use super::core::{Conn, Core};
use super::fetch::token;
use super::put::Putting;
use super::view::Denied;
use super::webhooks::{self, Hook};
use super::{findings, members, poller, trigger};
use crate::domain::connection::ConnectionState;
use crate::domain::credential::CredentialState;
use crate::domain::event::{EventKind, NewEvent};
use crate::domain::ids::ConnectionKey;
use crate::domain::setup::{Provenance, StoredConnection};
use crate::domain::spec::ConnectionSpec;
use crate::domain::time::Now;
use crate::store::{Commit, Write};
use crate::upstream::boundary::Secrets;
use crate::upstream::keyring::Pasted;
use change::Change;
use std::sync::Arc;

/// A connection as it is written now.
pub struct Joining {
    pub spec: ConnectionSpec,
    pub secrets: Secrets,
    /// How targets that are put to it are read.
    pub putting: Arc<Putting>,
    /// Who wants it, and from where.
    pub by: String,
    /// Where it is written, if not in `larder.toml`.
    pub stored: Option<StoredConnection>,
    /// The credential that somebody sets for one that is new.
    pub set: Option<Pasted>,
}

/// What became of one that joined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Joined {
    New,
    Changed,
}

/// Its loops, at a start or when it comes.
pub fn begin(core: &Arc<Core>, conn: &Arc<Conn>) {
    trigger::begin(core, conn);
    core.spawn(poller::run(core.clone(), conn.spec.key.clone(), conn.left.clone()));
    tell(core, conn, &conn.webhooks);
}

fn tell(core: &Arc<Core>, conn: &Arc<Conn>, hooks: &[Arc<Hook>]) {
    for hook in hooks {
        core.spawn(webhooks::run(core.clone(), conn.clone(), hook.clone()));
    }
}

impl Appliance {
    /// As they run, in the order of their keys, and where each is written.
    pub fn roster(&self) -> Vec<(ConnectionSpec, Provenance)> {
        self.core.connections.values().map(|conn| (conn.spec.clone(), conn.provenance.clone())).collect()
    }

    pub fn has(&self, key: &ConnectionKey) -> bool {
        self.core.connections.get(key).is_some()
    }

    /// As it is stored beside the configuration.
    pub fn stored_connection(&self, key: &ConnectionKey) -> Result<Option<StoredConnection>, Denied> {
        Ok(self.core.store.stored_connection(key)?)
    }

    /// A new connection, or one that is written in another way now. Goes on if the caller goes away.
    pub async fn join(&self, joining: Joining) -> Result<Joined, Denied> {
        let core = self.core.clone();
        self.to_the_end(async move { join(&core, joining).await }).await
    }

    /// Takes a connection away; nothing of it is asked any more. What the file has of it stays. Goes on if the caller goes away.
    pub async fn part(&self, key: &ConnectionKey, by: &str) -> Result<(), Denied> {
        let (core, key, by) = (self.core.clone(), key.clone(), by.to_owned());
        self.to_the_end(async move { part(&core, &key, &by).await }).await
    }
}

async fn join(core: &Arc<Core>, joining: Joining) -> Result<Joined, Denied> {
    let _alone = core.connections.rotating.lock().await;
    let key = joining.spec.key.clone();
    let before = core.connections.get(&key);
    // None of its tokens is under way while its client becomes another one.
    let renewal = before.as_ref().and_then(|conn| core.renewal(conn.credential));
    let _renewing = match &renewal {
        Some(alone) => Some(alone.lock().await),
        None => None,
    };
    if before.is_some() && joining.set.is_some() {
        let taken = format!("there is a connection \"{}\" already; its credential is set on its page", key.connection);
        return Err(Denied::Invalid(taken));
    }
    match &before {
        None => Change::of(core, joining, None, ConnectionState::default())?.carry_out(core).await?,
        Some(before) => {
            change::refuse(before, &joining.spec)?;
            // No answer is judged, and no target put, while one takes the other's place.
            let _changing = before.targets.changing.lock().await;
            let state = before.state.lock().await;
            Change::of(core, joining, Some(before), state.clone())?.carry_out(core).await?;
        }
    }
    settle(core, &key, before.as_ref(), &core.clock.now()).await?;
    Ok(if before.is_some() { Joined::Changed } else { Joined::New })
}

/// After one came, became another, or went: who waits looks again, what runs for it begins or ends, and what was about what is not there any
/// more is settled.
async fn settle(core: &Arc<Core>, key: &ConnectionKey, before: Option<&Arc<Conn>>, now: &Now) -> Result<(), Denied> {
    let conn = core.connections.get(key);
    let runs = |hook: &Arc<Hook>, conn: Option<&Arc<Conn>>| {
        conn.is_some_and(|conn| conn.webhooks.iter().any(|own| Arc::ptr_eq(own, hook)))
    };
    for hook in before.into_iter().flat_map(|conn| &conn.webhooks).filter(|hook| !runs(hook, conn.as_ref())) {
        hook.over.cancel();
    }
    match (&conn, before) {
        (Some(conn), None) => begin(core, conn),
        (Some(conn), Some(before)) => {
            let new: Vec<_> = conn.webhooks.iter().filter(|hook| !runs(hook, Some(before))).cloned().collect();
            tell(core, conn, &new);
        }
        (None, _) => {}
    }
    if let Some(conn) = &conn {
        token::greet(core, conn).await?;
        let grace = conn.completion_grace();
        conn.look(grace, now);
        core.wake(conn);
    }
    if let Some(before) = before {
        core.wake(before);
    }
    core.changed.notify_one();
    core.moving.notify_one();
    let (writes, findings) = (webhooks::forgotten(core)?, findings::orphans(core, now)?);
    if !writes.is_empty() || !findings.is_empty() {
        let events = core.commit(Commit { writes, findings, ..Commit::default() }).await?;
        core.publish(events);
    }
    Ok(())
}

async fn part(core: &Arc<Core>, key: &ConnectionKey, by: &str) -> Result<(), Denied> {
    let _alone = core.connections.rotating.lock().await;
    let missing = || Denied::NotFound(format!("there is no connection \"{}\"", key.connection));
    let conn = core.connections.get(key).ok_or_else(missing)?;
    let now = core.clock.now();
    let _changing = conn.targets.changing.lock().await;
    let state = conn.state.lock().await;
    let events = vec![told(key, &format!("taken away by {by}; what is known of it stays in the file"), &now)];
    let writes = forgotten(core, &conn)?;
    let events = core.commit(Commit { writes, events, ..Commit::default() }).await?;
    // From here on nothing of it is admitted; what was admitted before is heard out, or was not sent.
    conn.left.cancel();
    core.connections.remove(key);
    let others = members::others(core, conn.credential, key);
    if !others.is_empty() {
        match members::together(core, conn.credential, others, &now) {
            Ok(staying) => core.connections.replace(staying),
            // They go on with the budget of before, which counts what the one that went declared besides: never over.
            Err(why) => {
                tracing::error!(connection = %key, "who shares its credential keeps its limits until a restart: {why}")
            }
        }
    }
    conn.sharing.leave(key, &core.store);
    drop(state);
    core.door.dismiss(key);
    core.publish(events);
    settle(core, key, Some(&conn), &now).await
}

/// One that was stored here is stored no more, and neither is its credential.
fn forgotten(core: &Core, conn: &Conn) -> Result<Vec<Write>, Denied> {
    if conn.provenance == Provenance::Configured {
        return Ok(Vec::new());
    }
    let key = &conn.spec.key;
    let known = core.store.credential(key)?.map(|known| CredentialState { set: None, ..known });
    let credential = known.map(|known| Write::Credential(key.clone(), known));
    Ok(credential.into_iter().chain([Write::DropStored(key.clone())]).collect())
}

fn told(key: &ConnectionKey, what: &str, now: &Now) -> NewEvent {
    NewEvent {
        kind: EventKind::ControlChanged,
        at: now.stamp(),
        connection: Some(key.clone()),
        target: None,
        message: format!("connection {} {what}", key.connection),
    }
}
