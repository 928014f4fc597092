//! The JSON API, the headers of every answer, and the metrics.

use super::*;
use crate::engine::view::{ConnectionView, TargetView};

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
        let response =
            site.send(ask(Method::GET, path, &[("if-none-match", known)]).body(Body::empty()).unwrap()).await;
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
async fn readers_spend_nothing() {
    let site = Site::loopback(Sample::calm());
    for _tab in 0..20 {
        for path in [
            "/",
            "/c/yard",
            "/c/yard/t/controller",
            "/api/v1/connections/yard/targets/controller",
            "/api/v1/connections/yard/targets/controller/refresh",
            "/api/v1/connections/yard/commands/run-zone",
            "/c/yard/t/controller/refresh",
            "/metrics",
            "/readyz",
        ] {
            site.get(path).await;
        }
    }
    assert!(site.sample.asked().is_empty(), "only a change by a token asks for anything");
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

/// Follows `Link` from page to page, as a client does that knows nothing of this API.
async fn followed(site: &Site, first: &str, wrapper: &str, name: &str) -> Vec<String> {
    let (path, _) = first.split_once('?').unwrap();
    let (mut seen, mut next) = (Vec::new(), Some(first.to_owned()));
    while let Some(address) = next {
        let answer = site.get(&address).await;
        let link = head(answer.headers(), "link").to_owned();
        let body = json(answer).await;
        let rows = body[wrapper].as_array().unwrap().clone();
        assert!(rows.len() <= 2, "{address}: {rows:?}");
        seen.extend(rows.iter().map(|row| row[name].as_str().unwrap().to_owned()));
        next = link
            .strip_prefix('<')
            .and_then(|rest| rest.strip_suffix(">; rel=\"next\""))
            .map(|to| format!("{path}{to}"));
        assert_eq!(next.is_some(), body["next"].is_string(), "{address}: {link}");
    }
    seen
}

#[tokio::test]
async fn lists_by_name_and_key_are_paged_and_say_where_they_go_on() {
    let mut sample = Sample::calm();
    let (target, connection) = (sample.targets[0].clone(), sample.connections[0].clone());
    let named = |name: &str| TargetView { name: name.to_owned(), ..target.clone() };
    sample.targets.extend(["beds & borders", "a/b", "\u{1f331}", "z"].map(named));
    sample
        .connections
        .extend(["b", "c", "d"].map(|name| ConnectionView { name: name.to_owned(), ..connection.clone() }));
    sample.connections.push(ConnectionView { name: "x".to_owned(), organization: "north".to_owned(), ..connection });
    let site = Site::loopback(sample);
    let all = followed(&site, "/api/v1/connections?limit=2", "connections", "name").await;
    assert_eq!(all, ["b", "c", "cellar", "d", "yard"], "and none of another organization");
    let all = followed(&site, "/api/v1/connections/yard/targets?limit=2", "targets", "name").await;
    assert_eq!(all, ["a/b", "beds & borders", "controller", "z", "\u{1f331}"]);
    let path = "/api/v1/connections/yard/targets/controller";
    let all = followed(&site, &format!("{path}?organization=default&limit=2"), "items", "key").await;
    assert_eq!(all, ["5143", "5144", "5145", "5146", "5147"], "removed ones are among them");
    let whole = json(site.get(path).await).await;
    assert_eq!((whole["items"].as_array().unwrap().len(), &whole["next"]), (5, &Value::Null));
    // Each page is an answer of its own.
    let tag = async |query: &str| head(site.get(&format!("{path}{query}")).await.headers(), "etag").to_owned();
    assert_ne!(tag("?limit=2").await, tag("?after=5144&limit=2").await);
    assert_eq!(site.get(&format!("{path}?limit=x")).await.status(), StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn numbered_lists_say_where_they_go_on() {
    let site = Site::loopback(Sample::calm());
    let link = async |path: &str| head(site.get(path).await.headers(), "link").to_owned();
    let history = "/api/v1/connections/yard/targets/controller/history";
    assert_eq!(link(&format!("{history}?limit=2")).await, "<?limit=2&before=16>; rel=\"prev\"");
    assert_eq!(link(&format!("{history}?limit=2&before=16")).await, "");
    assert_eq!(link(&format!("{history}?after=14&limit=2")).await, "<?limit=2&after=16>; rel=\"next\"");
    assert_eq!(link(&format!("{history}?after=15&limit=2")).await, "");
    assert_eq!(link("/api/v1/activity?limit=1").await.split(';').next_back(), Some(" rel=\"prev\""));
    assert_eq!(link("/api/v1/connections/yard/ledger?after=1018&limit=3").await, "<?limit=3&after=1021>; rel=\"next\"");
    assert_eq!(link("/api/v1/connections/yard/ledger?after=1024").await, "");
}

#[tokio::test]
async fn a_refused_refresh_says_until_when_and_why() {
    let mut sample = Sample::locked_out();
    sample.refresh = Err(Denied::NotYet {
        sentence: "The connection is held until 09:24: rate limited.".to_owned(),
        limit: Some("status".to_owned()),
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
      "violated-policies": [
        "status"
      ],
      "state": "held"
    }
    "#);
    let page =
        text(site.fill("/c/yard/t/controller", "c/yard/t/controller/refresh", &[("token", "admin-token")]).await).await;
    assert!(page.contains(">09:24</time>") && page.contains("../../../../c/yard/t/controller"), "{page}");
}

#[tokio::test]
async fn a_command_is_accepted_as_a_job() {
    let site = Site::loopback(Sample::calm());
    let send = |key: &'static str, content_type: &'static str, body: &'static str| {
        let headers =
            [("authorization", "Bearer admin-token"), ("content-type", content_type), ("idempotency-key", key)];
        site.send(
            ask(Method::POST, "/api/v1/connections/yard/commands/run-zone", &headers).body(Body::from(body)).unwrap(),
        )
    };
    let good = "{\"item\": 5143, \"seconds\": \"600\"}";
    let accepted = send("\"abc\"", "application/json", good).await;
    assert_eq!((accepted.status(), head(accepted.headers(), "location")), (StatusCode::ACCEPTED, "../../../jobs/7"));
    assert_eq!(json(accepted).await["state"], "done");
    assert_eq!(
        site.sample.asked(),
        [
            "admin of default (API, this machine) gives run-zone {\"item\": \"5143\", \"seconds\": \"600\"} to default/yard once"
        ]
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
        for (accept, content_type) in
            [("*/*", "application/problem+json"), ("text/html,*/*;q=0.8", "text/html; charset=utf-8")]
        {
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
        body["connections"]
            .as_array()
            .map(|l| l.iter().map(|c| c["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>())
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

#[tokio::test]
async fn findings_are_listed_by_number_and_may_be_narrowed() {
    let site = Site::loopback(Sample::locked_out());
    let list = async |query: &str| {
        let body = json(site.get(&format!("/api/v1/findings{query}")).await).await;
        let ids: Vec<u64> = body["findings"].as_array().unwrap().iter().map(|f| f["id"].as_u64().unwrap()).collect();
        (ids, body["next"].as_u64())
    };
    assert_eq!(list("").await, (vec![1, 2], Some(2)));
    assert_eq!(list("?limit=1&after=0").await, (vec![1], Some(1)));
    assert_eq!(list("?after=2").await, (vec![], Some(2)));
    assert_eq!(list("?open=true").await, (vec![2], Some(2)));
    assert_eq!(list("?open=false").await, (vec![1, 2], Some(2)));
    assert_eq!(list("?connection=yard&open=true").await, (vec![2], Some(2)));
    assert_eq!(list("?connection=cellar").await, (vec![], None));
    assert_eq!(site.get("/api/v1/findings?open=maybe").await.status(), StatusCode::BAD_REQUEST);
    insta::assert_snapshot!("json_findings", pretty(site.get("/api/v1/findings?open=true").await).await);
    let north = Site::at(Listener::Network, Sample::two_organizations());
    let headers = [("authorization", "Bearer north-token")];
    let of_default = ask(Method::GET, "/api/v1/findings?organization=default", &headers).body(Body::empty()).unwrap();
    assert_eq!(north.send(of_default).await.status(), StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn every_answer_is_protected() {
    let site = Site::loopback(Sample::calm());
    for path in ["/", "/c/yard", "/api/v1/connections", "/nothing", "/metrics"] {
        let response = site.get(path).await;
        assert_eq!(head(response.headers(), "content-security-policy"), headers::policy(&[]), "{path}");
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
    let metrics = async |accept: &str| {
        let response =
            site.send(ask(Method::GET, "/metrics", &[("accept", accept)]).body(Body::empty()).unwrap()).await;
        (head(response.headers(), "content-type").to_owned(), text(response).await)
    };
    let (kind, text) = metrics("application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.3").await;
    assert_eq!(kind, "application/openmetrics-text; version=1.0.0; charset=utf-8");
    for line in [
        "larder_build_info{version=\"0.1.0\"} 1",
        "larder_quota_remaining{organization=\"default\",connection=\"yard\",limit=\"status\",endpoint=\"/statusschedule.php\"} 0",
        "larder_quota_limit{organization=\"default\",connection=\"yard\",limit=\"account\"} 2000",
        "larder_quota_foreign{organization=\"default\",connection=\"yard\",limit=\"account\"} 38",
        "larder_quota_kept{organization=\"default\",connection=\"yard\",limit=\"account\"} 40",
        "larder_upstream_requests_total{organization=\"default\",connection=\"yard\",caller=\"poller\",endpoint=\"/statusschedule.php\",outcome=\"data\"} 1152",
        "larder_upstream_units_total{organization=\"default\",connection=\"yard\",caller=\"poller\",endpoint=\"/statusschedule.php\",outcome=\"data\"} 2304",
        "larder_connection_state{organization=\"default\",connection=\"yard\",state=\"held\"} 1",
        "larder_connection_state{organization=\"default\",connection=\"yard\",state=\"fresh\"} 0",
        "larder_target_age_seconds{organization=\"default\",connection=\"yard\",target=\"controller\"} 372",
        "larder_target_last_success_timestamp_seconds{organization=\"default\",connection=\"yard\",target=\"controller\"} 1796026428",
        "larder_findings_open{organization=\"default\",connection=\"yard\",kind=\"foreign_spending\"} 1",
        "larder_findings_open{organization=\"default\",connection=\"cellar\",kind=\"lower_limit\"} 0",
        "larder_quota_reset_timestamp_seconds{organization=\"default\",connection=\"yard\",limit=\"account\"} 1796083200",
        "larder_target_state{organization=\"default\",connection=\"yard\",target=\"controller\",state=\"held\"} 1",
        "larder_db_commit_bytes_total 73728",
        "larder_clock_trusted 1",
        "larder_db_bytes 1589248",
        "larder_http_requests_total{route=\"/c/{connection}\",method=\"GET\",status=\"200\"} 1",
        "larder_http_requests_total{route=\"none\",method=\"GET\",status=\"404\"} 1",
    ] {
        assert!(text.lines().any(|l| l == line), "{line}\n{text}");
    }
    assert!(
        !text.contains("target_age_seconds{organization=\"default\",connection=\"cellar\""),
        "never answered has no age"
    );
    assert!(
        !text.contains("quota_reset_timestamp_seconds{organization=\"default\",connection=\"yard\",limit=\"status\"")
    );
    assert!(text.ends_with("# EOF\n"));

    let (kind, plain) = metrics("*/*").await;
    assert_eq!(kind, "text/plain; version=0.0.4; charset=utf-8");
    let series = |text: &str| {
        let lines = text.lines().filter(|line| !line.starts_with('#') && !line.contains("route=\"/metrics\""));
        lines.map(str::to_owned).collect::<std::collections::BTreeSet<_>>()
    };
    assert_eq!(series(&text), series(&plain), "one truth in two formats");
    assert!(plain.contains("# TYPE larder_http_requests_total counter\n") && !plain.contains("# EOF"));
}

/// A parameter that means nothing is a mistake of the asker, and answering with everything hides it.
#[tokio::test]
async fn a_query_that_means_nothing_is_refused() {
    let site = Site::loopback(Sample::calm());
    let api = "/api/v1/connections/yard";
    for (path, status) in [
        ("/targets/controller/history?before=zz", 400),
        ("/targets/controller/history?after=zz", 400),
        ("/targets/controller/history?after=1&limit=5&organization=default", 200),
        ("/ledger?since=1", 400),
        ("?fields=state", 400),
        ("?organization=default", 200),
    ] {
        assert_eq!(site.get(&format!("{api}{path}")).await.status().as_u16(), status, "{path}");
    }
    assert_eq!(site.get("/api/v1/events?befor=1").await.status(), StatusCode::BAD_REQUEST);
    assert_eq!(site.get("/api/v1/findings?open=true&after=0&limit=3").await.status(), StatusCode::OK);
}

#[tokio::test]
async fn a_slash_too_many_leads_to_the_page() {
    let site = Site::loopback(Sample::calm());
    for (path, there) in [("/c/yard/", "../yard"), ("/c/yard/t/controller//?page=2", "../../controller?page=2")] {
        let response = site.get(path).await;
        assert_eq!((response.status().as_u16(), head(response.headers(), "location")), (308, there), "{path}");
    }
    assert_eq!(site.get("/nothing").await.status(), StatusCode::NOT_FOUND);
    assert_eq!(site.get("//").await.status(), StatusCode::NOT_FOUND);
}
