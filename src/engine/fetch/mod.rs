//! The one path of the data: **admit** (write 1) -> **send** -> classify -> extract -> reconcile -> **commit** (write 2) ->
//! publish. The only place that sees both the store and the network. Poller, refresh and commands walk it.

pub mod exchange;
mod holds;
pub mod learn;

use super::core::{Conn, Core, Target};
use crate::domain::connection::{ConnectionState, Hold};
use crate::domain::ids::{Caller, ChargeId};
use crate::domain::outcome::Outcome;
use crate::domain::spec::Conditional;
use crate::domain::target::TargetState;
use crate::domain::time::Stamp;
use crate::rules::asking::{self, Asker, Outgoing};
use crate::rules::budget::Refusal;
use crate::rules::template::When;
use crate::rules::{breaker, schedule};
use crate::store::{StoreError, Write};
use crate::upstream::Request;
use exchange::{Asking, exchange};
use std::collections::BTreeMap;

/// Why nothing was fetched.
#[derive(Debug)]
pub enum Stopped {
    Refused(Refusal),
    /// An operator switched the connection off, perhaps while this waited (F11).
    Paused,
    /// The request cannot be written down at this moment: a date beyond any calendar.
    Unaskable(String),
    Store(StoreError),
}

impl From<StoreError> for Stopped {
    fn from(e: StoreError) -> Stopped {
        Stopped::Store(e)
    }
}

/// What became of a fetch.
#[derive(Debug, PartialEq)]
pub struct Done {
    pub outcome: Outcome,
    /// False where somebody else's answer, newer than the wish, was found on the shelf.
    pub asked: bool,
}

/// A polling round. Its first admission stamps the poll clock (A4); other callers have none and do not move it (F5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Round {
    pub due: Stamp,
    /// When its first request was admitted; not when it was wished for, which may have been long before.
    pub began: Option<Stamp>,
}

impl Round {
    /// When the next round is due; `None` while this one has not begun. `holds`: the way back from one makes it later.
    pub fn next(&self, conn: &Conn, failures: u32, holds: &[Hold]) -> Option<Stamp> {
        let backoff = schedule::backoff(failures, conn.base_interval());
        Some(schedule::next(self.due, self.began?, conn.pace(holds), backoff))
    }
}

/// Asks the provider about one target. `wished_at`: an answer that arrived later fulfils the wish without another request.
pub async fn fetch(
    core: &Core,
    conn: &Conn,
    target: &Target,
    caller: Caller,
    mut round: Option<&mut Round>,
    wished_at: Stamp,
) -> Result<Done, Stopped> {
    let _flight = target.flight.lock().await;
    let before = core.store.target(&target.key)?.unwrap_or_default();
    if before.as_of.is_some_and(|as_of| as_of.steady > wished_at.steady) {
        return Ok(Done { outcome: Outcome::Data, asked: false });
    }
    let asking = Asking {
        caller,
        target: Some(target.key.target.clone()),
        endpoint: target.spec.endpoint(),
        cost: target.cost(),
    };
    let (request, conditional) = request(core, conn, target, &before)?;
    let exchanged = {
        let mut state = conn.state.lock().await;
        if !conn.enabled(&state) {
            return Err(Stopped::Paused);
        }
        let begun = round.as_deref().map(|r| Round { began: r.began.or(Some(core.clock.now().stamp())), ..*r });
        let (next, with) = stamp_attempt(core, conn, target, &before, &state, begun.as_ref());
        let permit = exchange::admit(core, conn, &asking, with).await?;
        *state = next;
        if let (Some(round), Some(begun)) = (round.as_deref_mut(), begun) {
            *round = begun;
        }
        drop(state);
        exchange(core, conn, &asking, permit, request).await?
    };
    let before = TargetState { attempted_at: Some(exchanged.reserved_at), ..before };
    learn::from_answer(core, conn, target, before, exchanged, conditional, round.as_deref()).await
}

/// What goes out now, and whether it asks conditionally.
fn request(core: &Core, conn: &Conn, target: &Target, before: &TargetState) -> Result<(Request, bool), Stopped> {
    let when = When::new(core.clock.now().wall(), &conn.spec.time_zone);
    let (get, send) = (&target.spec.get, &target.spec.send);
    let out = asking::outgoing(get, send, Asker::Target, &when, &BTreeMap::new()).map_err(Stopped::Unaskable)?;
    let asks_conditionally = send.is_get() && conn.spec.conditional != Conditional::Off;
    let validators = if asks_conditionally { validators(before) } else { Vec::new() };
    let conditional = !validators.is_empty();
    let headers = [out.headers, validators].concat();
    let Outgoing { method, location, body, .. } = out;
    Ok((Request { connection: conn.spec.key.clone(), method, location, headers, body }, conditional))
}

/// Asks cheaply where the provider gave validators (RFC 9110 section 13).
fn validators(before: &TargetState) -> Vec<(String, String)> {
    let etag = before.etag.iter().map(|v| ("if-none-match".to_owned(), v.clone()));
    let modified = before.last_modified.iter().map(|v| ("if-modified-since".to_owned(), v.clone()));
    etag.chain(modified).collect()
}

type With = Box<dyn FnOnce(ChargeId) -> Vec<Write> + Send>;

/// The attempt is stamped in the transaction of its charge: before the call, whatever becomes of it.
fn stamp_attempt(
    core: &Core,
    conn: &Conn,
    target: &Target,
    before: &TargetState,
    state: &ConnectionState,
    round: Option<&Round>,
) -> (ConnectionState, With) {
    let now = core.clock.now();
    let mut next = state.clone();
    next.breaker = breaker::on_attempt(next.breaker, &now);
    if let Some(round) = round {
        next.last_poll_at = round.began;
        next.next_poll_at = round.next(conn, next.failures, &core.store.holds(conn.credential));
    }
    let attempted = TargetState { attempted_at: Some(now.stamp()), ..before.clone() };
    let mut writes = vec![Write::Target(target.key.clone(), attempted)];
    if next != *state {
        writes.push(Write::Connection(conn.spec.key.clone(), next.clone()));
    }
    (next, Box::new(move |_| writes))
}
