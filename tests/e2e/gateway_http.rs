//! `freshness = "http"`: the provider's words on caching count, as RFC 9111 has them, and so do its words on what is wrong. No error takes the
//! place of the last good answer for it (laws 4, 6).

use crate::support::http::{self, Reply};
use crate::support::script::Script;
use crate::support::wire::{self, json};
use crate::support::*;
use std::sync::atomic::{AtomicBool, Ordering};

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

/// Somebody who wants it anew meets a failure that calls itself fresh: what stood before stands for the others.
#[tokio::test(flavor = "multi_thread")]
async fn a_failure_that_calls_itself_fresh_takes_no_other_answer_s_place() {
    let provider = Script::answering(|asked| match asked.number {
        1 => wire::http(404, &[("cache-control", "max-age=3600")], b"not any more"),
        number => changing(number),
    })
    .await;
    let app = TestApp::start(config(&provider.base_url(), "http")).await;
    app.get("/gateway/hub/page").await.expect(200);
    app.get("/gateway/hub/page").await.expect(404);
    app.send(Ask::get("/gateway/hub/page").header("cache-control", "no-cache")).await.expect(500);
    assert_eq!(app.get("/gateway/hub/page").await.expect(404).body, "not any more");
    assert_eq!(provider.asked().len(), 3);
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

/// Two versions of one thing, told apart by their tag; the second from the first HEAD on.
fn versions(method: &str, seen: &AtomicBool) -> Vec<u8> {
    let is_new = method == "HEAD" || seen.load(Ordering::SeqCst);
    seen.store(is_new, Ordering::SeqCst);
    let (tag, body) = if is_new { ("\"2\"", "{\"version\":2}") } else { ("\"1\"", "{\"version\":1}") };
    let body = if method == "HEAD" { "" } else { body };
    json(200, &[("etag", tag), ("cache-control", "max-age=3600")], body)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_head_that_shows_a_change_takes_the_old_answer_from_memory_and_from_the_file() {
    for over_a_restart in [false, true] {
        let seen = AtomicBool::new(false);
        let provider = Script::answering(move |asked| versions(&asked.method, &seen)).await;
        let mut app = TestApp::start(config(&provider.base_url(), "http")).await;
        assert_eq!(app.get("/gateway/hub/thing").await.expect(200).json()["version"], 1);
        let asked = Ask::new("HEAD", "/gateway/hub/thing").header("cache-control", "no-cache");
        assert_eq!(app.send(asked).await.expect(200).header("etag"), Some("\"2\""));
        if over_a_restart {
            app.restart().await;
        }
        let now = app.get("/gateway/hub/thing").await.expect(200);
        assert_eq!(now.json()["version"], 2, "over a restart: {over_a_restart}");
        assert_eq!(provider.asked().len(), 3);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_head_that_confirms_the_get_that_is_kept_is_answered_as_that_would_be() {
    const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\netag: \"1\"\r\ncache-control: max-age=3600\r\nconnection: close\r\n\r\n";
    let get = || json(200, &[("etag", "\"1\""), ("x-own", "1")], "{\"version\":1}");
    let provider = Script::answering(move |asked| if asked.method == "HEAD" { HEAD.to_vec() } else { get() }).await;
    let app = TestApp::start(config(&provider.base_url(), "http")).await;
    app.get("/gateway/hub/thing").await.expect(200);
    let head = app.send(Ask::new("HEAD", "/gateway/hub/thing")).await.expect(200);
    assert_eq!((head.header("x-own"), head.header("content-length")), (Some("1"), Some("13")), "{:?}", head.headers);
    let get = app.get("/gateway/hub/thing").await.expect(200);
    assert!(status(&get).starts_with("larder; hit; ttl=3"), "renewed by the HEAD: {}", status(&get));
    assert_eq!(provider.asked().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn headers_that_are_not_to_be_shown_again_are_shown_to_who_asked_alone() {
    let provider = Script::answering(|_| {
        let said = ("cache-control", "max-age=3600, no-cache=\"x-once\", private=\"x-mine\"");
        json(200, &[said, ("x-once", "1"), ("x-mine", "2"), ("x-all", "3")], "{}")
    })
    .await;
    let app = TestApp::start(config(&provider.base_url(), "http")).await;
    for (round, wanted) in [(0, [Some("1"), Some("2")]), (1, [None, None])] {
        let reply = app.get("/gateway/hub/thing").await.expect(200);
        assert_eq!([reply.header("x-once"), reply.header("x-mine")], wanted, "round {round}");
        assert_eq!(reply.header("x-all"), Some("3"));
    }
    assert_eq!(provider.asked().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_provider_may_address_this_cache_where_its_connection_listens() {
    let provider =
        Script::answering(|_| json(200, &[("cdn-cache-control", "max-age=3600"), ("cache-control", "no-store")], "{}"))
            .await;
    for (targeted, times, announced) in [
        ("", 2, ""),
        ("targeted = [\"CDN-Cache-Control\"]\n", 1, ""),
        ("targeted = [\"Surrogate-Control\", \"CDN-Cache-Control\"]\n", 1, "larder=\"Surrogate/1.0\""),
    ] {
        let before = provider.asked().len();
        let gateway = format!("[connection.gateway]\nfreshness = \"http\"\n{targeted}");
        let connection = Connection::plain("hub", &provider.base_url()).body(&gateway);
        let app = TestApp::start(Config::new().with(connection)).await;
        for _ in 0..2 {
            app.get("/gateway/hub/thing").await.expect(200);
        }
        let asked = provider.asked();
        assert_eq!(asked.len() - before, times, "{targeted}");
        assert_eq!(asked[before].header("surrogate-capability"), announced);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_over_is_served_at_once_while_a_newer_one_is_asked_for() {
    let provider = Script::answering(|asked| {
        let said = ("cache-control", "max-age=1, stale-while-revalidate=600");
        json(200, &[said], &format!("{{\"number\":{}}}", asked.number))
    })
    .await;
    let app = TestApp::start(config(&provider.base_url(), "http")).await;
    app.get("/gateway/hub/thing").await.expect(200);
    tokio::time::sleep(Duration::from_millis(1100)).await;
    let old = app.get("/gateway/hub/thing").await.expect(200);
    assert_eq!(old.json()["number"], 0);
    assert!(status(&old).starts_with("larder; hit; ttl=-") && status(&old).contains("detail=revalidating"));
    assert!(old.header("larder-stale").is_some_and(|why| why.contains("stale-while-revalidate")), "{:?}", old.headers);
    eventually("it is asked for", SOON, || async { (provider.asked().len() == 2).then_some(()) }).await;
    eventually("the newer one is there", SOON, || async {
        let reply = app.get("/gateway/hub/thing").await.expect(200);
        (reply.json()["number"] != 0).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_provider_says_on_the_way_is_no_answer() {
    let provider = Script::answering(|_| {
        let early: &[u8] =
            b"HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: </a.css>; rel=preload\r\n\
                             cache-control: no-store\r\n\r\n";
        [early, &json(200, &[("cache-control", "max-age=3600")], "{\"final\":1}")].concat()
    })
    .await;
    let app = TestApp::start(config(&provider.base_url(), "http")).await;
    for _ in 0..2 {
        let reply = app.get("/gateway/hub/thing").await.expect(200);
        assert_eq!((reply.json()["final"].as_u64(), reply.header("link")), (Some(1), None));
    }
    assert_eq!(provider.asked().len(), 1);
}

/// Where the provider counts no 304, a client that has the answer already costs nothing though nothing is kept.
#[tokio::test(flavor = "multi_thread")]
async fn a_client_s_own_condition_goes_out_where_a_304_is_free_and_nothing_is_kept() {
    let provider = Script::answering(|asked| match asked.header("if-none-match") {
        "\"v1\"" => wire::http(304, &[("etag", "\"v1\"")], b""),
        _ => json(200, &[("etag", "\"v1\""), ("cache-control", "max-age=60")], "{\"v\":1}"),
    })
    .await;
    for (word, settled) in [("free", "voided"), ("charged", "posted")] {
        let tuned = config(&provider.base_url(), "http").tuned(|c| c.conditional(word));
        let app = TestApp::start(tuned).await;
        let has_it = || Ask::get("/gateway/hub/x").header("if-none-match", "v1");
        let told = app.send(has_it()).await.expect(304);
        assert_eq!((told.body.as_str(), told.header("etag")), ("", Some("\"v1\"")));
        assert_eq!(app.ledger("hub").await[0]["settlement"], settled, "{word}");
        app.get("/gateway/hub/x").await.expect(200);
        assert_eq!(app.send(has_it()).await.expect(304).header("age").map(|_| ()), Some(()), "from what is kept");
    }
    let conditions: Vec<String> =
        provider.asked().iter().map(|asked| asked.header("if-none-match").to_owned()).collect();
    assert_eq!(conditions, ["\"v1\"", "", ""], "with a price on it the whole is asked for, for all");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_provider_s_policy_stands_where_nothing_could_run_and_what_is_stale_warns_of_itself() {
    let provider = Script::answering(|asked| {
        let kind = if asked.path() == "/page" { "text/html" } else { "application/json" };
        let policy = ("content-security-policy", "default-src 'self'");
        match asked.number {
            0 | 1 => wire::http(200, &[("content-type", kind), policy], b"{}"),
            _ => wire::http(503, &[], b"down"),
        }
    })
    .await;
    let app = TestApp::start(config(&provider.base_url(), "http")).await;
    let policy = |reply: &Reply| reply.header("content-security-policy").unwrap_or_default().to_owned();
    assert!(policy(&app.get("/gateway/hub/page").await.expect(200)).starts_with("sandbox"));
    let data = app.get("/gateway/hub/data").await.expect(200);
    assert_eq!((policy(&data).as_str(), data.header("warning")), ("default-src 'self'", None));
    let stale = app.get("/gateway/hub/data").await.expect(200);
    assert!(stale.header("warning").is_some_and(|warning| warning.starts_with("110 larder")), "{stale:?}");
    assert!(stale.header("larder-stale").is_some(), "{stale:?}");
}
