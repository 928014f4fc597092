//! `[[connection.target]]`: a standing question, its items, their fields and states. Whether an expression is well formed is
//! for `rules` to say; this file knows keys and words.

use super::place::{Placed, Problems, suggestion};
use super::section::{Document, Section};
use super::{pages, send, words};
use crate::domain::item::OBSERVED_AT;
use crate::domain::page::PageSpec;
use crate::domain::spec::{
    FieldKind, FieldSpec, ObservedKind, ObservedPlace, ObservedSpec, Plausible, Sentinel, StateSpec, TargetSpec,
};
use crate::rules::asking::Asker;
use crate::rules::complete::Completion;
use crate::rules::extract::key::WORDS;
use crate::rules::extract::path::Path;
use std::collections::BTreeSet;

pub(super) const TARGET: [&str; 21] = [
    "name",
    "like",
    "get",
    "post",
    "body",
    "content_type",
    "headers",
    "cost",
    "cost_from",
    "page",
    "items",
    "key",
    "title",
    "fresh_for",
    "expires_after",
    "fields",
    "state",
    "volatile",
    "observed_at",
    "complete",
    "push",
];
pub(super) const FIELD: [&str; 7] = ["path", "as", "when", "volatile", "min", "max", "unknown"];
pub(super) const OBSERVED: [&str; 5] = ["path", "answer", "header", "as", "time_zone"];
pub(super) const STATE: [&str; 4] = ["is", "when", "until", "then"];

/// Costs above this are mistakes.
pub(super) const MOST_COST: u64 = 1_000_000;

/// `patterns` are the recipe's: what its targets may be like.
pub(super) fn read(
    section: &Section<'_>,
    patterns: &[Section<'_>],
    problems: &mut Problems,
) -> Vec<Placed<Option<TargetSpec>>> {
    let sections = section.tables("target", problems);
    let read = |target: Section<'_>| {
        let place = target.place.clone();
        let value = liken(target, patterns, problems).and_then(|target| read_one(&target, problems));
        Placed { value, place }
    };
    sections.into_iter().map(read).collect()
}

/// A target that is `like` a pattern of the recipe has its keys wherever it says nothing itself.
fn liken<'a>(target: Section<'a>, patterns: &[Section<'a>], p: &mut Problems) -> Option<Section<'a>> {
    let Some(like) = target.text("like", p).value() else { return Some(target) };
    let found = patterns.iter().find(|pattern| pattern.word("name").as_ref() == Some(&like));
    let Some(pattern) = found else {
        let known: Vec<String> = patterns.iter().filter_map(|pattern| pattern.word("name")).collect();
        let known: Vec<&str> = known.iter().map(String::as_str).collect();
        p.add(&target.place_of("like"), format!("there is no pattern {like:?}{}", suggestion(&like, &known)));
        return None;
    };
    Some(target.over(pattern.clone()))
}

/// A recipe's patterns as targets, to be checked and tried: the path that a connection will give is made up.
pub(super) fn read_patterns(section: &Section<'_>, p: &mut Problems) -> Vec<Placed<Option<TargetSpec>>> {
    const PATH: &str = "get = \"/path/of/the/connection\"";
    let document = Document::new(0, "", PATH);
    let path = document.tables(PATH, &mut Problems::default());
    let sections = patterns(section, p);
    let read = |pattern: Section<'_>| {
        let whole = pattern.has("get") || pattern.has("post");
        let below = path.as_ref().filter(|_| !whole).map(|path| Section::root(&document, path.get_ref()));
        let place = pattern.place.clone();
        let pattern = match below {
            Some(below) => pattern.over(below),
            None => pattern,
        };
        Placed { value: read_one(&pattern, p), place }
    };
    sections.into_iter().map(read).collect()
}

/// The `[[pattern]]` tables of a recipe or a connection.
pub(super) fn patterns<'a>(section: &Section<'a>, p: &mut Problems) -> Vec<Section<'a>> {
    section.tables("pattern", p)
}

pub(super) fn read_one(section: &Section<'_>, p: &mut Problems) -> Option<TargetSpec> {
    section.only(&TARGET, &[], p);
    let page = pages::read(section, pages::BOUNDS, p);
    read_question(section, page, p)
}

/// A question with the items of its answer. `page`: what `pages` read of it.
pub(super) fn read_question(
    section: &Section<'_>,
    page: Option<Option<PageSpec>>,
    p: &mut Problems,
) -> Option<TargetSpec> {
    let at = &section.place;
    let name = section.parsed("name", p, words::target_name).required(at, "name", "how the target is called", p);
    let sent = send::read(section, Asker::Target, p);
    let cost = section.whole("cost", (1, MOST_COST), p).unwrap_or(1) as u32;
    let (items, key) = read_items(section, p);
    let title = section.text("title", p).value();
    let fresh_for = section.span("fresh_for", p).value();
    let expires_after = section.span("expires_after", p).value();
    if let (Some(fresh), Some(expires)) = (fresh_for, expires_after)
        && expires < fresh
    {
        p.add(&section.place_of("expires_after"), "is shorter than fresh_for; an answer goes stale before it expires");
    }
    let volatile = section.texts("volatile", p).unwrap_or_default();
    let fields = read_fields(section, p);
    let states = read_states(section, fields.as_deref().unwrap_or_default(), p);
    let observed_at = read_observed(section, fields.as_deref().unwrap_or_default(), p);
    let complete = section.parsed("complete", p, complete).value();
    let push = read_push(section, p);
    let fields = fields?;
    let (get, send) = sent?;
    pages::check_body(section, page.as_ref().and_then(Option::as_ref), &send, p);
    let (name, page, items, key, states) = (name?.as_str().into(), page?, items?, key?, states?);
    Some(TargetSpec {
        name,
        get,
        send,
        cost,
        page,
        items,
        key,
        title,
        fresh_for,
        expires_after,
        fields,
        states,
        volatile,
        observed_at: observed_at?,
        complete,
        push,
    })
}

/// Whether somebody may push its answers. One is whole: pages of which each is asked for would write over it.
fn read_push(section: &Section<'_>, p: &mut Problems) -> bool {
    let push = section.flag("push", p).unwrap_or(false);
    if push && section.has("page") {
        p.add(
            &section.place_of("push"),
            "does not go with page: what is pushed is one whole answer; leave one of them out",
        );
    }
    push
}

/// A JSONPath, `@name`, `@position` or `'text'`. What a path is worth is for `rules` to say.
fn item_key(text: &str) -> Result<String, String> {
    match text.trim() {
        "" => Err("must not be empty".to_owned()),
        word if word.starts_with('@') && !WORDS.contains(&word) => {
            Err(format!("{word:?} is not a kind of key{}", suggestion(word, &WORDS)))
        }
        key => Ok(key.to_owned()),
    }
}

/// When a target is completed, as it is written.
pub(super) fn complete(text: &str) -> Result<String, String> {
    Completion::parse(text).map(|_| text.to_owned())
}

/// `items` and `key`. Who has no request of its own reads no answer: the scan says what an item is.
fn read_items(section: &Section<'_>, p: &mut Problems) -> (Option<String>, Option<String>) {
    let at = &section.place;
    let (items, key) = (section.text("items", p), section.parsed("key", p, item_key));
    if !(section.has("get") || section.has("post") || section.has("push")) {
        let nothing = || "$".to_owned();
        return (Some(items.unwrap_or(nothing())), Some(key.unwrap_or(nothing())));
    }
    let items = items.required(at, "items", "the JSONPath of the items, such as \"$.zones[*]\"", p);
    (items, key.required(at, "key", "the JSONPath of an item's key, such as \"$.id\"", p))
}

/// `observed_at = { path = "$.measured", as = "epoch-s" }`. `None`: it cannot be used as it is written.
fn read_observed(section: &Section<'_>, fields: &[FieldSpec], p: &mut Problems) -> Option<Option<ObservedSpec>> {
    if !section.has(OBSERVED_AT) {
        return Some(None);
    }
    if fields.iter().any(|field| field.name == OBSERVED_AT) {
        let taken = "is also the name of a field; it is shown with the fields, so give the field another name";
        p.add(&section.place_of(OBSERVED_AT), taken);
    }
    let table = section.table(OBSERVED_AT, p)?;
    table.only(&OBSERVED, &[], p);
    let well_formed = |text: &str| Path::parse(text).map(|_| text.to_owned());
    let item = table.parsed("path", p, well_formed).value().map(ObservedPlace::Item);
    let answer = table.parsed("answer", p, well_formed).value().map(ObservedPlace::Answer);
    let header = table.text("header", p).value().map(|name| ObservedPlace::Header(name.to_ascii_lowercase()));
    let kind = table.parsed("as", p, observed_kind).unwrap_or_default();
    let time_zone = table.parsed("time_zone", p, words::time_zone).value();
    if ["path", "answer", "header"].iter().filter(|key| table.has(key)).count() != 1 {
        p.add(
            &table.place,
            "needs exactly one of path (a JSONPath from the item, such as \"$.measured_at\"), answer (one from the whole \
             answer) and header",
        );
    }
    if table.has("time_zone") && kind != ObservedKind::Time {
        p.add(&table.place_of("time_zone"), "belongs to as = \"time\": nothing else can lack an offset");
    }
    let place = item.or(answer).or(header)?;
    Some(Some(ObservedSpec { place, kind, time_zone }))
}

fn observed_kind(text: &str) -> Result<ObservedKind, String> {
    let words = ObservedKind::ALL.map(ObservedKind::word);
    let found = ObservedKind::ALL.into_iter().find(|kind| kind.word() == text);
    found.ok_or_else(|| format!("{text:?} is not how a time of a reading is written{}", suggestion(text, &words)))
}

/// `[connection.target.fields]`, in the order of the file.
fn read_fields(section: &Section<'_>, p: &mut Problems) -> Option<Vec<FieldSpec>> {
    let Some(table) = section.table("fields", p) else { return Some(Vec::new()) };
    let mut fields = Vec::new();
    for (name, _) in table.keys() {
        let Some(field) = table.table(name, p) else {
            fields.push(None);
            continue;
        };
        field.only(&FIELD, &[], p);
        if name.is_empty() || !name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-') {
            p.add(&field.place, "is not a field's name; use letters, digits, _ and -");
        }
        let path =
            field.text("path", p).required(&field.place, "path", "a JSONPath from the item, such as \"$.time\"", p);
        let kind = field.parsed("as", p, field_kind).unwrap_or(FieldKind::Text);
        let when = field.text("when", p).value();
        let volatile = field.flag("volatile", p).unwrap_or(false);
        let plausible = read_plausible(&field, p);
        let name = name.to_owned();
        fields.push(path.map(|path| FieldSpec { name, path, kind, when, volatile, plausible }));
    }
    fields.into_iter().collect()
}

/// `min`, `max` and `unknown = [-888, "n/a"]`.
fn read_plausible(field: &Section<'_>, p: &mut Problems) -> Plausible {
    let (min, max) = (field.number("min", p), field.number("max", p));
    if let (Some(min), Some(max)) = (min, max)
        && max < min
    {
        p.add(&field.place_of("max"), "is below min, so every number would be unknown");
    }
    let unknown = field.scalars("unknown", p).unwrap_or_default();
    let sentinel = |text: String| text.parse().map_or_else(|_| Sentinel::Text(text.clone()), Sentinel::Number);
    Plausible { min, max, unknown: unknown.into_iter().map(sentinel).collect() }
}

fn field_kind(text: &str) -> Result<FieldKind, String> {
    let words = FieldKind::ALL.map(FieldKind::word);
    let found = FieldKind::ALL.into_iter().find(|kind| kind.word() == text);
    found.ok_or_else(|| format!("{text:?} is not a kind of field{}", suggestion(text, &words)))
}

fn read_states(section: &Section<'_>, fields: &[FieldSpec], p: &mut Problems) -> Option<Vec<StateSpec>> {
    let sections = section.tables("state", p);
    let last = sections.len();
    let mut states = Vec::new();
    for (at, state) in sections.iter().enumerate() {
        state.only(&STATE, &[], p);
        let is = state.text("is", p).required(&state.place, "is", "the word for the state, such as \"running\"", p);
        let when = state.text("when", p).value();
        let until = state.text("until", p).value();
        let then = state.text("then", p).value();
        check_decay(state, until.as_deref(), then.as_deref(), fields, p);
        if when.is_none() && !state.has("when") && at + 1 < last {
            p.add(&state.place, "has no `when`, so it always holds and the states after it never do; put it last");
        }
        states.push(is.map(|is| StateSpec { is, when, until, then }));
    }
    states.into_iter().collect()
}

/// I7: a state that ends with a countdown names the field and the word from then on.
fn check_decay(state: &Section<'_>, until: Option<&str>, then: Option<&str>, fields: &[FieldSpec], p: &mut Problems) {
    let countdown = |f: &&FieldSpec| matches!(f.kind, FieldKind::SecondsUntil | FieldKind::SecondsLeft);
    if state.has("until") != state.has("then") {
        p.add(&state.place, "`until` (a countdown field) and `then` (the word when it ended) go together");
    }
    let (Some(until), Some(_)) = (until, then) else { return };
    let countdowns: BTreeSet<&str> = fields.iter().filter(countdown).map(|f| f.name.as_str()).collect();
    if !countdowns.contains(until) {
        let known: Vec<&str> = countdowns.into_iter().collect();
        let sentence =
            format!("{until:?} is no field of kind seconds-left or seconds-until{}", suggestion(until, &known));
        p.add(&state.place_of("until"), sentence);
    }
}
