//! The configuration read anew while everything runs: connections come, change and go without a restart; nothing is counted twice or forgotten,
//! and a file that cannot be read changes nothing (F1, F10, F11, law 1).

use crate::support::quota::{CountedBy, Quota};
use crate::support::script::Script;
use crate::support::wire::http;
use crate::support::*;
use serde_json::json;

/// So many per 10 s.
fn per_ten(n: u32) -> String {
    format!("name = \"account\"\nrequests = {n}\nwindow = \"10s\"\nkind = \"rolling\"\nkeep = {{ refresh = 1 }}")
}

fn yard(provider: &FakeProvider, amount: u32) -> Connection {
    let link = Connection::irrigation("yard", &provider.base_url()).no_limits().limit_text(&per_ten(amount));
    link.every("1s").min_age("0s")
}

/// As the file stands now, with the secrets that the process was started with.
fn written(app: &mut TestApp, connections: &[Connection], environment: &Config) {
    let mut config = Config { environment: environment.environment.clone(), ..Config::new() };
    connections.iter().for_each(|link| config.connections.push(link.clone()));
    app.configure(config);
    app.rereads();
}

async fn overview_says(app: &TestApp, part: &str) {
    eventually(&format!("the overview says {part:?}"), SOON, || async {
        app.get("/").await.expect(200).body.contains(part).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_comes_and_goes_with_the_file_and_finds_again_what_was_known_of_it() {
    let (one, two) = (FakeProvider::unlimited().await, FakeProvider::limited(4, secs(10)).await);
    let shed = |provider: &FakeProvider| {
        let link = Connection::irrigation("shed", &provider.base_url()).no_limits().limit_text(&per_ten(4));
        link.every("1s").min_age("0s").secret_in("SHED_KEY")
    };
    let both = Config::new().with(yard(&one, 4)).with(shed(&two));
    let mut app = TestApp::start(Config { connections: vec![yard(&one, 4)], ..both.clone() }).await;
    app.has_polled("yard", "controller").await;
    app.get("/c/shed").await.expect(404);

    written(&mut app, &[yard(&one, 4), shed(&two)], &both);
    two.has_seen(2, SOON).await;
    app.tells("connection shed added by the configuration").await;
    app.get("/c/shed").await.expect(200);
    let key = &both.environment["SHED_KEY"];
    assert!(two.seen().iter().all(|s| s.key == *key), "with its own key");
    let items = app.history("shed", "controller").await.len();
    assert_eq!(items, 3);

    written(&mut app, &[yard(&one, 4)], &both);
    app.tells("connection shed taken away by the configuration").await;
    app.get("/c/shed").await.expect(404);
    stays("what is not there is not asked", two.count(), secs(3), || two.count()).await;
    let asked = one.count();
    one.has_seen(asked + 1, 2 * SOON).await;

    // Again and again: its charges count on, and there is one poller of it.
    for _ in 0..3 {
        written(&mut app, &[yard(&one, 4), shed(&two)], &both);
        eventually("it is there", SOON, || async { (app.get("/c/shed").await.status == 200).then_some(()) }).await;
        written(&mut app, &[yard(&one, 4)], &both);
        eventually("it is gone", SOON, || async { (app.get("/c/shed").await.status == 404).then_some(()) }).await;
    }
    written(&mut app, &[yard(&one, 4), shed(&two)], &both);
    let asked = two.count();
    two.has_seen(asked + 4, 4 * SOON).await;
    two.was_never_over();
    assert_eq!(app.history("shed", "controller").await.len(), items, "nothing is new to who knows it");
    let charges = app.ledger("shed").await.iter().filter(|c| c["settlement"] != "voided").count();
    assert!(charges >= two.count(), "every request was paid for: {charges} of {}", two.count());
    app.restart().await;
    assert_eq!(app.connections().await["connections"].as_array().map(Vec::len), Some(2));
}

#[tokio::test(flavor = "multi_thread")]
async fn law_1_however_often_a_connection_is_written_anew_no_request_is_without_its_charge() {
    let provider = FakeProvider::with(Some(Quota::new(4, secs(10), CountedBy::Key))).await;
    provider.is(Mode::Slow(Duration::from_millis(300)));
    let start = Config::new().with(yard(&provider, 4));
    let mut app = TestApp::start(start.clone()).await;
    provider.has_seen(1, SOON).await;
    let more = "\n[[connection.target]]\nname = \"again\"\nget = \"/statusschedule.php\"\nitems = \"$.relays[*]\"\nkey = \"$.relay_id\"\n";
    for n in 0..12 {
        let mut link = yard(&provider, 2 + n % 3);
        if n % 2 == 0 {
            link.body = format!("{more}{}", link.body);
        }
        written(&mut app, &[link], &start);
        let refreshes = (0..3).map(|_| async {
            app.operator().refreshes("yard", "controller").await;
        });
        futures_util::future::join_all(refreshes).await;
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    provider.was_never_over();
    let answered = app.ledger("yard").await.iter().filter(|c| c["settlement"] != "voided").count();
    assert_eq!(answered, provider.count());
    assert_eq!(app.history("yard", "controller").await.len(), 3, "its items are the same throughout");
    assert!(!app.log().contains("panicked"), "{}", app.log());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_under_way_ends_by_the_words_that_it_began_with() {
    let provider = FakeProvider::unlimited().await;
    let start = Config::new().with(yard(&provider, 100));
    let mut app = TestApp::start(start.clone()).await;
    app.has_polled("yard", "controller").await;
    provider.is(Mode::Slow(secs(2)));
    let asked = provider.count();
    provider.has_seen(asked + 1, SOON).await;
    let changed = yard(&provider, 50).every("2s");
    written(&mut app, &[changed], &start);
    app.connection_when("yard", "the new limit is in force", |c| c["budget"][0]["requests"] == 50).await;
    let used = app.connection("yard").await["budget"][0]["used"].as_u64().expect("a number");
    assert!(used as usize > asked, "the one under way is counted: {used} of {asked}");
    app.connection_when("yard", "the new interval is in force", |c| c["poll"]["interval_seconds"] == 2.0).await;
    app.tells("connection yard changed by the configuration: limits, poll").await;

    // Gone while one is under way: its charge is resolved all the same.
    let asked = provider.count();
    provider.has_seen(asked + 1, SOON).await;
    let other = Connection::plain("other", &provider.base_url()).not_polled();
    written(&mut app, std::slice::from_ref(&other), &start);
    app.tells("connection yard taken away").await;
    stays("no other follows", asked + 1, secs(4), || provider.count()).await;
    written(&mut app, &[other, yard(&provider, 50)], &start);
    eventually("it is there again", SOON, || async { (app.get("/c/yard").await.status == 200).then_some(()) }).await;
    eventually("every charge has its answer", 2 * SOON, || async {
        let ledger = app.ledger("yard").await;
        (ledger.len() > asked && ledger[..=asked].iter().all(|c| c["outcome"] == "data")).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_in_force_is_told_and_the_rest_goes_on() {
    let (one, two) = (FakeProvider::unlimited().await, FakeProvider::unlimited().await);
    let start = Config::new().with(yard(&one, 4));
    let mut app = TestApp::start(start.clone()).await;
    app.has_polled("yard", "controller").await;

    // Another provider: what was admitted for one must not be sent to the other.
    written(&mut app, &[yard(&two, 4)], &start);
    overview_says(&app, "connection yard stays as it was: yard leads to").await;
    assert_eq!(two.count(), 0);
    // A secret that is not there.
    let shed = Connection::irrigation("shed", &two.base_url()).secret_in("NOBODY_SET_THIS");
    written(&mut app, &[yard(&one, 4), shed], &start);
    overview_says(&app, "connection shed is not added").await;
    app.get("/c/shed").await.expect(404);
    // Half a file.
    std::fs::write(app.config_path(), "").expect("the test's own folder");
    app.rereads();
    overview_says(&app, "names no connection any more").await;
    app.get("/c/yard").await.expect(200);
    // One that is no configuration.
    std::fs::write(app.config_path(), "[[connection]]\nname = \"yard\"\n").expect("the test's own folder");
    app.rereads();
    overview_says(&app, "could not be read anew, and the one of before stays in force").await;
    let found = eventually("it is found", SOON, || async {
        let open = app.get("/api/v1/findings?open=true").await.json()["findings"][0].clone();
        (open["kind"] == "configuration_unreadable").then_some(open)
    })
    .await;
    assert!(found["connection"].is_null(), "it is the appliance's: {found}");
    assert!(app.get("/metrics").await.body.contains("larder_findings_open{kind=\"configuration_unreadable\"} 1"));
    let told = app.get("/api/v1/activity").await.expect(200).body;
    assert!(!told.contains("was read anew: the configuration could not"), "what was not read was not read: {told}");
    let asked = one.count();
    one.has_seen(asked + 1, 2 * SOON).await;

    written(&mut app, &[yard(&one, 4)], &start);
    eventually("the finding ends", SOON, || async {
        (app.get("/api/v1/findings?open=true").await.json()["findings"] == json!([])).then_some(())
    })
    .await;
    app.tells("The configuration can be read again.").await;
    eventually("nothing is left to say", SOON, || async {
        (app.get("/readyz").await.json()["notes"] == json!([])).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_webhook_that_is_written_in_is_told_and_one_that_is_taken_out_is_not() {
    let (provider, receiver) = (FakeProvider::unlimited().await, Script::answering(|_| http(204, &[], b"")).await);
    let quiet = || Connection::irrigation("yard", &provider.base_url()).no_limits().every("60s").min_age("1ms");
    let start = Config::new().with(quiet());
    let mut app = TestApp::start(start.clone()).await;
    app.has_polled("yard", "controller").await;
    let mut told = quiet();
    told.body.push_str(&format!("[[connection.webhook]]\nname = \"desk\"\nurl = \"{}/hook\"\n", receiver.base_url()));
    written(&mut app, &[told], &start);
    app.tells("changed by the configuration: webhooks").await;
    provider.renames(1, "Roses");
    app.operator().refreshes("yard", "controller").await.expect(200);
    eventually("it is told", SOON, || async {
        receiver.asked().iter().any(|asked| asked.body.contains("Roses")).then_some(())
    })
    .await;
    written(&mut app, &[quiet()], &start);
    eventually("it is there no more", SOON, || async {
        let hooks = app.get("/api/v1/connections/yard/webhooks").await.json();
        (hooks["webhooks"] == json!([])).then_some(())
    })
    .await;
    let told = receiver.asked().len();
    provider.renames(1, "Tulips");
    app.operator().refreshes("yard", "controller").await.expect(200);
    stays("nobody is told any more", told, secs(2), || receiver.asked().len()).await;
}

/// F1: they are one budget, whichever comes and goes.
#[tokio::test(flavor = "multi_thread")]
async fn f1_a_connection_that_comes_to_a_key_shares_its_budget() {
    let provider = FakeProvider::with(Some(Quota::new(4, secs(10), CountedBy::Key))).await;
    let start = Config::new().with(yard(&provider, 4));
    let mut app = TestApp::start(start.clone()).await;
    provider.has_seen(1, SOON).await;
    let twin = || Connection { name: "twin".to_owned(), ..yard(&provider, 4) };
    for n in 0..4 {
        let links = if n % 2 == 0 { vec![yard(&provider, 4), twin()] } else { vec![yard(&provider, 4)] };
        let (status, count) = if n % 2 == 0 { (200, 2) } else { (404, 1) };
        written(&mut app, &links, &start);
        eventually("it is as written", SOON, || async { (app.get("/c/twin").await.status == status).then_some(()) })
            .await;
        assert_eq!(app.connections().await["connections"].as_array().map(Vec::len), Some(count));
        let asked = provider.count();
        provider.has_seen(asked + 3, 3 * SOON).await;
        if n % 2 == 0 {
            let used = |c: &serde_json::Value| c["budget"][0]["used"].clone();
            let (one, two) = (app.connection("yard").await, app.connection("twin").await);
            assert!(used(&one).as_u64() <= Some(4) && used(&two).as_u64() <= Some(4), "{one} {two}");
        }
    }
    provider.was_never_over();
}
