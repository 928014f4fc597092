//! The table and the exit codes, from answers in the API's shapes.

use super::*;

fn connection(state: &str) -> Value {
    json!({
        "name": "yard", "organization": "default", "state": state, "sentence": "It said so.", "oldest_age_seconds": 372,
        "budget": [
            { "limit": "day", "kind": "daily", "requests": 1000, "remaining": 900, "kept": 0 },
            { "limit": "status", "kind": "rolling", "requests": 5, "remaining": 1, "kept": 1 },
            { "limit": "at once", "kind": "concurrent", "requests": 2, "remaining": 0, "kept": 0 },
        ],
        "poll": { "next_poll_at": "2026-11-30T07:15:03Z" },
    })
}

fn target(state: &str, stale: bool, phase: &str) -> Value {
    let stale = stale.then(|| json!({ "reason": "rate limited" }));
    json!({
        "name": "controller", "connection": "yard", "state": state, "stale": stale, "phase": phase, "age_seconds": 372,
        "item_count": 6,
    })
}

fn readings(connections: Vec<Value>, targets: Vec<Value>) -> Readings {
    Readings { running: true, connections, targets, date: "2026-11-30T07:14:00Z".parse().ok() }
}

#[test]
fn the_table_is_aligned_and_the_trouble_is_told_in_words() {
    let expected = "\
CONNECTION  STATE  AGE    BUDGET                NEXT POLL
yard        held   6 min  1 of 5 left (1 kept)  in 63 s

TARGET           STATE  AGE    ITEMS  PHASE
yard/controller  held   6 min  6      active

yard: It said so.
";
    assert_eq!(readings(vec![connection("held")], vec![target("held", true, "active")]).text(), expected);
}

#[test]
fn findings_are_told_also_of_a_fresh_connection() {
    let mut fresh = connection("fresh");
    fresh["findings"] = json!([
        { "sentence": "Somebody else spends.", "opened_at": "2026-11-30T07:00:00Z", "count": 12 },
        { "sentence": "A lower limit.", "opened_at": "2026-11-30T07:10:00Z", "count": 1 },
    ]);
    let text = readings(vec![fresh], vec![]).text();
    let expected = "
Worth knowing:
yard: Somebody else spends. (since 2026-11-30T07:00:00Z, seen 12 times)
yard: A lower limit. (since 2026-11-30T07:10:00Z)
";
    assert!(text.ends_with(expected), "{text}");
    assert!(!readings(vec![connection("fresh")], vec![]).text().contains("Worth"), "nothing where nothing was found");
}

#[test]
fn a_fresh_connection_needs_no_sentence() {
    let text = readings(vec![connection("fresh")], vec![target("fresh", false, "active")]).text();
    assert!(!text.contains("It said so"), "{text}");
    assert_eq!(readings(vec![], vec![]).text(), "No connection is configured.\n");
}

#[test]
fn the_exit_code_is_the_gravest() {
    for (states, stale, phase, expected) in [
        (&["fresh"][..], false, "active", Ending::Fine),
        (&["ageing"], false, "active", Ending::Fine),
        (&["held"], false, "active", Ending::Fine),
        (&["held"], true, "active", Ending::Stale),
        (&["disabled"], true, "active", Ending::Stale),
        (&["fresh"], true, "completed", Ending::Fine),
        (&["stale", "exhausted"], true, "active", Ending::Exhausted),
        (&["exhausted", "credential_rejected"], true, "active", Ending::CredentialRejected),
    ] {
        let connections = states.iter().map(|s| connection(s)).collect();
        let word = if stale { "stale" } else { "fresh" };
        let readings = readings(connections, vec![target(word, stale, phase)]);
        assert_eq!(readings.ending(), expected, "{states:?} {stale} {phase}");
    }
}

#[test]
fn never_answered_is_stale_and_not_running_is_failed() {
    let mut readings = readings(vec![connection("never")], vec![target("never", false, "active")]);
    assert_eq!(readings.ending(), Ending::Stale);
    readings.running = false;
    assert_eq!(readings.ending(), Ending::Failed);
}
