//! Records of what operators say of targets: the phase of one, and one that was put.

use super::codes::Coded;
use super::{MOST, READ, SHELF_MOST, SHELF_READ, V1, down, unknown_version, up, v4};
use crate::domain::ids::{TargetKey, TargetName};
use crate::domain::target::{Life, Phase, PutTarget};
use crate::store::codec::{self, Damaged};

pub(in crate::store) fn life(life: &Life) -> Result<Vec<u8>, Damaged> {
    let record = v4::Life {
        phase: life.phase.code(),
        since: life.since.map(down),
        by: life.by.clone(),
        why: life.why.clone(),
        activated_at: life.activated_at.map(down),
    };
    codec::encode(V1, &record, MOST)
}

pub(in crate::store) fn life_of(bytes: &[u8]) -> Result<Life, Damaged> {
    let life: v4::Life = match codec::split(bytes)? {
        (V1, payload) => codec::decode::<_, READ>(payload)?,
        (other, _) => return unknown_version(other),
    };
    Ok(Life {
        phase: Phase::coded(life.phase)?,
        since: life.since.map(up),
        by: life.by,
        why: life.why,
        activated_at: life.activated_at.map(up),
    })
}

/// With its name: the key has it escaped.
pub(in crate::store) fn put_target(key: &TargetKey, put: &PutTarget) -> Result<Vec<u8>, Damaged> {
    let (name, body, by) = (key.target.0.clone(), put.body.clone(), put.by.clone());
    codec::encode(V1, &v4::PutTarget { name, body, by, at: down(put.at) }, SHELF_MOST)
}

pub(in crate::store) fn put_target_of(bytes: &[u8]) -> Result<(TargetName, PutTarget), Damaged> {
    let put: v4::PutTarget = match codec::split(bytes)? {
        (V1, payload) => codec::decode::<_, SHELF_READ>(payload)?,
        (other, _) => return unknown_version(other),
    };
    Ok((TargetName(put.name), PutTarget { body: put.body, by: put.by, at: up(put.at) }))
}
