//! Read models of what operators set: what the file says and what was set instead, side by side.

use super::{BudgetView, CallerWord, NeverOrSeconds, OutcomeWord, Seconds, When};
use crate::domain::spec::Interval;
use serde::{Serialize, Serializer};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ObjectBuilder, OneOfBuilder, Schema, Type};
use utoipa::{PartialSchema, ToSchema};

/// The controls of a connection.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct ControlsView {
    pub enabled: ControlView<bool>,
    pub interval: ControlView<IntervalView>,
    /// Null: never.
    #[schema(value_type = ControlView<NeverOrSeconds>)]
    pub inactivity_ttl_seconds: ControlView<Option<Seconds>>,
    #[schema(value_type = ControlView<NeverOrSeconds>)]
    pub completion_grace_seconds: ControlView<Option<Seconds>>,
}

#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct ControlView<T> {
    pub configured: T,
    /// Null: what is configured is in force.
    pub set: Option<SetView<T>>,
}

impl<T: Copy> ControlView<T> {
    pub fn in_force(&self) -> T {
        self.set.as_ref().map_or(self.configured, |set| set.value)
    }
}

/// What somebody set.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct SetView<T> {
    pub value: T,
    pub by: String,
    pub at: When,
    /// When it ends by itself.
    pub until: Option<When>,
}

impl<T> SetView<T> {
    pub fn of(value: T, by: &str, at: When) -> SetView<T> {
        SetView { value, by: by.to_owned(), at, until: None }
    }
}

/// Seconds, or `"auto"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IntervalView {
    Auto,
    Every(Seconds),
}

impl IntervalView {
    pub fn of(interval: Interval) -> IntervalView {
        match interval {
            Interval::Auto => IntervalView::Auto,
            Interval::Every(span) => IntervalView::Every(Seconds(span)),
        }
    }
}

impl PartialSchema for IntervalView {
    fn schema() -> RefOr<Schema> {
        let number = ObjectBuilder::new().schema_type(Type::Number).minimum(Some(0));
        let auto = ObjectBuilder::new().schema_type(Type::String).enum_values(Some(["auto"]));
        OneOfBuilder::new().item(number).item(auto).description(Some("Seconds, or `auto`.")).into()
    }
}

impl ToSchema for IntervalView {}

impl Serialize for IntervalView {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match self {
            IntervalView::Auto => s.serialize_str("auto"),
            IntervalView::Every(seconds) => seconds.serialize(s),
        }
    }
}

/// Where the credential comes from: what is configured, and what was set instead. Never the secret.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct CredentialView {
    /// In words; null: none is sent.
    pub configured: Option<String>,
    /// Null: what is configured is in force.
    pub set: Option<CredentialSetView>,
    /// Another secret is another key of the same account.
    pub same_account: bool,
    /// Since when requests count for the account that they count for now; null: always.
    pub since: Option<When>,
}

#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct CredentialSetView {
    pub by: String,
    pub at: When,
}

/// The polling of the whole process.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct PollingView {
    pub enabled: bool,
    pub enabled_configured: bool,
    pub enabled_set: Option<SetView<bool>>,
    /// Requests of the poller that may be under way at once.
    pub workers: u32,
    pub workers_configured: u32,
    pub workers_set: Option<SetView<u32>>,
}

/// A probe: what it asks and takes, and what came of it.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct ProbeView {
    pub connection: String,
    pub target: String,
    pub endpoint: String,
    #[schema(value_type = CallerWord)]
    pub caller: &'static str,
    /// What it costs.
    pub requests: u32,
    pub units: u32,
    /// Why it could not go now; null if it could.
    pub refused: Option<String>,
    /// The limits that it counts in, as they stand: before it, or after.
    pub budget: Vec<BudgetView>,
    /// Null before it was asked.
    pub probed: Option<Probed>,
}

#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Probed {
    #[schema(value_type = OutcomeWord)]
    pub outcome: &'static str,
    pub status: Option<u16>,
    pub rule: String,
    pub said: Option<String>,
    /// What it cost: as charged, or more where the answer says so.
    pub units: u32,
    pub at: When,
}
