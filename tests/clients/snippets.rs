//! What a target's page tells other programs to do, done as it stands there: by a shell, by a reader of YAML, by Prometheus's own tool.

use crate::installed;
use crate::support::process::judge_program;
use crate::support::*;
use serde_json::Value;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

const TOKEN: &str = "LARDER_TOKEN";

/// The text in each box, as it is copied.
fn boxes(page: &str) -> Vec<String> {
    let boxes = page.split("<pre class=\"snippet\" tabindex=\"0\"><code>").skip(1);
    let plain = |text: &str| {
        [("&#34;", "\""), ("&#39;", "'"), ("&#60;", "<"), ("&#62;", ">"), ("&#38;", "&")]
            .iter()
            .fold(text.to_owned(), |text, (coded, sign)| text.replace(coded, sign))
    };
    boxes.filter_map(|rest| rest.split("</code>").next()).map(plain).collect()
}

/// What a program makes of a text, and whether it is content.
fn judged(program: &Path, arguments: &[&str], folder: &Path, input: &str) -> (bool, String) {
    let mut command = Command::new(program);
    let piped =
        command.args(arguments).current_dir(folder).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = piped.spawn().expect("it starts");
    child.stdin.take().expect("a pipe").write_all(input.as_bytes()).expect("it reads");
    let output = child.wait_with_output().expect("it ends");
    let said = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
    (output.status.success(), said)
}

/// As a shell runs it.
async fn run(line: &str, token: &str) -> Value {
    let mut command = tokio::process::Command::new("sh");
    command.args(["-c", line]).env(TOKEN, token).env("NO_PROXY", "*").kill_on_drop(true);
    let output = tokio::time::timeout(secs(30), command.output()).await.expect("it ends").expect("it starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{line}: {said}");
    serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{line}: {e}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_page_tells_other_programs_works_as_it_stands_there() {
    let provider = FakeProvider::unlimited().await;
    let quiet = |c: Connection| c.no_limits().quiet();
    let app = TestApp::start(Config::yard(&provider.base_url()).tuned(quiet)).await;
    app.has_polled("yard", "controller").await;
    let asked = provider.count();
    let open = boxes(&app.get("/c/yard/t/controller").await.expect(200).body);
    // As a reader behind a proxy has it: with a token.
    let ask = Ask::get("/c/yard/t/controller").token(app.token()).header("x-forwarded-for", "192.0.2.1");
    let closed = boxes(&app.send(ask).await.expect(200).body);
    assert_eq!((open.len(), closed.len()), (5, 5), "{open:?}");
    assert!(closed[..3].iter().all(|text| text.contains(TOKEN)) && !open.concat().contains(TOKEN));

    if judge_program("curl", "curl").is_some() {
        for line in [&open[0], &closed[0]] {
            assert_eq!(run(line, app.token()).await["name"], "controller", "{line}");
        }
    }
    if let Some(promtool) = judge_program("promtool", "prometheus") {
        for yaml in [&open[2], &closed[2]] {
            std::fs::write(app.folder().join("scrape.yml"), yaml).expect("the test's own folder");
            let (good, said) = judged(&promtool, &["check", "config", "scrape.yml"], app.folder(), "");
            assert!(good, "{said}\n{yaml}");
        }
    }
    if let Some(python) = installed::schemathesis().map(|program| program.with_file_name("python")) {
        let reads = "import json, sys, yaml; print(json.dumps(yaml.safe_load(sys.stdin)))";
        let flat = app.get("/api/v1/ha").await.expect(200).json();
        for yaml in [&open[1], &closed[1]] {
            let (good, said) = judged(&python, &["-I", "-c", reads], app.folder(), yaml);
            assert!(good, "{said}\n{yaml}");
            let read: Value = serde_json::from_str(&said).expect("JSON");
            let rest = &read["rest"][0];
            assert_eq!(rest["resource"], format!("http://{}/api/v1/ha", app.address));
            for sensor in rest["sensor"].as_array().expect("sensors") {
                let key = sensor["value_template"].as_str().and_then(|text| text.split('\'').nth(1)).expect("a key");
                assert!(flat.get(key).is_some(), "{sensor}");
            }
        }
    }
    assert_eq!(provider.count(), asked, "none of it costs a request");
}
