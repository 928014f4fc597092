//! How the link to a broker of MQTT stands, for the pages: who keeps the link writes it, and must not be known here.

use super::appliance::Appliance;
use super::conn::Conn;
use super::view::{BrokerView, Denied, FlatView};
use crate::domain::ids::Organization;
use std::sync::{Arc, PoisonError, RwLock};

/// `None`: there is none.
#[derive(Default)]
pub struct Link(RwLock<Option<BrokerView>>);

impl Appliance {
    pub fn broker(&self) -> Option<BrokerView> {
        self.core.link.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub fn broker_stands(&self, how: Option<BrokerView>) {
        *self.core.link.0.write().unwrap_or_else(PoisonError::into_inner) = how;
    }

    /// All connections value by value, but those on trial: what nobody has saved yet is no device of anybody. One that cannot be read now is told
    /// of when it can.
    pub fn flats(&self) -> Vec<FlatView> {
        let saved = self.core.connections.values().filter(|conn| !conn.provenance.is_on_trial());
        saved.filter_map(|conn| self.flat(&conn.spec.key).ok()).collect()
    }

    /// Those of an organization.
    pub fn flats_of(&self, organization: &Organization) -> Result<Vec<FlatView>, Denied> {
        let own = |conn: &Arc<Conn>| conn.spec.key.organization == *organization && !conn.provenance.is_on_trial();
        let flats = self.core.connections.values().filter(own).map(|conn| self.flat(&conn.spec.key));
        // One that was taken away meanwhile is not there.
        flats.filter(|flat| !matches!(flat, Err(Denied::NotFound(_)))).collect()
    }

    /// Tells this installation from others where both are seen; it is no secret, and says nothing of one.
    pub fn public_id(&self) -> String {
        blake3::derive_key("larder public id of an installation", &self.core.installation)[..4]
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect()
    }
}
