//! What has to be said again before it is believed: sudden emptiness, and silence about pages that there were. The rules decide; since when
//! it is said stands in the open finding, which a restart keeps.

use super::learn::{self, Learned};
use crate::domain::item::Sighting;
use crate::domain::outcome::Outcome;
use crate::domain::target::{TargetState, Trouble};
use crate::domain::time::Stamp;
use crate::engine::core::{Conn, Core};
use crate::engine::findings;
use crate::engine::targets::Target;
use crate::rules::paging::Unfinished;
use crate::rules::reconcile;
use crate::store::{StoreError, Write};

/// Since when the target is answered as empty, where that is not believed yet.
pub fn doubt(
    core: &Core,
    conn: &Conn,
    target: &Target,
    before: &TargetState,
    seen: &[Sighting],
    at: Stamp,
) -> Result<Option<Stamp>, StoreError> {
    if !reconcile::is_sudden(before, seen) {
        return Ok(None);
    }
    let since = findings::empty_since(core, target)?;
    Ok(reconcile::doubted(before, seen, since, at, conn.base_interval()))
}

/// Law 4 for a target that had items and is empty now, where nobody asked for it alone: what was stays until the next reading says so again.
pub fn doubted(conn: &Conn, target: &Target, before: &TargetState, since: Stamp, at: Stamp) -> Learned {
    let trouble = Trouble {
        since: before.trouble.as_ref().map_or(at, |t| t.since),
        outcome: Outcome::Unexpected,
        reason: reconcile::SUDDENLY_EMPTY.to_owned(),
        said: None,
        failures: before.trouble.as_ref().map_or(0, |t| t.failures).saturating_add(1),
    };
    let events =
        learn::troubled(conn, target, before, (&trouble, Some(reconcile::SUDDENLY_EMPTY)), at).into_iter().collect();
    let findings = vec![findings::suddenly_empty(conn, target, before, (since, at))];
    let state = TargetState { trouble: Some(trouble), ..before.clone() };
    Learned { writes: vec![Write::Target(target.key.clone(), state)], events, findings, quiet: false }
}

/// Why a reading ends without proof of its end.
pub struct Broken {
    pub why: String,
    /// It is silence: since when.
    pub silent_since: Option<Stamp>,
}

impl From<&str> for Broken {
    fn from(why: &str) -> Broken {
        Broken { why: why.to_owned(), silent_since: None }
    }
}

/// What becomes of a reading whose end is not proved. `None`: it ends in silence, as the provider says that it may, and has long enough.
pub fn broken(
    core: &Core,
    conn: &Conn,
    target: &Target,
    before: &TargetState,
    why: &Unfinished,
    at: Stamp,
) -> Result<Option<Broken>, StoreError> {
    let said = core.door.redact(&why.to_string());
    let Some(pager) = target.pager.as_ref().filter(|_| matches!(why, Unfinished::Silent { .. })) else {
        return Ok(Some(Broken { why: said, silent_since: None }));
    };
    let since = findings::silent_since(core, target)?;
    let doubted = pager.doubts(before.scan.as_ref(), &said, since, at, conn.base_interval());
    Ok(doubted.map(|since| Broken { why: said, silent_since: Some(since) }))
}
