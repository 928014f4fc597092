//! Law 1: what the provider counts, what the ledger shows of it, and that every request is in the book.

use super::{Verdict, broken, sent};
use crate::judges::calendar::{Period, Zoned};
use crate::judges::concurrency::{Concurrency, Stay};
use crate::judges::counts::{FixedWindows, Gcra, Opened, SlidingLog};
use crate::judges::{Judge, judge_all};
use crate::machine::Ms;
use crate::record::{Fact, Sent, What};
use crate::scenario::Scenario;
use larder::domain::limit::{Kind, Limit, Scope};
use std::collections::{BTreeMap, BTreeSet};

/// What a limit counts apart: `None` where it counts everything together.
fn scopes(scenario: &Scenario, limit: &Limit) -> Vec<Option<String>> {
    match limit.scope {
        Scope::Credential => vec![None],
        Scope::Endpoint => scenario.endpoints().into_iter().map(Some).collect(),
    }
}

fn within<'a>(record: &'a [Fact], scope: &'a Option<String>) -> impl Iterator<Item = &'a Sent> {
    sent(record).map(|(_, s)| s).filter(move |s| scope.as_ref().is_none_or(|e| *e == s.endpoint))
}

/// The judges of a limit. They live on true wall time; the provider's clock is skewed.
fn judges(scenario: &Scenario, limit: &Limit, amount: u64) -> Vec<Box<dyn Judge>> {
    let skew = scenario.skew;
    match &limit.kind {
        Kind::Rolling { window } => vec![Box::new(SlidingLog::new(amount, window.0))],
        Kind::Fixed { window } => vec![Box::new(FixedWindows::new(amount, window.0, skew))],
        Kind::Anchored { window } => vec![Box::new(Opened::new(amount, window.0))],
        Kind::Daily { resets_at, time_zone } => Zoned::all(amount, time_zone, Period::Day, resets_at.0, skew),
        Kind::Weekly { day, resets_at, time_zone } => {
            Zoned::all(amount, time_zone, Period::Week(*day as u8), resets_at.0, skew)
        }
        Kind::Monthly { day, resets_at, time_zone } => {
            Zoned::all(amount, time_zone, Period::Month(*day), resets_at.0, skew)
        }
        Kind::Pace { window } => {
            vec![Box::new(SlidingLog::new(amount, window.0)), Box::new(Gcra::new(amount, window.0, 0))]
        }
        Kind::Concurrent => Vec::new(),
    }
}

fn flight<'a>(limit: u64, sent: impl Iterator<Item = &'a Sent>) -> Concurrency {
    let mut judge = Concurrency::new(limit);
    for (from, until) in sent.filter_map(|s| s.counted) {
        judge.stay(Stay { from, until, cost: 1 });
    }
    judge
}

/// Law 1: the provider never counts more than its limit.
pub fn never_over(scenario: &Scenario, record: &[Fact]) -> Verdict {
    for limit in scenario.limits() {
        for scope in scopes(scenario, &limit) {
            let counted = || {
                let counted = within(record, &scope).filter_map(|s| Some((s.counted?.0, u64::from(s.cost))));
                counted.map(|(at, cost)| (scenario.began.0 + at, cost))
            };
            let mut verdicts: Vec<_> =
                judges(scenario, &limit, limit.amount).iter_mut().map(|j| judge_all(j.as_mut(), counted())).collect();
            if limit.kind == Kind::Concurrent {
                let over = flight(limit.amount, within(record, &scope)).verdict();
                verdicts.push(over.map_err(|o| crate::judges::Over { at: o.at + scenario.began.0, ..o }));
            }
            if let Some(Err(over)) = verdicts.into_iter().find(Result::is_err) {
                let what = format!("limit \"{}\" {scope:?}: {over}", limit.name);
                return broken("never over", over.at - scenario.began.0, what);
            }
        }
    }
    Ok(())
}

/// The ledger never shows less than the provider has counted of what was sent before the look.
pub fn shows_no_less(scenario: &Scenario, record: &[Fact]) -> Verdict {
    let limits = scenario.limits();
    let mut before: Vec<&Sent> = Vec::new();
    for fact in record {
        let (name, endpoint, used) = match &fact.what {
            What::Sent(sent) => {
                before.push(sent);
                continue;
            }
            What::Budget { limit, endpoint, used, .. } => (limit, endpoint, used),
            _ => continue,
        };
        let Some(limit) = limits.iter().find(|l| l.name == *name) else { continue };
        let inside = || before.iter().copied().filter(|s| endpoint.as_ref().is_none_or(|e| *e == s.endpoint));
        let level = match limit.kind {
            Kind::Concurrent => flight(u64::MAX, inside()).level(fact.at),
            _ => level(scenario, limit, inside(), fact.at),
        };
        if *used < level {
            let what = format!("\"{name}\" {endpoint:?} shows {used}, the provider has {level}");
            return broken("shows no less", fact.at, what);
        }
    }
    Ok(())
}

/// The most that any of the judges holds against the client. Of a pace that is the sliding count: GCRA's level is a length of time.
fn level<'a>(scenario: &Scenario, limit: &Limit, sent: impl Iterator<Item = &'a Sent>, at: Ms) -> u64 {
    let counted = sent.filter_map(|s| Some((s.counted?.0, u64::from(s.cost)))).filter(|(then, _)| *then <= at);
    let mut counted: Vec<_> = counted.collect();
    counted.sort_unstable();
    let judges = judges(scenario, limit, u64::MAX / 2).into_iter();
    let sliding = if matches!(limit.kind, Kind::Pace { .. }) { 1 } else { usize::MAX };
    let levels = judges.take(sliding).map(|mut judge| {
        for (then, cost) in &counted {
            let _ = judge.count(scenario.began.0 + then, *cost);
        }
        judge.level(scenario.began.0 + at)
    });
    levels.max().unwrap_or(0)
}

/// Law 1: each request is in the book by itself, for ever, and what the provider counted is not given back.
pub fn every_request_is_charged(record: &[Fact]) -> Verdict {
    const LAW: &str = "every request is charged";
    let mut paid: BTreeSet<u64> = BTreeSet::new();
    if let Some((at, twice)) = sent(record).find(|(_, s)| !paid.insert(s.charge)) {
        return broken(LAW, at, format!("charge {} paid for a second request", twice.charge));
    }
    for (index, fact) in record.iter().enumerate() {
        let What::Ledger { connection, lines } = &fact.what else { continue };
        let oldest = lines.first().map_or(0, |(id, _)| *id);
        let by_id: BTreeMap<u64, &str> = lines.iter().copied().collect();
        for (_, sent) in sent(&record[..index]).filter(|(_, s)| s.connection == *connection && s.charge >= oldest) {
            match by_id.get(&sent.charge) {
                None => return broken(LAW, fact.at, format!("request {} has no charge", sent.request)),
                Some(&"voided") if sent.counted.is_some() => {
                    return broken(LAW, fact.at, format!("request {} was counted and given back", sent.request));
                }
                Some(_) => {}
            }
        }
    }
    Ok(())
}
