//! Webhooks: where a connection's events are told to other programs, and how far that has come. The log of events is the outbox, and the
//! state of a webhook is a place in it. std only.

use super::event::{Event, EventKind};
use super::ids::{EventId, WebhookName};
use super::spec::SecretSource;
use super::time::{Span, Stamp};

/// `[[connection.webhook]]`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebhookSpec {
    pub name: WebhookName,
    pub url: WebhookUrl,
    pub form: WebhookForm,
    /// Signs what is sent, or is the access token of an ntfy server; `None`: nothing is signed, and no token is shown.
    pub secret: SecretSource,
    /// Of these kinds.
    pub events: Vec<EventKind>,
    /// From the first byte of a delivery to the head of its answer.
    pub timeout: Span,
    /// A turn of the connection's state is told once it has lasted so long: of one that is over before nobody hears.
    pub settle: Span,
}

/// As what an event is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WebhookForm {
    /// JSON with every member of it, for programs.
    Event,
    /// A notification for people, as servers of ntfy take it.
    Ntfy {
        /// Where the dashboard is, for who touches the notification.
        click: Option<String>,
    },
}

impl WebhookForm {
    pub const WORDS: [&str; 2] = ["ntfy", "webhook"];

    pub const fn word(&self) -> &'static str {
        match self {
            WebhookForm::Ntfy { .. } => "ntfy",
            WebhookForm::Event => "webhook",
        }
    }
}

/// Where to. Some services hide a password in the address: then it lies where secrets do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WebhookUrl {
    Plain(String),
    Secret(SecretSource),
}

impl WebhookSpec {
    /// What a configuration means that names none: everything that is kept of a connection.
    pub fn every_kind() -> Vec<EventKind> {
        EventKind::ALL
            .into_iter()
            .filter(|kind| kind.is_durable() && kind.is_public() && *kind != EventKind::Appliance)
            .collect()
    }

    /// Where its secrets lie.
    pub fn sources(&self) -> impl Iterator<Item = &SecretSource> {
        let url = match &self.url {
            WebhookUrl::Plain(_) => None,
            WebhookUrl::Secret(source) => Some(source),
        };
        url.into_iter().chain([&self.secret])
    }

    pub fn wants(&self, kind: EventKind) -> bool {
        self.events.contains(&kind)
    }
}

/// How far a webhook has come. `Default` is one that begins with the first event of the file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WebhookState {
    /// Up to this event everything was delivered, given up, or not wanted.
    pub done: EventId,
    /// Failed deliveries in a row, of whichever event: the receiver's, not the event's.
    pub failures: u32,
    /// Nothing is sent before this.
    pub not_before: Option<Stamp>,
    pub trouble: Option<DeliveryTrouble>,
    /// When the receiver last took one, and which.
    pub delivered_last: Option<(Stamp, EventId)>,
    /// Deliveries that were taken, over all time.
    pub delivered: u64,
    /// Events that left the log before they could be sent.
    pub missed: u64,
}

/// Why deliveries fail now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeliveryTrouble {
    pub since: Stamp,
    pub reason: String,
}

/// An event that was given up, kept so that it can be seen and sent again.
#[derive(Clone, Debug, PartialEq)]
pub struct DeadLetter {
    pub event: Event,
    pub given_up_at: Stamp,
    pub reason: String,
    /// Somebody asked for another attempt.
    pub again: bool,
}
