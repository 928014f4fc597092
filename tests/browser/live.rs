//! What moves on a page: ages, values, and nothing at all while nobody looks (CASES I3, P4).

use crate::proxy::Tap;
use crate::support::*;
use crate::webdriver::Browser;

/// A yard that polls once an hour: whatever moves on its page moves by itself.
async fn quiet_yard(provider: &FakeProvider) -> TestApp {
    let app = TestApp::start(Config::yard(&provider.base_url()).tuned(|c| c.no_limits().quiet().min_age("1s"))).await;
    app.has_polled("yard", "controller").await;
    app
}

/// One request to the provider, as soon as the answer is old enough for it.
async fn refreshes(app: &TestApp) {
    eventually("the refresh is funded", SOON, || async {
        (app.operator().refreshes("yard", "controller").await.status == 200).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ages_tick_by_themselves() {
    let Some(browser) = Browser::start().await else { return };
    let provider = FakeProvider::unlimited().await;
    let app = quiet_yard(&provider).await;
    let tap = Tap::before(app.address).await;
    for path in ["/", "/c/yard", "/c/yard/t/controller"] {
        browser.goes_to(&tap.url(path)).await;
        browser.runs("window.stillTheSame = true").await;
        let before = browser.text().await;
        eventually(&format!("an age on {path} moves"), SOON, || async {
            (browser.text().await != before).then_some(())
        })
        .await;
        assert_eq!(browser.runs("return window.stillTheSame").await, true, "{path} was loaded again");
    }
    assert_eq!(provider.count(), 1, "a page that ticks spends nothing");
    assert_quiet(&browser).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_appears_without_a_reload() {
    let Some(browser) = Browser::start().await else { return };
    let provider = FakeProvider::unlimited().await;
    let app = quiet_yard(&provider).await;
    browser.goes_to(&format!("http://{}/c/yard/t/controller", app.address)).await;
    browser.shows("Hedge").await;
    browser.runs("window.stillTheSame = true; window.scrollTo(0, 40)").await;

    provider.renames(3, "Privet");
    provider.starts_zone(2, secs(300));
    refreshes(&app).await;
    browser.shows("Privet").await;
    browser.shows("running").await;
    assert_eq!(browser.runs("return window.stillTheSame").await, true, "the page was loaded again");

    // Trouble appears by itself too, with the provider's words.
    provider.is(Mode::Lockout);
    eventually("the lockout was met", SOON, || async {
        app.operator().refreshes("yard", "controller").await;
        (!app.connection("yard").await["hold"].is_null()).then_some(())
    })
    .await;
    browser.shows("API rate limit exceeded").await;
    assert_eq!(browser.runs("return window.stillTheSame").await, true);
    assert_quiet(&browser).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a44_a_hidden_tab_asks_for_nothing_and_catches_up() {
    let Some(browser) = Browser::start().await else { return };
    let provider = FakeProvider::unlimited().await;
    let app = quiet_yard(&provider).await;
    let tap = Tap::before(app.address).await;
    browser.goes_to(&tap.url("/c/yard/t/controller")).await;
    browser.shows("Lawn").await;
    browser.is_hidden().await;
    // What was under way when it was hidden may end.
    eventually("the hidden tab is quiet", SOON, || async {
        let sent = tap.sent();
        tokio::time::sleep(secs(1)).await;
        (tap.sent() == sent).then_some(())
    })
    .await;
    let sent = tap.sent();
    provider.renames(1, "Meadow");
    refreshes(&app).await;
    stays("a hidden tab asks for nothing", sent, secs(6), || tap.sent()).await;

    browser.is_shown().await;
    browser.shows("Meadow").await;
    assert!(tap.sent() > sent, "it caught up by asking");
}

#[tokio::test(flavor = "multi_thread")]
async fn a43_a_link_that_ends_as_soon_as_it_stands_is_tried_ever_more_rarely() {
    let Some(browser) = Browser::start().await else { return };
    let provider = FakeProvider::unlimited().await;
    let app = quiet_yard(&provider).await;
    let tap = Tap::before(app.address).await;
    tap.cuts_streams();
    browser.goes_to(&tap.url("/c/yard/t/controller")).await;
    browser.shows("Lawn").await;
    let began = std::time::Instant::now();
    eventually("the link was tried again", SOON, || async { (tap.streams() >= 2).then_some(()) }).await;
    tokio::time::sleep(secs(20)).await;
    // At 0, 3, 9 and 21 s; a browser left to itself comes every 3 s.
    let most = 2 + (began.elapsed().as_secs_f64() / 3.0 + 1.0).log2().ceil() as usize;
    assert!(tap.streams() <= most, "{} links in {:?}", tap.streams(), began.elapsed());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_outlives_a_restart_of_the_appliance() {
    let Some(browser) = Browser::start().await else { return };
    let provider = FakeProvider::unlimited().await;
    let mut app = quiet_yard(&provider).await;
    browser.goes_to(&format!("http://{}/c/yard/t/controller", app.address)).await;
    browser.shows("Lawn").await;
    app.crash().await;
    provider.renames(1, "Meadow");
    refreshes(&app).await;
    browser.shows("Meadow").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn p6_a_page_of_another_build_is_loaded_anew_once_and_lives_again() {
    let Some(browser) = Browser::start().await else { return };
    let provider = FakeProvider::unlimited().await;
    let app = quiet_yard(&provider).await;
    let tap = Tap::before(app.address).await;
    tap.outdates_pages(1);
    browser.goes_to(&tap.url("/c/yard/t/controller")).await;
    browser.shows("Lawn").await;
    let navigation = "return performance.getEntriesByType('navigation')[0].type";
    eventually("it was loaded anew", SOON, || async { (browser.runs(navigation).await == "reload").then_some(()) })
        .await;
    browser.shows("Lawn").await;
    browser.runs("window.stillTheSame = true").await;
    provider.renames(1, "Meadow");
    refreshes(&app).await;
    browser.shows("Meadow").await;
    assert_eq!(browser.runs("return window.stillTheSame").await, true, "once");
}

#[tokio::test(flavor = "multi_thread")]
async fn p6_a_page_that_stays_old_says_so_and_asks_for_nothing_more() {
    let Some(browser) = Browser::start().await else { return };
    let provider = FakeProvider::unlimited().await;
    let app = quiet_yard(&provider).await;
    let tap = Tap::before(app.address).await;
    // As behind a cache that keeps pages longer than it may.
    tap.outdates_pages(1000);
    browser.goes_to(&tap.url("/c/yard/t/controller")).await;
    browser.shows("Larder was updated. Load this page again.").await;
    assert_eq!(1000 - tap.outdated_left(), 2, "loaded, and loaded anew once");
    let sent = tap.sent();
    stays("an old page asks for nothing", sent, secs(8), || tap.sent()).await;
    browser.shows("Lawn").await;
}

/// No violation of the page's own policy, no error of its script.
pub async fn assert_quiet(browser: &Browser) {
    let console = browser.console().await;
    let loud: Vec<&String> =
        console.iter().filter(|line| line.contains("SEVERE") || line.contains("Content Security Policy")).collect();
    assert!(loud.is_empty(), "{loud:#?}");
}
