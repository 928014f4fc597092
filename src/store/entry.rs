//! One row of any table, decoded: what a verification, and whoever throws bytes at the store, goes through. Knows which record stands in which
//! table; must not know transactions.

use super::access::digest;
use super::codec::Damaged;
use super::read::{held, numbered};
use super::records;
use super::tables::{self, StateRow, Table, meta};
use super::{StoreError, TokenRecord, sentences, sums};
use crate::clock::ClockMark;
use crate::domain::charge::Charge;
use crate::domain::connection::{ConnectionState, Hold};
use crate::domain::credential::CredentialState;
use crate::domain::event::Event;
use crate::domain::finding::Finding;
use crate::domain::gateway::Head;
use crate::domain::item::{HistoryEntry, Item};
use crate::domain::job::Job;
use crate::domain::observation::Observation;
use crate::domain::operator::{Claim, Operator, Session};
use crate::domain::polling::PollingState;
use crate::domain::quota::Learned;
use crate::domain::scan::ScanState;
use crate::domain::setup::{Sample, StoredConnection};
use crate::domain::state::Stood;
use crate::domain::target::{Life, PutTarget, TargetState};
use crate::domain::time::Stamp;
use crate::domain::webhook::{DeadLetter, WebhookState};

/// What a row says.
#[derive(Debug)]
pub(super) enum Entry {
    Mark(ClockMark),
    Connection(ConnectionState),
    Target(TargetState),
    Life(Life),
    PutTarget(PutTarget),
    Charge(Charge),
    Hold(Hold),
    Item(Item),
    History(HistoryEntry),
    Job(Job),
    Event(Event),
    Token(TokenRecord),
    Finding(Finding),
    Learned(Learned),
    Sum,
    Scan(ScanState),
    Webhook(WebhookState),
    DeadLetter(DeadLetter),
    Shelved(Head),
    Polling(PollingState),
    Credential(CredentialState),
    Operator(Operator),
    Session(Session),
    Claim(Claim),
    Use(Stamp),
    Stood(Stood),
    Stored(StoredConnection),
    Sample(Sample),
    Observation(Observation),
    /// A row that says nothing beside its key: a word of `meta`, an index.
    Plain,
}

impl Entry {
    pub fn read(table: Table, key: &[u8], value: &[u8]) -> Result<Entry, Damaged> {
        Ok(match table {
            Table::Meta if key == meta::MARK || key == meta::COPIED => Entry::Mark(records::mark_of(value)?),
            Table::Meta if key == meta::POLLING => Entry::Polling(records::polling_of(value)?),
            Table::Meta => Entry::Plain,
            Table::State => match tables::state_row(key) {
                Some(StateRow::Connection) => Entry::Connection(records::connection_of(value)?),
                Some(StateRow::Target) => Entry::Target(records::target_of(value)?),
                Some(StateRow::Life) => Entry::Life(records::life_of(value)?),
                None => return Err(no_known_form()),
            },
            Table::Charges => Entry::Charge(records::charge_of(numbered(key)?, value)?),
            Table::Credentials => Entry::Hold(records::hold_of(held(key)?, value)?),
            Table::Items => {
                let key = std::str::from_utf8(below(key)?).map_err(|_| Damaged::because("its key is not text"))?;
                Entry::Item(records::item_of(key.to_owned(), value)?)
            }
            Table::History => Entry::History(records::history_of(numbered(below(key)?)?, value)?),
            Table::Jobs => Entry::Job(records::job_of(numbered(key)?, value)?),
            Table::JobKeys => numbered(value).map(|_| Entry::Plain)?,
            Table::OpenJobs => numbered(key).map(|_| Entry::Plain)?,
            Table::Events => Entry::Event(records::event_of(numbered(key)?, value)?),
            Table::Tokens => Entry::Token(records::token_of(numbered(key)?, value)?),
            Table::Findings => Entry::Finding(records::finding_of(numbered(key)?, value)?),
            Table::Targets => Entry::PutTarget(records::put_target_of(value)?.1),
            Table::Secrets => records::sealed_of(value).map(|_| Entry::Plain)?,
            Table::Accounts => Entry::Credential(records::credential_of(value)?),
            Table::Connections => Entry::Stored(records::stored_of(value)?.1),
            Table::Samples => Entry::Sample(records::sample_of(value)?),
            Table::Observations => match tables::observation_row(key).ok_or_else(no_known_form)? {
                Some(_) => Entry::Plain,
                None => Entry::Observation(records::observation_of(value)?),
            },
            Table::Stood => Entry::Stood(records::stood_of(value)?),
            Table::OpenFindings => numbered(value).map(|_| Entry::Plain)?,
            Table::Learned => Entry::Learned(records::learned_of(value)?),
            Table::Spend => sums::line(key).and(records::sum_of(value)).map(|_| Entry::Sum)?,
            Table::Scans => match tables::scan_tag(key).ok_or_else(no_known_form)? {
                tables::STANDS => Entry::Scan(records::scan_of(value)?),
                tables::MEMBERS => records::names_of(value).map(|_| Entry::Plain)?,
                _ => return Err(no_known_form()),
            },
            Table::ScanRows => return Entry::of_generation(key, value),
            Table::Switched => tables::generation_of(key).map(|_| Entry::Plain).ok_or_else(no_known_form)?,
            Table::Webhooks => Entry::Webhook(records::webhook_of(value)?.1),
            Table::DeadLetters => Entry::DeadLetter(records::dead_letter_of(numbered(below(key)?)?, value)?),
            Table::Operators => Entry::Operator(records::operator_of(value)?),
            Table::Sessions => Entry::Session(records::session_of(digest(key)?, value)?),
            Table::Claims => Entry::Claim(records::claim_of(digest(key)?, value)?),
            Table::Uses => {
                tables::used_of(key).ok_or_else(no_known_form)?;
                Entry::Use(records::last_use_of(value)?)
            }
            Table::Shelf => match tables::shelf_tag(key).ok_or_else(no_known_form)? {
                tables::HEAD => Entry::Shelved(records::shelf_head_of(value)?),
                _ => records::shelf_body_of(value).map(|_| Entry::Plain)?,
            },
        })
    }
}

impl Entry {
    fn of_generation(key: &[u8], value: &[u8]) -> Result<Entry, Damaged> {
        let rest = tables::generation_of(key).and_then(|of| key.get(of.len()..)).ok_or_else(no_known_form)?;
        match rest.split_first() {
            Some((&tables::NAMES, _)) => records::names_of(value).map(|_| Entry::Plain),
            Some((&tables::SEEN, _)) => records::seen_of(value).map(|_| Entry::Plain),
            Some((&tables::ROW, _)) => records::row_of(String::new(), value).map(|_| Entry::Plain),
            Some((&tables::WRITES, staged)) => {
                let (tag, key) = staged.split_first().ok_or_else(no_known_form)?;
                let table = super::generation::staged_table(*tag).ok_or_else(no_known_form)?;
                Entry::read(table, key, value).map(|_| Entry::Plain)
            }
            _ => Err(no_known_form()),
        }
    }
}

fn below(key: &[u8]) -> Result<&[u8], Damaged> {
    tables::below_target(key).ok_or_else(no_known_form)
}

pub(super) fn no_known_form() -> Damaged {
    Damaged::because("its key is of no known form")
}

/// Whether bytes are a row of the table of that name, in the words of `larder verify` if they are not.
pub fn read_row(table: &str, key: &[u8], value: &[u8]) -> Result<(), StoreError> {
    match Table::ALL.into_iter().find(|t| t.name() == table) {
        Some(table) => Entry::read(table, key, value).map(drop).map_err(|d| sentences::unreadable("a row", table, &d)),
        None => Err(StoreError::Io(format!("there is no table {table:?}"))),
    }
}

/// The names of all tables.
pub fn table_names() -> Vec<&'static str> {
    Table::ALL.iter().map(|t| t.name()).collect()
}
