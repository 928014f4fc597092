//! A client's request that may change something: through the budget as a command, one by one, sent once. What it may have changed on the
//! shelf is forgotten.

use super::ask::endpoint;
use super::given::{Given, Halt, PassedOn};
use super::place::{Address, Entry};
use super::{Entrance, filed, room};
use crate::domain::gateway::Until;
use crate::domain::ids::Caller;
use crate::domain::outcome::{Outcome, Verdict};
use crate::domain::time::Span;
use crate::engine::core::{Conn, Core};
use crate::engine::fetch::Stopped;
use crate::engine::fetch::exchange::Asking;
use crate::engine::fetch::pass::{Heard, Late, Passage, pass};
use crate::rules::gateway::{CacheStatus, Forward, Location, Policy, Seen, also_changed, as_passed};
use crate::upstream::pass::{Passing, Relayed};
use bytes::Bytes;
use hyper::{HeaderMap, Method};
use std::sync::Arc;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

/// A client waits for its write as a person would wait: then the budget's word is better.
const PATIENCE: Span = Span::from_secs(5);
/// Of an idempotent request that the provider provably never saw.
const MOST_SENDINGS: usize = 2;

/// What a client sends.
pub struct Write {
    pub address: Arc<Address>,
    pub method: Method,
    /// Without any credential.
    pub headers: HeaderMap,
    pub body: Bytes,
    /// Who, for the log.
    pub by: String,
}

/// What came of it, and how many answers were forgotten for it.
pub struct Written {
    pub given: Given,
    pub forgotten: Option<usize>,
}

impl Entrance {
    /// Goes on if the client goes away: a request that is out is heard to its end.
    pub async fn write(&self, write: Write) -> Written {
        let (tell, told) = oneshot::channel();
        let (core, conn) = (self.core.clone(), self.conn.clone());
        self.core.spawn(async move {
            core.begun.cancelled().await;
            let (written, late) = send(&core, &conn, write).await;
            // Nobody waits any more: what was learned is kept all the same.
            let _ = tell.send(written);
            if let Some(late) = late {
                late.settles(&core).await;
            }
        });
        told.await.unwrap_or_else(|_| {
            let how = CacheStatus::forwarded(Forward::Method);
            Written { given: Given::Denied { halt: Arc::new(Halt::stopping()), how }, forgotten: None }
        })
    }
}

async fn send(core: &Core, conn: &Conn, write: Write) -> (Written, Option<Late>) {
    tracing::info!(connection = %conn.spec.key, endpoint = %write.address.endpoint, method = %write.method, by = write.by, "write through the gateway");
    let policy = conn.desk.gate.policy_by(&write.address.rules);
    let asking =
        Asking { caller: Caller::Command, target: None, endpoint: endpoint(conn, &write.address), cost: policy.cost };
    let (mut sendings, repeats) = (1, policy.may_repeat(write.method.as_str()));
    let mut forgotten = None;
    let heard = loop {
        let heard = once(core, conn, &write, (&asking, &policy), &mut forgotten).await;
        let unseen = matches!(&heard, Ok(heard) if heard.verdict.outcome == Outcome::Unreachable);
        if !(unseen && repeats && sendings < MOST_SENDINGS) {
            break heard;
        }
        sendings += 1;
    };
    let how = CacheStatus::forwarded(Forward::Method);
    let mut heard = match heard {
        Ok(heard) => heard,
        Err(stopped) => {
            // What was read while it was under way: nobody knows what it did.
            let may_have = matches!(stopped, Stopped::Unrecorded { .. });
            let again = may_have.then(|| changed(core, conn, &write.address.location));
            let forgotten = again.map_or(forgotten, |again| Some(forgotten.unwrap_or(0) + again));
            let halt = Arc::new(Halt::stopped(conn, &stopped, &core.clock.now()));
            let given = Given::Denied { how: CacheStatus { detail: Some(halt.word), ..how }, halt };
            return (Written { given, forgotten }, None);
        }
    };
    let late = heard.late.take();
    // And what was read while it was put down.
    let forgotten = forgotten.map(|before| before + all_changed(core, conn, &write, &heard));
    let halt = Arc::new(Halt::heard(core, conn, &asking.endpoint, &heard));
    let status = heard.status;
    let given = match heard.answer {
        // Whatever it is: who writes is told what the provider said.
        Some(Relayed { status, headers, body, rest, .. }) => {
            let answer = PassedOn { status, headers, body: Bytes::from(body) };
            let how = CacheStatus { forward_status: Some(status), ..how };
            match rest {
                Some(rest) => Given::Long { answer, rest, how },
                None => Given::Passed { answer: Arc::new(answer), how },
            }
        }
        None => Given::Denied { how: CacheStatus { detail: Some(halt.word), forward_status: status, ..how }, halt },
    };
    (Written { given, forgotten }, late)
}

async fn once(
    core: &Core,
    conn: &Conn,
    write: &Write,
    (asking, policy): (&Asking, &Policy<'_>),
    forgotten: &mut Option<usize>,
) -> Result<Heard, Stopped> {
    let passage = Passage {
        asking,
        passing: Passing {
            connection: conn.spec.key.clone(),
            method: write.method.clone(),
            location: write.address.sent.clone(),
            headers: write.headers.clone(),
            body: write.body.clone(),
            most: room::largest(core),
            in_time: conn.sharing.counts_in_flight(),
        },
        conditional: false,
        with: Vec::new(),
        patience: PATIENCE,
        unwanted: &CancellationToken::new(),
        judge: &|relayed, verdict| judged(write, policy, relayed, verdict),
    };
    // Once before it is sent, so that no crash serves what it changes, and once for what was read meanwhile.
    let forgets = || filed::forgetting(core, conn, &write.address.location);
    let passage = Passage { with: forgets(), ..passage };
    let keep = |heard: &Heard| match may_have_changed(heard) {
        true => {
            // First of all: a reading under way is put down before this, and found, or not any more.
            *forgotten = Some(all_changed(core, conn, write, heard));
            let named = named(conn, write, heard);
            forgets().into_iter().chain(named.iter().flat_map(|named| filed::forgetting(core, conn, named))).collect()
        }
        false => Vec::new(),
    };
    pass(core, conn, passage, keep).await
}

/// What else its answer says that it changed.
fn named(conn: &Conn, write: &Write, heard: &Heard) -> Vec<Location> {
    let answered = heard.answer.as_ref().map_or(&[][..], |answer| &answer.headers);
    also_changed(&conn.spec.base_url, &write.address.location, answered)
}

fn judged(write: &Write, policy: &Policy<'_>, relayed: &Relayed, verdict: Verdict) -> Verdict {
    let seen = Seen {
        status: relayed.status,
        headers: &relayed.headers,
        sent: &[],
        has_body: write.method != Method::HEAD && !relayed.body.is_empty(),
        is_whole: relayed.rest.is_none(),
    };
    as_passed(verdict, &seen, policy)
}

/// A success, or nobody knows (RFC 9111 section 4.4 would keep the latter; P1 would rather ask once more).
fn may_have_changed(heard: &Heard) -> bool {
    match heard.status {
        Some(status) => status < 400 && !heard.verdict.outcome.is_refusal(),
        None => matches!(
            heard.verdict.outcome,
            Outcome::TimedOut | Outcome::Dropped | Outcome::Undecodable | Outcome::TooLarge | Outcome::Lost
        ),
    }
}

/// What the write and its answer say that it changed is forgotten.
fn all_changed(core: &Core, conn: &Conn, write: &Write, heard: &Heard) -> usize {
    let named = named(conn, write, heard);
    [&write.address.location].into_iter().chain(&named).map(|written| changed(core, conn, written)).sum()
}

/// Something was written to `written`: what that changes is forgotten, and who waited for it may ask again.
pub fn changed(core: &Core, conn: &Conn, written: &Location) -> usize {
    let now = core.clock.now();
    conn.desk.happens(Until::Write, now.stamp());
    conn.desk.changes(written, now.steady);
    let forgets = |entry: &Entry| conn.desk.gate.forgets(written, entry.head());
    conn.desk.kept().iter().map(|place| room::drop_from(core, place, forgets)).sum()
}
