//! What a memory card has to bear: bytes and syncs of a long quiet time, and of a loud one.

use super::*;

const MIB: u64 = 1 << 20;

/// Polls and their answers over `hours`, the ticks of the writer in between.
async fn quiet(store: &Store, hours: u64) -> u64 {
    let (mut polls, mut ticks) = (0, 0);
    while polls * 75 < hours * 3600 {
        polls += 1;
        let now = at(polls * 75_000);
        let permit = store.admit(admission(&now)).await.unwrap().unwrap();
        let seen = vec![Write::Target(controller(), seen_at(now.steady.0))];
        store.commit(learned(permit.charge().id, &now, seen, Lane::Lazy)).await.unwrap();
        while (ticks + 1) * TICK.0 <= now.steady.0 {
            ticks += 1;
            tick(store);
        }
    }
    polls
}

#[tokio::test]
async fn a35_a_quiet_day_writes_little_more_than_its_charges() {
    let disk = Disk::default();
    let (store, _) = Store::open_backend(disk.clone(), INLINE).unwrap();
    store.install_budget(KEY, limit(1_000_000), &at(0)).unwrap();
    let (bytes, syncs) = (disk.written(), disk.syncs());
    let polls = quiet(&store, 24).await;
    let (bytes, syncs) = (disk.written() - bytes, disk.syncs() - syncs);
    assert!(syncs <= polls + 10, "{syncs} syncs for {polls} polls: an unchanged answer rides on the next charge");
    assert!(bytes <= 48 * MIB, "{bytes} bytes for {polls} polls");
}

#[tokio::test]
async fn a36_a_thousand_sightings_a_minute_share_their_commits() {
    let disk = Disk::default();
    let (store, _) = Store::open_backend(disk.clone(), INLINE).unwrap();
    let syncs = disk.syncs();
    for minute in 1..=60 {
        for n in 0..1_000 {
            let now = at(minute * 60_000 + n * 60);
            let seen = vec![Write::Target(controller(), seen_at(now.steady.0))];
            store.commit(only(seen, Lane::Lazy)).await.unwrap();
        }
        tick(&store);
        tick(&store);
    }
    let syncs = disk.syncs() - syncs;
    assert!(syncs <= 12, "{syncs} syncs in an hour in which nothing changed");
}
