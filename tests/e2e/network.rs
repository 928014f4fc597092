//! Slow, broken and moved providers: what is charged, what is served, and that no reader waits (CASES F6; laws 1, 2, 3).

use crate::support::*;
use serde_json::Value;

/// On a machine that builds something else at the same time. The provider takes more than twice as long.
const READER_BOUND: Duration = Duration::from_millis(2_500);

/// Newest charge of the yard's poller that is no longer pending.
async fn settled(app: &TestApp, outcome: &str, settlement: &str) -> Value {
    let charge = app.has_charge("yard", outcome).await;
    assert_eq!(charge["settlement"], settlement, "{charge}");
    charge
}

async fn answered_once(provider: &FakeProvider, tune: impl FnOnce(Connection) -> Connection) -> TestApp {
    let app = TestApp::start(Config::yard(&provider.base_url()).tuned(tune)).await;
    app.has_polled("yard", "controller").await;
    app
}

#[tokio::test(flavor = "multi_thread")]
async fn readers_never_wait_for_a_slow_provider() {
    let provider = FakeProvider::limited(5, secs(10)).await;
    let app = answered_once(&provider, |c| c.timeout("6s")).await;
    provider.is(Mode::Slow(secs(60)));
    let asked = provider.count();
    provider.has_seen(asked + 1, SOON).await;

    let mut readers = app.readers(10).await;
    let paths =
        ["/", "/c/yard", "/c/yard/t/controller", "/api/v1/connections", "/api/v1/connections/yard/targets/controller"];
    let mut reads = 0;
    while app.ledger("yard").await.iter().all(|c| c["outcome"] != "timed_out") {
        for reply in readers.load(&paths).await {
            assert!(reply.took < READER_BOUND, "a reader waited {:?} while the provider was slow", reply.took);
            reads += 1;
        }
        assert!(reads < 100_000, "the request never timed out");
    }
    assert!(reads > 0, "nobody read meanwhile");
    settled(&app, "timed_out", "posted").await;
    let target = app.target("yard", "controller").await;
    assert_eq!(target["item_count"], 3, "{target}");
    assert!(target["stale"]["reason"].as_str().is_some_and(|r| !r.is_empty()), "law 5: the reason in words: {target}");
    provider.was_never_over();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_in_time_is_taken_however_slow() {
    let provider = FakeProvider::limited(5, secs(10)).await;
    provider.is(Mode::Slow(secs(2)));
    let app = answered_once(&provider, |c| c).await;
    provider.has_seen(4, 2 * SOON).await;
    assert_eq!(app.target("yard", "controller").await["state"], "fresh");
    assert_eq!(provider.open_most(), 1, "the poller asks one question at a time");
    provider.was_never_over();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dropped_connection_is_charged() {
    let provider = FakeProvider::limited(5, secs(10)).await;
    let app = answered_once(&provider, |c| c).await;
    provider.next(Mode::Drop);
    settled(&app, "dropped", "posted").await;
    assert_eq!(app.target("yard", "controller").await["item_count"], 3);
    provider.has_seen(6, 2 * SOON).await;
    provider.was_never_over();
    let asked = provider.count();
    let charged = app.ledger("yard").await.iter().filter(|c| c["settlement"] != "voided").count();
    assert!(charged >= asked, "a lost answer stays charged: {charged} charges for {asked} requests");
}

#[tokio::test(flavor = "multi_thread")]
async fn half_an_answer_is_no_answer() {
    let provider = FakeProvider::limited(5, secs(10)).await;
    let app = answered_once(&provider, |c| c).await;
    provider.next(Mode::Cut);
    let charge = eventually("the cut answer is in the ledger", SOON, || async {
        let ledger = app.ledger("yard").await;
        ledger.into_iter().find(|c| c["outcome"] == "undecodable" || c["outcome"] == "dropped")
    })
    .await;
    assert_eq!(charge["settlement"], "posted", "{charge}");
    assert_eq!(app.target("yard", "controller").await["item_count"], 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_socket_costs_nothing() {
    let mut provider = FakeProvider::limited(5, secs(10)).await;
    let app = answered_once(&provider, |c| c).await;
    provider.goes_away();
    settled(&app, "unreachable", "voided").await;
    let target = app.target("yard", "controller").await;
    assert_eq!(target["item_count"], 3, "{target}");
    provider.comes_back().await;
    app.target_when("yard", "controller", "good again", |t| t["stale"].is_null() && t["state"] == "fresh").await;
    provider.was_never_over();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_without_end_is_given_up() {
    let provider = FakeProvider::limited(5, secs(10)).await;
    let app = answered_once(&provider, |c| c.timeout("10s")).await;
    provider.next(Mode::Json(200, format!("{{\"relays\": [], \"pad\": \"{}\"}}", "x".repeat(11 << 20))));
    settled(&app, "too_large", "posted").await;
    assert_eq!(app.target("yard", "controller").await["item_count"], 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn each_hop_of_a_redirect_is_charged() {
    let provider = FakeProvider::limited(5, secs(10)).await;
    provider.is(Mode::RedirectHere);
    let app = TestApp::start(Config::yard(&provider.base_url()).tuned(|c| c.quiet())).await;
    let target = app.has_polled("yard", "controller").await;
    assert_eq!(target["item_count"], 3, "{target}");
    assert_eq!(provider.count_of("/v2/statusschedule.php"), 1);
    let ledger = app.ledger("yard").await;
    assert_eq!(ledger.len(), provider.count(), "law 2: one request, one charge: {ledger:?}");
    assert!(provider.seen()[1].key == app.secret(), "the same host may have the key");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hop_that_is_not_funded_ends_the_round() {
    let provider = FakeProvider::unlimited().await;
    provider.is(Mode::RedirectHere);
    let tune = |c: Connection| {
        c.no_limits().limit_text("name = \"few\"\nrequests = 1\nwindow = \"3s\"\nkind = \"rolling\"").every("8s")
    };
    let app = TestApp::start(Config::yard(&provider.base_url()).tuned(tune)).await;
    provider.has_seen(2, 2 * SOON).await;
    let seen = provider.seen();
    let gap = seen[1].at.duration_since(seen[0].at);
    assert!(gap > secs(7), "law 8: asked again after {gap:?}, before its interval was over");
    assert!(seen.iter().all(|s| !s.endpoint.starts_with("/v2")), "the hop was not funded: {seen:?}");
    let target = app.target("yard", "controller").await;
    assert!(target.to_string().contains("needs another request"), "{target}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redirect_to_another_host_never_takes_the_key_along() {
    let stranger = FakeProvider::unlimited().await;
    let provider = FakeProvider::limited(5, secs(10)).await;
    let app = answered_once(&provider, |c| c).await;
    provider.next(Mode::RedirectTo(stranger.base_url()));
    settled(&app, "redirect_refused", "posted").await;
    assert_eq!(stranger.count(), 0, "the stranger was asked: {:?}", stranger.seen());
    assert_eq!(app.target("yard", "controller").await["item_count"], 3);
}

/// What was asked already will not answer otherwise now: one request, and it is said that it goes round.
#[tokio::test(flavor = "multi_thread")]
async fn a_redirect_in_a_circle_costs_one_request() {
    let provider = FakeProvider::limited(5, secs(10)).await;
    let app = TestApp::start(Config::yard(&provider.base_url()).tuned(|c| c.quiet().min_age("1s"))).await;
    app.has_polled("yard", "controller").await;
    let asked = provider.count();
    provider.is(Mode::RedirectTo(provider.base_url()));
    eventually("the answer is old enough", SOON, || async {
        let reply = app.operator().refreshes("yard", "controller").await;
        (reply.status == 200).then_some(())
    })
    .await;
    let target = app.target("yard", "controller").await;
    assert!(target["stale"]["reason"].as_str().is_some_and(|r| r.contains("in a circle")), "{target}");
    assert_eq!(provider.count(), asked + 1, "{:?}", provider.seen());
    assert_eq!(app.ledger("yard").await.len(), provider.count(), "law 2");
    settled(&app, "redirect_refused", "posted").await;
}
