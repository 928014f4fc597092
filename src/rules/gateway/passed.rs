//! What the gateway makes of a verdict: the classifier knows answers to Larder's own questions, and a client may ask anything. A part that was
//! asked for, a text that says that it is none, an empty success: all are what the client wanted. Refusals and failures stay what they are.

use super::gate::Policy;
use crate::domain::gateway::{Freshness, joined};
use crate::domain::outcome::{Outcome, Reach, Verdict};

/// An answer, as far as it is looked at here.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
    pub status: u16,
    /// Lower-case names.
    pub headers: &'a [(String, String)],
    /// What the client sent.
    pub sent: &'a [(String, String)],
    /// Its request is answered with a body.
    pub has_body: bool,
    /// The body was there to be judged, and not only its beginning.
    pub is_whole: bool,
}

/// The verdict on an answer that is passed on to a client.
pub fn as_passed(verdict: Verdict, seen: &Seen<'_>, policy: &Policy<'_>) -> Verdict {
    let says = |outcome: Outcome, what: &str| Verdict::new(outcome, format!("status {}{what}", seen.status));
    match verdict.outcome {
        Outcome::Limited | Outcome::Unpaid => verdict,
        _ if policy.is_not_ready(seen.status) => says(Outcome::NotReady, ", expected where it is not ready"),
        // Without a recipe's word it is gone, or forbidden, at the address that this client asked for, and it may ask anything.
        Outcome::Gone if seen.status == 410 && verdict.rule.starts_with("status") => {
            says(Outcome::Unexpected, ", handed to the client")
        }
        Outcome::CredentialRejected if seen.status == 403 && verdict.rule.starts_with("status") => {
            Verdict { reach: verdict.reach.or(Some(Reach::Endpoint)), ..verdict }
        }
        // A recipe's word is about just such answers.
        Outcome::Unexpected if !verdict.rule.starts_with("status") => verdict,
        Outcome::Unexpected if matches!(seen.status, 301..=303 | 307 | 308) => {
            says(Outcome::Redirected, ", handed to the client")
        }
        Outcome::Unexpected | Outcome::Undecodable if is_data(seen, policy) => says(Outcome::Data, ", passed on"),
        _ => verdict,
    }
}

fn is_data(seen: &Seen<'_>, policy: &Policy<'_>) -> bool {
    match seen.status {
        204 | 205 => true,
        206 => seen.sent.iter().any(|(name, _)| name == "range"),
        200..=299 => !seen.has_body || !seen.is_whole || is_declared_otherwise(seen, policy),
        _ => false,
    }
}

/// It says itself that it is no JSON. A page where an API was asked is a maintenance page (I4), unless the client reads pages, or the
/// provider's own words on caching are trusted.
fn is_declared_otherwise(seen: &Seen<'_>, policy: &Policy<'_>) -> bool {
    let kind = joined(seen.headers, "content-type").unwrap_or_default().to_ascii_lowercase();
    let reads_pages = joined(seen.sent, "accept").is_some_and(|accept| accept.contains("text/html"));
    let trusted = policy.freshness == Freshness::Http;
    match kind.as_str() {
        "" => trusted,
        kind if kind.contains("json") => false,
        kind if kind.contains("html") => reads_pages || trusted,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::gateway::{GatewaySpec, NotReadySpec, PathRule};
    use crate::domain::time::Span;
    use crate::rules::gateway::{Gate, Location};

    fn gate(freshness: Freshness) -> Gate {
        let not_ready = NotReadySpec { status: vec![409], lasts: Span::from_secs(60), until: Vec::new() };
        let rule = PathRule { path: "/late".to_owned(), not_ready: Some(not_ready), ..PathRule::default() };
        Gate::compile(&GatewaySpec { freshness, rules: vec![rule], ..GatewaySpec::default() }, &[]).unwrap()
    }

    /// What becomes of an outcome, of a GET that was answered with this status and type.
    fn judged(
        freshness: Freshness,
        path: &str,
        (rule, outcome): (&str, Outcome),
        (status, kind): (u16, &str),
    ) -> Outcome {
        let headers = [("content-type".to_owned(), kind.to_owned())];
        let gate = gate(freshness);
        let policy = gate.policy(&Location::read(path).unwrap());
        let seen = Seen { status, headers: &headers, sent: &[], has_body: true, is_whole: true };
        as_passed(Verdict::new(outcome, rule), &seen, &policy).outcome
    }

    #[test]
    fn a_client_may_ask_for_what_is_no_json() {
        let status = ("status 200 without JSON", Outcome::Unexpected);
        for (freshness, rule, answer, expected) in [
            (Freshness::Memo, status, (200, "text/csv"), Outcome::Data),
            (Freshness::Memo, status, (200, "image/png"), Outcome::Data),
            (Freshness::Memo, status, (204, ""), Outcome::Data),
            (Freshness::Memo, status, (200, "text/html"), Outcome::Unexpected),
            (Freshness::Memo, status, (200, "application/problem+json"), Outcome::Unexpected),
            (Freshness::Memo, status, (200, ""), Outcome::Unexpected),
            (Freshness::Memo, status, (206, "image/png"), Outcome::Unexpected),
            (Freshness::Memo, status, (302, ""), Outcome::Redirected),
            (Freshness::Memo, status, (404, "text/csv"), Outcome::Unexpected),
            (Freshness::Http, status, (200, "text/html"), Outcome::Data),
            (Freshness::Memo, ("recipe: odd", Outcome::Unexpected), (200, "text/csv"), Outcome::Unexpected),
            (Freshness::Memo, ("status 200 with a sentence", Outcome::Limited), (200, "text/csv"), Outcome::Limited),
            (Freshness::Http, ("status 503", Outcome::Overloaded), (503, "text/csv"), Outcome::Overloaded),
        ] {
            assert_eq!(judged(freshness, "/x", rule, answer), expected, "{freshness:?} {rule:?} {answer:?}");
        }
    }

    #[test]
    fn what_is_expected_where_it_is_not_ready_is_no_error_and_a_limit_stays_one() {
        for (outcome, path, expected) in [
            (Outcome::Unexpected, "/late", Outcome::NotReady),
            (Outcome::Unexpected, "/x", Outcome::Unexpected),
            (Outcome::Limited, "/late", Outcome::Limited),
        ] {
            assert_eq!(judged(Freshness::Memo, path, ("status 409", outcome), (409, "")), expected, "{path}");
        }
    }

    #[test]
    fn a_part_that_was_asked_for_and_the_beginning_of_a_long_answer_are_answers() {
        let gate = gate(Freshness::Memo);
        let policy = gate.policy(&Location::read("/x").unwrap());
        let verdict = || Verdict::new(Outcome::Unexpected, "status 2xx");
        let sent = [("range".to_owned(), "bytes=0-1".to_owned())];
        let part = Seen { status: 206, headers: &[], sent: &sent, has_body: true, is_whole: true };
        assert_eq!(as_passed(verdict(), &part, &policy).outcome, Outcome::Data);
        let long = Seen { status: 200, sent: &[], is_whole: false, ..part };
        assert_eq!(as_passed(verdict(), &long, &policy).outcome, Outcome::Data);
    }
}
