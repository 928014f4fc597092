//! Rows that are not in the file yet: of the batch that is being written, and of the lazy lane. Knows keys and bytes only.

use super::tables::Table;
use std::collections::BTreeMap;

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
}

impl Rows {
    pub fn part(&self, table: Table) -> &Part {
        &self.parts[table as usize]
    }
    pub fn set(&mut self, row: Row) {
        self.parts[row.table as usize].insert(row.key, row.value);
    }
    pub fn get(&self, table: Table, key: &[u8]) -> Option<&Value> {
        self.part(table).get(key)
    }
    pub fn forget(&mut self, table: Table, key: &[u8]) {
        self.parts[table as usize].remove(key);
    }
    pub fn clear(&mut self) {
        self.parts.iter_mut().for_each(BTreeMap::clear);
    }
    pub fn is_empty(&self) -> bool {
        self.parts.iter().all(BTreeMap::is_empty)
    }
    pub fn len(&self) -> usize {
        self.parts.iter().map(BTreeMap::len).sum()
    }
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
        assert_eq!(rows.len(), 1);
        rows.forget(Table::Jobs, b"k");
        assert!(rows.is_empty());
    }
}
