//! Plots in a real browser: on a phone and on a desk, in the light and in the dark, texts keep their size and do not lie on each other; what a
//! plot shows is in a table beside it.

use crate::live::assert_quiet;
use crate::support::*;
use crate::webdriver::Browser;

const PLOTTED: [&str; 4] = ["/", "/c/yard", "/spend", "/c/yard/t/controller/history?field=state"];

#[tokio::test(flavor = "multi_thread")]
async fn plots_are_readable_at_every_width() {
    let Some(browser) = Browser::start().await else { return };
    let provider = FakeProvider::unlimited().await;
    let day = |c: Connection| c.no_limits().limit("day", 2000, "24h", "keep = { refresh = 20 }").quiet().min_age("1ms");
    let mut app = TestApp::start(Config::yard(&provider.base_url()).tuned(day)).await;
    app.has_polled("yard", "controller").await;
    app.restart().await;
    provider.starts_zone(2, secs(300));
    app.operator().refreshes("yard", "controller").await;
    for width in [390, 1280] {
        if width < 600 {
            browser.is_a_phone().await
        } else {
            browser.is_a_desk().await
        }
        for scheme in ["light", "dark"] {
            browser.prefers(scheme).await;
            for path in PLOTTED {
                browser.goes_to(&format!("http://{}{path}", app.address)).await;
                let seen = browser.runs(&format!("return ({SEEN})()")).await;
                assert!(seen[0].as_u64() >= Some(1), "{path} has no plot");
                for (n, what) in [
                    (1, "texts that are not of their size"),
                    (2, "labels that lie on each other"),
                    (3, "plots without words or a table"),
                    (4, "styles in the markup"),
                ] {
                    let found = &seen[n];
                    assert_eq!(
                        found.as_array().map(Vec::len),
                        Some(0),
                        "{path} at {width} px, {scheme}: {what}: {found}"
                    );
                }
            }
        }
    }
    assert_quiet(&browser).await;
}

/// How many plots; texts too small, too large or outside; labels of one axis that cross; plots whose section has neither a table nor a sentence;
/// inline styles.
const SEEN: &str = "() => {
    const plots = [...document.querySelectorAll('svg.plot')];
    const box = e => e.getBoundingClientRect();
    const texts = plots.flatMap(p => [...p.querySelectorAll('text')]).filter(t => box(t).width > 0);
    const small = texts.filter(t => box(t).height < 11 || box(t).height > 24 || box(t).left < 0
        || (!t.matches('.name') && box(t).right > innerWidth + 1)).map(t => t.outerHTML);
    const crossed = plots.flatMap(p => {
        const labels = [...p.querySelectorAll('text.time')];
        return labels.slice(1).filter((t, n) => box(t).left < box(labels[n]).right + 2).map(t => t.textContent);
    });
    const silent = plots.filter(p => {
        const figure = p.closest('figure'), section = p.closest('section');
        return !figure.querySelector('figcaption') || (!p.matches('.states, .spark') && !section.querySelector('table'));
    }).map(p => p.outerHTML.slice(0, 120));
    const styled = plots.flatMap(p => [...p.querySelectorAll('[style]')]).map(e => e.outerHTML);
    return [plots.length, small, crossed, silent, styled];
}";
