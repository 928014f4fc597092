//! One open finding for each matter; closed ones are kept for a while; what opens or closes is told after it is durable.

use super::*;
use crate::domain::finding::{Finding, FindingKind, Matter, Seen, Wanted, Which};

fn about(kind: FindingKind, subject: &str) -> Matter {
    Matter { connection: yard(), target: None, kind, subject: subject.into() }
}

fn foreign(subject: &str) -> Matter {
    about(FindingKind::ForeignSpending, subject)
}

fn seen(about: Matter, ms: u64, sentence: &str) -> FindingChange {
    let detail = Some(format!("at {ms}"));
    FindingChange::Seen(Seen { about, credential: Some(KEY), at: at(ms).stamp(), sentence: sentence.into(), detail })
}

fn settled(about: Matter, ms: u64) -> FindingChange {
    FindingChange::Settled { about, at: at(ms).stamp(), because: "it is over".into() }
}

fn found(findings: Vec<FindingChange>, lane: Lane) -> Commit {
    Commit { findings, ..only(vec![], lane) }
}

fn all(store: &Store) -> Vec<Finding> {
    store.findings(&Wanted::default(), None, 5000).unwrap()
}

fn open(store: &Store) -> Vec<Finding> {
    store.findings(&Wanted { which: Which::Open, ..Wanted::default() }, None, 5000).unwrap()
}

fn told(events: &[Event]) -> Vec<(&'static str, &str)> {
    events.iter().map(|e| (e.body.kind.word(), e.body.message.as_str())).collect()
}

#[tokio::test]
async fn seen_again_it_counts_and_does_not_multiply() {
    let disk = Disk::default();
    let store = on(&disk, 5, &at(0));
    let events = store.commit(found(vec![seen(foreign("day"), 10, "one")], Lane::Lazy)).await.unwrap();
    assert_eq!(told(&events), [("finding_opened", "one")]);
    assert_eq!(all(&on(&disk.power_cut(0), 5, &at(0))).len(), 1, "what is told is on the disk");
    for ms in [20, 30] {
        let events = store.commit(found(vec![seen(foreign("day"), ms, "more")], Lane::Lazy)).await.unwrap();
        assert!(events.is_empty(), "nothing new");
    }
    let [finding] = &all(&store)[..] else { panic!("{:?}", all(&store)) };
    assert_eq!((finding.count, finding.opened_at, finding.last_seen_at), (3, at(10).stamp(), at(30).stamp()));
    assert_eq!((finding.sentence.as_str(), finding.detail.as_deref()), ("more", Some("at 30")));
    assert_eq!((finding.id, finding.credential, finding.is_open()), (FindingId(1), Some(KEY), true));
}

#[tokio::test]
async fn matters_are_told_apart_and_one_commit_may_speak_of_one_twice() {
    let store = on(&Disk::default(), 5, &at(0));
    let target = Matter { target: Some("controller".into()), ..foreign("day") };
    let elsewhere = Matter { connection: ConnectionKey { connection: "cellar".into(), ..yard() }, ..foreign("day") };
    let matters = [foreign("day"), foreign("hour"), about(FindingKind::LowerLimit, "day"), target, elsewhere];
    let twice = matters.iter().chain(&matters).map(|m| seen(m.clone(), 5, "s")).collect();
    let events = store.commit(found(twice, Lane::Durable)).await.unwrap();
    assert_eq!(events.len(), matters.len());
    assert_eq!(all(&store).iter().map(|f| f.count).collect::<Vec<_>>(), [2; 5]);
    let there_and_gone = vec![settled(foreign("day"), 6), seen(foreign("day"), 7, "anew"), settled(foreign("day"), 8)];
    let events = store.commit(found(there_and_gone, Lane::Durable)).await.unwrap();
    assert_eq!(
        told(&events),
        [("finding_closed", "it is over"), ("finding_opened", "anew"), ("finding_closed", "it is over")]
    );
    assert_eq!((all(&store).len(), open(&store).len()), (6, 4));
}

#[tokio::test]
async fn a_closed_one_is_kept_and_opens_as_a_new_one() {
    let disk = Disk::default();
    let store = on(&disk, 5, &at(0));
    store.commit(found(vec![settled(foreign("day"), 1)], Lane::Durable)).await.unwrap();
    assert!(all(&store).is_empty(), "nothing was open");
    store.commit(found(vec![seen(foreign("day"), 10, "one")], Lane::Durable)).await.unwrap();
    let closed = store.commit(found(vec![settled(foreign("day"), 20)], Lane::Lazy)).await.unwrap();
    assert_eq!(told(&closed), [("finding_closed", "it is over")]);
    store.commit(found(vec![seen(foreign("day"), 30, "again")], Lane::Lazy)).await.unwrap();
    let again = on(&disk.power_cut(0), 5, &at(40));
    let closed_at: Vec<_> = all(&again).iter().map(|f| (f.id.0, f.closed_at)).collect();
    assert_eq!(closed_at, [(1, Some(at(20).stamp())), (2, None)]);
    assert_eq!(open(&again).len(), 1);
    again.commit(found(vec![settled(foreign("day"), 50)], Lane::Durable)).await.unwrap();
    assert!(open(&again).is_empty());
}

#[tokio::test]
async fn they_are_read_by_number_connection_and_organization() {
    let store = on(&Disk::default(), 5, &at(0));
    let north = ConnectionKey { organization: "north".into(), connection: "yard".into() };
    let of_north = Matter { connection: north, ..foreign("day") };
    let changes = vec![seen(foreign("a"), 1, "a"), seen(of_north, 2, "n"), seen(foreign("b"), 3, "b")];
    store.commit(found(changes, Lane::Durable)).await.unwrap();
    let ids = |w: &Wanted, after: Option<u64>, limit| {
        let found = store.findings(w, after.map(FindingId), limit).unwrap();
        found.iter().map(|f| f.id.0).collect::<Vec<_>>()
    };
    assert_eq!(ids(&Wanted::default(), None, 2), [2, 3], "the newest");
    assert_eq!(ids(&Wanted::default(), Some(0), 2), [1, 2]);
    assert_eq!(ids(&Wanted::default(), Some(2), 9), [3]);
    let ours = Wanted { organization: Some(Organization::default()), ..Wanted::default() };
    assert_eq!(ids(&ours, None, 9), [1, 3]);
    assert_eq!(ids(&Wanted { connection: Some("cellar".into()), ..ours }, None, 9), [0; 0]);
}

/// A sighting in the lazy lane that joins an opening of the same batch must not outlive it, should the disk refuse.
#[tokio::test]
async fn a_sighting_goes_with_the_opening_that_it_joins() {
    let disk = Disk::default();
    let store = on(&disk, 5, &at(0));
    let prepared = |ms, lane| work::Prepared::new(found(vec![seen(foreign("day"), ms, "s")], lane)).unwrap();
    let (a, mut got_a) = tokio::sync::oneshot::channel();
    let (b, mut got_b) = tokio::sync::oneshot::channel();
    let mut batch = vec![Work::Commit(prepared(1, Lane::Durable), a), Work::Commit(prepared(2, Lane::Lazy), b)];
    store.core().writing().run(store.core(), &mut batch);
    assert_eq!(got_a.try_recv().unwrap().unwrap().len(), 1);
    assert!(got_b.try_recv().unwrap().unwrap().is_empty());
    assert_eq!(all(&on(&disk.power_cut(0), 5, &at(0)))[0].count, 2, "written with it");
}

#[tokio::test]
async fn many_closed_ones_go_and_open_ones_stay() {
    let store = on(&Disk::default(), 5, &at(0));
    store.commit(found(vec![seen(foreign("stays"), 1, "s")], Lane::Durable)).await.unwrap();
    for n in 0..1200 {
        let both = vec![seen(foreign("goes"), n, "s"), settled(foreign("goes"), n)];
        store.commit(found(both, Lane::Durable)).await.unwrap();
    }
    let kept = all(&store);
    assert!(kept.len() <= 1100, "{} are kept", kept.len());
    assert_eq!((kept[0].about.subject.as_str(), kept[0].is_open()), ("stays", true));
    assert_eq!(kept[kept.len() - 1].id, FindingId(1201));
}

/// What was learned of a limit is in force with the commit, and after a restart; a crash forgets only what was lazy.
#[tokio::test]
async fn what_a_provider_taught_is_kept_to_after_a_restart() {
    use crate::domain::quota::{Foreign, Learned, LimitKey};
    let disk = Disk::default();
    let store = on(&disk, 5, &at(0));
    let about = LimitKey { limit: "status".into(), endpoint: None };
    let taken = |units| Learned {
        foreign: Some(Foreign { units, at: Steady(10), until: None }),
        adopted: Some(4),
        ..Learned::nothing(about.clone())
    };
    let teach = |units, lane| Commit { learned: vec![(KEY, taken(units))], ..only(vec![], lane) };
    store.commit(teach(2, Lane::Durable)).await.unwrap();
    store.commit(teach(1, Lane::Lazy)).await.unwrap();
    let left = |store: &Store| {
        let usage = &store.usage(KEY, &at(20), &[])[0];
        (usage.limit.amount, usage.declared, usage.foreign, usage.remaining())
    };
    assert_eq!(left(&store), (4, 5, 1, 3));
    assert_eq!(store.limits_in_force(KEY)[0].amount, 4);
    assert_eq!(store.learned(KEY, &about), Some(taken(1)));
    let again = on(&disk.power_cut(0), 5, &at(20));
    assert_eq!(left(&again), (4, 5, 2, 2), "the lazy one is lost, the stricter one is not");
    for _ in 0..2 {
        admit(&again, &at(20)).await;
    }
    assert!(again.admit(admission(&at(20))).await.unwrap().is_err(), "two of ours, two of others, of four");
    let declared_lower = {
        let (store, _) = Store::open_backend(disk.power_cut(0), INLINE).unwrap();
        store.install_budget(KEY, limit(3), &at(20)).unwrap();
        left(&store)
    };
    assert_eq!(declared_lower, (3, 3, 2, 1), "what is declared is never exceeded");
}
