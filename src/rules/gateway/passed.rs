//! What the gateway makes of a verdict: the classifier knows answers to Larder's own questions, and a client may ask anything. A part that was
//! asked for, a text that says that it is none, an empty success: all are what the client wanted. Refusals and failures stay what they are.

use super::gate::Policy;
use crate::domain::gateway::{Freshness, joined};
use crate::domain::outcome::{Outcome, Verdict};

/// An answer, as far as it is looked at here.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
    pub status: u16,
    /// Lower-case names.
    pub headers: &'a [(String, String)],
    /// What the client sent.
    pub sent: &'a [(String, String)],
    /// Its request is answered with a body.
    pub has_body: bool,
    /// The body was there to be judged, and not only its beginning.
    pub is_whole: bool,
}

/// The verdict on an answer that is passed on to a client.
pub fn as_passed(verdict: Verdict, seen: &Seen<'_>, policy: &Policy<'_>) -> Verdict {
    let says = |outcome: Outcome, what: &str| Verdict::new(outcome, format!("status {}{what}", seen.status));
    match verdict.outcome {
        Outcome::Limited | Outcome::Unpaid => verdict,
        _ if policy.is_not_ready(seen.status) => says(Outcome::NotReady, ", expected where it is not ready"),
        // A recipe's word is about just such answers.
        Outcome::Unexpected if !verdict.rule.starts_with("status") => verdict,
        Outcome::Unexpected if matches!(seen.status, 301..=303 | 307 | 308) => {
            says(Outcome::Redirected, ", handed to the client")
        }
        Outcome::Unexpected | Outcome::Undecodable if is_data(seen, policy) => says(Outcome::Data, ", passed on"),
        _ => verdict,
    }
}

fn is_data(seen: &Seen<'_>, policy: &Policy<'_>) -> bool {
    match seen.status {
        204 | 205 => true,
        206 => seen.sent.iter().any(|(name, _)| name == "range"),
        200..=299 => !seen.has_body || !seen.is_whole || is_declared_otherwise(seen, policy),
        _ => false,
    }
}

/// It says itself that it is no JSON. A page where an API was asked is a maintenance page (I4), unless the client reads pages, or the
/// provider's own words on caching are trusted.
fn is_declared_otherwise(seen: &Seen<'_>, policy: &Policy<'_>) -> bool {
    let kind = joined(seen.headers, "content-type").unwrap_or_default().to_ascii_lowercase();
    let reads_pages = joined(seen.sent, "accept").is_some_and(|accept| accept.contains("text/html"));
    let trusted = policy.freshness == Freshness::Http;
    match kind.as_str() {
        "" => trusted,
        kind if kind.contains("json") => false,
        kind if kind.contains("html") => reads_pages || trusted,
        _ => true,
    }
}
