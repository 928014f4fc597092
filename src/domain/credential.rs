//! Which budget the requests of a connection spend from, by which secrets that is known, and what an operator set instead of the configured
//! one. Never a secret: fingerprints, and bytes that say nothing without the key beside the file.

use super::ids::CredentialId;
use super::time::Stamp;

/// What another secret of the same connection is to its provider.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NewSecret {
    /// It is counted by itself: it spends from a budget of its own, and may see other data.
    #[default]
    OwnBudget,
    /// Another key of the same account: what was spent counts on, and what was read is the account's.
    SameAccount,
}

/// A secret, and the credential whose budget it spends from: its own fingerprint, or that of the account's first one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Had {
    pub secret: CredentialId,
    pub counts_for: CredentialId,
}

/// What an operator set instead of the configured secret. It counts until it is cleared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetSecret {
    pub sealed: Vec<u8>,
    pub by: String,
    pub at: Stamp,
}

/// The credential of a connection, as it is remembered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CredentialState {
    /// Oldest first; the one of now is the last. Empty where tokens are renewed: there the account has a name.
    pub had: Vec<Had>,
    /// Since when its requests count for what they count for now.
    pub since: Stamp,
    pub set: Option<SetSecret>,
}

impl CredentialState {
    /// What its requests count for now.
    pub fn counts_for(&self) -> Option<CredentialId> {
        self.had.last().map(|had| had.counts_for)
    }

    /// What requests with that secret count for, if it had it.
    pub fn counted(&self, secret: CredentialId) -> Option<CredentialId> {
        self.had.iter().rev().find(|had| had.secret == secret).map(|had| had.counts_for)
    }
}
