//! A WebDriver client of a hundred lines (W3C WebDriver, and chromedriver's `goog/cdp/execute` for what only DevTools can do):
//! the protocol is JSON over HTTP, and the tests have a client for that already.

use crate::support::http::{self, Ask};
use crate::support::process::{Process, free_port, judge_program};
use crate::support::*;
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::process::Command;
use tokio::sync::{Mutex, MutexGuard};

/// One browser at a time: it is the heaviest thing on the machine.
static TURN: Mutex<()> = Mutex::const_new(());

/// A browser of its own, with an empty profile. Ended on drop.
pub struct Browser {
    driver: SocketAddr,
    session: String,
    /// The browser's own process: it would outlive a killed driver.
    browser_pid: Option<i32>,
    _driver: Process,
    _profile: tempfile::TempDir,
    _turn: MutexGuard<'static, ()>,
}

impl Drop for Browser {
    fn drop(&mut self) {
        if let Some(pid) = self.browser_pid.and_then(rustix::process::Pid::from_raw) {
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
            // Its children end with it; the profile can be removed once nobody writes there any more.
            std::thread::sleep(std::time::Duration::from_millis(200));
        }
    }
}

impl Browser {
    /// `None` where there is no browser (and that may be).
    pub async fn start() -> Option<Browser> {
        let driver_program = judge_program("chromedriver", "chromium-driver")?;
        let browser_program = judge_program("chromium", "chromium")?;
        let turn = TURN.lock().await;
        let profile = tempfile::Builder::new().prefix("larder-browser-").tempdir().expect("a temporary folder");
        let port = free_port();
        let mut command = Command::new(driver_program);
        command.arg(format!("--port={port}")).env("HOME", profile.path());
        let process = Process::start(&mut command, profile.path(), "chromedriver");
        let driver = SocketAddr::from(([127, 0, 0, 1], port));
        eventually("chromedriver is ready", SOON, || async {
            let reply = http::try_send(driver, &Ask::get("/status")).await.ok()?;
            (reply.json()["value"]["ready"] == true).then_some(())
        })
        .await;
        let arguments = [
            "--headless=new".to_owned(),
            "--no-sandbox".to_owned(),
            "--disable-gpu".to_owned(),
            "--disable-dev-shm-usage".to_owned(),
            "--disable-background-networking".to_owned(),
            "--no-first-run".to_owned(),
            format!("--user-data-dir={}", profile.path().join("profile").display()),
        ];
        let options = json!({"binary": browser_program, "args": arguments});
        let wanted = json!({"capabilities": {"alwaysMatch": {
            "goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}}});
        let value = call(driver, "POST", "/session", &wanted).await;
        let session = value["sessionId"].as_str().expect("a session").to_owned();
        let browser_pid = value["capabilities"]["goog:processID"].as_i64().and_then(|p| i32::try_from(p).ok());
        Some(Browser { driver, session, browser_pid, _driver: process, _profile: profile, _turn: turn })
    }

    async fn call(&self, method: &'static str, path: &str, body: &Value) -> Value {
        call(self.driver, method, &format!("/session/{}{path}", self.session), body).await
    }

    pub async fn goes_to(&self, url: &str) {
        self.call("POST", "/url", &json!({ "url": url })).await;
    }

    /// Runs a function body in the page; its `return` comes back.
    pub async fn runs(&self, script: &str) -> Value {
        self.call("POST", "/execute/sync", &json!({"script": script, "args": []})).await
    }

    pub async fn text(&self) -> String {
        self.runs("return document.body.innerText").await.as_str().unwrap_or_default().to_owned()
    }

    pub async fn shows(&self, words: &str) {
        eventually(&format!("the page shows {words:?}"), SOON, || async {
            self.text().await.contains(words).then_some(())
        })
        .await;
    }

    /// A script that runs in each page before the page's own, as an extension of the browser would.
    pub async fn carries(&self, script: &str) {
        self.devtools("Page.addScriptToEvaluateOnNewDocument", json!({ "source": script })).await;
    }

    /// A DevTools command.
    pub async fn devtools(&self, command: &str, parameters: Value) -> Value {
        self.call("POST", "/goog/cdp/execute", &json!({"cmd": command, "params": parameters})).await
    }

    /// What the console said since the last time.
    pub async fn console(&self) -> Vec<String> {
        let entries = self.call("POST", "/se/log", &json!({"type": "browser"})).await;
        entries.as_array().into_iter().flatten().map(|e| format!("{}: {}", e["level"], e["message"])).collect()
    }

    /// As when its window is minimised: the page is told that nobody sees it.
    pub async fn is_hidden(&self) {
        self.call("POST", "/window/minimize", &json!({})).await;
        self.knows_that_it_is("hidden").await;
    }

    pub async fn is_shown(&self) {
        self.call("POST", "/window/maximize", &json!({})).await;
        self.knows_that_it_is("visible").await;
    }

    async fn knows_that_it_is(&self, state: &str) {
        eventually(&format!("the page is {state}"), SOON, || async {
            (self.runs("return document.visibilityState").await == state).then_some(())
        })
        .await;
    }

    /// The screen of a phone.
    pub async fn is_a_phone(&self) {
        let screen = json!({"width": 390, "height": 844, "deviceScaleFactor": 2, "mobile": true});
        self.devtools("Emulation.setDeviceMetricsOverride", screen).await;
    }

    /// The screen of a desk.
    pub async fn is_a_desk(&self) {
        let screen = json!({"width": 1280, "height": 900, "deviceScaleFactor": 1, "mobile": false});
        self.devtools("Emulation.setDeviceMetricsOverride", screen).await;
    }

    /// A screen on which a whole page is in sight.
    pub async fn is_a_wall(&self) {
        let screen = json!({"width": 1280, "height": 4000, "deviceScaleFactor": 1, "mobile": false});
        self.devtools("Emulation.setDeviceMetricsOverride", screen).await;
    }

    pub async fn prefers(&self, scheme: &str) {
        self.has_wishes(&[("prefers-color-scheme", scheme)]).await;
    }

    /// What its user told the system: feature of a media query, and value.
    pub async fn has_wishes(&self, wishes: &[(&str, &str)]) {
        let features: Vec<Value> = wishes.iter().map(|(name, value)| json!({"name": name, "value": value})).collect();
        self.devtools("Emulation.setEmulatedMedia", json!({ "features": features })).await;
    }

    pub async fn lives_in(&self, zone: &str) {
        self.devtools("Emulation.setTimezoneOverride", json!({ "timezoneId": zone })).await;
    }

    pub async fn has_javascript(&self) {
        self.devtools("Emulation.setScriptExecutionDisabled", json!({"value": false})).await;
    }

    pub async fn has_no_javascript(&self) {
        self.devtools("Emulation.setScriptExecutionDisabled", json!({"value": true})).await;
    }
}

/// The `value` of an answer; an error of the driver ends the test.
async fn call(driver: SocketAddr, method: &'static str, path: &str, body: &Value) -> Value {
    let ask = if method == "GET" { Ask::get(path) } else { Ask::new(method, path).json(body) };
    let reply = http::send(driver, &ask).await;
    let mut answer = reply.json();
    assert_eq!(reply.status, 200, "{method} {path}: {answer}");
    answer["value"].take()
}
