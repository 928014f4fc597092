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

/// Nodes that were not exchanged are the same ones still.
#[tokio::test(flavor = "multi_thread")]
async fn only_the_parts_that_changed_are_exchanged_and_nothing_jumps() {
    let Some(browser) = Browser::start().await else { return };
    let provider = FakeProvider::unlimited().await;
    let app = quiet_yard(&provider).await;
    browser.goes_to(&format!("http://{}/c/yard/t/controller", app.address)).await;
    browser.shows("Lawn").await;
    let open = "document.querySelector('#act-phase').open = true; document.querySelector('#act-phase summary').focus()";
    browser.runs(open).await;
    tokio::time::sleep(secs(1)).await;
    let remember = "window.jumps = 0;
        new PerformanceObserver(list => list.getEntries().forEach(e => { if (!e.hadRecentInput) window.jumps += e.value; }))
            .observe({type: 'layout-shift'});
        window.before = Object.fromEntries([...document.querySelectorAll('[data-live][id]')].map(e => [e.id, e]))";
    browser.runs(remember).await;
    provider.renames(1, "Moss");
    refreshes(&app).await;
    browser.shows("Moss").await;
    let same =
        "return Object.entries(window.before).filter(([id, e]) => document.getElementById(id) === e).map(([id]) => id)";
    let same = browser.runs(same).await;
    let kept = |id: &str| same.as_array().is_some_and(|ids| ids.iter().any(|is| is == id));
    assert!(kept("phase") && kept("main") && kept("title"), "{same}");
    assert!(!kept("items") && !kept("banner"), "what is new is exchanged: {same}");
    assert_eq!(
        browser.runs("return document.activeElement.closest('details').id").await,
        "act-phase",
        "the focus stays"
    );
    let jumps = browser.runs("return window.jumps").await.as_f64().unwrap_or(1.0);
    assert!(jumps < 0.01, "the layout shifted by {jumps}");
    assert_quiet(&browser).await;
}

/// By the Layout Instability API, with the whole page in sight: new lines, a state that turns and turns back; but not what an age that ticks pushes along
/// its own line. Whoever presses something has it settle.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_that_is_seen_moves_where_new_lines_come_in_on_top() {
    let Some(browser) = Browser::start().await else { return };
    let provider = FakeProvider::unlimited().await;
    let app = quiet_yard(&provider).await;
    browser.is_a_wall().await;
    for (path, name) in [("/c/yard", "Moss"), ("/activity", "Fern"), ("/", "Sage")] {
        browser.goes_to(&format!("http://{}{path}", app.address)).await;
        browser.shows("Activity").await;
        tokio::time::sleep(secs(1)).await;
        browser.runs(WATCH_SHIFTS).await;
        provider.renames(1, name);
        refreshes(&app).await;
        let told = |what: &str| {
            let script = format!("return document.getElementById('activity').textContent.includes('{what}')");
            let browser = &browser;
            async move {
                let is_told = || async { (browser.runs(&script).await == true).then_some(()) };
                eventually(&format!("{path} tells {script}"), SOON, is_told).await;
            }
        };
        told(name).await;
        app.operator().stops("yard").await;
        told("polling on \u{2192} off").await;
        // Its part is drawn once more at most; the observer hears of a shift after it was painted.
        tokio::time::sleep(secs(3)).await;
        let shifts = browser.runs("return window.shifts").await;
        assert_eq!(shifts, serde_json::json!([]), "{path}");
        let held = || browser.runs("return document.querySelectorAll('.held').length");
        // The list of the overview is as long as it gets.
        assert!(path == "/" || held().await != 0, "{path}: nothing grew");
        let pressed = "document.querySelector('h1').click(); return document.querySelectorAll('.held').length";
        assert_eq!(browser.runs(pressed).await, 0, "it settles");
        app.operator().resumes("yard").await;
    }
    assert_quiet(&browser).await;
}

const WATCH_SHIFTS: &str = "window.shifts = [];
    const told = ({node, previousRect, currentRect}) => [node?.outerHTML?.slice(0, 120) ?? node?.textContent, previousRect, currentRect];
    const ticks = ({previousRect, currentRect}) => previousRect.y === currentRect.y && previousRect.bottom === currentRect.bottom;
    new PerformanceObserver(list => list.getEntries().forEach(e => {
        if (!e.hadRecentInput && !(e.sources.length && e.sources.every(ticks))) window.shifts.push([e.value, ...e.sources.map(told)]);
    })).observe({type: 'layout-shift'})";

/// Fake time in the browser; nobody answers. The clock of the wall may even be set back.
#[tokio::test(flavor = "multi_thread")]
async fn two_hours_without_a_word_never_show_a_stale_value_as_fresh() {
    let Some(browser) = Browser::start().await else { return };
    let provider = FakeProvider::unlimited().await;
    provider.starts_zone(2, secs(300));
    let bounds = |c: Connection| {
        let named = "name = \"controller\"";
        let body = c.body.replacen(named, &format!("{named}\nexpires_after = \"1h\""), 1);
        let lines: Vec<&str> = body.lines().filter(|l| !l.starts_with("fresh_for")).collect();
        let text = lines.join("\n").replacen(named, &format!("{named}\nfresh_for = \"10m\""), 1);
        c.body(&text)
    };
    let app = TestApp::start(Config::yard(&provider.base_url()).tuned(|c| bounds(c.no_limits().quiet()))).await;
    app.has_polled("yard", "controller").await;
    for (path, back) in [("/", 0), ("/c/yard", 0), ("/c/yard/t/controller", 0), ("/c/yard/t/controller", 1)] {
        let tap = Tap::before(app.address).await;
        browser.goes_to(&tap.url(path)).await;
        eventually("it was fresh", SOON, || async {
            (browser.runs("return document.querySelectorAll('.s-fresh').length").await != 0).then_some(())
        })
        .await;
        tap.goes_dark();
        // What was on its way is heard, and sets the page's clock, before minutes pass in no time.
        tokio::time::sleep(secs(2)).await;
        for minute in 0..=120u64 {
            let shown = browser.runs(&later(minute, back)).await;
            let (fresh, running) = (shown[0].as_u64(), shown[1].as_bool());
            if minute > 10 {
                assert_eq!(fresh, Some(0), "{path} after {minute} min: {shown}");
                assert!(
                    shown[2].as_str().is_some_and(|word| word == if minute >= 60 { "expired" } else { "stale" }),
                    "{path} {minute}: {shown}"
                );
            }
            if minute > 60 {
                assert_eq!(running, Some(false), "{path} after {minute} min shows a value: {shown}");
            }
        }
        browser.shows("Live link lost. This page is from").await;
    }
}

/// Lets the page believe that so many minutes have passed, by the clock that counts on or by that of the wall. How many things are called fresh, whether a
/// value is shown, the word of the first chip.
fn later(minute: u64, back: u64) -> String {
    format!(
        "window.steady ??= performance.now.bind(performance); window.wall ??= Date.now.bind(Date);
        performance.now = () => window.steady() + {minute} * 60000 * {back};
        Date.now = () => {back} ? window.wall() - 7200000 : window.wall() + {minute} * 60000;
        document.dispatchEvent(new Event('visibilitychange'));
        const main = document.getElementById('main');
        return [main.querySelectorAll('.headline.s-fresh, .card.s-fresh, .banner.s-fresh, .chip[data-turns].s-fresh').length,
            /running/.test([...main.querySelectorAll('.items, .readings')].map(e => e.innerText).join(' ')),
            (main.querySelector('.chip[data-turns]') || {{}}).textContent]"
    )
}

/// What is stale is a state of the shelf, what is lost is the way to it.
#[tokio::test(flavor = "multi_thread")]
async fn a_lost_link_is_told_apart_from_stale_data() {
    let Some(browser) = Browser::start().await else { return };
    let provider = FakeProvider::unlimited().await;
    let app = quiet_yard(&provider).await;
    app.operator().stops("yard").await;
    let tap = Tap::before(app.address).await;
    browser.goes_to(&tap.url("/c/yard")).await;
    browser.shows("Paused by").await;
    let lost = || async { browser.runs("return !document.getElementById('lost').hidden").await == true };
    tokio::time::sleep(secs(7)).await;
    assert!(!lost().await, "a pause is no lost link");
    let made = browser.runs("return document.querySelector('#made time').textContent").await;
    tap.goes_dark();
    eventually("the link is lost", SOON, || async { lost().await.then_some(()) }).await;
    let told = browser.runs("return document.getElementById('lost').innerText").await;
    assert!(
        told.as_str().is_some_and(|t| t.contains("page is from") && t.contains(made.as_str().unwrap_or("?"))),
        "{told}"
    );
    assert!(browser.text().await.contains("Paused by"), "what was known stays");
    tap.comes_back();
    eventually("the link is back", SOON, || async { (!lost().await).then_some(()) }).await;
}

/// With a live link: the page's word is never better than the shelf's.
#[tokio::test(flavor = "multi_thread")]
async fn an_open_page_turns_when_the_shelf_does_and_says_so_once() {
    let Some(browser) = Browser::start().await else { return };
    let provider = FakeProvider::unlimited().await;
    let app = TestApp::start(Config::yard(&provider.base_url()).tuned(|c| c.no_limits().every("3s"))).await;
    app.has_polled("yard", "controller").await;
    browser.goes_to(&format!("http://{}/c/yard", app.address)).await;
    browser.shows("fresh").await;
    browser
        .runs("window.told = []; new MutationObserver(() => window.told.push(document.getElementById('said').textContent))
            .observe(document.getElementById('said'), {childList: true, characterData: true, subtree: true})")
        .await;
    provider.is(Mode::ServerError);
    app.connection_when("yard", "it is stale", |c| c["state"] == "stale" || c["state"] == "breaker_open").await;
    let fresh = "return document.querySelectorAll('#banner.s-fresh, #banner .s-fresh').length";
    eventually("the page knows", secs(3), || async { (browser.runs(fresh).await == 0).then_some(()) }).await;
    let told = browser.runs("return window.told").await;
    let of = |word: &str| {
        told.as_array().map_or(0, |t| t.iter().filter(|t| t.as_str().is_some_and(|t| t.contains(word))).count())
    };
    assert!(of("yard is stale") <= 1 && of("yard is") >= 1, "told to who listens, and once each: {told}");
    assert_quiet(&browser).await;
}

/// No violation of the page's own policy, no error of its script.
pub async fn assert_quiet(browser: &Browser) {
    let console = browser.console().await;
    let loud: Vec<&String> =
        console.iter().filter(|line| line.contains("SEVERE") || line.contains("Content Security Policy")).collect();
    assert!(loud.is_empty(), "{loud:#?}");
}
