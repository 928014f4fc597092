//! An operator's rule: what is older goes in parts, and nothing else does.

use super::*;
use crate::domain::item::Removed;

const DAY: u64 = 86_400_000;

fn day(n: u64) -> Now {
    at(n * DAY)
}

fn keeping(days: u64, now: Now) -> Retention {
    Retention { keep: Span(days * DAY), now }
}

/// A line a day, and as many items: those with an even key were removed on the day of their key.
async fn years(store: &Store, target: &TargetKey, days: u64) {
    let mut writes = Vec::new();
    for n in 1..=days {
        let stamp = day(n).stamp();
        writes.push(Write::History(target.clone(), HistoryEntry { at: stamp, ..shelf::entry(n) }));
        let removed = n.is_multiple_of(2).then_some(Removed { at: stamp, last_seen: stamp });
        writes.push(Write::Item(target.clone(), Item { removed, ..an_item(&format!("{n:05}"), "x") }));
    }
    store.commit(only(writes, Lane::Durable)).await.unwrap();
}

/// Until nothing is left of it; the events.
async fn sweep(store: &Store, rule: &Retention) -> Vec<String> {
    let (mut from, mut told) = (None, Vec::new());
    loop {
        let mut outdated = store.outdated(&yard(), rule, from.as_ref()).unwrap();
        from = outdated.on.take();
        let tell = |f: Forgotten| event(&format!("{} lines, {} items", f.lines, f.items));
        let events = store.forget(outdated, rule.clone(), tell).await.unwrap();
        told.extend(events.into_iter().map(|e| e.body.message));
        if from.is_none() {
            return told;
        }
    }
}

fn lines(store: &Store, target: &TargetKey) -> Vec<u64> {
    store.history(target, Some(0), 100_000).unwrap().iter().map(|e| e.seq).collect()
}

fn named(target: &str) -> TargetKey {
    TargetKey { target: target.into(), ..controller() }
}

#[tokio::test]
async fn what_is_older_than_the_rule_goes_and_nothing_else() {
    let disk = Disk::default();
    let (store, _) = Store::open_backend(disk.clone(), INLINE).unwrap();
    let (other, elsewhere) = (named("other"), ConnectionKey { connection: "zoo".into(), ..yard() });
    let foreign = TargetKey { connection: elsewhere, target: "controller".into() };
    for target in [&controller(), &other, &foreign] {
        years(&store, target, 700).await;
    }
    let rule = keeping(400, day(701));
    let told = sweep(&store, &rule).await;
    assert_eq!(told, ["600 lines, 300 items"], "told once, in the transaction that did it");
    for target in [controller(), other.clone()] {
        assert_eq!(lines(&store, &target), (301..=700).collect::<Vec<_>>());
        let items = store.items(&target).unwrap();
        let removed = items.iter().filter(|i| i.removed.is_some()).count();
        assert_eq!((items.len() - removed, removed), (350, 200), "what is there stays, however old");
        assert!(items.iter().all(|i| i.first_seen == at(1).stamp()));
    }
    assert_eq!((lines(&store, &foreign).len(), store.items(&foreign).unwrap().len()), (700, 700), "no rule, no end");
    assert!(sweep(&store, &rule).await.is_empty(), "nothing is told where nothing went");
    let again = Store::open_backend(disk.power_cut(0), INLINE).unwrap().0;
    assert_eq!(lines(&again, &other).len(), 400);
}

#[tokio::test]
async fn a_long_past_goes_in_parts_and_the_last_line_stays() {
    let store = Store::open_backend(Disk::default(), INLINE).unwrap().0;
    years(&store, &controller(), 2_500).await;
    years(&store, &named("other"), 3).await;
    let told = sweep(&store, &keeping(1, day(9_000))).await;
    assert!(told.len() > 3 && told[0] == "1000 lines, 0 items", "{told:?}");
    assert_eq!((lines(&store, &controller()), lines(&store, &named("other"))), (vec![2_500], vec![3]));
    assert_eq!(store.items(&controller()).unwrap().len(), 1_250);
}

#[tokio::test]
async fn an_item_that_comes_back_meanwhile_stays() {
    let store = Store::open_backend(Disk::default(), INLINE).unwrap().0;
    years(&store, &controller(), 4).await;
    let rule = keeping(1, day(9));
    let outdated = store.outdated(&yard(), &rule, None).unwrap();
    for lane in [Lane::Lazy, Lane::Durable] {
        let key = if lane == Lane::Lazy { "00002" } else { "00004" };
        store.commit(only(vec![Write::Item(controller(), an_item(key, "back"))], lane)).await.unwrap();
    }
    store.forget(outdated, rule, |f| event(&format!("{f:?}"))).await.unwrap();
    let items = store.items(&controller()).unwrap();
    assert_eq!(items.len(), 4);
    assert!(items.iter().all(|i| i.removed.is_none()));
}

/// Only what both timelines call old is: a wall clock that stands a year ahead forgets nothing.
#[tokio::test]
async fn a_clock_that_jumps_makes_nothing_old() {
    let store = Store::open_backend(Disk::default(), INLINE).unwrap().0;
    years(&store, &controller(), 10).await;
    let jumped = Now { offsets: vec![1_000_000 + 400 * DAY as i64], ..day(11) };
    let behind = Now { offsets: vec![1_000_000 - 400 * DAY as i64], ..day(300) };
    for now in [jumped, behind] {
        assert!(sweep(&store, &keeping(100, now)).await.is_empty());
    }
    assert_eq!(lines(&store, &controller()).len(), 10);
}
