//! Second forms of records. Frozen like the first: a further change is a `v3`. Knows nothing but shapes; meaning is in `records`.

use super::v1::Stamp;
use bincode::{Decode, Encode};

/// With the way back after it. Whom it stops is in the row's key.
#[derive(Encode, Decode)]
pub(super) struct Hold {
    pub since: Stamp,
    pub until: u64,
    pub reason: u8,
    pub source: String,
    pub rule: String,
    pub said: Option<String>,
    pub strikes: u32,
    pub ramp: Option<Ramp>,
}

#[derive(Encode, Decode)]
pub(super) struct Ramp {
    pub since: Stamp,
    pub steps: u32,
}

impl From<super::v1::Hold> for Hold {
    fn from(h: super::v1::Hold) -> Hold {
        let super::v1::Hold { since, until, reason, source, rule, said, strikes } = h;
        Hold { since, until, reason, source, rule, said, strikes, ramp: None }
    }
}
