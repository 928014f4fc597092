//! What a recipe and its answers owe each other: every rule and wait is shown at work, every target gives items, every field of
//! it was read once, every way of paging was followed and ended, every recipe has a refusal and facts with their sources.

use crate::fixture::{Fixture, word};
use larder::config::Recipe;
use larder::domain::item::FieldValue;
use larder::domain::outcome::Outcome;
use larder::domain::spec::{ConnectionSpec, TargetSpec};
use std::collections::BTreeSet;

pub fn violations(recipe: &Recipe, spec: &ConnectionSpec, fixture: &Fixture) -> Vec<String> {
    let mut rules = BTreeSet::new();
    let mut waits = BTreeSet::new();
    let mut refused = false;
    let mut read: BTreeSet<(String, String)> = BTreeSet::new();
    for answer in &fixture.answers {
        let tried = answer.tried(spec);
        rules.insert(tried.verdict.rule.clone());
        refused |= matches!(tried.verdict.outcome, Outcome::Limited | Outcome::Unpaid);
        waits.extend(tried.verdict.wait.map(|wait| wait.source));
        let Some(target) = answer.target(spec) else { continue };
        let name = target.name.to_string();
        read.extend(tried.follows.iter().map(|step| (name.clone(), ending(word(step)).to_owned())));
        for item in tried.items.iter().flatten() {
            read.insert((name.clone(), "any item".to_owned()));
            let known = item.fields.iter().filter(|(_, value)| *value != FieldValue::Unknown);
            read.extend(known.map(|(field, _)| (name.clone(), format!("field {field}"))));
            read.extend(item.state.iter().map(|state| (name.clone(), format!("state {}", state.word))));
        }
    }
    let mut missing = Vec::new();
    let mut want = |there: bool, what: String| {
        if !there {
            missing.push(format!("{}: no answer shows {what}", recipe.name));
        }
    };
    want(refused, "a refusal for a limit or for money".to_owned());
    for rule in &spec.rules {
        let name = format!("recipe: {}", rule.name);
        want(
            rules.iter().any(|r| *r == name || *r == format!("{name} (rate limited)")),
            format!("rule \"{}\"", rule.name),
        );
    }
    for source in &spec.waits.sources {
        want(waits.iter().any(|wait| wait.starts_with(&source.name)), format!("wait \"{}\"", source.name));
    }
    for target in &spec.targets {
        for what in owed(target) {
            want(read.contains(&(target.name.to_string(), what.clone())), format!("{what} of target {}", target.name));
        }
        // Targets that are paged alike speak for each other.
        let alike = spec.targets.iter().filter(|other| target.page.is_some() && other.page == target.page);
        let alike: Vec<String> = alike.map(|other| other.name.to_string()).collect();
        for what in [MORE, LAST].into_iter().filter(|_| target.page.is_some()) {
            let is_shown = alike.iter().any(|name| read.contains(&(name.clone(), what.to_owned())));
            want(is_shown, format!("{what} of target {}", target.name));
        }
    }
    missing
}

/// What the answers to a paged target must show.
const MORE: &str = "the first page of several";
const LAST: &str = "the last page";

fn ending(follows: &str) -> &'static str {
    match follows {
        "next" => MORE,
        "end" | "silence" => LAST,
        _ => "a page without an end",
    }
}

/// What the answers to a target must show.
fn owed(target: &TargetSpec) -> Vec<String> {
    let fields = target.fields.iter().map(|field| format!("field {}", field.name));
    let states = target.states.iter().map(|state| format!("state {}", state.is));
    std::iter::once("any item".to_owned()).chain(fields).chain(states).collect()
}

/// A line about it, a provider, and at least one fact; every fact has text, source and a date. What ends in silence has one of its last page.
pub fn unsourced(recipe: &Recipe) -> Vec<String> {
    let table: toml::Table = recipe.text.parse().expect("it was read before");
    let mut missing = Vec::new();
    for key in ["about", "provider"] {
        if table.get(key).and_then(toml::Value::as_str).is_none_or(|text| text.trim().is_empty()) {
            missing.push(format!("{}: `{key}` is missing", recipe.name));
        }
    }
    let facts = table.get("fact").and_then(toml::Value::as_array).cloned().unwrap_or_default();
    if facts.is_empty() {
        missing.push(format!("{}: no [[fact]]: nobody says so", recipe.name));
    }
    let of_its_end = |fact: &toml::Value| {
        fact.get("text").and_then(toml::Value::as_str).is_some_and(|text| text.contains("last page"))
    };
    if ends_in_silence(&table) && !facts.iter().any(of_its_end) {
        missing.push(format!("{}: absent_ends, and no fact says so of its last page", recipe.name));
    }
    for fact in &facts {
        for key in ["text", "source", "date"] {
            if fact.get(key).is_none_or(|value| value.as_str().is_some_and(|text| text.trim().is_empty())) {
                missing.push(format!("{}: a fact without `{key}`", recipe.name));
            }
        }
    }
    missing
}

fn ends_in_silence(recipe: &toml::Table) -> bool {
    let asked = ["target", "pattern"].iter().filter_map(|kind| recipe.get(*kind)?.as_array());
    let mut pages = asked.flatten().filter_map(|asked| asked.get("page"));
    pages.any(|page| page.get("absent_ends").and_then(toml::Value::as_bool) == Some(true))
}
