//! Commands are durable jobs: sent once, told honestly, followed by at most one refresh (CASES I2; laws 1, 2 and 6).

use crate::support::app::members;
use crate::support::operator::job_id;
use crate::support::*;
use serde_json::json;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

/// Five per 10 s for each endpoint, a poller that asks once, a refresh after 2 s at the earliest.
async fn quiet_yard(provider: &FakeProvider) -> TestApp {
    let app = TestApp::start(Config::yard(&provider.base_url()).tuned(|c| c.quiet())).await;
    app.has_polled("yard", "controller").await;
    app
}

/// Until the shelf's answer is as old as a refresh needs it.
async fn old_enough(app: &TestApp) {
    app.target_when("yard", "controller", "the answer is 3 s old", |t| t["age_seconds"].as_u64() >= Some(3)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_is_accepted_sent_once_and_followed_by_a_refresh() {
    let provider = FakeProvider::limited(5, secs(10)).await;
    let app = quiet_yard(&provider).await;
    let mut events = app.events(None).await;
    old_enough(&app).await;

    let reply = app.operator().commands("yard", "run-zone", &json!({"item": "3", "seconds": "60"}), None).await;
    let accepted = reply.expect(202).json();
    assert_eq!(accepted["command"], "run-zone", "{accepted}");
    assert_eq!(accepted["parameters"]["item"], "3");
    let job = app.operator().sees_job(job_id(&accepted), "done").await;
    assert!(job["message"].as_str().is_some_and(|m| !m.is_empty()), "what the provider answered: {job}");
    events.until("job_changed", SOON).await;

    let seen = provider.seen();
    let sent: Vec<_> = seen.iter().filter(|s| s.endpoint == SET_ZONE).collect();
    assert_eq!(sent.len(), 1);
    assert_eq!((&sent[0].parameters["relay_id"][..], &sent[0].parameters["custom"][..]), ("3", "60"));
    assert_eq!(sent[0].key, app.secret(), "the key travels with a command");

    // I2: the fifth request shows what the command did.
    app.target_when("yard", "controller", "zone 3 is seen running", |t| t["items"][2]["state"] == "running").await;
    assert_eq!(provider.count_of(STATUS), 2);
    let job = eventually("the job tells of its refresh", SOON, || async {
        let job = app.job(job_id(&accepted)).await;
        (!job["refresh"].is_null()).then_some(job)
    })
    .await;
    assert_eq!((&job["refresh"]["target"], &job["refresh"]["result"]), (&"controller".into(), &"refreshed".into()));
    let ledger = app.ledger("yard").await;
    let callers: Vec<_> = ledger.iter().filter_map(|c| c["caller"].as_str()).collect();
    assert_eq!(callers, ["poller", "command", "refresh"]);
    provider.was_never_over();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_young_answer_is_not_refreshed_after_a_command() {
    let provider = FakeProvider::limited(5, secs(10)).await;
    let config = Config::yard(&provider.base_url()).tuned(|c| c.quiet().min_age("60s"));
    let app = TestApp::start(config).await;
    app.has_polled("yard", "controller").await;
    let id = app.operator().runs_zone(1).await;
    app.operator().sees_job(id, "done").await;
    let job = eventually("the refresh is decided", SOON, || async {
        let job = app.job(id).await;
        (!job["refresh"].is_null()).then_some(job)
    })
    .await;
    assert_ne!(job["refresh"]["result"], "refreshed", "{job}");
    stays("no refresh of a young answer", 1, secs(2), || provider.count_of(STATUS)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_in_flight_it_is_unknown_and_never_sent_again() {
    let provider = FakeProvider::limited(5, secs(10)).await;
    let mut app = quiet_yard(&provider).await;
    provider.switches(Mode::Slow(secs(3)));
    let id = app.operator().runs_zone(2).await;
    eventually("the command is in flight", SOON, || async { (provider.count_of(SET_ZONE) == 1).then_some(()) }).await;

    app.crash().await;
    let job = app.operator().sees_job(id, "unknown").await;
    assert!(job["message"].as_str().is_some_and(|m| !m.is_empty()), "said so in words: {job}");
    let page = app.get("/c/yard").await.expect(200).body;
    assert!(page.contains("unknown"), "the page does not say it:\n{page}");
    stays("a command is never sent twice", 1, secs(5), || provider.count_of(SET_ZONE)).await;
    app.crash().await;
    assert_eq!(app.job(id).await["state"], "unknown");
    stays("also not after another crash", 1, secs(2), || provider.count_of(SET_ZONE)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_answer_makes_it_unknown() {
    let provider = FakeProvider::limited(5, secs(10)).await;
    let app = quiet_yard(&provider).await;
    provider.switches(Mode::Drop);
    let id = app.operator().runs_zone(2).await;
    app.operator().sees_job(id, "unknown").await;
    stays("not sent again", 1, secs(3), || provider.count_of(SET_ZONE)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_makes_a_repeated_request_the_same_job() {
    let provider = FakeProvider::limited(5, secs(10)).await;
    let mut app = quiet_yard(&provider).await;
    let zone = json!({"item": "1", "seconds": "30"});
    let first = app.operator().commands("yard", "run-zone", &zone, Some("\"monday-7\"")).await.expect(202).json();
    app.operator().sees_job(job_id(&first), "done").await;
    app.crash().await;
    let again = app.operator().commands("yard", "run-zone", &zone, Some("\"monday-7\"")).await;
    assert!(again.status == 202 || again.status == 200, "{again:?}");
    assert_eq!(again.json()["id"], first["id"]);
    let other = json!({"item": "2", "seconds": "30"});
    let reused = app.operator().commands("yard", "run-zone", &other, Some("\"monday-7\"")).await;
    assert!(reused.status == 422 || reused.status == 409, "a key for another request: {reused:?}");
    stays("one key, one request", 1, secs(2), || provider.count_of(SET_ZONE)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_waits_for_its_budget_over_a_restart() {
    let provider = FakeProvider::limited(2, secs(10)).await;
    let config =
        Config::yard(&provider.base_url()).tuned(|c| c.no_limits().limit("all", 2, "10s", "").quiet().min_age("60s"));
    let mut app = TestApp::start(config).await;
    app.has_polled("yard", "controller").await;
    let mut jobs = Vec::new();
    for zone in 1..=3 {
        jobs.push(app.operator().runs_zone(zone).await);
    }
    eventually("two were sent", SOON, || async { (provider.count_of(SET_ZONE) == 2).then_some(()) }).await;
    for id in &jobs[..2] {
        app.operator().sees_job(*id, "done").await;
    }
    assert_eq!(app.job(jobs[2]).await["state"], "queued", "the third waits");
    app.crash().await;
    app.operator().sees_job(jobs[2], "done").await;
    assert_eq!(provider.count_of(SET_ZONE), 3);
    provider.was_never_over();
}

#[tokio::test(flavor = "multi_thread")]
async fn f11_a_command_that_waits_is_not_sent_once_its_connection_is_paused() {
    let provider = FakeProvider::unlimited().await;
    let config = Config::yard(&provider.base_url()).tuned(|c| c.no_limits().limit("all", 1, "10m", "").quiet());
    let app = TestApp::start(config).await;
    let sent = app.operator().runs_zone(1).await;
    app.operator().sees_job(sent, "done").await;
    let waits = app.operator().runs_zone(2).await;
    assert_eq!(app.job(waits).await["state"], "queued", "its endpoint has one in 10 min");
    app.operator().stops("yard").await;
    let job = app.operator().sees_job(waits, "failed").await;
    assert_eq!(job["message"], "not sent: the connection is paused", "{job}");
    assert_eq!(provider.count_of(SET_ZONE), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_makes_no_sense_is_refused() {
    let provider = FakeProvider::limited(5, secs(10)).await;
    let app = quiet_yard(&provider).await;
    let operator = app.operator();
    let missing = operator.commands("yard", "run-zone", &json!({"item": "1"}), None).await;
    assert!(missing.status == 400 || missing.status == 422, "{missing:?}");
    assert!(missing.body.contains("seconds"), "names what is missing: {}", missing.body);
    operator.commands("yard", "dance", &json!({}), None).await.expect_problem(404);
    let asked = provider.count();
    let stranger = json!({"item": "99", "seconds": "5"});
    let said = operator.commands("yard", "run-zone", &stranger, None).await.expect_problem(422);
    let told = said["detail"].as_str().unwrap_or_default();
    assert!(told.contains("\"99\" is no item of controller") && told.contains("1, 2, 3"), "{said}");
    let broken = json!({"item": "1", "seconds": "5\r\nX: y"});
    let said = operator.commands("yard", "run-zone", &broken, None).await.expect_problem(422);
    assert!(said["detail"].as_str().is_some_and(|d| d.contains("control character")), "{said}");
    assert_eq!(provider.count(), asked, "a refusal costs nothing");
    // A parameter stays inside its place in the query.
    let tricky = json!({"item": "1", "seconds": "5&relay_id=2#"});
    let reply = operator.commands("yard", "run-zone", &tricky, None).await;
    if reply.status == 202 {
        eventually("it was sent", SOON, || async { (provider.count_of(SET_ZONE) == 1).then_some(()) }).await;
        let seen = provider.seen().into_iter().find(|s| s.endpoint == SET_ZONE).expect("just seen");
        assert_eq!(seen.parameters["custom"], "5&relay_id=2#", "{}", seen.query);
        assert_eq!(seen.parameters["relay_id"], "1", "{}", seen.query);
    }
}

/// What is accepted is durable before it is answered; who asked may be gone by then.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_accepted_is_sent_also_where_nobody_waits_for_the_answer() {
    let provider = FakeProvider::unlimited().await;
    let app = TestApp::start(Config::yard(&provider.base_url()).tuned(|c| c.no_limits().quiet())).await;
    let body = json!({"item": "3", "seconds": "60"}).to_string();
    let request = format!(
        "POST /api/v1/connections/yard/commands/run-zone HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {}\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        app.address,
        app.token(),
        body.len()
    );
    for _ in 0..15 {
        let mut socket = TcpStream::connect(app.address).await.expect("it listens");
        socket.write_all(request.as_bytes()).await.expect("it reads");
    }
    app.operator().runs_zone(1).await;
    eventually("every command that was accepted is done", SOON, || async {
        let jobs = members(&app.get("/api/v1/connections/yard/jobs").await.json(), "jobs");
        jobs.iter().all(|job| job["state"] == "done").then_some(())
    })
    .await;
}
