//! How often is polled, and what that amounts to, as it is shown. Knows figures; must not know how a plan is made.

use super::{Seconds, WayWord, When};
use serde::Serialize;
use utoipa::ToSchema;

#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct PollView {
    /// As configured; for `auto` as computed.
    pub interval_seconds: Seconds,
    /// max(interval, backoff), stretched to what the budget can keep up.
    pub effective_interval_seconds: Seconds,
    /// Set where the limits cannot keep up the interval: null otherwise.
    pub stretched: Option<StretchView>,
    pub last_poll_at: Option<When>,
    pub next_poll_at: Option<When>,
}

/// Why polls come less often than was wished.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct StretchView {
    pub from_seconds: Seconds,
    pub to_seconds: Seconds,
    /// The limit that cannot keep it up.
    pub limit: Option<String>,
    pub sentence: String,
}

#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct ForecastView {
    /// What is sent, and the units of the limits that it takes.
    pub requests_per_day: u64,
    pub units_per_day: u64,
    /// Targets that the budget can keep at this interval; null where no limit bounds them.
    pub ceiling_targets: Option<u64>,
}

/// What a connection asks and what its limits make of it.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct PlanView {
    pub name: String,
    pub organization: String,
    pub provider: String,
    /// Whether it is polled; what is planned is planned all the same.
    pub enabled: bool,
    /// Whether its interval is left to the limits.
    pub auto: bool,
    /// When an interval that an operator set ends by itself, and the one before it is back.
    pub until: Option<When>,
    #[serde(flatten)]
    pub figures: PlanFigures,
    /// Tokens that are renewed a day at its cost; they are among its requests.
    pub renewals_per_day: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct PlanFigures {
    /// As wished; for `auto` the shortest.
    pub interval_seconds: Seconds,
    /// As often as it is kept.
    pub effective_interval_seconds: Seconds,
    pub stretched: Option<StretchView>,
    /// Null: the limits leave polls nothing.
    pub shortest_interval_seconds: Option<Seconds>,
    pub bound_by: Option<String>,
    pub targets: u64,
    pub requests_per_round: u64,
    pub units_per_round: u64,
    /// At the effective interval.
    pub requests_per_day: u64,
    pub units_per_day: u64,
    /// What the wish would take.
    pub wished_requests_per_day: u64,
    pub wished_units_per_day: u64,
    /// Requests until an interval that was set for a bounded time ends.
    pub requests_meanwhile: Option<u64>,
    /// Targets that fit at the interval that is wished for; null where no limit bounds them.
    pub ceiling_targets: Option<u64>,
    /// What everybody who spends from the budget takes together, at the interval that is wished for.
    pub limits: Vec<ShareView>,
    pub sentence: String,
}

/// What pollers take of a limit, of its fullest book.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct ShareView {
    pub limit: String,
    pub endpoint: Option<String>,
    /// Units of a window that pollers may have; what is kept for others is not among them.
    pub available: u64,
    pub percent: u64,
    pub own_percent: u64,
}

/// What a connection would ask if it were otherwise.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct WhatIfView {
    pub connection: String,
    pub targets: u64,
    /// Rows of one target, and of one page; null where a target comes in one answer.
    pub rows: Option<u64>,
    pub page_size: Option<u64>,
    /// `single`: a request for each target, page by page; `scan`: one reading that feeds them all.
    #[schema(value_type = WayWord)]
    pub way: &'static str,
    pub single: CostView,
    /// Null where nothing is known of pages.
    pub scan: Option<CostView>,
    #[serde(flatten)]
    pub figures: PlanFigures,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct CostView {
    pub requests: u64,
    pub units: u64,
}
