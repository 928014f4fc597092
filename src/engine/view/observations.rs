//! Answers that were pushed, as they are told.

use super::{BecameWord, When};
use serde::Serialize;
use utoipa::ToSchema;

/// Where an answer came from that was pushed.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct PushedView {
    /// The id that its sender gave it.
    pub id: String,
    pub by: String,
    pub received_at: When,
}

/// An observation that is taken in.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct ObservationView {
    pub id: String,
    #[schema(value_type = BecameWord)]
    pub became: &'static str,
    /// It had been taken in before: what became of it then.
    pub again: bool,
    /// By this appliance's clock.
    pub as_of: When,
    /// When it came first.
    pub received_at: When,
}
