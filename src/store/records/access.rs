//! Records of who may come in: tokens, operators, their sessions, claims, and when each was used last.

use super::{MOST, READ, V1, V2, down, unknown_version, up, v1, v5};
use crate::domain::ids::Organization;
use crate::domain::operator::{Claim, Digest, Operator, PasswordHash, Session};
use crate::domain::time::Stamp;
use crate::store::TokenRecord;
use crate::store::codec::{self, Damaged};

pub(in crate::store) fn token(t: &TokenRecord) -> Result<Vec<u8>, Damaged> {
    let record = v5::Token {
        name: t.name.clone(),
        hash: t.hash,
        role: t.role.clone(),
        organization: t.organization.0.clone(),
        created_at: down(t.created_at),
        revoked_at: t.revoked_at.map(down),
        expires_at: t.expires_at.map(down),
    };
    codec::encode(V2, &record, MOST)
}

pub(in crate::store) fn token_of(id: u64, bytes: &[u8]) -> Result<TokenRecord, Damaged> {
    let t: v5::Token = match codec::split(bytes)? {
        (V1, payload) => codec::decode::<v1::Token, READ>(payload)?.into(),
        (V2, payload) => codec::decode::<_, READ>(payload)?,
        (other, _) => return unknown_version(other),
    };
    Ok(TokenRecord {
        id,
        name: t.name,
        hash: t.hash,
        role: t.role,
        organization: Organization(t.organization),
        created_at: up(t.created_at),
        revoked_at: t.revoked_at.map(up),
        expires_at: t.expires_at.map(up),
    })
}

pub(in crate::store) fn operator(o: &Operator) -> Result<Vec<u8>, Damaged> {
    let record = v5::Operator {
        name: o.name.clone(),
        password: o.password.as_ref().map(|hash| hash.0.clone()),
        added_at: down(o.added_at),
        added_by: o.added_by.clone(),
        password_at: o.password_at.map(down),
    };
    codec::encode(V1, &record, MOST)
}

pub(in crate::store) fn operator_of(bytes: &[u8]) -> Result<Operator, Damaged> {
    let o: v5::Operator = match codec::split(bytes)? {
        (V1, payload) => codec::decode::<_, READ>(payload)?,
        (other, _) => return unknown_version(other),
    };
    Ok(Operator {
        name: o.name,
        password: o.password.map(PasswordHash),
        added_at: up(o.added_at),
        added_by: o.added_by,
        password_at: o.password_at.map(up),
    })
}

pub(in crate::store) fn session(s: &Session) -> Result<Vec<u8>, Damaged> {
    let record = v5::Session { operator: s.operator.clone(), begun_at: down(s.begun_at), from: s.from.clone() };
    codec::encode(V1, &record, MOST)
}

pub(in crate::store) fn session_of(digest: Digest, bytes: &[u8]) -> Result<Session, Damaged> {
    let s: v5::Session = match codec::split(bytes)? {
        (V1, payload) => codec::decode::<_, READ>(payload)?,
        (other, _) => return unknown_version(other),
    };
    Ok(Session { digest, operator: s.operator, begun_at: up(s.begun_at), from: s.from })
}

pub(in crate::store) fn claim(c: &Claim) -> Result<Vec<u8>, Damaged> {
    let record = v5::Claim { operator: c.operator.clone(), issued_at: down(c.issued_at) };
    codec::encode(V1, &record, MOST)
}

pub(in crate::store) fn claim_of(digest: Digest, bytes: &[u8]) -> Result<Claim, Damaged> {
    let c: v5::Claim = match codec::split(bytes)? {
        (V1, payload) => codec::decode::<_, READ>(payload)?,
        (other, _) => return unknown_version(other),
    };
    Ok(Claim { digest, operator: c.operator, issued_at: up(c.issued_at) })
}

pub(in crate::store) fn last_use(at: Stamp) -> Result<Vec<u8>, Damaged> {
    codec::encode(V1, &v5::Use { at: down(at) }, MOST)
}

pub(in crate::store) fn last_use_of(bytes: &[u8]) -> Result<Stamp, Damaged> {
    match codec::split(bytes)? {
        (V1, payload) => codec::decode::<v5::Use, READ>(payload).map(|u| up(u.at)),
        (other, _) => unknown_version(other),
    }
}
