//! What a page costs who looks at it: how many bytes travel, how soon the first one is there with many items in the file, and how far what stands on it
//! jumps while it is open.

mod shared;
#[path = "../tests/e2e/support/mod.rs"]
mod support;
#[path = "../tests/browser/webdriver.rs"]
#[allow(dead_code)] // the tests take the rest of it
mod webdriver;

use shared::house::House;
use shared::http::Reader;
use shared::table;
use std::time::Duration;
use support::{Config, FakeProvider, SOON, TestApp, eventually, secs};
use webdriver::Browser;

/// Of each; the first few are for the memory of the file.
const READS: usize = 1_000;
const WARM: usize = 50;
/// 100,000 items in lists as long as a provider's largest page, and in one.
const FILES: [(usize, usize); 2] = [(50, 2_000), (1, 100_000)];

const PAGES: [&str; 18] = [
    "/",
    "/c/yard",
    "/c/yard/t/target-0",
    "/c/yard/t/target-0?behind=0001000",
    "/c/yard/t/target-0/history",
    "/c/yard/targets",
    "/c/yard/controls",
    "/plan",
    "/spend",
    "/activity",
    "/settings",
    "/o/default/usage",
    "/api",
    "/api/v1/connections",
    "/api/v1/connections/yard/targets",
    "/api/v1/connections/yard/targets/target-0?limit=25",
    "/api/v1/connections/yard/targets/target-0?after=0001000&limit=25",
    "/metrics",
];

fn load() -> String {
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    load.split(' ').take(2).collect::<Vec<_>>().join(", ")
}

fn fine_ms(d: Duration) -> String {
    format!("{:.2} ms", d.as_secs_f64() * 1000.0)
}

/// One reader, one socket that stays open, one page after the other.
async fn first_bytes() {
    for (targets, each) in FILES {
        let house = House::build(targets, each).await;
        let (process, _) = house.serve();
        let mut reader = Reader::connect(house.address).await.expect("a socket");
        let began = load();
        let mut rows = Vec::new();
        for path in PAGES {
            let (mut waits, mut travelled) = (Vec::with_capacity(READS), 0);
            for n in 0..WARM + READS {
                let (first, status, length) = reader.page(path).await.expect("an answer");
                assert_eq!(status, 200, "{path}");
                travelled = length;
                if n >= WARM {
                    waits.push(first);
                }
            }
            let (_, whole) = reader.get(path).await.expect("an answer");
            waits.sort();
            let at = |share: usize| fine_ms(waits[(waits.len() * share / 1000).min(waits.len() - 1)]);
            rows.push(vec![path.to_owned(), whole.to_string(), travelled.to_string(), at(500), at(990), at(999)]);
        }
        process.stop();
        let title = format!("{targets} target(s) of {each} items; load {began} before, {} after", load());
        table(&title, &["page", "bytes", "as it travels", "first byte, p50", "p99", "p99.9"], &rows);
    }
}

/// Counts what moved by itself.
/// Of what moves by itself, what an age that ticks pushes along its own line is told apart.
const WATCH: &str = "window.jumps = 0; window.ticks = 0;
    const ticks = ({previousRect, currentRect}) => previousRect.y === currentRect.y && previousRect.bottom === currentRect.bottom;
    new PerformanceObserver(list => list.getEntries().forEach(e => {
        if (e.hadRecentInput) return;
        if (e.sources.length && e.sources.every(ticks)) window.ticks += e.value; else window.jumps += e.value;
    })).observe({type: 'layout-shift'}); window.patches = 0; new MutationObserver(() => window.patches += 1)
    .observe(document.body, {childList: true, subtree: true})";

/// A page is open while what it shows changes eight times.
async fn jumps() {
    let Some(browser) = Browser::start().await else { return };
    let provider = FakeProvider::unlimited().await;
    let config = Config::yard(&provider.base_url()).tuned(|c| c.no_limits().every("1s"));
    let app = TestApp::start(config).await;
    app.has_polled("yard", "controller").await;
    let mut rows = Vec::new();
    for (screen, width) in [("phone", 390), ("desk", 1280)] {
        if width == 390 {
            browser.is_a_phone().await
        } else {
            browser.is_a_desk().await
        }
        for path in
            ["/", "/c/yard", "/c/yard/t/controller", "/c/yard/targets", "/plan", "/spend", "/activity", "/settings"]
        {
            browser.goes_to(&format!("http://{}{path}", app.address)).await;
            tokio::time::sleep(secs(1)).await;
            browser.runs(WATCH).await;
            for n in 0..8 {
                let name = format!("Lawn {n}");
                provider.renames(1, &name);
                eventually("the shelf has it", SOON, || async {
                    app.target("yard", "controller").await["items"].to_string().contains(&name).then_some(())
                })
                .await;
                tokio::time::sleep(Duration::from_millis(400)).await;
            }
            let seen = browser.runs("return [window.patches, window.jumps, window.ticks]").await;
            let shifted = |n: usize| format!("{:.4}", seen[n].as_f64().unwrap_or(f64::NAN));
            rows.push(vec![path.to_owned(), screen.to_owned(), seen[0].to_string(), shifted(1), shifted(2)]);
        }
    }
    table(
        "Layout shift while a page is open",
        &["page", "screen", "exchanges of nodes", "cumulative layout shift", "ages along their line"],
        &rows,
    );
}

fn main() {
    let only = std::env::args().skip(1).find(|a| !a.starts_with('-'));
    let wanted = |name: &str| only.as_deref().is_none_or(|o| o == name);
    shared::runtime().block_on(async {
        if wanted("bytes") {
            first_bytes().await;
        }
        if wanted("jumps") {
            jumps().await;
        }
    });
}
