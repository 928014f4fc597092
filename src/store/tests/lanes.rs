//! Who is answered when: the durable lane, the lazy lane, and a disk that refuses.

use super::*;
use std::io::ErrorKind;
use std::sync::atomic::{AtomicUsize, Ordering};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_is_answered_before_the_sync_and_one_sync_serves_many() {
    let disk = Disk::default();
    let (store, _) = Store::open_backend(disk.clone(), THREAD).unwrap();
    store.install_budget(KEY, limit(1000), &at(0)).unwrap();
    let answered = Arc::new(AtomicUsize::new(0));
    disk.hold_syncs();
    let before = disk.syncs();
    let waiters: Vec<_> = (0..64)
        .map(|_| {
            let (store, answered) = (store.clone(), answered.clone());
            tokio::spawn(async move {
                admit(&store, &at(10)).await;
                answered.fetch_add(1, Ordering::SeqCst);
            })
        })
        .collect();
    let watched = disk.clone();
    tokio::task::spawn_blocking(move || watched.until_a_sync_waits()).await.unwrap();
    assert_eq!(answered.load(Ordering::SeqCst), 0, "the disk has nothing yet");
    disk.let_go();
    for waiter in waiters {
        waiter.await.unwrap();
    }
    assert_eq!(answered.load(Ordering::SeqCst), 64);
    let syncs = disk.syncs() - before;
    assert!(syncs <= 8, "64 waiters took {syncs} syncs");
    assert_eq!(used(&store, &at(10)), 64);
    let (again, _) = Store::open_backend(disk.power_cut(0), INLINE).unwrap();
    assert_eq!(again.charges(&yard(), None, 100).unwrap().len(), 64);
    store.close().unwrap();
}

#[tokio::test]
async fn the_budget_decides_and_a_refusal_costs_nothing() {
    let disk = Disk::default();
    let store = on(&disk, 1, &at(0));
    admit(&store, &at(10)).await;
    let before = disk.syncs();
    let refusal = store.admit(admission(&at(20))).await.unwrap().unwrap_err();
    assert!(matches!(refusal, Refusal::NotUntil { .. }), "{refusal:?}");
    assert_eq!(store.would_admit(KEY, &at(20), &ask()).unwrap_err(), refusal);
    assert_eq!(disk.syncs(), before);
    assert_eq!(store.charges(&yard(), None, 10).unwrap().len(), 1);
}

#[tokio::test]
async fn without_a_budget_nothing_is_admitted() {
    let (store, _) = Store::open_backend(Disk::default(), INLINE).unwrap();
    assert!(matches!(store.admit(admission(&at(1))).await, Err(StoreError::Io(_))));
    assert!(store.would_admit(KEY, &at(1), &ask()).is_err());
    assert!(store.usage(KEY, &at(1), &[]).is_empty());
}

/// The asker goes away while the disk is busy: the permit reaches nobody, so the unit is free again.
#[test]
fn a_permit_that_nobody_waits_for_is_given_back() {
    let store = on(&Disk::default(), 1, &at(0));
    let (reply, _) = tokio::sync::oneshot::channel();
    store.core().writing().run(store.core(), &mut vec![Work::Admit(admission(&at(10)), reply)]);
    assert_eq!(used(&store, &at(10)), 0);
    let charge = store.charges(&yard(), None, 9).unwrap().remove(0);
    assert_eq!(charge.resolution.unwrap().settlement, Settlement::Voided);
}

#[tokio::test]
async fn what_rides_with_an_admission_is_there_with_it() {
    let disk = Disk::default();
    let store = on(&disk, 5, &at(0));
    let with = Box::new(|id: ChargeId| vec![Write::Job(Job { id: JobId(4), charge: Some(id), ..a_job(None) })]);
    let permit = store.admit(Admission { with, ..admission(&at(10)) }).await.unwrap().unwrap();
    let (again, _) = Store::open_backend(disk.power_cut(0), INLINE).unwrap();
    assert_eq!(again.job(JobId(4)).unwrap().unwrap().charge, Some(permit.id()));
}

#[tokio::test]
async fn a_lazy_commit_is_seen_at_once_and_lost_in_a_crash() {
    let disk = Disk::default();
    let store = on(&disk, 1, &at(0));
    let id = admit(&store, &at(10)).await;
    let before = disk.syncs();
    let writes = vec![Write::Target(controller(), seen_at(20)), Write::Item(controller(), an_item("1", "Roses"))];
    let events = store.commit(learned(id, &at(20), writes, Lane::Lazy)).await.unwrap();
    assert_eq!((events.len(), disk.syncs()), (0, before), "no sync was spent");
    assert_eq!(store.target(&controller()).unwrap(), Some(seen_at(20)));
    assert_eq!(store.items(&controller()).unwrap().len(), 1);
    assert_eq!(store.charges(&yard(), None, 9).unwrap()[0].resolution, Some(answered(&at(20))));
    assert!(store.pending_charges().unwrap().is_empty());

    let (again, _) = Store::open_backend(disk.power_cut(0), INLINE).unwrap();
    assert_eq!(again.target(&controller()).unwrap(), None);
    assert_eq!(again.charges(&yard(), None, 9).unwrap()[0].resolution, None);
    again.install_budget(KEY, limit(1), &at(30)).unwrap();
    assert_eq!(used(&again, &at(30)), 1, "found pending it counts as spent");
    assert_eq!(again.pending_charges().unwrap().len(), 1, "its time is not up: the engine waits for its deadline");
}

#[tokio::test]
async fn a_lazy_commit_rides_on_the_next_durable_one() {
    let disk = Disk::default();
    let store = on(&disk, 9, &at(0));
    store.commit(only(vec![Write::Target(controller(), seen_at(20))], Lane::Lazy)).await.unwrap();
    admit(&store, &at(30)).await;
    let (again, _) = Store::open_backend(disk.power_cut(0), INLINE).unwrap();
    assert_eq!(again.target(&controller()).unwrap(), Some(seen_at(20)));
    assert_eq!(store.target(&controller()).unwrap(), Some(seen_at(20)));
}

#[tokio::test]
async fn closing_writes_what_is_lazy_and_ends_everything() {
    let disk = Disk::default();
    let store = on(&disk, 9, &at(0));
    store.commit(only(vec![Write::Target(controller(), seen_at(20))], Lane::Lazy)).await.unwrap();
    store.close().unwrap();
    assert_eq!(store.close(), Err(StoreError::Closed));
    assert_eq!(store.target(&controller()), Err(StoreError::Closed));
    assert_eq!(store.health(), Err(StoreError::Closed));
    assert!(matches!(store.admit(admission(&at(30))).await, Err(StoreError::Closed)));
    let (again, opening) = Store::open_backend(disk.power_cut(0), INLINE).unwrap();
    assert_eq!(opening.repaired, None);
    assert_eq!(again.target(&controller()).unwrap(), Some(seen_at(20)));
}

#[tokio::test]
async fn the_last_word_on_a_row_wins_in_either_lane() {
    let disk = Disk::default();
    let (store, _) = Store::open_backend(disk.clone(), INLINE).unwrap();
    for (ms, lane) in [(1, Lane::Lazy), (2, Lane::Durable), (3, Lane::Lazy), (4, Lane::Lazy)] {
        store.commit(only(vec![Write::Target(controller(), seen_at(ms))], lane)).await.unwrap();
        assert_eq!(store.target(&controller()).unwrap(), Some(seen_at(ms)));
    }
    let on_disk = Store::open_backend(disk.power_cut(0), INLINE).unwrap().0;
    assert_eq!(on_disk.target(&controller()).unwrap(), Some(seen_at(2)));
    store.close().unwrap();
    let on_disk = Store::open_backend(disk.power_cut(0), INLINE).unwrap().0;
    assert_eq!(on_disk.target(&controller()).unwrap(), Some(seen_at(4)));
}

/// In one batch: a lazy write that comes after a durable one to the same row is the newer, and the other way round.
#[test]
fn order_holds_inside_a_batch() {
    for (first, second) in [(Lane::Durable, Lane::Lazy), (Lane::Lazy, Lane::Durable)] {
        let disk = Disk::default();
        let (store, _) = Store::open_backend(disk.clone(), INLINE).unwrap();
        let work = |ms, lane| {
            let commit = only(vec![Write::Target(controller(), seen_at(ms))], lane);
            Work::Commit(Prepared::new(commit).unwrap(), tokio::sync::oneshot::channel().0)
        };
        let core = store.core();
        core.writing().run(core, &mut vec![work(1, first), work(2, second)]);
        assert_eq!(store.target(&controller()).unwrap(), Some(seen_at(2)));
        let on_disk = Store::open_backend(disk.power_cut(0), INLINE).unwrap().0;
        assert_eq!(on_disk.target(&controller()).unwrap(), Some(seen_at(2)), "{first:?} then {second:?}");
    }
}

#[tokio::test]
async fn ticks_write_what_is_lazy_before_it_waited_too_long() {
    let disk = Disk::default();
    let (store, _) = Store::open_backend(disk.clone(), INLINE).unwrap();
    let before = disk.syncs();
    tick(&store);
    store.commit(only(vec![Write::Target(controller(), seen_at(1))], Lane::Lazy)).await.unwrap();
    let due = super::super::LAZY_MAX.0 / super::super::TICK.0;
    (1..due).for_each(|_| tick(&store));
    assert_eq!(disk.syncs(), before);
    tick(&store);
    assert_eq!(disk.syncs(), before + 1);
    (0..due).for_each(|_| tick(&store));
    assert_eq!(disk.syncs(), before + 1, "nothing to write, nothing written");
    let on_disk = Store::open_backend(disk.power_cut(0), INLINE).unwrap().0;
    assert_eq!(on_disk.target(&controller()).unwrap(), Some(seen_at(1)));
}

#[tokio::test]
async fn a_full_disk_answers_in_words_and_the_ledger_stays_honest() {
    let disk = Disk::default();
    let store = on(&disk, 2, &at(0));
    let id = admit(&store, &at(10)).await;
    disk.fail(Some(ErrorKind::StorageFull));
    let refused = store.admit(admission(&at(20))).await;
    let Err(StoreError::Full(sentence)) = &refused else { panic!("{refused:?}") };
    assert!(sentence.contains("free some space"), "{sentence}");
    assert!(store.health().is_err());
    let told = Commit { events: vec![event("x")], ..learned(id, &at(25), vec![], Lane::Durable) };
    assert!(store.commit(told).await.is_err());
    assert_eq!(store.last_event_id(), EventId(0));

    disk.fail(None);
    let next = admit(&store, &at(30)).await;
    assert_eq!(store.health(), Ok(()));
    assert!(next > id);
    assert_eq!(used(&store, &at(30)), 2, "the one that failed was never sent and is not counted");
    let charges = store.charges(&yard(), None, 9).unwrap();
    assert_eq!(charges.len(), 2);
    assert!(charges.iter().all(|c| c.resolution.is_none()));
}

#[tokio::test]
async fn a_full_disk_loses_no_hold_and_no_lazy_row() {
    let disk = Disk::default();
    let store = on(&disk, 5, &at(0));
    let id = admit(&store, &at(10)).await;
    store.commit(learned(id, &at(20), vec![Write::Target(controller(), seen_at(20))], Lane::Lazy)).await.unwrap();
    disk.fail(Some(ErrorKind::StorageFull));
    let held = Commit { hold: Some((KEY, vec![HoldChange::Put(hold_until(500))])), ..only(vec![], Lane::Durable) };
    assert!(store.commit(held).await.is_err());
    disk.fail(None);
    let refusal = store.admit(admission(&at(30))).await.unwrap().unwrap_err();
    assert!(matches!(refusal, Refusal::Held(_)), "a hold that could not be written still holds: {refusal:?}");
    assert_eq!(store.target(&controller()).unwrap(), Some(seen_at(20)));
    assert!(store.pending_charges().unwrap().is_empty());
    admit(&store, &at(600)).await;
    let on_disk = Store::open_backend(disk.power_cut(0), INLINE).unwrap().0;
    assert_eq!(on_disk.target(&controller()).unwrap(), Some(seen_at(20)));
}

#[tokio::test]
async fn health_comes_back_by_itself() {
    let disk = Disk::default();
    let (store, _) = Store::open_backend(disk.clone(), INLINE).unwrap();
    disk.fail(Some(ErrorKind::StorageFull));
    assert!(store.commit(only(vec![Write::Mark(ClockMark::default())], Lane::Durable)).await.is_err());
    disk.fail(None);
    tick(&store);
    assert_eq!(store.health(), Ok(()));
}

#[tokio::test]
async fn a_hold_is_durable_and_is_lifted() {
    let disk = Disk::default();
    let store = on(&disk, 5, &at(0));
    let hold = |change| Commit { hold: Some((KEY, vec![change])), ..only(vec![], Lane::Durable) };
    store.commit(hold(HoldChange::Put(hold_until(900)))).await.unwrap();
    assert_eq!(store.holds(KEY), [hold_until(900)]);
    let again = on(&disk.power_cut(0), 5, &at(20));
    assert_eq!(again.holds(KEY), [hold_until(900)]);
    assert!(matches!(again.admit(admission(&at(20))).await.unwrap(), Err(Refusal::Held(_))));
    again.commit(hold(HoldChange::Lift(HoldScope::Credential))).await.unwrap();
    assert_eq!(again.holds(KEY), []);
}

#[tokio::test]
async fn an_endpoint_is_held_by_itself_and_a_ramp_is_remembered() {
    let disk = Disk::default();
    let store = on(&disk, 5, &at(0));
    let alone = Hold { scope: HoldScope::Endpoint("/elsewhere".into()), ..hold_until(900) };
    let easing = Hold { ramp: Some(Ramp { since: at(700).stamp(), steps: 2 }), ..hold_until(600) };
    let put = |hold: &Hold| HoldChange::Put(hold.clone());
    let both = Commit { hold: Some((KEY, vec![put(&alone), put(&easing)])), ..only(vec![], Lane::Durable) };
    store.commit(both).await.unwrap();
    let disk = disk.power_cut(0);
    let again = on(&disk, 5, &at(750));
    assert_eq!(again.holds(KEY), [easing.clone(), alone.clone()]);
    assert!(again.admit(admission(&at(750))).await.unwrap().is_ok(), "another endpoint, and a ramp stops nobody");
    let mut there = admission(&at(751));
    there.request.ask.endpoint = "/elsewhere".into();
    assert_eq!(again.admit(there).await.unwrap().err(), Some(Refusal::Held(Box::new(alone.clone()))));
    let lift = vec![HoldChange::Lift(alone.scope)];
    again.commit(Commit { hold: Some((KEY, lift)), ..only(vec![], Lane::Durable) }).await.unwrap();
    assert_eq!(on(&disk.power_cut(0), 5, &at(760)).holds(KEY), [easing]);
}

#[tokio::test]
async fn a_record_that_is_too_big_is_refused_and_nothing_of_it_stays() {
    let disk = Disk::default();
    let store = on(&disk, 5, &at(0));
    let big = || Write::Item(controller(), an_item("1", &"x".repeat(2 << 20)));
    assert!(matches!(store.commit(only(vec![big()], Lane::Durable)).await, Err(StoreError::Io(_))));
    let with = Box::new(move |_| vec![big()]);
    assert!(store.admit(Admission { with, ..admission(&at(10)) }).await.is_err());
    assert_eq!(used(&store, &at(10)), 0);
    assert!(store.charges(&yard(), None, 9).unwrap().is_empty());
    assert_eq!(store.health(), Ok(()), "that was not the disk's fault");
}
