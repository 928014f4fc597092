//! Records of jobs, events, the clock mark and the process's polling.

use super::codes::Coded;
use super::{MOST, READ, V1, bounded, down, key_of, unknown_version, up, v1};
use crate::clock::ClockMark;
use crate::domain::connection::Switch;
use crate::domain::event::{Event, EventKind, NewEvent};
use crate::domain::ids::{ChargeId, EventId, JobId, TargetName};
use crate::domain::job::{Job, JobRefresh, JobState};
use crate::domain::polling::{PollingState, WorkersOverride};
use crate::domain::time::{Steady, Wall};
use crate::store::codec::{self, Damaged};

pub(in crate::store) fn job(j: &Job) -> Result<Vec<u8>, Damaged> {
    let record = v1::Job {
        organization: j.connection.organization.0.clone(),
        connection: j.connection.connection.0.clone(),
        command: j.command.clone(),
        parameters: bounded(j.parameters.iter().map(|(name, value)| (name.clone(), value.clone())).collect())?,
        state: j.state.code(),
        created_at: down(j.created_at),
        updated_at: down(j.updated_at),
        by: j.by.clone(),
        idempotency_key: j.idempotency_key.clone(),
        request_digest: j.request_digest,
        charge: j.charge.map(|c| c.0),
        message: j.message.clone(),
        refresh: j.refresh.as_ref().map(|r| v1::JobRefresh { target: r.target.0.clone(), result: r.result.clone() }),
    };
    codec::encode(V1, &record, MOST)
}

pub(in crate::store) fn job_of(id: u64, bytes: &[u8]) -> Result<Job, Damaged> {
    let j: v1::Job = match codec::split(bytes)? {
        (V1, payload) => codec::decode::<_, READ>(payload)?,
        (other, _) => return unknown_version(other),
    };
    Ok(Job {
        id: JobId(id),
        connection: key_of(j.organization, j.connection),
        command: j.command,
        parameters: bounded(j.parameters)?.into_iter().collect(),
        state: JobState::coded(j.state)?,
        created_at: up(j.created_at),
        updated_at: up(j.updated_at),
        by: j.by,
        idempotency_key: j.idempotency_key,
        request_digest: j.request_digest,
        charge: j.charge.map(ChargeId),
        message: j.message,
        refresh: j.refresh.map(|r| JobRefresh { target: TargetName(r.target), result: r.result }),
    })
}

pub(in crate::store) fn polling(p: &PollingState) -> Result<Vec<u8>, Damaged> {
    let record = v1::Polling {
        enabled: p.enabled.as_ref().map(|s| v1::Switch { on: s.on, by: s.by.clone(), at: down(s.at) }),
        workers: p.workers.as_ref().map(|w| v1::Workers { workers: w.workers, by: w.by.clone(), at: down(w.at) }),
    };
    codec::encode(V1, &record, MOST)
}

pub(in crate::store) fn polling_of(bytes: &[u8]) -> Result<PollingState, Damaged> {
    let p: v1::Polling = match codec::split(bytes)? {
        (V1, payload) => codec::decode::<_, READ>(payload)?,
        (other, _) => return unknown_version(other),
    };
    Ok(PollingState {
        enabled: p.enabled.map(|s| Switch { on: s.on, by: s.by, at: up(s.at) }),
        workers: p.workers.map(|w| WorkersOverride { workers: w.workers, by: w.by, at: up(w.at) }),
    })
}

pub(in crate::store) fn event(e: &NewEvent) -> Result<Vec<u8>, Damaged> {
    codec::encode(V1, &event_record(e), MOST)
}

pub(super) fn event_record(e: &NewEvent) -> v1::Event {
    v1::Event {
        kind: e.kind.code(),
        at: down(e.at),
        connection: e.connection.as_ref().map(|c| (c.organization.0.clone(), c.connection.0.clone())),
        target: e.target.as_ref().map(|t| t.0.clone()),
        message: e.message.clone(),
    }
}

pub(in crate::store) fn event_of(id: u64, bytes: &[u8]) -> Result<Event, Damaged> {
    match codec::split(bytes)? {
        (V1, payload) => event_value(id, codec::decode::<_, READ>(payload)?),
        (other, _) => unknown_version(other),
    }
}

pub(super) fn event_value(id: u64, e: v1::Event) -> Result<Event, Damaged> {
    let body = NewEvent {
        kind: EventKind::coded(e.kind)?,
        at: up(e.at),
        connection: e.connection.map(|(organization, connection)| key_of(organization, connection)),
        target: e.target.map(TargetName),
        message: e.message,
    };
    Ok(Event { id: EventId(id), body })
}

pub(in crate::store) fn mark(m: &ClockMark) -> Result<Vec<u8>, Damaged> {
    let record = v1::Mark {
        steady: m.steady.0,
        wall: m.wall.0,
        era: m.era,
        boot_id: m.boot_id.clone(),
        boottime_ms: m.boottime_ms,
        offsets: bounded(m.offsets.iter().map(|(offset, until)| (*offset, until.0)).collect())?,
    };
    codec::encode(V1, &record, MOST)
}

pub(in crate::store) fn mark_of(bytes: &[u8]) -> Result<ClockMark, Damaged> {
    let m: v1::Mark = match codec::split(bytes)? {
        (V1, payload) => codec::decode::<_, READ>(payload)?,
        (other, _) => return unknown_version(other),
    };
    Ok(ClockMark {
        steady: Steady(m.steady),
        wall: Wall(m.wall),
        era: m.era,
        boot_id: m.boot_id,
        boottime_ms: m.boottime_ms,
        offsets: bounded(m.offsets)?.into_iter().map(|(offset, until)| (offset, Steady(until))).collect(),
    })
}
