//! Requests whose answers go on for as long as the provider likes, as streams of events do: it has them in hand until they end, however long
//! ago their heads arrived. Beside the books, and in memory alone: with the process their sockets end too. Knows no window.

use super::slots::Units;
use crate::domain::ids::{Caller, ChargeId, Endpoint};
use std::collections::BTreeMap;

/// What is open, by the request that opened it.
#[derive(Clone, Debug, Default)]
pub struct Open(BTreeMap<ChargeId, (Caller, Endpoint)>);

impl Open {
    /// From now on, until it is let go.
    pub fn keep(&mut self, id: ChargeId, caller: Caller, endpoint: Endpoint) {
        self.0.insert(id, (caller, endpoint));
    }

    pub fn let_go(&mut self, id: ChargeId) {
        self.0.remove(&id);
    }

    /// One for each, of this endpoint where one is named.
    pub(super) fn units(&self, key: &Option<Endpoint>) -> Units {
        let mut units = Units::default();
        let counted = self.0.values().filter(|(_, endpoint)| key.as_ref().is_none_or(|key| key == endpoint));
        counted.for_each(|(caller, _)| units.add(*caller, 1));
        units
    }
}
