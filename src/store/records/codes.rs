//! One byte for each word of a closed enum. A number, once given, is never given to another word.

use crate::domain::charge::Settlement;
use crate::domain::connection::HoldReason;
use crate::domain::event::EventKind;
use crate::domain::finding::FindingKind;
use crate::domain::gateway::{Kept, Reading};
use crate::domain::ids::Caller;
use crate::domain::item::ChangeKind;
use crate::domain::job::JobState;
use crate::domain::observation::Became;
use crate::domain::outcome::Outcome;
use crate::domain::state::State;
use crate::domain::target::Phase;
use crate::store::codec::Damaged;

/// A closed enum that is kept as a byte.
pub(super) trait Coded: Sized {
    fn code(self) -> u8;
    fn coded(byte: u8) -> Result<Self, Damaged>;
}

macro_rules! codes {
    ($name:ident, $noun:literal: $($variant:ident = $byte:literal),+ $(,)?) => {
        impl Coded for $name {
            fn code(self) -> u8 {
                match self { $($name::$variant => $byte),+ }
            }
            fn coded(byte: u8) -> Result<Self, Damaged> {
                match byte {
                    $($byte => Ok($name::$variant),)+
                    other => Err(Damaged(format!("it names an unknown {} ({other})", $noun))),
                }
            }
        }
    };
}

codes!(Became, "outcome of an observation": Applied = 0, Unchanged = 1, Older = 2, Doubted = 3);
codes!(Caller, "caller": Poller = 0, Trigger = 1, Refresh = 2, Command = 3, Probe = 4, Gateway = 5);
codes!(Settlement, "settlement": Posted = 0, Voided = 1);
codes!(Outcome, "outcome": Data = 0, NotModified = 1, Limited = 2, CredentialRejected = 3, Overloaded = 4, NotReady = 5,
    Gone = 6, Unexpected = 7, TimedOut = 8, Dropped = 9, Unreachable = 10, TooLarge = 11, Undecodable = 12,
    RedirectRefused = 13, Lost = 14, Redirected = 15, Unpaid = 16);
codes!(HoldReason, "hold": RateLimited = 0, Exhausted = 1, CredentialRejected = 2, Overloaded = 3, Gone = 4,
    Unpaid = 5);
codes!(Phase, "phase": Pending = 0, Active = 1, Completed = 2, Inactive = 3, Stopped = 4);
codes!(ChangeKind, "change": Appeared = 0, Changed = 1, Removed = 2, Reappeared = 3);
codes!(JobState, "job state": Queued = 0, Sent = 1, Done = 2, Failed = 3, Unknown = 4);
codes!(EventKind, "event": TargetChanged = 0, TargetSeen = 1, TargetTroubled = 2, HoldStarted = 3, HoldEnded = 4,
    BreakerOpened = 5, BreakerClosed = 6, JobChanged = 7, ControlChanged = 8, Appliance = 9, FindingOpened = 10, FindingClosed = 11, PhaseChanged = 12,
    ScanPublished = 13, ScanTroubled = 14, Probed = 15, AccessChanged = 16, StateChanged = 17);
codes!(FindingKind, "finding": ForeignSpending = 0, LowerLimit = 1, HigherLimitOffered = 2, SuddenEmptiness = 3,
    WaitAboveCeiling = 4, ScanIncomplete = 5, CredentialReauthorize = 6, Deprecated = 7, WebhookFailing = 8,
    CredentialUnreadable = 9, ConfigurationUnreadable = 10, BackupFailing = 11);

codes!(Kept, "kind of answer": Data = 0, NotReady = 1, Declared = 2);
codes!(State, "state": ClockUntrusted = 0, Disabled = 1, CredentialRejected = 2, Exhausted = 3, Held = 4, BreakerOpen = 5,
    Expired = 6, Stale = 7, Ageing = 8, Fresh = 9, Never = 10);

codes!(Reading, "method": Get = 0, Head = 1);

/// The byte of a caller, in a key.
pub(in crate::store) fn caller(caller: Caller) -> u8 {
    caller.code()
}

pub(in crate::store) fn caller_of(byte: u8) -> Result<Caller, Damaged> {
    Caller::coded(byte)
}

/// The byte of an outcome, in a key.
pub(in crate::store) fn outcome(outcome: Outcome) -> u8 {
    outcome.code()
}

pub(in crate::store) fn outcome_of(byte: u8) -> Result<Outcome, Damaged> {
    Outcome::coded(byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers of old files keep their meaning: this list may grow at its end and change nowhere.
    #[test]
    fn every_byte_means_what_it_always_meant() {
        fn words<T: Coded>(word: fn(T) -> &'static str) -> String {
            (0..=255).map_while(|b| T::coded(b).ok()).map(word).collect::<Vec<_>>().join(" ")
        }
        assert_eq!(words(Caller::word), "poller trigger refresh command probe gateway");
        assert_eq!(
            words(Outcome::word),
            "data not_modified limited credential_rejected overloaded not_ready gone unexpected timed_out dropped \
             unreachable too_large undecodable redirect_refused lost redirected unpaid"
        );
        assert_eq!(words(HoldReason::word), "rate_limited exhausted credential_rejected overloaded gone unpaid");
        assert_eq!(words(Phase::word), "pending active completed inactive stopped");
        assert_eq!(words(ChangeKind::word), "appeared changed removed reappeared");
        assert_eq!(words(JobState::word), "queued sent done failed unknown");
        assert_eq!(
            words(EventKind::word),
            "target_changed target_seen target_troubled hold_started hold_ended breaker_opened breaker_closed \
             job_changed control_changed appliance finding_opened finding_closed phase_changed scan_published scan_troubled \
             probed access_changed state_changed"
        );
        assert_eq!(
            words(FindingKind::word),
            "foreign_spending lower_limit higher_limit_offered sudden_emptiness wait_above_ceiling scan_incomplete \
             credential_reauthorize deprecated webhook_failing credential_unreadable configuration_unreadable \
             backup_failing"
        );
        assert_eq!(words(Kept::word), "data not_ready declared");
        assert_eq!(
            words(State::word),
            "clock_untrusted disabled credential_rejected exhausted held breaker_open expired stale ageing fresh never"
        );
        assert_eq!(words(Reading::method), "GET HEAD");
        assert_eq!((Settlement::Posted.code(), Settlement::Voided.code()), (0, 1));
        assert!(Settlement::coded(2).is_err());
    }
}
