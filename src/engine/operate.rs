//! What operators do with the appliance: refresh, commands, the switch, backup, tokens. Everything that spends asks the budget.

use super::appliance::{Appliance, TokenInfo};
use super::core::Conn;
use super::fetch::{Done, Stopped, fetch_all};
use super::targets::Target;
use super::view::*;
use super::words::{self, Telling};
use super::{jobs, present};
use crate::domain::event::{EventKind, NewEvent};
use crate::domain::ids::*;
use crate::domain::job::{Job, JobState};
use crate::domain::spec::CommandSpec;
use crate::domain::time::Steady;
use crate::rules::budget::Refusal;
use crate::store::{Commit, TokenRecord, Write};
use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError};

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
        let (tell, told) = tokio::sync::oneshot::channel();
        let core = self.core.clone();
        self.core.spawn(async move {
            let wished = core.clock.now().stamp();
            let result = fetch_all(&core, &conn, &target, Caller::Refresh, wished).await;
            // Nobody waits any more: the answer is on the shelf all the same.
            let _ = tell.send(result);
        });
        match told.await {
            Ok(Ok(Done { asked, .. })) => Ok(RefreshView { refreshed: asked, target: self.target(key)? }),
            Ok(Err(stopped)) => Err(self.denied(&stopped, "No refresh")),
            Err(_) => Err(Denied::Unavailable("the appliance is stopping".to_owned())),
        }
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
        Err(self.not_before(at, sentence))
    }

    fn not_before(&self, at: Steady, sentence: String) -> Denied {
        let now = self.now();
        Denied::NotYet {
            sentence,
            not_before: Some(When(now.wall_of(at))),
            retry_after_s: Some(at.since(now.steady).as_secs_ceil()),
        }
    }

    pub(super) fn denied(&self, stopped: &Stopped, what: &str) -> Denied {
        let sentence = words::ended(&format!("{what}: {}", words::why(stopped, &self.now(), Telling::Anew)));
        let not_yet = |sentence| Denied::NotYet { sentence, not_before: None, retry_after_s: None };
        match (stopped, stopped.refusal()) {
            (Stopped::Paused, _) => Denied::Paused(sentence),
            (Stopped::Store(e), _) => Denied::Unavailable(e.to_string()),
            (Stopped::Unrecorded { .. }, _) => Denied::Unavailable(sentence),
            (_, Some(Refusal::NotUntil { at, .. })) if *at != Steady::MAX => self.not_before(*at, sentence),
            (_, Some(Refusal::Held(hold))) => self.not_before(hold.until, sentence),
            (_, Some(Refusal::Probing { at })) => self.not_before(*at, sentence),
            (_, None | Some(Refusal::NotUntil { .. } | Refusal::NeverFits { .. })) => not_yet(sentence),
        }
    }

    /// Accepts a command as a durable job and sends it when the budget lets it.
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
        let wanted = job.request_digest;
        let (job, created, events) = self.core.store.create_job(job, event).await?;
        self.core.publish(events);
        if !created && job.request_digest != wanted {
            let sentence = "this Idempotency-Key was used for another command or other parameters; take a new one";
            return Err(Denied::KeyReused(sentence.to_owned()));
        }
        if created {
            jobs::start(&self.core, conn, job.clone());
        }
        Ok(present::job(job))
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
        let items = self.core.store.items(&target.key)?;
        let seen: Vec<String> = items.into_iter().filter(|i| i.removed.is_none()).map(|i| i.key).collect();
        if seen.contains(wanted) {
            return Ok(());
        }
        let some: Vec<&str> = seen.iter().take(NAMED_ITEMS).map(String::as_str).collect();
        let more = if seen.len() > NAMED_ITEMS { ", ..." } else { "" };
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

    /// Returns the token's text, shown once; only its digest is kept.
    pub async fn create_token(&self, name: &str, role: &str, organization: &Organization) -> Result<String, Denied> {
        if !["admin", "owner", "reader", "agent"].contains(&role) {
            return Err(Denied::Invalid(format!("there is no role \"{role}\"; take admin, owner, reader or agent")));
        }
        if self.core.store.tokens()?.iter().any(|t| t.name == name && t.revoked_at.is_none()) {
            return Err(Denied::Invalid(words::token_taken(name)));
        }
        let text = mint_token().map_err(Denied::Unavailable)?;
        let token = TokenRecord {
            id: 0,
            name: name.to_owned(),
            hash: *blake3::hash(text.as_bytes()).as_bytes(),
            role: role.to_owned(),
            organization: organization.clone(),
            created_at: self.now().stamp(),
            revoked_at: None,
            expires_at: None,
        };
        self.core.store.create_token(token).await?;
        self.tokens_changed();
        Ok(text)
    }

    pub fn tokens(&self) -> Result<Vec<TokenInfo>, Denied> {
        Ok(self.core.store.tokens()?.into_iter().map(TokenInfo::from).collect())
    }

    pub async fn revoke_token(&self, id: u64) -> Result<(), Denied> {
        let tokens = self.core.store.tokens()?;
        let Some(token) = tokens.into_iter().find(|t| t.id == id) else {
            return Err(Denied::NotFound(format!("there is no token {id}")));
        };
        let revoked_at = token.revoked_at.or_else(|| Some(self.now().stamp()));
        let commit = Commit { writes: vec![Write::Token(TokenRecord { revoked_at, ..token })], ..Commit::default() };
        self.core.store.commit(commit).await?;
        self.tokens_changed();
        Ok(())
    }

    /// The token that this text is, if it is one and not revoked.
    pub fn check_token(&self, text: &str) -> Option<TokenInfo> {
        use subtle::ConstantTimeEq;
        let hash = blake3::hash(text.as_bytes());
        let tokens = self.known_tokens().ok()?;
        let known = tokens.iter().filter(|t| t.revoked_at.is_none());
        known.filter(|t| bool::from(t.hash.ct_eq(hash.as_bytes()))).cloned().map(TokenInfo::from).next()
    }

    /// Clients of the gateway show one with each request: the file is read once for all of them.
    fn known_tokens(&self) -> Result<Arc<Vec<TokenRecord>>, Denied> {
        if let Some(known) = &*self.core.tokens.read().unwrap_or_else(PoisonError::into_inner) {
            return Ok(known.clone());
        }
        let mut known = self.core.tokens.write().unwrap_or_else(PoisonError::into_inner);
        let read = Arc::new(self.core.store.tokens()?);
        *known = Some(read.clone());
        Ok(read)
    }

    fn tokens_changed(&self) {
        *self.core.tokens.write().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// A new token's text: 24 random bytes behind a prefix that scanners for leaked secrets can learn. Error: a sentence.
pub fn mint_token() -> Result<String, String> {
    let mut bytes = [0u8; 24];
    getrandom::fill(&mut bytes).map_err(|e| format!("the system has no random numbers: {e}"))?;
    Ok(bytes.iter().fold("larder_".to_owned(), |text, b| format!("{text}{b:02x}")))
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
    fn a_token_is_long_and_never_the_same() {
        let (one, two) = (mint_token(), mint_token());
        assert!(one.as_ref().is_ok_and(|t| t.len() == "larder_".len() + 48));
        assert_ne!(one, two);
    }

    #[test]
    fn an_idempotency_key_stands_for_exactly_one_request() {
        let with = |k: &str, v: &str| BTreeMap::from([(k.to_owned(), v.to_owned())]);
        assert_eq!(digest("run", &with("a", "bc")), digest("run", &with("a", "bc")));
        assert_ne!(digest("run", &with("a", "bc")), digest("run", &with("ab", "c")));
        assert_ne!(digest("run", &with("a", "b")), digest("runa", &BTreeMap::new()));
    }
}
