//! Event streams through the gateway: opened once for all who read them, resumed for who comes back, and quiet where the provider wants
//! quiet (CASES P4, P5).

use crate::support::*;
use feed::{Feed, Mood};
use sse::{Events, SseEvent};
use std::time::Instant;

const STREAM: &str = "/gateway/yard/events";

fn config(feed: &Feed) -> Config {
    Config::yard(&feed.base_url()).tuned(|c| c.no_limits().body(TARGET).every("1h"))
}

/// For who also polls.
const TARGET: &str = r#"
[[connection.target]]
name = "controller"
get  = "/zones"
items = "$.zones[*]"
key   = "$.id"
"#;

async fn yard(feed: &Feed) -> TestApp {
    TestApp::start(config(feed)).await
}

fn ask(last: Option<u64>) -> Ask {
    let ask = Ask::get(STREAM).header("accept", "text/event-stream");
    match last {
        Some(id) => ask.header("last-event-id", &id.to_string()),
        None => ask,
    }
}

async fn reads(app: &TestApp, last: Option<u64>) -> Events {
    let events = Events::open(app.address, &ask(last)).await;
    assert_eq!(events.status, 200);
    events
}

async fn next(events: &mut Events) -> SseEvent {
    events.next(SOON).await.expect("an event")
}

async fn told(events: &mut Events, data: &str) {
    let event = next(events).await;
    assert_eq!((event.kind.as_str(), event.data.as_str()), ("message", data), "{event:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn p4_forty_readers_are_one_opening() {
    let feed = Feed::start().await;
    let app = yard(&feed).await;
    let (address, ask) = (app.address, ask(None));
    let tabs = futures_util::future::join_all((0..40).map(|_| Events::open(address, &ask))).await;
    let mut tabs: Vec<Events> = tabs.into_iter().inspect(|tab| assert_eq!(tab.status, 200)).collect();
    let header = |name: &str| tabs[0].headers.get(name).and_then(|v| v.to_str().ok()).unwrap_or_default().to_owned();
    assert_eq!((header("content-type").as_str(), header("x-accel-buffering").as_str()), ("text/event-stream", "no"));
    assert_eq!((header("content-encoding").as_str(), header("cache-control").as_str()), ("", "no-store"));
    for data in ["one", "two"] {
        feed.says(data);
        for tab in &mut tabs {
            told(tab, data).await;
        }
    }
    let openings = feed.openings();
    assert_eq!((openings.len(), feed.open()), (1, 1), "{openings:?}");
    assert_eq!((openings[0].accept.as_str(), openings[0].key.as_str()), ("text/event-stream", app.secret()));
    let ledger = app.ledger("yard").await.into_iter().filter(|charge| charge["caller"] == "gateway");
    let charges: Vec<_> = ledger.map(|charge| (charge["endpoint"].clone(), charge["outcome"].clone())).collect();
    assert_eq!(charges, [("/events".into(), "data".into())], "an opening is a request");
    let metrics = app.get("/metrics").await.expect(200).body;
    for (name, value) in [("streams_open", 1), ("stream_readers", 40)] {
        let line = format!("larder_gateway_{name}{{organization=\"default\",connection=\"yard\"}} {value}");
        assert!(metrics.contains(&line), "{line}\n{metrics}");
    }
    drop(tabs);
    eventually("nobody reads it", SOON, || async {
        let metrics = app.get("/metrics").await.body;
        metrics.contains("larder_gateway_stream_readers{organization=\"default\",connection=\"yard\"} 0").then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn p4_after_a_cut_it_goes_on_where_it_was_and_nobody_notices() {
    let feed = Feed::start().await;
    let app = yard(&feed).await;
    let mut tab = reads(&app, None).await;
    feed.says("one");
    told(&mut tab, "one").await;
    feed.cuts();
    feed.says("two");
    feed.says("three");
    told(&mut tab, "two").await;
    told(&mut tab, "three").await;
    let openings = feed.was_opened(2).await;
    assert_eq!(openings[1].last.as_deref(), Some("1"), "{openings:?}");
    assert!(openings[1].at - openings[0].at >= secs(1), "not without a pause: {openings:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn p4_who_comes_back_gets_the_gap_from_the_buffer() {
    let feed = Feed::start().await;
    let app = yard(&feed).await;
    let mut stays = reads(&app, None).await;
    let mut goes = reads(&app, None).await;
    let first = feed.says("one");
    told(&mut goes, "one").await;
    drop(goes);
    feed.says("two");
    feed.says("three");
    for data in ["one", "two", "three"] {
        told(&mut stays, data).await;
    }
    let mut back = reads(&app, Some(first)).await;
    told(&mut back, "two").await;
    let last = next(&mut back).await;
    assert_eq!((last.data.as_str(), last.id), ("three", Some(3)));
    assert_eq!(feed.openings().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn p4_a_gap_is_told_where_the_buffer_does_not_reach() {
    let feed = Feed::start().await;
    let app = yard(&feed).await;
    let mut tab = reads(&app, None).await;
    for n in 0..1200 {
        feed.says(&n.to_string());
    }
    while next(&mut tab).await.data != "1199" {}
    let mut back = reads(&app, Some(5)).await;
    let gap = next(&mut back).await;
    assert_eq!((gap.kind.as_str(), gap.id), ("larder-gap", None), "{gap:?}");
    assert!(gap.json()["reason"].as_str().is_some_and(|why| why.contains("not kept")), "{gap:?}");
    assert_eq!(next(&mut back).await.id, Some(201), "and everything that is kept");
    assert_eq!(feed.openings().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_reader_slows_nobody_and_is_told_its_gap() {
    let feed = Feed::start().await;
    let app = yard(&feed).await;
    // It never reads: what it does not take fills the sockets, and then nothing.
    let slow = http::Tab::open(app.address).await.stream(&ask(None)).await;
    let mut quick = reads(&app, None).await;
    let large = "x".repeat(10_000);
    for n in 0..2000u64 {
        feed.says(&format!("{n}{large}"));
        if n % 20 == 19 {
            while next(&mut quick).await.id != Some(n + 1) {}
        }
    }
    assert_eq!(feed.openings().len(), 1);
    let mut body = slow.into_body();
    let mut text = String::new();
    let all = async {
        use http_body_util::BodyExt;
        while let Some(Ok(frame)) = body.frame().await {
            text.push_str(&String::from_utf8_lossy(frame.data_ref().map(|d| d.as_ref()).unwrap_or_default()));
            if text.contains("data: 1999x") {
                break;
            }
        }
        text
    };
    let text = tokio::time::timeout(SOON, all).await.expect("the slow reader gets to the end");
    let missed: u64 = text
        .lines()
        .filter_map(|line| line.strip_prefix("data: {"))
        .map(|json| serde_json::from_str::<serde_json::Value>(&format!("{{{json}")).expect("a gap"))
        .map(|gap| gap["missed"].as_u64().expect("a count"))
        .sum();
    let got = text.lines().filter(|line| line.starts_with("id: ")).count() as u64;
    assert!(missed > 0 && got + missed == 2000, "{got} told, {missed} missed");
}

#[tokio::test(flavor = "multi_thread")]
async fn p5_a_429_holds_everything_and_the_stream_with_it() {
    let feed = Feed::start().await;
    let app = yard(&feed).await;
    let mut tab = reads(&app, None).await;
    feed.says("one");
    told(&mut tab, "one").await;
    feed.is(Mood::TooMany(Some("7")));
    feed.cuts();
    let refused = feed.was_opened(2).await[1].at;
    feed.is(Mood::Streams);
    let view = app.connection_when("yard", "the hold is there", |c| c["state"] == "held").await;
    assert!(view["hold"]["source"].as_str().is_some_and(|s| s.contains("Retry-After")), "{view}");
    let denied = app.operator().refreshes("yard", "controller").await;
    assert_eq!(denied.status, 429, "it is everybody's hold: {}", denied.body);
    let openings = feed.was_opened(3).await;
    let waited = openings[2].at - refused;
    assert!(waited >= Duration::from_millis(6_900), "opened again after {waited:?}");
    let polled = feed.polls().into_iter().filter(|at| *at > refused && *at < openings[2].at).count();
    assert_eq!(polled, 0, "also no poll");
    feed.says("two");
    told(&mut tab, "two").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn p5_who_is_refused_and_not_told_until_when_is_told_by_larder() {
    let feed = Feed::start().await;
    let app = yard(&feed).await;
    feed.is(Mood::TooMany(None));
    let first = app.send(ask(None)).await.expect(429);
    assert_eq!(first.body, "Too Many Requests", "the provider's own words");
    let wait: u64 = first.header("retry-after").and_then(|v| v.parse().ok()).expect("a time to come again");
    assert!((14..=120).contains(&wait), "{wait}");
}

#[tokio::test(flavor = "multi_thread")]
async fn p5_who_comes_to_a_held_connection_is_told_until_when() {
    let feed = Feed::start().await;
    let app = yard(&feed).await;
    feed.is(Mood::TooMany(Some("60")));
    let first = app.send(ask(None)).await.expect(429);
    assert_eq!(first.body, "Too Many Requests", "the provider's own words");
    assert_eq!(first.header("retry-after"), Some("60"), "{:?}", first.headers);
    for _ in 0..3 {
        let refused = app.send(ask(None)).await;
        let wait: u64 = refused.header("retry-after").and_then(|v| v.parse().ok()).expect("a time to come again");
        assert!((1..=66).contains(&wait), "{wait}");
        refused.expect_problem(429);
    }
    assert_eq!(feed.openings().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn p5_a_stream_that_never_speaks_is_asked_less_and_less() {
    let feed = Feed::start().await;
    let app = yard(&feed).await;
    feed.is(Mood::Babbles(": hello\n\nretry: 10\n\nid: 9\n\nevent: nothing\n\nnonsense\n\ndata: cut o"));
    let mut tab = reads(&app, None).await;
    let openings = feed.was_opened(5).await;
    let gaps: Vec<Duration> = openings.windows(2).map(|pair| pair[1].at - pair[0].at).collect();
    for (gap, least) in gaps.iter().zip([1, 2, 4, 8]) {
        assert!(*gap >= secs(least), "{gaps:?}");
    }
    feed.is(Mood::Streams);
    feed.was_opened(6).await;
    feed.says("at last");
    told(&mut tab, "at last").await;
    let spoken = Instant::now();
    feed.cuts();
    let again = feed.was_opened(7).await[6].at - spoken;
    assert!(again >= Duration::from_millis(900) && again < secs(4), "the pauses begin anew: {again:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_last_reader_gone_it_is_closed_after_a_grace() {
    let feed = Feed::start().await;
    let app = yard(&feed).await;
    let mut tab = reads(&app, None).await;
    let seen = feed.says("one");
    told(&mut tab, "one").await;
    drop(tab);
    tokio::time::sleep(secs(5)).await;
    assert_eq!(feed.open(), 1, "a page that is loaded anew finds it open");
    let back = reads(&app, Some(seen)).await;
    drop(back);
    eventually("it is closed", 2 * SOON, || async { (feed.open() == 0).then_some(()) }).await;
    assert_eq!(feed.openings().len(), 1);
    feed.says("two");
    let mut later = reads(&app, Some(seen)).await;
    told(&mut later, "two").await;
    assert_eq!(feed.openings()[1].last.as_deref(), Some("1"));
}

#[tokio::test(flavor = "multi_thread")]
async fn p4_a_restart_of_larder_loses_nothing() {
    let feed = Feed::start().await;
    let mut app = yard(&feed).await;
    let mut tab = reads(&app, None).await;
    let seen = feed.says("one");
    told(&mut tab, "one").await;
    app.terminate();
    assert!(tab.ends(SOON).await, "a stop does not wait for readers");
    assert!(app.ends(SOON).await.success());
    feed.says("two");
    app.boots().await;
    assert_eq!(feed.openings().len(), 1, "a restart opens nothing by itself");
    let mut tabs = [reads(&app, Some(seen)).await, reads(&app, Some(seen)).await];
    feed.says("three");
    for tab in &mut tabs {
        told(tab, "two").await;
        told(tab, "three").await;
    }
    assert_eq!(feed.openings().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_without_ids_says_that_something_may_be_missing() {
    let feed = Feed::start().await;
    feed.gives_no_ids();
    let app = yard(&feed).await;
    let mut tab = reads(&app, None).await;
    feed.says("one");
    told(&mut tab, "one").await;
    feed.cuts();
    let gap = next(&mut tab).await;
    assert_eq!(gap.kind, "larder-gap", "{gap:?}");
    feed.says("two");
    told(&mut tab, "two").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn stop_means_stop() {
    let feed = Feed::start().await;
    let app = yard(&feed).await;
    let mut tab = reads(&app, None).await;
    feed.says("one");
    told(&mut tab, "one").await;
    app.operator().stops("yard").await;
    eventually("it is closed", SOON, || async { (feed.open() == 0).then_some(()) }).await;
    app.send(ask(None)).await.expect_problem(409);
    stays("nobody opens it", 1, secs(5), || feed.openings().len()).await;
    app.operator().resumes("yard").await;
    feed.was_opened(2).await;
    feed.says("two");
    told(&mut tab, "two").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_stream_is_handed_on_and_not_asked_for_at_once_again() {
    let feed = Feed::start().await;
    let app = yard(&feed).await;
    feed.is(Mood::Answers(404, "{\"error\":\"no such stream\"}"));
    let answer = app.send(ask(None)).await.expect(404);
    assert_eq!(
        (answer.body.as_str(), answer.header("content-type")),
        ("{\"error\":\"no such stream\"}", Some("application/json"))
    );
    app.send(ask(None)).await.expect_problem(429);
    assert_eq!(feed.openings().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_stream_and_long_is_told_and_not_kept() {
    let feed = Feed::start().await;
    let app = yard(&feed).await;
    feed.is(Mood::Answers(404, "x".repeat(64 * 1024 + 1).leak()));
    let answer = app.send(ask(None)).await.expect(404);
    assert!(answer.body.contains("65537 bytes") && answer.body.len() < 300, "{} bytes", answer.body.len());
    assert_eq!(answer.header("content-type"), Some("text/plain; charset=utf-8"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rule_makes_a_stream_of_it_whatever_a_client_says_that_it_takes() {
    let feed = Feed::start().await;
    let body = format!("{TARGET}\n[[connection.gateway.rule]]\npath = \"/events\"\nstream = true\n");
    let app = TestApp::start(Config::yard(&feed.base_url()).tuned(|c| c.no_limits().body(&body).every("1h"))).await;
    let mut with_key = Events::open(app.address, &Ask::get(&format!("{STREAM}?api_key=whatever"))).await;
    let mut without = Events::open(app.address, &ask(None)).await;
    feed.says("one");
    told(&mut with_key, "one").await;
    told(&mut without, "one").await;
    let openings = feed.openings();
    assert_eq!(
        (openings.len(), openings[0].key.as_str()),
        (1, app.secret()),
        "a client's key is no part of the address"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_opening_is_paid_for_like_every_request() {
    let feed = Feed::start().await;
    let config =
        Config::yard(&feed.base_url()).tuned(|c| c.no_limits().limit("openings", 2, "8s", "").body(TARGET).every("1h"));
    let app = TestApp::start(config).await;
    let mut tab = reads(&app, None).await;
    for n in 0..3 {
        feed.says(&n.to_string());
        told(&mut tab, &n.to_string()).await;
        feed.cuts();
    }
    let openings = feed.was_opened(3).await;
    let apart = openings[2].at - openings[0].at;
    assert!(apart >= secs(8), "three openings within {apart:?}, and two are allowed in 8 s");
}

/// The provider has an open stream in hand for as long as it is open (law 1).
#[tokio::test(flavor = "multi_thread")]
async fn an_open_stream_is_in_flight_until_it_is_closed_and_leaves_others_a_place() {
    let at_once = |n: u32| format!("name = \"at-once\"\nrequests = {n}\nkind = \"concurrent\"");
    let feed = Feed::start().await;
    let config = Config::yard(&feed.base_url()).tuned(|c| c.no_limits().limit_text(&at_once(2)).body("").every("1h"));
    let app = TestApp::start(config).await;
    let used = async || app.connection("yard").await["budget"][0]["used"].as_u64();
    let mut tab = reads(&app, None).await;
    feed.says("one");
    told(&mut tab, "one").await;
    assert_eq!(used().await, Some(1));
    let other = Ask::get("/gateway/yard/events/others").header("accept", "text/event-stream");
    let refused = app.send(other.clone()).await.expect_problem(429);
    assert!(refused["detail"].as_str().is_some_and(|detail| detail.contains("at-once")), "{refused}");
    app.get("/gateway/yard/zones").await.expect(200);
    assert_eq!((feed.openings().len(), used().await), (1, Some(1)));
    drop(tab);
    eventually("the stream is closed", secs(60), || async { (used().await == Some(0)).then_some(()) }).await;
    let tab = Events::open(app.address, &other).await;
    assert_eq!((tab.status, feed.was_opened(2).await.len()), (200, 2));
}

#[tokio::test(flavor = "multi_thread")]
async fn where_one_request_at_a_time_is_allowed_no_stream_keeps_it() {
    let feed = Feed::start().await;
    let at_once = "name = \"at-once\"\nrequests = 1\nkind = \"concurrent\"";
    let app =
        TestApp::start(Config::yard(&feed.base_url()).tuned(|c| c.no_limits().limit_text(at_once).body(""))).await;
    let refused = app.send(ask(None)).await;
    assert!(refused.status == 429 && refused.body.contains("at-once"), "{refused:?}");
    assert_eq!(feed.openings().len(), 0);
}
