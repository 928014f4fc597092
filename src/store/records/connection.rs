//! Records of what is written in the browser: a stored connection, and the sample of an answer.

use super::{SHELF_MOST, SHELF_READ, V1, down, unknown_version, up, v1};
use crate::domain::ids::{ConnectionKey, ConnectionName, Organization};
use crate::domain::setup::{Sample, Standing, StoredConnection};
use crate::store::codec::{self, Damaged};
use bincode::{Decode, Encode};

/// With its name: the key has it escaped.
#[derive(Encode, Decode)]
struct Stored {
    organization: String,
    name: String,
    text: String,
    on_trial: bool,
    by: String,
    at: v1::Stamp,
}

#[derive(Encode, Decode)]
struct Sampled {
    at: v1::Stamp,
    body: Vec<u8>,
}

pub(in crate::store) fn stored(key: &ConnectionKey, stored: &StoredConnection) -> Result<Vec<u8>, Damaged> {
    let record = Stored {
        organization: key.organization.0.clone(),
        name: key.connection.0.clone(),
        text: stored.text.clone(),
        on_trial: stored.standing == Standing::OnTrial,
        by: stored.by.clone(),
        at: down(stored.at),
    };
    codec::encode(V1, &record, SHELF_MOST)
}

pub(in crate::store) fn stored_of(bytes: &[u8]) -> Result<(ConnectionKey, StoredConnection), Damaged> {
    let s: Stored = match codec::split(bytes)? {
        (V1, payload) => codec::decode::<_, SHELF_READ>(payload)?,
        (other, _) => return unknown_version(other),
    };
    let key = ConnectionKey { organization: Organization(s.organization), connection: ConnectionName(s.name) };
    let standing = if s.on_trial { Standing::OnTrial } else { Standing::Saved };
    Ok((key, StoredConnection { text: s.text, standing, by: s.by, at: up(s.at) }))
}

pub(in crate::store) fn sample(sample: &Sample) -> Result<Vec<u8>, Damaged> {
    codec::encode(V1, &Sampled { at: down(sample.at), body: sample.body.clone() }, SHELF_MOST)
}

pub(in crate::store) fn sample_of(bytes: &[u8]) -> Result<Sample, Damaged> {
    let s: Sampled = match codec::split(bytes)? {
        (V1, payload) => codec::decode::<_, SHELF_READ>(payload)?,
        (other, _) => return unknown_version(other),
    };
    Ok(Sample { at: up(s.at), body: s.body })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::time::{Stamp, Steady, Wall};
    use proptest::prelude::*;

    fn key() -> ConnectionKey {
        ConnectionKey { organization: Organization::default(), connection: "pool".into() }
    }
    fn at() -> Stamp {
        Stamp { steady: Steady(9), wall: Wall(18), era: 1 }
    }
    fn a_connection(standing: Standing) -> StoredConnection {
        StoredConnection { text: "a".into(), standing, by: "ann".into(), at: at() }
    }
    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|b| format!("{b:02x}")).collect()
    }

    #[test]
    fn golden_bytes() {
        let trial = stored(&key(), &a_connection(Standing::OnTrial)).unwrap();
        assert_eq!(hex(&trial), "010764656661756c7404706f6f6c01610103616e6e092401");
        assert_eq!(hex(&sample(&Sample { at: at(), body: vec![1, 2] }).unwrap()), "01092401020102");
    }

    #[test]
    fn they_come_back() {
        for standing in [Standing::OnTrial, Standing::Saved] {
            let written = a_connection(standing);
            assert_eq!(stored_of(&stored(&key(), &written).unwrap()), Ok((key(), written)));
        }
        let sampled = Sample { at: at(), body: b"{}".to_vec() };
        assert_eq!(sample_of(&sample(&sampled).unwrap()), Ok(sampled));
        assert!(stored_of(&[9, 0]).unwrap_err().0.contains("unknown version 9"));
        assert!(sample_of(&[9, 0]).unwrap_err().0.contains("unknown version 9"));
    }

    proptest! {
        #[test]
        fn hostile_bytes_are_survived(mut bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            if let Some(first) = bytes.first_mut() {
                *first %= 3;
            }
            _ = stored_of(&bytes);
            _ = sample_of(&bytes);
        }
    }
}
