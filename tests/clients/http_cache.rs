//! The public suite of HTTP caches (`http-cache-tests`, BSD-3-Clause) against gateways with `freshness = "http"`. It asks each of its tests
//! of a connection of its own: a provider's refusal in one holds nobody else, as it would where one account is asked for all of them.

use crate::installed;
use crate::support::process::free_port;
use crate::support::*;
use serde::Deserialize;
use std::collections::BTreeSet;
use std::path::Path;

mod exceptions;

/// What the suite says of one of its tests.
#[derive(Deserialize)]
struct Result {
    id: String,
    kind: String,
    passed: bool,
    why: String,
    detail: String,
}

const GATEWAY: &str = "[connection.gateway]\nfreshness = \"http\"\n\
                       targeted = [\"Surrogate-Control\"]\n[[connection.gateway.allow]]\n\
                       methods = [\"GET\", \"HEAD\", \"POST\", \"PUT\", \"DELETE\", \"M-SEARCH\"]\npath = \"/**\"\n";

async fn node(node: &Path, arguments: &[&str]) -> String {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients/http_cache/run.mjs");
    let mut command = tokio::process::Command::new(node);
    command.arg("--no-warnings").arg(&script).args(arguments).kill_on_drop(true);
    let output = tokio::time::timeout(secs(300), command.output()).await.expect("it ends").expect("node starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {said}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_public_suite_of_http_caches_finds_nothing_but_what_is_meant() {
    let Some((program, suite)) = installed::suite() else { return };
    let suite = suite.display().to_string();
    let ids: Vec<String> = serde_json::from_str(&node(&program, &[&suite]).await).expect("a list of ids");

    let port = free_port();
    let mut config = Config::new();
    for n in 0..ids.len() {
        let connection = Connection::plain(&format!("t{n}"), &format!("http://127.0.0.1:{port}"));
        let connection = connection.secret_in(&format!("KEY_{n}")).body(GATEWAY);
        let carrier = "header = \"Authorization\", scheme = \"Account\"".to_owned();
        config = config.with(Connection { carrier, ..connection.conditional("free") });
    }
    let app = TestApp::start(config).await;
    let (port, gateway) = (port.to_string(), format!("http://{}/gateway", app.address));
    let run = async |only: &[&str]| -> Vec<Result> {
        let arguments = [&[&*suite, &*port, &*gateway, app.token()], only].concat();
        let said = node(&program, &arguments).await;
        said.lines().map(|line| serde_json::from_str(line).expect("a result a line")).collect()
    };
    let mut results = run(&[]).await;
    assert_eq!(results.len(), ids.len(), "all of them were run");

    let meant: BTreeSet<&str> = exceptions::EXCEPTIONS.iter().flat_map(|(_, ids)| ids.iter().copied()).collect();
    // Some go by seconds. On a busy machine one of them may come too late: it is asked once more, alone.
    let odd: Vec<String> =
        results.iter().filter(|r| r.passed == meant.contains(&*r.id)).map(|r| r.id.clone()).collect();
    if !odd.is_empty() {
        let again = run(&odd.iter().map(String::as_str).collect::<Vec<_>>()).await;
        results.retain(|result| !odd.contains(&result.id));
        results.extend(again);
    }

    let (all, passed) = (results.len(), results.iter().filter(|r| r.passed).count());
    println!("http-cache-tests: {passed} of {all}");
    for kind in ["required", "optimal", "check"] {
        let of = || results.iter().filter(|r| r.kind == kind);
        println!("  {kind}: {} of {}", of().filter(|r| r.passed).count(), of().count());
    }
    let told = |r: &Result| format!("{}: {} {}", r.id, r.why, r.detail);
    let failed: Vec<String> = results.iter().filter(|r| !r.passed && !meant.contains(&*r.id)).map(told).collect();
    assert!(failed.is_empty(), "{failed:#?}");
    let corrected = run(&["corrected"]).await;
    let today = |r: &Result| corrected.iter().find(|c| c.id == r.id).map_or(r.passed, |c| c.passed);
    println!("  as its authors expect it today: {}", results.iter().filter(|r| today(r)).count());
    let odd: BTreeSet<&str> = corrected.iter().filter(|r| !r.passed).map(|r| &*r.id).collect();
    let meant_today: BTreeSet<&str> = exceptions::TODAY.iter().flat_map(|(_, ids)| ids.iter().copied()).collect();
    assert_eq!(odd, meant_today, "{:#?}", corrected.iter().filter(|r| !r.passed).map(told).collect::<Vec<_>>());
    let better: Vec<&str> = results.iter().filter(|r| r.passed && meant.contains(&*r.id)).map(|r| &*r.id).collect();
    assert!(better.is_empty(), "these are no exceptions any more: {better:?}");
    assert!(meant.iter().all(|id| ids.iter().any(|known| known == id)), "an exception that is no test");
}
