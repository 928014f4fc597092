//! The command line: its exit codes, its plan, backups that are copies one can start from.

use crate::support::*;
use serde_json::Value;
use std::path::Path;

async fn polled(provider: &FakeProvider) -> TestApp {
    let app = TestApp::start(Config::yard(&provider.base_url())).await;
    app.has_polled("yard", "controller").await;
    app
}

#[tokio::test(flavor = "multi_thread")]
async fn check_prints_a_plan_that_can_be_kept() {
    let app = TestApp::prepared(Config::yard("http://127.0.0.1:9"));
    let said = app.larder_here(&["check"]).await.expect(0);
    for words in ["yard", "34560", "2.5"] {
        assert!(said.stdout.replace([',', '_'], "").contains(words), "{words} is not in the plan:\n{}", said.stdout);
    }
    assert!(!app.data().exists(), "check makes no file");
}

#[tokio::test(flavor = "multi_thread")]
async fn check_fails_a_plan_that_cannot_be_kept() {
    let app = TestApp::prepared(Config::yard("http://127.0.0.1:9").tuned(|c| c.every("1s")));
    let said = app.larder_here(&["check"]).await.expect(1);
    assert!(said.all().contains("status"), "names the limit: {}", said.all());
    assert!(said.all().contains("2.5"), "names the shortest safe interval: {}", said.all());
}

#[tokio::test(flavor = "multi_thread")]
async fn all_mistakes_of_a_file_are_told_at_once() {
    let mut app = TestApp::prepared(Config::yard("http://127.0.0.1:9"));
    let text = std::fs::read_to_string(app.config_path()).expect("our own file");
    let text = text
        .replace("fresh_for = \"6s\"", "fresh_fro = \"6s\"")
        .replace("kind = \"rolling\"", "kind = \"roling\"")
        .replace("key   = \"$.relay_id\"", "key   = \"$.[\"");
    std::fs::write(app.config_path(), text).expect("our own file");
    let said = app.larder_here(&["check"]).await.expect(2);
    for words in ["fresh_fro", "fresh_for", "roling", "rolling", "key", "larder.toml"] {
        assert!(said.stderr.contains(words), "{words} is not told:\n{}", said.stderr);
    }
    app.spawns();
    assert_eq!(app.ends(SOON).await.code(), Some(2), "serve says the same:\n{}", app.log());
    app.larder(&["check", "--config", "nowhere.toml"]).await.expect(2);
    app.larder(&["serve", "--no-such-flag"]).await.expect(2);
    app.larder(&["frobnicate"]).await.expect(2);
    app.larder(&["--help"]).await.expect(0);
}

/// What `serve` would not start with.
#[tokio::test(flavor = "multi_thread")]
async fn check_reads_the_credentials_too() {
    let yard = Connection::irrigation("yard", "http://127.0.0.1:9").every("5s");
    let twin = Connection { name: "twin".to_owned(), ..yard.clone() }.secret_in("OTHER_KEY");
    let mut config = Config::new().with(yard).with(twin);
    let secret = config.environment["YARD_KEY"].clone();
    config.environment.insert("OTHER_KEY".to_owned(), secret);
    let said = TestApp::prepared(config.clone()).larder_here(&["check"]).await.expect(0);
    assert!(said.stdout.contains("yard, twin: share one credential and together use 100 %"), "{}", said.stdout);
    config.environment.remove("OTHER_KEY");
    let said = TestApp::prepared(config).larder_here(&["check"]).await.expect(2);
    assert!(said.stderr.contains("OTHER_KEY is not set"), "{said:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn status_says_it_with_its_exit_code() {
    let provider = FakeProvider::limited(5, secs(10)).await;
    let mut app = polled(&provider).await;
    let said = app.larder_here(&["status", "--json"]).await.expect(0);
    let status: Value = serde_json::from_str(&said.stdout).expect("JSON alone on stdout");
    assert!(status.to_string().contains("\"yard\"") && status.to_string().contains("\"fresh\""), "{status}");
    assert!(app.larder_here(&["status"]).await.expect(0).stdout.contains("yard"));

    provider.next(Mode::Unauthorized);
    app.connection_when("yard", "rejected", |c| c["state"] == "credential_rejected").await;
    app.larder_here(&["status"]).await.expect(5);
    app.stop().await;
    let stopped = app.larder_here(&["status"]).await;
    assert_ne!(stopped.code, Some(0), "nothing runs: {stopped:?}");
    assert!(!stopped.stderr.is_empty() || !stopped.stdout.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn status_three_is_stale() {
    let mut provider = FakeProvider::limited(5, secs(10)).await;
    let app = polled(&provider).await;
    provider.goes_away();
    app.target_when("yard", "controller", "stale", |t| t["state"] == "stale").await;
    app.larder_here(&["status"]).await.expect(3);
}

#[tokio::test(flavor = "multi_thread")]
async fn status_four_is_exhausted() {
    let provider = FakeProvider::unlimited().await;
    // Two a day, both spent before anybody wants the third. The day began with this hour: whenever the test runs, the next one is further
    // away than the next poll.
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("after 1970");
    let hour = format!("{:02}:00", since.as_secs() / 3600 % 24);
    let daily = format!("name = \"day\"\nrequests = 2\nkind = \"daily\"\nresets_at = \"{hour}\"\ntime_zone = \"UTC\"");
    let config =
        Config::yard(&provider.base_url()).tuned(|c| c.no_limits().limit_text(&daily).every("12h").min_age("1s"));
    let app = TestApp::start(config).await;
    // Asked for by hand: the first poll is spread over a tenth of half a day.
    eventually("refreshes have both", SOON, || async {
        app.operator().refreshes("yard", "controller").await;
        (provider.count() == 2).then_some(())
    })
    .await;
    let view = app.connection_when("yard", "nothing is left", |c| c["budget"][0]["remaining"] == 0).await;
    assert_eq!(view["state"], "exhausted", "{view}");
    app.larder_here(&["status"]).await.expect(4);
    eventually("the refusal names the reset", SOON, || async {
        let problem = app.operator().refreshes("yard", "controller").await.expect_problem(429);
        problem["not_before"].as_str().is_some_and(|t| t.contains(&format!("T{hour}:0"))).then_some(())
    })
    .await;
    assert_eq!(provider.count(), 2);
}

/// An appliance that starts from a copy of a file, with a provider that nobody may need.
async fn starts_from(copy: &Path, config: Config) -> TestApp {
    let mut app = TestApp::prepared(config);
    std::fs::copy(copy, app.data()).expect("the copy");
    app.boots().await;
    app
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_of_a_live_file_is_a_file_to_start_from() {
    let provider = FakeProvider::unlimited().await;
    let config = Config::yard(&provider.base_url()).tuned(|c| c.no_limits().every("1s"));
    let app = TestApp::start(config.clone()).await;
    app.has_polled("yard", "controller").await;
    provider.renames(2, "Roses");
    app.target_when("yard", "controller", "the change", |t| t["generation"] == 2).await;
    let history = app.history("yard", "controller").await;

    let copy = app.folder().join("backup.redb");
    let place = copy.display().to_string();
    let said = app.larder_here(&["backup", &place]).await.expect(0);
    assert!(!said.all().trim().is_empty(), "says what it wrote");
    let said = app.larder(&["verify", &place]).await.expect(0);
    assert!(said.all().contains("item") || said.all().contains("history"), "says what is in it: {}", said.all());
    app.larder_here(&["backup", &place]).await.expect(1);

    let heir = starts_from(&copy, config.tuned(Connection::not_polled)).await;
    assert_eq!(heir.history("yard", "controller").await, history);
    assert_eq!(heir.target("yard", "controller").await["items"][1]["title"], "Roses");
    assert_eq!(heir.ledger("yard").await[0]["caller"], "poller", "the book of charges comes along");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plain_copy_of_a_live_file_is_a_file_to_start_from() {
    let provider = FakeProvider::unlimited().await;
    let config = Config::yard(&provider.base_url()).tuned(|c| c.no_limits().every("1s"));
    let app = TestApp::start(config.clone()).await;
    app.has_polled("yard", "controller").await;
    let history = app.history("yard", "controller").await;
    for round in 0..5 {
        let asked = provider.count();
        provider.has_seen(asked + 1, SOON).await;
        let copy = app.folder().join(format!("copy-{round}.redb"));
        std::fs::copy(app.data(), &copy).expect("cp");
        app.larder(&["verify", &copy.display().to_string()]).await.expect(0);
        if round == 4 {
            let heir = starts_from(&copy, config.clone().tuned(Connection::not_polled)).await;
            assert_eq!(heir.history("yard", "controller").await, history);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_of_a_stopped_appliance_works_too() {
    let provider = FakeProvider::limited(5, secs(10)).await;
    let mut app = polled(&provider).await;
    app.stop().await;
    let place = app.folder().join("cold.redb").display().to_string();
    app.larder_here(&["backup", &place]).await.expect(0);
    app.larder(&["verify", &place]).await.expect(0);
}
