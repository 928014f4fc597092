//! What is read back: items, history, charges, jobs, events, tokens; and the purge.

use super::*;
use crate::domain::cursor::EventsAsk;
use crate::domain::item::ChangeKind;
use crate::store::read::{ALL, Order};
use crate::store::rows::Row;
use crate::store::rows::Rows;
use crate::store::tables::Table;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::ops::ControlFlow;

fn memory() -> Store {
    Store::open_backend(Disk::default(), INLINE).unwrap().0
}

pub(super) fn entry(seq: u64) -> HistoryEntry {
    HistoryEntry {
        seq,
        at: at(seq).stamp(),
        generation: 1,
        kind: ChangeKind::Appeared,
        key: "1".into(),
        title: "Roses".into(),
        state: None,
        detail: Vec::new(),
    }
}

#[tokio::test]
async fn items_are_of_their_target_and_in_order() {
    let store = memory();
    let other = TargetKey { target: "controller2".into(), ..controller() };
    let item = |t: &TargetKey, k: &str| Write::Item(t.clone(), an_item(k, "t"));
    let writes = ["b", "a", "é", "c"].map(|k| item(&controller(), k)).into_iter().chain([item(&other, "z")]).collect();
    store.commit(only(writes, Lane::Durable)).await.unwrap();
    store.commit(only(vec![item(&controller(), "bb"), item(&other, "y")], Lane::Lazy)).await.unwrap();
    let keys = |t: &TargetKey| store.items(t).unwrap().into_iter().map(|i| i.key).collect::<Vec<_>>();
    assert_eq!(keys(&controller()), ["a", "b", "bb", "c", "é"]);
    assert_eq!(keys(&other), ["y", "z"]);
}

#[tokio::test]
async fn two_thousand_items_are_one_commit() {
    let disk = Disk::default();
    let store = Store::open_backend(disk.clone(), INLINE).unwrap().0;
    let before = disk.syncs();
    let writes = (0..2000).map(|n| Write::Item(controller(), an_item(&format!("item-{n:05}"), "A title"))).collect();
    store.commit(only(writes, Lane::Durable)).await.unwrap();
    assert!(disk.syncs() - before <= 3, "one commit; a file that grows is synced for that too");
    assert_eq!(store.items(&controller()).unwrap().len(), 2000);
}

#[tokio::test]
async fn history_is_read_from_either_end() {
    let store = memory();
    let writes = (0..10).map(|n| Write::History(controller(), entry(n))).collect();
    store.commit(only(writes, Lane::Durable)).await.unwrap();
    store.commit(only(vec![Write::History(controller(), entry(10))], Lane::Lazy)).await.unwrap();
    let seqs = |after, n| store.history(&controller(), after, n).unwrap().iter().map(|e| e.seq).collect::<Vec<_>>();
    assert_eq!(seqs(None, 3), [8, 9, 10]);
    assert_eq!(seqs(Some(7), 2), [8, 9]);
    assert_eq!(seqs(Some(8), 99), [9, 10]);
    assert_eq!(seqs(Some(10), 99), [0; 0]);
    let other = TargetKey { target: "other".into(), ..controller() };
    assert!(store.history(&other, None, 9).unwrap().is_empty());
}

#[tokio::test]
async fn charges_are_of_their_connection() {
    let store = on(&Disk::default(), 100, &at(0));
    let mut other = admission(&at(10));
    other.request.connection.connection = "yard2".into();
    let first = admit(&store, &at(10)).await;
    let _ = store.admit(other).await.unwrap().unwrap();
    let last = admit(&store, &at(1_000_000)).await;
    let ids = |charges: Vec<Charge>| charges.iter().map(|c| c.id).collect::<Vec<_>>();
    assert_eq!(ids(store.charges(&yard(), None, 9).unwrap()), [first, last]);
    assert_eq!(ids(store.charges(&yard(), None, 1).unwrap()), [last]);
    assert_eq!(ids(store.charges(&yard(), Some(first), 9).unwrap()), [last]);
    assert_eq!(ids(store.charges_since(&yard(), at(10).stamp()).unwrap()), [first, last]);
    assert_eq!(ids(store.charges_since(&yard(), at(11).stamp()).unwrap()), [last]);
}

#[tokio::test]
async fn a_job_is_created_once_for_its_key() {
    let store = memory();
    let (job, new, events) = store.create_job(a_job(Some("k")), event("queued")).await.unwrap();
    assert_eq!((job.id, new, events[0].id), (JobId(1), true, EventId(1)));
    let (same, new, events) = store.create_job(a_job(Some("k")), event("queued")).await.unwrap();
    assert_eq!((same, new, events.len()), (job.clone(), false, 0));
    let mut elsewhere = a_job(Some("k"));
    elsewhere.connection.connection = "other".into();
    assert!(store.create_job(elsewhere, event("queued")).await.unwrap().1);
    assert!(store.create_job(a_job(None), event("queued")).await.unwrap().1);
    assert_eq!(store.last_event_id(), EventId(3));
    let done = Job { state: JobState::Done, ..job.clone() };
    store.commit(only(vec![Write::Job(done.clone())], Lane::Durable)).await.unwrap();
    assert_eq!(store.open_jobs().unwrap().iter().map(|j| j.id.0).collect::<Vec<_>>(), [2, 3]);
    assert_eq!(store.jobs(&yard(), 9).unwrap().iter().map(|j| j.id.0).collect::<Vec<_>>(), [3, 1]);
    assert_eq!(store.job(job.id).unwrap(), Some(done));
}

/// Two who come at the same moment with one key: both get the one job.
#[test]
fn a_key_holds_inside_a_batch() {
    let store = memory();
    let (a, mut got_a) = tokio::sync::oneshot::channel();
    let (b, mut got_b) = tokio::sync::oneshot::channel();
    let mut batch = [a, b].map(|reply| Work::Job(Box::new(a_job(Some("k"))), event("queued"), reply)).into();
    store.core().writing().run(store.core(), &mut batch);
    let (first, second) = (got_a.try_recv().unwrap().unwrap(), got_b.try_recv().unwrap().unwrap());
    assert_eq!((first.0.id, first.1), (second.0.id, true));
    assert!(!second.1);
}

#[tokio::test]
async fn events_are_read_after_a_number_and_newest_first() {
    let store = memory();
    let elsewhere = NewEvent { connection: None, ..event("c") };
    let told = Commit { events: vec![event("a"), event("b"), elsewhere], ..only(vec![], Lane::Lazy) };
    assert_eq!(store.commit(told).await.unwrap().len(), 3, "what is told takes the durable lane");
    let ids = |events: Vec<Event>| events.iter().map(|e| e.id.0).collect::<Vec<_>>();
    assert_eq!(ids(store.events_after(EventId(1), 9).unwrap()), [2, 3]);
    assert_eq!(ids(store.events_after(EventId(0), 1).unwrap()), [1]);
    let newest = |connection, limit| {
        let ask = EventsAsk { connection, limit, ..EventsAsk::default() };
        store.events_page(&ask).unwrap().rows.into_iter().rev().collect()
    };
    assert_eq!(ids(newest(None, 2)), [3, 2]);
    assert_eq!(ids(newest(Some(yard().connection), 9)), [2, 1]);
}

#[tokio::test]
async fn tokens_are_numbered_and_revoked() {
    let store = memory();
    let token = TokenRecord {
        id: 0,
        name: "phone".into(),
        hash: [1; 32],
        role: "reader".into(),
        organization: Organization::default(),
        created_at: at(1).stamp(),
        revoked_at: None,
        expires_at: None,
    };
    let first = store.create_token(token.clone()).await.unwrap();
    let second = store.create_token(token).await.unwrap();
    assert_eq!((first.id, second.id), (1, 2));
    let revoked = TokenRecord { revoked_at: Some(at(9).stamp()), ..first };
    store.commit(only(vec![Write::Token(revoked.clone())], Lane::Durable)).await.unwrap();
    assert_eq!(store.tokens().unwrap(), [revoked, second]);
}

#[tokio::test]
async fn old_charges_and_many_events_go_and_nothing_else() {
    let store = on(&Disk::default(), 100_000, &at(0));
    for _ in 0..3 {
        admit(&store, &at(10)).await;
    }
    let told = |n| Commit { events: vec![event("e"); n], ..only(vec![], Lane::Durable) };
    store.commit(told(100_100)).await.unwrap();
    let late = at(41 * 86_400_000);
    for _ in 0..70 {
        admit(&store, &late).await;
    }
    assert_eq!(store.charges(&yard(), None, 1000).unwrap().len(), 70);
    assert_eq!(store.events_after(EventId(0), 1).unwrap()[0].id, EventId(101));
    assert_eq!(store.last_event_id(), EventId(100_100));
}

#[tokio::test]
async fn the_last_charge_stays_so_that_numbers_go_on() {
    let disk = Disk::default();
    let store = on(&disk, 100, &at(0));
    let last = admit(&store, &at(10)).await;
    store.install_budget(KEY, limit(100), &at(90 * 86_400_000)).unwrap();
    for n in 0..130 {
        store.commit(only(vec![Write::Target(controller(), seen_at(n))], Lane::Durable)).await.unwrap();
    }
    let again = on(&disk.power_cut(0), 100, &at(90 * 86_400_000));
    assert_eq!(admit(&again, &at(90 * 86_400_000)).await.0, last.0 + 1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// A scan shows the file with the lazy rows over it, whichever way it runs and wherever it begins.
    #[test]
    fn a_scan_merges_the_lanes(stored in proptest::collection::vec((0u8..20, any::<u8>()), 0..20),
                               lazy in proptest::collection::vec((0u8..20, proptest::option::of(any::<u8>())), 0..20),
                               from in 0u8..20) {
        let store = memory();
        let core = store.core();
        let mut rows = Rows::default();
        let mut model = BTreeMap::new();
        for (key, value) in stored {
            rows.set(Row::put(Table::Items, [key], vec![value]));
            model.insert(key, value);
        }
        core.write(&rows).unwrap();
        for (key, value) in lazy {
            core.change_lazy(|l| l.set(Row { table: Table::Items, key: vec![key], value: value.map(|v| vec![v]) }));
            match value {
                Some(value) => { model.insert(key, value); }
                None => { model.remove(&key); }
            }
        }
        let snapshot = core.snapshot().unwrap();
        let scan = |range, order| {
            let mut seen = Vec::new();
            snapshot.visit(Table::Items, range, order, |key, value| {
                seen.push((key[0], value[0]));
                Ok(ControlFlow::Continue(()))
            }).unwrap();
            seen
        };
        let all: Vec<_> = model.iter().map(|(k, v)| (*k, *v)).collect();
        prop_assert_eq!(scan(ALL, Order::Forth), all.clone());
        prop_assert_eq!(scan(ALL, Order::Back), all.iter().rev().copied().collect::<Vec<_>>());
        let range = (std::ops::Bound::Excluded(&[from][..]), std::ops::Bound::Unbounded);
        prop_assert_eq!(scan(range, Order::Forth), all.into_iter().filter(|(k, _)| *k > from).collect::<Vec<_>>());
    }
}
