//! What the shelf says to a request: served, or the provider is asked, and what may be served if that brings nothing. Must not know the
//! budget, nor whether anybody asks already.

use super::directives::{Directives, Wishes};
use super::freshness::{Life, life};
use super::gate::Policy;
use super::ready::{Happened, waits};
use crate::domain::gateway::{Freshness, Head, Kept};
use crate::domain::time::{Now, Span};

/// Why the provider is asked, in the words of RFC 9211 section 2.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forward {
    /// There is nothing under that target.
    UriMiss,
    /// There is, for other request headers.
    VaryMiss,
    Stale,
    /// The client's own words ask for it.
    Request,
    /// The method is not one of reading.
    Method,
    /// The gateway does not keep such requests.
    Bypass,
}

impl Forward {
    pub const fn word(self) -> &'static str {
        match self {
            Forward::UriMiss => "uri-miss",
            Forward::VaryMiss => "vary-miss",
            Forward::Stale => "stale",
            Forward::Request => "request",
            Forward::Method => "method",
            Forward::Bypass => "bypass",
        }
    }
}

/// What may be served where the provider fails, holds or refuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fallback {
    /// The answer that is there, with its age and why.
    Stale,
    Nothing,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// From the shelf, and nobody is asked; `life` says whether it is over.
    Hit(Life),
    /// The same of one that is over, and is asked for behind it (RFC 5861 section 3).
    Meanwhile(Life),
    Ask {
        why: Forward,
        fallback: Fallback,
    },
    /// The client wants nobody asked, and there is nothing that would do: 504.
    Unanswerable,
}

/// Whether what is kept may be meant by a request at all: a good answer always; what is not ready until what it waits for; any other only
/// while the provider says that it stands, and not where the connection's word took the place of the provider's since.
pub fn stands(head: &Head, policy: &Policy<'_>, happened: &Happened, now: &Now) -> bool {
    match head.kept {
        Kept::Data => true,
        Kept::NotReady => waits(head, policy.not_ready, happened, now) > Span::ZERO,
        Kept::Declared => policy.freshness == Freshness::Http && life(head, policy, now).is_fresh(),
    }
}

/// `entry`: what the request means, where there is one; `elsewhere`: there is one under its target for other request headers.
/// `ended`: what it waited for has happened since, where it was not ready.
pub fn decide(
    wishes: &Wishes,
    entry: Option<&Head>,
    elsewhere: bool,
    policy: &Policy<'_>,
    ended: bool,
    now: &Now,
) -> Decision {
    let Some(head) = entry else {
        let why = if elsewhere { Forward::VaryMiss } else { Forward::UriMiss };
        return ask(wishes, why, Fallback::Nothing);
    };
    let life = life(head, policy, now);
    let said = match (policy.freshness, head.kept) {
        (Freshness::Http, Kept::Data | Kept::Declared) => Directives::of(&head.headers, policy.targeted),
        _ => Directives::default(),
    };
    let fallback = match head.kept {
        Kept::Data if may_be_served_over(&said) => Fallback::Stale,
        Kept::Data | Kept::NotReady | Kept::Declared => Fallback::Nothing,
    };
    if ended || said.no_cache {
        return ask(wishes, Forward::Stale, fallback);
    }
    if !life.is_fresh() {
        let accepted = wishes.max_stale.is_some_and(|most| life.over() <= most);
        // "Do not spend" takes what is there, where the connection decides how long that is good for.
        let spared = wishes.only_if_cached && policy.freshness == Freshness::Memo;
        let may_be = fallback == Fallback::Stale && !asks_anew(wishes, &life);
        let meanwhile = said.stale_while_revalidate.is_some_and(|most| life.over() < most)
            && wishes.min_fresh.is_none()
            && !wishes.no_store;
        return match may_be {
            true if accepted || spared || meanwhile && wishes.only_if_cached => Decision::Hit(life),
            true if meanwhile => Decision::Meanwhile(life),
            _ => ask(wishes, Forward::Stale, fallback),
        };
    }
    if asks_anew(wishes, &life) || wishes.min_fresh.is_some_and(|least| life.left() < least) {
        return ask(wishes, Forward::Request, fallback);
    }
    Decision::Hit(life)
}

/// Whether the client wants what is newer than this (RFC 9111 sections 5.2.1.1 and 5.2.1.4).
fn asks_anew(wishes: &Wishes, life: &Life) -> bool {
    wishes.no_cache || wishes.max_age.is_some_and(|most| life.age > most)
}

/// RFC 9111 section 4.2.4: not where the answer itself forbids it.
fn may_be_served_over(said: &Directives) -> bool {
    let forbidden = said.no_cache || said.must_revalidate || said.proxy_revalidate || said.s_maxage.is_some();
    !forbidden
}

fn ask(wishes: &Wishes, why: Forward, fallback: Fallback) -> Decision {
    if wishes.only_if_cached { Decision::Unanswerable } else { Decision::Ask { why, fallback } }
}
