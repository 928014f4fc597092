//! What providers' own counts have taught: kept beside the charges, and put into the ledgers that follow from both. Decides nothing.

use super::books::Account;
use super::read::{Order, Snapshot, below};
use super::rows::Row;
use super::tables::{self, Table};
use super::work::written;
use super::write::Writing;
use super::{Store, StoreError, records};
use crate::domain::ids::{Caller, CredentialId, Endpoint};
use crate::domain::limit::Limit;
use crate::domain::quota::{Learned, LimitKey};
use crate::domain::time::{Now, Span, Stamp, Steady};
use crate::rules::budget::Own;
use crate::rules::budget::parts::Parts;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

/// What was not said for this long is forgotten, unless a limit is still lower for it.
const KEEP: Span = Span::from_secs(40 * 86_400);

impl Store {
    /// Where the callers of a credential come from now on: its targets are others. Amounts and charges stay.
    pub fn set_reach(&self, credential: CredentialId, reach: &BTreeMap<Caller, BTreeSet<Endpoint>>) {
        if let Some(account) = self.core().books().get_mut(&credential) {
            account.limits.iter_mut().for_each(|limit| limit.reach = reach.clone());
            account.ledger.set_reach(reach);
        }
    }

    /// The organizations that divide the budget are the same, and have these parts of it from now on.
    pub fn divide(&self, credential: CredentialId, parts: Parts) {
        if let Some(account) = self.core().books().get_mut(&credential)
            && account.parts.as_ref().is_some_and(|before| before.are_of_the_same(&parts))
        {
            account.parts = Some(parts.clone());
            account.ledger.divide(Some(parts));
        }
    }

    /// What was learned so far of one limit.
    pub fn learned(&self, credential: CredentialId, about: &LimitKey) -> Option<Learned> {
        self.core().books().get(&credential)?.learned.get(about).cloned()
    }

    /// Our own spending as the provider may have counted it in the answer to a request that was reserved at `asked_at`, costs
    /// `cost` and arrives `now`; see [`Own`].
    pub fn own_spending(
        &self,
        credential: CredentialId,
        limit: &str,
        endpoint: &Endpoint,
        (asked_at, cost): (Stamp, u32),
        now: &Now,
    ) -> Option<Own> {
        self.core().books().get(&credential)?.ledger.own(limit, endpoint, asked_at.steady, cost, now)
    }

    /// The limits of a credential with the amounts that are in force.
    pub fn limits_in_force(&self, credential: CredentialId) -> Vec<Limit> {
        let books = self.core().books();
        let Some(account) = books.get(&credential) else { return Vec::new() };
        let lowest = |limit: &Limit| {
            let of = account.learned.values().filter(|l| l.about.limit == limit.name);
            of.filter_map(|l| l.adopted).min().unwrap_or(limit.amount).min(limit.amount).max(1)
        };
        account.limits.iter().map(|l| Limit { amount: lowest(l), ..l.clone() }).collect()
    }
}

impl Account {
    pub fn teach(&mut self, learned: Learned) {
        self.ledger.teach(&learned);
        self.learned.insert(learned.about.clone(), learned);
    }
}

pub(super) fn row(credential: &CredentialId, learned: &Learned) -> Result<Row, StoreError> {
    let record = written(Table::Learned, records::learned(learned))?;
    Ok(Row::put(Table::Learned, tables::learned(credential, &learned.about), record))
}

/// All that was learned of a credential's limits.
pub(super) fn of(snapshot: &Snapshot<'_>, credential: &CredentialId) -> Result<Vec<Learned>, StoreError> {
    let prefix = credential.0;
    let end = tables::after_prefix(&prefix);
    let mut all = Vec::new();
    snapshot.visit(Table::Learned, below(&prefix, end.as_deref()), Order::Forth, |_, value| {
        all.push(records::learned_of(value)?);
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(all)
}

impl Writing {
    pub(super) fn purge_lessons(&mut self, snapshot: &Snapshot<'_>, now: Steady) -> Result<(), StoreError> {
        let mut old = Vec::new();
        snapshot.visit(Table::Learned, super::read::ALL, Order::Forth, |key, value| {
            let learned = records::learned_of(value)?;
            let forgotten = learned.asked_at.steady + KEEP < now && learned.adopted.is_none();
            old.extend(forgotten.then(|| Row::delete(Table::Learned, key)));
            Ok(ControlFlow::Continue(()))
        })?;
        old.into_iter().for_each(|row| self.staged.set(row));
        Ok(())
    }
}
