//! The gateways' answers: they ride with other commits, come back after a restart, whole or not at all, and stay within their bytes.

use super::*;
use crate::domain::gateway::{Kept, Reading, ShelfKey};
use crate::rules::gateway::digest;

fn answer(target: &str, body: &[u8], ms: u64) -> Shelved {
    let key = ShelfKey { connection: yard(), credential: KEY, reading: Reading::Get, target: target.to_owned() };
    let stamp = at(ms).stamp();
    let head = Head {
        key,
        variant: Vec::new(),
        kept: Kept::Data,
        status: 200,
        headers: Vec::new(),
        asked_at: stamp,
        as_of: stamp,
        changed_at: stamp,
        digest: digest(body),
        body_bytes: body.len() as u64,
        cost: 1,
    };
    Shelved { head, body: body.into() }
}

fn on(disk: &Disk) -> Store {
    Store::open_backend(disk.clone(), INLINE).unwrap().0
}

fn targets(store: &Store) -> Vec<String> {
    let (heads, on) = store.shelf_heads(&yard(), None, 1_000).unwrap();
    assert_eq!(on, None);
    let mut targets: Vec<_> = heads.into_iter().map(|head| head.key.target).collect();
    targets.sort();
    targets
}

#[tokio::test]
async fn an_answer_comes_back_after_a_restart_with_its_body() {
    let disk = Disk::default();
    let (list, one) = (answer("/tasks", b"[1,2]", 10), answer("/tasks/1", b"{}", 20));
    let store = on(&disk);
    let writes = [&list, &one].map(|a| Write::Shelve(a.clone())).into();
    store.commit(only(writes, Lane::Lazy)).await.unwrap();
    assert_eq!(store.shelf_body(&list.head).unwrap().as_deref(), Some(&b"[1,2]"[..]), "in force at once");
    store.close().unwrap();
    let store = on(&disk);
    assert_eq!(targets(&store), ["/tasks", "/tasks/1"]);
    assert_eq!(store.shelf_body(&one.head).unwrap().as_deref(), Some(&b"{}"[..]));
    let (first, next) = store.shelf_heads(&yard(), None, 1).unwrap();
    let (second, end) = store.shelf_heads(&yard(), next.as_ref(), 1).unwrap();
    assert_eq!((first.len(), second.len(), end), (1, 1, None));
    assert_ne!(first, second);
    let other = ConnectionKey { connection: "yard2".into(), ..yard() };
    assert_eq!(store.shelf_heads(&other, None, 9).unwrap(), (vec![], None));
}

#[tokio::test]
async fn what_is_confirmed_keeps_its_body_and_a_body_serves_no_other_head() {
    let store = on(&Disk::default());
    let old = answer("/tasks", b"[1]", 10);
    store.commit(only(vec![Write::Shelve(old.clone())], Lane::Durable)).await.unwrap();
    let confirmed = Head { as_of: at(99).stamp(), ..old.head.clone() };
    store.commit(only(vec![Write::Reshelve(confirmed.clone())], Lane::Lazy)).await.unwrap();
    let (heads, _) = store.shelf_heads(&yard(), None, 9).unwrap();
    assert_eq!(heads, std::slice::from_ref(&confirmed));
    assert_eq!(store.shelf_body(&confirmed).unwrap().as_deref(), Some(&b"[1]"[..]));
    let new = answer("/tasks", b"[2]", 200);
    store.commit(only(vec![Write::Shelve(new.clone())], Lane::Lazy)).await.unwrap();
    assert_eq!(store.shelf_body(&confirmed).unwrap(), None, "the old head gets no new body");
    assert_eq!(store.shelf_body(&new.head).unwrap().as_deref(), Some(&b"[2]"[..]));
    store.commit(only(vec![Write::Unshelve(new.head.clone())], Lane::Lazy)).await.unwrap();
    assert_eq!((targets(&store), store.shelf_body(&new.head).unwrap()), (vec![], None));
}

#[tokio::test]
async fn a_crash_loses_a_lazy_answer_whole() {
    let disk = Disk::default();
    let store = on(&disk);
    store.commit(only(vec![Write::Shelve(answer("/a", b"old", 1))], Lane::Durable)).await.unwrap();
    store.commit(only(vec![Write::Shelve(answer("/a", b"new", 2))], Lane::Lazy)).await.unwrap();
    drop(store);
    let store = on(&disk);
    let (heads, _) = store.shelf_heads(&yard(), None, 9).unwrap();
    let [head] = heads.as_slice() else { panic!("one answer") };
    assert_eq!(store.shelf_body(head).unwrap().as_deref(), Some(&b"old"[..]));
}

/// Bodies wait in memory for the next charge, but not without bound.
#[tokio::test]
async fn many_bytes_are_written_without_waiting_for_a_charge() {
    let disk = Disk::default();
    let store = on(&disk);
    for n in 0..9u8 {
        store
            .commit(only(vec![Write::Shelve(answer(&format!("/{n}"), &vec![n; 1 << 20], 1))], Lane::Lazy))
            .await
            .unwrap();
    }
    drop(store);
    assert!(targets(&on(&disk)).len() >= 8, "a crash lost more than the bound");
}

#[tokio::test]
async fn the_shelf_is_swept_in_bounded_batches() {
    let store = on(&Disk::default());
    let other = CredentialId([1; 16]);
    for n in 0..5 {
        let mut answer = answer(&format!("/{n}"), b"x", n);
        if n > 0 {
            answer.head.key.credential = other;
        }
        store.commit(only(vec![Write::Shelve(answer)], Lane::Lazy)).await.unwrap();
    }
    let alive = [(yard(), vec![KEY])];
    let mut left = vec![targets(&store).len()];
    while store.sweep_shelf(&alive, 3).await.unwrap() {
        left.push(targets(&store).len());
    }
    assert_eq!(left, [5, 2, 1]);
    assert_eq!(targets(&store), ["/0"]);
    assert!(store.sweep_shelf(&[], 3).await.unwrap() && targets(&store).is_empty(), "of a connection that is gone");
}

#[tokio::test]
async fn the_least_valuable_go_until_the_rest_fits() {
    let store = on(&Disk::default());
    for (target, bytes, ms) in [("/old", 1_000, 1), ("/large", 5_000, 900), ("/young", 1_000, 900)] {
        store.commit(only(vec![Write::Shelve(answer(target, &vec![0; bytes], ms))], Lane::Lazy)).await.unwrap();
    }
    let now = at(1_000);
    assert!(!store.trim_shelf(100_000, &now, 9).await.unwrap());
    assert!(store.trim_shelf(3_000, &now, 1).await.unwrap(), "one at a time");
    assert_eq!(targets(&store), ["/large", "/young"]);
    assert!(store.trim_shelf(3_000, &now, 9).await.unwrap());
    assert_eq!(targets(&store), ["/young"]);
    assert!(!store.trim_shelf(3_000, &now, 9).await.unwrap());
}
