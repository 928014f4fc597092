//! What is told to Prometheus and Grafana, judged by Prometheus's own tool: the metrics, the alert rules, the dashboard's names. Needs
//! Debian's `prometheus`, which brings `promtool`.

use crate::support::process::judge_program;
use crate::support::*;
use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

pub const DASHBOARD: &str = include_str!("../../packaging/grafana-dashboard.json");
const ALERTS: &str = include_str!("../../packaging/alerts.yml");
const TRIALS: &str = include_str!("../fixtures/prometheus/alerts_test.yml");

fn promtool() -> Option<PathBuf> {
    judge_program("promtool", "prometheus")
}

/// Its judgement, and all that it said.
fn judged(program: &Path, folder: &Path, arguments: &[&str], input: &str) -> (bool, String) {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(folder);
    let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = piped.spawn().expect("promtool starts");
    child.stdin.take().expect("a pipe").write_all(input.as_bytes()).expect("promtool reads");
    let output = child.wait_with_output().expect("promtool ends");
    let said = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
    (output.status.success(), said)
}

/// An appliance whose every metric has something to tell of.
pub async fn telling(provider: &FakeProvider) -> TestApp {
    let daily = "name = \"day\"\nrequests = 1000\nkind = \"daily\"";
    let app = TestApp::start(Config::yard(&provider.base_url()).tuned(|yard| yard.limit_text(daily))).await;
    app.has_polled("yard", "controller").await;
    app
}

/// Names of metrics in a text.
fn named(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words.filter(|word| word.starts_with("larder_")).map(str::to_owned).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn promtool_finds_nothing_to_say_against_our_metrics() {
    let Some(promtool) = promtool() else { return };
    let provider = FakeProvider::limited(5, secs(10)).await;
    let app = telling(&provider).await;
    let metrics = app.get("/metrics").await.expect(200).body;
    let (good, said) = judged(&promtool, app.folder(), &["check", "metrics"], &metrics);
    assert!(good && said.trim().is_empty(), "{said}\n{metrics}");
    let planted = format!("{metrics}# TYPE larder_planted_total gauge\nlarder_planted_total 1\n");
    let (good, said) = judged(&promtool, app.folder(), &["check", "metrics"], &planted);
    assert!(!good && said.contains("larder_planted_total"), "the judge would have said it: {said}");
}

#[test]
fn the_alerts_come_when_they_should_and_not_before() {
    let Some(promtool) = promtool() else { return };
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (name, text) in [("alerts.yml", ALERTS), ("alerts_test.yml", TRIALS)] {
        std::fs::write(folder.path().join(name), text).expect("the test's own folder");
    }
    for arguments in [&["check", "rules", "alerts.yml"][..], &["test", "rules", "alerts_test.yml"]] {
        let (good, said) = judged(&promtool, folder.path(), arguments, "");
        assert!(good, "{said}");
    }
    let alerts = ALERTS.lines().filter_map(|line| line.trim().strip_prefix("- alert: "));
    for alert in alerts {
        assert!(TRIALS.contains(&format!("alertname: {alert}\n        exp_alerts:")), "{alert} was never seen to come");
    }
}

/// Who renames a metric renames it for the dashboard and the alerts too.
#[tokio::test(flavor = "multi_thread")]
async fn dashboard_and_alerts_name_only_metrics_that_are_there() {
    let provider = FakeProvider::limited(5, secs(10)).await;
    let app = telling(&provider).await;
    let metrics = app.get("/metrics").await.expect(200).body;
    let told: BTreeSet<&str> = metrics.lines().filter_map(|l| l.strip_prefix("# TYPE ")?.split(' ').next()).collect();
    for (file, text) in [("grafana-dashboard.json", DASHBOARD), ("alerts.yml", ALERTS)] {
        let wanted = named(text);
        assert!(wanted.len() >= 8, "{file}: {wanted:?}");
        let missing: Vec<&String> = wanted.iter().filter(|name| !told.contains(name.as_str())).collect();
        assert!(missing.is_empty(), "{file} names {missing:?}");
    }
}
