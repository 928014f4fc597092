//! Records of the shelf: an item and a line of its history.

use super::codes::Coded;
use super::{SHELF_MOST, SHELF_READ, V1, bounded, down, unknown_version, up, v1};
use crate::domain::item::{ChangeKind, FieldChange, FieldValue, HistoryEntry, Item, ItemState, Removed};
use crate::domain::time::Wall;
use crate::store::codec::{self, Damaged};

pub(in crate::store) fn item(i: &Item) -> Result<Vec<u8>, Damaged> {
    let record = v1::Item {
        title: i.title.clone(),
        state: i.state.as_ref().map(state_down),
        fields: bounded(i.fields.iter().map(|(name, value)| (name.clone(), field_down(value))).collect())?,
        fingerprint: i.fingerprint,
        first_seen: down(i.first_seen),
        changed: down(i.changed),
        removed: i.removed.map(|r| v1::Removed { at: down(r.at), last_seen: down(r.last_seen) }),
    };
    codec::encode(V1, &record, SHELF_MOST)
}

pub(in crate::store) fn item_of(key: String, bytes: &[u8]) -> Result<Item, Damaged> {
    let i: v1::Item = match codec::split(bytes)? {
        (V1, payload) => codec::decode::<_, SHELF_READ>(payload)?,
        (other, _) => return unknown_version(other),
    };
    Ok(Item {
        key,
        title: i.title,
        state: i.state.map(state_up),
        fields: bounded(i.fields)?.into_iter().map(|(name, value)| (name, field_up(value))).collect(),
        fingerprint: i.fingerprint,
        first_seen: up(i.first_seen),
        changed: up(i.changed),
        removed: i.removed.map(|r| Removed { at: up(r.at), last_seen: up(r.last_seen) }),
    })
}

pub(super) fn state_down(s: &ItemState) -> v1::ItemState {
    let decays = s.decays.as_ref().map(|(ends, then)| (down(*ends), then.clone()));
    v1::ItemState { word: s.word.clone(), decays }
}

pub(super) fn state_up(s: v1::ItemState) -> ItemState {
    ItemState { word: s.word, decays: s.decays.map(|(ends, then)| (up(ends), then)) }
}

pub(super) fn field_down(value: &FieldValue) -> v1::Field {
    match value {
        FieldValue::Unknown => v1::Field::Unknown,
        FieldValue::Text(text) => v1::Field::Text(text.clone()),
        FieldValue::Number(number) => v1::Field::Number(*number),
        FieldValue::Bool(yes) => v1::Field::Bool(*yes),
        FieldValue::At(wall) => v1::Field::At(wall.0),
        FieldValue::Until(at) => v1::Field::Until(down(*at)),
        FieldValue::Left(at) => v1::Field::Left(down(*at)),
    }
}

pub(super) fn field_up(value: v1::Field) -> FieldValue {
    match value {
        v1::Field::Unknown => FieldValue::Unknown,
        v1::Field::Text(text) => FieldValue::Text(text),
        v1::Field::Number(number) => FieldValue::Number(number),
        v1::Field::Bool(yes) => FieldValue::Bool(yes),
        v1::Field::At(wall) => FieldValue::At(Wall(wall)),
        v1::Field::Until(at) => FieldValue::Until(up(at)),
        v1::Field::Left(at) => FieldValue::Left(up(at)),
    }
}

pub(in crate::store) fn history(h: &HistoryEntry) -> Result<Vec<u8>, Damaged> {
    let change =
        |c: &FieldChange| v1::FieldChange { field: c.field.clone(), before: c.before.clone(), after: c.after.clone() };
    let record = v1::History {
        at: down(h.at),
        generation: h.generation,
        kind: h.kind.code(),
        key: h.key.clone(),
        title: h.title.clone(),
        state: h.state.clone(),
        detail: bounded(h.detail.iter().map(change).collect())?,
    };
    codec::encode(V1, &record, SHELF_MOST)
}

pub(in crate::store) fn history_of(seq: u64, bytes: &[u8]) -> Result<HistoryEntry, Damaged> {
    let h: v1::History = match codec::split(bytes)? {
        (V1, payload) => codec::decode::<_, SHELF_READ>(payload)?,
        (other, _) => return unknown_version(other),
    };
    let change = |c: v1::FieldChange| FieldChange { field: c.field, before: c.before, after: c.after };
    Ok(HistoryEntry {
        seq,
        at: up(h.at),
        generation: h.generation,
        kind: ChangeKind::coded(h.kind)?,
        key: h.key,
        title: h.title,
        state: h.state,
        detail: bounded(h.detail)?.into_iter().map(change).collect(),
    })
}
