//! Sudden emptiness: the rule decides whether it is believed; since when it is said stands in the open finding, which a restart keeps.

use crate::domain::item::Sighting;
use crate::domain::target::TargetState;
use crate::domain::time::Stamp;
use crate::engine::core::{Conn, Core};
use crate::engine::findings;
use crate::engine::targets::Target;
use crate::rules::reconcile;
use crate::store::StoreError;

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
