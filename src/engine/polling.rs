//! The polling of the whole process: one switch, and how many of the poller's requests are under way at once (F11). Knows no
//! connection and no limit: what a provider allows in flight is the budget's.

use super::appliance::Appliance;
use super::controls::Wish;
use super::view::{Denied, PollingView, SetView};
use crate::domain::connection::Switch;
use crate::domain::event::{EventKind, NewEvent};
use crate::domain::polling::{MOST_WORKERS, PollingSpec, PollingState, WorkersOverride};
use crate::domain::time::Wall;
use crate::store::{Commit, Store, StoreError, Write};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{PoisonError, RwLock};
use tokio::sync::{Semaphore, SemaphorePermit};

pub struct Polling {
    /// As configured; becomes another when the configuration is read anew.
    spec: RwLock<PollingSpec>,
    /// The master copy, held across the commit that writes it.
    state: tokio::sync::Mutex<PollingState>,
    on: AtomicBool,
    workers: AtomicU32,
    desks: Semaphore,
}

/// What an operator wants of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PollingControls {
    pub enabled: Wish<bool>,
    pub workers: Wish<u32>,
}

impl PollingControls {
    /// `{"enabled": true | false | null, "workers": number | null}`. The error is a sentence.
    pub fn read(wanted: &serde_json::Map<String, serde_json::Value>) -> Result<PollingControls, String> {
        super::controls::only(wanted, &["enabled", "workers"])?;
        let number = |value: &serde_json::Value| {
            let n = value.as_u64().and_then(|n| u32::try_from(n).ok()).filter(|n| (1..=MOST_WORKERS).contains(n));
            n.ok_or_else(|| format!("\"workers\" is a whole number from 1 to {MOST_WORKERS}, or null to clear it"))
        };
        Ok(PollingControls {
            enabled: super::controls::switch(wanted)?,
            workers: Wish::read(wanted, "workers", number)?,
        })
    }
}

impl Polling {
    pub fn new(spec: PollingSpec, state: PollingState) -> Polling {
        let (on, workers) = in_force(spec, &state);
        Polling {
            spec: RwLock::new(spec),
            state: tokio::sync::Mutex::new(state),
            on: AtomicBool::new(on),
            workers: AtomicU32::new(workers),
            desks: Semaphore::new(workers as usize),
        }
    }

    pub fn is_on(&self) -> bool {
        self.on.load(Ordering::Relaxed)
    }

    /// `None` while it is on; else who switched it off and when, if that was an operator.
    pub fn off(&self, store: &Store) -> Result<Option<Option<(String, Wall)>>, StoreError> {
        if self.is_on() {
            return Ok(None);
        }
        let set = store.polling()?.and_then(|state| state.enabled).filter(|switch| !switch.on);
        Ok(Some(set.map(|switch| (switch.by, switch.at.wall))))
    }

    /// Requests of the poller that may be under way at once.
    pub fn workers(&self) -> u32 {
        self.workers.load(Ordering::Relaxed)
    }

    /// A place to send from, first come first served; `None` once nothing is sent any more.
    pub async fn desk(&self) -> Option<SemaphorePermit<'_>> {
        self.desks.acquire().await.ok()
    }

    /// So many from now on. Returns how many are too many: they are to be laid off.
    fn employ(&self, workers: u32) -> u32 {
        let before = self.workers.swap(workers, Ordering::Relaxed);
        self.desks.add_permits(workers.saturating_sub(before) as usize);
        before.saturating_sub(workers)
    }

    /// Who is sending finishes first.
    async fn lay_off(&self, surplus: u32) {
        if let Ok(surplus) = self.desks.acquire_many(surplus).await {
            surplus.forget();
        }
    }

    fn spec(&self) -> PollingSpec {
        *self.spec.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn view(&self, state: &PollingState) -> PollingView {
        let spec = self.spec();
        let (enabled, workers) = in_force(spec, state);
        let when = |at: crate::domain::time::Stamp| super::view::When(at.wall);
        PollingView {
            enabled,
            enabled_configured: spec.enabled,
            enabled_set: state.enabled.as_ref().map(|s| SetView::of(s.on, &s.by, when(s.at))),
            workers,
            workers_configured: spec.workers,
            workers_set: state.workers.as_ref().map(|w| SetView::of(w.workers, &w.by, when(w.at))),
        }
    }
}

fn in_force(spec: PollingSpec, state: &PollingState) -> (bool, u32) {
    let on = state.enabled.as_ref().map_or(spec.enabled, |s| s.on);
    let workers = state.workers.as_ref().map_or(spec.workers, |w| w.workers);
    (on, workers.clamp(1, MOST_WORKERS))
}

impl Appliance {
    pub async fn polling(&self) -> PollingView {
        let polling = &self.core.polling;
        polling.view(&*polling.state.lock().await)
    }

    /// Changes it for the process, durably; what a control was before is in the activity list. Goes on if the caller goes away.
    pub async fn change_polling(&self, wanted: PollingControls, by: &str) -> Result<PollingView, Denied> {
        let (own, by) = (self.clone(), by.to_owned());
        self.to_the_end(async move { own.set_polling(&wanted, &by).await }).await
    }

    async fn set_polling(&self, wanted: &PollingControls, by: &str) -> Result<PollingView, Denied> {
        let (polling, at) = (&self.core.polling, self.now().stamp());
        let mut state = polling.state.lock().await;
        let mut next = state.clone();
        next.enabled = wanted.enabled.over(next.enabled, |on| Switch { on, by: by.to_owned(), at });
        next.workers = wanted.workers.over(next.workers, |workers| WorkersOverride { workers, by: by.to_owned(), at });
        let message = told(in_force(polling.spec(), &state), in_force(polling.spec(), &next), wanted, by);
        let event = NewEvent { kind: EventKind::ControlChanged, at, connection: None, target: None, message };
        let commit = Commit { writes: vec![Write::Polling(next.clone())], events: vec![event], ..Commit::default() };
        let events = self.core.store.commit(commit).await?;
        *state = next;
        self.puts_in_force(&state);
        let view = polling.view(&state);
        drop(state);
        self.core.publish(events);
        self.core.connections.values().for_each(|conn| self.core.wake(&conn));
        Ok(view)
    }

    /// The configuration was read anew. What an operator set still wins.
    pub async fn reread_polling(&self, spec: PollingSpec) {
        let polling = &self.core.polling;
        let state = polling.state.lock().await;
        if polling.spec() == spec {
            return;
        }
        *polling.spec.write().unwrap_or_else(PoisonError::into_inner) = spec;
        self.puts_in_force(&state);
        drop(state);
        self.core.connections.values().for_each(|conn| self.core.wake(&conn));
    }

    /// Counted under the lock, so that of two changes the later one holds; only the laying off waits for answers under way, and an operator
    /// need not.
    fn puts_in_force(&self, state: &PollingState) {
        let polling = &self.core.polling;
        let (on, workers) = in_force(polling.spec(), state);
        polling.on.store(on, Ordering::Relaxed);
        let (core, surplus) = (self.core.clone(), polling.employ(workers));
        self.core.spawn(async move { core.polling.lay_off(surplus).await });
    }
}

/// `polling of the whole appliance: on → off; workers: 8 → 2, by ann`
fn told(before: (bool, u32), after: (bool, u32), wanted: &PollingControls, by: &str) -> String {
    let word = |on: bool| if on { "on" } else { "off" };
    let mut parts = Vec::new();
    if wanted.enabled != Wish::Keep {
        let left = if wanted.enabled == Wish::Clear { ", as the configuration says" } else { "" };
        parts.push(format!("polling of the whole appliance: {} \u{2192} {}{left}", word(before.0), word(after.0)));
    }
    if wanted.workers != Wish::Keep {
        let left = if wanted.workers == Wish::Clear { ", as the configuration says" } else { "" };
        parts.push(format!("workers: {} \u{2192} {}{left}", before.1, after.1));
    }
    format!("{}, by {by}", parts.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn f11_fewer_workers_finish_what_is_under_way_and_more_begin_at_once() {
        let polling = Polling::new(PollingSpec { enabled: true, workers: 2 }, PollingState::default());
        let (one, two) = (polling.desk().await, polling.desk().await);
        let surplus = polling.employ(1);
        assert_eq!((surplus, polling.workers()), (1, 1), "at once, whoever is still sending");
        let mut fewer = std::pin::pin!(polling.lay_off(surplus));
        assert!(futures_util::poll!(fewer.as_mut()).is_pending(), "both desks are taken");
        drop(one);
        fewer.await;
        let mut third = std::pin::pin!(polling.desk());
        assert!(futures_util::poll!(third.as_mut()).is_pending(), "one worker, and it works");
        drop(two);
        assert!(third.await.is_some());
        assert_eq!(polling.employ(3), 0);
        assert_eq!((polling.workers(), polling.desks.available_permits()), (3, 3));
    }

    #[test]
    fn f11_a_change_is_told_with_what_was_before() {
        let wanted = PollingControls { enabled: Wish::Set(false), workers: Wish::Clear };
        let told = told((true, 2), (false, 8), &wanted, "ann");
        assert_eq!(
            told,
            "polling of the whole appliance: on \u{2192} off; workers: 2 \u{2192} 8, as the configuration says, by ann"
        );
    }
}
