//! What is handed to the writer, and what it hands back once the disk has it. Knows shapes only.

use super::access;
use super::lessons;
use super::observations;
use super::records;
use super::retention::Forget;
use super::rows::Row;
use super::scans;
use super::sealed::Swap;
use super::sentences;
use super::shelved;
use super::tables::{self, Table};
use super::{Admission, Commit, Lane, StoreError, TokenRecord, Write};
use crate::domain::charge::{Charge, Resolution};
use crate::domain::connection::HoldChange;
use crate::domain::event::{Event, NewEvent};
use crate::domain::finding::FindingChange;
use crate::domain::ids::{ChargeId, CredentialId};
use crate::domain::job::Job;
use crate::domain::quota::Learned;
use crate::rules::budget::{Permit, Refusal, Reserved};
use tokio::sync::oneshot;

/// Where the waiter waits.
pub(super) type Reply<T> = oneshot::Sender<Result<T, StoreError>>;
pub(super) type Admitted = Result<Permit, Refusal>;
/// The job, whether it is new, and its event.
pub(super) type Created = (Job, bool, Vec<Event>);

/// A commit whose rows were encoded by its caller, so that the writer does not have to.
pub(super) struct Prepared {
    pub resolve: Option<(CredentialId, ChargeId, Resolution)>,
    pub hold: Option<(CredentialId, Vec<HoldChange>)>,
    pub rows: Vec<Row>,
    pub events: Vec<NewEvent>,
    /// Only the writer knows which of them are open.
    pub findings: Vec<FindingChange>,
    pub learned: Vec<(CredentialId, Learned)>,
    pub lane: Lane,
}

impl Prepared {
    pub fn new(commit: Commit) -> Result<Prepared, StoreError> {
        let mut rows = rows_of(&commit.writes)?;
        for (credential, change) in commit.hold.iter().flat_map(|(c, changes)| changes.iter().map(move |h| (c, h))) {
            let key = tables::hold(credential, change.scope());
            rows.push(match change {
                HoldChange::Put(hold) => {
                    Row::put(Table::Credentials, key, written(Table::Credentials, records::hold(hold))?)
                }
                HoldChange::Lift(_) => Row::delete(Table::Credentials, key),
            });
        }
        for (credential, learned) in &commit.learned {
            rows.push(lessons::row(credential, learned)?);
        }
        let Commit { resolve, hold, events, findings, learned, lane, .. } = commit;
        Ok(Prepared { resolve, hold, rows, events, findings, learned, lane })
    }
}

/// The rows of these changes.
pub(super) fn rows_of(writes: &[Write]) -> Result<Vec<Row>, StoreError> {
    let mut rows = Vec::with_capacity(writes.len());
    for write in writes {
        push_rows(write, &mut rows)?;
    }
    Ok(rows)
}

pub(super) fn push_rows(write: &Write, rows: &mut Vec<Row>) -> Result<(), StoreError> {
    let (table, key, record) = match write {
        Write::Connection(key, state) => (Table::State, tables::connection_state(key), records::connection(state)),
        Write::Target(key, state) => (Table::State, tables::target_state(key), records::target(state)),
        Write::Life(key, life) => (Table::State, tables::life(key), records::life(life)),
        Write::PutTarget(key, put) => (Table::Targets, tables::target_prefix(key), records::put_target(key, put)),
        Write::DropTarget(key) => return dropped(rows, Table::Targets, tables::target_prefix(key)),
        Write::Item(target, item) => (Table::Items, tables::item(target, &item.key), records::item(item)),
        Write::History(target, entry) => (Table::History, tables::history(target, entry.seq), records::history(entry)),
        Write::Job(job) => {
            rows.push(open_job(job));
            (Table::Jobs, tables::number(job.id.0).to_vec(), records::job(job))
        }
        Write::Mark(mark) => (Table::Meta, tables::meta::MARK.to_vec(), records::mark(mark)),
        Write::Scan(key, state) => (Table::Scans, tables::scan_state(key), records::scan(state)),
        Write::Members(key, names) => (Table::Scans, tables::scan_members(key), records::names(names)),
        Write::Generation(generation, row) => return scans::push(generation, row, rows),
        Write::Polling(state) => (Table::Meta, tables::meta::POLLING.to_vec(), records::polling(state)),
        Write::Credential(key, state) => (Table::Accounts, tables::connection_prefix(key), records::credential(state)),
        Write::Token(token) => (Table::Tokens, tables::number(token.id).to_vec(), records::token(token)),
        Write::Operator(_) | Write::DropOperator(_) | Write::Session(_) | Write::EndSession(_) => {
            return access::push(write, rows);
        }
        Write::Claim(_) | Write::EndClaim(_) | Write::Use(..) => return access::push(write, rows),
        Write::Webhook(key, state) => (Table::Webhooks, tables::webhook(key), records::webhook(key, state)),
        Write::DeadLetter(key, letter) => {
            (Table::DeadLetters, tables::dead_letter(key, letter.event.id.0), records::dead_letter(letter))
        }
        Write::ForgetWebhook(key) => return dropped(rows, Table::Webhooks, tables::webhook(key)),
        Write::Shelve(answer) => return shelved::push(answer, rows),
        Write::Reshelve(head) => (Table::Shelf, shelved::place(head, tables::HEAD), records::shelf_head(head)),
        Write::Unshelve(head) => {
            let row = |tag| Row::delete(Table::Shelf, shelved::place(head, tag));
            rows.extend([tables::HEAD, tables::BODY].map(row));
            return Ok(());
        }
        Write::Stored(key, stored) => {
            (Table::Connections, tables::connection_prefix(key), records::stored(key, stored))
        }
        Write::DropStored(key) => return dropped(rows, Table::Connections, tables::connection_prefix(key)),
        Write::Sample(key, sample) => (Table::Samples, tables::target_prefix(key), records::sample(sample)),
        Write::Stood(key, stood) => (Table::Stood, tables::stood(key, stood.since.steady), records::stood(stood)),
        Write::ForgetStood(key, since) => return dropped(rows, Table::Stood, tables::stood(key, *since)),
        Write::Observe(key, observation) => return observations::push(key, observation, rows),
        Write::ForgetObservation(key, at, id) => {
            observations::forget(key, (*at, id), rows);
            return Ok(());
        }
        Write::BuryLetter(key, event) => return dropped(rows, Table::DeadLetters, tables::dead_letter(key, event.0)),
    };
    rows.push(Row::put(table, key, written(table, record)?));
    Ok(())
}

pub(super) fn dropped(rows: &mut Vec<Row>, table: Table, key: Vec<u8>) -> Result<(), StoreError> {
    rows.push(Row::delete(table, key));
    Ok(())
}

fn open_job(job: &Job) -> Row {
    let key = tables::number(job.id.0);
    if job.state.is_final() { Row::delete(Table::OpenJobs, key) } else { Row::put(Table::OpenJobs, key, Vec::new()) }
}

/// Tells which table a value was meant for.
pub(super) fn written<T>(table: Table, record: Result<T, super::codec::Damaged>) -> Result<T, StoreError> {
    record.map_err(|d| sentences::unwritable(table, &d))
}

/// A piece of work for the writer.
pub(super) enum Work {
    Admit(Admission, Reply<Admitted>),
    Commit(Prepared, Reply<Vec<Event>>),
    Job(Box<Job>, NewEvent, Reply<Created>),
    Token(Box<TokenRecord>, Reply<TokenRecord>),
    Swap(Swap, Reply<Option<u64>>),
    TakeOver(Vec<Charge>, Prepared, Reply<Vec<Event>>),
    /// Move so many rows of a switched generation to their place.
    Settle(usize, Reply<bool>),
    /// What an operator's rule lets go of.
    Forget(Forget, Reply<Vec<Event>>),
    /// Write what is lazy now.
    Flush(Reply<()>),
    /// Time has passed.
    Tick,
    /// Wakes the writer so that it sees that it shall end.
    Stop,
}

impl Work {
    /// Whether it begins what the next start has to know: a request, a command, a token, a credential renewed.
    pub const fn begins(&self) -> bool {
        matches!(self, Work::Admit(..) | Work::Job(..) | Work::Token(..) | Work::Swap(..) | Work::TakeOver(..))
    }

    pub fn refuse(self, error: &StoreError) {
        // A waiter that went away needs no answer; that is all a failed send says, here and below.
        match self {
            Work::Admit(_, reply) => drop(reply.send(Err(error.clone()))),
            Work::Commit(_, reply) => drop(reply.send(Err(error.clone()))),
            Work::Job(_, _, reply) => drop(reply.send(Err(error.clone()))),
            Work::Token(_, reply) => drop(reply.send(Err(error.clone()))),
            Work::Swap(_, reply) => drop(reply.send(Err(error.clone()))),
            Work::TakeOver(_, _, reply) => drop(reply.send(Err(error.clone()))),
            Work::Settle(_, reply) => drop(reply.send(Err(error.clone()))),
            Work::Forget(_, reply) => drop(reply.send(Err(error.clone()))),
            Work::Flush(reply) => drop(reply.send(Err(error.clone()))),
            Work::Tick | Work::Stop => {}
        }
    }
}

/// An answer that waits for the disk.
#[expect(
    clippy::large_enum_variant,
    reason = "nearly all are permits, and there are at most as many as a batch has work"
)]
pub(super) enum Ack {
    Permit(Reserved, Reply<Admitted>),
    Events(Vec<Event>, Reply<Vec<Event>>),
    Job(Box<Created>, Reply<Created>),
    Token(Box<TokenRecord>, Reply<TokenRecord>),
    Swap(Option<u64>, Reply<Option<u64>>),
    Settle(bool, Reply<bool>),
    Flush(Reply<()>),
}

impl Ack {
    /// After the commit, and only then: this is where a permit comes from. Hands back a permit that nobody waited for any
    /// more.
    pub fn confirm(self) -> Option<Permit> {
        match self {
            Ack::Permit(reserved, reply) => {
                return reply.send(Ok(Ok(reserved.durable()))).err().and_then(|back| back.ok()?.ok());
            }
            Ack::Events(events, reply) => drop(reply.send(Ok(events))),
            Ack::Job(created, reply) => drop(reply.send(Ok(*created))),
            Ack::Token(token, reply) => drop(reply.send(Ok(*token))),
            Ack::Swap(version, reply) => drop(reply.send(Ok(version))),
            Ack::Settle(more, reply) => drop(reply.send(Ok(more))),
            Ack::Flush(reply) => drop(reply.send(Ok(()))),
        }
        None
    }
    pub fn refuse(self, error: &StoreError) {
        match self {
            Ack::Permit(_, reply) => drop(reply.send(Err(error.clone()))),
            Ack::Events(_, reply) => drop(reply.send(Err(error.clone()))),
            Ack::Job(_, reply) => drop(reply.send(Err(error.clone()))),
            Ack::Token(_, reply) => drop(reply.send(Err(error.clone()))),
            Ack::Swap(_, reply) => drop(reply.send(Err(error.clone()))),
            Ack::Settle(_, reply) => drop(reply.send(Err(error.clone()))),
            Ack::Flush(reply) => drop(reply.send(Err(error.clone()))),
        }
    }
}
