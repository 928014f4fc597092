//! How the units of one limit go: levels of what is left, moment by moment. Knows no drawing.

use super::{Seconds, When};
use serde::Serialize;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BurnView {
    pub limit: String,
    pub endpoint: Option<String>,
    pub requests: u64,
    pub used: u64,
    pub foreign: u64,
    pub remaining: u64,
    pub kept: u64,
    /// When all units are back at once; null: each comes back by itself.
    pub resets_at: Option<When>,
    pub from: When,
    pub now: When,
    pub until: When,
    /// Oldest first, up to now.
    pub actual: Vec<LevelView>,
    /// As the plans would have it.
    pub planned: Vec<LevelView>,
    /// From now on, at the pace of the last `looked_at_seconds`.
    pub projected: Vec<LevelView>,
    pub looked_at_seconds: Seconds,
    /// When nothing is left but what is kept, at that pace.
    pub runs_out_at: Option<When>,
    /// What is left beside it, where that is least.
    pub spare: u64,
    /// All limits that can be asked about, with the endpoint where each has a book of its own.
    pub limits: Vec<(String, Option<String>)>,
}

/// So many units are left.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LevelView {
    pub at: When,
    pub left: f64,
}
