//! Validators, of both sides: asking the provider whether what is kept still stands (RFC 9111 section 4.3), and telling a client that what it
//! has does (RFC 9110 section 13). Must not know when either happens.

use super::directives::listed;
use super::keeping::{Times, kept_headers};
use super::moment::{date, date_of};
use crate::domain::gateway::{Head, joined};
use crate::domain::time::Wall;

/// Headers that ask the provider for a 304, by its own validators; empty: it gave none.
pub fn validators(head: &Head) -> Vec<(String, String)> {
    let of = |name: &str, ask: &str| head.header(name).map(|value| (ask.to_owned(), value.to_owned()));
    of("etag", "if-none-match").into_iter().chain(of("last-modified", "if-modified-since")).collect()
}

/// The headers of requests that are the gateway's own to send.
pub fn is_conditional(name: &str) -> bool {
    matches!(name, "if-none-match" | "if-modified-since" | "if-match" | "if-unmodified-since" | "if-range")
}

/// Those of them by which a client asks whether what it has still stands.
pub fn is_revalidating(name: &str) -> bool {
    matches!(name, "if-none-match" | "if-modified-since")
}

/// A client's list of tags as it goes out: each in its quotes, which some clients leave away.
pub fn as_tags(field: &str) -> String {
    let quoted = |tag: &str| match tag {
        "*" => tag.to_owned(),
        tag if tag.ends_with('"') => tag.to_owned(),
        tag => format!("\"{tag}\""),
    };
    tags(field).map(quoted).collect::<Vec<_>>().join(", ")
}

/// What is kept, confirmed by a 304 that arrived then, with the headers that it brings (RFC 9111 sections 3.2 and 4.3.4). `None`: the 304
/// speaks of another answer, and what is kept is confirmed by nothing.
pub fn confirmed(head: &Head, headers: &[(String, String)], times: Times) -> Option<Head> {
    let is_foreign = told(headers, "etag").is_some_and(|tag| head.header("etag").is_none() && !tag.starts_with("W/"));
    let speaks_of_it = !is_foreign && confirms(head.header("etag"), head.header("last-modified"), headers);
    speaks_of_it.then(|| refreshed(head, headers, times))
}

/// Whether a 304 with these headers may be about what has these validators: by the tag, where both have one, else by the moment.
pub fn confirms(etag: Option<&str>, last_modified: Option<&str>, headers: &[(String, String)]) -> bool {
    match (told(headers, "etag"), etag) {
        (Some(told), Some(kept)) => same_weakly(told, kept),
        (Some(_), None) => true,
        (None, _) => told(headers, "last-modified").is_none_or(|told| last_modified.is_none_or(|kept| kept == told)),
    }
}

fn told<'h>(headers: &'h [(String, String)], name: &str) -> Option<&'h str> {
    headers.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str())
}

/// What a HEAD says of a kept GET (RFC 9111 section 4.3.5).
#[derive(Clone, Debug, PartialEq)]
pub enum ByHead {
    /// It stands, with these headers.
    Confirmed(Box<Head>),
    /// It does not any more: it is over, and is asked for again.
    Outdated,
}

pub fn by_head(head: &Head, headers: &[(String, String)], times: Times) -> ByHead {
    let same = |name: &str| told(headers, name) == head.header(name);
    let length = told(headers, "content-length").is_none_or(|told| told.trim().parse() == Ok(head.body_bytes));
    if same("etag") && same("last-modified") && length {
        ByHead::Confirmed(Box::new(refreshed(head, headers, times)))
    } else {
        ByHead::Outdated
    }
}

/// New headers replace those of their names, but for what describes the body that is kept.
fn refreshed(head: &Head, headers: &[(String, String)], times: Times) -> Head {
    const OF_THE_BODY: [&str; 4] = ["content-encoding", "content-range", "content-length", "content-md5"];
    let new = kept_headers(headers);
    let may_change = |(name, told): &(String, String)| match name.as_str() {
        "content-type" => head.header(name).is_some_and(|kept| is_same_type(kept, told)),
        name => !OF_THE_BODY.contains(&name),
    };
    let new: Vec<_> = new.into_iter().filter(may_change).collect();
    let own = listed(headers);
    let stays = |(name, _): &&(String, String)| {
        let replaced = new.iter().any(|(n, _)| n == name) || own.contains(name);
        // How old the answer was that was kept says nothing of the one that confirms it.
        !replaced && !matches!(name.as_str(), "age" | "date")
    };
    let kept = head.headers.iter().filter(stays).cloned();
    let headers = kept.chain(new.iter().cloned()).collect();
    Head { headers, asked_at: times.asked_at, as_of: times.as_of, ..head.clone() }
}

/// Whether the octets that are kept mean the same under both: one type, and one charset, which is UTF-8 where none was told before.
fn is_same_type(kept: &str, told: &str) -> bool {
    let parts = |text: &str| {
        let mut parts = text.split(';').map(|part| part.trim().to_ascii_lowercase());
        let kind = parts.next().unwrap_or_default();
        let charset = parts.find_map(|part| Some(part.strip_prefix("charset=")?.trim_matches('"').to_owned()));
        (kind, charset)
    };
    let ((kind, charset), (told_kind, told_charset)) = (parts(kept), parts(told));
    let is_utf8 = charset.is_none() && told_charset.as_deref() == Some("utf-8");
    kind == told_kind && (charset == told_charset || is_utf8)
}

/// The validators that clients are shown: the provider's, or the gateway's own, which a digest of the body makes strong.
pub fn etag(head: &Head) -> String {
    let own = || format!("\"{}\"", head.digest.iter().map(|b| format!("{b:02x}")).collect::<String>());
    head.header("etag").map_or_else(own, str::to_owned)
}

/// The provider's, or when this body was first seen.
pub fn last_modified(head: &Head) -> String {
    head.header("last-modified").map_or_else(|| date_of(head.changed_at.wall), str::to_owned)
}

/// Whether what the client has is what it would get (RFC 9110 section 13.2.2). `asked`: lower-case names.
pub fn is_unmodified(asked: &[(String, String)], etag: &str, last_modified: &str) -> bool {
    if let Some(field) = joined(asked, "if-none-match") {
        return field.trim() == "*" || tags(&field).any(|tag| same_weakly(tag, etag));
    }
    let since = asked.iter().find(|(name, _)| name == "if-modified-since").and_then(|(_, value)| date(value));
    let modified: Option<Wall> = date(last_modified);
    since.zip(modified).is_some_and(|(since, modified)| modified <= since)
}

/// Weak comparison (RFC 9110 section 8.8.3.2).
fn same_weakly(a: &str, b: &str) -> bool {
    // Without its quotes it is no tag, and means no other.
    fn opaque(tag: &str) -> &str {
        let tag = tag.trim().trim_start_matches("W/");
        tag.strip_prefix('"').and_then(|inside| inside.strip_suffix('"')).unwrap_or(tag)
    }
    opaque(a) == opaque(b)
}

/// Tags of a list; a comma inside quotes belongs to its tag.
fn tags(field: &str) -> impl Iterator<Item = &str> {
    let mut quoted = false;
    field
        .split(move |c: char| {
            quoted ^= c == '"';
            c == ',' && !quoted
        })
        .map(str::trim)
        .filter(|tag| !tag.is_empty())
}

/// Whether a header of the answer goes with a 304 (RFC 9110 section 15.4.5).
pub fn goes_with_304(name: &str) -> bool {
    matches!(
        name,
        "cache-control" | "content-location" | "date" | "etag" | "expires" | "vary" | "last-modified" | "link"
    )
}
