//! The last good answer and the new one: what changed. History is a system of record (law 7): nothing here forgets when an item
//! was first seen, and every entry follows the one before it. Must not know where either answer came from.

use crate::domain::item::{
    ChangeKind, FieldChange, FieldValue, HistoryEntry, Item, ItemState, OBSERVED_AT, Removed, Sighting, observed_at,
};
use crate::domain::target::TargetState;
use crate::domain::time::{Span, Stamp, Wall};
use crate::rules::calendar::rfc3339;
use std::collections::{HashMap, HashSet};

/// A countdown that stands within this of where its old anchor predicted did not move: whole seconds are rounded by the
/// provider, and an answer takes its time to arrive.
pub const JITTER: Span = Span::from_secs(2);

/// What a complete good answer changes.
#[derive(Clone, Debug, PartialEq)]
pub struct Reconciled {
    pub state: TargetState,
    /// Items to write: appeared, changed, reappeared, removed, or with countdowns that moved by themselves.
    pub put: Vec<Item>,
    pub history: Vec<HistoryEntry>,
    /// Whether the generation grew.
    pub changed: bool,
    /// Whether a countdown stands elsewhere than its old anchor predicted (beyond `JITTER`), or another field outside the
    /// fingerprint has a new value: something to write, and nothing to tell.
    pub moved: bool,
}

/// `old` holds every item of the target, removed ones too. A complete answer: what is not in it is removed.
///
/// The first good answer always makes generation 1, also an empty one: nothing is not the same as unknown.
pub fn reconcile(state: &TargetState, old: &[Item], seen: Vec<Sighting>, arrived_at: Stamp) -> Reconciled {
    reconcile_pages(state, old, seen, arrived_at, Extent::Whole { as_of: arrived_at })
}

/// How far a reading reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// To its proven end. `as_of`: when its first page arrived. What stood on that page may have changed since, and nothing on the
    /// shelf may be called newer than the oldest evidence for it.
    Whole { as_of: Stamp },
    /// What is not in it is not known to be gone: seen items are renewed, nothing is removed, and as-of stays (A33).
    Part,
}

/// As [`reconcile`], for a list that was read page by page until `ended_at`.
pub fn reconcile_pages(
    state: &TargetState,
    old: &[Item],
    seen: Vec<Sighting>,
    ended_at: Stamp,
    extent: Extent,
) -> Reconciled {
    let is_there = |_: &Item| extent == Extent::Part;
    reconciled(state, old, seen, is_there, ended_at, extent)
}

/// What a scan makes of one of its targets: `seen` is what it says anew, `same` are the keys of items of which it says what is on the
/// shelf (see [`says_the_same`]).
pub fn reconcile_fed(
    state: &TargetState,
    old: &[Item],
    seen: Vec<Sighting>,
    same: &HashSet<&str>,
    ended_at: Stamp,
    as_of: Stamp,
) -> Reconciled {
    reconciled(state, old, seen, |item| same.contains(item.key.as_str()), ended_at, Extent::Whole { as_of })
}

/// Whether a sighting has nothing to tell of an item, and nothing to write.
pub fn says_the_same(item: &Item, sighting: &Sighting) -> bool {
    item.removed.is_none() && item.fingerprint == sighting.fingerprint && !moved(item, sighting)
}

/// `is_there`: of an item that is not among `seen`, whether it is still there, as it was.
fn reconciled(
    state: &TargetState,
    old: &[Item],
    seen: Vec<Sighting>,
    is_there: impl Fn(&Item) -> bool,
    ended_at: Stamp,
    extent: Extent,
) -> Reconciled {
    let known: HashMap<&str, &Item> = old.iter().map(|item| (item.key.as_str(), item)).collect();
    let mut round = Round::new(state, ended_at);
    for sighting in seen {
        if round.take(&sighting) {
            round.meet(known.get(sighting.key.as_str()).copied(), sighting);
        }
    }
    for item in old.iter().filter(|item| item.removed.is_none()) {
        match (round.present.contains_key(&item.key), is_there(item)) {
            (true, _) => {}
            (false, false) => round.miss(item),
            (false, true) => round.keep(item),
        }
    }
    round.finish(state, extent)
}

/// The reason of a doubt, word for word: it is how the next answer in a row is known.
pub const SUDDENLY_EMPTY: &str = "the answer was suddenly empty; it is believed if it is still so a while later";

/// Nobody's impatience makes an account empty: it is asked again at least so long after the first time.
const BELIEVED_AFTER: Span = Span::from_secs(60);

/// How long after the first empty answer another one is believed: at the next poll, which may come a little early.
pub fn believed_after(interval: Span) -> Span {
    Span(interval.0 - interval.0 / 10).max(BELIEVED_AFTER)
}

/// An answer without an item, where there were some.
pub fn is_sudden(state: &TargetState, seen: &[Sighting]) -> bool {
    seen.is_empty() && state.item_count > 0
}

/// Law 4: a target that had items and is suddenly empty is more often a provider in trouble than an empty account (A10).
/// Such an answer is unexpected and replaces nothing. One like it right after it is believed, if it arrives late enough after the
/// first of them, at `since`. Returns since when it is doubted.
pub fn doubted(
    state: &TargetState,
    seen: &[Sighting],
    since: Option<Stamp>,
    at: Stamp,
    interval: Span,
) -> Option<Stamp> {
    is_sudden(state, seen).then(|| unbelieved(in_a_row(state), since, at, interval)).flatten()
}

/// Since when something odd is said, at `since` first, if it is not believed yet: it has to be said again right after (`in_a_row`), and late
/// enough after the first time.
pub fn unbelieved(in_a_row: bool, since: Option<Stamp>, at: Stamp, interval: Span) -> Option<Stamp> {
    let since = since.unwrap_or(at);
    let is_old = at.steady.since(since.steady) >= believed_after(interval);
    (!(in_a_row && is_old)).then_some(since)
}

fn in_a_row(state: &TargetState) -> bool {
    state.trouble.as_ref().is_some_and(|t| t.reason == SUDDENLY_EMPTY)
}

/// The state after an answer that confirmed the last one (304).
pub fn confirm(state: &TargetState, arrived_at: Stamp) -> TargetState {
    TargetState { as_of: Some(arrived_at), trouble: None, ..state.clone() }
}

/// One answer being gone through.
struct Round {
    arrived_at: Stamp,
    /// Arrival of the answer before: when an item that is missing now was last in one.
    last_seen: Option<Stamp>,
    /// The generation that this answer makes if anything changed.
    generation: u64,
    next_seq: u64,
    /// Fingerprints of the present items, by key.
    present: HashMap<String, [u8; 16]>,
    put: Vec<Item>,
    history: Vec<HistoryEntry>,
    moved: bool,
    /// The newest time that the provider gives anything in this answer.
    observed: Option<Wall>,
}

impl Round {
    fn new(state: &TargetState, arrived_at: Stamp) -> Round {
        Round {
            arrived_at,
            last_seen: state.as_of,
            generation: state.generation + 1,
            // Numbers begin at 1, so that "after 0" is "from the beginning".
            next_seq: state.next_seq.max(1),
            present: HashMap::new(),
            put: Vec::new(),
            history: Vec::new(),
            moved: false,
            observed: None,
        }
    }

    /// Whether the key is new in this answer. (Extraction refuses duplicates; here the first counts.)
    fn take(&mut self, sighting: &Sighting) -> bool {
        self.observed = self.observed.max(observed_at(&sighting.fields));
        self.present.insert(sighting.key.clone(), sighting.fingerprint).is_none()
    }

    fn meet(&mut self, before: Option<&Item>, sighting: Sighting) {
        let kind = match before {
            None => Some(ChangeKind::Appeared),
            Some(item) if item.removed.is_some() => Some(ChangeKind::Reappeared),
            Some(item) if item.fingerprint != sighting.fingerprint => Some(ChangeKind::Changed),
            Some(item) if moved(item, &sighting) => None,
            Some(_) => return,
        };
        let item = Item {
            key: sighting.key,
            title: sighting.title,
            state: sighting.state,
            fields: sighting.fields,
            fingerprint: sighting.fingerprint,
            first_seen: before.map_or(self.arrived_at, |item| item.first_seen),
            changed: before.filter(|_| kind.is_none()).map_or(self.arrived_at, |item| item.changed),
            removed: None,
        };
        match kind {
            Some(kind) => self.record(kind, &item, before.map_or_else(Vec::new, |before| differences(before, &item))),
            None => self.moved = true,
        }
        self.put.push(item);
    }

    fn keep(&mut self, item: &Item) {
        self.observed = self.observed.max(observed_at(&item.fields));
        self.present.insert(item.key.clone(), item.fingerprint);
    }

    fn miss(&mut self, item: &Item) {
        let last_seen = self.last_seen.unwrap_or(item.changed);
        let item = Item { removed: Some(Removed { at: self.arrived_at, last_seen }), ..item.clone() };
        self.record(ChangeKind::Removed, &item, Vec::new());
        self.put.push(item);
    }

    fn record(&mut self, kind: ChangeKind, item: &Item, detail: Vec<FieldChange>) {
        self.history.push(HistoryEntry {
            seq: self.next_seq,
            at: self.arrived_at,
            generation: self.generation,
            kind,
            key: item.key.clone(),
            title: item.title.clone(),
            state: item.state.as_ref().map(|s| s.word.clone()),
            detail,
        });
        self.next_seq += 1;
    }

    fn finish(self, before: &TargetState, extent: Extent) -> Reconciled {
        // What the provider dates belongs to the arrival that as-of names: an age is reckoned from the two.
        let (as_of, observed_at, first) = match extent {
            Extent::Whole { as_of } => (Some(as_of), self.observed, before.as_of.is_none() && before.generation == 0),
            Extent::Part => (before.as_of, before.observed_at, false),
        };
        let changed = !self.history.is_empty() || first;
        let state = TargetState {
            as_of,
            changed_at: if changed { Some(self.arrived_at) } else { before.changed_at },
            generation: if changed { self.generation } else { before.generation },
            fingerprint: fingerprint(&self.present),
            item_count: self.present.len() as u64,
            next_seq: self.next_seq,
            trouble: None,
            observed_at,
            ..before.clone()
        };
        Reconciled { state, put: self.put, history: self.history, changed, moved: self.moved }
    }
}

/// Over the present items, in the order of their keys: the provider's order is not content.
fn fingerprint(present: &HashMap<String, [u8; 16]>) -> [u8; 16] {
    let mut sorted: Vec<_> = present.iter().collect();
    sorted.sort_unstable();
    let mut hasher = blake3::Hasher::new();
    for (key, print) in sorted {
        hasher.update(&(key.len() as u64).to_le_bytes());
        hasher.update(key.as_bytes());
        hasher.update(print);
    }
    let mut short = [0; 16];
    short.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
    short
}

/// Whether anything outside the fingerprint is worth writing.
fn moved(item: &Item, sighting: &Sighting) -> bool {
    let fields = item.fields.len() != sighting.fields.len()
        || item.fields.iter().zip(&sighting.fields).any(|(a, b)| a.0 != b.0 || !same_value(&a.1, &b.1));
    fields || !same_decay(item.state.as_ref(), sighting.state.as_ref())
}

fn same_value(a: &FieldValue, b: &FieldValue) -> bool {
    match (a, b) {
        (FieldValue::Until(a), FieldValue::Until(b)) | (FieldValue::Left(a), FieldValue::Left(b)) => {
            same_moment(*a, *b)
        }
        _ => a == b,
    }
}

fn same_decay(a: Option<&ItemState>, b: Option<&ItemState>) -> bool {
    match (a.and_then(|s| s.decays.as_ref()), b.and_then(|s| s.decays.as_ref())) {
        (Some((a, then_a)), Some((b, then_b))) => then_a == then_b && same_moment(*a, *b),
        (a, b) => a == b,
    }
}

/// Anchors of different eras are not comparable to the second; the newer one is kept.
fn same_moment(a: Stamp, b: Stamp) -> bool {
    a.era == b.era && a.steady.since(b.steady).max(b.steady.since(a.steady)) <= JITTER
}

/// Field by field, without what moves by itself.
fn differences(before: &Item, after: &Item) -> Vec<FieldChange> {
    let mut changes = Vec::new();
    let mut compare = |field: &str, before: Option<String>, after: Option<String>| {
        if before != after {
            changes.push(FieldChange { field: field.to_owned(), before, after });
        }
    };
    let word = |item: &Item| item.state.as_ref().map(|s| s.word.clone());
    compare("title", Some(before.title.clone()), Some(after.title.clone()));
    compare("state", word(before), word(after));
    let old: HashMap<&str, &FieldValue> = before.fields.iter().map(|(name, value)| (name.as_str(), value)).collect();
    // The time of a reading goes on by itself.
    for (name, value) in after.fields.iter().filter(|(name, _)| name != OBSERVED_AT) {
        let was = old.get(name.as_str()).copied().unwrap_or(&FieldValue::Unknown);
        if !(value.is_countdown() || was.is_countdown()) {
            compare(name, shown(was), shown(value));
        }
    }
    let names: HashSet<&str> = after.fields.iter().map(|(name, _)| name.as_str()).collect();
    for (name, was) in before.fields.iter().filter(|(name, was)| !names.contains(name.as_str()) && !was.is_countdown())
    {
        compare(name, shown(was), None);
    }
    changes
}

/// A value as history tells it; unknown is `None`.
pub fn shown(value: &FieldValue) -> Option<String> {
    match value {
        FieldValue::Text(text) => Some(text.clone()),
        FieldValue::Number(n) => Some(n.to_string()),
        FieldValue::Bool(b) => Some(b.to_string()),
        FieldValue::At(at) | FieldValue::Until(Stamp { wall: at, .. }) | FieldValue::Left(Stamp { wall: at, .. }) => {
            Some(rfc3339(*at))
        }
        FieldValue::Unknown => None,
    }
}

#[cfg(test)]
#[path = "reconcile_tests.rs"]
mod tests;
