//! The appliance under test: the real binary, a folder and a port of its own, verbs.

use super::config::Config;
use super::http::{self, Ask, Reply};
use super::operator::Operator;
use super::process::{Process, free_port};
use super::secret;
use super::sse::Events;
use super::wait::{SOON, eventually};
use serde_json::Value;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::time::Duration;

/// What a finished command said.
#[derive(Clone, Debug)]
pub struct Said {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Said {
    #[track_caller]
    pub fn expect(self, code: i32) -> Said {
        assert_eq!(self.code, Some(code), "\nstdout: {}\nstderr: {}", self.stdout, self.stderr);
        self
    }
    pub fn all(&self) -> String {
        format!("{}{}", self.stdout, self.stderr)
    }
}

pub struct TestApp {
    pub address: SocketAddr,
    config: Config,
    home: tempfile::TempDir,
    running: Option<Process>,
    token: String,
    /// Every secret that this appliance was ever given.
    secrets: Vec<String>,
}

impl TestApp {
    /// Starts and waits until it is ready; a token for changes is made on the way.
    pub async fn start(config: Config) -> TestApp {
        let mut app = TestApp::prepared(config);
        app.boots().await;
        app.makes_a_token().await;
        app
    }

    /// For changes.
    pub async fn makes_a_token(&mut self) {
        self.token = self.new_token("tests").await;
    }

    /// Folder and configuration, nothing running.
    pub fn prepared(config: Config) -> TestApp {
        let home = tempfile::Builder::new().prefix("larder-e2e-").tempdir().expect("a temporary folder");
        let address = SocketAddr::from(([127, 0, 0, 1], free_port()));
        let mut app =
            TestApp { address, config: Config::new(), home, running: None, token: String::new(), secrets: Vec::new() };
        app.configure(config);
        app
    }

    /// Writes another configuration; a running appliance meets it at its next start.
    pub fn configure(&mut self, config: Config) {
        self.secrets.extend(config.secrets());
        self.config = config;
        let text = self.config.toml(&self.address.to_string(), &self.data());
        std::fs::write(self.config_path(), text).expect("the test's own folder");
    }

    /// Puts a provider of irrigation at this address beside it, as a recipe of the user's own: `sprinkler`.
    pub fn has_a_recipe(&self, base_url: &str) {
        let recipes = self.folder().join("recipes");
        std::fs::create_dir_all(&recipes).expect("the test's own folder");
        let recipe = format!(
            "provider = \"sprinkler\"\nabout = \"Zones of a sprinkler.\"\nbase_url = \"{base_url}\"\ncredential = {{ query = \"api_key\" }}\n\
             refresh_min_age = \"0s\"\n[[limit]]\nname = \"status\"\nrequests = 5\nwindow = \"10s\"\nkind = \"rolling\"\n\
             [[target]]\nname = \"controller\"\nget = \"/statusschedule.php\"\nitems = \"$.relays[*]\"\nkey = \"$.relay_id\"\n\
             title = \"$.name\"\n[poll]\ninterval = \"2s\"\n"
        );
        std::fs::write(recipes.join("sprinkler.toml"), recipe).expect("the test's own folder");
    }

    pub fn folder(&self) -> &Path {
        self.home.path()
    }
    pub fn data(&self) -> PathBuf {
        self.folder().join("larder.redb")
    }
    pub fn config_path(&self) -> PathBuf {
        self.folder().join("larder.toml")
    }
    pub fn secret(&self) -> &str {
        self.config.environment.values().next().expect("a connection with a secret")
    }

    // its life

    /// Starts without waiting.
    pub fn spawns(&mut self) {
        let command = self.command();
        self.spawns_by(command);
    }

    fn spawns_by(&mut self, mut command: Command) {
        assert!(self.running.is_none(), "it is running already");
        command.arg("serve").arg("--config").arg(self.config_path());
        self.running = Some(Process::start(&mut command, self.folder(), "serve"));
    }

    /// None of its files may grow beyond this: what a file system says that has no room for more.
    pub async fn boots_with_files_up_to(&mut self, bytes: u64) {
        // The shell counts in blocks of 512 bytes. A write beyond is then an error, and no signal.
        let limited = format!("trap '' XFSZ; ulimit -f {}; exec \"$0\" \"$@\"", bytes / 512);
        let mut command = self.environed(Command::new("sh"));
        command.args(["-c", &limited, env!("CARGO_BIN_EXE_larder")]);
        self.spawns_by(command);
        self.is_ready().await;
    }

    pub async fn boots(&mut self) {
        self.spawns();
        self.is_ready().await;
    }

    async fn is_ready(&mut self) {
        let end = std::time::Instant::now() + 2 * SOON;
        while !http::try_send(self.address, &Ask::get("/readyz")).await.is_ok_and(|r| r.status == 200) {
            if let Some(status) = self.running.as_mut().and_then(Process::ended) {
                panic!("serve ended with {status}:\n{}", self.log());
            }
            assert!(std::time::Instant::now() < end, "not ready within {:?}:\n{}", 2 * SOON, self.log());
            tokio::time::sleep(Duration::from_millis(25)).await;
        }
    }

    pub fn kill_9(&mut self) {
        if let Some(mut process) = self.running.take() {
            process.kill_9();
        }
    }

    pub fn terminate(&mut self) {
        self.running.as_mut().expect("a running appliance").terminate();
    }

    /// SIGHUP: the configuration is read anew.
    pub fn rereads(&self) {
        self.running.as_ref().expect("a running appliance").hangup();
    }

    /// A secret that it is given while it runs.
    pub fn is_given(&mut self, secret: &str) {
        self.secrets.push(secret.to_owned());
    }

    /// SIGTERM, and its end within the time.
    pub async fn stop(&mut self) -> ExitStatus {
        self.terminate();
        self.ends(SOON).await
    }

    pub async fn ends(&mut self, within: Duration) -> ExitStatus {
        let status = self.running.as_mut().expect("a running appliance").wait(within).await;
        self.running = None;
        status
    }

    pub fn is_running(&mut self) -> bool {
        self.running.as_mut().is_some_and(|p| p.ended().is_none())
    }

    /// A clean stop and a start.
    pub async fn restart(&mut self) {
        if self.running.is_some() {
            let status = self.stop().await;
            assert!(status.success(), "a clean stop ends with {status}:\n{}", self.log());
        }
        self.boots().await;
    }

    /// kill -9 and a start.
    pub async fn crash(&mut self) {
        self.kill_9();
        self.boots().await;
    }

    pub fn threads(&self) -> usize {
        self.running.as_ref().map(Process::threads).unwrap_or_default()
    }

    pub fn resident_kb(&self) -> Option<u64> {
        self.running.as_ref().and_then(Process::resident_kb)
    }

    pub fn peak_kb(&self) -> Option<u64> {
        self.running.as_ref().and_then(Process::peak_kb)
    }

    /// Everything that `serve` has printed, over all starts.
    pub fn log(&self) -> String {
        let read = |name: &str| std::fs::read_to_string(self.folder().join(name)).unwrap_or_default();
        format!("{}{}", read("serve.out"), read("serve.err"))
    }

    // the command line

    fn command(&self) -> Command {
        self.environed(Command::new(env!("CARGO_BIN_EXE_larder")))
    }

    fn environed(&self, mut command: Command) -> Command {
        command.current_dir(self.folder()).env_clear().env("PATH", std::env::var("PATH").unwrap_or_default());
        command.env("HOME", self.folder()).env("NO_COLOR", "1").envs(&self.config.environment);
        command
    }

    /// Starts `larder ...` with the configuration; its words go nowhere.
    pub fn begins(&self, arguments: &[&str]) -> std::process::Child {
        let null = std::process::Stdio::null;
        let mut command = self.command();
        command.args(arguments).arg("--config").arg(self.config_path());
        command.stdin(null()).stdout(null()).stderr(null()).spawn().expect("the binary starts")
    }

    /// Runs `larder ...` to its end, bounded.
    pub async fn larder(&self, arguments: &[&str]) -> Said {
        let mut command = tokio::process::Command::from(self.command());
        command.args(arguments).stdin(std::process::Stdio::null()).kill_on_drop(true);
        let output = tokio::time::timeout(2 * SOON, command.output())
            .await
            .unwrap_or_else(|_| panic!("larder {arguments:?} did not end"))
            .expect("the binary starts");
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Said { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
    }

    /// `larder <verb> ... --config <ours>`.
    pub async fn larder_here(&self, arguments: &[&str]) -> Said {
        let config = self.config_path().display().to_string();
        let mut all = arguments.to_vec();
        all.extend(["--config", &config]);
        self.larder(&all).await
    }

    /// The token's text, which `create` prints alone.
    pub async fn new_token(&self, name: &str) -> String {
        let said = self.larder_here(&["token", "create", "--name", name, "--role", "admin"]).await.expect(0);
        let token = said.stdout.trim().to_owned();
        assert!(!token.is_empty() && !token.contains(char::is_whitespace), "not a token alone: {said:?}");
        token
    }

    // what it shows

    pub async fn get(&self, path: &str) -> Reply {
        http::send(self.address, &Ask::get(path)).await
    }
    pub async fn send(&self, ask: Ask) -> Reply {
        http::send(self.address, &ask).await
    }
    /// With the token of the tests.
    pub async fn post(&self, path: &str) -> Reply {
        self.send(Ask::post(path).token(&self.token)).await
    }
    pub fn token(&self) -> &str {
        &self.token
    }
    pub async fn connections(&self) -> Value {
        self.get("/api/v1/connections").await.expect(200).json()
    }
    pub async fn connection(&self, name: &str) -> Value {
        self.get(&format!("/api/v1/connections/{name}")).await.expect(200).json()
    }
    pub async fn target(&self, connection: &str, target: &str) -> Value {
        self.get(&format!("/api/v1/connections/{connection}/targets/{target}")).await.expect(200).json()
    }
    pub async fn page(&self, connection: &str, target: &str) -> String {
        self.get(&format!("/c/{connection}/t/{target}")).await.expect(200).body
    }
    /// All charges of the connection, oldest first.
    pub async fn ledger(&self, connection: &str) -> Vec<Value> {
        let reply = self.get(&format!("/api/v1/connections/{connection}/ledger?after=0&limit=1000")).await.expect(200);
        members(&reply.json(), "charges")
    }
    pub async fn history(&self, connection: &str, target: &str) -> Vec<Value> {
        let path = format!("/api/v1/connections/{connection}/targets/{target}/history?after=0&limit=1000");
        members(&self.get(&path).await.expect(200).json(), "history")
    }
    /// `query` with its `?`, or nothing.
    pub async fn findings(&self, query: &str) -> Vec<Value> {
        members(&self.get(&format!("/api/v1/findings{query}")).await.expect(200).json(), "findings")
    }
    pub async fn job(&self, id: u64) -> Value {
        self.get(&format!("/api/v1/jobs/{id}")).await.expect(200).json()
    }
    /// Events from now on, or after `last`.
    pub async fn events(&self, last: Option<u64>) -> Events {
        let mut ask = Ask::get("/api/v1/events").header("accept", "text/event-stream");
        if let Some(id) = last {
            ask = ask.header("last-event-id", &id.to_string());
        }
        Events::open(self.address, &ask).await
    }
    pub fn operator(&self) -> Operator<'_> {
        Operator::new(self)
    }

    // facts to wait for

    pub async fn target_when(
        &self,
        connection: &str,
        target: &str,
        what: &str,
        holds: impl Fn(&Value) -> bool,
    ) -> Value {
        eventually(what, SOON, || async {
            let view = self.target(connection, target).await;
            holds(&view).then_some(view)
        })
        .await
    }
    pub async fn connection_when(&self, name: &str, what: &str, holds: impl Fn(&Value) -> bool) -> Value {
        eventually(what, SOON, || async {
            let view = self.connection(name).await;
            holds(&view).then_some(view)
        })
        .await
    }
    /// Until the target was answered for the first time.
    pub async fn has_polled(&self, connection: &str, target: &str) -> Value {
        self.target_when(connection, target, "the first answer is on the shelf", |t| !t["as_of"].is_null()).await
    }
    /// Until the newest charge has this outcome.
    pub async fn has_charge(&self, connection: &str, outcome: &str) -> Value {
        eventually(&format!("a charge is {outcome}"), SOON, || async {
            self.ledger(connection).await.into_iter().rev().find(|c| c["outcome"] == outcome)
        })
        .await
    }

    /// Until the activity tells of this.
    pub async fn tells(&self, part: &str) {
        eventually(&format!("the activity tells of {part:?}"), SOON, || async {
            self.get("/api/v1/activity").await.expect(200).body.contains(part).then_some(())
        })
        .await;
    }

    /// Sets another credential of a connection, and returns it.
    pub async fn rotates(&mut self, connection: &str) -> String {
        let key = secret::new_secret();
        self.is_given(&key);
        let path = format!("/api/v1/connections/{connection}/credential");
        let set = Ask::new("PUT", &path).token(self.token()).json(&serde_json::json!({ "secret": key }));
        self.send(set).await.expect(200);
        key
    }

    /// No spelling of any secret in what it printed or keeps.
    #[track_caller]
    pub fn kept_its_secrets(&self) {
        for entry in std::fs::read_dir(self.folder()).into_iter().flatten().flatten() {
            let Ok(bytes) = std::fs::read(entry.path()) else { continue };
            for secret in &self.secrets {
                let found = secret::find(&bytes, secret);
                assert!(found.is_none(), "a secret is in {}: {found:?}", entry.path().display());
            }
        }
    }
}

/// A list of the API: an array by itself, or under its name beside what belongs to paging.
pub fn members(answer: &Value, name: &str) -> Vec<Value> {
    let list = answer.as_array().or(answer[name].as_array()).or(answer["items"].as_array());
    list.unwrap_or_else(|| panic!("no list of {name} in {answer}")).clone()
}

impl Drop for TestApp {
    fn drop(&mut self) {
        self.kill_9();
        if std::thread::panicking() {
            eprintln!("--- what the appliance said ---\n{}", self.log());
        } else {
            // Every test is a test of law "a secret shows up nowhere".
            self.kept_its_secrets();
        }
    }
}
