//! A poll, from the provider's answer to what readers see: items, ages, history, countdowns (CASES I6, I7, F6, F10).

use crate::support::script::Script;
use crate::support::wire::{http, json};
use crate::support::*;
use serde_json::Value;

fn item<'a>(target: &'a Value, key: &str) -> &'a Value {
    let items = target["items"].as_array().expect("items");
    items.iter().find(|i| i["key"] == key).unwrap_or_else(|| panic!("no item {key} in {target}"))
}

fn field(item: &Value, name: &str) -> Value {
    item["fields"].get(name).unwrap_or_else(|| panic!("no field {name} in {item}")).clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_polled_answer_is_on_page_and_api_with_its_age() {
    let provider = FakeProvider::limited(5, secs(10)).await;
    let app = TestApp::start(Config::yard(&provider.base_url())).await;

    let target = app.has_polled("yard", "controller").await;
    assert_eq!(target["state"], "fresh", "{target}");
    assert_eq!(target["fresh"], true);
    assert_eq!(target["stale"], Value::Null);
    assert_eq!(target["phase"], "active");
    assert_eq!(target["item_count"], 3);
    assert_eq!(target["generation"], 1);
    assert!(target["age_seconds"].as_u64().is_some_and(|age| age < 20), "{target}");
    let lawn = item(&target, "1");
    assert_eq!((&lawn["title"], &lawn["state"]), (&Value::from("Lawn"), &Value::from("idle")), "{lawn}");
    assert_eq!(lawn["removed_at"], Value::Null);

    let page = app.page("yard", "controller").await;
    for words in ["Lawn", "Beds", "Hedge", "<time", "fresh"] {
        assert!(page.contains(words), "{words:?} is not on the page:\n{page}");
    }
    for path in ["/", "/c/yard"] {
        assert!(app.get(path).await.expect(200).body.contains("yard"), "{path}");
    }

    let connection = app.connection("yard").await;
    assert_eq!(connection["state"], "fresh", "{connection}");
    assert_eq!(connection["organization"], "default");
    assert_eq!(connection["hold"], Value::Null);
    assert_eq!(connection["breaker"], "closed");
    assert_eq!(connection["budget"][0]["limit"], "status");
    assert_eq!(connection["budget"][0]["requests"], 5);
    assert_eq!(connection["budget"][0]["window_seconds"], 10);
    let kept = |endpoint: &str| {
        let limits = connection["budget"].as_array().into_iter().flatten();
        limits.filter(|l| l["endpoint"] == endpoint).map(|l| l["kept"].clone()).next()
    };
    assert_eq!((kept(STATUS), kept(SET_ZONE)), (Some(1.into()), Some(0.into())), "no refresh ever asks the other");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_poller_never_takes_the_fifth_and_is_never_over() {
    let provider = FakeProvider::limited(5, secs(10)).await;
    let app = TestApp::start(Config::yard(&provider.base_url())).await;
    provider.has_seen(8, 2 * SOON).await;

    provider.was_never_over();
    let arrivals: Vec<_> = provider.seen().iter().map(|s| s.at).collect();
    let most =
        arrivals.iter().map(|t| arrivals.iter().filter(|a| **a <= *t && t.duration_since(**a) < secs(10)).count());
    assert!(most.max() <= Some(4), "the poller took the unit that is kept for the refresh");
    for pair in arrivals.windows(2) {
        let gap = pair[1].duration_since(pair[0]);
        // The cadence is kept from the due time, so a late poll may be followed by a timely one.
        assert!(gap >= Duration::from_millis(1_800), "two polls {gap:?} apart at an interval of 2.5 s");
    }
    let ledger = app.ledger("yard").await;
    assert!(ledger.iter().all(|c| c["caller"] == "poller"), "{ledger:?}");
    assert!(ledger.len() >= 8, "a request without a charge: {ledger:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_answer_from_the_shelf_says_how_old_it_is() {
    let provider = FakeProvider::unlimited().await;
    let app = TestApp::start(Config::yard(&provider.base_url()).tuned(|c| c.quiet())).await;
    app.has_polled("yard", "controller").await;

    for path in ["/api/v1/connections/yard/targets/controller", "/c/yard/t/controller"] {
        let reply = app.get(path).await.expect(200);
        for name in ["age", "date", "last-modified", "cache-status"] {
            assert!(reply.header(name).is_some(), "{path} does not say {name}: {:?}", reply.headers);
        }
        assert!(reply.header("cache-status").is_some_and(|s| s.starts_with("larder") && s.contains("hit")), "{path}");
    }
    let path = "/api/v1/connections/yard/targets/controller";
    let tag = app.get(path).await.header("etag").expect("an entity tag").to_owned();
    let again = app.send(Ask::get(path).header("if-none-match", &tag)).await;
    assert_eq!((again.status, again.body.as_str()), (304, ""), "unchanged content is confirmed, not repeated");
    assert!(again.header("age").is_some(), "a confirmation also says the age");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_changed_is_told_once_and_for_ever() {
    let provider = FakeProvider::unlimited().await;
    let app = TestApp::start(Config::yard(&provider.base_url()).tuned(|c| c.no_limits().every("1s"))).await;
    app.has_polled("yard", "controller").await;

    provider.renames(1, "Front lawn");
    app.target_when("yard", "controller", "the new name is shown", |t| item(t, "1")["title"] == "Front lawn").await;
    provider.removes(3);
    let target = app
        .target_when("yard", "controller", "the hedge is removed", |t| t["item_count"] == 2 && t["generation"] == 3)
        .await;
    let first_seen = item(&target, "1")["first_seen_at"].clone();
    provider.adds(3, "Hedge");
    let target = app.target_when("yard", "controller", "the hedge is back", |t| t["item_count"] == 3).await;
    assert_eq!(item(&target, "1")["first_seen_at"], first_seen, "first_seen is the system of record (F10)");

    let history = app.history("yard", "controller").await;
    let told: Vec<(String, String)> = history
        .iter()
        .map(|h| (h["kind"].as_str().unwrap_or("").to_owned(), h["key"].as_str().unwrap_or("").to_owned()))
        .collect();
    let expected = [
        ("appeared", "1"),
        ("appeared", "2"),
        ("appeared", "3"),
        ("changed", "1"),
        ("removed", "3"),
        ("reappeared", "3"),
    ];
    assert_eq!(told, expected.map(|(kind, key)| (kind.to_owned(), key.to_owned())), "{history:#?}");
    let numbers: Vec<u64> = history.iter().filter_map(|h| h["seq"].as_u64()).collect();
    assert!(numbers.windows(2).all(|n| n[1] == n[0] + 1), "a gap in the history: {numbers:?}");

    // Unchanged polls go on meanwhile and add nothing.
    provider.has_seen(provider.count() + 2, SOON).await;
    assert_eq!(app.history("yard", "controller").await.len(), 6);
    assert_eq!(app.target("yard", "controller").await["generation"], 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_countdown_runs_on_the_shelf_and_ends_as_idle() {
    let provider = FakeProvider::unlimited().await;
    provider.starts_zone(2, secs(18));
    let app = TestApp::start(Config::yard(&provider.base_url()).tuned(|c| c.quiet())).await;
    let target = app.has_polled("yard", "controller").await;
    let asked = provider.count();

    assert_eq!(item(&target, "2")["state"], "running", "{target}");
    let left = field(item(&target, "2"), "remaining").as_u64().expect("seconds left");
    assert!((1..=18).contains(&left), "{left}");
    let next = field(item(&target, "1"), "next_run");
    assert!(next.as_str().is_some_and(|t| t.ends_with('Z')), "an offset is shown as a time: {next}");

    let later =
        app.target_when("yard", "controller", "the countdown has ended", |t| item(t, "2")["state"] == "idle").await;
    assert_eq!(field(item(&later, "1"), "next_run"), next, "anchored to the arrival, not to the reading (I6)");
    assert_eq!(provider.count(), asked, "the shelf knew by itself");
    assert_eq!(later["generation"], target["generation"], "a countdown is not a change");
}

#[tokio::test(flavor = "multi_thread")]
async fn gzip_and_entity_tags_are_understood() {
    let provider = FakeProvider::unlimited().await;
    provider.next(Mode::Gzip);
    provider.is(Mode::Etag);
    let app = TestApp::start(Config::yard(&provider.base_url()).tuned(|c| c.no_limits().every("1s"))).await;
    assert_eq!(app.has_polled("yard", "controller").await["item_count"], 3);

    app.has_charge("yard", "not_modified").await;
    let seen = provider.seen();
    assert!(seen[0].headers.get("accept-encoding").is_some_and(|v| v.contains("gzip")), "{:?}", seen[0].headers);
    assert!(!seen[0].headers.contains_key("if-none-match"), "nothing to compare with yet");
    assert!(seen.iter().any(|s| s.status == 304 && s.headers.contains_key("if-none-match")), "{seen:?}");

    // A 304 confirms: the age starts anew, the generation stands.
    let before = app.target("yard", "controller").await;
    let after =
        app.target_when("yard", "controller", "the answer is confirmed again", |t| t["as_of"] != before["as_of"]).await;
    assert_eq!((&after["generation"], &after["state"]), (&before["generation"], &Value::from("fresh")));
    // And a change still gets through.
    provider.renames(2, "Roses");
    app.target_when("yard", "controller", "the new name is shown", |t| item(t, "2")["title"] == "Roses").await;
}

/// RFC 9111 section 4.3.4.
#[tokio::test(flavor = "multi_thread")]
async fn a_304_about_another_answer_confirms_nothing_and_the_next_poll_asks_for_the_whole() {
    let provider = Script::answering(|asked| match asked.header("if-none-match") {
        "" => json(200, &[("etag", "\"v0\"")], "{\"things\":[{\"id\":1}]}"),
        _ => http(304, &[("etag", "\"other\"")], b""),
    })
    .await;
    let target =
        "[[connection.target]]\nname = \"things\"\nget = \"/things\"\nitems = \"$.things[*]\"\nkey = \"$.id\"\n";
    let hub = Connection::plain("hub", &provider.base_url()).every("1s").body(target);
    let app = TestApp::start(Config::new().with(hub)).await;
    let asked = eventually("it is asked for three times", SOON, || async {
        Some(provider.asked()).filter(|asked| asked.len() >= 3)
    })
    .await;
    let conditions: Vec<&str> = asked.iter().take(3).map(|asked| asked.header("if-none-match")).collect();
    assert_eq!(conditions, ["", "\"v0\"", ""]);
    app.has_charge("hub", "unexpected").await;
    let ledger = app.ledger("hub").await;
    assert!(ledger.iter().all(|charge| charge["outcome"] != "not_modified"), "{ledger:?}");
}

/// The ledger of a provider with entity tags, after a 304: what became of each charge, newest first.
async fn settled(conditional: &str) -> Vec<(String, String)> {
    let provider = FakeProvider::unlimited().await;
    provider.is(Mode::Etag);
    let link = |c: Connection| c.no_limits().every("1s").conditional(conditional);
    let app = TestApp::start(Config::yard(&provider.base_url()).tuned(link)).await;
    provider.has_seen(3, SOON).await;
    let asked = provider.seen().iter().filter(|s| s.headers.contains_key("if-none-match")).count();
    assert_eq!(asked > 0, conditional != "off", "{conditional}");
    let word = |c: &Value, key: &str| c[key].as_str().unwrap_or_default().to_owned();
    eventually("two charges are resolved", SOON, || async {
        let charges = app.ledger("yard").await;
        let resolved: Vec<_> = charges.iter().map(|c| (word(c, "outcome"), word(c, "settlement"))).collect();
        (resolved.iter().filter(|(_, settlement)| settlement != "pending").count() >= 2).then_some(resolved)
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_304_costs_what_the_connection_says() {
    for (conditional, outcome, status) in
        [("free", "not_modified", "voided"), ("charged", "not_modified", "posted"), ("off", "data", "posted")]
    {
        let resolved = settled(conditional).await;
        let later: Vec<_> = resolved.iter().filter(|(o, _)| o == outcome).collect();
        assert!(!later.is_empty() && later.iter().all(|(_, s)| s == status), "{conditional}: {resolved:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_recipe_carries_a_whole_provider() {
    let provider = FakeProvider::limited(30, secs(300)).await;
    let mut connection = Connection::irrigation("yard", &provider.base_url()).no_limits().body("");
    connection.refresh_min_age = None;
    let app = TestApp::prepared(Config::new().with(connection));
    let text = std::fs::read_to_string(app.config_path()).expect("our own file");
    // Only what is ours: name, address, secret. Limits, interval and targets come from the recipe.
    let text = text.replace("name = \"yard\"", "name = \"yard\"\nrecipe = \"hydrawise\"");
    let text = text.replace("[connection.poll]\nenabled = true\ninterval = \"2500ms\"", "");
    std::fs::write(app.config_path(), text).expect("our own file");
    let mut app = app;
    app.boots().await;

    let connection = app.connection("yard").await;
    assert_eq!(connection["provider"], "hydrawise", "{connection}");
    let name = connection["targets"][0].as_str().expect("a target of the recipe").to_owned();
    let target = app.has_polled("yard", &name).await;
    assert_eq!(target["item_count"], 3, "{target}");
    assert_eq!(provider.seen()[0].endpoint, STATUS);
    assert_eq!(provider.seen()[0].key, app.secret());
}
