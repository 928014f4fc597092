//! Any text as the value of every header, of every JSON member and as the prose that tells a wait: understood as a whole or not at all, never
//! below the floor, never absurd.

use larder::domain::outcome::Outcome;
use larder::domain::reply::{Answer, Reply};
use larder::domain::spec::WaitSpec;
use larder::domain::time::{Stamp, Steady, Wall};
use larder::rules::classify::Classifier;
use std::sync::LazyLock;

const ARRIVAL: Stamp = Stamp { steady: Steady(1_000_000), wall: Wall(1_796_007_373_000), era: 0 };
const HEADERS: [&str; 9] = [
    "retry-after",
    "retryafter",
    "x-ratelimit-retry-after",
    "x-ratelimit-reset",
    "x-rate-limit-reset",
    "x-ratelimit-reset-after",
    "ratelimit-reset",
    "ratelimit",
    "ratelimit-policy",
];

static GENERAL: LazyLock<Classifier> =
    LazyLock::new(|| Classifier::compile(&[], &WaitSpec::default()).expect("no rules"));

pub fn check(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    for name in HEADERS {
        let alone = vec![(name.to_owned(), text.clone().into_owned())];
        one(Answer { status: 429, headers: alone.clone(), body: Vec::new() });
        // An instant is read by the clock of the answer.
        let dated = [alone, vec![("date".to_owned(), "Sun, 29 Nov 2026 10:00:00 GMT".to_owned())]].concat();
        one(Answer { status: 429, headers: dated, body: Vec::new() });
    }
    let json = serde_json::json!({"error": {"message": text, "retry_after": text, "reset": text}, "retry_after": text});
    one(Answer { status: 429, headers: Vec::new(), body: json.to_string().into_bytes() });
    one(Answer { status: 429, headers: Vec::new(), body: data.to_vec() });
}

fn one(answer: Answer) {
    let what = format!("{answer:?}");
    let reply = Reply { arrived_at: ARRIVAL, result: Ok(answer), detail: String::new() };
    let verdict = GENERAL.classify(&reply, false, ARRIVAL.wall).verdict;
    assert_eq!(verdict.outcome, Outcome::Limited, "a 429 is a limit, whatever stands in it: {what}");
    let spec = WaitSpec::default();
    assert!(verdict.wait.is_none_or(|hint| hint.wait >= spec.floor && hint.wait <= spec.ceiling), "{what}");
}
