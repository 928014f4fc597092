//! Record of an answer that was pushed.

use super::codes::Coded;
use super::{MOST, READ, V1, down, unknown_version, up, v1};
use crate::domain::ids::TargetName;
use crate::domain::observation::{Became, Observation};
use crate::store::codec::{self, Damaged};
use bincode::{Decode, Encode};

#[derive(Encode, Decode)]
struct Record {
    id: String,
    target: String,
    digest: [u8; 16],
    as_of: v1::Stamp,
    received_at: v1::Stamp,
    by: String,
    became: u8,
}

pub(in crate::store) fn observation(o: &Observation) -> Result<Vec<u8>, Damaged> {
    let record = Record {
        id: o.id.clone(),
        target: o.target.0.clone(),
        digest: o.digest,
        as_of: down(o.as_of),
        received_at: down(o.received_at),
        by: o.by.clone(),
        became: o.became.code(),
    };
    codec::encode(V1, &record, MOST)
}

pub(in crate::store) fn observation_of(bytes: &[u8]) -> Result<Observation, Damaged> {
    let o: Record = match codec::split(bytes)? {
        (V1, payload) => codec::decode::<_, READ>(payload)?,
        (other, _) => return unknown_version(other),
    };
    Ok(Observation {
        id: o.id,
        target: TargetName(o.target),
        digest: o.digest,
        as_of: up(o.as_of),
        received_at: up(o.received_at),
        by: o.by,
        became: Became::coded(o.became)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::time::{Stamp, Steady, Wall};

    #[test]
    fn golden_bytes() {
        let stamp = |n: u64| Stamp { steady: Steady(n), wall: Wall(n as i64 * 2), era: 1 };
        for (became, code) in Became::ALL.into_iter().zip(["00", "01", "02", "03"]) {
            let observation = Observation {
                id: "o1".to_owned(),
                target: "beds".into(),
                digest: [9; 16],
                as_of: stamp(7),
                received_at: stamp(8),
                by: "cellar".to_owned(),
                became,
            };
            let bytes = super::observation(&observation).unwrap();
            let hex: String = bytes.iter().map(|b| format!("{b:02x}")).collect();
            let digest = "09".repeat(16);
            assert_eq!(hex, format!("01026f310462656473{digest}071c010820010663656c6c6172{code}"));
            assert_eq!(observation_of(&bytes), Ok(observation));
        }
        assert!(observation_of(&[9, 0]).is_err() && observation_of(&[]).is_err());
    }
}
