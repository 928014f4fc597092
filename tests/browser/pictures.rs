//! The pictures of the README, of the demonstration: `LARDER_PICTURES=$PWD/packaging/pages cargo test --test browser pictures` takes them anew. Without
//! that it does nothing: what they show is looked at by the other tests.

use crate::support::http;
use crate::support::process::{Process, free_port};
use crate::support::*;
use crate::webdriver::Browser;
use base64::Engine;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;

async fn demonstration(folder: &Path) -> (Process, SocketAddr, PathBuf) {
    let address = SocketAddr::from(([127, 0, 0, 1], free_port()));
    let data = folder.join("demo");
    let mut command = Command::new(env!("CARGO_BIN_EXE_larder"));
    command.env_clear().env("HOME", folder).env("TZ", "Europe/Zurich").arg("demo").arg("--data").arg(&data);
    let process = Process::start(command.args(["--listen", &address.to_string()]), folder, "demo");
    (process, address, data)
}

/// What one of the states of the connections is.
async fn is_so(address: SocketAddr, what: &str, states: &[&str]) {
    eventually(what, 6 * SOON, || async {
        let reply = http::try_send(address, &Ask::get("/api/v1/connections")).await.ok()?;
        let all = reply.json()["connections"].as_array()?.clone();
        let is =
            |name: &str| all.iter().find(|c| c["name"] == name).and_then(|c| c["state"].as_str().map(str::to_owned));
        (states.contains(&is("yard")?.as_str()) && is("field")? == "fresh").then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pictures() {
    let Some(pictures) = std::env::var_os("LARDER_PICTURES").map(PathBuf::from) else { return };
    let Some(browser) = Browser::start().await else { return };
    let folder = tempfile::Builder::new().prefix("larder-pictures-").tempdir().expect("a temporary folder");
    let (_demo, address, data) = demonstration(folder.path()).await;
    let take = async |path: &str, scheme: &str, name: &str| {
        browser.prefers(scheme).await;
        browser.goes_to(&format!("http://{address}{path}")).await;
        tokio::time::sleep(secs(2)).await;
        let picture = browser.picture().await;
        std::fs::write(pictures.join(name), picture).expect("a folder for them");
    };
    browser.is_a_phone().await;
    // Where the appliance stands: its sentences tell its own time.
    browser.lives_in("Europe/Zurich").await;
    is_so(address, "everything is fresh", &["fresh"]).await;
    // Some polls, and some of what happens in between.
    tokio::time::sleep(secs(60)).await;
    is_so(address, "everything is fresh", &["fresh"]).await;
    take("/", "light", "overview.png").await;
    take("/plan?connection=yard&interval=5s", "light", "plan.png").await;
    let config = std::fs::read_to_string(data.join("larder.toml")).expect("the demonstration writes it");
    let of_yard = config.split("name = \"yard\"").nth(1).or_else(|| config.split("\"yard\"").nth(1)).expect("the yard");
    let base = of_yard.split("base_url").nth(1).and_then(|rest| rest.split('"').nth(1)).expect("where its provider is");
    let provider: SocketAddr =
        base.trim_start_matches("http://").split('/').next().and_then(|host| host.parse().ok()).expect("an address");
    http::send(provider, &Ask::get("/control/stop")).await.expect(200);
    is_so(address, "the yard is stale", &["stale", "breaker_open"]).await;
    tokio::time::sleep(secs(20)).await;
    take("/c/yard/t/controller", "dark", "stale.png").await;
}

impl Browser {
    /// What is seen now, as PNG.
    async fn picture(&self) -> Vec<u8> {
        let picture = self.devtools("Page.captureScreenshot", serde_json::json!({ "format": "png" })).await;
        let text = picture["data"].as_str().expect("a picture");
        base64::engine::general_purpose::STANDARD.decode(text).expect("in base64")
    }
}
