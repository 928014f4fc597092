//! The ways to the providers, which come and go while everything runs: where each connection's requests may go, and the clients for plain
//! HTTP and for TLS. A machine without certificate authorities can still ask its own network: TLS is set up when a connection first needs
//! it. Knows no secret and sends nothing.

use super::clients::{one_shot_client, secure_client, use_ring};
use super::http::Fault;
use super::route::Route;
use super::wire::Wire;
use crate::domain::ids::{ConnectionKey, CredentialId};
use crate::domain::reply::Failure;
use reqwest::{Client, Url};
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

pub(super) struct Ways {
    routes: RwLock<BTreeMap<ConnectionKey, Arc<Route>>>,
    /// Where the credentials of the vault are renewed.
    to_tokens: RwLock<BTreeMap<CredentialId, Arc<Route>>>,
    plain: Client,
    tls: OnceLock<Client>,
    /// For what is passed on octet by octet.
    pub wire: Wire,
}

impl Ways {
    /// The error is a sentence.
    pub fn new() -> Result<Ways, String> {
        use_ring();
        // No certificate is loaded for the plain client: it meets none.
        let plain = one_shot_client().tls_certs_only([]).build();
        let plain = plain.map_err(|_| "The HTTP client cannot be set up.".to_owned())?;
        let (routes, to_tokens) = Default::default();
        Ok(Ways { routes, to_tokens, plain, tls: OnceLock::new(), wire: Wire::new() })
    }

    /// Sets up what these addresses are asked with. The error is a sentence.
    pub fn prepare(&self, needed_by: &ConnectionKey, route: &Route) -> Result<(), String> {
        if !route.uses_tls() {
            return Ok(());
        }
        if self.tls.get().is_none() {
            // Who comes second throws his away.
            let _ = self.tls.set(secure_client(needed_by)?);
        }
        self.wire.secure(needed_by)
    }

    /// The way of this connection from now on. What is under way ends on the way of before.
    pub fn lead(&self, key: ConnectionKey, route: Route) {
        self.routes.write().unwrap_or_else(PoisonError::into_inner).insert(key, Arc::new(route));
    }

    pub fn forget(&self, key: &ConnectionKey) {
        self.routes.write().unwrap_or_else(PoisonError::into_inner).remove(key);
    }

    pub fn of(&self, key: &ConnectionKey) -> Result<Arc<Route>, Fault> {
        let routes = self.routes.read().unwrap_or_else(PoisonError::into_inner);
        let route = routes.get(key).cloned();
        route.ok_or_else(|| (Failure::NotSent, format!("There is no connection named {key}.")))
    }

    pub fn lead_to_tokens(&self, credential: CredentialId, route: Route) {
        self.to_tokens.write().unwrap_or_else(PoisonError::into_inner).insert(credential, Arc::new(route));
    }

    pub fn to_tokens(&self, credential: CredentialId) -> Option<Arc<Route>> {
        self.to_tokens.read().unwrap_or_else(PoisonError::into_inner).get(&credential).cloned()
    }

    pub fn client_for(&self, url: &Url) -> Result<&Client, Fault> {
        let no_tls = || (Failure::NotSent, "This door was set up without TLS.".to_owned());
        if url.scheme() == "https" { self.tls.get().ok_or_else(no_tls) } else { Ok(&self.plain) }
    }
}
