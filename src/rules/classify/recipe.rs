//! One rule of a recipe, compiled: conditions that must all hold, and the outcome. Must not know the general rules.

use super::Reading;
use crate::domain::outcome::{Outcome, Reach};
use crate::domain::spec::RuleSpec;
use crate::rules::extract::path::{Filter, Subject};
use regex::{Regex, RegexBuilder};

#[derive(Debug)]
pub(super) struct Rule {
    pub(super) name: String,
    pub(super) outcome: Outcome,
    pub(super) hold: Option<Reach>,
    pub(super) limit: Option<String>,
    status: Vec<u16>,
    header: Option<(String, Regex)>,
    body: Option<Regex>,
    json: Option<Filter>,
}

impl Rule {
    pub(super) fn compile(spec: &RuleSpec) -> Result<Rule, Vec<String>> {
        let mut errors = Vec::new();
        let mut wrong = |key: &str, why: String| errors.push(format!("rule `{}`: {key}: {why}", spec.name));
        let header = spec.header.as_ref().and_then(|(name, pattern)| {
            let value = regex(pattern).map_err(|why| wrong("header", why)).ok()?;
            Some((name.to_ascii_lowercase(), value))
        });
        let body = spec.body.as_ref().and_then(|p| regex(p).map_err(|why| wrong("body", why)).ok());
        let json = spec.json.as_ref().and_then(|e| Filter::parse(e).map_err(|why| wrong("json", why)).ok());
        if let Err(why) = outcome(spec.outcome) {
            wrong("outcome", why);
        }
        if spec.status.is_empty() && spec.header.is_none() && spec.body.is_none() && spec.json.is_none() {
            wrong("conditions", "there are none, so it would match every answer".to_owned());
        }
        if let Some(odd) = spec.status.iter().find(|s| !(100..600).contains(*s)) {
            wrong("status", format!("{odd} is not an HTTP status"));
        }
        match outcome(spec.outcome) {
            Ok(outcome) if errors.is_empty() => Ok(Rule {
                name: spec.name.clone(),
                outcome,
                hold: spec.hold,
                limit: spec.limit.clone(),
                status: spec.status.clone(),
                header,
                body,
                json,
            }),
            _ => Err(errors),
        }
    }

    /// By itself, not by leaving it open.
    pub(super) fn names(&self, status: u16) -> bool {
        self.status.contains(&status)
    }

    /// Cheap conditions first. `subject` is made once for all rules of a recipe.
    pub(super) fn matches(&self, reading: &Reading<'_>, subject: &mut Option<Subject>) -> bool {
        (self.status.is_empty() || self.names(reading.answer.status))
            && self.header.as_ref().is_none_or(|(name, value)| has_header(reading, name, value))
            && self.body.as_ref().is_none_or(|body| body.is_match(&reading.text))
            && self.json.as_ref().is_none_or(|filter| match &reading.json {
                Some(json) => filter.holds(subject.get_or_insert_with(|| Subject::of(json))),
                None => false,
            })
    }
}

fn has_header(reading: &Reading<'_>, name: &str, value: &Regex) -> bool {
    reading.answer.headers.iter().any(|(n, v)| n.eq_ignore_ascii_case(name) && value.is_match(v))
}

/// What a rule may make of an answer. That there was none is not for a rule to say.
fn outcome(outcome: Option<Outcome>) -> Result<Outcome, String> {
    use Outcome::*;
    match outcome {
        None => Err("it is missing".to_owned()),
        Some(
            o
            @ (Data | NotModified | Limited | Unpaid | CredentialRejected | Overloaded | NotReady | Gone | Unexpected),
        ) => Ok(o),
        Some(o @ (TimedOut | Dropped | Unreachable | TooLarge | Undecodable | Redirected | RedirectRefused | Lost)) => {
            Err(format!("an answer cannot be `{o}`"))
        }
    }
}

/// A recipe's pattern, whatever the case. The last line of its error says what is wrong; the lines before draw a picture of it.
pub(super) fn regex(pattern: &str) -> Result<Regex, String> {
    RegexBuilder::new(pattern).case_insensitive(true).build().map_err(|error| {
        let why = error.to_string().lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned();
        format!("`{pattern}` is not a regular expression: {why}")
    })
}
