//! What the appliance shows: the read models that API and pages render. Built by `engine::appliance` from one snapshot;
//! every surface renders from the same record, so that no two of them can differ in age (A28).
//! Field names are the JSON contract. Times are RFC 3339 UTC; ages are whole seconds, lengths that somebody chose seconds.

mod banner;
mod broker;
mod burn;
mod controls;
mod denied;
mod field;
mod finding;
mod flat;
mod observations;
mod planned;
mod scans;
mod sentence;
mod series;
mod spend;
mod stood;
mod times;
mod webhooks;
mod words;

use crate::domain::ids::{ChargeId, EventId, JobId};
use crate::domain::state::State;
pub use banner::{ActionKind, ActionView, BannerView, TurnView};
pub use broker::BrokerView;
pub use burn::{BurnView, LevelView};
pub use controls::*;
pub use denied::Denied;
pub use field::FieldShown;
pub use finding::FindingView;
pub use flat::{Flat, FlatDocument, FlatKind, FlatOf, FlatValue, FlatView};
pub use observations::{ObservationView, PushedView};
pub use planned::*;
pub use scans::{BuildingView, FedView, FeedView, RunView, ScanView, UnmatchedView};
pub use sentence::{Sentence, instant};
use serde::{Serialize, Serializer};
pub use series::{FieldSeries, SeriesView};
pub use spend::{SpendGroup, SpendSlice, SpendView, Spent};
use std::collections::BTreeMap;
pub use stood::{StoodStretch, StoodView};
pub use times::{NeverOrSeconds, Seconds, When};
use utoipa::ToSchema;
pub use webhooks::{DeadLetterView, WebhookTestView, WebhookView};
pub use words::*;

#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct ConnectionView {
    pub name: String,
    pub organization: String,
    pub provider: String,
    #[schema(value_type = StateWord)]
    pub state: State,
    /// The state in one sentence: what happened, since when, what still works, when it changes.
    pub sentence: String,
    /// The same in its parts.
    pub banner: BannerView,
    /// What the state becomes by age alone.
    pub turns: Vec<TurnView>,
    pub enabled: bool,
    /// What stops the whole credential.
    pub hold: Option<HoldView>,
    /// What stops single endpoints of it.
    pub endpoint_holds: Vec<HoldView>,
    /// Holds whose time is up and that are not over: one request alone has yet to show it, or polls still come slower after it.
    pub passing_holds: Vec<HoldView>,
    /// The way back after a hold.
    pub recovery: Option<RecoveryView>,
    #[schema(value_type = BreakerWord)]
    pub breaker: &'static str,
    pub budget: Vec<BudgetView>,
    pub poll: PollView,
    pub controls: ControlsView,
    pub credential: CredentialView,
    pub forecast: ForecastView,
    /// Age of the oldest last good answer among the active targets; `None` if one was never answered.
    pub oldest_age_seconds: Option<u64>,
    /// Since when that age is counted, for pages that let it grow.
    #[serde(skip)]
    pub oldest_since: Option<When>,
    /// What the owners should know: the open ones, oldest first.
    pub findings: Vec<FindingView>,
    /// Names of the targets and commands, in the order of the file.
    pub targets: Vec<String>,
    pub commands: Vec<CommandView>,
}

#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct CommandView {
    pub name: String,
    /// The placeholders of its template, each once, in order.
    pub parameters: Vec<String>,
    #[schema(value_type = RetryWord)]
    pub retry: &'static str,
}

#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct HoldView {
    pub since: When,
    pub until: When,
    /// `credential`, or `endpoint`, which is named then.
    #[schema(value_type = HoldScopeWord)]
    pub scope: &'static str,
    pub endpoint: Option<String>,
    #[schema(value_type = HoldReasonWord)]
    pub reason: &'static str,
    pub said: Option<String>,
    /// Rule of the classification that matched, and where the length came from.
    pub rule: String,
    pub source: String,
    /// Refusals in a row.
    pub strikes: u32,
}

/// After a hold: `probing` until one request alone has shown that it is over, then for some polls a `ramp`.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct RecoveryView {
    #[schema(value_type = RecoveryWord)]
    pub phase: &'static str,
    pub since: When,
    #[schema(value_type = String)]
    pub sentence: Sentence,
}

/// One limit, for one endpoint where its scope is the endpoint.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct BudgetView {
    pub limit: String,
    pub endpoint: Option<String>,
    #[schema(value_type = LimitKindWord)]
    pub kind: &'static str,
    /// In force: what is declared, or the lower amount that the provider keeps to.
    pub requests: u64,
    pub declared: u64,
    /// Nominal; absent for concurrent.
    pub window_seconds: Option<Seconds>,
    pub used: u64,
    /// Units that others have taken, by the provider's own count.
    pub foreign: u64,
    pub remaining: u64,
    /// Units that only their caller may take and that are still there.
    pub kept: u64,
    pub next_free_at: Option<When>,
    /// Where the provider's period begins by its calendar, in words; absent where it has none.
    pub period_begins: Option<String>,
    /// When the provider's period turns; absent for windows that roll.
    pub resets_at: Option<When>,
    /// Units that all plans together would have taken by now; absent where none takes of it.
    pub planned_used: Option<u64>,
    /// Used units by caller.
    pub used_by: BTreeMap<&'static str, u64>,
    /// Units that are set aside for a caller, by caller.
    pub keeps: BTreeMap<&'static str, u64>,
    /// The most that a caller may have in flight, by caller.
    pub caps: BTreeMap<&'static str, u64>,
    /// What the organization has of it where others spend with the same credential; null where nobody does, and of a pace, where they take
    /// turns.
    pub share: Option<PartView>,
}

/// What an organization has of a limit that it divides with others.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct PartView {
    /// Units that it can count on, and those of them that are never lent.
    pub units: u64,
    pub floor: u64,
    /// Its own part of the units that are spent.
    pub used: u64,
    /// Units that are there for it alone now.
    pub held: u64,
    /// Units that are there for others alone now.
    pub held_for_others: u64,
    /// How many other organizations spend with the credential.
    pub others: u64,
    pub sentence: String,
}

#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct TargetView {
    pub name: String,
    pub organization: String,
    pub connection: String,
    #[schema(value_type = PhaseWord)]
    pub phase: &'static str,
    /// Since when it is in that phase, who put it there, and why where it was the appliance; null: ever since.
    pub phase_since: Option<When>,
    pub phase_by: Option<String>,
    pub phase_why: Option<String>,
    /// `configured`, or `put` by an operator.
    #[schema(value_type = OriginWord)]
    pub origin: &'static str,
    /// Where its requests are counted; null: scans alone feed it, or who pushes its answers.
    pub endpoint: Option<String>,
    #[schema(value_type = StateWord)]
    pub state: State,
    pub sentence: String,
    /// The state in its parts.
    pub banner: BannerView,
    /// What the state becomes by age alone.
    pub turns: Vec<TurnView>,
    /// Whether there is anything that may be used: false before the first answer, and once the last is older than `expires_after`, whatever
    /// the state says of the reason. Then no item has a state or fields.
    pub available: bool,
    /// When that ends if nothing new comes in; null: never, or it has.
    pub expires_at: Option<When>,
    /// When the last good answer arrived.
    pub as_of: Option<When>,
    /// The age that counts: since then, or of the reading where the provider dates it and it is older.
    pub age_seconds: Option<u64>,
    /// Since when that age is counted, for pages that let it grow.
    #[serde(skip)]
    pub aged_since: Option<When>,
    /// The newest time that the provider gives its readings; null where it gives none that can be believed.
    pub observed_at: Option<When>,
    pub reading_age_seconds: Option<u64>,
    /// Within `fresh_for`, and nothing keeps it from being renewed.
    pub fresh: bool,
    /// Freshness bound in force.
    pub fresh_for_seconds: Seconds,
    /// Why it is not newer, as soon as something keeps it from being renewed.
    pub stale: Option<StaleView>,
    pub changed_at: Option<When>,
    pub attempted_at: Option<When>,
    pub item_count: u64,
    pub generation: u64,
    /// How the last reading of its pages went; null where the list comes in one answer, or was never read.
    pub scan: Option<ScanView>,
    /// The scan that brings it its items; null where it is asked by itself.
    pub fed_by: Option<FedView>,
    /// Where its answer came from, if somebody pushed it; null: it was asked for.
    pub pushed: Option<PushedView>,
    /// Requests that a refresh is expected to take, and the units of the limits that each costs.
    pub refresh: RefreshCost,
    /// In the order of their keys, removed ones among them; empty in lists of targets.
    pub items: Vec<ItemView>,
    /// What to give as `after` for the items behind these; null: there are none.
    pub next: Option<String>,
    /// Entity tag of this view without what moves by itself.
    #[serde(skip)]
    pub etag: String,
    /// The sentence without the age, for pages that let the age grow; empty where there is nothing to say.
    #[serde(skip)]
    pub reason: Sentence,
    /// The provider should date its readings and does not, or not credibly.
    #[serde(skip)]
    pub is_undated: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct RefreshCost {
    pub requests: u64,
    pub units_each: u64,
}

#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct StaleView {
    pub since: When,
    pub reason: String,
    pub said: Option<String>,
}

#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct ItemView {
    pub key: String,
    pub title: String,
    /// The word now: a countdown that ended has already decayed (I7).
    pub state: Option<String>,
    /// Set where the answer gave a state that ends with a countdown: what was really seen, so that a page can hedge.
    pub decays: Option<DecayView>,
    #[serde(serialize_with = "as_map")]
    #[schema(value_type = BTreeMap<String, FieldShown>)]
    pub fields: Vec<(String, FieldShown)>,
    pub first_seen_at: When,
    pub last_seen_at: When,
    pub changed_at: When,
    /// The time that the provider gives this reading, and how old it is by that.
    pub observed_at: Option<When>,
    pub reading_age_seconds: Option<u64>,
    pub removed_at: Option<When>,
}

/// A state that a countdown ends (I7): `seen` until `ends_at`, `then` from then on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct DecayView {
    /// The word as the answer said it (`running`), true at the moment of the answer.
    pub seen: String,
    pub ends_at: When,
    pub then: String,
}

/// Fields are an object in JSON, in the order of the configuration.
fn as_map<S: Serializer>(fields: &[(String, FieldShown)], s: S) -> Result<S::Ok, S::Error> {
    s.collect_map(fields.iter().map(|(k, v)| (k, v)))
}

#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct HistoryView {
    pub seq: u64,
    pub at: When,
    pub generation: u64,
    #[schema(value_type = ChangeWord)]
    pub kind: &'static str,
    pub key: String,
    pub title: String,
    pub state: Option<String>,
    pub changes: Vec<FieldChangeView>,
}

#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct FieldChangeView {
    pub field: String,
    pub before: Option<String>,
    pub after: Option<String>,
}

#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct ChargeView {
    #[schema(value_type = u64)]
    pub id: ChargeId,
    pub at: When,
    pub connection: String,
    pub target: Option<String>,
    #[schema(value_type = CallerWord)]
    pub caller: &'static str,
    pub endpoint: String,
    pub cost: u32,
    /// `pending`, or the outcome's word.
    #[schema(value_type = ChargeOutcomeWord)]
    pub outcome: &'static str,
    /// Whether the units are counted: `pending`, `posted`, `voided`.
    #[schema(value_type = SettlementWord)]
    pub settlement: &'static str,
    pub status: Option<u16>,
    pub resolved_at: Option<When>,
    pub rule: Option<String>,
    pub said: Option<String>,
}

#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct JobView {
    #[schema(value_type = u64)]
    pub id: JobId,
    pub organization: String,
    pub connection: String,
    pub command: String,
    pub parameters: BTreeMap<String, String>,
    #[schema(value_type = JobWord)]
    pub state: &'static str,
    pub created_at: When,
    pub updated_at: When,
    pub by: String,
    pub message: Option<String>,
    pub refresh: Option<JobRefreshView>,
}

#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct JobRefreshView {
    pub target: String,
    pub result: String,
}

#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct EventView {
    #[schema(value_type = u64)]
    pub id: EventId,
    #[schema(value_type = EventKindWord)]
    pub kind: &'static str,
    pub at: When,
    pub organization: Option<String>,
    pub connection: Option<String>,
    pub target: Option<String>,
    pub message: String,
}

/// Requests per caller in equal slices of time, oldest first: what the chart draws.
#[derive(Clone, Debug, Serialize)]
pub struct SpendStrip {
    pub from: When,
    pub until: When,
    pub slice_seconds: u64,
    /// One map per slice: units by caller word.
    pub slices: Vec<BTreeMap<&'static str, u64>>,
}

/// The answer to a refresh by hand.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct RefreshView {
    /// Whether the provider was asked (false: the answer is younger than the minimum, or somebody else just asked).
    pub refreshed: bool,
    pub target: TargetView,
}
