//! One change of the roster: a connection that comes, or is written otherwise. Looks at everything first; then it is durable, and then it runs.

use super::Joining;
use crate::domain::connection::ConnectionState;
use crate::domain::credential::{CredentialState, SetSecret};
use crate::domain::ids::CredentialId;
use crate::domain::setup::Provenance;
use crate::domain::spec::ConnectionSpec;
use crate::domain::time::Now;
use crate::engine::accounts;
use crate::engine::build::{self, Ground};
use crate::engine::core::{Conn, Core};
use crate::engine::fetch::token;
use crate::engine::members::{Member, others, together};
use crate::engine::scans::Scan;
use crate::engine::sharing::Sharing;
use crate::engine::targets::{Target, TargetSet};
use crate::engine::view::Denied;
use crate::engine::webhooks::{self, Hook};
use crate::store::{Commit, Write};
use crate::upstream::arrivals::{Arrival, Stored};
use crate::upstream::boundary;
use crate::upstream::tokens::identity;
use std::sync::Arc;

/// A change that is made.
pub struct Change<'a> {
    joining: Joining,
    before: Option<&'a Arc<Conn>>,
    arrival: Arrival,
    /// What is remembered of its credential, as it was and as it will be.
    remembered: Option<CredentialState>,
    known: CredentialState,
    credential: CredentialId,
    /// As it will run, without its place in the budget.
    conn: Conn,
    targets: Vec<Arc<Target>>,
    state: ConnectionState,
    notes: Vec<String>,
    /// First states of webhooks that are new.
    begun: Vec<Write>,
    now: Now,
}

impl<'a> Change<'a> {
    /// Looks at everything, and changes nothing.
    pub fn of(
        core: &Core,
        joining: Joining,
        before: Option<&'a Arc<Conn>>,
        state: ConnectionState,
    ) -> Result<Change<'a>, Denied> {
        let (now, spec) = (core.clock.now(), &joining.spec);
        let state = match before {
            Some(_) => state,
            None => core.store.connection(&spec.key)?.unwrap_or_default(),
        };
        let remembered = core.store.credential(&spec.key)?;
        let set = match (&joining.set, core.door.keyring()) {
            (Some(pasted), Some(keyring)) => Some(keyring.sealed_for(spec, pasted).map_err(Denied::unusable)?),
            _ => None,
        };
        let earlier = || remembered.as_ref().and_then(|known| known.set.as_ref()).map(|set| set.sealed.clone());
        let stored = Stored { set: set.clone().or_else(earlier), tokens: tokens(core, spec)? };
        let arrival = core.door.look_at(spec, &joining.secrets, stored).map_err(Denied::Invalid)?;
        let mut known = accounts::with_secret(&core.store, spec, remembered.as_ref(), arrival.credential, &now)?;
        let by = || joining.by.clone();
        known.set = set.map(|sealed| SetSecret { sealed, by: by(), at: now.stamp() }).or(known.set);
        let credential = match spec.oauth {
            Some(_) => arrival.credential,
            None => known.counts_for().unwrap_or(arrival.credential),
        };
        let mut notes: Vec<String> = arrival.note.iter().cloned().collect();
        let ground = Ground { store: &core.store, installation: core.installation, putting: &joining.putting };
        let alone = Arc::new(Sharing::new(credential, Vec::new(), Default::default(), None));
        let among = before.map_or_else(Arc::default, |conn| Arc::clone(&conn.targets));
        let built = build::connection(ground, spec, alone, (&state, &now), among, &mut notes);
        let (conn, targets) = built.map_err(Denied::Invalid)?;
        let (hooks, begun) = webhooks::hooks(&core.store, spec)?;
        let provenance = joining.stored.as_ref().map_or(Provenance::Configured, Provenance::of);
        let lacks_secret = arrival.lacks_secret;
        // Later than every one before, also than one of its name that was taken away: what that began is not this one's.
        let edition = core.connections.version() + 1;
        let conn = Conn { edition, webhooks: hooks, since: known.since, provenance, lacks_secret, ..conn };
        let (conn, targets) = match before {
            None => {
                conn.targets.replace(targets.clone());
                (conn, targets)
            }
            Some(before) => followed(before, conn, targets, &arrival, &now),
        };
        Ok(Change { before, arrival, remembered, known, credential, conn, targets, state, notes, begun, now, joining })
    }

    /// Durable first.
    pub async fn carry_out(self, core: &Arc<Core>) -> Result<(), Denied> {
        let key = self.conn.spec.key.clone();
        let mut members = self.members(core).map_err(Denied::Unavailable)?;
        let own = members.iter_mut().find(|conn| conn.spec.key == key).filter(|_| self.before.is_none());
        let first = own.and_then(|conn| {
            let first = build::first_poll(conn, &self.state, &self.now)?;
            conn.state = Arc::new(tokio::sync::Mutex::new(first.clone()));
            Some(first)
        });
        let events = core.commit(self.commit(first.as_ref())).await?;
        let Change { arrival, before, credential, mut notes, targets, conn, .. } = self;
        let was = before.map_or(credential, |conn| conn.credential);
        notes.extend(core.door.welcome(arrival, was, credential));
        conn.targets.replace(targets);
        core.connections.replace(members);
        if let Some(before) = before.filter(|conn| conn.credential != credential) {
            before.sharing.leave(&key, &core.store);
        }
        core.publish(events);
        notes.iter().for_each(|note| tracing::warn!(connection = %key, "{note}"));
        Ok(())
    }

    fn commit(&self, first: Option<&ConnectionState>) -> Commit {
        let key = &self.conn.spec.key;
        let mut writes = self.begun.clone();
        if self.remembered.as_ref() != Some(&self.known)
            && (self.conn.spec.oauth.is_none() || self.joining.set.is_some())
        {
            writes.push(Write::Credential(key.clone(), self.known.clone()));
        }
        writes.extend(self.joining.stored.iter().map(|stored| Write::Stored(key.clone(), stored.clone())));
        writes.extend(first.map(|state| Write::Connection(key.clone(), state.clone())));
        let by = &self.joining.by;
        let what = match self.before {
            None if self.conn.provenance.is_on_trial() => format!("added by {by}, on trial"),
            None => format!("added by {by}"),
            Some(before) if before.provenance.is_on_trial() && !self.conn.provenance.is_on_trial() => {
                format!("saved by {by}: it is polled from now on")
            }
            Some(before) => format!("changed by {by}: {}", differences(&before.spec, &self.conn.spec)),
        };
        let settled = self.before.map(|conn| accounts::is_read(conn, self.now.stamp()));
        Commit {
            writes,
            events: vec![super::told(key, &what, &self.now)],
            findings: settled.into_iter().collect(),
            ..Commit::default()
        }
    }

    /// It, and those that share its credential: their limits are one budget (F1).
    fn members(&self, core: &Core) -> Result<Vec<Conn>, String> {
        let mut members = others(core, self.credential, &self.conn.spec.key);
        let targets = Arc::new(TargetSet::of(self.targets.clone()));
        members.push(Member::new(self.conn.clone(), &self.state, targets));
        if self.conn.spec.oauth.is_some() {
            core.renews(self.credential);
            let apart = token::apart(self.credential);
            core.store.install_budget(apart, token::own_pace(), &self.now).map_err(|e| e.to_string())?;
        }
        together(core, self.credential, members, &self.now)
    }
}

/// What the file has of its tokens.
fn tokens(core: &Core, spec: &ConnectionSpec) -> Result<Option<(u64, Vec<u8>)>, Denied> {
    let Some(oauth) = &spec.oauth else { return Ok(None) };
    let credential = identity(&core.installation, oauth);
    Ok(core.store.sealed(credential)?.map(|sealed| (sealed.version, sealed.bytes)))
}

/// One that runs already: what hangs on neither credential nor specification is the same in both, and what asks the same goes on.
fn followed(
    before: &Conn,
    new: Conn,
    targets: Vec<Arc<Target>>,
    arrival: &Arrival,
    now: &Now,
) -> (Conn, Vec<Arc<Target>>) {
    let same_place = before.spec.time_zone == new.spec.time_zone;
    let kept = |target: Arc<Target>| {
        let old = before.target(&target.key.target).filter(|old| same_place && old.spec == target.spec);
        old.filter(|old| old.origin == target.origin).unwrap_or(target)
    };
    let scan = |scan: &Arc<Scan>| {
        let old = before.scans.iter().find(|old| old.key() == scan.key());
        let spec = |spec: &ConnectionSpec| spec.scans.iter().find(|s| s.question.name == scan.key().target).cloned();
        old.filter(|_| same_place && spec(&before.spec) == spec(&new.spec)).unwrap_or(scan).clone()
    };
    let hook = |hook: &Arc<Hook>| {
        let old = before.webhooks.iter().find(|old| old.key == hook.key && old.spec == hook.spec);
        old.unwrap_or(hook).clone()
    };
    let conn = Conn {
        left: before.left.clone(),
        secret_since: if arrival.differs { now.stamp() } else { before.secret_since },
        triggers: Arc::clone(&before.triggers),
        overrides: Arc::clone(&before.overrides),
        stretch_told: Arc::clone(&before.stretch_told),
        state: Arc::clone(&before.state),
        wake: Arc::clone(&before.wake),
        scans: new.scans.iter().map(scan).collect(),
        webhooks: new.webhooks.iter().map(hook).collect(),
        desk: Arc::clone(if keeps_its_desk(&before.spec, &new.spec) { &before.desk } else { &new.desk }),
        ..new
    };
    (conn, targets.into_iter().map(kept).collect())
}

/// Whether what its gateway has in memory means the same.
fn keeps_its_desk(one: &ConnectionSpec, other: &ConnectionSpec) -> bool {
    one.gateway == other.gateway
        && one.commands == other.commands
        && one.carrier == other.carrier
        && one.base_url == other.base_url
}

/// What was admitted for one provider must not be sent to another, with the other's secret perhaps.
pub fn refuse(before: &Conn, spec: &ConnectionSpec) -> Result<(), Denied> {
    let (old, new) = (boundary::origin(&before.spec.base_url), boundary::origin(&spec.base_url));
    if old != new {
        return Err(Denied::Invalid(format!(
            "{} leads to {new} now and not to {old}: that waits for a restart, or take the connection away first",
            spec.key.connection
        )));
    }
    Ok(())
}

/// What is written otherwise, in the words of the file.
fn differences(before: &ConnectionSpec, after: &ConnectionSpec) -> String {
    let same = [
        ("base_url", before.base_url == after.base_url),
        ("credential", before.secret == after.secret && before.carrier == after.carrier && before.oauth == after.oauth),
        ("limits", before.limits == after.limits && before.quotas == after.quotas),
        ("poll", before.poll == after.poll && before.refresh_min_age == after.refresh_min_age),
        ("targets", before.targets == after.targets),
        ("scans", before.scans == after.scans),
        ("commands", before.commands == after.commands),
        ("webhooks", before.webhooks == after.webhooks),
        ("rules", before.rules == after.rules && before.waits == after.waits),
        ("gateway", before.gateway == after.gateway),
    ];
    let others: Vec<&str> = same.iter().filter(|(_, same)| !same).map(|(name, _)| *name).collect();
    if others.is_empty() { "its other settings".to_owned() } else { others.join(", ") }
}
