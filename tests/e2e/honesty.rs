//! What is said while nothing new comes in: at once, on every surface, and in the words of whoever is the cause (law 5).

use crate::support::app::members;
use crate::support::script::Script;
use crate::support::*;
use serde_json::Value;

/// `fresh_for`: a line of the target, or none.
fn every_second(provider: &FakeProvider, fresh_for: &str) -> Config {
    let body = |c: Connection| {
        let lines = c.body.lines().filter(|l| !l.starts_with("fresh_for"));
        let named =
            |l: &str| if l.starts_with("name = \"controller\"") { format!("{l}\n{fresh_for}") } else { l.to_owned() };
        let text: Vec<String> = lines.map(named).collect();
        c.body(&text.join("\n"))
    };
    Config::yard(&provider.base_url()).tuned(|c| body(c.no_limits().every("1s")))
}

fn text<'a>(view: &'a Value, pointer: &str) -> &'a str {
    view.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failing_poll_is_said_at_once_and_makes_nothing_fresh_for_longer() {
    let provider = FakeProvider::unlimited().await;
    let app = TestApp::start(every_second(&provider, "")).await;
    app.has_polled("yard", "controller").await;
    provider.is(Mode::Json(500, "{\"message\": \"the greenhouse burns\"}".to_owned()));
    app.has_charge("yard", "overloaded").await;

    let end = std::time::Instant::now() + secs(9);
    while std::time::Instant::now() < end {
        let target = app.target("yard", "controller").await;
        let connection = app.connection("yard").await;
        assert_eq!(target["fresh_for_seconds"], 2, "twice the planned interval, whatever the backoff: {target}");
        assert_eq!(target["fresh"], false, "{target}");
        assert_ne!(target["state"], "fresh", "{target}");
        assert_ne!(connection["state"], "fresh", "{connection}");
        for sentence in [text(&target, "/sentence"), text(&connection, "/sentence")] {
            assert!(sentence.contains("(500)") && sentence.contains("the greenhouse burns"), "{sentence}");
            assert!(!sentence.contains(".."), "{sentence}");
        }
        tokio::time::sleep(Duration::from_millis(400)).await;
    }
    let overview = app.get("/").await.expect(200).body;
    assert!(overview.contains("(500)") && !overview.contains("is as it should be"), "{overview}");
    let said = app.larder_here(&["status"]).await.expect(3);
    assert!(!said.stdout.contains(" fresh ") && said.stdout.contains("(500)"), "{}", said.stdout);
}

/// A failed attempt at an answer that is still young: no row says `fresh`, and the exit code is the rows'.
#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_is_young_and_not_renewed_is_ageing_and_not_stale() {
    let provider = FakeProvider::unlimited().await;
    let app = TestApp::start(every_second(&provider, "fresh_for = \"1h\"")).await;
    app.has_polled("yard", "controller").await;
    provider.is(Mode::ServerError);
    let target = app.target_when("yard", "controller", "the failure is told", |t| !t["stale"].is_null()).await;
    assert_eq!(
        (&target["state"], &target["fresh_for_seconds"]),
        (&Value::from("ageing"), &Value::from(3600)),
        "{target}"
    );
    let said = app.larder_here(&["status"]).await.expect(0);
    assert!(said.stdout.contains("ageing") && said.stdout.contains("not renewed since"), "{}", said.stdout);
}

/// A connection that is paused says so, and its values are no more usable for that.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_too_old_to_use_is_unavailable_on_every_surface_whatever_its_state() {
    let provider = FakeProvider::unlimited().await;
    provider.starts_zone(2, secs(300));
    let bounds = "fresh_for = \"1s\"\nexpires_after = \"3s\"";
    let app = TestApp::start(every_second(&provider, bounds)).await;
    let target = app.has_polled("yard", "controller").await;
    assert_eq!((&target["available"], target["expires_at"].is_string()), (&Value::from(true), true), "{target}");
    assert_eq!(
        target["turns"].as_array().map(|t| t.iter().map(|t| text(t, "/state")).collect()),
        Some(vec!["stale", "expired"])
    );
    assert!(app.page("yard", "controller").await.contains("running"));

    app.operator().stops("yard").await;
    let target = app.target_when("yard", "controller", "it has expired", |t| t["available"] == false).await;
    assert_eq!((&target["state"], &target["expires_at"]), (&Value::from("disabled"), &Value::Null), "{target}");
    assert!(
        text(&target, "/banner/works").starts_with("No value is shown: the last one is older than 3 s."),
        "{target}"
    );
    let said = |item: &Value| {
        item["state"].is_string() || item["fields"].as_object().is_none_or(|f| f.values().any(|v| !v.is_null()))
    };
    let items = target["items"].as_array().expect("which items there were");
    assert!(!items.is_empty() && !items.iter().any(said), "{target}");
    let page = app.page("yard", "controller").await;
    let (items, history) = page.split_once("id=\"history\"").expect("a history");
    assert!(page.contains("Unavailable: the last answer is too old") && !items.contains(">running<"), "{items}");
    assert!(history.contains("Lawn"), "what was stays in the history: {history}");
    assert!(!app.get("/").await.expect(200).body.contains(">running<"), "the overview");
    let metrics = app.get("/metrics").await.expect(200).body;
    let gone = metrics.lines().find(|l| l.starts_with("larder_target_available{")).expect("a gauge");
    assert!(gone.ends_with(" 0"), "{gone}");

    app.operator().resumes("yard").await;
    app.target_when("yard", "controller", "it is usable again", |t| t["available"] == true && t["state"] == "fresh")
        .await;
}

/// What the banner tells is the state's own: one action, with what it costs.
#[tokio::test(flavor = "multi_thread")]
async fn a_banner_says_since_when_and_what_to_do_at_what_cost() {
    let provider = FakeProvider::unlimited().await;
    let app = TestApp::start(every_second(&provider, "fresh_for = \"1s\"")).await;
    app.has_polled("yard", "controller").await;
    app.operator().stops("yard").await;
    let paused = app.connection("yard").await;
    assert_eq!(
        (text(&paused, "/banner/action/kind"), &paused["banner"]["action"]["requests"]),
        ("resume", &Value::from(0))
    );
    assert!(paused["banner"]["since"].is_string() && paused["banner"]["changes_at"].is_null(), "{paused}");
    let page = app.get("/c/yard").await.expect(200).body;
    assert!(page.contains("#polling\">Resume polling</a>") && page.contains("no request"), "{page}");
    app.operator().resumes("yard").await;

    provider.is(Mode::Json(500, "{\"message\": \"the greenhouse burns\"}".to_owned()));
    let late = |t: &Value| t["state"] == "stale" && text(t, "/banner/what").contains("(500)");
    let stale = app.target_when("yard", "controller", "it is stale", late).await;
    let action = &stale["banner"]["action"];
    assert_eq!((text(action, "/kind"), &action["requests"]), ("refresh", &Value::from(1)), "{stale}");
    assert!(
        text(&stale, "/banner/what").contains("(500)") && text(&stale, "/banner/change").starts_with("Next poll"),
        "{stale}"
    );
}

/// The same word in the API, on the page, as a metric, as an event and in the log; each turn is told once, over a restart too.
#[tokio::test(flavor = "multi_thread")]
async fn a_turn_of_the_state_is_told_once_and_in_the_same_word_everywhere() {
    let provider = FakeProvider::unlimited().await;
    let mut app =
        TestApp::start(Config::yard(&provider.base_url()).tuned(|c| c.no_limits().quiet().fresh_for("1h"))).await;
    app.has_polled("yard", "controller").await;
    tokio::time::sleep(secs(2)).await;
    let mut words = told(&app).await;
    app.operator().stops("yard").await;
    words.push("disabled".to_owned());
    eventually("the pause is told", SOON, || async { (told(&app).await == words).then_some(()) }).await;
    let paused = app.connection("yard").await;
    assert_eq!((text(&paused, "/state"), text(&paused, "/banner/what").starts_with("Paused by")), ("disabled", true));
    assert!(app.get("/c/yard").await.expect(200).body.contains("data-state=\"yard is disabled\""));
    let metrics = app.get("/metrics").await.expect(200).body;
    let is =
        |l: &str| l.starts_with("larder_connection_state{") && l.contains("state=\"disabled\"") && l.ends_with(" 1");
    assert!(metrics.lines().any(is), "{metrics}");
    assert!(app.log().contains("disabled; it was "), "{}", app.log());

    app.restart().await;
    app.operator().resumes("yard").await;
    words.push("fresh".to_owned());
    eventually("and its end", SOON, || async { (told(&app).await == words).then_some(()) }).await;
}

/// The words of the turns that were told, in their order.
async fn told(app: &TestApp) -> Vec<String> {
    let reply = app.get("/api/v1/activity?kind=state_changed&limit=100").await;
    let events = members(&reply.expect(200).json(), "events");
    events.iter().map(|e| text(e, "/message").split(';').next().unwrap_or_default().to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_takes_no_more_is_named_on_every_surface() {
    let provider = FakeProvider::unlimited().await;
    let mut app = TestApp::start(every_second(&provider, "")).await;
    app.has_polled("yard", "controller").await;
    assert!(app.stop().await.success());
    let now = std::fs::metadata(app.data()).expect("the file").len();
    app.boots_with_files_up_to(now).await;
    // More than the room that is left in the file.
    let zone = |n: usize| format!("{{\"relay_id\": {n}, \"name\": \"{}\", \"time\": 60, \"run\": 0}}", "x".repeat(200));
    let relays: Vec<String> = (0..20_000).map(zone).collect();
    provider.is(Mode::Json(200, format!("{{\"relays\": [{}]}}", relays.join(","))));

    let names_it = |s: &str| s.contains("largest size") && s.contains("larder.redb");
    let target =
        app.target_when("yard", "controller", "the store is named", |t| names_it(text(t, "/stale/reason"))).await;
    assert_ne!(target["state"], "fresh", "{target}");
    assert_eq!(target["fresh"], false, "{target}");
    assert!(names_it(text(&target, "/sentence")), "{target}");
    let connection = app.connection("yard").await;
    assert!(names_it(text(&connection, "/sentence")), "{connection}");
    for page in ["/", "/c/yard", "/c/yard/t/controller"] {
        assert!(names_it(&app.get(page).await.expect(200).body), "{page} does not say why nothing is newer");
    }
    let said = app.larder_here(&["status"]).await;
    assert!(names_it(&said.stdout), "{said:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_is_told_of_a_change_is_not_told_that_nothing_changed() {
    let provider = FakeProvider::unlimited().await;
    let config = Config::yard(&provider.base_url()).tuned(|c| c.no_limits().quiet().min_age("1s"));
    let app = TestApp::start(config).await;
    app.has_polled("yard", "controller").await;
    provider.renames(1, "Ada");
    let mut events = app.events(None).await;
    eventually("the answer is old enough", SOON, || async {
        let reply = app.operator().refreshes("yard", "controller").await;
        (reply.status == 200).then_some(())
    })
    .await;
    let changed = events.until("target_changed", SOON).await;
    let next = events.next(secs(1)).await;
    assert!(next.as_ref().is_none_or(|e| e.kind != "target_seen"), "{changed:?} and then {next:?}");
}

/// What a provider said is its own text: our reason stands apart from it, and is told once.
#[tokio::test(flavor = "multi_thread")]
async fn what_the_provider_said_is_its_own_text() {
    let provider = FakeProvider::unlimited().await;
    let app = TestApp::start(every_second(&provider, "")).await;
    app.has_polled("yard", "controller").await;
    for (body, says, reason) in [
        ("{\"other\":[]}", "{\"other\":[]}", "there is no `$.relays`"),
        ("{\"relays\":\"x\",\"error\":\"nothing here\"}", "nothing here", "unexpected answer (200): items"),
    ] {
        provider.is(Mode::Json(200, body.to_owned()));
        let told = |t: &Value| text(t, "/stale/said") == says;
        let target = app.target_when("yard", "controller", "the provider's text is told", told).await;
        assert!(text(&target, "/stale/reason").contains(reason), "{target}");
        assert!(text(&target, "/sentence").contains(reason), "{target}");
    }
}

/// Law 5: one that was asked and never answered is worse than one whose answer is young.
#[tokio::test(flavor = "multi_thread")]
async fn a_target_that_never_answered_keeps_all_is_well_away() {
    let provider = Script::answering(|asked| match asked.path() {
        "/b" => wire::json(200, &[], r#"{"other":true}"#),
        _ => wire::json(200, &[], r#"{"rows":[{"id":"1"}]}"#),
    })
    .await;
    let target = |name: &str| {
        format!("[[connection.target]]\nname = \"{name}\"\nget = \"/{name}\"\nitems = \"$.rows[*]\"\nkey = \"$.id\"\n")
    };
    let connection = Connection::plain("shop", &provider.base_url()).quiet().body(&(target("a") + &target("b")));
    let app = TestApp::start(Config::new().with(connection)).await;
    app.has_polled("shop", "a").await;
    app.has_charge("shop", "unexpected").await;
    let view = app.connection("shop").await;
    assert_eq!(view["state"], "never", "{view}");
    assert!(view["sentence"].as_str().is_some_and(|s| s.starts_with("b: No good answer yet")), "{view}");
}
