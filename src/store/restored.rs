//! A backup knows that it is one, and another copy is known by its place, until an appliance begins to send from it. Part of the writer; stages rows, writes nothing
//! itself, and decides nothing about what was sent meanwhile.

use super::StoreError;
use super::core::Core;
use super::records;
use super::rows::Row;
use super::tables::{self, Table, meta};
use super::work::{Prepared, written};
use super::write::Writing;
use crate::domain::charge::Charge;
use crate::domain::event::Event;
use crate::domain::ids::ChargeId;

impl Writing {
    /// Charges without a permit, and the mark's end.
    pub(super) fn take_over(
        &mut self,
        core: &Core,
        mut spent: Vec<Charge>,
        prepared: Prepared,
    ) -> Result<Vec<Event>, StoreError> {
        let mut rows = Vec::with_capacity(spent.len());
        for (charge, id) in spent.iter_mut().zip(self.next.charge..) {
            charge.id = ChargeId(id);
            let record = written(Table::Charges, records::charge(charge))?;
            rows.push(Row::put(Table::Charges, tables::number(id), record));
        }
        let (events, _) = self.take_in(core, prepared)?;
        self.next.charge += spent.len() as u64;
        rows.into_iter().for_each(|row| self.staged.set(row));
        self.staged.set(Row::delete(Table::Meta, meta::COPIED));
        // One that cannot be told from its copies is not asked again.
        self.staged.set(core.home().unwrap_or(Row::delete(Table::Meta, meta::HOME)));
        let mut books = core.books();
        for charge in spent {
            if let Some(account) = books.get_mut(&charge.credential) {
                account.ledger.restore(&charge);
            }
        }
        Ok(events)
    }
}
