//! The provider's own count beside the ledger: others who spend on the key, a limit that is lower or higher than declared.

use crate::support::script::Script;
use crate::support::*;
use serde_json::Value;

/// One limit in 100 s; asked by hand alone after the first poll.
fn declaring(provider: &FakeProvider, requests: u64) -> Config {
    let limit = format!("name = \"all\"\nrequests = {requests}\nwindow = \"100s\"\nkind = \"rolling\"");
    Config::yard(&provider.base_url()).tuned(|c| c.no_limits().limit_text(&limit).quiet().min_age("1ms"))
}

async fn twenty(provider: &FakeProvider) -> TestApp {
    let app = TestApp::start(declaring(provider, 20)).await;
    app.has_polled("yard", "controller").await;
    app
}

async fn asks(app: &TestApp, times: usize) {
    for _ in 0..times {
        app.operator().refreshes("yard", "controller").await.expect(200);
    }
}

async fn budget(app: &TestApp) -> Value {
    app.connection("yard").await["budget"][0].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn a31_somebody_else_who_spends_on_the_key_is_found_and_our_share_shrinks() {
    let provider = FakeProvider::unlimited().await;
    provider.is(Mode::Counting { total: 20, each: 3 });
    let mut app = twenty(&provider).await;
    asks(&app, 1).await;
    let shown = budget(&app).await;
    assert_eq!((&shown["used"], &shown["foreign"], &shown["remaining"]), (&2.into(), &4.into(), &14.into()));
    let open = app.findings("?open=true").await;
    let [finding] = &open[..] else { panic!("{open:?}") };
    assert_eq!((&finding["kind"], &finding["subject"]), (&"foreign_spending".into(), &"all".into()));
    let sentence = finding["sentence"].as_str().expect("a sentence").to_owned();
    assert!(sentence.contains("at least 4 of the 20"), "how much: {sentence}");
    assert!(app.get("/c/yard").await.body.contains("4 by others"), "the page shows it");

    app.crash().await;
    assert_eq!(budget(&app).await["foreign"], 4, "a crash does not give it back");
    asks(&app, 5).await;
    assert_eq!(budget(&app).await["remaining"], 0);
    let refused = app.operator().refreshes("yard", "controller").await.expect_problem(429);
    assert!(refused["not_before"].is_string(), "exact: {refused}");
    assert_eq!(provider.count(), 7, "thirteen are the other's");
    let finding = &app.findings("?open=true").await[0];
    assert_eq!(finding["count"], 6, "it counts, it does not multiply: {finding}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lower_limit_is_adopted_and_said_and_a_higher_one_is_offered() {
    let provider = FakeProvider::unlimited().await;
    provider.is(Mode::Counting { total: 20, each: 1 });
    let declared = declaring(&provider, 20);
    let taken = Config { environment: declared.environment.clone(), ..declaring(&provider, 500) };
    let mut app = TestApp::start(declared).await;
    app.has_polled("yard", "controller").await;
    let states = async |app: &TestApp, total: u64| {
        provider.is(Mode::Counting { total, each: 1 });
        asks(app, 2).await;
        let shown = budget(app).await;
        let kinds: Vec<Value> = app.findings("?open=true").await.into_iter().map(|f| f["kind"].clone()).collect();
        (shown["requests"].as_u64(), shown["declared"].as_u64(), kinds)
    };
    assert_eq!(states(&app, 20).await, (Some(20), Some(20), vec![]));
    assert_eq!(states(&app, 15).await, (Some(15), Some(20), vec!["lower_limit".into()]));
    assert!(app.get("/c/yard").await.body.contains("20 declared"), "shown beside the declared one");
    app.restart().await;
    assert_eq!(budget(&app).await["requests"], 15, "a restart forgets nothing");
    assert_eq!(states(&app, 20).await, (Some(20), Some(20), vec![]), "lifted, and the finding closed");
    assert_eq!(states(&app, 500).await, (Some(20), Some(20), vec!["higher_limit_offered".into()]), "not taken");
    let offer = &app.findings("?open=true").await[0];
    assert!(offer["detail"].as_str().is_some_and(|d| d.contains("`requests = 500`")), "{offer}");
    assert_eq!(app.findings("").await.len(), 2);
    app.configure(taken);
    app.restart().await;
    let closed = app.findings("?open=true").await;
    assert!(closed.is_empty(), "taken, and nothing says any more that it is not: {closed:?}");
    assert_eq!(states(&app, 500).await, (Some(500), Some(500), vec![]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a22_a_header_of_another_bucket_gives_nothing_back_and_a_foreign_total_teaches_nothing() {
    let provider = FakeProvider::unlimited().await;
    provider.is(Mode::Counting { total: 600, each: 5 });
    let app = twenty(&provider).await;
    asks(&app, 2).await;
    let shown = budget(&app).await;
    assert_eq!((&shown["requests"], &shown["used"], &shown["foreign"]), (&20.into(), &3.into(), &0.into()));
    let findings = app.findings("").await;
    let [offer] = &findings[..] else { panic!("600 is nothing that was declared: {findings:?}") };
    let detail = offer["detail"].as_str().expect("what to do");
    assert_eq!(offer["kind"], "higher_limit_offered", "offered and not taken: {offer}");
    assert!(
        detail.contains("names no limit and no window") && detail.contains("if another"),
        "unclear, and said: {detail}"
    );
}

/// A good answer with nothing left until a reset beyond the window: of a limit that is declared, and of a bucket that nobody declared.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_left_until_a_reset_beyond_the_window_is_waited_for_and_said() {
    let declared = [("x-ratelimit-limit", "20"), ("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "7200")];
    let own = [("ratelimit", "\"search\";r=0;t=7200")];
    for (headers, limit, endpoint) in [(&declared[..], "all", Value::Null), (&own, "search", "/rows".into())] {
        let headers = headers.to_vec();
        let provider = Script::answering(move |_| wire::json(200, &headers, r#"{"rows":[{"id":"1"}]}"#)).await;
        let all = "name = \"all\"\nrequests = 20\nwindow = \"2s\"\nkind = \"rolling\"";
        let body = "[[connection.target]]\nname = \"rows\"\nget = \"/rows\"\nitems = \"$.rows[*]\"\nkey = \"$.id\"\n";
        let shop =
            Connection::plain("shop", &provider.base_url()).limit_text(all).every("1s").min_age("1ms").body(body);
        let mut app = TestApp::start(Config::new().with(shop)).await;
        assert_eq!(app.has_polled("shop", "rows").await["item_count"], 1);
        app.crash().await;
        stays("nobody asks, also after a crash and two windows", 1, secs(5), || provider.asked().len()).await;
        let refused = app.operator().refreshes("shop", "rows").await.expect_problem(429);
        assert!(refused["not_before"].is_string(), "{refused}");
        let view = app.connection("shop").await;
        let hold = if endpoint.is_null() { &view["hold"] } else { &view["endpoint_holds"][0] };
        let rule = format!("no request left of limit \"{limit}\"");
        assert_eq!((&hold["rule"], &hold["endpoint"]), (&rule.as_str().into(), &endpoint), "{view}");
        assert_eq!(hold["reason"], "exhausted", "{view}");
        assert!(view["sentence"].as_str().is_some_and(|s| s.contains(&rule)), "{view}");
        assert_eq!(view["state"], if endpoint.is_null() { "exhausted" } else { "held" }, "{view}");
        let page = app.get("/c/shop").await.expect(200).body;
        assert!(page.contains(limit) && page.contains("no request left"), "{page}");
    }
}
