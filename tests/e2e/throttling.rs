//! Many callers and a provider that refuses without a word (CASES F2, F8, F9): how much is asked side by side, when a round is given up,
//! and when nobody asks for longer.

use crate::support::*;
use serde_json::{Value, json};
use std::fmt::Write;

/// Work orders of one project: so many targets at one endpoint.
fn orders(count: usize, more: &str) -> String {
    let mut body = String::new();
    for n in 0..count {
        let _ = write!(
            body,
            "[[connection.target]]\nname = \"order-{n}\"\nget = \"{STATUS}?order={n}\"\nitems = \"$.relays[*]\"\nkey = \"$.relay_id\"\n"
        );
    }
    format!("{body}{more}")
}

const FIVE_AT_ONCE: &str =
    "name = \"burst\"\nrequests = 5\nkind = \"concurrent\"\ncap = { poller = 3, refresh = 2, gateway = 2 }";

#[tokio::test(flavor = "multi_thread")]
async fn f2_the_poller_asks_side_by_side_up_to_its_cap_and_never_beyond_it() {
    let provider = FakeProvider::unlimited().await;
    provider.is(Mode::Slow(Duration::from_millis(400)));
    let config = Config::yard(&provider.base_url())
        .tuned(|c| c.no_limits().limit_text(FIVE_AT_ONCE).every("60s").min_age("0s").body(&orders(12, "")));
    let app = TestApp::start(config).await;
    provider.has_seen(12, SOON).await;
    assert_eq!(provider.open_most(), 3, "three of the poller's side by side");
    assert!(app.ledger("yard").await.iter().all(|c| c["caller"] == "poller"));
}

#[tokio::test(flavor = "multi_thread")]
async fn f11_workers_bound_what_the_poller_asks_at_once_below_the_caps() {
    let provider = FakeProvider::unlimited().await;
    provider.is(Mode::Slow(Duration::from_millis(300)));
    let mut config = Config::yard(&provider.base_url())
        .tuned(|c| c.no_limits().limit_text(FIVE_AT_ONCE).every("60s").body(&orders(8, "")));
    config.environment.insert("LARDER_POLLING_WORKERS".to_owned(), "2".to_owned());
    let _app = TestApp::start(config).await;
    provider.has_seen(8, SOON).await;
    assert_eq!(provider.open_most(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn f2_refreshes_beyond_their_cap_wait_a_moment_and_are_then_refused_with_the_limit_and_the_time() {
    let provider = FakeProvider::unlimited().await;
    provider.is(Mode::Slow(secs(5)));
    let config = Config::yard(&provider.base_url()).tuned(|c| {
        c.no_limits().limit_text(FIVE_AT_ONCE).not_polled().timeout("8s").min_age("0s").body(&orders(3, ""))
    });
    let app = TestApp::start(config).await;
    // A switched off connection refreshes nothing either; this one only has nothing due.
    let on = Ask::new("PATCH", "/api/v1/connections/yard").token(app.token());
    app.send(on.json(&json!({"enabled": true, "interval": "60s"}))).await.expect(200);
    provider.has_seen(1, SOON).await;
    let targets: Vec<String> = (0..3).map(|n| format!("order-{n}")).collect();
    let (one, two, three) = tokio::join!(
        async { app.operator().refreshes("yard", &targets[1]).await },
        async { app.operator().refreshes("yard", &targets[2]).await },
        async {
            tokio::time::sleep(Duration::from_millis(300)).await;
            app.send(Ask::post("/api/v1/connections/yard/probe?target=order-0").token(app.token())).await
        },
    );
    assert!(provider.open_most() <= 5, "{} at once", provider.open_most());
    let statuses = [one.status, two.status, three.status];
    assert!(statuses.iter().filter(|s| **s == 200).count() >= 2, "{statuses:?}");
    for refused in [one, two, three].into_iter().filter(|r| r.status == 429) {
        assert!(refused.body.contains("burst") && refused.header("retry-after").is_some(), "{}", refused.body);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn f2_a_probe_says_what_it_costs_before_and_after_and_leaves_the_shelf_alone() {
    let provider = FakeProvider::unlimited().await;
    let app = TestApp::start(Config::yard(&provider.base_url()).tuned(|c| c.quiet())).await;
    let before = app.has_polled("yard", "controller").await;
    let seen = provider.count();
    let told = app.get("/api/v1/connections/yard/probe").await.expect(200).json();
    assert_eq!((&told["units"], &told["refused"], &told["probed"]), (&json!(1), &Value::Null, &Value::Null), "{told}");
    assert_eq!(provider.count(), seen, "asking for the price costs nothing");
    provider.next(Mode::TooMany(None));
    let done = app.send(Ask::post("/api/v1/connections/yard/probe").token(app.token())).await.expect(200).json();
    assert_eq!((&done["probed"]["outcome"], &done["probed"]["units"]), (&json!("limited"), &json!(1)), "{done}");
    assert_eq!(provider.count(), seen + 1);
    let after = app.target("yard", "controller").await;
    assert_eq!((&after["as_of"], &after["attempted_at"]), (&before["as_of"], &before["attempted_at"]), "the shelf");
    let charge = app.ledger("yard").await.pop().expect("a charge");
    assert_eq!((&charge["caller"], &charge["outcome"]), (&json!("probe"), &json!("limited")), "{charge}");
    let told = app.get("/api/v1/activity?kind=probed").await.expect(200).body;
    assert!(
        told.contains("controller probed by tests (API, 127.0.0.1): limited (429), 1 unit"),
        "who asked, and what it brought: {told}"
    );
    // What it taught holds for everybody.
    assert!(!app.connection("yard").await["hold"].is_null());
    app.send(Ask::post("/api/v1/connections/yard/probe").token(app.token())).await.expect(429);
    app.operator().stops("yard").await;
    app.send(Ask::post("/api/v1/connections/yard/probe").token(app.token())).await.expect(409);
}

#[tokio::test(flavor = "multi_thread")]
async fn f8_a_bare_429_is_not_retried_and_ends_the_round() {
    let provider = FakeProvider::unlimited().await;
    provider.is(Mode::TooMany(None));
    let config = Config::yard(&provider.base_url()).tuned(|c| {
        c.no_limits().limit_text(FIVE_AT_ONCE).limit("day", 10_000, "24h", "").every("60s").body(&orders(12, ""))
    });
    let app = TestApp::start(config).await;
    app.has_charge("yard", "limited").await;
    stays("one request for twelve targets", 1, secs(3), || provider.count()).await;
    assert_eq!(app.connection("yard").await["hold"]["reason"], "rate_limited", "momentary: the day is not spent");
}

#[tokio::test(flavor = "multi_thread")]
async fn f8_a_round_is_given_up_after_a_bounded_number_of_rejections_that_hold_nobody() {
    let provider = FakeProvider::unlimited().await;
    provider.is(Mode::TooMany(None));
    let rule = "[[connection.rule]]\nname = \"this one only\"\nstatus = 429\noutcome = \"limited\"\nhold = \"none\"\n";
    let config = Config::yard(&provider.base_url())
        .tuned(|c| c.no_limits().limit_text(FIVE_AT_ONCE).every("60s").body(&orders(30, rule)));
    let app = TestApp::start(config).await;
    provider.has_seen(3, SOON).await;
    tokio::time::sleep(secs(2)).await;
    // Three, and what two other workers had under way.
    assert!((3..=5).contains(&provider.count()), "{} requests of thirty", provider.count());
    assert!(app.connection("yard").await["hold"].is_null());
}

#[tokio::test(flavor = "multi_thread")]
async fn f9_the_breaker_opens_on_partial_throttling_outlives_a_kill_and_probes_alone() {
    let provider = FakeProvider::unlimited().await;
    let rule = "[[connection.rule]]\nname = \"this one only\"\nstatus = 429\noutcome = \"limited\"\nhold = \"none\"\n";
    for _ in 0..40 {
        provider.next(Mode::Normal);
        provider.next(Mode::TooMany(None));
    }
    let waits = "[connection.waits]\nfloor = \"1s\"\ndefault = \"4s\"\n";
    let config = Config::yard(&provider.base_url())
        .tuned(|c| c.no_limits().every("1s").body(&orders(4, &format!("{rule}{waits}"))));
    let mut app = TestApp::start(config).await;
    let view = app.connection_when("yard", "the breaker is open", |c| c["breaker"] == "open").await;
    assert_eq!(view["state"], "breaker_open", "{view}");
    assert!(view["sentence"].as_str().is_some_and(|s| s.contains("refused 5 of the last 10")), "{view}");
    let asked = provider.count();
    assert!(asked >= 10, "half of ten");

    app.crash().await;
    assert_eq!(app.connection("yard").await["breaker"], "open", "a restart forgets nothing");
    stays("nobody asks while it is open", asked, secs(1), || provider.count()).await;
    provider.has_seen(asked + 1, SOON).await;
    let closed = app.connection_when("yard", "the probe was answered", |c| c["breaker"] != "half_open").await;
    assert!(closed["breaker"] == "closed" || closed["breaker"] == "open", "{closed}");
}
