//! What becomes of what was begun and not brought to its end. Of pages without a proven end what was seen is renewed, nothing is removed,
//! and every surface says that it is a part (A33); where the budget ends after a first request, nothing is on the shelf but the reason.
//! Must not know how the pages were found.

use super::Stopped;
use super::learn::{self, Learned};
use super::scan::Asked;
use super::trouble::{incomplete, waiting};
use crate::domain::event::NewEvent;
use crate::domain::outcome::{Outcome, Verdict};
use crate::domain::page::Scan;
use crate::domain::target::{TargetState, Trouble};
use crate::domain::time::Stamp;
use crate::engine::core::{Conn, Core};
use crate::engine::findings;
use crate::engine::targets::Target;
use crate::engine::words::{self, Telling};
use crate::rules::reconcile::Reconciled;
use crate::store::{Commit, Write};

/// Why a reading is a part, and since when that is known. No words: the reply's own.
pub struct Why {
    pub words: Option<String>,
    pub at: Stamp,
    /// It is only not asked yet.
    pub is_wait: bool,
    /// Silence about other pages: since when.
    pub silent_since: Option<Stamp>,
}

/// Pages without a proven end: what they changed, and why there are no more.
pub struct Part {
    pub result: Option<Reconciled>,
    pub pages: u32,
    pub of: Option<u64>,
    pub why: Why,
}

impl Part {
    /// `trouble` is what the reply alone would make, if there is one; `verdict` is about that.
    pub fn learned(
        self,
        conn: &Conn,
        target: &Target,
        before: &TargetState,
        (trouble, verdict): (Trouble, Option<&Verdict>),
    ) -> Learned {
        let Part { result, pages, of, why } = self;
        let (is_wait, silent_since) = (why.is_wait, why.silent_since);
        let reason = why.words.unwrap_or_else(|| trouble.reason.clone());
        let said = incomplete((pages, of), &reason);
        let outcome = if trouble.outcome.is_good() { Outcome::Unexpected } else { trouble.outcome };
        // A good page among those that do not add up: what is wrong with them is the reason.
        let rule = verdict.map(|v| if v.outcome.is_good() { reason.clone() } else { v.rule.clone() });
        let trouble = Trouble { reason: said, outcome, ..trouble };
        let usual_pages = before.scan.as_ref().map_or(0, |scan| scan.usual_pages);
        let scan = Scan { pages, of, incomplete: Some(reason), at: why.at, usual_pages };
        let mut events: Vec<NewEvent> = result.iter().filter_map(|r| learn::changed(target, r, why.at)).collect();
        events.extend(learn::troubled(conn, target, before, (&trouble, rule.as_deref()), why.at));
        // A wait passes by itself, and a first page that failed is a trouble like any other.
        let found = (pages > 0 && !is_wait).then(|| findings::scan_incomplete(conn, target, &scan, silent_since));
        let marked = |state: TargetState| TargetState { trouble: Some(trouble), scan: Some(scan), ..state };
        let writes = match result {
            // What a 304 would confirm is not on the shelf any more as it was.
            Some(mut result) => {
                let state = TargetState { etag: None, last_modified: None, ..result.state };
                result.state = marked(state);
                learn::rows(target, result)
            }
            None => vec![Write::Target(target.key.clone(), marked(before.clone()))],
        };
        Learned { writes, events, findings: found.unwrap_or_default(), quiet: false }
    }
}

/// One answer led on to another request, which was refused: the reason stands with the last good answer until the next one.
pub async fn led_on(asked: Asked<'_>, stopped: &Stopped) -> Result<(), Stopped> {
    let Asked { core, conn, target, before, .. } = asked;
    let now = core.clock.now();
    let at = now.stamp();
    let why = words::why(stopped, &now, Telling::Kept);
    let reason = match stopped {
        Stopped::Unrenewed(_) => why,
        _ => format!("one answer needs another request, which waits for the next round: {why}"),
    };
    let trouble = waiting(before.trouble.as_ref(), at, reason);
    let events = learn::troubled(conn, target, before, (&trouble, None), at).into_iter().collect();
    let state = TargetState { attempted_at: Some(at), trouble: Some(trouble), ..before.clone() };
    let writes = vec![Write::Target(target.key.clone(), state)];
    publish(core, Learned { writes, events, findings: Vec::new(), quiet: false }).await
}

/// Publishes what was seen so far, since the next page has to wait.
pub async fn waits(asked: Asked<'_>, part: Part, at: Stamp) -> Result<(), Stopped> {
    let Asked { core, conn, target, before, .. } = asked;
    publish(core, part.learned(conn, target, before, (waiting(before.trouble.as_ref(), at, String::new()), None))).await
}

/// A commit without an answer.
async fn publish(core: &Core, learned: Learned) -> Result<(), Stopped> {
    let Learned { writes, events, findings, .. } = learned;
    let events = core.commit(Commit { writes, events, findings, ..Commit::default() }).await?;
    core.publish(events);
    Ok(())
}
