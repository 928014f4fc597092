//! Who may do what: reading is open on loopback, changes need a token, pages of strangers reach nothing.

use crate::support::*;
use serde_json::json;

const REFRESH: &str = "/api/v1/connections/yard/targets/controller/refresh";
const COMMAND: &str = "/api/v1/connections/yard/commands/run-zone";

async fn quiet_yard(provider: &FakeProvider) -> TestApp {
    let app = TestApp::start(Config::yard(&provider.base_url()).tuned(|c| c.quiet().min_age("1s"))).await;
    app.has_polled("yard", "controller").await;
    app.target_when("yard", "controller", "the answer is 2 s old", |t| t["age_seconds"].as_u64() >= Some(2)).await;
    app
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_needs_a_token() {
    let provider = FakeProvider::unlimited().await;
    let app = quiet_yard(&provider).await;
    let asked = provider.count();
    let zone = json!({"item": "1", "seconds": "10"});
    for ask in [
        Ask::post(REFRESH),
        Ask::post(COMMAND).json(&zone),
        Ask::new("PATCH", "/api/v1/connections/yard").json(&json!({"enabled": false})),
        Ask::post(REFRESH).token("guessed"),
        Ask::post(REFRESH).header("authorization", "Basic Z3Vlc3Nz"),
    ] {
        app.send(ask).await.expect_problem(401);
    }
    assert_eq!(provider.count(), asked, "nothing reached the provider");
    assert_eq!(app.connection("yard").await["enabled"], true);
    app.send(Ask::post(COMMAND).token(app.token()).json(&zone)).await.expect(202);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revoked_token_is_none() {
    let provider = FakeProvider::unlimited().await;
    let mut app = quiet_yard(&provider).await;
    let token = app.new_token("doomed").await;
    let list = app.larder_here(&["token", "list"]).await.expect(0).stdout;
    assert!(list.contains("doomed") && !list.contains(&token), "a list names tokens and shows none: {list}");
    let row = list.lines().find(|l| l.contains("doomed")).expect("just seen");
    let id = row.split(|c: char| !c.is_ascii_digit()).find(|w| !w.is_empty()).expect("a number in the row");
    app.larder_here(&["token", "revoke", id]).await.expect(0);
    app.send(Ask::post(REFRESH).token(&token)).await.expect_problem(401);
    app.crash().await;
    app.send(Ask::post(REFRESH).token(&token)).await.expect_problem(401);
    // Its neighbour still works, after the restart too.
    app.send(Ask::post(COMMAND).token(app.token()).json(&json!({"item": "1", "seconds": "9"}))).await.expect(202);
    let bytes = std::fs::read(app.data()).expect("the file");
    for text in [&token, app.token()] {
        assert!(secret::find(&bytes, text).is_none(), "a token is stored as it is");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_strange_host_is_misdirected() {
    let provider = FakeProvider::unlimited().await;
    let app = quiet_yard(&provider).await;
    let port = app.address.port();
    for host in ["evil.example", "evil.example:80", &format!("127.0.0.1.evil.example:{port}")] {
        for path in ["/", "/api/v1/connections"] {
            let reply = app.send(Ask::get(path).header("host", host)).await;
            assert_eq!(reply.status, 421, "host {host} reads {path}");
        }
    }
    let page = app.send(Ask::get("/").header("host", "attic.example").header("accept", "text/html")).await.expect(421);
    assert!(page.body.contains("attic.example") && page.body.contains("hosts"), "names the line to add: {}", page.body);
    for host in [format!("localhost:{port}"), format!("127.0.0.1:{port}"), format!("[::1]:{port}")] {
        app.send(Ask::get("/").header("host", &host)).await.expect(200);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_of_a_stranger_changes_nothing() {
    let provider = FakeProvider::unlimited().await;
    let app = quiet_yard(&provider).await;
    let asked = provider.count();
    let own = format!("http://{}", app.address);
    for origin in ["http://evil.example", "null", &format!("http://{}", provider.address)] {
        let reply = app.send(Ask::post(REFRESH).token(app.token()).header("origin", origin)).await;
        assert_eq!(reply.status, 403, "origin {origin}: {}", reply.body);
    }
    assert_eq!(provider.count(), asked);
    app.send(Ask::post(REFRESH).token(app.token()).header("origin", &own)).await.expect(200);
    let reply = app.get("/api/v1/connections").await;
    assert!(reply.header("access-control-allow-origin").is_none(), "no other origin may read");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_form_without_its_protection_is_refused() {
    let provider = FakeProvider::unlimited().await;
    let app = quiet_yard(&provider).await;
    let asked = provider.count();
    let form = |body: &str| Ask::post("/c/yard/t/controller/refresh").form(body);
    let token = format!("token={}", app.token());
    for ask in [
        form(&token),
        form(&format!("csrf=guessed&{token}")),
        form("").token(app.token()),
        form(&token).header("origin", "http://evil.example"),
    ] {
        let reply = app.send(ask).await;
        assert!(reply.status == 403 || reply.status == 401, "{} {}", reply.status, reply.body);
    }
    assert_eq!(provider.count(), asked);
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_defend_themselves() {
    let provider = FakeProvider::unlimited().await;
    let app = quiet_yard(&provider).await;
    for path in ["/", "/c/yard", "/c/yard/t/controller", "/c/nowhere"] {
        let reply = app.get(path).await;
        let policy = reply.header("content-security-policy").unwrap_or_default();
        for directive in ["default-src 'none'", "base-uri 'none'", "form-action 'self'", "frame-ancestors"] {
            assert!(policy.contains(directive), "{path}: {directive} is missing in {policy:?}");
        }
        assert!(!policy.contains("unsafe"), "{policy}");
        assert_eq!(reply.header("x-content-type-options"), Some("nosniff"), "{path}");
        assert!(!reply.body.contains(" style=") && !reply.body.contains(" onclick="), "inline code on {path}");
        assert!(reply.body.len() < 50_000, "{path} has {} bytes", reply.body.len());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_provider_says_is_text_on_a_page() {
    let provider = FakeProvider::unlimited().await;
    provider.renames(1, "<script>alert(1)</script>");
    let app = TestApp::start(Config::yard(&provider.base_url()).tuned(|c| c.no_limits().every("1s"))).await;
    app.has_polled("yard", "controller").await;
    let page = app.page("yard", "controller").await;
    assert!(!page.contains("<script>alert"), "{page}");
    assert!(page.contains("alert(1)"), "{page}");
    provider.is(Mode::Json(200, "<img src=x onerror=alert(2)>".to_owned()));
    app.has_charge("yard", "unexpected").await;
    for path in ["/", "/c/yard", "/c/yard/t/controller"] {
        assert!(!app.get(path).await.body.contains("<img src=x"), "{path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_error_of_the_api_is_a_problem() {
    let provider = FakeProvider::unlimited().await;
    let app = quiet_yard(&provider).await;
    let asked = provider.count();
    let post = |path: &str| Ask::post(path).token(app.token());
    let typed = |body: &str| post(COMMAND).header("content-type", "application/json").text(body);
    let refused = [
        (Ask::get("/api/v1/nowhere"), 404..=404),
        (Ask::get("/api/v1/connections/no%20such"), 404..=404),
        (post("/api/v1/connections"), 405..=405),
        (Ask::new("DELETE", REFRESH).token(app.token()), 405..=405),
        (Ask::get("/api/v1/connections/yard/ledger?after=soon"), 400..=400),
        (Ask::get("/api/v1/events").header("last-event-id", "soon"), 400..=400),
        (typed("{\"item\": "), 400..=422),
        (typed("[1, 2]"), 400..=422),
        (typed("{\"item\": {\"deep\": 1}, \"seconds\": \"5\"}"), 400..=422),
        (typed(&format!("{{\"item\": \"{}\"}}", "x".repeat(4 << 20))), 413..=413),
    ];
    for (ask, wanted) in refused {
        let name = format!("{ask:.120?}");
        let reply = app.send(ask).await;
        assert!(wanted.contains(&reply.status), "{} for {}", reply.status, &name[..name.len().min(200)]);
        let status = reply.status;
        reply.expect_problem(status);
    }
    assert_eq!(provider.count(), asked);
}

/// Two of one name could not be told apart when one has to go.
#[tokio::test(flavor = "multi_thread")]
async fn a_tokens_name_is_in_use_once() {
    let provider = FakeProvider::unlimited().await;
    let mut app = TestApp::start(Config::yard(&provider.base_url())).await;
    app.new_token("phone").await;
    let create = ["token", "create", "--name", "phone", "--role", "reader"];
    let said = app.larder_here(&create).await.expect(1);
    assert!(said.stdout.is_empty() && said.stderr.contains("a token named \"phone\""), "{said:?}");
    app.stop().await;
    app.larder_here(&create).await.expect(1);
}
