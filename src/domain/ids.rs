//! Names and numbers that tell things apart.

use serde::{Deserialize, Serialize};
use std::fmt;

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub String);

        impl $name {
            pub fn as_str(&self) -> &str { &self.0 }
        }
        impl From<&str> for $name {
            fn from(s: &str) -> Self { $name(s.to_owned()) }
        }
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result { f.write_str(&self.0) }
        }
    };
}

text_id!(
    /// A tenant. `default` where there is one.
    Organization
);
text_id!(
    /// The name of a link to a provider, unique inside its organization. Never a socket.
    ConnectionName
);
text_id!(
    /// The name of a standing question, unique inside its connection.
    TargetName
);
text_id!(
    /// Where a request is counted: the method-less path of the request, without its query (`/statusschedule.php`).
    Endpoint
);

text_id!(
    /// The name of a webhook, unique inside its connection.
    WebhookName
);

impl Default for Organization {
    fn default() -> Self {
        Organization("default".to_owned())
    }
}

/// A connection inside an organization.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ConnectionKey {
    pub organization: Organization,
    pub connection: ConnectionName,
}

impl fmt::Display for ConnectionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.organization, self.connection)
    }
}

/// A target inside a connection.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct TargetKey {
    pub connection: ConnectionKey,
    pub target: TargetName,
}

impl fmt::Display for TargetKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.connection, self.target)
    }
}

/// A webhook of a connection.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct WebhookKey {
    pub connection: ConnectionKey,
    pub webhook: WebhookName,
}

impl fmt::Display for WebhookKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.connection, self.webhook)
    }
}

/// The keyed fingerprint of a secret: the budget boundary. Two connections with one secret have one `CredentialId`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct CredentialId(pub [u8; 16]);

impl fmt::Display for CredentialId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|b| write!(f, "{b:02x}"))
    }
}

impl fmt::Debug for CredentialId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CredentialId({self})")
    }
}

/// Charges are numbered in the order of their reservation, over the whole file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ChargeId(pub u64);

/// Jobs are numbered in the order of their creation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct JobId(pub u64);

/// Events are numbered without gaps, over the whole file: the SSE `id`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EventId(pub u64);

/// Findings are numbered in the order of their opening, over the whole file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FindingId(pub u64);

/// Who spends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Caller {
    Poller,
    Trigger,
    Refresh,
    Command,
    Probe,
    Gateway,
}

impl Caller {
    pub const ALL: [Caller; 6] =
        [Caller::Poller, Caller::Trigger, Caller::Refresh, Caller::Command, Caller::Probe, Caller::Gateway];

    /// The one word for this caller, in config, API, metrics and pages.
    pub const fn word(self) -> &'static str {
        match self {
            Caller::Poller => "poller",
            Caller::Trigger => "trigger",
            Caller::Refresh => "refresh",
            Caller::Command => "command",
            Caller::Probe => "probe",
            Caller::Gateway => "gateway",
        }
    }
    pub fn from_word(word: &str) -> Option<Caller> {
        Caller::ALL.into_iter().find(|c| c.word() == word)
    }
}

impl fmt::Display for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}
