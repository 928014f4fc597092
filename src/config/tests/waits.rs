//! `[[connection.wait]]` and `hold` of a rule: what is read, and what is refused in words.

use super::*;
use crate::domain::wait::{WaitForm, WaitPlace, WaitSource};

const SOURCES: &str = r#"
[[connection.wait]]
name = "the API's own"
header = "X-Reset"
as = "epoch-ms"
status = 429
[[connection.wait]]
name = "lock"
json = "$.lock"
as = "duration"
[[connection.wait]]
name = "slot"
text = 'free at ([0-9: -]+)'
as = "time"
time_zone = "Europe/Vienna"
"#;

#[test]
fn sources_of_waits_are_read() {
    let found = sound(&yard(SOURCES)).connections.remove(0);
    let source = |name: &str, place, form| WaitSource {
        name: name.to_owned(),
        place,
        form,
        status: Vec::new(),
        time_zone: None,
    };
    let header = WaitPlace::Header("x-reset".to_owned());
    let own = WaitSource { status: vec![429], ..source("the API's own", header, WaitForm::EpochMs) };
    let lock = source("lock", WaitPlace::Json("$.lock".to_owned()), WaitForm::Duration);
    let slot = source("slot", WaitPlace::Text("free at ([0-9: -]+)".to_owned()), WaitForm::Time);
    let slot = WaitSource { time_zone: Some("Europe/Vienna".to_owned()), ..slot };
    assert_eq!(found.waits.sources, [own, lock, slot]);
}

#[test]
fn sources_of_waits_are_refused_in_words() {
    let cases = [
        (
            "wait = [{ name = \"w\", header = \"x\", json = \"$.a\", as = \"seconds\" }]",
            "5: connection[yard].wait[w]: needs exactly one of header, json and text: where the wait stands",
        ),
        (
            "wait = [{ name = \"w\", as = \"seconds\" }]",
            "5: connection[yard].wait[w]: needs exactly one of header, json and text: where the wait stands",
        ),
        (
            "wait = [{ name = \"w\", header = \"x\", as = \"second\" }]",
            "5: connection[yard].wait[w].as: \"second\" is not a form of wait; did you mean `seconds`?",
        ),
        (
            "wait = [{ name = \"w\", header = \"x\" }]",
            "5: connection[yard].wait[w].as: is missing: how the wait is written, such as \"seconds\" or \"epoch-ms\"",
        ),
        (
            "wait = [{ name = \"w\", header = \"x\", as = \"time\", time_zone = \"Europe/Viena\" }]",
            "5: connection[yard].wait[w].time_zone: \"Europe/Viena\" is not a time zone; did you mean \"Europe/Vienna\"?",
        ),
        (
            "rule = [{ name = \"r\", outcome = \"limited\", status = 429, hold = \"endpont\" }]",
            "5: connection[yard].rule[r].hold: \"endpont\" does not say whom a refusal stops; did you mean `endpoint`?",
        ),
        (
            "rule = [{ name = \"r\", outcome = \"not_ready\", status = 404, hold = \"endpoint\" }]",
            "5: connection[yard].rule[r].hold: means nothing where the outcome is not_ready: it is for answers that refuse",
        ),
    ];
    for (more, says) in cases {
        assert_eq!(wrong_below(more), says, "\n--- for\n{more}");
    }
}
