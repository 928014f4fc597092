//! Tokens that renew themselves: held here, sealed for the store, shown to nobody. Knows OAuth 2.0 and secrets; must not know budgets,
//! nor when to renew: it is told to, with a permit.
//!
//! The order that makes a rotating token safe: a new token is *pending* until the store has it, and *adopted* only then. What is
//! pending is not sent anywhere.

mod answer;
mod kept;
mod seal;
#[cfg(test)]
mod tests;

pub use seal::{Found, SealKey, key_beside};

use super::redact::{Redactor, Secret};
use crate::domain::ids::{ConnectionKey, CredentialId};
use crate::domain::oauth::{ClientAuth, OAuthSpec, Rotation};
use crate::domain::reply::{Answer, Reply};
use crate::domain::time::{Span, Stamp, Steady};
use answer::Said;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use kept::{Digest, Kept, Origin};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock};
use zeroize::Zeroizing;

const PURPOSE: &str = "oauth2 tokens";
/// A token this close to its end is renewed first: the request must arrive before it.
const LEEWAY: Span = Span::from_secs(30);
/// No leeway is more than this part of the token's life: else one that lives for a minute would be renewed before every request.
const LEEWAY_PART: u64 = 10;

/// How a credential stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    /// There is an access token that is not known to be over.
    pub valid: bool,
    /// Of the stored secret that it came with.
    pub version: u64,
    /// The operator gave another credential than the one that was used or rejected last: old refusals mean nothing.
    pub anew: bool,
    /// What was stored cannot be opened: the key file is another one.
    pub key_lost: bool,
    /// And the configured refresh token was replaced by those that cannot be opened. Sent again it could be their end (RFC 9700 section
    /// 4.14.2), and they live on once the key file is back: it is not sent.
    pub withheld: bool,
    /// What was stored is in use: it comes of what is configured.
    pub opened: bool,
    /// How long its access tokens are used before another one is asked for, as the last one said; `None`: nobody has said it yet.
    /// One that does not end by itself lives for ever.
    pub lives: Option<Span>,
}

/// What came of asking for new tokens.
#[derive(Debug)]
pub enum Renewed {
    /// New tokens are pending; these are they, sealed.
    Granted(Vec<u8>),
    /// The provider does not accept the refresh token.
    InvalidGrant(Option<String>),
    /// The provider does not accept the client: a code of RFC 6749 section 5.2, and its words.
    Refused(String, Option<String>),
    /// Anything else, to be judged as any answer. Without secrets.
    Unclear(Reply),
}

/// The answer to one renewal.
#[derive(Debug)]
pub struct Renewal {
    pub arrived_at: Stamp,
    pub status: Option<u16>,
    pub result: Renewed,
}

#[derive(Clone, Serialize, Deserialize)]
struct Held {
    refresh: String,
    access: Option<String>,
    /// On the steady timeline, which survives restarts.
    expires_at: Option<u64>,
    /// How long it was said to be good for, ms; u64::MAX where nothing was said. `None`: before its first, or of an older version.
    #[serde(default)]
    lives: Option<u64>,
    /// Digest of the configured token that all of these come from.
    seed: Digest,
}

struct Grant {
    spec: OAuthSpec,
    client_secret: Option<Secret>,
    held: Held,
    pending: Option<Held>,
    /// Digest of the configured credential, by which it is known again once it was rejected.
    configured: Digest,
    /// But for the times, which are those of `held`.
    standing: Standing,
}

impl Grant {
    /// These tokens are stored, as this version, with the key that is there.
    fn takes(&mut self, held: Held, version: u64) {
        (self.held, self.pending) = (held, None);
        self.standing = Standing { version, opened: true, ..Standing::default() };
    }
}

/// All credentials that renew themselves.
pub struct Vault {
    key: SealKey,
    redactor: Redactor,
    owners: RwLock<BTreeMap<ConnectionKey, CredentialId>>,
    grants: Mutex<BTreeMap<CredentialId, Grant>>,
}

/// A credential that joins the vault.
pub struct Joining<'a> {
    pub connection: ConnectionKey,
    pub credential: CredentialId,
    pub spec: &'a OAuthSpec,
    pub refresh: &'a Secret,
    pub client_secret: Option<&'a Secret>,
    /// Version and bytes of what an earlier run stored.
    pub stored: Option<(u64, Vec<u8>)>,
}

impl Drop for Held {
    fn drop(&mut self) {
        use zeroize::Zeroize;
        self.refresh.zeroize();
        self.access.zeroize();
    }
}

impl Vault {
    pub fn new(key: SealKey, redactor: Redactor) -> Vault {
        Vault { key, redactor, owners: RwLock::default(), grants: Mutex::default() }
    }

    /// A sentence where what is stored cannot be used.
    pub fn join(&self, joining: Joining<'_>) -> Option<String> {
        if self.grants().contains_key(&joining.credential) {
            self.owners.write().unwrap_or_else(PoisonError::into_inner).insert(joining.connection, joining.credential);
            return None;
        }
        self.plant(joining)
    }

    /// As [`Vault::join`]; one that joined before begins anew with what is configured, or set, now. Not while a renewal is under way.
    pub fn plant(&self, joining: Joining<'_>) -> Option<String> {
        let (connection, credential) = (joining.connection.clone(), joining.credential);
        let mut grant = self.grant(joining);
        let Standing { key_lost, withheld, .. } = grant.standing;
        let mut grants = self.grants();
        if let Some(before) = grants.get_mut(&credential).filter(|before| before.held.seed == grant.held.seed) {
            grant.pending = before.pending.take();
        }
        grants.insert(credential, grant);
        self.owners.write().unwrap_or_else(PoisonError::into_inner).insert(connection.clone(), credential);
        key_lost.then(|| seal::lost(&connection, withheld))
    }

    fn grant(&self, joining: Joining<'_>) -> Grant {
        let Joining { credential, spec, refresh, client_secret, stored, .. } = joining;
        let seed = seed(credential, refresh.expose());
        let configured = configured(seed, spec, client_secret);
        let (version, kept) = stored.map_or_else(Default::default, |(version, bytes)| (version, Kept::of(&bytes)));
        let opened = (!kept.sealed.is_empty()).then(|| self.opened(credential, &kept.sealed));
        let key_lost = matches!(opened, Some(None));
        let held = opened.flatten();
        let from = held.as_ref().map(|held| held.seed).or(kept.origin.map(|origin| origin.seed));
        let is_another = from.is_some_and(|from| from != seed);
        let is_replaced = kept.origin.map_or(spec.rotation == Rotation::Rotates, |origin| origin.replaced);
        let withheld = key_lost && !is_another && is_replaced;
        let anew = !withheld && kept.rejected.map_or(is_another, |rejected| rejected != configured);
        let fresh = || Held { refresh: refresh.expose().to_owned(), access: None, expires_at: None, lives: None, seed };
        // Where the operator gave another one, the old tokens are of no use to anybody.
        let held = held.filter(|_| !is_another);
        let standing = Standing { version, anew, key_lost, withheld, opened: held.is_some(), ..Standing::default() };
        let held = held.unwrap_or_else(fresh);
        self.hide(&held);
        Grant { spec: spec.clone(), client_secret: client_secret.cloned(), held, pending: None, configured, standing }
    }

    fn grants(&self) -> MutexGuard<'_, BTreeMap<CredentialId, Grant>> {
        self.grants.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn opened(&self, credential: CredentialId, bytes: &[u8]) -> Option<Held> {
        serde_json::from_slice(&self.key.open(credential, PURPOSE, bytes)?).ok()
    }

    fn sealed(&self, credential: CredentialId, held: &Held) -> Result<Vec<u8>, String> {
        let plain = serde_json::to_vec(held).map(Zeroizing::new).map_err(|e| e.to_string())?;
        let sealed = self.key.seal(credential, PURPOSE, &plain)?;
        let origin = Origin { seed: held.seed, replaced: seed(credential, &held.refresh) != held.seed };
        Ok(Kept { origin: Some(origin), rejected: None, sealed }.bytes())
    }

    /// Before anything is written anywhere: no log line, page or answer carries a token.
    fn hide(&self, held: &Held) {
        let tokens = [Some(&held.refresh), held.access.as_ref()];
        self.redactor.learn(tokens.into_iter().flatten().filter_map(|t| Secret::learned(t.clone()).ok()));
    }

    pub fn standing(&self, credential: CredentialId, now: Steady) -> Standing {
        let grants = self.grants();
        let Some(grant) = grants.get(&credential) else { return Standing::default() };
        let early = grant.held.lives.map_or(LEEWAY, leeway);
        let in_time = grant.held.expires_at.is_none_or(|at| now + early < Steady(at));
        Standing {
            valid: grant.held.access.is_some() && in_time,
            lives: grant.held.lives.map(|ms| Span(ms).saturating_sub(leeway(ms))),
            ..grant.standing
        }
    }

    /// What travels with a connection's requests now.
    pub(super) fn access_token(&self, connection: &ConnectionKey) -> Option<Secret> {
        let grants = self.grants();
        let access = grants.get(&self.owned_by(connection)?)?.held.access.clone()?;
        Secret::learned(access).ok()
    }

    pub(super) fn owned_by(&self, connection: &ConnectionKey) -> Option<CredentialId> {
        self.owners.read().unwrap_or_else(PoisonError::into_inner).get(connection).copied()
    }

    /// Body and `Authorization` of the request for new tokens (RFC 6749 section 6).
    pub fn asking(&self, credential: CredentialId) -> Option<(Zeroizing<String>, Option<Zeroizing<String>>)> {
        let grants = self.grants();
        let grant = grants.get(&credential)?;
        let secret = grant.client_secret.as_ref().map(Secret::expose);
        let client_id = grant.spec.client_id.as_str();
        let mut pairs = vec![("grant_type", "refresh_token"), ("refresh_token", grant.held.refresh.as_str())];
        let mut basic = None;
        match (grant.spec.auth, secret) {
            (ClientAuth::Basic, Some(secret)) => {
                let pair = Zeroizing::new(format!("{}:{}", form_text(client_id), form_text(secret)));
                basic = Some(Zeroizing::new(format!("Basic {}", STANDARD.encode(pair.as_bytes()))));
            }
            (_, secret) => {
                pairs.push(("client_id", client_id));
                pairs.extend(secret.map(|secret| ("client_secret", secret)));
            }
        }
        pairs.extend(grant.spec.scope.as_deref().map(|scope| ("scope", scope)));
        let members: Vec<String> = pairs.iter().map(|(name, value)| format!("{name}={}", form_text(value))).collect();
        Some((Zeroizing::new(members.join("&")), basic))
    }

    /// Judges an answer of the token endpoint. `asked_at`: a token's time runs from then at the latest.
    pub fn take(&self, credential: CredentialId, asked_at: Stamp, arrived_at: Stamp, answer: Answer) -> Renewal {
        let status = Some(answer.status);
        let said = answer::read(answer.status, &answer.body);
        let clean = |words: String| Some(self.redactor.text(&words).chars().take(160).collect());
        let result = match said {
            Said::Tokens(tokens) => {
                self.redactor.learn(std::iter::once(tokens.access.clone()).chain(tokens.refresh.clone()));
                match self.hold(credential, asked_at, tokens) {
                    Some(sealed) => Renewed::Granted(sealed),
                    None => {
                        Renewed::Refused("not_sealed".to_owned(), Some("the new token could not be sealed".to_owned()))
                    }
                }
            }
            Said::InvalidGrant(words) => Renewed::InvalidGrant(clean(words)),
            Said::Refused(code, words) => Renewed::Refused(code, clean(words)),
            Said::Other => {
                let body = self.redactor.body(answer.body);
                Renewed::Unclear(Reply { arrived_at, result: Ok(Answer { body, ..answer }), detail: String::new() })
            }
        };
        Renewal { arrived_at, status, result }
    }

    fn hold(&self, credential: CredentialId, asked_at: Stamp, tokens: answer::Tokens) -> Option<Vec<u8>> {
        let mut grants = self.grants();
        let grant = grants.get_mut(&credential)?;
        let refresh = tokens.refresh.as_ref().map_or_else(|| grant.held.refresh.clone(), |r| r.expose().to_owned());
        let expires_at = tokens.expires_in.map(|span| (asked_at.steady + span).0);
        let access = Some(tokens.access.expose().to_owned());
        let lives = Some(tokens.expires_in.map_or(u64::MAX, |span| span.0));
        let pending = Held { refresh, access, expires_at, lives, seed: grant.held.seed };
        let sealed = self.sealed(credential, &pending);
        grant.pending = Some(pending);
        sealed.map_err(|why| tracing::error!("{why}")).ok()
    }

    /// The tokens that wait to be stored, sealed.
    pub fn pending(&self, credential: CredentialId) -> Option<Vec<u8>> {
        let pending = self.grants().get(&credential)?.pending.clone()?;
        self.sealed(credential, &pending).ok()
    }

    /// What was pending is stored, as this version: from now on it is used.
    pub fn adopt(&self, credential: CredentialId, version: u64) {
        if let Some(grant) = self.grants().get_mut(&credential)
            && let Some(pending) = grant.pending.take()
        {
            grant.takes(pending, version);
        }
    }

    /// Somebody else stored other tokens first: theirs are the ones (A51). False where they cannot be opened.
    pub fn follow(&self, credential: CredentialId, version: u64, bytes: &[u8]) -> bool {
        let Some(held) = self.opened(credential, &Kept::of(bytes).sealed) else { return false };
        self.hide(&held);
        if let Some(grant) = self.grants().get_mut(&credential) {
            grant.takes(held, version);
        }
        true
    }

    /// What to store so that the next start knows whether the configured credential was rejected; `None` where it is `stored` so. The
    /// tokens that are stored stay, whether they can be opened or not.
    pub fn marked(&self, credential: CredentialId, rejected: bool, stored: Option<&[u8]>) -> Option<Vec<u8>> {
        let grants = self.grants();
        let grant = grants.get(&credential)?;
        let before = stored.map(Kept::of).unwrap_or_default();
        // What an earlier version kept does not say it.
        let withheld = grant.standing.withheld.then_some(Origin { seed: grant.held.seed, replaced: true });
        let rejected = rejected.then_some(grant.configured);
        let after = Kept { origin: before.origin.or(withheld), rejected, ..before.clone() };
        (after != before).then(|| after.bytes())
    }

    /// The tokens are the same, and what is stored of them is of this version.
    pub fn stands_at(&self, credential: CredentialId, version: u64) {
        if let Some(grant) = self.grants().get_mut(&credential) {
            grant.standing.version = version;
        }
    }

    /// The access token was not accepted: it is not used again. The refresh token stays.
    pub fn doubt(&self, credential: CredentialId) {
        if let Some(grant) = self.grants().get_mut(&credential) {
            grant.held.access = None;
        }
    }
}

/// How long before its end a token is renewed that lives for so many milliseconds.
fn leeway(lives_ms: u64) -> Span {
    LEEWAY.min(Span(lives_ms / LEEWAY_PART))
}

/// `application/x-www-form-urlencoded`, strictly: what every reader of forms reads the same.
fn form_text(text: &str) -> String {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-._~".contains(&b);
    text.bytes().map(|b| if plain(b) { char::from(b).to_string() } else { format!("%{b:02X}") }).collect()
}

/// Tells a new configured token from the old one without keeping either. The identity of the credential is its key, and is itself keyed
/// for this file.
fn seed(credential: CredentialId, refresh: &str) -> Digest {
    digest([credential.0.as_slice(), refresh.as_bytes()])
}

/// Tells whether anything was changed that the token endpoint judges.
fn configured(seed: Digest, spec: &OAuthSpec, client_secret: Option<&Secret>) -> Digest {
    let secret = client_secret.map_or("", Secret::expose);
    let auth: &[u8] = match spec.auth {
        ClientAuth::Basic => b"basic",
        ClientAuth::Body => b"body",
    };
    let scope = spec.scope.as_deref().unwrap_or_default();
    let length = (scope.len() as u64).to_be_bytes();
    digest([seed.as_slice(), auth, length.as_slice(), scope.as_bytes(), secret.as_bytes()])
}

fn digest<const N: usize>(parts: [&[u8]; N]) -> Digest {
    let mut hasher = blake3::Hasher::new();
    parts.iter().for_each(|part| {
        hasher.update(part);
    });
    let mut digest = Digest::default();
    digest.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
    digest
}

/// The budget boundary of a credential that renews itself: the client and the account, not each token. A refresh, and a new grant for the
/// same account, spend from the same budget, as the provider counts them.
pub fn identity(installation: &[u8; 32], spec: &OAuthSpec) -> CredentialId {
    let mut hasher = blake3::Hasher::new_keyed(installation);
    for part in ["oauth2", &spec.token_url, &spec.client_id, &spec.account] {
        hasher.update(&(part.len() as u64).to_be_bytes()).update(part.as_bytes());
    }
    let mut id = [0; 16];
    id.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
    CredentialId(id)
}
