//! Records of what a connection and a target stand at.

use super::codes::Coded;
use super::{MOST, READ, V1, V2, V3, V4, down, unknown_version, up, v1, v2, v3, v4};
use crate::domain::connection::{Breaker, ConnectionState, IntervalOverride, Overrides, Recent, SpanOverride, Switch};
use crate::domain::outcome::Outcome;
use crate::domain::page::Scan;
use crate::domain::spec::Interval;
use crate::domain::target::{TargetState, Trouble};
use crate::domain::time::{Span, Steady, Wall};
use crate::store::codec::{self, Damaged};

pub(in crate::store) fn connection(c: &ConnectionState) -> Result<Vec<u8>, Damaged> {
    let record = v2::Connection {
        last_poll_at: c.last_poll_at.map(down),
        next_poll_at: c.next_poll_at.map(down),
        breaker: match c.breaker {
            Breaker::Closed => v1::Breaker::Closed,
            Breaker::Open { since, until } => v1::Breaker::Open { since: down(since), until: until.0 },
            Breaker::HalfOpen { since } => v1::Breaker::HalfOpen { since: down(since) },
        },
        failures: c.failures,
        backoff_ms: c.backoff_ms,
        last_outcome: c.last_outcome.map(|(at, outcome)| (down(at), outcome.code())),
        enabled: c.enabled.as_ref().map(|s| v1::Switch { on: s.on, by: s.by.clone(), at: down(s.at) }),
        interval: c.overrides.interval.as_ref().map(interval_down),
        inactivity_ttl: c.overrides.inactivity_ttl.as_ref().map(span_down),
        completion_grace: c.overrides.completion_grace.as_ref().map(span_down),
        recent: (c.recent.refused, c.recent.answers, c.recent.trips),
    };
    let standing = c.overrides.standing.as_ref().map(interval_down);
    codec::encode(V3, &v3::Connection { second: record, standing }, MOST)
}

pub(in crate::store) fn connection_of(bytes: &[u8]) -> Result<ConnectionState, Damaged> {
    let v3::Connection { second: c, standing } = match codec::split(bytes)? {
        (V3, payload) => codec::decode::<_, READ>(payload)?,
        (V2, payload) => codec::decode::<v2::Connection, READ>(payload)?.into(),
        (V1, payload) => v2::Connection::from(codec::decode::<v1::Connection, READ>(payload)?).into(),
        (other, _) => return unknown_version(other),
    };
    Ok(ConnectionState {
        last_poll_at: c.last_poll_at.map(up),
        next_poll_at: c.next_poll_at.map(up),
        breaker: match c.breaker {
            v1::Breaker::Closed => Breaker::Closed,
            v1::Breaker::Open { since, until } => Breaker::Open { since: up(since), until: Steady(until) },
            v1::Breaker::HalfOpen { since } => Breaker::HalfOpen { since: up(since) },
        },
        failures: c.failures,
        backoff_ms: c.backoff_ms,
        last_outcome: match c.last_outcome {
            Some((at, outcome)) => Some((up(at), Outcome::coded(outcome)?)),
            None => None,
        },
        enabled: c.enabled.map(|s| Switch { on: s.on, by: s.by, at: up(s.at) }),
        overrides: Overrides {
            interval: c.interval.map(interval_up),
            standing: standing.map(interval_up),
            inactivity_ttl: c.inactivity_ttl.map(span_up),
            completion_grace: c.completion_grace.map(span_up),
        },
        recent: Recent { refused: c.recent.0, answers: c.recent.1, trips: c.recent.2 },
    })
}

fn interval_down(o: &IntervalOverride) -> v2::IntervalOverride {
    let every = match o.interval {
        Interval::Every(span) => Some(span.0),
        Interval::Auto => None,
    };
    v2::IntervalOverride { every, until: o.until.map(down), by: o.by.clone(), at: down(o.at) }
}

fn interval_up(o: v2::IntervalOverride) -> IntervalOverride {
    let interval = o.every.map_or(Interval::Auto, |ms| Interval::Every(Span(ms)));
    IntervalOverride { interval, until: o.until.map(up), by: o.by, at: up(o.at) }
}

fn span_down(o: &SpanOverride) -> v2::SpanOverride {
    v2::SpanOverride { span: o.span.map(|s| s.0), by: o.by.clone(), at: down(o.at) }
}

fn span_up(o: v2::SpanOverride) -> SpanOverride {
    SpanOverride { span: o.span.map(Span), by: o.by, at: up(o.at) }
}

pub(in crate::store) fn target(t: &TargetState) -> Result<Vec<u8>, Damaged> {
    let record = v4::Target {
        as_of: t.as_of.map(down),
        changed_at: t.changed_at.map(down),
        attempted_at: t.attempted_at.map(down),
        generation: t.generation,
        fingerprint: t.fingerprint,
        item_count: t.item_count,
        next_seq: t.next_seq,
        etag: t.etag.clone(),
        last_modified: t.last_modified.clone(),
        trouble: t.trouble.as_ref().map(trouble_down),
        scan: t.scan.as_ref().map(scan_down),
        observed_at: t.observed_at.map(|at| at.0),
    };
    codec::encode(V4, &record, MOST)
}

pub(in crate::store) fn target_of(bytes: &[u8]) -> Result<TargetState, Damaged> {
    let t: v4::Target = match codec::split(bytes)? {
        (V4, payload) => codec::decode::<_, READ>(payload)?,
        (V3, payload) => codec::decode::<v3::Target, READ>(payload)?.into(),
        (V2, payload) => v3::Target::from(codec::decode::<v2::Target, READ>(payload)?).into(),
        (V1, payload) => v3::Target::from(v2::Target::from(codec::decode::<v1::Target, READ>(payload)?)).into(),
        (other, _) => return unknown_version(other),
    };
    Ok(TargetState {
        as_of: t.as_of.map(up),
        changed_at: t.changed_at.map(up),
        attempted_at: t.attempted_at.map(up),
        generation: t.generation,
        fingerprint: t.fingerprint,
        item_count: t.item_count,
        next_seq: t.next_seq,
        etag: t.etag,
        last_modified: t.last_modified,
        trouble: t.trouble.map(trouble_up).transpose()?,
        scan: t.scan.map(scan_up),
        observed_at: t.observed_at.map(Wall),
    })
}

fn scan_down(s: &Scan) -> v2::Scan {
    v2::Scan { pages: s.pages, of: s.of, incomplete: s.incomplete.clone(), at: down(s.at), usual_pages: s.usual_pages }
}

fn scan_up(s: v2::Scan) -> Scan {
    Scan { pages: s.pages, of: s.of, incomplete: s.incomplete, at: up(s.at), usual_pages: s.usual_pages }
}

fn trouble_down(t: &Trouble) -> v1::Trouble {
    v1::Trouble {
        since: down(t.since),
        outcome: t.outcome.code(),
        reason: t.reason.clone(),
        said: t.said.clone(),
        failures: t.failures,
    }
}

fn trouble_up(t: v1::Trouble) -> Result<Trouble, Damaged> {
    Ok(Trouble {
        since: up(t.since),
        outcome: Outcome::coded(t.outcome)?,
        reason: t.reason,
        said: t.said,
        failures: t.failures,
    })
}
