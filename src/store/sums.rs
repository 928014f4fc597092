//! Spending by the hour. Charges are summed behind the writes that make them: up to which charge is noted with the sums, in one transaction,
//! and what comes after it is counted from the charges themselves. So no request is missing and none is counted twice, whatever moment the
//! power goes at, and neither an admission nor an answer has a row more to write. Knows charges and sums; must not know who asks for them.

use super::StoreError;
use super::books;
use super::codec::Damaged;
use super::core::Core;
use super::entry::no_known_form;
use super::purge::ROWS;
use super::read::{Order, Snapshot, numbered};
use super::records::{self, Sum};
use super::rows::Row;
use super::tables::{self, Table, meta};
use super::work::written;
use super::write::Writing;
use crate::domain::charge::Charge;
use crate::domain::ids::{ChargeId, ConnectionKey, Endpoint, TargetName};
use crate::domain::spend::{Hour, OTHERS, Spend, SpendLine};
use crate::domain::time::{Now, Span};
use std::collections::BTreeMap;
use std::ops::{Bound, ControlFlow, Range};

/// Sums of one connection in one hour; what comes beyond is summed without its endpoint and target.
const LINES: usize = 100;
/// Sums in the file.
const MOST_SUMS: u64 = 500_000;
/// For so long.
const KEEP_HOURS: i64 = 400 * 24;
/// A charge is given up when its answer is overdue by so much: a process that could still write it down would have done so.
const OVERDUE: Span = Span::from_secs(3600);

/// How far the sums reach.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Reach {
    /// The last charge that is in them.
    pub through: u64,
    /// Earlier hours have none any more.
    pub from: Hour,
}

impl Reach {
    /// As [`SpendLine::of`]; a clock that stood behind what is kept is no reason to lose a request.
    fn line(&self, charge: &Charge) -> SpendLine {
        let line = SpendLine::of(charge);
        SpendLine { hour: line.hour.max(self.from), ..line }
    }
    fn bytes(&self) -> Vec<u8> {
        [tables::number(self.through), tables::hour(self.from)].concat()
    }
    fn read(bytes: &[u8]) -> Result<Reach, Damaged> {
        let (through, from) = bytes.split_first_chunk::<8>().ok_or_else(no_reach)?;
        let from = tables::read_hour(from).ok_or_else(no_reach)?;
        Ok(Reach { through: u64::from_be_bytes(*through), from })
    }
}

fn no_reach() -> Damaged {
    Damaged::because("how far spending is summed is not two numbers")
}

pub(super) fn line(key: &[u8]) -> Result<SpendLine, Damaged> {
    let (line, caller, outcome) = tables::sum_line(key).ok_or_else(no_known_form)?;
    Ok(SpendLine { caller: records::caller_of(caller)?, outcome: Some(records::outcome_of(outcome)?), ..line })
}

/// `None` for what is not resolved: only that is summed.
fn key(line: &SpendLine) -> Option<Vec<u8>> {
    Some(tables::sum(line, records::caller(line.caller), records::outcome(line.outcome?)))
}

impl Snapshot<'_> {
    pub fn reach(&self) -> Result<Reach, StoreError> {
        Ok(self.get(Table::Meta, meta::SUMMED, Reach::read)?.unwrap_or(Reach { through: 0, from: Hour(i64::MIN) }))
    }

    /// Charges numbered above `after`, in their order.
    fn charges_above(
        &self,
        after: u64,
        mut see: impl FnMut(Charge) -> Result<ControlFlow<()>, Damaged>,
    ) -> Result<(), StoreError> {
        let from = tables::number(after);
        let range = (Bound::Excluded(from.as_slice()), Bound::Unbounded);
        self.visit(Table::Charges, range, Order::Forth, |key, value| see(records::charge_of(numbered(key)?, value)?))
    }

    /// Every request reserved in these hours, summed by what `group` makes of its line; `None` leaves it out.
    pub fn spend<K: Ord>(
        &self,
        hours: &Range<Hour>,
        group: impl Fn(&SpendLine) -> Option<K>,
    ) -> Result<BTreeMap<K, Spend>, StoreError> {
        let mut sums = BTreeMap::new();
        let mut add = |line: &SpendLine, spend: Spend| {
            if let Some(key) = group(line) {
                *sums.entry(key).or_default() += spend;
            }
        };
        let reach = self.reach()?;
        let (first, end) = (tables::hour(hours.start.max(reach.from)), tables::hour(hours.end));
        if first < end {
            let range = (Bound::Included(first.as_slice()), Bound::Excluded(end.as_slice()));
            self.visit(Table::Spend, range, Order::Forth, |key, value| {
                add(&line(key)?, records::sum_of(value)?.spend);
                Ok(ControlFlow::Continue(()))
            })?;
        }
        self.charges_above(reach.through, |charge| {
            let line = reach.line(&charge);
            if hours.contains(&line.hour) {
                add(&line, Spend::of(&charge));
            }
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(sums)
    }
}

/// What one pass adds.
struct Pass {
    reach: Reach,
    sums: BTreeMap<SpendLine, Sum>,
    seen: usize,
}

impl Pass {
    fn take(&mut self, charge: &Charge) {
        let sum = Sum { spend: Spend::default(), first: charge.id };
        self.sums.entry(self.reach.line(charge)).or_insert(sum).spend += Spend::of(charge);
        self.reach.through = charge.id.0;
        self.seen += 1;
    }
}

impl Writing {
    /// Sums a bounded number of charges up to the first that waits for its answer, in the commit that happens anyway.
    /// The last charge that is summed, then.
    pub(super) fn sum_up(&mut self, core: &Core, snapshot: &Snapshot<'_>, now: &Now) -> Result<u64, StoreError> {
        let reach = snapshot.reach()?;
        let mut pass = Pass { reach: self.forget_sums(snapshot, reach, now)?, sums: BTreeMap::new(), seen: 0 };
        let (mut given_up, staged) = (Vec::new(), &self.staged);
        snapshot.charges_above(reach.through, |charge| {
            // What this commit resolves is summed after it.
            let changes = staged.get(Table::Charges, &tables::number(charge.id.0)).is_some();
            let charge = match charge.resolution {
                Some(_) => charge,
                None if changes || charge.deadline + OVERDUE > now.steady => return Ok(ControlFlow::Break(())),
                None => {
                    let end = books::given_up(&charge);
                    let charge = charge.resolved(end);
                    given_up.push(charge.clone());
                    charge
                }
            };
            pass.take(&charge);
            Ok(if pass.seen < ROWS { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
        })?;
        self.give_up(core, given_up)?;
        if pass.seen >= ROWS {
            // More wait: the next commit goes on.
            self.purged_at_charge = 0;
        }
        if pass.reach != reach {
            self.staged.set(Row::put(Table::Meta, meta::SUMMED, pass.reach.bytes()));
        }
        self.stage_sums(core, snapshot, pass.sums)?;
        Ok(pass.reach.through)
    }

    fn give_up(&mut self, core: &Core, charges: Vec<Charge>) -> Result<(), StoreError> {
        for charge in charges {
            let record = written(Table::Charges, records::charge(&charge))?;
            self.staged.set(Row::put(Table::Charges, tables::number(charge.id.0), record));
            if let (Some(account), Some(end)) = (core.books().get_mut(&charge.credential), &charge.resolution) {
                account.ledger.resolve(charge.id, end);
            }
        }
        Ok(())
    }

    fn stage_sums(
        &mut self,
        core: &Core,
        snapshot: &Snapshot<'_>,
        sums: BTreeMap<SpendLine, Sum>,
    ) -> Result<(), StoreError> {
        let mut lines: BTreeMap<(Hour, ConnectionKey), usize> = BTreeMap::new();
        for (mut line, added) in sums {
            let place = (line.hour, line.connection.clone());
            let count = match lines.get(&place) {
                Some(count) => *count,
                None => count_lines(snapshot, &place)?,
            };
            let Some(mut key) = key(&line) else { continue };
            let mut before = self.look_up(core, Table::Spend, &key, records::sum_of)?;
            if before.is_none() && count >= LINES {
                line.endpoint = Endpoint(OTHERS.to_owned());
                line.target = Some(TargetName(OTHERS.to_owned()));
                key = self::key(&line).unwrap_or(key);
                before = self.look_up(core, Table::Spend, &key, records::sum_of)?;
            }
            lines.insert(place, count + usize::from(before.is_none()));
            let mut sum = before.unwrap_or(added);
            if before.is_some() {
                sum.spend += added.spend;
                sum.first = sum.first.min(added.first);
            }
            self.staged.set(Row::put(Table::Spend, key, written(Table::Spend, records::sum(&sum))?));
        }
        Ok(())
    }

    /// The oldest hours go whole: first none of them counts any more, then a bounded number of their rows goes with every pass.
    fn forget_sums(&mut self, snapshot: &Snapshot<'_>, reach: Reach, now: &Now) -> Result<Reach, StoreError> {
        let mut from = reach.from.max(Hour(Hour::of(now.wall()).0 - KEEP_HOURS));
        let mut old = Vec::new();
        let mut left = snapshot.rows(Table::Spend)?;
        snapshot.visit(Table::Spend, super::read::ALL, Order::Forth, |key, _| {
            let hour = line(key)?.hour;
            if left > MOST_SUMS {
                from = from.max(Hour(hour.0 + 1));
            }
            if hour >= from || old.len() >= ROWS {
                return Ok(ControlFlow::Break(()));
            }
            left -= 1;
            old.push(Row::delete(Table::Spend, key));
            Ok(ControlFlow::Continue(()))
        })?;
        old.into_iter().for_each(|row| self.staged.set(row));
        Ok(Reach { from, ..reach })
    }
}

fn count_lines(snapshot: &Snapshot<'_>, (hour, connection): &(Hour, ConnectionKey)) -> Result<usize, StoreError> {
    let prefix = tables::sums_of(*hour, connection);
    let end = tables::after_prefix(&prefix);
    let mut count = 0;
    snapshot.visit(Table::Spend, super::read::below(&prefix, end.as_deref()), Order::Forth, |_, _| {
        count += 1;
        Ok(if count < LINES { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
    })?;
    Ok(count)
}

/// What sums and charges are compared by: an hour's lines may be without their endpoints.
type Coarse = (Hour, ConnectionKey, u8, u8);

/// Counts the charges again that are still there: a sum has all of them, and none twice. The difference, in words.
pub(super) fn recount(snapshot: &Snapshot<'_>) -> Result<Option<String>, StoreError> {
    let reach = snapshot.reach()?;
    let coarse = |line: SpendLine| {
        let outcome = line.outcome.map(records::outcome)?;
        Some((line.hour, line.connection, records::caller(line.caller), outcome))
    };
    let mut shown: BTreeMap<Coarse, Spend> = BTreeMap::new();
    let mut oldest = None;
    snapshot.charges_above(0, |charge| {
        oldest.get_or_insert(charge.id);
        if charge.id.0 > reach.through {
            return Ok(ControlFlow::Break(()));
        }
        let pending = || Damaged::because("it is summed and waits for its answer");
        let place = coarse(SpendLine::of(&charge)).ok_or_else(pending)?;
        if place.0 >= reach.from {
            *shown.entry(place).or_default() += Spend::of(&charge);
        }
        Ok(ControlFlow::Continue(()))
    })?;
    let mut sums: BTreeMap<Coarse, Sum> = BTreeMap::new();
    snapshot.visit(Table::Spend, super::read::ALL, Order::Forth, |key, value| {
        let (line, sum) = (line(key)?, records::sum_of(value)?);
        if let Some(coarse) = coarse(line).filter(|(hour, ..)| *hour >= reach.from) {
            let all = sums.entry(coarse).or_insert(Sum { spend: Spend::default(), first: sum.first });
            all.spend += sum.spend;
            all.first = all.first.min(sum.first);
        }
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(difference(&shown, &sums, oldest.unwrap_or(ChargeId(u64::MAX)), reach.from))
}

fn difference(
    shown: &BTreeMap<Coarse, Spend>,
    sums: &BTreeMap<Coarse, Sum>,
    oldest: ChargeId,
    from: Hour,
) -> Option<String> {
    let nothing = Sum { spend: Spend::default(), first: oldest };
    let places: std::collections::BTreeSet<&Coarse> = shown.keys().chain(sums.keys()).collect();
    places.into_iter().find_map(|place| {
        let charged = shown.get(place).copied().unwrap_or_default();
        let sum = sums.get(place).copied().unwrap_or(nothing);
        // Of an older sum some charges are gone, and the first hour has what a clock that stood behind dated before it.
        let exact = sum.first >= oldest && place.0 > from;
        let short = sum.spend.requests < charged.requests || sum.spend.units < charged.units;
        let wrong = if exact { sum.spend != charged } else { short };
        wrong.then(|| {
            let (hour, connection, ..) = place;
            let at = crate::rules::calendar::rfc3339(hour.begins());
            let (a, b) = (sum.spend, charged);
            format!(
                "the spending of {connection} in the hour from {at} is summed as {} requests of {} units, and its charges are {} of {}",
                a.requests, a.units, b.requests, b.units
            )
        })
    })
}
