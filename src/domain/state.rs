//! The one word that says how a connection or a target stands, on every surface.

use super::time::Stamp;
use serde::{Deserialize, Serialize};
use std::fmt;

/// In the order of precedence: the first that is true is the state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    ClockUntrusted,
    Disabled,
    CredentialRejected,
    Exhausted,
    Held,
    BreakerOpen,
    Expired,
    Stale,
    Ageing,
    Fresh,
    Never,
}

impl State {
    pub const ALL: [State; 11] = [
        State::ClockUntrusted,
        State::Disabled,
        State::CredentialRejected,
        State::Exhausted,
        State::Held,
        State::BreakerOpen,
        State::Expired,
        State::Stale,
        State::Ageing,
        State::Fresh,
        State::Never,
    ];

    pub const fn word(self) -> &'static str {
        match self {
            State::ClockUntrusted => "clock_untrusted",
            State::Disabled => "disabled",
            State::CredentialRejected => "credential_rejected",
            State::Exhausted => "exhausted",
            State::Held => "held",
            State::BreakerOpen => "breaker_open",
            State::Expired => "expired",
            State::Stale => "stale",
            State::Ageing => "ageing",
            State::Fresh => "fresh",
            State::Never => "never",
        }
    }
}

impl State {
    /// Whether somebody should look. A pause that somebody wanted is no trouble, nor is what has only begun.
    pub fn is_trouble(self) -> bool {
        !matches!(self, State::Disabled | State::Ageing | State::Fresh | State::Never)
    }

    /// Whether turning into `to` is told. What is due to be renewed is as good as what was renewed just now: between these two nothing
    /// has happened.
    pub fn is_left_for(self, to: State) -> bool {
        let told = |state| if state == State::Ageing { State::Fresh } else { state };
        told(self) != told(to)
    }
}

/// From when on a connection stood so, until the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stood {
    pub since: Stamp,
    /// `None`: Larder did not run, and nobody knows.
    pub state: Option<State>,
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}
