//! Rows that are whole, each by itself, and contradict each other: `larder verify` finds them.

use super::shelf::entry;
use super::*;
use crate::domain::finding::{FindingChange, FindingKind, Matter, Seen};
use std::path::PathBuf;
use tables::Table;
use tempfile::TempDir;

/// A file in which there is one of everything that is held against something.
async fn filled() -> (TempDir, PathBuf) {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("larder.redb");
    let (store, _) = Store::open(&path, THREAD).unwrap();
    store.install_budget(KEY, limit(9), &at(0)).unwrap();
    let id = admit(&store, &at(1_000)).await;
    let history = (1..=3).map(|n| Write::History(controller(), entry(n))).collect();
    store.commit(learned(id, &at(2_000), history, Lane::Durable)).await.unwrap();
    store.create_job(a_job(Some("key")), event("asked")).await.unwrap();
    let (kind, subject) = (FindingKind::LowerLimit, String::new());
    let about = Matter { connection: yard(), target: None, kind, subject };
    let (sentence, detail, credential) = ("Lower.".to_owned(), None, None);
    let seen = FindingChange::Seen(Seen { about, credential, at: at(1).stamp(), sentence, detail });
    store.commit(Commit { findings: vec![seen], ..Commit::default() }).await.unwrap();
    store.close().unwrap();
    (folder, path)
}

/// Changes rows behind the store's back; what a verification then says.
fn damaged(
    path: &Path,
    table: Table,
    change: impl FnOnce(&mut redb::Table<'_, &'static [u8], &'static [u8]>),
) -> String {
    let db = redb::Database::open(path).unwrap();
    let txn = db.begin_write().unwrap();
    change(&mut txn.open_table(table.definition()).unwrap());
    txn.commit().unwrap();
    db.close().unwrap();
    match verify(path) {
        Err(StoreError::Corrupt(sentence)) => sentence,
        other => panic!("{other:?}"),
    }
}

fn without(key: impl Into<Vec<u8>>) -> impl FnOnce(&mut redb::Table<'_, &'static [u8], &'static [u8]>) {
    let key = key.into();
    move |table| assert!(table.remove(key.as_slice()).unwrap().is_some())
}

#[tokio::test]
async fn a_whole_file_has_no_contradiction() {
    let (_folder, path) = filled().await;
    let sentence = verify(&path).unwrap();
    assert!(sentence.contains("3 lines of history, 1 charge, 1 job"), "{sentence}");
}

#[tokio::test]
async fn a_line_of_a_history_is_missing() {
    let (_folder, path) = filled().await;
    let line = [tables::target_prefix(&controller()), tables::number(2).to_vec()].concat();
    let said = damaged(&path, Table::History, without(line));
    assert!(said.contains("the history of default/yard/controller has line 3 after line 1"), "{said}");
}

#[tokio::test]
async fn an_index_leads_nowhere() {
    for (table, key, words) in [
        (Table::OpenJobs, tables::number(1).to_vec(), "job 1 is not at its end and would never be taken up"),
        (Table::Jobs, tables::number(1).to_vec(), "job 1 is listed as open and is not"),
        (Table::Findings, tables::number(1).to_vec(), "finding 1 is listed as open and is not"),
    ] {
        let (_folder, path) = filled().await;
        let said = damaged(&path, table, without(key));
        assert!(said.contains(words), "{said}");
    }
    let (_folder, path) = filled().await;
    let said = damaged(&path, Table::OpenFindings, |open| while open.pop_first().unwrap().is_some() {});
    assert!(said.contains("finding 1 is open and would never be closed"), "{said}");
}

#[tokio::test]
async fn a_charge_was_settled_before_it_was_made() {
    let (_folder, path) = filled().await;
    let (store, _) = Store::open(&path, THREAD).unwrap();
    let mut charge = store.charges(&yard(), None, 1).unwrap().remove(0);
    store.close().unwrap();
    charge.resolution.as_mut().unwrap().at = at(500).stamp();
    let record = records::charge(&charge).unwrap();
    let said = damaged(&path, Table::Charges, |table| {
        table.insert(tables::number(1).as_slice(), record.as_slice()).unwrap();
    });
    assert!(said.contains("charge 1 was settled before it was made"), "{said}");
}
