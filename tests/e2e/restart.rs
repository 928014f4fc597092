//! Restarts: they cost no request and forget nothing; a crash never makes the appliance spend twice
//! (CASES F7; laws 1, 6 and 7).

use crate::support::*;
use serde_json::Value;

/// What must be the same before and after.
async fn durable(app: &TestApp) -> Value {
    let target = app.target("yard", "controller").await;
    let connection = app.connection("yard").await;
    serde_json::json!({
        "as_of": target["as_of"], "generation": target["generation"], "items": target["items"],
        "last_poll_at": connection["poll"]["last_poll_at"], "next_poll_at": connection["poll"]["next_poll_at"],
        "history": app.history("yard", "controller").await,
        "ledger": app.ledger("yard").await,
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_restarts_in_a_row_cost_no_request() {
    let provider = FakeProvider::limited(5, secs(300)).await;
    let config = Config::yard(&provider.base_url()).tuned(|c| c.no_limits().limit("status", 5, "5m", "").every("75s"));
    let mut app = TestApp::start(config).await;
    app.has_polled("yard", "controller").await;
    let age = app.target("yard", "controller").await["age_seconds"].as_u64().expect("an age");
    let before = durable(&app).await;
    let asked = provider.count();
    let began = std::time::Instant::now();

    for round in 0..10 {
        if round % 2 == 0 {
            app.restart().await
        } else {
            app.crash().await
        }
        assert_eq!(durable(&app).await, before, "restart {round} changed something");
    }
    assert!(began.elapsed() < secs(70), "the machine is too slow for this test: the next poll was due");
    assert_eq!(provider.count(), asked, "a restart asked the provider");
    let later = app.target("yard", "controller").await["age_seconds"].as_u64().expect("an age");
    assert!(later >= age + began.elapsed().as_secs().saturating_sub(1), "law 5: no restart makes an answer younger");
}

#[tokio::test(flavor = "multi_thread")]
async fn restarts_while_polling_keep_the_cadence() {
    let provider = FakeProvider::limited(5, secs(10)).await;
    let mut app = TestApp::start(Config::yard(&provider.base_url())).await;
    for round in 0..10 {
        let asked = provider.count();
        provider.has_seen(asked + 1, SOON).await;
        if round % 2 == 0 { app.crash().await } else { app.restart().await }
    }
    provider.was_never_over();
    let seen = provider.seen();
    let tight = seen.windows(2).filter(|p| p[1].at.duration_since(p[0].at) < Duration::from_millis(1_500)).count();
    assert_eq!(tight, 0, "a restart polled early");
    assert_eq!(app.history("yard", "controller").await.len(), 3, "no replayed first poll");
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_between_the_two_writes_the_charge_counts() {
    let provider = FakeProvider::limited(2, secs(10)).await;
    provider.is(Mode::Slow(secs(3)));
    let config = Config::yard(&provider.base_url())
        .tuned(|c| c.no_limits().limit("status", 2, "10s", "").every("5s").timeout("4s"));
    let mut app = TestApp::start(config).await;

    for kills in 1..=3 {
        provider.has_seen(kills, 3 * SOON).await;
        app.crash().await;
    }
    let ledger = app.ledger("yard").await;
    assert_eq!(ledger.len(), 3, "charged before sent, each once: {ledger:#?}");
    for charge in &ledger {
        assert_ne!(charge["settlement"], "voided", "the provider may have counted it: {charge}");
    }
    provider.is(Mode::Normal);
    app.has_polled("yard", "controller").await;
    provider.has_seen(6, 3 * SOON).await;
    provider.was_never_over();
    let lost = app.ledger("yard").await.iter().filter(|c| c["outcome"] == "lost").count();
    assert_eq!(lost, 3, "what a crash interrupted is called lost");
    let log = app.log();
    assert!(!log.contains("panicked"), "{log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_at_any_instant_it_is_never_over() {
    let provider = FakeProvider::limited(3, secs(6)).await;
    let config = Config::yard(&provider.base_url())
        .tuned(|c| c.no_limits().limit("status", 3, "6s", "").every("2s").timeout("2s"));
    let mut app = TestApp::start(config).await;
    // Instants that step through the interval, so that every phase of a poll is hit at some time.
    for step in 0..16u64 {
        provider.is(if step % 3 == 0 { Mode::Slow(Duration::from_millis(700)) } else { Mode::Normal });
        tokio::time::sleep(Duration::from_millis(130 * step % 1_700)).await;
        app.crash().await;
    }
    provider.is(Mode::Normal);
    provider.has_seen(provider.count() + 3, 2 * SOON).await;
    provider.was_never_over();
    let charged = app.ledger("yard").await.iter().filter(|c| c["settlement"] != "voided").count();
    assert!(charged >= provider.count(), "our ledger shows less than the provider counted");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operators_word_survives_a_crash() {
    let provider = FakeProvider::limited(5, secs(10)).await;
    let mut app = TestApp::start(Config::yard(&provider.base_url())).await;
    app.has_polled("yard", "controller").await;
    app.operator().stops("yard").await;
    let view = app.connection("yard").await;
    assert_eq!(view["state"], "disabled", "{view}");
    assert!(view["sentence"].as_str().is_some_and(|s| s.contains("tests")), "says who: {view}");
    let refused = app.operator().refreshes("yard", "controller").await.expect_problem(409);
    assert!(
        refused["not_before"].is_null() && refused["detail"].as_str().is_some_and(|d| d.contains("paused")),
        "{refused}"
    );
    // What was under way may end.
    tokio::time::sleep(secs(1)).await;
    let asked = provider.count();
    app.crash().await;
    assert_eq!(app.connection("yard").await["state"], "disabled");
    stays("a stopped connection asks for nothing", asked, secs(6), || provider.count()).await;
    assert_eq!(app.target("yard", "controller").await["item_count"], 3, "and what it knew is served");

    app.operator().resumes("yard").await;
    provider.has_seen(asked + 2, SOON).await;
    provider.was_never_over();
}

/// What nobody saw is shown as that, after an end as after a crash.
#[tokio::test(flavor = "multi_thread")]
async fn how_a_connection_stood_is_remembered_with_the_time_in_which_nobody_saw_it() {
    let provider = FakeProvider::unlimited().await;
    let mut app = TestApp::start(Config::yard(&provider.base_url()).tuned(|c| c.no_limits().quiet())).await;
    app.has_polled("yard", "controller").await;
    let never = app.get("/c/yard").await.body;
    assert!(!never.contains("not running"), "this file is new: {never}");
    app.restart().await;
    let away = |page: &str| page.matches("<td><span class=\"muted\">not running</span></td>").count();
    let page = eventually("the first look of this run", SOON, || async {
        let page = app.get("/c/yard").await.body;
        page.contains("not running").then_some(page)
    })
    .await;
    assert_eq!(away(&page), 1, "{page}");
    assert!(app.get("/").await.body.contains("not running"), "the overview says so too");
    app.crash().await;
    eventually("the first look after the crash", SOON, || async {
        (away(&app.get("/c/yard").await.body) >= 1).then_some(())
    })
    .await;
    app.stop().await;
    let data = app.data();
    app.larder(&["verify", data.to_str().expect("a path")]).await.expect(0);
}
