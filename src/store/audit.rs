//! What has to hold between the rows of a file, beyond each of them being readable: no line of a history is missing, no charge is settled before it
//! was made, an index and what it leads to agree. Reads only; what a row says is for `entry`, what is summed for `sums`.

use super::StoreError;
use super::codec::Damaged;
use super::read::{ALL, Order, Snapshot, numbered};
use super::records;
use super::tables::{self, Table};
use crate::domain::charge::Charge;
use crate::domain::finding::Finding;
use crate::domain::job::Job;
use std::ops::ControlFlow;

/// The first contradiction, as half a sentence.
pub(super) fn contradiction(snapshot: &Snapshot<'_>) -> Result<Option<String>, StoreError> {
    for look in [ledger, histories, jobs, job_index, findings, finding_index] {
        if let Some(found) = look(snapshot)? {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// Shows the rows of a table until one of them contradicts.
fn first(
    snapshot: &Snapshot<'_>,
    table: Table,
    mut see: impl FnMut(&[u8], &[u8]) -> Result<Option<String>, Damaged>,
) -> Result<Option<String>, StoreError> {
    let mut found = None;
    snapshot.visit(table, ALL, Order::Forth, |key, value| {
        found = see(key, value)?;
        Ok(if found.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    })?;
    Ok(found)
}

fn ledger(snapshot: &Snapshot<'_>) -> Result<Option<String>, StoreError> {
    first(snapshot, Table::Charges, |key, value| {
        let Charge { id, reserved_at, deadline, resolution, .. } = records::charge_of(numbered(key)?, value)?;
        let settled = resolution.map(|resolution| resolution.at.steady);
        Ok(match (deadline < reserved_at.steady, settled.is_some_and(|at| at < reserved_at.steady)) {
            (true, _) => Some(format!("charge {} was due before it was made", id.0)),
            (_, true) => Some(format!("charge {} was settled before it was made", id.0)),
            (false, false) => None,
        })
    })
}

/// The lines of a target are numbered without a gap. The oldest can be gone, by a rule of an operator's.
fn histories(snapshot: &Snapshot<'_>) -> Result<Option<String>, StoreError> {
    let mut last: Option<(Vec<u8>, u64)> = None;
    first(snapshot, Table::History, |key, _| {
        let (target, line) = key.split_last_chunk::<8>().ok_or_else(|| Damaged::because("its key is too short"))?;
        let line = u64::from_be_bytes(*line);
        let gap = last.as_ref().filter(|(of, before)| of == target && line != before + 1).map(|(_, before)| *before);
        let told = gap.map(|before| match named(target) {
            Some(name) => format!("the history of {name} has line {line} after line {before}"),
            None => format!("a history has line {line} after line {before}"),
        });
        match &mut last {
            Some((of, before)) if of == target => *before = line,
            _ => last = Some((target.to_vec(), line)),
        }
        Ok(told)
    })
}

fn named(target: &[u8]) -> Option<String> {
    let (organization, rest) = tables::take_text(target)?;
    let (connection, rest) = tables::take_text(rest)?;
    let (target, _) = tables::take_text(rest)?;
    Some(format!("{organization}/{connection}/{target}"))
}

fn jobs(snapshot: &Snapshot<'_>) -> Result<Option<String>, StoreError> {
    let mut open = Vec::new();
    first(snapshot, Table::Jobs, |key, value| {
        let job = records::job_of(numbered(key)?, value)?;
        open.extend((!job.state.is_final()).then_some(job.id));
        Ok(None)
    })?;
    for id in open {
        if snapshot.get(Table::OpenJobs, &tables::number(id.0), |_| Ok(()))?.is_none() {
            return Ok(Some(format!("job {} is not at its end and would never be taken up", id.0)));
        }
    }
    Ok(None)
}

fn job(snapshot: &Snapshot<'_>, id: u64) -> Result<Option<Job>, StoreError> {
    snapshot.get(Table::Jobs, &tables::number(id), |bytes| records::job_of(id, bytes))
}

fn job_index(snapshot: &Snapshot<'_>) -> Result<Option<String>, StoreError> {
    let (mut open, mut keyed) = (Vec::new(), Vec::new());
    first(snapshot, Table::OpenJobs, |key, _| {
        open.push(numbered(key)?);
        Ok(None)
    })?;
    first(snapshot, Table::JobKeys, |key, value| {
        keyed.push((key.to_vec(), numbered(value)?));
        Ok(None)
    })?;
    for id in open {
        if job(snapshot, id)?.is_none_or(|job| job.state.is_final()) {
            return Ok(Some(format!("job {id} is listed as open and is not")));
        }
    }
    for (key, id) in keyed {
        let leads_back = |job: Job| {
            let own = job.idempotency_key.as_ref().map(|own| tables::job_key(&job.connection, own));
            own.is_some_and(|own| own == key)
        };
        if !job(snapshot, id)?.is_some_and(leads_back) {
            return Ok(Some(format!("an idempotency key leads to job {id}, which has another")));
        }
    }
    Ok(None)
}

fn index_of(finding: &Finding) -> Vec<u8> {
    tables::open_finding(&finding.about, records::finding_kind(finding.about.kind))
}

fn findings(snapshot: &Snapshot<'_>) -> Result<Option<String>, StoreError> {
    let mut open = Vec::new();
    first(snapshot, Table::Findings, |key, value| {
        let finding = records::finding_of(numbered(key)?, value)?;
        open.extend(finding.is_open().then(|| (finding.id, index_of(&finding))));
        Ok(None)
    })?;
    for (id, index) in open {
        if snapshot.get(Table::OpenFindings, &index, numbered)? != Some(id.0) {
            return Ok(Some(format!("finding {} is open and would never be closed", id.0)));
        }
    }
    Ok(None)
}

fn finding_index(snapshot: &Snapshot<'_>) -> Result<Option<String>, StoreError> {
    let mut open = Vec::new();
    first(snapshot, Table::OpenFindings, |key, value| {
        open.push((key.to_vec(), numbered(value)?));
        Ok(None)
    })?;
    for (key, id) in open {
        let finding = snapshot.get(Table::Findings, &tables::number(id), |bytes| records::finding_of(id, bytes))?;
        if !finding.is_some_and(|finding| finding.is_open() && index_of(&finding) == key) {
            return Ok(Some(format!("finding {id} is listed as open and is not")));
        }
    }
    Ok(None)
}
