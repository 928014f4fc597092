//! A copy is put in the place of the data file, and what was there is kept; or nothing is changed at all.

use super::*;
use crate::domain::time::Wall;
use std::fs;
use std::path::PathBuf;
use tempfile::TempDir;

const NOW: Wall = Wall(1_700_000_000_000);

/// A data file that has gone on since its backup: charges at one second and at five.
async fn gone_on() -> (TempDir, PathBuf, PathBuf) {
    let folder = TempDir::new().unwrap();
    let (data, backup) = (folder.path().join("larder.redb"), folder.path().join("backup"));
    let (store, _) = Store::open(&data, THREAD).unwrap();
    store.install_budget(KEY, limit(9), &at(0)).unwrap();
    admit(&store, &at(1_000)).await;
    store.backup(&backup, ClockMark { steady: Steady(2_000), ..ClockMark::default() }).await.unwrap();
    admit(&store, &at(5_000)).await;
    store.close().unwrap();
    (folder, data, backup)
}

fn charges(path: &Path) -> usize {
    Store::open(path, THREAD).unwrap().0.charges(&yard(), None, 9).unwrap().len()
}

fn names(folder: &TempDir) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(folder.path()).unwrap().map(|f| f.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[tokio::test]
async fn a_newer_file_gives_way_only_if_that_is_said_and_is_kept() {
    let (folder, data, backup) = gone_on().await;
    let before = fs::read(&data).unwrap();
    let refused = restore(&backup, &data, Newer::Stays, NOW).unwrap_err().to_string();
    assert!(refused.contains("larder.redb is newer than") && refused.contains("say --force"), "{refused}");
    assert!(fs::read(&data).unwrap() == before);
    assert_eq!(names(&folder), ["backup", "larder.redb"], "nothing is left there");

    let said = restore(&backup, &data, Newer::GivesWay, NOW).unwrap();
    let kept = folder.path().join("larder.redb.before-restore-20231114T221320Z");
    assert!(said.contains(&kept.display().to_string()) && said.contains("1 charge"), "{said}");
    assert!(fs::read(&kept).unwrap() == before);
    assert_eq!(names(&folder).len(), 3);
    let (restored, opening) = Store::open(&data, THREAD).unwrap();
    let made = opening.copied.unwrap();
    assert_eq!((made.kind, made.made.steady), (CopyKind::Backup, Steady(2_000)));
    assert_eq!(restored.charges(&yard(), None, 9).unwrap().len(), 1);
    restored.close().unwrap();
    assert_eq!(charges(&backup), 1, "the backup is where it was");
}

#[tokio::test]
async fn a_file_in_use_stays() {
    let (folder, data, backup) = gone_on().await;
    let (running, _) = Store::open(&data, THREAD).unwrap();
    assert!(matches!(restore(&backup, &data, Newer::GivesWay, NOW), Err(StoreError::Locked(_))));
    admit_on(&running).await;
    running.close().unwrap();
    assert_eq!(names(&folder), ["backup", "larder.redb"]);
}

async fn admit_on(store: &Store) {
    store.install_budget(KEY, limit(9), &at(6_000)).unwrap();
    admit(store, &at(6_000)).await;
}

#[tokio::test]
async fn a_damaged_file_gives_way_and_a_damaged_copy_does_not_come() {
    let (folder, data, backup) = gone_on().await;
    let whole = fs::read(&data).unwrap();
    let mut broken = whole.clone();
    broken[4096..].iter_mut().for_each(|b| *b ^= 0x5A);
    let copy = folder.path().join("broken");
    for bytes in [&broken[..], b"", b"text"] {
        fs::write(&copy, bytes).unwrap();
        let refused = restore(&copy, &data, Newer::GivesWay, NOW).unwrap_err();
        assert!(matches!(&refused, StoreError::Corrupt(s) if s.contains("broken")), "{refused}");
    }
    assert!(restore(&folder.path().join("nothing"), &data, Newer::GivesWay, NOW).is_err());
    assert!(restore(&data, &data, Newer::GivesWay, NOW).unwrap_err().to_string().contains("is the data file itself"));
    assert!(fs::read(&data).unwrap() == whole);
    fs::write(&data, &broken).unwrap();
    restore(&backup, &data, Newer::Stays, NOW).unwrap();
    assert_eq!(charges(&data), 1);
    assert!(fs::read(folder.path().join("larder.redb.before-restore-20231114T221320Z")).unwrap() == broken);
}

#[tokio::test]
async fn where_nothing_is_there_is_nothing_to_keep() {
    let (folder, data, _) = gone_on().await;
    let elsewhere = folder.path().join("other.redb");
    // A plain copy knows as little of what was sent since as a backup.
    let said = restore(&data, &elsewhere, Newer::Stays, NOW).unwrap();
    assert!(!said.contains("kept as") && said.contains("2 charges"), "{said}");
    let (_, opening) = Store::open(&elsewhere, THREAD).unwrap();
    assert_eq!(opening.copied.unwrap().made.steady, Steady(5_000));
}
