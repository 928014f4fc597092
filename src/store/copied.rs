//! Whether a file is a copy, and of what kind: a backup says so, another copy is found out. Reads only; what follows from it is for who sends.

use super::StoreError;
use super::open::Found;
use super::read::Snapshot;
use super::survey;
use super::whereabouts::Whereabouts;
use crate::clock::ClockMark;
use crate::domain::time::Stamp;

/// A copy, from which another appliance, or this one before, may have sent since it was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Copied {
    /// When it was made; of other copies than backups, the newest moment in it.
    pub made: ClockMark,
    pub kind: CopyKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyKind {
    /// By `larder backup`.
    Backup,
    /// A plain copy of a file in use.
    Running,
    /// A plain copy of a file that was closed; or it was moved to another file system, which cannot be told apart.
    Stopped,
}

/// A backup says that it is one. Of another copy the file itself knows nothing, but it is not the file that it was.
pub(super) fn of(
    snapshot: &Snapshot<'_>,
    found: &Found,
    whereabouts: &Whereabouts,
    high_water: Option<Stamp>,
) -> Result<Option<Copied>, StoreError> {
    if let Some(made) = survey::copied(snapshot)? {
        return Ok(Some(Copied { made, kind: CopyKind::Backup }));
    }
    let (Some(was), Some(is)) = (survey::home(snapshot)?, whereabouts.birth()) else { return Ok(None) };
    let Some(newest) = high_water.filter(|_| was != is) else { return Ok(None) };
    let mark = survey::mark(snapshot)?.unwrap_or_default();
    let made = ClockMark { steady: newest.steady, wall: newest.wall, era: newest.era, ..mark };
    let kind = if found.repaired.is_some() { CopyKind::Running } else { CopyKind::Stopped };
    Ok(Some(Copied { made, kind }))
}
