//! Deliveries in a time that passes by itself, and by a line that does everything that lines do.

use super::*;
use crate::clock::ClockMark;
use crate::domain::time::{ClockTrust, Now};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

const T0: u64 = 1_790_000_000_000;

/// Sleeps pass at once.
struct Virtual(AtomicU64);

impl Virtual {
    fn pass(&self, span: Span) {
        self.0.fetch_add(span.0, Ordering::SeqCst);
    }
}

impl Clock for Virtual {
    fn now(&self) -> Now {
        Now { steady: Steady(self.0.load(Ordering::SeqCst)), era: 0, trust: ClockTrust::Trusted, offsets: vec![0] }
    }
    fn mark(&self) -> ClockMark {
        ClockMark::default()
    }
    fn sleep_until(&self, at: Steady) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        self.0.fetch_max(at.0, Ordering::SeqCst);
        Box::pin(std::future::ready(()))
    }
}

/// What the line does with a request.
#[derive(Clone, Copy, Debug)]
enum Does {
    Takes,
    /// It is taken in, and the answer is lost.
    Loses,
    Refuses,
    NoAnswer,
    /// 503, and how long it wants to be left alone.
    Busy(u64),
    /// Too large, unless one comes alone.
    TooMuch,
    /// The token is not taken.
    Locked,
}

/// An appliance that takes each id once.
struct Appliance<'a> {
    does: Mutex<Vec<Does>>,
    clock: &'a Virtual,
    taken: Mutex<BTreeMap<String, u32>>,
    /// When it was asked, and until when it had said that it should not be.
    asked: Mutex<Vec<u64>>,
    closed_until: AtomicU64,
    early: AtomicU64,
}

impl<'a> Appliance<'a> {
    fn new(does: Vec<Does>, clock: &'a Virtual) -> Appliance<'a> {
        Appliance {
            does: Mutex::new(does),
            clock,
            taken: Mutex::default(),
            asked: Mutex::default(),
            closed_until: AtomicU64::new(0),
            early: AtomicU64::new(0),
        }
    }

    fn answers(&self, body: &str) -> Heard {
        let now = self.clock.now().steady.0;
        self.asked.lock().unwrap().push(now);
        self.early.fetch_add(u64::from(now < self.closed_until.load(Ordering::SeqCst)), Ordering::SeqCst);
        self.clock.pass(Span(50));
        let body: Value = serde_json::from_str(body).unwrap();
        let ids: Vec<String> =
            body["observations"].as_array().unwrap().iter().map(|one| one["id"].as_str().unwrap().to_owned()).collect();
        let mut does = self.does.lock().unwrap();
        let does = match (if does.is_empty() { Does::Takes } else { does.remove(0) }, ids.len()) {
            (Does::TooMuch, 1) => Does::Takes,
            (does, _) => does,
        };
        let take = || ids.iter().for_each(|id| *self.taken.lock().unwrap().entry(id.clone()).or_default() = 1);
        let answer = |status, retry_after, body: Value| Heard::Answer { status, retry_after, body: body.to_string() };
        let problem = |status: u16| json!({ "type": "urn:larder:problem:x", "status": status, "detail": "no" });
        match does {
            Does::Takes => {
                take();
                let each: Vec<Value> = ids.iter().map(|id| json!({ "id": id, "status": 200 })).collect();
                answer(200, None, json!({ "results": each }))
            }
            Does::Loses => {
                take();
                Heard::Nothing("the answer broke off".to_owned())
            }
            Does::NoAnswer => Heard::Nothing("no connection".to_owned()),
            Does::Refuses => {
                let each: Vec<Value> =
                    ids.iter().map(|id| json!({ "id": id, "status": 409, "detail": "no" })).collect();
                answer(200, None, json!({ "results": each }))
            }
            Does::Busy(wait) => {
                self.closed_until.store(self.clock.now().steady.0 + wait * 1000, Ordering::SeqCst);
                answer(503, Some(Span::from_secs(wait)), problem(503))
            }
            Does::TooMuch => answer(413, None, problem(413)),
            Does::Locked => answer(401, None, problem(401)),
        }
    }
}

impl Post for Appliance<'_> {
    fn post(&self, body: String, _: Span) -> Pin<Box<dyn Future<Output = Heard> + Send + '_>> {
        Box::pin(std::future::ready(self.answers(&body)))
    }
}

fn run<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(work)
}

fn said(n: usize) -> Vec<u8> {
    json!({ "id": format!("o{n}") }).to_string().into_bytes()
}

#[test]
fn retry_after_within_the_budget_is_waited_for_and_beyond_it_is_kept_for_another_time() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("spool.redb");
    let clock = Virtual(AtomicU64::new(T0));
    let spool = Spool::open(&path).unwrap();
    spool.put(&[said(1)]).unwrap();
    let line = Appliance::new(vec![Does::Busy(7), Does::Busy(60)], &clock);
    let report = run(deliver(&spool, &line, &clock)).unwrap();
    assert_eq!(*line.asked.lock().unwrap(), [T0, T0 + 7050], "the first deadline is kept to, the second does not fit");
    assert_eq!((report.delivered, report.why.as_deref()), (0, Some("no")));
    assert_eq!(report.not_before, Some(Wall((T0 + 7100 + 60_000) as i64)));
    drop(spool);

    // Another process, before the deadline and then after it.
    let spool = Spool::open(&path).unwrap();
    assert_eq!(run(deliver(&spool, &line, &clock)).unwrap().delivered, 0);
    assert_eq!(line.asked.lock().unwrap().len(), 2, "nobody is asked before the deadline");
    clock.pass(Span::from_secs(50));
    assert_eq!(run(deliver(&spool, &line, &clock)).unwrap().delivered, 1);
    assert_eq!((spool.counts(), line.early.load(Ordering::SeqCst)), (Ok((0, 0)), 0));
}

#[test]
fn what_is_refused_is_kept_aside_and_a_token_that_is_not_taken_ends_it() {
    let folder = tempfile::tempdir().unwrap();
    let clock = Virtual(AtomicU64::new(T0));
    let spool = Spool::open(&folder.path().join("spool.redb")).unwrap();
    spool.put(&[said(1), said(2)]).unwrap();
    let line = Appliance::new(vec![Does::TooMuch, Does::Refuses, Does::Locked], &clock);
    let report = run(deliver(&spool, &line, &clock)).unwrap();
    assert_eq!((report.refused.len(), spool.counts()), (1, Ok((1, 1))), "{report:?}");
    assert_eq!(line.asked.lock().unwrap().len(), 3);
}

fn does() -> impl Strategy<Value = Does> {
    prop_oneof![
        3 => Just(Does::Takes),
        2 => Just(Does::Loses),
        2 => Just(Does::NoAnswer),
        1 => (0u64..200).prop_map(Does::Busy),
        1 => Just(Does::TooMuch),
        1 => Just(Does::Locked),
    ]
}

/// What an agent does between two of its starts.
#[derive(Clone, Debug)]
enum Step {
    Put(usize),
    Deliver,
    /// So many seconds pass.
    Pass(u64),
    /// It is killed after the appliance has heard it, and before it has written down what that said.
    Killed,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (1usize..4).prop_map(Step::Put),
        Just(Step::Deliver),
        (0u64..100).prop_map(Step::Pass),
        Just(Step::Killed)
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    #[test]
    fn nothing_is_lost_nothing_is_sent_too_early_and_each_keeps_its_id(
        steps in prop::collection::vec(step(), 1..12), faults in prop::collection::vec(does(), 0..16)
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("spool.redb");
        let clock = Virtual(AtomicU64::new(T0));
        let line = Appliance::new(faults, &clock);
        let mut made = 0;
        for step in &steps {
            let spool = Spool::open(&path).unwrap();
            match step {
                Step::Put(n) => {
                    let new: Vec<Vec<u8>> = (made..made + n).map(said).collect();
                    spool.put(&new).unwrap();
                    made += n;
                }
                Step::Deliver => drop(run(deliver(&spool, &line, &clock)).unwrap()),
                Step::Pass(seconds) => clock.pass(Span::from_secs(*seconds)),
                Step::Killed if spool.not_before().unwrap().is_none_or(|at| at <= clock.now().steady.0) => {
                    let batch = spool.waiting(BATCH, BATCH_BYTES).unwrap();
                    if !batch.is_empty() {
                        line.answers(&body(&batch, clock.now().wall()));
                        // What it said is not known to anybody: the next start must not be held to it.
                        line.closed_until.store(0, Ordering::SeqCst);
                    }
                }
                Step::Killed => {}
            }
        }
        line.does.lock().unwrap().clear();
        let spool = Spool::open(&path).unwrap();
        for _ in 0..4 {
            clock.pass(Span::from_secs(3600));
            run(deliver(&spool, &line, &clock)).unwrap();
        }
        prop_assert_eq!(spool.counts(), Ok((0, 0)));
        prop_assert_eq!(line.taken.lock().unwrap().len(), made, "each is taken in, by one id");
        prop_assert_eq!(line.early.load(Ordering::SeqCst), 0, "never before the deadline");
    }
}
