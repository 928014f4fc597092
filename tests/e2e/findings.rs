//! What the owners should know: one finding while it is so, on every surface, through a restart, closed when it is over.

use crate::support::config::IRRIGATION;
use crate::support::*;

#[tokio::test(flavor = "multi_thread")]
async fn sudden_emptiness_is_a_finding_until_it_is_over_and_nobody_hastens_it() {
    let provider = FakeProvider::unlimited().await;
    let config = Config::yard(&provider.base_url()).tuned(|c| c.no_limits().every("60s").min_age("1ms"));
    let mut app = TestApp::start(config).await;
    app.has_polled("yard", "controller").await;
    let mut events = app.events(None).await;
    provider.next(Mode::Json(200, "{\"relays\": []}".to_owned()));
    app.operator().refreshes("yard", "controller").await;
    let told = events.until("finding_opened", SOON).await.json();
    assert_eq!((&told["connection"], &told["target"]), (&"yard".into(), &"controller".into()), "{told}");

    let open = app.findings("?open=true&connection=yard").await;
    let [finding] = &open[..] else { panic!("{open:?}") };
    assert_eq!((&finding["kind"], &finding["count"]), (&"sudden_emptiness".into(), &1.into()), "{finding}");
    let sentence = finding["sentence"].as_str().expect("a sentence");
    assert!(sentence.contains("3 items"), "{sentence}");
    assert!(told["message"] == finding["sentence"] && finding["closed_at"].is_null(), "{told} {finding}");
    assert_eq!(app.target("yard", "controller").await["item_count"], 3, "the last good answer stays");

    app.restart().await;
    assert_eq!(
        app.connection("yard").await["findings"][0]["sentence"],
        finding["sentence"],
        "a restart forgets nothing"
    );
    for page in ["/", "/c/yard"] {
        let html = app.get(page).await.body;
        assert!(html.contains("3 items") && html.contains("those stay"), "{page} says it");
    }
    assert!(app.larder(&["status"]).await.all().contains("Worth knowing:"), "so does the command line");
    let metrics = app.get("/metrics").await.body;
    let gauge = "larder_findings_open{organization=\"default\",connection=\"yard\",kind=\"sudden_emptiness\"} 1";
    assert!(metrics.contains(gauge), "{metrics}");

    // Somebody impatient asks again and is answered the same: that is no confirmation.
    provider.next(Mode::Json(200, "{\"relays\": []}".to_owned()));
    app.operator().refreshes("yard", "controller").await;
    assert_eq!(app.target("yard", "controller").await["item_count"], 3, "the last good answer still stays");
    assert_eq!(app.findings("?open=true").await[0]["count"], 2);
    assert!(sentence.contains("not before"), "{sentence}");

    let mut events = app.events(None).await;
    app.operator().refreshes("yard", "controller").await;
    events.until("finding_closed", SOON).await;
    assert!(app.findings("?open=true").await.is_empty());
    let all = app.findings("").await;
    assert!(all.len() == 1 && all[0]["closed_at"].is_string(), "kept, and closed: {all:?}");
    assert!(!app.get("/c/yard").await.body.contains("Worth knowing"), "nothing to know, nothing shown");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_configured_no_more_is_worth_knowing_no_more() {
    let provider = FakeProvider::unlimited().await;
    let config = |name: &str| {
        let yard = Connection::irrigation(name, &provider.base_url());
        Config::new().with(yard.no_limits().every("60s").min_age("1ms"))
    };
    let mut app = TestApp::start(config("yard")).await;
    app.has_polled("yard", "controller").await;
    provider.next(Mode::Json(200, "{\"relays\": []}".to_owned()));
    app.operator().refreshes("yard", "controller").await;
    eventually("it is found", SOON, || async { app.findings("?open=true").await.pop() }).await;
    app.stop().await;
    app.configure(config("garden"));
    app.boots().await;
    assert!(app.findings("?open=true").await.is_empty());
    assert_eq!(app.findings("").await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_announced_end_is_found_once_and_is_over_when_it_is_not_said_any_more() {
    let provider = FakeProvider::unlimited().await;
    let config = Config::yard(&provider.base_url()).tuned(|c| c.no_limits().every("60s").min_age("1ms"));
    provider.is(Mode::Saying("Sunset", "Wed, 15 Jun 2095 12:00:00 GMT"));
    let app = TestApp::start(config).await;
    app.has_polled("yard", "controller").await;
    app.operator().refreshes("yard", "controller").await;
    let open = app.findings("?open=true&connection=yard").await;
    let [finding] = &open[..] else { panic!("{open:?}") };
    assert_eq!((&finding["kind"], &finding["count"]), (&"deprecated".into(), &2.into()), "{finding}");
    let sentence = finding["sentence"].as_str().expect("a sentence");
    assert!(sentence.contains("15 Jun 2095"), "{sentence}");

    provider.is(Mode::Normal);
    let mut events = app.events(None).await;
    app.operator().refreshes("yard", "controller").await;
    events.until("finding_closed", SOON).await;
    assert!(app.findings("?open=true").await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wait_above_the_ceiling_is_found_until_the_provider_answers_again() {
    let provider = FakeProvider::unlimited().await;
    let waits = "[connection.waits]\nfloor = \"1s\"\ndefault = \"2s\"\nceiling = \"3s\"\n";
    let body = format!("{IRRIGATION}\n{waits}");
    let config = Config::yard(&provider.base_url()).tuned(|c| c.no_limits().every("60s").min_age("1ms").body(&body));
    let mut app = TestApp::start(config).await;
    app.has_polled("yard", "controller").await;
    let mut events = app.events(None).await;
    provider.next(Mode::TooMany(Some("3600")));
    app.operator().refreshes("yard", "controller").await;
    let told = events.until("finding_opened", SOON).await.json();
    let open = app.findings("?open=true&connection=yard").await;
    let [finding] = &open[..] else { panic!("{open:?}") };
    assert_eq!((&finding["kind"], &finding["count"]), (&"wait_above_ceiling".into(), &1.into()), "{finding}");
    assert_eq!(told["message"], finding["sentence"]);
    let sentence = finding["sentence"].as_str().expect("a sentence");
    assert!(sentence.contains("1 h") && sentence.contains("the hold is 3 s long"), "{sentence}");

    app.restart().await;
    assert_eq!(app.findings("?open=true").await, open, "a restart settles nothing");
    eventually("the hold is over and the provider answers", SOON, || async {
        let reply = app.operator().refreshes("yard", "controller").await;
        (reply.status == 200 && reply.json()["refreshed"] == true).then_some(())
    })
    .await;
    assert!(app.findings("?open=true").await.is_empty(), "{:?}", app.findings("").await);
    let all = app.findings("").await;
    assert!(all.len() == 1 && all[0]["closed_at"].is_string(), "kept, and closed: {all:?}");
}
