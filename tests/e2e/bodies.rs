//! Answers of a size that nobody expected: each has a clear outcome, and costs memory that its cap bounds.

use crate::support::script::Script;
use crate::support::*;
use serde_json::{Value, json};

const MIB: usize = 1 << 20;

/// A list of so many bytes, in rows of which one member is long.
fn long_rows(bytes: usize) -> String {
    let note = "x".repeat(MIB - 64);
    let rows: Vec<String> = (0..bytes / MIB).map(|n| format!("{{\"id\":{n:>9},\"note\":\"{note}\"}}")).collect();
    format!("{{\"rows\":[{}]}}", rows.join(","))
}

/// The same in the form that takes the most memory once it is read: nothing but numbers.
fn dense(bytes: usize) -> String {
    format!("{{\"rows\":[{{\"id\":1}}],\"rest\":[{}0]}}", "0,".repeat(bytes / 2 - 20))
}

/// Asked once for what the provider has; the charge, and by how much memory grew at its peak and afterwards, in MiB.
async fn asked_for(body: String, cap: Option<&str>) -> (Value, u64, u64) {
    let provider = Script::answering(move |_| wire::json(200, &[], &body)).await;
    let rows = "[[connection.target]]\nname = \"rows\"\nget = \"/rows\"\nitems = \"$.rows[*]\"\nkey = \"$.id\"\n";
    let plain = Connection::plain("shop", &provider.base_url()).not_polled().timeout("60s").body(rows);
    let connection = cap.map_or(plain.clone(), |cap| plain.max_body(cap));
    let app = TestApp::start(Config::new().with(connection)).await;
    let before = app.resident_kb().expect("a process");
    let on = Ask::new("PATCH", "/api/v1/connections/shop").token(app.token());
    app.send(on.json(&json!({"enabled": true, "interval": "60s"}))).await.expect(200);
    let charge = eventually("its charge is resolved", 3 * SOON, || async {
        app.ledger("shop").await.pop().filter(|c| c["outcome"] != "pending")
    })
    .await;
    let grown = |kb: Option<u64>| kb.expect("a process").saturating_sub(before) / 1024;
    (charge, grown(app.peak_kb()), grown(app.resident_kb()))
}

#[tokio::test(flavor = "multi_thread")]
async fn fifty_megabytes_above_the_cap_are_refused_and_never_held() {
    let (charge, peak, _) = asked_for(long_rows(50 * MIB), None).await;
    assert_eq!(charge["outcome"], "too_large", "{charge}");
    assert!(peak <= 32, "{peak} MiB at the peak for a cap of 10 MiB");
}

#[tokio::test(flavor = "multi_thread")]
async fn fifty_megabytes_below_the_cap_are_read_at_a_bounded_cost_that_is_given_back() {
    let (charge, peak, after) = asked_for(long_rows(50 * MIB), Some("64MiB")).await;
    assert_eq!(charge["outcome"], "data", "{charge}");
    assert!(peak <= 200, "{peak} MiB at the peak");
    assert!(after <= 64, "{after} MiB are kept");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_read_takes_a_bounded_multiple_of_the_cap_whatever_is_in_it() {
    let (charge, peak, after) = asked_for(dense(10 * MIB - 1000), None).await;
    assert_eq!(charge["outcome"], "unexpected", "{charge}");
    assert!(charge["rule"].as_str().is_some_and(|rule| rule.contains("JSON of more than 2000000 values")), "{charge}");
    assert!(peak <= 300 && after <= 32, "{peak} MiB at the peak, {after} afterwards, for 10 MiB of numbers");
    let (charge, peak, after) = asked_for(dense(3_800_000), None).await;
    assert_eq!(charge["outcome"], "data", "{charge}");
    assert!(peak <= 300 && after <= 32, "{peak} MiB at the peak, {after} afterwards, for as many as are read");
}
