//! How often is polled, and what that amounts to, as it is shown. Knows figures; must not know how a plan is made.

use super::{Seconds, When};
use serde::Serialize;

#[derive(Clone, Debug, Serialize)]
pub struct PollView {
    /// As configured; for `auto` as computed.
    pub interval_seconds: Seconds,
    /// max(interval, backoff), stretched to what the budget can keep up.
    pub effective_interval_seconds: Seconds,
    /// Set where the limits cannot keep up the interval: null otherwise.
    pub stretched: Option<StretchView>,
    pub last_poll_at: Option<When>,
    pub next_poll_at: Option<When>,
}

/// Why polls come less often than was wished.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StretchView {
    pub from_seconds: Seconds,
    pub to_seconds: Seconds,
    /// The limit that cannot keep it up.
    pub limit: Option<String>,
    pub sentence: String,
}

#[derive(Clone, Debug, Serialize)]
pub struct ForecastView {
    /// What is sent, and the units of the limits that it takes.
    pub requests_per_day: u64,
    pub units_per_day: u64,
    /// Targets that the budget can keep at this interval; null where no limit bounds them.
    pub ceiling_targets: Option<u64>,
}
