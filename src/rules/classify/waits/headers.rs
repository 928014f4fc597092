//! Waits in headers, by the general names: `Retry-After` and its misspelt kin, the reset headers in every unit, and the structured
//! pair `RateLimit` and `RateLimit-Policy` in its newer and its older form. Must not know what a recipe says.

use super::forms;
use crate::domain::reply::Answer;
use crate::domain::time::{Span, Wall};
use jiff::tz::TimeZone;
use sfv::{BareItem, Dictionary, Item, List, ListEntry, Parser};

/// A hint: where it stood, and the wait.
pub(super) type Hint = (String, Span);

/// What the general headers say. `is_taken`: a recipe reads this header itself.
pub(super) fn hints(answer: &Answer, now: Wall, is_taken: impl Fn(&str) -> bool) -> Vec<Hint> {
    let free = |(name, _): &&(String, String)| !is_taken(name);
    let named = answer.headers.iter().filter(free).filter_map(|(name, value)| {
        let wait = match kind(name)? {
            Kind::After => forms::seconds(value).or_else(|| forms::until(value, now)),
            Kind::AfterMs => forms::read(crate::domain::wait::WaitForm::Milliseconds, value, now, &TimeZone::UTC),
            Kind::Reset => forms::auto(value, now, &TimeZone::UTC).filter(|_| !denies(answer, name)),
        };
        Some((canonical(name), wait?))
    });
    let mut hints: Vec<Hint> = named.collect();
    hints.extend(structured(answer).map(|wait| ("RateLimit".to_owned(), wait)));
    hints
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
    /// A unit that only its magnitude tells.
    Reset,
}

fn kind(name: &str) -> Option<Kind> {
    let name = name.to_ascii_lowercase();
    if name.ends_with("retry-after-ms") || is_limit(&name) && name.ends_with("-milliseconds") {
        return Some(Kind::AfterMs);
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

/// One policy as the two fields describe it together.
#[derive(Default)]
struct Policy {
    name: Option<String>,
    left: Option<i64>,
    reset_s: Option<i64>,
    window_s: Option<i64>,
}

impl Policy {
    fn is_spent(&self) -> bool {
        self.left.is_some_and(|left| left <= 0)
    }
}

/// The longest reset among the policies with nothing left; where one says none, its window.
fn structured(answer: &Answer) -> Option<Span> {
    let spent = policies(answer).into_iter().filter(Policy::is_spent);
    let wait = |p: Policy| p.reset_s.or(p.window_s).and_then(|s| forms::seconds(&s.to_string()));
    spent.filter_map(wait).max()
}

/// `"name";r=0;t=43200` with `"name";q=100;w=60` beside it (draft-ietf-httpapi-ratelimit-headers from 08 on), or
/// `limit=100, remaining=0, reset=50` with `100;w=60` (before). What is no structured field (RFC 9651) is nothing.
fn policies(answer: &Answer) -> Vec<Policy> {
    let joined = |name: &str| {
        let all: Vec<&str> =
            answer.headers.iter().filter(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, v)| v.as_str()).collect();
        (!all.is_empty()).then(|| all.join(", "))
    };
    let Some(field) = joined("ratelimit") else { return Vec::new() };
    let windows =
        joined("ratelimit-policy").and_then(|text| Parser::new(&text).parse::<List>().ok()).unwrap_or_default();
    let windows: Vec<Policy> = windows.iter().filter_map(item).map(policy).collect();
    let window = |name: &Option<String>| {
        let same = windows.iter().filter(|w| w.name == *name && name.is_some());
        same.filter_map(|w| w.window_s)
            .max()
            .or_else(|| windows.iter().filter(|_| windows.len() == 1).find_map(|w| w.window_s))
    };
    let mut found = match Parser::new(&field).parse::<List>() {
        Ok(list) if list.iter().filter_map(item).any(|i| parameter(i, "r").is_some()) => {
            list.iter().filter_map(item).map(policy).collect()
        }
        _ => Parser::new(&field).parse::<Dictionary>().ok().and_then(|d| older(&d)).into_iter().collect::<Vec<_>>(),
    };
    for policy in &mut found {
        policy.window_s = window(&policy.name);
    }
    found
}

fn item(entry: &ListEntry) -> Option<&Item> {
    match entry {
        ListEntry::Item(item) => Some(item),
        ListEntry::InnerList(_) => None,
    }
}

fn parameter(item: &Item, name: &str) -> Option<i64> {
    item.params.iter().find(|(key, _)| key.as_str() == name).and_then(|(_, value)| whole(value))
}

fn whole(value: &BareItem) -> Option<i64> {
    value.as_integer().map(i64::from)
}

fn policy(item: &Item) -> Policy {
    Policy {
        name: item.bare_item.as_string().map(|s| s.as_str().to_owned()),
        left: parameter(item, "r"),
        reset_s: parameter(item, "t"),
        window_s: parameter(item, "w"),
    }
}

fn older(fields: &Dictionary) -> Option<Policy> {
    let field = |name: &str| {
        let entry = fields.iter().find(|(key, _)| key.as_str() == name).map(|(_, entry)| entry)?;
        item(entry).and_then(|item| whole(&item.bare_item))
    };
    Some(Policy { left: Some(field("remaining")?), reset_s: field("reset"), ..Policy::default() })
}
