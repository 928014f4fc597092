//! An item as it is shown at one moment: countdowns that ran on, states that decayed, how old the provider says that it is. Pure.
//! Must not know where the item was read.

use super::view::{DecayView, FieldShown, ItemView, When};
use crate::domain::item::{FieldValue, Item, ItemState, OBSERVED_AT, observed_at};
use crate::domain::spec::TargetSpec;
use crate::domain::target::TargetState;
use crate::domain::time::{Now, Span};

pub fn item(now: &Now, spec: &TargetSpec, state: &TargetState, item: &Item) -> ItemView {
    // An item of an incomplete reading may have been seen after the last whole one.
    let present = state.as_of.filter(|as_of| as_of.steady >= item.changed.steady).unwrap_or(item.changed);
    let last_seen = item.removed.map_or(present, |r| r.last_seen);
    let dated = spec.observed_at.is_some();
    let observed = observed_at(&item.fields).filter(|_| dated);
    let fields = item.fields.iter().filter(|(name, _)| !(dated && name == OBSERVED_AT));
    ItemView {
        key: item.key.clone(),
        title: item.title.clone(),
        state: item.state.as_ref().map(|s| s.now(now).to_owned()),
        decays: item.state.as_ref().and_then(decay),
        fields: fields.map(|(name, v)| (name.clone(), shown(now, v))).collect(),
        first_seen_at: When(item.first_seen.wall),
        last_seen_at: When(last_seen.wall),
        changed_at: When(item.changed.wall),
        observed_at: observed.map(When),
        reading_age_seconds: observed.and_then(|at| now.age_of_reading(at, last_seen)).map(Span::as_secs),
        removed_at: item.removed.map(|r| When(r.at.wall)),
    }
}

/// Of an answer that is too old to be used: which items there were, and nothing of what they said.
pub fn withheld(item: ItemView) -> ItemView {
    let fields = item.fields.into_iter().map(|(name, _)| (name, FieldShown::Unknown)).collect();
    ItemView { state: None, decays: None, fields, ..item }
}

fn decay(state: &ItemState) -> Option<DecayView> {
    let (ends, then) = state.decays.as_ref()?;
    Some(DecayView { seen: state.word.clone(), ends_at: When(ends.wall), then: then.clone() })
}

fn shown(now: &Now, value: &FieldValue) -> FieldShown {
    match value {
        FieldValue::Left(ends) => FieldShown::SecondsLeft(now.until(*ends).as_secs()),
        other => other.into(),
    }
}
