//! Who spends together (F1): the secrets of all connections, read once, and the credential that each of them is. Knows no limit.

use super::redact::{Secret, fingerprint, read_secret};
use super::tokens::identity;
use crate::domain::ids::{ConnectionKey, CredentialId, WebhookKey};
use crate::domain::spec::{ConnectionSpec, SecretSource};
use crate::domain::webhook::WebhookUrl;
use std::collections::BTreeMap;

/// Every secret that the configuration names and that can be read.
#[derive(Default)]
pub struct Secrets {
    pub own: BTreeMap<ConnectionKey, Secret>,
    /// Of clients that renew their tokens.
    pub clients: BTreeMap<ConnectionKey, Secret>,
    /// Addresses of webhooks that are secrets themselves.
    pub addresses: BTreeMap<WebhookKey, Secret>,
    /// What webhooks sign with.
    pub signing: BTreeMap<WebhookKey, Secret>,
}

impl Secrets {
    pub fn all(&self) -> impl Iterator<Item = &Secret> {
        self.own.values().chain(self.clients.values()).chain(self.addresses.values()).chain(self.signing.values())
    }
}

/// The secrets, and a sentence for each that cannot be read.
pub fn read_secrets(connections: &[ConnectionSpec]) -> (Secrets, Vec<(ConnectionKey, String)>) {
    let (mut secrets, mut unreadable) = (Secrets::default(), Vec::new());
    for spec in connections {
        let client = spec.oauth.as_ref().map(|oauth| (&oauth.client_secret, &mut secrets.clients));
        let mut wrong =
            |why| unreadable.push((spec.key.clone(), format!("Connection \"{}\": {why}", spec.key.connection)));
        for (source, into) in std::iter::once((&spec.secret, &mut secrets.own)).chain(client) {
            read_into(into, &spec.key, source).unwrap_or_else(&mut wrong);
        }
        for hook in &spec.webhooks {
            let key = WebhookKey { connection: spec.key.clone(), webhook: hook.name.clone() };
            read_into(&mut secrets.signing, &key, &hook.secret).unwrap_or_else(&mut wrong);
            if let WebhookUrl::Secret(source) = &hook.url {
                read_into(&mut secrets.addresses, &key, source).unwrap_or_else(&mut wrong);
            }
        }
    }
    (secrets, unreadable)
}

fn read_into<K: Ord + Clone>(into: &mut BTreeMap<K, Secret>, key: &K, source: &SecretSource) -> Result<(), String> {
    into.extend(read_secret(source)?.map(|secret| (key.clone(), secret)));
    Ok(())
}

/// The budget boundary of each connection.
pub fn credentials(
    installation: &[u8; 32],
    connections: &[ConnectionSpec],
    secrets: &Secrets,
) -> BTreeMap<ConnectionKey, CredentialId> {
    connections.iter().map(|spec| (spec.key.clone(), credential(installation, spec, secrets))).collect()
}

/// The credential that a connection is with its secret.
pub fn credential(installation: &[u8; 32], spec: &ConnectionSpec, secrets: &Secrets) -> CredentialId {
    match &spec.oauth {
        Some(oauth) => identity(installation, oauth),
        None => fingerprint(installation, secrets.own.get(&spec.key), origin(&spec.base_url)),
    }
}

/// `scheme://host[:port]` of a base URL.
pub fn origin(base_url: &str) -> &str {
    let host = base_url.find("://").map_or(0, |at| at + 3);
    let end = base_url[host..].find('/').map_or(base_url.len(), |at| host + at);
    &base_url[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_ends_where_the_path_begins() {
        for (url, expected) in [
            ("https://api.example.test/api/v1", "https://api.example.test"),
            ("http://127.0.0.1:9090", "http://127.0.0.1:9090"),
            ("http://[::1]:9090/x", "http://[::1]:9090"),
        ] {
            assert_eq!(origin(url), expected);
        }
    }
}
