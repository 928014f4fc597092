//! Health, metrics, and the order of a stop.

use crate::support::*;
use std::time::Instant;

#[tokio::test(flavor = "multi_thread")]
async fn probes_answer_without_detail_and_do_not_depend_on_the_provider() {
    let mut provider = FakeProvider::limited(5, secs(10)).await;
    provider.goes_away();
    let app = TestApp::start(Config::yard(&provider.base_url())).await;
    app.has_charge("yard", "unreachable").await;
    for path in ["/livez", "/readyz"] {
        let reply = app.get(path).await.expect(200);
        assert!(reply.body.len() < 400, "{path} is chatty: {}", reply.body);
    }
    provider.comes_back().await;
}

/// The sample of a series whose line starts with `name` and holds every label.
fn sample(metrics: &str, name: &str, labels: &[&str]) -> Option<f64> {
    let line = metrics.lines().find(|l| {
        let rest = l.strip_prefix(name).unwrap_or_default();
        (rest.starts_with('{') || rest.starts_with(' ')) && labels.iter().all(|label| rest.contains(label))
    })?;
    line.rsplit(' ').next()?.parse().ok()
}

#[tokio::test(flavor = "multi_thread")]
async fn metrics_are_prometheus_text_with_our_names() {
    let provider = FakeProvider::limited(5, secs(10)).await;
    let app = TestApp::start(Config::yard(&provider.base_url())).await;
    app.has_polled("yard", "controller").await;
    provider.has_seen(2, SOON).await;
    app.readers(1).await.load(&["/", "/c/yard"]).await;

    let reply = app.get("/metrics").await.expect(200);
    let metrics = &reply.body;
    for line in metrics.lines().filter(|l| !l.is_empty() && !l.starts_with('#')) {
        let (series, value) = line.rsplit_once(' ').unwrap_or_else(|| panic!("not a sample: {line}"));
        assert!(series.starts_with("larder_"), "a name without our prefix: {line}");
        assert!(value.parse::<f64>().is_ok(), "not a number: {line}");
        assert!(!series.contains('?') && !series.contains("://"), "a URL in a label: {line}");
    }
    let yard = "connection=\"yard\"";
    assert!(sample(metrics, "larder_upstream_requests_total", &[yard, "caller=\"poller\""]) >= Some(1.0), "{metrics}");
    let status = [yard, "endpoint=\"/statusschedule.php\""];
    assert_eq!(sample(metrics, "larder_quota_limit", &status), Some(5.0), "{metrics}");
    assert!(sample(metrics, "larder_quota_remaining", &status).is_some_and(|left| left <= 4.0), "{metrics}");
    assert_eq!(sample(metrics, "larder_quota_kept", &status), Some(1.0), "{metrics}");
    assert!(sample(metrics, "larder_build_info", &["version="]).is_some(), "{metrics}");
    let state = sample(metrics, "larder_connection_state", &[yard, "state=\"fresh\""]);
    assert_eq!(state, Some(1.0), "{metrics}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_lets_the_request_in_flight_come_home() {
    let provider = FakeProvider::limited(5, secs(10)).await;
    let config = Config::yard(&provider.base_url()).tuned(|c| c.quiet().min_age("1s"));
    let mut app = TestApp::start(config).await;
    app.has_polled("yard", "controller").await;
    app.target_when("yard", "controller", "the answer is 2 s old", |t| t["age_seconds"].as_u64() >= Some(2)).await;
    provider.is(Mode::Slow(secs(2)));
    provider.renames(1, "Front lawn");
    let mut events = app.events(None).await;
    let id = app.operator().runs_zone(3).await;
    eventually("the command is in flight", SOON, || async { (provider.count_of(SET_ZONE) == 1).then_some(()) }).await;

    let began = Instant::now();
    app.terminate();
    assert!(events.ends(secs(5)).await, "a stream goes on while the appliance stops");
    let status = app.ends(secs(15)).await;
    assert!(status.success(), "{status}:\n{}", app.log());
    assert!(began.elapsed() < secs(12), "a stop took {:?}", began.elapsed());

    app.boots().await;
    assert_eq!(app.job(id).await["state"], "done", "the answer came home before the store closed");
    let ledger = app.ledger("yard").await;
    assert!(ledger.iter().all(|c| c["settlement"] == "posted" && c["outcome"] != "lost"), "{ledger:#?}");
    assert!(!app.log().contains("repaired"), "a clean stop leaves nothing to repair:\n{}", app.log());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_does_not_wait_for_ever() {
    let provider = FakeProvider::limited(5, secs(10)).await;
    let mut app = TestApp::start(Config::yard(&provider.base_url()).tuned(|c| c.timeout("30s"))).await;
    app.has_polled("yard", "controller").await;
    provider.is(Mode::Slow(secs(120)));
    provider.has_seen(provider.count() + 1, SOON).await;
    let _stream = app.events(None).await;
    let _tabs = app.readers(5).await;
    app.terminate();
    let status = app.ends(secs(15)).await;
    assert!(status.success(), "{status}:\n{}", app.log());
    app.boots().await;
    let ledger = app.ledger("yard").await;
    let last = ledger.last().expect("charges");
    assert_ne!(last["settlement"], "voided", "the provider may have counted it: {last}");
}
