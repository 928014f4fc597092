//! Rows that are not in the file yet: of the batch that is being written, and of the lazy lane. Knows keys and bytes only.

use super::tables::Table;
use std::collections::BTreeMap;

/// More lazy rows than this are written without waiting for a reason.
const LAZY_ROWS: usize = 8192;
/// And so are more bytes: answers of the gateway come with their bodies.
const LAZY_BYTES: usize = 8 << 20;

/// `None`: the row is to go.
pub(super) type Value = Option<Vec<u8>>;
pub(super) type Part = BTreeMap<Vec<u8>, Value>;

/// One row to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Row {
    pub table: Table,
    pub key: Vec<u8>,
    pub value: Value,
}

impl Row {
    pub fn put(table: Table, key: impl Into<Vec<u8>>, value: Vec<u8>) -> Row {
        Row { table, key: key.into(), value: Some(value) }
    }
    pub fn delete(table: Table, key: impl Into<Vec<u8>>) -> Row {
        Row { table, key: key.into(), value: None }
    }
}

/// Rows by table and key: the last word on a key wins, and each table is written in the order of its keys.
#[derive(Clone, Debug, Default)]
pub(super) struct Rows {
    parts: [Part; Table::ALL.len()],
    bytes: usize,
}

impl Rows {
    pub fn part(&self, table: Table) -> &Part {
        &self.parts[table as usize]
    }
    pub fn set(&mut self, row: Row) {
        self.forget(row.table, &row.key);
        self.bytes += size(&row.key, &row.value);
        self.parts[row.table as usize].insert(row.key, row.value);
    }
    pub fn get(&self, table: Table, key: &[u8]) -> Option<&Value> {
        self.part(table).get(key)
    }
    pub fn forget(&mut self, table: Table, key: &[u8]) {
        let gone = self.parts[table as usize].remove(key);
        self.bytes -= gone.map_or(0, |value| size(key, &value));
    }
    pub fn clear(&mut self) {
        self.parts.iter_mut().for_each(BTreeMap::clear);
        self.bytes = 0;
    }
    pub fn is_empty(&self) -> bool {
        self.parts.iter().all(BTreeMap::is_empty)
    }
    pub fn len(&self) -> usize {
        self.parts.iter().map(BTreeMap::len).sum()
    }
    /// Whether they are few enough to wait for a commit that has another reason.
    pub fn may_wait(&self) -> bool {
        self.len() <= LAZY_ROWS && self.bytes <= LAZY_BYTES
    }
}

fn size(key: &[u8], value: &Value) -> usize {
    key.len() + value.as_ref().map_or(0, Vec::len)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_word_wins() {
        let mut rows = Rows::default();
        rows.set(Row::put(Table::Jobs, *b"k", vec![1]));
        rows.set(Row::delete(Table::Jobs, *b"k"));
        assert_eq!(rows.get(Table::Jobs, b"k"), Some(&None));
        assert_eq!(rows.get(Table::Items, b"k"), None);
        assert_eq!((rows.len(), rows.bytes), (1, 1));
        rows.set(Row::put(Table::Items, *b"key", vec![1, 2]));
        rows.set(Row::put(Table::Items, *b"key", vec![1]));
        assert_eq!(rows.bytes, 5);
        rows.set(Row::put(Table::Shelf, *b"k", vec![0; LAZY_BYTES]));
        assert!(!rows.may_wait());
        rows.forget(Table::Shelf, b"k");
        assert!(rows.may_wait());
        rows.forget(Table::Items, b"key");
        rows.forget(Table::Jobs, b"k");
        assert!(rows.is_empty());
    }
}
