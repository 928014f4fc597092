//! Answers that go on beyond their heads' arrival, in the ledger of their credential: in flight until they are let go. In memory alone.

use super::Store;
use crate::domain::ids::{ChargeId, CredentialId, Endpoint, Organization};
use crate::rules::budget::Refusal;
use crate::rules::budget::open::Held;

impl Store {
    /// Whether one more may stay open there and leave others a place; see [`crate::rules::budget::Ledger::may_stay_open`].
    pub fn may_stay_open(
        &self,
        credential: CredentialId,
        endpoint: &Endpoint,
        organization: &Organization,
    ) -> Result<(), Refusal> {
        let books = self.core().books();
        books.get(&credential).map_or(Ok(()), |account| account.ledger.may_stay_open(endpoint, organization))
    }

    /// What this request opened counts as in flight from now on, by whatever it is resolved.
    pub fn keep_open(&self, credential: CredentialId, id: ChargeId, held: Held) {
        if let Some(account) = self.core().books().get_mut(&credential) {
            account.ledger.going_on().keep(id, held);
        }
    }

    /// It is closed.
    pub fn let_go(&self, credential: CredentialId, id: ChargeId) {
        if let Some(account) = self.core().books().get_mut(&credential) {
            account.ledger.going_on().let_go(id);
        }
    }
}
