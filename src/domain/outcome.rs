//! What became of a request, as one closed word.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The outcome of one request to the provider. The order is the order in which classification asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// A complete answer of the expected shape: the only one that may replace the last good answer (law 4).
    Data,
    /// The provider says that the last good answer still stands (304, or a recipe's own form).
    NotModified,
    /// The provider refused because of a limit, in whatever disguise.
    Limited,
    /// Out of money, points or plan: time alone does not bring it back.
    Unpaid,
    /// The provider does not accept the credential.
    CredentialRejected,
    /// The provider is in trouble (5xx, overload).
    Overloaded,
    /// An expected "not ready yet" (P3): not an error, not re-asked before the next poll.
    NotReady,
    /// Gone for good (410, sunset).
    Gone,
    /// An answer of no known shape. Never data.
    Unexpected,
    /// No complete answer within the request timeout. The provider may have counted it.
    TimedOut,
    /// The socket broke after the request may have been seen. The provider may have counted it.
    Dropped,
    /// TCP or TLS never came up: the provider cannot have counted it. The charge is voided.
    Unreachable,
    /// The body grew past the cap, decompressed.
    TooLarge,
    /// The body was cut off or could not be decompressed or decoded.
    Undecodable,
    /// A hop to another place on the credential's host: followed, and each hop is charged.
    Redirected,
    /// A redirect that leaves the credential's host.
    RedirectRefused,
    /// This process died between charge and answer. Counts as spent.
    Lost,
}

impl Outcome {
    pub const ALL: [Outcome; 17] = [
        Outcome::Data,
        Outcome::NotModified,
        Outcome::Limited,
        Outcome::Unpaid,
        Outcome::CredentialRejected,
        Outcome::Overloaded,
        Outcome::NotReady,
        Outcome::Gone,
        Outcome::Unexpected,
        Outcome::TimedOut,
        Outcome::Dropped,
        Outcome::Unreachable,
        Outcome::TooLarge,
        Outcome::Undecodable,
        Outcome::Redirected,
        Outcome::RedirectRefused,
        Outcome::Lost,
    ];

    /// The one word for this outcome, in API, ledger, metrics and pages.
    pub const fn word(self) -> &'static str {
        match self {
            Outcome::Data => "data",
            Outcome::NotModified => "not_modified",
            Outcome::Limited => "limited",
            Outcome::Unpaid => "unpaid",
            Outcome::CredentialRejected => "credential_rejected",
            Outcome::Overloaded => "overloaded",
            Outcome::NotReady => "not_ready",
            Outcome::Gone => "gone",
            Outcome::Unexpected => "unexpected",
            Outcome::TimedOut => "timed_out",
            Outcome::Dropped => "dropped",
            Outcome::Unreachable => "unreachable",
            Outcome::TooLarge => "too_large",
            Outcome::Undecodable => "undecodable",
            Outcome::Redirected => "redirected",
            Outcome::RedirectRefused => "redirect_refused",
            Outcome::Lost => "lost",
        }
    }
    pub fn from_word(word: &str) -> Option<Outcome> {
        Outcome::ALL.into_iter().find(|o| o.word() == word)
    }
    /// Whether the provider refused: whom it stops is a question for these alone.
    pub const fn is_refusal(self) -> bool {
        use Outcome::*;
        matches!(self, Limited | Unpaid | CredentialRejected | Overloaded | Gone)
    }
    /// Whether the last good answer was confirmed or replaced.
    pub const fn is_good(self) -> bool {
        matches!(self, Outcome::Data | Outcome::NotModified)
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// How a wait was told. Kept with the hold, so that a page can say why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitHint {
    pub wait: super::time::Span,
    /// `Retry-After`, or the name of the recipe's source.
    pub source: String,
    /// What was told, where it is above the ceiling and so not believed.
    #[serde(default)]
    pub beyond: Option<super::time::Span>,
}

/// Whom a refusal stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Everything that holds the credential.
    Credential,
    /// The endpoint that refused (A22, or a method with a limit of its own).
    Endpoint,
    /// Nobody: what was asked is not answered, and that is all.
    Nobody,
}

impl Reach {
    pub const ALL: [Reach; 3] = [Reach::Credential, Reach::Endpoint, Reach::Nobody];

    /// The word in configuration.
    pub const fn word(self) -> &'static str {
        match self {
            Reach::Credential => "credential",
            Reach::Endpoint => "endpoint",
            Reach::Nobody => "none",
        }
    }
    pub fn from_word(word: &str) -> Option<Reach> {
        Reach::ALL.into_iter().find(|r| r.word() == word)
    }
}

/// What classification says about a reply: the outcome, why, the provider's words and its wait.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    pub outcome: Outcome,
    /// Name of the rule that matched (`recipe: lockout sentence`, `status 429`, `timeout`).
    pub rule: String,
    /// The provider's own words, at most 160 characters, secrets already removed.
    pub said: Option<String>,
    /// The longest credible hint.
    pub wait: Option<WaitHint>,
    /// Whom the recipe's rule says that this stops; `None`: what the outcome usually means.
    pub reach: Option<Reach>,
    /// The declared limit that the recipe's rule says this speaks of.
    pub limit: Option<String>,
}

impl Verdict {
    /// Without words, wait or a recipe's say.
    pub fn new(outcome: Outcome, rule: impl Into<String>) -> Verdict {
        Verdict { outcome, rule: rule.into(), said: None, wait: None, reach: None, limit: None }
    }
}
