//! Waits in headers, by the general names: `Retry-After` and its misspelt kin, the reset headers in every unit, and the structured
//! pair `RateLimit` and `RateLimit-Policy` in its newer and its older form. Must not know what a recipe says.

use super::forms;
use crate::domain::reply::Answer;
use crate::domain::time::{Span, Wall};
use crate::domain::wait::WaitForm;
use crate::rules::ratelimit::{Policy, policies};
use jiff::tz::TimeZone;

/// A hint: where it stood, and the wait.
pub(super) type Hint = (String, Span);

/// What the general headers say. `is_taken`: a recipe reads this header itself.
pub(super) fn hints(answer: &Answer, now: Wall, is_taken: impl Fn(&str) -> bool) -> Vec<Hint> {
    let mut hints = retry_after(answer, now, &is_taken);
    let free = answer.headers.iter().filter(|(name, _)| !is_taken(name));
    hints.extend(free.filter_map(|(name, value)| {
        let wait = match kind(name)? {
            Kind::WindowMs => milliseconds(value, now),
            Kind::Reset => forms::auto(value, now, &TimeZone::UTC).filter(|_| !denies(answer, name)),
            Kind::After | Kind::AfterMs => None,
        };
        Some((canonical(name), wait?))
    }));
    hints.extend(structured(answer).map(|wait| ("RateLimit".to_owned(), wait)));
    hints
}

/// What the headers say that mean nothing else. Windows and resets stand beside good answers too.
pub(super) fn retry_after(answer: &Answer, now: Wall, is_taken: impl Fn(&str) -> bool) -> Vec<Hint> {
    let free = answer.headers.iter().filter(|(name, _)| !is_taken(name));
    let read = free.filter_map(|(name, value)| {
        let wait = match kind(name)? {
            Kind::After => after(value, now),
            Kind::AfterMs => milliseconds(value, now),
            Kind::WindowMs | Kind::Reset => None,
        };
        Some((canonical(name), wait?))
    });
    read.collect()
}

fn after(value: &str, now: Wall) -> Option<Span> {
    forms::seconds(value).or_else(|| forms::until(value, now))
}

fn milliseconds(value: &str, now: Wall) -> Option<Span> {
    forms::read(WaitForm::Milliseconds, value, now, &TimeZone::UTC)
}

/// By a count of nothing, or by a policy that is spent.
pub(super) fn says_that_nothing_is_left(answer: &Answer) -> bool {
    let remaining = |(name, value): &(String, String)| is_remaining(name) && value.trim().parse() == Ok(0.0);
    answer.headers.iter().any(remaining) || policies(answer).iter().any(Policy::is_spent)
}

enum Kind {
    /// RFC 9110 section 10.2.3: seconds or an HTTP-date.
    After,
    AfterMs,
    /// The window of a limit, in which it is free again.
    WindowMs,
    /// A unit that only its magnitude tells.
    Reset,
}

fn kind(name: &str) -> Option<Kind> {
    let name = name.to_ascii_lowercase();
    if name.ends_with("retry-after-ms") {
        return Some(Kind::AfterMs);
    }
    if is_limit(&name) && name.ends_with("-milliseconds") {
        return Some(Kind::WindowMs);
    }
    if name == "retryafter" || name.ends_with("retry-after") {
        return Some(Kind::After);
    }
    let is_reset = is_limit(&name) && (name.contains("reset") || name.ends_with("-next"));
    is_reset.then_some(Kind::Reset)
}

fn is_limit(name: &str) -> bool {
    name.contains("ratelimit") || name.contains("rate-limit")
}

fn is_remaining(name: &str) -> bool {
    is_limit(name) && name.contains("remaining")
}

/// A refusal that claims to have units left describes another bucket than the one that refused (A22): its reset is not ours.
/// Each reset header has its own count (`-Remaining-Day` to `-Reset-Day`); where it has none, any count speaks.
fn denies(answer: &Answer, reset: &str) -> bool {
    let lower = reset.to_ascii_lowercase();
    let own = lower.replace("reset-after", "reset").replace("resettime", "reset").replace("reset", "remaining");
    let left = |value: &str| value.trim().parse::<f64>().ok().filter(|n| n.is_finite());
    if let Some(left) = answer.header(&own).filter(|_| own != lower).and_then(left) {
        return left > 0.0;
    }
    let counts: Vec<f64> =
        answer.headers.iter().filter(|(name, _)| is_remaining(name)).filter_map(|(_, v)| left(v)).collect();
    counts.iter().any(|n| *n > 0.0) && !counts.iter().any(|n| *n <= 0.0)
}

/// The spelling that pages show.
fn canonical(name: &str) -> String {
    let upper = |part: &str| part.chars().take(1).flat_map(char::to_uppercase).chain(part.chars().skip(1)).collect();
    name.split('-').map(upper).collect::<Vec<String>>().join("-")
}

/// The longest reset among the policies with nothing left; where one says none, its window.
fn structured(answer: &Answer) -> Option<Span> {
    let spent = policies(answer).into_iter().filter(Policy::is_spent);
    spent.filter_map(|p| forms::seconds(&p.reset_s.or(p.window_s)?.to_string())).max()
}
