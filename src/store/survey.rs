//! What is in a file: its newest moment at every start, and every row of it when a copy is verified. Reads only.

use super::StoreError;
use super::audit;
use super::codec::Damaged;
use super::entry::Entry;
use super::read::{ALL, Order, Snapshot, numbered};
use super::records;
use super::sentences;
use super::sums;
use super::tables::{Table, meta};
use crate::clock::ClockMark;
use crate::domain::charge::Charge;
use crate::domain::connection::{Breaker, ConnectionState, Overrides};
use crate::domain::cursor::{Audience, EventsAsk};
use crate::domain::scan::ScanState;
use crate::domain::target::TargetState;
use crate::domain::time::Stamp;
use std::ops::ControlFlow;

/// Newest charges whose stamps are looked at when a file is opened: resolutions come out of order.
const NEWEST: usize = 1024;

pub(super) fn mark(snapshot: &Snapshot<'_>) -> Result<Option<ClockMark>, StoreError> {
    snapshot.get(Table::Meta, meta::MARK, records::mark_of)
}

pub(super) fn copied(snapshot: &Snapshot<'_>) -> Result<Option<ClockMark>, StoreError> {
    snapshot.get(Table::Meta, meta::COPIED, records::mark_of)
}

/// Where the file was when it was used last.
pub(super) fn home(snapshot: &Snapshot<'_>) -> Result<Option<Vec<u8>>, StoreError> {
    snapshot.get(Table::Meta, meta::HOME, |bytes| Ok(bytes.to_vec()))
}

pub(super) fn installation(snapshot: &Snapshot<'_>) -> Result<[u8; 32], StoreError> {
    let key = snapshot.get(Table::Meta, meta::INSTALLATION, |bytes| {
        <[u8; 32]>::try_from(bytes).map_err(|_| Damaged::because("the key of the installation has another length"))
    })?;
    key.ok_or_else(|| sentences::corrupt(snapshot.name(), "the key of the installation is missing"))
}

/// The newest moment of each timeline by itself. What lies ahead by nature (a release, a due time, a deadline) is left out.
#[derive(Clone, Copy, Debug, Default)]
struct Newest(Option<Stamp>);

impl Newest {
    fn see(&mut self, stamp: Stamp) {
        let newest = self.0.get_or_insert(stamp);
        newest.steady = newest.steady.max(stamp.steady);
        newest.wall = newest.wall.max(stamp.wall);
        newest.era = newest.era.max(stamp.era);
    }
    fn see_all(&mut self, stamps: impl IntoIterator<Item = Option<Stamp>>) {
        stamps.into_iter().flatten().for_each(|stamp| self.see(stamp));
    }
    fn mark(&mut self, m: &ClockMark) {
        self.see(Stamp { steady: m.steady, wall: m.wall, era: m.era });
    }
    fn connection(&mut self, c: &ConnectionState) {
        let breaker = match c.breaker {
            Breaker::Closed => None,
            Breaker::Open { since, .. } | Breaker::HalfOpen { since } => Some(since),
        };
        self.see_all([c.last_poll_at, breaker, c.last_outcome.map(|(at, _)| at), c.enabled.as_ref().map(|s| s.at)]);
        let Overrides { interval, standing, inactivity_ttl, completion_grace } = &c.overrides;
        self.see_all([interval, standing].map(|o| o.as_ref().map(|o| o.at)));
        self.see_all([inactivity_ttl, completion_grace].map(|o| o.as_ref().map(|o| o.at)));
    }
    fn target(&mut self, t: &TargetState) {
        self.see_all([t.as_of, t.changed_at, t.attempted_at, t.trouble.as_ref().map(|t| t.since)]);
    }
    fn scan(&mut self, s: &ScanState) {
        let building = s.building.iter().flat_map(|b| [b.begun_at, b.last_at]);
        let ended = s.published.iter().map(|p| p.at).chain(s.discarded.iter().map(|d| d.at));
        building.chain(ended).for_each(|at| self.see(at));
    }
    fn charge(&mut self, c: &Charge) {
        self.see_all([Some(c.reserved_at), c.resolution.as_ref().map(|r| r.at)]);
    }
    fn entry(&mut self, entry: &Entry) {
        match entry {
            Entry::Mark(mark) => self.mark(mark),
            Entry::Connection(c) => self.connection(c),
            Entry::Target(t) => self.target(t),
            Entry::Life(life) => self.see_all([life.since, life.activated_at]),
            Entry::PutTarget(put) => self.see(put.at),
            Entry::Charge(c) => self.charge(c),
            Entry::Polling(p) => {
                self.see_all([p.enabled.as_ref().map(|s| s.at), p.workers.as_ref().map(|w| w.at)]);
            }
            Entry::Hold(hold) => self.see_all([Some(hold.since), hold.ramp.map(|r| r.since)]),
            Entry::Item(item) => {
                self.see_all([Some(item.first_seen), Some(item.changed), item.removed.map(|r| r.at)]);
            }
            Entry::History(line) => self.see(line.at),
            Entry::Job(job) => self.see(job.updated_at),
            Entry::Event(event) => self.see(event.body.at),
            Entry::Token(token) => self.see(token.created_at),
            Entry::Learned(learned) => self.see_all([Some(learned.asked_at), learned.foreign_seen_at]),
            Entry::Finding(finding) => self.see_all([Some(finding.last_seen_at), finding.closed_at]),
            Entry::Scan(scan) => self.scan(scan),
            Entry::Webhook(hook) => {
                self.see_all([hook.trouble.as_ref().map(|t| t.since), hook.delivered_last.map(|(at, _)| at)]);
            }
            Entry::DeadLetter(letter) => self.see(letter.given_up_at),
            Entry::Shelved(head) => self.see(head.as_of),
            Entry::Operator(o) => self.see_all([Some(o.added_at), o.password_at]),
            Entry::Session(session) => self.see(session.begun_at),
            Entry::Claim(claim) => self.see(claim.issued_at),
            Entry::Use(at) => self.see(*at),
            Entry::Stood(stood) => self.see(stood.since),
            Entry::Stored(stored) => self.see(stored.at),
            Entry::Sample(sample) => self.see(sample.at),
            Entry::Observation(observation) => self.see(observation.received_at),
            Entry::Credential(c) => self.see_all([Some(c.since), c.set.as_ref().map(|s| s.at)]),
            Entry::Sum | Entry::Plain => (),
        }
    }
}

/// The high-water mark of both timelines; `None` for a file in which nothing has happened yet.
pub(super) fn high_water(snapshot: &Snapshot<'_>) -> Result<Option<Stamp>, StoreError> {
    let mut newest = Newest::default();
    if let Some(mark) = mark(snapshot)? {
        newest.mark(&mark);
    }
    each(snapshot, Table::State, |key, value| {
        newest.entry(&Entry::read(Table::State, key, value)?);
        Ok(())
    })?;
    let mut seen = 0;
    snapshot.visit(Table::Charges, ALL, Order::Back, |key, value| {
        newest.charge(&records::charge_of(numbered(key)?, value)?);
        seen += 1;
        Ok(if seen < NEWEST { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
    })?;
    let any = EventsAsk { audience: Audience::Administrators, limit: 1, ..EventsAsk::default() };
    let last = snapshot.events_page(&any)?;
    newest.see_all(last.rows.into_iter().map(|e| Some(e.body.at)));
    for job in snapshot.jobs_newest(NEWEST)? {
        newest.see(job.updated_at);
    }
    Ok(newest.0)
}

/// Rows of a file, all of them decoded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Contents {
    pub connections: u64,
    pub targets: u64,
    pub items: u64,
    pub removed: u64,
    pub history: u64,
    pub charges: u64,
    pub jobs: u64,
    pub events: u64,
    pub tokens: u64,
    pub operators: u64,
    pub findings: u64,
    pub sums: u64,
    pub newest: Option<Stamp>,
}

/// Decodes every row there is, counts its sums anew, and holds rows against each other. The first that cannot be read, or contradicts, is the error.
pub(super) fn contents(snapshot: &Snapshot<'_>) -> Result<Contents, StoreError> {
    let (mut found, mut newest) = (Contents::default(), Newest::default());
    installation(snapshot)?;
    for table in Table::ALL {
        each(snapshot, table, |key, value| {
            let entry = Entry::read(table, key, value)?;
            newest.entry(&entry);
            found.count(&entry);
            Ok(())
        })?;
    }
    let wrong = match sums::recount(snapshot)? {
        None => audit::contradiction(snapshot)?,
        wrong => wrong,
    };
    match wrong {
        None => Ok(Contents { newest: newest.0, ..found }),
        Some(difference) => Err(sentences::corrupt(snapshot.name(), &difference)),
    }
}

fn each(
    snapshot: &Snapshot<'_>,
    table: Table,
    mut see: impl FnMut(&[u8], &[u8]) -> Result<(), Damaged>,
) -> Result<(), StoreError> {
    snapshot.visit(table, ALL, Order::Forth, |key, value| see(key, value).map(ControlFlow::Continue))
}

impl Contents {
    fn count(&mut self, entry: &Entry) {
        match entry {
            Entry::Connection(_) => self.connections += 1,
            Entry::Target(_) => self.targets += 1,
            Entry::Item(item) => {
                self.items += 1;
                self.removed += u64::from(item.removed.is_some());
            }
            Entry::History(_) => self.history += 1,
            Entry::Charge(_) => self.charges += 1,
            Entry::Job(_) => self.jobs += 1,
            Entry::Event(_) => self.events += 1,
            Entry::Token(_) => self.tokens += 1,
            Entry::Finding(_) => self.findings += 1,
            Entry::Sum => self.sums += 1,
            Entry::Operator(_) => self.operators += 1,
            Entry::Life(_) | Entry::PutTarget(_) => (),
            Entry::Session(_) | Entry::Claim(_) | Entry::Use(_) => (),
            Entry::Mark(_) | Entry::Polling(_) | Entry::Hold(_) | Entry::Learned(_) | Entry::Scan(_) => (),
            Entry::Webhook(_) | Entry::DeadLetter(_) | Entry::Shelved(_) | Entry::Credential(_) => (),
            Entry::Stood(_) | Entry::Stored(_) | Entry::Sample(_) | Entry::Observation(_) | Entry::Plain => (),
        }
    }

    /// `1 connection, 2 targets, 12 items (3 removed), ...; the newest moment in it is 2026-11-30T10:12:00Z`.
    pub fn sentence(&self) -> String {
        let count = |n: u64, one: &str, many: &str| format!("{n} {}", if n == 1 { one } else { many });
        let rows = [
            count(self.connections, "connection", "connections"),
            count(self.targets, "target", "targets"),
            format!("{} ({} removed)", count(self.items, "item", "items"), self.removed),
            count(self.history, "line of history", "lines of history"),
            count(self.charges, "charge", "charges"),
            count(self.jobs, "job", "jobs"),
            count(self.events, "event", "events"),
            count(self.tokens, "token", "tokens"),
            count(self.operators, "operator", "operators"),
            count(self.findings, "finding", "findings"),
            count(self.sums, "sum of spending", "sums of spending"),
        ];
        let newest = match self.newest {
            Some(Stamp { wall, .. }) => {
                format!("the newest moment in it is {}", crate::rules::calendar::rfc3339(wall))
            }
            None => "nothing has happened in it yet".to_owned(),
        };
        format!("{}; {newest}", rows.join(", "))
    }
}
