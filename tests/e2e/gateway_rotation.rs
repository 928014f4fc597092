//! The gateway while a credential or a connection becomes another one: what the old key read is not for who asks with the new one, and streams are
//! opened by the connection that is (CASES P1).

use crate::support::script::{Asked, Script};
use crate::support::wire::{http, json};
use crate::support::*;
use feed::Feed;
use sse::Events;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError};

const TARGET: &str =
    "[[connection.target]]\nname = \"things\"\nget = \"/things\"\nitems = \"$.things[*]\"\nkey = \"$.id\"\n";

fn config(base_url: &str, more: &str) -> Config {
    let hub = Connection::plain("hub", base_url).secret_in("HUB_KEY").every("24h");
    let carrier = format!("header = \"Authorization\", scheme = \"Bearer\"{more}");
    let body = format!("[connection.gateway]\nfresh_for = \"1d\"\n{TARGET}");
    Config::new().with(Connection { carrier, ..hub.body(&body) })
}

/// Answers who asks by the number of its key; each under the same tag.
fn by_key() -> impl Fn(&Asked) -> Vec<u8> + Send + Sync {
    let keys: Mutex<Vec<String>> = Mutex::default();
    move |asked| {
        let mut keys = keys.lock().unwrap_or_else(PoisonError::into_inner);
        let key = asked.header("authorization").to_owned();
        let who = keys.iter().position(|known| *known == key).unwrap_or(keys.len());
        if who == keys.len() {
            keys.push(key);
        }
        json(200, &[("etag", "\"same\"")], &format!("{{\"who\":{who},\"things\":[{{\"id\":{who}}}]}}"))
    }
}

async fn who(app: &TestApp, path: &str) -> u64 {
    let reply = app.get(path).await.expect(200);
    reply.json()["who"].as_u64().unwrap_or_else(|| panic!("{reply:?}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn p1_what_the_old_key_read_is_not_served_for_the_new_one() {
    let is_down = Arc::new(AtomicBool::new(false));
    let (down, answer) = (is_down.clone(), by_key());
    let provider = Script::answering(move |asked| match down.load(Ordering::SeqCst) {
        true => http(503, &[], b"down"),
        false => answer(asked),
    })
    .await;
    let mut app = TestApp::start(config(&provider.base_url(), "")).await;
    let paths = ["/gateway/hub/x", "/gateway/hub/things", "/gateway/hub/y"];
    for path in paths {
        assert_eq!(who(&app, path).await, 0);
        app.send(Ask::kept(path)).await.expect(200);
    }
    let new = app.rotates("hub").await;
    for path in paths {
        app.send(Ask::kept(path)).await.expect(504);
    }
    let asked = provider.asked().len();
    for path in &paths[..2] {
        assert_eq!(who(&app, path).await, 1, "{path}");
    }
    for asked in &provider.asked()[asked..] {
        assert_eq!(asked.header("authorization"), format!("Bearer {new}"), "{asked:?}");
        assert_eq!(asked.header("if-none-match"), "", "of another account nothing is confirmed: {asked:?}");
    }
    // Nor where the provider has nothing to say.
    is_down.store(true, Ordering::SeqCst);
    app.get("/gateway/hub/y").await.expect_problem(503);
    app.restart().await;
    app.send(Ask::kept("/gateway/hub/y")).await.expect(504);
    assert_eq!(app.send(Ask::kept("/gateway/hub/x")).await.expect(200).json()["who"], 1);
}

/// It was asked for with the old key, and is answered when the new one is in force.
#[tokio::test(flavor = "multi_thread")]
async fn p1_what_was_under_way_with_the_old_key_is_for_who_asked_with_it_alone() {
    let slow = |asked: &Asked| Duration::from_millis(if asked.number < 2 { 2500 } else { 0 });
    let provider = Script::answering_each_after(slow, by_key()).await;
    let mut app = TestApp::start(config(&provider.base_url(), "")).await;
    let address = app.address;
    let paths = ["/gateway/hub/things", "/gateway/hub/x"];
    let before = paths.map(|path| tokio::spawn(async move { http::send(address, &Ask::get(path)).await }));
    eventually("both are under way", SOON, || async { (provider.asked().len() >= 2).then_some(()) }).await;
    app.rotates("hub").await;
    for path in paths {
        assert_eq!(who(&app, path).await, 1, "{path}");
    }
    for before in before {
        assert_eq!(before.await.expect("it waits").expect(200).json()["who"], 0, "it asked with the old one");
    }
    for path in paths {
        assert_eq!(who(&app, path).await, 1, "{path}, once all is there");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_another_key_of_the_same_account_read_is_served_on() {
    let provider = Script::answering(by_key()).await;
    let mut app = TestApp::start(config(&provider.base_url(), ", same_account = true")).await;
    assert_eq!(who(&app, "/gateway/hub/x").await, 0);
    let asked = provider.asked().len();
    app.rotates("hub").await;
    assert_eq!((who(&app, "/gateway/hub/x").await, provider.asked_of("/x").len()), (0, 1), "{asked}");
}

#[tokio::test(flavor = "multi_thread")]
async fn p4_a_stream_that_the_old_key_opened_ends_and_is_gone_on_with_by_the_new_one() {
    let feed = Feed::start().await;
    let mut app = TestApp::start(Config::yard(&feed.base_url()).tuned(|c| c.no_limits().body("").every("1h"))).await;
    let ask = |last: Option<&str>| {
        let ask = Ask::get("/gateway/yard/events").header("accept", "text/event-stream");
        last.iter().fold(ask, |ask, last| ask.header("last-event-id", last))
    };
    let mut tab = Events::open(app.address, &ask(None)).await;
    feed.says("one");
    let one = tab.next(SOON).await.expect("an event");
    assert_eq!(one.data, "one");
    let new = app.rotates("yard").await;
    assert!(tab.next(SOON).await.is_none(), "what was opened with the old key ends");
    feed.says("two");
    let mut tab = Events::open(app.address, &ask(Some("1"))).await;
    assert_eq!(tab.next(SOON).await.expect("an event").data, "two", "the provider goes on behind the last");
    let openings = feed.openings();
    assert_eq!(openings.iter().map(|o| o.key == new).collect::<Vec<_>>(), [false, true], "{openings:?}");
    assert_eq!((openings[1].last.as_deref(), feed.open()), (Some("1"), 1));
}

/// Written otherwise, and taken away and back: its credential is the same throughout.
#[tokio::test(flavor = "multi_thread")]
async fn p4_a_stream_of_a_connection_that_was_ends_and_is_gone_on_with_by_the_one_that_is() {
    let feed = Feed::start().await;
    let yard = Config::yard(&feed.base_url()).tuned(|c| c.no_limits().body("").every("1h"));
    let other = Connection::plain("other", &feed.base_url()).not_polled();
    let written = |app: &mut TestApp, connections: &[Connection]| {
        app.configure(Config { connections: connections.to_vec(), ..yard.clone() });
        app.rereads();
    };
    let tuned = yard.connections[0].clone().limit("openings", 100, "1h", "");
    let mut app = TestApp::start(yard.clone().with(other.clone())).await;
    let ask = Ask::get("/gateway/yard/events").header("accept", "text/event-stream");
    let mut tab = Events::open(app.address, &ask).await;
    for connections in [vec![tuned.clone(), other.clone()], vec![other.clone()]] {
        let said = feed.says("something").to_string();
        assert_eq!(tab.next(SOON).await.expect("an event").id, said.parse().ok());
        written(&mut app, &connections);
        assert!(tab.next(SOON).await.is_none(), "what the connection opened that was ends");
        if connections.len() == 1 {
            app.get("/c/yard").await.expect(404);
            written(&mut app, &[tuned.clone(), other.clone()]);
            eventually("it is there", SOON, || async { (app.get("/c/yard").await.status == 200).then_some(()) }).await;
        }
        tab = Events::open(app.address, &ask.clone().header("last-event-id", &said)).await;
    }
    feed.says("the last");
    assert_eq!(tab.next(SOON).await.expect("an event").data, "the last");
    let openings = feed.openings();
    let last: Vec<_> = openings.iter().map(|opening| opening.last.as_deref()).collect();
    assert_eq!(last, [None, Some("1"), Some("2")]);
}
