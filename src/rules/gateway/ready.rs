//! An expected "not ready" (P3): for how long it is not asked again, and what ends it earlier. Must not know who tells of what happened.

use crate::domain::gateway::{Head, Kept, NotReadySpec, Until};
use crate::domain::time::{Now, Span, Stamp};

/// When each kind of thing last happened at a connection.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Happened(Vec<(Until, Stamp)>);

impl Happened {
    pub fn note(&mut self, what: Until, at: Stamp) {
        match self.0.iter_mut().find(|(known, _)| *known == what) {
            Some((_, last)) => *last = at,
            None => self.0.push((what, at)),
        }
    }

    /// Whether something that it waits for happened after it was said, or in the same moment: nobody can tell which came first.
    pub fn ends(&self, head: &Head, spec: Option<&NotReadySpec>) -> bool {
        let waits_for = |what: &Until| spec.is_some_and(|spec| spec.until.contains(what));
        let since = |at: &Stamp| at.era == head.as_of.era && at.steady >= head.as_of.steady;
        head.kept == Kept::NotReady && self.0.iter().any(|(what, at)| waits_for(what) && since(at))
    }
}

/// Until when it is not asked again; zero: it may be asked now.
pub fn waits(head: &Head, spec: Option<&NotReadySpec>, happened: &Happened, now: &Now) -> Span {
    let Some(spec) = spec.filter(|_| head.kept == Kept::NotReady) else { return Span::ZERO };
    if happened.ends(head, Some(spec)) { Span::ZERO } else { spec.lasts.saturating_sub(now.age_of(head.as_of)) }
}
