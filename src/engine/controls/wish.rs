//! What an operator wants, read from the body of a `PATCH`: absent keeps, `null` clears, a value sets. Knows no connection.

use crate::domain::spec::Interval;
use crate::domain::time::Span;
use serde_json::{Map, Value};

/// No provider is polled faster.
const SHORTEST_INTERVAL: Span = Span::from_secs(1);
/// A wish that is meant to end does so within a year; a longer one is meant to stay.
const LONGEST_FOR: Span = Span::from_secs(366 * 86_400);
/// What is wanted of one control.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wish<T> {
    #[default]
    Keep,
    /// What the file says is in force again.
    Clear,
    Set(T),
}

impl<T> Wish<T> {
    /// Absent keeps, `null` clears. The error is a sentence.
    pub(in crate::engine) fn read(
        wanted: &Map<String, Value>,
        key: &str,
        value: impl FnOnce(&Value) -> Result<T, String>,
    ) -> Result<Wish<T>, String> {
        match wanted.get(key) {
            None => Ok(Wish::Keep),
            Some(Value::Null) => Ok(Wish::Clear),
            Some(found) => value(found).map(Wish::Set),
        }
    }

    /// What was set before, after this.
    pub(in crate::engine) fn over<S>(self, before: Option<S>, set: impl FnOnce(T) -> S) -> Option<S> {
        match self {
            Wish::Keep => before,
            Wish::Clear => None,
            Wish::Set(value) => Some(set(value)),
        }
    }
}

/// How often to poll instead, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IntervalWish {
    pub interval: Interval,
    /// `None`: until it is cleared.
    pub lasts: Option<Span>,
}

/// What an operator wants of a connection's controls. The lengths: `None` is never.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Controls {
    pub enabled: Wish<bool>,
    pub interval: Wish<IntervalWish>,
    pub inactivity_ttl: Wish<Option<Span>>,
    pub completion_grace: Wish<Option<Span>>,
}

const KEYS: [&str; 5] = ["enabled", "interval", "interval_for", "inactivity_ttl", "completion_grace"];

impl Controls {
    /// The switch alone.
    pub fn enabled(on: Option<bool>) -> Controls {
        Controls { enabled: on.map_or(Wish::Clear, Wish::Set), ..Controls::default() }
    }

    /// The body of a `PATCH`. The error is a sentence.
    pub fn read(wanted: &Map<String, Value>) -> Result<Controls, String> {
        only(wanted, &KEYS)?;
        let lasts = match wanted.get("interval_for") {
            None | Some(Value::Null) => None,
            Some(value) => Some(length("interval_for", value)?),
        };
        if let Some(wrong) = lasts.filter(|lasts| !(SHORTEST_INTERVAL..=LONGEST_FOR).contains(lasts)) {
            return Err(format!("\"interval_for\" is from 1 s to 366 d, not {}", wrong.exact()));
        }
        let interval =
            Wish::read(wanted, "interval", |value| interval(value).map(|interval| IntervalWish { interval, lasts }))?;
        if lasts.is_some() && !matches!(interval, Wish::Set(_)) {
            return Err("\"interval_for\" says how long an \"interval\" lasts; name that too".to_owned());
        }
        Ok(Controls {
            enabled: switch(wanted)?,
            interval,
            inactivity_ttl: Wish::read(wanted, "inactivity_ttl", inactivity_ttl)?,
            completion_grace: Wish::read(wanted, "completion_grace", |v| length_or_never("completion_grace", v))?,
        })
    }
}

/// At least one of these keys, and no other.
pub(in crate::engine) fn only(wanted: &Map<String, Value>, keys: &[&str]) -> Result<(), String> {
    let known = || keys.iter().map(|k| format!("{k:?}")).collect::<Vec<_>>().join(", ");
    match wanted.keys().find(|key| !keys.contains(&key.as_str())) {
        Some(unknown) => {
            let unknown: String = unknown.chars().take(40).collect();
            Err(format!("{unknown:?} cannot be changed here. Known: {}", known()))
        }
        None if wanted.is_empty() => Err(format!("the body names nothing to change; it has any of {}", known())),
        None => Ok(()),
    }
}

pub(in crate::engine) fn switch(wanted: &Map<String, Value>) -> Result<Wish<bool>, String> {
    let sentence = "\"enabled\" is true, false, or null to clear the switch";
    Wish::read(wanted, "enabled", |value| value.as_bool().ok_or_else(|| sentence.to_owned()))
}

fn interval(value: &Value) -> Result<Interval, String> {
    if value.as_str() == Some("auto") {
        return Ok(Interval::Auto);
    }
    match length("interval", value).map_err(|e| format!("{e}, \"auto\", or null to clear it"))? {
        short if short < SHORTEST_INTERVAL => {
            Err("\"interval\" is shorter than one second; no provider is polled faster".to_owned())
        }
        span => Ok(Interval::Every(span)),
    }
}

fn length(key: &str, value: &Value) -> Result<Span, String> {
    let text = value.as_str().ok_or_else(|| format!("{key:?} is a text such as \"75s\", \"5m\" or \"3h\""))?;
    Span::parse(text.trim()).map_err(|e| format!("{key:?}: {e}"))
}

/// At no length at all every target would be stopped by its own poll.
fn inactivity_ttl(value: &Value) -> Result<Option<Span>, String> {
    match length_or_never("inactivity_ttl", value)? {
        Some(short) if short < SHORTEST_INTERVAL => {
            Err("\"inactivity_ttl\" is shorter than one second, which would stop every target at once; \"never\" stops none".to_owned())
        }
        ttl => Ok(ttl),
    }
}

fn length_or_never(key: &str, value: &Value) -> Result<Option<Span>, String> {
    if value.as_str() == Some("never") {
        return Ok(None);
    }
    length(key, value).map(Some).map_err(|e| format!("{e}, \"never\", or null to clear it"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(body: Value) -> Result<Controls, String> {
        Controls::read(body.as_object().expect("an object"))
    }

    #[test]
    fn f11_absent_keeps_null_clears_and_a_value_sets() {
        let minute = Interval::Every(Span::from_secs(60));
        let controls = read(json!({"interval": "60s", "interval_for": "3h", "inactivity_ttl": null, "enabled": false}));
        let expected = Controls {
            enabled: Wish::Set(false),
            interval: Wish::Set(IntervalWish { interval: minute, lasts: Some(Span::from_secs(3 * 3600)) }),
            inactivity_ttl: Wish::Clear,
            completion_grace: Wish::Keep,
        };
        assert_eq!(controls, Ok(expected));
        let auto = read(json!({"interval": "auto", "completion_grace": "never"})).unwrap();
        assert_eq!(auto.interval, Wish::Set(IntervalWish { interval: Interval::Auto, lasts: None }));
        assert_eq!(auto.completion_grace, Wish::Set(None));
    }

    #[test]
    fn f11_what_cannot_be_meant_is_refused_in_a_sentence() {
        for (body, part) in [
            (json!({}), "nothing to change"),
            (json!({"intervall": "60s"}), "cannot be changed here"),
            (json!({"enabled": "yes"}), "true, false, or null"),
            (json!({"interval": 60}), "a text such as"),
            (json!({"interval": "10ms"}), "shorter than one second"),
            (json!({"interval": "60"}), "not a duration"),
            (json!({"interval_for": "3h"}), "name that too"),
            (json!({"interval": null, "interval_for": "3h"}), "name that too"),
            (json!({"interval": "60s", "interval_for": "2000d"}), "366 d"),
            (json!({"inactivity_ttl": false}), "a text such as"),
            (json!({"inactivity_ttl": "0s"}), "stop every target at once"),
        ] {
            let sentence = read(body.clone()).expect_err("refused");
            assert!(sentence.contains(part), "{body}: {sentence}");
        }
    }
}
