//! Who gets in, over which listener, with which token; and what a form needs.

use super::*;

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
    let challenges: Vec<_> =
        refused.headers().get_all("www-authenticate").iter().map(|v| v.to_str().unwrap()).collect();
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
    for told in ["x-forwarded-for", "x-forwarded-prefix", "x-ingress-path"] {
        let request = ask(Method::GET, "/", &[(told, "203.0.113.9")]);
        assert_eq!(site.send(request.body(Body::empty()).unwrap()).await.status(), StatusCode::UNAUTHORIZED, "{told}");
    }
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
    assert_eq!(
        send("pantry.lan", Some("reader-token")).await.status(),
        StatusCode::OK,
        "a token shows that no page is asking"
    );
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
    let request = ask(Method::GET, "/api/v1/connections", &[("authorization", "Bearer guess")]);
    let told = json(site.send(request.body(Body::empty()).unwrap()).await).await;
    assert_eq!(told["type"], "https://iana.org/assignments/http-problem-types#abnormal-usage-detected", "{told}");
    assert_eq!(site.get("/").await.status(), StatusCode::OK, "readers without a token are not concerned");
}

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
    let done = site.fill("/c/yard/controls", "c/yard/probe", &[("token", "admin-token")]).await;
    assert_eq!((done.status(), head(done.headers(), "location")), (StatusCode::SEE_OTHER, "../yard#activity"));
    assert_eq!(
        site.sample.asked(),
        [
            "owner of default (page, this machine) gives run-zone {\"item\": \"5143\", \"seconds\": \"600\"} to default/yard once",
            "admin of default (page, this machine) changes default/yard: Controls { enabled: Set(false), interval: Keep, inactivity_ttl: Keep, completion_grace: Keep }",
            "admin of default (page, this machine) refreshes default/yard/controller",
            "admin of default (page, this machine) probes default/yard",
        ]
    );
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
    let of_another_form = site.state.form_key().issue("/c/yard/commands/run-zone", &Default::default(), now);
    let good = site.state.form_key().issue("/c/yard/polling", &Default::default(), now);
    for (origin, csrf, expected) in [
        (own, String::new(), 403),
        (own, of_another_form, 403),
        ("http://evil.example", good.clone(), 403),
        (own, good, 303),
    ] {
        let body = format!("on=false&token=admin-token&csrf={csrf}");
        assert_eq!(other(origin, body).await.status().as_u16(), expected, "{origin}");
    }
    assert_eq!(site.sample.asked().len(), 1);
}

#[tokio::test]
async fn the_polling_of_the_whole_appliance_is_switched_on_a_page_and_by_admins_alone() {
    let site = Site::loopback(Sample::calm());
    for page in ["/plan", "/c/yard"] {
        assert!(site.page(page).await.contains("polling\">"), "{page} leads there");
    }
    for (values, expected) in [
        (vec![("on", "false"), ("token", "owner-token")], 403),
        (vec![("on", "false"), ("token", "reader-token")], 403),
        (vec![("workers", "many"), ("token", "admin-token")], 422),
        (vec![("workers", ""), ("token", "admin-token")], 422),
        (vec![("on", "false"), ("workers", " 2 "), ("token", "admin-token")], 303),
        (vec![("clear", "workers"), ("token", "admin-token")], 303),
    ] {
        let answer = site.fill("/polling", "polling", &values).await;
        assert_eq!(answer.status().as_u16(), expected, "{values:?}");
        if expected == 303 {
            assert_eq!(head(answer.headers(), "location"), "polling");
        } else {
            assert!(text(answer).await.contains("href=\"polling\""), "and back to the page");
        }
    }
    assert_eq!(
        site.sample.asked(),
        [
            "admin of default (page, this machine) changes the polling: PollingControls { enabled: Set(false), workers: Set(2) }",
            "admin of default (page, this machine) changes the polling: PollingControls { enabled: Keep, workers: Clear }",
        ]
    );
}

#[tokio::test]
async fn the_operator_at_the_socket_needs_no_token_field() {
    let page = Site::at(Listener::Local, Sample::calm()).page("/c/yard").await;
    assert!(!page.contains("name=\"token\""));
    assert!(Site::loopback(Sample::calm()).page("/c/yard").await.contains("name=\"token\""));
}

#[tokio::test]
async fn tokens_and_backups_are_for_admins_and_the_unix_socket() {
    use Listener::{Local, Loopback, Network};
    for (listener, token, allowed) in [
        (Loopback, "", false),
        (Loopback, "reader-token", false),
        (Loopback, "owner-token", false),
        (Loopback, "admin-token", true),
        (Network, "", false),
        (Network, "admin-token", true),
        (Local, "", true),
    ] {
        let site = Site::at(listener, Sample::calm());
        let value = format!("Bearer {token}");
        let mut headers = vec![("content-type", "application/json")];
        if !token.is_empty() {
            headers.push(("authorization", &value));
        }
        for (method, path, body) in [
            (Method::GET, "/api/v1/tokens", ""),
            (Method::POST, "/api/v1/tokens", "{\"name\":\"phone\",\"role\":\"reader\"}"),
            (Method::DELETE, "/api/v1/tokens/1", ""),
            (Method::POST, "/api/v1/backup", "{\"destination\":\"/tmp/copy.redb\"}"),
        ] {
            let response = site.send(ask(method.clone(), path, &headers).body(Body::from(body)).unwrap()).await;
            let status = response.status();
            assert_eq!(status.is_success(), allowed, "{listener:?} {token:?} {method} {path}: {status}");
            assert!(allowed || matches!(status.as_u16(), 401 | 403), "{status}");
        }
    }
}

/// RFC 9112 section 3.2: whoever stands in front may have looked at the other one.
#[tokio::test]
async fn a_request_that_names_two_hosts_is_refused() {
    let site = Site::loopback(Sample::calm());
    for (uri, hosts, status) in [
        ("/livez", &["127.0.0.1"][..], 200),
        ("/livez", &["127.0.0.1", "127.0.0.1"], 400),
        ("/", &["127.0.0.1", "evil.example"], 400),
        ("http://evil.example/", &["127.0.0.1"], 400),
        ("http://127.0.0.1/livez", &["127.0.0.1"], 200),
    ] {
        let mut request = Request::builder().uri(uri);
        for host in hosts {
            request = request.header("host", *host);
        }
        let response = site.send(request.body(Body::empty()).unwrap()).await;
        assert_eq!(response.status().as_u16(), status, "{uri} {hosts:?}");
    }
}
