//! What a configuration will ask a day, what its limits can keep up, and what they could if it were otherwise: page, API and `larder check`
//! tell the same figures (CASES F12, F13, I1).

use crate::support::app::members;
use crate::support::*;
use serde_json::{Value, json};

const DAY: &str = "name = \"day\"\nrequests = 10000\nkind = \"daily\"";

/// A field service's connection with so many work orders.
fn field(provider: &FakeProvider, work_orders: u32, interval: &str) -> Config {
    let target = |n: u32| {
        format!(
            "[[connection.target]]\nname = \"eco-{n}\"\nget = \"{STATUS}?job={n}\"\nitems = \"$.relays[*]\"\nkey = \"$.relay_id\"\n"
        )
    };
    let body: String = (0..work_orders).map(target).collect();
    let connection = Connection::plain("field", &provider.base_url()).limit_text(DAY).every(interval).body(&body);
    Config::new().with(connection)
}

async fn set(app: &TestApp, controls: Value) -> Value {
    app.send(Ask::new("PATCH", "/api/v1/connections/field").token(app.token()).json(&controls)).await.expect(200).json()
}

async fn plan(app: &TestApp, query: &str) -> Value {
    app.get(&format!("/api/v1/plan{query}")).await.expect(200).json()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interval_that_cannot_be_kept_is_stretched_and_every_surface_says_so() {
    let provider = FakeProvider::unlimited().await;
    let app = TestApp::start(field(&provider, 35, "300s")).await;
    let told = plan(&app, "").await;
    let field = &members(&told, "connections")[0];
    assert_eq!(
        (&field["interval_seconds"], &field["effective_interval_seconds"]),
        (&json!(300), &json!(302.4)),
        "{field}"
    );
    assert_eq!((&field["requests_per_day"], &field["wished_requests_per_day"]), (&json!(10_000), &json!(10_080)));
    assert_eq!(
        (&field["ceiling_targets"], &field["bound_by"], &field["stretched"]["limit"]),
        (&json!(34), &json!("day"), &json!("day"))
    );
    assert_eq!(field["limits"][0]["percent"], 101);
    let connection = app.connection("field").await;
    assert_eq!(connection["poll"]["stretched"], field["stretched"], "{connection}");
    assert_eq!(
        connection["forecast"],
        json!({"requests_per_day": 10_000, "units_per_day": 10_000, "ceiling_targets": 34})
    );
    let sentence = field["stretched"]["sentence"].as_str().expect("words").replace('"', "&#34;");
    assert!(sentence.contains("5 min") && sentence.contains("302.4 s"), "both figures: {sentence}");
    let page = app.get("/plan").await.expect(200).body;
    assert!(page.contains(&sentence) && page.contains("href=\"c/field\""), "{page}");
    assert!(app.get("/c/field").await.expect(200).body.contains(&sentence));
    let said = app.larder_here(&["check", "--json"]).await.expect(1);
    let checked: Value = serde_json::from_str(&said.stdout).expect("JSON");
    let checked = &checked["connections"][0];
    for figure in
        ["interval_seconds", "effective_interval_seconds", "ceiling_targets", "bound_by", "requests_per_round"]
    {
        let number = |v: &Value| v.as_f64().map_or(v.clone(), |n| json!(n));
        assert_eq!(number(&checked[figure]), number(&field[figure]), "{figure}: {checked}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn f13_the_ceiling_and_the_requests_of_a_day_are_told_before_anything_is_saved() {
    let provider = FakeProvider::unlimited().await;
    let app = TestApp::start(field(&provider, 1, "1h")).await;
    let before = (app.connection("field").await, provider.count());
    for (interval, ceiling) in [("60s", 6), ("120s", 13), ("300s", 34), ("600s", 69), ("600", 69)] {
        let told = plan(&app, &format!("?connection=field&interval={interval}&targets=34")).await;
        let what_if = &told["what_if"];
        assert_eq!(
            (&what_if["ceiling_targets"], &what_if["targets"]),
            (&json!(ceiling), &json!(34)),
            "{interval}: {what_if}"
        );
        assert_eq!(what_if["way"], "single");
    }
    // F12: a thousand work orders of 200 rows are a hundred pages.
    let told = plan(&app, "?connection=field&interval=900s&targets=1000&rows=200&page_size=2000").await;
    let what_if = &told["what_if"];
    assert_eq!(
        (&what_if["way"], &what_if["single"]["requests"], &what_if["scan"]["requests"]),
        (&json!("scan"), &json!(1000), &json!(100))
    );
    assert_eq!((&what_if["requests_per_day"], &what_if["stretched"]), (&json!(9_600), &Value::Null), "{what_if}");
    let page = app.get("/plan?connection=field&interval=60s&targets=12&rows=&page_size=").await.expect(200).body;
    assert!(page.contains("field: cannot be kept up") && page.contains("17\u{202f}280"), "{page}");
    assert!(app.get("/plan?connection=field&targets=x").await.expect(200).body.contains("targets is a whole number"));
    assert_eq!(app.get("/api/v1/plan?connection=field&targets=x").await.status, 400);
    assert_eq!(app.get("/api/v1/plan?targets=4").await.status, 400);
    assert_eq!(app.get("/api/v1/plan?connection=nowhere").await.status, 404);
    let after = app.connection("field").await;
    assert_eq!(
        (&after["poll"]["interval_seconds"], provider.count()),
        (&before.0["poll"]["interval_seconds"], before.1),
        "nobody was asked"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn f13_a_demonstration_of_three_hours_is_not_stretched_to_what_could_be_kept_for_ever() {
    let provider = FakeProvider::unlimited().await;
    let app = TestApp::start(field(&provider, 12, "5m")).await;
    let view = set(&app, json!({"interval": "60s", "interval_for": "3h"})).await;
    assert_eq!((&view["poll"]["interval_seconds"], &view["poll"]["stretched"]), (&json!(60), &Value::Null), "{view}");
    assert_eq!(view["poll"]["effective_interval_seconds"], 60, "{view}");
    let told = plan(&app, "").await;
    let field = &members(&told, "connections")[0];
    assert_eq!(
        (&field["requests_meanwhile"], &field["effective_interval_seconds"]),
        (&json!(2_160), &json!(60)),
        "{field}"
    );
    assert!(field["until"].is_string(), "{field}");
    assert!(app.get("/plan").await.expect(200).body.contains("2\u{202f}160"));
    // For ever it would be too much.
    let stretched = set(&app, json!({"interval": "60s"})).await["poll"]["stretched"].clone();
    assert_eq!((&stretched["from_seconds"], &stretched["to_seconds"]), (&json!(60), &json!(103.68)), "{stretched}");
}

/// What scans feed is counted in targets, and what they take in their pages (CASES F12).
#[tokio::test(flavor = "multi_thread")]
async fn f12_targets_that_a_scan_feeds_are_counted_and_cost_its_pages() {
    let provider = FakeProvider::unlimited().await;
    let target = |n: u32| format!("[[connection.target]]\nname = \"eco-{n}\"\n");
    let scan = format!(
        "[[connection.scan]]\nname = \"project\"\nget = \"{STATUS}\"\nitems = \"$.relays[*]\"\nkey = \"$.relay_id\"\nfeeds = \"$.name\"\n"
    );
    let body: String = (0..40).map(target).chain([scan]).collect();
    let connection = Connection::plain("field", &provider.base_url()).limit_text(DAY).every("60s").body(&body);
    let mut app = TestApp::start(Config::new().with(connection)).await;
    let field = members(&plan(&app, "").await, "connections")[0].clone();
    assert_eq!((&field["targets"], &field["requests_per_round"]), (&json!(40), &json!(1)), "{field}");
    let what_if = plan(&app, "?connection=field&targets=1000&rows=200&page_size=2000").await["what_if"].clone();
    assert_eq!((&what_if["way"], &what_if["requests_per_round"]), (&json!("scan"), &json!(100)), "{what_if}");
    // The same to those who check, before and while and after it runs.
    let checked = async |app: &TestApp| {
        let said = app.larder_here(&["check", "--json"]).await.expect(0);
        serde_json::from_str::<Value>(&said.stdout).expect("JSON")["connections"][0].clone()
    };
    for running in [true, false] {
        if !running {
            app.stop().await;
        }
        let told = checked(&app).await;
        for figure in ["requests_per_round", "requests_per_day", "ceiling_targets"] {
            assert_eq!(told[figure], field[figure], "{figure}, running: {running}: {told}");
        }
    }
    std::fs::remove_file(app.data()).expect("a file");
    assert_eq!(checked(&app).await["requests_per_round"], 1, "of a new installation");
}
