//! Read models of what operators set: what the file says and what was set instead, side by side.

use super::{Seconds, When};
use crate::domain::spec::Interval;
use serde::{Serialize, Serializer};

/// The controls of a connection.
#[derive(Clone, Debug, Serialize)]
pub struct ControlsView {
    pub enabled: ControlView<bool>,
    pub interval: ControlView<IntervalView>,
    /// Null: never.
    pub inactivity_ttl_seconds: ControlView<Option<Seconds>>,
    pub completion_grace_seconds: ControlView<Option<Seconds>>,
}

#[derive(Clone, Debug, Serialize)]
pub struct ControlView<T> {
    pub configured: T,
    /// Null: what is configured is in force.
    pub set: Option<SetView<T>>,
}

impl<T: Copy> ControlView<T> {
    pub fn in_force(&self) -> T {
        self.set.as_ref().map_or(self.configured, |set| set.value)
    }
}

/// What somebody set.
#[derive(Clone, Debug, Serialize)]
pub struct SetView<T> {
    pub value: T,
    pub by: String,
    pub at: When,
    /// When it ends by itself.
    pub until: Option<When>,
}

impl<T> SetView<T> {
    pub fn of(value: T, by: &str, at: When) -> SetView<T> {
        SetView { value, by: by.to_owned(), at, until: None }
    }
}

/// Seconds, or `"auto"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IntervalView {
    Auto,
    Every(Seconds),
}

impl IntervalView {
    pub fn of(interval: Interval) -> IntervalView {
        match interval {
            Interval::Auto => IntervalView::Auto,
            Interval::Every(span) => IntervalView::Every(Seconds(span)),
        }
    }
}

impl Serialize for IntervalView {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match self {
            IntervalView::Auto => s.serialize_str("auto"),
            IntervalView::Every(seconds) => seconds.serialize(s),
        }
    }
}

/// The polling of the whole process.
#[derive(Clone, Debug, Serialize)]
pub struct PollingView {
    pub enabled: bool,
    pub enabled_configured: bool,
    pub enabled_set: Option<SetView<bool>>,
    /// Requests of the poller that may be under way at once.
    pub workers: u32,
    pub workers_configured: u32,
    pub workers_set: Option<SetView<u32>>,
}
