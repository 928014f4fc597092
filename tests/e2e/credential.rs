//! The credential is the budget boundary, and it never shows up anywhere but on its way to its own host (CASES F1).

use crate::support::quota::{CountedBy, Quota};
use crate::support::*;
use serde_json::Value;

/// Four per 10 s over everything that holds the key.
const SHARED: &str = "name = \"account\"\nrequests = 4\nwindow = \"10s\"\nkind = \"rolling\"";

async fn shared_account() -> FakeProvider {
    FakeProvider::with(Some(Quota::new(4, secs(10), CountedBy::Key))).await
}

fn used(connection: &Value) -> u64 {
    connection["budget"][0]["used"].as_u64().unwrap_or_else(|| panic!("no budget in {connection}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn two_connections_with_one_secret_share_one_budget() {
    let provider = shared_account().await;
    let link =
        |name: &str| Connection::irrigation(name, &provider.base_url()).no_limits().limit_text(SHARED).every("3s");
    let mut app = TestApp::start(Config::new().with(link("front")).with(link("back"))).await;
    app.has_polled("front", "controller").await;
    app.has_polled("back", "controller").await;
    eventually("both show the same count", SOON, || async {
        let (front, back) = (used(&app.connection("front").await), used(&app.connection("back").await));
        (front == back && front >= 2).then_some(())
    })
    .await;
    provider.has_seen(6, 2 * SOON).await;
    app.crash().await;
    provider.has_seen(10, 2 * SOON).await;
    provider.was_never_over();
    // Nobody starves: both go on.
    for name in ["front", "back"] {
        let charges = app.ledger(name).await;
        assert!(charges.len() >= 3, "{name} had only {} of {} requests", charges.len(), provider.count());
        assert!(charges.iter().all(|c| c["connection"].as_str().is_some_and(|c| c.ends_with(name))), "{charges:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_more_are_in_flight_than_the_provider_allows_also_over_a_crash() {
    let provider = FakeProvider::unlimited().await;
    provider.is(Mode::Slow(Duration::from_millis(1_500)));
    let open = "name = \"open\"\nrequests = 2\nkind = \"concurrent\"";
    let mut app = TestApp::start(house(&provider, open, "1s")).await;
    provider.has_seen(6, SOON).await;
    app.crash().await;
    provider.has_seen(provider.count() + 6, 2 * SOON).await;
    assert_eq!(provider.open_most(), 2, "what a crash left in flight is still in flight");
}

/// The four connections of a house, with one secret and one limit.
fn house(provider: &FakeProvider, limit: &str, interval: &str) -> Config {
    HOUSE.into_iter().fold(Config::new(), |config, name| {
        let link = Connection::irrigation(name, &provider.base_url()).no_limits().limit_text(limit);
        config.with(link.every(interval).timeout("3s"))
    })
}

const HOUSE: [&str; 4] = ["front", "back", "side", "roof"];

/// Each of the house was answered so often.
async fn everybody_was_answered(app: &TestApp, times: usize) {
    for name in HOUSE {
        eventually(&format!("{name} was answered {times} times and does not starve"), 2 * SOON, || async {
            let answered = app.ledger(name).await.iter().filter(|c| c["outcome"] == "data").count();
            (answered >= times).then_some(())
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_starves_where_two_may_be_in_flight() {
    let provider = FakeProvider::unlimited().await;
    provider.is(Mode::Slow(Duration::from_millis(1_500)));
    // Each wants 1.5 s of every 4 s of two lanes: three quarters of what there is.
    let app = TestApp::start(house(&provider, "name = \"open\"\nrequests = 2\nkind = \"concurrent\"", "4s")).await;
    everybody_was_answered(&app, 4).await;
    assert_eq!(provider.open_most(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_starves_at_an_even_pace() {
    let provider = FakeProvider::unlimited().await;
    // Four requests in 5 s at a pace of one a second.
    let pace = "name = \"pace\"\nrequests = 4\nwindow = \"4s\"\nkind = \"pace\"";
    let app = TestApp::start(house(&provider, pace, "5s")).await;
    everybody_was_answered(&app, 4).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rotated_secret_starts_its_own_budget() {
    let provider = shared_account().await;
    let config = || {
        let link = Connection::irrigation("yard", &provider.base_url()).no_limits().limit_text(SHARED).every("2500ms");
        Config::new().with(link)
    };
    let mut app = TestApp::start(config()).await;
    provider.has_seen(3, SOON).await;
    let old = app.secret().to_owned();
    app.stop().await;
    app.configure(config());
    app.boots().await;
    assert!(used(&app.connection("yard").await) <= 1, "the old key's spending is not the new key's");
    provider.has_seen(5, SOON).await;
    let seen = provider.seen();
    assert!(seen.iter().take(3).all(|s| s.key == old));
    assert_eq!(seen.last().map(|s| s.key.as_str()), Some(app.secret()));
    assert_eq!(app.history("yard", "controller").await.len(), 3, "a new key forgets nothing of the items");
    provider.was_never_over();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_secret_travels_in_a_header_where_told_so() {
    let provider = FakeProvider::unlimited().await;
    let connection = Connection::irrigation("yard", &provider.base_url()).bearer();
    let app = TestApp::start(Config::new().with(connection)).await;
    app.has_polled("yard", "controller").await;
    let seen = &provider.seen()[0];
    assert_eq!(seen.headers.get("authorization").map(String::as_str), Some(&*format!("Bearer {}", app.secret())));
    assert!(!seen.parameters.contains_key("api_key"), "{}", seen.query);
}

/// Everything that a reader can ask for.
async fn surfaces(app: &TestApp) -> Vec<(String, String)> {
    let api = "/api/v1/connections/yard";
    let paths = [
        "/",
        "/c/yard",
        "/c/yard/t/controller",
        "/metrics",
        "/readyz",
        "/livez",
        "/api/v1/connections",
        api,
        &format!("{api}/targets"),
        &format!("{api}/targets/controller"),
        &format!("{api}/targets/controller/history?after=0"),
        &format!("{api}/ledger?after=0"),
        "/api/v1/jobs/1",
        "/c/nowhere",
        "/api/v1/nowhere",
    ]
    .map(str::to_owned);
    let mut all = Vec::new();
    for path in paths {
        let reply = app.get(&path).await;
        all.push((path, format!("{:?}\n{}", reply.headers, reply.body)));
    }
    let mut events = app.events(Some(0)).await;
    while let Some(event) = events.next(secs(1)).await {
        all.push(("/api/v1/events".to_owned(), format!("{event:?}")));
    }
    for arguments in [["status", "--json"].as_slice(), &["status"], &["check"]] {
        all.push((format!("larder {arguments:?}"), app.larder_here(arguments).await.all()));
    }
    all
}

#[tokio::test(flavor = "multi_thread")]
async fn the_secret_is_nowhere_else_whatever_goes_wrong() {
    let stranger = FakeProvider::unlimited().await;
    let mut provider = FakeProvider::unlimited().await;
    // `debug` is the most talkative that an operator would ask for.
    let mut config = Config::yard(&provider.base_url()).tuned(|c| c.no_limits().every("1s").timeout("2s"));
    config.environment.insert("LARDER_LOG".to_owned(), "debug".to_owned());
    let mut app = TestApp::start(config.clone()).await;
    let secret = config.environment["YARD_KEY"].clone();
    app.has_polled("yard", "controller").await;
    assert!(provider.seen().iter().all(|s| s.key == secret), "the key travels whole");

    app.operator().runs_zone(1).await;
    let mischief =
        [Mode::EchoKey, Mode::RedirectTo(stranger.base_url()), Mode::Drop, Mode::Cut, Mode::Slow(secs(3)), Mode::Html];
    for mode in mischief {
        let what = format!("{mode:?} was met");
        let asked = provider.count();
        provider.next(mode);
        eventually(&what, 3 * SOON, || async { (provider.count() > asked).then_some(()) }).await;
    }
    provider.goes_away();
    eventually("the provider is away", 3 * SOON, || async {
        app.ledger("yard").await.iter().any(|c| c["outcome"] == "unreachable").then_some(())
    })
    .await;

    let ledger = app.ledger("yard").await;
    let echoed = ledger.iter().find(|c| c["said"].as_str().is_some_and(|s| s.contains("was not understood")));
    assert!(echoed.is_some(), "the provider's words are told, without the key: {ledger:#?}");
    for (surface, text) in surfaces(&app).await {
        let leak = secret::find(text.as_bytes(), &secret);
        assert!(leak.is_none(), "{surface} tells the secret: {leak:?}");
    }
    assert_eq!(stranger.count(), 0);
    app.crash().await;
    app.stop().await;
    app.kept_its_secrets();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_that_is_not_there_is_a_sentence() {
    let provider = FakeProvider::unlimited().await;
    let mut config = Config::yard(&provider.base_url());
    config.environment.clear();
    let mut app = TestApp::prepared(config);
    app.spawns();
    let status = app.ends(SOON).await;
    assert_eq!(status.code(), Some(2), "{}", app.log());
    assert!(app.log().contains("YARD_KEY"), "names the variable:\n{}", app.log());
    assert_eq!(provider.count(), 0);
}
