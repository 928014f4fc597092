//! Requests with gaps: `{today-7d}`, `{now:epoch-s}`, `{item}`. Text and values in, text out, each value written so that it stays a
//! value where it stands (a path, a header, a JSON text). `now` and the zone are arguments. Must not know who asks.
//!
//! A gap is a brace pair with a name inside: `{today}` and `{now}` are moments, `{target}` is the name of the target that asks, anything
//! else is a parameter of a command. An
//! offset may follow (`+1d`), then a colon and a form (`:%Y%m%d`). Written twice, `{{now}}`, it stands for itself: `{now}`.

mod moment;
#[cfg(test)]
mod tests;

pub use moment::When;

use moment::Moment;
use std::collections::BTreeMap;

/// The gap that a target's own name fills: one question serves as many targets as there are names.
const TARGET: &str = "target";

/// Longest value of a parameter, characters.
const LONGEST_PARAMETER: usize = 200;

/// Where a template stands, and so how a value is written into it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Path and query: everything but unreserved characters is percent-encoded (RFC 3986 section 2.3).
    Location,
    /// `application/x-www-form-urlencoded`: as in a query.
    Form,
    /// Inside quotes escaped as JSON text, outside of them a number, `true`, `false` or `null`.
    Json,
    /// As it is, without control characters.
    Plain,
}

/// Which gaps there may be beside moments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gaps {
    /// A target has no parameters but its own name, `{target}`. Braces around another name are text (a query language has many).
    Moments,
    /// As `Moments`, and a name that is no moment is a mistake: a path has no braces of its own.
    MomentsOnly,
    Parameters,
    /// As `Parameters`, and every brace belongs to one.
    ParametersOnly,
}

/// A template, read.
#[derive(Clone, Debug, PartialEq)]
pub struct Template(Vec<Part>);

#[derive(Clone, Debug, PartialEq)]
enum Part {
    Text(String),
    Moment(Moment),
    Parameter(String),
}

impl Template {
    /// The error is a sentence that quotes the gap.
    pub fn parse(text: &str, gaps: Gaps) -> Result<Template, String> {
        let (mut parts, mut plain, mut rest) = (Vec::new(), String::new(), text);
        while let Some(at) = rest.find('{') {
            check_alone(&rest[..at], gaps)?;
            plain.push_str(&rest[..at]);
            rest = &rest[at..];
            if let Some((inner, after)) = gap(&rest[1..]).filter(|_| rest.starts_with("{{"))
                && let Some(after) = after.strip_prefix('}')
            {
                plain.push_str(&format!("{{{inner}}}"));
                rest = after;
                continue;
            }
            match gap(rest) {
                Some((inner, after)) if let Some(part) = part(inner, gaps)? => {
                    parts.extend(
                        Some(Part::Text(std::mem::take(&mut plain))).filter(|p| *p != Part::Text(String::new())),
                    );
                    parts.push(part);
                    rest = after;
                }
                _ if gaps == Gaps::ParametersOnly => return Err(no_parameter(rest)),
                _ => {
                    plain.push('{');
                    rest = &rest[1..];
                }
            }
        }
        check_alone(rest, gaps)?;
        plain.push_str(rest);
        if !plain.is_empty() {
            parts.push(Part::Text(plain));
        }
        Ok(Template(parts))
    }

    /// Names of the parameters, each once, in order.
    pub fn parameters(&self) -> Vec<&str> {
        let mut names = Vec::new();
        for part in &self.0 {
            if let Part::Parameter(name) = part
                && !names.contains(&name.as_str())
            {
                names.push(name.as_str());
            }
        }
        names
    }

    /// The text with its values. The error is a sentence that names the parameter.
    pub fn fill(&self, place: Place, when: &When, values: &BTreeMap<String, String>) -> Result<String, String> {
        let mut out = String::new();
        let mut json = Quotes::default();
        for part in &self.0 {
            match part {
                Part::Text(text) => {
                    json.follow(text);
                    out.push_str(text);
                }
                Part::Moment(moment) => out.push_str(&written("the date", &moment.text(when)?, place, &json)?),
                Part::Parameter(name) => {
                    let value = values.get(name).filter(|v| !v.is_empty() && v.chars().count() <= LONGEST_PARAMETER);
                    let missing = || format!("needs the parameter \"{name}\" (1 to {LONGEST_PARAMETER} characters)");
                    let value = value.ok_or_else(missing)?;
                    out.push_str(&written(&format!("the parameter \"{name}\""), value, place, &json)?);
                }
            }
        }
        Ok(out)
    }
}

/// `{name...}` at the beginning: what stands inside, and what follows. `None`: these braces are text.
fn gap(text: &str) -> Option<(&str, &str)> {
    let (inner, after) = text.strip_prefix('{')?.split_once('}')?;
    let name = inner.split(['+', '-', ':']).next().unwrap_or_default();
    let fits = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_';
    let is_name = name.starts_with(|c: char| c.is_ascii_lowercase()) && name.bytes().all(fits);
    (is_name && !inner.contains(['{', '"', '\n'])).then_some((inner, after))
}

fn part(inner: &str, gaps: Gaps) -> Result<Option<Part>, String> {
    if let Some(moment) = Moment::parse(inner)? {
        return Ok(Some(Part::Moment(moment)));
    }
    match gaps {
        Gaps::Moments | Gaps::MomentsOnly if inner == TARGET => Ok(Some(Part::Parameter(inner.to_owned()))),
        Gaps::Moments => Ok(None),
        Gaps::Parameters | Gaps::ParametersOnly if !inner.contains(['+', '-', ':']) => {
            Ok(Some(Part::Parameter(inner.to_owned())))
        }
        Gaps::Parameters | Gaps::ParametersOnly => {
            Err(format!("{{{inner}}} is no parameter; use a-z, 0-9 and _ alone, as in {{item}}"))
        }
        Gaps::MomentsOnly => Err(format!(
            "{{{inner}}} is none of {{today}}, {{now}} and {{target}}; written {{{{{inner}}}}} it is sent as it stands"
        )),
    }
}

const ALONE: &str = "has a brace without its partner; parameters are written {like_this}";

fn check_alone(text: &str, gaps: Gaps) -> Result<(), String> {
    if gaps == Gaps::ParametersOnly && text.contains('}') { Err(ALONE.to_owned()) } else { Ok(()) }
}

fn no_parameter(rest: &str) -> String {
    match rest[1..].split_once('}') {
        Some((name, _)) => format!("{{{name}}} is not a parameter's name; use a-z, 0-9 and _"),
        None => ALONE.to_owned(),
    }
}

fn written(what: &str, value: &str, place: Place, json: &Quotes) -> Result<String, String> {
    if place != Place::Json && value.chars().any(char::is_control) {
        return Err(format!("{what} has a control character, which cannot be sent there"));
    }
    match place {
        Place::Location | Place::Form => Ok(percent_encoded(value)),
        Place::Plain => Ok(value.to_owned()),
        Place::Json if json.inside => {
            let quoted = serde_json::Value::from(value).to_string();
            Ok(quoted[1..quoted.len() - 1].to_owned())
        }
        // Outside quotes a value must not become anything but itself: no second key, no object.
        Place::Json => match serde_json::from_str::<serde_json::Value>(value) {
            Ok(one) if !one.is_object() && !one.is_array() && !one.is_string() => Ok(one.to_string()),
            _ => Err(format!("{what} stands outside quotes in the body and must be a number, true, false or null")),
        },
    }
}

/// RFC 3986 section 2.3.
fn percent_encoded(value: &str) -> String {
    let unreserved = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b'_' | b'~');
    value.bytes().fold(String::new(), |mut out, b| {
        if unreserved(b) {
            out.push(char::from(b));
        } else {
            out.push_str(&format!("%{b:02X}"));
        }
        out
    })
}

/// Whether a JSON text, read so far, is inside a string.
#[derive(Default)]
struct Quotes {
    inside: bool,
    escaped: bool,
}

impl Quotes {
    fn follow(&mut self, text: &str) {
        for c in text.chars() {
            match c {
                _ if self.escaped => self.escaped = false,
                '\\' if self.inside => self.escaped = true,
                '"' => self.inside = !self.inside,
                _ => (),
            }
        }
    }
}
