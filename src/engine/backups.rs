//! A backup by a button: where it goes, what came of it, and what lies there: in the folder of those that are made by themselves, where there is one. The
//! copy itself and the folder are the store's. Must not know which page asks.

use super::appliance::Appliance;
use super::core::Core;
use super::regular;
use super::view::{Denied, Seconds, When};
use crate::domain::event::{EventKind, NewEvent};
use crate::rules::backup::name;
use crate::store::{Commit, list_backups};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Beside the data file, where `[backup]` names no other.
const FOLDER: &str = "backups";

/// What was made last in this run.
#[derive(Default)]
pub struct Backups {
    last: Mutex<Option<BackupView>>,
}

/// One that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackupView {
    pub at: When,
    pub by: String,
    pub path: String,
    pub bytes: u64,
    pub took: Seconds,
}

/// What lies in the folder for backups, and what was made last since the start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BackupsView {
    pub folder: String,
    pub files: u64,
    pub newest: Option<NewestView>,
    pub last: Option<BackupView>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewestView {
    pub name: String,
    pub made: When,
    pub bytes: u64,
}

impl Appliance {
    pub async fn backups(&self) -> Result<BackupsView, Denied> {
        let (folder, _) = backup_folder(&self.core)?;
        let last = self.core.backups.last.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let looked_at = folder.clone();
        let (files, newest) = regular::aside(move || list_backups(&looked_at)).await.unwrap_or_default();
        let newest = newest.map(|lies| NewestView { name: lies.name, made: When(lies.made), bytes: lies.bytes });
        Ok(BackupsView { folder: folder.display().to_string(), files: files as u64, newest, last })
    }

    /// Copies the data file into the folder of `[backup]`, or into one beside it, under the moment's name, and looks whether the copy is whole.
    /// Goes on if the caller goes away. `by`: who, and from where.
    pub async fn back_up(&self, by: &str) -> Result<BackupView, Denied> {
        let (core, by) = (self.core.clone(), by.to_owned());
        self.to_the_end(async move { backed_up(&core, &by).await }).await
    }
}

async fn backed_up(core: &Core, by: &str) -> Result<BackupView, Denied> {
    match copied(core, by).await {
        Ok(made) => {
            // It makes up for one that failed by itself, too: the next looks for the newest that lies there.
            regular::over(core, format!("a backup was made by {by}")).await;
            *core.backups.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(made.clone());
            Ok(made)
        }
        Err(denied) => {
            let message = format!("no backup was made, as {by} wanted: {}", denied.sentence());
            let at = core.clock.now().stamp();
            let event = NewEvent { kind: EventKind::Appliance, at, connection: None, target: None, message };
            regular::tell(core, Commit { events: vec![event], ..Commit::default() }).await;
            Err(denied)
        }
    }
}

async fn copied(core: &Core, by: &str) -> Result<BackupView, Denied> {
    let (folder, is_own) = backup_folder(core)?;
    if is_own {
        let shut = |e: std::io::Error| {
            let (folder, kind) = (folder.display(), e.kind());
            Denied::Unavailable(format!(
                "the folder {folder} cannot be made ({kind}); make it, for the user that Larder runs as"
            ))
        };
        let own = folder.clone();
        let made = regular::aside(move || std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&own)).await;
        made.unwrap_or(Ok(())).map_err(shut)?;
    }
    let began = core.clock.now();
    let path = folder.join(name(began.wall()));
    tracing::info!(by, path = %path.display(), "{}", core.store.backup(&path, core.clock.mark()).await?);
    let took = core.clock.now().steady.since(began.steady);
    let bytes = path.metadata().map_or(0, |found| found.len());
    let (at, path) = (When(began.wall()), path.display().to_string());
    Ok(BackupView { at, by: by.to_owned(), path, bytes, took: Seconds(took) })
}

/// And whether it is Larder's to make: the one that `[backup]` names may be a disk that is not there.
fn backup_folder(core: &Core) -> Result<(PathBuf, bool), Denied> {
    if let Some(folder) = core.regular.folder() {
        return Ok((folder, false));
    }
    let data = core.door.keyring().map(|keyring| keyring.data());
    let none = || Denied::Unavailable("this appliance has no data file beside which a backup could lie".to_owned());
    Ok((data.ok_or_else(none)?.parent().unwrap_or(Path::new("")).join(FOLDER), true))
}
