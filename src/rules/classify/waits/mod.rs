//! How long the provider says to wait, wherever it says so. The whole value is understood or nothing of it; the longest credible hint
//! wins; no hint can shorten anything. Never fails: what is not understood is no hint (A18 to A21). Must not know outcomes.
//!
//! * [`headers`], [`bodies`] and [`prose`] know the general places, [`source`] those of a recipe.
//! * [`forms`] reads one value in one form; [`tongues`] is what sentences of other languages are made of.

mod bodies;
pub(in crate::rules) mod forms;
mod headers;
mod prose;
mod source;
pub(super) mod tongues;

use super::Reading;
use crate::domain::outcome::WaitHint;
use crate::domain::reply::Answer;
use crate::domain::spec::WaitSpec;
use crate::domain::time::{Span, Wall};
use crate::rules::ending;
use headers::Hint;
use source::Source;

/// Bodies are looked at up to here. Bytes.
const LOOKED_AT: usize = 64 << 10;

/// Whether the answer says in a header that nothing is left: a 403 with it is no rejection of a credential.
pub(super) fn says_that_nothing_is_left(answer: &Answer) -> bool {
    headers::says_that_nothing_is_left(answer)
}

/// Whether the answer says in a header when to come again, or a sentence in it does.
pub(super) fn says_when(reading: &Reading<'_>, now_wall: Wall) -> bool {
    let now = ending::clock_of(reading.answer, now_wall);
    !headers::retry_after(reading.answer, now, |_| false).is_empty()
        || reading.passages().into_iter().any(|text| !prose::hints(text, now).is_empty())
}

/// Where the waits of a connection stand, compiled once, and what is credible of them.
#[derive(Debug)]
pub(super) struct Waits {
    bounds: WaitSpec,
    sources: Vec<Source>,
}

impl Waits {
    /// Errors are sentences that name the source.
    pub(super) fn compile(spec: &WaitSpec) -> Result<Waits, Vec<String>> {
        let mut errors = Vec::new();
        let compiled = spec.sources.iter().filter_map(|s| Source::compile(s).map_err(|e| errors.push(e)).ok());
        let sources = compiled.collect();
        if errors.is_empty() { Ok(Waits { bounds: spec.clone(), sources }) } else { Err(errors) }
    }

    /// The longest credible hint of an answer, within the bounds. `now_wall` serves only where the answer has no `Date` of its own: an
    /// instant is taken relative to the clock that it was written by.
    pub(super) fn hint(&self, reading: &Reading<'_>, now_wall: Wall) -> Option<WaitHint> {
        let answer = reading.answer;
        let now = ending::clock_of(answer, now_wall);
        let own = self.own(reading, now);
        let is_taken = |name: &str| own.iter().any(|(source, _)| source.reads_header(name));
        let mut hints: Vec<Hint> = headers::hints(answer, now, is_taken);
        if let Some(body) = reading.json.as_ref().filter(|_| !own.iter().any(|(source, _)| source.reads_json())) {
            hints.extend(bodies::hints(body, now));
        }
        hints.extend(reading.passages().into_iter().flat_map(|text| prose::hints(text, now)));
        hints.extend(own.into_iter().map(|(_, hint)| hint));
        let (source, wait) = hints.into_iter().max_by_key(|(_, wait)| *wait)?;
        Some(within(&self.bounds, source, wait))
    }

    /// The same of what is said for this alone: `Retry-After`, and the recipe's own sources. What else an answer that is no refusal tells
    /// of times is about other things.
    pub(super) fn stated(&self, reading: &Reading<'_>, now_wall: Wall) -> Option<WaitHint> {
        let now = ending::clock_of(reading.answer, now_wall);
        let own = self.own(reading, now);
        let is_taken = |name: &str| own.iter().any(|(source, _)| source.reads_header(name));
        let mut hints = headers::retry_after(reading.answer, now, is_taken);
        hints.extend(own.into_iter().map(|(_, hint)| hint));
        let (source, wait) = hints.into_iter().max_by_key(|(_, wait)| *wait)?;
        Some(within(&self.bounds, source, wait))
    }

    /// What the recipe's own sources say. A page comes from another layer than the API (a CDN, a proxy), which speaks by the general
    /// names and in the general units (A16).
    fn own(&self, reading: &Reading<'_>, now: Wall) -> Vec<(&Source, Hint)> {
        if reading.json.is_none() && reading.text.trim_start().starts_with('<') {
            return Vec::new();
        }
        self.sources.iter().filter_map(|source| Some((source, source.hint(reading, now)?))).collect()
    }
}

/// Never below the floor; above the ceiling it is the ceiling, and the source says so.
pub fn within(spec: &WaitSpec, mut source: String, wait: Span) -> WaitHint {
    if wait > spec.ceiling {
        let source = format!("{source} ({wait}, clipped to {})", spec.ceiling);
        return WaitHint { wait: spec.ceiling.max(spec.floor), source, beyond: Some(wait) };
    }
    if wait < spec.floor {
        source.push_str(&format!(" ({wait}, raised to the floor of {})", spec.floor));
    }
    WaitHint { wait: wait.max(spec.floor), source, beyond: None }
}

#[cfg(test)]
mod tests;
