//! Keys of `observations`: by id, by arrival, and by the target that one stands for.

use super::{connection_prefix, number, push_text, skip_text};
use crate::domain::ids::{ConnectionKey, TargetKey};
use crate::domain::time::Steady;

const ID: u8 = b'i';
const RECEIVED: u8 = b'r';
const STANDING: u8 = b't';

fn below(connection: &ConnectionKey, tag: u8) -> Vec<u8> {
    let mut key = connection_prefix(connection);
    key.push(tag);
    key
}

/// The id is the last part and needs no end.
pub(in crate::store) fn observation(connection: &ConnectionKey, id: &str) -> Vec<u8> {
    [below(connection, ID), id.as_bytes().to_vec()].concat()
}

pub(in crate::store) fn received(connection: &ConnectionKey, at: Steady, id: &str) -> Vec<u8> {
    [below(connection, RECEIVED), number(at.0).to_vec(), id.as_bytes().to_vec()].concat()
}

/// From the first that came to those that came at `before`, which is not among them.
pub(in crate::store) fn received_before(connection: &ConnectionKey, before: Steady) -> (Vec<u8>, Vec<u8>) {
    let first = below(connection, RECEIVED);
    let end = [first.clone(), number(before.0).to_vec()].concat();
    (first, end)
}

pub(in crate::store) fn standing(target: &TargetKey) -> Vec<u8> {
    let mut key = below(&target.connection, STANDING);
    push_text(&mut key, target.target.as_str());
    key
}

/// When one came, and its id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::store) struct ArrivalRow {
    pub at: Steady,
    pub id: String,
}

/// What a row is: an arrival, or else an observation. `None` if the key was not written by this file.
pub(in crate::store) fn observation_row(key: &[u8]) -> Option<Option<ArrivalRow>> {
    match skip_text(skip_text(key)?)?.split_first()? {
        (&ID | &STANDING, _) => Some(None),
        (&RECEIVED, rest) => {
            let (at, id) = rest.split_first_chunk::<8>()?;
            let id = std::str::from_utf8(id).ok()?.to_owned();
            Some(Some(ArrivalRow { at: Steady(u64::from_be_bytes(*at)), id }))
        }
        _ => None,
    }
}
