//! The door of a real appliance: a printed code makes the first operator, a password opens it afterwards, through crashes; and what is in the file
//! opens nothing.

use crate::support::http::Reply;
use crate::support::*;
use serde_json::Value;

const PASSWORD: &str = "four plain words here";

/// A browser somewhere on the network: a request through a proxy is not from this machine.
struct Browser<'a> {
    app: &'a TestApp,
    cookie: Option<String>,
}

impl Browser<'_> {
    fn dressed(&self, ask: Ask) -> Ask {
        let ask = ask.header("x-forwarded-for", "192.0.2.9").header("accept", "text/html");
        match &self.cookie {
            Some(cookie) => ask.header("cookie", cookie),
            None => ask,
        }
    }
    async fn opens(&self, path: &str) -> Reply {
        self.app.send(self.dressed(Ask::get(path))).await
    }
    /// Fills the form of `page` that goes to `action`, and keeps the cookie that it gets.
    async fn sends(&mut self, page: &str, action: &str, fields: &str) -> Reply {
        let html = self.opens(page).await.body;
        let form = html
            .split("<form ")
            .skip(1)
            .find(|f| f.contains(&format!("{action}\"")))
            .unwrap_or_else(|| panic!("{html}"));
        let own = http::own_field(form);
        let origin = format!("http://{}", self.app.address);
        let ask = Ask::post(&format!("/{action}")).form(&format!("csrf={own}&{fields}")).header("origin", &origin);
        let reply = self.app.send(self.dressed(ask)).await;
        if let Some(cookie) = reply.header("set-cookie") {
            self.cookie = cookie.split(';').next().map(str::to_owned);
        }
        reply
    }
    fn secret(&self) -> &str {
        self.cookie.as_deref().and_then(|cookie| cookie.split_once('=')).expect("a cookie").1
    }
}

fn browser(app: &TestApp) -> Browser<'_> {
    Browser { app, cookie: None }
}

/// The newest code that was printed.
fn printed_code(app: &TestApp) -> String {
    let log = app.log();
    let (_, after) = log.rsplit_once("with the code ").unwrap_or_else(|| panic!("no code was printed: {log}"));
    after.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '-').collect()
}

fn form(text: &str) -> String {
    text.replace(' ', "+")
}

async fn claimed(app: &TestApp) -> String {
    let mut ann = browser(app);
    let fields = format!("code={}&name=Ann&password={}", printed_code(app), form(PASSWORD));
    ann.sends("/claim", "claim", &fields).await.expect(303);
    ann.cookie.expect("signed in")
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_operator_claims_the_appliance_and_stays_signed_in_through_a_crash() {
    let provider = FakeProvider::unlimited().await;
    let mut app = TestApp::start(Config::yard(&provider.base_url())).await;
    browser(&app).opens("/").await.expect(401);
    let code = printed_code(&app);
    assert!(app.log().matches(&code).count() >= 2, "on the terminal and in the log");
    let cookie = claimed(&app).await;
    let ann = Browser { app: &app, cookie: Some(cookie.clone()) };
    let page = ann.opens("/c/yard").await.expect(200).body;
    assert!(page.contains(">Ann</a>"), "{page}");
    // A code is good once.
    let again =
        browser(&app).sends("/claim", "claim", &format!("code={code}&name=eve&password=another+one+here")).await;
    assert_eq!((again.status, again.header("set-cookie")), (403, None));

    app.crash().await;
    let ann = Browser { app: &app, cookie: Some(cookie) };
    ann.opens("/c/yard").await.expect(200);
    let log = app.log();
    assert_eq!(log.matches("there is no operator yet").count(), 1, "with an operator nothing is offered: {log}");
    let bytes = std::fs::read(app.data()).expect("the file");
    for text in [PASSWORD, ann.secret(), &code] {
        assert!(secret::find(&bytes, text).is_none(), "it is stored as it is");
        assert!(text == code || !log.contains(text), "it is in the log");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_password_opens_and_signing_out_closes_everywhere() {
    let provider = FakeProvider::unlimited().await;
    let app = TestApp::start(Config::yard(&provider.base_url())).await;
    claimed(&app).await;
    let (mut phone, mut desk) = (browser(&app), browser(&app));
    let fields = |password: &str| format!("name=ann&password={}&next=/c/yard", form(password));
    phone.sends("/sign-in", "sign-in", &fields("four plain words")).await.expect(403);
    let led = phone.sends("/sign-in", "sign-in", &fields(PASSWORD)).await.expect(303);
    assert_eq!(led.header("location"), Some("./c/yard"));
    desk.sends("/sign-in", "sign-in", &fields(PASSWORD)).await.expect(303);
    assert_ne!(phone.secret(), desk.secret());
    let before = phone.cookie.clone();
    phone.sends("/c/yard", "c/yard/polling", "on=false").await.expect(303);
    assert_eq!(app.connection("yard").await["controls"]["enabled"]["set"]["by"], "Ann (page, 127.0.0.1)");
    phone.sends("/settings/operators", "settings/operators/Ann/sign-out", "").await.expect(303);
    for out in [before, desk.cookie] {
        Browser { app: &app, cookie: out }.opens("/c/yard").await.expect(401);
    }
    let told = app.send(Ask::get("/api/v1/activity?kind=access_changed").token(app.token())).await.expect(200).json();
    let told: Vec<&str> =
        told["events"].as_array().into_iter().flatten().filter_map(|e| e["message"].as_str()).collect();
    for said in [
        "Ann became an operator",
        "Ann signed in, from",
        "Ann is signed out everywhere (sessions: 3 \u{2192} 0), by Ann (page",
    ] {
        assert!(told.iter().any(|line| line.contains(said)), "{said}: {told:#?}");
    }
    let anybody = app.get("/api/v1/activity").await.expect(200).body;
    assert!(!anybody.contains("signed in"), "who looks on without a name is not told who came in");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_password_is_set_anew_at_the_machine() {
    let provider = FakeProvider::unlimited().await;
    let mut app = TestApp::start(Config::yard(&provider.base_url())).await;
    let first = claimed(&app).await;
    let reset = async |app: &TestApp, arguments: &[&str]| {
        let said = app.larder_here(&[&["operator", "reset"], arguments].concat()).await.expect(0);
        assert!(said.stderr.contains("/claim"), "{said:?}");
        said.stdout.trim().to_owned()
    };
    let (running, for_ben) = (reset(&app, &[]).await, reset(&app, &["--name", "ben"]).await);
    let claim =
        |code: &str, name: &str| format!("code={}&name={name}&password=other+words+are+here", code.to_lowercase());
    browser(&app).sends("/claim", "claim", &claim(&for_ben, "ann")).await.expect(403);
    browser(&app).sends("/claim", "claim", &claim(&running, "ann")).await.expect(303);
    Browser { app: &app, cookie: Some(first) }.opens("/").await.expect(401);
    let list = app.larder_here(&["operator", "list"]).await.expect(0).stdout;
    assert!(list.contains("Ann") && !list.contains("argon2"), "{list}");

    app.stop().await;
    let stopped = reset(&app, &[]).await;
    assert!(app.larder_here(&["operator", "list", "--json"]).await.expect(0).stdout.contains("\"Ann\""));
    app.boots().await;
    browser(&app).sends("/claim", "claim", &claim(&stopped, "carla")).await.expect(303);
    let list: Value =
        serde_json::from_str(&app.larder_here(&["operator", "list", "--json"]).await.expect(0).stdout).unwrap();
    assert_eq!(list["operators"].as_array().map(Vec::len), Some(2), "{list}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_lets_nobody_in_who_was_signed_in_when_it_was_made() {
    let provider = FakeProvider::unlimited().await;
    let mut app = TestApp::start(Config::yard(&provider.base_url())).await;
    let cookie = claimed(&app).await;
    let copy = app.folder().join("copy.redb");
    app.larder_here(&["backup", &copy.display().to_string()]).await.expect(0);
    app.stop().await;
    std::fs::rename(&copy, app.data()).expect("the test's own folder");
    app.boots().await;
    Browser { app: &app, cookie: Some(cookie) }.opens("/").await.expect(401);
    let signed_in = browser(&app).sends("/sign-in", "sign-in", &format!("name=ann&password={}", form(PASSWORD))).await;
    assert_eq!(signed_in.status, 303, "the password is in it");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_ends_and_says_when_it_was_used() {
    let provider = FakeProvider::unlimited().await;
    let app = TestApp::start(Config::yard(&provider.base_url())).await;
    let create = ["token", "create", "--name", "guest", "--role", "reader", "--expires-in", "2s"];
    let guest = app.larder_here(&create).await.expect(0).stdout.trim().to_owned();
    let read = || app.send(Ask::get("/api/v1/connections").token(&guest));
    read().await.expect(200);
    let tokens = app.send(Ask::get("/api/v1/tokens").token(app.token())).await.expect(200).json();
    let row = tokens["tokens"].as_array().into_iter().flatten().find(|t| t["name"] == "guest").expect("listed").clone();
    assert!(row["used_at"].is_string() && row["expires_at"].is_string(), "{row}");
    tokio::time::sleep(std::time::Duration::from_millis(2500)).await;
    read().await.expect(401);
    app.larder_here(&["token", "create", "--name", "x", "--role", "reader", "--expires-in", "soon"]).await.expect(2);
}
