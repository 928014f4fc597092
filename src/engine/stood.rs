//! How connections stood: looked at whenever something happens or age turns a state, and written down where it is otherwise than before. A turn
//! that is news is told once, over restarts too. What nobody saw, because Larder did not run, is written down as that at the next start. Knows
//! the one word of each connection; must not know what it follows from.

use super::appliance::Appliance;
use super::core::{Conn, Core};
use super::snapshot::{self, Snapshot};
use super::view::{Denied, StoodStretch, StoodView, When};
use super::{voices, words};
use crate::domain::event::{Event, EventKind, NewEvent};
use crate::domain::ids::ConnectionKey;
use crate::domain::state::{State, Stood};
use crate::domain::time::{Now, Span, Stamp, Steady};
use crate::store::{Commit, Lane, StoreError, Write};
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio::sync::broadcast::{self, error::TryRecvError};

/// Besides what happens and what age turns: a budget that others use up is told by nobody.
const EVERY: Span = Span::from_secs(10);
const BREATH: Span = Span::from_secs(1);
/// Targets that are looked at for one breath.
const TOGETHER: u64 = 100;
/// How long it is remembered.
const KEEP: Span = Span::from_secs(8 * 86_400);
/// Changes that are forgotten at once.
const FORGET: usize = 50;
/// Changes that are read for one look: what flickers with every look for half a day.
const MOST: usize = 4_000;

/// What was written down last of each connection.
type Known = BTreeMap<ConnectionKey, State>;

/// What was told last of each, and since when it was so: over restarts too, so that each turn is told once.
type Told = BTreeMap<ConnectionKey, Stood>;

/// Runs until the engine stops. `last_alive`: the newest moment of the run before this one, where there was one.
pub async fn watch(core: Arc<Core>, last_alive: Option<Stamp>) {
    let mut heard = core.subscribe();
    let mut known = Known::new();
    let mut told = match asleep(&core, last_alive).await {
        Ok(told) => told,
        Err(e) => {
            tracing::warn!("how connections stood before this start cannot be read: {e}");
            Told::new()
        }
    };
    while !core.stop.is_cancelled() {
        let next = match look(&core, &mut known, &mut told).await {
            Ok(next) => next,
            Err(e) => {
                // Whatever keeps it from being written is told where it matters.
                tracing::debug!("how connections stand was not written down: {e}");
                core.clock.now().steady + EVERY
            }
        };
        tokio::select! {
            () = core.stop.cancelled() => {}
            () = core.clock.sleep_until(next) => {}
            _ = heard.recv() => settle(&core, &mut heard).await,
        }
    }
}

/// What happens together is looked at together.
async fn settle(core: &Core, heard: &mut broadcast::Receiver<Event>) {
    // A look reads every target: with a thousand of them it is taken more rarely.
    let targets: usize = core.connections.values().map(|conn| conn.targets.now().len()).sum();
    let breath = Span(BREATH.0 * (1 + targets as u64 / TOGETHER));
    core.clock.sleep_until(core.clock.now().steady + breath).await;
    while !matches!(heard.try_recv(), Err(TryRecvError::Empty | TryRecvError::Closed)) {}
}

/// From the last sign of life of the run before until now nobody saw how they stood. How that run saw them last.
async fn asleep(core: &Core, last_alive: Option<Stamp>) -> Result<Told, StoreError> {
    let (mut writes, mut told) = (Vec::new(), Told::new());
    for key in core.connections.values().map(|conn| conn.spec.key.clone()) {
        let rows = core.store.stood(&key, Steady(0), FORGET)?;
        let seen = rows.iter().rev().find(|stood| stood.state.is_some());
        told.extend(seen.map(|last| (key.clone(), *last)));
        let Some(last) = rows.last().filter(|last| last.state.is_some()) else { continue };
        let since = last_alive.filter(|alive| alive.steady > last.since.steady).unwrap_or(last.since + Span(1));
        writes.push(Write::Stood(key, Stood { since, state: None }));
    }
    write(core, writes, Vec::new()).await?;
    Ok(told)
}

/// Writes down and tells what has turned. When to look again: as soon as age turns something.
async fn look(core: &Core, known: &mut Known, told: &mut Told) -> Result<Steady, StoreError> {
    let (mut writes, mut events) = (Vec::new(), Vec::new());
    let (mut seen, mut telling) = (Known::new(), told.clone());
    let now = core.clock.now();
    let mut next = now.steady + EVERY;
    for conn in core.connections.values() {
        let key = &conn.spec.key;
        let (state, turns) = word(core, &conn)?;
        next = next.min(turns.map_or(next, |left| now.steady + left));
        seen.insert(key.clone(), state);
        if known.get(key) == Some(&state) {
            continue;
        }
        let stood = Stood { since: now.stamp(), state: Some(state) };
        writes.push(Write::Stood(key.clone(), stood));
        let over = Steady(now.steady.0.saturating_sub(KEEP.0));
        let old = core.store.stood_before(key, over, FORGET)?;
        writes.extend(old.into_iter().map(|since| Write::ForgetStood(key.clone(), since)));
        match telling.get(key).and_then(|last| Some((last.state?, last.since))) {
            Some((was, _)) if !was.is_left_for(state) => {}
            Some((was, since)) => {
                events.push(turned(key, words::turned(was, since, state, &now), &now));
                telling.insert(key.clone(), stood);
            }
            // Where it begins is no news.
            None => _ = telling.insert(key.clone(), stood),
        }
    }
    // One that is taken away while everything runs is seen by nobody until it comes back.
    let gone = known.keys().filter(|key| !seen.contains_key(key));
    writes.extend(gone.map(|key| Write::Stood(key.clone(), Stood { since: now.stamp(), state: None })));
    write(core, writes, events).await?;
    (*known, *told) = (seen, telling);
    Ok(next)
}

/// As every surface says it, and in how long age turns it.
fn word(core: &Core, conn: &Conn) -> Result<(State, Option<Span>), StoreError> {
    let snapshot = Snapshot::take(core, conn)?;
    let watched = snapshot::watched(core, conn, &snapshot)?;
    let voices = snapshot::voices(&watched);
    let spoken = voices::spoken(&voices, snapshot::own_word(conn, &snapshot));
    Ok((spoken.state, spoken.turns.first().map(|(left, _)| *left)))
}

fn turned(key: &ConnectionKey, message: String, now: &Now) -> NewEvent {
    tracing::info!(connection = %key, "{message}");
    NewEvent { kind: EventKind::StateChanged, at: now.stamp(), connection: Some(key.clone()), target: None, message }
}

/// With whatever is written next: a change that a crash takes is one that nobody saw. One that is told is on the disk first.
async fn write(core: &Core, writes: Vec<Write>, events: Vec<NewEvent>) -> Result<(), StoreError> {
    if writes.is_empty() {
        return Ok(());
    }
    let events = core.commit(Commit { writes, events, lane: Lane::Lazy, ..Commit::default() }).await?;
    core.publish(events);
    Ok(())
}

/// Since when a connection is in a state that nobody was told it left: a restart in between does not end it.
pub fn since(core: &Core, key: &ConnectionKey, state: State) -> Result<Option<Stamp>, StoreError> {
    let rows = core.store.stood(key, Steady(0), FORGET)?;
    let seen = rows.iter().rev().filter_map(|row| Some((row.state?, row.since)));
    Ok(seen.take_while(|(was, _)| !was.is_left_for(state)).last().map(|(_, since)| since))
}

impl Appliance {
    /// How a connection stood for so long, up to now.
    pub fn stood(&self, key: &ConnectionKey, long: Span) -> Result<StoodView, Denied> {
        self.conn(key)?;
        let now = self.now();
        let from = Steady(now.steady.0.saturating_sub(long.0));
        Ok(view(&now, long, &self.core.store.stood(key, from, MOST)?))
    }
}

fn view(now: &Now, long: Span, changes: &[Stood]) -> StoodView {
    let (from, until) = (now.wall() - long, now.wall());
    // By how long ago it was, and not by what the clock said then: it may have been put right since.
    let moment = |change: &Stood| (now.wall() - now.age_of(change.since)).max(from);
    let mut stretches: Vec<StoodStretch> = Vec::new();
    for (n, change) in changes.iter().enumerate() {
        let begins = stretches.last().map_or(from, |last| last.until.0).max(moment(change));
        let ends = changes.get(n + 1).map_or(until, moment).max(begins);
        match stretches.last_mut() {
            Some(last) if last.state == change.state => last.until = When(ends),
            _ if ends > begins => {
                stretches.push(StoodStretch { from: When(begins), until: When(ends), state: change.state });
            }
            _ => {}
        }
    }
    StoodView { from: When(from), until: When(until), stretches }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::time::{ClockTrust, Wall};

    const HOUR: u64 = 3_600_000;

    fn at(steady: u64) -> Now {
        Now { steady: Steady(steady), era: 1, trust: ClockTrust::Trusted, offsets: vec![1_000_000] }
    }

    fn change(steady: u64, era: u32, state: Option<State>) -> Stood {
        Stood { since: Stamp { era, ..at(steady).stamp() }, state }
    }

    fn told(now: &Now, changes: &[Stood]) -> Vec<(i64, i64, Option<State>)> {
        let hours = |w: When| (w.0.0 - now.wall().0).div_euclid(HOUR as i64);
        let view = view(now, Span(24 * HOUR), changes);
        view.stretches.iter().map(|s| (hours(s.from), hours(s.until), s.state)).collect()
    }

    #[test]
    fn a_day_begins_with_how_it_stood_before() {
        let now = at(100 * HOUR);
        let held = [
            change(50 * HOUR, 1, Some(State::Fresh)),
            change(90 * HOUR, 1, Some(State::Held)),
            change(91 * HOUR, 1, None),
            change(93 * HOUR, 1, Some(State::Fresh)),
        ];
        let expected =
            [(-24, -10, Some(State::Fresh)), (-10, -9, Some(State::Held)), (-9, -7, None), (-7, 0, Some(State::Fresh))];
        assert_eq!(told(&now, &held), expected);
        assert_eq!(told(&now, &held[1..]), &expected[1..], "before the first of them nobody knows");
        assert_eq!(told(&now, &[]), []);
    }

    /// Of a darkness that nobody measured the wall clock alone knows how long it was.
    #[test]
    fn a_clock_that_was_put_right_makes_no_stretch_run_backwards() {
        let now = at(100 * HOUR);
        let mut early = change(99 * HOUR, 0, Some(State::Stale));
        early.since.wall = now.wall() - Span(3 * HOUR);
        let mut ahead = change(98 * HOUR, 0, Some(State::Fresh));
        ahead.since.wall = Wall(i64::MAX);
        let stood = told(&now, &[ahead, early, change(99 * HOUR + 1, 1, Some(State::Fresh))]);
        assert!(
            stood.windows(2).all(|w| w[0].1 <= w[1].0) && stood.iter().all(|(from, until, _)| from < until),
            "{stood:?}"
        );
        assert_eq!(stood.last(), Some(&(-1, 0, Some(State::Fresh))));
    }
}
