//! Record of how a connection stood from some moment on.

use super::codes::Coded;
use super::{MOST, READ, V1, down, unknown_version, up, v1};
use crate::domain::state::{State, Stood};
use crate::store::codec::{self, Damaged};
use bincode::{Decode, Encode};

#[derive(Encode, Decode)]
struct Record {
    since: v1::Stamp,
    state: Option<u8>,
}

pub(in crate::store) fn stood(stood: &Stood) -> Result<Vec<u8>, Damaged> {
    codec::encode(V1, &Record { since: down(stood.since), state: stood.state.map(Coded::code) }, MOST)
}

pub(in crate::store) fn stood_of(bytes: &[u8]) -> Result<Stood, Damaged> {
    let record: Record = match codec::split(bytes)? {
        (V1, payload) => codec::decode::<_, READ>(payload)?,
        (other, _) => return unknown_version(other),
    };
    Ok(Stood { since: up(record.since), state: record.state.map(State::coded).transpose()? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::time::{Stamp, Steady, Wall};
    use proptest::prelude::*;

    fn since(n: u64) -> Stamp {
        Stamp { steady: Steady(n), wall: Wall(n as i64 * 2), era: 1 }
    }

    #[test]
    fn golden_bytes() {
        let hex = |state| -> String {
            stood(&Stood { since: since(7), state }).unwrap().iter().map(|b| format!("{b:02x}")).collect()
        };
        assert_eq!((hex(Some(State::Held)).as_str(), hex(None).as_str()), ("01071c010104", "01071c0100"));
    }

    #[test]
    fn they_come_back() {
        for state in State::ALL.into_iter().map(Some).chain([None]) {
            let row = Stood { since: since(9), state };
            assert_eq!(stood_of(&stood(&row).unwrap()), Ok(row));
        }
        assert!(stood_of(&[9, 0]).unwrap_err().0.contains("unknown version 9"));
        assert!(stood_of(&[1, 7, 28, 1, 1, 11]).unwrap_err().0.contains("unknown state"));
    }

    proptest! {
        #[test]
        fn hostile_bytes_are_survived(mut bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            if let Some(first) = bytes.first_mut() {
                *first %= 3;
            }
            _ = stood_of(&bytes);
        }
    }
}
