//! Opening at once: readers are served while the pages are checked, nothing reaches the file before the verdict, and nothing
//! ever does if it is damaged.

use super::super::behind::CHECKER;
use super::super::open::{Check, Place};
use super::*;
use redb::StorageBackend;
use std::fs;
use std::io::Error;
use std::sync::{Condvar, Mutex};
use std::time::Duration;
use tempfile::TempDir;

/// A disk on which the check does not get on before it is told to.
#[derive(Clone, Debug, Default)]
struct Slow {
    disk: Disk,
    may_check: Arc<(Mutex<bool>, Condvar)>,
}

impl Slow {
    fn let_the_check_go_on(&self) {
        *self.may_check.0.lock().unwrap() = true;
        self.may_check.1.notify_all();
    }

    fn open(&self) -> (Store, Opening, Verdict) {
        Store::start(Place::Backend(Arc::new(self.clone())), THREAD, Check::Behind).unwrap()
    }
}

impl StorageBackend for Slow {
    fn len(&self) -> Result<u64, Error> {
        self.disk.len()
    }
    fn read(&self, offset: u64, out: &mut [u8]) -> Result<(), Error> {
        if std::thread::current().name() == Some(CHECKER) {
            let may = self.may_check.0.lock().unwrap();
            drop(self.may_check.1.wait_while(may, |may| !*may).unwrap());
        }
        self.disk.read(offset, out)
    }
    fn set_len(&self, len: u64) -> Result<(), Error> {
        self.disk.set_len(len)
    }
    fn sync_data(&self) -> Result<(), Error> {
        self.disk.sync_data()
    }
    fn write(&self, offset: u64, data: &[u8]) -> Result<(), Error> {
        self.disk.write(offset, data)
    }
}

fn bytes_of(disk: &Disk) -> Vec<u8> {
    let mut bytes = vec![0; disk.len().unwrap() as usize];
    disk.read(0, &mut bytes).unwrap();
    bytes
}

async fn closed(disk: &Disk) {
    let store = on(disk, 10, &at(1000));
    store.commit(only(vec![Write::Item(controller(), an_item("zone 1", "Lawn"))], Lane::Durable)).await.unwrap();
    store.close().unwrap();
}

#[tokio::test]
async fn readers_are_served_and_an_admission_waits_for_the_verdict() {
    let slow = Slow::default();
    closed(&slow.disk).await;
    let found = bytes_of(&slow.disk);
    let (store, opening, verdict) = slow.open();
    assert!(opening.repaired.is_none());
    store.install_budget(KEY, limit(10), &at(2000)).unwrap();
    assert_eq!(store.items(&controller()).unwrap().len(), 1);
    let asking = tokio::spawn({
        let store = store.clone();
        async move { store.admit(admission(&at(2000))).await }
    });
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert!(!asking.is_finished(), "nobody sends on a file that may be damaged");
    assert_eq!(store.items(&controller()).unwrap().len(), 1, "while somebody waits to write");
    assert!(bytes_of(&slow.disk) == found, "nothing was written yet");
    slow.let_the_check_go_on();
    verdict.known().await.unwrap();
    drop(asking.await.unwrap().unwrap().unwrap());
    store.close().unwrap();
    let again = on(&slow.disk, 10, &at(3000));
    assert_eq!((again.items(&controller()).unwrap().len(), used(&again, &at(3000))), (1, 1));
}

#[tokio::test]
async fn a_crash_during_the_check_finds_the_file_as_it_was_closed() {
    let slow = Slow::default();
    closed(&slow.disk).await;
    let found = bytes_of(&slow.disk);
    let (store, _, verdict) = slow.open();
    let crashed = Disk::default();
    let left = bytes_of(&slow.disk);
    crashed.set_len(left.len() as u64).unwrap();
    crashed.write(0, &left).unwrap();
    assert!(left == found);
    let (again, opening) = Store::open_backend(crashed, INLINE).unwrap();
    assert!(opening.repaired.is_none(), "closed it was, closed it is");
    drop(again);
    slow.let_the_check_go_on();
    verdict.known().await.unwrap();
    // Now it is in use, and a crash says so.
    assert!(bytes_of(&slow.disk) != found);
    drop(store);
}

#[tokio::test]
async fn damage_is_found_wherever_it_is_and_the_file_stays_as_it_was_found() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("larder.redb");
    let (store, _) = Store::open(&path, THREAD).unwrap();
    let writes = (0..3000).map(|n| Write::Item(controller(), an_item(&format!("{n}"), "title"))).collect();
    store.commit(only(writes, Lane::Durable)).await.unwrap();
    store.close().unwrap();
    let whole = fs::read(&path).unwrap();
    let (mut refused, mut behind) = (0, 0);
    for place in (0..whole.len()).step_by(whole.len() / 60) {
        let mut bytes = whole.clone();
        let end = (place + 2000).min(bytes.len());
        bytes[place..end].iter_mut().for_each(|b| *b ^= 0x55);
        fs::write(&path, &bytes).unwrap();
        let error = match Store::open_at_once(&path, THREAD) {
            Err(error) => error,
            Ok((store, _, verdict)) => {
                // Whatever is asked of it meanwhile.
                let permit = match store.install_budget(KEY, limit(10), &at(2000)) {
                    Ok(()) => store.admit(admission(&at(2000))).await.map(drop),
                    Err(error) => Err(error),
                };
                let _ = store.items(&controller());
                match verdict.known().await {
                    // Free space: everything is there.
                    Ok(()) => {
                        permit.unwrap();
                        assert_eq!(store.items(&controller()).unwrap().len(), 3000);
                        continue;
                    }
                    Err(error) => {
                        behind += 1;
                        assert!(permit.is_err(), "a permit on a damaged file");
                        let _ = store.close();
                        error
                    }
                }
            }
        };
        refused += 1;
        let StoreError::Corrupt(sentence) = error else { panic!("{error}") };
        assert!(sentence.contains("larder.redb") && sentence.contains("Nothing was"), "{sentence}");
        assert!(fs::read(&path).unwrap() == bytes, "changed although damaged: {sentence}");
    }
    assert!(refused > 5 && behind > 2, "{refused} refused, {behind} of them behind readers");
}

#[test]
fn a_file_that_is_in_use_or_too_new_is_refused_as_ever() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("larder.redb");
    let (store, ..) = Store::open_at_once(&path, THREAD).unwrap();
    assert!(matches!(Store::open_at_once(&path, THREAD).err(), Some(StoreError::Locked(_))));
    store.close().unwrap();
    let db = redb::Database::open(&path).unwrap();
    let txn = db.begin_write().unwrap();
    let meta = tables::Table::Meta.definition();
    txn.open_table(meta).unwrap().insert(tables::meta::FORMAT, 99u64.to_be_bytes().as_slice()).unwrap();
    txn.commit().unwrap();
    db.close().unwrap();
    let before = fs::read(&path).unwrap();
    assert!(matches!(Store::open_at_once(&path, THREAD).err(), Some(StoreError::Newer(s)) if s.contains("format 99")));
    assert!(fs::read(&path).unwrap() == before);
}
