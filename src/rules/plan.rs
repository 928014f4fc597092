//! What the limits can keep up for ever: intervals, requests a day, ceilings.

use crate::domain::limit::Limit;
use crate::domain::spec::TargetSpec;
use crate::domain::time::Span;

#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Requests of one polling round.
    pub requests_per_round: u64,
    pub requests_per_day: u64,
    /// The shortest interval that every limit can keep up for ever, with what is kept for others left alone.
    pub shortest_interval: Span,
    /// The limit that dictates it.
    pub bound_by: Option<String>,
    /// Targets of this kind that fit at the interval.
    pub ceiling_targets: u64,
    pub sustainable: bool,
}

/// `interval = None` plans for the shortest.
pub fn plan(_limits: &[Limit], _targets: &[TargetSpec], _interval: Option<Span>) -> Plan {
    todo!()
}
