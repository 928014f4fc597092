//! How a page stands on its own feet: without script, on a phone, in the dark, under its own policy (UX section 4).

use crate::live::assert_quiet;
use crate::support::*;
use crate::webdriver::Browser;

const PAGES: [&str; 3] = ["/", "/c/yard", "/c/yard/t/controller"];
/// What operators plan and set: none of it speaks of the provider's answers.
const DESKS: [&str; 5] = ["/c/yard/controls", "/plan?connection=yard", "/spend", "/activity", "/polling"];

/// Makes a page wide.
fn wide_name() -> String {
    "Unbreakable".repeat(12)
}

/// A yard that has everything: a long name and this one, a command's job, a lockout with the provider's sentence.
pub async fn full_yard(provider: &FakeProvider, name: &str) -> TestApp {
    provider.renames(1, "The lawn behind the greenhouse, from the rhododendrons down to the riverbank");
    provider.renames(2, name);
    let app = TestApp::start(Config::yard(&provider.base_url()).tuned(|c| c.quiet().min_age("1s"))).await;
    app.has_polled("yard", "controller").await;
    let id = app.operator().runs_zone(3).await;
    app.operator().sees_job(id, "done").await;
    provider.is(Mode::Lockout);
    eventually("the lockout was met", SOON, || async {
        app.operator().refreshes("yard", "controller").await;
        (!app.connection("yard").await["hold"].is_null()).then_some(())
    })
    .await;
    app
}

#[tokio::test(flavor = "multi_thread")]
async fn every_page_fits_a_phone() {
    let Some(browser) = Browser::start().await else { return };
    let provider = FakeProvider::limited(5, secs(300)).await;
    let app = full_yard(&provider, &wide_name()).await;
    browser.is_a_phone().await;
    for path in PAGES.into_iter().chain(DESKS) {
        browser.goes_to(&format!("http://{}{path}", app.address)).await;
        let width = browser.runs("return document.documentElement.scrollWidth").await;
        assert!(width.as_u64() <= Some(390), "{path} is {width} px wide on a phone of 390:\n{}", wide(&browser).await);
        let broken = browser.runs(BROKEN_HEADS).await;
        assert_eq!(broken.as_array().map(Vec::len), Some(0), "{path}: heads broken inside a word: {broken}");
        let small = browser.runs(SMALL_CONTROLS).await;
        assert_eq!(small.as_array().map(Vec::len), Some(0), "{path}: controls under 24 px (WCAG 2.5.8): {small}");
    }
    assert_quiet(&browser).await;
}

/// Buttons and fields that a thumb cannot hit.
const SMALL_CONTROLS: &str = "return [...document.querySelectorAll('button, input:not([type=hidden]), select')]
    .map(e => [e.outerHTML.slice(0, 120), e.getBoundingClientRect()])
    .filter(([, r]) => r.width > 0 && (r.width < 24 || r.height < 24)).map(([html]) => html)";

/// Heads of tables with more lines than words.
const BROKEN_HEADS: &str = "return [...document.querySelectorAll('thead th')].filter(e => {
        const range = document.createRange(); range.selectNodeContents(e);
        const lines = new Set([...range.getClientRects()].map(r => Math.round(r.top))).size;
        return lines > e.textContent.trim().split(/\\s+/).length;
    }).map(e => e.textContent)";

/// Names what sticks out.
async fn wide(browser: &Browser) -> String {
    let script = "return [...document.querySelectorAll('*')].filter(e => e.getBoundingClientRect().right > 391)
        .slice(0, 8).map(e => e.outerHTML.slice(0, 160)).join('\\n')";
    browser.runs(script).await.as_str().unwrap_or_default().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_are_complete_without_javascript() {
    let Some(browser) = Browser::start().await else { return };
    let provider = FakeProvider::limited(5, secs(300)).await;
    let app = full_yard(&provider, &wide_name()).await;
    browser.has_no_javascript().await;
    for path in PAGES {
        browser.goes_to(&format!("http://{}{path}", app.address)).await;
        let text = browser.text().await;
        assert!(text.contains("API rate limit exceeded"), "{path} says nothing of the lockout:\n{text}");
        assert!(text.contains("yard"), "{path}:\n{text}");
    }
    assert!(browser.text().await.contains("riverbank"), "the items are there");
    // It renews itself, and only where no script does that better.
    let html = app.page("yard", "controller").await;
    let fallback =
        html.split("<noscript>").nth(1).and_then(|rest| rest.split("</noscript>").next()).unwrap_or_default();
    assert!(fallback.contains("http-equiv") && fallback.contains("refresh"), "no refresh without script: {fallback:?}");
    let provider_count = provider.count();
    browser.goes_to(&format!("http://{}/", app.address)).await;
    assert_eq!(provider.count(), provider_count);
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_have_a_light_and_a_dark_face() {
    let Some(browser) = Browser::start().await else { return };
    let provider = FakeProvider::limited(5, secs(300)).await;
    let app = full_yard(&provider, &wide_name()).await;
    for path in PAGES.into_iter().chain(DESKS) {
        let mut faces = Vec::new();
        for scheme in ["light", "dark"] {
            browser.prefers(scheme).await;
            browser.goes_to(&format!("http://{}{path}", app.address)).await;
            faces.push(browser.runs(FACE).await);
        }
        assert_ne!(faces[0][0], faces[1][0], "{path} has one background for both");
        assert_ne!(faces[0][1], faces[1][1], "{path} has one text colour for both");
        let structure = browser.runs(STRUCTURE).await;
        assert_eq!(structure[0], 1, "{path} has not exactly one <h1>");
        assert_eq!(structure[1].as_array().map(Vec::len), Some(0), "{path}: without a name: {}", structure[1]);
        assert!(structure[2].as_str().is_some_and(|lang| !lang.is_empty()), "{path} does not say its language");
    }
    assert_quiet(&browser).await;
}

/// Background and text colour, the background from whichever of the two elements sets it.
const FACE: &str = "const of = e => getComputedStyle(e); const clear = 'rgba(0, 0, 0, 0)';
    const body = of(document.body), root = of(document.documentElement);
    return [body.backgroundColor !== clear ? body.backgroundColor
        : root.backgroundColor !== clear ? root.backgroundColor : root.colorScheme + matchMedia('(prefers-color-scheme: dark)').matches,
        body.color]";

/// Headings of the first rank, things without a name, the language.
const STRUCTURE: &str = "const named = e => e.getAttribute('aria-label') || e.getAttribute('aria-labelledby') || e.title
        || e.textContent.trim() || (e.labels && e.labels.length) || e.getAttribute('aria-hidden') === 'true';
    const things = [...document.querySelectorAll('button, a[href], input:not([type=hidden]), select, svg:not(svg svg)')].filter(e => !e.hidden);
    return [document.querySelectorAll('h1').length, things.filter(e => !named(e)).map(e => e.outerHTML.slice(0, 200)), document.documentElement.lang]";
