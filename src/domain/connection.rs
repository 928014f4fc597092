//! Durable state of a connection and of its credential.

use super::ids::Caller;
use super::outcome::Outcome;
use super::time::{Stamp, Steady};
use serde::{Deserialize, Serialize};

/// Why nobody calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HoldReason {
    RateLimited,
    /// The long window is spent: until its reset.
    Exhausted,
    CredentialRejected,
    Overloaded,
    Gone,
    /// Out of money, points or plan.
    Unpaid,
}

impl HoldReason {
    pub const ALL: [HoldReason; 6] = [
        HoldReason::RateLimited,
        HoldReason::Exhausted,
        HoldReason::CredentialRejected,
        HoldReason::Overloaded,
        HoldReason::Gone,
        HoldReason::Unpaid,
    ];

    pub const fn word(self) -> &'static str {
        match self {
            HoldReason::RateLimited => "rate_limited",
            HoldReason::Exhausted => "exhausted",
            HoldReason::CredentialRejected => "credential_rejected",
            HoldReason::Overloaded => "overloaded",
            HoldReason::Gone => "gone",
            HoldReason::Unpaid => "unpaid",
        }
    }
}

/// A credential is not used until `until`. Lives with the budget, so that every caller of the credential meets it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hold {
    pub since: Stamp,
    pub until: Steady,
    pub reason: HoldReason,
    /// Where the length came from (`Retry-After`, `window of limit "status"`).
    pub source: String,
    /// Rule of the classification that matched.
    pub rule: String,
    pub said: Option<String>,
    /// Refusals in a row; a second strike lengthens.
    pub strikes: u32,
}

/// Closed: calls flow. Open: none until `until`. Half-open: one probe decides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Breaker {
    #[default]
    Closed,
    Open {
        since: Stamp,
        until: Steady,
    },
    HalfOpen {
        since: Stamp,
    },
}

impl Breaker {
    pub const fn word(&self) -> &'static str {
        match self {
            Breaker::Closed => "closed",
            Breaker::Open { .. } => "open",
            Breaker::HalfOpen { .. } => "half_open",
        }
    }
}

/// Durable state of a connection: its poll clock, its breaker, what an operator set.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ConnectionState {
    /// Start of the last polling round: stamped before the first call (A4).
    pub last_poll_at: Option<Stamp>,
    /// No poll before this.
    pub next_poll_at: Option<Stamp>,
    pub breaker: Breaker,
    /// Failures in a row that were not refusals by a limit.
    pub failures: u32,
    /// Grows with failures, back to zero on success; never shortens the interval (F3).
    pub backoff_ms: u64,
    pub last_outcome: Option<(Stamp, Outcome)>,
    /// The operator's switch; wins over the file until cleared (F11).
    pub enabled: Option<Switch>,
}

/// A decision of an operator, with who and when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Switch {
    pub on: bool,
    pub by: String,
    pub at: Stamp,
}

/// What a caller wants to spend. The argument of `admit`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ask {
    pub caller: Caller,
    pub endpoint: super::ids::Endpoint,
    pub cost: u32,
}
