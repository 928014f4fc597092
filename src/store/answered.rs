//! When good answers to a target came, as its charges tell. Part of the facade; must not know what the answers said.

use super::read::{ALL, Order, Snapshot, is_before, numbered};
use super::tables::{self, Table};
use super::{Store, StoreError, records};
use crate::domain::ids::TargetKey;
use crate::domain::item::Item;
use crate::domain::outcome::Outcome;
use crate::domain::time::{Stamp, Steady};
use std::ops::ControlFlow;

/// What a look at the charges brought.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answered {
    /// When each arrived, newest first.
    pub at: Vec<Stamp>,
    /// Set where there may be earlier ones that were not looked at: when the earliest charge was reserved that was.
    pub looked_back_to: Option<Stamp>,
}

impl Store {
    /// One item, present or removed.
    pub fn item(&self, key: &TargetKey, item: &str) -> Result<Option<Item>, StoreError> {
        let of = |bytes: &[u8]| records::item_of(item.to_owned(), bytes);
        self.core().read(|s| s.get(Table::Items, &tables::item(key, item), of))
    }

    /// Good answers to a target's own requests reserved since then, among the newest `looks` charges of its connection.
    pub fn answered(&self, key: &TargetKey, since: Steady, looks: usize) -> Result<Answered, StoreError> {
        self.core().read(|s| answered(s, key, since, looks))
    }
}

fn answered(snapshot: &Snapshot<'_>, key: &TargetKey, since: Steady, looks: usize) -> Result<Answered, StoreError> {
    let (mut found, mut looked, mut earliest) = (Answered::default(), 0, None);
    // Whether the charges reach back to that moment, or begin later since older ones are not kept.
    let mut is_whole = false;
    snapshot.visit(Table::Charges, ALL, Order::Back, |number, value| {
        if is_before(value, since) {
            is_whole = true;
            return Ok(ControlFlow::Break(()));
        }
        if records::peek(value).is_some_and(|row| !row.is_of(&key.connection)) {
            return Ok(ControlFlow::Continue(()));
        }
        if looked >= looks {
            return Ok(ControlFlow::Break(()));
        }
        looked += 1;
        let charge = records::charge_of(numbered(number)?, value)?;
        earliest = Some(charge.reserved_at);
        let is_of = charge.connection == key.connection && charge.target.as_ref() == Some(&key.target);
        let good = charge.resolution.filter(|r| is_of && matches!(r.outcome, Outcome::Data | Outcome::NotModified));
        found.at.extend(good.map(|r| r.at).filter(|at| at.steady >= since));
        Ok(ControlFlow::Continue(()))
    })?;
    found.looked_back_to = earliest.filter(|_| !is_whole);
    Ok(found)
}
