//! Durable state of a connection and of its credential.

use super::ids::{Caller, Endpoint, Organization};
use super::outcome::Outcome;
use super::spec::Interval;
use super::time::{Span, Stamp, Steady};
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

/// Whom a hold stops.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum HoldScope {
    /// Everybody who holds the credential.
    #[default]
    Credential,
    /// Who asks this endpoint with it.
    Endpoint(Endpoint),
}

impl HoldScope {
    pub const fn word(&self) -> &'static str {
        match self {
            HoldScope::Credential => "credential",
            HoldScope::Endpoint(_) => "endpoint",
        }
    }
    pub const fn endpoint(&self) -> Option<&Endpoint> {
        match self {
            HoldScope::Credential => None,
            HoldScope::Endpoint(endpoint) => Some(endpoint),
        }
    }
    /// Whether a request to `endpoint` is meant.
    pub fn covers(&self, endpoint: &Endpoint) -> bool {
        self.endpoint().is_none_or(|held| held == endpoint)
    }
}

/// The way back after a long hold: polls come slower than usual, and with every step less so.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ramp {
    /// When the last step was made; the first is the good answer that proved the hold to be over.
    pub since: Stamp,
    pub steps: u32,
}

/// A credential, or one endpoint of it, is not used until `until`. Lives with the budget, so that every caller meets it. Once
/// `until` is past it is *unproven*: one request alone finds out whether it is over, and a good answer lifts it, at once or
/// by way of a ramp.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hold {
    pub scope: HoldScope,
    pub since: Stamp,
    pub until: Steady,
    pub reason: HoldReason,
    /// Where the length came from (`Retry-After`, `the window of limit "status", as no wait was given`).
    pub source: String,
    /// Rule of the classification that matched.
    pub rule: String,
    pub said: Option<String>,
    /// Refusals in a row; a second strike lengthens.
    pub strikes: u32,
    /// Set once a good answer came after it; from then on it stops nobody.
    pub ramp: Option<Ramp>,
}

impl Hold {
    /// Whether nobody whom it stops may ask at `now`.
    pub fn is_in_force(&self, now: Steady) -> bool {
        self.ramp.is_none() && self.until > now
    }
    /// Whether its time is up and nobody knows yet whether the provider agrees.
    pub fn is_unproven(&self, now: Steady) -> bool {
        self.ramp.is_none() && self.until <= now
    }
}

/// What becomes of a hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HoldChange {
    Put(Hold),
    Lift(HoldScope),
}

impl HoldChange {
    pub const fn scope(&self) -> &HoldScope {
        match self {
            HoldChange::Put(hold) => &hold.scope,
            HoldChange::Lift(scope) => scope,
        }
    }
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
    pub overrides: Overrides,
    /// What partial throttling is told by (F9).
    pub recent: Recent,
}

/// The newest answers to requests of a connection: which were refusals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recent {
    /// A bit for each, the newest lowest.
    pub refused: u32,
    /// How many of the bits mean something.
    pub answers: u32,
    /// How often in a row the breaker opened for too many refusals.
    pub trips: u32,
}

/// What an operator set in place of what the file says (F11); each wins until it is cleared.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Overrides {
    pub interval: Option<IntervalOverride>,
    /// What the interval that was set for a time stands in front of: it is back when that is over (F13).
    pub standing: Option<IntervalOverride>,
    pub inactivity_ttl: Option<SpanOverride>,
    pub completion_grace: Option<SpanOverride>,
}

impl Overrides {
    /// Sets the interval, or clears it. What is set until further notice stays behind what is set for a time, and only behind that.
    pub fn set_interval(&mut self, interval: Option<IntervalOverride>) {
        let lasting = |set: &IntervalOverride| set.until.is_none();
        let standing = self.interval.take().filter(lasting).or(self.standing.take());
        self.standing = standing.filter(|_| interval.as_ref().is_some_and(|set| !lasting(set)));
        self.interval = interval;
    }

    /// The time of what was set for a time is over.
    pub fn restore_interval(&mut self) {
        self.interval = self.standing.take();
    }

    /// What is set until further notice, in force or behind what is set for a time.
    pub fn lasting_interval(&self) -> Option<&IntervalOverride> {
        self.interval.as_ref().filter(|set| set.until.is_none()).or(self.standing.as_ref())
    }
}

/// How often to poll instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IntervalOverride {
    pub interval: Interval,
    /// When it ends by itself (F13).
    pub until: Option<Stamp>,
    pub by: String,
    pub at: Stamp,
}

impl IntervalOverride {
    /// On the steady timeline alone, like every schedule: a wall clock put right neither ends nor prolongs it.
    pub fn is_over(&self, now: Steady) -> bool {
        self.until.is_some_and(|until| until.steady <= now)
    }
}

/// A length of time that an operator chose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpanOverride {
    /// `None`: never, whatever the file says.
    pub span: Option<Span>,
    pub by: String,
    pub at: Stamp,
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
    pub endpoint: Endpoint,
    pub cost: u32,
    /// For whom, where several organizations spend with the credential.
    pub organization: Option<Organization>,
}
