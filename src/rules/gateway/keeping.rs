//! Which answers come onto the shelf, and what of them (RFC 9111 section 3): whole and classified ones alone. An error takes no good answer's
//! place; where the provider's word on caching counts, and it says for how long, it is kept beside it for so long. Must not know how much room
//! there is.

use super::directives::{Directives, Wishes, listed};
use super::gate::Policy;
use super::key;
use crate::domain::gateway::{Freshness, Head, Kept, Reading, ShelfKey, ShelfSpec, Shelved, Variant};
use crate::domain::outcome::Outcome;
use crate::domain::time::Stamp;
use std::sync::Arc;

/// Nothing larger is kept, however much room there is.
const LARGEST: u64 = 16 << 20;

/// The largest body that is kept: no single one may be more than an eighth of the shelf.
pub fn largest(shelf: &ShelfSpec) -> u64 {
    LARGEST.min(shelf.memory / 8).min(shelf.disk / 8)
}

/// A request, as far as keeping its answer goes.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    pub reading: Reading,
    /// As they go out, without any credential; lower-case names.
    pub sent: &'a [(String, String)],
    pub wishes: &'a Wishes,
    /// The client's request carried an `Authorization` of its own.
    pub authorized: bool,
}

/// An answer that is there whole.
#[derive(Clone, Copy, Debug)]
pub struct Answered<'a> {
    pub status: u16,
    /// Lower-case names.
    pub headers: &'a [(String, String)],
    pub outcome: Outcome,
}

/// Why an answer is not kept, in one word for `Cache-Status`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotKept {
    /// No good answer, or one to a part.
    NotGood,
    Partial,
    TooLarge,
    /// The client, or with `freshness = "http"` the provider, forbids it.
    NoStore,
    Private,
    /// It was asked for with an authorization of the client's, and nothing allows to share it (RFC 9111 section 3.5).
    Authorized,
    /// `Vary: *`
    VariesByAll,
    /// Nothing says that it may be kept, and its status alone does not.
    Unsaid,
}

impl NotKept {
    pub const fn word(self) -> &'static str {
        match self {
            NotKept::NotGood => "not_good",
            NotKept::Partial => "partial",
            NotKept::TooLarge => "too_large",
            NotKept::NoStore => "no_store",
            NotKept::Private => "private",
            NotKept::Authorized => "authorized",
            NotKept::VariesByAll => "varies_by_all",
            NotKept::Unsaid => "unsaid",
        }
    }
}

/// What it would be kept as, and under which request headers; before its body is there.
pub fn may_keep(asked: &Asked<'_>, answered: &Answered<'_>, policy: &Policy<'_>) -> Result<(Kept, Variant), NotKept> {
    let kept = match answered.outcome {
        // Whatever its status is expected to mean: it is everybody's, and has an end of its own.
        Outcome::Limited | Outcome::Unpaid => return Err(NotKept::NotGood),
        _ if policy.is_not_ready(answered.status) => Kept::NotReady,
        Outcome::Data => Kept::Data,
        _ if policy.freshness == Freshness::Http && is_declared(answered, policy) => Kept::Declared,
        _ => return Err(NotKept::NotGood),
    };
    // A request for a part, and every answer that is one; by HTTP the status alone says that (RFC 9110 section 14.4).
    let names_a_part = answered.headers.iter().any(|(n, _)| n == "content-range");
    if answered.status == 206 || names_a_part && policy.freshness != Freshness::Http {
        return Err(NotKept::Partial);
    }
    if asked.wishes.no_store {
        return Err(NotKept::NoStore);
    }
    if kept != Kept::NotReady && policy.freshness == Freshness::Http {
        by_http(asked, answered, policy)?;
    }
    let variant = key::variant(answered.headers, asked.sent).ok_or(NotKept::VariesByAll)?;
    Ok((kept, variant))
}

/// A final answer to just this that is no good one, and says itself for how long it stands (RFC 9111 section 3). What is said to the account,
/// of its limits and its credential, is never one.
fn is_declared(answered: &Answered<'_>, policy: &Policy<'_>) -> bool {
    let is_final = match answered.outcome {
        Outcome::Redirected => true,
        Outcome::Gone | Outcome::Unexpected | Outcome::Overloaded => {
            answered.status >= 400 && !matches!(answered.status, 401 | 403 | 407 | 408 | 429)
        }
        _ => false,
    };
    is_final && is_explicit(answered.headers, &Directives::of(answered.headers, policy.targeted))
}

/// Whether it says for how long it is fresh.
fn is_explicit(headers: &[(String, String)], said: &Directives) -> bool {
    let expires = !said.addressed && headers.iter().any(|(name, _)| name == "expires");
    expires || said.max_age.is_some() || said.s_maxage.is_some()
}

fn by_http(asked: &Asked<'_>, answered: &Answered<'_>, policy: &Policy<'_>) -> Result<(), NotKept> {
    let said = Directives::of(answered.headers, policy.targeted);
    // Understood is what RFC 9110 defines; then `must-understand` lifts `no-store` (RFC 9111 section 5.2.2.3).
    let understood = said.must_understand && is_understood(answered.status);
    if !understood && (said.must_understand || said.no_store) {
        return Err(NotKept::NoStore);
    }
    if said.private {
        return Err(NotKept::Private);
    }
    if asked.authorized && !(said.public || said.must_revalidate || said.s_maxage.is_some()) {
        return Err(NotKept::Authorized);
    }
    if said.public || is_explicit(answered.headers, &said) || is_kept_by_status(answered.status) {
        Ok(())
    } else {
        Err(NotKept::Unsaid)
    }
}

/// Heuristically cacheable (RFC 9110 section 15.1); without heuristics such an answer is over at once, and still the last good one.
const fn is_kept_by_status(status: u16) -> bool {
    matches!(status, 200 | 203 | 204 | 300 | 301 | 308 | 404 | 405 | 410 | 414 | 501)
}

/// Final statuses that RFC 9110 section 15 defines.
const fn is_understood(status: u16) -> bool {
    matches!(status, 200..=206 | 300..=305 | 307 | 308 | 400..=417 | 421 | 422 | 426 | 500..=505)
}

/// When an answer was asked for, and when it arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    pub asked_at: Stamp,
    pub as_of: Stamp,
}

/// The answer as it is kept. `before`: what was kept there; an equal body has not changed since.
pub fn shelve(
    key: ShelfKey,
    (kept, variant): (Kept, Variant),
    answered: &Answered<'_>,
    body: Arc<[u8]>,
    Times { asked_at, as_of }: Times,
    cost: u32,
    before: Option<&Head>,
) -> Shelved {
    let digest = key::digest(&body);
    let same = before.filter(|before| before.digest == digest && before.kept == kept);
    let mut headers = kept_headers(answered.headers);
    if key.reading == Reading::Head {
        // There is no body to tell it by (RFC 9110 section 9.3.2).
        headers.extend(answered.headers.iter().find(|(name, _)| name == "content-length").cloned());
    }
    let head = Head {
        key,
        variant,
        kept,
        status: answered.status,
        headers,
        asked_at,
        as_of,
        changed_at: same.map_or(as_of, |before| before.changed_at),
        digest,
        body_bytes: body.len() as u64,
        cost,
    };
    Shelved { head, body }
}

/// Whether an answer has headers that only who asked for it is shown.
pub fn has_own_fields(headers: &[(String, String)]) -> bool {
    let listed = listed(headers);
    headers.iter().any(|(name, _)| listed.contains(name))
}

/// Without what belongs to one hop (RFC 9110 section 7.6.1), to one client, or to one moment of the budget.
pub(super) fn kept_headers(headers: &[(String, String)]) -> Vec<(String, String)> {
    const HOPS: [&str; 9] = [
        "connection",
        "proxy-connection",
        "keep-alive",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
        "proxy-authenticate",
        "proxy-authentication-info",
    ];
    const OTHERS: [&str; 6] =
        ["content-length", "set-cookie", "set-cookie2", "retry-after", "alt-svc", "strict-transport-security"];
    let connection = crate::domain::gateway::joined(headers, "connection").unwrap_or_default().to_ascii_lowercase();
    let named: Vec<&str> = connection.split(',').map(str::trim).collect();
    let counts = |name: &str| ["ratelimit", "x-ratelimit", "x-rate-limit"].iter().any(|start| name.starts_with(start));
    let listed = listed(headers);
    let is_own = |name: &str| named.contains(&name) || listed.iter().any(|own| own == name);
    let stays = |name: &str| !HOPS.contains(&name) && !OTHERS.contains(&name) && !is_own(name) && !counts(name);
    headers.iter().filter(|(name, _)| stays(name)).cloned().collect()
}
