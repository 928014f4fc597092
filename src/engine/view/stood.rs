//! How a connection stood over some time: stretch after stretch, each in one word.

use super::When;
use crate::domain::state::State;
use serde::Serialize;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StoodView {
    pub from: When,
    pub until: When,
    /// In order. Of what is before the first of them, or between two, nothing is known.
    pub stretches: Vec<StoodStretch>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct StoodStretch {
    pub from: When,
    pub until: When,
    /// Null: Larder did not run.
    pub state: Option<State>,
}
