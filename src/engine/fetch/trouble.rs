//! What is shown of a target that is not renewed: the trouble that an answer made, and the waiting of one that is not asked on for now. And how
//! long a page that was not good is worth another request.

use super::learn::Consequences;
use super::scan::UNCHANGED_PAGE;
use crate::domain::outcome::{Outcome, Verdict};
use crate::domain::reply::Reply;
use crate::domain::target::Trouble;
use crate::domain::time::Stamp;
use crate::engine::words;
use crate::rules::extract::shape_flaw;
use crate::rules::reconcile::SUDDENLY_EMPTY;

/// Attempts at one page that were not good, after which its reading is given up: its address may have expired.
pub const MOST_FAILURES: u32 = 3;

/// Whether an answer that was not good says nothing against the address of its page: a limit or a bad line does not, anything else does.
pub fn is_passing(outcome: Outcome) -> bool {
    matches!(
        outcome,
        Outcome::Limited | Outcome::Overloaded | Outcome::TimedOut | Outcome::Dropped | Outcome::Unreachable
    )
}

/// What was read so far of a list of so many pages, and why there is no more of it now.
pub fn incomplete((pages, of): (u32, Option<u64>), why: &str) -> String {
    match pages {
        0 => why.to_owned(),
        _ => format!("incomplete, {pages} of {} pages: {why}", of.map_or("?".to_owned(), |of| of.to_string())),
    }
}

/// After an attempt that was not good.
pub fn of_answer(before: Option<&Trouble>, after: &Consequences, reply: &Reply) -> Trouble {
    let verdict = &after.verdict;
    Trouble {
        since: before.map_or(reply.arrived_at, |t| t.since),
        outcome: verdict.outcome,
        reason: reason(verdict, after.status, reply),
        said: verdict.said.clone(),
        failures: before.map_or(0, |t| t.failures).saturating_add(1),
    }
}

/// Why an answer is not a good one, in words.
pub fn reason(verdict: &Verdict, status: Option<u16>, reply: &Reply) -> String {
    match verdict.rule.as_str() {
        why @ (SUDDENLY_EMPTY | UNCHANGED_PAGE) => why.to_owned(),
        rule => words::reason(verdict.outcome, status, shape_flaw(rule).unwrap_or(&reply.detail)),
    }
}

/// Not asked on for now: nothing failed that would be counted.
pub fn waiting(before: Option<&Trouble>, at: Stamp, reason: String) -> Trouble {
    Trouble {
        since: before.map_or(at, |t| t.since),
        outcome: Outcome::NotReady,
        reason,
        said: None,
        failures: before.map_or(0, |t| t.failures),
    }
}
