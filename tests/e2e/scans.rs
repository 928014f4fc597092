//! One reading feeds many targets (CASES F12, T7): at once, or not at all.

use crate::support::*;
use serde_json::Value;

const SCAN: &str = "[[connection.scan]]\nname = \"project\"\nget = \"/cursor\"\nitems = \"$.rows[*]\"\nkey = \"$.id\"\n\
                    title = \"$.name\"\nfeeds = \"$.order\"\n\
                    page = { style = \"cursor\", next = \"$.cursor\", param = \"after\" }\n";

/// Work orders `S0` to `S{n-1}`, fed by the scan alone.
pub fn orders(n: u64) -> String {
    (0..n).map(|i| format!("[[connection.target]]\nname = \"s{i}\"\n")).collect()
}

/// The first of them can also be asked by itself.
fn asked_by_itself(n: u64) -> String {
    let own = "name = \"s0\"\nget = \"/own?order=S0\"\nitems = \"$.rows[*]\"\nkey = \"$.id\"\ntitle = \"$.name\"\n";
    orders(n).replacen("name = \"s0\"\n", own, 1)
}

fn field(provider: &PagedProvider, targets: &str) -> Connection {
    let connection = Connection::plain("field", &provider.base_url()).secret_in("FIELD_KEY").quiet().min_age("0s");
    connection.bearer().body(&format!("{SCAN}{targets}"))
}

pub async fn provider(rows: u64, size: usize, orders: u64) -> PagedProvider {
    let provider = PagedProvider::of(rows, size).await;
    provider.belongs_to(orders);
    provider
}

async fn scan(app: &TestApp) -> Value {
    app.get("/api/v1/connections/field/scans").await.expect(200).json()["scans"][0].clone()
}

async fn scan_when(app: &TestApp, what: &str, holds: impl Fn(&Value) -> bool) -> Value {
    eventually(what, SOON, || async {
        let now = scan(app).await;
        holds(&now).then_some(now)
    })
    .await
}

/// Somebody refreshes, and the answer takes as long as the provider does.
fn begins_refresh(app: &TestApp, target: &str) -> tokio::task::JoinHandle<()> {
    let ask = Ask::post(&format!("/api/v1/connections/field/targets/{target}/refresh")).token(app.token());
    let address = app.address;
    tokio::spawn(async move { drop(http::try_send(address, &ask).await) })
}

async fn is_asked(provider: &PagedProvider, more_than: usize) {
    eventually("the page is asked", SOON, || async { (provider.count() > more_than).then_some(()) }).await;
}

async fn is_published(app: &TestApp, generation: u64) -> Value {
    scan_when(app, "the reading is published", |s| {
        s["last_run"]["generation"] == generation && s["last_run"]["complete"] == true
    })
    .await
}

pub fn present(target: &Value) -> Vec<String> {
    let items = target["items"].as_array().expect("items");
    let present = items.iter().filter(|i| i["removed_at"].is_null());
    present.map(|i| i["title"].as_str().unwrap_or_default().to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn f12_pages_are_paid_for_and_not_work_orders() {
    let provider = provider(12, 3, 3).await.limited(4, secs(2));
    let limit = "name = \"short\"\nrequests = 4\nwindow = \"2s\"\nkind = \"rolling\"";
    let app = TestApp::start(Config::new().with(field(&provider, &orders(3)).limit_text(limit))).await;
    let scan = is_published(&app, 1).await;
    assert_eq!((&scan["last_run"]["pages"], &scan["last_run"]["rows"]), (&4.into(), &12.into()), "{scan}");
    assert_eq!((&scan["targets"], &scan["last_run"]["unmatched"]), (&3.into(), &0.into()), "{scan}");
    assert_eq!(provider.count(), 4, "{:?}", provider.seen());
    provider.was_never_over();
    for order in ["s0", "s1", "s2"] {
        let target = app.target("field", order).await;
        assert_eq!((&target["item_count"], &target["as_of"]), (&4.into(), &scan["as_of"]), "{target}");
        assert_eq!((&target["fed_by"]["scan"], &target["stale"]), (&"project".into(), &Value::Null), "{target}");
        assert_eq!(app.history("field", order).await.len(), 4);
        let page = app.page("field", order).await;
        assert!(page.contains("Fed by the scan <b>project</b>"), "{page}");
    }
    let ledger = app.ledger("field").await;
    assert!(ledger.iter().all(|c| c["target"] == "project" && c["caller"] == "poller"), "{ledger:?}");
    assert_eq!(app.connection("field").await["forecast"]["requests_per_day"], 1440 * 4);
    let page = app.get("/c/field").await.expect(200).body;
    assert!(page.contains("Complete: 12 rows on 4 pages; 3 targets changed."), "{page}");
}

/// Before the first reading every target counts as asked by itself, and ten of them could not be kept up.
#[tokio::test(flavor = "multi_thread")]
async fn f12_what_the_first_reading_spares_counts_from_the_next_round_on() {
    let provider = provider(12, 3, 10).await;
    let own = |i: u64| format!("get = \"/own?order=S{i}\"\nitems = \"$.rows[*]\"\nkey = \"$.id\"\n");
    let targets: String = (0..10).map(|i| format!("[[connection.target]]\nname = \"s{i}\"\n{}", own(i))).collect();
    let limit = "name = \"day\"\nrequests = 6500\nkind = \"daily\"\ntime_zone = \"UTC\"";
    let app = TestApp::start(Config::new().with(field(&provider, &targets).limit_text(limit))).await;
    is_published(&app, 1).await;
    let poll = eventually("the next round is due an interval later", SOON, || async {
        let poll = app.connection("field").await["poll"].clone();
        let at = |key: &str| poll[key].as_str().and_then(|at| at.parse::<jiff::Timestamp>().ok());
        let apart = at("next_poll_at")?.duration_since(at("last_poll_at")?);
        (apart.as_secs() <= 61).then_some(poll)
    })
    .await;
    assert_eq!(poll["effective_interval_seconds"], 60, "{poll}");
    assert_eq!(provider.count(), 4, "{:?}", provider.seen());
}

#[tokio::test(flavor = "multi_thread")]
async fn t7_a_scan_that_ends_at_any_page_removes_nothing() {
    let provider = provider(12, 3, 3).await;
    let app = TestApp::start(Config::new().with(field(&provider, &orders(3)))).await;
    let before = is_published(&app, 1).await;
    // Rows are gone, and the others say something new; but each reading goes in a circle at one of its pages.
    provider.has([1, 2, 4, 5, 6, 7, 8, 9, 10, 11]);
    provider.says(" anew");
    for page in 1..3 {
        provider.leads_back_at(page);
        app.operator().refreshes("field", "s1").await;
        let scan = scan_when(&app, "the reading is given up", |s| s["last_run"]["generation"] == 1 + page).await;
        assert_eq!((&scan["last_run"]["complete"], &scan["as_of"]), (&false.into(), &before["as_of"]), "{scan}");
        assert_eq!(scan["last_run"]["reason"], "a page says the same as one before it", "{scan}");
        for order in ["s0", "s1", "s2"] {
            let target = app.target("field", order).await;
            assert_eq!(present(&target).len(), 4, "{target}");
            assert!(present(&target).iter().all(|title| !title.contains("anew")), "no part is published: {target}");
            assert_eq!(target["as_of"], before["as_of"], "{target}");
            let reason = target["stale"]["reason"].as_str().unwrap_or_default();
            assert!(
                reason.starts_with("incomplete, ") && reason.ends_with("a page says the same as one before it"),
                "{target}"
            );
        }
    }
    provider.leads_back_at(99);
    app.operator().refreshes("field", "s1").await;
    is_published(&app, 4).await;
    let s0 = app.target("field", "s0").await;
    assert_eq!(present(&s0), ["row 6 anew", "row 9 anew"], "{s0}");
    assert_eq!(s0["stale"], Value::Null, "{s0}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a33_a_scan_whose_answer_names_no_next_page_any_more_removes_nothing() {
    let provider = provider(12, 3, 3).await;
    let app = TestApp::start(Config::new().with(field(&provider, &orders(3)))).await;
    let before = is_published(&app, 1).await;
    provider.is_silent(true);
    app.operator().refreshes("field", "s1").await;
    let scan = scan_when(&app, "the reading is given up", |s| s["last_run"]["generation"] == 2).await;
    assert_eq!((&scan["last_run"]["complete"], &scan["as_of"]), (&false.into(), &before["as_of"]), "{scan}");
    let reason = scan["last_run"]["reason"].as_str().unwrap_or_default();
    assert!(reason.ends_with("whether there is another page, and the last complete reading had 4"), "{scan}");
    for order in ["s0", "s1", "s2"] {
        assert_eq!(present(&app.target("field", order).await).len(), 4);
    }
    let open = app.findings("?open=true").await;
    assert!(open.len() == 1 && open[0]["kind"] == "scan_incomplete", "{open:?}");
    provider.is_silent(false);
    app.operator().refreshes("field", "s1").await;
    is_published(&app, 3).await;
    assert!(app.findings("?open=true").await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn t7_a_kill_at_any_page_publishes_no_part_and_asks_no_page_again_that_was_read() {
    let provider = provider(9, 3, 3).await;
    let mut app = TestApp::start(Config::new().with(field(&provider, &orders(3)))).await;
    is_published(&app, 1).await;
    for (generation, page, word) in [(2, 0, " b"), (3, 1, " c"), (4, 2, " d")] {
        let before = [app.target("field", "s0").await, app.target("field", "s2").await];
        provider.says(word);
        provider.stalls_at(Some(page));
        let asked = provider.count();
        let refreshing = begins_refresh(&app, "s1");
        is_asked(&provider, asked + page).await;
        app.kill_9();
        drop(refreshing);
        provider.stalls_at(None);
        app.boots().await;
        for before in &before {
            let name = before["name"].as_str().unwrap_or_default();
            let after = app.target("field", name).await;
            assert_eq!((present(&after), &after["as_of"]), (present(before), &before["as_of"]), "page {page}");
        }
        let asked = provider.count();
        app.operator().refreshes("field", "s1").await;
        let scan = is_published(&app, generation.max(2)).await;
        assert_eq!(scan["last_run"]["pages"], 3, "{scan}");
        // Of what the file knows nothing is asked again; the page that was under way, and one whose answer was not on the disk yet.
        let again = provider.count() - asked;
        assert!((3 - page..=4 - page).contains(&again), "page {page}: {again} requests, {:?}", provider.seen());
        assert!(present(&app.target("field", "s2").await).iter().all(|title| title.ends_with(word)));
    }
    assert_eq!(app.history("field", "s0").await.len(), 3 + 3 * 3, "three rows appeared, and changed three times");
}

#[tokio::test(flavor = "multi_thread")]
async fn t7_a_fresher_answer_of_one_target_wins_for_that_target() {
    let provider = provider(9, 3, 3).await;
    let app = TestApp::start(Config::new().with(field(&provider, &asked_by_itself(3)))).await;
    is_published(&app, 1).await;
    let polled = provider.seen().iter().filter(|line| line.contains("/own")).count();
    assert_eq!(polled, 0, "a target that the scan feeds is not polled besides: {:?}", provider.seen());

    provider.says(" older");
    provider.stalls_at(Some(2));
    let asked = provider.count();
    let refreshing = begins_refresh(&app, "s1");
    is_asked(&provider, asked + 2).await;
    provider.says(" newest");
    let own = app.operator().refreshes("field", "s0").await.expect(200).json();
    assert!(present(&own["target"]).iter().all(|title| title.ends_with(" newest")), "{own}");
    provider.stalls_at(None);
    drop(refreshing);
    let scan = is_published(&app, 2).await;
    assert_eq!(scan["last_run"]["kept_own"], 1, "{scan}");
    let s0 = app.target("field", "s0").await;
    assert!(present(&s0).iter().all(|title| title.ends_with(" newest")), "{s0}");
    assert_eq!(s0["as_of"], own["target"]["as_of"], "as-of does not go back");
    let s1 = app.target("field", "s1").await;
    assert_eq!(s1["as_of"], scan["as_of"], "{s1}");
    assert!(present(&s1).iter().any(|title| title.ends_with(" older")), "the others have the scan: {s1}");
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_of_nobody_are_counted_and_named_and_a_new_target_has_them_with_the_next_scan() {
    let provider = provider(12, 4, 4).await;
    let mut app = TestApp::start(Config::new().with(field(&provider, &orders(3)))).await;
    let scan = is_published(&app, 1).await;
    let run = &scan["last_run"];
    assert_eq!((&run["rows"], &run["unmatched"]), (&12.into(), &3.into()), "{scan}");
    assert_eq!(run["unmatched_examples"][0], serde_json::json!({"key": "3", "names": "S3"}), "{scan}");
    let page = app.get("/c/field").await.expect(200).body;
    assert!(page.contains("3 rows belong to no target, such as: 3 names S3; 7 names S3; 11 names S3."), "{page}");
    let told = app.get("/api/v1/connections/field/scans").await.expect(200);
    assert!(!told.body.contains("error"), "they are no error: {}", told.body);

    assert!(app.stop().await.success());
    app.configure(Config::new().with(field(&provider, &orders(4))));
    app.boots().await;
    assert_eq!(app.target("field", "s3").await["state"], "never");
    app.operator().refreshes("field", "s0").await.expect(200);
    let scan = is_published(&app, 2).await;
    assert_eq!(scan["last_run"]["unmatched"], 0, "{scan}");
    assert_eq!(app.target("field", "s3").await["item_count"], 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_that_say_nothing_of_their_targets_any_more_are_no_empty_targets() {
    let provider = provider(9, 3, 3).await;
    let app = TestApp::start(Config::new().with(field(&provider, &orders(3)))).await;
    is_published(&app, 1).await;
    provider.belongs_to(0);
    for _ in 0..2 {
        app.operator().refreshes("field", "s0").await;
    }
    let scan = scan_when(&app, "it is given up twice", |s| s["last_run"]["generation"] == 3).await;
    assert_eq!(scan["last_run"]["reason"], "no row of the scan belongs to a target; look at `feeds`", "{scan}");
    for order in ["s0", "s1", "s2"] {
        assert_eq!(app.target("field", order).await["item_count"], 3);
    }
}

/// Each can be asked by itself.
fn all_by_themselves(n: u64) -> String {
    let own = |i: u64| {
        format!(
            "[[connection.target]]\nname = \"s{i}\"\nget = \"/own?order=S{i}\"\nitems = \"$.rows[*]\"\nkey = \"$.id\"\n\
             title = \"$.name\"\n"
        )
    };
    (0..n).map(own).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn f12_a_scan_rests_while_its_targets_cost_less_one_by_one_and_goes_on_when_they_do_not() {
    let provider = provider(12, 3, 6).await;
    let every = |c: Connection| {
        c.every("1s").limit_text("name = \"minute\"\nrequests = 600\nwindow = \"1m\"\nkind = \"rolling\"")
    };
    let config = |n: u64| Config::new().with(every(field(&provider, &all_by_themselves(n))));
    // Four pages for two work orders: they are asked by themselves once it is known whom the scan feeds.
    let mut app = TestApp::start(config(2)).await;
    is_published(&app, 1).await;
    let view = scan_when(&app, "it rests", |s| s["resting"].is_string()).await;
    assert!(
        view["resting"].as_str().is_some_and(|r| r.contains("takes 2 requests") && r.contains("would take 4")),
        "{view}"
    );
    let asked = provider.count();
    tokio::time::sleep(secs(3)).await;
    let since: Vec<String> = provider.seen().into_iter().skip(asked).map(|seen| format!("{seen:?}")).collect();
    assert!(since.len() >= 2 && since.iter().all(|seen| seen.contains("/own")), "one by one: {since:?}");
    let target = app.target("field", "s0").await;
    assert_eq!((&target["fed_by"], &target["item_count"]), (&Value::Null, &2.into()), "{target}");
    assert!(app.get("/c/field").await.body.contains("asked one by one"));

    // Six work orders would take six requests: the scan is the cheaper way again.
    app.stop().await;
    app.configure(config(6));
    app.boots().await;
    scan_when(&app, "it is read again", |s| s["resting"].is_null() && s["last_run"]["generation"].as_u64() > Some(1))
        .await;
    assert_eq!(app.target("field", "s5").await["fed_by"]["scan"], "project");
}
