//! The budget: all limits of one credential, decided together.

use crate::domain::charge::{Charge, Resolution};
use crate::domain::connection::{Ask, Hold};
use crate::domain::ids::*;
use crate::domain::limit::Limit;
use crate::domain::time::{Now, Span, Stamp, Steady};
use std::collections::BTreeMap;

/// Leave to send one request. Only the budget makes one, and only after its charge is durable; `upstream` consumes it.
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
#[must_use]
#[derive(Debug)]
pub struct Reserved {
    charge: Charge,
    send_by: Steady,
}

impl Reserved {
    pub fn charge(&self) -> &Charge {
        &self.charge
    }
    /// To be called by `store::write` alone, after the commit.
    pub(crate) fn durable(self) -> Permit {
        Permit { charge: self.charge, send_by: self.send_by }
    }
}

/// Who asks for what, in full.
#[derive(Clone, Debug)]
pub struct Request {
    pub connection: ConnectionKey,
    pub target: Option<TargetName>,
    pub ask: Ask,
    /// How long the permit may lie before the request is written (covers a slow commit).
    pub send_grace: Span,
    /// Total timeout of the request once written.
    pub request_timeout: Span,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Exact: admitted then, refused a moment before, if nothing else is admitted or resolved meanwhile.
    NotUntil {
        at: Steady,
        limit: String,
    },
    Held(Hold),
    /// The cost is above what the limit can ever give this caller.
    NeverFits {
        limit: String,
    },
}

/// How one limit (for one endpoint where scoped so) stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Usage {
    pub limit: Limit,
    pub endpoint: Option<Endpoint>,
    pub used: u64,
    pub used_by: BTreeMap<Caller, u64>,
    pub kept: u64,
    /// When the next used unit comes free.
    pub next_free_at: Option<Steady>,
}

/// The ledger of one credential in memory. Rebuilt from the durable charges at start.
#[derive(Clone, Debug)]
pub struct Ledger {}

impl Ledger {
    pub fn new(_credential: CredentialId, _limits: Vec<Limit>) -> Ledger {
        todo!()
    }
    /// Takes in a charge read from the store. Pending ones count as posted at their deadline.
    pub fn restore(&mut self, _charge: &Charge) {
        todo!()
    }
    pub fn set_hold(&mut self, _hold: Option<Hold>) {
        todo!()
    }
    pub fn hold(&self) -> Option<&Hold> {
        todo!()
    }
    /// All limits and the hold, atomically. `id` is the number that the charge gets if it is taken.
    pub fn admit(&mut self, _now: &Now, _id: ChargeId, _request: &Request) -> Result<Reserved, Refusal> {
        todo!()
    }
    /// As `admit`, without taking anything.
    pub fn would_admit(&self, _now: &Now, _ask: &Ask) -> Result<(), Refusal> {
        todo!()
    }
    pub fn resolve(&mut self, _id: ChargeId, _resolution: &Resolution) {
        todo!()
    }
    /// Forgets what no limit counts any more.
    pub fn sweep(&mut self, _now: &Now) {
        todo!()
    }
    pub fn usage(&self, _now: &Now, _endpoints: &[Endpoint]) -> Vec<Usage> {
        todo!()
    }
    /// No charge reserved before this is counted by any limit: where a restart begins to read.
    pub fn horizon(_limits: &[Limit], _now: &Now) -> Steady {
        todo!()
    }
    pub fn stamp_of(_now: &Now) -> Stamp {
        todo!()
    }
}
