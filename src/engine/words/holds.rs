//! The sentences of a hold: how it began, why and until when, the way back. Must not know how it came about.

use super::{Telling, clock_time, decided, time_ahead};
use crate::domain::connection::{Hold, HoldReason};
use crate::domain::outcome::Outcome;
use crate::domain::time::Now;
use crate::engine::core::Conn;

/// How rules begin that judge an answer to a renewal.
pub const TOKEN_ENDPOINT: &str = "token endpoint: ";
/// How the rule begins by which a token is not sent at all.
pub const KEY_FILE: &str = "key file: ";

/// `outcome`: of the answer that set it.
pub fn hold_started(conn: &Conn, hold: &Hold, outcome: Outcome, now: &Now) -> String {
    let sentence = hold_sentence(conn, hold, now, Telling::Kept);
    let sentence = format!("{sentence} That long because of {}", hold.source);
    decided(&sentence, outcome, &hold.rule, hold.said.as_deref())
}

/// Why a credential is held and until when. What the provider said stands beside it, in a field of its own.
pub fn hold_sentence(conn: &Conn, hold: &Hold, now: &Now, telling: Telling) -> String {
    let provider = &conn.spec.provider;
    let until = time_ahead(hold.until, now, telling);
    let since = clock_time(hold.since.wall, now.wall());
    let left = |to: &str| format!("{provider} has nothing left for {to} since {since}: {}", hold.rule);
    if let Some(endpoint) = hold.scope.endpoint() {
        if hold.reason == HoldReason::Exhausted {
            return format!("{}; not asked until {until}. The rest goes on.", left(&format!("{endpoint} alone")));
        }
        if hold.reason == HoldReason::Overloaded {
            return format!(
                "{provider} asked us at {since} to wait with {endpoint} alone; not asked until {until}. The rest goes on."
            );
        }
        let why = in_words(hold.reason);
        return format!(
            "{provider} refused {endpoint} alone at {since} ({why}); not asked until {until}. The rest goes on."
        );
    }
    match hold.reason {
        HoldReason::RateLimited => format!("{provider} rate limited us at {since}; held until {until}."),
        HoldReason::Exhausted => {
            format!("{}; held until {until}.", left("us"))
        }
        HoldReason::CredentialRejected if hold.rule.starts_with(KEY_FILE) => format!(
            "The stored tokens of {} cannot be opened since {since}; nothing is asked until the old key file is back or another refresh token \
             is configured, and Larder is started again.",
            conn.spec.key.connection
        ),
        HoldReason::CredentialRejected => {
            format!("{provider} refused the credential at {since}; asked again at {until}, or once it is replaced.")
        }
        HoldReason::Overloaded if hold.rule.starts_with(TOKEN_ENDPOINT) => {
            format!("{provider} gave no access token at {since}; asked again at {until}.")
        }
        HoldReason::Overloaded => format!("{provider} asked us at {since} to wait; held until {until}."),
        HoldReason::Unpaid => format!(
            "{provider} said at {since} that money, points or the plan of the account are used up; that does not pass by \
             waiting: pay, or choose another plan. Asked again at {until}."
        ),
        HoldReason::Gone => format!("{provider} said at {since} that this is gone for good; asked again at {until}."),
    }
}

/// Why, in the middle of a sentence.
const fn in_words(reason: HoldReason) -> &'static str {
    match reason {
        HoldReason::RateLimited => "rate limited",
        HoldReason::Exhausted => "the long window is spent",
        HoldReason::CredentialRejected => "not with this credential",
        HoldReason::Overloaded => "asked to wait",
        HoldReason::Gone => "gone for good",
        HoldReason::Unpaid => "out of money or plan",
    }
}

/// A hold whose time is up, before anybody knows whether the provider agrees.
pub fn probing(hold: &Hold, now: &Now) -> String {
    let since = clock_time(hold.since.wall, now.wall());
    format!("The hold of {since} is over; one request alone finds out whether the provider agrees.")
}

/// The way back.
pub fn easing(share: &str, hold: &Hold, now: &Now) -> String {
    let since = clock_time(hold.since.wall, now.wall());
    format!("After the hold of {since} polls come at {share} of their usual rate and grow back.")
}

pub fn ramp_began(conn: &Conn, hold: &Hold, now: &Now) -> String {
    format!("{}; polls come slower at first and grow back over the next ones", hold_ended(conn, hold, now))
}

pub fn hold_ended(conn: &Conn, hold: &Hold, now: &Now) -> String {
    let since = clock_time(hold.since.wall, now.wall());
    format!("{} answers again; the hold of {since} is over", conn.spec.provider)
}
