//! Reply in, verdict out: the closed word for what happened, why, and how long to wait. A recipe's rules come first, then the
//! general ones here. A body is judged before a status where both speak (A5, I4). Must not know the budget, nor what a hold is:
//! the outcome alone decides those.

mod graphql;
mod recipe;
mod said;
#[cfg(test)]
mod tests;
pub(in crate::rules) mod waits;
mod words;

pub use waits::within;

use crate::domain::outcome::{Outcome, Reach, Verdict};
use crate::domain::reply::{Answer, Failure, Reply};
use crate::domain::spec::{Format, ReadingSpec, RuleSpec, WaitSpec};
use crate::domain::time::Wall;
use crate::rules::ending;
use crate::rules::{json, xml};
use recipe::Rule;
use serde_json::Value;
use std::borrow::Cow;
use std::cell::OnceCell;
use waits::Waits;
use words::Words;

/// Rules of a connection, compiled once.
#[derive(Debug)]
pub struct Classifier {
    rules: Vec<Rule>,
    waits: Waits,
    reading: ReadingSpec,
}

/// The verdict, and the parsed body where there is one.
pub struct Classified {
    pub verdict: Verdict,
    pub body: Option<Value>,
}

/// An outcome in the words of a log line or a page (I4: a lockout says "rate limited").
pub const fn in_words(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Data => "answered",
        Outcome::NotModified => "not modified",
        Outcome::Limited => "rate limited",
        Outcome::Unpaid => "out of money or plan",
        Outcome::CredentialRejected => "credential rejected",
        Outcome::Overloaded => "provider overloaded",
        Outcome::NotReady => "not ready yet",
        Outcome::Gone => "gone for good",
        Outcome::Unexpected => "unexpected answer",
        Outcome::TimedOut => "no answer in time",
        Outcome::Dropped => "the socket broke before the answer was complete",
        Outcome::Unreachable => "unreachable",
        Outcome::TooLarge => "answer too large",
        Outcome::Undecodable => "answer could not be decoded",
        Outcome::Redirected => "redirected",
        Outcome::RedirectRefused => "redirect not followed",
        Outcome::Lost => "lost in a crash",
    }
}

/// An answer as classification looks at it: its bytes as text, its text as JSON, or as XML in the form of JSON.
struct Reading<'a> {
    answer: &'a Answer,
    /// Without byte order mark; bytes that are not UTF-8 are replaced.
    text: Cow<'a, str>,
    utf8: bool,
    json: Option<Value>,
    /// Why there is none, behind "status 200".
    flaw: String,
    /// What a person would read of a body that is not JSON, once somebody asked for it.
    plain: OnceCell<String>,
}

impl<'a> Reading<'a> {
    fn of(answer: &'a Answer, spec: &ReadingSpec) -> Reading<'a> {
        let bytes = answer.body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&answer.body);
        let text = String::from_utf8_lossy(bytes);
        let utf8 = matches!(text, Cow::Borrowed(_));
        let parsed = match spec.format {
            _ if !utf8 => Err("with bytes that are not UTF-8".to_owned()),
            Format::Xml if xml::is_markup(&text) => xml::parse(&text).map_err(|flaw| flaw.to_string()),
            Format::Xml | Format::Json => json::parse(&text, spec.salvage).map_err(|flaw| flaw.to_string()),
        };
        let (json, flaw) = match parsed {
            Ok(value) => (Some(value), String::new()),
            Err(flaw) => (None, flaw),
        };
        Reading { answer, text, utf8, json, flaw, plain: OnceCell::new() }
    }

    fn plain(&self) -> &str {
        self.plain.get_or_init(|| Words::known().plain(&self.text))
    }

    /// The texts in which an answer may speak: those of its JSON, or the body as a person reads it.
    fn passages(&self) -> Vec<&str> {
        self.json.as_ref().map_or_else(|| vec![self.plain()], |body| said::texts(body, 32))
    }
}

/// What one rule concluded: the outcome and the rule's name.
type Ruling = (Outcome, String);

impl Classifier {
    /// Errors are sentences that name the rule.
    pub fn compile(rules: &[RuleSpec], waits: &WaitSpec) -> Result<Classifier, Vec<String>> {
        let mut errors = Vec::new();
        let rules = rules.iter().filter_map(|spec| Rule::compile(spec).map_err(|e| errors.extend(e)).ok()).collect();
        match Waits::compile(waits) {
            Ok(waits) if errors.is_empty() => return Ok(Classifier { rules, waits, reading: ReadingSpec::default() }),
            Ok(_) => {}
            Err(wrong) => errors.extend(wrong),
        }
        Err(errors)
    }

    /// The same, for a provider whose answers are not quite JSON, or none.
    pub fn reading(self, reading: &ReadingSpec) -> Classifier {
        Classifier { reading: reading.clone(), ..self }
    }

    /// `validators_sent`: a 304 is only an answer to a conditional request. `now_wall`: for HTTP-dates.
    pub fn classify(&self, reply: &Reply, validators_sent: bool, now_wall: Wall) -> Classified {
        let answer = match &reply.result {
            Ok(answer) => answer,
            Err(failure) => return Classified { verdict: failed(*failure), body: None },
        };
        let reading = Reading::of(answer, &self.reading);
        let by_recipe = self.recipe(&reading);
        let ((outcome, rule), reach, limit) = by_recipe.unwrap_or_else(|| {
            let (ruling, reach) = self.general(&reading, validators_sent, now_wall);
            (ruling, reach, None)
        });
        let said = if outcome.is_good() { None } else { self.said(&reading) };
        let wait = match outcome {
            Outcome::Limited | Outcome::Unpaid | Outcome::Overloaded => self.waits.hint(&reading, now_wall),
            Outcome::NotReady => self.waits.stated(&reading, now_wall),
            _ => None,
        };
        Classified { verdict: Verdict { outcome, rule, said, wait, reach, limit }, body: reading.json }
    }

    /// Of an answer that is no data after all: its message, else its beginning. Rows of a list are no message.
    pub fn quote(&self, reply: &Reply) -> Option<String> {
        let reading = Reading::of(reply.result.as_ref().ok()?, &self.reading);
        let message = reading.json.as_ref().and_then(said::outer_message).and_then(said::clean);
        message.or_else(|| said::clean(&reading.text))
    }

    /// Whether a rule takes a redirect for the answer itself, since it names that status: who bans by sending to another port has said what
    /// there is to say, and nobody goes there.
    pub fn takes_redirect(&self, answer: &Answer) -> bool {
        let (reading, mut subject) = (Reading::of(answer, &self.reading), None);
        let first = self.rules.iter().find(|rule| rule.matches(&reading, &mut subject));
        first.is_some_and(|rule| rule.names(answer.status))
    }

    /// The first rule of the recipe that matches, whom it stops, and the limit that it names.
    fn recipe(&self, reading: &Reading<'_>) -> Option<(Ruling, Option<Reach>, Option<String>)> {
        let mut subject = None;
        let rule = self.rules.iter().find(|rule| rule.matches(reading, &mut subject))?;
        // Law 4: no rule can make data of what is not there.
        if rule.outcome == Outcome::Data && reading.json.is_none() {
            let ruling = (Outcome::Unexpected, format!("recipe: {}, but the body cannot be read", rule.name));
            return Some((ruling, None, None));
        }
        Some(((rule.outcome, tell(format!("recipe: {}", rule.name), rule.outcome)), rule.hold, rule.limit.clone()))
    }

    /// Without a recipe's word.
    fn general(&self, reading: &Reading<'_>, validators_sent: bool, now_wall: Wall) -> (Ruling, Option<Reach>) {
        let ruling = self.by_status(reading, validators_sent, now_wall);
        // A plan that leaves out one endpoint says nothing about the others.
        let is_one = ruling.0 == Outcome::Unpaid && matches!(reading.answer.status, 401 | 403);
        let alone = is_one && !Words::known().about_money(&reading.passages());
        (ruling, alone.then_some(Reach::Endpoint))
    }

    fn by_status(&self, reading: &Reading<'_>, validators_sent: bool, now_wall: Wall) -> Ruling {
        let status = reading.answer.status;
        let limit = |with: &str| (Outcome::Limited, tell(format!("status {status}{with}"), Outcome::Limited));
        let unpaid = |with: &str| (Outcome::Unpaid, format!("status {status}{with}"));
        let plain = |outcome: Outcome| (outcome, format!("status {status}"));
        match status {
            410 => plain(Outcome::Gone),
            402 => unpaid(""),
            400..600 if self.is_about_money(reading, now_wall) => unpaid(" with a text about money or the plan"),
            403..=407 | 409..500 if self.has_set(reading, now_wall) => {
                (Outcome::Gone, format!("status {status} after its announced sunset"))
            }
            429 => limit(""),
            304 if validators_sent => plain(Outcome::NotModified),
            304 => (Outcome::Unexpected, "status 304 to a request without validators".to_owned()),
            206 => (Outcome::Unexpected, "status 206, a part of an answer".to_owned()),
            207 => (Outcome::Unexpected, "status 207, whose parts have outcomes of their own".to_owned()),
            202 if is_hollow(reading) => (Outcome::NotReady, "status 202, accepted and not answered yet".to_owned()),
            200..300 => self.success(reading, now_wall),
            401 | 403 if self.body_reads_like(reading, Words::likely_limit) => limit(" with a text about a limit"),
            401 | 403 if waits::says_that_nothing_is_left(reading.answer) => limit(" with nothing left"),
            // A 401 is what tells that a token is over, and who comes again with it later is told the same.
            403 if waits::says_when(reading, now_wall) => limit(" with a time to come again"),
            401 | 403 if self.body_reads_like(reading, Words::about_the_plan) => unpaid(" with a text about the plan"),
            401 | 403 => plain(Outcome::CredentialRejected),
            400..600 if self.body_reads_like(reading, Words::surely_limit) => limit(" with a text about a limit"),
            408 | 500..600 => plain(Outcome::Overloaded),
            _ => plain(Outcome::Unexpected),
        }
    }

    /// A text about money, in an answer that does not say when to come again: who does speaks of a limit. The status alone speaks of none:
    /// providers answer 429 to those whose money is gone (`VENDORS` section 1).
    fn is_about_money(&self, reading: &Reading<'_>, now_wall: Wall) -> bool {
        Words::known().about_money(&reading.passages()) && self.waits.hint(reading, now_wall).is_none()
    }

    /// The sunset that the answer itself announces is past, and it names no time to come again: who does is still there.
    fn has_set(&self, reading: &Reading<'_>, now_wall: Wall) -> bool {
        ending::has_set(reading.answer, now_wall) && self.waits.hint(reading, now_wall).is_none()
    }

    /// A 2xx is data only if its body is JSON and not an error object in disguise.
    fn success(&self, reading: &Reading<'_>, now_wall: Wall) -> Ruling {
        let status = reading.answer.status;
        let unexpected = |what: &str| (Outcome::Unexpected, format!("status {status} {what}"));
        let limited = |what: &str| (Outcome::Limited, tell(format!("status {status} {what}"), Outcome::Limited));
        let Some(body) = &reading.json else {
            if !reading.utf8 {
                return (Outcome::Undecodable, format!("status {status} {}", reading.flaw));
            }
            if reading.text.trim().is_empty() {
                return unexpected("with an empty body");
            }
            if Words::known().surely_limit(reading.plain()) {
                return limited("with a sentence about a limit instead of JSON");
            }
            return unexpected(&reading.flaw);
        };
        let texts = said::error_texts(body);
        if Words::known().about_money(&texts) && self.waits.hint(reading, now_wall).is_none() {
            return (Outcome::Unpaid, format!("status {status} with an error object about money or the plan"));
        }
        if texts.iter().any(|text| Words::known().surely_limit(text)) {
            return limited("with an error object about a limit");
        }
        match graphql::errors(body) {
            Some((outcome, what)) => (outcome, format!("status {status} {what}")),
            None if said::is_failure(body) => unexpected("with an error object"),
            None => (Outcome::Data, format!("status {status}")),
        }
    }

    fn body_reads_like(&self, reading: &Reading<'_>, about: fn(&Words, &str) -> bool) -> bool {
        reading.passages().into_iter().any(|text| about(Words::known(), text))
    }

    /// The provider's words: of the text that speaks of a limit if there is one, else of the message, else of the body.
    fn said(&self, reading: &Reading<'_>) -> Option<String> {
        let Some(body) = &reading.json else { return said::clean(reading.plain()) };
        let message = said::message(body).filter(|m| m.contains(' '));
        let about_a_limit = || reading.passages().into_iter().find(|text| Words::known().surely_limit(text));
        let spoken = message.or_else(about_a_limit).or_else(|| said::message(body));
        spoken.and_then(said::clean).or_else(|| said::clean(&reading.text))
    }
}

/// Nothing, or nothing in it.
fn is_hollow(reading: &Reading<'_>) -> bool {
    match &reading.json {
        Some(body) => said::is_empty(body),
        None => reading.text.trim().is_empty(),
    }
}

/// Says a limit in words (I4).
fn tell(rule: String, outcome: Outcome) -> String {
    if outcome == Outcome::Limited { format!("{rule} ({})", in_words(outcome)) } else { rule }
}

/// There was no complete answer. The words are the engine's, not the provider's: they stay in the reply.
fn failed(failure: Failure) -> Verdict {
    let (outcome, rule) = match failure {
        Failure::Timeout => (Outcome::TimedOut, "timeout"),
        Failure::Dropped => (Outcome::Dropped, "dropped"),
        Failure::Connect => (Outcome::Unreachable, "no connection"),
        Failure::NotSent => (Outcome::Unreachable, "not sent in time"),
        Failure::TooLarge => (Outcome::TooLarge, "body above the cap"),
        Failure::Undecodable => (Outcome::Undecodable, "body cut off or not decodable"),
        Failure::RedirectRefused => (Outcome::RedirectRefused, "redirect not followed"),
    };
    Verdict::new(outcome, rule)
}
