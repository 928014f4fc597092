//! Tells webhooks of their connection's events: in order, at least once, never in the way of a poll. The log of events is the outbox: what a
//! webhook has durably is its place in it ([`WebhookState::done`]), moved on when the receiver took an event or it was given up. A
//! crash may set that place back by what was lazy, never forward. What is given up stays as a dead letter until somebody asks again.

mod desk;
mod told;

use super::core::{Conn, Core};
use super::findings;
use super::words;
use crate::domain::event::{Event, EventKind};
use crate::domain::ids::{EventId, WebhookKey};
use crate::domain::spec::ConnectionSpec;
use crate::domain::state::State;
use crate::domain::time::{Now, Span, Steady};
use crate::domain::webhook::{DeadLetter, WebhookForm, WebhookSpec, WebhookState};
use crate::rules::delivery::{self, Heard, Next, Settling};
use crate::store::{Commit, Lane, Looked, Store, StoreError, Write};
use crate::upstream::messenger::Message;
use serde_json::{Map, Value};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{Mutex, Notify};
use tokio_util::sync::CancellationToken;

/// Events that are looked at in one go for one that is wanted.
const LOOKS: usize = 256;
/// Dead letters that are kept of a webhook; beyond it the oldest goes.
pub const MOST_LETTERS: usize = 1000;
/// After a failure of the store: how long before the next attempt.
const STORE_PAUSE: Span = Span::from_secs(5);

/// A webhook as it runs.
pub struct Hook {
    pub key: WebhookKey,
    pub spec: WebhookSpec,
    /// The master copy of the durable state.
    pub state: Mutex<WebhookState>,
    /// Whether a dead letter may be waiting to be sent again.
    pub again: AtomicBool,
    /// How the connection stood before turns that passed untold. A restart forgets it: then the last of them is told.
    run: Mutex<Option<State>>,
    /// Rung when there is something else to do than to wait.
    pub wake: Notify,
    /// It is configured no more, or as another.
    pub over: CancellationToken,
}

/// The webhooks of a connection, and what has to be written of those that are new: they begin with what happens from now on.
pub fn hooks(store: &Store, conn: &ConnectionSpec) -> Result<Hooks, StoreError> {
    let (mut hooks, mut firsts) = (Vec::new(), Vec::new());
    for spec in &conn.webhooks {
        let key = WebhookKey { connection: conn.key.clone(), webhook: spec.name.clone() };
        let state = match store.webhook(&key)? {
            Some(state) => state,
            None => {
                let state = WebhookState { done: store.last_event_id(), ..WebhookState::default() };
                firsts.push(Write::Webhook(key.clone(), state.clone()));
                state
            }
        };
        hooks.push(Arc::new(Hook {
            key,
            spec: spec.clone(),
            state: Mutex::new(state),
            again: AtomicBool::new(true),
            run: Mutex::default(),
            wake: Notify::new(),
            over: CancellationToken::new(),
        }));
    }
    Ok((hooks, firsts))
}

/// Those that run, and the first states of new ones.
pub type Hooks = (Vec<Arc<Hook>>, Vec<Write>);

/// Webhooks that are configured no more are forgotten: one of the same name that comes later begins anew.
pub fn forgotten(core: &Core) -> Result<Vec<Write>, StoreError> {
    let mut writes = Vec::new();
    for key in core.store.webhook_keys()? {
        let conn = core.connections.get(&key.connection);
        if conn.is_some_and(|conn| conn.webhooks.iter().any(|hook| hook.key == key)) {
            continue;
        }
        for letter in core.store.dead_letters(&key, MOST_LETTERS)? {
            writes.push(Write::BuryLetter(key.clone(), letter.event.id));
        }
        writes.push(Write::ForgetWebhook(key));
    }
    Ok(writes)
}

/// What the loop does next.
enum Step {
    Again,
    /// Nothing before this.
    Wait(Steady),
    /// Until something happens.
    Idle,
}

/// Runs until the engine stops, or it is over. What is being posted then is heard out.
pub async fn run(core: Arc<Core>, conn: Arc<Conn>, hook: Arc<Hook>) {
    // Before the first look into the log, so that nothing falls between.
    let mut live = core.subscribe();
    while !core.stop.is_cancelled() && !hook.over.is_cancelled() {
        let until = match step(&core, &conn, &hook).await {
            Ok(Step::Again) => continue,
            Ok(Step::Wait(until)) => Some(until),
            Ok(Step::Idle) => None,
            Err(e) => {
                tracing::error!(webhook = %hook.key, "{e}");
                Some(core.clock.now().steady + STORE_PAUSE)
            }
        };
        let happens = async {
            match until {
                Some(until) => core.clock.sleep_until(until).await,
                None => news(&hook, &mut live).await,
            }
        };
        tokio::select! {
            () = core.stop.cancelled() => {}
            () = hook.over.cancelled() => {}
            () = hook.wake.notified() => {}
            () = happens => {}
        }
    }
}

/// Until there is something in the log for it. Whoever was too slow to hear of everything looks there as well.
async fn news(hook: &Hook, live: &mut Receiver<Event>) {
    loop {
        match live.recv().await {
            Ok(event) if !event.body.kind.is_durable() => (),
            Ok(event) if event.body.connection.as_ref() != Some(&hook.key.connection) => (),
            Ok(_) | Err(RecvError::Lagged(_)) => return,
            Err(RecvError::Closed) => std::future::pending().await,
        }
    }
}

/// Sends one event, or says how long there is nothing to send.
async fn step(core: &Core, conn: &Conn, hook: &Hook) -> Result<Step, StoreError> {
    let now = core.clock.now();
    let state = hook.state.lock().await.clone();
    if hook.again.swap(false, Ordering::Relaxed) {
        let letters = core.store.dead_letters(&hook.key, MOST_LETTERS)?;
        if let Some(letter) = letters.into_iter().find(|letter| letter.again) {
            hook.again.store(true, Ordering::Relaxed);
            return once_more(core, hook, letter).await;
        }
    }
    if let Some(due) = state.not_before.map(|due| due.steady).filter(|due| *due > now.steady) {
        return Ok(Step::Wait(due));
    }
    let wanted = |event: &Event| hook.spec.wants(event.body.kind);
    let Looked { up_to, missed, found } = core.store.next_event(&hook.key.connection, state.done, LOOKS, wanted)?;
    let state = delivery::skipped(state, missed);
    let Some(event) = found else {
        if up_to <= state.done {
            return Ok(Step::Idle);
        }
        keep(core, hook, WebhookState { done: up_to, ..state }, Vec::new()).await?;
        return Ok(Step::Again);
    };
    match settling(core, hook, &event, &now).await? {
        Settling::Told => {}
        Settling::In(wait) => return Ok(Step::Wait(now.steady + wait)),
        Settling::Passed | Settling::Back => {
            keep(core, hook, WebhookState { done: event.id, ..state }, Vec::new()).await?;
            return Ok(Step::Again);
        }
    }
    let heard = send(core, hook, &event).await;
    let now = core.clock.now();
    let next = delivery::next(&state, event.body.at, &heard, &now, draw(conn, hook, event.id, state.failures));
    let mut after = delivery::after(&state, &heard, &next, &now);
    let mut writes = Vec::new();
    match &next {
        Next::Delivered => (after.done, after.delivered_last) = (event.id, Some((now.stamp(), event.id))),
        Next::Again(_) => (),
        Next::GivenUp(_) => {
            after.done = event.id;
            let letters = core.store.dead_letters(&hook.key, MOST_LETTERS)?;
            let oldest = letters.first().filter(|_| letters.len() >= MOST_LETTERS);
            writes.extend(oldest.map(|letter| Write::BuryLetter(hook.key.clone(), letter.event.id)));
            let letter = DeadLetter { event, given_up_at: now.stamp(), reason: heard.reason(), again: false };
            tracing::warn!(webhook = %hook.key, event = letter.event.id.0, "given up: {}", letter.reason);
            writes.push(Write::DeadLetter(hook.key.clone(), letter));
        }
    }
    keep(core, hook, after, writes).await?;
    Ok(Step::Again)
}

/// Whether a turn of the state has lasted, and is told; whatever else happens is.
async fn settling(core: &Core, hook: &Hook, event: &Event, now: &Now) -> Result<Settling, StoreError> {
    let is_turn = |event: &Event| event.body.kind == EventKind::StateChanged;
    let turn = words::turned_between(&event.body.message).filter(|_| is_turn(event));
    let Some((was, is)) = turn.filter(|_| hook.spec.settle > Span::ZERO) else { return Ok(Settling::Told) };
    let next = core.store.next_event(&hook.key.connection, event.id, LOOKS, is_turn)?.found;
    let next = next.map(|next| now.age_of(next.body.at));
    let mut run = hook.run.lock().await;
    let before = run.unwrap_or(was);
    let settling = delivery::settling(before, is, now.age_of(event.body.at), next, hook.spec.settle);
    *run = settling.remembers(before);
    Ok(settling)
}

/// A dead letter that somebody wants to have sent again: one attempt, whose failure holds up nobody.
async fn once_more(core: &Core, hook: &Hook, letter: DeadLetter) -> Result<Step, StoreError> {
    let heard = send(core, hook, &letter.event).await;
    let now = core.clock.now();
    let (mut state, event) = (hook.state.lock().await.clone(), letter.event.id);
    let write = match heard.is_taken() {
        true => {
            state = delivery::after(&state, &heard, &Next::Delivered, &now);
            state.delivered_last = Some((now.stamp(), event));
            Write::BuryLetter(hook.key.clone(), event)
        }
        false => {
            let again = DeadLetter { given_up_at: now.stamp(), reason: heard.reason(), again: false, ..letter };
            Write::DeadLetter(hook.key.clone(), again)
        }
    };
    tracing::info!(webhook = %hook.key, event = event.0, taken = heard.is_taken(), "sent again");
    keep(core, hook, state, vec![write]).await?;
    Ok(Step::Again)
}

/// Writes how far it is. Rides on the next durable commit: what a crash takes of it is sent again. People are not told twice: what says how far
/// their notifications are is on the disk before the next one.
async fn keep(core: &Core, hook: &Hook, state: WebhookState, mut writes: Vec<Write>) -> Result<(), StoreError> {
    let mut held = hook.state.lock().await;
    let findings = findings::webhook(&hook.key, held.trouble.as_ref(), &state, &core.clock.now());
    writes.push(Write::Webhook(hook.key.clone(), state.clone()));
    let lane = match hook.spec.form {
        WebhookForm::Event => Lane::Lazy,
        WebhookForm::Ntfy { .. } => Lane::Durable,
    };
    let commit = Commit { writes, findings: findings.into_iter().collect(), lane, ..Commit::default() };
    let events = core.commit(commit).await?;
    *held = state;
    drop(held);
    core.publish(events);
    Ok(())
}

async fn send(core: &Core, hook: &Hook, event: &Event) -> Heard {
    post(core, hook, format!("larder-event-{}", event.id.0), told::event(&hook.spec.form, event)).await
}

/// A message that says no more than that somebody wanted to see it arrive.
pub async fn test(core: &Core, hook: &Hook, by: &str) -> Heard {
    let now = core.clock.now();
    let body = told::test(&hook.spec.form, &hook.key, by, now.wall());
    post(core, hook, format!("larder-test-{}", now.steady.0), body).await
}

async fn post(core: &Core, hook: &Hook, id: String, body: Map<String, Value>) -> Heard {
    let Some(messenger) = core.door.messenger() else {
        return Heard::Nothing("nothing can be posted from here".to_owned());
    };
    let message = Message { id, at: core.clock.now().wall(), body };
    messenger.deliver(&hook.key, &message).await
}

/// 0 to 1, by installation, webhook and attempt: receivers that failed together are not asked again together.
fn draw(conn: &Conn, hook: &Hook, event: EventId, failures: u32) -> f64 {
    let name = format!("{} {} {failures}", hook.key, event.0);
    let digest = blake3::keyed_hash(&conn.installation, name.as_bytes());
    f64::from(digest.as_bytes()[0]) / 255.0
}
