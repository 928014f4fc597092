//! Spending by the hour: whatever moment the power goes at, the sums and the charges behind them come to the same.

use super::*;
use crate::domain::charge::Charge;
use crate::domain::spend::{Hour, OTHERS, Spend, SpendLine};
use crate::store::rows::{Row, Rows};
use crate::store::sums::recount;
use crate::store::tables::Table;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::ops::Range;

const EVER: Range<Hour> = Hour(i64::MIN)..Hour(i64::MAX);
const HOUR: u64 = 3_600_000;

fn summed(store: &Store) -> BTreeMap<SpendLine, Spend> {
    store.spend(&EVER, |line| Some(line.clone())).unwrap()
}

fn together(store: &Store) -> Spend {
    store.spend(&EVER, |_| Some(())).unwrap().remove(&()).unwrap_or_default()
}

fn counted(charges: &[Charge]) -> BTreeMap<SpendLine, Spend> {
    let mut sums = BTreeMap::new();
    charges.iter().for_each(|c| *sums.entry(SpendLine::of(c)).or_insert(Spend::default()) += Spend::of(c));
    sums
}

fn charges(store: &Store) -> Vec<Charge> {
    store.charges(&yard(), None, 10_000).unwrap()
}

/// The sums and what verification counts again.
#[track_caller]
fn agree(store: &Store) {
    assert_eq!(summed(store), counted(&charges(store)));
    assert_eq!(recount(&store.core().snapshot().unwrap()).unwrap(), None);
}

/// Lets the next commit sum up.
fn due(store: &Store) {
    store.core().writing().commits = 63;
}

fn reach(store: &Store) -> u64 {
    store.core().snapshot().unwrap().reach().unwrap().through
}

async fn ask_for(store: &Store, target: &str, caller: Caller, now: &Now) -> ChargeId {
    let mut admission = admission(now);
    admission.request.target = Some(target.into());
    admission.request.ask.caller = caller;
    store.admit(admission).await.unwrap().unwrap().id()
}

#[tokio::test]
async fn what_waits_for_its_answer_is_spent_and_not_summed() {
    let store = on(&Disk::default(), 50, &at(0));
    let first = admit(&store, &at(10)).await;
    due(&store);
    store.commit(learned(first, &at(20), vec![], Lane::Durable)).await.unwrap();
    assert_eq!(reach(&store), 0, "what this commit resolves is summed after it");
    let second = ask_for(&store, "controller", Caller::Refresh, &at(30)).await;
    let third = ask_for(&store, "controller", Caller::Command, &at(40)).await;
    store.commit(learned(third, &at(50), vec![], Lane::Lazy)).await.unwrap();
    due(&store);
    admit(&store, &at(60)).await;
    assert_eq!(reach(&store), first.0, "up to the first that waits");
    let by_outcome = store.spend(&EVER, |line| Some((line.caller, line.outcome))).unwrap();
    let one = Spend { requests: 1, units: 1 };
    assert_eq!(by_outcome[&(Caller::Refresh, None)], one);
    assert_eq!(by_outcome[&(Caller::Command, Some(Outcome::Data))], one);
    agree(&store);
    store.commit(learned(second, &at(70), vec![], Lane::Lazy)).await.unwrap();
    due(&store);
    admit(&store, &at(80)).await;
    assert_eq!(reach(&store), third.0);
    agree(&store);
}

#[tokio::test]
async fn what_the_provider_never_saw_is_a_request_of_no_units() {
    let store = on(&Disk::default(), 50, &at(0));
    let id = admit(&store, &at(10)).await;
    let voided = Resolution { settlement: Settlement::Voided, outcome: Outcome::Unreachable, ..answered(&at(20)) };
    store.commit(Commit { resolve: Some((KEY, id, voided)), ..Commit::default() }).await.unwrap();
    due(&store);
    admit(&store, &at(30)).await;
    let unreachable = store.spend(&EVER, |line| (line.outcome == Some(Outcome::Unreachable)).then_some(())).unwrap();
    assert_eq!(unreachable[&()], Spend { requests: 1, units: 0 });
    agree(&store);
}

#[tokio::test]
async fn an_answer_that_never_came_does_not_hold_up_the_sums_for_ever() {
    let store = on(&Disk::default(), 50, &at(0));
    let never = admit(&store, &at(10)).await;
    let next = admit(&store, &at(HOUR)).await;
    store.commit(learned(next, &at(HOUR + 10), vec![], Lane::Lazy)).await.unwrap();
    due(&store);
    admit(&store, &at(HOUR + 20)).await;
    assert_eq!(reach(&store), 0);
    due(&store);
    admit(&store, &at(2 * HOUR)).await;
    assert_eq!(reach(&store), next.0);
    let charge = charges(&store).remove(0);
    let end = charge.resolution.unwrap();
    assert_eq!((charge.id, end.outcome, end.settlement), (never, Outcome::Lost, Settlement::Posted));
    agree(&store);
    let late = learned(never, &at(2 * HOUR + 1), vec![], Lane::Durable);
    store.commit(late).await.unwrap();
    agree(&store);
}

/// More targets in an hour than there are lines for: nothing is lost but the names of some.
#[tokio::test]
async fn a_crowd_has_a_bounded_number_of_lines() {
    let store = on(&Disk::default(), 5_000, &at(0));
    for n in 0..300 {
        let id = ask_for(&store, &format!("order-{n}"), Caller::Poller, &at(n * 10)).await;
        store.commit(learned(id, &at(n * 10 + 5), vec![], Lane::Lazy)).await.unwrap();
        if n % 100 == 99 {
            due(&store);
        }
    }
    due(&store);
    admit(&store, &at(4_000)).await;
    assert_eq!(reach(&store), 300);
    let lines = store.core().snapshot().unwrap().rows(Table::Spend).unwrap();
    assert!(lines <= 110, "{lines} lines for one hour of one connection");
    assert_eq!(together(&store), Spend { requests: 301, units: 301 });
    let others = store.spend(&EVER, |line| (line.endpoint.as_str() == OTHERS).then(|| line.target.clone())).unwrap();
    assert_eq!(others[&Some(OTHERS.into())].requests, 200);
    assert_eq!(recount(&store.core().snapshot().unwrap()).unwrap(), None);
}

#[tokio::test]
async fn sums_outlive_their_charges_and_end_too() {
    let disk = Disk::default();
    let store = on(&disk, 5_000, &at(0));
    let day = 24 * HOUR;
    for n in 0..500 {
        let now = at(n * day);
        let id = admit(&store, &now).await;
        due(&store);
        store.commit(learned(id, &now, vec![], Lane::Lazy)).await.unwrap();
        due(&store);
        store.commit(only(vec![], Lane::Durable)).await.unwrap();
    }
    let left = charges(&store).len() as u64;
    assert!((40..=43).contains(&left), "{left} charges of 40 days");
    let kept = together(&store).requests;
    assert!((400..=403).contains(&kept), "{kept} days of sums");
    let rows = store.core().snapshot().unwrap().rows(Table::Spend).unwrap();
    assert!(rows <= 403, "{rows} rows");
    assert_eq!(recount(&store.core().snapshot().unwrap()).unwrap(), None);
    let month = at(490 * day).wall();
    let days = store.spend(&(Hour::of(month)..Hour(i64::MAX)), |line| Some(line.hour)).unwrap();
    assert_eq!(days.len(), 10);
    drop(store);
    let again = on(&disk.power_cut(0), 5_000, &at(500 * day));
    assert_eq!(together(&again).requests, kept);
}

#[tokio::test]
async fn a_sum_that_is_not_that_of_its_charges_is_found() {
    let store = on(&Disk::default(), 50, &at(0));
    for n in 1..4 {
        let id = admit(&store, &at(n * 10)).await;
        store.commit(learned(id, &at(n * 10 + 5), vec![], Lane::Lazy)).await.unwrap();
    }
    due(&store);
    admit(&store, &at(90)).await;
    agree(&store);
    let found = |change: fn(&mut records::Sum)| {
        let snapshot = store.core().snapshot().unwrap();
        let mut rows = Rows::default();
        let all = (std::ops::Bound::Unbounded, std::ops::Bound::Unbounded);
        let order = crate::store::read::Order::Forth;
        let mut before = Rows::default();
        let see = |key: &[u8], value: &[u8]| {
            let mut sum = records::sum_of(value)?;
            before.set(Row::put(Table::Spend, key, value.to_vec()));
            change(&mut sum);
            rows.set(Row::put(Table::Spend, key, records::sum(&sum)?));
            Ok(std::ops::ControlFlow::Continue(()))
        };
        snapshot.visit(Table::Spend, all, order, see).unwrap();
        drop(snapshot);
        store.core().write(&rows).unwrap();
        let found = recount(&store.core().snapshot().unwrap()).unwrap();
        store.core().write(&before).unwrap();
        found
    };
    assert_eq!(found(|_| ()), None);
    let wrong: [fn(&mut records::Sum); 3] =
        [|s| s.spend.requests += 1, |s| s.spend.requests -= 1, |s| s.spend.units += 1];
    for change in wrong {
        let words = found(change).expect("a difference");
        assert!(words.contains("its charges are 3 of 3"), "{words}");
    }
    // Of a sum that reaches farther back than the charges only what is missing can be told.
    assert_eq!(found(|s| (s.first, s.spend.requests) = (ChargeId(0), 9)), None);
    assert!(found(|s| (s.first, s.spend.requests) = (ChargeId(0), 2)).is_some());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// A random life with power cuts in the middle of commits, sums made at any of them: what was spent is counted once.
    #[test]
    fn nothing_spent_is_missing_and_nothing_is_counted_twice(steps in proptest::collection::vec((0u8..6, any::<u64>()), 1..40)) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let (mut disk, mut now) = (Disk::default(), 10);
            let mut store = on(&disk, 1000, &at(now));
            let mut waiting = Vec::new();
            for (what, seed) in steps {
                now += seed % (HOUR / 3);
                match what {
                    0 | 1 => {
                        let caller = Caller::ALL[(seed % 6) as usize];
                        waiting.push(ask_for(&store, &format!("t{}", seed % 3), caller, &at(now)).await);
                    }
                    2 | 3 => if let Some(id) = waiting.pop() {
                        let lane = if what == 2 { Lane::Durable } else { Lane::Lazy };
                        let outcome = Outcome::ALL[(seed % 17) as usize];
                        let settlement = if seed % 5 == 0 { Settlement::Voided } else { Settlement::Posted };
                        let end = Resolution { outcome, settlement, cost: Some((seed % 4) as u32), ..answered(&at(now)) };
                        store.commit(Commit { resolve: Some((KEY, id, end)), lane, ..Commit::default() }).await.unwrap();
                    },
                    4 => due(&store),
                    _ => {
                        let (flying, id) = (disk.clone(), waiting.pop());
                        due(&store);
                        flying.hold_syncs();
                        let store2 = store.clone();
                        let writing = std::thread::spawn(move || {
                            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
                            // An answer after its charge was given up changes nothing, and would write nothing by itself.
                            let seen = vec![Write::Target(controller(), seen_at(now))];
                            match id {
                                Some(id) => runtime.block_on(store2.commit(learned(id, &at(now), seen, Lane::Durable))).map(drop),
                                None => runtime.block_on(store2.admit(admission(&at(now)))).map(drop),
                            }
                        });
                        flying.until_a_sync_waits();
                        let cut = flying.power_cut(seed);
                        flying.let_go();
                        writing.join().unwrap().unwrap();
                        disk = cut;
                        store = on(&disk, 1000, &at(now));
                        waiting.clear();
                    }
                }
                prop_assert_eq!(summed(&store), counted(&charges(&store)));
                prop_assert_eq!(recount(&store.core().snapshot().unwrap()).unwrap(), None);
            }
            Ok(())
        })?;
    }
}
