//! From a reply to write 2: the charge is resolved together with what was learned, in one transaction.

use super::circuit::{self, Heard};
use super::exchange::Exchanged;
use super::part::Part;
use super::{Done, Round, Stopped, doubt, holds, lessons, trouble, validators};
use crate::domain::charge::{Resolution, Settlement};
use crate::domain::connection::{ConnectionState, HoldChange};
use crate::domain::event::{EventKind, NewEvent};
use crate::domain::finding::FindingChange;
use crate::domain::ids::{ChargeId, CredentialId};
use crate::domain::outcome::{Outcome, Verdict};
use crate::domain::quota;
use crate::domain::reply::{Failure, Reply};
use crate::domain::spec::Conditional;
use crate::domain::target::{TargetState, Trouble};
use crate::domain::time::Stamp;
use crate::engine::core::{Conn, Core};
use crate::engine::gateway::readings;
use crate::engine::phases::Completing;
use crate::engine::setup::preview;
use crate::engine::targets::Target;
use crate::engine::{findings, words};
use crate::rules::asking::CostFrom;
use crate::rules::extract::{shape_flaw, wrong_shape};
use crate::rules::quota::Brought;
use crate::rules::reconcile;
use crate::store::{Commit, Lane, Write};

/// What a verdict means for the credential and the connection, whoever asked.
pub struct Consequences {
    pub verdict: Verdict,
    pub status: Option<u16>,
    resolution: Resolution,
    /// What becomes of the credential's holds.
    pub hold: Vec<HoldChange>,
    pub state: ConnectionState,
    pub events: Vec<NewEvent>,
    /// What the owners should know of the connection, whatever was asked.
    pub findings: Vec<FindingChange>,
    /// What the provider's own count has taught.
    pub learned: Vec<(CredentialId, quota::Learned)>,
    /// Something of it must not be lost, although nothing else has changed.
    pub must_last: bool,
}

impl Consequences {
    /// The provider counts nothing for it.
    pub fn void(&mut self) {
        self.resolution.settlement = Settlement::Voided;
    }

    /// How the charge ended. It is counted here, where everybody who asks has to come by.
    pub fn resolved(
        &self,
        core: &Core,
        conn: &Conn,
        exchanged: &Exchanged,
    ) -> Option<(CredentialId, ChargeId, Resolution)> {
        let units = match self.resolution.settlement {
            Settlement::Voided => 0,
            Settlement::Posted => exchanged.charged.max(exchanged.cost.unwrap_or(0)),
        };
        core.count(&conn.spec.key, (exchanged.caller, &exchanged.endpoint), self.verdict.outcome, units);
        Some((conn.credential, exchanged.charge, self.resolution.clone()))
    }
}

/// Classifies a reply. What is shown of it passes the redaction once more: short secrets are left alone in bodies.
pub(super) fn classify(
    core: &Core,
    conn: &Conn,
    mut reply: Reply,
    conditional: bool,
) -> (Reply, Verdict, Option<serde_json::Value>) {
    reply.detail = core.door.redact(&reply.detail);
    let classified = conn.classifier.classify(&reply, conditional, core.clock.now().wall());
    let said = classified.verdict.said.map(|s| core.door.redact(&s));
    (reply, Verdict { said, ..classified.verdict }, classified.body)
}

/// Everything that follows from a verdict beside the data itself.
pub fn consequences(
    core: &Core,
    conn: &Conn,
    exchanged: &Exchanged,
    reply: &Reply,
    verdict: Verdict,
    state: &ConnectionState,
) -> Consequences {
    let now = core.clock.now();
    let status = reply.result.as_ref().ok().map(|a| a.status);
    let resolution = Resolution {
        at: reply.arrived_at,
        settlement: reply.settlement(),
        outcome: verdict.outcome,
        status,
        rule: verdict.rule.clone(),
        said: verdict.said.clone(),
        cost: exchanged.cost,
    };
    let hold = holds::changes(core, conn, exchanged, &verdict, &now);
    let mut events = holds::events(core, conn, &now, verdict.outcome, &hold);
    let heard = Heard { verdict: &verdict, exchanged, holds: &hold };
    let next = circuit::after(conn, state, &heard, &now);
    events.extend(circuit::event(conn, &now, &verdict, state, &next));
    let findings = holds::findings(core, conn, exchanged, &verdict, &hold, reply.arrived_at);
    let mut after = Consequences {
        verdict,
        status,
        resolution,
        hold,
        state: next,
        events,
        findings,
        learned: Vec::new(),
        must_last: false,
    };
    lessons::take(core, conn, exchanged, reply, &now, &mut after);
    after
}

/// A 304 is given back only where the provider's documents say that it is not counted (law 1): nothing else about an answer
/// proves that.
pub(super) fn costs_nothing(conn: &Conn, after: &Consequences) -> bool {
    conn.spec.conditional == Conditional::Free
        && after.status == Some(304)
        && after.verdict.outcome == Outcome::NotModified
}

/// Write 2 for a target.
pub async fn from_answer(
    core: &Core,
    conn: &Conn,
    target: &Target,
    before: TargetState,
    mut exchanged: Exchanged,
    conditional: bool,
    round: Option<&Round>,
) -> Result<Done, Stopped> {
    let (reply, verdict, body) = hear(core, conn, target.cost_from.as_ref(), &mut exchanged, conditional);
    let (verdict, content) = content(core, conn, target, &before, &reply, verdict, body)?;
    settle(core, conn, target, &before, &exchanged, Judged { reply, verdict, content, conditional }, round).await
}

/// What a reply is, and all that it says beside what was asked for: of every answer, whole, a page, or a command's.
pub fn hear(
    core: &Core,
    conn: &Conn,
    cost_from: Option<&CostFrom>,
    exchanged: &mut Exchanged,
    conditional: bool,
) -> (Reply, Verdict, Option<serde_json::Value>) {
    let reply = std::mem::replace(&mut exchanged.reply, placeholder());
    let (reply, verdict, body) = classify(core, conn, reply, conditional);
    exchanged.claims = lessons::claims(core, conn, exchanged, &reply, body.as_ref());
    exchanged.brought = Brought::by(&reply);
    exchanged.cost = body.as_ref().and_then(|body| cost_from?.read(body));
    (reply, verdict, body)
}

/// A reply, what it is, and what follows for the shelf.
pub struct Judged {
    pub reply: Reply,
    pub verdict: Verdict,
    pub content: Content,
    /// Validators were sent.
    pub conditional: bool,
}

/// The transaction of write 2, and what may be told once it is durable.
pub async fn settle(
    core: &Core,
    conn: &Conn,
    target: &Target,
    before: &TargetState,
    exchanged: &Exchanged,
    judged: Judged,
    round: Option<&Round>,
) -> Result<Done, Stopped> {
    let Judged { reply, verdict, content, conditional } = judged;
    let is_new_age = matches!(content, Content::Confirmed | Content::Replaced(_));
    let is_changed = matches!(&content, Content::Replaced(result) if result.changed);
    let sampled = preview::of_poll(conn, target, matches!(content, Content::Replaced(_)), &reply);
    let filling = readings::filling(core, conn, target, exchanged, &reply, &content);
    let completing = match &content {
        Content::Confirmed => Completing::by(core, conn, target, None, reply.arrived_at).await?,
        Content::Replaced(result) => Completing::by(core, conn, target, Some(result), reply.arrived_at).await?,
        _ => None,
    };
    let mut state = conn.state.lock().await;
    let mut after = consequences(core, conn, exchanged, &reply, verdict, &state);
    let next = round.and_then(|round| round.next(conn, after.state.failures, &holds::after(core, conn, &after.hold)));
    after.state.next_poll_at = next.or(after.state.next_poll_at);
    if conditional && costs_nothing(conn, &after) {
        after.void();
    }
    let outcome = after.verdict.outcome;
    let learned = super::of_now(core, conn, learned(conn, target, before, content, &after, &reply));
    let quiet =
        learned.quiet && !after.must_last && after.hold.is_empty() && after.events.is_empty() && state.failures == 0;
    let state_row = Write::Connection(conn.spec.key.clone(), after.state.clone());
    let filed = filling.as_ref().and_then(|filling| filling.write(core, conn));
    let (phase_row, phase_event) = completing.as_ref().map(|c| (c.row(target), c.event(target))).unzip();
    let commit = Commit {
        resolve: after.resolved(core, conn, exchanged),
        hold: (!after.hold.is_empty()).then_some((conn.credential, after.hold)),
        writes: learned.writes.into_iter().chain([state_row]).chain(phase_row).chain(filed).chain(sampled).collect(),
        events: after.events.into_iter().chain(learned.events).chain(phase_event).collect(),
        findings: after.findings.into_iter().chain(learned.findings).collect(),
        learned: after.learned,
        lane: if quiet { Lane::Lazy } else { Lane::Durable },
    };
    let events = core.commit(commit).await.map_err(Stopped::unrecorded(after.status))?;
    *state = after.state;
    drop(state);
    filling.into_iter().for_each(|filling| filling.put(core, conn));
    if let Some(completing) = completing {
        completing.is_durable(core, conn, target);
    }
    target.learn_cost(exchanged.cost);
    // Who was told that it changed knows that it was seen.
    let is_told = events.iter().any(|e| e.body.kind == EventKind::TargetChanged);
    core.publish(events);
    if outcome.is_good() && is_new_age && !is_told {
        core.hint_seen(&target.key, reply.arrived_at, if is_changed { "" } else { ", unchanged" });
    }
    words::log_outcome(conn, target, &after.verdict, after.status, &reply.detail);
    Ok(Done { outcome, asked: true, goes_on: None })
}

/// Stands in a moved-out reply's place.
pub fn placeholder() -> Reply {
    Reply { arrived_at: Stamp::default(), result: Err(Failure::NotSent), detail: String::new() }
}

/// What the last good answer becomes.
pub enum Content {
    Kept,
    /// Suddenly empty since then, and not believed yet.
    Doubted(Stamp),
    Confirmed,
    /// Validators and all.
    Replaced(Box<reconcile::Reconciled>),
    /// A page with others behind it: the shelf waits for the last.
    Page,
    /// Pages without a proven end.
    Part(Box<Part>),
    /// Somebody knows already what follows.
    Ready(Box<Learned>),
}

/// No data of this target after all: why is the rule, and the provider's own words stand apart from it.
pub fn unexpected(core: &Core, conn: &Conn, reply: &Reply, why: &str) -> Verdict {
    let said = conn.classifier.quote(reply).map(|said| core.door.redact(&said));
    Verdict { said, ..Verdict::new(Outcome::Unexpected, core.door.redact(why)) }
}

/// Law 4: data replaces the last good answer only if it has the expected shape, and emptiness only if it is said twice.
pub(super) fn content(
    core: &Core,
    conn: &Conn,
    target: &Target,
    before: &TargetState,
    reply: &Reply,
    verdict: Verdict,
    body: Option<serde_json::Value>,
) -> Result<(Verdict, Content), Stopped> {
    let kept = |why: &str| Ok((unexpected(core, conn, reply, why), Content::Kept));
    match (verdict.outcome, body) {
        (Outcome::NotModified, _) if !validators::is_confirmed(before, reply) => kept(validators::ANOTHER),
        (Outcome::NotModified, _) => Ok((verdict, Content::Confirmed)),
        (Outcome::Data, Some(body)) => match target.extractor.extract(&body, reply.headers(), reply.arrived_at) {
            Err(sentence) => kept(&wrong_shape(&sentence)),
            Ok(seen) => {
                if let Some(since) = doubt::doubt(core, conn, target, before, &seen, reply.arrived_at)? {
                    let verdict = unexpected(core, conn, reply, reconcile::SUDDENLY_EMPTY);
                    return Ok((verdict, Content::Doubted(since)));
                }
                let old = core.store.items(&target.key)?;
                let mut result = reconcile::reconcile(before, &old, seen, reply.arrived_at);
                result.state = validators::with(result.state, before, reply);
                Ok((verdict, Content::Replaced(Box::new(result))))
            }
        },
        (Outcome::Data, None) => kept("empty answer"),
        _ => Ok((verdict, Content::Kept)),
    }
}

/// What is learned for the shelf.
pub struct Learned {
    pub writes: Vec<Write>,
    pub events: Vec<NewEvent>,
    pub findings: Vec<FindingChange>,
    /// Nothing that has to be on disk before it is told.
    pub quiet: bool,
}

fn learned(
    conn: &Conn,
    target: &Target,
    before: &TargetState,
    content: Content,
    after: &Consequences,
    reply: &Reply,
) -> Learned {
    let key = &target.key;
    let was_troubled = before.trouble.is_some();
    let settled = |items| {
        let again = was_troubled.then(|| findings::answered_again(target, items, reply.arrived_at));
        again.into_iter().flatten()
    };
    match content {
        Content::Page => Learned { writes: Vec::new(), events: Vec::new(), findings: Vec::new(), quiet: true },
        Content::Kept | Content::Doubted(_) => {
            let trouble = trouble::of_answer(before.trouble.as_ref(), after, reply);
            let rule = Some(after.verdict.rule.as_str());
            let events = troubled(conn, target, before, (&trouble, rule), reply.arrived_at).into_iter().collect();
            let (at, flaw) = (reply.arrived_at, shape_flaw(&after.verdict.rule).filter(|_| before.item_count > 0));
            let findings = match content {
                Content::Doubted(since) => Some(findings::suddenly_empty(conn, target, before, (since, at))),
                _ => flaw.map(|why| findings::lost_its_shape(conn, target, before, why, at)),
            };
            let state = TargetState { trouble: Some(trouble), ..validators::unconfirmed(before, after.status) };
            let writes = vec![Write::Target(key.clone(), state)];
            Learned { writes, events, findings: findings.into_iter().collect(), quiet: false }
        }
        Content::Part(part) => {
            let trouble = trouble::of_answer(before.trouble.as_ref(), after, reply);
            part.learned(conn, target, before, (trouble, Some(&after.verdict)))
        }
        Content::Confirmed => {
            let state = validators::with(reconcile::confirm(before, reply.arrived_at), before, reply);
            let findings = settled(state.item_count).collect();
            let writes = vec![Write::Target(key.clone(), state)];
            Learned { writes, events: Vec::new(), findings, quiet: !was_troubled }
        }
        Content::Replaced(result) => replaced(target, before, *result, reply.arrived_at),
        Content::Ready(learned) => *learned,
    }
}

/// A complete answer takes the place of the one before.
pub fn replaced(target: &Target, before: &TargetState, result: reconcile::Reconciled, at: Stamp) -> Learned {
    let was_troubled = before.trouble.is_some();
    let quiet = before.as_of.is_some() && !was_troubled && !result.changed;
    let events = changed(target, &result, at).into_iter().collect();
    let settled = was_troubled.then(|| findings::answered_again(target, result.state.item_count, at));
    let findings = settled.into_iter().flatten().chain(findings::scan_is_whole(target, before, at)).collect();
    Learned { writes: rows(target, result), events, findings, quiet }
}

/// The rows of a reconciled answer.
pub fn rows(target: &Target, result: reconcile::Reconciled) -> Vec<Write> {
    let key = &target.key;
    let mut writes = vec![Write::Target(key.clone(), result.state)];
    writes.extend(result.put.into_iter().map(|i| Write::Item(key.clone(), i)));
    writes.extend(result.history.into_iter().map(|h| Write::History(key.clone(), h)));
    writes
}

/// Of active targets alone (F4).
pub fn changed(target: &Target, result: &reconcile::Reconciled, at: Stamp) -> Option<NewEvent> {
    (result.changed && target.speaks())
        .then(|| target_event(target, EventKind::TargetChanged, at, words::changed(&result.history)))
}

/// A trouble is told when it begins, and when it becomes another; with the rule of the answer that made it, if one did.
pub fn troubled(
    conn: &Conn,
    target: &Target,
    before: &TargetState,
    (trouble, rule): (&Trouble, Option<&str>),
    at: Stamp,
) -> Option<NewEvent> {
    let news = trouble.is_news(before.trouble.as_ref());
    news.then(|| target_event(target, EventKind::TargetTroubled, at, words::troubled(conn, trouble, rule)))
}

fn target_event(target: &Target, kind: EventKind, at: Stamp, message: String) -> NewEvent {
    let connection = Some(target.key.connection.clone());
    NewEvent { kind, at, connection, target: Some(target.key.target.clone()), message }
}
