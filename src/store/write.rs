//! The writer: one batch of work becomes one commit, and nobody is answered before the disk has it. Whoever holds
//! `Writing` is the writer: its thread, or in the simulator the caller. Reads no clock; time comes with the work.

use super::books;
use super::core::Core;
use super::lessons;
use super::read::Snapshot;
use super::records;
use super::rows::{Row, Rows};
use super::sentences;
use super::tables::{self, Table};
use super::work::{Ack, Prepared, Reply, Work, rows_of, written};
use super::{Admission, LAZY_MAX, Lane, StoreError, TICK};
use crate::domain::charge::Charge;
use crate::domain::event::{Event, NewEvent};
use crate::domain::ids::{ChargeId, EventId};
use crate::domain::time::Now;
use crate::rules::budget::{Permit, Reserved};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The next free numbers: one above the last row, never stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Numbers {
    pub charge: u64,
    pub job: u64,
    pub event: u64,
    pub token: u64,
    pub finding: u64,
}

impl Numbers {
    fn read(snapshot: &Snapshot<'_>) -> Result<Numbers, StoreError> {
        let next = |table| Ok::<_, StoreError>(snapshot.last_number(table)? + 1);
        Ok(Numbers {
            charge: next(Table::Charges)?,
            job: next(Table::Jobs)?,
            event: next(Table::Events)?,
            token: next(Table::Tokens)?,
            finding: next(Table::Findings)?,
        })
    }
}

/// The writer's own state.
pub(super) struct Writing {
    pub(super) next: Numbers,
    /// Charges below this were made by an earlier run.
    pub(super) crashed_below: u64,
    /// The rows of this batch. Kept between batches for its memory.
    pub(super) staged: Rows,
    /// The last tick saw lazy rows already.
    lazy_ticks: u64,
    /// The numbers and ledgers do not follow the file since a write failed.
    astray: bool,
    pub(super) commits: u32,
    pub(super) purged_at_charge: u64,
    pub(super) latest: Option<Now>,
}

impl Writing {
    pub fn new(snapshot: &Snapshot<'_>) -> Result<Writing, StoreError> {
        let next = Numbers::read(snapshot)?;
        Ok(Writing {
            next,
            crashed_below: next.charge,
            staged: Rows::default(),
            lazy_ticks: 0,
            astray: false,
            commits: 0,
            purged_at_charge: next.charge,
            latest: None,
        })
    }

    pub fn last_event(&self) -> u64 {
        self.next.event - 1
    }

    /// Takes a batch, writes it and answers. Leaves `batch` empty.
    pub fn run(&mut self, core: &Core, batch: &mut Vec<Work>) {
        if core.is_closed() {
            return batch.drain(..).for_each(|work| work.refuse(&StoreError::Closed));
        }
        let mut acks = Vec::with_capacity(batch.len());
        let work = AssertUnwindSafe(|| self.take_and_write(core, batch, &mut acks));
        let result = catch_unwind(work).unwrap_or_else(|_| {
            Err(StoreError::Io(format!(
                "{} was not written: the writer stumbled over a mistake of its own",
                core.name()
            )))
        });
        match result {
            Ok(()) => acks.into_iter().filter_map(Ack::confirm).for_each(|permit| self.take_back(core, &permit)),
            Err(error) => {
                acks.into_iter().for_each(|ack| ack.refuse(&error));
                batch.drain(..).for_each(|work| work.refuse(&error));
                self.recover(core, error);
            }
        }
    }

    fn take_and_write(&mut self, core: &Core, batch: &mut Vec<Work>, acks: &mut Vec<Ack>) -> Result<(), StoreError> {
        self.follow_the_file(core)?;
        let mut must = false;
        let away = if batch.iter().any(Work::begins) { core.is_at_its_place().err() } else { None };
        for work in batch.drain(..) {
            match &away {
                Some(error) if work.begins() => work.refuse(error),
                _ => must |= self.take(core, work, acks),
            }
        }
        let lazy = core.lazy();
        let nothing = self.staged.is_empty() && lazy.is_empty();
        if !must && (nothing || acks.is_empty() && lazy.may_wait()) {
            return Ok(());
        }
        self.write(core)
    }

    /// One durable commit of everything that is lazy or staged.
    pub(super) fn write(&mut self, core: &Core) -> Result<(), StoreError> {
        self.purge_now_and_then(core)?;
        core.write(&self.staged)?;
        core.clear_lazy();
        core.set_last_event(self.last_event());
        core.set_trouble(None);
        self.staged.clear();
        self.lazy_ticks = 0;
        core.pin_by_bytes();
        Ok(())
    }

    /// The last commit, with what is lazy. Called when nobody can hand in work any more.
    pub fn finish(&mut self, core: &Core) -> Result<(), StoreError> {
        if core.lazy().is_empty() {
            return Ok(());
        }
        self.follow_the_file(core)?;
        self.write(core)
    }

    /// After a failure: nothing of the batch counts. The file is opened anew, numbers and ledgers are read from it.
    pub(super) fn recover(&mut self, core: &Core, error: StoreError) {
        core.set_trouble(Some(error));
        self.staged.clear();
        self.astray = true;
        if let Err(still) = core.reopen().and_then(|()| self.follow_the_file(core)) {
            core.set_trouble(Some(still));
        }
    }

    /// Opens the file if it is not open, and reads the numbers and the ledgers back if they are astray.
    pub(super) fn follow_the_file(&mut self, core: &Core) -> Result<(), StoreError> {
        if !core.is_open() {
            core.reopen()?;
        }
        if !self.astray {
            return Ok(());
        }
        let snapshot = core.snapshot()?;
        self.next = Numbers::read(&snapshot)?;
        core.set_last_event(self.last_event());
        for (credential, account) in core.books().iter_mut() {
            let back = books::read_back(&snapshot, *credential, account.rules(), &account.latest, 0)?;
            let before = std::mem::replace(&mut account.ledger, back.ledger);
            books::keep_longer(&mut account.ledger, &before);
            lessons::of(&snapshot, credential)?.into_iter().for_each(|learned| account.teach(learned));
        }
        self.astray = false;
        Ok(())
    }

    /// Whether a commit must follow even if nobody waits for one.
    fn take(&mut self, core: &Core, work: Work, acks: &mut Vec<Ack>) -> bool {
        match work {
            Work::Admit(admission, reply) => self.admit(core, admission, reply, acks),
            Work::Commit(prepared, reply) => self.commit(core, prepared, reply, acks),
            Work::Job(job, event, reply) => {
                answer(self.create_job(core, *job, &event), reply, acks, |created, reply| {
                    Ack::Job(Box::new(created), reply)
                })
            }
            Work::Token(token, reply) => {
                answer(self.create_token(*token), reply, acks, |token, reply| Ack::Token(Box::new(token), reply))
            }
            Work::Swap(swap, reply) => answer(self.swap(core, swap), reply, acks, Ack::Swap),
            Work::TakeOver(spent, prepared, reply) => {
                answer(self.take_over(core, spent, prepared), reply, acks, Ack::Events)
            }
            Work::Settle(rows, reply) => answer(self.settle_generation(core, rows), reply, acks, Ack::Settle),
            Work::Forget(forget, reply) => answer(self.forget(core, forget), reply, acks, Ack::Events),
            Work::Flush(reply) => acks.push(Ack::Flush(reply)),
            Work::Tick => return self.tick(core),
            Work::Stop => {}
        }
        false
    }

    /// Lazy rows are due before they have waited for `LAZY_MAX`. While there is trouble a tick tries the disk, so that
    /// health comes back by itself.
    fn tick(&mut self, core: &Core) -> bool {
        self.lazy_ticks = if core.lazy().is_empty() { 0 } else { self.lazy_ticks + 1 };
        self.lazy_ticks >= LAZY_MAX.0 / TICK.0 || core.health().is_err()
    }

    fn admit(&mut self, core: &Core, admission: Admission, reply: Reply<super::work::Admitted>, acks: &mut Vec<Ack>) {
        let Admission { credential, request, now, with } = admission;
        let id = ChargeId(self.next.charge);
        let decision = match core.books().get_mut(&credential) {
            None => {
                let error = format!("no budget is installed for credential {credential}, so nothing can be admitted");
                return drop(reply.send(Err(StoreError::Io(error))));
            }
            Some(account) => {
                let decision = account.ledger.admit(&now, id, &request);
                account.latest = now.clone();
                decision
            }
        };
        self.latest = Some(now);
        match decision {
            Err(refusal) => drop(reply.send(Ok(Err(refusal)))),
            Ok(reserved) => {
                // Used up even if its rows cannot be written: a number never means two requests.
                self.next.charge += 1;
                match self.stage_charge(&reserved, with) {
                    Ok(()) => acks.push(Ack::Permit(reserved, reply)),
                    Err(error) => {
                        self.give_back(core, &reserved);
                        drop(reply.send(Err(error)));
                    }
                }
            }
        }
    }

    fn stage_charge(
        &mut self,
        reserved: &Reserved,
        with: Box<dyn FnOnce(ChargeId) -> Vec<super::Write> + Send>,
    ) -> Result<(), StoreError> {
        let charge = reserved.charge();
        let record = written(Table::Charges, records::charge(charge))?;
        let rows = rows_of(&with(charge.id))?;
        self.staged.set(Row::put(Table::Charges, tables::number(charge.id.0), record));
        rows.into_iter().for_each(|row| self.staged.set(row));
        Ok(())
    }

    /// A reservation that never left this room.
    fn give_back(&self, core: &Core, reserved: &Reserved) {
        let charge = reserved.charge();
        if let Some(account) = core.books().get_mut(&charge.credential) {
            account.ledger.resolve(charge.id, &books::unsent(charge, "not written"));
        }
    }

    /// A permit whose asker went away while the disk was busy: nobody has it, so nothing was sent with it.
    fn take_back(&mut self, core: &Core, permit: &Permit) {
        let charge = permit.charge();
        let resolve = Some((charge.credential, charge.id, books::unsent(charge, "nobody waited for the permit")));
        let (rows, events, findings, learned) = Default::default();
        let unsent = Prepared { resolve, hold: None, rows, events, findings, learned, lane: Lane::Lazy };
        if let Err(error) = self.take_in(core, unsent) {
            // It counts until its deadline then, which is safe.
            tracing::warn!(charge = charge.id.0, "a permit that nobody waited for was not given back: {error}");
        }
    }

    fn commit(&mut self, core: &Core, prepared: Prepared, reply: Reply<Vec<Event>>, acks: &mut Vec<Ack>) {
        match self.take_in(core, prepared) {
            Err(error) => drop(reply.send(Err(error))),
            Ok((events, Lane::Durable)) => acks.push(Ack::Events(events, reply)),
            Ok((events, Lane::Lazy)) => drop(reply.send(Ok(events))),
        }
    }

    /// The events, and the lane that was taken.
    pub(super) fn take_in(&mut self, core: &Core, prepared: Prepared) -> Result<(Vec<Event>, Lane), StoreError> {
        let Prepared { resolve, hold, mut rows, mut events, findings, learned, lane } = prepared;
        let mut resolve = resolve;
        if let Some((_, id, resolution)) = &resolve {
            match self.charge(core, *id)?.map(|charge| books::resolved(charge, resolution)).transpose()?.flatten() {
                Some(row) => rows.push(row),
                None => resolve = None,
            }
        }
        // Lazy rows outlive a failed batch: none may count on a finding that opens with it.
        let joins = !findings.is_empty() && !self.staged.part(Table::Findings).is_empty();
        events.extend(self.take_findings(core, findings, &mut rows)?);
        // What is told must be durable first: a lazy commit has nothing to tell.
        let lane = if events.is_empty() && !joins { lane } else { Lane::Durable };
        let (event_rows, events) = self.number_events(events)?;
        rows.extend(event_rows);
        self.next.event += events.len() as u64;
        match lane {
            Lane::Durable => rows.into_iter().for_each(|row| self.staged.set(row)),
            Lane::Lazy => self.put_lazy(core, rows),
        }
        let mut books = core.books();
        for (credential, learned) in learned {
            books.get_mut(&credential).into_iter().for_each(|account| account.teach(learned.clone()));
        }
        if let Some((credential, id, resolution)) = resolve
            && let Some(account) = books.get_mut(&credential)
        {
            account.ledger.resolve(id, &resolution);
        }
        if let Some((credential, changes)) = hold
            && let Some(account) = books.get_mut(&credential)
        {
            changes.into_iter().for_each(|change| account.ledger.change_hold(change));
        }
        Ok((events, lane))
    }

    /// In force at once. What this batch was about to write to the same rows is older.
    fn put_lazy(&mut self, core: &Core, rows: Vec<Row>) {
        rows.iter().for_each(|row| self.staged.forget(row.table, &row.key));
        core.change_lazy(|lazy| rows.into_iter().for_each(|row| lazy.set(row)));
    }

    /// The rows and the events with their numbers; the numbers are not taken yet.
    pub(super) fn number_events(&self, events: Vec<NewEvent>) -> Result<(Vec<Row>, Vec<Event>), StoreError> {
        let numbered = events.into_iter().zip(self.next.event..);
        let events: Vec<_> = numbered.map(|(body, id)| Event { id: EventId(id), body }).collect();
        let row = |e: &Event| {
            let record = written(Table::Events, records::event(&e.body))?;
            Ok(Row::put(Table::Events, tables::number(e.id.0), record))
        };
        Ok((events.iter().map(row).collect::<Result<_, StoreError>>()?, events))
    }

    fn charge(&self, core: &Core, id: ChargeId) -> Result<Option<Charge>, StoreError> {
        self.look_up(core, Table::Charges, &tables::number(id.0), |bytes| records::charge_of(id.0, bytes))
    }

    /// A row as this batch will leave it.
    pub(super) fn look_up<T>(
        &self,
        core: &Core,
        table: Table,
        key: &[u8],
        of: impl FnOnce(&[u8]) -> Result<T, super::codec::Damaged>,
    ) -> Result<Option<T>, StoreError> {
        match self.staged.get(table, key) {
            Some(Some(value)) => of(value).map(Some).map_err(|d| sentences::unreadable(core.name(), table, &d)),
            Some(None) => Ok(None),
            None => core.snapshot()?.get(table, key, of),
        }
    }
}

/// Waits for the disk with what was staged, or answers at once that nothing was.
fn answer<T>(
    result: Result<T, StoreError>,
    reply: Reply<T>,
    acks: &mut Vec<Ack>,
    ack: impl FnOnce(T, Reply<T>) -> Ack,
) {
    match result {
        Ok(value) => acks.push(ack(value, reply)),
        Err(error) => drop(reply.send(Err(error))),
    }
}
