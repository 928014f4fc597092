//! Record of a sum of spending; what it is the sum of stands in its key.

use super::{MOST, READ, V1, unknown_version, v1};
use crate::domain::ids::ChargeId;
use crate::domain::spend::Spend;
use crate::store::codec::{self, Damaged};

/// A sum, and the first charge that is in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::store) struct Sum {
    pub spend: Spend,
    pub first: ChargeId,
}

pub(in crate::store) fn sum(s: &Sum) -> Result<Vec<u8>, Damaged> {
    let record = v1::Sum { requests: s.spend.requests, units: s.spend.units, first: s.first.0 };
    codec::encode(V1, &record, MOST)
}

pub(in crate::store) fn sum_of(bytes: &[u8]) -> Result<Sum, Damaged> {
    let s: v1::Sum = match codec::split(bytes)? {
        (V1, payload) => codec::decode::<_, READ>(payload)?,
        (other, _) => return unknown_version(other),
    };
    Ok(Sum { spend: Spend { requests: s.requests, units: s.units }, first: ChargeId(s.first) })
}
