//! The provider says no, in every disguise: what is held, for how long, and what readers see meanwhile
//! (CASES I4, I5, F8, P5; laws 4, 5 and 8).

use crate::support::*;
use serde_json::Value;
use std::time::Instant;

/// A yard whose first answer was good.
async fn answered_once(provider: &FakeProvider) -> TestApp {
    let app = TestApp::start(Config::yard(&provider.base_url())).await;
    app.has_polled("yard", "controller").await;
    app
}

/// When the provider was asked next after its answer number `n` (from 0), and how long after it.
async fn gap_after(provider: &FakeProvider, n: usize, within: Duration) -> Duration {
    provider.has_seen(n + 2, within).await;
    let seen = provider.seen();
    seen[n + 1].at.duration_since(seen[n].at)
}

#[tokio::test(flavor = "multi_thread")]
async fn a53_a_lockout_in_a_200_parks_for_the_whole_window_and_keeps_the_last_good_answer() {
    let provider = FakeProvider::limited(5, secs(10)).await;
    let app = answered_once(&provider).await;
    let mut events = app.events(None).await;
    let good = app.target("yard", "controller").await;
    provider.next(Mode::Lockout);

    let held = app.connection_when("yard", "the connection is held", |c| !c["hold"].is_null()).await;
    let refused = provider.count() - 1;
    assert_eq!(held["state"], "held", "{held}");
    assert_eq!(held["hold"]["reason"], "rate_limited", "{held}");
    assert!(held["hold"]["said"].as_str().is_some_and(|s| s.contains("API rate limit exceeded")), "{held}");
    eventually("I4: the log says it in words", SOON, || async {
        app.log().to_lowercase().contains("rate limited").then_some(())
    })
    .await;

    // The last good answer is served, marked, with the provider's words.
    let target = app.target("yard", "controller").await;
    assert_eq!(target["item_count"], 3, "{target}");
    assert_eq!(target["as_of"], good["as_of"], "a refusal is not an answer (law 4)");
    assert_eq!(target["state"], "held", "{target}");
    assert_eq!(target["fresh"], false, "{target}");
    let told = target["stale"]["said"].as_str().unwrap_or_default();
    assert!(told.contains("API rate limit exceeded"), "{target}");
    for path in ["/", "/c/yard", "/c/yard/t/controller"] {
        let page = app.get(path).await.expect(200).body;
        assert!(page.contains("held"), "{path} does not say the word:\n{page}");
        assert!(page.contains("API rate limit exceeded"), "{path} hides what the provider said:\n{page}");
    }
    events.until("hold_started", SOON).await;

    // Nobody asks during the hold, also not by hand.
    let reply = app.operator().refreshes("yard", "controller").await;
    let problem = reply.clone().expect_problem(429);
    assert!(problem["not_before"].as_str().is_some(), "{problem}");
    assert!(reply.header("retry-after").is_some_and(|s| s.parse::<u64>().is_ok_and(|s| (1..=16).contains(&s))));
    assert_eq!(provider.count(), refused + 1, "the refused refresh was not sent");

    let gap = gap_after(&provider, refused, 2 * SOON).await;
    assert!(gap >= secs(15), "asked again {gap:?} after the lockout; the window is 10 s, and 15 s the least (P5)");
    app.connection_when("yard", "the hold is over", |c| c["hold"].is_null() && c["state"] == "fresh").await;
    let target = app.target_when("yard", "controller", "the next good answer", |t| t["as_of"] != good["as_of"]).await;
    assert_eq!(target["stale"], Value::Null);
    events.until("hold_ended", SOON).await;
    provider.was_never_over();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hold_survives_a_crash() {
    let provider = FakeProvider::limited(5, secs(10)).await;
    let mut app = answered_once(&provider).await;
    provider.next(Mode::Lockout);
    app.connection_when("yard", "the connection is held", |c| !c["hold"].is_null()).await;
    let refused = provider.count() - 1;

    app.crash().await;
    let held = app.connection("yard").await;
    assert_eq!(held["state"], "held", "{held}");
    assert!(held["hold"]["said"].as_str().is_some_and(|s| s.contains("rate limit")), "{held}");
    let gap = gap_after(&provider, refused, 2 * SOON).await;
    assert!(gap >= secs(10), "asked again {gap:?} after the lockout");
}

#[tokio::test(flavor = "multi_thread")]
async fn a09_retry_after_is_honoured_in_full_by_everybody() {
    let provider = FakeProvider::limited(5, secs(10)).await;
    let app = answered_once(&provider).await;
    provider.next(Mode::TooMany(Some("13")));
    let held = app.connection_when("yard", "the connection is held", |c| !c["hold"].is_null()).await;
    assert!(held["hold"]["source"].as_str().is_some_and(|s| s.to_lowercase().contains("retry-after")), "{held}");
    let refused = provider.count() - 1;
    let gap = gap_after(&provider, refused, 2 * SOON).await;
    assert!(gap >= secs(13), "asked again {gap:?} after a Retry-After of 13 s");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bare_429_holds_for_the_window() {
    let provider = FakeProvider::limited(5, secs(10)).await;
    let app = answered_once(&provider).await;
    provider.next(Mode::TooMany(None));
    app.has_charge("yard", "limited").await;
    let refused = provider.count() - 1;
    let gap = gap_after(&provider, refused, 2 * SOON).await;
    assert!(gap >= secs(10), "asked again {gap:?} after a bare 429");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_instead_of_data_replaces_nothing() {
    let provider = FakeProvider::limited(5, secs(10)).await;
    let app = answered_once(&provider).await;
    provider.is(Mode::Html);
    let charge = app.has_charge("yard", "unexpected").await;
    assert_eq!(charge["settlement"], "posted", "{charge}");
    let target = app.target("yard", "controller").await;
    assert_eq!(target["item_count"], 3, "{target}");
    app.target_when("yard", "controller", "the answer is stale", |t| t["state"] == "stale" || t["state"] == "held")
        .await;

    // A sentence of another kind, longer than is worth showing.
    let long = format!("Something else is wrong: {}", "x".repeat(400));
    provider.is(Mode::Json(200, long));
    provider.has_seen(provider.count() + 1, 2 * SOON).await;
    let charge = eventually("the long sentence is in the ledger", SOON, || async {
        app.ledger("yard").await.into_iter().find(|c| c["said"].as_str().is_some_and(|s| s.contains("Something else")))
    })
    .await;
    assert!(charge["said"].as_str().is_some_and(|s| s.chars().count() <= 160), "I4: 160 characters: {charge}");
}

#[tokio::test(flavor = "multi_thread")]
async fn sudden_emptiness_of_another_shape_is_not_an_empty_answer() {
    let provider = FakeProvider::limited(5, secs(10)).await;
    let app = answered_once(&provider).await;
    provider.next(Mode::Json(200, "{\"message\": \"hello\"}".to_owned()));
    app.has_charge("yard", "unexpected").await;
    assert_eq!(app.target("yard", "controller").await["item_count"], 3);
    assert_eq!(app.history("yard", "controller").await.len(), 3, "nothing was removed");
    let open = app.findings("?connection=yard").await;
    let [finding] = &open[..] else { panic!("{open:?}") };
    assert_eq!((&finding["kind"], &finding["target"]), (&"sudden_emptiness".into(), &"controller".into()), "{finding}");
    let sentence = finding["sentence"].as_str().unwrap_or_default();
    assert!(sentence.contains("in another shape") && sentence.contains("3 items"), "{finding}");
    eventually("it is over with the next good answer", 2 * SOON, || async {
        app.findings("?open=true").await.is_empty().then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rejected_credential_is_not_tried_again_and_its_successor_is() {
    let provider = FakeProvider::limited(5, secs(10)).await;
    let mut app = answered_once(&provider).await;
    provider.next(Mode::Unauthorized);
    let view = app.connection_when("yard", "the rejection is shown", |c| c["state"] == "credential_rejected").await;
    assert!(view["sentence"].as_str().is_some_and(|s| !s.is_empty()), "{view}");
    let asked = provider.count();
    stays("nobody asks with a rejected credential", asked, secs(7), || provider.count()).await;
    app.restart().await;
    assert_eq!(app.connection("yard").await["state"], "credential_rejected", "a restart is not a new key");
    stays("also not after a restart", asked, secs(4), || provider.count()).await;

    let old = app.secret().to_owned();
    app.stop().await;
    app.configure(Config::yard(&provider.base_url()));
    assert_ne!(app.secret(), old, "the test has rotated the key");
    app.boots().await;
    app.connection_when("yard", "the new key works", |c| c["state"] == "fresh").await;
    assert_eq!(provider.seen().last().map(|s| s.key.clone()), Some(app.secret().to_owned()));
}

#[tokio::test(flavor = "multi_thread")]
async fn trouble_only_slows_the_poller() {
    let provider = FakeProvider::unlimited().await;
    let app = TestApp::start(Config::yard(&provider.base_url()).tuned(|c| c.no_limits().every("2s"))).await;
    app.has_polled("yard", "controller").await;
    provider.is(Mode::ServerError);
    let from = provider.count();
    let began = Instant::now();
    app.has_charge("yard", "overloaded").await;
    stays("law 8", (), secs(9), || {
        let seen = provider.seen();
        for pair in seen[from..].windows(2) {
            let gap = pair[1].at.duration_since(pair[0].at);
            assert!(
                gap >= Duration::from_millis(1_500),
                "in trouble, and asked again after {gap:?} at an interval of 2 s"
            );
        }
    })
    .await;
    let normal = began.elapsed().as_secs() as usize / 2 + 1;
    assert!(provider.count() - from <= normal, "more requests in trouble than without");
    let target = app.target("yard", "controller").await;
    assert_eq!(target["item_count"], 3, "{target}");
    assert_ne!(target["state"], "fresh", "{target}");
}
