//! The gateway's shelf over restarts and crashes: it asks nobody again, makes nothing younger, and serves nothing that a write has overtaken
//! (CASES P1; laws 4, 5, 6).

use crate::support::config::IRRIGATION;
use crate::support::script::{Asked, Script};
use crate::support::wire::json;
use crate::support::*;
use larder::domain::ids::ConnectionKey;
use larder::store::{Options, Store, Writer};

/// A provider whose answers name the number of the request, so that nobody can take one for another.
fn counting(asked: &Asked) -> Vec<u8> {
    let body = format!("{{\"number\":{},\"at\":\"{}\"}}", asked.number, asked.location);
    json(200, &[("vary", "accept-language")], &body)
}

fn config(base_url: &str, server: &[&str]) -> Config {
    let gateway = "[connection.gateway]\nfresh_for = \"1d\"\n[[connection.gateway.allow]]\n\
                   methods = [\"GET\", \"HEAD\", \"POST\"]\npath = \"/**\"\n";
    let connection = Connection::plain("hub", base_url).secret_in("HUB_KEY").bearer();
    let server = server.iter().map(|line| (*line).to_owned()).collect();
    Config { server, ..Config::new().with(connection.body(gateway)) }
}

fn german(path: &str) -> Ask {
    Ask::get(path).header("accept-language", "de")
}

async fn is_hit(app: &TestApp, ask: Ask) -> bool {
    let reply = app.send(ask).await.expect(200);
    reply.header("cache-status").is_some_and(|status| status.starts_with("larder; hit"))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_asks_nobody_and_tells_the_true_age() {
    let provider = Script::answering(counting).await;
    let mut app = TestApp::start(config(&provider.base_url(), &[])).await;
    let first = app.send(german("/gateway/hub/tasks?page=2")).await.expect(200);
    let other = app.get("/gateway/hub/tasks?page=2").await.expect(200);
    assert_ne!(first.body, other.body);
    tokio::time::sleep(Duration::from_millis(1100)).await;
    app.restart().await;
    for (ask, wanted) in
        [(german("/gateway/hub/tasks?page=2"), &first), (Ask::get("/gateway/hub/tasks?page=2"), &other)]
    {
        let again = app.send(ask).await.expect(200);
        assert_eq!(again.body, wanted.body);
        for name in ["etag", "date", "last-modified"] {
            assert_eq!(again.header(name), wanted.header(name), "{name}");
        }
        let age: u64 = again.header("age").and_then(|age| age.parse().ok()).expect("an age");
        assert!(age >= 1, "{age}");
        let status = again.header("cache-status").unwrap_or_default();
        assert!(status.starts_with("larder; hit; ttl=86"), "{status}");
    }
    assert_eq!(provider.asked().len(), 2);
    assert_eq!(app.ledger("hub").await.len(), 2);
}

/// The answer waits for the next charge: a crash before that loses it whole, and one after it nothing.
#[tokio::test(flavor = "multi_thread")]
async fn a_crash_loses_the_last_answer_or_nothing() {
    let provider = Script::answering(counting).await;
    let mut app = TestApp::start(config(&provider.base_url(), &[])).await;
    let first = app.get("/gateway/hub/a").await.expect(200);
    app.get("/gateway/hub/b").await.expect(200);
    app.crash().await;
    let again = app.get("/gateway/hub/a").await.expect(200);
    assert_eq!((again.body, provider.asked().len()), (first.body, 2), "it rode with the charge of the second");
    let lost = app.get("/gateway/hub/b").await.expect(200);
    assert!(lost.header("cache-status").is_some_and(|s| s.starts_with("larder; fwd=uri-miss")), "{:?}", lost.headers);
    assert_eq!(lost.json()["at"], "/b");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_write_has_overtaken_stays_forgotten_through_restarts_and_crashes() {
    let provider = Script::answering(counting).await;
    let mut app = TestApp::start(config(&provider.base_url(), &[])).await;
    let written = || Ask::get("/gateway/hub/receipts/1");
    let write = |app: &TestApp| Ask::post("/gateway/hub/receipts/1").token(app.token()).text("{}");
    for path in ["/gateway/hub/receipts/1", "/gateway/hub/other", "/gateway/hub/last"] {
        app.get(path).await.expect(200);
    }
    app.restart().await;
    assert!(is_hit(&app, written()).await);
    app.send(write(&app)).await.expect(200);
    app.restart().await;
    assert!(!is_hit(&app, written()).await, "it was written to since");
    app.restart().await;
    assert!(is_hit(&app, written()).await, "what was read after the write is kept");
    // The crash takes the end of the write: until its deadline nobody knows when the provider carried it out.
    app.send(write(&app)).await.expect(200);
    app.crash().await;
    assert!(is_hit(&app, Ask::get("/gateway/hub/other")).await);
    assert!(!is_hit(&app, written()).await, "it was written to since");
    let seen: Vec<_> = provider.asked().iter().map(|asked| (asked.method.clone(), asked.location.clone())).collect();
    let reads = seen.iter().filter(|(method, path)| method == "GET" && path == "/receipts/1").count();
    assert_eq!((reads, seen.len()), (3, 7), "{seen:?}");
}

/// A hundred addresses of 4 kB each over the least room that there is in memory: what does not fit there is found in the file, and each
/// address gets its own answer.
#[tokio::test(flavor = "multi_thread")]
async fn what_does_not_fit_in_memory_is_found_in_the_file() {
    let provider = Script::answering(|asked| {
        let body = format!("{{\"at\":\"{}\",\"filler\":\"{}\"}}", asked.location, "x".repeat(4_000));
        json(200, &[], &body)
    })
    .await;
    let app = TestApp::start(config(&provider.base_url(), &["shelf_memory = \"64KiB\""])).await;
    for round in 0..2 {
        for n in 0..100 {
            let answer = app.get(&format!("/gateway/hub/tasks/{n}")).await.expect(200);
            assert_eq!(answer.json()["at"], format!("/tasks/{n}"), "round {round}");
        }
    }
    assert_eq!(provider.asked().len(), 100, "the second round asked nobody");
}

/// Nobody has a use for the polled answers of a connection whose gateway nobody asks: they are not written beside its items.
#[tokio::test(flavor = "multi_thread")]
async fn only_what_clients_ask_for_comes_into_the_file() {
    let provider = FakeProvider::unlimited().await;
    let mut app = TestApp::start(Config::yard(&provider.base_url()).tuned(|c| c.every("1s"))).await;
    app.has_polled("yard", "controller").await;
    assert_eq!(kept(&mut app).await, Vec::<String>::new());
    app.boots().await;
    app.get("/gateway/yard/statusschedule.php?api_key=mine").await.expect(200);
    provider.has_seen(provider.count() + 2, SOON).await;
    assert_eq!(kept(&mut app).await, ["/statusschedule.php"]);
}

/// By HTTP's rules the provider's word counts for what a target reads as for what a client asks: it is on no shelf, in memory or on disk.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_provider_forbids_to_keep_is_not_kept_of_a_poll_either() {
    for said in ["no-store, max-age=600", "private, max-age=600"] {
        let provider = Script::answering(move |asked| {
            let relay = format!("{{\"relay_id\":1,\"name\":\"n{}\",\"time\":9,\"run\":1}}", asked.number);
            json(200, &[("cache-control", said)], &format!("{{\"relays\":[{relay}]}}"))
        })
        .await;
        let gateway = "[connection.gateway]\nfreshness = \"http\"\n";
        let config = Config::yard(&provider.base_url())
            .tuned(|c| c.quiet().no_limits().body(&format!("{IRRIGATION}\n{gateway}")));
        let mut app = TestApp::start(config).await;
        app.has_polled("yard", "controller").await;
        for n in 1..=3 {
            let answer = app.get("/gateway/yard/statusschedule.php?api_key=mine").await.expect(200);
            assert_eq!(answer.json()["relays"][0]["name"], format!("n{n}"), "{said}: {:?}", answer.headers);
            let status = answer.header("cache-status").unwrap_or_default();
            assert!(status.starts_with("larder; fwd=") && !status.contains("stored"), "{said}: {status}");
        }
        assert_eq!(provider.asked().len(), 4, "{said}: the poll, and one request for each client");
        assert_eq!(kept(&mut app).await, Vec::<String>::new(), "{said}");
    }
}

/// A HEAD has no body, so that nothing but the provider's own words tells one state of what is there from another.
#[tokio::test(flavor = "multi_thread")]
async fn a_kept_head_shows_no_validator_that_the_provider_does_not_give() {
    let provider =
        Script::answering(|_| b"HTTP/1.1 200 OK\r\ncontent-length: 4711\r\nconnection: close\r\n\r\n".to_vec()).await;
    let app = TestApp::start(config(&provider.base_url(), &[])).await;
    for _ in 0..2 {
        let head = app.send(Ask::new("HEAD", "/gateway/hub/large")).await.expect(200);
        assert_eq!((head.header("etag"), head.header("last-modified")), (None, None), "{:?}", head.headers);
        assert_eq!(head.header("content-length"), Some("4711"));
    }
    assert_eq!(provider.asked().len(), 1);
}

/// What the file of an appliance that was stopped has of the gateway's answers.
async fn kept(app: &mut TestApp) -> Vec<String> {
    app.stop().await;
    let options = Options { writer: Writer::Thread, cache_bytes: 4 << 20 };
    let (store, _) = Store::open(&app.data(), options).expect("a file");
    let yard = ConnectionKey { organization: "default".into(), connection: "yard".into() };
    let (heads, _) = store.shelf_heads(&yard, None, 100).expect("heads");
    let bodies = heads.iter().filter(|head| store.shelf_body(head).expect("a body").is_some()).count();
    assert_eq!(bodies, heads.len(), "each with its body");
    store.close().expect("closed");
    heads.into_iter().map(|head| head.key.target).collect()
}
