//! Bytes of a record: `[version][payload]`. The only file that knows bincode; must not know what a record means.
//!
//! bincode 2.0.1 is complete but no longer maintained (RUSTSEC-2025-0141). It is pinned, it never reads without a
//! limit (a hostile length would abort the process), and its varint layout is the same, byte for byte, as that of
//! other crates: replacing it is a change to this file and to the derives of `records::v1`.

use bincode::config::{self, Configuration, Limit, LittleEndian, Varint};
use bincode::{Decode, Encode};

/// Why bytes are not a record, or a value cannot become one. Ends up inside a sentence that names the row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Damaged(pub String);

impl Damaged {
    pub fn because(reason: impl Into<String>) -> Damaged {
        Damaged(reason.into())
    }
}

const fn reading<const N: usize>() -> Configuration<LittleEndian, Varint, Limit<N>> {
    config::standard().with_limit::<N>()
}

/// The version byte and what follows it.
pub(super) fn split(record: &[u8]) -> Result<(u8, &[u8]), Damaged> {
    match record.split_first() {
        Some((version, payload)) => Ok((*version, payload)),
        None => Err(Damaged::because("it has no bytes")),
    }
}

/// Encodes as `version`. Refuses what is longer than `most` bytes, which reading would refuse as well.
pub(super) fn encode<T: Encode>(version: u8, value: &T, most: usize) -> Result<Vec<u8>, Damaged> {
    let mut record = Vec::with_capacity(128);
    record.push(version);
    bincode::encode_into_std_write(value, &mut record, config::standard())
        .map_err(|e| Damaged(format!("it cannot be encoded ({e})")))?;
    match record.len() {
        n if n > most => Err(Damaged(format!("it has {n} bytes and at most {most} are kept"))),
        _ => Ok(record),
    }
}

/// Decodes the payload of a known version, whole. At most `N` bytes are allocated on the word of the input.
pub(super) fn decode<T: Decode<()>, const N: usize>(payload: &[u8]) -> Result<T, Damaged> {
    match bincode::decode_from_slice(payload, reading::<N>()) {
        Ok((value, used)) if used == payload.len() => Ok(value),
        Ok((_, used)) => Err(Damaged(format!("{} bytes follow its end", payload.len() - used))),
        Err(e) => Err(Damaged(format!("it cannot be decoded ({e})"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_layout_is_varint_after_one_version_byte() {
        let record = encode(1, &(300u32, -1i64, "ab".to_owned(), [7u8; 2]), 100).unwrap();
        assert_eq!(record, [1, 251, 0x2C, 0x01, 1, 2, b'a', b'b', 7, 7]);
    }

    #[test]
    fn a_hostile_length_is_refused() {
        // 253: an eight-byte length follows, here of nearly everything.
        let bytes = [253, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F];
        assert!(decode::<Vec<u64>, 1024>(&bytes).is_err());
        assert!(decode::<String, 1024>(&bytes).is_err());
    }

    #[test]
    fn nothing_may_follow() {
        assert_eq!(decode::<u8, 16>(&[5]), Ok(5));
        assert!(decode::<u8, 16>(&[5, 6]).unwrap_err().0.contains("1 bytes follow"));
        assert!(decode::<u8, 16>(&[]).is_err());
        assert!(split(&[]).is_err());
    }

    #[test]
    fn too_long_is_told_when_writing() {
        assert!(encode(1, &"x".repeat(100), 50).unwrap_err().0.contains("at most 50"));
    }
}
