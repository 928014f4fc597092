//! An agent's spool: observations that wait to be delivered, in a redb file of its own. Knows bytes and their order; must not know what they say,
//! nor whom they go to. What was put is on the disk; it goes when somebody says that it was delivered.

use super::StoreError;
use super::files;
use redb::{Database, DatabaseError, ReadableDatabase, ReadableTable, ReadableTableMetadata, TableDefinition};
use std::io::ErrorKind;
use std::path::Path;

/// By their number: what waits, and what was refused for good.
const WAITING: TableDefinition<'static, u64, &[u8]> = TableDefinition::new("spool_waiting");
const ASIDE: TableDefinition<'static, u64, &[u8]> = TableDefinition::new("spool_aside");
/// Under `NOT_BEFORE`: Unix time in ms; under `LAST`: the last number that was given.
const STATE: TableDefinition<'static, &str, u64> = TableDefinition::new("spool_state");
const NOT_BEFORE: &str = "not_before";
const LAST: &str = "last";
/// Observations that a spool holds at most, refused ones too.
pub const MOST: u64 = 100_000;
/// A spool is small.
const CACHE_BYTES: usize = 1 << 20;

pub struct Spool {
    db: Database,
    name: String,
}

/// What happened to some of those that wait.
#[derive(Clone, Debug, Default)]
pub struct Settled {
    /// They are gone.
    pub delivered: Vec<u64>,
    /// They are kept aside.
    pub refused: Vec<u64>,
    /// Unix time in ms before which nothing is sent.
    pub not_before: Option<u64>,
}

impl Spool {
    /// Opens the file, or makes it (mode 0600). [`StoreError::Locked`]: another process has it open.
    pub fn open(path: &Path) -> Result<Spool, StoreError> {
        let name = path.display().to_string();
        let made = files::create_private(path).and_then(|_| files::settle(path));
        match made {
            Err(e) if e.kind() != ErrorKind::AlreadyExists => {
                return Err(StoreError::Io(format!("the spool {name} cannot be made: {e}")));
            }
            _ => {}
        }
        // An empty file becomes a database: the crash came between its name and its first page.
        let db = Database::builder().set_cache_size(CACHE_BYTES).create(path).map_err(|e| match e {
            DatabaseError::DatabaseAlreadyOpen => {
                StoreError::Locked(format!("another `larder push` has the spool {name} open; try again when it ends"))
            }
            other => StoreError::Corrupt(format!("the spool {name} cannot be opened: {other}")),
        })?;
        let spool = Spool { db, name };
        spool.change(|txn| {
            txn.open_table(WAITING)?;
            txn.open_table(ASIDE)?;
            txn.open_table(STATE)?;
            Ok(())
        })?;
        Ok(spool)
    }

    /// Puts these behind those that wait. Once it says so they are on the disk.
    pub fn put(&self, observations: &[Vec<u8>]) -> Result<(), StoreError> {
        let (waiting, aside) = self.counts()?;
        if waiting + aside + observations.len() as u64 > MOST {
            let full =
                format!("the spool {} holds {MOST} observations, which is the most; deliver them first", self.name);
            return Err(StoreError::Full(full));
        }
        self.change(|txn| {
            let (mut waiting, mut state) = (txn.open_table(WAITING)?, txn.open_table(STATE)?);
            let mut last = state.get(LAST)?.map_or(0, |last| last.value());
            for one in observations {
                last += 1;
                waiting.insert(last, one.as_slice())?;
            }
            state.insert(LAST, last)?;
            Ok(())
        })
    }

    /// The oldest that wait: at most `limit`, and after the first no more than so many bytes together.
    pub fn waiting(&self, limit: usize, bytes: usize) -> Result<Vec<(u64, Vec<u8>)>, StoreError> {
        self.read(|txn| {
            let (mut found, mut sum) = (Vec::new(), 0);
            for row in txn.open_table(WAITING)?.iter()?.take(limit) {
                let (number, one) = row?;
                sum += one.value().len();
                if !found.is_empty() && sum > bytes {
                    break;
                }
                found.push((number.value(), one.value().to_vec()));
            }
            Ok(found)
        })
    }

    /// In one transaction.
    pub fn settle(&self, settled: &Settled) -> Result<(), StoreError> {
        self.change(|txn| {
            let (mut waiting, mut aside) = (txn.open_table(WAITING)?, txn.open_table(ASIDE)?);
            for number in &settled.delivered {
                waiting.remove(number)?;
            }
            for number in &settled.refused {
                if let Some(one) = waiting.remove(number)? {
                    aside.insert(number, one.value())?;
                }
            }
            let mut state = txn.open_table(STATE)?;
            match settled.not_before {
                Some(at) => state.insert(NOT_BEFORE, at)?,
                None => state.remove(NOT_BEFORE)?,
            };
            Ok(())
        })
    }

    /// Those that were refused wait again, in their places.
    pub fn bring_back(&self) -> Result<(), StoreError> {
        self.change(|txn| {
            let (mut waiting, mut aside) = (txn.open_table(WAITING)?, txn.open_table(ASIDE)?);
            while let Some((number, one)) = aside.pop_first()? {
                waiting.insert(number.value(), one.value())?;
            }
            Ok(())
        })
    }

    /// How many wait, and how many were refused.
    pub fn counts(&self) -> Result<(u64, u64), StoreError> {
        self.read(|txn| Ok((txn.open_table(WAITING)?.len()?, txn.open_table(ASIDE)?.len()?)))
    }

    /// Unix time in ms before which nothing is sent.
    pub fn not_before(&self) -> Result<Option<u64>, StoreError> {
        self.read(|txn| Ok(txn.open_table(STATE)?.get(NOT_BEFORE)?.map(|at| at.value())))
    }

    fn read<T>(&self, look: impl FnOnce(&redb::ReadTransaction) -> Result<T, redb::Error>) -> Result<T, StoreError> {
        let read = || look(&self.db.begin_read()?);
        read().map_err(|e| StoreError::Io(format!("the spool {} cannot be read: {e}", self.name)))
    }

    fn change(&self, work: impl FnOnce(&redb::WriteTransaction) -> Result<(), redb::Error>) -> Result<(), StoreError> {
        let write = || {
            let txn = self.db.begin_write()?;
            work(&txn)?;
            Ok::<(), redb::Error>(txn.commit()?)
        };
        write().map_err(|e| {
            StoreError::Io(format!("the spool {} cannot be written: {e}; free some space for it", self.name))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(text: &str) -> Vec<u8> {
        text.as_bytes().to_vec()
    }

    #[test]
    fn what_was_put_is_there_until_it_is_delivered_and_in_its_order() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("spool.redb");
        let spool = Spool::open(&path).unwrap();
        assert!(matches!(Spool::open(&path), Err(StoreError::Locked(_))));
        spool.put(&[bytes("a"), bytes("b"), bytes("c")]).unwrap();
        drop(spool);
        let spool = Spool::open(&path).unwrap();
        let found = |spool: &Spool| -> Vec<String> {
            spool.waiting(10, 100).unwrap().into_iter().map(|(_, one)| String::from_utf8(one).unwrap()).collect()
        };
        assert_eq!(found(&spool), ["a", "b", "c"]);
        assert_eq!((spool.waiting(10, 2).unwrap().len(), spool.waiting(1, 2).unwrap().len()), (2, 1));
        let settled = Settled { delivered: vec![1], refused: vec![2], not_before: Some(9) };
        spool.settle(&settled).unwrap();
        assert_eq!(
            (spool.counts(), spool.not_before(), found(&spool)),
            (Ok((1, 1)), Ok(Some(9)), vec!["c".to_owned()])
        );
        spool.bring_back().unwrap();
        spool.put(&[bytes("d")]).unwrap();
        assert_eq!(found(&spool), ["b", "c", "d"]);
        spool.settle(&Settled { delivered: vec![2, 3, 4], ..Settled::default() }).unwrap();
        drop(spool);
        let spool = Spool::open(&path).unwrap();
        assert_eq!((spool.counts(), spool.not_before()), (Ok((0, 0)), Ok(None)));
        spool.put(&[bytes("e")]).unwrap();
        assert_eq!(spool.waiting(1, 1).unwrap()[0].0, 5, "no number means two observations");
    }
}
