//! From an older file to the newest: an array of steps whose order is the version. A step runs in one transaction with
//! the version that it leads to, so that a crash in between repeats it. Records are upgraded when read, not here; a
//! step is for keys, for new tables and for what must be moved.

use super::StoreError;
use super::sentences::{self, Doing};
use super::tables::{Table, meta, number, read_number};
use redb::{Database, ReadTransaction, ReadableDatabase, TableError, WriteTransaction};

type Step = fn(&WriteTransaction, &Fresh) -> Result<(), redb::Error>;

/// Step `n` leads from format `n` to `n + 1`. Only ever added to.
const STEPS: &[Step] = &[
    create_tables,
    add_findings,
    add_learned,
    add_secrets,
    add_operations,
    add_shelf,
    add_accounts,
    add_access,
    add_observations,
];

/// The format that this binary writes, and the newest that it reads.
pub(super) const FORMAT: u64 = STEPS.len() as u64;

/// What a new file needs.
pub(super) struct Fresh {
    pub installation: [u8; 32],
}

/// The format of a file: `None` where there is no table at all.
pub(super) fn format_of(place: &str, txn: &ReadTransaction) -> Result<Option<u64>, StoreError> {
    let explain = |e: redb::Error| sentences::explain(place, Doing::Reading, e);
    let table = match txn.open_table(Table::Meta.definition()) {
        Ok(table) => table,
        Err(TableError::TableDoesNotExist(_)) => {
            let nothing = txn.list_tables().map_err(|e| explain(e.into()))?.next().is_none();
            return if nothing { Ok(None) } else { Err(sentences::foreign(place)) };
        }
        Err(TableError::TableTypeMismatch { .. } | TableError::TypeDefinitionChanged { .. }) => {
            return Err(sentences::foreign(place));
        }
        Err(e) => return Err(explain(e.into())),
    };
    let value = table.get(meta::FORMAT).map_err(|e| explain(e.into()))?;
    match value.and_then(|v| read_number(v.value())) {
        Some(found) if found > FORMAT => Err(sentences::newer(place, found, FORMAT)),
        Some(found) => Ok(Some(found)),
        None => Err(sentences::foreign(place)),
    }
}

/// Brings the file to `FORMAT` and notes who writes it now. `fresh`: it may have no tables yet.
pub(super) fn run(place: &str, db: &Database, fresh: Option<&Fresh>) -> Result<(), StoreError> {
    let txn = db.begin_read().map_err(|e| sentences::explain(place, Doing::Reading, e))?;
    let found = match (format_of(place, &txn)?, fresh) {
        (Some(found), _) => found,
        (None, Some(_)) => 0,
        (None, None) => return Err(sentences::foreign(place)),
    };
    drop(txn);
    let nothing_new = Fresh { installation: [0; 32] };
    let fresh = fresh.unwrap_or(&nothing_new);
    steps(db, found, fresh).map_err(|e| sentences::explain(place, Doing::Writing, e))
}

/// Whether [`run`] would have nothing to write.
pub(super) fn is_current(place: &str, db: &Database) -> Result<(), StoreError> {
    let txn = db.begin_read().map_err(|e| sentences::explain(place, Doing::Reading, e))?;
    let noted = is_noted(db).map_err(|e| sentences::explain(place, Doing::Reading, e))?;
    match format_of(place, &txn)? {
        Some(FORMAT) if noted => Ok(()),
        _ => Err(sentences::older(place)),
    }
}

fn steps(db: &Database, found: u64, fresh: &Fresh) -> Result<(), redb::Error> {
    for (step, version) in STEPS.iter().zip(1u64..).skip(usize::try_from(found).unwrap_or(usize::MAX)) {
        let txn = db.begin_write()?;
        step(&txn, fresh)?;
        txn.open_table(Table::Meta.definition())?.insert(meta::FORMAT, number(version).as_slice())?;
        txn.commit()?;
    }
    note_writer(db)
}

const WRITER: &[u8] = concat!("larder ", env!("CARGO_PKG_VERSION"), ", redb 4.6.0").as_bytes();

fn is_noted(db: &Database) -> Result<bool, redb::Error> {
    let table = db.begin_read()?.open_table(Table::Meta.definition())?;
    Ok(table.get(meta::WRITTEN_BY)?.is_some_and(|v| v.value() == WRITER))
}

/// A file must not be opened by an older redb than the one that wrote it: keep on record which that was.
fn note_writer(db: &Database) -> Result<(), redb::Error> {
    if !is_noted(db)? {
        let txn = db.begin_write()?;
        txn.open_table(Table::Meta.definition())?.insert(meta::WRITTEN_BY, WRITER)?;
        txn.commit()?;
    }
    Ok(())
}

/// 0 to 1: every table, so that no reader meets a missing one, and the key of the installation.
fn create_tables(txn: &WriteTransaction, fresh: &Fresh) -> Result<(), redb::Error> {
    for table in Table::ALL {
        txn.open_table(table.definition())?;
    }
    txn.open_table(Table::Meta.definition())?.insert(meta::INSTALLATION, fresh.installation.as_slice())?;
    Ok(())
}

/// 1 to 2: the tables of findings.
fn add_findings(txn: &WriteTransaction, _: &Fresh) -> Result<(), redb::Error> {
    for table in [Table::Findings, Table::OpenFindings] {
        txn.open_table(table.definition())?;
    }
    Ok(())
}

/// 2 to 3: the table of what providers' own counts have taught.
fn add_learned(txn: &WriteTransaction, _: &Fresh) -> Result<(), redb::Error> {
    txn.open_table(Table::Learned.definition()).map(drop).map_err(redb::Error::from)
}

/// 3 to 4: the table of sealed secrets.
fn add_secrets(txn: &WriteTransaction, _: &Fresh) -> Result<(), redb::Error> {
    txn.open_table(Table::Secrets.definition()).map(drop).map_err(redb::Error::from)
}

/// 4 to 5: connections with the overrides of operators, a form that an older binary does not read; the targets that they put; the sums of spending; the tables of
/// scans. The charges that are there are summed by the writer, as every charge is.
fn add_operations(txn: &WriteTransaction, _: &Fresh) -> Result<(), redb::Error> {
    for table in [
        Table::Spend,
        Table::Targets,
        Table::Scans,
        Table::ScanRows,
        Table::Switched,
        Table::Webhooks,
        Table::DeadLetters,
    ] {
        txn.open_table(table.definition())?;
    }
    Ok(())
}

/// 5 to 6: the table of the gateway's answers.
fn add_shelf(txn: &WriteTransaction, _: &Fresh) -> Result<(), redb::Error> {
    txn.open_table(Table::Shelf.definition()).map(drop).map_err(redb::Error::from)
}

/// 6 to 7: the table of what connections' credentials count for.
fn add_accounts(txn: &WriteTransaction, _: &Fresh) -> Result<(), redb::Error> {
    txn.open_table(Table::Accounts.definition()).map(drop).map_err(redb::Error::from)
}

/// 7 to 8: the tables of who may come in, and tokens with an end, a form that an older binary does not read; the table of how connections stood;
/// those of what is written in the browser.
fn add_access(txn: &WriteTransaction, _: &Fresh) -> Result<(), redb::Error> {
    for table in [
        Table::Operators,
        Table::Sessions,
        Table::Claims,
        Table::Uses,
        Table::Stood,
        Table::Connections,
        Table::Samples,
    ] {
        txn.open_table(table.definition())?;
    }
    Ok(())
}

/// 8 to 9: the table of what was pushed.
fn add_observations(txn: &WriteTransaction, _: &Fresh) -> Result<(), redb::Error> {
    txn.open_table(Table::Observations.definition()).map(drop).map_err(redb::Error::from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use redb::backends::InMemoryBackend;

    /// `header` knows the layout of one redb, and `pin` when it uses a page again: another is looked at first.
    #[test]
    fn redb_is_pinned_to_the_one_that_was_read() {
        let manifest = include_str!("../../Cargo.toml");
        let writer = std::str::from_utf8(WRITER).unwrap();
        let (_, version) = writer.split_once(", redb ").unwrap();
        assert!(manifest.contains(&format!("redb = \"={version}\"")), "{writer}");
    }

    fn memory() -> Database {
        Database::builder().create_with_backend(InMemoryBackend::new()).unwrap()
    }

    #[test]
    fn an_empty_file_becomes_the_newest_format() {
        let db = memory();
        assert!(matches!(run("f", &db, None), Err(StoreError::Corrupt(_))), "never taken for new by itself");
        run("f", &db, Some(&Fresh { installation: [7; 32] })).unwrap();
        assert_eq!(format_of("f", &db.begin_read().unwrap()), Ok(Some(FORMAT)));
        run("f", &db, None).unwrap();
        let table = db.begin_read().unwrap().open_table(Table::Meta.definition()).unwrap();
        assert_eq!(table.get(meta::INSTALLATION).unwrap().unwrap().value(), [7; 32]);
    }

    /// As the first format was: without the tables that came later.
    #[test]
    fn an_older_file_gets_the_tables_that_came_later() {
        let db = memory();
        let txn = db.begin_write().unwrap();
        for table in Table::ALL.into_iter().filter(|t| *t < Table::Findings) {
            txn.open_table(table.definition()).unwrap();
        }
        txn.open_table(Table::Meta.definition()).unwrap().insert(meta::FORMAT, number(1).as_slice()).unwrap();
        txn.commit().unwrap();
        run("f", &db, None).unwrap();
        let txn = db.begin_read().unwrap();
        assert_eq!(format_of("f", &txn), Ok(Some(FORMAT)));
        assert!(Table::ALL.into_iter().all(|t| txn.open_table(t.definition()).is_ok()));
    }

    #[test]
    fn a_newer_file_is_refused() {
        let db = memory();
        run("f", &db, Some(&Fresh { installation: [7; 32] })).unwrap();
        let txn = db.begin_write().unwrap();
        txn.open_table(Table::Meta.definition()).unwrap().insert(meta::FORMAT, number(FORMAT + 2).as_slice()).unwrap();
        txn.commit().unwrap();
        let Err(StoreError::Newer(sentence)) = run("f", &db, None) else { panic!("taken") };
        assert!(sentence.contains("newer larder"), "{sentence}");
    }

    #[test]
    fn a_redb_file_of_somebody_else_is_refused() {
        let db = memory();
        let txn = db.begin_write().unwrap();
        txn.open_table(redb::TableDefinition::<&str, u64>::new("theirs")).unwrap();
        txn.commit().unwrap();
        assert!(matches!(run("f", &db, Some(&Fresh { installation: [7; 32] })), Err(StoreError::Corrupt(_))));
    }
}
