//! `src/recipes/README.md` against the reader once more: each key is of the type that its row says, and of no other; the words of a choice
//! are the reader's; what is absent is what the row calls the default; and what is required is missed.

use super::manual::{Row, rows};
use super::*;
use std::collections::BTreeSet;

const TARGET: &str =
    "[[connection.target]]\nname = \"t\"\npost = \"/t\"\nbody = \"{}\"\nitems = \"$[*]\"\nkey = \"$.id\"\n";
const PAGE: &str = "[connection.target.page]\nstyle = \"page-number\"\nparam = \"p\"\nnext = \"$.next\"\n";
const OAUTH: &str = "[connection.credential]\nenv = \"K\"\n[connection.credential.oauth2]\n\
                     token_url = \"https://x.test/t\"\nclient_id = \"c\"\n";
const GATE: &str = "[[connection.gateway.rule]]\npath = \"/x/**\"\n";
const HOOK: &str = "[[connection.webhook]]\nname = \"w\"\nurl = \"http://x.test/w\"\n";

/// The sections that stand in a connection, each as its least text, which ends inside of it. What a connection has not is left out: `[[fact]]`,
/// and of the file itself `about`, `pattern` and `fact`.
fn stages() -> Vec<(&'static str, String)> {
    let at = |heading, text: &[&str]| (heading, text.concat());
    vec![
        at("credential", &["[connection.credential]\nenv = \"K\"\nquery = \"k\"\n"]),
        at("oauth2", &[OAUTH]),
        at("client_secret", &[OAUTH, "[connection.credential.oauth2.client_secret]\nenv = \"S\"\n"]),
        at("[poll]", &["[connection.poll]\n"]),
        at("[history]", &["[connection.history]\n"]),
        at("[[limit]]", &["[[connection.limit]]\nname = \"more\"\nrequests = 9\nkind = \"monthly\"\n"]),
        at("[[quota]]", &["[[connection.quota]]\nlimit = \"day\"\ntotal = { header = \"x\" }\n"]),
        at("A figure of a quota", &["[[connection.quota]]\nlimit = \"day\"\n[connection.quota.total]\n"]),
        at("keep and cap", &["[connection.limit.keep]\n"]),
        at("[[target]]", &[TARGET]),
        at("[[scan]]", &[&TARGET.replace("target", "scan"), "feeds = \"$.of\"\n"]),
        at("page", &[TARGET, PAGE]),
        at("a value of an answer", &[TARGET, PAGE, "[connection.target.page.total]\n"]),
        at("[target.fields]", &[TARGET, "[connection.target.fields.f]\npath = \"$.f\"\n"]),
        at("observed_at", &[TARGET, "[connection.target.observed_at]\npath = \"$.at\"\n"]),
        at("[[target.state]]", &[TARGET, "[[connection.target.state]]\nis = \"on\"\n"]),
        at("[[command]]", &["[[connection.command]]\nname = \"c\"\npost = \"/c\"\nbody = \"{}\"\n"]),
        at("[[rule]]", &["[[connection.rule]]\nname = \"r\"\noutcome = \"limited\"\nbody = \"x\"\n"]),
        at(
            "header of a rule",
            &[
                "[[connection.rule]]\nname = \"r\"\noutcome = \"gone\"\n[connection.rule.header]\nname = \"x\"\nmatches = \"y\"\n",
            ],
        ),
        at("[waits]", &["[connection.waits]\n"]),
        at("[[wait]]", &["[[connection.wait]]\nname = \"w\"\nheader = \"x\"\nas = \"time\"\n"]),
        at("[gateway]", &["[connection.gateway]\n"]),
        at("[[gateway.allow]]", &["[[connection.gateway.allow]]\nmethods = [\"GET\"]\npath = \"/x/**\"\n"]),
        at("[[gateway.rule]]", &[GATE]),
        at("not_ready", &[GATE, "[connection.gateway.rule.not_ready]\nstatus = 409\nfor = \"10m\"\n"]),
        at(
            "narrow",
            &[GATE, "[connection.gateway.rule.narrow]\nparameter = \"p\"\nitems = \"$[*]\"\nfield = \"$.p\"\n"],
        ),
        at("[[webhook]]", &[HOOK]),
        at("url and secret of a webhook", &[HOOK, "[connection.webhook.secret]\nenv = \"S\"\n"]),
    ]
}

/// A connection with the section, and in the section `key = value` in the place of what stands there; `None` where no stage has the key.
fn with(stages: &[(&str, String)], row: &Row, value: Option<&str>) -> Option<String> {
    let line = value.map_or_else(String::new, |value| format!("{} = {value}\n", row.key));
    let top = "[[connection]]\nname = \"yard\"\nbase_url = \"https://api.example.test/v1\"\n";
    let limit = "[[connection.limit]]\nname = \"day\"\nrequests = 5\nwindow = \"5m\"\nkind = \"rolling\"\n";
    let without = |text: &str| -> String {
        let begins = text.rfind("\n[").map_or(0, |at| at + 1);
        let (before, section) = text.split_at(begins);
        let stays = |line: &&str| !line.starts_with(&format!("{} = ", row.key));
        before.to_owned() + &section.split_inclusive('\n').filter(stays).collect::<String>()
    };
    if row.heading == "The file itself" {
        let limit = if row.key == "limit" { "" } else { limit };
        return (!matches!(row.key, "about" | "pattern" | "fact")).then(|| without(top) + &line + limit);
    }
    let (_, section) = stages.iter().find(|(heading, _)| *heading == row.heading)?;
    Some(format!("{top}{limit}{}{line}", without(section)))
}

/// The words in backquotes, where a type has no others.
fn choice(kind: &'static str) -> Option<BTreeSet<&'static str>> {
    let word = |text: &'static str| text.strip_prefix('`')?.strip_suffix('`').filter(|word| !word.contains('\''));
    kind.split(", ").map(word).collect()
}

/// Values of TOML that are not of the type.
fn others(kind: &'static str) -> Vec<&'static str> {
    let says = |words: &[&str]| words.iter().any(|word| kind.contains(word));
    let text = choice(kind).is_some() || {
        let words =
            ["text", "duration", "JSON", "pattern", "condition", "name", "path", "size", "time of day", "day of"];
        let lists = kind.starts_with("list") || kind.starts_with("table");
        !lists && says(&words) || kind.contains("styles") || kind.contains("value of an answer")
    };
    let all = [
        ("5", kind.starts_with("number") || kind == "size"),
        ("true", says(&["true"])),
        ("\"?\"", text),
        ("[[]]", says(&["list"])),
        ("{ x = 5 }", says(&["table", "figure", "value of an answer"]) && kind != "tables"),
    ];
    all.into_iter().filter(|(_, fits)| !fits).map(|(value, _)| value).collect()
}

/// Whether one of the errors is about the key.
fn is_refused(text: &str, row: &Row) -> bool {
    let about = [": ", ".", "[", "]]"].map(|next| format!(".{}{next}", row.key));
    let quoted = format!("`{}`", row.key);
    read_with(text, &[], &[])
        .is_err_and(|errors| errors.iter().any(|e| about.iter().any(|key| e.0.contains(key)) || e.0.contains(&quoted)))
}

#[test]
fn each_key_is_of_the_type_that_the_manual_says_and_of_no_other() {
    let (stages, mut tried, mut taken) = (stages(), 0, Vec::new());
    for row in rows() {
        for value in others(row.kind) {
            let Some(text) = with(&stages, &row, Some(value)) else { continue };
            tried += 1;
            if !is_refused(&text, &row) {
                taken.push(format!("{}, `{}` is a {}, and {value} is taken", row.heading, row.key, row.kind));
            }
        }
    }
    assert!(taken.is_empty(), "{}", taken.join("\n"));
    assert!(tried > 400, "{tried}");
}

/// Each word is known, and where the reader tells all that it knows, they are these.
#[test]
fn the_words_of_a_choice_are_those_of_the_manual() {
    let (stages, mut tried) = (stages(), 0);
    for row in rows() {
        let Some(words) = choice(row.kind) else { continue };
        for word in &words {
            let Some(text) = with(&stages, &row, Some(&format!("{word:?}"))) else { continue };
            let said = read_with(&text, &[], &[]).err().map(told).unwrap_or_default();
            assert!(!said.contains(&format!("{word:?} is")), "{}, `{}`: {said}", row.heading, row.key);
            tried += 1;
        }
        let Some(text) = with(&stages, &row, Some("\"qqqqqqqqqq\"")) else { continue };
        assert!(is_refused(&text, &row), "{}, `{}` takes any word", row.heading, row.key);
        let said = wrong(&text);
        if let Some((_, known)) = said.split_once("; there is: ") {
            let known: BTreeSet<&str> = known.lines().next().unwrap_or_default().split(", ").collect();
            assert_eq!(known, words, "{}, `{}`", row.heading, row.key);
        }
    }
    assert!(tried > 60, "{tried}");
}

#[test]
fn what_is_absent_is_what_the_manual_calls_the_default() {
    let (stages, mut tried) = (stages(), 0);
    for row in rows() {
        let default = row.default.split_once("` with ").map_or(row.default, |(word, _)| word);
        let Some(default) = default.strip_prefix('`').map(|word| word.trim_end_matches('`')) else { continue };
        // Unsaid is not the same as said there: the one is UTC where it is read, the other may be another rule's matter.
        let is_unsaid =
            matches!((row.heading.as_str(), row.key), ("[[wait]]", "time_zone") | ("[[gateway.rule]]", "cost"));
        if default.contains('`') || default.contains(';') || is_unsaid {
            continue;
        }
        let bare = row.kind == "true or false" || default.parse::<u64>().is_ok();
        let value = if bare { default.to_owned() } else { format!("{default:?}") };
        let (Some(without), Some(with)) = (with(&stages, &row, None), with(&stages, &row, Some(&value))) else {
            continue;
        };
        assert_eq!(sound(&with), sound(&without), "{}, `{}`: {default}", row.heading, row.key);
        tried += 1;
    }
    assert!(tried > 35, "{tried}");
}

#[test]
fn what_the_manual_calls_required_is_missed() {
    let (stages, mut tried) = (stages(), 0);
    for row in rows().into_iter().filter(|row| row.default.split(',').next() == Some("required")) {
        let Some(text) = with(&stages, &row, None) else { continue };
        assert!(is_refused(&text, &row), "{}, `{}` can be left out", row.heading, row.key);
        tried += 1;
    }
    assert!(tried > 25, "{tried}");
}
