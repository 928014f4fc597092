//! The purge: rows that nothing needs any more go a few at a time, in a commit that happens anyway.

use super::StoreError;
use super::core::Core;
use super::read::{ALL, Order, Snapshot, is_before, numbered};
use super::records;
use super::rows::Row;
use super::tables::{self, Table};
use super::write::Writing;
use crate::domain::time::{Now, Span, Steady};
use crate::rules::budget::Ledger;
use std::ops::{Bound, ControlFlow};

/// Charges older than this go, unless a limit still counts them.
const KEEP_CHARGES: Span = Span::from_secs(40 * 86_400);
/// Events that stay.
const KEEP_EVENTS: u64 = 100_000;
/// Closed findings older than this many numbers go; open ones stay.
const KEEP_FINDINGS: u64 = 1000;
/// The purge rides on every so many commits, or after so many charges, and takes so many rows at most: more than came.
const COMMITS: u32 = 64;
const CHARGES: u64 = 2048;
pub(super) const ROWS: usize = 4096;

impl Writing {
    /// Deletes a bounded number of rows that nothing needs any more, in the commit that happens anyway.
    pub(super) fn purge_now_and_then(&mut self, core: &Core) -> Result<(), StoreError> {
        self.commits = self.commits.wrapping_add(1);
        let many = self.next.charge.saturating_sub(self.purged_at_charge) >= CHARGES;
        if !self.commits.is_multiple_of(COMMITS) && !many {
            return Ok(());
        }
        self.purged_at_charge = self.next.charge;
        let snapshot = core.snapshot()?;
        if let Some(now) = self.latest.clone() {
            let through = self.sum_up(core, &snapshot, &now)?;
            let before = self.charges_needed_from(core, &now);
            self.purge_charges(&snapshot, before, through)?;
        }
        self.purge_events(&snapshot)?;
        if let Some(now) = self.latest.as_ref().map(|now| now.steady) {
            self.purge_lessons(&snapshot, now)?;
        }
        self.purge_findings(&snapshot)
    }

    /// The moment before which no limit and no page needs a charge. Forgets in memory what no limit counts, by the way.
    fn charges_needed_from(&self, core: &Core, now: &Now) -> Steady {
        let mut from = Steady(now.steady.0.saturating_sub(KEEP_CHARGES.0));
        for (_, account) in core.books().iter_mut() {
            account.ledger.sweep(&account.latest);
            from = from.min(Ledger::horizon(&account.limits, &account.latest));
        }
        from
    }

    /// The last charge stays whatever its age: the next number is counted from it. And so does what is not summed.
    fn purge_charges(&mut self, snapshot: &Snapshot<'_>, before: Steady, summed: u64) -> Result<(), StoreError> {
        let last = tables::number(snapshot.last_number(Table::Charges)?.min(summed.saturating_add(1)));
        let mut old = Vec::new();
        snapshot.visit(Table::Charges, (Bound::Unbounded, Bound::Excluded(&last)), Order::Forth, |key, value| {
            if old.len() >= ROWS || !is_before(value, before) {
                return Ok(ControlFlow::Break(()));
            }
            old.push(Row::delete(Table::Charges, key));
            Ok(ControlFlow::Continue(()))
        })?;
        old.into_iter().for_each(|row| self.staged.set(row));
        Ok(())
    }

    fn purge_events(&mut self, snapshot: &Snapshot<'_>) -> Result<(), StoreError> {
        let first_kept = self.next.event.saturating_sub(KEEP_EVENTS);
        let mut old = Vec::new();
        snapshot.visit(Table::Events, ALL, Order::Forth, |key, _| {
            if old.len() >= ROWS || numbered(key)? >= first_kept {
                return Ok(ControlFlow::Break(()));
            }
            old.push(Row::delete(Table::Events, key));
            Ok(ControlFlow::Continue(()))
        })?;
        old.into_iter().for_each(|row| self.staged.set(row));
        Ok(())
    }

    fn purge_findings(&mut self, snapshot: &Snapshot<'_>) -> Result<(), StoreError> {
        let first_kept = tables::number(self.next.finding.saturating_sub(KEEP_FINDINGS));
        let mut old = Vec::new();
        snapshot.visit(
            Table::Findings,
            (Bound::Unbounded, Bound::Excluded(&first_kept)),
            Order::Forth,
            |key, value| {
                if old.len() >= ROWS {
                    return Ok(ControlFlow::Break(()));
                }
                let finding = records::finding_of(numbered(key)?, value)?;
                old.extend((!finding.is_open()).then(|| Row::delete(Table::Findings, key)));
                Ok(ControlFlow::Continue(()))
            },
        )?;
        old.into_iter().for_each(|row| self.staged.set(row));
        Ok(())
    }
}
