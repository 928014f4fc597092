//! The poller: one loop a connection. Waits for what is due, polls one round, and never runs faster for any reason (law 8).

use super::core::{Conn, Core};
use super::fetch::{By, Done, Round, Stopped, Wish, fetch, scanning};
use super::scans::Scan;
use super::targets::Target;
use super::turns::{COURTESIES, Ear, Turn};
use super::words::{self, Telling};
use super::{phases, planning};
use crate::domain::connection::{Breaker, ConnectionState, HoldScope};
use crate::domain::ids::{Caller, ConnectionKey};
use crate::domain::outcome::Outcome;
use crate::domain::time::{Now, Span, Stamp, Steady};
use crate::rules::breaker;
use crate::rules::budget::Refusal;
use crate::rules::hold::back;
use crate::store::StoreError;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use tokio_util::sync::CancellationToken;

/// After a failure of the store: how long before the next attempt.
const STORE_PAUSE: Span = Span::from_secs(5);
/// After a round in which nothing could be asked: how long before the next look.
const IDLE_PAUSE: Span = Span::from_secs(1);

/// A round is given up after so many refusals: those that hold nobody by themselves (a rule that says so, an overload without a wait) would
/// else be as many as there are targets (F8). What is under way side by side is answered all the same: one less than there are workers more.
const MOST_REJECTIONS: u32 = 3;

/// What the loop does next.
#[derive(Debug, PartialEq, Eq)]
enum Step {
    /// Until something rings.
    Idle,
    SleepUntil(Steady),
    Poll {
        due: Stamp,
    },
}

/// Runs until the engine stops or the connection has `left`, each round with the credential and the specification of its moment.
pub async fn run(core: Arc<Core>, key: ConnectionKey, left: CancellationToken) {
    while !core.stop.is_cancelled() && !left.is_cancelled() {
        let Some(conn) = core.connections.get(&key) else { return };
        match next_step(&core, &conn).await {
            // A round is not cut short by a bell: what it charged it resolves. It looks at `stop` by itself.
            Step::Poll { due } => round(&core, &conn, Round { due, began: None }).await,
            Step::SleepUntil(at) => rest(&core, &conn, core.clock.sleep_until(at)).await,
            Step::Idle => rest(&core, &conn, std::future::pending()).await,
        }
    }
}

/// Until `done`, the bell, or the end.
async fn rest(core: &Core, conn: &Conn, done: impl Future<Output = ()>) {
    tokio::select! {
        () = core.stop.cancelled() => {}
        () = conn.left.cancelled() => {}
        () = conn.wake.notified() => {}
        () = done => {}
    }
}

async fn next_step(core: &Core, conn: &Conn) -> Step {
    let state = conn.state.lock().await;
    let now = core.clock.now();
    let held = conn.held_until(&core.store.holds(conn.credential), &now);
    let grace = conn.completion_grace();
    let polled = conn.look(grace, &now);
    decide(core.may_ask(conn, &state, Caller::Poller) && polled && conn.has_polls(), &state, held, &now)
}

fn decide(enabled: bool, state: &ConnectionState, hold: Option<Steady>, now: &Now) -> Step {
    if !enabled {
        return Step::Idle;
    }
    let due = state.next_poll_at.unwrap_or(now.stamp());
    // On the steady timeline alone: a wall clock put right must not make a poll due (law 8).
    let mut until = now.steady.max(due.steady);
    until = until.max(hold.unwrap_or_default());
    if !breaker::allows(&state.breaker, now) {
        until = until.max(breaker::not_before(&state.breaker));
    }
    if until > now.steady { Step::SleepUntil(until) } else { Step::Poll { due } }
}

/// What a round asks about.
enum Asked {
    Target(Arc<Target>),
    Scan(Arc<Scan>),
}

impl Asked {
    fn question(&self) -> &Arc<Target> {
        match self {
            Asked::Target(target) => target,
            Asked::Scan(scan) => &scan.question,
        }
    }

    /// As it is now: a round may be long, and what was taken away meanwhile, or fed by a scan of this round, is not asked about.
    fn now(&self, conn: &Conn) -> Option<Asked> {
        match self {
            Asked::Target(target) => conn.target(&target.key.target).filter(|t| t.is_polled()).map(Asked::Target),
            Asked::Scan(scan) => Some(Asked::Scan(Arc::clone(scan))),
        }
    }

    async fn fetch(
        &self,
        core: &Core,
        conn: &Conn,
        by: By<'_>,
        begun: &mut Round,
        wish: Wish,
    ) -> Result<Done, Stopped> {
        match self {
            Asked::Target(target) => fetch(core, conn, target, by, Some(begun), wish).await,
            Asked::Scan(scan) => scanning::fetch(core, conn, scan, by, Some(begun), wish).await,
        }
    }
}

/// One round over the scans, and the targets that are polled: who waits longest comes first, so that a refusal passes the turn on; of equals the first of the file. Once a hold is over the first request is a probe, to the target
/// that costs least; if a ramp begins with it, the others wait for the next round. The first request of any round goes alone: where it is
/// refused, no other is. The others go side by side where the provider's limits leave the poller room for that.
async fn round(core: &Core, conn: &Conn, mut begun: Round) {
    conn.tell_stretch();
    if let Err(e) = phases::rest_the_quiet(core, conn).await {
        return pause(core, &e.to_string()).await;
    }
    let waiting = match waiting(core, conn) {
        Ok(waiting) => waiting,
        Err(e) => return pause(core, &e.to_string()).await,
    };
    let probe = probe(core, conn, &waiting);
    let rest = (0..waiting.len()).filter(|at| Some(*at) != probe);
    let mut asked = probe.into_iter().chain(rest).filter_map(|at| waiting.get(at));
    let rejections = AtomicU32::new(0);
    while begun.began.is_none() {
        let Some(next) = asked.next() else { return rest_for(core, conn, IDLE_PAUSE).await };
        match visit(core, conn, next, &mut begun, &rejections).await {
            Polled::Asked | Polled::Held => {}
            Polled::Over => return,
            Polled::Trouble(why) => return pause(core, &why).await,
        }
    }
    if probe.is_some() && back::ramp(&core.store.holds(conn.credential)).is_some() {
        return;
    }
    let mut others = FuturesUnordered::new();
    let mut ended = None;
    loop {
        while ended.is_none() && others.len() < conn.side_by_side(core.polling.workers()) {
            let Some(next) = asked.next() else { break };
            others.push(accompany(core, conn, next, begun, &rejections));
        }
        match others.next().await {
            Some(Polled::Asked | Polled::Held) => {}
            Some(over) => ended = ended.or(Some(over)),
            None => break,
        }
    }
    match ended {
        Some(Polled::Trouble(why)) => pause(core, &why).await,
        _ => planning::due_anew(core, conn, begun).await,
    }
}

/// Too much was refused in this round, or the breaker opened meanwhile: it is over for all that were not asked yet.
async fn is_given_up(conn: &Conn, rejections: &AtomicU32) -> bool {
    rejections.load(Ordering::Relaxed) >= MOST_REJECTIONS || conn.state.lock().await.breaker != Breaker::Closed
}

/// A visit beside others of the same round, which has begun.
async fn accompany(core: &Core, conn: &Conn, asked: &Asked, begun: Round, rejections: &AtomicU32) -> Polled {
    if is_given_up(conn, rejections).await {
        return Polled::Over;
    }
    let mut begun = begun;
    visit(core, conn, asked, &mut begun, rejections).await
}

/// As it is now.
async fn visit(core: &Core, conn: &Conn, asked: &Asked, begun: &mut Round, rejections: &AtomicU32) -> Polled {
    match asked.now(conn) {
        Some(asked) => poll(core, conn, &asked, begun, rejections).await,
        None => Polled::Held,
    }
}

/// The scans that are due and the targets that are polled, by their last attempts, the longest ago first; of equals the scans, which may
/// spare some targets their requests.
fn waiting(core: &Core, conn: &Conn) -> Result<Vec<Asked>, StoreError> {
    let now = core.clock.now();
    let mut asked = Vec::new();
    for scan in &conn.scans {
        if !scan.rests() && scan.is_due(core.store.scan(scan.key())?.as_ref(), &now) {
            asked.push(Asked::Scan(Arc::clone(scan)));
        }
    }
    asked.extend(conn.targets.now().iter().filter(|target| target.is_polled()).cloned().map(Asked::Target));
    let attempted = |asked: Asked| {
        let attempted = core.store.target(&asked.question().key)?.and_then(|s| s.attempted_at).map(|at| at.steady);
        Ok((attempted, asked))
    };
    let mut waiting = asked.into_iter().map(attempted).collect::<Result<Vec<_>, StoreError>>()?;
    waiting.sort_by_key(|(attempted, _)| *attempted);
    Ok(waiting.into_iter().map(|(_, asked)| asked).collect())
}

/// The target that finds out whether the credential's hold is over; `None` where there is nothing to find out.
fn probe(core: &Core, conn: &Conn, waiting: &[Asked]) -> Option<usize> {
    let now = core.clock.now();
    let holds = core.store.holds(conn.credential);
    let hold = holds.iter().find(|h| h.scope == HoldScope::Credential && h.is_unproven(now.steady))?;
    let costs: Vec<u32> = waiting.iter().map(|asked| asked.question().cost()).collect();
    let order: Vec<usize> = (0..costs.len()).collect();
    back::probe(&costs, &order, hold)
}

async fn rest_for(core: &Core, conn: &Conn, span: Span) {
    let until = core.clock.now().steady + span;
    rest(core, conn, core.clock.sleep_until(until)).await;
}

/// What became of one target's turn.
enum Polled {
    Asked,
    /// This endpoint is held by itself, or led on to where the budget does not follow, or the target was taken away while it waited: not
    /// again in this round, but others may go.
    Held,
    /// Nothing more is to be asked in this round: a hold, a switch, the end.
    Over,
    Trouble(String),
}

/// Asks about one target: once, or page by page. Each page takes a place in line of its own: a long list does not hold up others.
async fn poll(core: &Core, conn: &Conn, asked: &Asked, begun: &mut Round, rejections: &AtomicU32) -> Polled {
    let mut wish = None;
    loop {
        let polled = poll_once(core, conn, asked, begun, wish).await;
        let refused = |outcome| matches!(outcome, Outcome::Limited | Outcome::Overloaded | Outcome::Unpaid);
        if polled.as_ref().is_ok_and(|done| done.asked && refused(done.outcome)) {
            rejections.fetch_add(1, Ordering::Relaxed);
        }
        match polled {
            // On the way back from a hold a page is a round: the reading goes on in the next.
            Ok(Done { goes_on: Some(reading), .. }) if back::ramp(&core.store.holds(conn.credential)).is_none() => {
                wish = Some(Wish::PageOf(reading));
            }
            Ok(_) => return Polled::Asked,
            Err(over) => return over,
        }
    }
}

/// Asks once the budget lets it, behind those who waited longer for the same budget.
async fn poll_once(
    core: &Core,
    conn: &Conn,
    asked: &Asked,
    begun: &mut Round,
    wish: Option<Wish>,
) -> Result<Done, Polled> {
    let target = asked.question();
    let Some(turns) = core.turns(conn.credential) else { return Err(Polled::Over) };
    let Some(endpoint) = target.endpoint.clone() else { return Err(Polled::Held) };
    let turn = turns.enter(conn.ask(Caller::Poller, endpoint, target.cost()));
    let mut ear = turns.ear();
    // Whatever arrives from now on is as new as this round can wish for, however long it waits.
    let wish = wish.unwrap_or(Wish::NewerThan(core.clock.now().stamp()));
    loop {
        ear.listen();
        let at = match let_others_go(core, conn, &turn, &mut ear).await {
            false => return Err(Polled::Over),
            true if !is_current(conn, asked) => return Err(Polled::Held),
            true => match at_a_desk(core, conn, asked, &turn, &mut *begun, wish).await {
                Ok(done) => return Ok(done),
                Err(Stopped::Refused(Refusal::NotUntil { at, limit })) if at != Steady::MAX => {
                    conn.after_refusal(&limit, at)
                }
                Err(Stopped::Refused(Refusal::Probing { at })) => at,
                Err(stopped) if stopped.was_sent() => return Err(Polled::Held),
                Err(Stopped::Refused(Refusal::Held(hold))) if hold.scope != HoldScope::Credential => {
                    return Err(Polled::Held);
                }
                Err(Stopped::Refused(Refusal::Held(_)) | Stopped::Paused | Stopped::Superseded) => {
                    return Err(Polled::Over);
                }
                Err(stopped) => {
                    let why = words::why(&stopped, &core.clock.now(), Telling::Kept);
                    return Err(Polled::Trouble(format!("{}: {why}", target.key)));
                }
            },
        };
        // The refusal is exact; a slice of patience keeps a ledger that disagrees from turning this into a busy loop.
        let at = at.max(core.clock.now().steady + Span(10));
        if !wait(core, conn, &mut ear, at).await {
            return Err(Polled::Over);
        }
    }
}

/// Sends from one of the process's desks; waiting for the budget takes none.
async fn at_a_desk(
    core: &Core,
    conn: &Conn,
    asked: &Asked,
    turn: &Turn<'_>,
    begun: &mut Round,
    wish: Wish,
) -> Result<Done, Stopped> {
    let _desk = core.polling.desk().await;
    asked.fetch(core, conn, By { caller: Caller::Poller, turn: Some(turn) }, begun, wish).await
}

/// Whether the target is still the one of its name, and polled.
fn is_current(conn: &Conn, asked: &Asked) -> bool {
    let Asked::Target(target) = asked else { return true };
    let of_its_name = conn.target(&target.key.target);
    of_its_name.is_some_and(|current| current.revision == target.revision && current.is_polled())
}

/// Gives way, for a short while, to whoever comes first and could go now. False if polling is over meanwhile.
async fn let_others_go(core: &Core, conn: &Conn, turn: &Turn<'_>, ear: &mut Ear) -> bool {
    for _ in 0..COURTESIES {
        let Some(at) = turn.gives_way(core, conn.credential) else { break };
        if !wait(core, conn, ear, at).await {
            return false;
        }
    }
    !core.stop.is_cancelled()
}

/// Until `at`, or until the bell says that it may be earlier. False if polling was switched off, or the engine stops, meanwhile.
async fn wait(core: &Core, conn: &Conn, ear: &mut Ear, at: Steady) -> bool {
    let sooner = async {
        tokio::select! {
            () = core.clock.sleep_until(at) => {}
            () = ear.rung() => {}
        }
    };
    rest(core, conn, sooner).await;
    !core.stop.is_cancelled() && core.may_ask(conn, &*conn.state.lock().await, Caller::Poller)
}

async fn pause(core: &Core, why: &str) {
    tracing::error!("polling pauses for {STORE_PAUSE}: {why}");
    let until = core.clock.now().steady + STORE_PAUSE;
    tokio::select! {
        () = core.stop.cancelled() => {}
        () = core.clock.sleep_until(until) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::time::ClockTrust;

    fn now(ms: u64) -> Now {
        Now { steady: Steady(ms), era: 0, trust: ClockTrust::Trusted, offsets: vec![0] }
    }
    fn due(ms: u64) -> ConnectionState {
        ConnectionState { next_poll_at: Some(now(ms).stamp()), ..ConnectionState::default() }
    }

    #[test]
    fn what_the_loop_does_next() {
        let open = Breaker::Open { since: Stamp::default(), until: Steady(9_000) };
        for (what, enabled, state, hold, expected) in [
            ("switched off", false, due(0), None, Step::Idle),
            ("not due", true, due(2_000), None, Step::SleepUntil(Steady(2_000))),
            ("due", true, due(1_000), None, Step::Poll { due: now(1_000).stamp() }),
            ("held longer", true, due(2_000), Some(Steady(7_000)), Step::SleepUntil(Steady(7_000))),
            (
                "a hold that is over does not hasten",
                true,
                due(2_000),
                Some(Steady(10)),
                Step::SleepUntil(Steady(2_000)),
            ),
            ("breaker open", true, ConnectionState { breaker: open, ..due(0) }, None, Step::SleepUntil(Steady(9_000))),
            ("never polled", true, ConnectionState::default(), None, Step::Poll { due: now(1_000).stamp() }),
        ] {
            assert_eq!(decide(enabled, &state, hold, &now(1_000)), expected, "{what}");
        }
    }
}
