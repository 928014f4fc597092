//! Sealed secrets: the first of two writers wins, and what won is there after a crash.

use super::*;

fn swap(seen: u64, bytes: &[u8]) -> Swap {
    Swap { credential: KEY, seen, bytes: bytes.to_vec() }
}

#[test]
fn a51_of_two_refreshers_that_saw_the_same_the_second_changes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("f.redb");
    let options = || Options { writer: Writer::Thread, cache_bytes: 1 << 20 };
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let (store, _) = Store::open(&path, options()).unwrap();
    assert_eq!(store.sealed(KEY).unwrap(), None);
    runtime.block_on(async {
        assert_eq!(store.swap_sealed(swap(0, b"first")).await, Ok(Some(1)));
        // Both in one batch, and one after the other.
        let (a, b) = tokio::join!(store.swap_sealed(swap(1, b"winner")), store.swap_sealed(swap(1, b"loser")));
        assert_eq!((a, b), (Ok(Some(2)), Ok(None)));
        assert_eq!(store.swap_sealed(swap(1, b"late")).await, Ok(None));
        assert_eq!(store.swap_sealed(swap(0, b"as if nothing were there")).await, Ok(None));
    });
    let there = Some(Sealed { version: 2, bytes: b"winner".to_vec() });
    assert_eq!(store.sealed(KEY).unwrap(), there);
    // As after kill -9.
    drop(store);
    let (store, _) = Store::open(&path, options()).unwrap();
    assert_eq!(store.sealed(KEY).unwrap(), there);
}
