//! What was read, when, and whether it can be believed: received, changed and attempted apart; sentinels; answers that never came.

use crate::support::*;

const GAUGE: &str = r#"
[[connection.target]]
name = "river"
get  = "/levels"
items = "$.gauges[*]"
key   = "$.id"
[connection.target.fields]
level = { path = "$.level", as = "number", min = -50, max = 1200.5, unknown = [-888, "n/a"] }
"#;

async fn river(provider: &FakeProvider, level: &str) -> TestApp {
    provider.is(levels(level));
    let tune = |c: Connection| c.no_limits().body(GAUGE).quiet().min_age("1ms");
    let app = TestApp::start(Config::yard(&provider.base_url()).tuned(tune)).await;
    app.has_polled("yard", "river").await;
    app
}

fn levels(level: &str) -> Mode {
    Mode::Json(200, format!("{{\"gauges\": [{{\"id\": \"bridge\", \"level\": {level}}}]}}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn a30_a_sentinel_is_never_shown() {
    let provider = FakeProvider::unlimited().await;
    let app = river(&provider, "-888").await;
    let level = async || app.target("yard", "river").await["items"][0]["fields"]["level"].clone();
    assert!(level().await.is_null(), "unknown");
    assert!(!app.page("yard", "river").await.contains("888"), "also on the page");
    for (sent, shown) in
        [("312.5", 312.5.into()), ("\"N/A\"", serde_json::Value::Null), ("99999", serde_json::Value::Null)]
    {
        provider.is(levels(sent));
        app.operator().refreshes("yard", "river").await.expect(200);
        assert_eq!(level().await, shown, "{sent}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a29_received_changed_and_attempted_are_three_moments() {
    let mut provider = FakeProvider::unlimited().await;
    let app = river(&provider, "3").await;
    let first = app.target("yard", "river").await;
    tokio::time::sleep(Duration::from_millis(1100)).await;
    for _ in 0..20 {
        app.operator().refreshes("yard", "river").await.expect(200);
    }
    let same = app.target("yard", "river").await;
    assert_eq!(same["changed_at"], first["changed_at"], "nothing has changed");
    assert_eq!(same["generation"], first["generation"]);
    assert_ne!(same["as_of"], first["as_of"], "and was received again");
    provider.goes_away();
    tokio::time::sleep(Duration::from_millis(1100)).await;
    app.operator().refreshes("yard", "river").await;
    let silent = app.target("yard", "river").await;
    assert_eq!((&silent["as_of"], &silent["changed_at"]), (&same["as_of"], &same["changed_at"]), "nothing received");
    assert_ne!(silent["attempted_at"], same["attempted_at"], "but attempted");
}

#[tokio::test(flavor = "multi_thread")]
async fn a32_an_answer_that_never_comes_is_charged_each_time() {
    let provider = FakeProvider::unlimited().await;
    provider.is(Mode::Slow(Duration::from_secs(60)));
    let tune = |c: Connection| c.every("60s").min_age("1ms").timeout("1s").limit("many", 1000, "1h", "");
    let app = TestApp::start(Config::yard(&provider.base_url()).tuned(tune)).await;
    app.has_charge("yard", "timed_out").await;
    let before = provider.count();
    for _ in 0..2 {
        app.operator().refreshes("yard", "controller").await;
    }
    assert_eq!(provider.count(), before + 2);
    let charged = app.ledger("yard").await.into_iter().filter(|c| c["outcome"] == "timed_out");
    let posted = charged.filter(|c| c["settlement"] == "posted").count();
    assert_eq!(posted, provider.count(), "one for each request that the provider has seen");
}
