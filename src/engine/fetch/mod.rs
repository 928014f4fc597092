//! The one path of the data: **admit** (write 1) -> **send** -> classify -> extract -> reconcile -> **commit** (write 2) ->
//! publish. The only place that sees both the store and the network. Poller, refresh and commands walk it.
//!
//! A list that comes page by page is fetched a page at a call: see [`scan`]; one that feeds many targets: see [`scanning`].

pub mod circuit;
pub mod doubt;
pub mod exchange;
pub mod holds;
mod in_turn;
pub mod learn;
pub mod lessons;
pub mod open;
pub mod part;
pub mod pass;
pub mod push;
pub mod scan;
pub mod scanning;
pub mod token;
mod trouble;
mod validators;

use super::core::{Conn, Core};
use super::targets::Target;
use super::turns::Turn;
use crate::domain::connection::{ConnectionState, Hold};
use crate::domain::ids::{Caller, ChargeId, Endpoint};
use crate::domain::outcome::Outcome;
use crate::domain::spec::{Conditional, endpoint_of};
use crate::domain::target::TargetState;
use crate::domain::time::{Span, Stamp};
use crate::rules::asking::{self, Asker, TARGET_NAME};
use crate::rules::budget::Refusal;
use crate::rules::paging::{Ask, Pager};
use crate::rules::template::When;
use crate::rules::{breaker, schedule};
use crate::store::{Commit, StoreError, Write};
use crate::upstream::Request;
use exchange::{Asking, exchange};
pub use in_turn::{MOMENT, fetch_all, fetch_in_turn};
use std::collections::BTreeMap;

/// The poller waits in line for its next page at least this long before the part that it has is shown.
const POLLERS_PATIENCE: Span = Span::from_secs(300);
/// Anybody else waits only for a pace between two requests.
const PATIENCE: Span = Span::from_secs(5);

const FED_BY_SCANS: &str = "it has no request of its own: scans feed it, or who pushes its answers";

/// Why nothing was fetched.
#[derive(Debug)]
pub enum Stopped {
    Refused(Refusal),
    /// Something was sent, and what it led on to (a redirect) was refused. Asking again would begin anew, and that is for the next round
    /// (law 8).
    Midway(Refusal),
    /// The access token was not accepted, so that nothing was done, and another one was refused.
    Unrenewed(Refusal),
    /// The same, and there is another token: asking with it was refused.
    Unrepeated(Refusal),
    /// An operator switched the connection off, perhaps while this waited (F11).
    Paused,
    /// Another credential came while this waited: nothing was sent, and whoever asks again asks with that one.
    Superseded,
    /// The request cannot be written down at this moment: a date beyond any calendar.
    Unaskable(String),
    Store(StoreError),
    /// The provider was asked, and what came of it could not be written down: its charge counts until its deadline.
    Unrecorded {
        status: Option<u16>,
        error: StoreError,
    },
}

impl From<StoreError> for Stopped {
    fn from(e: StoreError) -> Stopped {
        Stopped::Store(e)
    }
}

impl Stopped {
    /// What the budget said, whether or not something had been sent by then.
    pub fn refusal(&self) -> Option<&Refusal> {
        match self {
            Stopped::Refused(refusal)
            | Stopped::Midway(refusal)
            | Stopped::Unrenewed(refusal)
            | Stopped::Unrepeated(refusal) => Some(refusal),
            Stopped::Paused
            | Stopped::Superseded
            | Stopped::Unaskable(_)
            | Stopped::Store(_)
            | Stopped::Unrecorded { .. } => None,
        }
    }

    /// Whether something was sent by then, and what it led on to refused: asking again is for the next round.
    pub fn was_sent(&self) -> bool {
        matches!(self, Stopped::Midway(_) | Stopped::Unrenewed(_) | Stopped::Unrepeated(_))
    }

    /// The store failed, with what the provider had answered.
    fn unrecorded(status: Option<u16>) -> impl FnOnce(StoreError) -> Stopped {
        move |error| Stopped::Unrecorded { status, error }
    }

    /// The refusal as one of something that was under way already.
    fn once(self, under_way: fn(Refusal) -> Stopped) -> Stopped {
        match self {
            Stopped::Refused(refusal) => under_way(refusal),
            other => other,
        }
    }
}

/// What became of a fetch.
#[derive(Debug, PartialEq)]
pub struct Done {
    pub outcome: Outcome,
    /// False where somebody else's answer, newer than the wish, was found on the shelf.
    pub asked: bool,
    /// The reading that has another page, by its number.
    pub goes_on: Option<u64>,
}

/// What a caller wants of a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
    /// An answer that arrived after this moment.
    NewerThan(Stamp),
    /// The same, with its content: a confirmation of what is there is not enough.
    Whole(Stamp),
    /// The next page of this reading. Where somebody else has ended it meanwhile, there is none.
    PageOf(u64),
}

impl Wish {
    /// Whether there is nothing to ask for it any more. `is_at`: whether that reading still waits for its next page.
    fn is_fulfilled(self, before: &TargetState, is_at: impl Fn(u64) -> bool) -> bool {
        match self {
            Wish::NewerThan(moment) | Wish::Whole(moment) => {
                before.as_of.is_some_and(|as_of| as_of.steady > moment.steady)
            }
            Wish::PageOf(reading) => !is_at(reading),
        }
    }
}

/// Who asks, with its place in the line.
#[derive(Clone, Copy)]
pub struct By<'a> {
    pub caller: Caller,
    pub turn: Option<&'a Turn<'a>>,
}

/// A polling round. Its first admission stamps the poll clock (A4); other callers have none and do not move it (F5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Round {
    pub due: Stamp,
    /// When its first request was admitted, or the answer came that spared it; not when it was wished for, which may have been long
    /// before.
    pub began: Option<Stamp>,
}

impl Round {
    /// When the next round is due; `None` while this one has not begun. `holds`: the way back from one makes it later.
    pub fn next(&self, conn: &Conn, failures: u32, holds: &[Hold]) -> Option<Stamp> {
        let backoff = schedule::backoff(failures, conn.base_interval());
        Some(schedule::next(self.due, self.began?, conn.pace(holds), backoff))
    }
}

/// Asks the provider about one target: everything in one request, or the next page. An answer that fulfils the wish already costs
/// no other.
pub async fn fetch(
    core: &Core,
    conn: &Conn,
    target: &Target,
    by: By<'_>,
    mut round: Option<&mut Round>,
    wish: Wish,
) -> Result<Done, Stopped> {
    let mut flight = target.flight.lock().await;
    let before = core.store.target(&target.key)?.unwrap_or_default();
    if wish.is_fulfilled(&before, |reading| flight.is_at(reading)) {
        if let (Some(round), Some(as_of)) = (round, before.as_of) {
            satisfied(core, conn, round, as_of).await?;
        }
        return Ok(Done { outcome: Outcome::Data, asked: false, goes_on: None });
    }
    let question = question(core, conn, target)?;
    let place = question.0.location.clone();
    let asks = || scan::Asks { question: question.ask(), revision: target.revision, credential: conn.credential };
    let mut paged = target.pager.as_ref().map(|p| (p, flight.take(p, asks(), wish, &core.clock.now())));
    // Without validators nothing can be confirmed.
    let valid = if matches!(wish, Wish::Whole(_)) { TargetState::default() } else { before.clone() };
    let (request, conditional) = question.request(conn, target, &valid, paged.as_ref());
    let asked = (&before, endpoint(target, &place, &request.location), request);
    let exchanged = match ask(core, conn, target, by, asked, round.as_deref_mut()).await {
        Ok(exchanged) => exchanged,
        Err(stopped) => {
            let asked = scan::Asked { core, conn, target, before: &before, round: None };
            if stopped.was_sent() && paged.as_ref().is_none_or(|(_, reading)| reading.is_first()) {
                part::led_on(asked, &stopped).await?;
            }
            if let Some((_, mut reading)) = paged.take() {
                scan::interrupted(asked, &mut reading, &stopped, patience(conn, by.caller)).await?;
                flight.keep(reading);
            }
            return Err(stopped);
        }
    };
    let before = TargetState { attempted_at: Some(exchanged.reserved_at), ..before };
    match paged {
        None => learn::from_answer(core, conn, target, before, exchanged, conditional, round.as_deref()).await,
        Some((pager, reading)) => {
            let asked = scan::Asked { core, conn, target, before: &before, round: round.as_deref() };
            scan::from_page(asked, pager, &mut flight, reading, exchanged, conditional).await
        }
    }
}

/// What a target asks by itself, or the scan that it is fed by where it cannot be asked.
async fn fetch_either(core: &Core, conn: &Conn, target: &Target, by: By<'_>, wish: Wish) -> Result<Done, Stopped> {
    match conn.asked_by(target) {
        Some(scan) => scanning::fetch(core, conn, scan, by, None, wish).await,
        None => fetch(core, conn, target, by, None, wish).await,
    }
}

/// How long the next page may wait for the budget before what was seen is published as a part.
fn patience(conn: &Conn, caller: Caller) -> Span {
    match caller {
        Caller::Poller => conn.base_interval().max(POLLERS_PATIENCE),
        _ => PATIENCE,
    }
}

/// What a target asks now, before anything is known of pages and validators.
struct Question(asking::Outgoing);

fn question(core: &Core, conn: &Conn, target: &Target) -> Result<Question, Stopped> {
    let when = When::new(core.clock.now().wall(), &conn.spec.time_zone);
    let name = BTreeMap::from([(TARGET_NAME.to_owned(), target.key.target.0.clone())]);
    let get = target.spec.get.as_deref().ok_or_else(|| Stopped::Unaskable(FED_BY_SCANS.to_owned()))?;
    let out = asking::outgoing(get, &target.spec.send, Asker::Target, &when, &name).map_err(Stopped::Unaskable)?;
    Ok(Question(out))
}

/// What a target asks first, without validators: for who wants to hear the provider and not to renew the shelf.
pub fn first_request(core: &Core, conn: &Conn, target: &Target) -> Result<Request, Stopped> {
    let question = question(core, conn, target)?;
    let first = target.pager.as_ref().map(|pager| pager.first(&question.ask()));
    let (request, _) = question.request(conn, target, &TargetState::default(), None);
    Ok(match first {
        Some(Ask { location, body }) => Request { location, body, ..request },
        None => request,
    })
}

impl Question {
    fn ask(&self) -> Ask {
        Ask { location: self.0.location.clone(), body: self.0.body.clone() }
    }

    /// One page of a scan, which is never asked conditionally: every reading is whole.
    fn page(self, conn: &Conn, Ask { location, body }: Ask) -> Request {
        let asking::Outgoing { method, headers, .. } = self.0;
        Request { connection: conn.spec.key.clone(), method, location, headers, body }
    }

    /// What goes out, and whether it asks conditionally.
    fn request(
        self,
        conn: &Conn,
        target: &Target,
        before: &TargetState,
        paged: Option<&(&Pager, scan::Scanning)>,
    ) -> (Request, bool) {
        let asking::Outgoing { method, location, headers, body } = self.0;
        let (ask, speaks_for_all) = match paged {
            None => (Ask { location, body }, true),
            // A 304 to one page says nothing of the others, unless the recipe says that the first speaks for all.
            Some((pager, reading)) => (reading.ask.clone(), reading.is_first() && pager.spec().first_confirms_all),
        };
        let asks_conditionally = target.spec.send.is_get() && conn.spec.conditional != Conditional::Off;
        let asks_conditionally = asks_conditionally && speaks_for_all && was_read_with(conn, before);
        let validators = if asks_conditionally { validators::asking(before) } else { Vec::new() };
        let conditional = !validators.is_empty();
        let headers = [headers, validators].concat();
        let Ask { location, body } = ask;
        (Request { connection: conn.spec.key.clone(), method, location, headers, body }, conditional)
    }
}

/// Pages at the place of the question count on the question's endpoint, whatever a template fills in; others on their own.
fn endpoint(target: &Target, question: &str, location: &str) -> Endpoint {
    let asked = endpoint_of(location);
    match &target.endpoint {
        Some(own) if asked == endpoint_of(question) => own.clone(),
        _ => asked,
    }
}

/// Admit, and send.
async fn ask(
    core: &Core,
    conn: &Conn,
    target: &Target,
    By { caller, turn }: By<'_>,
    (before, endpoint, request): (&TargetState, Endpoint, Request),
    round: Option<&mut Round>,
) -> Result<exchange::Exchanged, Stopped> {
    let asking = Asking { caller, target: Some(target.key.target.clone()), endpoint, cost: target.cost() };
    // Not under the lock of the state, which readers take, and not for a connection that is switched off.
    if !core.may_ask(conn, &*conn.state.lock().await, caller) {
        return Err(Stopped::Paused);
    }
    token::ensure(core, conn, caller).await?;
    let mut state = conn.state.lock().await;
    if !core.may_ask(conn, &state, caller) {
        return Err(Stopped::Paused);
    }
    let begun = round.as_deref().map(|r| Round { began: r.began.or(Some(core.clock.now().stamp())), ..*r });
    let (next, with) = stamp_attempt(core, conn, target, before, &state, begun.as_ref());
    let permit = exchange::admit(core, conn, conn.credential, &asking, with).await?;
    turn.inspect(|turn| turn.went());
    *state = next;
    if let (Some(round), Some(begun)) = (round, begun) {
        *round = begun;
    }
    drop(state);
    exchange(core, conn, &asking, permit, request).await
}

/// Somebody else asked while a round waited for its turn: the answer is as new as the round could wish for, and is the round's. The next
/// one is due an interval after it (law 8), and a restart keeps to that (law 6). Nothing was polled, and nothing says so.
async fn satisfied(core: &Core, conn: &Conn, round: &mut Round, as_of: Stamp) -> Result<(), Stopped> {
    if round.began.is_some() {
        return Ok(());
    }
    let mut state = conn.state.lock().await;
    round.began = Some(as_of);
    let holds = core.store.holds(conn.credential);
    let next = ConnectionState { next_poll_at: round.next(conn, state.failures, &holds), ..state.clone() };
    let writes = vec![Write::Connection(conn.spec.key.clone(), next.clone())];
    let commit = Commit { writes, ..Commit::default() };
    core.commit(commit).await?;
    *state = next;
    Ok(())
}

/// What another credential read may be somebody else's: "not modified" would say nothing of it.
fn was_read_with(conn: &Conn, before: &TargetState) -> bool {
    before.as_of.is_some_and(|as_of| as_of.steady >= conn.since.steady)
}

/// What was read with a credential that is another by now is nothing to ask the other one about.
fn of_now(core: &Core, conn: &Conn, mut learned: learn::Learned) -> learn::Learned {
    if core.connections.is_superseded(conn) {
        for write in &mut learned.writes {
            if let Write::Target(_, state) = write {
                (state.etag, state.last_modified) = (None, None);
            }
        }
    }
    learned
}

pub type With = Box<dyn FnOnce(ChargeId) -> Vec<Write> + Send>;

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
