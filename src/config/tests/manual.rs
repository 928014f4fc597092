//! `src/recipes/README.md` against the reader: the manual has every key that is read, and no other.

use super::super::{draft, gateway, limits, oauth, pages, quotas, rules, scans, targets, waits, webhooks};
use std::collections::{BTreeMap, BTreeSet};

const MANUAL: &str = include_str!("../../recipes/README.md");

/// The headings of the manual, and the reader's list for each. A new table of keys has its line here and its section there.
fn lists() -> Vec<(&'static str, &'static str, Vec<&'static str>)> {
    let callers = crate::domain::ids::Caller::ALL.map(crate::domain::ids::Caller::word);
    vec![
        ("The file itself", "SHARED", [&draft::SHARED[..], &["about", "pattern", "fact"]].concat()),
        ("credential", "known", draft::CREDENTIAL.to_vec()),
        ("oauth2", "OAUTH", oauth::OAUTH.to_vec()),
        ("client_secret", "CLIENT_SECRET", oauth::CLIENT_SECRET.to_vec()),
        ("[poll]", "POLL", draft::POLL.to_vec()),
        ("[history]", "HISTORY", draft::HISTORY.to_vec()),
        ("[[fact]]", "FACT", draft::FACT.to_vec()),
        ("[[limit]]", "LIMIT", limits::LIMIT.to_vec()),
        ("[[quota]]", "QUOTA", quotas::QUOTA.to_vec()),
        ("A figure of a quota", "FIGURE", quotas::FIGURE.to_vec()),
        ("keep and cap", "callers", callers.to_vec()),
        ("[[target]]", "TARGET", targets::TARGET.to_vec()),
        ("[[scan]]", "SCAN", scans::SCAN.to_vec()),
        ("page", "PAGE", pages::PAGE.to_vec()),
        ("a value of an answer", "SOURCE", pages::SOURCE.to_vec()),
        ("[target.fields]", "FIELD", targets::FIELD.to_vec()),
        ("observed_at", "OBSERVED", targets::OBSERVED.to_vec()),
        ("[[target.state]]", "STATE", targets::STATE.to_vec()),
        ("[[command]]", "COMMAND", rules::COMMAND.to_vec()),
        ("[[rule]]", "RULE", rules::RULE.to_vec()),
        ("header of a rule", "RULE_HEADER", rules::RULE_HEADER.to_vec()),
        ("[waits]", "WAITS", waits::WAITS.to_vec()),
        ("[[wait]]", "WAIT", waits::WAIT.to_vec()),
        ("[gateway]", "GATEWAY", gateway::GATEWAY.to_vec()),
        ("[[gateway.allow]]", "ALLOW", gateway::ALLOW.to_vec()),
        ("[[gateway.rule]]", "GATEWAY_RULE", gateway::GATEWAY_RULE.to_vec()),
        ("not_ready", "NOT_READY", gateway::NOT_READY.to_vec()),
        ("narrow", "NARROW", gateway::NARROW.to_vec()),
        ("[[webhook]]", "WEBHOOK", webhooks::WEBHOOK.to_vec()),
        ("url and secret of a webhook", "REFERENCE", webhooks::REFERENCE.to_vec()),
    ]
}

/// A row of a table of the manual.
pub(super) struct Row {
    pub heading: String,
    pub key: &'static str,
    pub kind: &'static str,
    pub default: &'static str,
}

/// Every row, in order; each has all of type, unit, default and meaning.
pub(super) fn rows() -> Vec<Row> {
    let (mut rows, mut heading) = (Vec::new(), String::new());
    for line in MANUAL.lines() {
        if let Some(title) = line.strip_prefix("## ") {
            heading = title.replace('`', "");
        }
        let Some(key) = line.strip_prefix("| `").and_then(|row| row.split_once('`')).map(|(key, _)| key) else {
            continue;
        };
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        assert!(cells.len() == 5 && cells.iter().all(|c| !c.is_empty()), "five cells, none empty: {line}");
        rows.push(Row { heading: heading.clone(), key, kind: cells[1], default: cells[3] });
    }
    rows
}

/// Heading -> keys: the first column of its table, in backquotes.
fn told() -> BTreeMap<String, BTreeSet<String>> {
    let mut sections: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for Row { heading, key, .. } in rows() {
        assert!(sections.entry(heading.clone()).or_default().insert(key.to_owned()), "twice: {heading}, {key}");
    }
    sections
}

#[test]
fn the_manual_has_every_key_and_no_other() {
    let mut told = told();
    for (heading, _, keys) in lists() {
        let known: BTreeSet<String> = keys.iter().map(|key| (*key).to_owned()).collect();
        let said = told.remove(heading).unwrap_or_default();
        assert_eq!(said, known, "section {heading:?} of src/recipes/README.md (left) and the reader's keys (right)");
    }
    assert!(told.is_empty(), "the manual has keys that no list of the reader has: {told:?}");
}

/// A list of keys that is not looked at above would escape the manual.
#[test]
fn every_list_of_keys_of_the_reader_is_held_against_the_manual() {
    let known: BTreeSet<&str> = lists().into_iter().map(|(_, name, _)| name).collect();
    // Of the whole process, and in no recipe.
    let beside = [
        "[own",
        "[\"server\"",
        "[\"connection\"]",
        "SERVER",
        "TRUSTED_PROXY",
        "POLLING",
        "BACKUP",
        "MQTT",
        "ORGANIZATION",
    ];
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/config");
    let mut seen = 0;
    for file in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_file()) {
        let text = std::fs::read_to_string(&file).unwrap();
        for call in text.split(".only(").skip(1) {
            let list = call.trim_start_matches(['&', '\n', ' ']).split([',', '.', ' ']).next().unwrap_or_default();
            let list = list.rsplit("::").next().unwrap_or_default();
            assert!(
                known.contains(list) || beside.contains(&list),
                "{}: `.only(&{list}…` reads keys from a list that src/config/tests/manual.rs does not know; make it a \
                 constant, name it there, and write its table into src/recipes/README.md",
                file.display()
            );
            seen += 1;
        }
    }
    assert!(seen >= lists().len(), "{seen} lists");
}

/// The words that a key takes stand beside it: those of `events` too.
#[test]
fn the_manual_names_every_kind_of_event_that_a_webhook_is_told_of() {
    let row = MANUAL.lines().find(|line| line.starts_with("| `events`")).unwrap();
    for kind in crate::domain::webhook::WebhookSpec::every_kind() {
        assert!(row.contains(&format!("`{}`", kind.word())), "{}: {row}", kind.word());
    }
}
