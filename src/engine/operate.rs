//! What operators do with the appliance: refresh, commands, the switch, backup. Everything that spends asks the budget.

use super::appliance::Appliance;
use super::core::{Conn, Core};
use super::fetch::{Done, Stopped, fetch_all};
use super::targets::Target;
use super::view::*;
use super::words::{self, Telling};
use super::{jobs, present};
use crate::domain::cursor::{Filling, ItemsAsk};
use crate::domain::event::{EventKind, NewEvent};
use crate::domain::ids::*;
use crate::domain::job::{Job, JobState};
use crate::domain::spec::CommandSpec;
use crate::domain::time::Steady;
use crate::rules::budget::Refusal;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The parameter of a command that names an item of the connection.
const ITEM: &str = "item";
/// Of so many a refusal tells the keys.
const NAMED_ITEMS: usize = 12;

impl Appliance {
    /// Asks the provider now, if the answer is old enough and the budget funds it. Goes on if the caller goes away.
    pub async fn refresh(&self, key: &TargetKey, by: &str) -> Result<RefreshView, Denied> {
        let (conn, target) = self.target_of(key)?;
        self.core.begun.cancelled().await;
        self.refuse_while_paused(&conn).await?;
        self.refuse_young(&conn, &target)?;
        tracing::info!(target = %key, by, "refresh by hand");
        let own = self.clone();
        let refreshing = async move {
            let wished = own.now().stamp();
            let result = fetch_all(&own.core, &conn, &target, Caller::Refresh, wished).await;
            result.map_err(|stopped| own.denied(&stopped, "No refresh"))
        };
        let Done { asked, .. } = self.to_the_end(refreshing).await?;
        Ok(RefreshView { refreshed: asked, target: self.target(key, &ItemsAsk::default())? })
    }

    pub(super) async fn refuse_while_paused(&self, conn: &Conn) -> Result<(), Denied> {
        if conn.enabled(&*conn.state.lock().await) {
            return Ok(());
        }
        let sentence = format!("{} is paused: nothing is requested until it is resumed.", conn.spec.key.connection);
        Err(Denied::Paused(sentence))
    }

    /// I2: not unless the answer on the shelf is old enough.
    fn refuse_young(&self, conn: &Conn, target: &Target) -> Result<(), Denied> {
        let now = self.now();
        let state = self.core.store.target(&target.key)?.unwrap_or_default();
        let Some(as_of) = state.as_of else { return Ok(()) };
        let (age, min) = (now.age_of(as_of), conn.spec.refresh_min_age);
        if age >= min {
            return Ok(());
        }
        let at = now.steady + min.saturating_sub(age);
        let sentence = format!("The reading is only {age} old; a refresh is worth a request once it is {min} old.");
        Err(self.not_before(at, sentence, None))
    }

    fn not_before(&self, at: Steady, sentence: String, limit: Option<&str>) -> Denied {
        let now = self.now();
        Denied::NotYet {
            sentence,
            limit: limit.map(str::to_owned),
            not_before: Some(When(now.wall_of(at))),
            retry_after_s: Some(at.since(now.steady).as_secs_ceil()),
        }
    }

    pub(super) fn denied(&self, stopped: &Stopped, what: &str) -> Denied {
        let sentence = words::ended(&format!("{what}: {}", words::why(stopped, &self.now(), Telling::Anew)));
        let not_yet = |sentence, limit| Denied::NotYet { sentence, limit, not_before: None, retry_after_s: None };
        match (stopped, stopped.refusal()) {
            (Stopped::Paused, _) => Denied::Paused(sentence),
            (Stopped::Store(e), _) => Denied::Unavailable(e.to_string()),
            (Stopped::Unrecorded { .. }, _) => Denied::Unavailable(sentence),
            (_, Some(Refusal::NotUntil { at, limit })) if *at != Steady::MAX => {
                self.not_before(*at, sentence, Some(limit))
            }
            (_, Some(Refusal::Held(hold))) => self.not_before(hold.until, sentence, None),
            (_, Some(Refusal::Probing { at })) => self.not_before(*at, sentence, None),
            (_, Some(Refusal::NotUntil { limit, .. } | Refusal::NeverFits { limit })) => {
                not_yet(sentence, Some(limit.clone()))
            }
            (_, None) => not_yet(sentence, None),
        }
    }

    /// Accepts a command as a durable job and sends it when the budget lets it. Goes on if the caller goes away.
    pub async fn command(
        &self,
        key: &ConnectionKey,
        name: &str,
        parameters: BTreeMap<String, String>,
        idempotency_key: Option<String>,
        by: &str,
    ) -> Result<JobView, Denied> {
        let conn = self.conn(key)?;
        let Some(command) = conn.spec.commands.iter().find(|c| c.name == name) else {
            return Err(Denied::NotFound(format!("{} has no command \"{name}\"", key.connection)));
        };
        jobs::fill(&self.core, &conn, command, &parameters).map_err(Denied::Invalid)?;
        self.refuse_unknown_item(&conn, command, &parameters)?;
        self.core.begun.cancelled().await;
        self.refuse_while_paused(&conn).await?;
        let now = self.now();
        let job = Job {
            id: JobId(0),
            connection: key.clone(),
            command: name.to_owned(),
            request_digest: digest(name, &parameters),
            parameters,
            state: JobState::Queued,
            created_at: now.stamp(),
            updated_at: now.stamp(),
            by: by.to_owned(),
            idempotency_key,
            charge: None,
            message: None,
            refresh: None,
        };
        let event = NewEvent {
            kind: EventKind::JobChanged,
            at: now.stamp(),
            connection: Some(key.clone()),
            target: None,
            message: format!("{name} asked for by {by}"),
        };
        let core = self.core.clone();
        self.to_the_end(async move { accepted(&core, conn, job, event).await }).await
    }

    /// `{item}` is one of what the command's target (`then_refresh`) has now: a request for another would be spent for nothing. Before
    /// the first good answer nobody knows.
    fn refuse_unknown_item(
        &self,
        conn: &Conn,
        command: &CommandSpec,
        parameters: &BTreeMap<String, String>,
    ) -> Result<(), Denied> {
        let named = command.then_refresh.as_ref().and_then(|name| conn.target(name));
        let (Some(wanted), Some(target)) = (parameters.get(ITEM), named) else { return Ok(()) };
        if self.core.store.target(&target.key)?.is_none_or(|state| state.as_of.is_none()) {
            return Ok(());
        }
        if self.core.store.item(&target.key, wanted)?.is_some_and(|item| item.removed.is_none()) {
            return Ok(());
        }
        let few = ItemsAsk { filling: Filling::Present, limit: NAMED_ITEMS, ..ItemsAsk::default() };
        let seen = self.core.store.items_page(&target.key, &few)?;
        let present = seen.rows.iter().filter(|item| item.removed.is_none());
        let some: Vec<&str> = present.map(|item| item.key.as_str()).collect();
        let more = if seen.on.is_some() { ", ..." } else { "" };
        Err(Denied::Invalid(format!(
            "\"{wanted}\" is no item of {}; nothing was sent. It has: {}{more}",
            target.key.target,
            some.join(", ")
        )))
    }

    /// Copies the file while it is in use; the copy is verified before it gets its name. Returns a sentence.
    pub async fn backup(&self, destination: &std::path::Path) -> Result<String, Denied> {
        Ok(self.core.store.backup(destination, self.core.clock.mark()).await?)
    }
}

async fn accepted(core: &Arc<Core>, conn: Arc<Conn>, job: Job, event: NewEvent) -> Result<JobView, Denied> {
    let wanted = job.request_digest;
    let (job, created, events) = core.store.create_job(job, event).await?;
    core.publish(events);
    if !created && job.request_digest != wanted {
        let sentence = "this Idempotency-Key was used for another command or other parameters; take a new one";
        return Err(Denied::KeyReused(sentence.to_owned()));
    }
    if created {
        jobs::start(core, conn, job.clone());
    }
    Ok(present::job(job))
}

/// What an `Idempotency-Key` stands for: the command and its parameters, unambiguously.
fn digest(name: &str, parameters: &BTreeMap<String, String>) -> [u8; 16] {
    let mut hash = blake3::Hasher::new();
    for part in std::iter::once(name).chain(parameters.iter().flat_map(|(k, v)| [k.as_str(), v.as_str()])) {
        hash.update(&(part.len() as u64).to_be_bytes());
        hash.update(part.as_bytes());
    }
    let mut out = [0; 16];
    out.copy_from_slice(&hash.finalize().as_bytes()[..16]);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_idempotency_key_stands_for_exactly_one_request() {
        let with = |k: &str, v: &str| BTreeMap::from([(k.to_owned(), v.to_owned())]);
        assert_eq!(digest("run", &with("a", "bc")), digest("run", &with("a", "bc")));
        assert_ne!(digest("run", &with("a", "bc")), digest("run", &with("ab", "c")));
        assert_ne!(digest("run", &with("a", "b")), digest("runa", &BTreeMap::new()));
    }
}
