//! Backups and plain copies that are put back: it is known what they are until somebody begins to send from them.

use super::*;
use crate::domain::charge::Charge;
use std::path::Path;
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
    let backup = Some(Copied { made: made(7), kind: CopyKind::Backup });
    assert_eq!(opening.copied, backup);
    first.backup(&place("c"), made(9)).await.unwrap();
    drop(first);

    let (copy, opening) = Store::open(&place("c"), THREAD).unwrap();
    assert_eq!(opening.copied, backup, "since the first of them nobody knows");
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

/// As `cp`: another file.
fn copy(from: &Path, to: &Path) {
    std::fs::copy(from, to).unwrap();
}

#[tokio::test]
async fn a_plain_copy_is_known_by_its_place_until_it_is_taken_over() {
    let folder = TempDir::new().unwrap();
    let place = |name: &str| folder.path().join(name);
    let (store, _) = Store::open(&place("a"), THREAD).unwrap();
    store.install_budget(KEY, limit(3), &at(0)).unwrap();
    let _sent = store.admit(admission(&at(5_000))).await.unwrap().unwrap();
    copy(&place("a"), &place("running"));
    store.close().unwrap();
    copy(&place("a"), &place("stopped"));

    let newest = |kind| Some((kind, at(5_000).stamp().steady));
    let kind = |opening: &Opening| opening.copied.as_ref().map(|copied| (copied.kind, copied.made.steady));
    let (again, opening) = Store::open(&place("a"), THREAD).unwrap();
    assert_eq!(kind(&opening), None);
    again.close().unwrap();
    std::fs::rename(place("a"), place("moved")).unwrap();
    assert_eq!(kind(&Store::open(&place("moved"), THREAD).unwrap().1), None, "within its file system");
    let (stopped, opening) = Store::open(&place("stopped"), THREAD).unwrap();
    assert_eq!(kind(&opening), newest(CopyKind::Stopped));
    // As a command that only looks.
    stopped.close().unwrap();
    assert_eq!(kind(&Store::open(&place("stopped"), THREAD).unwrap().1), newest(CopyKind::Stopped), "still");

    let (running, opening) = Store::open(&place("running"), THREAD).unwrap();
    assert_eq!(kind(&opening), newest(CopyKind::Running));
    assert!(opening.repaired.unwrap().contains("is a copy of a file that was in use"));
    running.install_budget(KEY, limit(3), &at(6_000)).unwrap();
    running.take_over(vec![spent(3, &at(6_000))], only(Vec::new(), Lane::Durable)).await.unwrap();
    assert!(running.admit(admission(&at(6_001))).await.unwrap().is_err(), "all is taken as spent");
    running.close().unwrap();
    assert_eq!(kind(&Store::open(&place("running"), THREAD).unwrap().1), None, "it lives here now");
}

#[tokio::test]
async fn a_file_in_which_nothing_has_happened_yet_is_nobodys_copy() {
    let folder = TempDir::new().unwrap();
    let place = |name: &str| folder.path().join(name);
    Store::open(&place("a"), THREAD).unwrap().0.close().unwrap();
    copy(&place("a"), &place("b"));
    let (store, opening) = Store::open(&place("b"), THREAD).unwrap();
    assert_eq!(opening.copied, None);
    store.commit(only(vec![Write::Target(controller(), seen_at(1))], Lane::Durable)).await.unwrap();
    store.close().unwrap();
    assert_eq!(Store::open(&place("b"), THREAD).unwrap().1.copied, None, "what happened happened here");
}
