//! The web room as its visitors meet it: whole requests through the router, before a hand-made shelf.

use super::sample::{self, NOW, Sample, ago};
use super::*;
use crate::engine::view::Denied;
use axum::body::Body;
use axum::http::{HeaderMap, Method, Request, StatusCode, header};
use axum::response::Response;
use http_body_util::BodyExt;
use serde_json::Value;
use tower::ServiceExt;

/// A site before a sample, and what a visitor sends by default.
pub struct Site {
    pub sample: Arc<Sample>,
    pub state: WebState,
}

impl Site {
    pub fn at(listener: Listener, sample: Sample) -> Site {
        let sample = Arc::new(sample);
        let access = Access { listener, hosts: vec!["larder.example".to_owned()] };
        let zone = TimeZone::get("Europe/Zurich").unwrap();
        let state = WebState::over(Arc::clone(&sample) as Arc<dyn Shelf>, access, zone, CancellationToken::new());
        Site { sample, state }
    }
    pub fn loopback(sample: Sample) -> Site {
        Site::at(Listener::Loopback, sample)
    }
    pub async fn send(&self, request: Request<Body>) -> Response {
        router(self.state.clone()).oneshot(request).await.unwrap()
    }
    pub async fn get(&self, path: &str) -> Response {
        self.send(ask(Method::GET, path, &[]).body(Body::empty()).unwrap()).await
    }
    pub async fn page(&self, path: &str) -> String {
        text(self.send(ask(Method::GET, path, &[("accept", "text/html")]).body(Body::empty()).unwrap()).await).await
    }
    /// Loads the page, and sends its form for `action` with these values.
    pub async fn fill(&self, page: &str, action: &str, values: &[(&str, &str)]) -> Response {
        let html = self.page(page).await;
        let form = html.split("<form ").find(|f| f.contains(&format!("{action}\""))).expect("the page has that form");
        let hidden = |name: &str| {
            let at = form.split(&format!("name=\"{name}\" value=\"")).nth(1)?;
            Some(at.split('"').next()?.to_owned())
        };
        let mut fields: Vec<String> =
            ["csrf", "once"].into_iter().filter_map(|n| Some(format!("{n}={}", pages::segment(&hidden(n)?)))).collect();
        fields.extend(values.iter().map(|(k, v)| format!("{k}={}", pages::segment(v))));
        let request = ask(Method::POST, &format!("/{action}"), &[
            ("accept", "text/html"),
            ("origin", "http://127.0.0.1:8474"),
            ("content-type", "application/x-www-form-urlencoded"),
        ]);
        self.send(request.body(Body::from(fields.join("&"))).unwrap()).await
    }
}

pub fn ask(method: Method, path: &str, headers: &[(&str, &str)]) -> axum::http::request::Builder {
    let mut builder = Request::builder().method(method).uri(path).header(header::HOST, "127.0.0.1:8474");
    for (name, value) in headers {
        builder = builder.header(*name, *value);
    }
    builder
}

pub async fn text(response: Response) -> String {
    String::from_utf8(response.into_body().collect().await.unwrap().to_bytes().to_vec()).unwrap()
}

async fn json(response: Response) -> Value {
    serde_json::from_str(&text(response).await).unwrap()
}

async fn pretty(response: Response) -> String {
    serde_json::to_string_pretty(&json(response).await).unwrap()
}

fn head<'a>(headers: &'a HeaderMap, name: &str) -> &'a str {
    headers.get(name).map_or("", |v| v.to_str().unwrap())
}

// ---- access

#[tokio::test]
async fn the_access_table() {
    use Listener::{Local, Loopback, Network};
    let bearer = |t: &str| format!("Bearer {t}");
    // (listener, token, read, change)
    for (listener, token, read, change) in [
        (Loopback, "", 200, 401),
        (Loopback, "wrong", 401, 401),
        (Loopback, "revoked-token", 401, 401),
        (Loopback, "reader-token", 200, 403),
        (Loopback, "agent-token", 403, 403),
        (Loopback, "owner-token", 200, 200),
        (Loopback, "admin-token", 200, 200),
        (Loopback, "north-token", 403, 403),
        (Network, "", 401, 401),
        (Network, "wrong", 401, 401),
        (Network, "reader-token", 200, 403),
        (Network, "agent-token", 403, 403),
        (Network, "owner-token", 200, 200),
        (Network, "admin-token", 200, 200),
        (Network, "north-token", 403, 403),
        (Local, "", 200, 200),
        (Local, "wrong", 200, 200),
    ] {
        let site = Site::at(listener, Sample::calm());
        for (method, body, expected) in [(Method::GET, "", read), (Method::PATCH, "{\"enabled\":false}", change)] {
            let mut headers = vec![("content-type", "application/json")];
            let value = bearer(token);
            if !token.is_empty() {
                headers.push(("authorization", &value));
            }
            let path = "/api/v1/connections/yard?organization=default";
            let response = site.send(ask(method.clone(), path, &headers).body(Body::from(body)).unwrap()).await;
            assert_eq!(response.status().as_u16(), expected, "{listener:?} {token:?} {method}");
            let changed = !site.sample.asked().is_empty();
            assert_eq!(changed, method == Method::PATCH && expected == 200, "{listener:?} {token:?} {method}");
        }
    }
}

#[tokio::test]
async fn a_browser_on_the_network_is_asked_and_the_token_is_its_password() {
    let site = Site::at(Listener::Network, Sample::calm());
    let refused = site.get("/").await;
    assert_eq!(refused.status(), StatusCode::UNAUTHORIZED);
    let challenges: Vec<_> = refused.headers().get_all("www-authenticate").iter().map(|v| v.to_str().unwrap()).collect();
    assert!(challenges.iter().any(|c| c.starts_with("Basic ")), "{challenges:?}");
    // "me:reader-token"
    let request = ask(Method::GET, "/", &[("authorization", "Basic bWU6cmVhZGVyLXRva2Vu")]);
    assert_eq!(site.send(request.body(Body::empty()).unwrap()).await.status(), StatusCode::OK);
    let loopback = Site::loopback(Sample::calm());
    let refused = loopback.send(ask(Method::DELETE, "/", &[]).body(Body::empty()).unwrap()).await;
    assert!(!refused.headers().get_all("www-authenticate").iter().any(|v| v.as_bytes().starts_with(b"Basic")));
}

#[tokio::test]
async fn what_a_proxy_forwards_is_not_from_this_machine() {
    let site = Site::loopback(Sample::calm());
    let request = ask(Method::GET, "/", &[("x-forwarded-for", "203.0.113.9")]);
    assert_eq!(site.send(request.body(Body::empty()).unwrap()).await.status(), StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn probes_and_styles_are_open_and_tell_nothing() {
    let site = Site::at(Listener::Network, Sample::calm());
    assert_eq!(site.get("/livez").await.status(), StatusCode::OK);
    assert_eq!(text(site.get("/readyz").await).await, "{\"ready\":true}");
    assert_eq!(site.get("/static/app.css").await.status(), StatusCode::OK);
    assert_eq!(site.get("/metrics").await.status(), StatusCode::UNAUTHORIZED);
    assert_eq!(site.get("/static/../metrics").await.status(), StatusCode::NOT_FOUND);
    assert_eq!(json(Site::loopback(Sample::calm()).get("/readyz").await).await["store"], "writable");
}

#[tokio::test]
async fn a_strange_host_is_told_the_line_to_add() {
    let site = Site::loopback(Sample::calm());
    let send = |host: &'static str, token: Option<&'static str>| {
        let mut request = Request::builder().uri("/api/v1/connections").header("host", host);
        if let Some(token) = token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        site.send(request.body(Body::empty()).unwrap())
    };
    let refused = send("pantry.lan:8474", None).await;
    assert_eq!(refused.status(), StatusCode::MISDIRECTED_REQUEST);
    let detail = json(refused).await["detail"].as_str().unwrap().to_owned();
    assert!(detail.ends_with("hosts = [\"larder.example\", \"pantry.lan\"]"), "{detail}");
    assert_eq!(send("larder.example", None).await.status(), StatusCode::OK);
    assert_eq!(send("pantry.lan", Some("reader-token")).await.status(), StatusCode::OK, "a token shows that no page is asking");
}

#[tokio::test]
async fn a_foreign_page_changes_nothing() {
    let site = Site::loopback(Sample::calm());
    let headers = [("origin", "https://evil.example"), ("authorization", "Bearer admin-token")];
    let request = ask(Method::POST, "/api/v1/connections/yard/targets/controller/refresh", &headers);
    assert_eq!(site.send(request.body(Body::empty()).unwrap()).await.status(), StatusCode::FORBIDDEN);
    assert!(site.sample.asked().is_empty());
}

#[tokio::test]
async fn wrong_tokens_are_slowed_down() {
    let site = Site::loopback(Sample::calm());
    let mut last = StatusCode::OK;
    for _ in 0..12 {
        let request = ask(Method::GET, "/api/v1/connections", &[("authorization", "Bearer guess")]);
        last = site.send(request.body(Body::empty()).unwrap()).await.status();
    }
    assert_eq!(last, StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(site.get("/").await.status(), StatusCode::OK, "readers without a token are not concerned");
}

// ---- forms

#[tokio::test]
async fn a_form_works_without_javascript_and_carries_its_token() {
    let site = Site::loopback(Sample::calm());
    let values = [("p.item", "5143"), ("p.seconds", "600"), ("token", "owner-token")];
    let done = site.fill("/c/yard", "c/yard/commands/run-zone", &values).await;
    assert_eq!((done.status(), head(done.headers(), "location")), (StatusCode::SEE_OTHER, "../../yard#jobs"));
    let done = site.fill("/c/yard", "c/yard/polling", &[("on", "false"), ("token", "admin-token")]).await;
    assert_eq!((done.status(), head(done.headers(), "location")), (StatusCode::SEE_OTHER, "../yard"));
    let done = site.fill("/c/yard/t/controller", "c/yard/t/controller/refresh", &[("token", "admin-token")]).await;
    assert_eq!((done.status(), head(done.headers(), "location")), (StatusCode::SEE_OTHER, "../controller"));
    assert_eq!(site.sample.asked(), [
        "owner of default gives run-zone {\"item\": \"5143\", \"seconds\": \"600\"} to default/yard once",
        "admin of default sets default/yard to Some(false)",
        "admin of default refreshes default/yard/controller",
    ]);
}

#[tokio::test]
async fn a_form_without_right_or_without_its_page_changes_nothing() {
    let site = Site::loopback(Sample::calm());
    let polling = "c/yard/polling";
    for (values, expected) in [
        (vec![("on", "false")], 401),
        (vec![("on", "false"), ("token", "wrong")], 401),
        (vec![("on", "false"), ("token", "reader-token")], 403),
        (vec![("on", "false"), ("token", "north-token")], 403),
        (vec![("on", "maybe"), ("token", "admin-token")], 400),
    ] {
        let response = site.fill("/c/yard", polling, &values).await;
        assert_eq!(response.status().as_u16(), expected, "{values:?}");
        assert_eq!(head(response.headers(), "content-type"), "text/html; charset=utf-8");
    }
    let other = |origin: &'static str, body: String| {
        let headers = [("origin", origin), ("content-type", "application/x-www-form-urlencoded")];
        site.send(ask(Method::POST, "/c/yard/polling", &headers).body(Body::from(body)).unwrap())
    };
    let (own, now) = ("http://127.0.0.1:8474", site.sample.now().steady);
    let of_another_form = site.state.form_key().issue("/c/yard/commands/run-zone", now);
    let good = site.state.form_key().issue("/c/yard/polling", now);
    for (origin, csrf, expected) in
        [(own, String::new(), 403), (own, of_another_form, 403), ("http://evil.example", good.clone(), 403), (own, good, 303)]
    {
        let body = format!("on=false&token=admin-token&csrf={csrf}");
        assert_eq!(other(origin, body).await.status().as_u16(), expected, "{origin}");
    }
    assert_eq!(site.sample.asked().len(), 1);
}

#[tokio::test]
async fn the_operator_at_the_socket_needs_no_token_field() {
    let page = Site::at(Listener::Local, Sample::calm()).page("/c/yard").await;
    assert!(!page.contains("name=\"token\""));
    assert!(Site::loopback(Sample::calm()).page("/c/yard").await.contains("name=\"token\""));
}

// ---- the JSON API

#[tokio::test]
async fn a_target_carries_its_age_in_every_header() {
    let fresh = Site::loopback(Sample::calm()).get("/api/v1/connections/yard/targets/controller").await;
    assert_eq!(head(fresh.headers(), "etag").len(), 34, "32 digits in quotes: strong");
    let shown: Vec<String> = ["age", "date", "last-modified", "cache-control", "cache-status"]
        .map(|n| format!("{n}: {}", head(fresh.headers(), n)))
        .to_vec();
    insta::assert_snapshot!(shown.join("\n"), @r#"
    age: 41
    date: Mon, 30 Nov 2026 08:20:00 GMT
    last-modified: Mon, 30 Nov 2026 08:19:19 GMT
    cache-control: no-cache
    cache-status: larder; hit; ttl=49
    "#);
    let stale = Site::loopback(Sample::locked_out()).get("/api/v1/connections/yard/targets/controller").await;
    assert_eq!(head(stale.headers(), "cache-status"), "larder; hit; ttl=-282; detail=held");
    assert_ne!(fresh.headers()["etag"], stale.headers()["etag"], "time alone made it another answer");
    let never = Site::loopback(Sample::calm()).get("/api/v1/connections/cellar/targets/up").await;
    assert_eq!((never.status(), head(never.headers(), "age")), (StatusCode::OK, ""));
    assert_eq!(head(never.headers(), "cache-status"), "larder; detail=never");
}

#[tokio::test]
async fn a_client_that_knows_the_answer_is_told_only_its_age() {
    let site = Site::loopback(Sample::calm());
    let path = "/api/v1/connections/yard/targets/controller";
    let tag = head(site.get(path).await.headers(), "etag").to_owned();
    for (known, expected) in [(tag.as_str(), 304), (&format!("\"x\", W/{tag}"), 304), ("*", 304), ("\"x\"", 200)] {
        let response = site.send(ask(Method::GET, path, &[("if-none-match", known)]).body(Body::empty()).unwrap()).await;
        assert_eq!(response.status().as_u16(), expected, "{known}");
        assert_eq!(head(response.headers(), "age"), "41");
        assert_eq!(head(response.headers(), "etag"), tag);
    }
}

#[tokio::test]
async fn the_json_is_the_contract() {
    let site = Site::loopback(Sample::locked_out());
    insta::assert_snapshot!("json_connection", pretty(site.get("/api/v1/connections/yard").await).await);
    insta::assert_snapshot!("json_target", pretty(site.get("/api/v1/connections/yard/targets/controller").await).await);
    for (path, wrapper, entries) in [
        ("/api/v1/connections", "connections", 2),
        ("/api/v1/connections/yard/targets", "targets", 1),
        ("/api/v1/connections/yard/targets/controller/history", "history", 4),
        ("/api/v1/connections/yard/ledger", "charges", 7),
        ("/api/v1/connections/yard/jobs", "jobs", 3),
    ] {
        let body = json(site.get(path).await).await;
        assert_eq!(body[wrapper].as_array().map(Vec::len), Some(entries), "{path}");
    }
}

#[tokio::test]
async fn lists_are_paged_by_the_last_number_seen() {
    let site = Site::loopback(Sample::calm());
    let page = async |q: &str| {
        let body = json(site.get(&format!("/api/v1/connections/yard/ledger{q}")).await).await;
        (body["charges"].as_array().unwrap().len(), body["next"].clone())
    };
    assert_eq!(page("?limit=2").await, (2, 1024.into()), "without `after` the newest");
    assert_eq!(page("?after=1018&limit=3").await, (3, 1021.into()));
    assert_eq!(page("?after=1024").await, (0, 1024.into()), "nothing yet; ask again with the same number");
    assert_eq!(site.get("/api/v1/connections/yard/ledger?after=x").await.status(), StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn a_refused_refresh_says_until_when_and_why() {
    let mut sample = Sample::locked_out();
    sample.refresh = Err(Denied::NotYet {
        sentence: "The connection is held until 09:24: rate limited.".to_owned(),
        not_before: Some(ago(-270)),
        retry_after_s: Some(270),
    });
    let site = Site::loopback(sample);
    let headers = [("authorization", "Bearer admin-token")];
    let request = ask(Method::POST, "/api/v1/connections/yard/targets/controller/refresh", &headers);
    let refused = site.send(request.body(Body::empty()).unwrap()).await;
    assert_eq!(refused.status(), StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(head(refused.headers(), "retry-after"), "270");
    assert_eq!(head(refused.headers(), "content-type"), "application/problem+json");
    let mut body = json(refused).await;
    assert!(body["instance"].as_str().unwrap().starts_with("urn:larder:request:"));
    body["instance"] = "(request)".into();
    insta::assert_snapshot!(serde_json::to_string_pretty(&body).unwrap(), @r#"
    {
      "type": "https://iana.org/assignments/http-problem-types#quota-exceeded",
      "title": "Not yet",
      "status": 429,
      "detail": "The connection is held until 09:24: rate limited.",
      "instance": "(request)",
      "not_before": "2026-11-30T08:24:30Z",
      "state": "held"
    }
    "#);
    let page = text(site.fill("/c/yard/t/controller", "c/yard/t/controller/refresh", &[("token", "admin-token")]).await).await;
    assert!(page.contains(">09:24</time>") && page.contains("../../../../c/yard/t/controller"), "{page}");
}

#[tokio::test]
async fn a_command_is_accepted_as_a_job() {
    let site = Site::loopback(Sample::calm());
    let send = |key: &'static str, content_type: &'static str, body: &'static str| {
        let headers = [("authorization", "Bearer admin-token"), ("content-type", content_type), ("idempotency-key", key)];
        site.send(ask(Method::POST, "/api/v1/connections/yard/commands/run-zone", &headers).body(Body::from(body)).unwrap())
    };
    let good = "{\"item\": 5143, \"seconds\": \"600\"}";
    let accepted = send("\"abc\"", "application/json", good).await;
    assert_eq!((accepted.status(), head(accepted.headers(), "location")), (StatusCode::ACCEPTED, "../../../jobs/7"));
    assert_eq!(json(accepted).await["state"], "done");
    assert_eq!(
        site.sample.asked(),
        ["admin of default gives run-zone {\"item\": \"5143\", \"seconds\": \"600\"} to default/yard once"]
    );
    for (key, content_type, body, expected) in [
        ("used", "application/json", good, 422),
        ("\"\"", "application/json", good, 400),
        ("a", "text/plain", good, 415),
        ("a", "application/json", "{", 400),
        ("a", "application/json", "[1]", 400),
        ("a", "application/json", "{\"item\": {}}", 422),
        ("a", "application/json", "", 202),
    ] {
        assert_eq!(send(key, content_type, body).await.status().as_u16(), expected, "{key} {content_type} {body}");
    }
}

#[tokio::test]
async fn errors_have_the_face_that_the_client_reads() {
    let site = Site::loopback(Sample::calm());
    for (method, path, expected) in [
        (Method::GET, "/nothing", 404),
        (Method::GET, "/api/v1/nothing", 404),
        (Method::GET, "/c/none", 404),
        (Method::GET, "/c/yard/t/none", 404),
        (Method::GET, "/api/v1/jobs/x", 404),
        (Method::GET, "/api/v1/connections?organization=", 200),
        (Method::GET, "/c/yard/polling", 405),
    ] {
        for (accept, content_type) in [("*/*", "application/problem+json"), ("text/html,*/*;q=0.8", "text/html; charset=utf-8")] {
            let request = ask(method.clone(), path, &[("accept", accept)]);
            let response = site.send(request.body(Body::empty()).unwrap()).await;
            assert_eq!(response.status().as_u16(), expected, "{path}");
            if expected != 200 {
                assert_eq!(head(response.headers(), "content-type"), content_type, "{path}");
            }
            if expected == 405 {
                assert!(head(response.headers(), "allow").contains("POST"), "{:?}", response.headers());
            }
        }
    }
}

#[tokio::test]
async fn an_organization_sees_its_own() {
    let site = Site::at(Listener::Network, Sample::two_organizations());
    let names = async |token: &str, query: &str| {
        let bearer = format!("Bearer {token}");
        let headers = [("authorization", bearer.as_str())];
        let path = format!("/api/v1/connections{query}");
        let body = json(site.send(ask(Method::GET, &path, &headers).body(Body::empty()).unwrap()).await).await;
        body["connections"].as_array().map(|l| l.iter().map(|c| c["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>())
    };
    assert_eq!(names("north-token", "").await, Some(vec!["cellar".to_owned()]), "its own is meant where none is named");
    assert_eq!(names("north-token", "?organization=default").await, None);
    assert_eq!(names("admin-token", "").await, Some(vec!["yard".to_owned()]));
    assert_eq!(names("admin-token", "?organization=north").await, Some(vec!["cellar".to_owned()]));
    let headers = [("authorization", "Bearer north-token")];
    let job = site.send(ask(Method::GET, "/api/v1/jobs/7", &headers).body(Body::empty()).unwrap()).await;
    assert_eq!(job.status(), StatusCode::NOT_FOUND, "another's job is not there");
    let metrics = text(site.send(ask(Method::GET, "/metrics", &headers).body(Body::empty()).unwrap()).await).await;
    assert!(metrics.contains("connection=\"cellar\"") && !metrics.contains("connection=\"yard\""));
}

// ---- headers and metrics

#[tokio::test]
async fn every_answer_is_protected() {
    let site = Site::loopback(Sample::calm());
    for path in ["/", "/c/yard", "/api/v1/connections", "/nothing", "/metrics"] {
        let response = site.get(path).await;
        assert_eq!(head(response.headers(), "content-security-policy"), headers::CSP, "{path}");
        assert_eq!(head(response.headers(), "x-content-type-options"), "nosniff");
        assert!(!head(response.headers(), "x-request-id").is_empty());
    }
    assert_eq!(head(site.get("/").await.headers(), "cache-control"), "no-store");
}

#[tokio::test]
async fn metrics_say_what_the_pages_say() {
    let site = Site::loopback(Sample::locked_out());
    site.get("/c/yard").await;
    site.get("/nowhere/at/all").await;
    let text = text(site.get("/metrics").await).await;
    for line in [
        "larder_build_info{version=\"0.1.0\"} 1",
        "larder_quota_remaining{organization=\"default\",connection=\"yard\",limit=\"status\",endpoint=\"/statusschedule.php\"} 0",
        "larder_quota_limit{organization=\"default\",connection=\"yard\",limit=\"account\"} 2000",
        "larder_quota_kept{organization=\"default\",connection=\"yard\",limit=\"account\"} 40",
        "larder_upstream_requests_total{organization=\"default\",connection=\"yard\",caller=\"poller\",outcome=\"data\"} 1152",
        "larder_connection_state{organization=\"default\",connection=\"yard\",state=\"held\"} 1",
        "larder_connection_state{organization=\"default\",connection=\"yard\",state=\"fresh\"} 0",
        "larder_target_age_seconds{organization=\"default\",connection=\"yard\",target=\"controller\"} 372",
        "larder_target_last_success_timestamp_seconds{organization=\"default\",connection=\"yard\",target=\"controller\"} 1796026428",
        "larder_clock_trusted 1",
        "larder_db_bytes 1589248",
        "larder_http_requests_total{route=\"/c/{connection}\",method=\"GET\",status=\"200\"} 1",
        "larder_http_requests_total{route=\"none\",method=\"GET\",status=\"404\"} 1",
    ] {
        assert!(text.lines().any(|l| l == line), "{line}\n{text}");
    }
    assert!(!text.contains("target_age_seconds{organization=\"default\",connection=\"cellar\""), "never answered has no age");
    assert!(text.ends_with("# EOF\n"));
}

// ---- pages

/// A page without what differs from run to run.
fn settled(page: &str) -> String {
    let mut out = page.to_owned();
    for name in ["csrf", "once"] {
        let mark = format!("name=\"{name}\" value=\"");
        let parts: Vec<&str> = out.split(&mark).collect();
        let rest = parts[1..].iter().map(|p| p.split_once('"').map_or(*p, |(_, rest)| rest));
        out = std::iter::once(parts[0].to_owned()).chain(rest.map(|r| format!("{mark}…\"{r}"))).collect();
    }
    out
}

/// The element with this id, without drawings.
fn part(page: &str, id: &str) -> String {
    let at = page.find(&format!("id=\"{id}\"")).expect("the part is there");
    let start = page[..at].rfind('<').unwrap();
    let end = page[at..].find("</section>").unwrap() + at;
    page[start..end].to_owned()
}

#[tokio::test]
async fn the_overview_reads() {
    let calm = Site::loopback(Sample::calm()).page("/").await;
    insta::assert_snapshot!("overview_headline", part(&calm, "headline"));
    insta::assert_snapshot!("overview_cards", part(&calm, "cards"));
    let locked = Site::loopback(Sample::locked_out()).page("/").await;
    insta::assert_snapshot!("overview_headline_locked_out", part(&locked, "headline"));
    let empty = Site::loopback(Sample::empty()).page("/").await;
    assert!(empty.contains("The shelf is empty.") && empty.contains("No connection yet"));
}

#[tokio::test]
async fn a_connection_reads() {
    let page = settled(&Site::loopback(Sample::locked_out()).page("/c/yard").await);
    for id in ["banner", "targets", "commands", "jobs"] {
        insta::assert_snapshot!(format!("connection_{id}"), part(&page, id));
    }
    let never = Site::loopback(Sample::calm()).page("/c/cellar").await;
    assert!(never.contains("First request at <time datetime=\"2026-11-30T08:25:00Z\""), "says what will happen");
}

#[tokio::test]
async fn a_stale_target_hedges() {
    let stale = Site::loopback(Sample::locked_out()).page("/c/yard/t/controller").await;
    insta::assert_snapshot!("target_banner_stale", part(&stale, "banner"));
    let fresh = Site::loopback(Sample::calm()).page("/c/yard/t/controller").await;
    assert!(!fresh.contains("was last seen"), "a fresh answer says what is");
    insta::assert_snapshot!("target_items", part(&fresh, "items"));
}

#[tokio::test]
async fn what_others_said_is_text_and_nothing_else() {
    let site = Site::loopback(Sample::locked_out());
    for path in ["/", "/c/yard", "/c/yard/t/controller"] {
        let page = site.page(path).await;
        for tag in ["<script>", "<b>trying", "<i>soon", "<relay>"] {
            assert!(!page.contains(tag), "{path} lets {tag} through");
        }
        assert!(!page.contains(" style=") && !page.contains(" onclick="), "nothing inline: {path}");
        assert_eq!(page.matches("<h1").count(), 1, "{path}");
    }
    let page = site.page("/c/%3Cscript%3E").await;
    assert!(page.contains("&#60;script&#62;") && !page.contains("<script>"), "{page}");
}

#[tokio::test]
async fn a_long_list_is_paged_and_every_page_is_small() {
    let mut sample = Sample::calm();
    let pattern = sample.targets[0].items[1].clone();
    sample.targets[0].item_count = 2000;
    sample.targets[0].items =
        (0..2000).map(|i| crate::engine::view::ItemView { title: format!("Zone {i}"), ..pattern.clone() }).collect();
    let site = Site::loopback(sample);
    for path in ["/", "/c/yard", "/c/yard/t/controller", "/c/yard/t/controller?page=34", "/c/yard/t/controller?page=99"] {
        let page = site.page(path).await;
        let all = page.len() + include_str!("../../static/app.css").len() + include_str!("../../static/app.js").len();
        println!("{path}: {} bytes, {all} with style and script", page.len());
        assert!(page.len() < 72_000, "{path} has {} bytes", page.len());
    }
    assert!(site.page("/c/yard/t/controller?page=34").await.contains("Zone 1999"));
}

/// Writes the sample pages for the eye: `LARDER_PAGES=/tmp/pages cargo test --lib web::tests::pages_for_the_eye`.
#[tokio::test]
async fn pages_for_the_eye() {
    let Some(folder) = std::env::var_os("LARDER_PAGES").map(std::path::PathBuf::from) else { return };
    let scenes = [("calm", Sample::calm()), ("locked", Sample::locked_out()), ("empty", Sample::empty())];
    for (scene, sample) in scenes {
        let site = Site::loopback(sample);
        let pages = [("", "index"), ("c/yard", "c/yard"), ("c/cellar", "c/cellar"), ("c/yard/t/controller", "c/yard/t/controller")];
        for (path, file) in pages {
            let file = folder.join(scene).join(format!("{file}.html"));
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, site.page(&format!("/{path}")).await).unwrap();
        }
        for name in ["app.css", "app.js", "icon.svg"] {
            let address = assets::address(name);
            let file = folder.join(scene).join(&address);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, text(site.get(&format!("/{address}")).await).await).unwrap();
        }
    }
}

/// Serves the sample until stopped, to try the script: `LARDER_SAMPLE=127.0.0.1:8475 cargo test --lib sample_site -- --ignored`.
#[tokio::test]
#[ignore = "a site to look at, not a check"]
async fn sample_site() {
    let address = std::env::var("LARDER_SAMPLE").unwrap_or_else(|_| "127.0.0.1:8475".to_owned());
    let site = Site::loopback(Sample::locked_out());
    let listener = tokio::net::TcpListener::bind(address).await.unwrap();
    let beat = Arc::clone(&site.sample);
    tokio::spawn(async move {
        loop {
            tokio::time::sleep(Duration::from_secs(2)).await;
            let kind = crate::domain::event::EventKind::TargetSeen;
            let _ = beat.live.send(sample::live(8, kind, Some(("default", "yard"))));
        }
    });
    serve_tcp(listener, site.state.clone()).await.unwrap();
}

#[test]
fn the_sample_morning_is_the_one_of_the_snapshots() {
    assert_eq!(crate::rules::calendar::rfc3339(NOW), "2026-11-30T08:20:00Z");
}
