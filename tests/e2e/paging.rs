//! Lists that come page by page (DESIGN law 2, VENDORS A33, A34): every page is budgeted, and only a proven end removes anything.

use crate::support::script::Script;
use crate::support::*;
use serde_json::Value;

/// One target `rows`, asked in `style` with these further keys of `page`.
fn paged(provider: &PagedProvider, style: &str, path: &str, more: &str) -> Connection {
    let body = format!(
        "[[connection.target]]\nname = \"rows\"\nget = \"{path}\"\nitems = \"$.rows[*]\"\nkey = \"$.id\"\ntitle = \"$.name\"\n\
         page = {{ style = \"{style}\"{more} }}\n"
    );
    let connection = Connection::plain("shop", &provider.base_url()).secret_in("SHOP_KEY").quiet().min_age("0s");
    connection.bearer().body(&body)
}

fn cursor(provider: &PagedProvider) -> Connection {
    paged(provider, "cursor", "/cursor", ", next = \"$.cursor\", param = \"after\"")
}

async fn scanned(app: &TestApp, what: &str, holds: impl Fn(&Value) -> bool) -> Value {
    app.target_when("shop", "rows", what, |t| !t["scan"].is_null() && holds(t)).await
}

async fn is_whole(app: &TestApp, pages: u64, rows: u64) -> Value {
    let target = scanned(app, "the list is complete", |t| t["scan"]["complete"] == true).await;
    assert_eq!((&target["scan"]["pages"], &target["item_count"]), (&pages.into(), &rows.into()), "{target}");
    target
}

#[tokio::test(flavor = "multi_thread")]
async fn every_style_reads_the_whole_list() {
    for (style, path, more, pages) in [
        ("link", "/link", ", size = 3, size_param = \"size\"", 3),
        ("next-url", "/next-url", ", next = \"$.next\"", 3),
        ("cursor", "/cursor", ", next = \"$.cursor\", param = \"after\"", 3),
        ("page-number", "/number", ", param = \"page\", total_pages = \"$.pages\"", 3),
        ("page-number", "/number", ", param = \"page\", size = 3, size_param = \"size\", short_page = true", 3),
        ("offset", "/offset", ", param = \"offset\", total = \"$.total\"", 3),
        ("until-empty", "/empty", ", param = \"page\", first = 0", 4),
        ("relay", "/relay?query=q", ", page_info = \"$.data.pageInfo\", variable = \"after\"", 3),
    ] {
        let provider = PagedProvider::of(8, 3).await;
        let app = TestApp::start(Config::new().with(paged(&provider, style, path, more))).await;
        let target = is_whole(&app, pages, 8).await;
        assert_eq!(target["stale"], Value::Null, "{style}: {target}");
        assert_eq!(provider.count() as u64, pages, "{style}: {:?}", provider.seen());
        assert_eq!(app.ledger("shop").await.len() as u64, pages, "{style}: a page without a charge");
        assert_eq!(app.connection("shop").await["forecast"]["requests_per_day"], 1440 * pages, "{style}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a33_a_page_that_fails_removes_nothing() {
    let provider = PagedProvider::of(6, 2).await;
    let app = TestApp::start(Config::new().with(cursor(&provider))).await;
    let before = is_whole(&app, 3, 6).await;

    // Page 1 is good and says something new, page 2 is refused, page 3 never comes.
    provider.has([1, 7, 3, 4, 5, 6]);
    provider.refuses(&[1]);
    let reply = app.operator().refreshes("shop", "rows").await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    let target = scanned(&app, "the reading is a part", |t| t["scan"]["complete"] == false).await;
    assert_eq!(target["scan"]["pages"], 1, "{target}");
    assert_eq!(target["scan"]["reason"], "rate limited (429)", "{target}");
    assert_eq!(target["scan"]["usual_pages"], 3, "{target}");
    assert_eq!(target["item_count"], 7, "seen rows are there, none is gone: {target}");
    assert!(target["items"].as_array().is_some_and(|all| all.iter().all(|i| i["removed_at"].is_null())), "{target}");
    assert_eq!(target["as_of"], before["as_of"], "a part makes nothing newer");
    assert_eq!(target["stale"]["reason"], "incomplete, 1 of ? pages: rate limited (429)", "{target}");
    assert_eq!(app.connection("shop").await["hold"]["reason"], "rate_limited");
    let page = app.page("shop", "rows").await;
    assert!(page.contains("Incomplete: 1 of ? pages, because rate limited (429)."), "{page}");
    assert!(page.contains("about 3 requests, one for each page"), "{page}");

    // Once it answers again, the reading goes on where it stood: two requests, and then row 2 is really gone.
    provider.refuses(&[]);
    app.connection_when("shop", "the hold is over", |c| c["hold"].is_null()).await;
    let asked = provider.count();
    assert_eq!(app.operator().refreshes("shop", "rows").await.status, 200);
    let target = scanned(&app, "the reading is whole", |t| t["scan"]["complete"] == true).await;
    assert_eq!((&target["item_count"], provider.count() - asked), (&6.into(), 2), "{:?}", provider.seen());
    let removed: Vec<&Value> =
        target["items"].as_array().expect("items").iter().filter(|i| !i["removed_at"].is_null()).collect();
    assert_eq!(removed.len(), 1, "{target}");
    assert_eq!(removed[0]["key"], "2");
}

#[tokio::test(flavor = "multi_thread")]
async fn a34_every_page_of_a_chain_passes_the_limiter() {
    let provider = PagedProvider::of(24, 2).await.limited(4, secs(3));
    let limit = "name = \"short\"\nrequests = 4\nwindow = \"3s\"\nkind = \"rolling\"";
    let chain = paged(&provider, "next-url", "/next-url", ", next = \"$.next\"").limit_text(limit);
    let app = TestApp::start(Config::new().with(chain)).await;
    let target = is_whole(&app, 12, 24).await;
    provider.was_never_over();
    assert_eq!(provider.count(), 12, "{:?}", provider.seen());
    assert!(target["stale"].is_null(), "{target}");
    let connection = app.connection("shop").await;
    assert_eq!(connection["forecast"]["requests_per_day"], 12 * 1440, "{connection}");
    let said = app.larder_here(&["check"]).await.expect(0);
    assert!(said.stdout.contains("shop/rows: planned with 12 pages, as in the last complete reading."), "{said:?}");

    // A refresh by hand is told what it takes, and spends no more than there is.
    assert_eq!(target["refresh"]["requests"], 12, "{target}");
    app.operator().refreshes("shop", "rows").await;
    provider.was_never_over();
}

#[tokio::test(flavor = "multi_thread")]
async fn circles_and_foreign_hosts_end_as_incomplete() {
    let provider = PagedProvider::of(6, 2).await;
    provider.leads_back_at(1);
    let app = TestApp::start(Config::new().with(cursor(&provider))).await;
    let target = scanned(&app, "the circle is noticed", |t| t["scan"]["complete"] == false).await;
    assert_eq!(target["scan"]["reason"], "a page says the same as one before it", "{target}");
    assert_eq!((provider.count(), &target["as_of"]), (3, &Value::Null), "{target}");
    assert_eq!(target["item_count"], 4, "what was seen is there: {target}");

    let stranger = PagedProvider::of(1, 1).await;
    let provider = PagedProvider::of(6, 2).await;
    provider.leads_to(&format!("http://{}", stranger.address));
    let connection = paged(&provider, "link", "/link", "");
    let app = TestApp::start(Config::new().with(connection)).await;
    let target = scanned(&app, "the way out is refused", |t| t["scan"]["complete"] == false).await;
    let reason = target["scan"]["reason"].as_str().expect("a reason");
    assert!(reason.contains("another origin (127.0.0.1)"), "{reason}");
    assert_eq!((provider.count(), stranger.count()), (1, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kill_between_two_pages_publishes_nothing_and_loses_nothing() {
    let provider = PagedProvider::of(6, 2).await.limited(4, secs(20));
    let limit = "name = \"short\"\nrequests = 4\nwindow = \"20s\"\nkind = \"rolling\"";
    let mut app = TestApp::start(Config::new().with(cursor(&provider).limit_text(limit))).await;
    let before = is_whole(&app, 3, 6).await;

    // One request is left in the window: page 1 of the refresh, and then the budget says no.
    provider.has([6, 5, 4]);
    let refresh = app.operator();
    let asked = eventually("page 1 is asked for", SOON, || async { (provider.count() == 4).then_some(()) });
    tokio::select! { _ = refresh.refreshes("shop", "rows") => (), () = asked => () }
    assert_eq!(provider.count(), 4, "{:?}", provider.seen());
    app.crash().await;
    let after = app.target("shop", "rows").await;
    assert_eq!((&after["item_count"], &after["as_of"]), (&before["item_count"], &before["as_of"]), "{after}");
    assert_eq!(after["scan"]["usual_pages"], 3, "the plan knows it after a restart: {after}");
    let connection = app.connection("shop").await;
    assert_eq!(connection["forecast"]["requests_per_day"], 3 * 1440, "{connection}");
    provider.was_never_over();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unchanged_first_page_confirms_the_others_only_where_the_recipe_says_so() {
    for (more, conditional, requests) in [("", 0, 4), (", first_confirms_all = true", 1, 3)] {
        let provider = PagedProvider::of(4, 2).await;
        provider.tags();
        let style = format!(", next = \"$.cursor\", param = \"after\"{more}");
        let app = TestApp::start(Config::new().with(paged(&provider, "cursor", "/cursor", &style))).await;
        let before = is_whole(&app, 2, 4).await;
        tokio::time::sleep(secs(1)).await;
        assert_eq!(app.operator().refreshes("shop", "rows").await.status, 200);
        let after = is_whole(&app, 2, 4).await;
        assert_ne!(after["as_of"], before["as_of"], "renewed either way: {more}");
        assert_eq!(
            (provider.conditional(), provider.count()),
            (conditional, requests),
            "{more}: {:?}",
            provider.seen()
        );

        // A change still gets through, and a page in the middle is never asked conditionally.
        provider.has([1, 2, 3]);
        assert_eq!(app.operator().refreshes("shop", "rows").await.status, 200);
        app.target_when("shop", "rows", "the change is seen", |t| t["item_count"] == 3).await;
        assert!(provider.conditional() <= 2 * conditional, "{more}: {:?}", provider.seen());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refresh_that_cannot_fund_one_page_is_refused_and_one_that_can_spends_what_is_kept() {
    let provider = PagedProvider::of(6, 2).await.limited(4, secs(20));
    let limit = "name = \"short\"\nrequests = 4\nwindow = \"20s\"\nkind = \"rolling\"\nkeep = { refresh = 1 }";
    let app = TestApp::start(Config::new().with(cursor(&provider).limit_text(limit))).await;
    is_whole(&app, 3, 6).await;

    provider.has([1, 2, 3, 4, 5]);
    assert_eq!(app.operator().refreshes("shop", "rows").await.status, 200, "the kept unit funds a page");
    let target = scanned(&app, "the rest waits", |t| t["scan"]["complete"] == false).await;
    assert_eq!((&target["scan"]["pages"], &target["item_count"]), (&1.into(), &6.into()), "{target}");
    assert_eq!(target["scan"]["reason"], "the next page waits for the budget (limit \"short\")", "{target}");
    let reply = app.operator().refreshes("shop", "rows").await;
    reply.expect_problem(429);
    assert_eq!(provider.count(), 4, "{:?}", provider.seen());
    provider.was_never_over();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_that_is_always_refused_ends_in_a_part_that_goes_on_ever_more_rarely() {
    let provider = PagedProvider::of(6, 2).await;
    let shop = cursor(&provider).every("1s");
    let body = format!("{}[connection.waits]\nfloor = \"1s\"\n", shop.body);
    let app = TestApp::start(Config::new().with(shop.body(&body))).await;
    is_whole(&app, 3, 6).await;
    provider.says_to_wait("1");
    provider.refuses(&[2]);
    let target = scanned(&app, "the reading is a part", |t| t["scan"]["complete"] == false).await;
    assert_eq!(target["scan"]["reason"], "rate limited (429)", "{target}");
    let (third, from) = ("4", provider.count());
    let refused = provider.times_of(third).len();
    let asked = |times: usize| provider.times_of(third).len().saturating_sub(refused) >= times;
    eventually("it is asked again and again", secs(40), || async { asked(4).then_some(()) }).await;

    // The first time again goes on where it stood, and nobody knocks: each time it takes longer.
    assert!(provider.seen()[from].contains(third), "{:?}", provider.seen());
    let times = provider.times_of(third).split_off(refused - 1);
    let gaps: Vec<Duration> = times.windows(2).map(|pair| pair[1].duration_since(pair[0])).collect();
    assert!(gaps[0] >= secs(1) && gaps[1] >= secs(2) && gaps[3] >= secs(4), "{gaps:?}");
    assert!(provider.count() - from <= 4 + 2 * 2, "a loop: {:?}", provider.seen());
    let target = app.target("shop", "rows").await;
    assert_eq!((&target["scan"]["pages"], &target["item_count"]), (&2.into(), &6.into()), "{target}");
    assert!(target["items"].as_array().is_some_and(|all| all.iter().all(|i| i["removed_at"].is_null())), "{target}");

    provider.refuses(&[]);
    eventually("it is whole again", secs(40), || async {
        (app.target("shop", "rows").await["scan"]["complete"] == true).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_first_page_that_leads_on_to_what_is_not_funded_says_so() {
    let provider = Script::answering(|_| wire::http(307, &[("location", "/elsewhere")], b"")).await;
    let one = "name = \"one\"\nrequests = 1\nwindow = \"60s\"\nkind = \"rolling\"";
    let body = "[[connection.target]]\nname = \"rows\"\nget = \"/rows\"\nitems = \"$.rows[*]\"\nkey = \"$.id\"\n\
                page = { style = \"next-url\", next = \"$.next\" }\n";
    let shop = Connection::plain("shop", &provider.base_url()).quiet().limit_text(one).body(body);
    let app = TestApp::start(Config::new().with(shop)).await;
    let tells = |t: &Value| t["sentence"].as_str().is_some_and(|s| s.contains("waits for the next round"));
    let target = app.target_when("shop", "rows", "the reason is shown", tells).await;
    assert!(target["sentence"].as_str().is_some_and(|s| s.contains("limit \"one\"")), "{target}");
    assert_eq!(provider.asked().len(), 1);
}

const SILENT: &str =
    "the answer does not say any more whether there is another page, and the last complete reading had 3";

/// Each style that can be silent, with the path that the provider answers in it.
const CAN_BE_SILENT: [(&str, &str, &str); 3] = [
    ("link", "/link", ""),
    ("next-url", "/next-url", ", next = \"$.next\""),
    ("cursor", "/cursor", ", next = \"$.cursor\", param = \"after\""),
];

#[tokio::test(flavor = "multi_thread")]
async fn a33_a_first_reading_that_is_silent_is_whole_only_where_the_provider_says_so() {
    for (style, path, more) in CAN_BE_SILENT {
        let provider = PagedProvider::of(4, 2).await;
        provider.is_silent(true);
        let app = TestApp::start(Config::new().with(paged(&provider, style, path, more))).await;
        let target = scanned(&app, "it is read", |_| true).await;
        let scan = &target["scan"];
        let why = "the answer does not say whether there is another page";
        assert_eq!((&scan["reason"], &scan["complete"]), (&why.into(), &false.into()), "{style}: {target}");
        assert_eq!((&target["item_count"], &target["as_of"]), (&2.into(), &Value::Null), "{style}: {target}");
        let open = app.findings("?open=true").await;
        let [finding] = &open[..] else { panic!("{style}: {open:?}") };
        assert!(finding["detail"].as_str().is_some_and(|s| s.contains("absent_ends = true")), "{finding}");

        let more = format!("{more}, absent_ends = true");
        let app = TestApp::start(Config::new().with(paged(&provider, style, path, &more))).await;
        is_whole(&app, 1, 2).await;
        assert!(app.findings("?open=true").await.is_empty(), "{style}");
    }
}

fn removed(target: &Value) -> usize {
    target["items"].as_array().map_or(0, |all| all.iter().filter(|i| !i["removed_at"].is_null()).count())
}

#[tokio::test(flavor = "multi_thread")]
async fn a33_a_provider_that_names_no_next_page_any_more_removes_nothing() {
    for (style, path, more) in CAN_BE_SILENT {
        let provider = PagedProvider::of(6, 2).await;
        let mut app = TestApp::start(Config::new().with(paged(&provider, style, path, more))).await;
        let before = is_whole(&app, 3, 6).await;
        provider.has([1, 7, 3, 4, 5, 6]);
        provider.is_silent(true);
        // Asking again does not hasten it, and a restart forgets neither the pages that there were nor since when it is so.
        for count in 1..=2 {
            assert_eq!(app.operator().refreshes("shop", "rows").await.status, 200);
            let target = app.target("shop", "rows").await;
            let scan = &target["scan"];
            assert_eq!((&scan["reason"], &scan["complete"]), (&SILENT.into(), &false.into()), "{style}: {target}");
            assert_eq!((&target["item_count"], removed(&target)), (&7.into(), 0), "{style}: {target}");
            assert_eq!((&target["as_of"], &scan["usual_pages"]), (&before["as_of"], &3.into()), "{style}: {target}");
            let open = app.findings("?open=true").await;
            let [finding] = &open[..] else { panic!("{style}: {open:?}") };
            assert_eq!((&finding["kind"], &finding["count"]), (&"scan_incomplete".into(), &count.into()), "{finding}");
            assert!(finding["sentence"].as_str().is_some_and(|s| s.contains(SILENT)), "{finding}");
            assert!(finding["detail"].as_str().is_some_and(|s| s.contains("is not believed")), "{finding}");
            if count == 1 {
                app.restart().await;
            }
        }
        provider.is_silent(false);
        assert_eq!(app.operator().refreshes("shop", "rows").await.status, 200);
        let target = is_whole(&app, 3, 6).await;
        assert_eq!((removed(&target), &target["stale"]), (1, &Value::Null), "row 2 is really gone: {target}");
        assert!(app.findings("?open=true").await.is_empty(), "{style}");
    }
}

/// Where the provider says that its last page is silent. The least time is a minute.
#[tokio::test(flavor = "multi_thread")]
async fn a_list_that_really_shrank_to_one_page_is_believed_after_the_least_time() {
    let provider = PagedProvider::of(6, 2).await;
    let says_so = ", next = \"$.cursor\", param = \"after\", absent_ends = true";
    let shop = paged(&provider, "cursor", "/cursor", says_so).every("10s");
    let app = TestApp::start(Config::new().with(shop)).await;
    is_whole(&app, 3, 6).await;
    provider.has([1, 2]);
    provider.is_silent(true);
    assert_eq!(app.operator().refreshes("shop", "rows").await.status, 200);
    let began = std::time::Instant::now();
    let target = app.target("shop", "rows").await;
    assert_eq!((&target["scan"]["reason"], &target["item_count"]), (&SILENT.into(), &6.into()), "{target}");
    let target = eventually("it is believed", secs(120), || async {
        let target = app.target("shop", "rows").await;
        (target["scan"]["complete"] == true).then_some(target)
    })
    .await;
    assert!(began.elapsed() >= secs(59), "{:?}: {target}", began.elapsed());
    assert_eq!((&target["item_count"], removed(&target)), (&2.into(), 4), "{target}");
    assert_eq!((&target["scan"]["usual_pages"], &target["stale"]), (&1.into(), &Value::Null), "{target}");
    assert!(app.findings("?open=true").await.is_empty());
}
