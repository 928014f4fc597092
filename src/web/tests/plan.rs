//! What the limits can keep up: the page and its JSON.

use super::pages::part;
use super::*;

#[tokio::test]
async fn the_page_says_what_is_asked_and_what_is_stretched() {
    let site = Site::loopback(Sample::calm());
    let page = site.page("/plan").await;
    insta::assert_snapshot!("plan_plans", part(&page, "plans"));
    insta::assert_snapshot!("plan_form", part(&page, "ask"));
    assert!(!page.contains("id=\"answer\""), "nothing was asked");
    assert!(page.contains("one interval cannot be kept up."), "{page}");
    assert!(site.page("/").await.contains("href=\"plan\""), "every page leads there");
    assert!(site.page("/c/yard").await.contains("href=\"../plan?connection=yard\""));
    let empty = Site::loopback(Sample::empty()).page("/plan").await;
    assert!(empty.contains("Nothing is polled.") && empty.contains("No connection is configured."));
}

#[tokio::test]
async fn what_if_is_answered_on_the_page_without_a_script() {
    let site = Site::loopback(Sample::calm());
    let page = site.page("/plan?connection=yard&interval=5m&targets=35&rows=100&page_size=2000").await;
    insta::assert_snapshot!("plan_answer", part(&page, "answer"));
    assert!(part(&page, "ask").contains("value=\"5m\""), "the form keeps what was asked");
    for (wrong, words) in [
        ("connection=yard&interval=5", "302.4"),
        ("connection=yard&interval=5x", "interval: "),
        ("connection=yard&interval=10ms", "faster than every second"),
        ("connection=yard&page_size=0", "page_size is a whole number from 1"),
        ("interval=60s", "Name the connection"),
    ] {
        let page = site.page(&format!("/plan?{wrong}")).await;
        assert!(part(&page, "answer").contains(words), "{wrong}: {page}");
    }
}

#[tokio::test]
async fn the_plan_is_json_too() {
    let site = Site::loopback(Sample::calm());
    insta::assert_snapshot!(
        "json_plan",
        pretty(site.get("/api/v1/plan?connection=yard&targets=35&page_size=2000").await).await
    );
    assert_eq!(json(site.get("/api/v1/plan").await).await["what_if"], Value::Null);
    let north = json(site.get("/api/v1/plan?organization=north").await).await;
    assert_eq!(north["connections"].as_array().map(Vec::len), Some(0), "only its own");
    for (query, status) in [("speed=3", 400), ("connection=yard&rows=-1", 400), ("connection=nowhere", 404)] {
        let answer = site.get(&format!("/api/v1/plan?{query}")).await;
        assert_eq!(answer.status().as_u16(), status, "{query}");
    }
}
