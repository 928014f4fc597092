//! An organization's part of what it shares with others.

use std::collections::BTreeMap;

use super::ids::Organization;

/// What an organization may count on where several spend with one credential.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Twice the weight is twice the share. At least 1.
    pub weight: u32,
    /// Percent of each limit that is never lent to others, 0 to 100.
    pub floor: u8,
}

impl Default for Part {
    fn default() -> Part {
        Part { weight: 1, floor: 0 }
    }
}

/// What is configured of organizations; one that is not named has the part that everybody has.
pub type PartsByOrganization = BTreeMap<Organization, Part>;
