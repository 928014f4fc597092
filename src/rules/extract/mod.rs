//! From an answer's JSON to sightings of items, offsets anchored to its arrival. Everything is compiled once; an answer that has
//! not the expected shape is an error in words and never data (law 4). Must not know what was on the shelf before.

mod digest;
pub(crate) mod key;
#[cfg(test)]
mod key_tests;
mod observed;
pub(crate) mod path;
#[cfg(test)]
mod recipe_tests;
#[cfg(test)]
mod tests;
mod value;

use crate::domain::item::{FieldValue, ItemState, OBSERVED_AT, Sighting};
use crate::domain::spec::{FieldKind, FieldSpec, Plausible, StateSpec, TargetSpec};
use crate::domain::time::Stamp;
use digest::{Digest, LeftOut};
use key::Key;
use observed::Observed;
use path::{Filter, ItemsPath, Path, Subject};
use serde_json::Value;
use std::collections::HashSet;

/// The rule that an answer without the expected shape is filed under.
const WRONG_SHAPE: &str = "shape of the answer";

/// The rule by which an answer without the expected shape is no data, and why.
pub fn wrong_shape(why: &str) -> String {
    format!("{WRONG_SHAPE}: {why}")
}

/// Why, where that is the rule.
pub fn shape_flaw(rule: &str) -> Option<&str> {
    rule.strip_prefix(WRONG_SHAPE)?.strip_prefix(": ")
}

/// A scalar as text.
pub fn text_of(value: &Value) -> Option<String> {
    value::text(value)
}

/// What to read from the answers to one target's question.
#[derive(Debug)]
pub struct Extractor {
    items: ItemsPath,
    key: Key,
    title: Option<Path>,
    fields: Vec<Field>,
    states: Vec<StateRule>,
    /// Inside an item; only asked where the fingerprint is over the raw item.
    volatile: Vec<Path>,
    /// The fields of the fingerprint, by name.
    fingerprinted: Vec<usize>,
    /// Never part of the fingerprint: the same reading once more is no change.
    observed: Option<Observed>,
}

#[derive(Debug)]
struct Field {
    name: String,
    path: Path,
    kind: FieldKind,
    when: Option<Filter>,
    plausible: Plausible,
}

#[derive(Debug)]
struct StateRule {
    is: String,
    when: Option<Filter>,
    /// The countdown field that ends it, and the word from then on.
    decay: Option<(usize, String)>,
}

impl Extractor {
    /// `time_zone`: of the connection, for times without an offset. Errors are sentences that name the key (`items`,
    /// `fields.next_run.path`).
    pub fn compile(spec: &TargetSpec, time_zone: &str) -> Result<Extractor, Vec<String>> {
        let mut errors = Vec::new();
        let items = named("items", ItemsPath::parse(&spec.items), &mut errors);
        let key = named("key", Key::parse(&spec.key), &mut errors);
        let (items, key) = fitting(items, key, spec, &mut errors);
        let title = spec.title.as_ref().and_then(|t| named("title", Path::parse(t), &mut errors));
        let volatile = spec.volatile.iter().filter_map(|v| named("volatile", Path::parse(v), &mut errors)).collect();
        let fields = compile_fields(&spec.fields, &mut errors);
        let observed = spec.observed_at.as_ref();
        let observed = observed.and_then(|o| named("observed_at", Observed::compile(o, time_zone), &mut errors));
        let states = spec.states.iter().filter_map(|s| compile_state(s, &spec.fields, &mut errors)).collect();
        match (items, key) {
            (Some(items), Some(key)) if errors.is_empty() => Ok(Extractor {
                items,
                key,
                title,
                fields,
                states,
                volatile,
                fingerprinted: fingerprinted(&spec.fields),
                observed,
            }),
            _ => Err(errors),
        }
    }

    /// An answer without the expected shape (the items path matches nothing and is not an empty list, an item without
    /// key, the same key twice) is an error in words: never data. Names of headers are lower case.
    pub fn extract(
        &self,
        body: &Value,
        headers: &[(String, String)],
        arrived_at: Stamp,
    ) -> Result<Vec<Sighting>, String> {
        let found = self.extract_with(body, headers, arrived_at, |_| ())?;
        Ok(found.into_iter().map(|((), sighting)| sighting).collect())
    }

    /// As [`Extractor::extract`], with what is `also` read of each item.
    pub fn extract_with<T>(
        &self,
        body: &Value,
        headers: &[(String, String)],
        arrived_at: Stamp,
        also: impl Fn(&Value) -> T,
    ) -> Result<Vec<(T, Sighting)>, String> {
        let found = self.items.items(body)?;
        // Where an item stands is asked only by keys that are not in it.
        let spots = if matches!(self.key, Key::Inside(_)) { Vec::new() } else { self.items.spots(body) };
        let observed = self.observed.as_ref().and_then(|o| o.of_the_answer(body, headers, arrived_at));
        let mut keys = HashSet::with_capacity(found.len());
        let mut sightings = Vec::with_capacity(found.len());
        for (index, item) in found.into_iter().enumerate() {
            let key = self.key.of(item, spots.get(index).copied().flatten());
            let key = key.map_err(|why| format!("item {}: {why}", index + 1))?;
            if !keys.insert(key.clone()) {
                return Err(format!("item {}: the key `{key:.80}` was already taken by another item", index + 1));
            }
            let mut sighting = self.sighting(key, item, arrived_at);
            let own = || self.observed.as_ref().map(|o| o.of_the_item(item, arrived_at));
            sighting.fields.extend(observed.clone().or_else(own).map(|at| (OBSERVED_AT.to_owned(), at)));
            sightings.push((also(item), sighting));
        }
        Ok(sightings)
    }

    /// Entries of the list that the items are picked from: how full a page was, whatever a filter leaves of it.
    pub fn rows(&self, body: &Value) -> u64 {
        self.items.rows(body)
    }

    fn sighting(&self, key: String, item: &Value, arrived_at: Stamp) -> Sighting {
        let has_filters = self.fields.iter().any(|f| f.when.is_some()) || self.states.iter().any(|s| s.when.is_some());
        let subject = has_filters.then(|| Subject::of(item));
        let holds = |when: &Option<Filter>| match (when, &subject) {
            (Some(filter), Some(subject)) => filter.holds(subject),
            _ => true,
        };
        let read =
            |f: &Field| value::read(f.kind, &f.plausible, f.path.one(item).filter(|_| holds(&f.when)), arrived_at);
        let fields: Vec<_> = self.fields.iter().map(|f| (f.name.clone(), read(f))).collect();
        let state = self.states.iter().find(|rule| holds(&rule.when)).map(|rule| rule.state(&fields));
        let title = self.title.as_ref().and_then(|t| t.one(item)).and_then(value::text);
        let title = title.filter(|t| !t.trim().is_empty()).unwrap_or_else(|| key.clone());
        let fingerprint = self.fingerprint(item, &key, &title, state.as_ref(), &fields);
        Sighting { key, title, state, fields, fingerprint }
    }

    /// Over what is configured to be read; over the whole item where nothing is.
    fn fingerprint(
        &self,
        item: &Value,
        key: &str,
        title: &str,
        state: Option<&ItemState>,
        fields: &[(String, FieldValue)],
    ) -> [u8; 16] {
        let mut digest = Digest::new();
        if self.fields.is_empty() && self.states.is_empty() {
            let moving = self.volatile.iter().chain(self.observed.as_ref().and_then(Observed::inside));
            let left_out: LeftOut = moving.flat_map(|path| path.nodes(item)).map(std::ptr::from_ref).collect();
            digest.json(item, &left_out);
            return digest.finish();
        }
        digest.text(key);
        digest.text(title);
        digest.optional(state.map(|s| s.word.as_str()));
        for (name, value) in self.fingerprinted.iter().filter_map(|at| fields.get(*at)) {
            digest.text(name);
            digest.field(value);
        }
        digest.finish()
    }
}

impl StateRule {
    /// A countdown that is not known cannot end the state.
    fn state(&self, fields: &[(String, FieldValue)]) -> ItemState {
        let decays = self.decay.as_ref().and_then(|(at, then)| match fields.get(*at) {
            Some((_, FieldValue::Until(ends) | FieldValue::Left(ends))) => Some((*ends, then.clone())),
            _ => None,
        });
        ItemState { word: self.is.clone(), decays }
    }
}

/// Keys by name are those of a map's members, and not every kind of key can tell the rows of several pages apart.
fn fitting(
    items: Option<ItemsPath>,
    key: Option<Key>,
    spec: &TargetSpec,
    errors: &mut Vec<String>,
) -> (Option<ItemsPath>, Option<Key>) {
    let (Some(items), Some(key)) = (items, key) else { return (None, None) };
    if spec.page.is_some() && !key.is_for_pages() {
        errors.push(format!("key: `{}` would be the same on every page of the list", spec.key));
    }
    let by_spot = matches!(key, Key::Name | Key::Position);
    if by_spot && !items.is_below() {
        errors.push(format!("key: `{}` needs items that stand in a map or a list; `$` is the whole answer", spec.key));
    }
    match key {
        Key::Name => (Some(items.of_a_map()), Some(key)),
        _ => (Some(items), Some(key)),
    }
}

/// Puts the key before the sentence and keeps going, so that all mistakes are told at once.
fn named<T>(key: &str, parsed: Result<T, String>, errors: &mut Vec<String>) -> Option<T> {
    parsed.map_err(|why| errors.push(format!("{key}: {why}"))).ok()
}

fn compile_fields(specs: &[FieldSpec], errors: &mut Vec<String>) -> Vec<Field> {
    let mut names = HashSet::new();
    let mut fields = Vec::new();
    for spec in specs {
        let name = &spec.name;
        if !names.insert(name) {
            errors.push(format!("fields.{name}: there are two fields of this name"));
        }
        let path = named(&format!("fields.{name}.path"), Path::parse(&spec.path), errors);
        let when = compile_when(&format!("fields.{name}"), spec.when.as_deref(), errors);
        let plausible = spec.plausible.clone();
        fields.extend(path.map(|path| Field { name: name.clone(), path, kind: spec.kind, when, plausible }));
    }
    fields
}

fn compile_when(owner: &str, when: Option<&str>, errors: &mut Vec<String>) -> Option<Filter> {
    when.and_then(|expression| named(&format!("{owner}.when"), Filter::parse(expression), errors))
}

fn compile_state(spec: &StateSpec, fields: &[FieldSpec], errors: &mut Vec<String>) -> Option<StateRule> {
    let owner = format!("state.{}", spec.is);
    if spec.is.trim().is_empty() {
        errors.push("state: `is` is empty".to_owned());
    }
    let when = compile_when(&owner, spec.when.as_deref(), errors);
    let decay = match (&spec.until, &spec.then) {
        (None, None) => None,
        (None, Some(_)) => named(&owner, Err("`then` needs `until`, a countdown field".to_owned()), errors),
        (Some(_), None) => named(&owner, Err("`until` needs `then`, the word from then on".to_owned()), errors),
        (Some(until), Some(then)) => {
            let at = named(&format!("{owner}.until"), countdown(until, fields), errors)?;
            Some((at, then.clone()))
        }
    };
    Some(StateRule { is: spec.is.clone(), when, decay })
}

/// The position of a countdown field.
fn countdown(name: &str, fields: &[FieldSpec]) -> Result<usize, String> {
    match fields.iter().position(|f| f.name == name) {
        Some(at) if is_countdown(fields[at].kind) => Ok(at),
        Some(at) => Err(format!(
            "the field `{name}` is `{}`, not a countdown (`seconds-until`, `seconds-left`)",
            fields[at].kind.word()
        )),
        None => Err(format!("there is no field `{name}`")),
    }
}

fn is_countdown(kind: FieldKind) -> bool {
    matches!(kind, FieldKind::SecondsUntil | FieldKind::SecondsLeft)
}

/// Which fields belong to the fingerprint, in the order of their names: a reordered file is not a change. A countdown is left
/// out by its kind, so that it is no change either when it becomes unknown.
fn fingerprinted(fields: &[FieldSpec]) -> Vec<usize> {
    let mut chosen: Vec<usize> =
        (0..fields.len()).filter(|at| !fields[*at].volatile && !is_countdown(fields[*at].kind)).collect();
    chosen.sort_by(|a, b| fields[*a].name.cmp(&fields[*b].name));
    chosen
}
