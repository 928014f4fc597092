//! The data file goes away under a running store, and comes back.

use super::*;
use std::fs;
use tempfile::TempDir;

#[tokio::test]
async fn nothing_new_begins_while_the_file_is_not_in_its_place() {
    let folder = TempDir::new().unwrap();
    let (path, away) = (folder.path().join("larder.redb"), folder.path().join("away.redb"));
    let (store, _) = Store::open(&path, THREAD).unwrap();
    store.install_budget(KEY, limit(10), &at(0)).unwrap();
    let permit = store.admit(admission(&at(1))).await.unwrap().unwrap();

    fs::rename(&path, &away).unwrap();
    let moved = store.admit(admission(&at(2))).await.unwrap_err().to_string();
    assert!(moved.contains("larder.redb") && moved.contains("moved or deleted"), "{moved}");
    assert_eq!(store.health().unwrap_err().to_string(), moved);
    assert!(store.create_job(a_job(None), event("asked")).await.is_err(), "what is promised must be kept");
    // What is under way is written down: the file may come back.
    store.commit(learned(permit.id(), &at(3), Vec::new(), Lane::Durable)).await.unwrap();

    fs::copy(&away, &path).unwrap();
    let replaced = store.admit(admission(&at(4))).await.unwrap_err().to_string();
    assert!(replaced.contains("another file"), "{replaced}");

    fs::rename(&away, &path).unwrap();
    assert_eq!(store.health(), Ok(()));
    assert!(store.admit(admission(&at(5))).await.unwrap().is_ok());
    store.close().unwrap();
    let (again, _) = Store::open(&path, THREAD).unwrap();
    assert_eq!(again.charges(&yard(), None, 10).unwrap().len(), 2);
}
