//! Opens the vault of tokens beside the data file, if any connection renews its own. Puts together; decides nothing.

use crate::cli::Failure;
use crate::domain::ids::{ConnectionKey, CredentialId};
use crate::domain::spec::ConnectionSpec;
use crate::store::Store;
use crate::upstream::keyring::Keyring;
use crate::upstream::redact::Redactor;
use crate::upstream::tokens::{Found, Joining, SealKey, Vault};
use std::collections::BTreeMap;
use std::path::Path;

/// `None` where no connection needs one: then no key file is made.
pub fn open(
    data: &Path,
    connections: &[ConnectionSpec],
    keyring: &Keyring,
    credentials: &BTreeMap<ConnectionKey, CredentialId>,
    store: &Store,
    redactor: Redactor,
    notes: &mut Vec<String>,
) -> Result<Option<Vault>, Failure> {
    let mut renewing: Vec<_> = connections.iter().filter_map(|spec| Some((spec, spec.oauth.as_ref()?))).collect();
    // Of connections that share tokens the one counts for which an operator set the first.
    renewing.sort_by_key(|(spec, _)| !keyring.is_set(&spec.key));
    if renewing.is_empty() {
        return Ok(None);
    }
    let (key, found) = SealKey::beside(data).map_err(Failure::usage)?;
    if let Found::Mended(sentence) = found {
        notes.push(sentence);
    }
    let vault = Vault::new(key, redactor);
    for (spec, oauth) in renewing {
        let (Some(credential), (Some(refresh), client_secret)) =
            (credentials.get(&spec.key), keyring.in_force(&spec.key))
        else {
            continue;
        };
        let stored = store.sealed(*credential).map_err(Failure::failed)?.map(|sealed| (sealed.version, sealed.bytes));
        let (connection, credential) = (spec.key.clone(), *credential);
        let (refresh, client_secret) = (&refresh, client_secret.as_ref());
        notes.extend(vault.join(Joining { connection, credential, spec: oauth, refresh, client_secret, stored }));
    }
    Ok(Some(vault))
}
