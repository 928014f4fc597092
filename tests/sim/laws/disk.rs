//! Law 1 where the disk takes nothing more: what cannot be charged is not sent, and it passes by itself.

use super::{Verdict, broken};
use crate::machine::Ms;
use crate::record::{Fact, What};

/// What cannot be written into the book is not sent.
pub fn a_full_disk_stops_everything(record: &[Fact]) -> Verdict {
    let mut full_since = None;
    for fact in record {
        match &fact.what {
            What::Disk { full } => full_since = full.then_some(fact.at),
            What::Sent(s) => {
                if let Some(since) = full_since.filter(|since| *since < fact.at) {
                    let what = format!("{} by {} on a disk that is full since {since}", s.endpoint, s.caller);
                    return broken("a full disk stops everything", fact.at, what);
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// Nobody is ill who can write: what is sent was charged before, and from then on there is room. That somebody writes again at all is
/// the law that polls go on.
pub fn health_comes_back(record: &[Fact]) -> Verdict {
    let mut wrote_at: Option<Ms> = None;
    for fact in record {
        match &fact.what {
            What::Started | What::Ended(_) | What::Disk { .. } => wrote_at = None,
            What::Sent(_) => wrote_at = Some(fact.at),
            What::Health { ok: false } => {
                if let Some(wrote_at) = wrote_at.filter(|at| *at < fact.at) {
                    return broken("health comes back", fact.at, format!("it wrote a charge at {wrote_at}"));
                }
            }
            _ => {}
        }
    }
    Ok(())
}
