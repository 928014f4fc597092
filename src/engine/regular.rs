//! Backups that nobody asks for, by `[backup]`: made when they are due, found whole, and only then the oldest of the folder go. One that fails is told
//! until one succeeds. When one is due is for `rules::backup`, the copy and the folder are the store's.

use super::appliance::Appliance;
use super::core::Core;
use super::words::clock_time;
use crate::domain::backup::BackupSpec;
use crate::domain::event::{EventKind, NewEvent};
use crate::domain::finding::{FindingChange, FindingKind, Matter, Seen};
use crate::domain::time::{Now, Span, Wall};
use crate::rules::backup::{Past, due, name};
use crate::store::{Commit, StoreError, forget_old_backups, newest_backup};
use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};
use tokio::sync::Notify;

/// The wall clock may be set: nobody sleeps for longer without a look at it.
const LOOK: Span = Span::from_secs(600);

#[derive(Default)]
pub struct Regular {
    wanted: RwLock<Option<BackupSpec>>,
    changed: Notify,
}

impl Regular {
    /// Where they lie; `None`: none is made by itself.
    pub fn folder(&self) -> Option<PathBuf> {
        self.wanted.read().unwrap_or_else(PoisonError::into_inner).as_ref().map(|spec| spec.folder.clone())
    }
}

impl Appliance {
    /// From now on; `None`: none is made by itself.
    pub fn back_up_regularly(&self, wanted: Option<BackupSpec>) {
        let regular = &self.core.regular;
        let mut was = regular.wanted.write().unwrap_or_else(PoisonError::into_inner);
        if *was != wanted {
            *was = wanted;
            regular.changed.notify_one();
        }
    }
}

/// Runs until the engine stops; sleeps while no backups are wanted.
pub async fn run(core: Arc<Core>) {
    let (mut past, mut before) = (Past::default(), None);
    while !core.stop.is_cancelled() {
        let wanted = core.regular.wanted.read().unwrap_or_else(PoisonError::into_inner).clone();
        let now = core.clock.now();
        if wanted != before {
            past = Past { since: now.wall(), ..Past::default() };
            if wanted.is_none() {
                over(&core, "Backups are not made by themselves any more.".to_owned()).await;
            }
            before.clone_from(&wanted);
        }
        if let Some(spec) = &wanted {
            past.newest = newest(spec, &now).await;
        }
        let wait = wanted.as_ref().map(|spec| due(spec, past, now.wall()).since(now.wall()));
        if let (Some(spec), Some(Span::ZERO)) = (&wanted, wait) {
            past.failed = make(&core, spec, &now).await.then_some(now.wall());
            continue;
        }
        let sleeps = async {
            match wait {
                Some(wait) => core.clock.sleep_until(now.steady + wait.min(LOOK)).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = core.stop.cancelled() => return,
            () = core.regular.changed.notified() => {}
            () = sleeps => {}
        }
    }
}

/// Looks at a folder where nobody waits for it: it may lie on a disk that sleeps, or in a network that is away. `None`: the process ends.
pub(super) async fn aside<T: Send + 'static>(look: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    tokio::task::spawn_blocking(look).await.ok()
}

async fn newest(spec: &BackupSpec, now: &Now) -> Option<Wall> {
    let (folder, at) = (spec.folder.clone(), now.wall());
    aside(move || newest_backup(&folder, at)).await.flatten()
}

/// Whether it failed.
async fn make(core: &Core, spec: &BackupSpec, now: &Now) -> bool {
    let path = spec.folder.join(name(now.wall()));
    match core.store.backup(&path, core.clock.mark()).await {
        Ok(sentence) => {
            let (folder, keep, at) = (spec.folder.clone(), spec.keep, now.wall());
            let old = match aside(move || forget_old_backups(&folder, keep, at)).await.unwrap_or(Ok(0)) {
                Ok(0) => String::new(),
                Ok(gone) => format!("; of the old ones {gone} went"),
                Err(error) => format!("; {error}: look there, the folder grows by what stays"),
            };
            tracing::info!("{sentence}{old}");
            over(core, format!("A backup was made: {}{old}.", path.display())).await;
            false
        }
        Err(error) => {
            failed(core, spec, &error, now).await;
            true
        }
    }
}

/// For log and pages.
fn sentence(error: &StoreError, newest: Option<Wall>, now: Wall) -> String {
    let last = match newest {
        Some(made) => format!("the newest that lies there is from {}", clock_time(made, now)),
        None => "none lies there".to_owned(),
    };
    format!("The backup of {} was not made, and {last}: {error}.", clock_time(now, now))
}

fn matter() -> Matter {
    Matter::of_the_appliance(FindingKind::BackupFailing)
}

/// It stands on the pages until one succeeds.
async fn failed(core: &Core, spec: &BackupSpec, error: &StoreError, now: &Now) {
    let sentence = sentence(error, newest(spec, now).await, now.wall());
    tracing::error!("{sentence}");
    core.notes.backup(Some(sentence.clone()));
    let detail = format!("It is tried again within the hour; nothing in {} was deleted.", spec.folder.display());
    let (about, at) = (matter(), now.stamp());
    let seen = Seen { about, credential: None, at, sentence, detail: Some(detail) };
    tell(core, Commit { findings: vec![FindingChange::Seen(seen)], ..Commit::default() }).await;
}

/// One was made, or none is wanted: nothing is failing any more, and `message` says why.
pub(super) async fn over(core: &Core, message: String) {
    core.notes.backup(None);
    let at = core.clock.now().stamp();
    let settled = FindingChange::Settled { about: matter(), at, because: message.clone() };
    let event = NewEvent { kind: EventKind::Appliance, at, connection: None, target: None, message };
    tell(core, Commit { events: vec![event], findings: vec![settled], ..Commit::default() }).await;
}

/// What keeps a backup from being made may keep this from being written down: then it is in the log alone.
pub(super) async fn tell(core: &Core, commit: Commit) {
    match core.commit(commit).await {
        Ok(events) => core.publish(events),
        Err(error) => tracing::error!("what became of a backup could not be written down: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_says_what_lies_there() {
        let error = StoreError::Full("there is no room for x".to_owned());
        let now = Wall(1_796_026_800_000);
        assert!(sentence(&error, None, now).contains("was not made, and none lies there: there is no room for x."));
        assert!(sentence(&error, Some(Wall(now.0 - 60_000)), now).contains("the newest that lies there is from "));
    }
}
