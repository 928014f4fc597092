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

/// Two gauges, of which one was last read `ago` seconds ago and the other an hour before.
fn dated(now: i64, ago: i64) -> Mode {
    let gauge = |id: &str, at: i64| format!("{{\"id\": \"{id}\", \"level\": 3, \"at\": {at}}}");
    let (new, old) = (gauge("bridge", now - ago), gauge("weir", now - ago - 3600));
    Mode::Json(200, format!("{{\"gauges\": [{new}, {old}]}}"))
}

/// Seconds, with some room for a slow machine.
fn is_about(age: &serde_json::Value, seconds: u64) -> bool {
    age.as_u64().is_some_and(|age| (seconds..seconds + 60).contains(&age))
}

#[tokio::test(flavor = "multi_thread")]
async fn a27_a_reading_is_as_old_as_the_provider_says() {
    const FIVE_HOURS: u64 = 5 * 3600;
    let now = || std::time::SystemTime::UNIX_EPOCH.elapsed().expect("after 1970").as_secs() as i64;
    let provider = FakeProvider::unlimited().await;
    provider.is(dated(now(), FIVE_HOURS as i64));
    let gauge = GAUGE.replace("key ", "fresh_for = \"30m\"\nobserved_at = { path = \"$.at\", as = \"epoch-s\" }\nkey ");
    let tune = |c: Connection| c.no_limits().body(&gauge).quiet().min_age("1ms");
    let mut app = TestApp::start(Config::yard(&provider.base_url()).tuned(tune)).await;
    app.has_polled("yard", "river").await;
    for round in 0..3 {
        // Each poll is answered at once, and with what the provider knew five hours ago.
        match round {
            1 => drop(app.operator().refreshes("yard", "river").await.expect(200)),
            2 => app.restart().await,
            _ => {}
        }
        let river = app.target("yard", "river").await;
        assert_eq!((&river["state"], &river["fresh"]), (&"stale".into(), &false.into()), "{river}");
        assert!(is_about(&river["age_seconds"], FIVE_HOURS), "{river}");
        assert!(is_about(&river["reading_age_seconds"], FIVE_HOURS), "{river}");
        let answered: jiff::Timestamp = river["as_of"].as_str().expect("a time").parse().expect("RFC 3339");
        assert!(now() - answered.as_second() < 60, "and the answer is young: {river}");
        let observed: jiff::Timestamp = river["observed_at"].as_str().expect("a time").parse().expect("RFC 3339");
        assert!(answered.as_second() - observed.as_second() >= FIVE_HOURS as i64, "{river}");
        assert!(
            river["sentence"].as_str().is_some_and(|s| s.contains("the reading is 5 h old by the provider's clock"))
        );
        let items = river["items"].as_array().expect("items");
        assert!(is_about(&items[0]["reading_age_seconds"], FIVE_HOURS), "{river}");
        assert!(is_about(&items[1]["reading_age_seconds"], FIVE_HOURS + 3600), "its own: {river}");
        assert!(items[0]["fields"].get("observed_at").is_none() && items[0]["fields"]["level"] == 3.0, "{river}");
        let reply = app.get("/api/v1/connections/yard/targets/river").await.expect(200);
        let age: u64 = reply.header("age").expect("an Age").parse().expect("a number");
        assert!(is_about(&age.into(), FIVE_HOURS), "{age}");
        assert!(reply.header("cache-status").is_some_and(|s| s.contains("ttl=-") && s.contains("detail=stale")));
        assert!(
            app.page("yard", "river")
                .await
                .replace('\u{a0}', " ")
                .contains("5 h</time></b> old by the provider’s clock")
        );
        assert!(is_about(&app.connection("yard").await["oldest_age_seconds"], FIVE_HOURS));
    }
    // The same reading with a newer time is no change, and young again.
    let before = app.target("yard", "river").await;
    provider.is(dated(now(), 0));
    app.operator().refreshes("yard", "river").await.expect(200);
    let young = app.target("yard", "river").await;
    assert_eq!((&young["state"], &young["generation"]), (&"fresh".into(), &before["generation"]), "{young}");
    assert!(is_about(&young["age_seconds"], 0), "{young}");
    // A time that can be no reading's is ignored, and said.
    provider.is(dated(now(), -86_400));
    app.operator().refreshes("yard", "river").await.expect(200);
    let ahead = app.target("yard", "river").await;
    assert!(ahead["observed_at"].is_null() && ahead["reading_age_seconds"].is_null(), "{ahead}");
    assert!(is_about(&ahead["age_seconds"], 0), "{ahead}");
    assert!(ahead["sentence"].as_str().is_some_and(|s| s.contains("no time that can be believed")), "{ahead}");
    assert!(app.page("yard", "river").await.contains("no time that can be believed"));
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
