//! Clients in Python, from the registry of their language: `requests`, `httpx`, PyGithub, pydrawise.

use crate::installed;
use crate::support::script::{Asked, Script};
use crate::support::wire::{json, pairs};
use crate::support::*;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// Runs a script to its end, and returns how many calls its client made. It knows an address and a key, and nothing of Larder.
async fn calls(python: &Path, script: &str, address: &str, key: &str) -> usize {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients/python").join(script);
    let mut command = tokio::process::Command::new(python);
    command.env_clear().arg("-I").arg(&script).args([address, key]).kill_on_drop(true);
    let output = tokio::time::timeout(secs(60), command.output()).await.expect("it ends").expect("it starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {said}", script.display());
    let told: serde_json::Value = serde_json::from_slice(&output.stdout).expect("one line of JSON");
    told["calls"].as_u64().and_then(|calls| calls.try_into().ok()).expect("a number of calls")
}

fn bearer(name: &str, base_url: &str, gateway: &str) -> Config {
    let connection = Connection::plain(name, base_url).secret_in("ITS_KEY");
    let carrier = "header = \"Authorization\", scheme = \"Bearer\"".to_owned();
    Config::new().with(Connection { carrier, ..connection }.body(gateway))
}

const DAY: &str = "[connection.gateway]\nfresh_for = \"1d\"\n";

/// A list in two pages, what it names, and a 404 for anything else.
fn tasks(asked: &Asked) -> Vec<u8> {
    let task = |id: u32| format!("{{\"id\":{id},\"title\":\"Task {id}\"}}");
    let list = |ids: [u32; 2]| format!("[{}]", ids.map(task).join(","));
    let next = format!("<http://{}/tasks?page=2>; rel=\"next\"", asked.header("host"));
    match asked.location.as_str() {
        "/tasks?page=1" => json(200, &[("link", &next)], &list([1, 2])),
        "/tasks?page=2" => json(200, &[], &list([3, 4])),
        "/tasks/1" => json(200, &[("etag", "\"one\"")], &task(1)),
        "/tasks/2" => json(200, &[], &task(2)),
        _ => json(404, &[], "{\"message\": \"Not Found\"}"),
    }
}

/// The account's key went out with every request, and the client's with none.
fn keys_are_the_account_s(provider: &Script, app: &TestApp) {
    for asked in provider.asked() {
        assert_eq!(asked.header("authorization"), format!("Bearer {}", app.secret()), "{}", asked.location);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn workers_with_requests_share_what_they_read() {
    let Some(python) = installed::python() else { return };
    let provider = Script::answering(tasks).await;
    let app = TestApp::start(bearer("desk", &provider.base_url(), DAY)).await;
    let address = format!("http://{}/gateway/desk", app.address);
    assert_eq!(calls(&python, "with_requests.py", &address, "a-key-of-its-own").await, 100);
    for path in ["/tasks?page=1", "/tasks?page=2", "/tasks/1"] {
        let times = provider.asked().iter().filter(|asked| asked.location == path).count();
        assert_eq!(times, 1, "{path}");
    }
    // What is not there is asked for each time, but by all who ask at once together.
    assert!(provider.asked_of("/tasks/99").len() <= 20);
    keys_are_the_account_s(&provider, &app);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crowd_in_httpx_makes_one_request_of_each_kind() {
    let Some(python) = installed::python() else { return };
    let provider = Script::answering_after(Duration::from_millis(200), tasks).await;
    let app = TestApp::start(bearer("desk", &provider.base_url(), DAY)).await;
    let address = format!("http://{}/gateway/desk", app.address);
    assert_eq!(calls(&python, "with_httpx.py", &address, "a-key-of-its-own").await, 150);
    assert_eq!(provider.asked().len(), 3, "{:?}", provider.asked());
    keys_are_the_account_s(&provider, &app);
}

#[tokio::test(flavor = "multi_thread")]
async fn pygithub_reads_pages_and_opens_an_issue() {
    let Some(python) = installed::python() else { return };
    let opened = AtomicBool::new(false);
    let provider = Script::answering(move |asked| {
        let issue = |number: u32, title: &str| format!("{{\"number\":{number},\"title\":\"{title}\"}}");
        let next = format!(
            "<http://{}/repos/garden/yard/issues?state=open&per_page=2&page=2>; rel=\"next\"",
            asked.header("host")
        );
        match (asked.method.as_str(), asked.path()) {
            ("POST", "/repos/garden/yard/issues") => {
                opened.store(true, Ordering::SeqCst);
                json(201, &[], &issue(4, "Moles"))
            }
            (_, "/users/gardener") => json(200, &[], "{\"login\":\"gardener\",\"name\":\"The Gardener\"}"),
            (_, "/repos/garden/yard/issues") if asked.location.split(['?', '&']).any(|pair| pair == "page=2") => {
                let more =
                    if opened.load(Ordering::SeqCst) { format!(",{}", issue(4, "Moles")) } else { String::new() };
                json(200, &[], &format!("[{}{more}]", issue(3, "Moss")))
            }
            (_, "/repos/garden/yard/issues") => {
                json(200, &[("link", &next)], &format!("[{},{}]", issue(1, "Leak"), issue(2, "Frost")))
            }
            _ => json(404, &[], "{\"message\": \"Not Found\"}"),
        }
    })
    .await;
    let may_write = "[connection.gateway]\nfresh_for = \"1d\"\n[[connection.gateway.allow]]\nmethods = [\"GET\", \"HEAD\", \"POST\"]\n\
                     path = \"/**\"\n";
    let app = TestApp::start(bearer("hub", &provider.base_url(), may_write)).await;
    let address = format!("http://{}/gateway/hub", app.address);
    assert_eq!(calls(&python, "with_github.py", &address, app.token()).await, 33);
    // The user, two pages, the issue that is opened, and the two pages anew.
    assert_eq!(provider.asked().len(), 6, "{:?}", provider.asked());
    keys_are_the_account_s(&provider, &app);
}

#[tokio::test(flavor = "multi_thread")]
async fn pydrawise_reads_the_yard_and_runs_a_zone() {
    let Some(python) = installed::python() else { return };
    let runs = AtomicBool::new(false);
    let provider = Script::answering(move |asked| match asked.path() {
        "/customerdetails.php" => {
            let controller = "{\"controller_id\":7,\"name\":\"Yard\",\"status\":\"All good!\"}";
            json(200, &[], &format!("{{\"customer_id\":1,\"controllers\":[{controller}]}}"))
        }
        "/setzone.php" => {
            runs.store(true, Ordering::SeqCst);
            json(200, &[], "{\"message\":\"Starting zone.\",\"message_type\":\"info\"}")
        }
        _ => {
            let time = if runs.load(Ordering::SeqCst) { 1 } else { 3600 };
            let zone = |number: u32, time: u32| {
                format!(
                    "{{\"relay\":{number},\"relay_id\":{},\"name\":\"Zone {number}\",\"time\":{time},\"run\":300}}",
                    number + 100
                )
            };
            json(
                200,
                &[],
                &format!("{{\"nextpoll\":60,\"sensors\":[],\"relays\":[{},{}]}}", zone(1, time), zone(2, 7200)),
            )
        }
    })
    .await;
    let connection = Connection::irrigation("yard", &provider.base_url()).no_limits().quiet();
    let forgets = "[connection.gateway]\nfresh_for = \"1d\"\n[[connection.gateway.rule]]\npath = \"/setzone.php\"\n\
                   forgets = [\"/statusschedule.php\"]\n";
    let body = format!("{}{forgets}", connection.body);
    let app = TestApp::start(Config::new().with(connection.body(&body))).await;
    app.has_polled("yard", "controller").await;
    let address = format!("http://{}/gateway/yard", app.address);
    assert_eq!(calls(&python, "with_pydrawise.py", &address, app.token()).await, 23);
    let times = |path: &str| provider.asked_of(path).len();
    assert_eq!(times("/setzone.php"), 1, "a valve is opened once");
    assert_eq!(times("/customerdetails.php"), 1);
    assert_eq!(times("/statusschedule.php"), 2, "the poller's reading serves the client, until the zone is started");
    for asked in provider.asked() {
        let query = asked.location.split_once('?').map_or("", |(_, query)| query);
        let keys: Vec<String> = pairs(query).filter(|(name, _)| name == "api_key").map(|(_, value)| value).collect();
        assert_eq!(keys, [app.secret()], "{}", asked.location);
    }
}
