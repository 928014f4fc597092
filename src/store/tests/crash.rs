//! The power goes at any moment: what was confirmed is there, and what was pending counts as spent.

use super::*;
use proptest::prelude::*;

#[tokio::test]
async fn a_charge_whose_time_is_up_is_lost_and_posted() {
    let disk = Disk::default();
    let store = on(&disk, 1, &at(0));
    let id = admit(&store, &at(10)).await;
    // Dark until after the deadline (10 + 1 s + 30 s), within the window.
    let cut = disk.power_cut(0);
    let again = on(&cut, 1, &at(60_000));
    assert!(again.pending_charges().unwrap().is_empty());
    let charge = again.charges(&yard(), None, 9).unwrap().remove(0);
    let resolution = charge.resolution.unwrap();
    assert_eq!((resolution.settlement, resolution.outcome), (Settlement::Posted, Outcome::Lost));
    assert_eq!(resolution.at.steady, charge.deadline);
    assert_eq!(used(&again, &at(60_000)), 1);
    let Err(Refusal::NotUntil { at: free, .. }) = again.would_admit(KEY, &at(60_000), &ask()) else { panic!() };
    assert!(free >= Steady(31_010 + 300_000), "counted from its deadline: {free:?}");
    let on_disk = Store::open_backend(cut.power_cut(0), INLINE).unwrap().0;
    assert_eq!(on_disk.charges(&yard(), None, 9).unwrap()[0].id, id);
    assert!(on_disk.pending_charges().unwrap().is_empty(), "the settlement is durable");
}

#[tokio::test]
async fn a_request_in_flight_is_not_settled_by_new_limits() {
    let disk = Disk::default();
    let store = on(&disk, 5, &at(0));
    let id = admit(&store, &at(10)).await;
    store.install_budget(KEY, limit(3), &at(90_000)).unwrap();
    assert_eq!(store.pending_charges().unwrap().len(), 1);
    assert_eq!(used(&store, &at(90_000)), 1);
    store.commit(learned(id, &at(90_001), vec![], Lane::Durable)).await.unwrap();
    assert_eq!(store.charges(&yard(), None, 9).unwrap()[0].resolution, Some(answered(&at(90_001))));
}

#[tokio::test]
async fn the_first_resolution_stands() {
    let disk = Disk::default();
    let store = on(&disk, 5, &at(0));
    let id = admit(&store, &at(10)).await;
    for (ms, lane) in [(20, Lane::Lazy), (30, Lane::Durable), (40, Lane::Lazy)] {
        store.commit(learned(id, &at(ms), vec![], lane)).await.unwrap();
    }
    assert_eq!(store.charges(&yard(), None, 9).unwrap()[0].resolution, Some(answered(&at(20))));
}

#[tokio::test]
async fn limits_of_two_credentials_do_not_mix() {
    let disk = Disk::default();
    let store = on(&disk, 5, &at(0));
    let other = CredentialId([1; 16]);
    store.install_budget(other, limit(5), &at(0)).unwrap();
    admit(&store, &at(10)).await;
    let _ = store.admit(Admission { credential: other, ..admission(&at(10)) }).await.unwrap().unwrap();
    admit(&store, &at(10)).await;
    let again = on(&disk.power_cut(0), 5, &at(20));
    assert_eq!(used(&again, &at(20)), 2);
    again.install_budget(other, limit(5), &at(20)).unwrap();
    assert_eq!(again.usage(other, &at(20), &[])[0].used, 1);
}

#[tokio::test]
async fn the_high_water_mark_is_the_newest_of_everything() {
    let disk = Disk::default();
    let store = on(&disk, 5, &at(0));
    let (_, opening) = Store::open_backend(disk.power_cut(0), INLINE).unwrap();
    assert_eq!(opening.high_water, None);
    admit(&store, &at(10)).await;
    let state = TargetState { attempted_at: Some(at(700).stamp()), ..TargetState::default() };
    store.commit(only(vec![Write::Target(controller(), state)], Lane::Durable)).await.unwrap();
    let mark =
        ClockMark { steady: Steady(5), wall: crate::domain::time::Wall(9_000_000), era: 3, ..ClockMark::default() };
    store.commit(only(vec![Write::Mark(mark.clone())], Lane::Durable)).await.unwrap();
    let (_, opening) = Store::open_backend(disk.power_cut(0), INLINE).unwrap();
    let high = opening.high_water.unwrap();
    assert_eq!((high.steady, high.wall, high.era), (Steady(700), mark.wall, 3));
    assert_eq!(opening.mark, Some(mark));
    assert!(opening.repaired.is_some() && !opening.created);
}

#[tokio::test]
async fn numbers_go_on_after_a_crash() {
    let disk = Disk::default();
    let store = on(&disk, 50, &at(0));
    let first = admit(&store, &at(10)).await;
    let told = Commit { events: vec![event("a"), event("b")], ..only(vec![], Lane::Durable) };
    let events = store.commit(told.clone()).await.unwrap();
    assert_eq!(events.iter().map(|e| e.id.0).collect::<Vec<_>>(), [1, 2]);
    let again = on(&disk.power_cut(0), 50, &at(20));
    assert_eq!(again.last_event_id(), EventId(2));
    assert_eq!(again.commit(told).await.unwrap()[0].id, EventId(3));
    assert_eq!(admit(&again, &at(20)).await.0, first.0 + 1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Power cuts at every point of a random life: no confirmed charge is ever missing, no resolution that was confirmed is
    /// undone, the ledger after the restart shows at least what was confirmed.
    #[test]
    fn nothing_confirmed_is_lost(steps in proptest::collection::vec((0u8..4, any::<u64>()), 1..24)) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let (mut disk, mut now) = (Disk::default(), 10);
            let mut store = on(&disk, 1000, &at(now));
            let (mut confirmed, mut resolved) = (Vec::new(), Vec::new());
            for (what, seed) in steps {
                now += 10;
                match what {
                    0 | 1 => confirmed.push(admit(&store, &at(now)).await),
                    2 => if let Some(id) = confirmed.iter().find(|id| !resolved.contains(*id)) {
                        let lane = if seed & 2 == 2 { Lane::Durable } else { Lane::Lazy };
                        store.commit(learned(*id, &at(now), vec![], lane)).await.unwrap();
                        if lane == Lane::Durable { resolved.push(*id) }
                    },
                    _ => {
                        // In the middle of a commit: redb has written and not yet synced.
                        let (flying, cut) = (disk.clone(), std::sync::Arc::new(std::sync::Mutex::new(None)));
                        flying.hold_syncs();
                        let (store2, seen) = (store.clone(), cut.clone());
                        let writing = std::thread::spawn(move || {
                            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
                            runtime.block_on(store2.admit(admission(&at(now)))).map(drop)
                        });
                        flying.until_a_sync_waits();
                        *seen.lock().unwrap() = Some(flying.power_cut(seed));
                        flying.let_go();
                        writing.join().unwrap().unwrap();
                        disk = cut.lock().unwrap().take().unwrap();
                        store = on(&disk, 1000, &at(now));
                    }
                }
            }
            let charges = store.charges(&yard(), None, 1000).unwrap();
            for id in &confirmed {
                prop_assert!(charges.iter().any(|c| c.id == *id), "charge {id:?} is missing");
            }
            for id in &resolved {
                prop_assert!(charges.iter().any(|c| c.id == *id && c.resolution.is_some()));
            }
            prop_assert!(used(&store, &at(now)) >= confirmed.len() as u64);
            Ok(())
        })?;
    }
}

/// A49: the day of the ledger is the day of the file, whichever process reads it.
#[tokio::test]
async fn a49_ten_restarts_in_a_day_hand_nothing_back() {
    let utc = "UTC".to_owned();
    let day = Kind::Daily { resets_at: crate::domain::limit::TimeOfDay(0), time_zone: utc };
    let limits = || vec![Limit { name: "day".into(), amount: 50, kind: day.clone(), ..limit(50).remove(0) }];
    let hour = 3_600_000;
    let (mut disk, mut sent) = (Disk::default(), 0);
    for restart in 0..10 {
        let now = at(restart * hour);
        let store = Store::open_backend(disk.clone(), INLINE).unwrap().0;
        store.install_budget(KEY, limits(), &now).unwrap();
        for n in 0..8 {
            let now = at(restart * hour + n * 1_000);
            let Ok(permit) = store.admit(admission(&now)).await.unwrap() else { continue };
            sent += 1;
            store.commit(learned(permit.id(), &now, vec![], Lane::Durable)).await.unwrap();
        }
        disk = disk.power_cut(0);
    }
    assert_eq!(sent, 50, "eighty asked");
    let store = Store::open_backend(disk, INLINE).unwrap().0;
    store.install_budget(KEY, limits(), &at(24 * hour)).unwrap();
    assert!(store.admit(admission(&at(24 * hour))).await.unwrap().is_ok(), "the next day");
}
