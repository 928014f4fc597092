//! Which credential each connection spends as, over restarts and rotations: what the file remembers, and what follows from the secrets of now.
//! Sees fingerprints; must not see a secret.

use super::Parts;
use super::core::{Conn, Core};
use super::view::{CredentialSetView, CredentialView, Denied, When};
use crate::domain::credential::{CredentialState, NewSecret};
use crate::domain::finding::{FindingChange, FindingKind, Matter, Seen};
use crate::domain::ids::{ConnectionKey, CredentialId};
use crate::domain::spec::ConnectionSpec;
use crate::domain::spec::SecretSource;
use crate::domain::time::{Now, Stamp};
use crate::rules::succession::{TwoBudgets, succeed};
use crate::store::{Store, StoreError, Write};
use std::collections::BTreeMap;

/// What a connection's requests count for, and since when.
#[derive(Clone, Copy, Debug)]
pub struct Account {
    pub credential: CredentialId,
    pub since: Stamp,
}

/// All of a start, and what has to be remembered of them.
pub struct Remembered {
    pub of: BTreeMap<ConnectionKey, Account>,
    pub writes: Vec<Write>,
}

/// What the secrets of this start make of what the file remembers. A key may have been replaced while nothing ran.
pub fn remembered(parts: &Parts, now: &Now) -> Result<Remembered, String> {
    let mut known = parts.store.credentials().map_err(|e| e.to_string())?;
    let (mut of, mut writes) = (BTreeMap::new(), Vec::new());
    // First those who say whose account their secret is: whoever shares it with them follows.
    let (sure, others): (Vec<_>, Vec<_>) =
        parts.connections.iter().partition(|spec| spec.new_secret == NewSecret::SameAccount);
    for spec in sure.into_iter().chain(others) {
        let secret = parts.credentials.get(&spec.key).copied();
        let secret = secret.ok_or_else(|| format!("connection {} has no credential", spec.key))?;
        if spec.oauth.is_some() {
            of.insert(spec.key.clone(), Account { credential: secret, since: Stamp::default() });
            continue;
        }
        let before = parts.store.credential(&spec.key).map_err(|e| e.to_string())?;
        let next = succeed(before.as_ref(), &known, secret, spec.new_secret, now.stamp());
        let next = next.map_err(|TwoBudgets| two_budgets(spec))?;
        of.insert(spec.key.clone(), Account { credential: next.counts_for().unwrap_or(secret), since: next.since });
        known.push(next.clone());
        if before.as_ref() != Some(&next) {
            writes.push(Write::Credential(spec.key.clone(), next));
        }
    }
    Ok(Remembered { of, writes })
}

/// What is remembered of a connection, once it has this secret. `before`: what is remembered now.
pub fn with_secret(
    store: &Store,
    spec: &ConnectionSpec,
    before: Option<&CredentialState>,
    secret: CredentialId,
    now: &Now,
) -> Result<CredentialState, Denied> {
    if spec.oauth.is_some() {
        return Ok(before.cloned().unwrap_or_default());
    }
    let next = succeed(before, &store.credentials()?, secret, spec.new_secret, now.stamp());
    next.map_err(|TwoBudgets| Denied::Invalid(two_budgets(spec)))
}

fn two_budgets(spec: &ConnectionSpec) -> String {
    format!(
        "connection {} says that another credential is of the same account (same_account = true), and this one spends from a budget of its own \
         already: what was spent before would not count for it. Take a key that nothing was spent with, or leave same_account out if it is \
         another account's.",
        spec.key.connection
    )
}

/// Where a secret lies, in words; `None` where there is none.
pub fn place(source: &SecretSource) -> Option<String> {
    match source {
        SecretSource::None => None,
        SecretSource::Env(name) => Some(format!("the environment variable {name}")),
        SecretSource::Listed { file, name } => Some(format!("{name} in the environment file {}", file.display())),
        SecretSource::File(path) => Some(format!("the file {}", path.display())),
        SecretSource::Sealed => Some("nothing but what is set here, sealed in the data file".to_owned()),
    }
}

/// What is configured and what is set instead, side by side; never the secret.
pub fn view(core: &Core, conn: &Conn) -> Result<CredentialView, StoreError> {
    let state = core.store.credential(&conn.spec.key)?.unwrap_or_default();
    let when = |at: Stamp| When(at.wall);
    Ok(CredentialView {
        configured: place(&conn.spec.secret),
        set: state.set.map(|set| CredentialSetView { by: set.by, at: when(set.at) }),
        same_account: conn.spec.new_secret == NewSecret::SameAccount,
        since: (conn.since != Stamp::default()).then(|| when(conn.since)),
    })
}

/// What the configuration names as the credential cannot be read now.
pub fn unreadable(conn: &Conn, why: &str, at: Stamp) -> FindingChange {
    FindingChange::Seen(Seen {
        about: reading(conn),
        credential: Some(conn.credential),
        at,
        sentence: format!("The credential of {} was to be read anew, and cannot be: {why}", conn.spec.key.connection),
        detail: Some(
            "The one of before stays in force. Put that right, and have the configuration read anew (SIGHUP)."
                .to_owned(),
        ),
    })
}

/// It was read.
pub fn is_read(conn: &Conn, at: Stamp) -> FindingChange {
    FindingChange::Settled { about: reading(conn), at, because: "The credential was read.".to_owned() }
}

fn reading(conn: &Conn) -> Matter {
    let (connection, kind) = (conn.spec.key.clone(), FindingKind::CredentialUnreadable);
    Matter { connection, target: None, kind, subject: String::new() }
}
