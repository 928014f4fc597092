//! Told to a broker as people run one: Debian's `mosquitto`, on a free port of loopback, with a password. Beside it a client of our own that sees what
//! the broker has, as Home Assistant would.

use crate::support::process::{Process, free_port, judge_program};
use crate::support::*;
use rumqttc::{AsyncClient, Event, MqttOptions, Packet, PublishOptions, QoS};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};

const USER: &str = "larder";
const PASSWORD: &str = "what the broker knows";

/// A broker that starts, ends, and starts again on the same port.
struct Broker {
    program: PathBuf,
    folder: tempfile::TempDir,
    port: u16,
    running: Option<Process>,
}

impl Broker {
    fn prepared() -> Option<Broker> {
        let program = judge_program("mosquitto", "mosquitto")?;
        let passwords = judge_program("mosquitto_passwd", "mosquitto")?;
        let folder = tempfile::Builder::new().prefix("larder-broker-").tempdir().expect("a temporary folder");
        let file = folder.path().join("passwords");
        let made = Command::new(passwords).args(["-b", "-c"]).arg(&file).args([USER, PASSWORD]).status();
        assert!(made.expect("mosquitto_passwd starts").success());
        let port = free_port();
        let says = format!("listener {port} 127.0.0.1\nallow_anonymous false\npassword_file {}\n", file.display());
        // Started as root it becomes another user, who has to read the file.
        let says = format!("{says}user root\n");
        std::fs::write(folder.path().join("broker.conf"), says).expect("the test's own folder");
        Some(Broker { program, folder, port, running: None })
    }

    fn starts(&mut self) {
        let mut command = Command::new(&self.program);
        command.arg("-c").arg(self.folder.path().join("broker.conf"));
        self.running = Some(Process::start(&mut command, self.folder.path(), "broker"));
    }

    fn ends(&mut self) {
        self.running = None;
    }

    fn table(&self, password: &str) -> String {
        format!("[mqtt]\nbroker = \"mqtt://127.0.0.1:{}\"\nuser = \"{USER}\"\npassword = {password}\n", self.port)
    }

    /// With a listener that speaks TLS, by the certificate of an authority of our own; the file of that authority.
    fn secured(&self) -> PathBuf {
        let made = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/upstream/tests/tls");
        let copied = |name: &str| {
            let to = self.folder.path().join(name);
            std::fs::copy(made.join(name), &to).expect("the test's own folder");
            to
        };
        let (certificate, key) = (copied("provider.pem"), copied("key.pem"));
        let conf = self.folder.path().join("broker.conf");
        let says = std::fs::read_to_string(&conf).expect("the test's own file");
        let says = format!("{says}certfile {}\nkeyfile {}\n", certificate.display(), key.display());
        std::fs::write(conf, says).expect("the test's own file");
        copied("authority.pem")
    }

    /// By a name of its own: a broker ends the link of who comes again.
    async fn watched(&self, name: &str) -> Watcher {
        let mut options = MqttOptions::new(name, ("127.0.0.1", self.port));
        options.set_credentials(USER, PASSWORD.as_bytes().to_vec()).set_max_packet_size(1 << 20, 1 << 20);
        let (client, mut line) = AsyncClient::builder(options).capacity(64).build();
        let seen: Arc<Mutex<Vec<(String, String)>>> = Arc::default();
        let into = seen.clone();
        let subscriber = client.clone();
        let task = tokio::spawn(async move {
            loop {
                match line.poll().await {
                    Ok(Event::Incoming(Packet::ConnAck(_))) => {
                        subscriber.try_subscribe("#", QoS::AtLeastOnce).expect("there is room");
                    }
                    Ok(Event::Incoming(Packet::Publish(said))) => {
                        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
                        into.lock().expect("no test panics here").push((text(&said.topic), text(&said.payload)));
                    }
                    Ok(_) => {}
                    Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
                }
            }
        });
        Watcher { client, seen, task }
    }
}

/// Sees everything that is said, from what the broker had kept before.
struct Watcher {
    client: AsyncClient,
    seen: Arc<Mutex<Vec<(String, String)>>>,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Watcher {
    fn said(&self, is: impl Fn(&str) -> bool) -> Vec<String> {
        let seen = self.seen.lock().expect("no test panics here");
        seen.iter().filter(|(topic, _)| is(topic)).map(|(_, payload)| payload.clone()).collect()
    }

    /// Until the newest word on such a topic is so.
    async fn hears(&self, what: &str, topic: impl Fn(&str) -> bool, is: impl Fn(&str) -> bool) -> String {
        eventually(what, SOON, || async { self.said(&topic).pop().filter(|last| is(last)) }).await
    }
}

fn config_of(connection: &'static str) -> impl Fn(&str) -> bool {
    move |topic| {
        topic.starts_with("homeassistant/device/larder_") && topic.ends_with(&format!("_default_{connection}/config"))
    }
}

fn state_of(connection: &'static str) -> impl Fn(&str) -> bool {
    move |topic| topic == format!("larder/default/{connection}/state")
}

fn status(topic: &str) -> bool {
    topic == "larder/status"
}

fn two(provider: &FakeProvider, broker: &Broker) -> Config {
    let connection = |name: &str| Connection::irrigation(name, &provider.base_url()).no_limits().quiet().min_age("1ms");
    let mut config = Config::new().with(connection("yard")).with(connection("cellar"));
    config.environment.insert("BROKER_PASSWORD".to_owned(), PASSWORD.to_owned());
    config.extra = broker.table("{ env = \"BROKER_PASSWORD\" }");
    config
}

/// Home Assistant refuses a whole device for one key that it does not know, and a part for what does not fit together.
fn is_taken_by_home_assistant(device: &Value, state: &Value) {
    let known = ["device", "origin", "state_topic", "components"];
    assert!(device.as_object().expect("an object").keys().all(|key| known.contains(&key.as_str())), "{device}");
    let components = device["components"].as_object().expect("parts");
    assert!(components.len() > 10, "{device}");
    for (key, part) in components {
        let template = part["value_template"].as_str().expect("a template");
        assert!(template.contains(&format!("value_json['{key}']")), "{part}");
        let value = state.get(key).unwrap_or_else(|| panic!("no {key} in {state}"));
        let fits = match part["device_class"].as_str() {
            Some("enum") => part["options"].as_array().expect("words").contains(value),
            Some("timestamp") => value.is_null() || value.as_str().is_some_and(|at| at.ends_with('Z')),
            Some("duration") => value.is_null() || value.is_u64() && part["unit_of_measurement"] == "s",
            _ if part["platform"] == "binary_sensor" => value.is_null() || value.is_boolean(),
            _ => part.get("state_class").is_none() || value.is_null() || value.is_number(),
        };
        assert!(fits, "{key}: {value} and {part}");
        assert!(part.get("availability_topic").is_none() && part["availability"].is_array(), "{part}");
        assert!(
            part["expire_after"].is_u64() && part["unique_id"].as_str().is_some_and(|id| id.ends_with(key)),
            "{part}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn home_assistant_finds_each_connection_and_loses_what_is_gone() {
    let Some(mut broker) = Broker::prepared() else { return };
    broker.starts();
    let watcher = broker.watched("watcher").await;
    let provider = FakeProvider::unlimited().await;
    let config = two(&provider, &broker);
    let mut app = TestApp::start(config.clone()).await;
    app.has_polled("yard", "controller").await;

    let state =
        watcher.hears("the state", state_of("yard"), |state| state.contains("\"controller__state\":\"fresh\"")).await;
    let device = watcher.hears("the device", config_of("yard"), |config| config.contains("remaining")).await;
    let (state, device): (Value, Value) =
        (serde_json::from_str(&state).expect("JSON"), serde_json::from_str(&device).expect("JSON"));
    is_taken_by_home_assistant(&device, &state);
    assert_eq!(device["state_topic"], "larder/default/yard/state");
    assert_eq!(state["controller__count"], app.target("yard", "controller").await["item_count"]);
    watcher.hears("it is there", status, |said| said == "online").await;
    watcher.hears("the other one", config_of("cellar"), |config| !config.is_empty()).await;
    assert!(app.get("/settings").await.body.contains("connected since"), "and the page says so");
    // Who comes later finds all of it: the broker keeps it.
    let late = broker.watched("latecomer").await;
    for topic in [&config_of("yard") as &dyn Fn(&str) -> bool, &state_of("yard"), &status] {
        late.hears("what is kept", topic, |said| !said.is_empty()).await;
    }

    // What happens is told, and who was born later is told everything again.
    provider.renames(1, "Roses");
    app.operator().refreshes("yard", "controller").await.expect(200);
    watcher.hears("the new name", state_of("yard"), |state| state.contains("Roses")).await;
    let before = watcher.said(config_of("yard")).len();
    watcher.client.publish("homeassistant/status", "online", PublishOptions::at_least_once()).await.expect("a link");
    eventually("the device is told again", SOON, || async {
        (watcher.said(config_of("yard")).len() > before).then_some(())
    })
    .await;

    // One is taken away while Larder runs, the other while it does not.
    let mut without = config.clone();
    without.connections.remove(1);
    app.configure(without.clone());
    app.rereads();
    watcher.hears("its device is gone", config_of("cellar"), str::is_empty).await;
    watcher.hears("its state is gone", state_of("cellar"), str::is_empty).await;
    app.kill_9();
    watcher.hears("the last will", status, |said| said == "offline").await;
    let mut other = config;
    other.connections.remove(0);
    app.configure(other);
    app.boots().await;
    watcher.hears("its device is gone", config_of("yard"), str::is_empty).await;
    watcher.hears("the other one is back", config_of("cellar"), |config| !config.is_empty()).await;
    watcher.hears("it is there again", status, |said| said == "online").await;
    assert!(app.stop().await.success());
    watcher.hears("it said that it goes", status, |said| said == "offline").await;
    assert!(!app.log().contains(PASSWORD));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broker_that_refuses_or_is_away_is_told_once_and_holds_up_nothing() {
    let Some(mut broker) = Broker::prepared() else { return };
    broker.starts();
    let provider = FakeProvider::unlimited().await;
    let secrets = tempfile::tempdir().expect("a temporary folder");
    let file = secrets.path().join("password");
    let says = |password: &str| {
        std::fs::write(&file, password).expect("the test's own folder");
        let mode = <std::fs::Permissions as std::os::unix::fs::PermissionsExt>::from_mode(0o600);
        std::fs::set_permissions(&file, mode).expect("the test's own file");
    };
    let wrong = "what the broker knew before";
    says(wrong);
    let mut config = Config::yard(&provider.base_url()).tuned(|c| c.no_limits().every("1s").min_age("1ms"));
    config.extra = broker.table(&format!("{{ file = \"{}\" }}", file.display()));
    let mut app = TestApp::start(config).await;
    app.is_given(wrong);
    app.is_given(PASSWORD);
    app.has_polled("yard", "controller").await;
    let page = || async { app.get("/settings").await.body };
    let shows =
        |what: &'static str| eventually(what, SOON, move || async move { page().await.contains(what).then_some(()) });
    shows("refuses the user or the password").await;

    says(PASSWORD);
    app.rereads();
    shows("connected since").await;
    broker.ends();
    shows("not connected").await;
    shows("Nobody listens at").await;
    let asked = provider.count();
    eventually("polls go on", SOON, || async { (provider.count() > asked + 2).then_some(()) }).await;
    broker.starts();
    shows("connected since").await;
    let log = app.log();
    for told in ["refuses the user or the password", "Nobody listens at"] {
        assert_eq!(log.lines().filter(|line| line.contains(told)).count(), 1, "told once: {told}\n{log}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn over_tls_only_a_broker_is_told_whose_authority_is_trusted() {
    let Some(mut broker) = Broker::prepared() else { return };
    let authority = broker.secured();
    broker.starts();
    let provider = FakeProvider::unlimited().await;
    let mut config = Config::yard(&provider.base_url()).tuned(|c| c.no_limits().quiet());
    config.environment.insert("BROKER_PASSWORD".to_owned(), PASSWORD.to_owned());
    config.extra = broker.table("{ env = \"BROKER_PASSWORD\" }").replace("mqtt://", "mqtts://");
    let mut app = TestApp::start(config.clone()).await;
    let shows = async |app: &TestApp, what: &str| {
        eventually(what, SOON, || async { app.get("/settings").await.body.contains(what).then_some(()) }).await;
    };
    shows(&app, "is not one that this machine trusts").await;
    assert!(app.get("/settings").await.body.contains("SSL_CERT_FILE"), "and says what to do");

    let trusted = ("SSL_CERT_FILE".to_owned(), authority.display().to_string());
    config.environment.extend([trusted]);
    assert!(app.stop().await.success());
    app.configure(config);
    app.boots().await;
    shows(&app, "connected since").await;
}
