//! The ledgers of all credentials in memory, and how they are read back from the file. Decides nothing: the rules do.

use super::StoreError;
use super::read::{ALL, Order, Snapshot, is_before, numbered};
use super::records;
use super::rows::Row;
use super::sentences;
use super::tables::{self, Table};
use crate::domain::charge::{Charge, Resolution, Settlement};
use crate::domain::connection::{Hold, HoldChange};
use crate::domain::ids::{ChargeId, CredentialId};
use crate::domain::limit::Limit;
use crate::domain::outcome::Outcome;
use crate::domain::quota::{Learned, LimitKey};
use crate::domain::time::{Now, Span, Stamp, Steady};
use crate::rules::budget::Ledger;
use crate::rules::budget::parts::Parts;
use std::collections::BTreeMap;
use std::ops::{Bound, ControlFlow};

/// Requests that a crash left behind are looked for among the charges of the last two days before it.
const LOOK_BACK: Span = Span::from_secs(48 * 3600);

/// One credential: its limits and its ledger.
pub(super) struct Account {
    pub limits: Vec<Limit>,
    /// Who divides them, where several organizations do.
    pub parts: Option<Parts>,
    pub ledger: Ledger,
    pub learned: BTreeMap<LimitKey, Learned>,
    /// The newest moment at which it was asked or installed.
    pub latest: Now,
}

impl Account {
    /// What its ledger is made of, beside the charges.
    pub fn rules(&self) -> (&[Limit], Option<&Parts>) {
        (&self.limits, self.parts.as_ref())
    }
}

#[derive(Default)]
pub(super) struct Books {
    accounts: BTreeMap<CredentialId, Account>,
}

impl Books {
    pub fn get(&self, credential: &CredentialId) -> Option<&Account> {
        self.accounts.get(credential)
    }
    pub fn get_mut(&mut self, credential: &CredentialId) -> Option<&mut Account> {
        self.accounts.get_mut(credential)
    }
    pub fn set(&mut self, credential: CredentialId, account: Account) {
        self.accounts.insert(credential, account);
    }
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (&CredentialId, &mut Account)> {
        self.accounts.iter_mut()
    }
}

/// A ledger as the file has it, and the rows of the charges that a crash left pending and whose time is up.
pub(super) struct ReadBack {
    pub ledger: Ledger,
    pub lost: Vec<Row>,
}

/// Reads the charges that the limits still count. Charges numbered below `crashed_below` belong to an earlier run: nobody
/// waits for their answers any more, so once their deadline has passed they are resolved, as posted, for the provider
/// may have counted them.
pub(super) fn read_back(
    snapshot: &Snapshot<'_>,
    credential: CredentialId,
    (limits, parts): (&[Limit], Option<&Parts>),
    now: &Now,
    crashed_below: u64,
) -> Result<ReadBack, StoreError> {
    let mut back = ReadBack { ledger: Ledger::new(credential, limits.to_vec()), lost: Vec::new() };
    back.ledger.divide(parts.cloned());
    let horizon = Ledger::horizon(limits, now);
    // What was used in the window before is held for whom it was.
    let before = parts.map(|_| Ledger::horizon(limits, &Now { steady: horizon, ..now.clone() }));
    let horizon = before.unwrap_or(horizon);
    let first = first_since(snapshot, horizon.min(look_back_from(snapshot)?))?;
    let range = tables::number(first);
    snapshot.visit(Table::Charges, (Bound::Included(&range), Bound::Unbounded), Order::Forth, |key, value| {
        if records::peek(value).is_some_and(|row| row.credential != credential) {
            return Ok(ControlFlow::Continue(()));
        }
        let mut charge = records::charge_of(numbered(key)?, value)?;
        if charge.credential != credential {
            return Ok(ControlFlow::Continue(()));
        }
        if charge.resolution.is_none() && charge.id.0 < crashed_below && charge.deadline <= now.steady {
            charge.resolution = Some(lost(&charge));
            back.lost.push(Row::put(Table::Charges, key, records::charge(&charge)?));
        }
        if charge.reserved_at.steady >= horizon || charge.resolution.is_none() {
            back.ledger.restore(&charge);
        }
        Ok(ControlFlow::Continue(()))
    })?;
    snapshot.holds(&credential)?.into_iter().for_each(|hold| back.ledger.change_hold(HoldChange::Put(hold)));
    Ok(back)
}

/// Charges without a resolution, oldest first.
pub(super) fn pending(snapshot: &Snapshot<'_>) -> Result<Vec<Charge>, StoreError> {
    let first = first_since(snapshot, look_back_from(snapshot)?)?;
    let range = tables::number(first);
    let mut charges = Vec::new();
    snapshot.visit(Table::Charges, (Bound::Included(&range), Bound::Unbounded), Order::Forth, |key, value| {
        if records::peek(value).is_none_or(|row| row.pending) {
            let charge = records::charge_of(numbered(key)?, value)?;
            charges.extend(Some(charge).filter(|c| c.resolution.is_none()));
        }
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(charges)
}

fn look_back_from(snapshot: &Snapshot<'_>) -> Result<Steady, StoreError> {
    let newest = snapshot.last_number(Table::Charges)?;
    let reserved = snapshot.charge(ChargeId(newest))?.map(|c| c.reserved_at.steady).unwrap_or_default();
    Ok(Steady(reserved.0.saturating_sub(LOOK_BACK.0)))
}

/// The first number from which on charges may have been reserved at or after `moment`.
fn first_since(snapshot: &Snapshot<'_>, moment: Steady) -> Result<u64, StoreError> {
    let mut first = 0;
    snapshot.visit(Table::Charges, ALL, Order::Back, |key, value| {
        if is_before(value, moment) {
            return Ok(ControlFlow::Break(()));
        }
        first = numbered(key)?;
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(first)
}

/// How a charge ends whose process died. The moment is its deadline: an answer cannot have been counted later.
fn lost(charge: &Charge) -> Resolution {
    let after = charge.deadline.since(charge.reserved_at.steady);
    let at = Stamp { steady: charge.deadline, ..charge.reserved_at + after };
    Resolution {
        at,
        settlement: Settlement::Posted,
        outcome: Outcome::Lost,
        status: None,
        rule: "the appliance stopped before the answer; the provider may have counted it".to_owned(),
        said: None,
        cost: None,
    }
}

/// How a charge ends whose answer is long overdue, and was never written down.
pub(super) fn given_up(charge: &Charge) -> Resolution {
    let rule = "no answer was ever written down; the provider may have counted it".to_owned();
    Resolution { rule, ..lost(charge) }
}

/// How a charge ends whose permit nobody ever had: the provider provably never saw the request.
pub(super) fn unsent(charge: &Charge, rule: &str) -> Resolution {
    Resolution {
        at: charge.reserved_at,
        settlement: Settlement::Voided,
        outcome: Outcome::Unreachable,
        status: None,
        rule: rule.to_owned(),
        said: None,
        cost: None,
    }
}

/// What the file does not have: what is open, and after a failed write perhaps a hold. It stays: a hold only slows.
pub(super) fn keep_longer(ledger: &mut Ledger, before: &Ledger) {
    ledger.goes_on_from(before);
    let outlasts = |hold: &&Hold| ledger.holds().find(|h| h.scope == hold.scope).is_none_or(|h| h.until < hold.until);
    let longer: Vec<Hold> = before.holds().filter(outlasts).cloned().collect();
    longer.into_iter().for_each(|hold| ledger.change_hold(HoldChange::Put(hold)));
}

/// The row of a charge with its resolution; `None` if it has one already: the first word stands.
pub(super) fn resolved(charge: Charge, resolution: &Resolution) -> Result<Option<Row>, StoreError> {
    if charge.resolution.is_some() {
        return Ok(None);
    }
    let charge = charge.resolved(resolution.clone());
    let record = records::charge(&charge).map_err(|d| sentences::unwritable(Table::Charges, &d))?;
    Ok(Some(Row::put(Table::Charges, tables::number(charge.id.0), record)))
}
