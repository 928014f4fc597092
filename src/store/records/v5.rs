//! Fifth forms of records, and records that came with them: who may come in. Frozen like those before: a further change is a `v6`.
//! Knows nothing but shapes; meaning is in `records`.

use super::v1::Stamp;
use bincode::{Decode, Encode};

/// With an end.
#[derive(Encode, Decode)]
pub(super) struct Token {
    pub name: String,
    pub hash: [u8; 32],
    pub role: String,
    pub organization: String,
    pub created_at: Stamp,
    pub revoked_at: Option<Stamp>,
    pub expires_at: Option<Stamp>,
}

impl From<super::v1::Token> for Token {
    fn from(t: super::v1::Token) -> Token {
        Token {
            name: t.name,
            hash: t.hash,
            role: t.role,
            organization: t.organization,
            created_at: t.created_at,
            revoked_at: t.revoked_at,
            expires_at: None,
        }
    }
}

#[derive(Encode, Decode)]
pub(super) struct Operator {
    pub name: String,
    pub password: Option<String>,
    pub added_at: Stamp,
    pub added_by: String,
    pub password_at: Option<Stamp>,
}

/// Its digest is its key.
#[derive(Encode, Decode)]
pub(super) struct Session {
    pub operator: String,
    pub begun_at: Stamp,
    pub from: String,
}

/// Likewise.
#[derive(Encode, Decode)]
pub(super) struct Claim {
    pub operator: Option<String>,
    pub issued_at: Stamp,
}

#[derive(Encode, Decode)]
pub(super) struct Use {
    pub at: Stamp,
}
