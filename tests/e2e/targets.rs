//! Targets that come, live and go while the appliance runs: put by API, pending, active, completed, inactive, stopped; none of it costs a
//! request but the activation, and nothing that was learned is lost (CASES F4, F5, F7, F10, F11).

use crate::support::http::Reply;
use crate::support::*;
use serde_json::{Value, json};

/// Work orders of a task API, by name; nothing is configured but how they are asked.
const FIELD: &str = r#"
[[connection.pattern]]
name = "job"
get  = "/tasks?job={target}"
items = "$.tasks[*]"
key   = "$.id"
complete = "@.item_count > 0 && !@.items[?@.state != 'done']"
[[connection.pattern.state]]
is   = "done"
when = "@.state == 'done'"
[[connection.pattern.state]]
is   = "open"
"#;

fn field(provider: &FakeProvider, interval: &str, poll: &str) -> Config {
    Config::new().with(Connection {
        poll: format!("enabled = true\ninterval = \"{interval}\"\n{poll}"),
        ..Connection::plain("field", &provider.base_url()).min_age("1ms").body(FIELD)
    })
}

fn tasks(states: &[&str]) -> Mode {
    let task = |(at, state): (usize, &&str)| json!({ "id": at.to_string(), "state": state });
    let tasks: Vec<Value> = states.iter().enumerate().map(task).collect();
    Mode::Json(200, json!({ "tasks": tasks }).to_string())
}

/// What an operator does with a target, and what is answered.
struct Hand<'a>(&'a TestApp);

impl Hand<'_> {
    async fn does(&self, method: &'static str, target: &str, body: Option<Value>) -> Reply {
        let path = format!("/api/v1/connections/field/targets/{target}");
        let ask = Ask::new(method, &path).token(self.0.token());
        self.0.send(body.iter().fold(ask, |ask, body| ask.json(body))).await
    }
    async fn puts(&self, target: &str, phase: &str) -> Value {
        let reply = self.does("PUT", target, Some(json!({ "pattern": "job", "phase": phase }))).await;
        assert!([200, 201].contains(&reply.status), "{} {}", reply.status, reply.body);
        reply.json()
    }
    async fn makes(&self, target: &str, phase: &str) -> Value {
        self.does("PATCH", target, Some(json!({ "phase": phase }))).await.expect(200).json()
    }
    async fn is_polled(&self, target: &str) -> Value {
        self.0.target_when("field", target, "has an answer", |t| t["as_of"].is_string()).await
    }
    async fn events(&self, kind: &str) -> Vec<String> {
        let (mut stream, mut told) = (self.0.events(Some(0)).await, Vec::new());
        while let Some(event) = stream.next(secs(1)).await {
            told.extend(Some(event).filter(|e| e.kind == kind).map(|e| e.json()["message"].to_string()));
        }
        told
    }
}

fn asked_for(provider: &FakeProvider, target: &str) -> usize {
    provider.seen().iter().filter(|s| s.parameters.get("job").is_some_and(|job| job == target)).count()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dispatch_is_asked_at_once_and_moves_no_poll_clock() {
    let provider = FakeProvider::unlimited().await;
    provider.is(tasks(&["open"]));
    let app = TestApp::start(field(&provider, "60s", "")).await;
    let hand = Hand(&app);
    hand.puts("ECO-1", "pending").await;
    hand.is_polled("ECO-1").await;
    let (before, asked) = (app.connection("field").await, asked_for(&provider, "ECO-1"));

    let view = hand.makes("ECO-1", "active").await;
    assert_eq!((&view["phase"], view["phase_by"].is_string()), (&json!("active"), true), "{view}");
    eventually("the dispatch is asked", SOON, || async { (asked_for(&provider, "ECO-1") > asked).then_some(()) }).await;
    let charge = app.has_charge("field", "data").await;
    assert!(charge.is_object());
    let ledger = eventually("its charge is the trigger's", SOON, || async {
        let ledger = app.ledger("field").await;
        ledger.iter().any(|line| line["caller"] == "trigger" && line["outcome"] == "data").then_some(ledger)
    })
    .await;
    assert_eq!(ledger.iter().filter(|line| line["caller"] == "trigger").count(), 1, "{ledger:?}");
    let after = app.connection("field").await;
    for clock in ["last_poll_at", "next_poll_at"] {
        assert_eq!(after["poll"][clock], before["poll"][clock], "F5: {clock}");
    }
    hand.makes("ECO-1", "active").await;
    assert_eq!(app.ledger("field").await.len(), ledger.len(), "active twice is active once");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_switched_off_connection_is_not_asked_for_a_dispatch() {
    let provider = FakeProvider::unlimited().await;
    provider.is(tasks(&["open"]));
    let mut app = TestApp::start(field(&provider, "60s", "")).await;
    Hand(&app).puts("eco-1", "pending").await;
    Hand(&app).is_polled("eco-1").await;
    app.operator().stops("field").await;
    let asked = provider.count();
    Hand(&app).makes("eco-1", "active").await;
    app.restart().await;
    assert_eq!(app.target("field", "eco-1").await["phase"], "active", "a phase is durable");
    stays("requests of a switched off connection", asked, secs(2), || provider.count()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pending_target_fills_the_cache_and_says_nothing() {
    let provider = FakeProvider::unlimited().await;
    provider.is(tasks(&["done"]));
    let app = TestApp::start(field(&provider, "60s", "completion_grace = \"0s\"")).await;
    let hand = Hand(&app);
    hand.puts("eco-1", "pending").await;
    let view = hand.is_polled("eco-1").await;
    assert_eq!((&view["phase"], &view["item_count"]), (&json!("pending"), &json!(1)), "its tasks look complete");
    provider.is(tasks(&["done", "open"]));
    app.operator().refreshes("field", "eco-1").await.expect(200);
    assert_eq!(app.history("field", "eco-1").await.len(), 2, "its history is complete all the same");
    assert_eq!(hand.events("target_changed").await, Vec::<String>::new(), "F4");

    hand.makes("eco-1", "active").await;
    app.target_when("field", "eco-1", "was asked", |t| t["generation"] == 2).await;
    provider.is(tasks(&["done", "done"]));
    app.operator().refreshes("field", "eco-1").await.expect(200);
    let view = app.target_when("field", "eco-1", "is completed", |t| t["phase"] == "completed").await;
    assert_eq!((&view["phase_by"], &view["phase_why"]), (&json!("larder"), &json!("its condition holds")));
    assert_eq!(hand.events("target_changed").await.len(), 1);
    let told = hand.events("phase_changed").await;
    assert!(told.last().is_some_and(|m| m.contains("active") && m.contains("completed")), "{told:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_completed_target_is_watched_for_its_grace_and_then_left_alone() {
    let provider = FakeProvider::unlimited().await;
    provider.is(tasks(&["done"]));
    let app = TestApp::start(field(&provider, "1s", "completion_grace = \"4s\"")).await;
    let hand = Hand(&app);
    hand.puts("eco-1", "active").await;
    app.target_when("field", "eco-1", "is completed", |t| t["phase"] == "completed").await;
    let at_completion = asked_for(&provider, "eco-1");
    eventually("it is watched in its grace", SOON, || async {
        (asked_for(&provider, "eco-1") > at_completion + 1).then_some(())
    })
    .await;
    let view = app
        .target_when("field", "eco-1", "is left alone", |t| {
            t["sentence"].as_str().is_some_and(|s| s.contains("is not asked about any more"))
        })
        .await;
    assert!(view["sentence"].as_str().is_some_and(|s| s.contains("its condition holds")), "{view}");
    let asked = asked_for(&provider, "eco-1");
    stays("requests after the grace", asked, secs(3), || asked_for(&provider, "eco-1")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn quiet_is_counted_from_the_durable_last_change() {
    let provider = FakeProvider::unlimited().await;
    provider.is(tasks(&["open"]));
    let mut app = TestApp::start(field(&provider, "1s", "inactivity_ttl = \"6s\"")).await;
    Hand(&app).puts("eco-1", "active").await;
    let changed = Hand(&app).is_polled("eco-1").await["changed_at"].clone();
    let began = std::time::Instant::now();
    for round in 0..3 {
        tokio::time::sleep(secs(1)).await;
        if round % 2 == 0 {
            app.crash().await
        } else {
            app.restart().await
        }
        assert_eq!(app.target("field", "eco-1").await["changed_at"], changed, "F7: a restart is no change");
    }
    let view = app.target_when("field", "eco-1", "is inactive", |t| t["phase"] == "inactive").await;
    assert!(began.elapsed() >= secs(4), "it was inactive too early: {:?}", began.elapsed());
    assert!(view["phase_why"].as_str().is_some_and(|why| why.contains("nothing changed for 6 s")), "{view}");
    let asked = provider.count();
    stays("requests for what is inactive", asked, secs(3), || provider.count()).await;
}

async fn checked(app: &TestApp) -> Value {
    let said = app.larder_here(&["check", "--json"]).await.expect(0);
    serde_json::from_str(&said.stdout).expect("JSON")
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_put_is_planned_and_shown_by_the_tools_also_while_nothing_runs() {
    let provider = FakeProvider::unlimited().await;
    provider.is(tasks(&["open"]));
    let mut app = TestApp::start(field(&provider, "60s", "")).await;
    for (name, phase) in [("eco-1", "active"), ("eco-2", "pending"), ("eco-3", "stopped")] {
        Hand(&app).puts(name, phase).await;
    }
    Hand(&app).is_polled("eco-1").await;
    for running in [true, false] {
        if !running {
            app.stop().await;
        }
        let told = checked(&app).await;
        assert_eq!(told["connections"][0]["requests_per_round"], 2, "running: {running}: {told}");
        assert_eq!(told["connections"][0]["requests_per_day"], 2 * 1440, "running: {running}: {told}");
        assert!(told["pages"].to_string().contains("field: planned with 2 targets that were put"), "{told}");
        let said = app.larder_here(&["status", "--json"]).await;
        let shown: Value = serde_json::from_str(&said.stdout).expect("JSON");
        let phases: Vec<_> =
            shown["targets"].as_array().into_iter().flatten().map(|t| (&t["name"], &t["phase"])).collect();
        let expected =
            [("eco-1", "active"), ("eco-2", "pending"), ("eco-3", "stopped")].map(|(n, p)| (json!(n), json!(p)));
        assert_eq!(phases, expected.iter().map(|(n, p)| (n, p)).collect::<Vec<_>>(), "running: {running}");
        assert_eq!(shown["targets"][0]["item_count"], 1, "running: {running}");
    }
}

/// Nothing changed because nobody looked: that is no silence.
#[tokio::test(flavor = "multi_thread")]
async fn a_pause_longer_than_the_ttl_makes_nothing_inactive_before_it_is_asked_again() {
    let provider = FakeProvider::unlimited().await;
    provider.is(tasks(&["open"]));
    let mut app = TestApp::start(field(&provider, "1s", "inactivity_ttl = \"6s\"")).await;
    Hand(&app).puts("eco-1", "active").await;
    Hand(&app).is_polled("eco-1").await;
    app.operator().stops("field").await;
    app.stop().await;
    tokio::time::sleep(secs(7)).await;
    provider.is(tasks(&["open", "open"]));
    app.boots().await;
    app.operator().resumes("field").await;
    let view = app.target_when("field", "eco-1", "is asked again", |t| t["item_count"] == 2).await;
    assert_eq!(view["phase"], "active", "{view}");
    let view = app.target_when("field", "eco-1", "is inactive", |t| t["phase"] == "inactive").await;
    assert!(view["phase_why"].as_str().is_some_and(|why| why.contains("nothing changed for 6 s")), "{view}");
}

#[tokio::test(flavor = "multi_thread")]
async fn f5_a_burst_of_dispatches_is_asked_once_each_inside_the_limits_and_moves_no_poll_clock() {
    const BURST: usize = 30;
    let provider = FakeProvider::limited(10, secs(2)).await;
    provider.is(tasks(&["open"]));
    let limit = "name = \"short\"\nrequests = 10\nwindow = \"2s\"\nkind = \"rolling\"";
    let app = TestApp::start(field(&provider, "120s", "").tuned(|c| c.no_limits().limit_text(limit))).await;
    let hand = Hand(&app);
    app.operator().stops("field").await;
    for n in 0..BURST {
        hand.puts(&format!("eco-{n}"), "pending").await;
    }
    app.operator().resumes("field").await;
    eventually("the first round is over", secs(60), || async { (provider.count() >= BURST).then_some(()) }).await;
    hand.is_polled("eco-0").await;
    let before = app.connection("field").await;

    for n in 0..BURST {
        hand.makes(&format!("eco-{n}"), "active").await;
    }
    let triggered = async || app.ledger("field").await.iter().filter(|line| line["caller"] == "trigger").count();
    eventually("all of them are asked", secs(60), || async { (triggered().await >= BURST).then_some(()) }).await;
    stays("requests after the burst", 2 * BURST, secs(1), || provider.count()).await;
    for n in 0..BURST {
        assert_eq!(asked_for(&provider, &format!("eco-{n}")), 2, "by the round, and when it was sent out: eco-{n}");
    }
    provider.was_never_over();
    let after = app.connection("field").await;
    for clock in ["last_poll_at", "next_poll_at"] {
        assert_eq!(after["poll"][clock], before["poll"][clock], "F5: {clock}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_taken_away_and_put_again_has_its_past() {
    let provider = FakeProvider::unlimited().await;
    provider.is(tasks(&["open", "open"]));
    let mut app = TestApp::start(field(&provider, "60s", "")).await;
    Hand(&app).puts("eco-1", "active").await;
    Hand(&app).is_polled("eco-1").await;
    provider.is(tasks(&["open"]));
    app.operator().refreshes("field", "eco-1").await.expect(200);
    let past = |view: &Value| -> Vec<Value> {
        let items = view["items"].as_array().expect("items");
        items.iter().map(|i| json!([i["key"], i["first_seen_at"], i["removed_at"]])).collect()
    };
    let (before, history) = (app.target("field", "eco-1").await, app.history("field", "eco-1").await);
    assert_eq!(past(&before).len(), 2);

    Hand(&app).does("DELETE", "eco-1", None).await.expect(204);
    Hand(&app).does("GET", "eco-1", None).await.expect(404);
    app.crash().await;
    Hand(&app).does("GET", "eco-1", None).await.expect(404);
    let asked = provider.count();
    let reply = Hand(&app).does("PUT", "eco-1", Some(json!({ "like": "job" }))).await.expect(201);
    let after = reply.json();
    assert_eq!(past(&app.target("field", "eco-1").await), past(&before), "F10");
    assert_eq!(app.history("field", "eco-1").await, history, "F10");
    assert_eq!((&after["as_of"], &after["generation"]), (&before["as_of"], &before["generation"]));
    assert_eq!(provider.count(), asked, "putting costs no request");
    app.crash().await;
    assert_eq!(past(&app.target("field", "eco-1").await), past(&before), "over a crash");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopped_target_is_left_alone_and_its_siblings_are_not() {
    let provider = FakeProvider::unlimited().await;
    provider.is(tasks(&["open"]));
    let mut app = TestApp::start(field(&provider, "1s", "")).await;
    for name in ["eco-1", "eco-2"] {
        Hand(&app).puts(name, "active").await;
        Hand(&app).is_polled(name).await;
    }
    let said = app.larder_here(&["target", "field", "eco-1", "--phase", "stopped"]).await.expect(0);
    assert!(said.stdout.contains("stopped") && said.stdout.contains("operator"), "{said:?}");
    let said = app.larder_here(&["target", "field", "eco-9"]).await.expect(1);
    assert!(said.stderr.contains("eco-9"), "{said:?}");
    app.restart().await;
    // One that was under way may still arrive.
    tokio::time::sleep(secs(1)).await;
    let (stopped, sibling) = (asked_for(&provider, "eco-1"), asked_for(&provider, "eco-2"));
    stays("requests for what is stopped", stopped, secs(4), || asked_for(&provider, "eco-1")).await;
    assert!(asked_for(&provider, "eco-2") > sibling, "its sibling is polled");
    let view = app.target("field", "eco-1").await;
    assert!(view["sentence"].as_str().is_some_and(|s| s.contains("Stopped by")), "{view}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_targets_are_put_for_nothing() {
    let provider = FakeProvider::unlimited().await;
    provider.is(tasks(&["open"]));
    let mut app = TestApp::start(field(&provider, "1h", "")).await;
    app.operator().stops("field").await;
    for n in 0..1000 {
        Hand(&app).puts(&format!("ECO-{n}"), if n % 2 == 0 { "pending" } else { "active" }).await;
    }
    app.crash().await;
    let targets = app.get("/api/v1/connections/field/targets?limit=1000").await.json();
    let targets = targets["targets"].as_array().expect("targets");
    assert_eq!(targets.len(), 1000);
    let status: Value = serde_json::from_str(&app.larder_here(&["status", "--json"]).await.stdout).expect("JSON");
    assert_eq!(status["targets"].as_array().map(Vec::len), Some(1000), "read page by page");
    let active = targets.iter().filter(|t| t["phase"] == "active").count();
    assert_eq!(active, 500);
    let view = app.connection("field").await;
    assert_eq!(view["forecast"]["requests_per_day"], 24_000, "the budget follows the set");
    assert_eq!(provider.count(), 0, "none of it costs a request");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_put_is_told_and_what_is_configured_is_kept() {
    let provider = FakeProvider::unlimited().await;
    let mut config = field(&provider, "1h", "");
    config.connections[0].body.push_str("\n[[connection.target]]\nname = \"fixed\"\nlike = \"job\"\n");
    let app = TestApp::start(config).await;
    let hand = Hand(&app);
    for (body, says) in [
        (json!({}), "get: is missing"),
        (json!({ "pattern": "jab" }), "did you mean `job`?"),
        (json!({ "pattern": "job", "fresh": "1m" }), "fresh: unknown key; the nearest are"),
        (json!({ "pattern": "job", "complete": "state == 'done'" }), "complete: `state == 'done'` is not a filter"),
        (json!({ "pattern": "job", "get": "/tasks/{job}" }), "{job} is none of {today}, {now} and {target}"),
        (json!({ "pattern": "job", "phase": "done" }), "is one of: pending, active"),
        (json!({ "pattern": "job", "items": "$.tasks[" }), "items: "),
        (json!({ "pattern": "job", "name": "other" }), "by which it is put"),
    ] {
        let problem = hand.does("PUT", "eco-1", Some(body.clone())).await.expect_problem(422);
        assert!(problem["detail"].as_str().is_some_and(|d| d.contains(says)), "{body}: {problem}");
    }
    hand.does("PUT", "a%2Fb", Some(json!({ "pattern": "job" }))).await.expect_problem(422);
    hand.does("PATCH", "eco-1", Some(json!({ "phase": "active" }))).await.expect_problem(404);
    for method in ["PUT", "DELETE"] {
        let problem = hand.does(method, "fixed", Some(json!({ "pattern": "job" }))).await.expect_problem(409);
        assert!(problem["detail"].as_str().is_some_and(|d| d.contains("stands in larder.toml")), "{problem}");
    }
    assert_eq!(hand.makes("fixed", "stopped").await["phase"], "stopped", "only given a phase");
    app.send(Ask::new("DELETE", "/api/v1/connections/field/targets/fixed")).await.expect_problem(401);
}
