//! The checkers: each reads a record and says where a law broke. None of them knows how the appliance works.

use crate::judges::calendar::{DailyZone, MonthlyZone};
use crate::judges::concurrency::{Concurrency, Stay};
use crate::judges::counts::{FixedWindows, Gcra, SlidingLog};
use crate::judges::{Judge, judge_all};
use crate::machine::Ms;
use crate::record::{End, Fact, Meant, RequestNo, Sent, Shown, TargetAt, What};
use crate::scenario::{Clocks, Scenario};
use larder::domain::ids::Caller;
use larder::domain::limit::{Kind, Limit, Scope};
use larder::domain::spec::Interval;
use std::collections::{BTreeMap, BTreeSet};

/// A law that broke, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    pub law: &'static str,
    pub at: Ms,
    pub detail: String,
}

pub type Verdict = Result<(), Broken>;

fn broken<T>(law: &'static str, at: Ms, detail: impl Into<String>) -> Result<T, Broken> {
    Err(Broken { law, at, detail: detail.into() })
}

/// Every law, in the order in which it is worth reading about them.
pub fn check(scenario: &Scenario, record: &[Fact]) -> Verdict {
    starts_and_goes_on(record)?;
    never_over(scenario, record)?;
    shows_no_less(scenario, record)?;
    every_request_is_charged(record)?;
    only_good_answers(record)?;
    honest_age(scenario, record)?;
    polls_keep_their_interval(scenario, record)?;
    nothing_unasked(record)?;
    refreshes_are_worth_it(scenario, record)?;
    holds_hold(record)?;
    switches_are_heeded(record)?;
    generations_grow(record)?;
    history_is_whole(record)?;
    commands_are_sent_once(record)
}

/// Whatever happened to the file, the appliance starts again; and nothing in it panics.
pub fn starts_and_goes_on(record: &[Fact]) -> Verdict {
    for fact in record {
        match &fact.what {
            What::StartFailed(said) => return broken("starts again", fact.at, said),
            What::Panicked(said) => return broken("no panic", fact.at, said),
            _ => {}
        }
    }
    Ok(())
}

fn sent(record: &[Fact]) -> impl Iterator<Item = (Ms, &Sent)> {
    record.iter().filter_map(|f| match &f.what {
        What::Sent(sent) => Some((f.at, sent)),
        _ => None,
    })
}

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
        Kind::Daily { resets_at, time_zone } => vec![Box::new(DailyZone::new(amount, time_zone, resets_at.0, skew))],
        Kind::Monthly { day, resets_at, time_zone } => {
            vec![Box::new(MonthlyZone::new(amount, time_zone, *day, resets_at.0, skew))]
        }
        Kind::Pace { window } => {
            vec![Box::new(Gcra::new(amount, window.0, 0)), Box::new(SlidingLog::new(amount, window.0))]
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
            Kind::Pace { .. } => level(scenario, limit, inside(), fact.at).min(1),
            _ => level(scenario, limit, inside(), fact.at),
        };
        if *used < level {
            let what = format!("\"{name}\" {endpoint:?} shows {used}, the provider has {level}");
            return broken("shows no less", fact.at, what);
        }
    }
    Ok(())
}

fn level<'a>(scenario: &Scenario, limit: &Limit, sent: impl Iterator<Item = &'a Sent>, at: Ms) -> u64 {
    let mut judge = judges(scenario, limit, u64::MAX / 2).remove(0);
    let counted = sent.filter_map(|s| Some((s.counted?.0, u64::from(s.cost)))).filter(|(then, _)| *then <= at);
    let mut counted: Vec<_> = counted.collect();
    counted.sort_unstable();
    for (then, cost) in counted {
        let _ = judge.count(scenario.began.0 + then, cost);
    }
    judge.level(scenario.began.0 + at)
}

/// Law 1: what was sent is in the book, for ever, and what the provider counted is not given back.
pub fn every_request_is_charged(record: &[Fact]) -> Verdict {
    const LAW: &str = "every request is charged";
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

/// Requests by number.
fn by_number(record: &[Fact]) -> BTreeMap<RequestNo, &Sent> {
    sent(record).map(|(_, s)| (s.request, s)).collect()
}

fn target_of(sent: &Sent) -> Option<TargetAt> {
    Some((sent.connection.clone(), sent.target.clone()?))
}

/// Law 4: what is shown is a good answer of the provider's: inside one life the last one, after a crash the last or an older one.
pub fn only_good_answers(record: &[Fact]) -> Verdict {
    let requests = by_number(record);
    let mut good: BTreeMap<TargetAt, Vec<&String>> = BTreeMap::new();
    let mut of_this_life: BTreeSet<TargetAt> = BTreeSet::new();
    for fact in record {
        match &fact.what {
            What::Started => of_this_life.clear(),
            What::Delivered { request, meant: Meant::Good(content) } => {
                if let Some(target) = requests.get(request).and_then(|s| target_of(s)) {
                    good.entry(target.clone()).or_default().push(content);
                    of_this_life.insert(target);
                }
            }
            What::Shown(shown) => {
                let known = good.get(&shown.target).map(Vec::as_slice).unwrap_or_default();
                only_good(fact.at, shown, known, of_this_life.contains(&shown.target))?;
            }
            _ => {}
        }
    }
    Ok(())
}

fn only_good(at: Ms, shown: &Shown, known: &[&String], of_this_life: bool) -> Verdict {
    let newest = known.last().copied();
    match &shown.content {
        None if of_this_life => broken("only good answers", at, format!("{:?} forgot its answer", shown.target)),
        None => Ok(()),
        Some(content) if of_this_life && newest != Some(content) => {
            let what = format!("{:?} shows {content}, the last good answer was {newest:?}", shown.target);
            broken("only good answers", at, what)
        }
        Some(content) if !known.contains(&content) => {
            let what = format!("{:?} shows {content}, which the provider never said", shown.target);
            broken("only good answers", at, what)
        }
        Some(_) => Ok(()),
    }
}

/// Law 5: nothing is older than it is said to be, and nothing old is called fresh.
pub fn honest_age(scenario: &Scenario, record: &[Fact]) -> Verdict {
    let requests = by_number(record);
    let mut arrived: BTreeMap<(TargetAt, &String), Ms> = BTreeMap::new();
    for fact in record {
        match &fact.what {
            What::Delivered { request, meant: Meant::Good(content) } => {
                if let Some(target) = requests.get(request).and_then(|s| target_of(s)) {
                    arrived.insert((target, content), fact.at);
                }
            }
            What::Shown(shown) => {
                let Some(content) = &shown.content else { continue };
                if let Some(arrived) = arrived.get(&(shown.target.clone(), content)) {
                    honest(scenario, fact.at, shown, fact.at - arrived)?;
                }
            }
            _ => {}
        }
    }
    Ok(())
}

fn honest(scenario: &Scenario, at: Ms, shown: &Shown, age: Ms) -> Verdict {
    let spec = scenario.connection(&shown.target.0);
    let target = spec.targets.iter().find(|t| t.name.as_str() == shown.target.1);
    let fresh_for = target.and_then(|t| t.fresh_for).map_or(Ms::MAX, |f| f.0 as Ms);
    if shown.fresh && age > fresh_for {
        return broken("honest age", at, format!("{:?} is called fresh and is {age} ms old", shown.target));
    }
    match shown.age_s {
        // A clock that is known to be wrong is told beside the age.
        _ if shown.clock_untrusted => Ok(()),
        Some(s) if s as Ms >= age / 1000 => Ok(()),
        said => broken("honest age", at, format!("{:?} is said to be {said:?} s old and is {age} ms", shown.target)),
    }
}

/// Laws 6 and 8: rounds of a connection are never closer than its interval, whatever happened in between. A round begins with the
/// connection's first target.
pub fn polls_keep_their_interval(scenario: &Scenario, record: &[Fact]) -> Verdict {
    for spec in &scenario.connections {
        let Interval::Every(interval) = spec.poll.interval else { continue };
        let name = spec.key.connection.as_str();
        let first = spec.targets.first().map(|t| t.name.as_str());
        let rounds = sent(record)
            .filter(|(_, s)| s.caller == Caller::Poller && s.connection == name && s.target.as_deref() == first)
            .map(|(at, _)| at);
        let mut last: Option<Ms> = None;
        for at in rounds {
            if let Some(last) = last.filter(|last| at - last < interval.0 as Ms) {
                let what = format!("{name} was polled at {last} and again {} ms later", at - last);
                return broken("polls keep their interval", at, what);
            }
            last = Some(at);
        }
    }
    Ok(())
}

/// Law 6: beside polls nothing is sent that nobody asked for. A restart asks for nothing.
pub fn nothing_unasked(record: &[Fact]) -> Verdict {
    let mut refreshes: BTreeMap<String, i64> = BTreeMap::new();
    let mut commands: BTreeSet<&str> = BTreeSet::new();
    for fact in record {
        match &fact.what {
            What::RefreshAsked { target } => *refreshes.entry(target.0.clone()).or_default() += 1,
            What::Sent(s) => match s.caller {
                Caller::Poller => {}
                Caller::Command => {
                    commands.insert(s.tag.as_deref().unwrap_or(""));
                    *refreshes.entry(s.connection.clone()).or_default() += 1;
                }
                Caller::Refresh => {
                    let asked = refreshes.entry(s.connection.clone()).or_default();
                    *asked -= 1;
                    if *asked < 0 {
                        return broken("nothing unasked", fact.at, "a refresh that nobody asked for");
                    }
                }
                caller => return broken("nothing unasked", fact.at, format!("a request by {caller}")),
            },
            _ => {}
        }
    }
    Ok(())
}

/// I2: a refresh is sent only where the last good answer of this life is at least `refresh_min_age` old.
pub fn refreshes_are_worth_it(scenario: &Scenario, record: &[Fact]) -> Verdict {
    let requests = by_number(record);
    let mut answered: BTreeMap<TargetAt, Ms> = BTreeMap::new();
    for fact in record {
        match &fact.what {
            What::Started => answered.clear(),
            What::Delivered { request, meant: Meant::Good(_) } => {
                if let Some(target) = requests.get(request).and_then(|s| target_of(s)) {
                    answered.insert(target, fact.at);
                }
            }
            What::Sent(s) if s.caller == Caller::Refresh => {
                let min = scenario.connection(&s.connection).refresh_min_age.0 as Ms;
                let last = target_of(s).and_then(|t| answered.get(&t).copied());
                if let Some(last) = last.filter(|last| fact.at - last < min) {
                    let what = format!("{:?} was refreshed {} ms after an answer", s.target, fact.at - last);
                    return broken("refreshes are worth it", fact.at, what);
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// Law 6, P5, I5: after a refusal nobody calls until its wait is over, also across restarts. All connections of a world have one
/// credential. Only a death at the very moment of the refusal excuses.
pub fn holds_hold(record: &[Fact]) -> Verdict {
    let mut held: Vec<(Ms, Ms)> = Vec::new();
    for fact in record {
        match &fact.what {
            What::Delivered { meant: Meant::Refused { wait }, .. } => held.push((fact.at, fact.at + wait)),
            What::Ended(End::Killed | End::PowerCut) => held.retain(|(since, _)| *since < fact.at),
            What::Sent(s) => {
                let hold = held.iter().find(|(since, until)| *since < fact.at && fact.at < *until);
                if let Some((since, until)) = hold {
                    let what = format!("{} by {} although refused at {since} until {until}", s.endpoint, s.caller);
                    return broken("holds hold", fact.at, what);
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// F11: a connection that was switched off is not polled until it is switched on.
pub fn switches_are_heeded(record: &[Fact]) -> Verdict {
    let mut off: BTreeMap<&str, Ms> = BTreeMap::new();
    for fact in record {
        match &fact.what {
            What::Switched { connection, on: false } => {
                off.insert(connection, fact.at);
            }
            What::Switched { connection, on: true } => {
                off.remove(connection.as_str());
            }
            What::Sent(s) if s.caller == Caller::Poller => {
                if let Some(since) = off.get(s.connection.as_str()).filter(|since| **since < fact.at) {
                    let what = format!("{} is polled although switched off at {since}", s.connection);
                    return broken("switches are heeded", fact.at, what);
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// A generation only grows, also across crashes, and never names two contents.
pub fn generations_grow(record: &[Fact]) -> Verdict {
    let mut newest: BTreeMap<&TargetAt, u64> = BTreeMap::new();
    let mut names: BTreeMap<(&TargetAt, u64), &Option<String>> = BTreeMap::new();
    for fact in record {
        let What::Shown(shown) = &fact.what else { continue };
        let last = newest.entry(&shown.target).or_default();
        if shown.generation < *last {
            let what = format!("{:?} went from generation {last} to {}", shown.target, shown.generation);
            return broken("generations grow", fact.at, what);
        }
        *last = shown.generation;
        let named = names.entry((&shown.target, shown.generation)).or_insert(&shown.content);
        if *named != &shown.content {
            let what =
                format!("generation {} of {:?}: {named:?} and {:?}", shown.generation, shown.target, shown.content);
            return broken("generations grow", fact.at, what);
        }
    }
    Ok(())
}

/// Law 7: no gap, nothing rewritten, nothing lost.
pub fn history_is_whole(record: &[Fact]) -> Verdict {
    let mut known: BTreeMap<&TargetAt, &[(u64, String)]> = BTreeMap::new();
    for fact in record {
        let What::History { target, entries } = &fact.what else { continue };
        let before = known.entry(target).or_default();
        if !entries.starts_with(before) {
            let what = format!("{target:?} had {} entries and now {} others", before.len(), entries.len());
            return broken("history is whole", fact.at, what);
        }
        if let Some(pair) = entries.windows(2).find(|pair| pair[1].0 != pair[0].0 + 1) {
            let what = format!("{target:?} jumps from {} to {}", pair[0].0, pair[1].0);
            return broken("history is whole", fact.at, what);
        }
        *before = entries;
    }
    Ok(())
}

/// A command that is never to be repeated is counted at most once; its job is kept, and its last word stands.
pub fn commands_are_sent_once(record: &[Fact]) -> Verdict {
    const LAW: &str = "commands are sent once";
    let mut counted: BTreeMap<&str, u64> = BTreeMap::new();
    let mut promised: BTreeMap<&str, u64> = BTreeMap::new();
    let mut finals: BTreeMap<u64, &str> = BTreeMap::new();
    for fact in record {
        match &fact.what {
            What::Sent(Sent { tag: Some(tag), counted: Some(_), .. }) => {
                let n = counted.entry(tag).or_default();
                *n += 1;
                if *n > 1 {
                    return broken(LAW, fact.at, format!("the provider carried out {tag} twice"));
                }
            }
            What::Accepted { tag, job } => {
                let promise = promised.entry(tag).or_insert(*job);
                if promise != job {
                    return broken(LAW, fact.at, format!("{tag} became job {promise} and job {job}"));
                }
            }
            What::Job { job, state: None, .. } => return broken(LAW, fact.at, format!("job {job} is gone")),
            What::Job { job, tag, state: Some(state) } => {
                let carried_out = counted.get(tag.as_str()).copied().unwrap_or(0);
                if *state == "done" && carried_out == 0 {
                    return broken(LAW, fact.at, format!("job {job} is done and was never carried out"));
                }
                if let Some(last) = finals.get(job).filter(|last| *last != state) {
                    return broken(LAW, fact.at, format!("job {job} was {last} and is {state}"));
                }
                if matches!(*state, "done" | "failed" | "unknown") {
                    finals.insert(*job, state);
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// Whether this world's clocks let power be cut.
pub fn power_may_fail(clocks: Clocks) -> bool {
    clocks != Clocks::Stepping
}
