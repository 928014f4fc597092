//! What people see of webhooks and do with them: the facade's part. Spends nothing of any provider.

use super::{Hook, MOST_LETTERS, test};
use crate::domain::event::{EventKind, NewEvent};
use crate::domain::ids::{ConnectionKey, WebhookKey, WebhookName};
use crate::domain::time::{Now, Span};
use crate::domain::webhook::{DeadLetter, WebhookState};
use crate::engine::appliance::Appliance;
use crate::engine::view::{DeadLetterView, Denied, Seconds, WebhookTestView, WebhookView, When};
use crate::engine::words::{Telling, counted, moment};
use crate::rules::delivery::Heard;
use crate::store::{Commit, Write};
use std::sync::Arc;
use std::sync::atomic::Ordering;

impl Appliance {
    /// In the order of the file.
    pub async fn webhooks(&self, key: &ConnectionKey) -> Result<Vec<WebhookView>, Denied> {
        let mut views = Vec::new();
        for hook in &self.conn(key)?.webhooks {
            let state = hook.state.lock().await.clone();
            let letters = self.core.store.dead_letters(&hook.key, MOST_LETTERS)?;
            let waiting = self.waiting(hook, &state)?;
            let to = self.core.door.messenger().and_then(|m| m.shown(&hook.key)).unwrap_or_default();
            views.push(view(hook, &state, letters, waiting, to, &self.now()));
        }
        Ok(views)
    }

    /// Sends every dead letter of a webhook once more; how many. Goes on if the caller goes away.
    pub async fn redeliver(&self, key: &ConnectionKey, name: &str, by: &str) -> Result<u64, Denied> {
        let (own, of, name, by) = (self.clone(), key.clone(), name.to_owned(), by.to_owned());
        self.to_the_end(async move { own.send_again(&of, &name, &by).await }).await
    }

    async fn send_again(&self, key: &ConnectionKey, name: &str, by: &str) -> Result<u64, Denied> {
        let hook = self.hook(key, name)?;
        let letters = self.core.store.dead_letters(&hook.key, MOST_LETTERS)?;
        let number = letters.len() as u64;
        if number == 0 {
            return Ok(0);
        }
        let again = |letter| Write::DeadLetter(hook.key.clone(), DeadLetter { again: true, ..letter });
        let writes = letters.into_iter().map(again).collect();
        self.book(key, format!("webhook {name}: {number} given up sent again, asked for by {by}"), writes).await?;
        hook.again.store(true, Ordering::Relaxed);
        hook.wake.notify_one();
        Ok(number)
    }

    /// Sends a message that means nothing, now, and says what came of it. Nothing waits for it, and it is not sent again.
    pub async fn test_webhook(&self, key: &ConnectionKey, name: &str, by: &str) -> Result<WebhookTestView, Denied> {
        let hook = self.hook(key, name)?;
        self.core.begun.cancelled().await;
        let began = self.now().steady;
        let heard = test(&self.core, &hook, by).await;
        let took = self.now().steady.since(began);
        let sentence = match heard.is_taken() {
            true => format!("Webhook \"{name}\" took the test message."),
            false => format!("Webhook \"{name}\" did not take the test message: {}.", heard.reason()),
        };
        let became = if heard.is_taken() { "taken".to_owned() } else { format!("not taken: {}", heard.reason()) };
        self.book(key, format!("webhook {name}: test message {became}, sent by {by}"), Vec::new()).await?;
        let status = match heard {
            Heard::Status { status, .. } => Some(status),
            Heard::Nothing(_) => None,
        };
        Ok(WebhookTestView { taken: heard.is_taken(), status, sentence, took_seconds: Seconds(took) })
    }

    /// What somebody did, in the book.
    async fn book(&self, key: &ConnectionKey, message: String, writes: Vec<Write>) -> Result<(), Denied> {
        let at = self.now().stamp();
        let connection = Some(key.clone());
        let event = NewEvent { kind: EventKind::ControlChanged, at, connection, target: None, message };
        let events = self.core.commit(Commit { writes, events: vec![event], ..Commit::default() }).await?;
        self.core.publish(events);
        Ok(())
    }

    fn hook(&self, key: &ConnectionKey, name: &str) -> Result<Arc<Hook>, Denied> {
        let wanted = WebhookKey { connection: key.clone(), webhook: WebhookName(name.to_owned()) };
        let found = self.conn(key)?.webhooks.iter().find(|hook| hook.key == wanted).cloned();
        found.ok_or_else(|| Denied::NotFound(format!("{} has no webhook \"{name}\"", key.connection)))
    }

    fn waiting(&self, hook: &Hook, state: &WebhookState) -> Result<u64, Denied> {
        let looks = usize::try_from(WebhookView::MOST_WAITING).unwrap_or(usize::MAX);
        let events = self.core.store.events_after(state.done, looks)?;
        let ours = |e: &&crate::domain::event::Event| e.body.connection.as_ref() == Some(&hook.key.connection);
        Ok(events.iter().filter(ours).filter(|e| hook.spec.wants(e.body.kind)).count() as u64)
    }
}

fn view(
    hook: &Hook,
    state: &WebhookState,
    letters: Vec<DeadLetter>,
    waiting: u64,
    to: String,
    now: &Now,
) -> WebhookView {
    let due = state.not_before.filter(|at| at.steady > now.steady);
    WebhookView {
        name: hook.key.webhook.0.clone(),
        kind: hook.spec.form.word(),
        to,
        signed: hook.spec.secret != crate::domain::spec::SecretSource::None,
        events: hook.spec.events.iter().map(|kind| kind.word()).collect(),
        state: if state.trouble.is_some() { "failing" } else { "delivering" },
        sentence: sentence(state, waiting, letters.len(), now).into(),
        waiting,
        delivered: state.delivered,
        delivered_at: state.delivered_last.map(|(at, _)| When(at.wall)),
        missed: state.missed,
        failures: state.failures,
        failing_since: state.trouble.as_ref().map(|t| When(t.since.wall)),
        next_attempt_at: due.map(|at| When(now.wall_of(at.steady))),
        reason: state.trouble.as_ref().map(|t| t.reason.clone()),
        dead_letters: letters.into_iter().rev().map(letter).collect(),
    }
}

fn letter(letter: DeadLetter) -> DeadLetterView {
    DeadLetterView {
        event: letter.event.id,
        kind: letter.event.body.kind.word(),
        at: When(letter.event.body.at.wall),
        message: letter.event.body.message,
        given_up_at: When(letter.given_up_at.wall),
        reason: letter.reason,
        again: letter.again,
    }
}

fn sentence(state: &WebhookState, waiting: u64, dead: usize, now: &Now) -> String {
    let events = |n: u64| counted(n, "event", "events");
    let mut text = match (&state.trouble, state.delivered_last) {
        (Some(trouble), _) => {
            let due = state.not_before.filter(|at| at.steady > now.steady);
            let next = due.map_or_else(String::new, |at| {
                let wait = Span(at.steady.since(now.steady).0.div_ceil(1000) * 1000);
                format!(", next attempt in {wait}")
            });
            let since = moment(trouble.since.wall, now, Telling::Apart);
            format!("Not delivered since {since}: {}; {} waiting{next}.", trouble.reason, events(waiting))
        }
        (None, Some((at, _))) => format!("Last delivered at {}.", moment(at.wall, now, Telling::Apart)),
        (None, None) => "Nothing was to be told yet.".to_owned(),
    };
    if dead > 0 {
        text.push_str(&format!(" {} given up.", events(dead as u64)));
    }
    if state.missed > 0 {
        text.push_str(&format!(" Up to {} left the log before they could be sent.", events(state.missed)));
    }
    text
}
