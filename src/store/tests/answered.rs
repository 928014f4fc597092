//! When good answers came, by the charges.

use super::*;
use crate::store::answered::Answered;

async fn asked(store: &Store, ms: u64, outcome: Outcome) {
    let permit = store.admit(admission(&at(ms))).await.unwrap().unwrap();
    let end = Resolution { outcome, ..answered(&at(ms + 5)) };
    let resolve = Some((KEY, permit.id(), end));
    store.commit(Commit { resolve, ..Commit::default() }).await.unwrap();
}

#[tokio::test]
async fn only_good_answers_count_and_what_was_not_looked_at_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let (store, _) = Store::open(&dir.path().join("f.redb"), INLINE).unwrap();
    store.install_budget(KEY, limit(100), &at(0)).unwrap();
    for (ms, outcome) in
        [(1_000, Outcome::Data), (2_000, Outcome::Limited), (3_000, Outcome::NotModified), (4_000, Outcome::TimedOut)]
    {
        asked(&store, ms, outcome).await;
    }
    let stamps = |ms: &[u64]| ms.iter().map(|ms| at(*ms).stamp()).collect::<Vec<_>>();
    let all = store.answered(&controller(), Steady(0), 9).unwrap();
    assert_eq!(all, Answered { at: stamps(&[3_005, 1_005]), looked_back_to: Some(at(1_000).stamp()) });
    let two = store.answered(&controller(), Steady(0), 2).unwrap();
    assert_eq!(two, Answered { at: stamps(&[3_005]), looked_back_to: Some(at(3_000).stamp()) });
    let other = TargetKey { target: "other".into(), ..controller() };
    assert_eq!(store.answered(&other, Steady(0), 9).unwrap().at, []);
    asked(&store, 5_000_000, Outcome::Data).await;
    let late = store.answered(&controller(), Steady(4_000_000), 9).unwrap();
    assert_eq!(late, Answered { at: stamps(&[5_000_005]), looked_back_to: None }, "back to where somebody looks");
}
