//! The event stream: durable numbers, a bounded replay, nothing told twice (CASES P4).

use crate::support::*;

async fn busy_yard(provider: &FakeProvider) -> TestApp {
    let app = TestApp::start(Config::yard(&provider.base_url()).tuned(|c| c.no_limits().every("1s"))).await;
    app.has_polled("yard", "controller").await;
    app
}

/// Changes the yard and waits until that is on the shelf.
async fn change(app: &TestApp, provider: &FakeProvider, name: &str) {
    provider.renames(1, name);
    app.target_when("yard", "controller", "the change is on the shelf", |t| t["items"][0]["title"] == name).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_stream_is_one_that_proxies_leave_alone() {
    let provider = FakeProvider::unlimited().await;
    let app = busy_yard(&provider).await;
    let mut events = app.events(None).await;
    assert_eq!(events.status, 200);
    let header = |name: &str| events.headers.get(name).and_then(|v| v.to_str().ok()).unwrap_or_default().to_owned();
    assert!(header("content-type").starts_with("text/event-stream"));
    assert!(header("cache-control").contains("no-store"));
    assert_eq!(header("x-accel-buffering"), "no");
    assert_eq!(header("content-encoding"), "");
    let seen = events.until("target_seen", SOON).await;
    let data = seen.json();
    assert_eq!((&data["connection"], &data["target"]), (&"yard".into(), &"controller".into()), "{data}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_that_comes_back_gets_the_gap_and_nothing_twice() {
    let provider = FakeProvider::unlimited().await;
    let mut app = busy_yard(&provider).await;
    let mut events = app.events(None).await;
    change(&app, &provider, "One").await;
    let last = events.until("target_changed", SOON).await.id.expect("a durable event has a number");
    drop(events);

    change(&app, &provider, "Two").await;
    change(&app, &provider, "Three").await;
    app.restart().await;
    change(&app, &provider, "Four").await;

    let mut again = app.events(Some(last)).await;
    let mut numbers = Vec::new();
    let mut changes = 0;
    while changes < 3 {
        let event = again.next(SOON).await.unwrap_or_else(|| panic!("the gap is not told: {numbers:?}"));
        if event.kind == "target_changed" {
            changes += 1;
        }
        if event.kind != "target_seen" {
            numbers.extend(event.id);
        }
    }
    assert_eq!(numbers.first(), Some(&(last + 1)), "exactly the gap");
    assert!(numbers.windows(2).all(|n| n[1] == n[0] + 1), "events are numbered without gaps: {numbers:?}");

    // The same by query, as a script does that cannot set a header.
    let mut by_query = sse::Events::open(app.address, &Ask::get(&format!("/api/v1/events?after={last}"))).await;
    let first = by_query.until("target_changed", SOON).await;
    assert!(first.id > Some(last), "{first:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_is_told_of_what_did_not_change() {
    let provider = FakeProvider::unlimited().await;
    let app = busy_yard(&provider).await;
    let mut events = app.events(None).await;
    let asked = provider.count();
    provider.has_seen(asked + 4, SOON).await;
    let mut kinds = Vec::new();
    while let Some(event) = events.next(Duration::from_millis(300)).await {
        kinds.push(event.kind);
    }
    // How the connection stands is looked at every ten seconds, and it turned once: at its first reading.
    let turns = kinds.iter().filter(|kind| *kind == "state_changed").count();
    let others: Vec<_> = kinds.iter().filter(|kind| *kind != "state_changed").collect();
    assert!(turns <= 1 && !others.is_empty() && others.iter().all(|kind| *kind == "target_seen"), "{kinds:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_is_told_only_after_it_is_on_the_shelf() {
    let provider = FakeProvider::unlimited().await;
    let app = busy_yard(&provider).await;
    let mut events = app.events(None).await;
    for name in ["Ada", "Grace", "Edsger"] {
        provider.renames(1, name);
        events.until("target_changed", SOON).await;
        assert_eq!(app.target("yard", "controller").await["items"][0]["title"], name, "told before it could be read");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_number_from_the_future_is_answered_with_a_reset() {
    let provider = FakeProvider::unlimited().await;
    let app = busy_yard(&provider).await;
    // The file was replaced by an older copy: the reader must load everything anew, not wait for ever.
    let mut events = app.events(Some(1_000_000)).await;
    events.until("reset", SOON).await;
}
