//! The task service by itself: its pages, its tasks and its count.

use super::quota::Quota;
use super::tasks::{Projects, Wanted};
use super::*;
use std::time::Duration;

const LIMITS: Limits = Limits { day: 10, second: 2, at_once: 2 };
const TWO: Projects = Projects { projects: 2, orders: 3, tasks: 4 };

fn second(s: u64) -> Duration {
    Duration::from_secs(s)
}

#[test]
fn it_counts_the_day_the_second_and_what_is_in_flight() {
    let mut quota = Quota::open(LIMITS, None, second(0)).unwrap();
    let one = |quota: &mut Quota, at: Duration| {
        let served = quota.ask(at);
        quota.done();
        served
    };
    assert!(one(&mut quota, second(0)) && one(&mut quota, second(0)));
    assert!(!quota.ask(Duration::from_millis(999)), "three in one second");
    assert!(quota.ask(second(1)) && quota.ask(second(1)));
    assert!(!quota.ask(second(9)), "three at once");
    quota.done();
    quota.done();
    for s in 10..16 {
        assert!(one(&mut quota, second(s)), "{s}");
    }
    assert!(!quota.ask(second(100)), "ten are the day");
    assert_eq!((quota.standing().over_limit, quota.standing().most_at_once), (3, 2));
    assert!(one(&mut quota, second(86_400)), "the next day");
    quota.exhaust(second(86_400));
    assert!(!quota.ask(second(86_500)) && quota.standing().over_limit == 3, "that was not the caller's fault");
}

#[test]
fn it_remembers_its_day_over_a_restart_and_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let book = Some(folder.path().join("field.log"));
    let mut quota = Quota::open(LIMITS, book.clone(), second(5)).unwrap();
    assert!(quota.ask(second(5)));
    assert_eq!(Quota::open(LIMITS, book.clone(), second(6)).unwrap().standing().today, 1);
    assert_eq!(Quota::open(LIMITS, book, second(86_400)).unwrap().standing().today, 0);
}

#[test]
fn its_tasks_are_begun_and_done_and_belong_to_an_order_each() {
    assert_eq!(TWO.tasks(&Wanted::Project("P2"), second(0)).len(), 12);
    let of = |order: &str, s: u64| TWO.tasks(&Wanted::Order(order), second(s));
    assert_eq!((of("P1-102", 0).len(), of("P3-101", 0).len()), (4, 0));
    let words = |s: u64| of("P1-102", s).iter().map(|t| t["status"].as_str().unwrap().to_owned()).collect::<Vec<_>>();
    assert_eq!(words(0), ["TASKED"; 4]);
    assert_eq!(words(100), ["STARTED", "TASKED", "TASKED", "TASKED"]);
    assert_eq!(words(1700), ["DONE"; 4]);
    assert!(of("P1-101", 0).iter().all(|t| t["subsector"] == "P1-101"));
}
