//! What an answer does to the connection's own state: failures in a row, the share of refusals, and the breaker that both open. How
//! long nobody asks follows what was refused: seconds for a moment, hours for a day (F9).

use super::exchange::{Exchanged, Whose};
use crate::domain::connection::{Breaker, ConnectionState, HoldChange, HoldReason, Recent};
use crate::domain::event::{EventKind, NewEvent};
use crate::domain::outcome::{Outcome, Verdict};
use crate::domain::time::{Now, Span, Stamp, Steady};
use crate::engine::core::Conn;
use crate::engine::words::{self, Telling};
use crate::rules::{breaker, schedule, throttle};

/// An answer and what it did to the holds.
pub struct Heard<'a> {
    pub verdict: &'a Verdict,
    pub exchanged: &'a Exchanged,
    pub holds: &'a [HoldChange],
}

/// Failures in a row open the breaker, and so does a window in which many were refused; good answers end both.
pub fn after(conn: &Conn, state: &ConnectionState, heard: &Heard<'_>, now: &Now) -> ConnectionState {
    let outcome = heard.verdict.outcome;
    let mut next = state.clone();
    // What a client asked that is not there, or not for it: the provider answered, and nothing follows for anybody else.
    if heard.exchanged.whose == Whose::Clients && matches!(outcome, Outcome::Unexpected | Outcome::Gone) {
        return next;
    }
    next.last_outcome = Some((now.stamp(), outcome));
    match outcome {
        Outcome::Data | Outcome::NotModified | Outcome::NotReady => {
            next.failures = 0;
            next.recent = throttle::heard(next.recent, false);
            next.breaker = closed(&mut next, heard.exchanged.reserved_at);
        }
        Outcome::Limited | Outcome::Unpaid => refused(conn, &mut next, heard, now),
        Outcome::CredentialRejected | Outcome::Gone | Outcome::Redirected | Outcome::Lost => {
            // The provider answered: a probe that was refused by a limit found the provider alive.
            next.breaker = breaker::on_success(next.breaker);
        }
        _ => {
            next.failures = next.failures.saturating_add(1);
            let pause = schedule::backoff(next.failures, conn.base_interval());
            next.breaker = breaker::on_failure(next.breaker, next.failures, pause, now);
            if outcome == Outcome::Overloaded {
                refused(conn, &mut next, heard, now);
            }
        }
    }
    next.backoff_ms = schedule::backoff(next.failures, conn.base_interval()).0;
    next
}

/// A good answer closes it, unless it was asked for before the breaker opened: then it says nothing about it.
fn closed(next: &mut ConnectionState, asked_at: Stamp) -> Breaker {
    match next.breaker {
        Breaker::Open { since, .. } if asked_at.steady < since.steady => next.breaker,
        Breaker::Closed => Breaker::Closed,
        Breaker::Open { .. } | Breaker::HalfOpen { .. } => {
            next.recent = throttle::closed(next.recent);
            breaker::on_success(next.breaker)
        }
    }
}

fn refused(conn: &Conn, next: &mut ConnectionState, heard: &Heard<'_>, now: &Now) {
    next.recent = throttle::heard(next.recent, true);
    if !throttle::is_throttled(&next.recent) {
        // The provider answered: a probe that was refused by a limit found the provider alive.
        if heard.verdict.outcome != Outcome::Overloaded {
            next.breaker = breaker::on_success(next.breaker);
        }
        return;
    }
    let pause = pause(heard.holds, (conn.spec.waits.default, conn.base_interval()), next.recent.trips, now);
    if !matches!(next.breaker, Breaker::Open { .. }) {
        next.recent = throttle::opened(next.recent);
    }
    next.breaker = breaker::on_throttled(next.breaker, pause, now);
}

/// How long it stays open, on the timescale of the longest hold that the answer made.
fn pause(holds: &[HoldChange], (unhinted, interval): (Span, Span), trips: u32, now: &Now) -> Span {
    let held = holds.iter().filter_map(|change| match change {
        HoldChange::Put(hold) if hold.ramp.is_none() => Some((hold.until.since(now.steady), hold)),
        _ => None,
    });
    match held.max_by_key(|(length, _)| *length) {
        // The hold of a spent day grows by itself, and ends with its reset: nobody waits beyond that (F8).
        Some((length, hold)) if hold.reason == HoldReason::Exhausted => length,
        held => throttle::open_for(held.map(|(length, hold)| (length, hold.strikes)), unhinted, interval, trips),
    }
}

/// One event for each change that people should know of.
pub fn event(
    conn: &Conn,
    now: &Now,
    verdict: &Verdict,
    before: &ConnectionState,
    after: &ConnectionState,
) -> Option<NewEvent> {
    let (kind, message) = match (before.breaker, after.breaker) {
        (Breaker::Closed | Breaker::HalfOpen { .. }, Breaker::Open { until, .. }) => {
            (EventKind::BreakerOpened, opened(conn, verdict, after, until, now))
        }
        (Breaker::Open { .. } | Breaker::HalfOpen { .. }, Breaker::Closed) => {
            (EventKind::BreakerClosed, format!("{} answers again; polling goes on", conn.spec.provider))
        }
        _ => return None,
    };
    Some(NewEvent { kind, at: now.stamp(), connection: Some(conn.spec.key.clone()), target: None, message })
}

/// `verdict`: of the answer that was one too many.
fn opened(conn: &Conn, verdict: &Verdict, state: &ConnectionState, until: Steady, now: &Now) -> String {
    let until = words::time_ahead(until, now, Telling::Kept);
    let sentence = format!("{}; tried again at {until} with one request", ailing(conn, state.recent));
    words::decided(&sentence, verdict.outcome, &verdict.rule, verdict.said.as_deref())
}

/// Why the breaker is open.
pub fn ailing(conn: &Conn, recent: Recent) -> String {
    let (refused, answers) = throttle::share(&recent);
    match throttle::is_throttled(&recent) {
        true => format!("{} refused {refused} of the last {answers} requests", conn.spec.provider),
        false => format!("{} keeps failing", conn.spec.provider),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::connection::{Hold, HoldScope};
    use crate::domain::time::ClockTrust;

    const NOW: u64 = 1_000_000;
    const MINUTE: u64 = 60_000;

    fn held(reason: HoldReason, length: u64, strikes: u32) -> HoldChange {
        HoldChange::Put(Hold {
            scope: HoldScope::Credential,
            since: Stamp::default(),
            until: Steady(NOW + length),
            reason,
            source: String::new(),
            rule: String::new(),
            said: None,
            strikes,
            ramp: None,
        })
    }

    #[test]
    fn the_breaker_stays_open_as_long_as_what_was_refused_and_never_beyond_a_spent_day() {
        let now = Now { steady: Steady(NOW), era: 0, trust: ClockTrust::Trusted, offsets: vec![0] };
        let (day, limited) = (HoldReason::Exhausted, HoldReason::RateLimited);
        let times = (Span(5 * MINUTE), Span(MINUTE));
        for (what, holds, trips, expected) in [
            ("nothing is held", vec![], 0, 5 * MINUTE),
            ("the second time", vec![], 1, 10 * MINUTE),
            ("a hold", vec![held(limited, 7 * MINUTE, 1)], 0, 7 * MINUTE),
            ("the same, the third time", vec![held(limited, 7 * MINUTE, 1)], 2, 28 * MINUTE),
            ("what has grown is not doubled again", vec![held(limited, 28 * MINUTE, 3)], 2, 28 * MINUTE),
            ("a spent day, however often", vec![held(day, 90 * MINUTE, 1)], 6, 90 * MINUTE),
            ("a spent day that resets at once", vec![held(day, 2_000, 4)], 6, 2_000),
            ("the longest counts", vec![held(limited, 7 * MINUTE, 1), held(day, 90 * MINUTE, 1)], 3, 90 * MINUTE),
        ] {
            assert_eq!(pause(&holds, times, trips, &now), Span(expected), "{what}");
        }
    }
}
