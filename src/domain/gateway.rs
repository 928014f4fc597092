//! The gateway of a connection: what unmodified clients may ask through it, how long an answer lasts, and an answer as the shelf keeps it.
//! std only. What follows from any of it is for `rules::gateway`.

use super::event::EventKind;
use super::ids::{ConnectionKey, CredentialId};
use super::time::{Span, Stamp};
use std::sync::Arc;

/// `[connection.gateway]`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GatewaySpec {
    pub enabled: bool,
    /// Where no rule says otherwise.
    pub freshness: Freshness,
    pub fresh_for: Span,
    /// Names of headers in which the provider addresses this cache, in lower case; the first that is there stands in place of
    /// `Cache-Control` and `Expires` (RFC 9213 section 2.2).
    pub targeted: Vec<String>,
    /// A request has to fit one of them.
    pub allow: Vec<Allow>,
    /// What is special about some paths; for each matter the first rule that fits and has a word on it counts.
    pub rules: Vec<PathRule>,
}

impl Default for GatewaySpec {
    fn default() -> Self {
        GatewaySpec {
            enabled: true,
            freshness: Freshness::Memo,
            fresh_for: Span::from_secs(5),
            targeted: Vec::new(),
            allow: vec![Allow { methods: vec!["GET".to_owned(), "HEAD".to_owned()], path: "/**".to_owned() }],
            rules: Vec::new(),
        }
    }
}

/// By what an answer is fresh.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Freshness {
    /// For `fresh_for` from its arrival, whatever the provider says of caches (P1).
    #[default]
    Memo,
    /// By RFC 9111, as a shared cache without heuristics.
    Http,
}

impl Freshness {
    pub const ALL: [Freshness; 2] = [Freshness::Memo, Freshness::Http];

    /// The word in configuration.
    pub const fn word(self) -> &'static str {
        match self {
            Freshness::Memo => "memo",
            Freshness::Http => "http",
        }
    }
    pub fn from_word(word: &str) -> Option<Freshness> {
        Freshness::ALL.into_iter().find(|f| f.word() == word)
    }
}

/// `[[connection.gateway.allow]]`: what may be asked. Paths are patterns: `*` is anything inside a segment, `**` at the end any rest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allow {
    /// In capitals.
    pub methods: Vec<String>,
    pub path: String,
}

/// `[[connection.gateway.rule]]`
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PathRule {
    pub path: String,
    pub freshness: Option<Freshness>,
    pub fresh_for: Option<Span>,
    pub not_ready: Option<NotReadySpec>,
    /// After a write to `path` that succeeded, answers to these paths are forgotten (P1).
    pub forgets: Vec<String>,
    /// What is read here is a stream of events, whatever the client says that it takes (P4).
    pub stream: Option<bool>,
    /// Any method may be repeated here, as PUT and DELETE may be.
    pub idempotent: Option<bool>,
    pub narrow: Option<NarrowSpec>,
    /// Units of the limits that one request takes.
    pub cost: Option<u32>,
}

/// An expected "not ready" is an answer of its own (P3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotReadySpec {
    pub status: Vec<u16>,
    /// The longest that it is not asked again.
    pub lasts: Span,
    /// What ends it earlier.
    pub until: Vec<Until>,
}

/// What may have changed what is not ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// A write through the gateway, or a command, of this connection that succeeded.
    Write,
    /// An event of this connection.
    Event(EventKind),
}

/// A list is served out of a wider one, by the value of a query parameter (P2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NarrowSpec {
    /// The wider list is asked for without it.
    pub parameter: String,
    /// RFC 9535: each node is a member of a list.
    pub items: String,
    /// RFC 9535 from a member: what the parameter is compared with, as text.
    pub field: String,
    /// A filter expression about the wider answer `@` that holds where it is the whole list. `None`: it always is, unless a `Link` names a
    /// next page.
    pub whole: Option<String>,
}

/// Bytes that the answers of all gateways may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShelfSpec {
    pub memory: u64,
    pub disk: u64,
}

impl Default for ShelfSpec {
    fn default() -> Self {
        ShelfSpec { memory: 32 << 20, disk: 256 << 20 }
    }
}

/// A method whose answers are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reading {
    Get,
    Head,
}

impl Reading {
    pub const fn method(self) -> &'static str {
        match self {
            Reading::Get => "GET",
            Reading::Head => "HEAD",
        }
    }
    pub fn of(method: &str) -> Option<Reading> {
        [Reading::Get, Reading::Head].into_iter().find(|r| r.method() == method)
    }
}

/// What was asked, and with whose credential (RFC 9111 section 2; P1).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ShelfKey {
    pub connection: ConnectionKey,
    pub credential: CredentialId,
    pub reading: Reading,
    /// Path and query below the base URL, normalised, without any credential.
    pub target: String,
}

/// What an answer's `Vary` names, as the request that it answered had it; lower-case names, in their order.
pub type Variant = Vec<(String, Option<String>)>;

/// What an answer is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kept {
    /// Good, whole, classified.
    #[default]
    Data,
    /// An expected "not ready".
    NotReady,
    /// No good answer, but one that the provider itself says to be fresh: served while it is, and never afterwards.
    Declared,
}

impl Kept {
    pub const fn word(self) -> &'static str {
        match self {
            Kept::Data => "data",
            Kept::NotReady => "not_ready",
            Kept::Declared => "declared",
        }
    }
}

/// An answer on the shelf, without its body.
#[derive(Clone, Debug, PartialEq)]
pub struct Head {
    pub key: ShelfKey,
    pub variant: Variant,
    pub kept: Kept,
    pub status: u16,
    /// As the provider sent them, less what belongs to one hop or to one client; lower-case names.
    pub headers: Vec<(String, String)>,
    /// When it was asked for, or last confirmed.
    pub asked_at: Stamp,
    /// When that arrived.
    pub as_of: Stamp,
    /// Arrival of the first answer with this body.
    pub changed_at: Stamp,
    /// Of the body.
    pub digest: [u8; 16],
    pub body_bytes: u64,
    /// Units that asking again takes.
    pub cost: u32,
}

impl Head {
    /// The first value of a header, by lower-case name.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_str())
    }

    /// All values of a header as one list (RFC 9110 section 5.3).
    pub fn list(&self, name: &str) -> Option<String> {
        joined(&self.headers, name)
    }

    /// What it takes, in memory and on disk: its texts and its body.
    pub fn bytes(&self) -> u64 {
        let pairs: usize = self.headers.iter().map(|(n, v)| n.len() + v.len() + 16).sum();
        let variant: usize = self.variant.iter().map(|(n, v)| n.len() + v.as_ref().map_or(0, String::len) + 16).sum();
        (self.key.target.len() + pairs + variant + 256) as u64 + self.body_bytes
    }
}

/// All values of a header as one list; `None`: there is none.
pub fn joined(headers: &[(String, String)], name: &str) -> Option<String> {
    let all: Vec<&str> = headers.iter().filter(|(n, _)| n == name).map(|(_, v)| v.as_str()).collect();
    (!all.is_empty()).then(|| all.join(", "))
}

/// An answer on the shelf.
#[derive(Clone, Debug, PartialEq)]
pub struct Shelved {
    pub head: Head,
    pub body: Arc<[u8]>,
}
