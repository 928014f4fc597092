//! Keys of `shelf`: heads and bodies of the gateway's answers, each kind together below its connection.

use super::{connection_prefix, skip_text};
use crate::domain::ids::{ConnectionKey, CredentialId};
use crate::rules::gateway::EntryId;

pub(in crate::store) const HEAD: u8 = b'h';
pub(in crate::store) const BODY: u8 = b'b';

/// Prefix of all heads, or all bodies, of a connection.
pub(in crate::store) fn shelf_part(connection: &ConnectionKey, tag: u8) -> Vec<u8> {
    let mut key = connection_prefix(connection);
    key.push(tag);
    key
}

pub(in crate::store) fn shelf_row(connection: &ConnectionKey, tag: u8, of: &CredentialId, entry: EntryId) -> Vec<u8> {
    let mut key = shelf_part(connection, tag);
    key.extend(of.0);
    key.extend(entry.0);
    key
}

/// What a row is; `None` if the key was not written by this file.
pub(in crate::store) fn shelf_tag(key: &[u8]) -> Option<u8> {
    let rest = skip_text(skip_text(key)?)?;
    let (tag, rest) = rest.split_first()?;
    (rest.len() == 32 && matches!(*tag, HEAD | BODY)).then_some(*tag)
}
