//! The sentences of a hold: how it began, why and until when, the way back. Must not know how it came about.

use super::{Parts, Telling, clock_time, decided, moment, time_ahead};
use crate::domain::connection::{Hold, HoldReason};
use crate::domain::outcome::Outcome;
use crate::domain::time::Now;
use crate::engine::core::Conn;
use crate::engine::view::Sentence;

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
    parts(conn, hold, now, telling).sentence()
}

pub fn parts(conn: &Conn, hold: &Hold, now: &Now, telling: Telling) -> Parts {
    let provider = &conn.spec.provider;
    let until = time_ahead(hold.until, now, telling);
    let since = moment(hold.since.wall, now, telling);
    let left = |to: &str| format!("{provider} has nothing left for {to} since {since}: {}", hold.rule);
    if let Some(endpoint) = hold.scope.endpoint() {
        let what = match hold.reason {
            HoldReason::Exhausted => left(&format!("{endpoint} alone")),
            HoldReason::Overloaded => format!("{provider} asked us at {since} to wait with {endpoint} alone"),
            reason => format!("{provider} refused {endpoint} alone at {since} ({})", in_words(reason)),
        };
        return Parts::new(what, format!("not asked until {until}. The rest goes on."));
    }
    let (held, again) = (format!("held until {until}."), format!("asked again at {until}."));
    match hold.reason {
        HoldReason::RateLimited => Parts::new(format!("{provider} rate limited us at {since}"), held),
        HoldReason::Exhausted => Parts::new(left("us"), held),
        HoldReason::CredentialRejected if hold.rule.starts_with(KEY_FILE) => Parts::new(
            format!("The stored tokens of {} cannot be opened since {since}", conn.spec.key.connection),
            "nothing is asked until the old key file is back or another refresh token is configured, and Larder is started again.",
        ),
        HoldReason::CredentialRejected => Parts::new(
            format!("{provider} refused the credential at {since}"),
            format!("asked again at {until}, or once it is replaced."),
        ),
        HoldReason::Overloaded if hold.rule.starts_with(TOKEN_ENDPOINT) => {
            Parts::new(format!("{provider} gave no access token at {since}"), again)
        }
        HoldReason::Overloaded => Parts::new(format!("{provider} asked us at {since} to wait"), held),
        HoldReason::Unpaid => Parts::new(
            format!("{provider} said at {since} that money, points or the plan of the account are used up"),
            format!("that does not pass by waiting: pay, or choose another plan. Asked again at {until}."),
        ),
        HoldReason::Gone => Parts::new(format!("{provider} said at {since} that this is gone for good"), again),
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
pub fn probing(hold: &Hold, now: &Now) -> Sentence {
    let since = moment(hold.since.wall, now, Telling::Apart);
    format!("The hold of {since} is over; one request alone finds out whether the provider agrees.").into()
}

/// The way back.
pub fn easing(share: &str, hold: &Hold, now: &Now) -> Sentence {
    let since = moment(hold.since.wall, now, Telling::Apart);
    format!("After the hold of {since} polls come at {share} of their usual rate and grow back.").into()
}

pub fn ramp_began(conn: &Conn, hold: &Hold, now: &Now) -> String {
    format!("{}; polls come slower at first and grow back over the next ones", hold_ended(conn, hold, now))
}

pub fn hold_ended(conn: &Conn, hold: &Hold, now: &Now) -> String {
    let since = clock_time(hold.since.wall, now.wall());
    format!("{} answers again; the hold of {since} is over", conn.spec.provider)
}
