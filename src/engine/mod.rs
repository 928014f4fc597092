//! The shell: loops that drain, handlers that are plain functions. Only `fetch` sees both store and upstream.

pub mod appliance;
pub mod view;

use crate::clock::Clock;
use crate::domain::ids::{ConnectionKey, CredentialId};
use crate::domain::spec::ConnectionSpec;
use crate::store::{Opening, Store};
use crate::upstream::Door;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What the engine is built from.
pub struct Parts {
    pub store: Store,
    pub opening: Opening,
    pub clock: Arc<dyn Clock>,
    pub door: Arc<dyn Door>,
    pub connections: Vec<ConnectionSpec>,
    /// Computed by `app` from the installation key and each secret: the budget boundary.
    pub credentials: BTreeMap<ConnectionKey, CredentialId>,
}

/// The running loops; dropping it aborts them (a crash), `stop` ends them in order.
pub struct Running {}

impl Running {
    /// Polling ends, requests in flight get until their deadline or 5 s, the store is flushed and closed.
    pub async fn stop(self) -> Result<(), String> {
        todo!()
    }
}

/// Installs budgets, settles what a crash left behind, starts the loops on the current tokio runtime.
pub async fn start(_parts: Parts) -> Result<(appliance::Appliance, Running), String> {
    todo!()
}
