//! How the link to a broker of MQTT stands, for the pages: who keeps the link writes it, and must not be known here.

use super::appliance::Appliance;
use super::view::{BrokerView, FlatView};
use std::sync::{PoisonError, RwLock};

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

    /// All connections value by value. One that cannot be read now is told of when it can.
    pub fn flats(&self) -> Vec<FlatView> {
        let keys = self.core.connections.values().map(|conn| conn.spec.key.clone());
        keys.filter_map(|key| self.flat(&key).ok()).collect()
    }

    /// Tells this installation from others where both are seen; it is no secret, and says nothing of one.
    pub fn public_id(&self) -> String {
        blake3::derive_key("larder public id of an installation", &self.core.installation)[..4]
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect()
    }
}
