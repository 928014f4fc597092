//! The real door: reqwest with rustls.
//! The only room that knows reqwest: `send(Permit, Request) -> Reply`. One request, one permit; follows nothing by itself.

mod coding;
mod fault;
mod gate;
pub mod http;
pub mod redact;
pub mod route;
#[cfg(test)]
mod tests;

use crate::domain::ids::ConnectionKey;
use crate::domain::reply::Reply;
use crate::rules::budget::Permit;
use std::future::Future;
use std::pin::Pin;

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

/// The one door to the network. The simulator has its own.
pub trait Door: Send + Sync + 'static {
    /// Never fails: what went wrong is in the reply. 3xx are handed back as answers with their `location`.
    fn send(&self, permit: Permit, request: Request) -> Pin<Box<dyn Future<Output = Reply> + Send + '_>>;
    /// Removes every known secret from a text, by value.
    fn redact(&self, text: &str) -> String;
}
