//! `[[connection.command]]` and `[[connection.rule]]`. Knows keys and words; what a rule does with an
//! answer is for `crate::rules::classify`.

use super::place::{Place, Placed, Problems, suggestion};
use super::section::Section;
use super::targets::MOST_COST;
use super::{send, words};
use crate::domain::outcome::{Outcome, Reach};
use crate::domain::spec::{CommandSpec, Retry, RuleSpec};
use crate::rules::asking::Asker;

pub(super) const COMMAND: [&str; 10] =
    ["name", "get", "post", "body", "content_type", "headers", "cost", "cost_from", "then_refresh", "retry"];
pub(super) const RULE: [&str; 8] = ["name", "outcome", "status", "header", "body", "json", "hold", "limit"];
pub(super) const RULE_HEADER: [&str; 2] = ["name", "matches"];

/// Outcomes that an answer can have. The others say that there was none, which no rule about an answer can know.
const OF_ANSWERS: [Outcome; 9] = [
    Outcome::Data,
    Outcome::NotModified,
    Outcome::Limited,
    Outcome::Unpaid,
    Outcome::CredentialRejected,
    Outcome::Overloaded,
    Outcome::NotReady,
    Outcome::Gone,
    Outcome::Unexpected,
];

/// A command, and where its `then_refresh` stands: it names a target that may come from the recipe.
#[derive(Clone, Debug)]
pub(super) struct CommandDraft {
    pub spec: CommandSpec,
    pub then_refresh_at: Place,
}

pub(super) fn read_commands(section: &Section<'_>, p: &mut Problems) -> Vec<Placed<Option<CommandDraft>>> {
    let sections = section.tables("command", p);
    let read = |command: Section<'_>| Placed { value: read_command(&command, p), place: command.place.clone() };
    sections.into_iter().map(read).collect()
}

fn read_command(section: &Section<'_>, p: &mut Problems) -> Option<CommandDraft> {
    section.only(&COMMAND, &[], p);
    let at = &section.place;
    let name = section.parsed("name", p, words::name).required(at, "name", "how the command is called", p);
    let cost = section.whole("cost", (1, MOST_COST), p).unwrap_or(1) as u32;
    let then_refresh = section.parsed("then_refresh", p, words::target_name).value();
    let retry = section.parsed("retry", p, read_retry).unwrap_or(Retry::Never);
    let then_refresh_at = section.place_of("then_refresh");
    let then_refresh = then_refresh.map(|name| name.as_str().into());
    let (path, send) = send::read(section, Asker::Command, p)?;
    let spec = CommandSpec { name: name?, path: path?, send, cost, then_refresh, retry };
    Some(CommandDraft { spec, then_refresh_at })
}

fn read_retry(text: &str) -> Result<Retry, String> {
    match text {
        "never" => Ok(Retry::Never),
        "idempotent" => Ok(Retry::Idempotent),
        _ => Err(format!("{text:?} is unknown{}", suggestion(text, &["never", "idempotent"]))),
    }
}

pub(super) fn read_rules(section: &Section<'_>, p: &mut Problems) -> Vec<Placed<Option<RuleSpec>>> {
    let sections = section.tables("rule", p);
    let read = |rule: Section<'_>| Placed { value: read_rule(&rule, p), place: rule.place.clone() };
    sections.into_iter().map(read).collect()
}

fn read_rule(section: &Section<'_>, p: &mut Problems) -> Option<RuleSpec> {
    section.only(&RULE, &[], p);
    let at = &section.place;
    let name = section.text("name", p).required(at, "name", "what matched, in words, for pages and the ledger", p);
    let outcome = section.parsed("outcome", p, read_outcome);
    let outcome = outcome.required(at, "outcome", "what an answer that matches is, such as \"limited\"", p);
    let status = section.numbers("status", (100, 599), p).unwrap_or_default();
    let header = section.table("header", p);
    let body = section.text("body", p).value();
    let json = section.text("json", p).value();
    if !["status", "header", "body", "json"].iter().any(|key| section.has(key)) {
        p.add(at, "has no condition (status, header, body or json), so it would match every answer");
    }
    let header = match header {
        Some(header) => Some(read_header(&header, p)?),
        None => None,
    };
    let outcome = outcome?;
    let hold = section.parsed("hold", p, read_reach).checked(p, |_| {
        let why = format!("means nothing where the outcome is {outcome}: it is for answers that refuse");
        (!outcome.is_refusal()).then_some(why)
    });
    let limit = section.text("limit", p).checked(p, |_| {
        let why = format!("means nothing where the outcome is {outcome}: it is for answers that are limited");
        (outcome != Outcome::Limited).then_some(why)
    });
    let (hold, limit) = (hold.value(), limit.value());
    Some(RuleSpec { name: name?, outcome: Some(outcome), status, header, body, json, hold, limit })
}

fn read_reach(text: &str) -> Result<Reach, String> {
    let words = Reach::ALL.map(Reach::word);
    Reach::from_word(text)
        .ok_or_else(|| format!("{text:?} does not say whom a refusal stops{}", suggestion(text, &words)))
}

/// `{ name = "x-error", matches = "regular expression" }`
fn read_header(section: &Section<'_>, p: &mut Problems) -> Option<(String, String)> {
    section.only(&RULE_HEADER, &[], p);
    let name = section.text("name", p).required(&section.place, "name", "the header's name", p);
    let matches = section.text("matches", p).required(&section.place, "matches", "a regular expression", p);
    Some((name?.to_ascii_lowercase(), matches?))
}

fn read_outcome(text: &str) -> Result<Outcome, String> {
    let words = OF_ANSWERS.map(Outcome::word);
    let found = OF_ANSWERS.into_iter().find(|outcome| outcome.word() == text);
    found.ok_or_else(|| match Outcome::from_word(text) {
        Some(_) => format!("{text:?} means that there was no answer; a rule can say {}", words.join(", ")),
        None => format!("{text:?} is not an outcome{}", suggestion(text, &words)),
    })
}
