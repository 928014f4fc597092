//! curl, as people have it in scripts: its own conditions, parts and redirects.

use crate::support::process::judge_program;
use crate::support::script::{Asked, Script};
use crate::support::wire::{gzip, http, json};
use crate::support::*;

fn provider(asked: &Asked) -> Vec<u8> {
    match asked.path() {
        "/moved" => http(302, &[("location", &format!("http://{}/report", asked.header("host")))], b""),
        "/packed" if asked.header("accept-encoding").contains("gzip") => http(
            200,
            &[("content-type", "application/json"), ("content-encoding", "gzip")],
            &gzip(b"{\"packed\":true}"),
        ),
        _ => json(200, &[("etag", "\"first\"")], &format!("{{\"asked\":\"{}\"}}", asked.location)),
    }
}

/// What it wrote to its output; its end is its judgement.
async fn curl(arguments: &[&str]) -> String {
    let mut command = tokio::process::Command::new("curl");
    command.args(["--silent", "--show-error", "--fail", "--max-time", "20", "--noproxy", "*"]).args(arguments);
    let output = command.kill_on_drop(true).output().await.expect("curl starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "curl {arguments:?}: {said}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn curl_gets_what_it_asks_for_and_the_account_is_spent_once() {
    if judge_program("curl", "curl").is_none() {
        return;
    }
    let provider = Script::answering(provider).await;
    let hub = Connection::plain("hub", &provider.base_url()).secret_in("HUB_KEY");
    let hub = Connection { carrier: "header = \"Authorization\", scheme = \"Bearer\"".to_owned(), ..hub };
    let app = TestApp::start(Config::new().with(hub.body("[connection.gateway]\nfresh_for = \"1d\"\n"))).await;
    let url = |path: &str| format!("http://{}/gateway/hub{path}", app.address);
    let file = |name: &str| app.folder().join(name).display().to_string();

    let report = url("/report?of=a%2Fb");
    let whole =
        curl(&["--header", "Authorization: Bearer the-scripts-own", "--etag-save", &file("tag"), &report]).await;
    assert_eq!(whole, "{\"asked\":\"/report?of=a%2Fb\"}");
    assert_eq!(std::fs::read_to_string(file("tag")).expect("curl saved it").trim(), "\"first\"");
    for _ in 0..20 {
        assert_eq!(curl(&[&report]).await, whole);
    }
    let again = ["--etag-compare", &file("tag"), "--write-out", "%{http_code}", &report];
    assert_eq!(curl(&again).await, "304");
    assert_eq!(curl(&["--range", "2-6", "--write-out", " %{http_code}", &report]).await, "asked 206");
    assert!(curl(&["--head", &report]).await.contains("content-length: 28"));
    assert_eq!(provider.asked_of("/report").len(), 1, "24 times asked, once spent");

    assert_eq!(curl(&["--location", &url("/moved")]).await, "{\"asked\":\"/report\"}", "the redirect leads back here");
    let packed = url("/packed");
    for arguments in [&["--compressed", &packed][..], &[&packed]] {
        assert_eq!(curl(arguments).await, "{\"packed\":true}", "one answer for who takes codings and who does not");
    }
    assert_eq!(provider.asked_of("/packed").len(), 1);
}
