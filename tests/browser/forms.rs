//! What people do on a page: run a zone, pause, refresh. With script and without, once and not twice, and never without a token.

use crate::live::assert_quiet;
use crate::support::*;
use crate::webdriver::Browser;

/// Finds the form whose address contains `part`, opens what hides it, fills in what is asked for.
fn filled(part: &str, token: &str, then: &str) -> String {
    format!(
        "const form = [...document.querySelectorAll('form')].find(f => f.action.includes('{part}'));
        for (let e = form; e; e = e.parentElement) if (e.tagName === 'DETAILS') e.open = true;
        for (const field of form.elements) {{
            if (field.name === 'p.item') field.value = '3';
            if (field.name === 'p.seconds') field.value = '60';
            if (field.name === 'token') field.value = '{token}';
        }}
        {then}"
    )
}

const PRESS: &str = "form.querySelector('button:not([type=button])').click()";

async fn quiet_yard(provider: &FakeProvider) -> TestApp {
    let app = TestApp::start(Config::yard(&provider.base_url()).tuned(|c| c.quiet().min_age("1s"))).await;
    app.has_polled("yard", "controller").await;
    app
}

async fn runs_a_zone(browser: &Browser, app: &TestApp, provider: &FakeProvider) {
    browser.goes_to(&format!("http://{}/c/yard", app.address)).await;
    browser.runs(&filled("run-zone", app.token(), PRESS)).await;
    eventually("the command was sent", SOON, || async { (provider.count_of(SET_ZONE) == 1).then_some(()) }).await;
    let sent = provider.seen().into_iter().find(|s| s.endpoint == SET_ZONE).expect("just seen");
    assert_eq!((&sent.parameters["relay_id"][..], &sent.parameters["custom"][..]), ("3", "60"));
    let back = browser.runs("return location.pathname").await;
    assert_eq!(back, "/c/yard", "back where it came from");
    assert_eq!(app.job(1).await["command"], "run-zone");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_zone_is_run_from_the_page() {
    let Some(browser) = Browser::start().await else { return };
    let provider = FakeProvider::limited(5, secs(300)).await;
    let app = quiet_yard(&provider).await;
    runs_a_zone(&browser, &app, &provider).await;
    browser.shows("done").await;
    assert_quiet(&browser).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_zone_is_run_without_javascript() {
    let Some(browser) = Browser::start().await else { return };
    let provider = FakeProvider::limited(5, secs(300)).await;
    let app = quiet_yard(&provider).await;
    browser.has_no_javascript().await;
    runs_a_zone(&browser, &app, &provider).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pressing_twice_waters_once() {
    let Some(browser) = Browser::start().await else { return };
    let provider = FakeProvider::limited(5, secs(300)).await;
    let app = quiet_yard(&provider).await;
    browser.goes_to(&format!("http://{}/c/yard", app.address)).await;
    let twice =
        "const send = () => fetch(form.action, {method: 'POST', body: new URLSearchParams(new FormData(form))});
        return Promise.all([send(), send()]).then(replies => replies.map(r => r.status))";
    let statuses = browser.runs(&filled("run-zone", app.token(), twice)).await;
    assert!(statuses.as_array().is_some_and(|s| s.iter().all(|s| s == 200)), "{statuses}");
    eventually("the command was sent", SOON, || async { (provider.count_of(SET_ZONE) == 1).then_some(()) }).await;
    stays("one form, one command", 1, secs(2), || provider.count_of(SET_ZONE)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_guessed_token_changes_nothing_and_is_told_so() {
    let Some(browser) = Browser::start().await else { return };
    let provider = FakeProvider::limited(5, secs(300)).await;
    let app = quiet_yard(&provider).await;
    browser.goes_to(&format!("http://{}/c/yard", app.address)).await;
    browser.runs(&filled("run-zone", "guessed", PRESS)).await;
    browser.shows("oken").await;
    assert_eq!(provider.count_of(SET_ZONE), 0);
    let page = browser.text().await;
    assert!(!page.contains("guessed"), "a token is never shown: {page}");
}

#[tokio::test(flavor = "multi_thread")]
async fn polling_is_paused_and_resumed_from_the_page() {
    let Some(browser) = Browser::start().await else { return };
    let provider = FakeProvider::limited(5, secs(300)).await;
    let app = quiet_yard(&provider).await;
    for (state, enabled) in [("disabled", false), ("fresh", true)] {
        browser.goes_to(&format!("http://{}/c/yard", app.address)).await;
        browser.runs(&filled("polling", app.token(), PRESS)).await;
        let what = format!("the connection is {state}");
        let view = app.connection_when("yard", &what, |c| c["enabled"] == enabled).await;
        if !enabled {
            assert_eq!(view["state"], state, "{view}");
        }
        browser.shows(if enabled { "Pause" } else { "Resume" }).await;
    }
}
