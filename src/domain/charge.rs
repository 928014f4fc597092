//! The ledger's line: one request, reserved before it is sent, resolved when its fate is known.

use super::ids::{Caller, ChargeId, ConnectionKey, CredentialId, Endpoint, TargetName};
use super::outcome::Outcome;
use super::time::{Stamp, Steady};

/// One request in the durable book.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Charge {
    pub id: ChargeId,
    pub credential: CredentialId,
    pub connection: ConnectionKey,
    pub target: Option<TargetName>,
    pub caller: Caller,
    pub endpoint: Endpoint,
    /// Units of the limits that this request takes.
    pub cost: u32,
    pub reserved_at: Stamp,
    /// The latest moment at which the answer can arrive: reserved_at + send grace + request timeout.
    pub deadline: Steady,
    /// `None` while pending. Found pending after a crash it counts as posted at `deadline`.
    pub resolution: Option<Resolution>,
}

/// Whether the provider may have counted the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settlement {
    Posted,
    /// The provider never saw it, or documents that it does not count it (a 304 where `conditional = "free"`); the units are
    /// free again at once.
    Voided,
}

/// How a charge ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolution {
    /// When the answer arrived, or when it was given up.
    pub at: Stamp,
    pub settlement: Settlement,
    pub outcome: Outcome,
    pub status: Option<u16>,
    pub rule: String,
    pub said: Option<String>,
    /// What the answer says the request cost. More than was reserved counts from the arrival on; less gives nothing back, for
    /// the provider may have counted what was asked first. Written down as the charge's cost.
    pub cost: Option<u32>,
}

impl Charge {
    /// The charge with its end, and with the cost that is known now.
    pub fn resolved(self, resolution: Resolution) -> Charge {
        let cost = self.cost.max(resolution.cost.unwrap_or(0));
        Charge { cost, resolution: Some(Resolution { cost: None, ..resolution }), ..self }
    }
}
