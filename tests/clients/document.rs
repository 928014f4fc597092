//! The document of the API against a running demonstration: schemathesis (PyPI) asks every route as the document says and otherwise, and judges
//! each answer by it.

use crate::installed;
use crate::support::process::{Process, free_port};
use crate::support::*;
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

/// What is judged. Whether made-up values were refused is not: many a text may be a name.
const CHECKS: &str = "not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance,\
                      response_schema_conformance,unsupported_method,allow_header_conformance";
/// An event stream does not end, and a made-up path of a backup would be written to.
const NOT_ASKED: [&str; 2] = ["events", "backup"];
/// It takes away what the others are asked with: asked alone, and last.
const LAST: &str = "revoke_token";

/// The demonstration that the README begins with, with everything in a folder of its own.
async fn demonstration(folder: &Path) -> (Process, SocketAddr, String) {
    let address = SocketAddr::from(([127, 0, 0, 1], free_port()));
    let data = folder.join("demo");
    let mut command = Command::new(env!("CARGO_BIN_EXE_larder"));
    command
        .env_clear()
        .env("HOME", folder)
        .arg("demo")
        .arg("--data")
        .arg(&data)
        .args(["--listen", &address.to_string()]);
    let process = Process::start(&mut command, folder, "demo");
    eventually("the demonstration shows a fresh target", 3 * SOON, || async {
        let reply = http::try_send(address, &Ask::get("/api/v1/connections")).await.ok()?;
        let connections = reply.json()["connections"].as_array()?.clone();
        connections.iter().any(|one| one["state"] == "fresh").then_some(())
    })
    .await;
    let token = std::fs::read_to_string(data.join("token")).expect("the demonstration writes its token down");
    (process, address, token.trim().to_owned())
}

/// Tokens of admins, as many as may be made at once.
async fn tokens(address: SocketAddr, admin: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    for n in 0..18 {
        let wanted = json!({ "name": format!("judge {n}"), "role": "admin" });
        let made = http::send(address, &Ask::post("/api/v1/tokens").token(admin).json(&wanted)).await.expect(201);
        tokens.push(made.json()["token"].as_str().expect("a token").to_owned());
    }
    tokens
}

async fn judged(program: &Path, folder: &Path, address: SocketAddr, tokens: &str, arguments: &[&str]) {
    let (origin, document) = (format!("http://{address}"), format!("http://{address}/openapi.json"));
    let hooks = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients/python");
    let mut command = tokio::process::Command::new(program);
    command.env_clear().env("HOME", folder).env("PATH", std::env::var("PATH").unwrap_or_default()).current_dir(folder);
    command.env("PYTHONPATH", hooks).env("SCHEMATHESIS_HOOKS", "schemathesis_hooks").env("LARDER_TOKENS", tokens);
    // What Python compiles of them does not belong beside the sources.
    command.env("PYTHONDONTWRITEBYTECODE", "1");
    command.args(["run", &document, "--url", &origin, "--checks", CHECKS, "--phases", "examples,coverage,fuzzing"]);
    command.args(["--seed", "1", "--no-color"]);
    command
        .args(["--request-timeout", "20", "--warnings", "off", "--continue-on-failure"])
        .args(arguments)
        .kill_on_drop(true);
    let output = tokio::time::timeout(secs(300), command.output()).await.expect("it ends").expect("it starts");
    let said = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
    println!("{}", said.lines().rev().take(40).collect::<Vec<_>>().into_iter().rev().collect::<Vec<_>>().join("\n"));
    assert!(output.status.success(), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn schemathesis_finds_no_answer_that_the_document_does_not_tell_of() {
    let Some(program) = installed::schemathesis() else { return };
    let folder = tempfile::Builder::new().prefix("larder-judged-").tempdir().expect("a temporary folder");
    let (_demo, address, admin) = demonstration(folder.path()).await;
    let tokens = tokens(address, &admin).await.join(" ");
    let document: Value = http::send(address, &Ask::get("/openapi.json")).await.expect(200).json();
    assert!(document["paths"].as_object().is_some_and(|paths| paths.len() > 20), "{document}");
    let excluded = NOT_ASKED.iter().chain([&LAST]).flat_map(|id| ["--exclude-operation-id", *id]);
    let arguments: Vec<&str> = ["--max-examples", "6", "--workers", "2"].into_iter().chain(excluded).collect();
    judged(&program, folder.path(), address, &tokens, &arguments).await;
    judged(&program, folder.path(), address, &tokens, &["--max-examples", "6", "--include-operation-id", LAST]).await;
}
