//! Zone data is built in: a machine without any, or with wrong data, turns its providers' days no differently. And whose clock a sentence goes by.

use crate::support::*;
use std::path::Path;

/// RFC 8536: a zone that is UTC, whatever its name says.
fn utc() -> Vec<u8> {
    let header = |version: u8| {
        let mut bytes = b"TZif".to_vec();
        bytes.push(version);
        bytes.extend([0; 15]);
        // No indicators, leap seconds or transitions; one type, whose name has four bytes.
        [0u32, 0, 0, 0, 1, 4].iter().for_each(|count| bytes.extend(count.to_be_bytes()));
        bytes.extend([0; 6]);
        bytes.extend(b"UTC\0");
        bytes
    };
    [header(b'2').as_slice(), header(b'2').as_slice(), b"\nUTC0\n"].concat()
}

/// At which minute of an hour a day of Adelaide ends, which is 9:30 or 10:30 ahead.
async fn turns_at_minute(data: &Path) -> i64 {
    let day =
        "name = \"day\"\nrequests = 100\nkind = \"daily\"\nresets_at = \"00:00\"\ntime_zone = \"Australia/Adelaide\"";
    let connection = Connection::plain("shop", "http://127.0.0.1:9").not_polled().limit_text(day);
    let mut config = Config::new().with(connection);
    config.environment.insert("TZDIR".to_owned(), data.display().to_string());
    let app = TestApp::start(config).await;
    let view = app.connection("shop").await;
    let turn = view["budget"][0]["resets_at"].as_str().unwrap_or_else(|| panic!("{view}")).to_owned();
    turn.parse::<jiff::Timestamp>().expect("an instant").as_second() / 60 % 60
}

#[tokio::test(flavor = "multi_thread")]
async fn days_turn_by_the_zone_data_that_is_built_in() {
    let (nothing, wrong) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    std::fs::create_dir(wrong.path().join("Australia")).expect("a folder");
    std::fs::write(wrong.path().join("Australia/Adelaide"), utc()).expect("a file");
    assert_eq!(turns_at_minute(nothing.path()).await, 30, "without zone data");
    assert_eq!(turns_at_minute(wrong.path()).await, 30, "with another machine's idea of it");
}

/// The appliance stands in Tokyo, and somebody in Kolkata looks, three and a half hours behind.
#[tokio::test(flavor = "multi_thread")]
async fn a_sentence_goes_by_the_clock_of_who_reads_and_one_that_was_written_down_names_its_own() {
    let mut config = Config::new().with(Connection::plain("shop", "http://127.0.0.1:9"));
    config.environment.insert("TZ".to_owned(), "Asia/Tokyo".to_owned());
    let app = TestApp::start(config).await;
    app.operator().stops("shop").await;
    let view = app.connection("shop").await;
    let since: jiff::Timestamp = view["banner"]["since"].as_str().and_then(|at| at.parse().ok()).expect("an instant");
    let at = |zone: &str| {
        let zone = jiff::tz::TimeZone::get(zone).expect("a zone");
        since.to_zoned_datetime(zone).strftime("%H:%M").to_string()
    };
    let (tokyo, kolkata) = (at("Asia/Tokyo"), at("Asia/Kolkata"));
    let what = view["banner"]["what"].as_str().unwrap_or_default();
    assert!(what.contains(&tokyo) && what.contains(" JST"), "{view}");
    for path in ["/", "/c/shop"] {
        let page = app.send(Ask::get(path).header("cookie", "larder-reader=Asia/Kolkata~24")).await.expect(200).body;
        let told = page.split("Paused by").nth(1).unwrap_or_default();
        assert!(told.split('<').next().is_some_and(|told| told.contains(&kolkata)), "{path}: {told}");
    }
    let held = app.send(Ask::get("/").header("cookie", "larder-reader=Asia/Kolkata~24")).await.expect(200).body;
    assert!(held.contains("What was written down tells the appliance’s own time") && held.contains("JST"), "{held}");
}
