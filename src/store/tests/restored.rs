//! Backups that are put back: they know what they are until somebody begins to send from them.

use super::*;
use crate::domain::charge::Charge;
use tempfile::TempDir;

fn spent(cost: u32, now: &Now) -> Charge {
    Charge {
        id: ChargeId(0),
        credential: KEY,
        connection: yard(),
        target: None,
        caller: Caller::Poller,
        endpoint: "/status".into(),
        cost,
        reserved_at: now.stamp(),
        deadline: now.steady + Span::from_secs(30),
        resolution: None,
    }
}

#[tokio::test]
async fn a_backup_says_when_it_was_made_until_it_is_taken_over() {
    let folder = TempDir::new().unwrap();
    let place = |name: &str| folder.path().join(name);
    let made = |s: u64| ClockMark { steady: Steady(s), ..ClockMark::default() };
    let (store, opening) = Store::open(&place("a"), THREAD).unwrap();
    assert_eq!(opening.copied, None);
    store.backup(&place("b"), made(7)).await.unwrap();
    store.close().unwrap();
    let (first, opening) = Store::open(&place("b"), THREAD).unwrap();
    assert_eq!(opening.copied, Some(made(7)));
    first.backup(&place("c"), made(9)).await.unwrap();
    drop(first);

    let (copy, opening) = Store::open(&place("c"), THREAD).unwrap();
    assert_eq!(opening.copied, Some(made(7)), "since the first of them nobody knows");
    let now = at(1_000_000);
    copy.install_budget(KEY, limit(3), &now).unwrap();
    let commit = Commit { events: vec![event("restored")], ..only(Vec::new(), Lane::Durable) };
    let events = copy.take_over(vec![spent(2, &now)], commit).await.unwrap();
    assert_eq!(events.len(), 1);
    let _one = copy.admit(admission(&now)).await.unwrap().unwrap();
    assert!(copy.admit(admission(&now)).await.unwrap().is_err(), "two of three are gone");
    drop(copy);

    let (again, opening) = Store::open(&place("c"), THREAD).unwrap();
    assert_eq!(opening.copied, None);
    let later = at(1_000_000 + 200_000);
    again.install_budget(KEY, limit(3), &later).unwrap();
    assert!(again.admit(admission(&later)).await.unwrap().is_err(), "a crash forgets none of them");
    let freed = at(1_000_000 + 330_001);
    assert!(again.admit(admission(&freed)).await.unwrap().is_ok(), "from its deadline on, a window later");
}
