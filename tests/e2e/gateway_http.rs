//! `freshness = "http"`: the provider's words on caching count, as RFC 9111 has them, and so do its words on what is wrong. No error takes the
//! place of the last good answer for it (laws 4, 6).

use crate::support::http::{self, Reply};
use crate::support::script::Script;
use crate::support::wire::{self, json};
use crate::support::*;

fn config(base_url: &str, freshness: &str) -> Config {
    let gateway = format!("[connection.gateway]\nfreshness = \"{freshness}\"\nfresh_for = \"0s\"\n");
    Config::new().with(Connection::plain("hub", base_url).body(&gateway))
}

fn status(reply: &Reply) -> &str {
    reply.header("cache-status").unwrap_or_default()
}

/// What goes wrong by path; `/good` only after its first answer.
fn failing(path: &str, first: bool) -> Vec<u8> {
    match path {
        "/good" if first => json(200, &[("cache-control", "max-age=0")], "{\"good\":1}"),
        "/good" | "/down" => wire::http(500, &[("content-type", "text/plain")], b"the provider's own page"),
        "/limited" => wire::http(429, &[("x-own", "yes")], b"slow down"),
        "/forbidden" => wire::http(403, &[], b"not for you"),
        "/locked" => wire::http(401, &[("www-authenticate", "Basic realm=\"provider\"")], b"who are you"),
        other => panic!("nobody asks for {other}"),
    }
}

async fn provider() -> Script {
    Script::answering(|asked| failing(asked.path(), asked.number == 0)).await
}

#[tokio::test(flavor = "multi_thread")]
async fn by_http_who_asked_is_told_of_a_failure_in_the_provider_s_own_words() {
    for (path, code, words) in
        [("/down", 500, "the provider's own page"), ("/limited", 429, "slow down"), ("/forbidden", 403, "not for you")]
    {
        let provider = provider().await;
        let app = TestApp::start(config(&provider.base_url(), "http")).await;
        let told = app.get(&format!("/gateway/hub{path}")).await.expect(code);
        assert_eq!(told.body, words);
        assert!(status(&told).starts_with(&format!("larder; fwd=uri-miss; fwd-status={code}; detail=")), "{path}");
        // By the connection's own word it is a problem, as everywhere.
        let app = TestApp::start(config(&provider.base_url(), "memo")).await;
        app.get(&format!("/gateway/hub{path}")).await.expect_problem(if code == 429 { 429 } else { 503 });
    }
    // Who is limited is told when to come again, by the provider or by the hold that it set off.
    let provider = provider().await;
    let app = TestApp::start(config(&provider.base_url(), "http")).await;
    let limited = app.get("/gateway/hub/limited").await.expect(429);
    assert_eq!(limited.header("x-own"), Some("yes"));
    assert!(limited.header("retry-after").is_some_and(|s| s.parse().is_ok_and(|s: u64| s > 0)), "{limited:?}");
    // The next is told by the hold, which asks nobody.
    app.get("/gateway/hub/limited").await.expect_problem(429);
    assert_eq!(provider.asked().len(), 1);
}

/// A login that the provider asks for is the account's matter, and no client is asked for its password at Larder's own address.
#[tokio::test(flavor = "multi_thread")]
async fn a_challenge_of_the_provider_s_comes_to_no_client() {
    let provider = provider().await;
    let app = TestApp::start(config(&provider.base_url(), "http")).await;
    let told = app.get("/gateway/hub/locked").await;
    assert_eq!(told.header("www-authenticate"), None);
    told.expect_problem(503);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_last_good_answer_is_better_than_any_error() {
    let provider = provider().await;
    let app = TestApp::start(config(&provider.base_url(), "http")).await;
    app.get("/gateway/hub/good").await.expect(200);
    let kept = app.get("/gateway/hub/good").await.expect(200);
    assert_eq!(kept.body, "{\"good\":1}");
    assert!(kept.header("larder-stale").is_some(), "{:?}", kept.headers);
}

/// Of those who waited together one is told in the provider's words; the others are not sent there one by one.
#[tokio::test(flavor = "multi_thread")]
async fn a_failure_is_asked_for_once_however_many_wait_for_it() {
    let provider = Script::answering_after(Duration::from_millis(400), |_| wire::http(500, &[], b"down")).await;
    let app = TestApp::start(config(&provider.base_url(), "http")).await;
    let address = app.address;
    app.get("/livez").await.expect(200);
    let mut crowd = tokio::task::JoinSet::new();
    for _ in 0..20 {
        crowd.spawn(async move { http::send(address, &Ask::get("/gateway/hub/all")).await });
    }
    let told: Vec<Reply> = crowd.join_all().await;
    let own = told.iter().filter(|reply| reply.status == 500 && reply.body == "down").count();
    let others = told.iter().filter(|reply| reply.status == 503).count();
    assert_eq!((own, others, provider.asked().len()), (1, 19, 1));
}

/// An answer to `/page` that changes from one request to the next.
fn changing(number: usize) -> Vec<u8> {
    let fresh = ("cache-control", "max-age=2");
    match number {
        0 => json(200, &[("cache-control", "max-age=0")], "{\"good\":1}"),
        1 => wire::http(404, &[fresh], b"not any more"),
        _ => wire::http(500, &[("cache-control", "max-age=3600")], b"down"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_provider_itself_calls_fresh_is_served_while_it_is_and_takes_no_good_answer_s_place() {
    let provider = Script::answering(|asked| changing(asked.number)).await;
    let mut app = TestApp::start(config(&provider.base_url(), "http")).await;
    app.get("/gateway/hub/page").await.expect(200);
    let gone = app.get("/gateway/hub/page").await.expect(404);
    assert_eq!(gone.body, "not any more");
    assert!(status(&gone).contains("; stored"), "{}", status(&gone));
    for _ in 0..2 {
        let again = app.get("/gateway/hub/page").await.expect(404);
        assert_eq!(again.body, "not any more");
        assert!(status(&again).starts_with("larder; hit; ttl="), "{}", status(&again));
    }
    assert_eq!(provider.asked().len(), 2);
    tokio::time::sleep(secs(2)).await;
    // It is over. The provider fails now, for an hour as it says: the last good answer comes back, and no restart loses it.
    for _ in 0..2 {
        let kept = app.get("/gateway/hub/page").await.expect(200);
        assert_eq!(kept.body, "{\"good\":1}");
        assert!(kept.header("larder-stale").is_some(), "{:?}", kept.headers);
        app.restart().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redirect_that_is_fresh_is_kept_over_a_restart_and_leads_home() {
    let provider = Script::answering(|asked| {
        let there = format!("http://{}/v2/things", asked.header("host"));
        wire::http(301, &[("location", &there), ("cache-control", "max-age=3600")], b"")
    })
    .await;
    let mut app = TestApp::start(config(&provider.base_url(), "http")).await;
    for round in 0..3 {
        let moved = app.get("/gateway/hub/things").await.expect(301);
        assert_eq!(moved.header("location"), Some("/gateway/hub/v2/things"), "round {round}");
        if round == 1 {
            app.restart().await;
        }
    }
    assert_eq!(provider.asked().len(), 1);
}
