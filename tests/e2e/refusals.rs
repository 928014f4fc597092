//! What real clients got wrong when a provider refused (field failures A2, A5, A6, A7, A12, A23, A45): whom it stops, for how long, and what
//! stays on the shelf.

use crate::support::script::Script;
use crate::support::*;
use serde_json::Value;

fn answers(status: u16, body: &str) -> Mode {
    Mode::Json(status, body.to_owned())
}

fn seconds_between(from: &Value, until: &Value) -> i64 {
    let at = |v: &Value| v.as_str().and_then(|t| t.parse::<jiff::Timestamp>().ok()).unwrap_or_else(|| panic!("{v}"));
    at(until).as_second() - at(from).as_second()
}

#[tokio::test(flavor = "multi_thread")]
async fn a05_a_quota_text_in_a_403_parks_and_leaves_the_credential_alone() {
    let provider = FakeProvider::unlimited().await;
    let app = TestApp::start(Config::yard(&provider.base_url())).await;
    app.has_polled("yard", "controller").await;
    let words = "Out of call volume quota. Quota will be replenished in 00:46:40.";
    provider.next(answers(403, &format!("{{\"message\":\"{words}\"}}")));
    let held = app.connection_when("yard", "the connection is held", |c| !c["hold"].is_null()).await;
    assert_eq!((&held["state"], &held["hold"]["reason"]), (&"held".into(), &"rate_limited".into()), "{held}");
    assert_eq!((&held["hold"]["scope"], &held["hold"]["said"]), (&"credential".into(), &words.into()), "{held}");
    let length = seconds_between(&held["hold"]["since"], &held["hold"]["until"]);
    assert!((2800..=2801).contains(&length), "{length} s: {held}");
    // Page and charge explain the decision: since, until, which rule, whose words.
    let rule = held["hold"]["rule"].as_str().expect("a rule");
    let page = app.get("/c/yard").await.expect(200).body;
    assert!(page.contains(rule) && page.contains(words) && page.contains("nothing is asked before"), "{page}");
    let charge = app.has_charge("yard", "limited").await;
    assert_eq!((&charge["rule"], &charge["said"], &charge["status"]), (&rule.into(), &words.into(), &403.into()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a02_a_park_survives_every_start_without_a_call() {
    let provider = FakeProvider::unlimited().await;
    provider
        .is(answers(200, r#"{"errors":[{"message":"Too many requests.","extensions":{"errorCode":"KT-CT-1199"}}]}"#));
    let config = Config::yard(&provider.base_url()).tuned(|c| c.no_limits().limit("slow", 500, "5m", ""));
    let mut app = TestApp::start(config).await;
    app.connection_when("yard", "the connection is held", |c| !c["hold"].is_null()).await;
    for _ in 0..5 {
        app.crash().await;
        assert_eq!(app.connection("yard").await["hold"]["reason"], "rate_limited");
    }
    stays("one call, however often it starts", 1, secs(3), || provider.count()).await;
}

const ROWS: &str = "[[connection.target]]\nname = \"rows\"\nget = \"/rows\"\nitems = \"$.rows[*]\"\nkey = \"$.id\"\n";

/// Limited until then, key rejected, unreachable: three things from the first request on, and each is told as what it is.
#[tokio::test(flavor = "multi_thread")]
async fn a06_a_first_configuration_tells_a_limit_from_a_rejection_and_from_silence() {
    let reset = (jiff::Timestamp::now() + jiff::SignedDuration::from_hours(6)).strftime("%Y-%m-%dT%H:%M:%SZ");
    let reset = reset.to_string();
    let limiting = Script::answering(move |_| wire::json(429, &[("x-ratelimit-reset", &reset)], "")).await;
    let rejecting = Script::answering(|_| wire::json(401, &[], r#"{"message":"Invalid API key"}"#)).await;
    let silent = Script::answering(|_| Vec::new()).await.base_url();
    let keyed = |name: &str, url: &str| Connection {
        carrier: "query = \"key\"".to_owned(),
        ..Connection::plain(name, url).secret_in(&format!("{}_KEY", name.to_uppercase())).every("1s").body(ROWS)
    };
    let config = Config::new()
        .with(keyed("limiting", &limiting.base_url()))
        .with(keyed("rejecting", &rejecting.base_url()))
        .with(keyed("silent", &silent));
    let app = TestApp::start(config).await;
    let limited = app.connection_when("limiting", "it is held", |c| c["state"] == "held").await;
    assert_eq!(limited["hold"]["reason"], "rate_limited", "{limited}");
    let length = seconds_between(&limited["hold"]["since"], &limited["hold"]["until"]);
    assert!((6 * 3600 - 60..=6 * 3600 + 5).contains(&length), "{length} s: {limited}");
    let rejected =
        app.connection_when("rejecting", "the key is rejected", |c| c["state"] == "credential_rejected").await;
    let unreachable = |c: &Value| c["sentence"].as_str().is_some_and(|s| s.contains("unreachable"));
    let unanswered = app.connection_when("silent", "nobody is there", unreachable).await;
    assert_eq!((&unanswered["state"], &unanswered["hold"]), (&"never".into(), &Value::Null), "{unanswered}");
    let page = app.get("/").await.expect(200).body;
    for view in [&limited, &rejected, &unanswered] {
        let state = view["state"].as_str().expect("a word");
        assert!(page.contains(&format!("s-{state}")), "no {state} on {page}");
    }
    assert_eq!((limiting.asked().len(), rejecting.asked().len()), (1, 1), "neither is asked again and again");
}

/// An empty 200 is no word about the key. What its headers say of the quota is heeded: nothing is left for twelve hours.
#[tokio::test(flavor = "multi_thread")]
async fn a07_an_empty_answer_that_says_that_nothing_is_left_is_waited_out() {
    let provider = Script::answering(|asked| match asked.number {
        0 => wire::json(200, &[], r#"{"rows":[{"id":"1"}]}"#),
        _ => wire::http(200, &[("ratelimit", "\"perday\";r=0;t=43200")], b""),
    })
    .await;
    let connection = Connection::plain("shop", &provider.base_url()).every("1s").body(ROWS);
    let mut app = TestApp::start(Config::new().with(connection)).await;
    app.has_polled("shop", "rows").await;
    let view = app.connection_when("shop", "it is parked", |c| c["state"] == "held").await;
    let hold = &view["endpoint_holds"][0];
    assert_eq!(hold["reason"], "exhausted", "{view}");
    assert_eq!(hold["rule"], "no request left of limit \"perday\"", "{view}");
    let length = seconds_between(&hold["since"], &hold["until"]);
    assert!((43_199..=43_201).contains(&length), "{length} s: {view}");
    app.crash().await;
    let _ = app.operator().refreshes("shop", "rows").await;
    stays("nobody asks before the reset", 2, secs(3), || provider.asked().len()).await;
    app.has_charge("shop", "unexpected").await;
    assert_eq!(app.target("shop", "rows").await["item_count"], 1, "what was there stays");
}

/// Some ban by sending to another port (ENTSO-E). A rule that names such a redirect makes a hold of it, and nobody goes there.
#[tokio::test(flavor = "multi_thread")]
async fn a_redirect_that_a_rule_knows_for_a_refusal_is_held_and_not_followed() {
    let elsewhere = Script::answering(|_| wire::json(200, &[], r#"{"rows":[]}"#)).await;
    let location = format!("{}/rows", elsewhere.base_url());
    let provider = Script::answering(move |asked| match asked.number {
        0 => wire::json(200, &[], r#"{"rows":[{"id":"1"}]}"#),
        _ => wire::http(302, &[("location", &location)], b""),
    })
    .await;
    let rule = "[[connection.rule]]\nname = \"sent to another port\"\noutcome = \"limited\"\nstatus = [301, 302]\n\
                header = { name = \"Location\", matches = ':\\d+/' }\n";
    let connection = Connection::plain("shop", &provider.base_url()).every("1s").body(&format!("{rule}{ROWS}"));
    let app = TestApp::start(Config::new().with(connection)).await;
    app.has_polled("shop", "rows").await;
    let view = app.connection_when("shop", "it is held", |c| c["state"] == "held").await;
    let rule = view["hold"]["rule"].as_str().unwrap_or_default();
    assert!(rule.contains("sent to another port"), "{view}");
    stays("nobody asks during the hold, nor elsewhere", (2, 0), secs(3), || {
        (provider.asked().len(), elsewhere.asked().len())
    })
    .await;
    assert_eq!(app.target("shop", "rows").await["item_count"], 1, "what was there stays");
}

/// Nothing enters the shelf that is no data, whatever its wording; what was there stays, and the owners are told.
#[tokio::test(flavor = "multi_thread")]
async fn a12_a23_what_is_no_data_replaces_nothing() {
    let provider = FakeProvider::unlimited().await;
    let app = TestApp::start(Config::yard(&provider.base_url()).tuned(|c| c.every("1s"))).await;
    let good = app.has_polled("yard", "controller").await;
    provider.is(answers(200, r#"{"relays":"the list is being prepared"}"#));
    app.has_charge("yard", "unexpected").await;
    let target = app.target("yard", "controller").await;
    assert_eq!((&target["item_count"], &target["generation"]), (&good["item_count"], &good["generation"]), "{target}");
    let open = app.findings("?open=true").await;
    assert_eq!(open.len(), 1, "{open:?}");
    assert_eq!(open[0]["kind"], "sudden_emptiness", "{open:?}");
    provider.is(answers(200, r#"{"success":false,"code":28841004}"#));
    let charge = eventually("an error object of unknown wording", SOON, || async {
        let rule = |c: &Value| c["rule"].as_str().is_some_and(|r| r.contains("error object"));
        app.ledger("yard").await.into_iter().find(rule)
    })
    .await;
    assert_eq!(charge["outcome"], "unexpected", "A45: {charge}");
    assert_eq!(app.target("yard", "controller").await["item_count"], good["item_count"]);
    provider.is(Mode::Normal);
    eventually("the finding closes with the list", 2 * SOON, || async {
        app.findings("?open=true").await.is_empty().then_some(())
    })
    .await;
}

/// Who reads the activity alone learns of each decision what it was, by which rule, and in whose words.
#[tokio::test(flavor = "multi_thread")]
async fn the_activity_tells_outcome_rule_and_words_of_every_decision() {
    let provider = FakeProvider::unlimited().await;
    let config = Config::yard(&provider.base_url()).tuned(|c| c.no_limits().quiet().min_age("1ms"));
    let tells = async |app: &TestApp, kind: &str, charge: &Value| {
        let page = app.get(&format!("/activity?connection=yard&kind={kind}")).await.expect(200).body;
        let own = |field: &str| charge[field].as_str().unwrap_or_else(|| panic!("{field} of {charge}"));
        let outcome = format!("Outcome {}", own("outcome"));
        for what in [&outcome, own("rule"), own("said"), "c/yard#charges"] {
            assert!(page.contains(what), "{kind} without {what}: {page}");
        }
    };
    let app = TestApp::start(config.clone()).await;
    app.has_polled("yard", "controller").await;
    provider.is(answers(200, r#"{"success":false,"message":"The valve box is out of order."}"#));
    for _ in 0..6 {
        app.operator().refreshes("yard", "controller").await;
    }
    let charge = app.has_charge("yard", "unexpected").await;
    app.connection_when("yard", "the breaker is open", |c| c["breaker"] == "open").await;
    tells(&app, "target_troubled", &charge).await;
    tells(&app, "breaker_opened", &charge).await;
    drop(app);

    provider.is(answers(403, r#"{"message":"Out of call volume quota. Quota will be replenished in 00:46:40."}"#));
    let app = TestApp::start(config).await;
    let charge = app.has_charge("yard", "limited").await;
    tells(&app, "target_troubled", &charge).await;
    tells(&app, "hold_started", &charge).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rejection_by_one_endpoint_stops_that_endpoint_alone() {
    let provider = FakeProvider::unlimited().await;
    let mut app = TestApp::start(Config::yard(&provider.base_url())).await;
    app.has_polled("yard", "controller").await;
    provider.switches(Mode::Unauthorized);
    let id = app.operator().runs_zone(2).await;
    app.operator().sees_job(id, "failed").await;
    let view = app.connection("yard").await;
    assert_eq!(view["hold"], Value::Null, "the credential is not in doubt: {view}");
    let alone = &view["endpoint_holds"][0];
    assert_eq!((&alone["scope"], &alone["reason"]), (&"endpoint".into(), &"credential_rejected".into()), "{view}");
    assert!(alone["endpoint"].as_str().is_some_and(|e| e.contains("setzone")), "{view}");
    assert!(app.get("/c/yard").await.expect(200).body.contains("alone on hold"));
    let metrics = app.get("/metrics").await.expect(200).body;
    assert!(
        metrics.contains("larder_holds{organization=\"default\",connection=\"yard\",scope=\"endpoint\""),
        "{metrics}"
    );
    // It is remembered, it is not asked again, and the rest goes on.
    app.crash().await;
    let polls = provider.count_of(STATUS);
    let again = app.operator().runs_zone(1).await;
    app.operator().sees_job(again, "failed").await;
    eventually("polling goes on", 2 * SOON, || async { (provider.count_of(STATUS) > polls + 1).then_some(()) }).await;
    assert_eq!(provider.count_of(SET_ZONE), 1, "the held endpoint was not asked again");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_purse_is_told_from_a_limit() {
    let provider = FakeProvider::unlimited().await;
    let app = TestApp::start(Config::yard(&provider.base_url())).await;
    app.has_polled("yard", "controller").await;
    provider.next(answers(402, r#"{"error":"Payment is required to make this api call"}"#));
    let held = app.connection_when("yard", "the connection is held", |c| !c["hold"].is_null()).await;
    assert_eq!((&held["hold"]["reason"], &held["state"]), (&"unpaid".into(), &"exhausted".into()), "{held}");
    assert!(seconds_between(&held["hold"]["since"], &held["hold"]["until"]) >= 6 * 3600, "{held}");
    assert!(held["sentence"].as_str().is_some_and(|s| s.contains("does not pass by waiting")), "{held}");
}

/// One endpoint that is always refused, the first of the file: the turn passes on, and its own waits grow.
#[tokio::test(flavor = "multi_thread")]
async fn an_endpoint_that_is_always_refused_waits_longer_while_others_answer() {
    let provider = Script::answering(|asked| match asked.path() {
        "/b" => wire::json(429, &[("retry-after", "5")], "{}"),
        _ => wire::json(200, &[], r#"{"rows":[{"id":"1"}]}"#),
    })
    .await;
    let target = |name: &str| {
        format!("[[connection.target]]\nname = \"{name}\"\nget = \"/{name}\"\nitems = \"$.rows[*]\"\nkey = \"$.id\"\n")
    };
    let connection = Connection::plain("shop", &provider.base_url()).every("1s").body(&(target("b") + &target("a")));
    let app = TestApp::start(Config::new().with(connection)).await;
    app.has_polled("shop", "a").await;
    assert_eq!(provider.asked().iter().map(|a| a.path().to_owned()).take(2).collect::<Vec<_>>(), ["/b", "/a"]);
    let own = |c: &Value| c["endpoint_holds"][0]["strikes"].as_u64();
    let view = app.connection_when("shop", "b waits by itself", |c| own(c).is_some_and(|n| n >= 2)).await;
    let hold = &view["endpoint_holds"][0];
    assert!(seconds_between(&hold["since"], &hold["until"]) >= 10, "{view}");
}

/// What one endpoint is held for is its targets' state, and the connection's where it is so for all of them.
#[tokio::test(flavor = "multi_thread")]
async fn a_hold_of_one_endpoint_is_not_the_connections_state() {
    let provider = Script::answering(|asked| match (asked.path(), asked.number) {
        ("/b", 2..) => wire::json(410, &[], "{}"),
        _ => wire::json(200, &[], r#"{"rows":[{"id":"1"}]}"#),
    })
    .await;
    let target = |name: &str| {
        format!(
            "[[connection.target]]\nname = \"{name}\"\nget = \"/{name}\"\nitems = \"$.rows[*]\"\nkey = \"$.id\"\n\
             fresh_for = \"10m\"\n"
        )
    };
    let connection = Connection::plain("shop", &provider.base_url()).every("1s").body(&(target("a") + &target("b")));
    let app = TestApp::start(Config::new().with(connection)).await;
    app.target_when("shop", "b", "b is gone", |t| t["state"] == "held").await;
    let view = app.connection("shop").await;
    assert_eq!((&view["state"], &view["hold"]), (&"ageing".into(), &Value::Null), "{view}");
    assert_eq!(view["endpoint_holds"][0]["endpoint"], "/b", "{view}");
    let sentence = view["sentence"].as_str().expect("a sentence");
    assert!(sentence.contains("b is not renewed since") && sentence.contains("refused /b alone"), "{sentence}");
    assert_eq!(app.target("shop", "a").await["state"], "fresh");
    let metrics = app.get("/metrics").await.expect(200).body;
    let of =
        |state: &str| format!("connection_state{{organization=\"default\",connection=\"shop\",state=\"{state}\"}}");
    assert!(
        metrics.contains(&format!("{} 1", of("ageing"))) && metrics.contains(&format!("{} 0", of("held"))),
        "{metrics}"
    );
    let page = app.get("/c/shop").await.expect(200).body;
    assert!(page.contains("alone on hold"), "{page}");

    let only = Connection::plain("shop", &provider.base_url()).every("1s").body(&target("b"));
    let app = TestApp::start(Config::new().with(only)).await;
    let view = app.connection_when("shop", "its only endpoint is held", |c| c["state"] == "held").await;
    assert!(view["sentence"].as_str().is_some_and(|s| s.contains("refused /b alone")), "{view}");
}
