//! Secrets, and their removal from any text by value (A46, A47). Knows nothing of HTTP, and never looks at field names:
//! a secret is found wherever it stands, in whatever spelling a library, a provider or a log line gave it.

mod log;
mod pattern;
mod source;
mod stream;
#[cfg(test)]
mod tests;

pub use log::Redacting;
pub use source::read_secret;
pub use stream::StreamRedactor;

use crate::domain::ids::CredentialId;
use regex::bytes::Regex;
use std::borrow::Cow;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};
use zeroize::Zeroizing;

/// What stands where a secret stood.
pub const MASK: &str = "***";

/// Shortest secret that can be removed by value without tearing holes into ordinary words.
pub const SHORTEST_SECRET: usize = 4;

/// Longest secret: a file that is longer is not a secret but a mistake.
pub const LONGEST_SECRET: usize = 4 * 1024;

/// Longest token that a provider may hand out: more than that, and no header could carry it.
const LONGEST_TOKEN: usize = 16 * 1024;

/// Shortest secret that is removed from bodies too. Shorter ones would damage data that only looks like them.
const SHORTEST_IN_BODY: usize = 8;

/// A credential's value. Wiped from memory on drop; prints as `Secret(***)`.
#[derive(Clone)]
pub struct Secret(Zeroizing<String>);

impl Secret {
    /// Refuses what could not be kept out of logs or could not travel. The sentence never carries the value.
    pub fn new(value: String) -> Result<Secret, String> {
        let value = Zeroizing::new(value);
        match value.len() {
            0 => Err("it is empty; put the provider's key there".to_owned()),
            n if n < SHORTEST_SECRET => Err(format!(
                "it has only {n} characters; a secret needs at least {SHORTEST_SECRET}, or it could not be kept out of logs"
            )),
            n if n > LONGEST_SECRET => {
                Err(format!("it is longer than {LONGEST_SECRET} bytes; is this the right variable or file?"))
            }
            _ if value.chars().any(char::is_control) => {
                Err("it has a line break or another control character inside; keep the key alone there".to_owned())
            }
            _ => Ok(Secret(value)),
        }
    }

    /// A token that a provider handed out: visible ASCII, since it has to travel in a header.
    pub(super) fn learned(value: String) -> Result<Secret, String> {
        let value = Zeroizing::new(value);
        let fits = (SHORTEST_SECRET..=LONGEST_TOKEN).contains(&value.len())
            && value.bytes().all(|b| (0x20..0x7f).contains(&b));
        if fits { Ok(Secret(value)) } else { Err("it is not a token".to_owned()) }
    }

    /// The value itself. For who puts it on the wire alone: the door, and the link to a broker.
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secret({MASK})")
    }
}

/// Removes all secrets that it was made from, and those that it learns later. Cheap to clone, and all clones learn together.
#[derive(Clone, Default)]
pub struct Redactor(Arc<RwLock<Known>>);

#[derive(Default)]
struct Known {
    secrets: Vec<Secret>,
    /// How many of them were there from the start; of the learned ones the newest are kept.
    first: usize,
    text: Option<Arc<Regex>>,
    body: Option<Arc<Regex>>,
    /// Bytes within which any secret of bodies shows itself.
    reach: usize,
}

/// Learned secrets that are still looked for: the newest few of a handful of credentials. Older ones have ended long since.
const MOST_LEARNED: usize = 64;

impl Redactor {
    /// Finds each secret as it is, percent-encoded (any letter case, also twice), with JSON or Debug escapes, and inside
    /// base64 at any alignment (`Basic` puts a user name in front of it).
    pub fn new<'a>(secrets: impl IntoIterator<Item = &'a Secret>) -> Redactor {
        let mut known = Known { secrets: secrets.into_iter().cloned().collect(), ..Known::default() };
        known.first = known.secrets.len();
        known.compile();
        Redactor(Arc::new(RwLock::new(known)))
    }

    /// From now on these are removed too, here and in every clone.
    pub fn learn(&self, secrets: impl IntoIterator<Item = Secret>) {
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let before = known.secrets.len();
        for secret in secrets {
            if !known.secrets.iter().any(|k| k.expose() == secret.expose()) {
                known.secrets.push(secret);
            }
        }
        if known.secrets.len() > before {
            let (first, surplus) = (known.first, known.secrets.len().saturating_sub(known.first + MOST_LEARNED));
            known.secrets.drain(first..first + surplus);
            known.compile();
        }
    }

    /// One more that is never forgotten: a configured secret that another one took the place of may still be echoed.
    pub fn keep(&self, secret: &Secret) {
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let first = known.first;
        if known.secrets[..first].iter().any(|k| k.expose() == secret.expose()) {
            return;
        }
        known.secrets.insert(first, secret.clone());
        known.first += 1;
        known.compile();
    }

    fn pattern(&self, of: impl Fn(&Known) -> &Option<Arc<Regex>>) -> Option<Arc<Regex>> {
        of(&self.0.read().unwrap_or_else(PoisonError::into_inner)).clone()
    }

    /// What finds secrets in bodies, and within how many bytes; `None`: nothing is to be found.
    fn for_bodies(&self) -> Option<(Arc<Regex>, usize)> {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        Some((known.body.clone()?, known.reach))
    }

    /// The text without any known secret.
    pub fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match replace(self.pattern(|k| &k.text).as_deref(), text.as_bytes()) {
            Cow::Borrowed(_) => Cow::Borrowed(text),
            Cow::Owned(bytes) => Cow::Owned(String::from_utf8_lossy(&bytes).into_owned()),
        }
    }

    /// Bytes of a log line without any known secret.
    pub fn bytes<'t>(&self, bytes: &'t [u8]) -> Cow<'t, [u8]> {
        replace(self.pattern(|k| &k.text).as_deref(), bytes)
    }

    /// A provider's body without the secrets that can be told from data: what it echoes must not reach the shelf, a
    /// sentence cut to 160 characters, or a page. Secrets shorter than 8 characters and those of digits alone stay, since
    /// removing them could turn good JSON into bad.
    pub fn body(&self, body: Vec<u8>) -> Vec<u8> {
        match replace(self.pattern(|k| &k.body).as_deref(), &body) {
            Cow::Borrowed(_) => body,
            Cow::Owned(clean) => clean,
        }
    }
}

impl Known {
    fn compile(&mut self) {
        let values: Vec<&str> = self.secrets.iter().map(Secret::expose).collect();
        let in_bodies: Vec<&str> = values.iter().copied().filter(|v| may_leave_bodies(v)).collect();
        let (text, body) = (pattern::compile(&values), pattern::compile(&in_bodies));
        (self.text, self.body) = (text.map(Arc::new), body.map(Arc::new));
        self.reach = pattern::reach(&in_bodies);
    }
}

impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Redactor")
    }
}

fn may_leave_bodies(value: &str) -> bool {
    value.len() >= SHORTEST_IN_BODY && !value.bytes().all(|b| b.is_ascii_digit())
}

fn replace<'t>(pattern: Option<&Regex>, bytes: &'t [u8]) -> Cow<'t, [u8]> {
    match pattern {
        Some(p) => p.replace_all(bytes, regex::bytes::NoExpand(MASK.as_bytes())),
        None => Cow::Borrowed(bytes),
    }
}

/// The budget boundary (F1): a keyed digest of the secret, so that two connections with one secret share one budget, a
/// rotated secret starts its own, and the file does not tell the secret. A connection without a credential is bounded by
/// the origin that it calls: there the provider counts addresses, and this machine has one.
pub fn fingerprint(installation: &[u8; 32], secret: Option<&Secret>, base_url_origin: &str) -> CredentialId {
    let mut hasher = blake3::Hasher::new_keyed(installation);
    match secret {
        Some(secret) => hasher.update(b"secret\0").update(secret.expose().as_bytes()),
        None => hasher.update(b"origin\0").update(base_url_origin.to_ascii_lowercase().as_bytes()),
    };
    let mut id = [0; 16];
    id.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
    CredentialId(id)
}
