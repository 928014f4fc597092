//! What an answer is kept under, and which of the answers that are there a request means: method, target and credential, and the request
//! headers that the answers' `Vary` names (RFC 9111 sections 2 and 4.1). Must not know how old anything is.

use super::location::Location;
use crate::domain::gateway::{Head, Kept, Reading, ShelfKey, Variant, joined};
use crate::domain::ids::{ConnectionKey, CredentialId};

/// Tells entries apart, in maps and in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EntryId(pub [u8; 16]);

impl EntryId {
    pub fn of(head: &Head) -> EntryId {
        EntryId::from_parts(&head.key, &head.variant, head.kept)
    }

    pub fn from_parts(key: &ShelfKey, variant: &Variant, kept: Kept) -> EntryId {
        let mut hash = blake3::Hasher::new();
        let mut part = |text: &str| {
            hash.update(&(text.len() as u64).to_be_bytes()).update(text.as_bytes());
        };
        part(key.connection.organization.as_str());
        part(key.connection.connection.as_str());
        part(key.reading.method());
        part(&key.target);
        part(kept.word());
        for (name, value) in variant {
            part(name);
            part(value.as_ref().map_or("absent", |_| "present"));
            part(value.as_deref().unwrap_or_default());
        }
        hash.update(&key.credential.0);
        EntryId(first_half(&hash.finalize()))
    }
}

/// The digest of a body.
pub fn digest(body: &[u8]) -> [u8; 16] {
    first_half(&blake3::hash(body))
}

fn first_half(hash: &blake3::Hash) -> [u8; 16] {
    let mut half = [0; 16];
    half.copy_from_slice(&hash.as_bytes()[..16]);
    half
}

/// `location` without the credential's own parameter.
pub fn key(connection: &ConnectionKey, credential: CredentialId, reading: Reading, location: &Location) -> ShelfKey {
    ShelfKey { connection: connection.clone(), credential, reading, target: location.target() }
}

/// What the answer's `Vary` names, as the request has it. `None`: it never fits a second request (`Vary: *`).
/// `sent`: the headers as they go out, without any credential; lower-case names.
pub fn variant(answered: &[(String, String)], sent: &[(String, String)]) -> Option<Variant> {
    let vary = joined(answered, "vary").unwrap_or_default();
    let mut names: Vec<String> = vary.split(',').map(|name| name.trim().to_ascii_lowercase()).collect();
    names.retain(|name| !name.is_empty());
    if names.iter().any(|name| name == "*") {
        return None;
    }
    names.sort_unstable();
    names.dedup();
    Some(names.into_iter().map(|name| (name.clone(), value(sent, &name))).collect())
}

/// White space around values means nothing, and several lines are one list. So does the case of languages and charsets (RFC 9110 section 12.5);
/// what a provider makes of their order is its own.
fn value(sent: &[(String, String)], name: &str) -> Option<String> {
    let all = joined(sent, name)?;
    let all = if matches!(name, "accept-language" | "accept-charset") { all.to_ascii_lowercase() } else { all };
    Some(all.split(',').map(str::trim).collect::<Vec<_>>().join(", "))
}

/// Whether an answer to that variant is one to this request.
pub fn fits(variant: &Variant, sent: &[(String, String)]) -> bool {
    variant.iter().all(|(name, had)| value(sent, name) == *had)
}

/// Which of the answers under one target this request means: the newest that fits, of the method asked for or, for HEAD, of a GET. What is no
/// good answer stands only while `in_force` says so.
pub fn select<'h>(
    heads: impl IntoIterator<Item = &'h Head>,
    reading: Reading,
    sent: &[(String, String)],
    in_force: impl Fn(&Head) -> bool,
) -> Option<&'h Head> {
    let usable = |head: &&Head| {
        let answers = head.key.reading == reading || reading == Reading::Head;
        answers && fits(&head.variant, sent) && (head.kept == Kept::Data || in_force(head))
    };
    heads.into_iter().filter(usable).max_by_key(|head| (head.as_of.era, head.as_of.steady))
}
