//! The headers of an answer from the gateway: how old it is, where it came from, whether the client has it already, and what is left for
//! the next (RFC 9110, 9111, 9211; draft-ietf-httpapi-ratelimit-headers). Must not know who is answered.

use super::decide::Forward;
use super::freshness::Life;
use super::moment::date_of;
use super::validation::{etag, goes_with_304, last_modified};
use crate::domain::gateway::{Head, Reading};
use crate::domain::ids::{Caller, Organization};
use crate::domain::limit::Kind;
use crate::domain::time::Now;
use crate::rules::budget::Usage;
use std::fmt::{self, Write};

/// How a request was answered (RFC 9211).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CacheStatus {
    /// Nobody was asked for it; excludes `forwarded`.
    pub hit: bool,
    pub forwarded: Option<Forward>,
    /// What the provider answered, where that is not the status of this answer.
    pub forward_status: Option<u16>,
    pub stored: bool,
    /// It waited for somebody else's request.
    pub collapsed: bool,
    pub ttl_s: Option<i64>,
    /// One word.
    pub detail: Option<&'static str>,
}

impl CacheStatus {
    /// From the shelf.
    pub fn hit(life: &Life) -> CacheStatus {
        CacheStatus { hit: true, ttl_s: Some(life.ttl_s()), ..CacheStatus::default() }
    }
    pub fn forwarded(why: Forward) -> CacheStatus {
        CacheStatus { forwarded: Some(why), ..CacheStatus::default() }
    }
}

impl fmt::Display for CacheStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("larder")?;
        match self.forwarded {
            Some(why) => write!(f, "; fwd={}", why.word())?,
            None if self.hit => f.write_str("; hit")?,
            None => {}
        }
        self.forward_status.map_or(Ok(()), |status| write!(f, "; fwd-status={status}"))?;
        self.ttl_s.map_or(Ok(()), |ttl| write!(f, "; ttl={ttl}"))?;
        let flags = [("; stored", self.stored), ("; collapsed", self.collapsed)];
        flags.iter().filter(|(_, set)| *set).try_for_each(|(word, _)| f.write_str(word))?;
        self.detail.map_or(Ok(()), |detail| write!(f, "; detail={detail}"))
    }
}

/// What of an answer's headers does not change while it is on the shelf. `Cache-Status` and `Age` of whoever answered before us are not
/// among them: ours are made of them.
pub fn standing(head: &Head) -> Vec<(String, String)> {
    let ours = ["age", "cache-status", "date", "etag", "last-modified"];
    let mut all: Vec<_> = head.headers.iter().filter(|(name, _)| !ours.contains(&name.as_str())).cloned().collect();
    let mut put = |name: &str, value: String| all.push((name.to_owned(), value));
    put("date", head.header("date").map_or_else(|| date_of(head.as_of.wall), str::to_owned));
    // What a HEAD brings has no body that would make validators: one of ours would say of everything that it is the same.
    let is_ours_to_say = |name: &str| head.key.reading == Reading::Get || head.header(name).is_some();
    if is_ours_to_say("etag") {
        put("etag", etag(head));
    }
    if is_ours_to_say("last-modified") {
        put("last-modified", last_modified(head));
    }
    all
}

/// Of them, those that go with a 304.
pub fn standing_304(head: &Head) -> Vec<(String, String)> {
    standing(head).into_iter().filter(|(name, _)| goes_with_304(name)).collect()
}

/// `Cache-Status` behind those of the caches before us, which come first (RFC 9211 section 2).
pub fn cache_status(head: Option<&Head>, ours: &CacheStatus) -> String {
    match head.and_then(|head| head.list("cache-status")) {
        Some(before) => format!("{before}, {ours}"),
        None => ours.to_string(),
    }
}

/// `Age`: whole seconds, never rounded up to more than was told.
pub fn age(life: &Life) -> String {
    life.age.as_secs().to_string()
}

/// Signs of a reason in a header; what comes behind them is left out.
const LONGEST_REASON: usize = 200;

/// A reason as the value of a header, an Item of RFC 9651: a String where ASCII can say it (section 3.3.3), else a Display String (section 3.3.8).
/// Our own typographic quotes are said with those of ASCII; no sign becomes another.
pub fn larder_stale(reason: &str) -> String {
    let plain = |c: char| match c {
        '\u{201c}' | '\u{201d}' => '"',
        '\u{2018}' | '\u{2019}' => '\'',
        c if c.is_control() => ' ',
        c => c,
    };
    let said: String = reason.trim().chars().map(plain).take(LONGEST_REASON).collect();
    if said.is_ascii() { quoted(&said) } else { displayed(&said) }
}

/// A Display String of RFC 9651.
fn displayed(text: &str) -> String {
    let mut said = String::from("%\"");
    for octet in text.bytes() {
        match octet {
            b' '..=b'~' if !b"%\"".contains(&octet) => said.push(char::from(octet)),
            // A text never fails to be written to.
            _ => _ = write!(said, "%{octet:02x}"),
        }
    }
    said + "\""
}

/// `RateLimit` and `RateLimit-Policy` of what is left for a caller of an organization; `None`: no limit has a window. In flight at once is no quota.
pub fn rate_limit(
    usages: &[Usage],
    (caller, organization): (Caller, &Organization),
    now: &Now,
) -> Option<(String, String)> {
    let (mut left, mut policies) = (String::new(), String::new());
    for usage in usages {
        let Some(window) = usage.limit.kind.nominal_window() else { continue };
        if !left.is_empty() {
            left.push_str(", ");
            policies.push_str(", ");
        }
        let name = quoted(&usage.limit.name);
        // A text never fails to be written to.
        let _ = write!(left, "{name};r={}", left_for(usage, caller, organization));
        let free = usage.resets_at.or(usage.next_free_at);
        if let Some(at) = free {
            let _ = write!(left, ";t={}", at.since(now.steady).as_secs_ceil());
        }
        let _ = write!(policies, "{name};q={};w={}", usage.limit.amount, window.as_secs().max(1));
    }
    (!left.is_empty()).then_some((left, policies))
}

/// What is there and not kept for others.
fn left_for(usage: &Usage, caller: Caller, organization: &Organization) -> u64 {
    let used = usage.used_by.get(&caller).copied().unwrap_or_default();
    let own = usage.limit.keep.get(&caller).map_or(0, |keep| keep.saturating_sub(used));
    let others = usage.kept.saturating_sub(own);
    let theirs: u64 = usage.parts.iter().filter(|part| part.organization != *organization).map(|part| part.held).sum();
    let left = usage.remaining().saturating_sub(others).saturating_sub(theirs);
    match usage.limit.kind {
        // One at a time, whatever the amount.
        Kind::Pace { .. } => left.min(u64::from(usage.used == 0)),
        _ => left,
    }
}

/// A String of RFC 9651.
fn quoted(text: &str) -> String {
    let shown = |c: char| if c.is_ascii_graphic() || c == ' ' { c } else { '?' };
    let escaped = text.chars().map(shown).flat_map(|c| matches!(c, '"' | '\\').then_some('\\').into_iter().chain([c]));
    format!("\"{}\"", escaped.collect::<String>())
}
