//! Spending by the hour: what requests are summed by, and the sums.

use super::charge::{Charge, Settlement};
use super::ids::{Caller, ConnectionKey, Endpoint, TargetName};
use super::outcome::Outcome;
use super::time::Wall;
use std::ops::AddAssign;

/// Stands for the endpoints and targets that an hour has no lines of their own for. No endpoint is called so: they begin with a slash.
pub const OTHERS: &str = "(others)";

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

/// What they come to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spend {
    /// All that were reserved, those too that the provider cannot have counted.
    pub requests: u64,
    /// Units of the limits that the provider may have counted.
    pub units: u64,
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
