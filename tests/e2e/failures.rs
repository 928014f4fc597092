//! What went wrong in the field with other programs, told as they were told there (VENDORS section 5): each test bears the number of its
//! failure. Those that belong to one room stand beside it, under names of the same form; `tests/architecture` knows that none is missing.

use crate::support::script::Script;
use crate::support::*;

/// Polled once, then left alone for a minute: what moves is what a test moves.
fn slow_yard(provider: &FakeProvider, interval: &str) -> Config {
    Config::yard(&provider.base_url())
        .tuned(|c| c.no_limits().limit("minute", 60, "1m", "").every(interval).min_age("1s"))
}

#[tokio::test(flavor = "multi_thread")]
async fn a03_no_shape_of_an_answer_ends_the_process_or_makes_it_ask_faster() {
    let provider = FakeProvider::unlimited().await;
    let shapes = [
        "",
        "null",
        "0",
        "\"text\"",
        "[]",
        "{}",
        "[[[[]]]]",
        "{\"relays\":null}",
        "{\"relays\":{}}",
        "{\"relays\":[null]}",
        "{\"relays\":[{\"relay_id\":{}}]}",
        "{\"relays\":[{\"relay_id\":1e999}]}",
        "{\"relays\"",
        "\u{0}",
        "<html>",
    ];
    shapes.iter().for_each(|body| provider.next(Mode::Json(200, (*body).to_owned())));
    let by_hand = |c: Connection| c.no_limits().limit("minute", 60, "1m", "").every("60s").min_age("1ms");
    let mut app = TestApp::start(Config::yard(&provider.base_url()).tuned(by_hand)).await;
    for _ in &shapes {
        app.operator().refreshes("yard", "controller").await;
    }
    provider.has_seen(shapes.len(), SOON).await;
    assert!(app.is_running(), "{}", app.log());
    assert!(!app.log().contains("panicked"), "{}", app.log());

    provider.is(Mode::Json(200, "{\"relays\":{}}".to_owned()));
    app.configure(Config::yard(&provider.base_url()).tuned(|c| by_hand(c).every("1s")));
    app.restart().await;
    let (began, asked) = (std::time::Instant::now(), provider.count());
    tokio::time::sleep(secs(6)).await;
    let most = began.elapsed().as_secs() as usize + 2;
    let asked = provider.count() - asked;
    assert!(asked <= most, "{asked} requests in {:?} at one a second", began.elapsed());
    assert!(app.is_running(), "{}", app.log());
}

/// A supervisor that starts it again and again spends nothing of a day that is over.
#[tokio::test(flavor = "multi_thread")]
async fn a03_killed_again_and_again_it_spends_nothing_of_a_spent_day() {
    let provider = FakeProvider::unlimited().await;
    let body = r#"{"statusCode":429,"errorType":"RATE_LIMIT_EXCEEDED","message":"API calls rate limit has been exceeded.","extendedPayload":{"name":"day limit","requestCountLimit":1450}}"#;
    provider.is(Mode::Json(429, body.to_owned()));
    let mut app = TestApp::start(slow_yard(&provider, "1s")).await;
    app.connection_when("yard", "the connection is held", |c| !c["hold"].is_null()).await;
    for _ in 0..6 {
        app.crash().await;
        tokio::time::sleep(Duration::from_millis(1500)).await;
    }
    assert_eq!(provider.count(), 1, "a start asked in spite of the refusal");
}

#[tokio::test(flavor = "multi_thread")]
async fn a04_an_attempt_that_failed_is_stamped_like_one_that_did_not() {
    let provider = FakeProvider::unlimited().await;
    provider.is(Mode::ServerError);
    let mut app = TestApp::start(slow_yard(&provider, "60s")).await;
    provider.has_seen(1, SOON).await;
    for _ in 0..5 {
        app.crash().await;
        tokio::time::sleep(secs(1)).await;
    }
    assert_eq!(provider.count(), 1, "a failure was tried again before the interval was over");
}

#[tokio::test(flavor = "multi_thread")]
async fn a11_started_while_locked_out_everything_is_there_and_said_to_be_old() {
    let provider = FakeProvider::limited(5, secs(60)).await;
    let mut app = TestApp::start(slow_yard(&provider, "2s")).await;
    let good = app.has_polled("yard", "controller").await;
    provider.is(Mode::TooMany(Some("3600")));
    app.connection_when("yard", "the connection is held", |c| !c["hold"].is_null()).await;
    let (asked, before) = (provider.count(), app.target("yard", "controller").await);
    app.crash().await;
    let target = app.target("yard", "controller").await;
    assert_eq!(target["item_count"], good["item_count"]);
    assert_eq!(target["as_of"], before["as_of"]);
    let stale = app.target_when("yard", "controller", "it is called stale", |t| !t["stale"].is_null()).await;
    assert_eq!(stale["items"].as_array().map(Vec::len), good["items"].as_array().map(Vec::len), "{stale}");
    assert_eq!(provider.count(), asked, "a start asked in spite of the hold");
}

#[tokio::test(flavor = "multi_thread")]
async fn a23_an_error_in_a_200_never_takes_the_place_of_an_answer() {
    let provider = FakeProvider::unlimited().await;
    let app = TestApp::start(slow_yard(&provider, "1s")).await;
    let good = app.has_polled("yard", "controller").await;
    provider.is(Mode::Json(200, "{\"error\":\"rate limit exceeded\"}".to_owned()));
    app.has_charge("yard", "limited").await;
    let target = app.target("yard", "controller").await;
    assert_eq!(target["item_count"], good["item_count"], "{target}");
    assert_eq!(target["generation"], good["generation"], "{target}");
}

/// Six reads at once, and one of them is refused: its own shelf keeps what it had, those of the others have what they were answered,
/// and whoever reads later sees no trace of a 429.
#[tokio::test(flavor = "multi_thread")]
async fn a24_one_refusal_among_parallel_reads_is_on_no_shelf() {
    let provider = Script::answering_together(6, |asked| match (asked.number >= 6, asked.path()) {
        (true, "/c") => wire::json(429, &[("retry-after", "5"), ("cache-control", "max-age=600")], r#"{"rows":[]}"#),
        (true, _) => wire::json(200, &[], r#"{"rows":[{"id":1},{"id":2}]}"#),
        (false, _) => wire::json(200, &[], r#"{"rows":[{"id":1}]}"#),
    })
    .await;
    let names = ["a", "b", "c", "d", "e", "f"];
    let target = |name: &&str| {
        format!("[[connection.target]]\nname = \"{name}\"\nget = \"/{name}\"\nitems = \"$.rows[*]\"\nkey = \"$.id\"\n")
    };
    let body: String = names.iter().map(target).collect();
    let connection = Connection::plain("shop", &provider.base_url()).every("24h").min_age("1ms").body(&body);
    let app = TestApp::start(Config::new().with(connection)).await;
    let operator = app.operator();
    futures_util::future::join_all(names.iter().map(|name| operator.refreshes("shop", name))).await;
    futures_util::future::join_all(names.iter().map(|name| operator.refreshes("shop", name))).await;
    assert_eq!(provider.asked().len(), 12, "six reads, twice");
    for name in names {
        let target = app.target("shop", name).await;
        let (items, generation) = if name == "c" { (1, 1) } else { (2, 2) };
        assert_eq!((&target["item_count"], &target["generation"]), (&items.into(), &generation.into()), "{target}");
        assert_eq!(target["items"].as_array().map(Vec::len), Some(items), "{target}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a28_every_surface_calls_the_same_reading_old_at_the_same_age() {
    let mut provider = FakeProvider::unlimited().await;
    let app = TestApp::start(slow_yard(&provider, "1s")).await;
    app.has_polled("yard", "controller").await;
    provider.goes_away();
    let target = app.target_when("yard", "controller", "it is called stale", |t| t["state"] == "stale").await;
    let page = app.page("yard", "controller").await;
    assert!(page.contains(">controller: stale"), "{page}");
    let listed = app.get("/api/v1/connections/yard/targets").await.json();
    let listed = crate::support::app::members(&listed, "targets");
    assert!(listed.iter().all(|t| t["state"] == "stale"), "{listed:?}");
    let headers = app.get("/api/v1/connections/yard/targets/controller").await;
    let age: u64 = headers.header("age").and_then(|a| a.parse().ok()).expect("an Age");
    let told = target["age_seconds"].as_f64().expect("an age") as u64;
    assert!((told..=told + 3).contains(&age), "the header says {age} s, the body said {told} s");
}

#[tokio::test(flavor = "multi_thread")]
async fn a37_a_backup_that_is_cut_off_is_no_file_of_that_name() {
    let provider = FakeProvider::unlimited().await;
    let mut app = TestApp::start(slow_yard(&provider, "60s")).await;
    app.has_polled("yard", "controller").await;
    let mut cut = 0;
    for round in 0..40 {
        let copy = app.folder().join(format!("copy-{round}.redb"));
        let name = copy.display().to_string();
        let mut backup = app.begins(&["backup", &name]);
        let begun = || std::fs::read_dir(app.folder()).is_ok_and(|mut all| all.any(|e| is_part(&e, round)));
        let patience = std::time::Instant::now() + SOON;
        while !begun() && !copy.exists() && std::time::Instant::now() < patience {
            std::hint::spin_loop();
        }
        assert!(begun() || copy.exists(), "the backup never began: {}", app.log());
        app.kill_9();
        // It waits for the appliance, or opens the file itself.
        backup.wait().expect("an end");
        cut += usize::from(!copy.exists());
        app.boots().await;
        if copy.exists() {
            app.larder_here(&["verify", &name]).await.expect(0);
        }
        if cut >= 2 {
            return;
        }
    }
    panic!("no backup was cut off in 40 rounds");
}

/// What is being copied under another name until it is whole.
fn is_part(entry: &std::io::Result<std::fs::DirEntry>, round: usize) -> bool {
    let name = entry.as_ref().map(|e| e.file_name().to_string_lossy().into_owned()).unwrap_or_default();
    name.contains(&format!("copy-{round}.")) && name.contains("part")
}

#[tokio::test(flavor = "multi_thread")]
async fn a38_a_file_of_no_bytes_is_not_an_empty_shelf() {
    let provider = FakeProvider::unlimited().await;
    let mut app = TestApp::start(slow_yard(&provider, "60s")).await;
    app.has_polled("yard", "controller").await;
    app.stop().await;
    let asked = provider.count();
    std::fs::write(app.data(), b"").expect("an empty file");
    // However often a supervisor starts it.
    for _ in 0..3 {
        app.spawns();
        let status = app.ends(SOON).await;
        assert!(!status.success(), "it took an empty file for an empty shelf");
    }
    assert_eq!(std::fs::metadata(app.data()).expect("the file").len(), 0, "what was there is left as it was");
    assert!(app.log().contains("backup"), "the log says what to do: {}", app.log());
    assert_eq!(provider.count(), asked, "nothing is sent on a ledger that is not known");
}

#[tokio::test(flavor = "multi_thread")]
async fn a45_refused_for_a_long_time_it_does_not_grow() {
    let provider = FakeProvider::unlimited().await;
    let app = TestApp::start(slow_yard(&provider, "1s")).await;
    app.has_polled("yard", "controller").await;
    provider.is(Mode::Json(200, "{\"success\":false,\"code\":28841004,\"msg\":\"quota exceeded\"}".to_owned()));
    app.has_charge("yard", "limited").await;
    let asked = provider.count();
    let (threads, resident) = (app.threads(), app.resident_kb().unwrap_or_default());
    for _ in 0..200 {
        app.operator().refreshes("yard", "controller").await;
        app.get("/c/yard").await;
    }
    let (threads_after, resident_after) = (app.threads(), app.resident_kb().unwrap_or_default());
    assert!(threads_after <= threads + 2, "{threads} threads became {threads_after}");
    assert!(resident_after <= resident + 16 * 1024, "{resident} kB became {resident_after} kB");
    assert_eq!(provider.count(), asked, "nobody knocks while the account is locked out");
}

#[tokio::test(flavor = "multi_thread")]
async fn a50_two_hundred_wishes_are_few_requests() {
    let provider = FakeProvider::unlimited().await;
    let app = TestApp::start(slow_yard(&provider, "60s").tuned(|c| c.min_age("5s"))).await;
    app.has_polled("yard", "controller").await;
    let began = std::time::Instant::now();
    for _ in 0..20 {
        let operator = app.operator();
        futures_util::future::join_all((0..10).map(|_| operator.refreshes("yard", "controller"))).await;
    }
    let most = 2 + began.elapsed().as_secs() as usize / 5;
    assert!(provider.count() <= most, "{} requests for 200 wishes in {:?}", provider.count(), began.elapsed());
}

#[tokio::test(flavor = "multi_thread")]
async fn a52_an_instant_that_has_passed_is_not_shown_as_to_come() {
    let provider = FakeProvider::unlimited().await;
    provider
        .next(Mode::Json(200, "{\"relays\":[{\"relay_id\":1,\"name\":\"Lawn\",\"time\":3,\"run\":600}]}".to_owned()));
    let app = TestApp::start(slow_yard(&provider, "60s")).await;
    app.has_polled("yard", "controller").await;
    tokio::time::sleep(secs(5)).await;
    let page = app.page("yard", "controller").await;
    assert!(page.contains("overdue"), "three seconds, five seconds later: {page}");
    let target = app.target("yard", "controller").await;
    assert!(target["items"][0]["fields"]["next_run"].is_string(), "the instant itself stays: {target}");
}
