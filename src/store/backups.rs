//! A folder of backups: what lies there, by name, and that there are no more than are wanted. Files without a name of ours are nobody's business.

use super::StoreError;
use super::sentences::{self, Doing};
use crate::domain::time::Wall;
use crate::rules::backup;
use std::fs;
use std::path::Path;

/// When the newest of those that lie there was made, by its name; `None`: there is none, or no such folder. What is of the future is not counted.
pub fn newest_backup(folder: &Path, now: Wall) -> Option<Wall> {
    names(folder).ok()?.iter().filter_map(|name| backup::made(name)).filter(|made| *made <= now).max()
}

/// A backup that lies in a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lying {
    pub name: String,
    pub made: Wall,
    pub bytes: u64,
}

/// How many lie there, and the newest by its name. A folder that cannot be read has none to show.
pub fn list_backups(folder: &Path) -> (usize, Option<Lying>) {
    let names = names(folder).unwrap_or_default();
    let ours: Vec<(Wall, String)> = names.into_iter().filter_map(|name| Some((backup::made(&name)?, name))).collect();
    let newest = ours.iter().max().and_then(|(made, name)| {
        let bytes = fs::metadata(folder.join(name)).ok()?.len();
        Some(Lying { name: name.clone(), made: *made, bytes })
    });
    (ours.len(), newest)
}

/// Deletes the oldest, if there are more than `keep`. How many went; one that stays keeps none of the others. Called once a newer one is there and
/// was found whole.
pub fn forget_old_backups(folder: &Path, keep: u32, now: Wall) -> Result<usize, StoreError> {
    let failed = |e: std::io::Error| sentences::explain_io(&folder.display().to_string(), Doing::Reading, &e);
    let old = backup::surplus(names(folder).map_err(failed)?, keep, now);
    let gone = old.iter().map(|name| {
        let path = folder.join(name);
        let stays = |e| StoreError::Io(format!("the old backup {} could not be deleted ({e})", path.display()));
        fs::remove_file(&path).map_err(stays)
    });
    // Each is tried before the first that failed is told.
    let gone: Vec<Result<(), StoreError>> = gone.collect();
    let count = gone.len();
    gone.into_iter().collect::<Result<(), StoreError>>().map(|()| count)
}

fn names(folder: &Path) -> std::io::Result<Vec<String>> {
    let entries = fs::read_dir(folder)?.collect::<Result<Vec<_>, _>>()?;
    Ok(entries.into_iter().filter_map(|entry| entry.file_name().into_string().ok()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_stay() {
        let folder = tempfile::TempDir::new().unwrap();
        let at = |day: i64| Wall(1_796_000_000_000 + day * 86_400_000);
        assert_eq!(newest_backup(folder.path(), at(0)), None);
        for day in [0, 3, 1, 2, 9] {
            fs::write(folder.path().join(backup::name(at(day))), "").unwrap();
        }
        fs::write(folder.path().join("mine.redb"), "").unwrap();
        assert_eq!(newest_backup(folder.path(), at(4)), Some(at(3)));
        let newest = Lying { name: backup::name(at(9)), made: at(9), bytes: 0 };
        assert_eq!(list_backups(folder.path()), (5, Some(newest)), "of names of ours");
        assert_eq!(list_backups(&folder.path().join("no")), (0, None));
        assert_eq!(forget_old_backups(folder.path(), 2, at(3)).unwrap(), 3);
        let mut left = names(folder.path()).unwrap();
        left.sort();
        assert_eq!(left, [backup::name(at(2)), backup::name(at(3)), "mine.redb".to_owned()]);
        assert!(forget_old_backups(&folder.path().join("no"), 2, at(3)).is_err());

        fs::create_dir(folder.path().join(backup::name(at(-1)))).unwrap();
        assert!(forget_old_backups(folder.path(), 1, at(3)).is_err(), "a folder cannot be deleted as a file");
        assert_eq!(newest_backup(folder.path(), at(2)), Some(at(-1)), "and the one after it went all the same");
    }
}
