//! Generations: written beside their tables in batches, in force at one moment, moved afterwards; whatever happens in between, readers
//! see all of one or nothing.

use super::*;
use crate::domain::item::{ChangeKind, Sighting};
use crate::domain::page::Ask;
use crate::domain::scan::{Building, ScanState, Seen};
use proptest::prelude::*;
use std::collections::BTreeMap;

fn scan() -> TargetKey {
    TargetKey { connection: yard(), target: "project".into() }
}

fn order(name: &str) -> TargetKey {
    TargetKey { connection: yard(), target: name.into() }
}

fn generation(number: u64) -> Generation {
    Generation { scan: scan(), number }
}

fn row(number: u64, row: GenerationRow) -> Write {
    Write::Generation(generation(number), row)
}

fn waits(number: u64, write: Write) -> Write {
    row(number, GenerationRow::Waits(Box::new(write)))
}

fn line(seq: u64) -> HistoryEntry {
    let (key, title) = (format!("k{seq}"), "one".to_owned());
    let kind = ChangeKind::Appeared;
    HistoryEntry { seq, at: at(seq).stamp(), generation: 1, kind, key, title, state: None, detail: Vec::new() }
}

fn built(number: u64) -> Write {
    let ask = Ask { location: "/tasks".into(), body: Vec::new() };
    let building = Building {
        number,
        question: ask.clone(),
        next: Some(ask),
        walked: Default::default(),
        begun_at: at(1).stamp(),
        as_of: None,
        last_at: at(1).stamp(),
        failures: 0,
        count: Default::default(),
    };
    Write::Scan(scan(), ScanState { readings: number, building: Some(building), ..ScanState::default() })
}

async fn write(store: &Store, writes: Vec<Write>) {
    store.commit(only(writes, Lane::Durable)).await.unwrap();
}

/// State, items, and the numbers of the history, forth and by item.
type Shown = (Option<TargetState>, Vec<Item>, Vec<u64>, Vec<u64>);

/// What a reader sees of two targets: their states, items and lines of history, by each way of reading.
fn seen(store: &Store) -> Vec<Shown> {
    let of = |name: &str| {
        let key = order(name);
        let items = store.items(&key).unwrap();
        let named: Vec<(TargetKey, &str)> = items.iter().map(|i| (key.clone(), i.key.as_str())).collect();
        let found: Vec<Item> = store.items_named(&named).unwrap().into_iter().flatten().collect();
        assert_eq!(found, items, "one by one and as a range");
        let lines = |after, limit| store.history(&key, after, limit).unwrap().iter().map(|h| h.seq).collect();
        (store.target(&key).unwrap(), items, lines(Some(0), 100), lines(None, 2))
    };
    ["a", "b"].map(of).into()
}

#[tokio::test]
async fn nothing_is_seen_before_the_switch_and_everything_after_it() {
    let disk = Disk::default();
    let store = on(&disk, 5, &at(0));
    write(&store, vec![Write::Item(order("a"), an_item("k1", "old")), Write::Target(order("a"), seen_at(1))]).await;
    let before = seen(&store);
    for name in ["a", "b"] {
        let items = ["k1", "k2", "k3"].map(|key| waits(1, Write::Item(order(name), an_item(key, "new"))));
        let lines = [1, 2, 3].map(|seq| waits(1, Write::History(order(name), line(seq))));
        let state = waits(1, Write::Target(order(name), seen_at(9)));
        write(&store, items.into_iter().chain(lines).chain([state]).collect()).await;
        assert_eq!(seen(&store), before);
    }
    write(&store, vec![row(1, GenerationRow::Switch)]).await;
    let after = seen(&store);
    for (state, items, lines, newest) in &after {
        assert_eq!(state.as_ref(), Some(&seen_at(9)));
        assert_eq!(
            items.iter().map(|i| (i.key.as_str(), i.title.as_str())).collect::<Vec<_>>(),
            [("k1", "new"), ("k2", "new"), ("k3", "new")]
        );
        assert_eq!((lines.as_slice(), newest.as_slice()), (&[1, 2, 3][..], &[2, 3][..]));
    }
    let mut moves = 0;
    while store.settle_generation(3).await.unwrap() {
        moves += 1;
        assert_eq!(seen(&store), after, "after {moves} moves");
        assert_eq!(seen(&on(&disk.power_cut(0), 5, &at(1))), after, "and if the power goes then");
    }
    assert_eq!(moves, 5, "fourteen rows, three at a time");
    assert!(store.core().read(|s| s.scan_keys(&[], 9)).unwrap().is_empty(), "nothing waits any more");
}

#[tokio::test]
async fn what_is_written_after_the_switch_is_newer() {
    for lane in [Lane::Durable, Lane::Lazy] {
        let disk = Disk::default();
        let store = on(&disk, 5, &at(0));
        write(&store, vec![waits(1, Write::Item(order("a"), an_item("k1", "scan")))]).await;
        write(&store, vec![row(1, GenerationRow::Switch)]).await;
        let own = vec![Write::Item(order("a"), an_item("k1", "own"))];
        store.commit(only(own, lane)).await.unwrap();
        assert_eq!(store.items(&order("a")).unwrap()[0].title, "own");
        while store.settle_generation(1).await.unwrap() {
            assert_eq!(store.items(&order("a")).unwrap()[0].title, "own");
        }
        let again = on(&disk.power_cut(0), 5, &at(1));
        assert_eq!(again.items(&order("a")).unwrap()[0].title, "own", "{lane:?}: it rode on the move");
    }
}

/// The power goes while the switch is on its way to the disk: all of it or nothing, whichever sectors made it.
#[test]
fn a_switch_is_whole_or_did_not_happen() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let (mut whole, mut nothing) = (0, 0);
    for seed in 0..48u64 {
        let disk = Disk::default();
        let store = on(&disk, 5, &at(0));
        let all = ["a", "b"].map(|name| waits(1, Write::Item(order(name), an_item("k", "new"))));
        runtime.block_on(write(&store, all.into()));
        disk.hold_syncs();
        let switching = std::thread::spawn({
            let store = store.clone();
            move || {
                let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
                runtime.block_on(write(&store, vec![row(1, GenerationRow::Switch)]));
            }
        });
        disk.until_a_sync_waits();
        let cut = disk.power_cut(seed);
        disk.let_go();
        switching.join().unwrap();
        let again = on(&cut, 5, &at(1));
        let items = ["a", "b"].map(|name| again.items(&order(name)).unwrap().len());
        match items {
            [0, 0] => nothing += 1,
            [1, 1] => whole += 1,
            other => panic!("a part was published: {other:?}, seed {seed}"),
        }
        while runtime.block_on(again.settle_generation(1)).unwrap() {}
        assert_eq!(["a", "b"].map(|name| again.items(&order(name)).unwrap().len()), items);
    }
    assert!(nothing > 0 && whole + nothing == 48, "{whole} whole, {nothing} nothing");
}

#[tokio::test]
async fn old_generations_go_some_rows_at_a_time_and_no_other() {
    let disk = Disk::default();
    let store = on(&disk, 5, &at(0));
    let sighting = |key: &str| Sighting {
        key: key.into(),
        title: "t".into(),
        state: None,
        fields: Vec::new(),
        fingerprint: [1; 16],
    };
    for number in 1..=3 {
        let names = row(number, GenerationRow::Names(0, vec!["a".into(), "b".into()]));
        let pages = row(number, GenerationRow::Seen(0, vec![Seen { target: 1, key: 7, same: None }]));
        let rows = ["x", "y", "z"].map(|key| row(number, GenerationRow::Row("b".into(), sighting(key))));
        write(&store, [names, pages].into_iter().chain(rows).collect()).await;
    }
    // The first is published and not moved yet, the second given up, the third under way.
    write(
        &store,
        vec![waits(1, Write::Item(order("a"), an_item("k", "new"))), row(1, GenerationRow::Switch), built(3)],
    )
    .await;
    let left = |store: &Store| store.core().read(|s| s.scan_keys(&[], 99)).unwrap().len();
    assert_eq!(left(&store), 16);
    assert!(store.sweep_generations(&[scan()], 4).await.unwrap());
    assert_eq!(left(&store), 12, "four at a time");
    while store.sweep_generations(&[scan()], 4).await.unwrap() {}
    assert_eq!(left(&store), 11, "the second alone");
    while store.settle_generation(9).await.unwrap() {}
    while store.sweep_generations(&[scan()], 4).await.unwrap() {}
    assert_eq!(left(&store), 5, "the third is being built");
    assert_eq!(store.generation_names(&generation(3)).unwrap(), ["a".into(), "b".into()]);
    assert_eq!(store.generation_seen(&generation(3)).unwrap(), (vec![Seen { target: 1, key: 7, same: None }], 1));
    let rows = store.generation_rows(&generation(3), &"b".into()).unwrap();
    assert_eq!(rows.iter().map(|r| r.key.as_str()).collect::<Vec<_>>(), ["x", "y", "z"]);
    write(&store, vec![row(3, GenerationRow::Gone("b".into(), "y".into()))]).await;
    assert_eq!(store.generation_rows(&generation(3), &"b".into()).unwrap().len(), 2);
    assert_eq!(store.generation_rows(&generation(3), &"a".into()).unwrap(), []);
    while store.sweep_generations(&[], 4).await.unwrap() {}
    assert_eq!(left(&store), 0, "of a scan that nobody knows any more nothing stays");
}

#[tokio::test]
async fn what_an_attempt_left_waiting_is_forgotten_alone() {
    let store = on(&Disk::default(), 5, &at(0));
    write(&store, vec![built(1), row(1, GenerationRow::Names(0, vec!["a".into()]))]).await;
    write(&store, ["k1", "k2", "k3"].map(|key| waits(1, Write::Item(order("a"), an_item(key, "new")))).into()).await;
    while store.forget_waiting(&generation(1), 2).await.unwrap() {}
    write(&store, vec![row(1, GenerationRow::Switch)]).await;
    assert_eq!(store.items(&order("a")).unwrap(), []);
    assert_eq!(store.generation_names(&generation(1)).unwrap(), ["a".into()]);
}

#[tokio::test]
async fn only_what_readers_see_through_can_wait() {
    let store = on(&Disk::default(), 5, &at(0));
    let refused = store.commit(only(vec![waits(1, Write::Job(a_job(None)))], Lane::Durable)).await;
    assert!(matches!(&refused, Err(StoreError::Io(s)) if s.contains("a row of open_jobs cannot wait")), "{refused:?}");
}

#[derive(Clone, Debug)]
enum Op {
    Own(u8, u8, bool),
    Wait(u8, u8),
    Switch,
    Settle(u8),
    Cut(u64),
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let op = prop_oneof![
        4 => (0u8..5, any::<u8>(), any::<bool>()).prop_map(|(k, v, lazy)| Op::Own(k, v, lazy)),
        6 => (0u8..5, any::<u8>()).prop_map(|(k, v)| Op::Wait(k, v)),
        2 => Just(Op::Switch),
        3 => (1u8..4).prop_map(Op::Settle),
        1 => any::<u64>().prop_map(Op::Cut),
    ];
    proptest::collection::vec(op, 1..40)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// A generation is as one commit at the moment of its switch, however it was written and moved, under every order of other writes,
    /// moves and power cuts.
    #[test]
    fn a_generation_is_one_commit(ops in ops()) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let mut disk = Disk::default();
            let mut store = on(&disk, 5, &at(0));
            let (mut durable, mut lazy, mut waiting) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
            let mut number = 1;
            for op in ops {
                match op {
                    Op::Own(k, v, is_lazy) => {
                        let own = vec![Write::Item(order("a"), an_item(&format!("k{k}"), &v.to_string()))];
                        store.commit(only(own, if is_lazy { Lane::Lazy } else { Lane::Durable })).await.unwrap();
                        lazy.insert(k, v);
                        if !is_lazy {
                            durable.append(&mut lazy);
                        }
                    }
                    Op::Wait(k, v) => {
                        let own = Write::Item(order("a"), an_item(&format!("k{k}"), &v.to_string()));
                        write(&store, vec![waits(number, own)]).await;
                        durable.append(&mut lazy);
                        waiting.insert(k, v);
                    }
                    Op::Switch => {
                        // One at a time: the engine moves a generation before it switches the next.
                        while store.settle_generation(2).await.unwrap() {}
                        write(&store, vec![row(number, GenerationRow::Switch)]).await;
                        durable.append(&mut lazy);
                        durable.append(&mut waiting);
                        number += 1;
                    }
                    Op::Settle(n) => {
                        if store.settle_generation(n.into()).await.unwrap() {
                            durable.append(&mut lazy);
                        }
                    }
                    Op::Cut(seed) => {
                        disk = disk.power_cut(seed);
                        store = on(&disk, 5, &at(0));
                        lazy.clear();
                    }
                }
                let mut expected = durable.clone();
                expected.extend(lazy.clone());
                let expected: Vec<(String, String)> = expected.iter().map(|(k, v)| (format!("k{k}"), v.to_string())).collect();
                let found = store.items(&order("a")).unwrap();
                let found: Vec<(String, String)> = found.into_iter().map(|i| (i.key, i.title)).collect();
                prop_assert_eq!(found, expected);
            }
            Ok(())
        })?;
    }
}
