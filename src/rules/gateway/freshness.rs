//! How old an answer on the shelf is, and for how long it is fresh: by the connection's own memo, or by RFC 9111 section 4.2 to the letter,
//! with heuristics off. Own code, as honest age is the heart of the house: it goes by the steady timeline, which no step of the wall clock
//! moves. Must not know who asks.

use super::directives::{Directives, seconds};
use super::gate::Policy;
use super::moment::{date, http_date};
use crate::domain::gateway::{Freshness, Head, Kept};
use crate::domain::time::{Now, Span, Wall};

/// An answer's age and life, as one moment sees them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Life {
    /// `Age`: how long ago it was made or confirmed, as far as anybody says.
    pub age: Span,
    /// The age that freshness goes by.
    counted: Span,
    pub lifetime: Span,
}

impl Life {
    /// Not any more at exactly its lifetime (RFC 9111 section 4.2).
    pub fn is_fresh(&self) -> bool {
        self.lifetime > self.counted
    }
    /// What is left of it.
    pub fn left(&self) -> Span {
        self.lifetime.saturating_sub(self.counted)
    }
    /// How long ago it was over.
    pub fn over(&self) -> Span {
        self.counted.saturating_sub(self.lifetime)
    }
    /// For how long both are the same in whole seconds.
    pub fn same_for(&self) -> Span {
        let to_the_next = 1000 - self.age.0 % 1000;
        let left = if self.is_fresh() { self.left().0 % 1000 + 1 } else { 1 };
        Span(to_the_next.min(left))
    }
    /// `ttl` of RFC 9211: negative where it is over; never rounded up to more life than there is.
    pub fn ttl_s(&self) -> i64 {
        let seconds = |span: u64| i64::try_from(span).unwrap_or(i64::MAX);
        if self.is_fresh() { seconds(self.left().as_secs()) } else { -seconds(self.over().as_secs_ceil()) }
    }
}

/// By the memo, from the arrival. What is not ready goes by it whatever the provider says of caches.
pub fn life(head: &Head, policy: &Policy<'_>, now: &Now) -> Life {
    let resident = now.age_of(head.as_of);
    let told = Span(age_value(&head.headers).0.saturating_add(resident.0));
    match policy.freshness {
        Freshness::Http if head.kept != Kept::NotReady => {
            let age = Span(initial_age(head).0.saturating_add(resident.0));
            Life { age, counted: age, lifetime: lifetime(head, policy) }
        }
        Freshness::Memo | Freshness::Http => Life { age: told, counted: resident, lifetime: policy.lasts(head) },
    }
}

/// RFC 9111 section 4.2.1, without the heuristics of 4.2.2.
fn lifetime(head: &Head, policy: &Policy<'_>) -> Span {
    let headers = &head.headers;
    let said = Directives::of(headers, policy.targeted);
    if let Some(told) = said.s_maxage.or(said.max_age) {
        return told;
    }
    if said.addressed {
        return Span::ZERO;
    }
    // What is no date of HTTP, like `0`, is past; of several the first counts.
    let end = headers.iter().find(|(name, _)| name == "expires").and_then(|(_, value)| http_date(value));
    let made = made_at(headers).unwrap_or(head.as_of.wall);
    end.map_or(Span::ZERO, |end| end.since(made))
}

/// RFC 9111 section 4.2.3: the age on arrival, by the greater of what the answer says and what its date says.
fn initial_age(head: &Head) -> Span {
    let apparent = made_at(&head.headers).map_or(Span::ZERO, |made| head.as_of.wall.since(made));
    let delay = head.as_of.steady.since(head.asked_at.steady);
    apparent.max(Span(age_value(&head.headers).0.saturating_add(delay.0)))
}

/// `Age` of whoever answered before us: the first value; what is no number says nothing (RFC 9111 section 5.1).
fn age_value(headers: &[(String, String)]) -> Span {
    let first = headers.iter().find(|(name, _)| name == "age").and_then(|(_, value)| value.split(',').next());
    seconds(first.map(str::trim)).unwrap_or_default()
}

fn made_at(headers: &[(String, String)]) -> Option<Wall> {
    headers.iter().find(|(name, _)| name == "date").and_then(|(_, value)| date(value))
}
