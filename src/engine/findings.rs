//! What the engine finds and what settles it, in words. Decides nothing about the data: it tells what the rules decided.

use super::core::{Conn, Core, Target};
use super::words::clock_time;
use crate::domain::finding::{Finding, FindingChange, FindingKind, Matter, Seen, Wanted, Which};
use crate::domain::page::Scan;
use crate::domain::target::TargetState;
use crate::domain::time::{Now, Stamp};
use crate::store::StoreError;

/// Open findings that one page, answer or clean-up looks at.
pub const MOST_OPEN: usize = 200;

/// A set that had members was answered as empty; what it was stays on the shelf until it is said again (A10).
pub fn suddenly_empty(conn: &Conn, target: &Target, before: &TargetState, at: Stamp) -> FindingChange {
    let items = match before.item_count {
        1 => "1 item".to_owned(),
        n => format!("{n} items"),
    };
    let as_of = before.as_of.map_or_else(|| "before".to_owned(), |s| format!("at {}", clock_time(s.wall, at.wall)));
    FindingChange::Seen(Seen {
        about: emptiness(target),
        credential: Some(conn.credential),
        at,
        sentence: format!(
            "{} answered {} with nothing, where {items} were {as_of}; those stay until it says so again.",
            conn.spec.provider, target.key.target
        ),
        detail: None,
    })
}

/// The target was answered: emptiness was confirmed, or was none.
pub fn answered_again(target: &Target, item_count: u64, at: Stamp) -> FindingChange {
    let because = match item_count {
        0 => format!("{} is really empty: the provider said so again.", target.key.target),
        _ => format!("{} has its items again.", target.key.target),
    };
    FindingChange::Settled { about: emptiness(target), at, because }
}

fn emptiness(target: &Target) -> Matter {
    Matter {
        connection: target.key.connection.clone(),
        target: Some(target.key.target.clone()),
        kind: FindingKind::SuddenEmptiness,
        subject: String::new(),
    }
}

/// A list was read without proof of its end (A33).
pub fn scan_incomplete(conn: &Conn, target: &Target, scan: &Scan) -> FindingChange {
    let of = scan.of.map_or("an unknown number of".to_owned(), |of| format!("the {of}"));
    let why = scan.incomplete.as_deref().unwrap_or_default();
    FindingChange::Seen(Seen {
        about: scan_of(target),
        credential: Some(conn.credential),
        at: scan.at,
        sentence: format!(
            "{} gave {} of {of} pages of {}: {why}. What was seen is shown, and nothing was removed.",
            conn.spec.provider, scan.pages, target.key.target
        ),
        detail: None,
    })
}

/// The list was read to its proven end again.
pub fn scan_is_whole(target: &Target, before: &TargetState, at: Stamp) -> Option<FindingChange> {
    before.scan.as_ref().filter(|scan| scan.incomplete.is_some())?;
    let because = format!("{} was read completely again.", target.key.target);
    Some(FindingChange::Settled { about: scan_of(target), at, because })
}

fn scan_of(target: &Target) -> Matter {
    Matter { kind: FindingKind::ScanIncomplete, ..emptiness(target) }
}

/// Findings of connections and targets that are not in the configuration any more: nothing will ever settle them.
pub fn orphans(core: &Core, now: &Now) -> Result<Vec<FindingChange>, StoreError> {
    let open = core.store.findings(&Wanted { which: Which::Open, ..Wanted::default() }, None, MOST_OPEN)?;
    let is_orphan = |f: &Finding| match (core.connections.get(&f.about.connection), &f.about.target) {
        (None, _) => true,
        (Some(conn), Some(target)) => conn.target(target).is_none(),
        (Some(_), None) => false,
    };
    let settled = |f: Finding| {
        let because = format!("What this was about is not in the configuration any more: {}", f.sentence);
        FindingChange::Settled { about: f.about, at: now.stamp(), because }
    };
    Ok(open.into_iter().filter(is_orphan).map(settled).collect())
}
