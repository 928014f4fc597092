//! Targets that operators put and take away while the appliance runs. A change is durable before it runs, costs no request, and what a
//! target learned outlives it (F10). Must not know the words in which a target is written: that is the reader's.

use super::appliance::Appliance;
use super::core::{Conn, Core};
use super::targets::{Known, Origin, Target};
use super::view::{Denied, TargetView};
use super::{phases, trigger};
use crate::domain::cursor::ItemsAsk;
use crate::domain::event::{EventKind, NewEvent};
use crate::domain::finding::{FindingChange, Wanted, Which};
use crate::domain::ids::{ConnectionKey, TargetKey, TargetName};
use crate::domain::spec::TargetSpec;
use crate::domain::target::{Life, Phase, PutTarget};
use crate::domain::time::Now;
use crate::rules::lifecycle;
use crate::store::{Commit, Write};
use std::collections::BTreeMap;
use std::sync::Arc;

/// From the JSON object of a target to what it asks. The errors are sentences that name the key.
pub type ReadTarget = dyn Fn(&ConnectionKey, &TargetName, &str) -> Result<TargetSpec, Vec<String>> + Send + Sync;

/// How targets that are put are read, and what they may be like.
pub struct Putting {
    pub read: Arc<ReadTarget>,
    pub patterns: BTreeMap<ConnectionKey, Vec<String>>,
}

/// Of connections to which nothing is put.
impl Default for Putting {
    fn default() -> Putting {
        Putting {
            read: Arc::new(|_, _, _| Err(vec!["no target can be put here".to_owned()])),
            patterns: BTreeMap::new(),
        }
    }
}

/// Enough for any site; a bound for what a mistake can put.
const MOST_TARGETS: usize = 10_000;

impl Appliance {
    /// Creates a target, or gives one that was put another question; `true`: it is new. `phase: None`: as it is, a new one active. Goes on
    /// if the caller goes away.
    pub async fn put_target(
        &self,
        key: &TargetKey,
        body: &str,
        phase: Option<Phase>,
        by: &str,
    ) -> Result<(TargetView, bool), Denied> {
        let (own, of, body, by) = (self.clone(), key.clone(), body.to_owned(), by.to_owned());
        let is_new = self.to_the_end(async move { own.put(&of, (&body, phase, &by)).await }).await?;
        Ok((self.target(key, &ItemsAsk::default())?, is_new))
    }

    async fn put(&self, key: &TargetKey, wanted: (&str, Option<Phase>, &str)) -> Result<bool, Denied> {
        let targets = Arc::clone(&self.conn(&key.connection)?.targets);
        let changing = targets.changing.lock().await;
        // As it is while nothing else changes.
        let conn = self.conn(&key.connection)?;
        let read = &conn.putting.read;
        let spec = read(&key.connection, &key.target, wanted.0).map_err(|wrong| Denied::Invalid(wrong.join("; ")))?;
        let before = conn.target(&key.target);
        refuse(&conn, before.as_deref(), &key.target)?;
        let put = Put::of(&self.core, key, before.as_deref(), wanted)?;
        if put.changes_nothing {
            return Ok(false);
        }
        let target = compiled(&self.core, &conn, key, spec, &put)?;
        let events = self.core.commit(put.commit(key)).await?;
        target.look(conn.completion_grace(), &put.now);
        conn.targets.put(target);
        follow(&self.core, &conn);
        self.core.publish(events);
        drop(changing);
        if put.is_activated {
            trigger::ring(&conn, &key.target);
        }
        Ok(before.is_none())
    }

    /// Puts a target into a phase; one that becomes active is asked at once. Goes on if the caller goes away.
    pub async fn set_phase(&self, key: &TargetKey, to: Phase, by: &str) -> Result<TargetView, Denied> {
        let (conn, target) = self.target_of(key)?;
        let (core, by) = (self.core.clone(), by.to_owned());
        self.to_the_end(async move { Ok(phases::change(&core, &conn, &target, to, &by).await?) }).await?;
        self.target(key, &ItemsAsk::default())
    }

    /// Takes away a target that was put. Its items and its history stay, and whoever puts it again finds them. Goes on if the caller goes
    /// away.
    pub async fn drop_target(&self, key: &TargetKey, by: &str) -> Result<(), Denied> {
        let (own, of, by) = (self.clone(), key.clone(), by.to_owned());
        self.to_the_end(async move { own.take_away(&of, &by).await }).await
    }

    async fn take_away(&self, key: &TargetKey, by: &str) -> Result<(), Denied> {
        let (conn, _) = self.target_of(key)?;
        let _changing = conn.targets.changing.lock().await;
        let (_, target) = self.target_of(key)?;
        refuse_configured(&target)?;
        let now = self.now();
        let commit = Commit {
            writes: vec![Write::DropTarget(key.clone())],
            events: vec![told(key, "taken away", by, &now)],
            findings: settled(&self.core, key, by, &now)?,
            ..Commit::default()
        };
        let events = self.core.commit(commit).await?;
        conn.targets.remove(&key.target);
        follow(&self.core, &conn);
        self.core.publish(events);
        Ok(())
    }

    /// What a target of this connection may be like.
    pub fn patterns(&self, key: &ConnectionKey) -> Vec<String> {
        let conn = self.core.connections.get(key);
        conn.and_then(|conn| conn.putting.patterns.get(key).cloned()).unwrap_or_default()
    }
}

fn refuse(conn: &Conn, before: Option<&Target>, name: &TargetName) -> Result<(), Denied> {
    match before {
        Some(target) => refuse_configured(target),
        None if conn.targets.now().len() >= MOST_TARGETS => Err(Denied::Invalid(format!(
            "{} has {MOST_TARGETS} targets already, which is the most that a connection may have; take some away before {name} is put",
            conn.spec.key.connection
        ))),
        None => Ok(()),
    }
}

fn refuse_configured(target: &Target) -> Result<(), Denied> {
    match target.origin {
        Origin::Put { .. } => Ok(()),
        Origin::Configured => Err(Denied::Configured(format!(
            "{} stands in larder.toml or its recipe, and is changed and taken away there; here it can be put into another phase.",
            target.key.target
        ))),
    }
}

/// A target to be put, as it will be.
struct Put {
    target: PutTarget,
    before: Option<Phase>,
    life: Life,
    /// The life is another than what is durable.
    lives: bool,
    /// Somebody made an existing one active.
    is_activated: bool,
    changes_nothing: bool,
    is_new: bool,
    now: Now,
}

impl Put {
    fn of(
        core: &Core,
        key: &TargetKey,
        before: Option<&Target>,
        (body, phase, by): (&str, Option<Phase>, &str),
    ) -> Result<Put, Denied> {
        let now = core.clock.now();
        let kept = core.store.life(key)?.unwrap_or_default();
        let to = phase.unwrap_or(before.map_or(Phase::Active, |_| kept.phase));
        let mut life = lifecycle::moved(&kept, to, (by, None), now.stamp());
        let is_activated = before.is_some() && life.phase == Phase::Active && kept.phase != Phase::Active;
        if before.is_none() {
            // Nobody was sent: it is new, and the next round asks about it.
            life.activated_at = kept.activated_at;
        }
        let same = |put: &PutTarget| put.body == body;
        let stored = core.store.put_target(key)?;
        let target = PutTarget { body: body.to_owned(), by: by.to_owned(), at: now.stamp() };
        Ok(Put {
            changes_nothing: before.is_some() && life == kept && stored.as_ref().is_some_and(same),
            before: before.map(|_| kept.phase),
            lives: life != kept,
            is_activated,
            is_new: before.is_none(),
            life,
            target,
            now,
        })
    }

    fn commit(&self, key: &TargetKey) -> Commit {
        let mut writes = vec![Write::PutTarget(key.clone(), self.target.clone())];
        writes.extend(self.lives.then(|| Write::Life(key.clone(), self.life.clone())));
        let phase = self.life.phase.word();
        let what = match (self.is_new, self.before.filter(|before| *before != self.life.phase)) {
            (true, _) => format!("put ({phase})"),
            (false, None) => "put anew".to_owned(),
            (false, Some(before)) => format!("put anew ({} \u{2192} {phase})", before.word()),
        };
        let events = vec![told(key, &what, &self.target.by, &self.now)];
        Commit { writes, events, ..Commit::default() }
    }
}

fn compiled(core: &Core, conn: &Conn, key: &TargetKey, spec: TargetSpec, put: &Put) -> Result<Arc<Target>, Denied> {
    let known = Known {
        origin: Origin::Put { by: put.target.by.clone(), at: put.target.at },
        life: put.life.clone(),
        scan: core.store.target(key)?.and_then(|state| state.scan),
        learned_cost: conn.target(&key.target).map_or(0, |target| target.cost()),
    };
    let target = Target::compile((&conn.spec.key, &conn.spec.time_zone), spec, known, &conn.targets);
    target.map(Arc::new).map_err(Denied::Invalid)
}

/// The budget and the poller hear of another set. The budget is that of the credential of now.
fn follow(core: &Core, conn: &Conn) {
    let current = core.connections.get(&conn.spec.key);
    let conn = current.as_deref().unwrap_or(conn);
    conn.sharing.follow(&conn.spec.key, conn.targets.now(), &core.store);
    conn.wake.notify_one();
}

fn told(key: &TargetKey, what: &str, by: &str, now: &Now) -> NewEvent {
    NewEvent {
        kind: EventKind::ControlChanged,
        at: now.stamp(),
        connection: Some(key.connection.clone()),
        target: Some(key.target.clone()),
        message: format!("target {} {what} by {by}", key.target),
    }
}

/// What was found about it: nothing will ever settle it.
fn settled(core: &Core, key: &TargetKey, by: &str, now: &Now) -> Result<Vec<FindingChange>, Denied> {
    let open =
        core.store.findings(&Wanted { which: Which::Open, ..Wanted::default() }, None, super::findings::MOST_OPEN)?;
    let own = open
        .into_iter()
        .filter(|f| f.about.connection == key.connection && f.about.target.as_ref() == Some(&key.target));
    let because = format!("{} was taken away by {by}.", key.target);
    Ok(own.map(|f| FindingChange::Settled { about: f.about, at: now.stamp(), because: because.clone() }).collect())
}
