//! The trigger: a target that becomes active is asked at once (F5), inside the budget, behind the switch, and without moving the poll
//! clock. Who waits for the budget waits here; a target that a poll asks meanwhile waits no more. What is due is durable: see
//! [`crate::rules::lifecycle::is_triggered`].

use super::core::{Conn, Core};
use super::fetch::{Stopped, fetch_all};
use super::words::{self, Telling};
use crate::domain::ids::{Caller, ConnectionKey, TargetName};
use crate::domain::target::Phase;
use crate::domain::time::{Span, Steady};
use crate::rules::budget::Refusal;
use crate::rules::lifecycle;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::Notify;

/// Targets of one connection that are asked at a time: a burst of activations must not take every slot in flight.
const WORKERS: usize = 2;

/// After a refusal: how long before the next try, whoever rings.
const PAUSE: Span = Span(250);

/// The targets of a connection that wait to be asked, in the order in which they became active.
#[derive(Default)]
pub struct Triggers {
    waiting: Mutex<VecDeque<TargetName>>,
    rung: Notify,
}

impl Triggers {
    fn push(&self, name: &TargetName) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if !waiting.contains(name) {
            waiting.push_back(name.clone());
        }
        self.rung.notify_one();
    }
    fn next(&self) -> Option<TargetName> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let next = waiting.pop_front();
        if !waiting.is_empty() {
            self.rung.notify_one();
        }
        next
    }
}

/// Asks for a target. Where nothing is due it costs a look.
pub fn ring(conn: &Conn, name: &TargetName) {
    conn.triggers.push(name);
}

/// Begins, with what an earlier run left due.
pub fn begin(core: &Arc<Core>, conn: &Arc<Conn>) {
    for target in conn.targets.now().iter().filter(|t| t.life().activated_at.is_some()) {
        ring(conn, &target.key.target);
    }
    for _ in 0..WORKERS {
        let (task_core, triggers, key) = (Arc::clone(core), Arc::clone(&conn.triggers), conn.spec.key.clone());
        let left = conn.left.clone();
        core.spawn(async move {
            tokio::select! {
                () = left.cancelled() => {}
                () = run(&task_core, &triggers, &key) => {}
            }
        });
    }
}

async fn run(core: &Core, triggers: &Triggers, key: &ConnectionKey) {
    while !core.stop.is_cancelled() {
        match triggers.next() {
            Some(name) => ask(core, key, &name).await,
            None => tokio::select! {
                () = core.stop.cancelled() => {}
                () = triggers.rung.notified() => {}
            },
        }
    }
}

/// Until it was asked, or cannot be for a reason that is for the poller to see the end of.
async fn ask(core: &Core, key: &ConnectionKey, name: &TargetName) {
    loop {
        let Some(conn) = core.connections.get(key) else { return };
        let Some(turns) = core.turns(conn.credential) else { return };
        let Some(at) = try_once(core, &conn, name).await else { return };
        // Whoever leaves the line rings, this one too: it listens only after a pause, and for others.
        let soon = core.clock.now().steady + PAUSE;
        let sooner = async {
            core.clock.sleep_until(soon).await;
            let mut ear = turns.ear();
            ear.listen();
            ear.rung().await;
        };
        tokio::select! {
            () = core.stop.cancelled() => return,
            () = core.clock.sleep_until(at.max(soon)) => {}
            () = sooner => {}
        }
    }
}

/// When to try again; `None`: it is over.
async fn try_once(core: &Core, conn: &Conn, name: &TargetName) -> Option<Steady> {
    let target = conn.target(name).filter(|target| target.endpoint.is_some())?;
    let attempted_at = match core.store.target(&target.key) {
        Ok(state) => state.and_then(|state| state.attempted_at),
        Err(e) => {
            tracing::error!(target = %target.key, "the target became active and cannot be asked: {e}");
            return None;
        }
    };
    let life = target.life();
    if !lifecycle::is_triggered(&life, attempted_at) || life.phase != Phase::Active {
        return None;
    }
    match fetch_all(core, conn, &target, Caller::Trigger, life.activated_at?).await {
        Ok(_) => None,
        Err(Stopped::Refused(Refusal::NotUntil { at, .. } | Refusal::Probing { at })) if at != Steady::MAX => Some(at),
        Err(stopped) => {
            let why = words::why(&stopped, &core.clock.now(), Telling::Kept);
            tracing::info!(target = %target.key, "became active and is not asked at once: {why}");
            None
        }
    }
}
