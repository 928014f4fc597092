//! Moments and lengths as JSON has them. Knows nothing of what they belong to.

use crate::domain::time::{Span, Wall};
use serde::{Serialize, Serializer};

/// A moment to show: RFC 3339 UTC with whole seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct When(pub Wall);

impl Serialize for When {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(&crate::rules::calendar::rfc3339(self.0))
    }
}

/// A length that somebody chose: seconds, with a fraction only where it has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Seconds(pub Span);

impl Seconds {
    pub const fn whole(seconds: u64) -> Seconds {
        Seconds(Span::from_secs(seconds))
    }
}

impl Serialize for Seconds {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match self.0.as_millis() {
            ms if ms.is_multiple_of(1000) => s.serialize_u64(ms / 1000),
            ms => s.serialize_f64(ms as f64 / 1000.0),
        }
    }
}
