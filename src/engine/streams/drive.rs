//! The task of one stream: opens it when its course says so, hands on what it hears, and ends when nobody reads it any more.

use super::super::appliance::Appliance;
use super::super::core::Core;
use super::super::fetch::Stopped;
use super::super::fetch::open::{Opening, open};
use super::super::turns::{Ear, rung};
use super::super::view::Denied;
use super::super::words;
use super::{Met, Shared};
use crate::domain::ids::Caller;
use crate::domain::reply::Answer;
use crate::domain::time::{Span, Steady};
use crate::rules::budget::Refusal;
use crate::rules::hold::back;
use crate::rules::schedule;
use crate::rules::stream::Step;
use crate::upstream::EventFlow;
use futures_util::StreamExt;
use std::sync::Arc;

/// When what says no names no end.
const LATER: Span = Span::from_secs(60);
/// The same of a place that others have.
const A_WHILE: Span = Span::from_secs(5);
/// No refusal is over sooner.
const SOONEST: Span = Span(10);
/// Bytes of a body that is no stream, above which it is not remembered: it would stay for as long as the stream does, and with each.
const LONGEST: usize = 64 * 1024;
/// No content: who is told so by a stream does not come again (WHATWG HTML, section 9.2.1).
const NOTHING_TO_COME: u16 = 204;

pub(super) async fn drive(core: Arc<Core>, shared: Arc<Shared>) {
    let mut ear = core.turns(shared.conn.credential).map(|turns| turns.ear());
    loop {
        let now = core.clock.now().steady;
        let step = shared.change(|state| {
            if core.stop.is_cancelled() {
                state.course.over();
            }
            let step = state.course.step(now);
            match step {
                Step::Open => state.course.asks(),
                Step::End | Step::Read { .. } => {
                    state.course.closed(now);
                    state.driven = false;
                }
                Step::WaitUntil(_) => {}
            }
            step
        });
        match step {
            Step::Open => attempt(&core, &shared, &mut ear).await,
            Step::WaitUntil(at) => wait(&core, &shared, &mut ear, at).await,
            Step::End | Step::Read { .. } => return,
        }
    }
}

/// One opening, and the stream that comes of it to its end.
async fn attempt(core: &Arc<Core>, shared: &Shared, ear: &mut Option<Ear>) {
    let last = shared.state().course.last();
    let opening = tokio::select! {
        opening = open(core, &shared.conn, &shared.wanted, last) => opening,
        () = core.stop.cancelled() => return,
    };
    let (connection, endpoint) = (&shared.conn.spec.key, &shared.wanted.endpoint);
    let now = core.clock.now().steady;
    match opening {
        Ok(Opening::Stream(flow, place)) => {
            tracing::info!(%connection, %endpoint, "event stream opened");
            shared.change(|state| {
                (state.attempts, state.met) = (state.attempts + 1, None);
                state.course.opened();
            });
            let why = read(core, shared, ear, flow).await;
            drop(place);
            tracing::info!(%connection, %endpoint, "event stream closed: {why}");
        }
        Ok(Opening::Answer(answer, verdict)) => {
            let sentence = words::reason(verdict.outcome, Some(answer.status), "no event stream");
            tracing::warn!(%connection, %endpoint, "{sentence}");
            failed(shared, now, Met::Answer(in_short(answer)));
        }
        Ok(Opening::Nothing(detail)) => {
            tracing::warn!(%connection, %endpoint, "no event stream: {detail}");
            failed(shared, now, Met::Denied(Denied::Unavailable(words::ended(&format!("No stream: {detail}")))));
        }
        // Whoever comes again is given a stream of the new one.
        Err(Stopped::Superseded) => shared.change(|state| state.course.over()),
        Err(stopped) => {
            let until = until(shared, &stopped, now);
            let denied = Appliance::new(core.clone()).denied(&stopped, "No stream");
            tracing::debug!(%connection, %endpoint, ?denied, "event stream not opened");
            shared.change(|state| {
                (state.attempts, state.met) = (state.attempts + 1, Some(Met::Denied(denied)));
                state.course.refused(until);
            });
        }
    }
}

/// As it is remembered for who waits for it. A long body is told of and left out: cut off, it could be taken for a whole one.
fn in_short(mut answer: Answer) -> Answer {
    let bytes = answer.body.len();
    if bytes <= LONGEST {
        answer.body.shrink_to_fit();
        return answer;
    }
    let words =
        format!("The provider answered {bytes} bytes that are no event stream; Larder hands on up to {LONGEST}.\n");
    answer.headers.retain(|(name, _)| name != "content-type");
    answer.headers.push(("content-type".to_owned(), "text/plain; charset=utf-8".to_owned()));
    Answer { body: words.into_bytes(), ..answer }
}

fn failed(shared: &Shared, now: Steady, met: Met) {
    let is_over = matches!(&met, Met::Answer(answer) if answer.status == NOTHING_TO_COME);
    shared.change(|state| {
        (state.attempts, state.met) = (state.attempts + 1, Some(met));
        state.course.ended(now, |span| part(shared, span));
        if is_over {
            state.course.over();
        }
    });
}

/// Where in a span this stream has its place, among all streams of all installations.
fn part(shared: &Shared, span: Span) -> Span {
    schedule::phase(&shared.conn.installation, &shared.wanted.location, span)
}

/// Hands on what the stream says, until it ends or nobody reads it. Returns why.
async fn read(core: &Core, shared: &Shared, ear: &mut Option<Ear>, mut flow: EventFlow) -> String {
    loop {
        let step = shared.state().course.step(core.clock.now().steady);
        let Step::Read { close_at } = step else { return "nobody reads it any more".to_owned() };
        tokio::select! {
            heard = flow.next() => match heard {
                Some(Ok(heard)) => shared.change(|state| state.course.hears(heard)),
                ended => {
                    let now = core.clock.now().steady;
                    shared.change(|state| state.course.ended(now, |span| part(shared, span)));
                    return ended.and_then(Result::err).unwrap_or_default();
                }
            },
            () = at(core, close_at) => {}
            () = shared.left.notified() => {}
            () = rung(ear) => if let Some(why) = no_more(core, shared).await {
                return why;
            },
            () = core.stop.cancelled() => {
                shared.change(|state| state.course.over());
                return "the appliance is stopping".to_owned();
            }
        }
    }
}

/// Whether the connection is another now, or gone: what was opened with the old credential, or by the old words, ends.
fn is_over(core: &Core, shared: &Shared) -> Option<String> {
    let why = match () {
        () if core.connections.is_superseded(&shared.conn) => "the connection was changed",
        () if shared.conn.left.is_cancelled() => "the connection was taken away",
        () => return None,
    };
    shared.change(|state| state.course.over());
    Some(why.to_owned())
}

/// Whether that is so, or an operator has stopped the connection.
async fn no_more(core: &Core, shared: &Shared) -> Option<String> {
    let conn = &shared.conn;
    if let Some(why) = is_over(core, shared) {
        return Some(why);
    }
    if !core.may_ask(conn, &*conn.state.lock().await, Caller::Gateway) {
        let until = core.clock.now().steady + LATER;
        shared.change(|state| state.course.refused(until));
        return Some("the connection is paused".to_owned());
    }
    None
}

/// Until `at`, or until it may be earlier.
async fn wait(core: &Core, shared: &Shared, ear: &mut Option<Ear>, at: Steady) {
    tokio::select! {
        () = core.clock.sleep_until(at) => {}
        () = shared.left.notified() => {}
        () = core.stop.cancelled() => {}
        () = rung(ear) => if is_over(core, shared).is_none() {
            let (conn, now) = (&shared.conn, core.clock.now());
            let ask = conn.ask(Caller::Gateway, shared.wanted.endpoint.clone(), shared.wanted.cost);
            let may_ask = core.may_ask(conn, &*conn.state.lock().await, Caller::Gateway);
            if may_ask && core.store.would_admit(conn.credential, &now, &ask).is_ok() {
                shared.state().course.eased();
            }
        }
    }
}

async fn at(core: &Core, moment: Option<Steady>) {
    match moment {
        Some(moment) => core.clock.sleep_until(moment).await,
        None => std::future::pending().await,
    }
}

/// P5: until when nothing is to be asked. Behind the end of a hold everybody has a place of its own.
fn until(shared: &Shared, stopped: &Stopped, now: Steady) -> Steady {
    let until = match stopped.refusal() {
        Some(Refusal::NotUntil { at, limit }) if *at != Steady::MAX => shared.conn.after_refusal(limit, *at),
        Some(Refusal::Held(hold)) => back::wakes(hold, |span| part(shared, span)),
        Some(Refusal::Probing { at }) => *at,
        // Until another stream ends, and nobody knows when: looking costs nothing.
        Some(Refusal::NotUntil { .. }) => now + A_WHILE,
        Some(Refusal::NeverFits { .. }) | None => now + LATER,
    };
    until.max(now + SOONEST)
}
