//! Budgets put in force: limits are declared, and the ledger is read back from the charges. Decides nothing.

use super::books::{self, Account};
use super::core::Core;
use super::write::Writing;
use super::{Store, StoreError, lessons, open};
use crate::domain::ids::CredentialId;
use crate::domain::limit::Limit;
use crate::domain::time::Now;
use crate::rules::budget::parts::Parts;
use std::collections::BTreeMap;

impl Store {
    /// Declares the limits of a credential; reads its charges back. Call before the first `admit`, again when limits change.
    /// Charges that an earlier run left pending and whose deadline has passed become durably [`Outcome::Lost`] and posted.
    /// Blocks, and for a commit if there are such charges.
    ///
    /// [`Outcome::Lost`]: crate::domain::outcome::Outcome::Lost
    pub fn install_budget(&self, credential: CredentialId, limits: Vec<Limit>, now: &Now) -> Result<(), StoreError> {
        self.install_divided(credential, (limits, None), now)
    }

    /// The same, of a budget that several organizations divide.
    pub fn install_divided(
        &self,
        credential: CredentialId,
        rules: (Vec<Limit>, Option<Parts>),
        now: &Now,
    ) -> Result<(), StoreError> {
        if self.core().is_closed() {
            return Err(StoreError::Closed);
        }
        let install = || self.core().writing().install(self.core(), credential, rules, now);
        open::guarded(self.core().name(), install)
    }
}

impl Writing {
    /// Reads the ledger of a credential back and puts it in force. What a crash left pending is settled first.
    pub fn install(
        &mut self,
        core: &Core,
        credential: CredentialId,
        (limits, parts): (Vec<Limit>, Option<Parts>),
        now: &Now,
    ) -> Result<(), StoreError> {
        self.follow_the_file(core)?;
        let snapshot = core.snapshot()?;
        let back = books::read_back(&snapshot, credential, (&limits, parts.as_ref()), now, self.crashed_below)?;
        let learned = lessons::of(&snapshot, &credential)?;
        drop(snapshot);
        if !back.lost.is_empty() {
            back.lost.into_iter().for_each(|row| self.staged.set(row));
            if let Err(error) = self.write(core) {
                self.recover(core, error.clone());
                return Err(error);
            }
        }
        let mut ledger = back.ledger;
        let mut books = core.books();
        if let Some(before) = books.get(&credential) {
            books::keep_longer(&mut ledger, &before.ledger);
        }
        let mut account = Account { limits, parts, ledger, learned: BTreeMap::new(), latest: now.clone() };
        learned.into_iter().for_each(|learned| account.teach(learned));
        books.set(credential, account);
        self.latest = Some(now.clone());
        Ok(())
    }
}
