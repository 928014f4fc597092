//! Who waits alone writes in the writer's place: the same answers, in the same order, and nobody else is kept from anything.

use super::*;
use std::sync::mpsc::sync_channel;
use tokio::runtime::Builder;

const WRITER: &str = "larder-writer";

fn threaded(disk: &Disk) -> Store {
    let (store, _) = Store::open_backend(disk.clone(), THREAD).unwrap();
    store.install_budget(KEY, limit(1000), &at(0)).unwrap();
    store
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_is_alone_is_spared_the_way_to_the_writer() {
    let disk = Disk::default();
    let store = threaded(&disk);
    for n in 1..=3 {
        let before = disk.syncs();
        let admitting = store.clone();
        tokio::spawn(async move { admit(&admitting, &at(n)).await }).await.unwrap();
        assert_eq!(disk.syncs(), before + 1, "answered after the sync");
        assert_ne!(disk.synced_by(), WRITER);
    }
    assert_eq!(used(&store, &at(10)), 3);
    let (again, _) = Store::open_backend(disk.power_cut(0), INLINE).unwrap();
    assert_eq!(again.charges(&yard(), None, 9).unwrap().len(), 3);
    store.close().unwrap();
}

/// It would stand still while the disk is busy.
#[tokio::test]
async fn a_runtime_of_one_thread_is_never_blocked() {
    let disk = Disk::default();
    let store = threaded(&disk);
    admit(&store, &at(1)).await;
    assert_eq!(disk.synced_by(), WRITER);
    store.close().unwrap();
}

#[test]
fn whatever_else_there_is_to_do_goes_on_meanwhile() {
    let disk = Disk::default();
    let store = threaded(&disk);
    let runtime = Builder::new_multi_thread().worker_threads(1).build().unwrap();
    disk.hold_syncs();
    let (first, second) = (store.clone(), store.clone());
    let first = runtime.spawn(async move { admit(&first, &at(1)).await });
    disk.until_a_sync_waits();
    let (tell, told) = sync_channel(1);
    let reading = store.clone();
    runtime.spawn(async move { tell.send(reading.charges(&yard(), None, 9)) });
    assert_eq!(told.recv().unwrap().unwrap(), [], "its only worker was handed on; the disk has nothing yet");
    let second = runtime.spawn(async move { admit(&second, &at(2)).await });
    disk.let_go();
    let both = runtime.block_on(async { (first.await.unwrap(), second.await.unwrap()) });
    assert!(both.0 < both.1, "in the order in which they came");
    store.close().unwrap();
}

#[test]
fn closing_waits_for_who_writes() {
    let disk = Disk::default();
    let store = threaded(&disk);
    let runtime = Builder::new_multi_thread().worker_threads(1).build().unwrap();
    disk.hold_syncs();
    let admitting = store.clone();
    let admitted = runtime.spawn(async move { admit(&admitting, &at(1)).await });
    disk.until_a_sync_waits();
    let closing = std::thread::spawn(move || store.close());
    disk.let_go();
    let id = runtime.block_on(admitted).unwrap();
    closing.join().unwrap().unwrap();
    let (again, opening) = Store::open_backend(disk.power_cut(0), INLINE).unwrap();
    assert_eq!(opening.repaired, None);
    assert_eq!(again.charges(&yard(), None, 9).unwrap()[0].id, id);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_mistake_in_place_ends_nothing_but_itself() {
    let disk = Disk::default();
    let store = threaded(&disk);
    let admitting = store.clone();
    let stumbling = Admission { with: Box::new(|_| panic!("a mistake")), ..admission(&at(1)) };
    let refused = tokio::spawn(async move { admitting.admit(stumbling).await.map(drop) }).await.unwrap();
    assert!(matches!(refused, Err(StoreError::Io(_))), "{refused:?}");
    admit(&store, &at(2)).await;
    assert_ne!(disk.synced_by(), WRITER, "the place was given back");
    assert_eq!(used(&store, &at(3)), 1);
    store.close().unwrap();
}
