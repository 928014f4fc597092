//! Read models of webhooks.

use super::Sentence;
use super::{EventKindWord, Seconds, WebhookKindWord, WebhookWord, When};
use crate::domain::ids::EventId;
use serde::Serialize;
use utoipa::ToSchema;

#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct WebhookView {
    pub name: String,
    /// As what events are told: as JSON for programs, or as notifications for people.
    #[schema(value_type = WebhookKindWord)]
    pub kind: &'static str,
    /// `scheme://host[:port]`: the rest of an address may be a password.
    pub to: String,
    /// Whether what is sent is signed, or goes with an access token.
    pub signed: bool,
    /// Kinds of events that it is told of.
    #[schema(value_type = Vec<EventKindWord>)]
    pub events: Vec<&'static str>,
    /// `delivering`, or `failing` since the receiver did not take one.
    #[schema(value_type = WebhookWord)]
    pub state: &'static str,
    /// In one sentence.
    #[schema(value_type = String)]
    pub sentence: Sentence,
    /// Events that wait for their turn, up to [`WebhookView::MOST_WAITING`].
    pub waiting: u64,
    pub delivered: u64,
    pub delivered_at: Option<When>,
    /// Events that left the log before they could be sent.
    pub missed: u64,
    /// Failed attempts in a row.
    pub failures: u32,
    pub failing_since: Option<When>,
    pub next_attempt_at: Option<When>,
    pub reason: Option<String>,
    /// What was given up, newest first.
    pub dead_letters: Vec<DeadLetterView>,
}

impl WebhookView {
    pub const MOST_WAITING: u64 = 1000;
}

#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct DeadLetterView {
    #[schema(value_type = u64)]
    pub event: EventId,
    #[schema(value_type = EventKindWord)]
    pub kind: &'static str,
    pub at: When,
    pub message: String,
    pub given_up_at: When,
    pub reason: String,
    /// It is about to be sent again.
    pub again: bool,
}

/// What came of a message that was sent to see whether it arrives.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct WebhookTestView {
    pub taken: bool,
    pub status: Option<u16>,
    pub sentence: String,
    pub took_seconds: Seconds,
}
