//! Laws 6 and 8: who asks the provider, when, and on whose behalf.

use super::{Verdict, broken, by_number, sent, target_of};
use crate::machine::Ms;
use crate::record::{End, Fact, Meant, Sent, TargetAt, What};
use crate::scenario::Scenario;
use larder::domain::ids::Caller;
use std::collections::{BTreeMap, BTreeSet};

/// No request of the simulator's worlds is waited for longer than its timeout.
const PROBE_GIVEN_UP: Ms = 25_000;

/// Laws 6 and 8: rounds of a connection are never closer than its interval, whatever happened in between. A round begins with the
/// connection's first target.
pub fn polls_keep_their_interval(scenario: &Scenario, record: &[Fact]) -> Verdict {
    for spec in &scenario.connections {
        let interval = scenario.interval(spec);
        let name = spec.key.connection.as_str();
        let first = spec.targets.first().map(|t| t.name.as_str());
        let rounds = sent(record)
            .filter(|(_, s)| !s.is_hop())
            .filter(|(_, s)| s.caller == Caller::Poller && s.connection == name && s.target.as_deref() == first)
            .map(|(at, _)| at);
        let mut last: Option<Ms> = None;
        for at in rounds {
            if let Some(last) = last.filter(|last| at - last < interval) {
                let what = format!("{name} was polled at {last} and again {} ms later", at - last);
                return broken("polls keep their interval", at, what);
            }
            last = Some(at);
        }
    }
    Ok(())
}

/// Careful is not enough: in calm weather a connection that is switched on, and whose limits fund its interval, is polled. A window may
/// have been spent by others, and an unmeasured darkness may cost an interval; more is sleep.
pub fn polls_go_on(scenario: &Scenario, record: &[Fact]) -> Verdict {
    let spec = &scenario.connections[0];
    if !scenario.weather.is_calm() || spec.key.connection.as_str() != "yard" {
        return Ok(());
    }
    let patience = 2 * scenario.interval(spec) + 400_000;
    let (mut on, mut awake_since) = (true, 0);
    for fact in record {
        match &fact.what {
            What::Started | What::Disk { .. } => awake_since = fact.at,
            What::Sent(s) if s.caller == Caller::Poller => awake_since = fact.at,
            What::Switched { on: now_on, .. } => (on, awake_since) = (*now_on, fact.at),
            What::Shown(_) if on && fact.at - awake_since > patience => {
                return broken("polls go on", fact.at, format!("nothing was polled since {awake_since}"));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Law 8, F5: a round that was due while somebody else's answer was on its way takes that answer for its own, and the next one is due
/// an interval after it. Seen where nothing but the answers happened: in calm weather, inside one life, with nobody at the switch.
pub fn polls_heed_newer_answers(scenario: &Scenario, record: &[Fact]) -> Verdict {
    let spec = &scenario.connections[0];
    if !scenario.weather.is_calm() || spec.key.connection.as_str() != "yard" {
        return Ok(());
    }
    let interval = scenario.interval(spec);
    let requests = by_number(record);
    // The last poll; when the next is due if it was answered; and the answer to somebody else that came after that, and was taken.
    let (mut polled, mut due, mut taken): (Option<Ms>, Option<Ms>, Option<Ms>) = (None, None, None);
    for fact in record {
        match &fact.what {
            What::Started | What::Ended(_) | What::Disk { .. } | What::SwitchAsked { .. } | What::Switched { .. } => {
                (polled, due, taken) = (None, None, None);
            }
            What::Sent(s) if s.caller == Caller::Poller => {
                if let Some(came) = taken.filter(|came| fact.at < came + interval) {
                    let what = format!("due, answered by another's request at {came}, and polled all the same");
                    return broken("polls heed newer answers", fact.at, what);
                }
                (polled, due, taken) = (Some(fact.at), None, None);
            }
            What::Delivered { request, meant } => {
                let by_poller = requests.get(request).map(|s| s.caller == Caller::Poller);
                match (by_poller, meant) {
                    (Some(true), Meant::Good(_)) => due = polled.map(|at| at + interval),
                    (Some(false), Meant::Good(_)) if due.is_some_and(|due| due < fact.at) => {
                        (due, taken) = (Some(fact.at + interval), Some(fact.at));
                    }
                    _ => {}
                }
            }
            _ => {}
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
            What::Sent(s) if s.is_hop() => {}
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

/// Law 2: a hop is sent only where an answer to the same caller led to it, once.
pub fn hops_follow(record: &[Fact]) -> Verdict {
    let requests = by_number(record);
    let mut led: BTreeSet<(Option<TargetAt>, Caller)> = BTreeSet::new();
    for fact in record {
        match &fact.what {
            What::Ended(_) => led.clear(),
            What::Delivered { request, meant: Meant::Moved } => {
                led.extend(requests.get(request).map(|s| (target_of(s), s.caller)));
            }
            What::Sent(s) if s.is_hop() && !led.remove(&(target_of(s), s.caller)) => {
                return broken("hops follow", fact.at, format!("{} by {}: nothing led there", s.endpoint, s.caller));
            }
            // Who asks anew has given the redirect up.
            What::Sent(s) => {
                led.remove(&(target_of(s), s.caller));
            }
            _ => {}
        }
    }
    Ok(())
}

/// I2: a refresh is sent only where the last good answer of this life is at least `refresh_min_age` old.
pub fn refreshes_are_worth_it(scenario: &Scenario, record: &[Fact]) -> Verdict {
    let requests = by_number(record);
    let mut answered: BTreeMap<TargetAt, Ms> = BTreeMap::new();
    let mut is_full = false;
    for fact in record {
        match &fact.what {
            What::Started => answered.clear(),
            What::Disk { full } => is_full = *full,
            What::Delivered { request, meant: Meant::Good(_) } if !is_full => {
                if let Some(target) = requests.get(request).and_then(|s| target_of(s)) {
                    answered.insert(target, fact.at);
                }
            }
            What::Sent(s) if s.caller == Caller::Refresh && !s.is_hop() => {
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
/// credential. Only a death at the very moment of the refusal excuses, or before a full disk has taken it down.
pub fn holds_hold(record: &[Fact]) -> Verdict {
    let mut held: Vec<(Ms, Ms)> = Vec::new();
    let mut full_since = None;
    for fact in record {
        match &fact.what {
            What::Disk { full } => full_since = full.then_some(fact.at),
            What::Delivered { meant: Meant::Refused { wait }, .. } => held.push((fact.at, fact.at + wait)),
            What::Ended(end) => {
                let lost = full_since.or((*end != End::Stopped).then_some(fact.at));
                held.retain(|(since, _)| lost.is_none_or(|lost| *since < lost));
            }
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

/// After a refusal one request alone finds out whether it is over: until an answer shows that the provider lets us in again, no two
/// are under way, whoever asks. What a dead process sent, and what was given up, is not waited for.
pub fn probes_go_alone(record: &[Fact]) -> Verdict {
    let sent_at: BTreeMap<usize, (Ms, Caller)> = sent(record).map(|(at, s)| (s.request, (at, s.caller))).collect();
    let mut refused_at: Option<Ms> = None;
    let mut probe: Option<(usize, Ms)> = None;
    for fact in record {
        match &fact.what {
            What::Delivered { request, meant } => {
                let (asked_at, caller) = sent_at.get(request).copied().unwrap_or((0, Caller::Poller));
                probe = probe.filter(|(no, _)| no != request);
                let lets_us_in = matches!(meant, Meant::Good(_)) || caller == Caller::Command;
                match meant {
                    Meant::Refused { .. } => (refused_at, probe) = (Some(fact.at), None),
                    _ if lets_us_in && refused_at.is_some_and(|since| asked_at >= since) => refused_at = None,
                    _ => {}
                }
            }
            What::Ended(_) => {
                probe = None;
                refused_at = refused_at.filter(|since| *since < fact.at);
            }
            What::Sent(s) if refused_at.is_some() => {
                if let Some((no, since)) = probe.filter(|(_, since)| fact.at < since + PROBE_GIVEN_UP) {
                    let what = format!("{} by {} beside request {no} of {since}", s.endpoint, s.caller);
                    return broken("probes go alone", fact.at, what);
                }
                probe = Some((s.request, fact.at));
            }
            _ => {}
        }
    }
    Ok(())
}

/// F11: a connection that was switched off is not polled until somebody asks to switch it on.
pub fn switches_are_heeded(record: &[Fact]) -> Verdict {
    let mut off: BTreeMap<&str, Ms> = BTreeMap::new();
    for fact in record {
        match &fact.what {
            What::Switched { connection, on: false } => {
                off.insert(connection, fact.at);
            }
            What::SwitchAsked { connection, on: true } | What::Switched { connection, on: true } => {
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
