//! What holds of a field of work orders: one credential, scans that feed most of them, people who are sent out.

use super::{
    Broken, Verdict, broken, every_request_is_charged, history_is_whole, holds_hold, never_over, sent,
    starts_and_goes_on,
};
use crate::field::scene::{Act, Field, Kind, SHOWN_EVERY, SHOWN_FOR};
use crate::machine::Ms;
use crate::record::{Fact, Meant, What};
use larder::domain::ids::Caller;
use larder::domain::target::Phase;
use std::collections::{BTreeMap, BTreeSet};

/// Requests of one round are not further apart.
const APART: Ms = 40_000;
/// Requests that find out, in half a day, that the day is still spent.
const PROBES: usize = 24;
/// Who is sent out is asked about within this.
const AT_ONCE: Ms = 60_000;
/// Ages are told in whole seconds.
const SECOND: Ms = 1_000;

/// One row: of which order, which, and what it says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    pub order: u16,
    pub row: u8,
    pub level: u32,
}

/// What a reader saw of an order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    pub order: u16,
    /// `None`: it was never answered.
    pub rows: Option<BTreeSet<(u8, u32)>>,
    pub age: Option<Ms>,
}

/// What was seen at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Look {
    /// The interval as somebody wants it, and as the plan says that it is kept.
    pub wished: Ms,
    pub kept: Ms,
    pub orders: Vec<Standing>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seen {
    /// A page of a project arrived.
    Page {
        request: usize,
        project: usize,
        page: usize,
        last: bool,
        rows: Vec<Line>,
    },
    /// The answer about one order arrived.
    Answer {
        request: usize,
        order: usize,
        rows: Vec<Line>,
    },
    Look(Look),
    /// Somebody asks for the `number`th act.
    Asked {
        number: usize,
        act: Act,
    },
    /// It is in force.
    Done {
        number: usize,
        act: Act,
    },
}

/// Every law that speaks of a field.
pub fn check_field(field: &Field, record: &[Fact]) -> Verdict {
    starts_and_goes_on(record)?;
    never_over(&field.scenario, record)?;
    every_request_is_charged(record)?;
    shown_is_one_whole_answer(field, record)?;
    rounds_keep_their_interval(field, record)?;
    triggers_leave_the_clock(field, record)?;
    nobody_asks_unasked(field, record)?;
    who_is_sent_out_is_asked(field, record)?;
    a_spent_day_is_left_alone(field, record)?;
    demonstrations_end(field, record)?;
    orders_are_fresh(field, record)?;
    holds_hold(record)?;
    history_is_whole(record)
}

fn seen(record: &[Fact]) -> impl Iterator<Item = (Ms, &Seen)> {
    record.iter().filter_map(|f| match &f.what {
        What::Field(seen) => Some((f.at, seen)),
        _ => None,
    })
}

fn looks(record: &[Fact]) -> impl Iterator<Item = (Ms, &Look)> {
    seen(record).filter_map(|(at, seen)| match seen {
        Seen::Look(look) => Some((at, look)),
        _ => None,
    })
}

/// Times in which nobody can keep a plan, and until when what they did is made good:
///
/// * Dead: from the end of a life to the start of the next, and an interval and a cycle after it, for the round that was cut off.
/// * Refused for a moment: until as long after it as it lasted, for a hold at most doubles what it waits for, and three intervals.
/// * A day that others spent: until its reset, and the rounds of the way back, which are four, three and two intervals apart; one more, for
///   a reading that was cut off is brought to its end before the next begins, and one until then.
/// * An answer that was lost: until the next round.
fn excuses(field: &Field, record: &[Fact]) -> Vec<(Ms, Ms)> {
    let kept = looks(record).map(|(_, look)| look.kept).max().unwrap_or(0);
    let (step, cycle) = (field.size.interval.max(kept), field.cycle());
    let mut all: Vec<(Ms, Ms)> = Vec::new();
    for trouble in &field.troubles {
        let made_good = match trouble.kind {
            Kind::Momentary => trouble.until - trouble.from + 3 * step + cycle,
            Kind::Exhausted => 11 * step + cycle,
        };
        all.push((trouble.from, trouble.until + made_good));
    }
    let mut dead_since = Some(0);
    for fact in record {
        match &fact.what {
            What::Ended(_) => dead_since = Some(fact.at),
            What::Started => all.extend(dead_since.take().map(|since| (since, fact.at + step + cycle))),
            What::Delivered { meant: Meant::Nothing, .. } => all.push((fact.at, fact.at + step + cycle)),
            _ => {}
        }
    }
    all.sort_unstable();
    let mut merged: Vec<(Ms, Ms)> = Vec::new();
    for (from, until) in all {
        match merged.last_mut().filter(|last| from <= last.1) {
            Some(last) => last.1 = last.1.max(until),
            None => merged.push((from, until)),
        }
    }
    merged
}

fn overlap(excuses: &[(Ms, Ms)], from: Ms, until: Ms) -> Ms {
    excuses.iter().map(|(a, b)| (until.min(*b) - from.max(*a)).max(0)).sum()
}

/// The planner's promise: whoever is watched is no older than the interval that the plan says is kept, the longest that it said since, and
/// one cycle. Time that is excused does not count.
pub fn orders_are_fresh(field: &Field, record: &[Fact]) -> Verdict {
    let excuses = excuses(field, record);
    let told: Vec<(Ms, Ms)> = looks(record).map(|(at, look)| (at, look.kept)).collect();
    for (number, (at, look)) in looks(record).enumerate() {
        for standing in &look.orders {
            let since = standing.age.map_or(0, |age| at - age);
            let promised = told[..=number].iter().rev().take_while(|(then, _)| *then > since);
            let promised = promised.map(|(_, kept)| *kept).max().unwrap_or(0);
            let counts = at - since - overlap(&excuses, since, at);
            if counts > promised + field.cycle() {
                let what = format!(
                    "w{} is {} s old, {} s of it without an excuse, and the plan says {} s",
                    standing.order,
                    (at - since) / SECOND,
                    counts / SECOND,
                    promised / SECOND
                );
                return broken("orders are fresh", at, what);
            }
        }
    }
    Ok(())
}

/// An answer that says all that there is of an order: when the first page of it arrived, and its rows.
type Answer = (Ms, BTreeSet<(u8, u32)>);

/// Of each order, the answers that were complete, and the reading of each project under way.
#[derive(Default)]
struct Answers {
    complete: BTreeMap<u16, Vec<Answer>>,
    /// By project: when its first page arrived, the last page so far, the rows so far.
    reading: BTreeMap<usize, (Ms, usize, Vec<Line>)>,
}

impl Answers {
    fn hear(&mut self, field: &Field, at: Ms, seen: &Seen) {
        match seen {
            Seen::Page { project, page: 1, last, rows, .. } => {
                self.reading.insert(*project, (at, 1, rows.clone()));
                self.end(field, *project, *last);
            }
            Seen::Page { project, page, last, rows, .. } => {
                if let Some(reading) = self.reading.get_mut(project).filter(|reading| reading.1 + 1 == *page) {
                    reading.1 = *page;
                    reading.2.extend(rows);
                    self.end(field, *project, *last);
                }
            }
            Seen::Answer { order, rows, .. } => {
                let rows = rows.iter().map(|line| (line.row, line.level)).collect();
                self.complete.entry(*order as u16).or_default().push((at, rows));
            }
            _ => {}
        }
    }

    fn end(&mut self, field: &Field, project: usize, last: bool) {
        let Some((began, _, lines)) = last.then(|| self.reading.remove(&project)).flatten() else { return };
        let mut rows: BTreeMap<u16, BTreeSet<(u8, u32)>> = BTreeMap::new();
        for line in lines {
            rows.entry(line.order).or_default().insert((line.row, line.level));
        }
        for order in (0..field.size.orders).filter(|order| field.project(*order) == Some(project)) {
            let rows = rows.remove(&(order as u16)).unwrap_or_default();
            self.complete.entry(order as u16).or_default().push((began, rows));
        }
    }
}

/// T7: what is shown of an order is one answer, whole: its own, or a reading that came to its end; and as old as its first page. Those that
/// only a scan feeds show the same reading at every moment. So whatever was killed at whatever page has removed nothing and has published
/// no part.
pub fn shown_is_one_whole_answer(field: &Field, record: &[Fact]) -> Verdict {
    const LAW: &str = "shown is one whole answer";
    let mut answers = Answers::default();
    for (at, seen) in seen(record) {
        let Seen::Look(look) = seen else {
            answers.hear(field, at, seen);
            continue;
        };
        let mut readings: BTreeMap<usize, Option<Ms>> = BTreeMap::new();
        for standing in &look.orders {
            let order = usize::from(standing.order);
            let since = standing.age.map(|age| at - age);
            if let (Some(rows), Some(since)) = (&standing.rows, since) {
                let known = answers.complete.get(&standing.order).into_iter().flatten().rev();
                let mut of_that_age = known.filter(|(then, _)| (then - since).abs() <= 2 * SECOND);
                if !of_that_age.any(|(_, said)| said == rows) {
                    return broken(LAW, at, format!("w{order} shows {rows:?} of {since}, which no whole answer said"));
                }
            }
            let Some(project) = field.project(order).filter(|_| !field.can_ask(order)) else { continue };
            let other = readings.entry(project).or_insert(since);
            if *other != since {
                return broken(
                    LAW,
                    at,
                    format!("w{order} shows the reading of {since:?} and others that of {other:?}"),
                );
            }
        }
    }
    Ok(())
}

/// When rounds of the poller began. What is asked first after a start is a round.
fn rounds(record: &[Fact]) -> Vec<Ms> {
    let (mut all, mut last): (Vec<Ms>, Option<Ms>) = (Vec::new(), None);
    for fact in record {
        match &fact.what {
            What::Started => last = None,
            What::Sent(s) if s.caller == Caller::Poller => {
                if last.is_none_or(|last| fact.at - last > APART) {
                    all.push(fact.at);
                }
                last = Some(fact.at);
            }
            _ => {}
        }
    }
    all
}

/// From when to when the interval of the demonstration may be in force, and from when to when it must be.
fn shown(record: &[Fact]) -> Option<((Ms, Ms), (Ms, Ms))> {
    let asked = || seen(record).filter(|(_, s)| matches!(s, Seen::Asked { act: Act::Show, .. })).map(|(at, _)| at);
    let done = seen(record).find(|(_, s)| matches!(s, Seen::Done { act: Act::Show, .. })).map(|(at, _)| at);
    let (first, last) = (asked().next()?, asked().last()?);
    Some(((first, last + SHOWN_FOR), (done.unwrap_or(Ms::MAX), first + SHOWN_FOR)))
}

/// Laws 6 and 8: rounds are never closer than the interval in force. A restart costs none.
pub fn rounds_keep_their_interval(field: &Field, record: &[Fact]) -> Verdict {
    let shown = shown(record).map_or((0, 0), |(may, _)| may);
    for pair in rounds(record).windows(2) {
        let is_shown = shown.0 <= pair[1] && pair[1] <= shown.1 + SECOND;
        let interval = if is_shown { SHOWN_EVERY } else { field.size.interval };
        if pair[1] - pair[0] < interval - SECOND {
            let what = format!("a round at {} and another {} s later", pair[0], (pair[1] - pair[0]) / SECOND);
            return broken("rounds keep their interval", pair[1], what);
        }
    }
    Ok(())
}

/// F5: a trigger or a refresh makes no round later either, but by the time that its own requests take.
pub fn triggers_leave_the_clock(field: &Field, record: &[Fact]) -> Verdict {
    let mut excuses = excuses(field, record);
    let step = field.size.interval;
    excuses.extend(shown(record).map(|((from, until), _)| (from - step, until + step)));
    let kept: Vec<(Ms, Ms)> = looks(record).map(|(at, look)| (at, look.kept)).collect();
    let others: Vec<Ms> = sent(record).filter(|(_, s)| s.caller != Caller::Poller).map(|(at, _)| at).collect();
    for pair in rounds(record).windows(2) {
        let (from, until) = (pair[0], pair[1]);
        let told = kept.get(kept.partition_point(|(at, _)| *at < until).wrapping_sub(1));
        let Some((_, kept)) = told.filter(|_| overlap(&excuses, from, until) == 0) else { continue };
        let between = others.iter().filter(|at| (from..=until).contains(*at)).count() as Ms;
        if until - from > kept + (5 + between) * SECOND {
            let what = format!("{} s after the last round, with {between} requests of others", (until - from) / SECOND);
            return broken("triggers leave the clock", until, what);
        }
    }
    Ok(())
}

/// Law 6: a trigger asks once for each time that somebody is sent out, and once more where it died under way; a refresh where somebody
/// asked for it. A restart asks for nothing.
pub fn nobody_asks_unasked(field: &Field, record: &[Fact]) -> Verdict {
    const LAW: &str = "nobody asks unasked";
    let mut owed: BTreeMap<String, Ms> = BTreeMap::new();
    let (mut numbers, mut refreshes): (BTreeSet<usize>, Ms) = Default::default();
    let mut triggered: Vec<(Ms, String)> = Vec::new();
    for fact in record {
        match &fact.what {
            What::Field(Seen::Asked { number, act }) => match act {
                Act::Phase(order, Phase::Active) if numbers.insert(*number) => {
                    *owed.entry(format!("w{order}")).or_default() += 1;
                }
                Act::Refresh(_) => refreshes += field.requests(),
                _ => {}
            },
            What::Ended(_) => {
                let under_way = triggered.drain(..).filter(|(at, _)| fact.at - at < 5 * SECOND);
                under_way.for_each(|(_, order)| *owed.entry(order).or_default() += 1);
            }
            What::Sent(s) if s.caller == Caller::Trigger => {
                let order = s.target.clone().unwrap_or_default();
                let left = owed.entry(order.clone()).or_default();
                *left -= 1;
                if *left < 0 {
                    return broken(LAW, fact.at, format!("{order} is asked about, and nobody was sent out"));
                }
                triggered.push((fact.at, order));
            }
            What::Sent(s) if s.caller == Caller::Refresh => {
                refreshes -= 1;
                if refreshes < 0 {
                    return broken(LAW, fact.at, "a refresh that nobody asked for");
                }
            }
            What::Sent(s) if s.caller != Caller::Poller => {
                return broken(LAW, fact.at, format!("a request by {}", s.caller));
            }
            _ => {}
        }
    }
    Ok(())
}

/// F5: whoever is sent out, and can be asked about, is asked about at once.
pub fn who_is_sent_out_is_asked(field: &Field, record: &[Fact]) -> Verdict {
    let excuses = excuses(field, record);
    let mut phases: BTreeMap<usize, Phase> = BTreeMap::new();
    let mut asked_at: BTreeMap<usize, Ms> = BTreeMap::new();
    for (at, seen) in seen(record) {
        let (order, phase, since) = match seen {
            Seen::Asked { number, .. } => {
                asked_at.entry(*number).or_insert(at);
                continue;
            }
            Seen::Done { number, act: Act::Phase(order, phase) } => {
                (*order, *phase, asked_at.get(number).copied().unwrap_or(at))
            }
            _ => continue,
        };
        let before = phases.insert(order, phase).unwrap_or(Phase::Active);
        let is_sent_out = phase == Phase::Active && before != phase && field.can_ask(order);
        if !is_sent_out || overlap(&excuses, since, at + AT_ONCE) > 0 {
            continue;
        }
        let names = [Some(format!("w{order}")), field.project(order).map(|project| format!("p{project}"))];
        let soon = sent(record).filter(|(then, _)| (since..=at + AT_ONCE).contains(then));
        if !soon.into_iter().any(|(_, s)| s.target.is_some() && names.contains(&s.target)) {
            return broken("who is sent out is asked", at, format!("w{order} was sent out and is not asked about"));
        }
    }
    Ok(())
}

/// F8: a day that others spent is not asked again and again whether it is over.
pub fn a_spent_day_is_left_alone(field: &Field, record: &[Fact]) -> Verdict {
    for spent in field.troubles.iter().filter(|t| t.kind == Kind::Exhausted) {
        let mut asked = sent(record).filter(|(at, _)| (spent.from..spent.until).contains(at));
        if let Some((at, _)) = asked.nth(PROBES) {
            return broken(
                "a spent day is left alone",
                at,
                format!("more than {PROBES} requests since {}", spent.from),
            );
        }
    }
    Ok(())
}

/// An interval that was set for a time is in force for that time, across restarts, and then the one before it is.
pub fn demonstrations_end(field: &Field, record: &[Fact]) -> Verdict {
    const LAW: &str = "demonstrations end";
    let never = (Ms::MAX, Ms::MIN);
    let (may, must) = shown(record).unwrap_or((never, never));
    for (at, look) in looks(record) {
        let is_shown = look.wished == SHOWN_EVERY;
        let wrong = match is_shown {
            true => at < may.0 || at > may.1 + SECOND,
            false => look.wished != field.size.interval || (must.0 < at && at < must.1 - SECOND),
        };
        if wrong {
            return Err(Broken { law: LAW, at, detail: format!("every {} s", look.wished / SECOND) });
        }
    }
    Ok(())
}
