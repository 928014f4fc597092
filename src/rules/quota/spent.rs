//! A bucket of which an answer says that nothing is left, until a reset beyond what the ledger keeps to by itself: nobody need ask
//! before. Not believed is what contradicts itself, and what counts for nothing. Must not know what is done about it.

use super::{Said, longest_of};
use crate::domain::limit::{Limit, Scope};
use crate::domain::outcome::{Outcome, Reach};
use crate::domain::quota::Claim;
use crate::domain::reply::{Answer, Reply};
use crate::domain::time::Span;

/// What an answer brought beside its headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Brought {
    Something,
    /// It is empty, or an error.
    Nothing,
}

impl Brought {
    pub fn by(reply: &Reply) -> Brought {
        let is_nothing = |a: &Answer| a.status >= 400 || matches!(a.body.trim_ascii(), b"" | b"null" | b"{}" | b"[]");
        if reply.result.as_ref().is_ok_and(is_nothing) { Brought::Nothing } else { Brought::Something }
    }
}

/// Whether an answer is believed that says that nothing is left: a good one, and one that brought nothing, which is what providers send
/// whose quota is spent (A7). It cannot do more than make somebody wait. Who sends something else in the place of an answer may not be
/// the one who counts.
pub fn is_believed(outcome: Outcome, brought: Brought) -> bool {
    outcome.is_good() || (outcome == Outcome::Unexpected && brought == Brought::Nothing)
}

/// A spent bucket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spent {
    /// The declared limit, or what the provider calls a bucket of its own.
    pub limit: String,
    /// A bucket that nobody declared is known to stand before the endpoint that spoke of it, and before no other.
    pub reach: Reach,
    /// From the arrival of the answer.
    pub wait: Span,
    /// Who said it.
    pub source: String,
    /// One request takes all that there is when it is full, so that nothing is left after each.
    pub is_single: bool,
}

/// The bucket that is longest without anything. `cost`: of the request that was answered.
pub fn spent(said: &Said, limits: &[Limit], cost: u32) -> Option<Spent> {
    let is_single = |claim: &Claim| claim.total.is_some_and(|total| total <= u64::from(cost));
    let of_ours = said.known.iter().filter_map(|(key, claim)| {
        let limit = limits.iter().find(|l| l.name == key.limit)?;
        let wait = until(claim).filter(|wait| longest_of(&limit.kind).is_none_or(|window| *wait > window))?;
        let reach = match limit.scope {
            Scope::Credential => Reach::Credential,
            Scope::Endpoint => Reach::Endpoint,
        };
        let source = claim.source.clone();
        Some(Spent { limit: limit.name.clone(), reach, wait, source, is_single: is_single(claim) })
    });
    let of_its_own = said.others.iter().filter_map(|claim| {
        let limit = claim.name.clone().unwrap_or_else(|| claim.source.clone());
        let (wait, source) = (until(claim)?, claim.source.clone());
        Some(Spent { limit, reach: Reach::Endpoint, wait, source, is_single: is_single(claim) })
    });
    of_ours.chain(of_its_own).max_by_key(|spent| spent.wait)
}

fn until(claim: &Claim) -> Option<Span> {
    let full = claim.total.is_none_or(|total| total > 0 && claim.used.is_none_or(|used| used >= total));
    claim.reset.filter(|_| claim.remaining == Some(0) && full)
}
