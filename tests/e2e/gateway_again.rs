//! The same question over the same socket, again and again: answered beside the server, and still with its true age, never beyond its life,
//! and never after what it stands on is gone (CASES P1; laws 3 and 5).

use crate::support::http::{Reply, Tab};
use crate::support::script::{Asked, Script};
use crate::support::wire::json;
use crate::support::*;
use std::time::Instant;

fn counting(asked: &Asked) -> Vec<u8> {
    json(200, &[], &format!("{{\"number\":{},\"fill\":\"{}\"}}", asked.number, "f".repeat(500)))
}

async fn hub(provider: &Script, fresh_for: &str) -> TestApp {
    let gateway = format!(
        "[connection.gateway]\nfresh_for = \"{fresh_for}\"\n[[connection.gateway.allow]]\nmethods = [\"GET\", \"HEAD\", \"POST\"]\n\
         path = \"/**\"\n"
    );
    let connection = Connection::plain("hub", &provider.base_url()).secret_in("HUB_KEY").bearer();
    TestApp::start(Config::new().with(connection.body(&gateway))).await
}

fn age(reply: &Reply) -> u64 {
    reply.header("age").and_then(|age| age.parse().ok()).unwrap_or_else(|| panic!("no age in {:?}", reply.headers))
}

/// As often as it fits between others: a poller's loop, and two askers in turn.
async fn asks(tab: &mut Tab, path: &str) -> Reply {
    tokio::time::sleep(Duration::from_millis(3)).await;
    tab.get(path).await.expect(200)
}

#[tokio::test(flavor = "multi_thread")]
async fn its_age_is_told_each_time_and_its_life_ends() {
    let provider = Script::answering(counting).await;
    let app = hub(&provider, "3s").await;
    let mut tab = Tab::open(app.address).await;
    let began = Instant::now();
    let first = asks(&mut tab, "/gateway/hub/tasks").await;
    let (mut asked, mut last) = (1u64, 0);
    loop {
        let before = began.elapsed();
        let next = asks(&mut tab, "/gateway/hub/tasks").await;
        asked += 1;
        if next.json()["number"] != first.json()["number"] {
            break;
        }
        assert_eq!(next.body, first.body);
        assert!(before < Duration::from_millis(3050), "it is over, {before:?} after it was asked for");
        let told = age(&next);
        assert!(told >= last && told <= began.elapsed().as_secs(), "{told} after {last}");
        // The provider took no second to answer.
        assert!(told + 1 >= before.as_secs(), "{told} s, {before:?} after it was asked for");
        last = told;
        for name in ["date", "cache-status", "etag", "ratelimit-policy", "content-security-policy"] {
            assert_eq!(next.header(name).is_some(), first.header(name).is_some(), "{name}: {:?}", next.headers);
        }
    }
    assert!(began.elapsed() >= secs(3), "its life was not over");
    assert!(last >= 2 && asked > 50, "{asked} times, at last {last} s old");
    assert_eq!(provider.asked().len(), 2);
    let told = app.get("/metrics").await.body;
    let hits = format!("cache=\"hit\"}} {}", asked - 2);
    assert!(told.contains(&hits), "every one is counted: {hits}\n{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_write_has_changed_is_not_said_again() {
    let provider = Script::answering(counting).await;
    let app = hub(&provider, "1h").await;
    let mut tab = Tab::open(app.address).await;
    for round in 0..20 {
        let before = asks(&mut tab, "/gateway/hub/receipts/1").await;
        assert_eq!(asks(&mut tab, "/gateway/hub/receipts/1").await.body, before.body);
        let other = asks(&mut tab, "/gateway/hub/other").await;
        let written = app.send(Ask::post("/gateway/hub/receipts/1").token(app.token()).text("{}")).await.expect(200);
        let after = asks(&mut tab, "/gateway/hub/receipts/1").await.json()["number"].as_u64();
        assert!(after > written.json()["number"].as_u64(), "round {round}: {after:?} was there before the write");
        assert_eq!(asks(&mut tab, "/gateway/hub/other").await.body, other.body);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_another_key_has_read_is_not_said_again() {
    let provider = Script::answering(counting).await;
    let mut app = hub(&provider, "1h").await;
    let mut tab = Tab::open(app.address).await;
    let before = asks(&mut tab, "/gateway/hub/tasks").await;
    assert_eq!(asks(&mut tab, "/gateway/hub/tasks").await.body, before.body);
    app.rotates("hub").await;
    let after = asks(&mut tab, "/gateway/hub/tasks").await;
    assert_eq!(after.json()["number"], 1, "{:?}", after.headers);
}
