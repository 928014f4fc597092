//! What to ask, of whom, how often: the validated content of `larder.toml` and recipe, before anything ran.

pub use super::reading::{Format, ObservedKind, ObservedPlace, ObservedSpec, ReadingSpec, Salvage};

use super::credential::NewSecret;
use super::gateway::GatewaySpec;
use super::ids::{ConnectionKey, Endpoint, TargetName};
use super::limit::Limit;
use super::oauth::OAuthSpec;
use super::outcome::{Outcome, Reach};
use super::page::PageSpec;
use super::quota::QuotaSpec;
use super::scan::ScanSpec;
use super::send::SendSpec;
use super::time::Span;
use super::wait::WaitSource;
use super::webhook::WebhookSpec;

/// How the secret travels. The secret itself is not here: it lives in `upstream`, redacted everywhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Carrier {
    /// No credential (a Prometheus in the cellar).
    None,
    /// `?name=SECRET`
    Query { name: String },
    /// `Name: SECRET` or `Name: Scheme SECRET`
    Header { name: String, scheme: Option<String> },
    /// `Authorization: Basic base64(user:SECRET)` (RFC 7617); without a user the secret itself is `user:password`.
    Basic { user: Option<String> },
}

/// Whether validators are sent (RFC 9110 section 13), and whether the provider counts the 304 that answers them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Conditional {
    /// The provider documents that a 304 counts in none of the declared limits: its charge is voided.
    Free,
    /// A 304 costs like any other answer.
    #[default]
    Charged,
    /// Nothing is asked conditionally: some providers' validators are wrong.
    Off,
}

impl Conditional {
    pub const ALL: [Conditional; 3] = [Conditional::Free, Conditional::Charged, Conditional::Off];

    /// The word in configuration and plans.
    pub const fn word(self) -> &'static str {
        match self {
            Conditional::Free => "free",
            Conditional::Charged => "charged",
            Conditional::Off => "off",
        }
    }
}

/// Where the secret is read from. Never its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SecretSource {
    None,
    Env(String),
    /// In a file of `NAME=value` lines, which can change while the process runs, and where it is not there in the environment.
    Listed {
        file: std::path::PathBuf,
        name: String,
    },
    File(std::path::PathBuf),
    /// In the data file, where an operator set it; nothing before that.
    Sealed,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ConnectionSpec {
    pub key: ConnectionKey,
    /// The provider as a product: the recipe's name, or the host of `base_url`.
    pub provider: String,
    pub recipe: Option<String>,
    /// `scheme://host[:port][/path]`, no trailing slash.
    pub base_url: String,
    pub secret: SecretSource,
    pub carrier: Carrier,
    /// What another secret is to the provider.
    pub new_secret: NewSecret,
    /// `secret` is a refresh token then, and what travels is the access token that it brought.
    pub oauth: Option<OAuthSpec>,
    pub conditional: Conditional,
    pub limits: Vec<Limit>,
    /// Where the provider states its own count, beside the general headers.
    pub quotas: Vec<QuotaSpec>,
    pub poll: PollSpec,
    pub targets: Vec<TargetSpec>,
    pub scans: Vec<ScanSpec>,
    pub commands: Vec<CommandSpec>,
    /// What happened longer ago may go; `None`: never.
    pub keep_history: Option<Span>,
    /// Who is told of its events.
    pub webhooks: Vec<WebhookSpec>,
    pub rules: Vec<RuleSpec>,
    pub waits: WaitSpec,
    pub network: NetworkSpec,
    pub reading: ReadingSpec,
    /// Where the provider's days begin, for `{today}` and for times without an offset. A name of the IANA database.
    pub time_zone: String,
    /// A refresh by hand or after a command asks the provider only if the answer is at least this old (I2).
    pub refresh_min_age: Span,
    /// What unmodified clients may ask through it.
    pub gateway: GatewaySpec,
}

impl ConnectionSpec {
    /// Whether it sends a credential that is nowhere but in the data file: nothing is asked before somebody has set it.
    pub fn waits_for_a_secret(&self) -> bool {
        self.secret == SecretSource::Sealed && self.carrier != Carrier::None
    }
}

/// Timeouts and bounds of one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetworkSpec {
    pub connect_timeout: Span,
    /// Longest silence between two reads of the body.
    pub read_timeout: Span,
    /// From the first byte of the request to the last of the answer, redirects included.
    pub request_timeout: Span,
    /// Bytes of the decompressed body.
    pub max_body: u64,
}

impl Default for NetworkSpec {
    fn default() -> Self {
        NetworkSpec {
            connect_timeout: Span::from_secs(10),
            read_timeout: Span::from_secs(15),
            request_timeout: Span::from_secs(30),
            max_body: 10 * 1024 * 1024,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interval {
    Every(Span),
    /// The shortest that the budget can keep up for ever.
    Auto,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PollSpec {
    pub enabled: bool,
    pub interval: Interval,
    /// A target that did not change for so long is polled no more; `None`: it always is.
    pub inactivity_ttl: Option<Span>,
    /// How long a completed target is still polled.
    pub completion_grace: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub struct TargetSpec {
    pub name: TargetName,
    /// Path and query below `base_url`, a template: asked with the method of `send`. `None`: it cannot be asked by itself.
    pub get: Option<String>,
    pub send: SendSpec,
    /// Units of the limits that one request takes.
    pub cost: u32,
    /// How the list comes page by page; `None`: in one answer.
    pub page: Option<PageSpec>,
    /// RFC 9535; each node is an item.
    pub items: String,
    /// RFC 9535 from the item, `@name`, `@position`, or a text in single quotes.
    pub key: String,
    pub title: Option<String>,
    /// Beyond this age an answer is stale. `None`: twice the planned interval; a backoff does not stretch it.
    pub fresh_for: Option<Span>,
    /// Beyond this age an answer is expired. `None`: never.
    pub expires_after: Option<Span>,
    pub fields: Vec<FieldSpec>,
    /// First that matches is the item's state.
    pub states: Vec<StateSpec>,
    /// JSONPaths inside an item that are left out of its fingerprint.
    pub volatile: Vec<String>,
    /// Where the provider says when it was measured (A27); `None`: what arrives is taken as said for now.
    pub observed_at: Option<ObservedSpec>,
    /// When it is completed: a JSONPath (RFC 9535) that finds something in the target as it is shown, or a filter expression that
    /// holds for it. `None`: only somebody can say.
    pub complete: Option<String>,
    /// Whether answers are taken that somebody pushes (T, observations).
    pub push: bool,
}

impl TargetSpec {
    /// Where its requests are counted; `None`: it makes none.
    pub fn endpoint(&self) -> Option<Endpoint> {
        self.get.as_deref().map(endpoint_of)
    }

    /// Up to which age its answer is fresh, where it is renewed every `interval`: twice that, unless it says otherwise.
    pub fn fresh_within(&self, interval: Span) -> Span {
        self.fresh_for.unwrap_or(Span(interval.0.saturating_mul(2)))
    }
}

/// The endpoint of a request line: its path without query and fragment. Of a template it is the template's own: `/day/{today}` is
/// one endpoint, whatever the day, so that a limit by endpoint counts all days together.
pub fn endpoint_of(path_and_query: &str) -> Endpoint {
    let end = path_and_query.find(['?', '#']).unwrap_or(path_and_query.len());
    Endpoint(path_and_query[..end].to_owned())
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldKind {
    Text,
    Number,
    Bool,
    /// RFC 3339 text.
    Time,
    SecondsUntil,
    SecondsLeft,
    EpochS,
    EpochMs,
}

impl FieldKind {
    pub const ALL: [FieldKind; 8] = [
        FieldKind::Text,
        FieldKind::Number,
        FieldKind::Bool,
        FieldKind::Time,
        FieldKind::SecondsUntil,
        FieldKind::SecondsLeft,
        FieldKind::EpochS,
        FieldKind::EpochMs,
    ];

    /// The word in configuration.
    pub const fn word(self) -> &'static str {
        match self {
            FieldKind::Text => "text",
            FieldKind::Number => "number",
            FieldKind::Bool => "bool",
            FieldKind::Time => "time",
            FieldKind::SecondsUntil => "seconds-until",
            FieldKind::SecondsLeft => "seconds-left",
            FieldKind::EpochS => "epoch-s",
            FieldKind::EpochMs => "epoch-ms",
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct FieldSpec {
    pub name: String,
    /// RFC 9535, from the item.
    pub path: String,
    pub kind: FieldKind,
    /// RFC 9535 filter expression about the item `@`; where it does not hold the field is unknown
    /// (one number can mean three things: A52, Hydrawise's `time`).
    pub when: Option<String>,
    /// Left out of the fingerprint. Countdowns always are.
    pub volatile: bool,
    /// What can be believed of it; anything else is unknown (A30).
    pub plausible: Plausible,
}

/// What a field's value can be, in the unit in which it is sent.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plausible {
    pub min: Option<f64>,
    pub max: Option<f64>,
    /// By which the provider says that it does not know (`-888`, `"n/a"`).
    pub unknown: Vec<Sentinel>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Sentinel {
    Number(f64),
    /// Whatever its case.
    Text(String),
}

/// `[[connection.target.state]]`: the item is in state `is` where `when` holds.
#[derive(Clone, Debug, PartialEq)]
pub struct StateSpec {
    pub is: String,
    /// RFC 9535 filter expression about the item `@`; absent: always.
    pub when: Option<String>,
    /// A countdown field; when it ends the state reads as `then` (I7).
    pub until: Option<String>,
    pub then: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retry {
    Never,
    Idempotent,
}

#[derive(Clone, Debug, PartialEq)]
pub struct CommandSpec {
    pub name: String,
    /// Template: `{name}` is replaced by the percent-encoded parameter.
    pub path: String,
    pub send: SendSpec,
    pub cost: u32,
    pub then_refresh: Option<TargetName>,
    pub retry: Retry,
}

impl CommandSpec {
    pub fn endpoint(&self) -> Endpoint {
        endpoint_of(&self.path)
    }
}

/// One rule of classification, as data. All conditions that are given must hold.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RuleSpec {
    pub name: String,
    pub outcome: Option<Outcome>,
    pub status: Vec<u16>,
    /// Header name (lower case) and a case-insensitive regular expression for its value.
    pub header: Option<(String, String)>,
    /// Case-insensitive regular expression for the body as text.
    pub body: Option<String>,
    /// RFC 9535 filter expression about the parsed body `@`.
    pub json: Option<String>,
    /// Whom a refusal by this rule stops; absent: what the outcome usually means.
    pub hold: Option<Reach>,
    /// The declared limit that such a refusal speaks of.
    pub limit: Option<String>,
}

/// Where waits come from and what is credible.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitSpec {
    /// No hold is shorter.
    pub floor: Span,
    /// No hint above this is believed as it stands: the hold is this long, and said.
    pub ceiling: Span,
    /// Length of a hold after an overload or failure streak without a hint.
    pub default: Span,
    /// The recipe's own, asked beside the general ones: the longest credible wait counts.
    pub sources: Vec<WaitSource>,
}

impl Default for WaitSpec {
    fn default() -> Self {
        WaitSpec {
            floor: Span::from_secs(5),
            ceiling: Span::from_secs(40 * 86_400),
            default: Span::from_secs(60),
            sources: Vec::new(),
        }
    }
}
