//! Whether Larder asks by itself at all, and how much at once: of the process, not of one connection (F11).

use super::connection::Switch;
use super::time::Stamp;

/// Requests of the poller that may be under way at once, unless the file says otherwise.
pub const WORKERS: u32 = 8;
/// More are not asked for: each holds a socket and an answer in memory.
pub const MOST_WORKERS: u32 = 64;

/// As the file says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PollingSpec {
    pub enabled: bool,
    pub workers: u32,
}

impl Default for PollingSpec {
    fn default() -> Self {
        PollingSpec { enabled: true, workers: WORKERS }
    }
}

/// What operators set instead; each wins until it is cleared. Durable.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PollingState {
    pub enabled: Option<Switch>,
    pub workers: Option<WorkersOverride>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkersOverride {
    pub workers: u32,
    pub by: String,
    pub at: Stamp,
}
