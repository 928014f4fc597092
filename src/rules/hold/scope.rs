//! Whom a refusal stops. A limit is the account's until a recipe knows better; what is gone is gone at one address; a 401 or 403 is
//! a matter of one endpoint as long as another one works. Must not know for how long.

use crate::domain::connection::{Hold, HoldReason, HoldScope};
use crate::domain::ids::Endpoint;
use crate::domain::outcome::{Outcome, Reach, Verdict};

/// `None`: nobody. `holds`: those of the credential that are not lifted; `in_use`: the endpoints that are polled with it.
pub fn scope(verdict: &Verdict, endpoint: &Endpoint, holds: &[Hold], in_use: &[Endpoint]) -> Option<HoldScope> {
    let alone = || HoldScope::Endpoint(endpoint.clone());
    match (verdict.reach, verdict.outcome) {
        (Some(Reach::Nobody), _) => None,
        (Some(Reach::Credential), _) => Some(HoldScope::Credential),
        (Some(Reach::Endpoint), _) | (None, Outcome::Gone) => Some(alone()),
        (None, Outcome::CredentialRejected) if another_may_work(endpoint, holds, in_use) => Some(alone()),
        (None, _) => Some(HoldScope::Credential),
    }
}

/// Whether an endpoint is in use that was not rejected itself. While the credential as a whole counts as rejected, and nothing
/// has proven the contrary, none is.
fn another_may_work(endpoint: &Endpoint, holds: &[Hold], in_use: &[Endpoint]) -> bool {
    let rejected = |scope: &HoldScope| {
        holds.iter().any(|h| h.scope == *scope && h.reason == HoldReason::CredentialRejected && h.ramp.is_none())
    };
    !rejected(&HoldScope::Credential)
        && in_use.iter().any(|other| other != endpoint && !rejected(&HoldScope::Endpoint(other.clone())))
}
