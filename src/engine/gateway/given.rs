//! What a client is given, and how it came about. Values alone.

use super::place::Entry;
use crate::domain::time::Wall;
use crate::rules::gateway::{CacheStatus, Life};
pub use crate::upstream::pass::Rest;
use bytes::Bytes;
use std::sync::Arc;

/// An answer to a client.
pub enum Given {
    /// From the shelf, perhaps just put there. `stale`: it is over, and why there is no other.
    Shelf {
        entry: Arc<Entry>,
        life: Life,
        how: CacheStatus,
        stale: Option<String>,
    },
    /// What the provider said, whole and not kept.
    Passed {
        answer: Arc<PassedOn>,
        how: CacheStatus,
    },
    /// The same, too long to be held: it goes on as it comes.
    Long {
        answer: PassedOn,
        rest: Rest,
        how: CacheStatus,
    },
    Denied {
        halt: Arc<Halt>,
        how: CacheStatus,
    },
}

/// An answer of the provider's, as it is passed on.
#[derive(Debug)]
pub struct PassedOn {
    pub status: u16,
    /// Lower-case names.
    pub headers: Vec<(String, String)>,
    pub body: Bytes,
}

/// Why there is no answer.
#[derive(Debug)]
pub struct Halt {
    pub kind: HaltKind,
    /// One word for `Cache-Status`.
    pub word: &'static str,
    pub sentence: String,
    /// The limit that says so, where one does.
    pub limit: Option<String>,
    /// When it may be otherwise.
    pub not_before: Option<Wall>,
    pub retry_after_s: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HaltKind {
    /// The budget or a hold says not yet.
    NotYet,
    /// An operator switched the connection off.
    Paused,
    /// The provider gave no usable answer.
    Provider,
    /// The client wants nobody asked, and there is nothing.
    Unanswerable,
    /// The provider was asked, and the appliance could not write down what came of it.
    Unrecorded,
    /// The appliance cannot.
    Unavailable,
}

/// How a request was answered, for the metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    Hit,
    Stale,
    Miss,
    Collapsed,
    Refused,
}

impl How {
    pub const ALL: [How; 5] = [How::Hit, How::Stale, How::Miss, How::Collapsed, How::Refused];

    pub const fn word(self) -> &'static str {
        match self {
            How::Hit => "hit",
            How::Stale => "stale",
            How::Miss => "miss",
            How::Collapsed => "collapsed",
            How::Refused => "refused",
        }
    }
}

impl Given {
    pub fn status(&self) -> &CacheStatus {
        match self {
            Given::Shelf { how, .. }
            | Given::Passed { how, .. }
            | Given::Long { how, .. }
            | Given::Denied { how, .. } => how,
        }
    }

    pub fn how(&self) -> How {
        match self {
            Given::Denied { .. } => How::Refused,
            Given::Shelf { stale: Some(_), .. } => How::Stale,
            _ if self.status().collapsed => How::Collapsed,
            Given::Shelf { life, how, .. } if how.hit => {
                if life.is_fresh() {
                    How::Hit
                } else {
                    How::Stale
                }
            }
            _ => How::Miss,
        }
    }
}
