//! Scans, and the pages of a target, as surfaces show them.

use super::{Seconds, StaleView, When};
use serde::Serialize;
use utoipa::ToSchema;

/// How the last reading of a target's pages went.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct ScanView {
    /// Good pages that were read.
    pub pages: u32,
    /// Pages of which the provider spoke.
    pub of: Option<u64>,
    /// Whether the end was proven. Of an incomplete reading the seen items are on the shelf, nothing was removed, and as-of stays.
    pub complete: bool,
    /// Why it is not complete.
    pub reason: Option<String>,
    /// When its last page arrived.
    pub at: When,
    /// Pages of the last complete reading: what the plan counts with. 0 before the first.
    pub usual_pages: u32,
}

/// One reading that feeds many targets.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct FeedView {
    pub name: String,
    pub organization: String,
    pub connection: String,
    pub endpoint: String,
    /// A new reading begins at most this often; null: with every round.
    pub interval_seconds: Option<Seconds>,
    /// How old all is that it published last: the arrival of that reading's first page.
    pub as_of: Option<When>,
    pub age_seconds: Option<u64>,
    /// Targets that it feeds.
    pub targets: u64,
    /// The newest reading that ended, whether it was published or given up.
    pub last_run: Option<RunView>,
    /// The reading under way.
    pub building: Option<BuildingView>,
    /// Why nothing newer was published.
    pub stale: Option<StaleView>,
    /// Why it is not read now: its targets cost less one by one.
    pub resting: Option<String>,
}

#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct RunView {
    /// Of the reading; numbers only grow.
    pub generation: u64,
    /// When its last page arrived, or it was given up.
    pub at: When,
    /// Whether its end was proven. What is not complete was given up, and nothing of it was published.
    pub complete: bool,
    /// Why it is not.
    pub reason: Option<String>,
    pub pages: u32,
    /// Pages of which the provider spoke.
    pub of: Option<u64>,
    pub rows: u64,
    /// Rows that belong to no target of the scan, and some of them.
    pub unmatched: u64,
    pub unmatched_examples: Vec<UnmatchedView>,
    /// Rows of targets that are not watched any more, or came while it was read.
    pub unwatched: u64,
    /// Targets that it told something new, and those that kept an answer of their own because it is newer.
    pub changed: u64,
    pub kept_own: u64,
}

#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct UnmatchedView {
    pub key: String,
    /// The target that it names; null: it names none.
    pub names: Option<String>,
}

#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct BuildingView {
    pub generation: u64,
    pub since: When,
    pub pages: u32,
    pub of: Option<u64>,
    pub rows: u64,
}

/// By which scan a target is fed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct FedView {
    pub scan: String,
    /// When the newest reading of it that was published began.
    pub as_of: Option<When>,
}
