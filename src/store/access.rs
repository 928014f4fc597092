//! Who may come in, as the file has it: operators, their sessions, claims, and when tokens and sessions were used last. Part of the
//! facade, and of the writer's rows; knows neither what a session is worth nor how long.

use super::codec::Damaged;
use super::entry::no_known_form;
use super::rows::Row;
use super::tables::{self, Table};
use super::work::{dropped, written};
use super::{Store, StoreError, Write, records};
use crate::domain::operator::{Claim, Digest, Operator, Session, Used, key_of};
use crate::domain::time::Stamp;
use std::collections::BTreeMap;

impl Store {
    /// In the order of their keys.
    pub fn operators(&self) -> Result<Vec<Operator>, StoreError> {
        self.core().read(|s| s.all(Table::Operators, |_, value| records::operator_of(value)))
    }

    pub fn sessions(&self) -> Result<Vec<Session>, StoreError> {
        self.core().read(|s| s.all(Table::Sessions, |key, value| records::session_of(digest(key)?, value)))
    }

    pub fn claims(&self) -> Result<Vec<Claim>, StoreError> {
        self.core().read(|s| s.all(Table::Claims, |key, value| records::claim_of(digest(key)?, value)))
    }

    pub fn uses(&self) -> Result<BTreeMap<Used, Stamp>, StoreError> {
        let used = |key: &[u8]| tables::used_of(key).ok_or_else(no_known_form);
        let row = |key: &[u8], value: &[u8]| Ok((used(key)?, records::last_use_of(value)?));
        Ok(self.core().read(|s| s.all(Table::Uses, row))?.into_iter().collect())
    }
}

/// The rows of a change of who may come in; no other change has any here.
pub(super) fn push(write: &Write, rows: &mut Vec<Row>) -> Result<(), StoreError> {
    let (table, key, record) = match write {
        Write::Operator(o) => (Table::Operators, key_of(&o.name).into_bytes(), records::operator(o)),
        Write::Session(session) => (Table::Sessions, session.digest.to_vec(), records::session(session)),
        Write::Claim(claim) => (Table::Claims, claim.digest.to_vec(), records::claim(claim)),
        Write::Use(used, at) => (Table::Uses, tables::used(used), records::last_use(*at)),
        Write::DropOperator(name) => return dropped(rows, Table::Operators, key_of(name).into_bytes()),
        Write::EndSession(digest) => {
            rows.push(Row::delete(Table::Uses, tables::used(&Used::Session(*digest))));
            return dropped(rows, Table::Sessions, digest.to_vec());
        }
        Write::EndClaim(digest) => return dropped(rows, Table::Claims, digest.to_vec()),
        _ => return Ok(()),
    };
    rows.push(Row::put(table, key, written(table, record)?));
    Ok(())
}

/// A key that is a digest.
pub(super) fn digest(key: &[u8]) -> Result<Digest, Damaged> {
    key.try_into().map_err(|_| Damaged::because("its key is no digest"))
}
