//! Records of the ledger: a charge, and the holds of its credential.

use super::codes::Coded;
use super::{MOST, READ, V1, V2, down, key_of, unknown_version, up, v1, v2};
use crate::domain::charge::{Charge, Resolution, Settlement};
use crate::domain::connection::{Hold, HoldReason, HoldScope, Ramp};
use crate::domain::ids::{Caller, ChargeId, ConnectionKey, CredentialId, Endpoint, TargetName};
use crate::domain::outcome::Outcome;
use crate::domain::time::{Stamp, Steady, Wall};
use crate::store::codec::{self, Damaged};

pub(in crate::store) fn charge(c: &Charge) -> Result<Vec<u8>, Damaged> {
    let record = v1::Charge {
        credential: c.credential.0,
        reserved_steady: c.reserved_at.steady.0.to_be_bytes(),
        pending: u8::from(c.resolution.is_none()),
        organization: c.connection.organization.0.clone(),
        connection: c.connection.connection.0.clone(),
        target: c.target.as_ref().map(|t| t.0.clone()),
        caller: c.caller.code(),
        endpoint: c.endpoint.0.clone(),
        cost: c.cost,
        reserved_wall: c.reserved_at.wall.0,
        reserved_era: c.reserved_at.era,
        deadline: c.deadline.0,
        resolution: c.resolution.as_ref().map(resolution_down),
    };
    codec::encode(V1, &record, MOST)
}

pub(in crate::store) fn charge_of(id: u64, bytes: &[u8]) -> Result<Charge, Damaged> {
    let c: v1::Charge = match codec::split(bytes)? {
        (V1, payload) => codec::decode::<_, READ>(payload)?,
        (other, _) => return unknown_version(other),
    };
    if (c.pending == 1) != c.resolution.is_none() || c.pending > 1 {
        return Err(Damaged::because("it says both pending and resolved"));
    }
    let steady = Steady(u64::from_be_bytes(c.reserved_steady));
    Ok(Charge {
        id: ChargeId(id),
        credential: CredentialId(c.credential),
        connection: key_of(c.organization, c.connection),
        target: c.target.map(TargetName),
        caller: Caller::coded(c.caller)?,
        endpoint: Endpoint(c.endpoint),
        cost: c.cost,
        reserved_at: Stamp { steady, wall: Wall(c.reserved_wall), era: c.reserved_era },
        deadline: Steady(c.deadline),
        resolution: c.resolution.map(resolution_up).transpose()?,
    })
}

fn resolution_down(r: &Resolution) -> v1::Resolution {
    v1::Resolution {
        at: down(r.at),
        settlement: r.settlement.code(),
        outcome: r.outcome.code(),
        status: r.status,
        rule: r.rule.clone(),
        said: r.said.clone(),
    }
}

fn resolution_up(r: v1::Resolution) -> Result<Resolution, Damaged> {
    Ok(Resolution {
        at: up(r.at),
        settlement: Settlement::coded(r.settlement)?,
        outcome: Outcome::coded(r.outcome)?,
        status: r.status,
        rule: r.rule,
        said: r.said,
        // Part of the charge, once resolved.
        cost: None,
    })
}

/// What can be seen of a charge without decoding it: enough to skip the rows of others in a long scan.
pub(in crate::store) struct Peek<'a> {
    pub credential: CredentialId,
    pub reserved: Steady,
    pub pending: bool,
    rest: &'a [u8],
}

/// Reads the fields of fixed width at the front. `None`: another version, or damaged; decode it.
pub(in crate::store) fn peek(bytes: &[u8]) -> Option<Peek<'_>> {
    let (credential, rest) = bytes.strip_prefix(&[V1])?.split_first_chunk::<16>()?;
    let (reserved, rest) = rest.split_first_chunk::<8>()?;
    let (pending, rest) = rest.split_first()?;
    let reserved = Steady(u64::from_be_bytes(*reserved));
    Some(Peek { credential: CredentialId(*credential), reserved, pending: *pending == 1, rest })
}

impl Peek<'_> {
    pub fn is_of(&self, connection: &ConnectionKey) -> bool {
        let text = |bytes: &mut &[u8], want: &str| {
            // Lengths below 251 are one byte; longer names are left to the decoder.
            let Some((len, rest)) = bytes.split_first() else { return true };
            if *len > 250 {
                return true;
            }
            let Some((text, rest)) = rest.split_at_checked(usize::from(*len)) else { return true };
            *bytes = rest;
            text == want.as_bytes()
        };
        let mut rest = self.rest;
        text(&mut rest, connection.organization.as_str()) && text(&mut rest, connection.connection.as_str())
    }
}

pub(in crate::store) fn hold(h: &Hold) -> Result<Vec<u8>, Damaged> {
    let record = v2::Hold {
        since: down(h.since),
        until: h.until.0,
        reason: h.reason.code(),
        source: h.source.clone(),
        rule: h.rule.clone(),
        said: h.said.clone(),
        strikes: h.strikes,
        ramp: h.ramp.map(|r| v2::Ramp { since: down(r.since), steps: r.steps }),
    };
    codec::encode(V2, &record, MOST)
}

/// `scope`: from the row's key.
pub(in crate::store) fn hold_of(scope: HoldScope, bytes: &[u8]) -> Result<Hold, Damaged> {
    let h: v2::Hold = match codec::split(bytes)? {
        (V1, payload) => codec::decode::<v1::Hold, READ>(payload)?.into(),
        (V2, payload) => codec::decode::<_, READ>(payload)?,
        (other, _) => return unknown_version(other),
    };
    Ok(Hold {
        scope,
        since: up(h.since),
        until: Steady(h.until),
        reason: HoldReason::coded(h.reason)?,
        source: h.source,
        rule: h.rule,
        said: h.said,
        strikes: h.strikes,
        ramp: h.ramp.map(|r| Ramp { since: up(r.since), steps: r.steps }),
    })
}
