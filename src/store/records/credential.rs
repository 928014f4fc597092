//! Record of a connection's credential: fingerprints, and a secret that says nothing without the key.

use super::{MOST, READ, V1, bounded, down, unknown_version, up, v1};
use crate::domain::credential::{CredentialState, Had, SetSecret};
use crate::domain::ids::CredentialId;
use crate::store::codec::{self, Damaged};
use bincode::{Decode, Encode};

#[derive(Encode, Decode)]
struct Credential {
    /// Secret, and what it counts for.
    had: Vec<([u8; 16], [u8; 16])>,
    since: v1::Stamp,
    set: Option<Set>,
}

#[derive(Encode, Decode)]
struct Set {
    sealed: Vec<u8>,
    by: String,
    at: v1::Stamp,
}

pub(in crate::store) fn credential(c: &CredentialState) -> Result<Vec<u8>, Damaged> {
    let record = Credential {
        had: bounded(c.had.iter().map(|had| (had.secret.0, had.counts_for.0)).collect())?,
        since: down(c.since),
        set: c.set.as_ref().map(|s| Set { sealed: s.sealed.clone(), by: s.by.clone(), at: down(s.at) }),
    };
    codec::encode(V1, &record, MOST)
}

pub(in crate::store) fn credential_of(bytes: &[u8]) -> Result<CredentialState, Damaged> {
    let c: Credential = match codec::split(bytes)? {
        (V1, payload) => codec::decode::<_, READ>(payload)?,
        (other, _) => return unknown_version(other),
    };
    let had = |(secret, counts_for)| Had { secret: CredentialId(secret), counts_for: CredentialId(counts_for) };
    Ok(CredentialState {
        had: bounded(c.had)?.into_iter().map(had).collect(),
        since: up(c.since),
        set: c.set.map(|s| SetSecret { sealed: s.sealed, by: s.by, at: up(s.at) }),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::time::{Stamp, Steady, Wall};
    use proptest::prelude::*;

    fn a_credential() -> CredentialState {
        let at = |n: u64| Stamp { steady: Steady(n), wall: Wall(n as i64 * 2), era: 1 };
        let had = |secret| Had { secret: CredentialId([secret; 16]), counts_for: CredentialId([1; 16]) };
        let set = Some(SetSecret { sealed: vec![1, 2, 3], by: "operator".into(), at: at(9) });
        CredentialState { had: vec![had(1), had(2)], since: at(7), set }
    }

    #[test]
    fn golden_bytes() {
        let hex: String = credential(&a_credential()).unwrap().iter().map(|b| format!("{b:02x}")).collect();
        let (one, two) = ("01".repeat(16), "02".repeat(16));
        assert_eq!(hex, format!("0102{one}{one}{two}{one}071c010103010203086f70657261746f72092401"));
    }

    #[test]
    fn they_come_back() {
        for state in [a_credential(), CredentialState::default()] {
            assert_eq!(credential_of(&credential(&state).unwrap()), Ok(state));
        }
        assert!(credential_of(&[9, 0]).unwrap_err().0.contains("unknown version 9"));
    }

    proptest! {
        #[test]
        fn hostile_bytes_are_survived(mut bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            if let Some(first) = bytes.first_mut() {
                *first %= 3;
            }
            _ = credential_of(&bytes);
        }
    }
}
