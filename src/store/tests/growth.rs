//! The size of the file over a long time: what is written over and over takes the same pages again.

use super::*;
use redb::backends::InMemoryBackend;

const MIB: u64 = 1 << 20;

fn in_memory(options: Options) -> Store {
    let (store, _) = Store::open_backend(InMemoryBackend::new(), options).unwrap();
    store.install_budget(KEY, limit(1_000_000), &at(0)).unwrap();
    store
}

/// `polls` of a target, each of which has another answer than the one before; with `history`, each with a line of it.
async fn poll(store: &Store, polls: u64, history: bool) {
    for n in 1..=polls {
        let now = at(n * 75_000);
        let permit = store.admit(admission(&now)).await.unwrap().unwrap();
        let item = an_item("1", &format!("Roses {n}"));
        let mut writes = vec![Write::Target(controller(), seen_at(now.steady.0)), Write::Item(controller(), item)];
        if history {
            writes.push(Write::History(controller(), shelf::entry(n)));
        }
        store.commit(learned(permit.charge().id, &now, writes, Lane::Durable)).await.unwrap();
    }
}

/// No time passes in here, so nothing but the bound on what is written lets go of a pin.
#[tokio::test]
async fn a_busy_hour_within_one_run_does_not_blow_the_file_up() {
    let store = in_memory(THREAD);
    poll(&store, 1_000, true).await;
    let early = store.file_bytes();
    poll(&store, 2_000, false).await;
    let late = store.file_bytes();
    assert!(late <= 24 * MIB, "{early} bytes after 1000 polls, {late} after 3000: what was pinned is not used again");
}

#[tokio::test]
async fn pages_that_nothing_pins_are_used_again() {
    let store = in_memory(INLINE);
    poll(&store, 200, false).await;
    let early = store.file_bytes();
    poll(&store, 1_000, false).await;
    let late = store.file_bytes();
    assert!(late <= 4 * early && late <= MIB, "{early} bytes after 200 polls, {late} after 1200");
}

/// A week at one poll in 75 s on the smallest of boards: a charge each, and nothing new. Here all of it is written at once, which
/// is harder than it is in life.
#[tokio::test]
async fn a_week_of_unchanged_polls_leaves_its_charges_and_little_else() {
    let store = in_memory(THREAD);
    for n in 1..=7 * 1_152 {
        let now = at(n * 75_000);
        let permit = store.admit(admission(&now)).await.unwrap().unwrap();
        let seen = vec![Write::Target(controller(), seen_at(now.steady.0))];
        store.commit(learned(permit.charge().id, &now, seen, Lane::Lazy)).await.unwrap();
    }
    let size = store.file_bytes();
    assert!(size <= 24 * MIB, "{size} bytes after a week");
}

/// A backup is as large as what is in it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_of_a_busy_file_has_no_free_pages() {
    let folder = tempfile::TempDir::new().unwrap();
    let copy = folder.path().join("backup.redb");
    let store = in_memory(THREAD);
    poll(&store, 300, true).await;
    store.backup(&copy, ClockMark::default()).await.unwrap();
    let (file, backup) = (store.file_bytes(), std::fs::metadata(&copy).unwrap().len());
    assert!(backup * 4 < file && backup < MIB, "a backup of {backup} bytes of a file of {file}");
    let (restored, _) = Store::open(&copy, THREAD).unwrap();
    assert_eq!(restored.charges(&yard(), None, 1_000).unwrap(), store.charges(&yard(), None, 1_000).unwrap());
    let lines = |store: &Store| store.history(&controller(), None, 1_000).unwrap();
    assert_eq!(lines(&restored), lines(&store));
}
