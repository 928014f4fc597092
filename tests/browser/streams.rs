//! A browser's own `EventSource` behind the gateway, as any page uses it (CASES P4).

use crate::support::feed::Feed;
use crate::support::*;
use crate::webdriver::Browser;

const LISTENS: &str = "window.told = [[], [], []]; window.sources = told.map(mine => {
    const source = new EventSource('/gateway/yard/events');
    source.onmessage = event => mine.push(event.lastEventId + ' ' + event.data);
    source.addEventListener('larder-gap', event => mine.push('gap'));
    return source;
});";

async fn told(browser: &Browser, expected: &[&str]) {
    let all = serde_json::json!([expected, expected, expected]);
    let what = format!("each of three sources was told {expected:?}");
    eventually(&what, SOON, || async { (browser.runs("return window.told").await == all).then_some(()) }).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn p4_a_browsers_own_sources_share_one_opening_and_miss_nothing_over_a_restart() {
    let Some(browser) = Browser::start().await else { return };
    let feed = Feed::start().await;
    let target =
        "[[connection.target]]\nname = \"controller\"\nget = \"/zones\"\nitems = \"$.zones[*]\"\nkey = \"$.id\"\n";
    let mut app =
        TestApp::start(Config::yard(&feed.base_url()).tuned(|c| c.no_limits().body(target).every("1h"))).await;
    browser.goes_to(&format!("http://{}/c/yard", app.address)).await;
    browser.runs(LISTENS).await;
    eventually("all are open", SOON, || async {
        let open = browser.runs("return window.sources.every(source => source.readyState === 1)").await;
        (open == true).then_some(())
    })
    .await;
    feed.says("one");
    told(&browser, &["1 one"]).await;
    feed.cuts();
    feed.says("two");
    told(&browser, &["1 one", "2 two"]).await;
    assert_eq!(feed.was_opened(2).await.len(), 2, "one, and one after the cut");

    app.stop().await;
    feed.says("three");
    app.boots().await;
    feed.says("four");
    told(&browser, &["1 one", "2 two", "3 three", "4 four"]).await;
    assert_eq!(feed.openings().len(), 3);
    assert_eq!(feed.openings()[2].last.as_deref(), Some("2"));
}
