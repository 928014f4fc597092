//! Pages of lists, numbered ones and those in the order of their keys: where one begins, and where the next goes on.

use super::event::{EventKind, NewEvent};
use super::ids::{ConnectionName, Organization};

/// Where a page begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Cursor {
    /// With the newest row.
    #[default]
    Newest,
    /// With the newest of those before this number.
    Before(u64),
    /// With the oldest of those after this number.
    After(u64),
}

/// Some rows, in the order of their numbers or keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Paged<T, N = u64> {
    pub rows: Vec<T>,
    /// The number or key up to which was looked, where something may lie beyond it in the same direction.
    pub on: Option<N>,
}

impl<T, N> Paged<T, N> {
    pub fn map<U>(self, of: impl FnMut(T) -> U) -> Paged<U, N> {
        Paged { rows: self.rows.into_iter().map(of).collect(), on: self.on }
    }
}

/// Where a page of what is in the order of its keys begins. Of a key that is not there, where it would be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Edge {
    /// With the first of all.
    #[default]
    First,
    /// With this one.
    From(String),
    /// With the first of those behind this one.
    After(String),
    /// It ends with the last of those before this one.
    Before(String),
}

/// What makes a page of items full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Filling {
    /// All of them.
    #[default]
    All,
    /// Those that are present; the removed ones that lie between them come with them.
    Present,
}

/// Which items of a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ItemsAsk {
    pub from: Edge,
    pub filling: Filling,
    pub limit: usize,
}

impl Default for ItemsAsk {
    /// From the first on as many as one answer may have.
    fn default() -> ItemsAsk {
        ItemsAsk { from: Edge::First, filling: Filling::All, limit: usize::MAX }
    }
}

/// Which lines of a history.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HistoryAsk {
    pub from: Cursor,
    /// Of one item alone, by its key.
    pub item: Option<String>,
    pub limit: usize,
}

/// Which events.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventsAsk {
    pub from: Cursor,
    /// Those of the appliance itself are everybody's.
    pub organization: Option<Organization>,
    pub connection: Option<ConnectionName>,
    pub kind: Option<EventKind>,
    pub audience: Audience,
    pub limit: usize,
}

/// For whom events are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Audience {
    /// Everybody who may read.
    #[default]
    Readers,
    /// Who administers the installation: also who came in, and who may.
    Administrators,
}

impl Audience {
    pub fn may_see(self, kind: EventKind) -> bool {
        self == Audience::Administrators || kind.is_public()
    }
}

impl EventsAsk {
    pub fn wants(&self, event: &NewEvent) -> bool {
        let own =
            |organization: &Organization| event.connection.as_ref().is_none_or(|c| c.organization == *organization);
        let of = |name: &ConnectionName| event.connection.as_ref().is_some_and(|c| c.connection == *name);
        self.audience.may_see(event.kind)
            && self.organization.as_ref().is_none_or(own)
            && self.connection.as_ref().is_none_or(of)
            && self.kind.is_none_or(|kind| kind == event.kind)
    }
}
