//! A state told in its parts, the same on every surface: what happened, since when, what still works, when it changes, and the one thing to
//! do about it with what that costs.

use super::{Sentence, StateWord, When};
use crate::domain::state::State;
use serde::Serialize;
use utoipa::ToSchema;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct BannerView {
    /// What happened, in sentences.
    #[schema(value_type = String)]
    pub what: Sentence,
    /// Since when the state is what it is; null where nobody noticed its beginning.
    pub since: Option<When>,
    /// What still works meanwhile.
    #[schema(value_type = String)]
    pub works: Sentence,
    /// When it changes, or what it waits for; empty where nobody knows.
    #[schema(value_type = String)]
    pub change: Sentence,
    /// The same where a moment is known.
    pub changes_at: Option<When>,
    /// Null where there is nothing to do.
    pub action: Option<ActionView>,
}

/// The one thing to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct ActionView {
    pub kind: ActionKind,
    /// As it stands on the button.
    pub label: &'static str,
    /// Requests to the provider that it takes; a list that comes in pages takes about so many.
    pub requests: u64,
    /// Of which target, where it is done to one.
    pub target: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ActionKind {
    SetClock,
    Resume,
    ResumeAll,
    ReplaceCredential,
    SeeSpending,
    SeeRequests,
    Probe,
    Refresh,
}

/// What a word becomes by age alone, if nothing new comes in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct TurnView {
    #[schema(value_type = StateWord)]
    pub state: State,
    pub at: When,
}
