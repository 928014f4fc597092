//! One request for each target of a project, or one scan that feeds them all: whichever costs less (F12). A scan costs what its
//! pages cost, however many targets its rows belong to.

use super::Demand;

/// How the targets of a project are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    Single,
    Scan,
}

impl Way {
    pub const fn word(self) -> &'static str {
        match self {
            Way::Single => "single",
            Way::Scan => "scan",
        }
    }
}

/// Of one look at all targets. In the order of what counts: units are what is scarce.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cost {
    pub units: u64,
    pub requests: u64,
}

impl Cost {
    pub fn of(demands: &[Demand]) -> Cost {
        let sum = |of: fn(&Demand) -> u64| demands.iter().map(of).fold(0, u64::saturating_add);
        Cost { units: sum(Demand::units), requests: sum(|d| d.requests) }
    }
}

/// What both ways cost, and which one is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    pub way: Way,
    /// `None` where a target of the project cannot be asked by itself.
    pub single: Option<Cost>,
    pub scan: Cost,
}

/// Where both cost the same, single: an answer of one target is narrower, and fails alone.
pub fn choose(single: Option<&[Demand]>, scan: &[Demand]) -> Choice {
    let (single, scan) = (single.map(Cost::of), Cost::of(scan));
    let way = if single.is_some_and(|single| single <= scan) { Way::Single } else { Way::Scan };
    Choice { way, single, scan }
}

/// Requests that so many rows take in pages of `size`; an empty list takes one too.
pub fn pages(rows: u64, size: u64) -> u64 {
    rows.div_ceil(size.max(1)).max(1)
}
