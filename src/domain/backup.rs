//! `[backup]`: where backups lie, when one is made without anybody asking, and how many stay. std only.

use super::limit::TimeOfDay;
use super::time::Span;
use std::path::PathBuf;

/// Unless the file says otherwise: a week of them.
pub const KEEP: u32 = 7;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackupSpec {
    /// It has to be there.
    pub folder: PathBuf,
    pub when: When,
    /// The newest of the folder; at least one.
    pub keep: u32,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum When {
    /// So long after the one before.
    Every(Span),
    Daily {
        at: TimeOfDay,
        time_zone: String,
    },
}
