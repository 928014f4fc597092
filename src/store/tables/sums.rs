//! Keys of `spend`. Knows how they are written and read back; must not know what is summed.

use super::{connection_prefix, number, push_text, read_number, take_text};
use crate::domain::ids::{Caller, ConnectionKey, ConnectionName, Endpoint, Organization, TargetName};
use crate::domain::spend::{Hour, SpendLine};

/// Prefix of the sums of an hour; in the order of time, before 1970 too.
pub(in crate::store) const fn hour(hour: Hour) -> [u8; 8] {
    number(hour.0 as u64 ^ 1 << 63)
}

pub(in crate::store) fn read_hour(bytes: &[u8]) -> Option<Hour> {
    Some(Hour((read_number(bytes)? ^ 1 << 63) as i64))
}

/// Prefix of the sums of one connection in an hour.
pub(in crate::store) fn sums_of(hour: Hour, connection: &ConnectionKey) -> Vec<u8> {
    [self::hour(hour).as_slice(), &connection_prefix(connection)].concat()
}

/// A sum of resolved requests. `caller` and `outcome` are the bytes of their words. Without a target its text is empty, which no target's name is.
pub(in crate::store) fn sum(line: &SpendLine, caller: u8, outcome: u8) -> Vec<u8> {
    let mut key = sums_of(line.hour, &line.connection);
    key.extend([caller, outcome]);
    push_text(&mut key, line.endpoint.as_str());
    push_text(&mut key, line.target.as_ref().map_or("", TargetName::as_str));
    key
}

/// What a sum is the sum of, without the two words, which come as their bytes. `None` if the key was not written by this file.
pub(in crate::store) fn sum_line(key: &[u8]) -> Option<(SpendLine, u8, u8)> {
    let (hour, rest) = key.split_first_chunk::<8>()?;
    let (organization, rest) = take_text(rest)?;
    let (connection, rest) = take_text(rest)?;
    let (&[caller, outcome], rest) = rest.split_first_chunk::<2>()?;
    let (endpoint, rest) = take_text(rest)?;
    let (target, rest) = take_text(rest)?;
    let connection = ConnectionKey { organization: Organization(organization), connection: ConnectionName(connection) };
    let line = SpendLine {
        hour: read_hour(hour)?,
        connection,
        caller: Caller::Poller,
        outcome: None,
        endpoint: Endpoint(endpoint),
        target: Some(target).filter(|t| !t.is_empty()).map(TargetName),
    };
    rest.is_empty().then_some((line, caller, outcome))
}
