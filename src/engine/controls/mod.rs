//! What operators set of a connection while it runs: the switch, the interval, how long targets are watched. Each change is durable
//! with who and when, tells what was before, and wins over the file until it is cleared or, where it was set for a time, ends by itself.

mod wish;

pub use wish::{Controls, IntervalWish, Wish};
pub(super) use wish::{only, switch};

use super::appliance::Appliance;
use super::core::{Conn, Core};
use super::view::{ConnectionView, ControlView, ControlsView, Denied, IntervalView, Seconds, SetView, When};
use super::words;
use crate::domain::connection::{ConnectionState, IntervalOverride, Overrides, SpanOverride, Switch};
use crate::domain::event::{EventKind, NewEvent};
use crate::domain::ids::ConnectionKey;
use crate::domain::spec::Interval;
use crate::domain::time::{Now, Span, Stamp};
use crate::rules::schedule;
use crate::store::{Commit, StoreError, Write};
use std::sync::{Arc, PoisonError};

/// After a failure of the store: how long before an override that is over is taken back again.
const STORE_PAUSE: Span = Span::from_secs(5);

impl Appliance {
    /// Changes what an operator may set (F11), durably, all of it or nothing. Goes on if the caller goes away.
    pub async fn change(&self, key: &ConnectionKey, wanted: Controls, by: &str) -> Result<ConnectionView, Denied> {
        let (own, of, by) = (self.clone(), key.clone(), by.to_owned());
        self.to_the_end(async move { own.set(&of, &wanted, &by).await }).await?;
        self.connection(key)
    }

    async fn set(&self, key: &ConnectionKey, wanted: &Controls, by: &str) -> Result<(), Denied> {
        let conn = self.conn(key)?;
        let now = self.now();
        let mut state = conn.state.lock().await;
        // As it is now: it may have got another credential while this waited.
        let conn = self.conn(key)?;
        let mut next = state.clone();
        let (by_whom, at) = (by.to_owned(), now.stamp());
        let spanned = |span| SpanOverride { span, by: by_whom.clone(), at };
        next.enabled = wanted.enabled.over(next.enabled, |on| Switch { on, by: by_whom.clone(), at });
        let set = &mut next.overrides;
        if wanted.interval != Wish::Keep {
            set.set_interval(wanted.interval.over(None, |w| IntervalOverride {
                interval: w.interval,
                until: w.lasts.map(|lasts| at + lasts),
                by: by_whom.clone(),
                at,
            }));
        }
        set.inactivity_ttl = wanted.inactivity_ttl.over(set.inactivity_ttl.take(), spanned);
        set.completion_grace = wanted.completion_grace.over(set.completion_grace.take(), spanned);
        let messages = told(&conn, &state, &next, wanted, by, &now);
        let events = put(&self.core, &conn, &mut state, next, messages, &now).await?;
        drop(state);
        self.core.publish(events);
        self.core.wake(&conn);
        self.core.overridden.notify_one();
        Ok(())
    }
}

/// Writes the new state down, and what follows from another interval: the next poll is due an interval after the last one began.
async fn put(
    core: &Core,
    conn: &Conn,
    state: &mut ConnectionState,
    next: ConnectionState,
    messages: Vec<String>,
    now: &Now,
) -> Result<Vec<crate::domain::event::Event>, StoreError> {
    conn.is_set_as(&next);
    let mut next = next;
    if state.overrides.interval != next.overrides.interval {
        next.next_poll_at = due(core, conn, &next, now).or(next.next_poll_at);
    }
    let event = |message| NewEvent {
        kind: EventKind::ControlChanged,
        at: now.stamp(),
        connection: Some(conn.spec.key.clone()),
        target: None,
        message,
    };
    let commit = Commit {
        writes: vec![Write::Connection(conn.spec.key.clone(), next.clone())],
        events: messages.into_iter().map(event).collect(),
        ..Commit::default()
    };
    match core.store.commit(commit).await {
        Ok(events) => {
            *state = next;
            Ok(events)
        }
        Err(e) => {
            conn.is_set_as(state);
            Err(e)
        }
    }
}

/// Before the first poll: as soon as for a new connection of that interval, and no later than it was due. Never before now, and never sooner than backoff and ramp allow (law 8).
fn due(core: &Core, conn: &Conn, state: &ConnectionState, now: &Now) -> Option<Stamp> {
    let Some(last) = state.last_poll_at else {
        let first = schedule::first(now, conn.spread());
        return state.next_poll_at.map(|due| if due.steady < first.steady { due } else { first });
    };
    let backoff = schedule::backoff(state.failures, conn.base_interval());
    let due = schedule::next(last, last, conn.pace(&core.store.holds(conn.credential)), backoff);
    Some(if due.steady < now.steady { now.stamp() } else { due })
}

/// Takes back what was set for a time, when that is over; also what ended while nothing ran. Runs until the engine stops.
pub async fn watch(core: Arc<Core>) {
    while !core.stop.is_cancelled() {
        let mut next = None;
        for conn in core.connections.values() {
            next = match end(&core, &conn).await {
                Ok(until) => [next, until].into_iter().flatten().min(),
                Err(e) => {
                    tracing::error!(connection = %conn.spec.key, "{e}");
                    [next, Some(core.clock.now().steady + STORE_PAUSE)].into_iter().flatten().min()
                }
            };
        }
        let over = async {
            match next {
                Some(at) => core.clock.sleep_until(at).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = core.stop.cancelled() => {}
            () = core.overridden.notified() => {}
            () = over => {}
        }
    }
}

/// Ends the connection's timed override if its time is up; else says when that will be.
async fn end(core: &Core, conn: &Conn) -> Result<Option<crate::domain::time::Steady>, StoreError> {
    let mut state = conn.state.lock().await;
    let now = core.clock.now();
    let Some(set) = state.overrides.interval.clone() else { return Ok(None) };
    if !set.is_over(now.steady) {
        return Ok(set.until.map(|until| until.steady));
    }
    let mut next = state.clone();
    next.overrides.restore_interval();
    let back = next.overrides.interval.as_ref().map_or(conn.spec.poll.interval, |set| set.interval);
    let message = format!(
        "{}: interval {} \u{2192} {}: the time that {} set it for is over",
        conn.spec.key.connection,
        interval_words(&set.interval),
        interval_words(&back),
        set.by
    );
    // Over is over, whether or not it can be written down.
    *conn.overrides.write().unwrap_or_else(PoisonError::into_inner) = next.overrides.clone();
    let events = put(core, conn, &mut state, next, vec![message], &now).await?;
    drop(state);
    core.publish(events);
    core.wake(conn);
    Ok(None)
}

/// What is in force at start: an override that ended in the meantime is not.
pub fn in_force(state: &ConnectionState, now: &Now) -> Overrides {
    let mut overrides = state.overrides.clone();
    if overrides.interval.as_ref().is_some_and(|set| set.is_over(now.steady)) {
        overrides.restore_interval();
    }
    overrides
}

/// One sentence for each control that was named: before, after, by whom.
fn told(
    conn: &Conn,
    before: &ConnectionState,
    after: &ConnectionState,
    wanted: &Controls,
    by: &str,
    now: &Now,
) -> Vec<String> {
    let name = &conn.spec.key.connection;
    let poll = &conn.spec.poll;
    let mut told = Vec::new();
    if wanted.enabled != Wish::Keep {
        let (what, on) = (switched(wanted.enabled), |state| if conn.enabled(state) { "on" } else { "off" });
        told.push(format!("{name} {what} by {by}: polling {} \u{2192} {}", on(before), on(after)));
    }
    let mut line = |control: &str, wished: bool, before: String, after: String| {
        if wished {
            told.push(format!("{name}: {control} {before} \u{2192} {after}, by {by}"));
        }
    };
    let interval = |set: &Option<IntervalOverride>| match set {
        None => format!("{} as configured", interval_words(&poll.interval)),
        Some(set) => {
            let until = set.until.map(|until| format!(" until {}", words::clock_time(until.wall, now.wall())));
            format!("{}{}", interval_words(&set.interval), until.unwrap_or_default())
        }
    };
    let span = |set: &Option<SpanOverride>, configured: Option<Span>| match set {
        None => format!("{} as configured", span_words(configured)),
        Some(set) => span_words(set.span),
    };
    let (was, is) = (&before.overrides, &after.overrides);
    line("interval", wanted.interval != Wish::Keep, interval(&was.interval), interval(&is.interval));
    let (ttl, grace) = (poll.inactivity_ttl, Some(poll.completion_grace));
    let (wish, [from, to]) = (wanted.inactivity_ttl, [was, is].map(|o| span(&o.inactivity_ttl, ttl)));
    line("inactivity TTL", wish != Wish::Keep, from, to);
    let (wish, [from, to]) = (wanted.completion_grace, [was, is].map(|o| span(&o.completion_grace, grace)));
    line("completion grace", wish != Wish::Keep, from, to);
    told
}

/// What an operator did with the switch.
fn switched(wish: Wish<bool>) -> &'static str {
    match wish {
        Wish::Set(true) => "resumed",
        Wish::Set(false) => "paused",
        Wish::Keep | Wish::Clear => "left to the configuration",
    }
}

fn interval_words(interval: &Interval) -> String {
    match interval {
        Interval::Every(span) => span.exact(),
        Interval::Auto => "auto".to_owned(),
    }
}

fn span_words(span: Option<Span>) -> String {
    span.map_or_else(|| "never".to_owned(), Span::exact)
}

/// What is configured and what is set instead, side by side.
pub fn view(conn: &Conn, state: &ConnectionState, now: &Now) -> ControlsView {
    let when = |at: Stamp| When(at.wall);
    let poll = &conn.spec.poll;
    let spanned = |set: &Option<SpanOverride>, configured: Option<Span>| ControlView {
        configured: configured.map(Seconds),
        set: set.as_ref().map(|o| SetView::of(o.span.map(Seconds), &o.by, when(o.at))),
    };
    let overrides = in_force(state, now);
    ControlsView {
        enabled: ControlView {
            configured: poll.enabled,
            set: state.enabled.as_ref().map(|s| SetView::of(s.on, &s.by, when(s.at))),
        },
        interval: ControlView {
            configured: IntervalView::of(poll.interval),
            set: overrides.interval.as_ref().map(|o| SetView {
                until: o.until.map(|until| When(now.wall_of(until.steady))),
                ..SetView::of(IntervalView::of(o.interval), &o.by, when(o.at))
            }),
        },
        inactivity_ttl_seconds: spanned(&overrides.inactivity_ttl, poll.inactivity_ttl),
        completion_grace_seconds: spanned(&overrides.completion_grace, Some(poll.completion_grace)),
    }
}
