//! Fetching for somebody who waits for the answer: in the line of those who wait for the same budget, and for no longer than people wait.

use super::{By, Done, Stopped, Wish, fetch_either, patience};
use crate::domain::ids::Caller;
use crate::domain::time::{Span, Stamp, Steady};
use crate::engine::core::{Conn, Core};
use crate::engine::targets::Target;
use crate::engine::turns::{COURTESIES, Ear};
use crate::rules::budget::Refusal;

/// Before anything was asked: for what is over in a moment, a pace or others under way.
pub const MOMENT: Span = Span::from_secs(2);

/// Every page of a target, each in its turn: between two pages it waits only as long as a person would. Where another credential or another
/// specification comes before anything was sent, it begins anew with that.
pub async fn fetch_all(
    core: &Core,
    conn: &Conn,
    target: &Target,
    caller: Caller,
    wished_at: Stamp,
) -> Result<Done, Stopped> {
    let mut current = core.connections.get(&conn.spec.key);
    let mut anew = None;
    loop {
        let (conn, target) = (current.as_deref().unwrap_or(conn), anew.as_deref().unwrap_or(target));
        match every_page(core, conn, target, caller, wished_at).await {
            Err(Stopped::Superseded) => {}
            done => return done,
        }
        current = core.connections.get(&target.key.connection);
        anew = current.as_ref().and_then(|conn| conn.target(&target.key.target));
        if anew.is_none() {
            return Err(Stopped::Superseded);
        }
    }
}

async fn every_page(
    core: &Core,
    conn: &Conn,
    target: &Target,
    caller: Caller,
    wished_at: Stamp,
) -> Result<Done, Stopped> {
    let mut done = fetch_in_turn(core, conn, target, caller, Wish::NewerThan(wished_at)).await?;
    while let Some(reading) = done.goes_on {
        match fetch_in_turn(core, conn, target, caller, Wish::PageOf(reading)).await {
            Ok(next) => done = Done { asked: true, ..next },
            // What was seen is on the shelf, and said to be a part.
            Err(stopped) if stopped.refusal().is_some() || matches!(stopped, Stopped::Paused) => {
                return Ok(Done { goes_on: None, ..done });
            }
            Err(e) => return Err(e),
        }
    }
    Ok(done)
}

/// One request for somebody who waits for its answer: behind those who come first, and again where what refused it is over in a moment.
pub async fn fetch_in_turn(
    core: &Core,
    conn: &Conn,
    target: &Target,
    caller: Caller,
    wish: Wish,
) -> Result<Done, Stopped> {
    let question = conn.asked_for(target);
    let place = core.turns(conn.credential).zip(question.endpoint.clone());
    let Some((line, endpoint)) = place else {
        return fetch_either(core, conn, target, By { caller, turn: None }, wish).await;
    };
    let turn = line.enter(conn.ask(caller, endpoint, question.cost()));
    let mut ear = line.ear();
    let is_first = !matches!(wish, Wish::PageOf(_));
    let ends = core.clock.now().steady + if is_first { MOMENT } else { patience(conn, caller) };
    loop {
        ear.listen();
        for _ in 0..COURTESIES {
            let Some(at) = turn.gives_way(core, conn.credential) else { break };
            wait(core, &mut ear, at).await;
        }
        let stopped = match fetch_either(core, conn, target, By { caller, turn: Some(&turn) }, wish).await {
            Ok(done) => return Ok(done),
            Err(stopped) => stopped,
        };
        let now = core.clock.now().steady;
        let again = match &stopped {
            Stopped::Refused(Refusal::NotUntil { at, limit }) => conn.moment(limit, *at, ends).or(later(*at, is_first)),
            Stopped::Refused(Refusal::Probing { at }) => later(*at, is_first),
            _ => None,
        };
        match again.filter(|at| *at <= ends && now < ends) {
            Some(at) if wait(core, &mut ear, at.max(now + Span(10))).await => {}
            _ => return Err(stopped),
        }
    }
}

/// The next page waits for whatever there is; the first only for a moment.
fn later(at: Steady, is_first: bool) -> Option<Steady> {
    (!is_first).then_some(at)
}

/// Until `at`, or until the bell says that it may be earlier. False once the engine stops.
async fn wait(core: &Core, ear: &mut Ear, at: Steady) -> bool {
    tokio::select! {
        () = core.stop.cancelled() => {}
        () = core.clock.sleep_until(at) => {}
        () = ear.rung() => {}
    }
    !core.stop.is_cancelled()
}
