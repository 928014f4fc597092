//! How connections stood: in order, from where somebody looks, over a crash.

use super::*;
use crate::domain::state::{State, Stood};

fn stood(ms: u64, state: Option<State>) -> Stood {
    Stood { since: at(ms).stamp(), state }
}

fn commit(writes: Vec<Write>, lane: Lane) -> Commit {
    Commit { writes, lane, ..Commit::default() }
}

#[tokio::test]
async fn a_look_begins_with_how_it_stood_before() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("f.redb");
    let (store, _) = Store::open(&path, INLINE).unwrap();
    let rows = [
        stood(10, Some(State::Never)),
        stood(20, Some(State::Fresh)),
        stood(300, None),
        stood(70_000, Some(State::Held)),
    ];
    let other = ConnectionKey { connection: "yards".into(), ..yard() };
    let write = |row: &Stood| Write::Stood(yard(), *row);
    store.commit(commit(rows.iter().map(write).collect(), Lane::Durable)).await.unwrap();
    store.commit(commit(vec![Write::Stood(other.clone(), stood(25, None))], Lane::Lazy)).await.unwrap();
    let from = |ms, limit| store.stood(&yard(), Steady(ms), limit).unwrap();
    assert_eq!(from(0, 9), rows);
    assert_eq!(from(299, 9), rows[1..], "as it was at that moment");
    assert_eq!(from(300, 9), rows[2..]);
    assert_eq!(from(0, 2), rows[2..], "the newest of too many");
    assert_eq!(from(u64::MAX, 9), rows[3..]);
    assert_eq!(store.stood(&other, Steady(0), 9).unwrap(), [stood(25, None)], "what is lazy is in force");
    let old = store.stood_before(&yard(), Steady(301), 9).unwrap();
    assert_eq!(old, [Steady(10), Steady(20)], "the last of them says how it stood from there on");
    assert_eq!(store.stood_before(&yard(), Steady(301), 1).unwrap(), [Steady(10)]);
    assert_eq!(store.stood_before(&yard(), Steady(10), 9).unwrap(), []);
    let forget = old.into_iter().map(|since| Write::ForgetStood(yard(), since)).collect();
    store.commit(commit(forget, Lane::Durable)).await.unwrap();
    assert_eq!(store.stood(&yard(), Steady(0), 9).unwrap(), rows[2..]);
    store.close().unwrap();
    let (store, _) = Store::open(&path, INLINE).unwrap();
    assert_eq!(store.stood(&yard(), Steady(0), 9).unwrap(), rows[2..]);
}
