//! Credentials that renew themselves: one renewal at a time, durable before use, charged, never in a loop, and no token anywhere in
//! sight (A46, A47, A51, A53).

use crate::setup::sends;
use crate::support::operator::job_id;
use crate::support::script::{Asked, Script};
use crate::support::wire::json;
use crate::support::*;
use serde_json::json;
use std::os::unix::fs::PermissionsExt;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

/// A provider with a token endpoint that rotates: each refresh token works once.
#[derive(Clone)]
struct Truth {
    refresh: Arc<Mutex<String>>,
    access: Arc<Mutex<String>>,
    issued: Arc<AtomicU32>,
    expires_in: u32,
    /// The secret of the client that it knows.
    client: Arc<Mutex<String>>,
    /// Answers in place of the usual ones.
    token_answer: Arc<Mutex<Option<Vec<u8>>>>,
}

const CLIENT_SECRET: &str = "client-secret-7f3a91";

impl Truth {
    fn new(expires_in: u32) -> Truth {
        let unique = format!("{}-{:?}", std::process::id(), std::thread::current().id()).replace(['(', ')'], "");
        Truth {
            refresh: Arc::new(Mutex::new(format!("refresh-token-0-{unique}"))),
            access: Arc::new(Mutex::new("no access yet".to_owned())),
            issued: Arc::default(),
            expires_in,
            client: Arc::new(Mutex::new(CLIENT_SECRET.to_owned())),
            token_answer: Arc::default(),
        }
    }
    fn refresh(&self) -> String {
        self.refresh.lock().unwrap().clone()
    }
    fn access(&self) -> String {
        self.access.lock().unwrap().clone()
    }
    fn revokes_access(&self) {
        *self.access.lock().unwrap() = "revoked".to_owned();
    }
    fn answers_tokens(&self, answer: Option<Vec<u8>>) {
        *self.token_answer.lock().unwrap() = answer;
    }

    fn answer(&self, asked: &Asked) -> Vec<u8> {
        if asked.path() == "/token" {
            return self.token(asked);
        }
        if asked.header("authorization") != format!("Bearer {}", self.access()) {
            let words = format!("the token {} is not valid", asked.header("authorization"));
            return json(401, &[], &json!({"error": words}).to_string());
        }
        json(200, &[], &json!({"zones": [{"id": 1, "name": "Lawn"}]}).to_string())
    }

    fn token(&self, asked: &Asked) -> Vec<u8> {
        if let Some(answer) = self.token_answer.lock().unwrap().clone() {
            return answer;
        }
        let form = asked.form();
        let mut refresh = self.refresh.lock().unwrap();
        if form.get("client_secret") != Some(&*self.client.lock().unwrap()) {
            return json(401, &[], &json!({"error": "invalid_client"}).to_string());
        }
        if form.get("refresh_token") != Some(&*refresh) {
            return json(
                400,
                &[],
                &json!({"error": "invalid_grant", "error_description": "unknown or used"}).to_string(),
            );
        }
        let number = self.issued.fetch_add(1, Ordering::SeqCst) + 1;
        *refresh = format!("{}-next{number}", refresh.split("-next").next().unwrap_or_default());
        let access = format!("access-token-{number}-{}", std::process::id());
        *self.access.lock().unwrap() = access.clone();
        let body = json!({"access_token": access, "refresh_token": *refresh, "expires_in": self.expires_in, "token_type": "Bearer"});
        json(200, &[], &body.to_string())
    }
}

async fn provider(truth: &Truth) -> Script {
    let truth = truth.clone();
    Script::answering(move |asked| truth.answer(asked)).await
}

fn connection(name: &str, provider: &Script, more: &str) -> String {
    let base = provider.base_url();
    format!(
        r#"
[[connection]]
name = "{name}"
base_url = "{base}"
refresh_min_age = "0s"
credential = {{ env = "YARD_REFRESH", oauth2 = {{ token_url = "{base}/token", client_id = "larder", client_secret = {{ env = "YARD_CLIENT" }}, auth = "body", rotates = true{more} }} }}
[[connection.limit]]
name = "day"
requests = 500
window = "24h"
kind = "rolling"
[connection.poll]
interval = "1h"
[[connection.target]]
name = "zones"
get = "/zones"
items = "$.zones[*]"
key = "$.id"
"#
    )
}

fn config(truth: &Truth, tables: &[String]) -> Config {
    let mut config = Config { extra: tables.concat(), ..Config::new() };
    config.environment.insert("YARD_REFRESH".to_owned(), truth.refresh());
    config.environment.insert("YARD_CLIENT".to_owned(), CLIENT_SECRET.to_owned());
    config.environment.insert("LARDER_LOG".to_owned(), "debug".to_owned());
    config
}

async fn reads(app: &TestApp, connection: &str) -> serde_json::Value {
    app.operator().refreshes(connection, "zones").await.expect(200).json()
}

/// Nothing that the provider ever handed out is in a file, a page or an answer.
async fn tells_no_token(app: &TestApp, provider: &Script) {
    let tokens = ["access-token-", "-next", CLIENT_SECRET];
    let mut shown = vec![("the log".to_owned(), app.log())];
    for path in [
        "/",
        "/c/yard",
        "/c/yard/t/zones",
        "/api/v1/connections/yard",
        "/api/v1/connections/yard/ledger?after=0",
        "/api/v1/findings",
        "/metrics",
    ] {
        let reply = app.get(path).await;
        shown.push((path.to_owned(), format!("{:?}{}", reply.headers, reply.body)));
    }
    for file in std::fs::read_dir(app.folder()).expect("the folder").flatten() {
        let bytes = std::fs::read(file.path()).unwrap_or_default();
        shown.push((file.path().display().to_string(), String::from_utf8_lossy(&bytes).into_owned()));
    }
    for (place, text) in shown {
        for token in tokens {
            let at = text.find(token).map(|at| text[at.saturating_sub(80)..].chars().take(160).collect::<String>());
            assert!(at.is_none(), "{place} tells a token: {at:?}");
        }
    }
    assert!(!provider.asked().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_comes_while_everything_runs_renews_its_token_once_and_keeps_it() {
    let truth = Truth::new(3600);
    let provider = provider(&truth).await;
    let start = config(&truth, &[]).with(Connection::plain("other", &provider.base_url()).not_polled());
    let written = |tables: &[String]| Config { extra: tables.concat(), ..start.clone() };
    let mut app = TestApp::start(start.clone()).await;
    for name in ["yard", "twin"] {
        app.configure(written(&[connection("yard", &provider, ""), connection("twin", &provider, "")]));
        app.rereads();
        let path = format!("/c/{name}");
        eventually("it is there", SOON, || async { (app.get(&path).await.status == 200).then_some(()) }).await;
        assert_eq!(reads(&app, name).await["target"]["item_count"], 1);
    }
    // Written otherwise, taken away, and there again: the tokens are the file's.
    for tables in
        [vec![connection("yard", &provider, ", scope = \"read\"")], vec![], vec![connection("yard", &provider, "")]]
    {
        app.configure(written(&tables));
        app.rereads();
        let status = if tables.is_empty() { 404 } else { 200 };
        eventually("as written", SOON, || async { (app.get("/c/yard").await.status == status).then_some(()) }).await;
    }
    eventually("it is asked as configured", SOON, || async {
        (app.get("/readyz").await.json()["notes"] == json!([])).then_some(())
    })
    .await;
    reads(&app, "yard").await;
    app.crash().await;
    reads(&app, "yard").await;
    let renewals = provider.asked().iter().filter(|asked| asked.path() == "/token").count();
    assert_eq!(renewals, 1, "{:?}", provider.asked().iter().map(Asked::path).collect::<Vec<_>>());
    tells_no_token(&app, &provider).await;
}

/// Client and refresh token are pasted into the form of a recipe, tried with the renewal's cost told, and kept over a crash.
#[tokio::test(flavor = "multi_thread")]
async fn a_client_is_set_up_in_the_browser_and_shown_nowhere_again() {
    let truth = Truth::new(3600);
    let provider = provider(&truth).await;
    let mut app = TestApp::prepared(Config::new().with(Connection::plain("other", &provider.base_url()).not_polled()));
    let recipes = app.folder().join("recipes");
    std::fs::create_dir_all(&recipes).expect("the test's own folder");
    let base = provider.base_url();
    let recipe = format!(
        "about = \"Zones.\"\nbase_url = \"{base}\"\nrefresh_min_age = \"0s\"\n\
         credential = {{ oauth2 = {{ token_url = \"{base}/token\", auth = \"body\", rotates = true }} }}\n\
         [[limit]]\nname = \"day\"\nrequests = 500\nwindow = \"24h\"\nkind = \"rolling\"\n[poll]\ninterval = \"1h\"\n\
         [[target]]\nname = \"zones\"\nget = \"/zones\"\nitems = \"$.zones[*]\"\nkey = \"$.id\"\n"
    );
    std::fs::write(recipes.join("zones.toml"), recipe).expect("the test's own folder");
    app.boots().await;
    app.makes_a_token().await;
    let refresh = truth.refresh();
    let form =
        [("name", "yard"), ("client_id", "larder"), ("client_secret", CLIENT_SECRET), ("secret", refresh.as_str())];
    sends(&app, "/setup/zones", "/setup/zones", &form).await.expect(303);
    let trial = || async { app.get("/c/yard/setup").await.expect(200).body.replace('\u{a0}', " ") };
    let page = trial().await;
    assert!(page.contains("Uses 2 of 500 that are left of day"), "the renewal is told: {page}");
    // The tokens of a client are one connection's.
    let twin =
        [("name", "twin"), ("client_id", "larder"), ("client_secret", CLIENT_SECRET), ("secret", "another-token")];
    let refused = sends(&app, "/setup/zones", "/setup/zones", &twin).await.expect(422).body;
    assert!(refused.contains("connection yard has tokens of this client already"), "{refused}");

    sends(&app, "/c/yard/setup", "/c/yard/setup/test", &[("target", "zones")]).await.expect(303);
    let page = trial().await;
    assert!(page.contains("1 item") && page.contains("Uses 1 of 498"), "{page}");
    sends(&app, "/c/yard/setup", "/c/yard/setup/save", &[]).await.expect(303);
    app.has_polled("yard", "zones").await;
    app.crash().await;
    assert_eq!(reads(&app, "yard").await["target"]["item_count"], 1);
    let renewals = provider.asked().iter().filter(|asked| asked.path() == "/token").count();
    assert_eq!(renewals, 1, "the tokens of before the crash are the file's");
    tells_no_token(&app, &provider).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a46_a47_a_token_is_renewed_once_kept_over_a_crash_and_shown_to_nobody() {
    let truth = Truth::new(3600);
    let provider = provider(&truth).await;
    let mut app = TestApp::start(config(&truth, &[connection("yard", &provider, "")])).await;
    assert_eq!(reads(&app, "yard").await["target"]["item_count"], 1);
    let asked = provider.asked();
    assert_eq!(asked.iter().map(Asked::path).collect::<Vec<_>>(), ["/token", "/zones"]);
    assert_eq!(
        (asked[0].method.as_str(), asked[0].header("content-type")),
        ("POST", "application/x-www-form-urlencoded")
    );
    let ledger = app.ledger("yard").await;
    assert_eq!(ledger.len(), 2, "the renewal is charged: {ledger:#?}");
    assert_eq!(ledger[0]["endpoint"], format!("{}/token", provider.base_url()));
    assert_eq!(app.connection("yard").await["budget"][0]["used"], 2);

    // Law 6: neither a crash nor a restart costs a renewal.
    app.crash().await;
    reads(&app, "yard").await;
    app.restart().await;
    reads(&app, "yard").await;
    assert_eq!(provider.asked_of("/token").len(), 1);
    let key = app.folder().join("larder.key");
    assert_eq!(std::fs::metadata(&key).expect("the key file").permissions().mode() & 0o777, 0o600);
    tells_no_token(&app, &provider).await;

    // The provider quotes the token in its refusal: it is learned at run time, and redacted all the same.
    truth.revokes_access();
    truth.answers_tokens(Some(json(503, &[("retry-after", "600")], "{}")));
    app.operator().refreshes("yard", "zones").await.expect(429);
    tells_no_token(&app, &provider).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a53_a_rejected_token_is_renewed_once_and_the_request_repeated_once() {
    let truth = Truth::new(3600);
    let provider = provider(&truth).await;
    let app = TestApp::start(config(&truth, &[connection("yard", &provider, ", charged = false")])).await;
    reads(&app, "yard").await;
    truth.revokes_access();
    assert_eq!(reads(&app, "yard").await["refreshed"], true);
    let paths: Vec<String> = provider.asked().iter().map(|a| a.path().to_owned()).collect();
    assert_eq!(paths, ["/token", "/zones", "/zones", "/token", "/zones"]);
    let outcomes: Vec<_> =
        app.ledger("yard").await.iter().map(|c| c["outcome"].as_str().unwrap_or_default().to_owned()).collect();
    assert_eq!(outcomes, ["data", "data", "credential_rejected", "data", "data"]);
    assert_eq!(
        app.connection("yard").await["budget"][0]["used"],
        3,
        "renewals that the provider does not count are not in its budget"
    );

    // A provider that rejects every token is asked twice, then left alone; the good answer stays.
    *truth.access.lock().unwrap() = "never".to_owned();
    truth.answers_tokens(Some(json(200, &[], r#"{"access_token":"access-token-bad","expires_in":3600}"#)));
    let before = provider.asked().len();
    app.operator().refreshes("yard", "zones").await;
    let after: Vec<_> = provider.asked().iter().skip(before).map(|a| a.path().to_owned()).collect();
    assert_eq!(after, ["/zones", "/token", "/zones"]);
    app.connection_when("yard", "it is held", |c| c["hold"]["reason"] == "credential_rejected").await;
    app.operator().refreshes("yard", "zones").await.expect(429);
    assert_eq!(provider.asked().len(), before + 3);
    assert_eq!(app.target("yard", "zones").await["item_count"], 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_refresher_serves_all_connections_of_the_credential() {
    let truth = Truth::new(3600);
    let provider = provider(&truth).await;
    let names = ["yard", "back", "side", "roof"];
    let tables: Vec<String> = names.iter().map(|name| connection(name, &provider, "")).collect();
    let app = TestApp::start(config(&truth, &tables)).await;
    let all = names.map(|name| reads(&app, name));
    for read in futures_util::future::join_all(all).await {
        assert_eq!(read["target"]["item_count"], 1);
    }
    assert_eq!(provider.asked_of("/token").len(), 1, "a second use of a rotating token would have been its end");
    let used = app.connection("roof").await["budget"][0]["used"].as_u64();
    assert_eq!(used, Some(5), "one budget");
    truth.revokes_access();
    futures_util::future::join_all(names.map(|name| reads(&app, name))).await;
    assert_eq!(provider.asked_of("/token").len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dead_refresh_token_is_a_finding_and_a_new_one_goes_on_with_the_same_budget() {
    let truth = Truth::new(3600);
    let provider = provider(&truth).await;
    let tables = [connection("yard", &provider, "")];
    let mut app = TestApp::start(config(&truth, &tables)).await;
    reads(&app, "yard").await;
    let used = app.connection("yard").await["budget"][0]["used"].as_u64().expect("a number");

    // A crash between the answer and its commit looks like this from the next start on: the token was used, nobody has the next.
    *truth.refresh.lock().unwrap() = "granted-anew".to_owned();
    truth.revokes_access();
    let refused = app.operator().refreshes("yard", "zones").await.expect(429).body;
    assert!(refused.contains("unknown or used"), "the provider's words: {refused}");
    let held = app.connection("yard").await;
    assert_eq!(
        (held["state"].as_str(), held["hold"]["reason"].as_str()),
        (Some("credential_rejected"), Some("credential_rejected"))
    );
    let findings = app.findings("").await;
    let finding =
        findings.iter().find(|f| f["kind"] == "credential_reauthorize").unwrap_or_else(|| panic!("{findings:#?}"));
    assert!(
        finding["sentence"].as_str().is_some_and(|s| s.contains("stopped in the middle of a renewal")),
        "{finding}"
    );
    assert!(app.get("/c/yard").await.body.contains("Put a new refresh token"), "the page says what to do");
    let asked = provider.asked().len();
    app.restart().await;
    app.operator().refreshes("yard", "zones").await.expect(429);
    assert_eq!(provider.asked().len(), asked, "the hold is durable, and nobody knocks");

    app.stop().await;
    app.configure(config(&truth, &tables));
    app.boots().await;
    assert_eq!(reads(&app, "yard").await["target"]["item_count"], 1);
    let now = app.connection("yard").await["budget"][0]["used"].as_u64().expect("a number");
    assert!(now > used + 2, "the same account, the same budget: {used}, then {now}");
    assert_eq!(app.history("yard", "zones").await.len(), 1);
    let open = app.findings("").await;
    assert!(
        open.iter().filter(|f| f["kind"] == "credential_reauthorize").all(|f| !f["closed_at"].is_null()),
        "{open:#?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_whose_token_is_neither_accepted_nor_renewed_was_not_carried_out() {
    let truth = Truth::new(3600);
    let provider = provider(&truth).await;
    let command = "[[connection.command]]\nname = \"open\"\nget = \"/open\"\nretry = \"never\"\n";
    let app = TestApp::start(config(&truth, &[connection("yard", &provider, "") + command])).await;
    reads(&app, "yard").await;
    *truth.refresh.lock().unwrap() = "granted-anew".to_owned();
    truth.revokes_access();
    let accepted = app.operator().commands("yard", "open", &json!({}), None).await.expect(202).json();
    let job = app.operator().sees_job(job_id(&accepted), "failed").await;
    let message = job["message"].as_str().unwrap_or_default();
    assert!(message.starts_with("not carried out: the access token is not accepted any more"), "{job}");
    assert!(message.contains("unknown or used") && !message.contains("redirected"), "{job}");
}

/// Holds so short that a test can wait for their end, and so long that nobody reaches the endpoint meanwhile.
const SHORT_WAITS: &str = "[connection.waits]\nfloor = \"1s\"\ndefault = \"3s\"\nceiling = \"3s\"\n";

/// Asked again and again, until the hold is over.
async fn reads_again(app: &TestApp, connection: &str) -> serde_json::Value {
    eventually("it is answered again", SOON, || async {
        let reply = app.operator().refreshes(connection, "zones").await;
        (reply.status == 200).then(|| reply.json())
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_endpoint_in_trouble_clears_nothing_and_is_not_hammered() {
    let truth = Truth::new(3600);
    let provider = provider(&truth).await;
    let mut app = TestApp::start(config(&truth, &[connection("yard", &provider, "") + SHORT_WAITS])).await;
    reads(&app, "yard").await;
    for trouble in [
        Vec::new(),
        json(500, &[], "{}"),
        json(429, &[("retry-after", "3600")], r#"{"error":"invalid_grant"}"#),
        json(200, &[], "{}"),
    ] {
        let (stored, said) = (truth.refresh(), String::from_utf8_lossy(&trouble).into_owned());
        truth.revokes_access();
        truth.answers_tokens(Some(trouble));
        let before = provider.asked_of("/token").len();
        eventually("the ramp after the hold before lets it ask", SOON, || async {
            app.operator().refreshes("yard", "zones").await.expect(429);
            (provider.asked_of("/token").len() > before).then_some(())
        })
        .await;
        assert_eq!(provider.asked_of("/token").len(), before + 1, "it was in trouble: {said}");
        app.operator().refreshes("yard", "zones").await.expect(429);
        assert_eq!(provider.asked_of("/token").len(), before + 1, "and is left alone: {said}");
        if app.connection("yard").await["hold"].is_null() {
            panic!("it is held");
        }
        truth.answers_tokens(None);
        assert_eq!(reads_again(&app, "yard").await["target"]["item_count"], 1);
        let asked = provider.asked_of("/token");
        let sent: Vec<_> = asked.iter().skip(before).map(|a| a.form()["refresh_token"].clone()).collect();
        assert_eq!(sent, [stored.clone(), stored], "the stored token is the one that works: {said}");
    }
    let findings = app.findings("").await;
    assert!(findings.iter().all(|f| f["kind"] != "credential_reauthorize"), "{findings:#?}");
    app.crash().await;
    tells_no_token(&app, &provider).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wait_above_the_ceiling_that_the_token_endpoint_states_is_found_until_it_is_over() {
    for trouble in [json(429, &[("retry-after", "3600")], "{}"), json(503, &[("retry-after", "3600")], "{}")] {
        let truth = Truth::new(3600);
        let provider = provider(&truth).await;
        let tables = ["yard", "back"].map(|name| connection(name, &provider, "") + SHORT_WAITS);
        let app = TestApp::start(config(&truth, &tables)).await;
        for name in ["yard", "back"] {
            reads(&app, name).await;
        }
        truth.revokes_access();
        truth.answers_tokens(Some(trouble));
        app.operator().refreshes("yard", "zones").await.expect(429);
        let open = app.findings("?open=true").await;
        let [finding] = &open[..] else { panic!("{open:#?}") };
        assert_eq!(finding["kind"], "wait_above_ceiling", "{finding}");
        assert!(finding["sentence"].as_str().is_some_and(|s| s.contains("asks us to wait 1 h")), "{finding}");
        truth.answers_tokens(None);
        reads_again(&app, "back").await;
        assert_eq!(app.findings("?open=true").await, Vec::<serde_json::Value>::new(), "whoever of them is answered");
        assert_eq!(app.findings("").await.len(), 1, "kept, and closed");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hold_tells_what_the_token_endpoint_said_and_nothing_that_it_did_not() {
    for (answer, rule, said, sentence) in [
        (
            json(200, &[], r#"{"access_token":""}"#),
            "status 200 without a token that can be used",
            None,
            "gave no access token",
        ),
        (
            json(400, &[], r#"{"error":"invalid_grant"}"#),
            "the refresh token is not accepted",
            Some("invalid_grant"),
            "refused",
        ),
    ] {
        let truth = Truth::new(3600);
        truth.answers_tokens(Some(answer));
        let provider = provider(&truth).await;
        let app = TestApp::start(config(&truth, &[connection("yard", &provider, "")])).await;
        app.operator().refreshes("yard", "zones").await.expect(429);
        let shown = app.connection("yard").await;
        assert_eq!(shown["hold"]["rule"], format!("token endpoint: {rule}"), "{shown:#}");
        assert_eq!(shown["hold"]["said"].as_str(), said, "{shown:#}");
        assert!(shown["sentence"].as_str().unwrap_or_default().contains(sentence), "{shown:#}");
    }
}

/// What no key file has to do with: ledger, budget, history and the shelf.
async fn kept(app: &TestApp) -> serde_json::Value {
    let (target, connection) = (app.target("yard", "zones").await, app.connection("yard").await);
    json!({
        "ledger": app.ledger("yard").await,
        "used": connection["budget"][0]["used"],
        "history": app.history("yard", "zones").await,
        "items": target["items"],
        "as_of": target["as_of"],
    })
}

/// Where it asks a person, and whether it holds still.
async fn asks_for_the_credential(app: &TestApp) -> serde_json::Value {
    app.operator().refreshes("yard", "zones").await.expect(429);
    let hold = app.connection("yard").await["hold"].clone();
    assert_eq!(hold["reason"], "credential_rejected", "{hold}");
    let open = app.findings("?open=true").await;
    let [finding] = &open[..] else { panic!("{open:#?}") };
    assert_eq!(finding["kind"], "credential_reauthorize", "{finding}");
    finding.clone()
}

/// Starts twice more: nobody is asked, the same finding is open, and nothing was lost.
async fn stays_so_over_restarts(app: &mut TestApp, provider: &Script) {
    let (asked, finding, before) = (provider.asked().len(), asks_for_the_credential(app).await, kept(app).await);
    for crash in [false, true] {
        if crash {
            app.crash().await;
        } else {
            app.restart().await;
        }
        assert_eq!(asks_for_the_credential(app).await["id"], finding["id"], "it was never closed");
        assert_eq!(provider.asked().len(), asked, "nobody knocks");
        assert_eq!(kept(app).await, before);
    }
    let closed: Vec<_> = app.findings("").await.into_iter().filter(|f| !f["closed_at"].is_null()).collect();
    assert!(closed.iter().all(|f| f["id"].as_u64() < finding["id"].as_u64()), "{closed:#?}");
}

/// Stops it, and gives what it had.
async fn loses_its_key(app: &mut TestApp) -> Vec<u8> {
    app.stop().await;
    let key = app.folder().join("larder.key");
    let kept = std::fs::read(&key).expect("the key file");
    std::fs::remove_file(&key).expect("the key file");
    kept
}

/// Another refresh token is configured at its next start.
async fn is_given(app: &mut TestApp, refresh: &str, mut config: Config) {
    app.stop().await;
    config.environment.insert("YARD_REFRESH".to_owned(), refresh.to_owned());
    app.configure(config);
    app.boots().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_key_asks_for_the_credential_again_and_loses_nothing_else() {
    let truth = Truth::new(3600);
    let provider = provider(&truth).await;
    let mut app = TestApp::start(config(&truth, &[connection("yard", &provider, "")])).await;
    reads(&app, "yard").await;
    let (configured, before, asked) = (truth.refresh(), kept(&app).await, provider.asked().len());
    let key = loses_its_key(&mut app).await;
    app.boots().await;
    eventually("it says that the key is another one", SOON, || async {
        app.log().contains("cannot be opened with the key file").then_some(())
    })
    .await;
    assert_eq!(app.target("yard", "zones").await["item_count"], 1, "the shelf is whole");
    app.connection_when("yard", "it is held before anybody wants anything", |c| !c["hold"].is_null()).await;
    app.operator().refreshes("yard", "zones").await.expect(429);
    assert_ne!(configured, app.secret(), "the configured token was used up long ago");
    assert_eq!(provider.asked().len(), asked, "so it is not sent: it could be the end of the one that lives");
    let page = app.get("/c/yard").await.body;
    assert!(
        page.contains("Put the old key file back") && page.contains("granted anew"),
        "and the page says so: {page}"
    );
    assert!(page.contains("it is not sent again") && !page.contains("refused the credential"), "{page}");
    stays_so_over_restarts(&mut app, &provider).await;
    assert_eq!(kept(&app).await, before);

    // The key is found: nothing waits for the end of a hold.
    app.stop().await;
    std::fs::write(app.folder().join("larder.key"), key).expect("the key file");
    app.boots().await;
    assert_eq!(app.connection("yard").await["hold"], serde_json::Value::Null);
    assert_eq!(reads(&app, "yard").await["target"]["item_count"], 1);
    let open = app.findings("?open=true").await;
    assert!(open.iter().all(|f| f["kind"] != "credential_reauthorize"), "{open:#?}");
    truth.revokes_access();
    assert_eq!(reads(&app, "yard").await["refreshed"], true, "and the token that was sealed lives");
    assert_eq!(provider.asked_of("/token").last().map(|a| a.form()["refresh_token"].clone()), Some(configured));
    tells_no_token(&app, &provider).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_the_key_each_new_token_is_tried_once_until_one_is_accepted() {
    let truth = Truth::new(3600);
    let provider = provider(&truth).await;
    let config = config(&truth, &[connection("yard", &provider, "")]).by_hand();
    let mut app = TestApp::start(config.clone()).await;
    reads(&app, "yard").await;
    let (history, used) = (app.history("yard", "zones").await, app.ledger("yard").await.len());
    loses_its_key(&mut app).await;
    app.boots().await;
    is_given(&mut app, "not-even-a-token", config.clone()).await;
    assert_eq!(app.findings("?open=true").await.len(), 0, "there is another one to be tried");
    app.operator().refreshes("yard", "zones").await.expect(429);
    assert_eq!(provider.asked_of("/token").len(), 2);
    stays_so_over_restarts(&mut app, &provider).await;

    *truth.refresh.lock().unwrap() = "granted-anew".to_owned();
    is_given(&mut app, "granted-anew", config.clone()).await;
    assert_eq!(reads(&app, "yard").await["target"]["item_count"], 1);
    assert_eq!(app.findings("?open=true").await.len(), 0);
    assert_eq!(app.history("yard", "zones").await, history);
    let ledger = app.ledger("yard").await;
    assert_eq!(ledger.len(), used + 3, "one rejection, one grant, one read: {ledger:#?}");
    assert_eq!(app.connection("yard").await["budget"][0]["used"], used + 3, "in the same budget");
    for _ in 0..2 {
        app.restart().await;
        reads(&app, "yard").await;
    }
    assert_eq!(provider.asked_of("/token").len(), 3, "the new tokens are opened with the new key");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_the_key_a_token_that_nothing_replaced_is_tried_once() {
    let truth = Truth::new(3600);
    let provider = provider(&truth).await;
    let table = connection("yard", &provider, "").replace("rotates = true", "rotates = false");
    let refresh = truth.refresh();
    let grant = json!({"access_token": "access-token-kept", "expires_in": 3600});
    *truth.access.lock().unwrap() = "access-token-kept".to_owned();
    truth.answers_tokens(Some(json(200, &[], &grant.to_string())));
    let mut app = TestApp::start(config(&truth, &[table])).await;
    reads(&app, "yard").await;
    let key = loses_its_key(&mut app).await;
    truth.answers_tokens(Some(json(400, &[], r#"{"error":"invalid_grant"}"#)));
    app.boots().await;
    assert_eq!(app.connection("yard").await["hold"], serde_json::Value::Null);
    app.operator().refreshes("yard", "zones").await.expect(429);
    let sent: Vec<_> = provider.asked_of("/token").iter().map(|a| a.form()["refresh_token"].clone()).collect();
    assert_eq!(sent, [refresh.clone(), refresh], "it is the one that lives");
    stays_so_over_restarts(&mut app, &provider).await;

    app.stop().await;
    std::fs::write(app.folder().join("larder.key"), key).expect("the key file");
    app.boots().await;
    assert_eq!(reads(&app, "yard").await["refreshed"], true, "a failed renewal has cleared nothing");
    assert_eq!(provider.asked_of("/token").len(), 2);
    assert_eq!(app.findings("?open=true").await.len(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_was_rejected_without_the_key_stays_so_when_the_key_is_back() {
    let truth = Truth::new(3600);
    let provider = provider(&truth).await;
    let config = config(&truth, &[connection("yard", &provider, "")]);
    let right = truth.refresh();
    let mut app = TestApp::start(config.clone()).await;
    reads(&app, "yard").await;
    let key = loses_its_key(&mut app).await;
    app.boots().await;
    is_given(&mut app, "not-even-a-token", config.clone()).await;
    app.operator().refreshes("yard", "zones").await.expect(429);
    assert_eq!(provider.asked_of("/token").len(), 2);
    let lost = asks_for_the_credential(&app).await;
    assert!(lost["sentence"].as_str().is_some_and(|s| s.contains("Put the old key file back")), "{lost}");

    app.stop().await;
    std::fs::write(app.folder().join("larder.key"), key).expect("the key file");
    app.boots().await;
    let wrong = asks_for_the_credential(&app).await;
    assert!(wrong["sentence"].as_str().is_some_and(|s| !s.contains("key file")), "it is back: {wrong}");
    stays_so_over_restarts(&mut app, &provider).await;
    is_given(&mut app, &right, config).await;
    assert_eq!(reads(&app, "yard").await["refreshed"], true);
    assert_eq!(provider.asked_of("/token").len(), 2, "with the tokens that were stored all the while");
    assert_eq!(app.findings("?open=true").await.len(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_token_is_tried_once_and_the_one_before_it_goes_on_where_it_was() {
    let truth = Truth::new(3600);
    let provider = provider(&truth).await;
    let config = config(&truth, &[connection("yard", &provider, "")]);
    let right = truth.refresh();
    let mut app = TestApp::start(config.clone()).await;
    reads(&app, "yard").await;
    is_given(&mut app, "not-even-a-token", config.clone()).await;
    app.operator().refreshes("yard", "zones").await.expect(429);
    assert_eq!(provider.asked_of("/token").len(), 2);
    stays_so_over_restarts(&mut app, &provider).await;
    is_given(&mut app, &right, config).await;
    assert_eq!(app.connection("yard").await["hold"], serde_json::Value::Null);
    assert_eq!(reads(&app, "yard").await["refreshed"], true);
    assert_eq!(provider.asked_of("/token").len(), 2, "with the token that was stored all the while");
    assert_eq!(app.findings("?open=true").await.len(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_lives_for_a_few_seconds_serves_until_it_is_nearly_over() {
    let truth = Truth::new(20);
    let provider = provider(&truth).await;
    let app = TestApp::start(config(&truth, &[connection("yard", &provider, "")])).await;
    for _ in 0..4 {
        reads(&app, "yard").await;
    }
    assert_eq!(provider.asked_of("/token").len(), 1, "no renewal for each request: {:?}", provider.asked());
}

/// Another refresh token is in the environment file, and SIGHUP has it read: the next renewal goes out with it.
#[tokio::test(flavor = "multi_thread")]
async fn a_refresh_token_that_is_granted_anew_is_taken_at_sighup() {
    let truth = Truth::new(3600);
    let provider = provider(&truth).await;
    let keys = tempfile::tempdir().expect("a temporary folder");
    let file = keys.path().join("keys.env");
    let says = |refresh: &str| {
        std::fs::write(&file, format!("YARD_REFRESH={refresh}\nYARD_CLIENT={CLIENT_SECRET}\n"))
            .expect("the test's own folder");
    };
    says(&truth.refresh());
    let mut config = config(&truth, &[connection("yard", &provider, "")]);
    config.server.push(format!("environment_file = \"{}\"", file.display()));
    let mut app = TestApp::start(config).await;
    reads(&app, "yard").await;
    let granted = format!("granted-anew-{}", std::process::id());
    *truth.refresh.lock().unwrap() = granted.clone();
    truth.revokes_access();
    let refused = app.operator().refreshes("yard", "zones").await;
    assert!(refused.status != 200 || refused.json()["target"]["trouble"] != serde_json::Value::Null, "{refused:?}");
    app.is_given(&granted);
    says(&granted);
    app.rereads();
    eventually("it is read, and does", SOON, || async {
        let reply = app.operator().refreshes("yard", "zones").await;
        let with_it = provider.asked_of("/token").iter().any(|a| a.form().get("refresh_token") == Some(&granted));
        (reply.status == 200 && with_it).then_some(())
    })
    .await;
    assert_eq!(reads(&app, "yard").await["target"]["item_count"], 1);
    tells_no_token(&app, &provider).await;
}

/// The provider has another secret of the client, and SIGHUP has it read: who asks through the gateway is answered again.
#[tokio::test(flavor = "multi_thread")]
async fn another_client_secret_is_taken_at_sighup_for_clients_of_the_gateway() {
    let truth = Truth::new(3600);
    let provider = provider(&truth).await;
    let keys = tempfile::tempdir().expect("a temporary folder");
    let file = keys.path().join("keys.env");
    let refresh = truth.refresh();
    let says = |client: &str| {
        std::fs::write(&file, format!("YARD_REFRESH={refresh}\nYARD_CLIENT={client}\n"))
            .expect("the test's own folder");
    };
    says(CLIENT_SECRET);
    let mut config = config(&truth, &[connection("yard", &provider, "")]).by_hand();
    config.server.push(format!("environment_file = \"{}\"", file.display()));
    let mut app = TestApp::start(config).await;
    app.get("/gateway/yard/x/1").await.expect(200);

    let changed = format!("client-secret-changed-{}", std::process::id());
    *truth.client.lock().unwrap() = changed.clone();
    truth.revokes_access();
    let refused = app.get("/gateway/yard/x/2").await;
    assert!(refused.status >= 400, "neither its token nor its secret is known any more: {refused:?}");
    app.is_given(&changed);
    says(&changed);
    app.rereads();
    eventually("the new secret is used", SOON, || async {
        let answered = app.get("/gateway/yard/x/3").await.status == 200;
        let with_it = provider.asked_of("/token").iter().any(|a| a.form().get("client_secret") == Some(&changed));
        (answered && with_it).then_some(())
    })
    .await;
    tells_no_token(&app, &provider).await;
}
