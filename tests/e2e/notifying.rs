//! Notifications for people, by a server of ntfy: what turned, how grave it is, once, over a crash, and nothing of what flickers.

use crate::support::script::{Asked, Script};
use crate::support::wire::http;
use crate::support::*;
use serde_json::{Value, json};

const TOKEN: &str = "tk_of_the_people_in_the_house";

/// As ntfy does: who shows no token, or names no topic, is refused.
fn server(asked: &Asked) -> Vec<u8> {
    let body: Value = serde_json::from_str(&asked.body).unwrap_or_default();
    let status = match asked.header("authorization") == format!("Bearer {TOKEN}") {
        false => 401,
        true if asked.path() != "/" || !body["topic"].is_string() => 400,
        true => 200,
    };
    http(status, &[], b"{}")
}

fn told(provider: &FakeProvider, server: &Script, token: &str, settle: &str) -> Config {
    let mut config = Config::yard(&provider.base_url()).tuned(|c| c.no_limits().quiet().fresh_for("1h"));
    config.environment.insert("NTFY_TOKEN".to_owned(), token.to_owned());
    config.extra = format!(
        "[[connection.webhook]]\nname = \"phone\"\nkind = \"ntfy\"\nurl = \"{}/our-house\"\nsecret = {{ env = \"NTFY_TOKEN\" }}\n\
         settle = \"{settle}\"\nclick = \"https://larder.test/\"\n",
        server.base_url()
    );
    config
}

fn notes(server: &Script) -> Vec<Value> {
    server.asked().iter().map(|asked| serde_json::from_str(&asked.body).expect("JSON")).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_is_told_once_over_a_crash_and_what_flickers_is_not() {
    let provider = FakeProvider::unlimited().await;
    let server = Script::answering(server).await;
    let mut app = TestApp::start(told(&provider, &server, TOKEN, "8s")).await;
    app.has_polled("yard", "controller").await;
    app.tells("fresh; it was never").await;
    app.operator().stops("yard").await;
    app.tells("disabled; it was fresh").await;
    app.operator().resumes("yard").await;
    app.tells("fresh; it was disabled").await;
    eventually("one is told", SOON, || async { (!notes(&server).is_empty()).then_some(()) }).await;
    let first = notes(&server).remove(0);
    let expected = json!({
        "topic": "our-house", "title": "yard is fresh", "priority": 2, "tags": ["white_check_mark", "fresh"],
        "click": "https://larder.test/c/yard", "message": first["message"],
    });
    assert_eq!(first, expected);
    assert!(first["message"].as_str().is_some_and(|m| m.starts_with("fresh; it was disabled since")), "{first}");

    // The server has it; that it has it is on the disk a moment later.
    eventually("it is known", SOON, || async {
        let view = app.get("/api/v1/connections/yard/webhooks").await.json();
        (view["webhooks"][0]["delivered"] == 1).then_some(())
    })
    .await;
    app.crash().await;
    app.operator().stops("yard").await;
    eventually("the pause is told", SOON, || async { (notes(&server).len() > 1).then_some(()) }).await;
    let titles: Vec<Value> = notes(&server).iter().map(|note| note["title"].clone()).collect();
    assert_eq!(titles, ["yard is fresh", "yard is disabled"], "each once, and the flicker not");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_test_of_a_notification_says_what_came_of_it_and_is_in_the_book() {
    let provider = FakeProvider::unlimited().await;
    let server = Script::answering(server).await;
    let app = TestApp::start(told(&provider, &server, TOKEN, "1h")).await;
    let test = || app.post("/api/v1/connections/yard/webhooks/phone/test");
    assert_eq!(test().await.expect(200).json()["taken"], true);
    let note = notes(&server).remove(0);
    assert_eq!((&note["topic"], &note["title"]), (&"our-house".into(), &"yard: test of phone".into()), "{note}");
    assert!(app.get("/api/v1/activity").await.body.contains("webhook phone: test message taken, sent by"));
    let view = app.get("/api/v1/connections/yard/webhooks").await.json()["webhooks"][0].clone();
    assert_eq!((&view["kind"], &view["events"]), (&"ntfy".into(), &json!(["state_changed"])), "{view}");
    let page = app.get("/c/yard").await.body;
    assert!(page.contains("as notifications of ntfy") && page.contains("Send a test message"), "the button is there");

    let locked = TestApp::start(told(&provider, &server, "tk_of_somebody_else", "1h")).await;
    let heard = locked.post("/api/v1/connections/yard/webhooks/phone/test").await.expect(200).json();
    assert_eq!((&heard["taken"], &heard["status"]), (&false.into(), &401.into()), "{heard}");
    assert!(locked.get("/api/v1/activity").await.body.contains("test message not taken: the receiver answered 401"));
}
