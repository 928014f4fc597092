//! The budget: all limits of one credential, decided together. Knows nothing of disks, sockets or clocks.
//!
//! * [`window`] says how long a charge counts under one limit.
//! * [`slots`] counts charges by the moment they arrived, [`anchors`] by the window that a request opened; [`book`] is either.
//! * [`parts`] divides a limit between organizations, `lending` says what is held for each of them.
//! * [`open`] counts what the provider has in hand for as long as it likes.
//! * `share` takes off what others spend and what the provider does not grant.
//! * [`unseen`] says what can have been sent by an appliance whose books are not here.
//! * [`ledger`] holds every limit and the hold of one credential, and answers `admit`.
//!
//! The rule behind all of it (law 1): the provider may count a request at any instant between its reservation here and the
//! arrival of its answer. So a request counts from its reservation on, and stops counting only when it provably cannot be in
//! the provider's window any more, taking its *arrival* as the latest instant at which it was counted.

pub mod anchors;
pub mod book;
pub mod ledger;
mod lending;
pub mod open;
pub mod parts;
mod share;
pub mod slots;
pub mod unseen;
pub mod window;

pub use ledger::Ledger;
pub use share::Own;

use crate::domain::charge::Charge;
use crate::domain::connection::{Ask, Hold};
use crate::domain::ids::{Caller, ChargeId, ConnectionKey, Endpoint, Organization, TargetName};
use crate::domain::limit::Limit;
use crate::domain::time::{Span, Steady};
use std::collections::BTreeMap;

/// Leave to send one request. Only the budget makes one, and only after its charge is durable; `upstream` consumes it.
///
/// ```compile_fail
/// fn twice(p: larder::rules::budget::Permit) { drop(p.clone()); }
/// ```
#[must_use = "a permit is already paid for"]
#[derive(Debug)]
pub struct Permit {
    charge: Charge,
    send_by: Steady,
}

impl Permit {
    pub fn charge(&self) -> &Charge {
        &self.charge
    }
    pub fn id(&self) -> ChargeId {
        self.charge.id
    }
    /// Nothing may be written to the socket after this.
    pub fn send_by(&self) -> Steady {
        self.send_by
    }
    /// The answer must be in, or given up, by then.
    pub fn deadline(&self) -> Steady {
        self.charge.deadline
    }
}

/// A charge that the ledger has taken but that is not durable yet.
#[must_use = "the ledger has already taken it"]
#[derive(Debug)]
pub struct Reserved {
    charge: Charge,
    send_by: Steady,
}

impl Reserved {
    pub fn charge(&self) -> &Charge {
        &self.charge
    }
    /// To be called by `store` alone, after the commit (a test holds that).
    pub fn durable(self) -> Permit {
        Permit { charge: self.charge, send_by: self.send_by }
    }
}

/// Who asks for what, in full.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    pub connection: ConnectionKey,
    pub target: Option<TargetName>,
    pub ask: Ask,
    /// How long the permit may lie before the request is written (covers a slow commit).
    pub send_grace: Span,
    /// Total timeout of the request once written.
    pub request_timeout: Span,
}

/// The answer of `admit` where it is no. A refusal takes nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Exact: admitted then and refused a moment before, if nothing else is admitted or resolved meanwhile.
    NotUntil { at: Steady, limit: String },
    /// The credential, or the endpoint, is held; see `Hold::until`.
    Held(Box<Hold>),
    /// A hold has just ended and one request finds out whether the provider agrees: everybody else waits for its answer, which
    /// is there, or given up, at this moment.
    Probing { at: Steady },
    /// The cost is above what the limit can ever give this caller.
    NeverFits { limit: String },
}

/// How one limit (for one endpoint where scoped so) stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Usage {
    /// With the amount in force.
    pub limit: Limit,
    /// The amount in the configuration: higher where the provider keeps to a lower one.
    pub declared: u64,
    pub endpoint: Option<Endpoint>,
    /// Units that count now, in flight included.
    pub used: u64,
    pub used_by: BTreeMap<Caller, u64>,
    /// Units that others have taken, by the provider's own count.
    pub foreign: u64,
    /// Units that only their caller may take and that are still there.
    pub kept: u64,
    /// When the next used unit comes free; an unresolved request is taken to arrive at its deadline.
    pub next_free_at: Option<Steady>,
    /// Where several organizations spend with the credential and divide the limit: how each stands.
    pub parts: Vec<PartUsage>,
    /// When the provider's period turns: by its calendar, or by the window that a request opened. `None` for windows that roll.
    pub resets_at: Option<Steady>,
}

/// How an organization stands under one limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartUsage {
    pub organization: Organization,
    /// Units it can count on, and those of them that are never lent.
    pub share: u64,
    pub floor: u64,
    pub used: u64,
    /// Units that are there for it alone.
    pub held: u64,
}

impl Usage {
    pub fn remaining(&self) -> u64 {
        self.limit.amount.saturating_sub(self.used).saturating_sub(self.foreign)
    }
}
