//! What is found of lists that come page by page: no proof of their end, and its return. Must not know how pages are followed.

use super::emptiness;
use crate::domain::finding::{FindingChange, FindingKind, Matter, Seen};
use crate::domain::page::Scan;
use crate::domain::target::TargetState;
use crate::domain::time::Stamp;
use crate::engine::core::{Conn, Core};
use crate::engine::targets::Target;
use crate::engine::words::clock_time;
use crate::rules::reconcile::believed_after;
use crate::store::StoreError;

/// A list was read without proof of its end (A33). `silent_since`: its first page does not say any more whether there is another.
pub fn scan_incomplete(conn: &Conn, target: &Target, scan: &Scan, silent_since: Option<Stamp>) -> Vec<FindingChange> {
    let of = scan.of.map_or("an unknown number of".to_owned(), |of| format!("the {of}"));
    let why = scan.incomplete.as_deref().unwrap_or_default();
    let ends_so = target.pager.as_ref().is_some_and(|pager| pager.spec().absent_ends);
    let detail = silent_since.map(|since| {
        let earliest = clock_time(since.wall + believed_after(conn.base_interval()), scan.at.wall);
        match ends_so {
            true => format!(
                "That it is the whole list is believed if it is still said so, not before {earliest}. If the provider has renamed what \
                 names the next page, correct `page` before."
            ),
            false => "That it is the whole list is not believed, however often it is said. If another key names the next page, correct \
                      `page`; if the provider's documents say that the last page has no such key, say `absent_ends = true` there."
                .to_owned(),
        }
    });
    let seen = FindingChange::Seen(Seen {
        about: scan_of(target, if silent_since.is_some() { SILENT } else { "" }),
        credential: Some(conn.credential),
        at: scan.at,
        sentence: format!(
            "{} gave {} of {of} pages of {}: {why}. What was seen is shown, and nothing was removed.",
            conn.spec.provider, scan.pages, target.key.target
        ),
        detail,
    });
    let because = format!("The next page of {} is named again.", target.key.target);
    let speaks = FindingChange::Settled { about: scan_of(target, SILENT), at: scan.at, because };
    (scan.pages > 1).then_some(speaks).into_iter().chain([seen]).collect()
}

/// What tells silence about other pages from what else ends a reading.
const SILENT: &str = "silent";

/// Since when a list does not say whether it has other pages, if that is not settled.
pub fn silent_since(core: &Core, target: &Target) -> Result<Option<Stamp>, StoreError> {
    Ok(core.store.open_finding(&scan_of(target, SILENT))?.map(|f| f.opened_at))
}

/// The list was read to its proven end again.
pub fn scan_is_whole(target: &Target, before: &TargetState, at: Stamp) -> Vec<FindingChange> {
    let was_not = before.scan.as_ref().is_some_and(|scan| scan.incomplete.is_some());
    let because = format!("{} was read completely again.", target.key.target);
    let settled = |what| FindingChange::Settled { about: scan_of(target, what), at, because: because.clone() };
    ["", SILENT].into_iter().filter(|_| was_not).map(settled).collect()
}

fn scan_of(target: &Target, what: &str) -> Matter {
    Matter { kind: FindingKind::ScanIncomplete, ..emptiness(target, what) }
}
