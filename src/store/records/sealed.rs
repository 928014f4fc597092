//! Record of a sealed secret: its version, and bytes that say nothing without the key.

use super::{MOST, READ, V1, unknown_version, v1};
use crate::store::codec::{self, Damaged};
use crate::store::sealed::Sealed;

pub(in crate::store) fn sealed(s: &Sealed) -> Result<Vec<u8>, Damaged> {
    codec::encode(V1, &v1::Sealed { version: s.version, bytes: s.bytes.clone() }, MOST)
}

pub(in crate::store) fn sealed_of(bytes: &[u8]) -> Result<Sealed, Damaged> {
    let s: v1::Sealed = match codec::split(bytes)? {
        (V1, payload) => codec::decode::<_, READ>(payload)?,
        (other, _) => return unknown_version(other),
    };
    Ok(Sealed { version: s.version, bytes: s.bytes })
}
