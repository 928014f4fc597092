//! How the fields of one item went over a time. Knows no drawing.

use super::{Seconds, When};
use serde::Serialize;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SeriesView {
    pub key: String,
    pub title: String,
    pub from: When,
    pub until: When,
    /// Its state first, then the fields that it has or had in this time, by name.
    pub fields: Vec<FieldSeries>,
    /// When no good answer was young enough to say what is; in order.
    pub stale: Vec<(When, When)>,
    /// Before that moment nobody knows when answers were young enough; null: of the whole time it is known.
    pub stale_known_from: Option<When>,
    /// Before that moment there were more changes than are shown.
    pub cut_at: Option<When>,
    /// How long the history is kept; null: for ever.
    pub kept_for: Option<Seconds>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FieldSeries {
    pub field: String,
    /// In order, each until the next. Null: it had none, or the item was gone.
    pub points: Vec<(When, Option<String>)>,
}
