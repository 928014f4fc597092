//! What operators set while it runs (CASES F11, F13): over the API, the page and the command line, over restarts and kill -9.

use crate::support::http::Reply;
use crate::support::*;
use serde_json::{Value, json};

const YARD: &str = "/api/v1/connections/yard";

async fn patched(app: &TestApp, path: &str, body: Value) -> Reply {
    app.send(Ask::new("PATCH", path).token(app.token()).json(&body)).await
}

async fn told(app: &TestApp, words: &str) -> String {
    eventually(&format!("the activity list says {words:?}"), SOON, || async {
        let page = app.get("/c/yard").await.expect(200).body;
        page.contains(words).then_some(page)
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn f13_a_timed_override_restores_the_interval_by_itself_also_when_the_process_was_killed() {
    let provider = FakeProvider::unlimited().await;
    let config = Config::yard(&provider.base_url()).tuned(|c| c.no_limits().every("60s"));
    let mut app = TestApp::start(config).await;
    app.has_polled("yard", "controller").await;
    let before = provider.seen().len();

    let view = patched(&app, YARD, json!({"interval": "1s", "interval_for": "6s"})).await.expect(200).json();
    let set = &view["controls"]["interval"]["set"];
    assert_eq!((&set["value"], &view["controls"]["interval"]["configured"]), (&json!(1), &json!(60)), "{view}");
    assert!(set["by"].is_string() && set["at"].is_string() && set["until"].is_string(), "{view}");
    assert_eq!(view["poll"]["interval_seconds"], 1, "{view}");
    provider.has_seen(before + 2, SOON).await;

    app.crash().await;
    let view = app.connection("yard").await;
    assert_eq!(view["poll"]["interval_seconds"], 1, "the override outlives a kill: {view}");
    let over =
        app.connection_when("yard", "the override is over", |c| c["controls"]["interval"]["set"].is_null()).await;
    assert_eq!(over["poll"]["interval_seconds"], 60, "{over}");
    told(&app, "interval 1 s \u{2192} 60 s: the time that tests (API, 127.0.0.1) set it for is over").await;
    told(&app, "interval 60 s as configured \u{2192} 1 s until").await;
    // The next poll is a whole old interval after the last one, and not now.
    let seen = provider.seen().len();
    tokio::time::sleep(secs(3)).await;
    assert!(provider.seen().len() <= seen + 1, "polling went on at one second");
}

#[tokio::test(flavor = "multi_thread")]
async fn f13_an_override_that_ended_while_nothing_ran_is_not_in_force_after_the_start() {
    let provider = FakeProvider::unlimited().await;
    let config = Config::yard(&provider.base_url()).tuned(|c| c.no_limits().every("60s"));
    let mut app = TestApp::start(config).await;
    app.has_polled("yard", "controller").await;
    patched(&app, YARD, json!({"interval": "1s", "interval_for": "1s"})).await.expect(200);
    app.kill_9();
    tokio::time::sleep(secs(2)).await;
    app.boots().await;
    assert_eq!(app.connection("yard").await["poll"]["interval_seconds"], 60);
    told(&app, "the time that tests (API, 127.0.0.1) set it for is over").await;
}

/// What an operator had set until further notice is what is restored, also after a kill; and clearing clears both.
#[tokio::test(flavor = "multi_thread")]
async fn f13_a_timed_override_restores_what_was_set_before_it() {
    let provider = FakeProvider::unlimited().await;
    let mut app = TestApp::start(Config::yard(&provider.base_url()).tuned(|c| c.no_limits().every("60s"))).await;
    app.has_polled("yard", "controller").await;
    patched(&app, YARD, json!({"interval": "90s"})).await.expect(200);
    patched(&app, YARD, json!({"interval": "30s", "interval_for": "3s"})).await.expect(200);
    patched(&app, YARD, json!({"interval": "20s", "interval_for": "4s"})).await.expect(200);
    app.crash().await;
    let over = app.connection_when("yard", "the override is over", |c| c["poll"]["interval_seconds"] == 90).await;
    let set = &over["controls"]["interval"]["set"];
    assert_eq!((&set["value"], &set["until"]), (&json!(90), &Value::Null), "{over}");
    told(&app, "interval 20 s \u{2192} 90 s: the time that tests (API, 127.0.0.1) set it for is over").await;

    patched(&app, YARD, json!({"interval": "20s", "interval_for": "2s"})).await.expect(200);
    patched(&app, YARD, json!({"interval": null})).await.expect(200);
    tokio::time::sleep(secs(3)).await;
    assert_eq!(app.connection("yard").await["controls"]["interval"]["set"], Value::Null, "cleared is cleared");
}

#[tokio::test(flavor = "multi_thread")]
async fn f11_null_clears_what_was_set_and_each_change_says_what_was_before_and_by_whom() {
    let provider = FakeProvider::unlimited().await;
    let mut app = TestApp::start(Config::yard(&provider.base_url()).tuned(|c| c.quiet())).await;
    let body = json!({"interval": "auto", "inactivity_ttl": "48h", "completion_grace": "30m", "enabled": false});
    let view = patched(&app, YARD, body).await.expect(200).json();
    assert_eq!(view["state"], "disabled", "{view}");
    told(&app, "yard paused by tests (API, 127.0.0.1): polling on \u{2192} off").await;
    told(&app, "inactivity TTL never as configured \u{2192} 2 d, by tests (API, 127.0.0.1)").await;
    app.restart().await;
    let controls = app.connection("yard").await["controls"].clone();
    assert_eq!(controls["inactivity_ttl_seconds"]["set"]["value"], 48 * 3600, "{controls}");
    assert_eq!(controls["completion_grace_seconds"]["set"]["value"], 1800, "{controls}");
    assert_eq!(controls["enabled"]["set"]["by"], "tests (API, 127.0.0.1)", "{controls}");

    let body = json!({"interval": null, "inactivity_ttl": "never", "completion_grace": null, "enabled": null});
    let controls = patched(&app, YARD, body).await.expect(200).json()["controls"].clone();
    assert_eq!(controls["inactivity_ttl_seconds"]["set"]["value"], Value::Null, "never: {controls}");
    for cleared in ["interval", "completion_grace_seconds", "enabled"] {
        assert_eq!(controls[cleared]["set"], Value::Null, "{cleared}: {controls}");
    }
    for words in [
        "yard left to the configuration by tests (API, 127.0.0.1): polling off \u{2192} on",
        "inactivity TTL 2 d \u{2192} never, by tests (API, 127.0.0.1)",
        "completion grace 30 min \u{2192} 0 s as configured, by tests (API, 127.0.0.1)",
    ] {
        told(&app, words).await;
    }
    for (body, words) in [
        (json!({"interval": "10ms"}), "shorter than one second"),
        (json!({"interval_for": "3h"}), "name that too"),
        (json!({"speed": 3}), "cannot be changed here"),
        (json!({}), "names nothing to change"),
    ] {
        let refusal = patched(&app, YARD, body).await.expect(422).json();
        assert!(refusal["detail"].as_str().is_some_and(|d| d.contains(words)), "{refusal}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn f11_polling_switched_off_for_the_process_outlives_a_kill_and_people_can_still_ask() {
    let provider = FakeProvider::unlimited().await;
    let config = Config::yard(&provider.base_url()).tuned(|c| c.no_limits().every("1s").min_age("0s"));
    let mut app = TestApp::start(config).await;
    app.has_polled("yard", "controller").await;

    let said = app.larder_here(&["polling", "off", "--workers", "2"]).await.expect(0);
    assert!(said.stdout.contains("off") && said.stdout.contains('2'), "{said:?}");
    app.crash().await;
    let view = app.connection("yard").await;
    assert_eq!(view["state"], "disabled", "{view}");
    assert!(view["sentence"].as_str().is_some_and(|s| s.contains("whole appliance")), "{view}");
    let seen = provider.seen().len();
    tokio::time::sleep(secs(3)).await;
    assert_eq!(provider.seen().len(), seen, "polled while polling is off");
    app.operator().refreshes("yard", "controller").await.expect(200);
    assert_eq!(provider.seen().len(), seen + 1, "what people ask for is asked");

    let polling = app.get("/api/v1/polling").await.expect(200).json();
    assert_eq!((&polling["enabled"], &polling["workers"]), (&json!(false), &json!(2)), "{polling}");
    patched(&app, "/api/v1/polling", json!({"enabled": null, "workers": null})).await.expect(200);
    provider.has_seen(seen + 3, SOON).await;
    let polling = app.get("/api/v1/polling").await.expect(200).json();
    assert_eq!((&polling["workers"], &polling["workers_set"]), (&json!(8), &Value::Null), "{polling}");
    patched(&app, "/api/v1/polling", json!({"workers": 1000})).await.expect(422);
}

#[tokio::test(flavor = "multi_thread")]
async fn f11_the_environment_switches_polling_off_before_a_start() {
    let provider = FakeProvider::unlimited().await;
    let mut config = Config::yard(&provider.base_url()).tuned(|c| c.no_limits().every("1s"));
    config.environment.insert("LARDER_POLLING_ENABLED".to_owned(), "false".to_owned());
    config.environment.insert("LARDER_POLLING_WORKERS".to_owned(), "3".to_owned());
    let app = TestApp::start(config).await;
    let polling = app.get("/api/v1/polling").await.expect(200).json();
    assert_eq!((&polling["enabled_configured"], &polling["workers_configured"]), (&json!(false), &json!(3)));
    tokio::time::sleep(secs(2)).await;
    assert_eq!(provider.seen().len(), 0, "polled although it is switched off");
}

#[tokio::test(flavor = "multi_thread")]
async fn f13_the_command_line_and_the_page_show_what_is_set_beside_what_is_configured() {
    let provider = FakeProvider::unlimited().await;
    let app = TestApp::start(Config::yard(&provider.base_url()).tuned(|c| c.quiet())).await;
    app.has_polled("yard", "controller").await;
    app.larder_here(&["connection", "yard", "--interval", "5m", "--for", "3h"]).await.expect(0);
    let said = app.larder_here(&["connection", "yard"]).await.expect(0);
    let line = said.stdout.lines().find(|l| l.starts_with("interval")).unwrap_or_default();
    assert!(line.contains("5 min") && line.contains("60 s"), "{said:?}");
    assert!(app.get("/c/yard").await.expect(200).body.contains("configured: 60"), "the connection's page");
    let page = app.get("/c/yard/controls").await.expect(200).body;
    for words in ["name=\"interval_for\"", "60", "name=\"clear\" value=\"interval\""] {
        assert!(page.contains(words), "{words:?} is not on the page");
    }
    app.larder_here(&["connection", "yard", "--clear", "interval"]).await.expect(0);
    assert_eq!(app.connection("yard").await["controls"]["interval"]["set"], Value::Null);
    let said = app.larder_here(&["connection", "shed"]).await.expect(1);
    assert!(said.stderr.contains("no connection"), "{said:?}");
}
