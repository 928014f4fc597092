//! Keys of who may come in. An operator's is the name as it is compared; a session's and a claim's the digest of what is shown.

use super::{number, read_number};
use crate::domain::operator::Used;

const TOKEN: u8 = b't';
const SESSION: u8 = b's';

pub(in crate::store) fn used(used: &Used) -> Vec<u8> {
    match used {
        Used::Token(id) => [&[TOKEN][..], &number(*id)].concat(),
        Used::Session(digest) => [&[SESSION][..], digest].concat(),
    }
}

/// `None` if the key was not written by this file.
pub(in crate::store) fn used_of(key: &[u8]) -> Option<Used> {
    match key.split_first()? {
        (&TOKEN, id) => read_number(id).map(Used::Token),
        (&SESSION, digest) => digest.try_into().ok().map(Used::Session),
        _ => None,
    }
}
