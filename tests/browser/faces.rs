//! Every page, on a phone and on a desk, light and dark, with script and without: it fits, it is whole, it can be used by everybody (axe-core), it is
//! small, its console is silent, and it asks nobody else. And how a page follows who looks at it.

use crate::installed;
use crate::looks::full_yard;
use crate::support::*;
use crate::webdriver::Browser;
use serde_json::Value;

/// One of each kind.
const PAGES: [&str; 14] = [
    "/",
    "/c/yard",
    "/c/yard/t/controller?from=1",
    "/c/yard/t/controller/history",
    "/c/yard/targets",
    "/c/yard/controls?interval=30s&interval_for=3h",
    "/c/yard/credential",
    "/plan?connection=yard&interval=5s",
    "/spend",
    "/activity",
    "/polling",
    "/settings",
    "/o/default/usage",
    "/api",
];
/// Refused; the browser itself says so in its console.
const REFUSED: &str = "/c/nowhere";
/// Where nobody is signed in.
const BEFORE_THE_DOOR: [&str; 4] = ["/sign-in", "/claim", "/settings/tokens", "/setup/larder.toml"];
const REFUSALS: [&str; 3] = [REFUSED, BEFORE_THE_DOOR[2], BEFORE_THE_DOOR[3]];
/// Where somebody is.
const BEHIND_THE_DOOR: [&str; 8] = [
    "/settings/operators",
    "/settings",
    "/setup",
    "/setup/sprinkler",
    "/c/pool/setup",
    "/c/pool/t/controller/edit",
    "/api/operations/change_target",
    "/api/types/TargetView",
];
/// A page without what it shares with all others.
const MOST_BYTES: u64 = 50_000;

const LIGHT: (&str, &str) = ("prefers-color-scheme", "light");
const DARK: (&str, &str) = ("prefers-color-scheme", "dark");
const MORE: (&str, &str) = ("prefers-contrast", "more");
const FORCED: (&str, &str) = ("forced-colors", "active");

/// Markup, another direction of writing, and signs of several points of code.
const ODD_NAME: &str = "<b>\u{202e}\u{5e9}\u{5dc}\u{5d5}\u{5dd}</b> \u{1f331}\u{1f469}\u{200d}\u{1f33e}";

/// What sticks out to the right, or is hidden below something.
const WIDTH: &str = "const w = document.documentElement.clientWidth;
    return document.documentElement.scrollWidth <= w ? [] : [...document.querySelectorAll('*')]
        .filter(e => e.getBoundingClientRect().right > w + 1).slice(0, 5).map(e => e.outerHTML.slice(0, 160))";

/// What a thumb is meant to hit, and cannot: under 44 px high.
const SMALL: &str =
    "return [...document.querySelectorAll('button, input:not([type=hidden]), select, summary, nav a, a.row, a.button')]
    .map(e => [e.outerHTML.slice(0, 140), e.getBoundingClientRect()])
    .filter(([, r]) => r.width > 0 && r.height < 43.5).map(([html, r]) => r.height + ' px: ' + html)";

/// States that are told by colour alone, and styles that no policy lets through.
const BARE: &str = "const bare = [...document.querySelectorAll('.chip:not(.word)')]
        .filter(e => !e.querySelector('svg use') || !e.textContent.trim()).map(e => e.outerHTML);
    return bare.concat([...document.querySelectorAll('[style], style, script:not([src])')].map(e => e.outerHTML.slice(0, 160)))";

/// Of the parts of a page, in order: what is there without script has to be what is there with it.
const PARTS: &str = "return document.querySelectorAll('h1').length + ' ' +
    [...document.querySelectorAll('main section[id], main form')].filter(e => !e.hidden).map(e => e.id || new URL(e.action).pathname).join(' ')";

const BYTES: &str = "return performance.getEntriesByType('navigation')[0].decodedBodySize";

const ELSEWHERE: &str = "return performance.getEntriesByType('resource').map(e => e.name)
    .filter(name => !name.startsWith(location.origin + '/') && !name.startsWith('data:'))";

/// By the script that the browser carries.
const AXE: &str = "return axe.run(document, {resultTypes: ['violations'],
        runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']})
    .then(found => found.violations.flatMap(v => v.nodes.map(n => v.id + ': ' + n.html.slice(0, 200) + ' ' + n.failureSummary)))";

async fn finds_nothing(browser: &Browser, script: &str, what: &str) {
    let found = browser.runs(script).await;
    assert_eq!(found.as_array().map(Vec::len), Some(0), "{what}: {found:#}");
}

/// No message of any kind.
async fn is_silent(browser: &Browser, what: &str) {
    let console = browser.console().await;
    assert!(console.is_empty(), "{what}: {console:#?}");
}

/// One page, as it is on this screen, to who has these wishes; `url` is where it is.
struct Look<'b> {
    browser: &'b Browser,
    url: String,
    what: String,
}

impl Look<'_> {
    /// With script: whole, usable, small, silent, and alone.
    async fn holds(&self, judged: bool) {
        self.browser.goes_to(&self.url).await;
        self.stands(judged).await;
    }

    /// The same of the page that is there.
    async fn stands(&self, judged: bool) {
        for script in [WIDTH, SMALL, BARE, ELSEWHERE] {
            finds_nothing(self.browser, script, &self.what).await;
        }
        let bytes = self.browser.runs(BYTES).await.as_u64();
        assert!(bytes.is_some_and(|n| n > 0 && n < MOST_BYTES), "{} has {bytes:?} bytes", self.what);
        if judged {
            finds_nothing(self.browser, AXE, &self.what).await;
        }
        if REFUSALS.iter().any(|path| self.url.ends_with(path)) {
            self.browser.console().await;
        }
        is_silent(self.browser, &self.what).await;
    }

    /// And without it all the same is there.
    async fn holds_without_script(&self) {
        let with_script = self.browser.runs(PARTS).await;
        assert!(with_script.as_str().is_some_and(|parts| parts.starts_with("1 ")), "{}: {with_script}", self.what);
        self.browser.has_no_javascript().await;
        self.browser.goes_to(&self.url).await;
        assert_eq!(self.browser.runs(PARTS).await, with_script, "{}, without script", self.what);
        finds_nothing(self.browser, WIDTH, &format!("{}, without script", self.what)).await;
        self.browser.has_javascript().await;
        self.browser.console().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_page_has_a_face_for_everybody() {
    let Some(browser) = Browser::start().await else { return };
    let provider = FakeProvider::limited(5, secs(300)).await;
    let app = full_yard(&provider, ODD_NAME).await;
    let axe = installed::axe().map(|path| std::fs::read_to_string(path).expect("it was installed"));
    if let Some(axe) = &axe {
        browser.carries(axe).await;
    }
    // Its polls go on meanwhile.
    let by_readers = async || app.ledger("yard").await.iter().filter(|charge| charge["caller"] != "poller").count();
    let asked = by_readers().await;
    look_at(&browser, &app, &[&PAGES[..], &[REFUSED]].concat(), axe.is_some()).await;
    for wishes in [[LIGHT, MORE], [DARK, MORE], [DARK, FORCED]] {
        browser.has_wishes(&wishes).await;
        for path in &PAGES[..4] {
            let (url, what) = (format!("http://{}{path}", app.address), format!("{path} {wishes:?}"));
            // Forced colours are the system's, not ours to judge.
            Look { browser: &browser, url, what }.holds(axe.is_some() && !wishes.contains(&FORCED)).await;
        }
    }
    assert_eq!(by_readers().await, asked, "looking spends nothing");
}

/// On both screens, in both lights, with script and without.
async fn look_at(browser: &Browser, app: &TestApp, paths: &[&str], judged: bool) {
    for screen in [390, 1280] {
        if screen == 390 {
            browser.is_a_phone().await
        } else {
            browser.is_a_desk().await
        }
        for face in [LIGHT, DARK] {
            browser.has_wishes(&[face]).await;
            for path in paths {
                let what = format!("{path} at {screen} px, {}", face.1);
                let page = Look { browser, url: format!("http://{}{path}", app.address), what };
                page.holds(judged).await;
                page.holds_without_script().await;
            }
        }
    }
}

/// Fills the form that goes to `action`, and sends it; what stands there then is looked at too.
async fn fills(browser: &Browser, action: &str, fields: &[(&str, &str)], (what, judged): (&str, bool)) {
    let fields: Vec<String> =
        fields.iter().map(|(name, value)| format!("form.elements['{name}'].value = {value:?};")).collect();
    let send = format!(
        "const form = [...document.querySelectorAll('form')].find(f => new URL(f.action).pathname === '{action}');
        form.closest('details')?.setAttribute('open', ''); {} window.isOld = true;
        setTimeout(() => form.querySelector('button:not([type=button])').click())",
        fields.concat()
    );
    browser.runs(&send).await;
    eventually(&format!("{what} is there"), SOON, || async {
        let there = browser.runs("return window.isOld !== true && document.readyState === 'complete'").await;
        (there == true).then_some(())
    })
    .await;
    browser.console().await;
    Look { browser, url: action.to_owned(), what: what.to_owned() }.stands(judged).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_door_and_the_setup_have_a_face_for_everybody() {
    let Some(browser) = Browser::start().await else { return };
    let provider = FakeProvider::limited(5, secs(10)).await;
    provider.renames(2, ODD_NAME);
    let mut app = TestApp::prepared(Config::new().with(Connection::plain("other", "http://127.0.0.1:9").not_polled()));
    app.has_a_recipe(&provider.base_url());
    app.boots().await;
    let axe = installed::axe().map(|path| std::fs::read_to_string(path).expect("it was installed"));
    if let Some(axe) = &axe {
        browser.carries(axe).await;
    }
    let judged = axe.is_some();
    let url = |path: &str| format!("http://{}{path}", app.address);
    look_at(&browser, &app, &BEFORE_THE_DOOR, judged).await;

    browser.is_a_phone().await;
    let password = "four plain words here";
    browser.goes_to(&url("/claim")).await;
    let wrong = [("code", "0000-0000-0000"), ("name", "ann"), ("password", password)];
    fills(&browser, "/claim", &wrong, ("a claim with a wrong code", judged)).await;
    let log = app.log();
    let code: String = log.rsplit_once("with the code ").expect("a code").1.chars().take(14).collect();
    browser.goes_to(&url("/claim")).await;
    let claim = [("code", code.as_str()), ("name", "ann"), ("password", password)];
    fills(&browser, "/claim", &claim, ("a claim", judged)).await;
    browser.goes_to(&url("/settings/tokens")).await;
    let token = [("name", "phone")];
    fills(&browser, "/settings/tokens", &token, ("a token that is shown once", judged)).await;
    browser.goes_to(&url("/settings/operators")).await;
    fills(&browser, "/settings/operators", &[("name", "ben")], ("a code for another operator", judged)).await;
    browser.goes_to(&url("/setup/sprinkler")).await;
    let wrong = [("name", "no such name"), ("secret", "a-secret")];
    fills(&browser, "/setup/sprinkler", &wrong, ("a connection that cannot be added", judged)).await;
    browser.goes_to(&url("/setup/sprinkler")).await;
    let pool = [("name", "pool"), ("secret", "a-secret-that-is-long-enough")];
    fills(&browser, "/setup/sprinkler", &pool, ("a connection on trial", judged)).await;
    fills(&browser, "/c/pool/setup/test", &[], ("a connection that was tried", judged)).await;
    browser.goes_to(&url("/c/pool/t/controller/edit")).await;
    let words = [("words", "items = \"$.[\"")];
    fills(&browser, "/c/pool/t/controller/edit", &words, ("words that are wrong", judged)).await;
    browser.goes_to(&url("/setup")).await;
    let text = [("text", "[[connection]]\nname = \"x\"\nrecipe = \"sprinkler\"\n")];
    fills(&browser, "/setup/larder.toml", &text, ("a text that would be taken in", judged)).await;
    look_at(&browser, &app, &BEHIND_THE_DOOR, judged).await;
    assert_eq!(provider.count(), 1, "the test of the connection, and nothing else");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_tells_times_in_the_zone_of_its_browser_and_keeps_what_was_chosen() {
    let Some(browser) = Browser::start().await else { return };
    let provider = FakeProvider::unlimited().await;
    let app = TestApp::start(Config::yard(&provider.base_url()).tuned(|c| c.no_limits().quiet())).await;
    app.has_polled("yard", "controller").await;
    let url = |path: &str| format!("http://{}{path}", app.address);
    // Where no machine of tests stands.
    browser.lives_in("Asia/Kathmandu").await;
    browser.goes_to(&url("/c/yard")).await;
    browser.shows(" +0545").await;
    browser.shows("appliance’s own time").await;
    let loaded = "return performance.getEntriesByType('navigation')[0].type";
    browser.goes_to(&url("/settings")).await;
    assert_eq!(browser.runs(loaded).await, "navigate", "it is known for the whole site");
    browser.shows(" +0545").await;
    // It follows its device, until somebody chooses.
    browser.lives_in("America/New_York").await;
    browser.goes_to(&url("/settings")).await;
    browser.shows(" E").await;
    browser
        .runs("const f = document.querySelector('form[action=reader]'); f.zone.value = 'Europe/Zurich'; f.clock.value = '12'; f.querySelector('button').click()")
        .await;
    browser.shows(" CE").await;
    browser.shows("M CE").await;
    browser.goes_to(&url("/")).await;
    browser.shows(" CE").await;
    assert_eq!(browser.runs(loaded).await, "navigate", "what was chosen stays");
    is_silent(&browser, "a page in another zone").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_form_shows_what_it_would_do_while_it_is_filled_in() {
    let Some(browser) = Browser::start().await else { return };
    let provider = FakeProvider::limited(5, secs(300)).await;
    let app = TestApp::start(Config::yard(&provider.base_url()).tuned(|c| c.quiet())).await;
    app.has_polled("yard", "controller").await;
    let url = format!("http://{}/c/yard/controls", app.address);
    let types = |value: &str| {
        format!(
            "window.stillTheSame = true; const field = document.querySelector('[name=interval]'); field.value = '{value}';
            field.dispatchEvent(new Event('input', {{bubbles: true}}))"
        )
    };
    browser.goes_to(&url).await;
    browser.runs(&types("7200s")).await;
    browser.shows("makes 12 requests a day").await;
    browser.runs(&types("4h")).await;
    browser.shows("makes 6 requests a day").await;
    assert_eq!(browser.runs("return window.stillTheSame").await, true, "the page was loaded again");
    assert_eq!(app.connection("yard").await["controls"]["interval"]["set"], Value::Null, "nothing is changed yet");
    is_silent(&browser, "a form").await;

    // Without script its own button shows it, and what is shown is what is sent.
    browser.has_no_javascript().await;
    browser.goes_to(&url).await;
    browser
        .runs("document.querySelector('[name=interval]').value = '3h'; document.querySelector('.quiet').click()")
        .await;
    browser.shows("makes 8 requests a day").await;
    let send = format!(
        "const form = document.querySelector('#effect form'); form.elements.token.value = '{}'; form.querySelector('button').click()",
        app.token()
    );
    browser.runs(&send).await;
    let set = |c: &Value| c["controls"]["interval"]["set"]["value"] == 3 * 3600;
    app.connection_when("yard", "its interval is another", set).await;
    assert_eq!(provider.count(), 1, "looking at what would be spends nothing");
}
