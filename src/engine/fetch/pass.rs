//! Passing a client's request on (the gateway): in the line of those who wait for the same budget, admitted and charged as every other
//! request, its answer classified and heeded as every other answer. The client's body is nobody's reading here: what of it is kept
//! decides who asked.

use super::exchange::{Asking, Exchanged, Whose, admit, once_more};
use super::learn::{consequences, costs_nothing, hear};
use super::{Stopped, token};
use crate::domain::charge::Resolution;
use crate::domain::ids::{ChargeId, CredentialId};
use crate::domain::outcome::{Outcome, Verdict};
use crate::domain::reply::{Answer, Reply};
use crate::domain::time::{Span, Stamp, Steady};
use crate::engine::core::{Conn, Core};
use crate::engine::turns::{COURTESIES, Ear, Turn};
use crate::engine::words;
use crate::rules::budget::{Permit, Refusal};
use crate::store::{Commit, Lane, Write};
use crate::upstream::pass::{Passed, Passing, Relayed, Rest};
use tokio_util::sync::CancellationToken;

/// A request of a client's, and how it is asked.
pub struct Passage<'a> {
    pub asking: &'a Asking,
    pub passing: Passing,
    /// Validators of Larder's own are in it.
    pub conditional: bool,
    /// What is written with its charge.
    pub with: Vec<Write>,
    /// How long it waits in line.
    pub patience: Span,
    /// Cancelled when nobody waits for the answer any more: what is not sent yet is not sent.
    pub unwanted: &'a CancellationToken,
    /// What the gateway makes of a verdict: a 404 is an answer to somebody who may ask anything.
    pub judge: &'a (dyn Fn(&Relayed, Verdict) -> Verdict + Sync),
}

/// What came of it.
#[derive(Debug)]
pub struct Heard {
    pub verdict: Verdict,
    pub status: Option<u16>,
    pub asked_at: Stamp,
    pub arrived_at: Stamp,
    /// `None`: there is none, and `detail` says why.
    pub answer: Option<Relayed>,
    pub detail: String,
    /// To be seen to by who has the answer.
    pub late: Option<Late>,
}

/// A charge whose answer still comes: the provider has the request in hand until that has ended (law 1). Dropped unsettled it counts until its
/// deadline.
#[derive(Debug)]
pub struct Late {
    resolve: (CredentialId, ChargeId, Resolution),
    over: CancellationToken,
}

impl Late {
    /// Waits for the end of the answer.
    pub async fn settles(self, core: &Core) {
        self.over.cancelled().await;
        let charge = self.resolve.1;
        let commit = Commit { resolve: Some(self.resolve), lane: Lane::Lazy, ..Commit::default() };
        if let Err(e) = core.commit(commit).await {
            tracing::error!(charge = charge.0, "the end of an answer was not written down: {e}");
        }
    }
}

/// Waits its turn, asks, and writes down what was learned. `keep` says what rides with it.
pub async fn pass(
    core: &Core,
    conn: &Conn,
    passage: Passage<'_>,
    keep: impl FnOnce(&Heard) -> Vec<Write>,
) -> Result<Heard, Stopped> {
    let Passage { asking, conditional, .. } = passage;
    let ends = core.clock.now().steady + passage.patience;
    let permit = in_turn(core, conn, asking, ends, (passage.unwanted, &passage.with)).await?;
    let carried = token::version(core, conn);
    let mut sent = send(core, asking, permit, passage.passing.clone()).await;
    let mut judged = judge(core, conn, &mut sent, conditional);
    // A rejection says that nothing was done: with a new token it is asked once more.
    if let Some(version) = carried.filter(|_| judged.1.outcome == Outcome::CredentialRejected) {
        let permit = once_more(core, conn, asking, &sent.exchanged, version).await?;
        sent = send(core, asking, permit, passage.passing.clone()).await;
        judged = judge(core, conn, &mut sent, conditional);
    }
    let (reply, verdict) = judged;
    let verdict = match &sent.answer {
        Some(answer) => (passage.judge)(answer, verdict),
        None => verdict,
    };
    let status = sent.answer.as_ref().map(|answer| answer.status);
    let (asked_at, arrived_at, detail) = (sent.exchanged.reserved_at, reply.arrived_at, reply.detail.clone());
    let heard = Heard { verdict, status, asked_at, arrived_at, answer: sent.answer, detail, late: None };
    let late = settle(core, conn, &sent.exchanged, &reply, &heard, conditional, keep).await?;
    Ok(Heard { late, ..heard })
}

/// A place in the line until the budget lets it through, or says that this is no matter of a moment.
pub(super) async fn in_turn(
    core: &Core,
    conn: &Conn,
    asking: &Asking,
    ends: Steady,
    (unwanted, with): (&CancellationToken, &[Write]),
) -> Result<Permit, Stopped> {
    let line = core.turns(conn.credential);
    let mut ear = line.as_ref().map(|line| line.ear());
    let turn = line.as_ref().map(|line| line.enter(conn.ask(asking.caller, asking.endpoint.clone(), asking.cost)));
    loop {
        ear.iter_mut().for_each(Ear::listen);
        for _ in 0..COURTESIES {
            let Some(at) = turn.as_ref().and_then(|turn| turn.gives_way(core, conn.credential)) else { break };
            if !wait(core, &mut ear, at, unwanted).await {
                break;
            }
        }
        let stopped = match admitted(core, conn, asking, (unwanted, with)).await {
            Ok(permit) => {
                turn.iter().for_each(Turn::went);
                return Ok(permit);
            }
            Err(stopped) => stopped,
        };
        let now = core.clock.now().steady;
        let again = match &stopped {
            Stopped::Refused(Refusal::NotUntil { at, limit }) => conn.moment(limit, *at, ends),
            Stopped::Refused(Refusal::Probing { at }) => Some(*at),
            _ => None,
        };
        match again.filter(|at| *at <= ends && now < ends) {
            Some(at) if wait(core, &mut ear, at.max(now + Span(10)), unwanted).await => {}
            _ => return Err(stopped),
        }
    }
}

async fn admitted(
    core: &Core,
    conn: &Conn,
    asking: &Asking,
    (unwanted, with): (&CancellationToken, &[Write]),
) -> Result<Permit, Stopped> {
    let may_ask = async || core.may_ask(conn, &*conn.state.lock().await, asking.caller);
    if !may_ask().await {
        return Err(Stopped::Paused);
    }
    token::ensure(core, conn, asking.caller).await?;
    if unwanted.is_cancelled() {
        return Err(Stopped::Unaskable("is asked for by nobody any more".to_owned()));
    }
    let with = with.to_vec();
    admit(core, conn, conn.credential, asking, Box::new(move |_| with)).await
}

/// Until `at`, or until the bell says that it may be earlier. False where there is nothing to wait for any more.
async fn wait(core: &Core, ear: &mut Option<Ear>, at: Steady, unwanted: &CancellationToken) -> bool {
    let rung = async {
        match ear {
            Some(ear) => ear.rung().await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        () = core.stop.cancelled() => {}
        () = unwanted.cancelled() => {}
        () = core.clock.sleep_until(at) => {}
        () = rung => {}
    }
    !core.stop.is_cancelled() && !unwanted.is_cancelled()
}

/// What was sent, and the answer apart from what is made of it.
struct Sent {
    exchanged: Exchanged,
    answer: Option<Relayed>,
}

async fn send(core: &Core, asking: &Asking, permit: Permit, passing: Passing) -> Sent {
    let (charge, reserved_at) = (permit.id(), permit.charge().reserved_at);
    let location = passing.location.clone();
    let Passed { arrived_at, result, detail } = core.door.pass(permit, passing).await;
    let (result, answer) = match result {
        Ok(mut relayed) => {
            // Lent to be judged, and given back by it: a body is not copied.
            let body = relayed.in_utf8.take().unwrap_or_else(|| std::mem::take(&mut relayed.body));
            (Ok(Answer { status: relayed.status, headers: relayed.headers.clone(), body }), Some(relayed))
        }
        Err(failure) => (Err(failure), None),
    };
    let reply = Reply { arrived_at, result, detail };
    let exchanged = Exchanged::new(reply, (charge, reserved_at), asking, asking, &location);
    Sent { exchanged: Exchanged { whose: Whose::Clients, ..exchanged }, answer }
}

fn judge(core: &Core, conn: &Conn, sent: &mut Sent, conditional: bool) -> (Reply, Verdict) {
    let (mut reply, verdict, _) = hear(core, conn, None, &mut sent.exchanged, conditional);
    if let (Ok(judged), Some(relayed)) = (&mut reply.result, &mut sent.answer)
        && relayed.body.is_empty()
    {
        relayed.body = std::mem::take(&mut judged.body);
    }
    (reply, verdict)
}

/// Write 2: the charge with what the answer says of limits, holds and the breaker, and with what is kept of it. An answer that is kept
/// waits for no disk: a crash that takes it takes an answer that can be asked for again. Where the provider counts what it has in hand, the
/// charge of an answer that still comes is settled later.
async fn settle(
    core: &Core,
    conn: &Conn,
    exchanged: &Exchanged,
    reply: &Reply,
    heard: &Heard,
    conditional: bool,
    keep: impl FnOnce(&Heard) -> Vec<Write>,
) -> Result<Option<Late>, Stopped> {
    let mut state = conn.state.lock().await;
    // Under the lock, so that of a reading and a write that are answered at once each sees what the other has put down.
    let kept = keep(heard);
    let mut after = consequences(core, conn, exchanged, reply, heard.verdict.clone(), &state);
    if conditional && costs_nothing(conn, &after) {
        after.void();
    }
    // What is forgotten must not come back; what is kept may be lost.
    let forgets = kept.iter().any(|write| matches!(write, Write::Unshelve(_)));
    let quiet = !forgets && !after.must_last && after.hold.is_empty() && after.events.is_empty() && state.failures == 0;
    let state_row = Write::Connection(conn.spec.key.clone(), after.state.clone());
    let rest = heard.answer.as_ref().and_then(|answer| answer.rest.as_ref());
    let over = rest.filter(|_| conn.sharing.counts_in_flight()).map(Rest::over);
    let resolve = after.resolved(core, conn, exchanged);
    let (resolve, late) = match over {
        Some(over) => (None, resolve.map(|resolve| Late { resolve, over })),
        None => (resolve, None),
    };
    let commit = Commit {
        resolve,
        hold: (!after.hold.is_empty()).then_some((conn.credential, after.hold)),
        writes: kept.into_iter().chain([state_row]).collect(),
        events: after.events,
        findings: after.findings,
        learned: after.learned,
        lane: if quiet { Lane::Lazy } else { Lane::Durable },
    };
    let events = core.commit(commit).await.map_err(Stopped::unrecorded(heard.status))?;
    *state = after.state;
    drop(state);
    core.publish(events);
    words::log_passed(conn, exchanged, &heard.verdict, heard.status, &heard.detail);
    Ok(late)
}
