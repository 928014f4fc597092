//! The refresh by hand: narrow, visible, budgeted (CASES I2, F6; law 3).

use crate::support::*;
use serde_json::Value;

/// Two requests per 20 s, one of them kept; a poller that asks once and then not for a long time.
fn config(provider: &FakeProvider) -> Config {
    Config::yard(&provider.base_url())
        .tuned(|c| c.no_limits().limit("status", 2, "20s", "keep = { refresh = 1 }").quiet().min_age("4s"))
}

/// The moment before which it is of no use, in seconds from now, with one second of rounding.
fn wait_of(reply: &http::Reply) -> u64 {
    let wait = reply.header("retry-after").and_then(|s| s.parse().ok());
    wait.unwrap_or_else(|| panic!("no Retry-After in whole seconds: {:?}", reply.headers))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_young_answer_is_not_asked_for_again() {
    let provider = FakeProvider::limited(2, secs(20)).await;
    let app = TestApp::start(config(&provider)).await;
    app.has_polled("yard", "controller").await;
    let asked = provider.count();

    let reply = app.operator().refreshes("yard", "controller").await;
    let problem = reply.clone().expect_problem(429);
    assert!((1..=5).contains(&wait_of(&reply)), "{problem}");
    assert!(problem["not_before"].as_str().is_some_and(|t| t.ends_with('Z')), "{problem}");
    assert!(problem["detail"].as_str().is_some_and(|d| d.contains(" s")), "says how young it is: {problem}");
    assert_eq!(provider.count(), asked, "a refusal costs nothing");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_kept_unit_funds_one_refresh() {
    let provider = FakeProvider::limited(2, secs(20)).await;
    let app = TestApp::start(config(&provider)).await;
    let first = app.has_polled("yard", "controller").await;
    provider.renames(1, "Front lawn");

    let refreshed = eventually("the answer is old enough", SOON, || async {
        let reply = app.operator().refreshes("yard", "controller").await;
        if reply.status == 200 { Some(reply.json()) } else { None }
    })
    .await;
    assert_eq!(refreshed["refreshed"], true, "{refreshed}");
    assert_ne!(refreshed["target"]["as_of"], first["as_of"]);
    assert_eq!(refreshed["target"]["items"][0]["title"], "Front lawn", "the answer carries what was learned");
    assert_eq!(provider.count(), 2);
    let gap = provider.seen()[1].at.duration_since(provider.seen()[0].at);
    assert!(gap >= secs(4), "refreshed an answer that was only {gap:?} old");

    let callers: Vec<Value> = app.ledger("yard").await.iter().map(|c| c["caller"].clone()).collect();
    assert_eq!(callers, ["poller", "refresh"]);
    let view = app.connection("yard").await;
    let budget =
        view["budget"].as_array().and_then(|b| b.iter().find(|b| b["endpoint"] == STATUS)).expect("its budget");
    assert_eq!(budget["used_by"]["refresh"], 1, "{budget}");

    // Old enough again, but nothing is left: the budget says until when.
    let refused = eventually("the refusal is the budget's", SOON, || async {
        let reply = app.operator().refreshes("yard", "controller").await;
        let budgeted = reply.status == 429 && wait_of(&reply) > 5;
        budgeted.then_some(reply)
    })
    .await;
    let problem = refused.expect_problem(429);
    assert!(problem["not_before"].as_str().is_some(), "{problem}");
    assert_eq!(provider.count(), 2);
    provider.was_never_over();
}

#[tokio::test(flavor = "multi_thread")]
async fn a08_many_hands_share_one_request() {
    let provider = FakeProvider::limited(2, secs(20)).await;
    let app = TestApp::start(config(&provider).tuned(|c| c.min_age("2s"))).await;
    app.has_polled("yard", "controller").await;
    provider.is(Mode::Slow(secs(1)));
    tokio::time::sleep(secs(2)).await;

    let operator = app.operator();
    let replies = futures_util::future::join_all((0..10).map(|_| operator.refreshes("yard", "controller"))).await;
    assert_eq!(provider.count(), 2, "ten hands, one request");
    for reply in &replies {
        assert!(reply.status == 200 || reply.status == 429, "{reply:?}");
    }
    assert!(replies.iter().any(|r| r.status == 200), "nobody got through: {:?}", replies[0]);
    provider.was_never_over();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refresh_that_fails_serves_what_there_is() {
    let provider = FakeProvider::limited(2, secs(20)).await;
    let app = TestApp::start(config(&provider).tuned(|c| c.min_age("1s"))).await;
    let first = app.has_polled("yard", "controller").await;
    provider.is(Mode::ServerError);
    eventually("the refresh was sent", SOON, || async {
        app.operator().refreshes("yard", "controller").await;
        (provider.count() == 2).then_some(())
    })
    .await;
    let target = app.target_when("yard", "controller", "the trouble is told", |t| !t["stale"].is_null()).await;
    assert_eq!(target["as_of"], first["as_of"], "law 4");
    assert_eq!(target["item_count"], 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_there_cannot_be_refreshed() {
    let provider = FakeProvider::unlimited().await;
    let app = TestApp::start(config(&provider)).await;
    app.operator().refreshes("yard", "attic").await.expect_problem(404);
    app.operator().refreshes("cellar", "controller").await.expect_problem(404);
    app.get("/api/v1/connections/cellar").await.expect_problem(404);
    app.get("/api/v1/jobs/4711").await.expect_problem(404);
    let page = app.send(Ask::get("/c/cellar").header("accept", "text/html")).await.expect(404);
    assert!(page.header("content-type").is_some_and(|c| c.starts_with("text/html")), "a page for people");
}
