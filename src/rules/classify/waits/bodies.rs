//! Waits in the members of a JSON body, by the general names. A recipe that reads a member itself knows better and is asked
//! instead. Must not know prose.

use super::forms;
use super::headers::Hint;
use crate::domain::time::{Span, Wall};
use crate::domain::wait::WaitForm;
use jiff::tz::TimeZone;
use serde_json::Value;

/// Deeper or more numerous members say nothing about waiting.
const DEPTH: usize = 5;
const MEMBERS: usize = 200;

/// Names without case, `_` and `-`. Seconds, or what the magnitude says: where it could be milliseconds too, the longer (A16).
#[rustfmt::skip]
const WAITS: [&str; 16] = [
    "retryafter", "retryafterseconds", "retryafterinseconds", "retryaftersec", "retryaftersecs", "retryin", "retryinseconds", "retrydelay",
    "waitseconds", "waittime", "secondstowait", "secondsuntilreset", "resetafter", "resetin", "resetinseconds", "cooldown",
];

#[rustfmt::skip]
const WAITS_MS: [&str; 7] = [
    "retryafterms", "retryaftermillis", "retryaftermilliseconds", "retryinms", "waitms", "resetafterms", "resetinms",
];

/// Instants as text or as an epoch.
#[rustfmt::skip]
const INSTANTS: [&str; 15] = [
    "retryat", "resetat", "resetsat", "resettime", "resetdate", "limitreset", "ratelimitreset", "quotareset", "periodend", "nextrequest",
    "ratelimitnextrequest", "nextallowedrequest", "availableat", "blockeduntil", "lockeduntil",
];

pub(super) fn hints(body: &Value, now: Wall) -> Vec<Hint> {
    let (mut found, mut layer, mut seen) = (Vec::new(), vec![body], 0);
    for _ in 0..DEPTH {
        let mut next = Vec::new();
        for value in layer {
            match value {
                Value::Array(list) => next.extend(list.iter().take(MEMBERS)),
                Value::Object(members) => {
                    for (name, value) in members.iter().take(MEMBERS) {
                        found.extend(member(name, value, now).map(|wait| (format!("body field {name:.40}"), wait)));
                        next.push(value);
                    }
                }
                _ => {}
            }
            seen += 1;
            if seen > MEMBERS {
                return found;
            }
        }
        layer = next;
    }
    found
}

fn member(name: &str, value: &Value, now: Wall) -> Option<Span> {
    let plain: String = name.chars().filter(|c| c.is_ascii_alphanumeric()).take(64).collect::<String>().to_lowercase();
    let text = text_of(value)?;
    let name = plain.as_str();
    if WAITS_MS.contains(&name) {
        return forms::read(WaitForm::Milliseconds, &text, now, &TimeZone::UTC);
    }
    let is_known = WAITS.contains(&name) || INSTANTS.contains(&name);
    is_known.then(|| forms::auto(&text, now, &TimeZone::UTC)).flatten()
}

/// What a form can be read from.
pub(super) fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(n) => Some(n.to_string()),
        _ => None,
    }
}
