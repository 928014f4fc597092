//! Records of findings.

use super::codes::Coded;
use super::{MOST, READ, V1, down, key_of, unknown_version, up, v1};
use crate::domain::finding::{Finding, FindingKind, Matter};
use crate::domain::ids::{CredentialId, FindingId, TargetName};
use crate::store::codec::{self, Damaged};

pub(in crate::store) fn finding(f: &Finding) -> Result<Vec<u8>, Damaged> {
    let record = v1::Finding {
        organization: f.about.connection.organization.0.clone(),
        connection: f.about.connection.connection.0.clone(),
        target: f.about.target.as_ref().map(|t| t.0.clone()),
        kind: f.about.kind.code(),
        subject: f.about.subject.clone(),
        credential: f.credential.map(|c| c.0),
        opened_at: down(f.opened_at),
        last_seen_at: down(f.last_seen_at),
        count: f.count,
        closed_at: f.closed_at.map(down),
        sentence: f.sentence.clone(),
        detail: f.detail.clone(),
    };
    codec::encode(V1, &record, MOST)
}

pub(in crate::store) fn finding_of(id: u64, bytes: &[u8]) -> Result<Finding, Damaged> {
    let f: v1::Finding = match codec::split(bytes)? {
        (V1, payload) => codec::decode::<_, READ>(payload)?,
        (other, _) => return unknown_version(other),
    };
    let about = Matter {
        connection: key_of(f.organization, f.connection),
        target: f.target.map(TargetName),
        kind: FindingKind::coded(f.kind)?,
        subject: f.subject,
    };
    Ok(Finding {
        id: FindingId(id),
        about,
        credential: f.credential.map(CredentialId),
        opened_at: up(f.opened_at),
        last_seen_at: up(f.last_seen_at),
        count: f.count,
        closed_at: f.closed_at.map(up),
        sentence: f.sentence,
        detail: f.detail,
    })
}

/// The byte of a kind in the key of an open finding.
pub(in crate::store) fn finding_kind(kind: FindingKind) -> u8 {
    kind.code()
}
