//! How a credential renews itself: OAuth 2.0 with a refresh token (RFC 6749 section 6), as configured. No secret is here.

use super::spec::SecretSource;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OAuthSpec {
    /// Where tokens are asked for. May be another host than `base_url`: it is declared, so it is meant.
    pub token_url: String,
    pub client_id: String,
    /// None for a public client.
    pub client_secret: SecretSource,
    pub scope: Option<String>,
    pub auth: ClientAuth,
    pub rotation: Rotation,
    pub counted: Counted,
    /// Tells accounts of one client apart: each has a budget and tokens of its own.
    pub account: String,
}

/// How the client shows who it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClientAuth {
    /// `Authorization: Basic` (RFC 6749 section 2.3.1).
    #[default]
    Basic,
    /// In the body.
    Body,
}

/// Whether a refresh token dies with its use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rotation {
    #[default]
    Keeps,
    /// Each refresh brings another one. If its answer is lost, so may be the way in.
    Rotates,
}

/// What a refresh takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Counted {
    /// One unit of every limit of the credential, as any request: what is not known to be free is not.
    #[default]
    Budget,
    /// Nothing of the provider's limits; a small pace of our own bounds it.
    Apart,
}
