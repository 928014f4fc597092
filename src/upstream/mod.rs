//! The real door: reqwest with rustls.
//! The only room that knows reqwest: `send(Permit, Request) -> Reply`, `pass(Permit, Passing) -> Passed`, `open(Permit, Request) -> Opened`,
//! `renew(Permit) -> Renewal`. One request, one permit; follows nothing by itself.

pub mod agent;
pub mod arrivals;
pub mod boundary;
mod clients;
mod coding;
mod fault;
mod gate;
pub mod http;
pub mod keyring;
pub mod messenger;
mod open;
pub mod pass;
pub mod redact;
mod rest;
pub mod route;
#[cfg(test)]
mod tests;
pub mod tokens;
mod undoing;
mod ways;
mod wire;

use crate::domain::ids::{ConnectionKey, CredentialId};
use crate::domain::reply::{Failure, Reply};
use crate::domain::spec::ConnectionSpec;
use crate::rules::budget::Permit;
use crate::rules::stream::reading::Heard;
use arrivals::{Arrival, Stored};
use boundary::Secrets;
use futures_util::Stream;
use keyring::Keyring;
use messenger::Messenger;
use pass::{Passed, Passing};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use tokens::{Renewal, Renewed, Vault};

/// What to ask. The credential is attached by the door, to the connection's own host only.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    pub connection: ConnectionKey,
    pub method: &'static str,
    /// Below the base URL (`/status?x=1`), or a same-host absolute URL (a redirect).
    pub location: String,
    pub headers: Vec<(String, String)>,
    /// Sent with its length; empty: none.
    pub body: Vec<u8>,
}

/// What a stream says; the last that comes is an error, and says why it ended. Dropping it closes the socket.
pub type EventFlow = Pin<Box<dyn Stream<Item = Result<Heard, String>> + Send>>;

/// What came of opening a stream of events.
pub struct Opened {
    /// Without a body where `events` has it.
    pub reply: Reply,
    /// `None`: the provider answered something else, or nothing.
    pub events: Option<EventFlow>,
}

/// The one door to the network. The simulator has its own.
pub trait Door: Send + Sync + 'static {
    /// Never fails: what went wrong is in the reply. 3xx are handed back as answers with their `location`.
    fn send(&self, permit: Permit, request: Request) -> Pin<Box<dyn Future<Output = Reply> + Send + '_>>;
    /// Passes a client's request on as it was written, with the connection's credential instead of its own. One request, one permit, as
    /// `send`; redirects are handed back. A door that cannot pass has not sent anything.
    fn pass(&self, permit: Permit, passing: Passing) -> Pin<Box<dyn Future<Output = Passed> + Send + '_>> {
        let arrived_at = permit.charge().reserved_at;
        let detail = format!("This door passes nothing on for {}.", passing.connection);
        Box::pin(std::future::ready(Passed { arrived_at, result: Err(Failure::NotSent), detail }))
    }
    /// Opens a stream of events, to go on after the event `last`. One request, one permit, as `send`; its deadline is that of the answer's
    /// head. A door that cannot open streams has not sent anything.
    fn open<'a>(
        &'a self,
        permit: Permit,
        request: &'a Request,
        _last: Option<Arc<str>>,
    ) -> Pin<Box<dyn Future<Output = Opened> + Send + 'a>> {
        let arrived_at = permit.charge().reserved_at;
        let detail = format!("This door opens no streams for {}.", request.connection);
        let reply = Reply { arrived_at, result: Err(Failure::NotSent), detail };
        Box::pin(std::future::ready(Opened { reply, events: None }))
    }
    /// Where the tokens are of credentials that renew themselves; `None` where none does.
    fn vault(&self) -> Option<&Vault> {
        None
    }
    /// Where the secrets are, which can be replaced while everything runs; `None` where they cannot.
    fn keyring(&self) -> Option<&Keyring> {
        None
    }
    /// Asks for new tokens with what the vault has. One request, one permit, as `send`; what comes of it is pending in the vault.
    fn renew(&self, permit: Permit, credential: CredentialId) -> Pin<Box<dyn Future<Output = Renewal> + Send + '_>> {
        let (arrived_at, detail) =
            (permit.charge().reserved_at, format!("credential {credential} does not renew itself"));
        let result = Renewed::Unclear(Reply { arrived_at, result: Err(Failure::NotSent), detail });
        Box::pin(std::future::ready(Renewal { arrived_at, status: None, result }))
    }
    /// Who tells webhooks; `None` where nobody does.
    fn messenger(&self) -> Option<&Messenger> {
        None
    }
    /// What a connection would be that comes, or becomes another, while everything runs. Nothing is in force yet. The error is a sentence.
    fn look_at(&self, spec: &ConnectionSpec, _secrets: &Secrets, _stored: Stored) -> Result<Arrival, String> {
        Err(format!("Connection {} cannot come while this door is in use.", spec.key))
    }
    /// It is in force. What was admitted for `before` still goes out with the secret of before. A sentence where what is stored of its
    /// tokens cannot be used.
    fn welcome(&self, _arrival: Arrival, _before: CredentialId, _now: CredentialId) -> Option<String> {
        None
    }
    /// A connection went: nothing of it can be sent any more.
    fn dismiss(&self, _key: &ConnectionKey) {}
    /// Removes every known secret from a text, by value.
    fn redact(&self, text: &str) -> String;
}
