//! Opens the vault of tokens beside the data file, if any connection renews its own. Puts together; decides nothing.

use super::Secrets;
use crate::cli::Failure;
use crate::domain::ids::{ConnectionKey, CredentialId};
use crate::domain::spec::ConnectionSpec;
use crate::store::Store;
use crate::upstream::redact::Redactor;
use crate::upstream::tokens::{Found, Joining, SealKey, Vault};
use std::collections::BTreeMap;
use std::path::Path;

/// `None` where no connection needs one: then no key file is made.
pub fn open(
    data: &Path,
    connections: &[ConnectionSpec],
    secrets: &Secrets,
    credentials: &BTreeMap<ConnectionKey, CredentialId>,
    store: &Store,
    redactor: Redactor,
    notes: &mut Vec<String>,
) -> Result<Option<Vault>, Failure> {
    let renewing: Vec<_> = connections.iter().filter_map(|spec| Some((spec, spec.oauth.as_ref()?))).collect();
    if renewing.is_empty() {
        return Ok(None);
    }
    let (key, found) = SealKey::beside(data).map_err(Failure::usage)?;
    if let Found::Mended(sentence) = found {
        notes.push(sentence);
    }
    let mut vault = Vault::new(key, redactor);
    for (spec, oauth) in renewing {
        let (Some(credential), Some(refresh)) = (credentials.get(&spec.key), secrets.own.get(&spec.key)) else {
            continue;
        };
        let stored = store.sealed(*credential).map_err(Failure::failed)?.map(|sealed| (sealed.version, sealed.bytes));
        let client_secret = secrets.clients.get(&spec.key);
        let (connection, credential) = (spec.key.clone(), *credential);
        notes.extend(vault.join(Joining { connection, credential, spec: oauth, refresh, client_secret, stored }));
    }
    Ok(Some(vault))
}
