//! A provider that nobody here wrote and that no recipe knows: Prometheus's HTTP API, its targets and series as items.
//! Needs Debian's `prometheus`.

use crate::judge_promtool::{DASHBOARD, telling};
use crate::support::process::{Process, free_port, judge_program};
use crate::support::*;
use serde_json::Value;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

struct Prometheus {
    folder: tempfile::TempDir,
    port: u16,
    process: Process,
}

impl Prometheus {
    /// Watches each of these addresses under a name; `None` is itself.
    async fn start(program: &Path, jobs: &[(&str, Option<SocketAddr>)]) -> Prometheus {
        let folder = tempfile::Builder::new().prefix("larder-prometheus-").tempdir().expect("a temporary folder");
        let port = free_port();
        write_configuration(folder.path(), port, jobs);
        let at = |name: &str| folder.path().join(name).display().to_string();
        let mut command = Command::new(program);
        command.arg(format!("--config.file={}", at("prometheus.yml")));
        command.arg(format!("--storage.tsdb.path={}", at("data")));
        command.arg(format!("--web.listen-address=127.0.0.1:{port}")).arg("--log.level=warn");
        let process = Process::start(&mut command, folder.path(), "prometheus");
        let mut prometheus = Prometheus { folder, port, process };
        prometheus.has_targets(jobs.len()).await;
        prometheus
    }

    /// Until it watches so many targets and knows their `up` series.
    async fn has_targets(&mut self, count: usize) {
        let address = SocketAddr::from(([127, 0, 0, 1], self.port));
        let what = format!("prometheus watches {count} targets");
        let (process, folder) = (&mut self.process, self.folder.path());
        eventually(&what, 3 * SOON, || {
            let log = || std::fs::read_to_string(folder.join("prometheus.err")).unwrap_or_default();
            assert!(process.ended().is_none(), "prometheus ended: {}", log());
            async move {
                let asked = http::try_send(address, &Ask::get("/api/v1/query?query=up")).await;
                // While it starts, it answers 503.
                let reply = asked.ok().filter(|reply| reply.status == 200)?;
                let series = reply.json()["data"]["result"].as_array()?.len();
                (series >= count).then_some(())
            }
        })
        .await;
    }

    /// Stops watching all but these; a reload by the signal that its manual names.
    fn watches(&self, jobs: &[(&str, Option<SocketAddr>)]) {
        write_configuration(self.folder.path(), self.port, jobs);
        self.process.hangup();
    }

    /// The value of the only series that the expression yields.
    async fn value_of(&self, expression: &str) -> Option<f64> {
        let address = SocketAddr::from(([127, 0, 0, 1], self.port));
        let reply = http::send(address, &Ask::get(&format!("/api/v1/query?query={expression}"))).await.expect(200);
        let answer = reply.json();
        let series = answer["data"]["result"].as_array()?;
        assert!(series.len() <= 1, "{expression} is not one series: {answer}");
        series.first()?["value"][1].as_str()?.parse().ok()
    }

    /// How many series it answers a question with; panics where it does not understand it.
    async fn series_of(&self, expression: &str) -> usize {
        let address = SocketAddr::from(([127, 0, 0, 1], self.port));
        let encoded: String = expression.bytes().map(|byte| format!("%{byte:02X}")).collect();
        let reply = http::send(address, &Ask::get(&format!("/api/v1/query?query={encoded}"))).await;
        assert_eq!(reply.status, 200, "{expression}: {}", reply.body);
        reply.json()["data"]["result"].as_array().map_or(1, Vec::len)
    }

    fn base_url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }
}

fn write_configuration(folder: &Path, port: u16, jobs: &[(&str, Option<SocketAddr>)]) {
    let mut text = "global:\n  scrape_interval: 1s\nscrape_configs:\n".to_owned();
    for (name, address) in jobs {
        let address = address.unwrap_or_else(|| SocketAddr::from(([127, 0, 0, 1], port)));
        text.push_str(&format!(
            "  - job_name: {name}\n    params: {{ job: [{name}] }}\n    static_configs:\n      - targets: ['{address}']\n"
        ));
    }
    std::fs::write(folder.join("prometheus.yml"), text).expect("the test's own folder");
}

/// Nothing but `larder.toml`: two questions, one budget, no credential.
const QUESTIONS: &str = r#"
[[connection.target]]
name  = "targets"
get   = "/api/v1/targets?state=active"
items = "$.data.activeTargets[*]"
key   = "$.scrapeUrl"
title = "$.labels.job"
[connection.target.fields]
health      = { path = "$.health", as = "text" }
last_scrape = { path = "$.lastScrape", as = "time", volatile = true }
[[connection.target.state]]
is   = "up"
when = "@.health == 'up'"
[[connection.target.state]]
is   = "down"

[[connection.target]]
name  = "up"
get   = "/api/v1/query?query=up"
items = "$.data.result[*]"
key   = "$.metric.job"
[connection.target.fields]
at    = { path = "$.value[0]", as = "epoch-s", volatile = true }
value = { path = "$.value[1]", as = "text" }
"#;

fn config(base_url: &str) -> Config {
    let link = Connection::plain("cellar", base_url)
        .limit_text("name = \"polite\"\nrequests = 20\nwindow = \"10s\"\nkind = \"rolling\"")
        .every("2s")
        .body(QUESTIONS);
    Config::new().with(link)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_provider_without_a_recipe_is_ten_lines_of_configuration() {
    let Some(program) = judge_program("prometheus", "prometheus") else { return };
    let prometheus = Prometheus::start(&program, &[("first", None), ("second", None)]).await;
    let app = TestApp::start(config(&prometheus.base_url())).await;

    let targets = app.target_when("cellar", "targets", "both targets are items", |t| t["item_count"] == 2).await;
    let first = &targets["items"][0];
    assert!(first["key"].as_str().is_some_and(|k| k.starts_with("http://") && k.contains("/metrics")), "{first}");
    app.target_when("cellar", "targets", "both are up", |t| {
        t["items"].as_array().is_some_and(|items| items.iter().all(|i| i["state"] == "up"))
    })
    .await;
    let up = app.target_when("cellar", "up", "both series are items", |t| t["item_count"] == 2).await;
    let keys: Vec<&Value> = up["items"].as_array().expect("items").iter().map(|i| &i["key"]).collect();
    assert_eq!(keys, ["first", "second"], "{up}");

    // Values that move with every scrape are volatile: no change, no history.
    let settled = app.history("cellar", "up").await.len();
    let as_of = app.target("cellar", "up").await["as_of"].clone();
    app.target_when("cellar", "up", "it was asked again", |t| t["as_of"] != as_of).await;
    assert_eq!(app.history("cellar", "up").await.len(), settled, "{:?}", app.history("cellar", "up").await);

    prometheus.watches(&[("first", None)]);
    app.target_when("cellar", "targets", "one target is left", |t| t["item_count"] == 1).await;
    let told = app.history("cellar", "targets").await;
    let last = told.last().expect("a history");
    assert_eq!(last["kind"], "removed", "{told:#?}");
    assert!(last["key"].as_str().is_some_and(|k| k.contains("second")), "{last}");
    assert!(app.page("cellar", "targets").await.contains("second"), "the page tells what was removed");
    let view = app.connection("cellar").await;
    assert_eq!(view["state"], "fresh", "{view}");
}

#[tokio::test(flavor = "multi_thread")]
async fn our_own_metrics_are_read_by_the_one_they_are_for() {
    let Some(program) = judge_program("prometheus", "prometheus") else { return };
    let provider = FakeProvider::limited(5, secs(10)).await;
    let app = TestApp::start(Config::yard(&provider.base_url())).await;
    app.has_polled("yard", "controller").await;
    let prometheus = Prometheus::start(&program, &[("larder", Some(app.address))]).await;
    for (expression, least) in [
        ("up", 1.0),
        ("sum(larder_upstream_requests_total)", 1.0),
        ("sum(larder_connection_state)", 1.0),
        ("larder_target_items", 3.0),
        ("larder_build_info", 1.0),
    ] {
        eventually(&format!("{expression} is at least {least}"), SOON, || async {
            prometheus.value_of(expression).await.filter(|value| *value >= least)
        })
        .await;
    }
    assert!(provider.count() < 20, "a scrape is a reader like any other");
    provider.was_never_over();
}

/// Grafana's part is to replace the variables; what it asks then is asked here.
#[tokio::test(flavor = "multi_thread")]
async fn every_panel_of_the_dashboard_has_something_to_show() {
    let Some(program) = judge_program("prometheus", "prometheus") else { return };
    let provider = FakeProvider::limited(5, secs(10)).await;
    let app = telling(&provider).await;
    let prometheus = Prometheus::start(&program, &[("larder", Some(app.address))]).await;
    let dashboard: Value = serde_json::from_str(DASHBOARD).expect("the dashboard is JSON");
    let panels = dashboard["panels"].as_array().expect("panels");
    assert!(panels.len() >= 12, "{}", panels.len());
    for panel in panels {
        for target in panel["targets"].as_array().expect("what a panel asks") {
            let asked = target["expr"].as_str().expect("a question");
            let variables = [
                ("$organization", ".*"),
                ("$connection", "yard"),
                ("$__rate_interval", "15s"),
                ("$__range", "15s"),
                ("[1h]", "[15s]"),
            ];
            let asked = variables.into_iter().fold(asked.to_owned(), |text, (name, value)| text.replace(name, value));
            assert!(!asked.contains('$'), "a variable that nothing is known of: {asked}");
            // What is only there once something is wrong is understood, and empty.
            let least = if asked.ends_with("> 0") { 0 } else { 1 };
            eventually(&format!("{} shows something: {asked}", panel["title"]), SOON, || async {
                (prometheus.series_of(&asked).await >= least).then_some(())
            })
            .await;
        }
    }
    provider.was_never_over();
}
