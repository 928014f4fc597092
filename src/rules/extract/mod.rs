//! From an answer's JSON to sightings of items, offsets anchored to its arrival. Everything is compiled once; an answer that has
//! not the expected shape is an error in words and never data (law 4). Must not know what was on the shelf before.

mod digest;
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
use observed::Observed;
use path::{Filter, ItemsPath, Path, Subject, kind_of};
use serde_json::Value;
use std::collections::HashSet;

/// A key is an address in the store and in URLs: not an essay. Bytes.
const LONGEST_KEY: usize = 1024;

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

/// What to read from the answers to one target's question.
#[derive(Debug)]
pub struct Extractor {
    items: ItemsPath,
    key: Path,
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
    /// Errors are sentences that name the key (`items`, `fields.next_run.path`).
    pub fn compile(spec: &TargetSpec) -> Result<Extractor, Vec<String>> {
        let mut errors = Vec::new();
        let items = named("items", ItemsPath::parse(&spec.items), &mut errors);
        let key = named("key", Path::parse(&spec.key), &mut errors);
        let title = spec.title.as_ref().and_then(|t| named("title", Path::parse(t), &mut errors));
        let volatile = spec.volatile.iter().filter_map(|v| named("volatile", Path::parse(v), &mut errors)).collect();
        let fields = compile_fields(&spec.fields, &mut errors);
        let observed = spec.observed_at.as_ref();
        let observed = observed.and_then(|o| named("observed_at.path", Observed::compile(o), &mut errors));
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
    /// key, the same key twice) is an error in words: never data.
    pub fn extract(&self, body: &Value, arrived_at: Stamp) -> Result<Vec<Sighting>, String> {
        let found = self.items.items(body)?;
        let mut keys = HashSet::with_capacity(found.len());
        let mut sightings = Vec::with_capacity(found.len());
        for (index, item) in found.into_iter().enumerate() {
            let key = self.key_of(item).map_err(|why| format!("item {}: {why}", index + 1))?;
            if !keys.insert(key.clone()) {
                return Err(format!("item {}: the key `{key:.80}` was already taken by another item", index + 1));
            }
            sightings.push(self.sighting(key, item, arrived_at));
        }
        Ok(sightings)
    }

    /// Entries of the list that the items are picked from: how full a page was, whatever a filter leaves of it.
    pub fn rows(&self, body: &Value) -> u64 {
        self.items.rows(body)
    }

    fn key_of(&self, item: &Value) -> Result<String, String> {
        let path = self.key.text();
        let key = match self.key.nodes(item).as_slice() {
            [Value::String(text)] if !text.trim().is_empty() => text.clone(),
            [Value::String(_)] => return Err(format!("the key `{path}` is empty")),
            [Value::Number(n)] => value::number_text(n),
            [other] => return Err(format!("the key `{path}` is {}, not text or a number", kind_of(other))),
            [] => return Err(format!("there is no key `{path}`")),
            several => return Err(format!("the key `{path}` is {} values, not one", several.len())),
        };
        if key.len() > LONGEST_KEY {
            return Err(format!("the key `{path}` is longer than {LONGEST_KEY} bytes"));
        }
        Ok(key)
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
        let mut fields: Vec<_> = self.fields.iter().map(|f| (f.name.clone(), read(f))).collect();
        let state = self.states.iter().find(|rule| holds(&rule.when)).map(|rule| rule.state(&fields));
        let title = self.title.as_ref().and_then(|t| t.one(item)).and_then(value::text);
        let title = title.filter(|t| !t.trim().is_empty()).unwrap_or_else(|| key.clone());
        let fingerprint = self.fingerprint(item, &key, &title, state.as_ref(), &fields);
        fields.extend(self.observed.as_ref().map(|o| (OBSERVED_AT.to_owned(), o.read(item, arrived_at))));
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
            let moving = self.volatile.iter().chain(self.observed.as_ref().map(Observed::path));
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
