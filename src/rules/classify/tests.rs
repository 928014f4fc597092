//! Classification as the field meets it: tables of answers by status, by disguise, by recipe, and whatever bytes come.

use super::*;
use crate::domain::time::{Span, Stamp, Steady};
use Outcome::*;
use proptest::prelude::*;

/// 2026-11-30T02:56:13Z
const NOW: Wall = Wall(1_796_007_373_000);

fn classifier(rules: &[RuleSpec]) -> Classifier {
    Classifier::compile(rules, &WaitSpec::default()).unwrap()
}

fn reply(status: u16, headers: &[(&str, &str)], body: &[u8]) -> Reply {
    let headers = headers.iter().map(|(n, v)| (n.to_string(), v.to_string())).collect();
    let arrived_at = Stamp { steady: Steady(5), wall: NOW, era: 1 };
    Reply { arrived_at, result: Ok(Answer { status, headers, body: body.to_vec() }), detail: String::new() }
}

fn verdict(status: u16, headers: &[(&str, &str)], body: &str) -> Verdict {
    classifier(&[]).classify(&reply(status, headers, body.as_bytes()), false, NOW).verdict
}

#[test]
fn by_status() {
    let table = [
        (200, "{}", Data),
        (200, "[]", Data),
        (203, r#"{"a":1}"#, Data),
        (206, r#"{"a":1}"#, Unexpected),
        (207, r#"{"results":[1],"errors":[2]}"#, Unexpected),
        (202, r#"{"a":1}"#, Data),
        (202, "", NotReady),
        (202, "{}", NotReady),
        (202, "[]", NotReady),
        (202, r#"{"error":"no"}"#, Unexpected),
        (204, "", Unexpected),
        (301, "", Unexpected),
        (304, "", Unexpected),
        (400, r#"{"message":"no such zone"}"#, Unexpected),
        (400, r#"{"errors":[{"extensions":{"code":"RATELIMITED"}}]}"#, Limited),
        (401, "", CredentialRejected),
        (401, r#"{"message":"Invalid API key"}"#, CredentialRejected),
        (402, r#"{"error":"Payment is required to make this api call"}"#, Unpaid),
        (403, "<html><body><h1>403 Forbidden</h1></body></html>", CredentialRejected),
        (404, "not here", Unexpected),
        (408, "", Overloaded),
        (409, r#"{"message":"not ready"}"#, Unexpected),
        (410, "", Gone),
        (429, "", Limited),
        (429, "<html>1015</html>", Limited),
        (500, "", Overloaded),
        (500, "ConcurrentRequests (Concurrent API Requests) Limit exceeded.", Limited),
        (503, "<html><title>503 Service Temporarily Unavailable</title></html>", Overloaded),
        (529, r#"{"error":{"type":"overloaded_error","message":"Overloaded"}}"#, Overloaded),
        (0, "", Unexpected),
        (999, "", Unexpected),
    ];
    for (status, body, outcome) in table {
        let v = verdict(status, &[], body);
        assert_eq!(v.outcome, outcome, "{status} {body}: {}", v.rule);
        assert!(v.rule.contains(&status.to_string()), "the rule names the status: {}", v.rule);
        assert_eq!(v.rule.contains("rate limited"), outcome == Limited, "I4: {}", v.rule);
    }
}

#[test]
fn a_304_is_an_answer_to_a_question_with_validators() {
    let c = classifier(&[]);
    assert_eq!(c.classify(&reply(304, &[], b""), true, NOW).verdict.outcome, NotModified);
    assert_eq!(c.classify(&reply(304, &[], b""), false, NOW).verdict.outcome, Unexpected);
}

#[test]
fn a05_a_limit_never_rejects_a_credential() {
    let bodies = [
        r#"{"message":"Out of call volume quota. Quota will be replenished in 00:46:40."}"#,
        r#"{"error":{"code":26,"message":"User usage reached"}}"#,
        r#"{"error":{"errors":[{"reason":"rateLimitExceeded"}]}}"#,
        r#"{"error":"account disabled: EXCEEDED_LIMIT"}"#,
        "API rate limit exceeded",
        "Access denied because of exceeding access rate",
        "You have exceeded a secondary rate limit",
        r#"[{"message":"TotalRequests Limit exceeded.","errorCode":"REQUEST_LIMIT_EXCEEDED"}]"#,
        r#"{"message":"Zu viele Anfragen. Bitte versuchen Sie es in 5 Minuten erneut."}"#,
        "Limite de requ\u{ea}tes d\u{e9}pass\u{e9}e",
    ];
    for body in bodies {
        for status in [401, 403] {
            assert_eq!(verdict(status, &[], body).outcome, Limited, "A5: {status} {body}");
        }
    }
    assert_eq!(verdict(403, &[("x-ratelimit-remaining", "0")], "Forbidden").outcome, Limited);
    assert_eq!(verdict(403, &[("x-ratelimit-remaining", "12")], "Forbidden").outcome, CredentialRejected);
    assert_eq!(verdict(200, &[], r#"{"message":"Demasiadas solicitudes"}"#).outcome, Limited);
}

#[test]
fn a_403_that_tells_when_to_come_again_does_not_reject_the_credential() {
    let after = |value| [("retry-after", value)];
    assert_eq!(verdict(403, &after("30"), "Forbidden").outcome, Limited);
    assert_eq!(verdict(403, &after("30"), "Forbidden").wait.map(|w| w.wait), Some(Span::from_secs(30)));
    assert_eq!(verdict(403, &[], "Bitte warten Sie 5 Minuten").outcome, Limited);
    assert_eq!(verdict(403, &after("0"), "Forbidden").outcome, CredentialRejected, "that is no time");
    assert_eq!(
        verdict(403, &[("x-ratelimit-reset", "30")], "Forbidden").outcome,
        CredentialRejected,
        "so do good ones"
    );
    let window = [("x-hubspot-ratelimit-interval-milliseconds", "10000")];
    assert_eq!(verdict(403, &window, "Forbidden").outcome, CredentialRejected, "and so do theirs");
    assert_eq!(verdict(401, &after("30"), "Unauthorized").outcome, CredentialRejected, "a token is renewed");
}

#[test]
fn what_is_not_ready_states_when_in_a_header_or_a_source_of_the_recipe() {
    let wait = |headers: &[(&str, &str)], body| verdict(202, headers, body).wait.map(|w| w.wait.as_secs());
    assert_eq!(wait(&[("retry-after", "90")], ""), Some(90));
    assert_eq!(wait(&[("x-ratelimit-reset", "90"), ("x-ratelimit-remaining", "0")], ""), None, "another matter");
    assert_eq!(wait(&[], ""), None);
}

/// Money is not a matter of waiting, unless the provider says when to come again. A limit stays a limit.
#[test]
fn money_and_plans_are_told_from_limits() {
    let table = [
        (429, r#"{"errors":[{"type":"PUBLIC_API_BILLING_LIMIT_EXCEEDED"}]}"#, Unpaid),
        (429, r#"{"error":{"code":"insufficient_quota","message":"You exceeded your current quota"}}"#, Unpaid),
        (429, r#"{"error":{"type":"enforced_spend_limit_reached"}}"#, Unpaid),
        (429, r#"{"error":{"message":"Check your plan and billing details. Please retry in 37s."}}"#, Limited),
        (429, r#"{"error":"Rate limit exceeded. Upgrade your plan for more."}"#, Limited),
        (429, r#"{"error":"Rate limit exceeded. Higher limits can be had on the billing page."}"#, Limited),
        (429, r#"{"code":"rate_limited","message":"See https://vendor.test/billing for more"}"#, Limited),
        (403, r#"{"error":"100 calls per minute are over; your billing settings have more"}"#, Limited),
        (200, r#"{"error":"Too many requests. To raise this limit, enable billing."}"#, Limited),
        (429, r#"{"error":"Rate limited: insufficient credits"}"#, Unpaid),
        (403, r#"{"error":"Billing is not enabled for this project"}"#, Unpaid),
        (
            200,
            r#"{"success":false,"code":28841002,"msg":"Your subscription to cloud development plan has expired"}"#,
            Unpaid,
        ),
        (200, r#"{"error":"You are out of credits"}"#, Unpaid),
        (
            200,
            r#"{"Note":"Our rate limit is 25 requests per day. Subscribe to a premium plan to remove it."}"#,
            Limited,
        ),
        (403, r#"{"message":"This endpoint is not part of your plan"}"#, Unpaid),
        (401, r#"{"message":"Please upgrade to a paid tier"}"#, Unpaid),
        (403, r#"{"message":"Ihr Guthaben ist aufgebraucht"}"#, Unpaid),
        (403, r#"{"message":"You have exceeded the DAILY quota for requests on your current plan, BASIC"}"#, Limited),
        (401, r#"{"message":"Invalid API key"}"#, CredentialRejected),
        (200, r#"{"devices":[{"name":"billing meter"}]}"#, Data),
    ];
    for (status, body, outcome) in table {
        let v = verdict(status, &[], body);
        assert_eq!(v.outcome, outcome, "{status} {body}: {}", v.rule);
    }
    assert_eq!(verdict(403, &[], r#"{"message":"Not in your plan"}"#).reach, Some(Reach::Endpoint), "one endpoint");
    assert_eq!(verdict(402, &[], "").reach, None, "the account");
    assert_eq!(verdict(429, &[("retry-after", "30")], r#"{"error":"billing limit"}"#).outcome, Limited);
}

#[test]
fn what_is_refused_after_its_sunset_is_gone() {
    let past = [("sunset", "Sun, 29 Nov 2026 00:00:00 GMT")];
    let ahead = [("sunset", "Tue, 01 Dec 2026 00:00:00 GMT")];
    assert_eq!(verdict(404, &past, "").outcome, Gone);
    assert_eq!(verdict(429, &past, "").outcome, Gone, "a removed version that answers 429 for ever");
    assert_eq!(verdict(404, &ahead, "").outcome, Unexpected);
    assert_eq!(verdict(200, &past, "{}").outcome, Data, "it still works");
    assert_eq!(verdict(404, &[("sunset", "soon")], "").outcome, Unexpected);
    assert_eq!(verdict(401, &past, "").outcome, CredentialRejected, "it wants another credential");
    assert_eq!(verdict(503, &past, "").outcome, Overloaded);
    let comes_back = [past[0], ("retry-after", "30")];
    assert_eq!(verdict(429, &comes_back, "").outcome, Limited, "who says when to come again is still there");
}

#[test]
fn an_error_object_is_never_data() {
    let v = verdict(200, &[], r#"{"success":false,"code":28841004}"#);
    assert_eq!((v.outcome, v.rule.as_str()), (Unexpected, "status 200 with an error object"), "A45");
    assert_eq!(verdict(200, &[], r#"{"message":"started","message_type":"info"}"#).outcome, Data);
}

#[test]
fn a10_a14_a_limit_in_a_200() {
    let bodies = [
        "You have exceeded the maximum number of requests. Please try again in 5 minutes.",
        r#""API rate limit exceeded""#,
        r#"{"Note":"Thank you for using Alpha Vantage! Our standard API call frequency is 5 calls per minute."}"#,
        r#"{"Information":"Our standard API rate limit is 25 requests per day."}"#,
        r#"{"error":"rate limit exceeded"}"#,
        r#"{"status":"0","message":"NOTOK","result":"Max rate limit reached"}"#,
        r#"{"statusCode":190,"body":{},"message":"Requests reached the daily limit"}"#,
        r#"{"data":"API token limit exceeded"}"#,
        r#"{"status":"OVER_QUERY_LIMIT","results":[]}"#,
        r#"{"status":601,"body":{},"error":"Too Many Requests"}"#,
        r#"{"errors":[{"message":"Throttled"}],"extensions":{"cost":{"requestedQueryCost":5}}}"#,
        r#"{"errors":[{"type":"RATE_LIMITED","message":"API rate limit exceeded"}],"data":null}"#,
        r#"{"success":false,"errors":[{"code":"606","message":"Max rate limit '100' exceeded"}]}"#,
        "<!DOCTYPE html><title>Too Many Requests</title>",
    ];
    for body in bodies {
        let v = verdict(200, &[], body);
        assert_eq!(v.outcome, Limited, "{body}: {}", v.rule);
        assert!(v.rule.contains("rate limited") && v.said.is_some(), "{v:?}");
    }
}

/// Limited until then, key rejected, unreachable: three things, also during the first configuration.
#[test]
fn a06_a_limit_a_rejection_and_silence_are_three_things() {
    let limited = verdict(429, &[("x-ratelimit-reset", "2026-12-01T00:00:00Z")], "");
    assert_eq!((limited.outcome, limited.wait.map(|w| w.wait.as_secs())), (Limited, Some(75_827)));
    assert_eq!(verdict(401, &[], r#"{"message":"Invalid API key"}"#).outcome, CredentialRejected);
    let silence = Reply { result: Err(Failure::Connect), ..reply(200, &[], b"") };
    assert_eq!(classifier(&[]).classify(&silence, false, NOW).verdict.outcome, Unreachable);
}

#[test]
fn a15_three_wordings_of_one_limit_are_one_limit() {
    for words in [
        "You are calling this API too often. Please slow down.",
        "The number of calls that your key may make was exceeded; limit: 60 per hour",
        "Maximum requests reached, come back later",
    ] {
        for status in [200, 400, 403, 429, 500] {
            assert_eq!(
                verdict(status, &[], &format!("{{\"error\":\"{words}\"}}")).outcome,
                Limited,
                "{status} {words}"
            );
        }
    }
}

/// One of six parallel reads was refused: that one is refused, and the others are data by themselves.
#[test]
fn a24_a_refusal_is_never_data() {
    let v = verdict(429, &[("cache-control", "max-age=600")], r#"{"devices":[{"id":1}]}"#);
    assert_eq!(v.outcome, Limited);
}

#[test]
fn data_may_talk_about_limits() {
    let bodies = [
        r#"[{"id":1,"title":"429: rate limit exceeded"}]"#,
        r#"{"items":[{"message":"Too many requests"}]}"#,
        r#"{"status":"charge limit reached","soc":80}"#,
        r#"{"relays":[{"relay_id":1}],"message":"You have 5 requests per 5 minutes"}"#,
        r#"{"limit":5,"remaining":0}"#,
    ];
    for body in bodies {
        let classified = classifier(&[]).classify(&reply(200, &[], body.as_bytes()), false, NOW);
        assert_eq!(classified.verdict.outcome, Data, "{body}: {}", classified.verdict.rule);
        assert!(classified.body.is_some() && classified.verdict.said.is_none());
    }
}

#[test]
fn what_is_not_json_is_not_data() {
    for body in ["<!DOCTYPE html><title>Sign in</title>", "OK", "{\"a\":", "{\"a\":1}}", "Infinity", "{'a':1}"] {
        let v = verdict(200, &[], body);
        assert_eq!(v.outcome, Unexpected, "{body}");
        assert!(v.said.is_some());
    }
    assert_eq!(verdict(200, &[], "<html><title>Sign in</title>").said.as_deref(), Some("Sign in"));
    for empty in ["", " \r\n", "\u{feff}"] {
        let v = verdict(200, &[], empty);
        assert_eq!((v.outcome, v.rule.as_str(), v.said), (Unexpected, "status 200 with an empty body", None), "A7");
    }
}

#[test]
fn bytes_are_text_first() {
    let c = classifier(&[]);
    let bom = c.classify(&reply(200, &[], b"\xef\xbb\xbf{\"a\":1}"), false, NOW);
    assert_eq!((bom.verdict.outcome, bom.body), (Data, Some(serde_json::json!({"a": 1}))));
    assert_eq!(c.classify(&reply(200, &[], b"{\"a\":\"\xff\"}"), false, NOW).verdict.outcome, Undecodable);
    let latin = c.classify(&reply(429, &[], b"Zu viele Anfragen f\xfcr heute"), false, NOW).verdict;
    assert_eq!((latin.outcome, latin.said.as_deref()), (Limited, Some("Zu viele Anfragen f r heute")));
}

#[test]
fn the_provider_is_quoted_in_160_characters() {
    let long = format!("Sorry,\r\n\tnot now. {}", "ü".repeat(400));
    let said = verdict(200, &[], &long).said.unwrap();
    assert_eq!(said.chars().count(), 160);
    assert!(said.starts_with("Sorry, not now. üü"));
    let table = [
        (429, r#"{"error":{"code":26,"message":"User usage reached"}}"#, "User usage reached"),
        (429, r#"{"ok":false,"error":"ratelimited"}"#, "ratelimited"),
        (200, r#"{"status":"0","message":"NOTOK","result":"Max rate limit reached"}"#, "Max rate limit reached"),
        (503, r#"{"a":1,"b":[2]}"#, r#"{"a":1,"b":[2]}"#),
        (500, "<html><style>p{}</style><p>Oh&nbsp;no</p></html>", "Oh&nbsp;no"),
    ];
    for (status, body, said) in table {
        assert_eq!(verdict(status, &[], body).said.as_deref(), Some(said), "{body}");
    }
    assert_eq!(verdict(200, &[], r#"{"message":"fine"}"#).said, None, "data is not quoted");
}

#[test]
fn waits_belong_to_refusals() {
    let after = [("retry-after", "120")];
    for (status, wait) in [(429, Some(120)), (503, Some(120)), (500, Some(120)), (401, None), (404, None), (200, None)]
    {
        let v = verdict(status, &after, "{}");
        assert_eq!(v.wait.map(|w| w.wait.as_secs()), wait, "{status}: a Retry-After on a 200 is no rejection");
    }
    let lockout = verdict(200, &after, "Too many requests");
    assert_eq!(lockout.wait.unwrap().wait, Span::from_secs(120));
    assert_eq!(verdict(429, &[("retry-after", "-5")], "").wait, None, "A21: no hint, the hold still comes");
    assert_eq!(verdict(429, &[("retry-after", "2.0")], "").wait.unwrap().wait, Span::from_secs(5), "A18, floor");
}

#[test]
fn no_complete_answer() {
    let table = [
        (Failure::Timeout, TimedOut, "timeout"),
        (Failure::Dropped, Dropped, "dropped"),
        (Failure::Connect, Unreachable, "no connection"),
        (Failure::NotSent, Unreachable, "not sent in time"),
        (Failure::TooLarge, TooLarge, "body above the cap"),
        (Failure::Undecodable, Undecodable, "body cut off or not decodable"),
        (Failure::RedirectRefused, RedirectRefused, "redirect not followed"),
    ];
    for (failure, outcome, rule) in table {
        let reply = Reply { result: Err(failure), detail: "in words".into(), ..reply(200, &[], b"") };
        let c = classifier(&[]).classify(&reply, true, NOW);
        assert_eq!(c.verdict, Verdict::new(outcome, rule));
        assert!(c.body.is_none());
    }
}

fn rule(name: &str, outcome: Outcome) -> RuleSpec {
    RuleSpec { name: name.into(), outcome: Some(outcome), ..RuleSpec::default() }
}

#[test]
fn the_recipe_speaks_first_and_in_order() {
    let rules = [
        RuleSpec { json: Some("@.msg == '507'".into()), ..rule("locked for hours", Limited) },
        RuleSpec { status: vec![404], body: Some("^api key not valid$".into()), ..rule("bad key", CredentialRejected) },
        RuleSpec { status: vec![404], ..rule("nothing yet", NotReady) },
        RuleSpec { header: Some(("X-Layer".into(), "^cdn".into())), ..rule("the CDN speaks", Overloaded) },
        RuleSpec { json: Some("@.status != 'success'".into()), status: vec![200], ..rule("not success", Unexpected) },
        RuleSpec { status: vec![400], ..rule("an answer too", Data) },
    ];
    let c = classifier(&rules);
    type Case = (u16, &'static [(&'static str, &'static str)], &'static str, Outcome, &'static str);
    let table: [Case; 10] = [
        (200, &[], r#"{"msg":"507","success":false}"#, Limited, "recipe: locked for hours (rate limited)"),
        (404, &[], "API key not valid", CredentialRejected, "recipe: bad key"),
        (404, &[], "API key not valid!", NotReady, "recipe: nothing yet"),
        (500, &[("x-layer", "CDN-7")], "", Overloaded, "recipe: the CDN speaks"),
        (200, &[], r#"{"status":"success"}"#, Data, "status 200"),
        (200, &[], r#"{"status":"error"}"#, Unexpected, "recipe: not success"),
        (200, &[], "no JSON at all", Unexpected, "status 200 with a body that is not JSON"),
        (400, &[], "{}", Data, "recipe: an answer too"),
        (400, &[], "<p>", Unexpected, "recipe: an answer too, but the body cannot be read"),
        (429, &[], "", Limited, "status 429 (rate limited)"),
    ];
    for (status, headers, body, outcome, name) in table {
        let v = c.classify(&reply(status, headers, body.as_bytes()), false, NOW).verdict;
        assert_eq!((v.outcome, v.rule.as_str()), (outcome, name), "{status} {body}");
    }
}

#[test]
fn every_mistake_in_a_recipe_is_told_with_the_name_of_its_rule() {
    let rules = [
        RuleSpec { body: Some("(".into()), header: Some(("x".into(), "[".into())), ..rule("a", Limited) },
        RuleSpec { json: Some("status = 1".into()), ..rule("b", Limited) },
        rule("c", Limited),
        RuleSpec { outcome: None, status: vec![200], ..rule("d", Limited) },
        RuleSpec { status: vec![20], ..rule("e", Lost) },
    ];
    let errors = Classifier::compile(&rules, &WaitSpec::default()).unwrap_err();
    let starts = [
        "rule `a`: header: `[` is not a regular expression: unclosed character class",
        "rule `a`: body: `(` is not a regular expression: unclosed group",
        "rule `b`: json: `status = 1` is not a filter expression: ",
        "rule `c`: conditions: ",
        "rule `d`: outcome: it is missing",
        "rule `e`: outcome: an answer cannot be `lost`",
        "rule `e`: status: 20 is not an HTTP status",
    ];
    assert_eq!(errors.len(), starts.len(), "{errors:#?}");
    for (error, start) in errors.iter().zip(starts) {
        assert!(error.starts_with(start), "{error}");
    }
}

#[test]
fn every_outcome_has_words() {
    let distinct: std::collections::BTreeSet<_> = Outcome::ALL.into_iter().map(in_words).collect();
    assert_eq!(distinct.len(), Outcome::ALL.len());
    assert_eq!(in_words(Limited), "rate limited");
}

proptest! {
    #[test]
    fn any_bytes_have_a_verdict(
        status: u16, body in proptest::collection::vec(any::<u8>(), 0..300),
        name in "retry-after|ratelimit|x-ratelimit-reset|date", value in ".{0,30}", now: i64, validators: bool,
    ) {
        let c = classifier(&[RuleSpec { json: Some("@.a == 1".into()), body: Some("x".into()), ..rule("r", Limited) }]);
        let classified = c.classify(&reply(status, &[(&name, &value)], &body), validators, Wall(now));
        let v = classified.verdict;
        prop_assert!(v.said.is_none_or(|s| s.chars().count() <= 160));
        prop_assert!(v.outcome != Data || classified.body.is_some(), "law 4");
        prop_assert!(!v.rule.is_empty());
    }

    #[test]
    fn only_json_in_a_complete_2xx_is_ever_data(status: u16, body in r#"[\[\]{}":,a-z0-9 ]{0,40}"#) {
        let v = verdict(status, &[], &body);
        if v.outcome == Data {
            prop_assert!((200..300).contains(&status) && !matches!(status, 206 | 207));
            prop_assert!(serde_json::from_str::<Value>(&body).is_ok());
        }
    }
}
