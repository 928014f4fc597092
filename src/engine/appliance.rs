//! The appliance as its readers and operators see it: every surface goes through here.

use super::view::*;
use crate::domain::event::Event;
use crate::domain::ids::*;
use crate::domain::time::{ClockTrust, Now};
use std::collections::BTreeMap;
use tokio::sync::broadcast;

/// Cheap to clone; all methods but `refresh` and `command` answer from the shelf without waiting (law 3).
#[derive(Clone)]
pub struct Appliance {}

/// How the process itself stands.
#[derive(Clone, Debug)]
pub struct Health {
    /// The store takes writes.
    pub store: Result<(), String>,
    /// The poller's loop ticked lately.
    pub poller_alive: bool,
    pub clock: ClockTrust,
    pub file_bytes: u64,
    pub started_at: When,
    /// Sentences about the last start (repaired file, untrusted clock), empty if there is nothing to say.
    pub notes: Vec<String>,
}

/// A stored token, without anything that could be used.
#[derive(Clone, Debug)]
pub struct TokenInfo {
    pub id: u64,
    pub name: String,
    pub role: String,
    pub organization: Organization,
    pub created_at: When,
    pub revoked_at: Option<When>,
}

impl Appliance {
    pub fn now(&self) -> Now {
        todo!()
    }
    pub fn health(&self) -> Health {
        todo!()
    }
    pub fn connections(&self) -> Result<Vec<ConnectionView>, Denied> {
        todo!()
    }
    pub fn connection(&self, key: &ConnectionKey) -> Result<ConnectionView, Denied> {
        todo!()
    }
    pub fn targets(&self, key: &ConnectionKey) -> Result<Vec<TargetView>, Denied> {
        todo!()
    }
    /// With items.
    pub fn target(&self, key: &TargetKey) -> Result<TargetView, Denied> {
        todo!()
    }
    /// Entries with seq > after, oldest first; with `after = None` the newest `limit`, oldest first.
    pub fn history(&self, key: &TargetKey, after: Option<u64>, limit: usize) -> Result<Vec<HistoryView>, Denied> {
        todo!()
    }
    /// Charges with id > after, oldest first; with `after = None` the newest `limit`, oldest first.
    pub fn ledger(&self, key: &ConnectionKey, after: Option<u64>, limit: usize) -> Result<Vec<ChargeView>, Denied> {
        todo!()
    }
    /// Units spent by caller over the longest short window of the connection (at most 24 h), in `slices` slices.
    pub fn spend_strip(&self, key: &ConnectionKey, slices: usize) -> Result<SpendStrip, Denied> {
        todo!()
    }
    pub fn job(&self, id: JobId) -> Result<JobView, Denied> {
        todo!()
    }
    /// Newest first.
    pub fn jobs(&self, key: &ConnectionKey, limit: usize) -> Result<Vec<JobView>, Denied> {
        todo!()
    }
    /// Newest first: the activity list; of one connection or of all.
    pub fn activity(&self, key: Option<&ConnectionKey>, limit: usize) -> Result<Vec<EventView>, Denied> {
        todo!()
    }
    /// Durable events with id > after, oldest first, at most `limit`.
    pub fn events_after(&self, after: EventId, limit: usize) -> Result<Vec<EventView>, Denied> {
        todo!()
    }
    pub fn last_event_id(&self) -> EventId {
        todo!()
    }
    /// Every event from now on: durable ones after they are durable, and `target_seen` hints (id = the last durable id).
    pub fn subscribe(&self) -> broadcast::Receiver<Event> {
        todo!()
    }
    pub fn show_event(&self, _event: &Event) -> EventView {
        todo!()
    }
    /// Asks the provider now, if the answer is old enough and the budget funds it.
    pub async fn refresh(&self, key: &TargetKey, by: &str) -> Result<RefreshView, Denied> {
        todo!()
    }
    /// Accepts a command as a durable job and sends it when the budget lets it.
    pub async fn command(
        &self,
        key: &ConnectionKey,
        name: &str,
        parameters: BTreeMap<String, String>,
        idempotency_key: Option<String>,
        by: &str,
    ) -> Result<JobView, Denied> {
        todo!()
    }
    /// The operator's switch (F11); `None` clears it, the file's value is in force again.
    pub async fn set_enabled(&self, key: &ConnectionKey, on: Option<bool>, by: &str) -> Result<ConnectionView, Denied> {
        todo!()
    }
    /// Copies the file while it is in use; the copy is verified before it gets its name.
    pub async fn backup(&self, destination: &std::path::Path) -> Result<String, Denied> {
        todo!()
    }
    /// Returns the token's text, shown once.
    pub async fn create_token(&self, name: &str, role: &str, organization: &Organization) -> Result<String, Denied> {
        todo!()
    }
    pub fn tokens(&self) -> Result<Vec<TokenInfo>, Denied> {
        todo!()
    }
    pub async fn revoke_token(&self, id: u64) -> Result<(), Denied> {
        todo!()
    }
    /// The token that this text is, if it is one and not revoked.
    pub fn check_token(&self, text: &str) -> Option<TokenInfo> {
        todo!()
    }
}
