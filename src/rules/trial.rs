//! What Larder would make of one answer: the verdict, the hold that would follow, the items that would be on the shelf. The same
//! rules in the same order as a fetch, with nothing spent before and no network. Must not know where an answer comes from.

use super::asking::{Asker, TARGET_NAME, outgoing};
use super::budget::Usage;
use super::calendar::Calendar;
use super::classify::Classifier;
use super::extract::{Extractor, wrong_shape};
use super::hold::{self, Answered};
use super::paging::{Ask, Page, Pager, Step, Trail, Usual, digest};
use super::quota::{self, Brought, Reader, Spent};
use super::template::When;
use super::text;
use crate::domain::connection::{Hold, HoldChange};
use crate::domain::ids::Endpoint;
use crate::domain::item::Sighting;
use crate::domain::limit::Kind;
use crate::domain::outcome::{Outcome, Verdict};
use crate::domain::reply::{Answer, Failure, Reply};
use crate::domain::spec::{Conditional, ConnectionSpec, TargetSpec};
use crate::domain::time::{ClockTrust, Now, Span, Stamp, Steady, Wall};
use serde_json::Value;
use std::collections::BTreeMap;

/// What an answer would do to a connection that has asked nothing else.
#[derive(Debug)]
pub struct Trial {
    pub verdict: Verdict,
    pub hold: Option<Hold>,
    /// Where the answer is data of the target's shape.
    pub items: Option<Vec<Sighting>>,
    /// Where the target's list comes page by page: what follows from this page, taken as the first of the first reading.
    pub follows: Option<Step>,
    /// The moment of arrival.
    pub now: Now,
}

/// A 304 is taken as the answer to a conditional request, unless the connection sends none. `target`: whose items to read; without
/// one data is only classified. Errors are sentences about the connection's expressions.
pub fn trial(
    spec: &ConnectionSpec,
    target: Option<&TargetSpec>,
    answer: Answer,
    at: Wall,
) -> Result<Trial, Vec<String>> {
    let now = moment(at);
    let classifier = Classifier::compile(&spec.rules, &spec.waits)?.reading(&spec.reading);
    let reply = received(spec, answer, now.stamp());
    let classified = classifier.classify(&reply, spec.conditional != Conditional::Off, at);
    let spent = spent(spec, target, &reply, classified.body.as_ref())?;
    let mut follows = None;
    let (verdict, items) = match (classified.verdict.outcome, classified.body, target) {
        (Outcome::Data, Some(body), Some(target)) => {
            let extractor = Extractor::compile(target, &spec.time_zone)?;
            match extractor.extract(&body, reply.headers(), reply.arrived_at) {
                Ok(items) => {
                    follows = step(spec, target, &reply, &body, (extractor.rows(&body), &items))?;
                    (classified.verdict, Some(items))
                }
                Err(sentence) => (unexpected(&sentence, classifier.quote(&reply)), None),
            }
        }
        _ => (classified.verdict, None),
    };
    let hold = hold(spec, target, (&verdict, spent.as_ref(), Brought::by(&reply)), &now);
    Ok(Trial { verdict, hold, items, follows, now })
}

fn step(
    spec: &ConnectionSpec,
    target: &TargetSpec,
    reply: &Reply,
    body: &Value,
    (rows, items): (u64, &[Sighting]),
) -> Result<Option<Step>, Vec<String>> {
    let (Some(pages), Ok(answer)) = (&target.page, &reply.result) else { return Ok(None) };
    let pager = Pager::compile(pages)?;
    let when = When::new(reply.arrived_at.wall, &spec.time_zone);
    let name = BTreeMap::from([(TARGET_NAME.to_owned(), target.name.0.clone())]);
    let get = target.get.as_deref().unwrap_or_default();
    let sent = outgoing(get, &target.send, Asker::Target, &when, &name).map_err(|e| vec![e])?;
    let asked = pager.first(&Ask { location: sent.location, body: sent.body });
    let (headers, bytes) = (&answer.headers, answer.body.len() as u64);
    let page = Page { asked: &asked, headers, body, rows, again: 0, digest: digest(items), bytes };
    Ok(Some(pager.follow(&spec.base_url, Usual::default(), &mut Trail::default(), &page)))
}

/// Of what the answer says that nothing is left.
fn spent(
    spec: &ConnectionSpec,
    target: Option<&TargetSpec>,
    reply: &Reply,
    body: Option<&Value>,
) -> Result<Option<Spent>, Vec<String>> {
    let Ok(answer) = &reply.result else { return Ok(None) };
    let endpoint = target.and_then(TargetSpec::endpoint).unwrap_or_else(|| Endpoint::from(""));
    let cost = target.map_or(1, |t| t.cost);
    let reader = Reader::compile(&spec.quotas, &spec.waits.sources)?;
    let said = reader.claims(answer, body, &spec.limits, &endpoint, &|_| None, reply.arrived_at.wall);
    Ok(quota::spent(&said, &spec.limits, cost))
}

/// The answer as the door hands it in: its text in UTF-8.
fn received(spec: &ConnectionSpec, answer: Answer, arrived_at: Stamp) -> Reply {
    let Answer { status, headers, body } = answer;
    let kind = headers.iter().find(|(name, _)| name == "content-type").map(|(_, value)| value.as_str());
    match text::utf8(body, kind, spec.reading.charset.as_deref()) {
        Ok(body) => Reply { arrived_at, result: Ok(Answer { status, headers, body }), detail: String::new() },
        Err(detail) => Reply { arrived_at, result: Err(Failure::Undecodable), detail },
    }
}

/// The hold that the verdict would set where nothing is held yet.
fn hold(
    spec: &ConnectionSpec,
    target: Option<&TargetSpec>,
    (verdict, spent, brought): (&Verdict, Option<&Spent>, Brought),
    now: &Now,
) -> Option<Hold> {
    let in_use: Vec<Endpoint> = spec.targets.iter().filter_map(TargetSpec::endpoint).collect();
    let answered = Answered {
        verdict,
        endpoint: &target.and_then(TargetSpec::endpoint).unwrap_or_else(|| Endpoint::from("")),
        reserved_at: now.stamp(),
        row: 0,
        usage: &usage(spec, now),
        holds: &[],
        in_use: &in_use,
        waits: &spec.waits,
        interval: Span::ZERO,
        spent,
        brought,
    };
    hold::changes(&answered, now).into_iter().find_map(|change| match change {
        HoldChange::Put(hold) => Some(hold),
        HoldChange::Lift(_) => None,
    })
}

/// As a fetch says it of an answer without the expected shape.
fn unexpected(sentence: &str, said: Option<String>) -> Verdict {
    Verdict { said, ..Verdict::new(Outcome::Unexpected, wrong_shape(sentence)) }
}

/// The wall clock alone: the steady timeline begins a thousand years before, so that nothing falls off its start.
fn moment(at: Wall) -> Now {
    let steady = Steady(1000 * 366 * 86_400_000);
    Now { steady, era: 0, trust: ClockTrust::Trusted, offsets: vec![at.0.saturating_sub_unsigned(steady.0)] }
}

/// Each limit with this one request in it.
fn usage(spec: &ConnectionSpec, now: &Now) -> Vec<Usage> {
    let turn = |kind: &Kind| Some(now.steady + Calendar::of(kind)?.next_turn(now.wall()).latest.since(now.wall()));
    let one = |limit: &crate::domain::limit::Limit| Usage {
        limit: limit.clone(),
        endpoint: None,
        used: 1,
        used_by: BTreeMap::new(),
        declared: limit.amount,
        foreign: 0,
        kept: limit.kept(),
        next_free_at: None,
        parts: Vec::new(),
        resets_at: turn(&limit.kind),
    };
    spec.limits.iter().map(one).collect()
}
