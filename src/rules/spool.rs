//! What an agent does with the observations that wait in its spool: when it sends, how long it tries, and what an answer says of each. Must
//! not know how anything is sent or kept.

use crate::domain::time::{Span, Steady};
use serde_json::Value;

/// What one delivery may take with everything that it waits for (T3).
pub const BUDGET: Span = Span::from_secs(25);
/// What another request needs at least: where less is left, it is for a later delivery.
pub const REQUEST: Span = Span::from_secs(5);
/// The longest that the appliance may put a delivery off; a clock that was put back makes it no longer.
pub const LONGEST_WAIT: Span = Span::from_secs(24 * 3600);

/// What to do now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Send, and wait so long for the answer.
    Send(Span),
    WaitUntil(Steady),
    /// Not in this delivery any more.
    Later,
}

/// `not_before`: until when the appliance does not want to hear of it, a deadline and no leave: what does not fit into the budget that began at
/// `began` is given up for now.
pub fn next(began: Steady, now: Steady, not_before: Option<Steady>) -> Next {
    let at = not_before.map_or(now, |at| at.max(now));
    let ends = began + BUDGET;
    match () {
        () if at + REQUEST > ends => Next::Later,
        () if at > now => Next::WaitUntil(at),
        () => Next::Send(ends.since(now)),
    }
}

/// What came back from the appliance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Heard {
    Answer {
        status: u16,
        /// `Retry-After`, as far as it can be read.
        retry_after: Option<Span>,
        body: String,
    },
    /// No answer, in words.
    Nothing(String),
}

/// What becomes of the observations of one request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fate {
    /// By their place in the request: they are on the disk of the appliance.
    pub delivered: Vec<usize>,
    /// It will never take them, and why.
    pub refused: Vec<(usize, String)>,
    /// Why the others are not: they wait.
    pub why: Option<String>,
    /// How long the appliance wants to be left alone, where it says so.
    pub retry_after: Option<Span>,
    /// The request is too much at once: one alone may be taken.
    pub is_too_much: bool,
    /// Nothing else would be answered otherwise: the token is not taken.
    pub is_hopeless: bool,
}

/// What will be taken later, perhaps, as it is: too early, too often, not by this token.
const PASSING: [u16; 5] = [401, 403, 408, 425, 429];
/// What says of a problem that it is Larder's.
const OURS: &str = "urn:larder:problem:";

fn is_final(status: u16) -> bool {
    (400..500).contains(&status) && !PASSING.contains(&status)
}

/// `count` observations were sent.
pub fn fate(heard: &Heard, count: usize) -> Fate {
    let Heard::Answer { status, retry_after, body } = heard else {
        let Heard::Nothing(why) = heard else { return Fate::default() };
        return Fate { why: Some(why.clone()), ..Fate::default() };
    };
    let body: Value = serde_json::from_str(body).unwrap_or_default();
    let retry_after = retry_after.map(|wait| wait.min(LONGEST_WAIT));
    let results = body["results"].as_array().filter(|results| *status == 200 && results.len() == count);
    if let Some(results) = results {
        return Fate { retry_after, ..of_each(results) };
    }
    let detail = body["detail"].as_str().map_or_else(|| format!("the appliance answered {status}"), str::to_owned);
    let is_ours = body["type"].as_str().is_some_and(|kind| kind.starts_with(OURS));
    if !is_ours || !is_final(*status) {
        let why = match is_ours || body["detail"].is_string() {
            true => detail,
            false => format!("{detail}, which is no answer of Larder: is the address right?"),
        };
        return Fate { why: Some(why), retry_after, is_hopeless: matches!(status, 401 | 403), ..Fate::default() };
    }
    match count {
        1 => Fate { refused: vec![(0, detail)], ..Fate::default() },
        _ => Fate { is_too_much: true, ..Fate::default() },
    }
}

fn of_each(results: &[Value]) -> Fate {
    let mut fate = Fate::default();
    for (at, one) in results.iter().enumerate() {
        let status = one["status"].as_u64().and_then(|status| u16::try_from(status).ok()).unwrap_or(500);
        let why = || one["detail"].as_str().map_or_else(|| format!("the appliance answered {status}"), str::to_owned);
        match status {
            200 => fate.delivered.push(at),
            _ if is_final(status) => fate.refused.push((at, why())),
            _ => fate.why = Some(why()),
        }
    }
    fate
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const S: fn(u64) -> Steady = |s| Steady(s * 1000);

    #[test]
    fn retry_after_is_a_deadline_and_no_leave_to_go_on_for_ever() {
        for (now, not_before, expected) in [
            (100, None, Next::Send(BUDGET)),
            (120, None, Next::Send(REQUEST)),
            (121, None, Next::Later),
            (101, Some(110), Next::WaitUntil(S(110))),
            (110, Some(110), Next::Send(Span::from_secs(15))),
            (101, Some(120), Next::WaitUntil(S(120))),
            (101, Some(121), Next::Later),
            (101, Some(90_000), Next::Later),
            (101, Some(1), Next::Send(Span::from_secs(24))),
        ] {
            assert_eq!(next(S(100), S(now), not_before.map(S)), expected, "{now} {not_before:?}");
        }
    }

    proptest! {
        #[test]
        fn no_delivery_outlives_its_budget(now in 0u64..60_000, not_before in prop::option::of(0u64..100_000)) {
            let (began, now, not_before) = (Steady(10_000), Steady(10_000 + now), not_before.map(Steady));
            match next(began, now, not_before) {
                Next::Send(within) => {
                    prop_assert!(not_before.is_none_or(|at| at <= now), "never before the deadline");
                    prop_assert!(within >= REQUEST && now + within <= began + BUDGET);
                }
                Next::WaitUntil(at) => prop_assert!(Some(at) == not_before && at > now && at + REQUEST <= began + BUDGET),
                Next::Later => prop_assert!(not_before.unwrap_or(now).max(now) + REQUEST > began + BUDGET),
            }
        }
    }

    #[test]
    fn an_answer_says_of_each_what_becomes_of_it() {
        let answer =
            |status, body: &str| Heard::Answer { status, retry_after: Some(Span::from_secs(7)), body: body.to_owned() };
        let mixed = r#"{"results":[{"status":200},{"status":409,"detail":"another"},{"status":503,"detail":"full"}]}"#;
        let found = fate(&answer(200, mixed), 3);
        assert_eq!((found.delivered, found.refused), (vec![0], vec![(1, "another".to_owned())]));
        assert_eq!((found.why.as_deref(), found.retry_after), (Some("full"), Some(Span::from_secs(7))));
        let ours = |status: u16| {
            answer(status, &format!(r#"{{"type":"urn:larder:problem:x","status":{status},"detail":"no"}}"#))
        };
        assert_eq!(fate(&ours(422), 1).refused, [(0, "no".to_owned())]);
        assert!(fate(&ours(413), 2).is_too_much && fate(&ours(401), 1).is_hopeless);
        // Nothing is given up for what somebody else answers, and nothing is taken for delivered.
        for other in
            [answer(404, "<html>"), answer(200, "{}"), answer(200, r#"{"results":[]}"#), answer(502, ""), ours(503)]
        {
            let found = fate(&other, 1);
            assert!(
                found.delivered.is_empty() && found.refused.is_empty() && found.why.is_some(),
                "{other:?}: {found:?}"
            );
        }
        assert_eq!(fate(&Heard::Nothing("no connection".to_owned()), 1).why.as_deref(), Some("no connection"));
    }
}
