//! Commands as durable jobs: queued -> sent -> done, failed or unknown. `retry = "never"` is never sent twice, also not after a
//! crash. After it, one refresh, if the answer on the shelf is old enough (I2).

use super::core::{Conn, Core};
use super::fetch::exchange::{Asking, admit, exchange};
use super::fetch::learn::{consequences, hear};
use super::fetch::{Done, Stopped, With, fetch_all, token};
use super::gateway;
use super::targets::Target;
use super::turns::{COURTESIES, Ear, Turn, rung};
use super::words::{self, Telling};
use crate::domain::event::{EventKind, NewEvent};
use crate::domain::ids::{Caller, ChargeId, TargetName};
use crate::domain::job::{Job, JobRefresh, JobState};
use crate::domain::outcome::Outcome;
use crate::domain::spec::{CommandSpec, Retry};
use crate::domain::time::{Now, Span, Steady};
use crate::rules::asking::{self, Asker, CostFrom, Outgoing};
use crate::rules::budget::{Permit, Refusal};
use crate::rules::gateway::Location;
use crate::rules::template::When;
use crate::store::{Commit, Write};
use crate::upstream::Request;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A command that would have to wait longer for the budget fails: nobody wants to be watered by surprise.
const PATIENCE: Span = Span::from_secs(15 * 60);
/// A waiting command says so again only if the moment moved by more than this.
const NEWS: Span = Span::from_secs(5);
/// Sendings of an idempotent command, altogether.
const MAX_SENDINGS: u32 = 3;

/// The request of a command with its parameters, at this moment. The error is a sentence.
pub fn fill(
    core: &Core,
    conn: &Conn,
    command: &CommandSpec,
    parameters: &BTreeMap<String, String>,
) -> Result<Request, String> {
    let when = When::new(core.clock.now().wall(), &conn.spec.time_zone);
    let out = asking::outgoing(&command.path, &command.send, Asker::Command, &when, parameters);
    let Outgoing { method, location, headers, body } = out.map_err(|why| format!("{} {why}", command.name))?;
    Ok(Request { connection: conn.spec.key.clone(), method, location, headers, body })
}

/// Settles what a crash left behind, and takes up what was only queued.
pub async fn recover(core: &Arc<Core>) -> Result<(), String> {
    for job in core.store.open_jobs().map_err(|e| e.to_string())? {
        let conn = core.connections.get(&job.connection);
        let command = conn.as_ref().and_then(|c| c.spec.commands.iter().find(|k| k.name == job.command));
        match (job.state, command) {
            (_, None) => finish(core, job, JobState::Failed, "the command is not in the configuration any more").await,
            (JobState::Sent, Some(command)) if command.retry == Retry::Never => {
                let words = "the appliance stopped between sending it and the answer; it may or may not have been \
                             carried out, and it is not sent again";
                finish(core, job, JobState::Unknown, words).await;
            }
            _ => {
                if let Some(conn) = conn {
                    start(core, conn, job);
                }
            }
        }
    }
    Ok(())
}

/// Runs the job in a task of the engine's own.
pub fn start(core: &Arc<Core>, conn: Arc<Conn>, job: Job) {
    let task_core = core.clone();
    core.spawn(async move { run(&task_core, &conn, job).await });
}

async fn run(core: &Core, conn: &Conn, mut job: Job) {
    let Some(command) = conn.spec.commands.iter().find(|c| c.name == job.command) else { return };
    let request = match fill(core, conn, command, &job.parameters) {
        Ok(request) => request,
        Err(sentence) => return finish(core, job, JobState::Failed, &sentence).await,
    };
    let mut sendings = 0;
    loop {
        // With the credential of this moment.
        let current = core.connections.get(&conn.spec.key);
        let conn = current.as_deref().unwrap_or(conn);
        match send_once(core, conn, command, &request, job).await {
            Attempt::Final(finished) => {
                if finished.state == JobState::Done {
                    then_refresh(core, conn, command, finished).await;
                }
                return;
            }
            Attempt::Superseded(waiting) => job = waiting,
            Attempt::Again(again) => {
                sendings += 1;
                job = again;
                if sendings >= MAX_SENDINGS {
                    let message = job.message.clone().unwrap_or_default();
                    return finish(core, job, JobState::Failed, &message).await;
                }
                let until = core.clock.now().steady + Span::from_secs(1 << sendings);
                core.clock.sleep_until(until).await;
            }
            Attempt::Stopped => return,
        }
    }
}

enum Attempt {
    Final(Job),
    /// Did not get through and may be sent again.
    Again(Job),
    /// Another credential came while it waited.
    Superseded(Job),
    /// The store does not take writes; the job stays as it is on disk.
    Stopped,
}

async fn send_once(core: &Core, conn: &Conn, command: &CommandSpec, request: &Request, job: Job) -> Attempt {
    let asking = Asking { caller: Caller::Command, target: None, endpoint: command.endpoint(), cost: command.cost };
    let written = Location::read(&request.location).ok();
    let (job, permit) = match wait_for_permit(core, conn, &asking, job, &forgetting(core, conn, &written)).await {
        Ok(admitted) => admitted,
        Err(attempt) => return attempt,
    };
    let mut exchanged = match exchange(core, conn, &asking, permit, request.clone()).await {
        Ok(exchanged) => exchanged,
        Err(stopped) => return Attempt::Final(stopped_midway(core, conn, job, &stopped, &written).await),
    };
    let (reply, mut verdict, body) = hear(core, conn, cost_from(command).as_ref(), &mut exchanged, false);
    verdict.said = verdict.said.or_else(|| accepted_with(core, body.as_ref()));
    let mut state = conn.state.lock().await;
    let after = consequences(core, conn, &exchanged, &reply, verdict, &state);
    let resolve = after.resolved(core, conn, &exchanged);
    let (job_state, message) = judge(command, &after.verdict, after.status, body.as_ref(), &reply.detail);
    let again = job_state == JobState::Queued;
    let now = core.clock.now();
    let job = Job { state: job_state, message: Some(message), updated_at: now.stamp(), ..job };
    // Before it is put down, and once more for what was read meanwhile.
    let forget = || forgotten(core, conn, &written, job.state);
    forget();
    let mut events = after.events;
    events.push(job_event(&job, &now));
    let commit = Commit {
        resolve,
        hold: (!after.hold.is_empty()).then_some((conn.credential, after.hold)),
        writes: forgetting(core, conn, &written)
            .into_iter()
            .chain([Write::Job(job.clone()), Write::Connection(conn.spec.key.clone(), after.state.clone())])
            .collect(),
        events,
        findings: after.findings,
        learned: after.learned,
        ..Commit::default()
    };
    match core.commit(commit).await {
        Ok(events) => core.publish(events),
        Err(e) => {
            tracing::error!(job = job.id.0, "{e}");
            return Attempt::Stopped;
        }
    }
    *state = after.state;
    drop(state);
    forget();
    if again { Attempt::Again(job) } else { Attempt::Final(job) }
}

/// Its request was under way. Where nobody knows what that did, all is forgotten that it may have changed.
async fn stopped_midway(core: &Core, conn: &Conn, job: Job, stopped: &Stopped, written: &Option<Location>) -> Job {
    let now = core.clock.now();
    let (state, words) = ended_by(stopped, &now);
    let job = Job { state, message: Some(words), updated_at: now.stamp(), ..job };
    forgotten(core, conn, written, state);
    let forgets = if state == JobState::Unknown { forgetting(core, conn, written) } else { Vec::new() };
    let job = update_with(core, job, forgets).await;
    forgotten(core, conn, written, state);
    job
}

/// What a command makes void in the gateway's part of the file.
fn forgetting(core: &Core, conn: &Conn, written: &Option<Location>) -> Vec<Write> {
    written.iter().flat_map(|written| gateway::filed::forgetting(core, conn, written)).collect()
}

/// What a command may have changed is forgotten by the gateway.
fn forgotten(core: &Core, conn: &Conn, written: &Option<Location>, state: JobState) {
    let may_have = matches!(state, JobState::Done | JobState::Unknown);
    written.iter().filter(|_| may_have).for_each(|at| _ = gateway::write::changed(core, conn, at));
}

/// What is known of a command whose request was under way when it was stopped.
fn ended_by(stopped: &Stopped, now: &Now) -> (JobState, String) {
    let why = words::why(stopped, now, Telling::Kept);
    match stopped {
        // A request whose token is not accepted does nothing.
        Stopped::Unrenewed(_) | Stopped::Unrepeated(_) | Stopped::Unaskable(_) | Stopped::Superseded => {
            (JobState::Failed, format!("not carried out: {why}"))
        }
        Stopped::Refused(_) | Stopped::Midway(_) => {
            (JobState::Unknown, format!("the provider redirected it, and the next hop was not funded: {why}"))
        }
        Stopped::Paused | Stopped::Store(_) | Stopped::Unrecorded { .. } => {
            (JobState::Unknown, format!("it may or may not have been carried out, and it is not sent again: {why}"))
        }
    }
}

/// Read at start without a complaint, so that it is a path.
fn cost_from(command: &CommandSpec) -> Option<CostFrom> {
    CostFrom::parse(command.send.cost_from.as_deref()?).ok()
}

/// What the provider says to a command that it accepted: people want to read it.
fn accepted_with(core: &Core, body: Option<&serde_json::Value>) -> Option<String> {
    let message = core.door.redact(body?.get("message")?.as_str()?.trim());
    let short: String = message.chars().take(160).collect();
    (!short.is_empty()).then_some(short)
}

/// Admission writes the job as `sent`, with its charge, in one transaction: after a crash it is known that it may be out there.
async fn wait_for_permit(
    core: &Core,
    conn: &Conn,
    asking: &Asking,
    mut job: Job,
    forgets: &[Write],
) -> Result<(Job, Permit), Attempt> {
    let patience_ends = core.clock.now().steady + PATIENCE;
    let line = core.turns(conn.credential);
    let mut ear = line.as_ref().map(|line| line.ear());
    let turn = line.as_ref().map(|line| line.enter(conn.ask(asking.caller, asking.endpoint.clone(), asking.cost)));
    let mut told = None;
    loop {
        ear.iter_mut().for_each(Ear::listen);
        for _ in 0..COURTESIES {
            let Some(at) = turn.as_ref().and_then(|turn| turn.gives_way(core, conn.credential)) else { break };
            core.clock.sleep_until(at).await;
        }
        let now = core.clock.now();
        let sent = Job { state: JobState::Sent, message: None, updated_at: now.stamp(), ..job.clone() };
        let (with_charge, forgets) = (sent.clone(), forgets.to_vec());
        let with = Box::new(move |id: ChargeId| {
            let job = Write::Job(Job { charge: Some(id), ..with_charge });
            forgets.into_iter().chain([job]).collect()
        });
        match admit_with_token(core, conn, asking, with).await {
            Ok(permit) => {
                turn.iter().for_each(Turn::went);
                return Ok((Job { charge: Some(permit.id()), ..sent }, permit));
            }
            Err(Stopped::Refused(Refusal::NotUntil { at, .. } | Refusal::Probing { at })) if at <= patience_ends => {
                if told.is_none_or(|told: Steady| told.0.abs_diff(at.0) > NEWS.0) {
                    let words = format!("waits for the budget until {}", words::time_ahead(at, &now, Telling::Kept));
                    job = update(core, Job { message: Some(words), updated_at: now.stamp(), ..job }).await;
                    told = Some(at);
                }
                tokio::select! {
                    () = core.clock.sleep_until(at.max(now.steady + Span(10))) => {}
                    () = rung(&mut ear) => {}
                }
            }
            Err(Stopped::Superseded) => return Err(Attempt::Superseded(job)),
            Err(Stopped::Store(e)) => {
                tracing::error!(job = job.id.0, "{e}");
                return Err(Attempt::Stopped);
            }
            Err(stopped) => {
                let words = format!("not sent: {}", words::why(&stopped, &core.clock.now(), Telling::Kept));
                return Err(Attempt::Final(finish_returning(core, job, JobState::Failed, &words).await));
            }
        }
    }
}

async fn admit_with_token(core: &Core, conn: &Conn, asking: &Asking, with: With) -> Result<Permit, Stopped> {
    // Somebody may have switched the connection off, or taken it away, while it waited (F11).
    if !core.may_ask(conn, &*conn.state.lock().await, asking.caller) {
        return Err(Stopped::Paused);
    }
    token::ensure(core, conn, asking.caller).await?;
    admit(core, conn, conn.credential, asking, with).await
}

/// From a verdict on a command to the job's state; `Queued` means "may be sent again".
fn judge(
    command: &CommandSpec,
    verdict: &crate::domain::outcome::Verdict,
    status: Option<u16>,
    body: Option<&serde_json::Value>,
    detail: &str,
) -> (JobState, String) {
    let said = verdict.said.as_ref().map(|s| format!("; the provider said: {s}")).unwrap_or_default();
    let reason = words::reason(verdict.outcome, status, detail);
    let again = command.retry == Retry::Idempotent;
    match verdict.outcome {
        // Of a question a bare 202 is no answer yet; of a command it is the answer.
        Outcome::NotReady if status == Some(202) => (JobState::Done, format!("accepted{said}")),
        Outcome::Data | Outcome::NotModified => (JobState::Done, format!("accepted{said}")),
        // A command may be answered with plain text; what it says is all that is known. JSON that is unexpected says that it failed.
        Outcome::Unexpected if body.is_none() && status.is_some_and(|s| (200..300).contains(&s)) => {
            (JobState::Done, format!("answered{said}"))
        }
        Outcome::TimedOut | Outcome::Dropped | Outcome::Undecodable | Outcome::TooLarge if again => {
            (JobState::Queued, reason)
        }
        Outcome::TimedOut | Outcome::Dropped | Outcome::Undecodable | Outcome::TooLarge => {
            (JobState::Unknown, format!("{reason}; it may or may not have been carried out, and it is not sent again"))
        }
        Outcome::Unreachable | Outcome::Overloaded if again => (JobState::Queued, reason),
        _ => (JobState::Failed, format!("{reason}{said}")),
    }
}

async fn then_refresh(core: &Core, conn: &Conn, command: &CommandSpec, job: Job) {
    let Some(name) = &command.then_refresh else { return };
    let result = refresh_after(core, conn, name).await;
    let refresh = Some(JobRefresh { target: name.clone(), result });
    let now = core.clock.now();
    update(core, Job { refresh, updated_at: now.stamp(), ..job }).await;
}

async fn refresh_after(core: &Core, conn: &Conn, name: &TargetName) -> String {
    let Some(target) = conn.target(name) else { return format!("there is no target \"{name}\"") };
    let now = core.clock.now();
    match core.store.target(&target.key) {
        Ok(state) => {
            let age = state.and_then(|s| s.as_of).map(|as_of| now.age_of(as_of));
            if let Some(age) = age.filter(|age| *age < conn.spec.refresh_min_age) {
                let min = conn.spec.refresh_min_age;
                return format!("not refreshed: the reading is {age} old, a refresh needs {min}");
            }
        }
        Err(e) => return e.to_string(),
    }
    match fetch_all(core, conn, &target, Caller::Refresh, now.stamp()).await {
        Ok(Done { outcome, .. }) if outcome.is_good() => refreshed(core, &target),
        Ok(Done { outcome, .. }) => format!("not refreshed: {outcome}"),
        Err(stopped) => format!("not refreshed: {}", words::why(&stopped, &core.clock.now(), Telling::Kept)),
    }
}

/// A list of pages may have been read in part.
fn refreshed(core: &Core, target: &Target) -> String {
    let scan = core.store.target(&target.key).ok().flatten().and_then(|state| state.scan);
    match scan.and_then(|scan| scan.incomplete) {
        Some(why) => format!("refreshed in part: {why}"),
        None => "refreshed".to_owned(),
    }
}

async fn finish(core: &Core, job: Job, state: JobState, message: &str) {
    finish_returning(core, job, state, message).await;
}

async fn finish_returning(core: &Core, job: Job, state: JobState, message: &str) -> Job {
    let now = core.clock.now();
    update(core, Job { state, message: Some(message.to_owned()), updated_at: now.stamp(), ..job }).await
}

async fn update(core: &Core, job: Job) -> Job {
    update_with(core, job, Vec::new()).await
}

async fn update_with(core: &Core, job: Job, mut writes: Vec<Write>) -> Job {
    let event = job_event(&job, &core.clock.now());
    writes.push(Write::Job(job.clone()));
    let commit = Commit { writes, events: vec![event], ..Commit::default() };
    match core.commit(commit).await {
        Ok(events) => core.publish(events),
        Err(e) => tracing::error!(job = job.id.0, "{e}"),
    }
    job
}

/// The event of a job's new state.
pub fn job_event(job: &Job, now: &Now) -> NewEvent {
    let message = job.message.as_ref().map(|m| format!(": {m}")).unwrap_or_default();
    // What was told before is not told again: only the refresh is new.
    let news = match &job.refresh {
        Some(refresh) => format!(", then {}: {}", refresh.target, refresh.result),
        None => format!(" {}{message}", job.state.word()),
    };
    NewEvent {
        kind: EventKind::JobChanged,
        at: now.stamp(),
        connection: Some(job.connection.clone()),
        target: None,
        message: format!("{} (job {}){news}", job.command, job.id.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::send::SendSpec;

    fn command(path: &str) -> CommandSpec {
        CommandSpec {
            name: "run-zone".into(),
            path: path.into(),
            send: SendSpec::default(),
            cost: 1,
            then_refresh: None,
            retry: Retry::Never,
        }
    }

    #[test]
    fn what_a_verdict_makes_of_a_command() {
        use crate::domain::outcome::Verdict;
        let verdict = |outcome| Verdict::new(outcome, "");
        for (outcome, status, never, idempotent) in [
            (Outcome::Data, Some(200), JobState::Done, JobState::Done),
            (Outcome::Unexpected, Some(200), JobState::Done, JobState::Done),
            (Outcome::Unexpected, Some(404), JobState::Failed, JobState::Failed),
            (Outcome::NotReady, Some(202), JobState::Done, JobState::Done),
            (Outcome::NotReady, Some(404), JobState::Failed, JobState::Failed),
            (Outcome::TimedOut, None, JobState::Unknown, JobState::Queued),
            (Outcome::Dropped, None, JobState::Unknown, JobState::Queued),
            (Outcome::Unreachable, None, JobState::Failed, JobState::Queued),
            (Outcome::Limited, Some(429), JobState::Failed, JobState::Failed),
            (Outcome::Overloaded, Some(503), JobState::Failed, JobState::Queued),
        ] {
            let never_spec = command("/x");
            let idempotent_spec = CommandSpec { retry: Retry::Idempotent, ..command("/x") };
            assert_eq!(judge(&never_spec, &verdict(outcome), status, None, "").0, never, "{outcome} never");
            assert_eq!(
                judge(&idempotent_spec, &verdict(outcome), status, None, "").0,
                idempotent,
                "{outcome} idempotent"
            );
        }
    }
}
