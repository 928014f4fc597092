//! Whether what a client was answered from the shelf would be answered again, to the octet. It is asked for every repetition of a question
//! over one socket, and so costs next to nothing: nothing is looked for, what was found is held against what may have changed since.

use super::Entrance;
use super::given::{Given, How};
use super::place::{Address, Entry};
use crate::domain::gateway::Kept;
use crate::domain::time::{Now, Span, Steady};
use crate::rules::gateway::CacheStatus;
use hyper::header::{CACHE_CONTROL, HeaderMap, PRAGMA};
use std::sync::Arc;

/// How the shelf stood before it was looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Of what is kept under the address.
    place: u64,
    /// Of the connections: their credentials and their rules.
    connections: u64,
}

/// A plain hit, for as long as it would be the same.
#[derive(Clone)]
pub struct Standing {
    entrance: Entrance,
    address: Arc<Address>,
    entry: Arc<Entry>,
    mark: Mark,
    until: Steady,
}

impl Entrance {
    /// To be taken before the shelf is looked at: what comes in between is then noticed.
    pub fn mark(&self, address: &Address) -> Mark {
        Mark { place: address.place.version(), connections: self.core.connections.version() }
    }

    /// `asked`: the client's headers. `None` where it may be another answer in the same second: what is over or is not ready, and what is
    /// asked for with wishes.
    pub fn standing(
        &self,
        address: &Arc<Address>,
        asked: &HeaderMap,
        given: &Given,
        (mark, now): (Mark, &Now),
    ) -> Option<Standing> {
        let Given::Shelf { entry, life, how, stale: None } = given else { return None };
        let is_plain = life.is_fresh() && *how == CacheStatus::hit(life) && entry.head().kept == Kept::Data;
        if !is_plain || asked.contains_key(CACHE_CONTROL) || asked.contains_key(PRAGMA) {
            return None;
        }
        // It may have been replaced before the mark was taken.
        self.core.connections.get(self.key()).filter(|conn| Arc::ptr_eq(conn, &self.conn))?;
        // What is left of the budget is told once a second of this timeline.
        let second = Span(1000 - now.steady.0 % 1000);
        let until = now.steady + life.same_for().min(second);
        Some(Standing { entrance: self.clone(), address: address.clone(), entry: entry.clone(), mark, until })
    }
}

impl Standing {
    pub fn holds(&self) -> bool {
        self.mark == self.entrance.mark(&self.address) && self.entrance.now().steady < self.until
    }

    /// The body of a whole answer.
    pub fn body(&self) -> &bytes::Bytes {
        &self.entry.body
    }

    /// It was given once more.
    pub fn counts(&self) {
        self.entry.is_used(self.entrance.now().steady);
        self.entrance.counted(How::Hit);
    }
}
