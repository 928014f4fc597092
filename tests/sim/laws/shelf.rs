//! Laws 4, 5 and 7: what stands on the shelf, how old it is said to be, and its history.

use super::{Verdict, broken, by_number, target_of};
use crate::machine::Ms;
use crate::record::{Fact, Meant, Shown, TargetAt, What};
use crate::scenario::Scenario;
use std::collections::{BTreeMap, BTreeSet};

/// Emptiness is not believed before: a minute, by a clock that may be some seconds off.
const DOUBTED: Ms = 50_000;

/// Law 4: what is shown is a good answer of the provider's: inside one life the last one, after a crash the last or an older one. That
/// there is nothing any more is one only if the provider says it twice in a row, and not sooner than [`DOUBTED`] after the first time (A10).
pub fn only_good_answers(record: &[Fact]) -> Verdict {
    let requests = by_number(record);
    let nothing = String::new();
    let mut good: BTreeMap<TargetAt, Vec<&String>> = BTreeMap::new();
    let mut of_this_life: BTreeSet<TargetAt> = BTreeSet::new();
    // Whose last word of this life was that there is nothing.
    let mut hollow: BTreeSet<TargetAt> = BTreeSet::new();
    // When it was said first since the last good answer.
    let mut first: BTreeMap<TargetAt, Ms> = BTreeMap::new();
    let mut is_full = false;
    for fact in record {
        match &fact.what {
            What::Started => {
                of_this_life.clear();
                hollow.clear();
            }
            What::Disk { full } => is_full = *full,
            What::Delivered { request, meant } => {
                let Some(target) = requests.get(request).and_then(|s| target_of(s)) else { continue };
                let said_before = hollow.remove(&target);
                let known = good.entry(target.clone()).or_default();
                match meant {
                    Meant::Good(content) => {
                        known.push(content);
                        first.remove(&target);
                        of_this_life.insert(target.clone());
                    }
                    Meant::Hollow => {
                        // What the life before had heard last is not known here: then either may be shown.
                        let sure = of_this_life.contains(&target);
                        let since = *first.entry(target.clone()).or_insert(fact.at);
                        let is_late = said_before && fact.at - since >= DOUBTED;
                        if !sure || is_late || known.last() == Some(&&nothing) {
                            // How much later than that it is believed is the interval's to say: until it is shown, either may be.
                            if known.last() != Some(&&nothing) {
                                of_this_life.remove(&target);
                            }
                            known.push(&nothing);
                        }
                        hollow.insert(target.clone());
                    }
                    Meant::Page { .. } | Meant::Refused { .. } | Meant::Moved | Meant::Nothing => {}
                }
                // What the disk does not take is not shown: then the shelf is as it was.
                if is_full {
                    of_this_life.remove(&target);
                }
            }
            What::Shown(shown) => {
                let known = good.get(&shown.target).map(Vec::as_slice).unwrap_or_default();
                only_good(fact.at, shown, known, of_this_life.contains(&shown.target))?;
                if shown.content.as_ref() == Some(&nothing) && known.last() == Some(&&nothing) {
                    of_this_life.insert(shown.target.clone());
                }
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
    let nothing = String::new();
    let mut arrived: BTreeMap<(TargetAt, &String), Ms> = BTreeMap::new();
    for fact in record {
        match &fact.what {
            What::Delivered { request, meant: Meant::Good(content) } => {
                if let Some(target) = requests.get(request).and_then(|s| target_of(s)) {
                    arrived.insert((target, content), fact.at);
                }
            }
            What::Delivered { request, meant: Meant::Hollow } => {
                if let Some(target) = requests.get(request).and_then(|s| target_of(s)) {
                    arrived.insert((target, &nothing), fact.at);
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
