//! The HTTP clients of this room, as reqwest builds them: what they refuse to do by themselves. Knows no connection and no credential.

use super::gate::GateLayer;
use crate::domain::ids::ConnectionKey;
use reqwest::{Client, ClientBuilder, redirect, retry};

/// rustls has to be told whose cryptography it uses, before the first client is built.
pub(super) fn use_ring() {
    // An error only says that the process has a provider already.
    let _ = rustls::crypto::ring::default_provider().install_default();
}

/// Follows no redirect, tries nothing again, asks no proxy (which would answer in the receiver's place and make "never connected"
/// unprovable). HTTP/2 is off: its GOAWAY and REFUSED_STREAM invite resending.
pub(super) fn plain_client() -> ClientBuilder {
    Client::builder()
        .user_agent(concat!("larder/", env!("CARGO_PKG_VERSION")))
        .redirect(redirect::Policy::none())
        .referer(false)
        .retry(retry::never())
        .http1_only()
        .no_proxy()
}

/// That keeps no socket, and whose sockets are watched as they come up.
pub(super) fn one_shot_client() -> ClientBuilder {
    plain_client().pool_max_idle_per_host(0).connector_layer(GateLayer)
}

pub(super) fn secure_client(needed_by: &ConnectionKey) -> Result<Client, String> {
    one_shot_client().https_only(true).build().map_err(|_| no_authorities(needed_by))
}

/// Why a connection that uses https cannot be asked on this machine.
pub(super) fn no_authorities(needed_by: &ConnectionKey) -> String {
    format!(
        "Connection {needed_by} uses https, but this machine has no certificate authorities to check the provider \
         with; install the package ca-certificates, or name a bundle in SSL_CERT_FILE."
    )
}
