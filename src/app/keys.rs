//! Opens the keyring: the configured secrets, and those that operators set in earlier runs. Puts together; decides nothing.

use crate::cli::Failure;
use crate::domain::ids::{ConnectionKey, CredentialId};
use crate::domain::spec::ConnectionSpec;
use crate::store::{Opening, Store};
use crate::upstream::boundary::Secrets;
use crate::upstream::keyring::Keyring;
use crate::upstream::redact::Redactor;
use crate::upstream::tokens::identity;
use std::collections::BTreeMap;
use std::path::Path;

/// What cannot be opened any more is noted, and the configured secret is in force.
pub fn open(
    data: &Path,
    opening: &Opening,
    connections: &[ConnectionSpec],
    secrets: &Secrets,
    store: &Store,
    redactor: Redactor,
    notes: &mut Vec<String>,
) -> Result<Keyring, Failure> {
    let keyring = Keyring::new(opening.installation, data.to_owned(), connections, secrets, redactor);
    for spec in connections {
        let state = store.credential(&spec.key).map_err(Failure::failed)?;
        if let Some(set) = state.and_then(|state| state.set) {
            notes.extend(keyring.restore(&spec.key, set.sealed).err());
        }
    }
    Ok(keyring)
}

/// The credential that each connection is with the secret that is in force.
pub fn credentials(
    installation: &[u8; 32],
    connections: &[ConnectionSpec],
    keyring: &Keyring,
) -> BTreeMap<ConnectionKey, CredentialId> {
    let of = |spec: &ConnectionSpec| match &spec.oauth {
        Some(oauth) => Some(identity(installation, oauth)),
        None => keyring.fingerprint(&spec.key, None),
    };
    connections.iter().filter_map(|spec| Some((spec.key.clone(), of(spec)?))).collect()
}
