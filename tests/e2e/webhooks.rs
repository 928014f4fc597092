//! Events out: signed, in order, at least once, over crashes and receivers that are away, and never in the way of a poll.

use crate::support::script::{Asked, Script};
use crate::support::wire::http;
use crate::support::*;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, AtomicUsize, Ordering};

const SIGNING: &str = "a signing secret of the dispatch desk";

/// A receiver that answers with a status that can be changed.
async fn receiver(status: &Arc<AtomicU16>) -> Script {
    let status = status.clone();
    Script::answering(move |_| http(status.load(Ordering::Relaxed), &[], b"")).await
}

/// Of what is read, and not of how the connection stands.
const CHANGES: &str = "events = [\"target_changed\"]\n";

fn told(provider: &FakeProvider, receiver: &Script, more: &str) -> Config {
    let url = format!("{}/hook", receiver.base_url());
    let quiet = |c: Connection| c.no_limits().every("60s").min_age("1ms");
    let mut config = Config::yard(&provider.base_url()).tuned(quiet);
    config.environment.insert("HOOK_SECRET".to_owned(), SIGNING.to_owned());
    config.extra = format!(
        "[[connection.webhook]]\nname = \"dispatch\"\nurl = \"{url}\"\nsecret = {{ env = \"HOOK_SECRET\" }}\n{more}"
    );
    config
}

fn body(asked: &Asked) -> Value {
    serde_json::from_str(&asked.body).expect("JSON")
}

/// Numbers of the events that were posted, in the order of their arrival.
fn numbers(receiver: &Script) -> Vec<u64> {
    receiver.asked().iter().filter_map(|asked| body(asked)["data"]["id"].as_u64()).collect()
}

async fn webhook(app: &TestApp) -> Value {
    app.get("/api/v1/connections/yard/webhooks").await.json()["webhooks"][0].clone()
}

async fn webhook_when(app: &TestApp, what: &str, holds: impl Fn(&Value) -> bool) -> Value {
    eventually(what, SOON, || async { Some(webhook(app).await).filter(&holds) }).await
}

/// Something that is worth an event.
async fn changes(app: &TestApp, provider: &FakeProvider, name: &str) {
    provider.renames(1, name);
    app.operator().refreshes("yard", "controller").await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn events_are_posted_signed_in_order_and_once_over_a_restart() {
    let (provider, ok) = (FakeProvider::unlimited().await, Arc::new(AtomicU16::new(204)));
    let receiver = receiver(&ok).await;
    let mut app = TestApp::start(told(&provider, &receiver, CHANGES)).await;
    app.has_polled("yard", "controller").await;
    changes(&app, &provider, "Roses").await;
    changes(&app, &provider, "Lilies").await;
    eventually("three are there", SOON, || async { (numbers(&receiver).len() == 3).then_some(()) }).await;

    for asked in receiver.asked() {
        let (id, at) = (asked.header("webhook-id"), asked.header("webhook-timestamp"));
        let told = body(&asked);
        assert_eq!((asked.method.as_str(), asked.path()), ("POST", "/hook"));
        assert_eq!(id, format!("larder-event-{}", told["data"]["id"]), "{told}");
        assert_eq!((&told["type"], &told["data"]["connection"]), (&"target_changed".into(), &"yard".into()), "{told}");
        let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, SIGNING.as_bytes());
        let signature = asked.header("webhook-signature").strip_prefix("v1,").expect("version 1");
        let signed = format!("{id}.{at}.{}", asked.body);
        let signature = STANDARD.decode(signature).expect("base64");
        ring::hmac::verify(&key, signed.as_bytes(), &signature).expect("the signature of this body");
    }
    app.restart().await;
    changes(&app, &provider, "Tulips").await;
    eventually("the fourth", SOON, || async { (numbers(&receiver).len() == 4).then_some(()) }).await;
    let all = numbers(&receiver);
    assert!(all.windows(2).all(|pair| pair[0] < pair[1]), "in order, none twice: {all:?}");
    let view = webhook_when(&app, "all are known to be there", |view| view["delivered"] == 4).await;
    assert_eq!((&view["state"], &view["waiting"]), (&"delivering".into(), &0.into()));
    assert!(app.get("/c/yard").await.body.contains("Last delivered at"));
    assert!(!app.log().contains(SIGNING));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_receiver_that_is_away_holds_up_no_poll_and_loses_nothing_to_a_crash() {
    let (provider, status) = (FakeProvider::unlimited().await, Arc::new(AtomicU16::new(503)));
    let receiver = receiver(&status).await;
    let mut app = TestApp::start(told(&provider, &receiver, CHANGES)).await;
    app.has_polled("yard", "controller").await;
    changes(&app, &provider, "Roses").await;
    changes(&app, &provider, "Lilies").await;
    let view = webhook_when(&app, "it fails", |view| view["state"] == "failing" && view["waiting"] == 3).await;
    assert_eq!(view["reason"], "the receiver answered 503");
    assert_eq!(app.target("yard", "controller").await["fresh"], true, "nothing waits for it");
    assert!(app.get("/c/yard").await.body.contains("Not delivered since"));

    app.kill_9();
    status.store(200, Ordering::Relaxed);
    app.boots().await;
    eventually("all three", Duration::from_secs(20), || async {
        let taken: std::collections::BTreeSet<u64> = numbers(&receiver).into_iter().collect();
        (taken.len() == 3).then_some(())
    })
    .await;
    webhook_when(&app, "it is over", |view| view["state"] == "delivering" && view["waiting"] == 0).await;
    let all = numbers(&receiver);
    assert!(all.windows(2).all(|pair| pair[0] <= pair[1]), "in order, though some twice: {all:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_receiver_will_never_take_is_a_dead_letter_until_somebody_sends_it_again() {
    let provider = FakeProvider::unlimited().await;
    let (refuse, asked) = (Arc::new(AtomicUsize::new(1)), Arc::new(AtomicUsize::new(0)));
    let (one, two) = (refuse.clone(), asked.clone());
    let receiver = Script::answering(move |_| {
        two.fetch_add(1, Ordering::Relaxed);
        let refused = one.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(1)).is_ok();
        http(if refused { 422 } else { 200 }, &[], b"")
    })
    .await;
    let mut app = TestApp::start(told(&provider, &receiver, CHANGES)).await;
    app.has_polled("yard", "controller").await;
    changes(&app, &provider, "Roses").await;
    let is_dead = |view: &Value| view["dead_letters"].as_array().is_some_and(|l| l.len() == 1);
    let view = webhook_when(&app, "the first is given up, the second is taken", |view| {
        is_dead(view) && view["delivered"] == 1
    })
    .await;
    let letter = &view["dead_letters"][0];
    assert_eq!((&letter["kind"], &letter["reason"]), (&"target_changed".into(), &"the receiver answered 422".into()));
    assert!(app.get("/c/yard").await.body.contains("Given up"), "seen on the page");
    app.restart().await;
    assert!(is_dead(&webhook(&app).await), "kept over a restart");

    let again = app.post("/api/v1/connections/yard/webhooks/dispatch/redeliver").await.expect(202).json();
    assert_eq!(again["redelivering"], 1);
    let view = webhook_when(&app, "it was taken after all", |view| view["dead_letters"] == serde_json::json!([])).await;
    assert_eq!(view["delivered"], 2, "{view}");
    let ids: Vec<String> = receiver.asked().iter().map(|a| a.header("webhook-id").to_owned()).collect();
    assert_eq!((ids.len(), &ids[0]), (3, &ids[2]), "the same message: {ids:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_test_message_says_what_came_of_it_and_costs_the_provider_nothing() {
    let (provider, status) = (FakeProvider::unlimited().await, Arc::new(AtomicU16::new(200)));
    let receiver = receiver(&status).await;
    let app = TestApp::start(told(&provider, &receiver, "events = [\"hold_started\"]\n")).await;
    app.has_polled("yard", "controller").await;
    let asked = provider.count();
    let test = || app.post("/api/v1/connections/yard/webhooks/dispatch/test");
    assert_eq!(test().await.expect(200).json()["taken"], true);
    status.store(500, Ordering::Relaxed);
    let heard = test().await.expect(200).json();
    assert_eq!((&heard["taken"], &heard["status"]), (&false.into(), &500.into()), "{heard}");
    let posted: Vec<Value> = receiver.asked().iter().map(|a| body(a)["type"].clone()).collect();
    assert_eq!(posted, ["test", "test"], "an event of another kind is not sent: {posted:?}");
    assert_eq!(provider.count(), asked);
    app.post("/api/v1/connections/yard/webhooks/nobody/test").await.expect(404);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_webhook_goes_to_a_provider() {
    let (provider, ok) = (FakeProvider::unlimited().await, Arc::new(AtomicU16::new(200)));
    let receiver = receiver(&ok).await;
    let mut config = told(&provider, &receiver, "");
    config.environment.insert("HOOK_URL".to_owned(), format!("{}/hook", provider.base_url()));
    config.extra = config.extra.replace(&format!("\"{}/hook\"", receiver.base_url()), "{ env = \"HOOK_URL\" }");
    let app = TestApp::prepared(config);
    let said = app.larder_here(&["serve"]).await.expect(2);
    assert!(said.all().contains("its address is that of a provider"), "{}", said.all());
    assert_eq!(provider.count(), 0);
}

/// Its signing secret is another one in the environment file, and SIGHUP has it read: from the next event on.
#[tokio::test(flavor = "multi_thread")]
async fn another_signing_secret_is_taken_at_sighup() {
    let (provider, ok) = (FakeProvider::unlimited().await, Arc::new(AtomicU16::new(204)));
    let receiver = receiver(&ok).await;
    let keys = tempfile::tempdir().expect("a temporary folder");
    let file = keys.path().join("keys.env");
    let another = "another signing secret of the dispatch desk";
    let says =
        |secret: &str| std::fs::write(&file, format!("HOOK_SECRET=\"{secret}\"\n")).expect("the test's own folder");
    says(SIGNING);
    let mut config = told(&provider, &receiver, "");
    config.server.push(format!("environment_file = \"{}\"", file.display()));
    let mut app = TestApp::start(config).await;
    app.has_polled("yard", "controller").await;
    eventually("the first is told", SOON, || async { (!receiver.asked().is_empty()).then_some(()) }).await;
    let signed_with = |asked: &Asked, secret: &str| {
        let (id, at) = (asked.header("webhook-id"), asked.header("webhook-timestamp"));
        let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, secret.as_bytes());
        let signature = STANDARD.decode(asked.header("webhook-signature").trim_start_matches("v1,")).expect("base64");
        ring::hmac::verify(&key, format!("{id}.{at}.{}", asked.body).as_bytes(), &signature).is_ok()
    };
    assert!(receiver.asked().iter().all(|asked| signed_with(asked, SIGNING)));
    app.is_given(another);
    says(another);
    app.rereads();
    eventually("it is read", SOON, || async {
        app.get("/api/v1/activity").await.body.contains("the configuration was read anew").then_some(())
    })
    .await;
    let before = receiver.asked().len();
    changes(&app, &provider, "Roses").await;
    eventually("the next is told", SOON, || async { (receiver.asked().len() > before).then_some(()) }).await;
    let asked = receiver.asked();
    assert!(asked[before..].iter().all(|asked| signed_with(asked, another)), "{:?}", &asked[before..]);
    assert!(!app.log().contains(another));
}
