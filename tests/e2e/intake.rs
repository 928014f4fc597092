//! Answers that an agent pushes, through the real binary: they take the way of a poll's answer with an age of their own, and no order and no
//! repetition makes more of them than they are (CASES T; issue of the organizations).

use crate::support::*;
use serde_json::{Value, json};

/// A cellar whose pump only an agent can reach: nothing is asked for.
pub const CELLAR: &str = r#"
[[connection.target]]
name  = "pump"
push  = true
items = "$.pumps[*]"
key   = "$.id"
fresh_for = "1h"
[connection.target.fields]
bar = { path = "$.bar", as = "number" }
"#;

pub fn cellar(provider: &FakeProvider) -> Config {
    Config::new().with(Connection::plain("cellar", &provider.base_url()).body(CELLAR))
}

/// So many seconds ago.
fn ago(seconds: i64) -> String {
    (jiff::Timestamp::now() - jiff::SignedDuration::from_secs(seconds)).to_string()
}

fn said(id: &str, as_of: &str, bar: f64) -> Value {
    let answer = json!({ "pumps": [{ "id": "1", "bar": bar }] });
    json!({ "id": id, "connection": "cellar", "target": "pump", "as_of": as_of, "answer": answer })
}

fn push(token: &str, observations: &[Value]) -> Ask {
    Ask::post("/api/v1/intake/observations").token(token).json(&json!({ "observations": observations }))
}

async fn agent(app: &TestApp, organization: &str) -> String {
    let name = format!("agent of {organization}");
    let create = ["token", "create", "--name", &name, "--role", "agent", "--organization", organization];
    app.larder_here(&create).await.expect(0).stdout.trim().to_owned()
}

fn words(reply: &Value) -> Vec<&str> {
    members_of(reply).iter().map(|one| one["became"].as_str().unwrap_or("refused")).collect()
}

fn members_of(reply: &Value) -> &[Value] {
    reply["results"].as_array().map_or(&[], Vec::as_slice)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pushed_answer_is_shown_with_its_own_age_and_only_ever_by_a_newer_one() {
    let provider = FakeProvider::unlimited().await;
    let mut app = TestApp::start(cellar(&provider)).await;
    let token = agent(&app, "default").await;
    let (first, newer, older) = (said("a", &ago(600), 1.5), said("b", &ago(60), 2.5), said("c", &ago(300), 9.0));

    let taken = app.send(push(&token, std::slice::from_ref(&first))).await.expect(200).json();
    assert_eq!(words(&taken), ["applied"], "{taken}");
    let view = app.target("cellar", "pump").await;
    assert!((600..660).contains(&view["age_seconds"].as_u64().unwrap_or(0)), "its own age: {view}");
    assert_eq!((&view["items"][0]["fields"]["bar"], &view["state"]), (&json!(1.5), &json!("fresh")), "{view}");
    assert!(view["pushed"]["by"].as_str().is_some_and(|by| by.starts_with("agent of default (push")), "{view}");
    assert!(app.page("cellar", "pump").await.contains("Pushed by"), "the page says where it came from");

    let taken = app.send(push(&token, &[older.clone(), newer.clone(), older, first.clone()])).await.expect(200).json();
    assert_eq!(words(&taken), ["applied", "applied", "applied", "applied"], "each as it was at first: {taken}");
    let again: Vec<bool> = members_of(&taken).iter().map(|one| one["again"] == true).collect();
    assert_eq!(again, [false, false, true, true]);
    let late = app.send(push(&token, &[said("d", &ago(400), 7.0)])).await.expect(200).json();
    assert_eq!(words(&late), ["older"], "{late}");
    assert_eq!(app.target("cellar", "pump").await["items"][0]["fields"]["bar"], json!(2.5));
    let told = app.history("cellar", "pump").await.len();

    // What was said to be taken in is there after a crash, and is known.
    app.crash().await;
    let view = app.target("cellar", "pump").await;
    assert_eq!((&view["items"][0]["fields"]["bar"], &view["pushed"]["id"]), (&json!(2.5), &json!("b")), "{view}");
    let again = app.send(push(&token, &[newer, first])).await.expect(200).json();
    assert!(members_of(&again).iter().all(|one| one["again"] == true), "{again}");
    assert_eq!(app.history("cellar", "pump").await.len(), told, "told once");
    assert_eq!(provider.count(), 0, "nobody was asked");
    let metrics = app.send(Ask::get("/metrics").token(app.token())).await.expect(200).body;
    assert!(metrics.contains("larder_intake_observations_total{"), "{metrics}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_taken_in_is_refused_with_a_sentence_and_changes_nothing() {
    let provider = FakeProvider::unlimited().await;
    let app = TestApp::start(cellar(&provider)).await;
    let token = agent(&app, "default").await;
    let at = ago(60);
    app.send(push(&token, &[said("a", &at, 1.5)])).await.expect(200);
    let with = |key: &str, value: Value| {
        let mut one = said("z", &ago(5), 3.0);
        one[key] = value;
        one
    };
    for (one, status, says) in [
        (said("a", &at, 3.0), 409, "stands for another observation"),
        (with("as_of", json!("2999-01-01T00:00:00Z")), 422, "ahead of this appliance's clock"),
        (with("as_of", json!("yesterday")), 422, "RFC 3339"),
        (with("target", json!("well")), 404, "no target"),
        (with("connection", json!("attic")), 404, "no connection"),
        (with("status", json!(500)), 422, "no good answer"),
        (with("answer", json!({ "pumps": "none" })), 422, "no good answer"),
        (with("id", json!("two words")), 422, "without spaces"),
        (with("surprise", json!(1)), 422, "surprise"),
    ] {
        let problem = app.send(push(&token, std::slice::from_ref(&one))).await.expect_problem(status);
        assert!(problem["detail"].as_str().is_some_and(|why| why.contains(says)), "{one}: {problem}");
    }
    // Of several each has its own fate.
    let mixed =
        app.send(push(&token, &[with("target", json!("well")), said("b", &ago(5), 2.0)])).await.expect(200).json();
    assert_eq!((&mixed["results"][0]["status"], &mixed["results"][1]["status"]), (&json!(404), &json!(200)), "{mixed}");
    let north = agent(&app, "north").await;
    app.send(push(&north, &[said("n", &ago(1), 4.0)])).await.expect_problem(404);
    let other = Ask::post("/api/v1/intake/observations?organization=default").token(&north);
    app.send(other.json(&json!({ "observations": [said("n", &ago(1), 4.0)] }))).await.expect_problem(403);
    app.send(Ask::get("/api/v1/connections").token(&token)).await.expect_problem(403);
    let view = app.target("cellar", "pump").await;
    assert_eq!((&view["items"][0]["fields"]["bar"], &view["generation"]), (&json!(2.0), &json!(2)), "{view}");
    app.kept_its_secrets();
}

/// `larder push ...` to this address, with this token and the spool of this appliance's folder.
fn hand(app: &TestApp, more: &[&str]) -> Vec<String> {
    let spool = app.folder().join("push.redb").display().to_string();
    let token = app.folder().join("agent.token").display().to_string();
    let fixed = ["push", "--spool", &spool, "--token-file", &token];
    fixed.into_iter().chain(more.iter().copied()).map(str::to_owned).collect()
}

async fn pushes(app: &TestApp, more: &[&str]) -> crate::support::app::Said {
    let all = hand(app, more);
    app.larder(&all.iter().map(String::as_str).collect::<Vec<_>>()).await
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_is_killed_loses_nothing_and_delivers_each_answer_once() {
    let provider = FakeProvider::unlimited().await;
    let app = TestApp::start(cellar(&provider)).await;
    let token = agent(&app, "default").await;
    std::fs::write(app.folder().join("agent.token"), format!("{token}\n")).expect("a file of the test");
    let write = |bar: f64| {
        let file = app.folder().join("pump.json");
        std::fs::write(&file, json!({ "pumps": [{ "id": "1", "bar": bar }] }).to_string()).expect("a file of the test");
        file.display().to_string()
    };
    let about = ["--connection", "cellar", "--target", "pump", "--as-of"];

    // An appliance that hears and does not answer: the agent is killed while it waits.
    let silent =
        crate::support::script::Script::answering_after(secs(60), |_| crate::support::wire::http(200, &[], b"{}"))
            .await;
    let (file, at) = (write(1.5), ago(30));
    let all = hand(&app, &[&about[..], &[&at, &file, "--to", &silent.base_url()]].concat());
    let mut child = app.begins(&all.iter().map(String::as_str).collect::<Vec<_>>());
    eventually("the silent one is asked", SOON, || async { (!silent.asked().is_empty()).then_some(()) }).await;
    child.kill().expect("it runs");
    child.wait().expect("it ran");

    // Another one finds nobody at home: it is told, and kept.
    let (file, at) = (write(2.5), ago(20));
    let nobody = format!("http://127.0.0.1:{}", crate::support::process::free_port());
    let said = pushes(&app, &[&about[..], &[&at, &file, "--to", &nobody]].concat()).await.expect(1);
    assert!(said.stderr.contains("2 observations wait") && said.stderr.contains("no connection"), "{}", said.stderr);

    // The real one has both, each once.
    let here = format!("http://{}", app.address);
    let delivered = eventually("both are delivered", SOON, || async {
        let said = pushes(&app, &["--to", &here]).await;
        (said.code == Some(0)).then_some(said)
    })
    .await;
    assert!(delivered.stderr.contains("2 observations delivered"), "{}", delivered.stderr);
    let view = app.target("cellar", "pump").await;
    assert_eq!((&view["items"][0]["fields"]["bar"], &view["generation"]), (&json!(2.5), &json!(2)), "{view}");
    assert!(pushes(&app, &["--to", &here]).await.expect(0).all().is_empty(), "nothing waits, and nothing is said");
    assert!(!said.all().contains(&token) && !delivered.all().contains(&token), "the token is nowhere");
}
