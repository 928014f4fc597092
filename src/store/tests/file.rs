//! The file as a file: each way in which it cannot be used has its own sentence, and nothing is destroyed.

use super::*;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tempfile::TempDir;

fn folder() -> (TempDir, PathBuf) {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("larder.redb");
    (folder, path)
}

fn refused(path: &Path) -> StoreError {
    let before = fs::read(path).ok();
    let Err(error) = Store::open(path, THREAD) else { panic!("it was opened") };
    assert!(fs::read(path).ok() == before, "nothing was changed: {error}");
    error
}

fn filled(path: &Path) -> Store {
    let (store, opening) = Store::open(path, THREAD).unwrap();
    assert!(opening.created);
    store
}

#[tokio::test]
async fn a_new_file_is_private_and_stays_itself() {
    let (folder, path) = folder();
    let (store, opening) = Store::open(&path, THREAD).unwrap();
    assert!(opening.created && opening.repaired.is_none() && opening.mark.is_none() && opening.high_water.is_none());
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing else is left there");
    assert!(store.file_bytes() > 0);
    store.commit(only(vec![Write::Mark(ClockMark::default())], Lane::Lazy)).await.unwrap();
    store.close().unwrap();
    let (again, reopening) = Store::open(&path, THREAD).unwrap();
    assert!(!reopening.created && reopening.repaired.is_none());
    assert_eq!(reopening.installation, opening.installation);
    assert_eq!(reopening.mark, Some(ClockMark::default()));
    drop(again);
    let (_, other) = (TempDir::new().unwrap(), Store::open(&folder.path().join("b.redb"), THREAD).unwrap().1);
    assert_ne!(other.installation, opening.installation);
}

#[test]
fn a_locked_file() {
    let (_folder, path) = folder();
    let store = filled(&path);
    let error = match Store::open(&path, THREAD) {
        Err(error) => error,
        Ok(_) => panic!("opened twice"),
    };
    assert!(matches!(&error, StoreError::Locked(s) if s.contains("in use by another larder")), "{error}");
    store.close().unwrap();
    assert!(Store::open(&path, THREAD).is_ok());
}

#[test]
fn a_file_from_a_newer_larder() {
    let (_folder, path) = folder();
    filled(&path).close().unwrap();
    let db = redb::Database::open(&path).unwrap();
    let txn = db.begin_write().unwrap();
    let meta = tables::Table::Meta.definition();
    txn.open_table(meta).unwrap().insert(tables::meta::FORMAT, 99u64.to_be_bytes().as_slice()).unwrap();
    txn.commit().unwrap();
    db.close().unwrap();
    let error = refused(&path);
    assert!(matches!(&error, StoreError::Newer(s) if s.contains("format 99")), "{error}");
}

#[test]
fn files_that_are_not_ours() {
    let (folder, path) = folder();
    let cases: [(&[u8], &str); 3] =
        [(b"", "empty (0 bytes)"), (b"hello", "not a larder file"), (&[7; 100_000], "not a larder file")];
    for (bytes, words) in cases {
        fs::write(&path, bytes).unwrap();
        let error = refused(&path);
        assert!(matches!(&error, StoreError::Corrupt(s) if s.contains(words)), "{error}");
    }
    fs::remove_file(&path).unwrap();
    let db = redb::Database::create(&path).unwrap();
    let txn = db.begin_write().unwrap();
    txn.open_table(redb::TableDefinition::<u64, u64>::new("theirs")).unwrap();
    txn.commit().unwrap();
    db.close().unwrap();
    assert!(matches!(refused(&path), StoreError::Corrupt(s) if s.contains("not a larder file")));
    let error = refused(folder.path());
    assert!(error.to_string().contains("is a folder"), "{error}");
    let error = refused(&folder.path().join("missing/larder.redb"));
    assert!(error.to_string().contains("missing does not exist: create the folder"), "{error}");
}

/// A later redb may lay its files out otherwise: their headers are never touched.
#[test]
fn a_file_of_a_later_redb_is_refused() {
    use xxhash_rust::xxh3::xxh3_128;
    let (_folder, path) = folder();
    drop(filled(&path));
    let mut bytes = fs::read(&path).unwrap();
    let slot = &mut bytes[64..192];
    slot[0] = 4;
    let sum = xxh3_128(&slot[..112]);
    slot[112..].copy_from_slice(&sum.to_le_bytes());
    fs::write(&path, &bytes).unwrap();
    assert!(matches!(refused(&path), StoreError::Newer(s) if s.contains("storage format 4")));
    assert!(matches!(verify(&path), Err(StoreError::Newer(_))));
}

#[tokio::test]
async fn a_damaged_file_is_refused_wherever_it_is_damaged() {
    let (_folder, path) = folder();
    let store = filled(&path);
    let writes = (0..3000).map(|n| Write::Item(controller(), an_item(&format!("{n}"), "title"))).collect();
    store.commit(only(writes, Lane::Durable)).await.unwrap();
    store.close().unwrap();
    let whole = fs::read(&path).unwrap();
    let mut refusals = 0;
    for place in (0..whole.len()).step_by(whole.len() / 60) {
        let mut bytes = whole.clone();
        let end = (place + 2000).min(bytes.len());
        bytes[place..end].iter_mut().for_each(|b| *b ^= 0x55);
        fs::write(&path, &bytes).unwrap();
        match Store::open(&path, THREAD) {
            Err(StoreError::Corrupt(sentence)) => {
                refusals += 1;
                assert!(sentence.contains("larder.redb") && sentence.contains("Nothing was"), "{sentence}");
            }
            Err(other) => panic!("{other}"),
            // Free space: everything is there.
            Ok((store, _)) => assert_eq!(store.items(&controller()).unwrap().len(), 3000),
        }
    }
    assert!(refusals > 5, "{refusals}");
    fs::write(&path, &whole[..whole.len() / 2]).unwrap();
    assert!(matches!(Store::open(&path, THREAD), Err(StoreError::Corrupt(_))), "half of a file");
}

#[test]
fn a_file_that_may_not_be_read_or_cannot_be_made() {
    // As root permissions do not count; a name that is too long fails for everybody.
    let folder = TempDir::new().unwrap();
    let error = Store::open(&folder.path().join("x".repeat(300)), THREAD).err().unwrap();
    assert!(matches!(error, StoreError::Io(_)), "{error}");
}

#[tokio::test]
async fn a_copy_of_a_file_in_use_is_checked_and_says_so() {
    let (folder, path) = folder();
    let store = filled(&path);
    store.commit(only(vec![Write::Target(controller(), seen_at(1))], Lane::Durable)).await.unwrap();
    let copy = folder.path().join("copy.redb");
    fs::copy(&path, &copy).unwrap();
    let (again, opening) = Store::open(&copy, THREAD).unwrap();
    assert!(opening.repaired.unwrap().contains("is a copy of a file that was in use"));
    assert_eq!(again.target(&controller()).unwrap(), Some(seen_at(1)));
}

/// Writes charges, states and items, about a hundred commits a second, until told to stop.
fn busy(store: &Store, stop: Arc<AtomicBool>) -> tokio::task::JoinHandle<u64> {
    let store = store.clone();
    tokio::spawn(async move {
        let mut n = 0;
        while !stop.load(Ordering::Relaxed) {
            let now = at(10 + n);
            let id = admit(&store, &now).await;
            let item = Write::Item(controller(), an_item(&format!("{}", n % 500), &format!("title {n}")));
            store
                .commit(learned(id, &now, vec![item, Write::Target(controller(), seen_at(n))], Lane::Durable))
                .await
                .unwrap();
            n += 1;
            tokio::time::sleep(Duration::from_millis(8)).await;
        }
        n
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plain_copy_of_a_busy_file_is_whole() {
    let (folder, path) = folder();
    let store = filled(&path);
    store.install_budget(KEY, limit(1_000_000), &at(0)).unwrap();
    let writes = (0..2000).map(|n| Write::Item(controller(), an_item(&format!("{n}"), "title"))).collect();
    store.commit(only(writes, Lane::Durable)).await.unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let work = busy(&store, stop.clone());
    for round in 0..3 {
        let copy = folder.path().join(format!("copy-{round}.redb"));
        let (from, to) = (path.clone(), copy.clone());
        tokio::task::spawn_blocking(move || slow_copy(&from, &to)).await.unwrap();
        let sentence = verify(&copy).unwrap();
        assert!(sentence.contains("is whole"), "{sentence}");
        let (restored, opening) = Store::open(&copy, THREAD).unwrap();
        assert!(opening.repaired.is_some());
        assert!(restored.items(&controller()).unwrap().len() >= 2000);
    }
    stop.store(true, Ordering::Relaxed);
    assert!(work.await.unwrap() > 10, "it was busy");
    store.close().unwrap();
}

/// As `cp` on a slow disk: front to back, with the writer far ahead of it.
fn slow_copy(from: &Path, to: &Path) {
    use std::io::{Read, Write};
    let (mut from, mut to) = (fs::File::open(from).unwrap(), fs::File::create(to).unwrap());
    let mut buffer = vec![0; 64 << 10];
    loop {
        let n = from.read(&mut buffer).unwrap();
        if n == 0 {
            break;
        }
        to.write_all(&buffer[..n]).unwrap();
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_under_load_is_whole_and_current() {
    let (folder, path) = folder();
    let store = filled(&path);
    store.install_budget(KEY, limit(1_000_000), &at(0)).unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let work = busy(&store, stop.clone());
    tokio::time::sleep(Duration::from_millis(100)).await;
    for round in 0..4 {
        let copy = folder.path().join(format!("backup-{round}.redb"));
        let before = store.charges(&yard(), None, 1).unwrap()[0].id;
        let sentence = store.backup(&copy, ClockMark::default()).await.unwrap();
        assert!(sentence.contains("is a whole backup of") && sentence.contains("charges"), "{sentence}");
        assert_eq!(fs::metadata(&copy).unwrap().permissions().mode() & 0o777, 0o600);
        let (restored, opening) = Store::open(&copy, THREAD).unwrap();
        assert_eq!(opening.repaired, None, "a backup is a closed file");
        assert!(restored.charges(&yard(), None, 1).unwrap()[0].id >= before);
        drop(restored);
    }
    stop.store(true, Ordering::Relaxed);
    work.await.unwrap();
    store.commit(only(vec![Write::Target(controller(), seen_at(77))], Lane::Lazy)).await.unwrap();
    let copy = folder.path().join("last.redb");
    store.backup(&copy, ClockMark::default()).await.unwrap();
    let (restored, _) = Store::open(&copy, THREAD).unwrap();
    assert_eq!(restored.target(&controller()).unwrap(), Some(seen_at(77)), "lazy rows are in it");
    store.close().unwrap();
    let left: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|f| f.unwrap().file_name()).collect();
    assert!(left.iter().all(|f| f.to_string_lossy().ends_with(".redb")), "{left:?}");
}

#[tokio::test]
async fn a_backup_replaces_nothing() {
    let (folder, path) = folder();
    let store = filled(&path);
    let there = folder.path().join("there");
    fs::write(&there, "mine").unwrap();
    let error = store.backup(&there, ClockMark::default()).await.unwrap_err();
    assert!(error.to_string().contains("is there already"), "{error}");
    assert_eq!(fs::read(&there).unwrap(), b"mine");
    let error = store.backup(&folder.path().join("no/where"), ClockMark::default()).await.unwrap_err();
    assert!(error.to_string().contains("does not exist"), "{error}");
    let again = Store::open(&path, THREAD);
    assert!(matches!(again, Err(StoreError::Locked(_))), "the lock outlives a backup");
}

#[tokio::test]
async fn verify_touches_nothing_and_names_the_file() {
    let (folder, path) = folder();
    let store = filled(&path);
    store.commit(only(vec![Write::Item(controller(), an_item("1", "Roses"))], Lane::Durable)).await.unwrap();
    let sentence = verify(&path).unwrap();
    assert!(sentence.contains("1 item (0 removed)"), "the live file: {sentence}");
    store.close().unwrap();
    let before = fs::read(&path).unwrap();
    verify(&path).unwrap();
    assert!(fs::read(&path).unwrap() == before);

    let mut bytes = before;
    let end = bytes.len();
    bytes[8192..end].iter_mut().for_each(|b| *b ^= 0x5A);
    let broken = folder.path().join("broken.redb");
    fs::write(&broken, bytes).unwrap();
    let error = verify(&broken).unwrap_err();
    assert!(matches!(&error, StoreError::Corrupt(s) if s.contains("broken.redb is damaged")), "{error}");
    for (name, bytes) in [("empty", &b""[..]), ("text", b"text")] {
        let file = folder.path().join(name);
        fs::write(&file, bytes).unwrap();
        assert!(matches!(verify(&file), Err(StoreError::Corrupt(_))));
    }
    assert!(verify(&folder.path().join("nothing")).is_err());
    assert!(verify(folder.path()).is_err());
}

#[tokio::test]
async fn a_row_that_cannot_be_decoded_is_damage_and_not_absence() {
    let (_folder, path) = folder();
    filled(&path).close().unwrap();
    let db = redb::Database::open(&path).unwrap();
    let txn = db.begin_write().unwrap();
    let key = tables::target_state(&controller());
    txn.open_table(tables::Table::State.definition()).unwrap().insert(key.as_slice(), &b"\x01rubbish"[..]).unwrap();
    txn.commit().unwrap();
    db.close().unwrap();
    assert!(matches!(verify(&path), Err(StoreError::Corrupt(_))));
    let error = Store::open(&path, THREAD).err().unwrap();
    assert!(matches!(&error, StoreError::Corrupt(s) if s.contains("`state`")), "{error}");
}

#[tokio::test]
async fn dropping_without_close_is_a_crash() {
    let (_folder, path) = folder();
    let store = filled(&path);
    store.commit(only(vec![Write::Target(controller(), seen_at(1))], Lane::Durable)).await.unwrap();
    store.commit(only(vec![Write::Target(controller(), seen_at(2))], Lane::Lazy)).await.unwrap();
    drop(store);
    let (again, _) = Store::open(&path, THREAD).unwrap();
    assert_eq!(again.target(&controller()).unwrap(), Some(seen_at(1)));
}
