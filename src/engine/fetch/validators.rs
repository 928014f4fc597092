//! The provider's validators of a target's answer: asked with, kept, and given up where a 304 is about another answer. Decides nothing of the
//! shelf.

use crate::domain::reply::Reply;
use crate::domain::target::TargetState;
use crate::rules::gateway::confirms;

/// Why a 304 is not believed.
pub const ANOTHER: &str = "status 304, about another answer than the one that is kept";

/// Asks cheaply where the provider gave validators (RFC 9110 section 13).
pub fn asking(before: &TargetState) -> Vec<(String, String)> {
    let etag = before.etag.iter().map(|v| ("if-none-match".to_owned(), v.clone()));
    let modified = before.last_modified.iter().map(|v| ("if-modified-since".to_owned(), v.clone()));
    etag.chain(modified).collect()
}

/// Whether a 304 is about what is kept (RFC 9111 section 4.3.4): what it says of another answer does not tell how old this one is.
pub fn is_confirmed(before: &TargetState, reply: &Reply) -> bool {
    confirms(before.etag.as_deref(), before.last_modified.as_deref(), reply.headers())
}

/// The validators of this answer; a confirmation that brings none keeps the old ones.
pub fn with(state: TargetState, before: &TargetState, reply: &Reply) -> TargetState {
    let Ok(answer) = &reply.result else { return state };
    let header = |name: &str| answer.header(name).filter(|v| v.len() <= 256).map(str::to_owned);
    let confirmed = answer.status == 304;
    TargetState {
        etag: header("etag").or_else(|| before.etag.clone().filter(|_| confirmed)),
        last_modified: header("last-modified").or_else(|| before.last_modified.clone().filter(|_| confirmed)),
        ..state
    }
}

/// What stays as it was; what a 304 did not confirm is asked for whole the next time.
pub fn unconfirmed(before: &TargetState, status: Option<u16>) -> TargetState {
    match status {
        Some(304) => TargetState { etag: None, last_modified: None, ..before.clone() },
        _ => before.clone(),
    }
}
