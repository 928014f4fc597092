//! The first start from a backup, or from another copy of a data file. The appliance that it was made of went on: what that one sent since is not in this file, so
//! everything that it can have sent counts as sent, and no command that it can have sent is sent again. Decides no amounts.

use super::core::{Conn, Core, SLOW_COMMIT};
use super::jobs::job_event;
use super::words::clock_time;
use crate::clock::ClockMark;
use crate::domain::charge::Charge;
use crate::domain::event::Event;
use crate::domain::ids::{Caller, ChargeId, CredentialId, Endpoint};
use crate::domain::job::{Job, JobState};
use crate::domain::limit::Scope;
use crate::domain::spec::Retry;
use crate::domain::time::{Now, Span};
use crate::rules::budget::unseen;
use crate::store::{Commit, Copied, CopyKind, StoreError, Write};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// For log, pages and status.
pub fn note(copied: &Copied, now: &Now) -> String {
    let (made, wall) = (copied.made.wall, now.wall());
    let age = || Span(u64::try_from(wall.0 - made.0).unwrap_or(0).div_ceil(1_000).saturating_mul(1_000));
    let what = match copied.kind {
        CopyKind::Backup => format!("the data file is a backup that was made {}", clock_time(made, wall)),
        CopyKind::Running => {
            format!("the data file was opened from a copy taken while Larder was running, at most {} old", age())
        }
        CopyKind::Stopped => format!(
            "the data file is not the one that was used last, but a copy of it, or it was moved to another disk; the newest in it is {} old",
            age()
        ),
    };
    format!(
        "{what}; what was sent since is not in it, so the limits count as used as far as they can have been, and commands that waited then \
         are not sent again where they must not be sent twice"
    )
}

/// Writes `commit` with all that the other appliance can have done, and takes the mark of the backup off the file.
pub async fn take_over(core: &Core, copied: &ClockMark, mut commit: Commit) -> Result<Vec<Event>, StoreError> {
    let now = core.clock.now();
    for job in core.store.open_jobs()?.into_iter().filter(|job| must_not_go_twice(core, job)) {
        let words = "the data file is a restored backup or another copy: it may have been sent after that was made, and is not sent again";
        let message = Some(words.to_owned());
        let job = Job { state: JobState::Unknown, message, updated_at: now.stamp(), ..job };
        commit.events.push(job_event(&job, &now));
        commit.writes.push(Write::Job(job));
    }
    core.store.take_over(spent(core, copied, &now), commit).await
}

fn must_not_go_twice(core: &Core, job: &Job) -> bool {
    let conn = core.connections.get(&job.connection);
    let commands = conn.iter().flat_map(|conn| &conn.spec.commands);
    commands.into_iter().any(|c| c.name == job.command && c.retry == Retry::Never)
}

/// One charge for each book, as if all had been sent just now by a process that then died.
fn spent(core: &Core, copied: &ClockMark, now: &Now) -> Vec<Charge> {
    let mut by_credential: BTreeMap<CredentialId, Vec<Arc<Conn>>> = BTreeMap::new();
    for conn in core.connections.values() {
        by_credential.entry(conn.credential).or_default().push(conn);
    }
    let mut charges = Vec::new();
    for (credential, conns) in by_credential {
        let patience =
            |c: &Arc<Conn>| c.spec.network.request_timeout.0.saturating_add(c.spec.network.connect_timeout.0);
        let in_flight = Span(conns.iter().map(patience).max().unwrap_or(0).saturating_add(SLOW_COMMIT.0));
        let limits = &conns[0].sharing.limits;
        // Only inside one boot is the time between the two measured. A clock that stands behind would make it too short.
        let time = (now.era == copied.era).then(|| Span(now.steady.since(copied.steady).0.saturating_add(in_flight.0)));
        let cost = u32::try_from(unseen::at_most(limits, time)).unwrap_or(u32::MAX);
        if cost == 0 {
            continue;
        }
        let endpoints = if limits.iter().any(|l| l.scope == Scope::Endpoint) { endpoints(&conns) } else { nowhere() };
        charges.extend(endpoints.into_iter().map(|endpoint| Charge {
            id: ChargeId(0),
            credential,
            connection: conns[0].spec.key.clone(),
            target: None,
            caller: Caller::Poller,
            endpoint,
            cost,
            reserved_at: now.stamp(),
            deadline: now.steady + in_flight,
            resolution: None,
        }));
    }
    charges
}

fn endpoints(conns: &[Arc<Conn>]) -> BTreeSet<Endpoint> {
    let commands = conns.iter().flat_map(|c| c.spec.commands.iter().map(|k| k.endpoint()));
    conns
        .iter()
        .flat_map(|c| c.targets.now().iter().filter_map(|t| t.endpoint.clone()).collect::<Vec<_>>())
        .chain(commands)
        .collect()
}

fn nowhere() -> BTreeSet<Endpoint> {
    BTreeSet::from([Endpoint("(before the copy was opened)".to_owned())])
}
