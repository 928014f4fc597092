//! Whom scans feed, and how often (CASES F4, F12): several of them in one connection, each at an interval of its own, and targets that are
//! completed by what they bring.

use crate::scans::{orders, present, provider};
use crate::support::app::members;
use crate::support::*;
use serde_json::{Value, json};

/// The list of a project, or of all.
fn scan(name: &str, query: &str, more: &str) -> String {
    format!(
        "[[connection.scan]]\nname = \"{name}\"\nget = \"/cursor{query}\"\nitems = \"$.rows[*]\"\nkey = \"$.id\"\n\
         title = \"$.name\"\nfeeds = \"$.order\"\npage = {{ style = \"cursor\", next = \"$.cursor\", param = \"after\" }}\n{more}"
    )
}

fn field(provider: &PagedProvider, body: &str) -> Connection {
    let minute = "name = \"minute\"\nrequests = 600\nwindow = \"1m\"\nkind = \"rolling\"";
    Connection::plain("field", &provider.base_url()).quiet().min_age("0s").limit_text(minute).body(body)
}

async fn scans(app: &TestApp) -> Vec<Value> {
    members(&app.get("/api/v1/connections/field/scans").await.expect(200).json(), "scans")
}

async fn are_published(app: &TestApp, generation: u64) -> Vec<Value> {
    eventually("the readings are published", SOON, || async {
        let now = scans(app).await;
        let is_out = |s: &Value| s["last_run"]["generation"] == generation && s["last_run"]["complete"] == true;
        now.iter().all(is_out).then_some(now)
    })
    .await
}

async fn makes(app: &TestApp, target: &str, phase: &str) {
    let path = format!("/api/v1/connections/field/targets/{target}");
    app.send(Ask::new("PATCH", &path).token(app.token()).json(&json!({ "phase": phase }))).await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn f4_a_scan_completes_the_active_targets_whose_condition_holds_and_brings_them_nothing_more() {
    let provider = provider(6, 3, 2).await;
    provider.says(" open");
    let complete = "complete = \"@.item_count > 0 && !@.items[?!search(@.title, 'done')]\"\n";
    let orders = orders(2).replace("[[connection.target]]\n", &format!("[[connection.target]]\n{complete}"));
    let app = TestApp::start(Config::new().with(field(&provider, &format!("{}{orders}", scan("all", "", ""))))).await;
    are_published(&app, 1).await;
    assert_eq!(app.target("field", "s0").await["phase"], "active");
    makes(&app, "s1", "pending").await;

    provider.says(" done");
    app.operator().refreshes("field", "s0").await.expect(200);
    are_published(&app, 2).await;
    let (s0, s1) = (app.target("field", "s0").await, app.target("field", "s1").await);
    assert_eq!((&s0["phase"], &s0["phase_by"]), (&json!("completed"), &json!("larder")), "{s0}");
    assert_eq!((&s0["phase_why"], &s1["phase"]), (&json!("its condition holds"), &json!("pending")), "{s1}");
    assert!(present(&s1).iter().all(|title| title.ends_with(" done")), "its tasks look complete: {s1}");
    let told = async |kind: &str| {
        let page = app.get(&format!("/api/v1/activity?kind={kind}")).await.expect(200).json();
        let told = members(&page, "events").into_iter().filter(|e| e["message"].to_string().contains("larder"));
        told.map(|e| e["target"].as_str().unwrap_or_default().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(told("phase_changed").await, ["s0"], "once, and with the reading");

    // Without a grace it is left alone: its rows are counted and change nothing.
    provider.says(" later");
    app.operator().refreshes("field", "s1").await.expect(200);
    let scan = are_published(&app, 3).await.remove(0);
    assert_eq!((&scan["last_run"]["unwatched"], &scan["last_run"]["unmatched"]), (&json!(3), &json!(0)), "{scan}");
    let after = app.target("field", "s0").await;
    assert_eq!((present(&after), &after["as_of"]), (present(&s0), &s0["as_of"]), "{after}");
    assert!(present(&app.target("field", "s1").await).iter().all(|title| title.ends_with(" later")));
}

#[tokio::test(flavor = "multi_thread")]
async fn f12_two_scans_of_one_connection_feed_their_own_targets_and_empty_no_others() {
    let provider = provider(8, 2, 4).await;
    let body = format!("{}{}{}", scan("even", "?project=0", ""), scan("odd", "?project=1", ""), orders(4));
    let app = TestApp::start(Config::new().with(field(&provider, &body))).await;
    for scan in are_published(&app, 1).await {
        let run = &scan["last_run"];
        assert_eq!((&run["rows"], &run["unmatched"], &run["pages"]), (&json!(4), &json!(0), &json!(2)), "{scan}");
        assert_eq!(scan["targets"], 2, "{scan}");
    }
    assert_eq!(provider.count(), 4, "{:?}", provider.seen());
    let fed = async || {
        let mut fed = Vec::new();
        for n in 0..4 {
            let target = app.target("field", &format!("s{n}")).await;
            fed.push((target["fed_by"]["scan"].clone(), target["item_count"].clone()));
        }
        fed
    };
    let own = |n: usize| (json!(["even", "odd"][n % 2]), json!(2));
    assert_eq!(fed().await, (0..4).map(own).collect::<Vec<_>>());

    // One of them is read again, and again: what belongs to the other has no row in it, and stays.
    provider.says(" anew");
    for generation in 2..4 {
        app.operator().refreshes("field", "s0").await.expect(200);
        eventually("the even ones are read again", SOON, || async {
            (scans(&app).await[0]["last_run"]["generation"] == generation).then_some(())
        })
        .await;
    }
    assert_eq!(scans(&app).await[1]["last_run"]["generation"], 1, "the other was not asked");
    assert_eq!(fed().await, (0..4).map(own).collect::<Vec<_>>());
    let says = async |target: &str| present(&app.target("field", target).await)[0].contains("anew");
    assert_eq!((says("s0").await, says("s1").await), (true, false));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_scan_with_an_interval_of_its_own_is_read_planned_and_fresh_by_that_and_a_restart_hastens_nothing() {
    let provider = provider(4, 4, 2).await;
    let alone =
        "[[connection.target]]\nname = \"alone\"\nget = \"/own?order=S9\"\nitems = \"$.rows[*]\"\nkey = \"$.id\"\n";
    let body = format!("{}{alone}{}", scan("all", "", "interval = \"4s\"\n"), orders(2));
    let mut app = TestApp::start(Config::new().with(field(&provider, &body).every("1s"))).await;
    are_published(&app, 1).await;
    let view = app.connection("field").await;
    let day = |each: u64| 86_400 / each;
    assert_eq!(view["forecast"]["requests_per_day"], day(1) + day(4), "{view}");
    let s0 = app.target("field", "s0").await;
    assert_eq!(s0["fresh_for_seconds"], 8, "twice as long as its readings are apart: {s0}");
    app.restart().await;
    are_published(&app, 3).await;
    let (read, polled) = (provider.times_of("/cursor"), provider.times_of("/own"));
    assert!(read.windows(2).all(|pair| pair[1] - pair[0] >= secs(3)), "no reading comes early: {read:?}");
    assert!(polled.len() >= 2 * read.len(), "{} polls beside {} readings", polled.len(), read.len());
}
