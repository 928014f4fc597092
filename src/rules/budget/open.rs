//! Requests whose answers go on for as long as the provider likes, as streams of events do: it has them in hand until they end, however long
//! ago their heads arrived. Beside the books, and in memory alone: with the process their sockets end too. Knows no window.

use super::slots::Units;
use crate::domain::ids::{Caller, ChargeId, Endpoint, Organization};
use std::collections::BTreeMap;

/// What is open, by the request that opened it.
#[derive(Clone, Debug, Default)]
pub struct Open(BTreeMap<ChargeId, Held>);

/// One of them: who opened it, where, and for whom.
#[derive(Clone, Debug)]
pub struct Held {
    pub caller: Caller,
    pub endpoint: Endpoint,
    pub organization: Organization,
}

impl Open {
    /// From now on, until it is let go.
    pub fn keep(&mut self, id: ChargeId, held: Held) {
        self.0.insert(id, held);
    }

    pub fn let_go(&mut self, id: ChargeId) {
        self.0.remove(&id);
    }

    /// One for each, of this endpoint where one is named.
    pub(super) fn units(&self, key: &Option<Endpoint>) -> Units {
        let mut units = Units::default();
        self.counted(key).for_each(|held| units.add(held.caller, 1));
        units
    }

    /// How many of them are this organization's.
    pub(super) fn of(&self, key: &Option<Endpoint>, organization: &Organization) -> u64 {
        self.counted(key).filter(|held| held.organization == *organization).count() as u64
    }

    fn counted<'a>(&'a self, key: &'a Option<Endpoint>) -> impl Iterator<Item = &'a Held> {
        self.0.values().filter(move |held| key.as_ref().is_none_or(|key| *key == held.endpoint))
    }
}
