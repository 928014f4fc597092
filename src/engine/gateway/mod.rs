//! The gateway: programs that know nothing of Larder ask the provider through it, and spend the account once for all of them.
//!
//! * [`desk`] what a connection's gateway keeps in memory, [`place`] the answers under one address
//! * [`standing`] whether the next of the same would be answered the same
//! * [`read`] a reading: from the shelf, else by a flight that all who ask the same wait for ([`flight`], [`ask`])
//! * [`mod@write`] what may change something: through the budget as a command
//! * [`readings`] what the poller reads is an answer for clients too
//! * [`room`] how much of it fits in memory, [`filed`] its way to the file and back
//!
//! Decides nothing of caching: `rules::gateway` does.

pub mod ask;
pub mod desk;
pub mod filed;
pub mod flight;
pub mod given;
pub mod place;
pub mod read;
pub mod readings;
pub mod room;
pub mod standing;
mod trouble;
pub mod write;

use super::appliance::Appliance;
use super::core::{Conn, Core};
use crate::domain::ids::{Caller, ConnectionKey, Organization};
use crate::domain::spec::Carrier;
use crate::domain::time::Now;
use crate::rules::address;
use crate::rules::gateway::{NotAllowed, Passage, Unsafe, rate_limit};
use hyper::header::HeaderValue;
use place::Address;
use std::sync::Arc;

/// A connection's gateway, to somebody who stands before it.
#[derive(Clone)]
pub struct Entrance {
    pub(super) core: Arc<Core>,
    pub(super) conn: Arc<Conn>,
}

impl Appliance {
    /// The gateway of a connection; `None`: there is no such connection.
    pub fn entrance(&self, organization: &Organization, connection: &str) -> Option<Entrance> {
        let is_it = |key: &ConnectionKey| key.connection.as_str() == connection && key.organization == *organization;
        // Few, and no key has to be made for a look.
        let conn = self.core.connections.values().find(|conn| is_it(&conn.spec.key))?;
        Some(Entrance { core: self.core.clone(), conn })
    }

    /// The gateways of all connections of that name, whichever organization they are of.
    pub fn entrances(&self, connection: &str) -> Vec<Entrance> {
        let named = self.core.connections.values().filter(|conn| conn.spec.key.connection.as_str() == connection);
        named.map(|conn| Entrance { core: self.core.clone(), conn }).collect()
    }

    /// Requests to gateways since the start, by connection and how they were answered.
    pub fn gateway_counts(&self) -> Vec<(ConnectionKey, given::How, u64)> {
        let of = |conn: Arc<Conn>| conn.desk.counts().map(|(how, count)| (conn.spec.key.clone(), how, count));
        self.core.connections.values().flat_map(of).collect()
    }
}

impl Entrance {
    pub fn now(&self) -> Now {
        self.core.clock.now()
    }

    pub fn key(&self) -> &ConnectionKey {
        &self.conn.spec.key
    }

    /// Where an unmodified client puts what it takes for its key.
    pub fn carrier(&self) -> &Carrier {
        &self.conn.spec.carrier
    }

    /// The longest body that a client may send.
    pub fn most_sent(&self) -> u64 {
        self.conn.spec.network.max_body
    }

    /// `raw`: path and query behind the connection's name, as they stood in the request line.
    pub fn address(&self, raw: &str) -> Result<Arc<Address>, Unsafe> {
        self.conn.desk.address(raw, self.carrier())
    }

    pub fn passage(&self, method: &str, address: &Address) -> Result<Passage, NotAllowed> {
        address.passage(method, &self.conn.desk.gate)
    }

    /// Where an address of the provider's own host is behind this gateway; `None`: it is another host, or is found without help.
    pub fn homeward(&self, given: &str) -> Option<String> {
        let is_relative = !given.starts_with('/') && !given.contains("://");
        let below = address::resolve(&self.conn.spec.base_url, "/", given).ok().filter(|_| !is_relative)?;
        Some(if below.starts_with('/') { format!("/gateway/{}{below}", self.key().connection) } else { below })
    }

    pub fn counted(&self, how: given::How) {
        self.conn.desk.count(how);
    }

    /// `RateLimit` and `RateLimit-Policy`: what is left for clients of this gateway, as of this second.
    pub fn rate_limit(&self, now: &Now) -> Option<(HeaderValue, HeaderValue)> {
        self.conn.desk.limits(now.steady.0 / 1000, || {
            let usage = self.core.store.usage(self.conn.credential, now, &[]);
            let (left, policy) = rate_limit(&usage, (Caller::Gateway, &self.key().organization), now)?;
            HeaderValue::try_from(left).ok().zip(HeaderValue::try_from(policy).ok())
        })
    }
}
