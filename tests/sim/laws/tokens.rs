//! What holds of a credential that renews itself, as its provider sees it.

use super::{Verdict, broken};
use crate::issuer::{ENDPOINT, LIFETIME};
use crate::machine::Ms;
use crate::record::{Fact, RequestNo, What};
use std::collections::BTreeSet;

/// A token is renewed so long before its end; its time runs from when it was asked for.
const LEEWAY: Ms = 31_000;

/// A51: there is one renewal at a time.
pub fn one_refresher(record: &[Fact]) -> Verdict {
    let mut open: Option<RequestNo> = None;
    for fact in record {
        match &fact.what {
            What::Ended(_) => open = None,
            What::Renewed { request, .. } if open == Some(*request) => open = None,
            What::Presented { request, .. } => {
                if let Some(other) = open.replace(*request) {
                    let what = format!("renewal {request} while {other} is under way");
                    return broken("one refresher", fact.at, what);
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// What is used is durable before: whenever the process or the machine dies, the refresh token that it comes back with is one that
/// still leads in.
pub fn the_way_in_stays_open(record: &[Fact]) -> Verdict {
    for fact in record {
        if let What::Presented { refresh, dead: true, .. } = &fact.what {
            return broken("the way in stays open", fact.at, format!("refresh token {refresh} is dead"));
        }
    }
    Ok(())
}

/// Law 8: nobody renews what still holds. A token that was used once was durable, and is used after a restart too.
pub fn renewals_are_needed(record: &[Fact]) -> Verdict {
    struct Last {
        token: u64,
        asked_at: Ms,
        used: bool,
        over: bool,
    }
    let (mut last, mut asked_at): (Option<Last>, Ms) = (None, 0);
    for fact in record {
        match (&fact.what, &mut last) {
            (What::Renewed { granted: Some(token), .. }, _) => {
                last = Some(Last { token: *token, asked_at, used: false, over: false });
            }
            (What::Carried { token, accepted }, Some(held)) if held.token == *token => {
                held.used |= accepted;
                held.over |= !accepted;
            }
            (What::Ended(_), Some(held)) if !held.used => last = None,
            (What::Presented { .. }, held) => {
                asked_at = fact.at;
                let holds = |held: &&mut Last| !held.over && fact.at - held.asked_at < LIFETIME - LEEWAY;
                if let Some(held) = held.as_mut().filter(holds) {
                    let what =
                        format!("token {} is {} ms old and was not rejected", held.token, fact.at - held.asked_at);
                    return broken("renewals are needed", fact.at, what);
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// I8: a command is repeated only where nobody was let in with it, so that nothing was done.
pub fn commands_are_taken_once(record: &[Fact]) -> Verdict {
    let (mut let_in, mut taken) = (false, BTreeSet::new());
    for fact in record {
        match &fact.what {
            What::Carried { accepted, .. } => let_in = *accepted,
            What::Sent(sent) if let_in && sent.endpoint != ENDPOINT => {
                if let Some(tag) = sent.tag.as_deref().filter(|tag| !taken.insert(*tag)) {
                    return broken("commands are taken once", fact.at, format!("{tag} was carried out before"));
                }
            }
            _ => {}
        }
    }
    Ok(())
}
