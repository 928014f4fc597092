//! Records of the gateway's answers: the head with everything but the body, and the body as it is.

use super::codes::Coded;
use super::{SHELF_MOST, SHELF_READ, V1, bounded, down, key_of, unknown_version, up, v1};
use crate::domain::gateway::{Head, Kept, Reading, ShelfKey};
use crate::domain::ids::CredentialId;
use crate::store::codec::{self, Damaged};

/// The longest body that is kept, whatever the configuration.
const BODY_MOST: usize = 64 << 20;

pub(in crate::store) fn shelf_head(head: &Head) -> Result<Vec<u8>, Damaged> {
    let record = v1::ShelfHead {
        organization: head.key.connection.organization.0.clone(),
        connection: head.key.connection.connection.0.clone(),
        credential: head.key.credential.0,
        reading: head.key.reading.code(),
        target: head.key.target.clone(),
        variant: bounded(head.variant.clone())?,
        kept: head.kept.code(),
        status: head.status,
        headers: bounded(head.headers.clone())?,
        asked_at: down(head.asked_at),
        as_of: down(head.as_of),
        changed_at: down(head.changed_at),
        digest: head.digest,
        body_bytes: head.body_bytes,
        cost: head.cost,
    };
    codec::encode(V1, &record, SHELF_MOST)
}

pub(in crate::store) fn shelf_head_of(bytes: &[u8]) -> Result<Head, Damaged> {
    let h: v1::ShelfHead = match codec::split(bytes)? {
        (V1, payload) => codec::decode::<_, SHELF_READ>(payload)?,
        (other, _) => return unknown_version(other),
    };
    Ok(Head {
        key: ShelfKey {
            connection: key_of(h.organization, h.connection),
            credential: CredentialId(h.credential),
            reading: Reading::coded(h.reading)?,
            target: h.target,
        },
        variant: bounded(h.variant)?,
        kept: Kept::coded(h.kept)?,
        status: h.status,
        headers: bounded(h.headers)?,
        asked_at: up(h.asked_at),
        as_of: up(h.as_of),
        changed_at: up(h.changed_at),
        digest: h.digest,
        body_bytes: h.body_bytes,
        cost: h.cost,
    })
}

pub(in crate::store) fn shelf_body(body: &[u8]) -> Result<Vec<u8>, Damaged> {
    match body.len() {
        n if n > BODY_MOST => Err(Damaged(format!("it has {n} bytes and at most {BODY_MOST} are kept"))),
        _ => Ok([&[V1], body].concat()),
    }
}

pub(in crate::store) fn shelf_body_of(bytes: &[u8]) -> Result<&[u8], Damaged> {
    match codec::split(bytes)? {
        (V1, body) => Ok(body),
        (other, _) => unknown_version(other),
    }
}
