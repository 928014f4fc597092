//! An event: a hint that something durable changed. The store is the truth.

use super::ids::{ConnectionKey, EventId, TargetName};
use super::time::Stamp;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EventKind {
    /// An item appeared, changed, was removed or reappeared: the target has a new generation.
    TargetChanged,
    /// The target was answered with unchanged content: its age is new. Not durable, never replayed.
    TargetSeen,
    /// Polling ran into trouble.
    TargetTroubled,
    HoldStarted,
    HoldEnded,
    BreakerOpened,
    BreakerClosed,
    JobChanged,
    /// An operator changed something.
    ControlChanged,
    /// A restart, a clock that cannot be believed, a file that was repaired.
    Appliance,
    /// Something that the owners should know.
    FindingOpened,
    /// It is not so any more.
    FindingClosed,
    /// A target was put into another phase, by somebody or by itself.
    PhaseChanged,
    /// A whole reading of a scan came into force, and there is something to tell of it.
    ScanPublished,
    /// A scan cannot be read, or not now.
    ScanTroubled,
    /// Somebody asked the provider what it says now, and it answered, or did not.
    Probed,
    /// Somebody came in, or who may come in became another: operators, sessions, tokens. For those who administer alone.
    AccessChanged,
    /// A connection's state became another. What is fresh and what is due to be renewed count as one.
    StateChanged,
}

impl EventKind {
    pub const ALL: [EventKind; 18] = [
        EventKind::TargetChanged,
        EventKind::TargetSeen,
        EventKind::TargetTroubled,
        EventKind::HoldStarted,
        EventKind::HoldEnded,
        EventKind::BreakerOpened,
        EventKind::BreakerClosed,
        EventKind::JobChanged,
        EventKind::ControlChanged,
        EventKind::Appliance,
        EventKind::FindingOpened,
        EventKind::FindingClosed,
        EventKind::PhaseChanged,
        EventKind::ScanPublished,
        EventKind::ScanTroubled,
        EventKind::Probed,
        EventKind::AccessChanged,
        EventKind::StateChanged,
    ];

    /// The SSE `event` name.
    pub const fn word(self) -> &'static str {
        match self {
            EventKind::TargetChanged => "target_changed",
            EventKind::TargetSeen => "target_seen",
            EventKind::TargetTroubled => "target_troubled",
            EventKind::HoldStarted => "hold_started",
            EventKind::HoldEnded => "hold_ended",
            EventKind::BreakerOpened => "breaker_opened",
            EventKind::BreakerClosed => "breaker_closed",
            EventKind::JobChanged => "job_changed",
            EventKind::ControlChanged => "control_changed",
            EventKind::Appliance => "appliance",
            EventKind::FindingOpened => "finding_opened",
            EventKind::FindingClosed => "finding_closed",
            EventKind::PhaseChanged => "phase_changed",
            EventKind::ScanPublished => "scan_published",
            EventKind::ScanTroubled => "scan_troubled",
            EventKind::Probed => "probed",
            EventKind::AccessChanged => "access_changed",
            EventKind::StateChanged => "state_changed",
        }
    }
    /// Whether it has a number and is kept, so that who was away can be told of it.
    pub const fn is_durable(self) -> bool {
        !matches!(self, EventKind::TargetSeen)
    }
    /// Whether anybody who may read at all may read it.
    pub const fn is_public(self) -> bool {
        !matches!(self, EventKind::AccessChanged)
    }
    pub fn from_word(word: &str) -> Option<EventKind> {
        EventKind::ALL.into_iter().find(|k| k.word() == word)
    }
}

/// An event before it has a number.
#[derive(Clone, Debug, PartialEq)]
pub struct NewEvent {
    pub kind: EventKind,
    pub at: Stamp,
    pub connection: Option<ConnectionKey>,
    pub target: Option<TargetName>,
    /// One sentence for the activity list.
    pub message: String,
}

/// A durable event.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    pub id: EventId,
    pub body: NewEvent,
}
