//! The phases of targets, as they change: by somebody, by their condition, by silence. Writes a change down before it is in force and
//! tells it after. Decides nothing: `rules::lifecycle` does.

use super::core::{Conn, Core};
use super::targets::Target;
use super::trigger;
use super::view::Sentence;
use super::words::{Telling, moment};
use crate::domain::event::{EventKind, NewEvent};
use crate::domain::target::{Life, Phase};
use crate::domain::time::{Now, Stamp};
use crate::rules::lifecycle::{self, ITSELF};
use crate::rules::reconcile::Reconciled;
use crate::store::{Commit, StoreError, Write};
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio::sync::MutexGuard;

/// Why a target is completed, for people.
const ITS_CONDITION: &str = "its condition holds";

/// Somebody puts a target into a phase. One that becomes active is asked at once (F5).
pub async fn change(core: &Core, conn: &Conn, target: &Target, to: Phase, by: &str) -> Result<(), StoreError> {
    let changing = conn.targets.changing.lock().await;
    let now = core.clock.now();
    let before = target.life();
    let after = lifecycle::moved(&before, to, (by, None), now.stamp());
    if before == after {
        return Ok(());
    }
    let moves = vec![(Move { before, after }, target)];
    commit(core, conn, &moves, &now).await?;
    drop(changing);
    if to == Phase::Active {
        trigger::ring(conn, &target.key.target);
    }
    Ok(())
}

/// From where to where.
struct Move {
    before: Life,
    after: Life,
}

async fn commit(core: &Core, conn: &Conn, moves: &[(Move, &Target)], now: &Now) -> Result<(), StoreError> {
    let writes = moves.iter().map(|(m, target)| Write::Life(target.key.clone(), m.after.clone())).collect();
    let events = moves.iter().map(|(m, target)| event(target, m.before.phase, &m.after, now.stamp())).collect();
    let events = core.commit(Commit { writes, events, ..Commit::default() }).await?;
    for (m, target) in moves {
        live(conn, target, m.after.clone(), now);
    }
    core.publish(events);
    conn.wake.notify_one();
    Ok(())
}

/// What is durable is in force.
pub fn live(conn: &Conn, target: &Target, life: Life, now: &Now) {
    // Of a name that was put anew meanwhile the one that runs.
    let current = conn.target(&target.key.target);
    let grace = conn.completion_grace();
    for target in current.as_deref().into_iter().chain([target]) {
        target.live(life.clone());
        target.look(grace, now);
    }
}

/// `eco-7: active -> completed by larder: its condition holds`.
pub fn event(target: &Target, before: Phase, after: &Life, at: Stamp) -> NewEvent {
    let by = after.by.as_deref().unwrap_or(ITSELF);
    let why = after.why.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
    NewEvent {
        kind: EventKind::PhaseChanged,
        at,
        connection: Some(target.key.connection.clone()),
        target: Some(target.key.target.clone()),
        message: format!("{}: {} \u{2192} {} by {by}{why}", target.key.target, before.word(), after.phase.word()),
    }
}

/// An answer that completes an active target (F4): its phase is written in the answer's transaction. Whoever changes phases waits for
/// that, or it for them.
pub struct Completing<'a> {
    before: Phase,
    life: Life,
    at: Stamp,
    _changing: MutexGuard<'a, ()>,
}

impl<'a> Completing<'a> {
    /// `result`: what the answer changes; `None`: it confirmed what is on the shelf. Nothing where it does not complete the target, or
    /// somebody put that into another phase meanwhile.
    pub async fn by(
        core: &Core,
        conn: &'a Conn,
        target: &Target,
        result: Option<&Reconciled>,
        at: Stamp,
    ) -> Result<Option<Completing<'a>>, StoreError> {
        if !completes(core, target, result)? {
            return Ok(None);
        }
        let changing = conn.targets.changing.lock().await;
        let before = target.life().phase;
        Ok(completed(target, at).map(|life| Completing { before, life, at, _changing: changing }))
    }

    pub fn row(&self, target: &Target) -> Write {
        Write::Life(target.key.clone(), self.life.clone())
    }

    pub fn event(&self, target: &Target) -> NewEvent {
        event(target, self.before, &self.life, self.at)
    }

    pub fn is_durable(self, core: &Core, conn: &Conn, target: &Target) {
        live(conn, target, self.life, &core.clock.now());
    }
}

/// The life of a completed target. `None`: somebody put it into another phase meanwhile. Called while `changing` is held.
pub fn completed(target: &Target, at: Stamp) -> Option<Life> {
    let why = || Some(ITS_CONDITION.to_owned());
    target.speaks().then(|| lifecycle::moved(&target.life(), Phase::Completed, (ITSELF, why()), at))
}

/// Whether the condition of an active target holds once this answer is on the shelf. `result`: what it changes; `None`: it confirmed what
/// is there.
pub fn completes(core: &Core, target: &Target, result: Option<&Reconciled>) -> Result<bool, StoreError> {
    let Some(completion) = target.completion.as_ref().filter(|_| target.speaks()) else { return Ok(false) };
    let mut items: BTreeMap<String, _> =
        core.store.items(&target.key)?.into_iter().map(|item| (item.key.clone(), item)).collect();
    for item in result.into_iter().flat_map(|result| &result.put) {
        items.insert(item.key.clone(), item.clone());
    }
    let items: Vec<_> = items.into_values().collect();
    Ok(completion.holds(&items))
}

/// F11: what did not change for too long is not asked about any more; looked at before every round, since only what a round hears
/// can show that it is so; costs no request.
pub async fn rest_the_quiet(core: &Core, conn: &Conn) -> Result<(), StoreError> {
    let Some(ttl) = conn.inactivity_ttl() else { return Ok(()) };
    let now = core.clock.now();
    let is_quiet = |target: &Arc<Target>| {
        let state = core.store.target(&target.key)?.unwrap_or_default();
        Ok(lifecycle::is_inactive(&target.life(), &state, Some(ttl), &now))
    };
    let targets = conn.targets.now();
    let mut quiet = Vec::new();
    for target in targets.iter().filter(|target| target.speaks()) {
        if is_quiet(target)? {
            quiet.push(target);
        }
    }
    if quiet.is_empty() {
        return Ok(());
    }
    let _changing = conn.targets.changing.lock().await;
    let why = || Some(format!("nothing changed for {ttl}"));
    let moves: Vec<(Move, &Target)> = quiet
        .into_iter()
        .filter(|target| target.speaks())
        .map(|target| {
            let before = target.life();
            let after = lifecycle::moved(&before, Phase::Inactive, (ITSELF, why()), now.stamp());
            (Move { before, after }, target.as_ref())
        })
        .collect();
    commit(core, conn, &moves, &now).await
}

/// Why a target is not asked about, where that is for its phase.
pub fn left_alone(target: &Target, life: &Life, now: &Now) -> Option<Sentence> {
    let happened = match life.phase {
        _ if target.is_watched() => return None,
        Phase::Pending | Phase::Active => return None,
        Phase::Completed => "Completed",
        Phase::Inactive => "Inactive",
        Phase::Stopped => "Stopped",
    };
    let by = life.by.as_ref().map(|by| format!(" by {by}")).unwrap_or_default();
    let at = life.since.map(|at| format!(" at {}", moment(at.wall, now, Telling::Apart))).unwrap_or_default();
    let why = life.why.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
    Some(format!("{happened}{by}{at}{why}; it is not asked about any more.").into())
}
