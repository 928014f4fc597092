//! Who spent what: every request that the provider counted, by caller, endpoint and outcome, through crashes and on every surface
//! (CASES P7; laws 1 and 6).

use crate::support::app::members;
use crate::support::*;
use serde_json::Value;

/// What the groups of `/spend?by=` come to.
async fn spent(app: &TestApp, by: &str) -> Vec<(String, u64)> {
    let answer = app.get(&format!("/api/v1/spend?by={by}")).await.json();
    let groups = members(&answer, "groups");
    let requests = |g: &Value| g["requests"].as_u64().expect("a count");
    let all: u64 = groups.iter().map(requests).sum();
    assert_eq!(answer["requests"], all, "{answer}");
    let mut groups: Vec<_> =
        groups.iter().map(|g| (g["name"].as_str().expect("a name").to_owned(), requests(g))).collect();
    groups.sort();
    groups
}

#[tokio::test(flavor = "multi_thread")]
async fn every_request_is_somebodys_through_crashes() {
    let provider = FakeProvider::unlimited().await;
    let config = Config::yard(&provider.base_url()).tuned(|c| c.no_limits().every("60s").min_age("1ms"));
    let mut app = TestApp::start(config).await;
    app.has_polled("yard", "controller").await;
    for _ in 0..3 {
        app.operator().refreshes("yard", "controller").await;
    }
    let before = spent(&app, "caller").await;
    assert_eq!(before, [("poller".to_owned(), 1), ("refresh".to_owned(), 3)]);
    app.crash().await;
    assert_eq!(spent(&app, "caller").await, before, "what was spent stays spent");
    assert_eq!(spent(&app, "target").await, [("yard/controller".to_owned(), 4)]);
    assert_eq!(spent(&app, "organization").await, [("default".to_owned(), 4)]);
    let outcomes = spent(&app, "outcome").await;
    let all: u64 = outcomes.iter().map(|(_, n)| n).sum();
    assert_eq!(all, app.ledger("yard").await.len() as u64, "{outcomes:?}");
    assert_eq!(provider.count() as u64, all, "no more and no less than were seen");

    let page = app.get("/spend").await;
    assert!(page.status == 200 && page.body.contains("4 requests from"), "{}", page.body);
    let lines = app.ledger("yard").await;
    for field in ["caller", "endpoint", "target", "outcome", "settlement"] {
        assert!(lines.iter().all(|line| line[field].is_string()), "{field}: {lines:?}");
    }
    assert!(lines.iter().all(|line| line["rule"].is_string() || line["outcome"] == "pending"), "{lines:?}");
    app.stop().await;
    let data = app.data();
    let said = app.larder(&["verify", data.to_str().expect("a path")]).await.expect(0);
    assert!(said.all().contains("of spending"), "{}", said.all());
}

/// What the page draws of a limit ends where the ledger stands, whoever of those that share its credential spent it.
#[tokio::test(flavor = "multi_thread")]
async fn the_burn_down_ends_where_the_ledger_stands() {
    let provider = FakeProvider::unlimited().await;
    let day = |c: Connection| c.no_limits().limit("day", 2000, "24h", "").quiet().min_age("1ms");
    let mut app = TestApp::start(Config::yard(&provider.base_url()).tuned(day)).await;
    app.has_polled("yard", "controller").await;
    for _ in 0..4 {
        app.operator().refreshes("yard", "controller").await;
    }
    app.crash().await;
    let connection = app.connection("yard").await;
    let left = members(&connection, "budget").iter().filter_map(|b| b["remaining"].as_u64()).min();
    assert_eq!(left, Some(1995), "a poll and four refreshes: {connection}");
    let page = app.get("/c/yard").await.body.replace('\u{202f}', " ");
    let burn = page.split("id=\"burn\"").nth(1).and_then(|rest| rest.split("</section>").next()).expect("the plot");
    let rows: Vec<&str> = burn.split("<tr><th").skip(2).collect();
    assert!(rows.iter().any(|row| row.contains("<td>1 995</td>")), "now: {rows:#?}");
    assert!(rows.first().is_some_and(|row| row.contains("<td>2 000</td>")), "a day ago nothing was spent: {rows:#?}");
    assert_eq!(burn.matches("class=\"actual\"").count(), 1, "{burn}");
    assert!(burn.contains("to spare"), "{burn}");
}
