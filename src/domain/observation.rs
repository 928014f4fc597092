//! An answer that was pushed instead of asked for: what is kept of it once it was taken in. Its content went to the shelf.

use super::ids::TargetName;
use super::time::Stamp;

/// What became of an observation. It never becomes another thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Became {
    /// The answer of its target, with another content than the one before.
    Applied,
    /// The answer of its target, which says what the one before said.
    Unchanged,
    /// Nothing: the answer on the shelf is newer.
    Older,
    /// Nothing yet: it is suddenly empty, and has to be said again.
    Doubted,
}

impl Became {
    pub const ALL: [Became; 4] = [Became::Applied, Became::Unchanged, Became::Older, Became::Doubted];

    pub const fn word(self) -> &'static str {
        match self {
            Became::Applied => "applied",
            Became::Unchanged => "unchanged",
            Became::Older => "older",
            Became::Doubted => "doubted",
        }
    }

    /// Whether it is what its target is shown by.
    pub const fn is_shown(self) -> bool {
        matches!(self, Became::Applied | Became::Unchanged)
    }
}

/// What is remembered of an observation: by its id, which its sender gave it, one of its connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observation {
    pub id: String,
    pub target: TargetName,
    /// Over all that it says: the same id with another digest is another observation.
    pub digest: [u8; 16],
    pub as_of: Stamp,
    pub received_at: Stamp,
    /// Who pushed it.
    pub by: String,
    pub became: Became,
}
