//! What the public suite of HTTP caches found, and what else has that shape.

use super::*;
use crate::domain::outcome::{Outcome, Reach, Verdict};

fn judged(outcome: Outcome, rule: &str, status: u16) -> Verdict {
    let gate = http_gate();
    let seen = Seen { status, headers: &[], sent: &[], has_body: true, is_whole: true };
    as_passed(Verdict::new(outcome, rule), &seen, &gate.policy(&location("/tasks")))
}

#[test]
fn what_is_gone_or_forbidden_to_one_client_stops_no_other() {
    assert_eq!(judged(Outcome::Gone, "status 410", 410).outcome, Outcome::Unexpected, "as a 404 is: no hold of a day");
    let forbidden = judged(Outcome::CredentialRejected, "status 403", 403);
    assert_eq!((forbidden.outcome, forbidden.reach), (Outcome::CredentialRejected, Some(Reach::Endpoint)));
    // A key that is not accepted, and what a recipe knows better.
    assert_eq!(judged(Outcome::CredentialRejected, "status 401", 401).reach, None);
    assert_eq!(judged(Outcome::CredentialRejected, "recipe: key", 403).reach, None);
    assert_eq!(judged(Outcome::Gone, "recipe: closed", 410).outcome, Outcome::Gone);
}

#[test]
fn a_write_changes_what_its_answer_names_at_the_same_host() {
    let named = |base: &str, written: &str, name: &str, given: &str| {
        let found = also_changed(base, &location(written), &pairs(&[(name, given)]));
        found.into_iter().map(|location| location.sent()).collect::<Vec<_>>()
    };
    let base = "https://api.example.test/v1";
    for (given, at) in [
        ("/v1/tasks/7", Some("/tasks/7")),
        ("https://api.example.test/v1/tasks/7?full=1", Some("/tasks/7?full=1")),
        ("7", Some("/7")),
        ("tasks/7", Some("/tasks/7")),
        ("/v2/tasks/7", None),
        ("https://other.example.test/v1/tasks/7", None),
        ("//other.example.test/v1/tasks/7", None),
    ] {
        for name in ["location", "content-location"] {
            assert_eq!(
                named(base, "/tasks", name, given),
                at.map(str::to_owned).into_iter().collect::<Vec<_>>(),
                "{given}"
            );
        }
        assert!(named(base, "/tasks", "link", given).is_empty());
    }
}

#[test]
fn dates_are_read_whatever_their_case() {
    let lasts = |expires: &str| {
        let answer = head(&[("date", &http_date(0)), ("expires", expires)]);
        life(&answer, Freshness::Http, Span::ZERO, &at(0)).lifetime.as_secs()
    };
    let end = http_date(60);
    for spelled in [end.clone(), end.to_uppercase(), end.to_lowercase()] {
        assert_eq!(lasts(&spelled), 60, "{spelled}");
    }
    for other in ["MON, 30 NOV 2026 15:01:00 UTC", "Mon, 30 Nov 2026 15:01:00 AEST", "Mon 30 Nov 2026 15:01:00 GMT"] {
        assert_eq!(lasts(other), 0, "{other}");
    }
}

#[test]
fn a_304_leaves_the_digest_of_the_body_that_is_kept() {
    let old = head(&[("etag", "\"a\""), ("content-md5", "of-the-body")]);
    let times = Times { asked_at: at(1).stamp(), as_of: at(1).stamp() };
    let new = confirmed(&old, &pairs(&[("etag", "\"a\""), ("content-md5", "of-nothing")]), times).unwrap();
    assert_eq!(new.header("content-md5"), Some("of-the-body"));
}
