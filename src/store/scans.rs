//! Scans in the file: where each stands, and the rows of the generation that is being built. Knows their tables; how a generation takes the
//! place of the one before is in `generation`.

use super::read::{Order, Snapshot, below, numbered};
use super::rows::Row;
use super::tables::{self, NAMES, ROW, SEEN, Table, WRITES};
use super::work::{Prepared, Work, push_rows, written};
use super::{Commit, Store, StoreError, Write, generation, records, sentences};
use crate::domain::ids::{TargetKey, TargetName};
use crate::domain::item::{Item, Sighting};
use crate::domain::scan::{ScanState, Seen};
use std::ops::ControlFlow;

/// One generation of a scan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Generation {
    pub scan: TargetKey,
    pub number: u64,
}

/// A row of a generation.
#[derive(Clone, Debug, PartialEq)]
pub enum GenerationRow {
    /// Some of the targets that it is for, in their order.
    Names(u64, Vec<TargetName>),
    /// Some of what a page said, in the order of the pages.
    Seen(u64, Vec<Seen>),
    /// A row that says something new.
    Row(TargetName, Sighting),
    /// It does not any more, or belongs elsewhere.
    Gone(TargetName, String),
    /// What is written when the generation is switched: a target, an item, a line of history.
    Waits(Box<Write>),
    /// All that waits is in force.
    Switch,
}

impl Generation {
    fn prefix(&self) -> Vec<u8> {
        tables::generation(&self.scan, self.number)
    }
}

pub(super) fn push(of: &Generation, row: &GenerationRow, rows: &mut Vec<Row>) -> Result<(), StoreError> {
    let prefix = of.prefix();
    let table = Table::ScanRows;
    let at = |tag: u8, rest: &[u8]| tables::scan_row(&prefix, tag, rest);
    rows.push(match row {
        GenerationRow::Names(n, names) => {
            Row::put(table, at(NAMES, &tables::number(*n)), written(table, records::names(names))?)
        }
        GenerationRow::Seen(n, seen) => {
            Row::put(table, at(SEEN, &tables::number(*n)), written(table, records::seen(seen))?)
        }
        GenerationRow::Row(target, row) => {
            Row::put(table, at(ROW, &tables::scan_target(target, &row.key)), written(table, records::row(row))?)
        }
        GenerationRow::Gone(target, key) => Row::delete(table, at(ROW, &tables::scan_target(target, key))),
        GenerationRow::Switch => Row::put(Table::Switched, prefix, Vec::new()),
        GenerationRow::Waits(write) => return push_waiting(&prefix, write, rows),
    });
    Ok(())
}

fn push_waiting(prefix: &[u8], write: &Write, rows: &mut Vec<Row>) -> Result<(), StoreError> {
    let mut own = Vec::new();
    push_rows(write, &mut own)?;
    for Row { table, key, value } in own {
        let (Some(waiting), Some(value)) = (generation::waiting(prefix, table, &key), value) else {
            let name = table.name();
            return Err(StoreError::Io(format!("a row of {name} cannot wait for a generation; nothing was written")));
        };
        rows.push(Row::put(Table::ScanRows, waiting, value));
    }
    Ok(())
}

impl Snapshot<'_> {
    fn scan(&self, key: &TargetKey) -> Result<Option<ScanState>, StoreError> {
        self.get(Table::Scans, &tables::scan_state(key), records::scan_of)
    }

    /// The values below a tag of a generation, with what stands behind the tag.
    fn of_generation(
        &self,
        prefix: &[u8],
        mut see: impl FnMut(&[u8], &[u8]) -> Result<(), super::codec::Damaged>,
    ) -> Result<(), StoreError> {
        let end = tables::after_prefix(prefix);
        self.visit(Table::ScanRows, below(prefix, end.as_deref()), Order::Forth, |key, value| {
            see(&key[prefix.len()..], value).map(ControlFlow::Continue)
        })
    }

    /// At most `rows` keys of a generation that is neither built nor switched.
    fn dead_rows(&self, known: &[Vec<u8>], rows: usize) -> Result<Vec<Vec<u8>>, StoreError> {
        let mut from = Vec::new();
        while let Some(first) = self.first_from(&from)? {
            let generation = tables::generation_of(&first).ok_or_else(|| {
                let damage = super::entry::no_known_form();
                sentences::unreadable(self.name(), Table::ScanRows, &damage)
            })?;
            if !self.is_alive(known, generation)? {
                return self.scan_keys(generation, rows);
            }
            match tables::after_prefix(generation) {
                Some(behind) => from = behind,
                None => break,
            }
        }
        Ok(Vec::new())
    }

    fn first_from(&self, from: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        let mut first = None;
        self.visit(Table::ScanRows, below(from, None), Order::Forth, |key, _| {
            first = Some(key.to_vec());
            Ok(ControlFlow::Break(()))
        })?;
        Ok(first)
    }

    fn is_alive(&self, known: &[Vec<u8>], generation: &[u8]) -> Result<bool, StoreError> {
        if self.get(Table::Switched, generation, |_| Ok(()))?.is_some() {
            return Ok(true);
        }
        let (scan, number) = generation.split_at(generation.len().saturating_sub(8));
        if !known.iter().any(|key| key == scan) {
            return Ok(false);
        }
        let state = self.get(Table::Scans, &[scan, &[tables::STANDS]].concat(), records::scan_of)?;
        let built = state.and_then(|s| s.building).map(|b| tables::number(b.number));
        Ok(built.is_some_and(|built| built == number))
    }
}

impl Store {
    pub fn scan(&self, key: &TargetKey) -> Result<Option<ScanState>, StoreError> {
        self.core().read(|s| s.scan(key))
    }

    /// The targets that a scan feeds, as far as its generations have named them.
    pub fn scan_members(&self, key: &TargetKey) -> Result<Vec<TargetName>, StoreError> {
        let members = self.core().read(|s| s.get(Table::Scans, &tables::scan_members(key), records::names_of))?;
        Ok(members.unwrap_or_default())
    }

    /// The targets that a generation is for, in their order.
    pub fn generation_names(&self, of: &Generation) -> Result<Vec<TargetName>, StoreError> {
        let prefix = tables::scan_row(&of.prefix(), NAMES, &[]);
        self.core().read(|s| {
            let mut names = Vec::new();
            s.of_generation(&prefix, |_, value| {
                names.extend(records::names_of(value)?);
                Ok(())
            })?;
            Ok(names)
        })
    }

    /// All that its pages said, in their order, and the number of the next row of that kind.
    pub fn generation_seen(&self, of: &Generation) -> Result<(Vec<Seen>, u64), StoreError> {
        let prefix = tables::scan_row(&of.prefix(), SEEN, &[]);
        self.core().read(|s| {
            let (mut seen, mut next) = (Vec::new(), 0);
            s.of_generation(&prefix, |number, value| {
                seen.extend(records::seen_of(value)?);
                next = numbered(number)? + 1;
                Ok(())
            })?;
            Ok((seen, next))
        })
    }

    /// Its rows of one target that say something new, in the order of their keys.
    pub fn generation_rows(&self, of: &Generation, target: &TargetName) -> Result<Vec<Sighting>, StoreError> {
        let prefix = tables::scan_row(&of.prefix(), ROW, &tables::scan_target(target, ""));
        self.core().read(|s| {
            let mut rows = Vec::new();
            s.of_generation(&prefix, |key, value| {
                let key = std::str::from_utf8(key);
                let key = key.map_err(|_| super::codec::Damaged::because("its key is not text"))?;
                rows.push(records::row_of(key.to_owned(), value)?);
                Ok(())
            })?;
            Ok(rows)
        })
    }

    /// Items by target and key, as one moment has them.
    pub fn items_named(&self, wanted: &[(TargetKey, &str)]) -> Result<Vec<Option<Item>>, StoreError> {
        self.core().read(|s| {
            let one = |(target, key): &(TargetKey, &str)| {
                s.get(Table::Items, &tables::item(target, key), |bytes| records::item_of((*key).to_owned(), bytes))
            };
            wanted.iter().map(one).collect()
        })
    }

    /// Takes at most `rows` rows of generations away that are neither switched nor built by one of `scans`. False: there were none.
    pub async fn sweep_generations(&self, scans: &[TargetKey], rows: usize) -> Result<bool, StoreError> {
        let known: Vec<Vec<u8>> = scans.iter().map(tables::target_prefix).collect();
        let dead = self.core().read(|s| s.dead_rows(&known, rows))?;
        self.take_away(dead).await
    }

    /// Takes away what an earlier attempt to publish a generation left waiting. False: there was nothing.
    pub async fn forget_waiting(&self, of: &Generation, rows: usize) -> Result<bool, StoreError> {
        let prefix = tables::scan_row(&of.prefix(), WRITES, &[]);
        let left = self.core().read(|s| s.scan_keys(&prefix, rows))?;
        self.take_away(left).await
    }

    async fn take_away(&self, keys: Vec<Vec<u8>>) -> Result<bool, StoreError> {
        if keys.is_empty() {
            return Ok(false);
        }
        let rows = keys.into_iter().map(|key| Row::delete(Table::ScanRows, key)).collect();
        let prepared = Prepared { rows, ..Prepared::new(Commit::default())? };
        self.queue.submit(|reply| Work::Commit(prepared, reply)).await?;
        Ok(true)
    }
}
