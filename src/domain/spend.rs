//! Spending by the hour: what requests are summed by, and the sums.

use super::charge::{Charge, Settlement};
use super::ids::{Caller, ConnectionKey, ConnectionName, Endpoint, Organization, TargetName};
use super::outcome::Outcome;
use super::time::Wall;
use std::ops::{AddAssign, Range};

/// Stands for the endpoints and targets that an hour has no lines of their own for. No endpoint is called so: they begin with a slash.
pub const OTHERS: &str = "(others)";

/// Stands for the target of a request that is for none: a command, a token.
pub const NO_TARGET: &str = "(no target)";
/// Stands for the outcome of a request that waits for its answer.
pub const PENDING: &str = "pending";

const HOUR: i64 = 3_600_000;

/// An hour of the wall clock, counted from 1970-01-01T00:00:00Z. A request belongs to the hour in which it was reserved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Hour(pub i64);

impl Hour {
    pub const fn of(at: Wall) -> Hour {
        Hour(at.0.div_euclid(HOUR))
    }
    /// The first that begins at `at` or later.
    pub const fn from(at: Wall) -> Hour {
        Hour(at.0.saturating_add(HOUR - 1).div_euclid(HOUR))
    }
    pub const fn begins(self) -> Wall {
        Wall(self.0.saturating_mul(HOUR))
    }
}

/// What the requests of one line have in common.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SpendLine {
    pub hour: Hour,
    pub connection: ConnectionKey,
    pub caller: Caller,
    /// `None`: not known yet.
    pub outcome: Option<Outcome>,
    pub endpoint: Endpoint,
    pub target: Option<TargetName>,
}

/// What requests since the start of the process have in common.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Counted {
    pub connection: ConnectionKey,
    pub caller: Caller,
    /// One of a bounded number, or [`OTHERS`].
    pub endpoint: Endpoint,
    pub outcome: Outcome,
}

/// What they come to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spend {
    /// All that were reserved, those too that the provider cannot have counted.
    pub requests: u64,
    /// Units of the limits that the provider may have counted.
    pub units: u64,
}

/// What lines are put together by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpendBy {
    Caller,
    Endpoint,
    Target,
    Connection,
    Outcome,
    Organization,
}

impl SpendBy {
    pub const ALL: [SpendBy; 6] = [
        SpendBy::Caller,
        SpendBy::Endpoint,
        SpendBy::Target,
        SpendBy::Connection,
        SpendBy::Outcome,
        SpendBy::Organization,
    ];

    pub const fn word(self) -> &'static str {
        match self {
            SpendBy::Caller => "caller",
            SpendBy::Endpoint => "endpoint",
            SpendBy::Target => "target",
            SpendBy::Connection => "connection",
            SpendBy::Outcome => "outcome",
            SpendBy::Organization => "organization",
        }
    }
    pub fn from_word(word: &str) -> Option<SpendBy> {
        SpendBy::ALL.into_iter().find(|by| by.word() == word)
    }
}

/// Which requests are looked at, and how they are put together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpendAsk {
    /// `None`: of all.
    pub organization: Option<Organization>,
    /// `None`: of all.
    pub connection: Option<ConnectionName>,
    pub by: SpendBy,
    /// Where slices of time begin, in order. Each begins with the hour that it lies in.
    pub starts: Vec<Wall>,
    /// The end of the last; its hour is whole too.
    pub until: Wall,
}

impl SpendAsk {
    pub fn hours(&self) -> Range<Hour> {
        let first = self.starts.first().copied().unwrap_or(self.until);
        Hour::of(first)..Hour::from(self.until)
    }

    /// The slice of a line and the name of its group; `None`: it is not asked for.
    pub fn place(&self, line: &SpendLine) -> Option<(usize, String)> {
        let ConnectionKey { organization, connection } = &line.connection;
        let is_asked = self.hours().contains(&line.hour)
            && self.organization.as_ref().is_none_or(|wanted| wanted == organization)
            && self.connection.as_ref().is_none_or(|wanted| wanted == connection);
        if !is_asked {
            return None;
        }
        let slice = self.starts.partition_point(|start| Hour::of(*start) <= line.hour).checked_sub(1)?;
        // Two connections may have endpoints and targets of one name.
        let of = if self.connection.is_some() { String::new() } else { connection.0.clone() };
        let slash = if of.is_empty() { "" } else { "/" };
        let name = match self.by {
            SpendBy::Caller => line.caller.word().to_owned(),
            SpendBy::Endpoint if line.endpoint.as_str().starts_with('/') => format!("{of}{}", line.endpoint),
            SpendBy::Endpoint => format!("{of}{slash}{}", line.endpoint),
            SpendBy::Target => {
                format!("{of}{slash}{}", line.target.as_ref().map_or(NO_TARGET, TargetName::as_str))
            }
            SpendBy::Connection => connection.0.clone(),
            SpendBy::Outcome => line.outcome.map_or(PENDING, Outcome::word).to_owned(),
            SpendBy::Organization => organization.0.clone(),
        };
        Some((slice, name))
    }
}

impl SpendLine {
    pub fn of(charge: &Charge) -> SpendLine {
        SpendLine {
            hour: Hour::of(charge.reserved_at.wall),
            connection: charge.connection.clone(),
            caller: charge.caller,
            outcome: charge.resolution.as_ref().map(|r| r.outcome),
            endpoint: charge.endpoint.clone(),
            target: charge.target.clone(),
        }
    }
}

impl Spend {
    pub fn of(charge: &Charge) -> Spend {
        let voided = charge.resolution.as_ref().is_some_and(|r| r.settlement == Settlement::Voided);
        Spend { requests: 1, units: if voided { 0 } else { charge.cost.into() } }
    }
}

impl AddAssign for Spend {
    fn add_assign(&mut self, other: Spend) {
        self.requests = self.requests.saturating_add(other.requests);
        self.units = self.units.saturating_add(other.units);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hours_hold_before_the_epoch_and_at_their_edges() {
        let edges = [(-1, -1, 0), (0, 0, 0), (1, 0, 1), (HOUR - 1, 0, 1), (HOUR, 1, 1)];
        for (at, of, from) in edges {
            assert_eq!((Hour::of(Wall(at)), Hour::from(Wall(at))), (Hour(of), Hour(from)), "{at}");
        }
        assert_eq!(Hour(-2).begins(), Wall(-2 * HOUR));
    }
}
