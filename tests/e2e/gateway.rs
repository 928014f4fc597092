//! Unmodified clients behind one account: what they get through the gateway, what it says of itself, and what the provider sees of it
//! (CASES P1, P3; laws 1, 2, 4, 5).

use crate::support::script::{Asked, Script};
use crate::support::wire::{http, json};
use crate::support::*;
use std::time::Instant;

/// A provider whose answers name the number of the request, so that nobody can take one for another.
fn counting(asked: &Asked) -> Vec<u8> {
    let body = format!("{{\"number\":{},\"at\":\"{}\"}}", asked.number, asked.location);
    json(200, &[("etag", &format!("\"v{}\"", asked.number)), ("x-provider", "1")], &body)
}

fn config(base_url: &str, gateway: &str) -> Config {
    let connection = Connection::plain("hub", base_url).secret_in("HUB_KEY").bearer();
    Config::new().with(connection.body(gateway))
}

const DAY: &str = "[connection.gateway]\nfresh_for = \"1d\"\n";
const MOMENT: &str = "[connection.gateway]\nfresh_for = \"300ms\"\n";

#[tokio::test(flavor = "multi_thread")]
async fn a_client_without_a_key_gets_the_answer_and_the_account_is_spent_once() {
    let provider = Script::answering(counting).await;
    let app = TestApp::start(config(&provider.base_url(), DAY)).await;
    let ask = || Ask::get("/gateway/hub/repos/a%2Fb?page=2").header("accept", "application/json").header("x-own", "1");
    let first = app.send(ask()).await.expect(200);
    assert_eq!(first.json()["at"], "/repos/a%2Fb?page=2", "octet by octet: {}", first.body);
    assert_eq!(first.header("x-provider"), Some("1"));
    assert_eq!(first.header("cache-status"), Some("larder; fwd=uri-miss; ttl=86399; stored"));
    assert_eq!((first.header("age"), first.header("etag")), (Some("0"), Some("\"v0\"")));
    assert!(first.header("ratelimit").is_some_and(|v| v.starts_with("\"ample\";r=99999")), "{:?}", first.headers);
    assert!(first.header("ratelimit-policy").is_some_and(|v| v == "\"ample\";q=100000;w=3600"), "{:?}", first.headers);

    let second = app.send(ask().header("authorization", "Bearer my-own-key")).await.expect(200);
    assert_eq!(second.body, first.body);
    assert!(
        second.header("cache-status").is_some_and(|v| v.starts_with("larder; hit; ttl=86")),
        "{:?}",
        second.headers
    );
    assert!(second.header("last-modified").is_some() && second.header("date").is_some());
    let unmodified = app.send(ask().header("if-none-match", "\"v0\"")).await.expect(304);
    assert_eq!((unmodified.body.as_str(), unmodified.header("etag")), ("", Some("\"v0\"")));
    let head = app.send(Ask::new("HEAD", "/gateway/hub/repos/a%2Fb?page=2")).await.expect(200);
    assert_eq!(head.header("content-length"), Some(first.body.len().to_string().as_str()));

    let seen = provider.asked();
    assert_eq!(seen.len(), 1, "{seen:?}");
    assert_eq!(seen[0].header("authorization"), format!("Bearer {}", app.secret()));
    assert_eq!((seen[0].header("x-own"), seen[0].header("accept")), ("1", "application/json"));
    let charges = app.ledger("hub").await;
    assert_eq!((charges.len(), &charges[0]["caller"]), (1, &"gateway".into()), "{charges:?}");
    let metrics = app.get("/metrics").await.body;
    for line in ["cache=\"miss\"} 1", "cache=\"hit\"} 3", "cache=\"stale\"} 0"] {
        let named = |l: &&str| l.starts_with("larder_gateway_requests_total") && l.ends_with(line);
        assert!(metrics.lines().any(|l| named(&l)), "{line}: {metrics}");
    }
    let spent = |l: &str| l.starts_with("larder_upstream_units_total") && l.contains("caller=\"gateway\"");
    let spent: Vec<&str> = metrics.lines().filter(|l| spent(l)).collect();
    assert!(spent.len() == 1 && spent[0].ends_with("outcome=\"data\"} 1"), "what was passed on is counted: {spent:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_over_is_asked_for_again_and_confirmed_by_the_provider_s_own_validator() {
    let provider = Script::answering(|asked| match asked.header("if-none-match") {
        "\"v0\"" => http(304, &[("etag", "\"v0\"")], b""),
        _ => counting(asked),
    })
    .await;
    let app = TestApp::start(config(&provider.base_url(), MOMENT)).await;
    let first = app.get("/gateway/hub/x").await.expect(200);
    tokio::time::sleep(Duration::from_millis(400)).await;
    let again = app.get("/gateway/hub/x").await.expect(200);
    assert_eq!(again.body, first.body);
    assert_eq!(again.header("cache-status"), Some("larder; fwd=stale; fwd-status=304; ttl=0; stored"));
    assert_eq!(provider.asked().len(), 2);
}

/// RFC 9111 section 4.3.4.
#[tokio::test(flavor = "multi_thread")]
async fn a_304_about_another_answer_renews_nothing_and_the_whole_is_asked_for() {
    let provider = Script::answering(|asked| match asked.header("if-none-match") {
        "" => json(200, &[("etag", "\"v0\"")], &format!("{{\"n\":{}}}", asked.number)),
        _ => http(304, &[("etag", "\"other\"")], b""),
    })
    .await;
    let app = TestApp::start(config(&provider.base_url(), MOMENT)).await;
    app.get("/gateway/hub/x").await.expect(200);
    tokio::time::sleep(Duration::from_millis(400)).await;
    let again = app.get("/gateway/hub/x").await.expect(200);
    assert_eq!((again.body.as_str(), again.header("larder-stale")), ("{\"n\":2}", None), "{again:?}");
    assert_eq!(again.header("cache-status"), Some("larder; fwd=stale; ttl=0; stored"));
    assert_eq!(app.ledger("hub").await.len(), 3, "each is paid for");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_provider_that_fails_or_refuses_leaves_the_last_good_answer_with_its_age_and_why() {
    for (name, trouble) in [
        ("overloaded", http(503, &[], b"down")),
        ("limited", http(429, &[("retry-after", "60")], b"slow down")),
        ("unexpected", http(200, &[("content-type", "text/html")], b"<h1>Maintenance</h1>")),
        ("dropped", Vec::new()),
        ("undecodable", b"HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n{\"half\":".to_vec()),
    ] {
        let provider =
            Script::answering(move |asked| if asked.number == 0 { counting(asked) } else { trouble.clone() }).await;
        let app = TestApp::start(config(&provider.base_url(), MOMENT)).await;
        let good = app.get("/gateway/hub/x").await.expect(200);
        tokio::time::sleep(Duration::from_millis(1400)).await;
        let stale = app.get("/gateway/hub/x").await.expect(200);
        assert_eq!(stale.body, good.body, "{name}");
        assert_eq!(stale.header("age"), Some("1"), "{name}");
        let status = stale.header("cache-status").unwrap_or_default();
        assert!(status.starts_with("larder; fwd=stale; ttl=-2") && status.contains(name), "{name}: {status}");
        assert!(
            stale.header("larder-stale").is_some_and(|why| why.contains("127.0.0.1")),
            "{name}: {:?}",
            stale.headers
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn with_nothing_on_the_shelf_a_refusal_is_a_problem_that_says_when() {
    let provider = Script::answering(counting).await;
    let tight = config(&provider.base_url(), DAY)
        .tuned(|c| c.no_limits().limit_text("name = \"tight\"\nrequests = 1\nwindow = \"1h\"\nkind = \"rolling\""));
    let app = TestApp::start(tight).await;
    app.get("/gateway/hub/a").await.expect(200);
    let refused = app.get("/gateway/hub/b").await;
    let problem = refused.clone().expect_problem(429);
    let wait: u64 = refused.header("retry-after").and_then(|s| s.parse().ok()).expect("seconds");
    assert!((3500..=3600).contains(&wait), "{problem}");
    assert!(problem["detail"].as_str().is_some_and(|d| d.contains("\"tight\"")), "{problem}");
    assert_eq!(refused.header("cache-status"), Some("larder; fwd=uri-miss; detail=exhausted"));
    assert!(refused.header("ratelimit").is_some_and(|v| v.starts_with("\"tight\";r=0;t=")), "{:?}", refused.headers);
    app.get("/gateway/hub/a").await.expect(200);
    assert_eq!(provider.asked().len(), 1, "never over");

    let down = Script::answering(|_| http(503, &[("retry-after", "120")], b"down")).await;
    let app = TestApp::start(config(&down.base_url(), DAY)).await;
    let failed = app.get("/gateway/hub/a").await;
    failed.clone().expect_problem(503);
    assert!(failed.header("retry-after").is_some_and(|s| s.parse::<u64>().is_ok_and(|s| (100..=121).contains(&s))));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_who_ask_the_same_at_once_make_one_request() {
    let provider = Script::answering_after(Duration::from_millis(200), counting).await;
    let app = TestApp::start(config(&provider.base_url(), DAY)).await;
    let address = app.address;
    let mut crowd = tokio::task::JoinSet::new();
    for _ in 0..1000 {
        crowd.spawn(async move { http::send(address, &Ask::get("/gateway/hub/cold")).await });
    }
    let answers = crowd.join_all().await;
    assert_eq!(provider.asked().len(), 1);
    assert_eq!(app.ledger("hub").await.len(), 1);
    let collapsed =
        answers.iter().filter(|a| a.header("cache-status").is_some_and(|v| v.contains("; collapsed"))).count();
    for answer in answers {
        assert_eq!((answer.status, answer.json()["number"].as_u64()), (200, Some(0)));
    }
    assert!(collapsed > 100, "{collapsed}");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_goes_away_takes_no_answer_from_those_who_wait() {
    let provider = Script::answering_after(Duration::from_millis(700), counting).await;
    let app = TestApp::start(config(&provider.base_url(), DAY)).await;
    let address = app.address;
    let leader = tokio::spawn(async move { http::send(address, &Ask::get("/gateway/hub/x")).await });
    eventually("the first is under way", SOON, || async { (!provider.asked().is_empty()).then_some(()) }).await;
    let second = tokio::spawn(async move { http::send(address, &Ask::get("/gateway/hub/x")).await });
    tokio::time::sleep(Duration::from_millis(100)).await;
    leader.abort();
    second.await.expect("it waits").expect(200);
    assert_eq!(provider.asked().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn who_varies_from_the_first_leads_its_own_request() {
    let provider = Script::answering_after(Duration::from_millis(300), |asked| {
        let body = format!("{{\"for\":\"{}\"}}", asked.header("accept-language"));
        json(200, &[("vary", "Accept-Language")], &body)
    })
    .await;
    let app = TestApp::start(config(&provider.base_url(), DAY)).await;
    let address = app.address;
    let of = |language: &'static str| async move {
        http::send(address, &Ask::get("/gateway/hub/x").header("accept-language", language)).await.expect(200).json()["for"].clone()
    };
    let (de, fr, de_too) = tokio::join!(of("de"), of("fr"), of("de"));
    assert_eq!((de, fr, de_too), ("de".into(), "fr".into(), "de".into()));
    assert!(provider.asked().len() <= 3, "{:?}", provider.asked().len());
    let before = provider.asked().len();
    assert_eq!((of("fr").await, of("de").await), ("fr".into(), "de".into()));
    assert_eq!(provider.asked().len(), before);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_may_not_be_asked_is_refused_and_sent_nowhere() {
    let provider = Script::answering(counting).await;
    let gateway = "[connection.gateway]\n[[connection.gateway.allow]]\nmethods = [\"GET\"]\npath = \"/open/**\"\n";
    let app = TestApp::start(config(&provider.base_url(), gateway)).await;
    for (path, status) in [
        ("/gateway/hub/closed", 403),
        ("/gateway/hub/open/../closed", 400),
        ("/gateway/hub/open/%2e%2e/closed", 400),
        ("/gateway/hub/open/%252e%252e/closed", 400),
        ("/gateway/hub//evil.example/open/x", 400),
        ("/gateway/nobody/x", 404),
    ] {
        app.get(path).await.expect_problem(status);
    }
    let refused = app.post("/gateway/hub/open/x").await;
    assert_eq!((refused.status, refused.header("allow")), (405, Some("GET")));
    for header in [("origin", "https://evil.example"), ("sec-fetch-site", "cross-site")] {
        app.send(Ask::get("/gateway/hub/open/x").header(header.0, header.1)).await.expect_problem(403);
    }
    app.send(Ask::get("/gateway/hub/open/x").header("host", "evil.example")).await.expect_problem(421);
    assert_eq!(provider.asked().len(), 0);
    app.get("/gateway/hub/open/x").await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn from_the_network_the_token_stands_where_the_key_would() {
    let provider = Script::answering(counting).await;
    let app = TestApp::start(config(&provider.base_url(), DAY)).await;
    // What came through a proxy is not from this machine.
    let ask = || Ask::get("/gateway/hub/x").header("x-forwarded-for", "192.0.2.7");
    let refused = app.send(ask()).await;
    assert!(refused.clone().expect_problem(401)["detail"].as_str().is_some_and(|d| d.contains("larder token create")));
    app.send(ask().header("authorization", "Bearer of-the-provider")).await.expect_problem(401);
    let basic = |text: String| base64::Engine::encode(&base64::engine::general_purpose::STANDARD, text);
    let token = app.token();
    for value in [
        format!("Bearer {token}"),
        format!("token {token}"),
        format!("Basic {}", basic(format!("{token}:x-oauth-basic"))),
        format!("Basic {}", basic(format!("me:{token}"))),
    ] {
        app.send(ask().header("authorization", &value)).await.expect(200);
    }
    assert!(provider.asked().iter().all(|asked| !format!("{asked:?}").contains(token)), "the token stays here");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_goes_as_a_command_once_and_forgets_what_it_changes() {
    let provider = Script::answering(counting).await;
    let gateway = "[connection.gateway]\nfresh_for = \"1d\"\n[[connection.gateway.allow]]\nmethods = [\"GET\", \"HEAD\", \"POST\"]\n\
                   path = \"/**\"\n[[connection.gateway.rule]]\npath = \"/receipts/*\"\nforgets = [\"/totals/**\"]\n";
    let app = TestApp::start(config(&provider.base_url(), gateway)).await;
    for path in ["/gateway/hub/receipts/1?full=1", "/gateway/hub/totals/day", "/gateway/hub/other"] {
        app.get(path).await.expect(200);
    }
    app.send(Ask::post("/gateway/hub/receipts/1").text("{}")).await.expect_problem(401);
    assert_eq!(provider.asked().len(), 3, "reading is open here, writing is not");
    let ask = Ask::post("/gateway/hub/receipts/1").token(app.token()).json(&serde_json::json!({"paid": true}));
    let done = app.send(ask).await.expect(200);
    assert_eq!(done.header("cache-status"), Some("larder; fwd=method; fwd-status=200"));
    assert_eq!(done.header("larder-forgotten"), Some("2"));
    let seen = provider.asked().remove(3);
    assert_eq!((seen.method.as_str(), seen.body.as_str()), ("POST", "{\"paid\":true}"));
    assert_eq!(app.ledger("hub").await[3]["caller"], "command");
    for (path, is_kept) in [("/receipts/1?full=1", false), ("/totals/day", false), ("/other", true)] {
        let status = app
            .get(&format!("/gateway/hub{path}"))
            .await
            .expect(200)
            .header("cache-status")
            .unwrap_or_default()
            .to_owned();
        assert_eq!(status.contains("; hit"), is_kept, "{path}: {status}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_get_that_a_command_uses_is_no_reading() {
    let provider = FakeProvider::unlimited().await;
    let app = TestApp::start(Config::yard(&provider.base_url()).tuned(Connection::quiet)).await;
    let path = "/gateway/yard/setzone.php?action=run&relay_id=1&custom=60";
    app.get(path).await.expect_problem(401);
    assert_eq!(provider.count_of(SET_ZONE), 0);
    for _ in 0..2 {
        let reply = app.send(Ask::get(path).token(app.token())).await.expect(200);
        assert_eq!(reply.header("cache-status"), Some("larder; fwd=method; fwd-status=200"));
    }
    assert_eq!(provider.count_of(SET_ZONE), 2, "each opens a valve, and neither is kept");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_browser_sends_by_itself_opens_no_valve() {
    let provider = FakeProvider::unlimited().await;
    let app = TestApp::start(Config::yard(&provider.base_url()).tuned(Connection::quiet)).await;
    let path = "/gateway/yard/setzone.php?action=run&relay_id=1&custom=60";
    let pair = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, format!("me:{}", app.token()));
    let remembered = |ask: Ask| ask.header("authorization", &format!("Basic {pair}"));
    for peer in [None, Some("192.0.2.7")] {
        let from = |ask: Ask| peer.iter().fold(ask, |ask, peer| ask.header("x-forwarded-for", peer));
        let refused = app.send(from(remembered(Ask::get(path)))).await.expect_problem(403);
        assert!(refused["detail"].as_str().is_some_and(|d| d.contains("Authorization: Bearer")), "{refused}");
    }
    assert_eq!(provider.count_of(SET_ZONE), 0, "a picture on a foreign page can make a browser ask for it");
    app.send(remembered(Ask::get("/gateway/yard/other"))).await.expect(200);

    // Nothing but a program puts the token there.
    app.send(Ask::get(path).token(app.token())).await.expect(200);
    app.send(Ask::get(&format!("{path}&api_key={}", app.token()))).await.expect(200);
    assert_eq!(provider.count_of(SET_ZONE), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn who_may_not_read_is_not_told_which_connections_there_are() {
    let provider = Script::answering(counting).await;
    let app = TestApp::start(config(&provider.base_url(), DAY)).await;
    for path in ["x", "%252e%252e/x", "/evil.example/x"] {
        let mut told = Vec::new();
        for name in ["hub", "nobody"] {
            let ask = Ask::get(&format!("/gateway/{name}/{path}"));
            let stranger = app.send(ask.clone().header("x-forwarded-for", "192.0.2.7")).await.expect_problem(401);
            let rebound = app.send(ask.header("host", "evil.example")).await.expect_problem(421);
            told.push((stranger["detail"].clone(), rebound["detail"].clone()));
        }
        assert_eq!(told[0], told[1], "{path}");
    }
    assert_eq!(provider.asked().len(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_poller_s_reading_and_the_gateway_s_are_one_thing() {
    let provider = FakeProvider::unlimited().await;
    let app = TestApp::start(Config::yard(&provider.base_url()).tuned(Connection::quiet)).await;
    app.has_polled("yard", "controller").await;
    let polled = provider.count();
    let answer = app.get("/gateway/yard/statusschedule.php?api_key=mine").await.expect(200);
    assert_eq!(answer.json()["relays"][0]["name"], "Lawn");
    assert!(answer.header("cache-status").is_some_and(|v| v.starts_with("larder; hit")), "{:?}", answer.headers);
    assert_eq!(provider.count(), polled, "the poller has read it");

    provider.renames(1, "Front lawn");
    tokio::time::sleep(Duration::from_millis(5200)).await;
    let answer = app.get("/gateway/yard/statusschedule.php?api_key=mine").await.expect(200);
    assert_eq!(answer.json()["relays"][0]["name"], "Front lawn");
    assert_eq!(provider.count(), polled + 1);
    let target = app.target("yard", "controller").await;
    assert_eq!(target["items"][0]["title"], "Front lawn", "what a client read is the target's too");
    assert_eq!(app.ledger("yard").await.last().map(|c| c["caller"].clone()), Some("gateway".into()));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_ready_yet_is_an_answer_with_a_life_of_its_own() {
    let provider = Script::answering(|asked| match asked.path() {
        "/receipts/7" if asked.number < 2 => json(409, &[], "{\"error\":\"not ready\"}"),
        _ => counting(asked),
    })
    .await;
    let gateway = "[connection.gateway]\n[[connection.gateway.allow]]\nmethods = [\"GET\", \"POST\"]\npath = \"/**\"\n\
                   [[connection.gateway.rule]]\npath = \"/receipts/*\"\nnot_ready = { status = 409, for = \"10m\", until = [\"write\"] }\n";
    let app = TestApp::start(config(&provider.base_url(), gateway)).await;
    app.get("/gateway/hub/receipts/7").await.expect(409);
    for _ in 0..5 {
        let again = app.get("/gateway/hub/receipts/7").await.expect(409);
        assert!(again.header("cache-status").is_some_and(|v| v.contains("; hit") && v.contains("not_ready")));
    }
    assert_eq!(provider.asked().len(), 1, "99 of 100 such reads cost nothing");
    app.post("/gateway/hub/jobs").await.expect(200);
    app.get("/gateway/hub/receipts/7").await.expect(200);
    assert!(!app.log().contains("409"), "expected, and no warning: {}", app.log());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_client_and_a_long_answer_slow_nobody() {
    let long = "x".repeat(6_000_000);
    let provider = Script::answering(move |asked| match asked.path() {
        "/long" => http(200, &[("content-type", "text/plain")], long.as_bytes()),
        _ => counting(asked),
    })
    .await;
    let app = TestApp::start(config(&provider.base_url(), DAY)).await;
    let before = app.resident_kb().unwrap_or(0);
    let mut lazy = tokio::net::TcpStream::connect(app.address).await.expect("a socket");
    let head = format!("GET /gateway/hub/long HTTP/1.1\r\nhost: {}\r\n\r\n", app.address);
    tokio::io::AsyncWriteExt::write_all(&mut lazy, head.as_bytes()).await.expect("sent");
    eventually("it is under way", SOON, || async { (!provider.asked().is_empty()).then_some(()) }).await;
    let started = Instant::now();
    app.get("/gateway/hub/x").await.expect(200);
    assert!(started.elapsed() < SOON);
    let whole = app.get("/gateway/hub/long").await.expect(200);
    assert_eq!(whole.body.len(), 6_000_000);
    assert!(whole.header("cache-status").is_some_and(|v| v.contains("detail=too_large")), "{:?}", whole.headers);
    let grown = app.resident_kb().unwrap_or(0).saturating_sub(before);
    assert!(grown < 40_000, "{grown} KiB more");
}

#[tokio::test(flavor = "multi_thread")]
async fn redirects_are_handed_back_and_lead_through_the_gateway() {
    let provider = Script::answering(|asked| match asked.path() {
        "/api/old" => http(302, &[("location", "/api/new?x=1")], b""),
        "/api/away" => http(302, &[("location", "https://elsewhere.example/x")], b""),
        "/api/list" => json(
            200,
            &[("link", "</api/list?page=2>; rel=\"next\""), ("link", "</api/list?page=9>; rel=\"last\"")],
            "[1]",
        ),
        _ => counting(asked),
    })
    .await;
    let app = TestApp::start(config(&format!("{}/api", provider.base_url()), DAY)).await;
    let moved = app.get("/gateway/hub/old").await.expect(302);
    assert_eq!(moved.header("location"), Some("/gateway/hub/new?x=1"));
    let away = app.get("/gateway/hub/away").await.expect(302);
    assert_eq!(away.header("location"), Some("https://elsewhere.example/x"));
    let list = app.get("/gateway/hub/list").await.expect(200);
    let link = |page: u32, rel: &str| format!("<http://{}/gateway/hub/list?page={page}>; rel=\"{rel}\"", app.address);
    let links: Vec<&str> = list.headers.get_all("link").iter().filter_map(|v| v.to_str().ok()).collect();
    assert_eq!(links, [link(2, "next"), link(9, "last")], "every line of them");
    assert_eq!(provider.asked().len(), 3, "nothing was followed");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_there_is_told_and_harms_nobody() {
    let provider = Script::answering(|asked| match asked.path() {
        "/missing" => json(404, &[], "{\"message\":\"Not Found\"}"),
        _ => counting(asked),
    })
    .await;
    let app = TestApp::start(config(&provider.base_url(), MOMENT)).await;
    for _ in 0..6 {
        let missing = app.get("/gateway/hub/missing").await.expect(404);
        assert_eq!(missing.body, "{\"message\":\"Not Found\"}", "the provider's own words");
        assert!(missing.header("cache-status").is_some_and(|v| !v.contains("stored")), "errors are never kept");
    }
    assert_eq!(app.connection("hub").await["breaker"], "closed");
    app.get("/gateway/hub/there").await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_narrow_list_is_served_out_of_the_wider_one_that_is_there() {
    let provider = Script::answering(|_| {
        json(200, &[], "{\"jobs\":[{\"id\":1,\"status\":\"live\"},{\"id\":2,\"status\":\"done\"}],\"total\":2}")
    })
    .await;
    let gateway = "[connection.gateway]\nfresh_for = \"1d\"\n[[connection.gateway.rule]]\npath = \"/jobs\"\n\
                   narrow = { parameter = \"status\", items = \"$.jobs[*]\", field = \"$.status\" }\n";
    let app = TestApp::start(config(&provider.base_url(), gateway)).await;
    app.get("/gateway/hub/jobs").await.expect(200);
    let live = app.get("/gateway/hub/jobs?status=live").await.expect(200);
    assert_eq!(live.json()["jobs"], serde_json::json!([{"id": 1, "status": "live"}]));
    assert!(
        live.header("cache-status").is_some_and(|v| v.contains("; hit") && v.contains("narrowed")),
        "{:?}",
        live.headers
    );
    assert_eq!(provider.asked().len(), 1);
    let again = app.get("/gateway/hub/jobs?status=live").await.expect(200);
    assert_eq!((again.body, provider.asked().len()), (live.body, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_client_s_own_words_on_caches_count_within_what_the_budget_allows() {
    let provider = Script::answering(counting).await;
    let app = TestApp::start(config(&provider.base_url(), MOMENT)).await;
    let ask = |words: &'static str| app.send(Ask::get("/gateway/hub/x").header("cache-control", words));
    let nothing = ask("only-if-cached").await;
    nothing.expect_problem(504);
    assert_eq!(ask("max-age=5").await.expect(200).json()["number"], 0);
    tokio::time::sleep(Duration::from_millis(500)).await;
    for words in ["max-stale", "max-stale=60", "only-if-cached"] {
        let stale = ask(words).await.expect(200);
        assert_eq!(stale.json()["number"], 0, "{words}");
        assert!(stale.header("larder-stale").is_some(), "{words}");
    }
    assert_eq!(ask("no-cache").await.expect(200).json()["number"], 1);
    assert_eq!(provider.asked().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_of_the_api_forgets_what_it_changes_too() {
    let provider = FakeProvider::unlimited().await;
    let gateway = "[connection.gateway]\nfresh_for = \"1d\"\n[[connection.gateway.rule]]\npath = \"/setzone.php\"\n\
                   forgets = [\"/other\"]\n";
    let config = Config::yard(&provider.base_url());
    let app = TestApp::start(config.tuned(|c| Connection { body: format!("{}{gateway}", c.body), ..c.quiet() })).await;
    app.get("/gateway/yard/other").await.expect(200);
    let job = app.operator().runs_zone(1).await;
    app.operator().sees_job(job, "done").await;
    let again = app.get("/gateway/yard/other").await.expect(200);
    assert!(again.header("cache-status").is_some_and(|v| v.contains("fwd=uri-miss")), "{:?}", again.headers);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_asks_nothing_and_forgets_nothing() {
    let provider = Script::answering(|asked| match asked.path() {
        "/late" => json(409, &[], "{\"error\":\"not ready\"}"),
        _ => counting(asked),
    })
    .await;
    let gateway = "[connection.gateway]\nfresh_for = \"1d\"\n[[connection.gateway.rule]]\npath = \"/late\"\n\
                   not_ready = { status = 409, for = \"10m\", until = [\"write\"] }\n";
    let mut app = TestApp::start(config(&provider.base_url(), gateway)).await;
    let mut first = Vec::new();
    for path in ["/a", "/b?x=1", "/c%2Fd", "/late"] {
        first.push((path, app.get(&format!("/gateway/hub{path}")).await.body));
    }
    app.restart().await;
    tokio::time::sleep(Duration::from_millis(1100)).await;
    for round in 0..2 {
        for (path, body) in &first {
            let again = app.get(&format!("/gateway/hub{path}")).await;
            assert_eq!(again.body, *body, "{path}");
            assert!(again.header("cache-status").is_some_and(|v| v.starts_with("larder; hit")), "{:?}", again.headers);
            assert!(again.header("age").is_some_and(|age| age != "0"), "honest over the restart: {:?}", again.headers);
        }
        assert_eq!(provider.asked().len(), 4);
        if round == 0 {
            app.crash().await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_while_it_stores_it_serves_nothing_wrong() {
    let provider = Script::answering(|asked| {
        let body = format!("{{\"at\":\"{}\",\"fill\":\"{}\"}}", asked.location, "x".repeat(20_000));
        json(200, &[], &body)
    })
    .await;
    let mut app = TestApp::start(config(&provider.base_url(), DAY)).await;
    for round in 0..3u64 {
        let address = app.address;
        let crowd: Vec<_> = (0..40)
            .map(|n| {
                tokio::spawn(async move { _ = http::try_send(address, &Ask::get(&format!("/gateway/hub/{n}"))).await })
            })
            .collect();
        tokio::time::sleep(Duration::from_millis(20 + 40 * round)).await;
        app.kill_9();
        for one in crowd {
            one.abort();
        }
        app.boots().await;
        for n in 0..40 {
            let reply = app.get(&format!("/gateway/hub/{n}")).await.expect(200);
            let answer = reply.json();
            assert_eq!(
                (answer["at"].as_str(), reply.body.len() > 20_000),
                (Some(format!("/{n}").as_str()), true),
                "round {round}"
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crash_while_it_writes_never_brings_back_what_the_write_changed() {
    let provider = Script::answering_after(Duration::from_millis(400), counting).await;
    let gateway = "[connection.gateway]\nfresh_for = \"1d\"\n[[connection.gateway.allow]]\nmethods = [\"GET\", \"PUT\"]\npath = \"/**\"\n";
    let mut app = TestApp::start(config(&provider.base_url(), gateway)).await;
    app.get("/gateway/hub/receipts/1").await.expect(200);
    app.restart().await;
    let (address, ask) = (app.address, Ask::new("PUT", "/gateway/hub/receipts/1").token(app.token()).text("{}"));
    let writer = tokio::spawn(async move { _ = http::try_send(address, &ask).await });
    eventually("the provider has it", SOON, || async { (provider.asked().len() == 2).then_some(()) }).await;
    app.kill_9();
    writer.abort();
    app.boots().await;
    let again = app.get("/gateway/hub/receipts/1").await.expect(200);
    assert_eq!(again.json()["number"], 2, "asked anew: {:?}", again.headers);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_nobody_waits_for_any_more_is_not_sent() {
    let provider = Script::answering(counting).await;
    let paced = config(&provider.base_url(), DAY)
        .tuned(|c| c.no_limits().limit_text("name = \"pace\"\nrequests = 1\nwindow = \"1500ms\"\nkind = \"pace\""));
    let app = TestApp::start(paced).await;
    let address = app.address;
    let ask = |path: &'static str| tokio::spawn(async move { http::send(address, &Ask::get(path)).await });
    ask("/gateway/hub/first").await.expect("a client").expect(200);
    // Both wait for the pace; one of them goes away, and is not missed.
    let (left, gone, stays) = (ask("/gateway/hub/left"), ask("/gateway/hub/shared"), ask("/gateway/hub/shared"));
    tokio::time::sleep(Duration::from_millis(300)).await;
    left.abort();
    gone.abort();
    stays.await.expect("a client").expect(200);
    tokio::time::sleep(Duration::from_millis(2500)).await;
    let asked: Vec<String> = provider.asked().into_iter().map(|asked| asked.location).collect();
    assert_eq!(asked, ["/first", "/shared"]);
    assert_eq!(app.ledger("hub").await.len(), 2, "what was not sent is not charged");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_is_told_something_else_than_the_poller_asks_for_itself_alone() {
    let provider = Script::answering(|asked| {
        let body = format!(
            "{{\"relays\":[{{\"relay_id\":1,\"name\":\"for {}\",\"time\":9,\"run\":1}}]}}",
            asked.header("accept")
        );
        json(200, &[("vary", "Accept")], &body)
    })
    .await;
    let config = Config::yard(&provider.base_url()).tuned(|c| c.quiet().no_limits());
    let app = TestApp::start(config).await;
    app.has_polled("yard", "controller").await;
    let ask = || Ask::get("/gateway/yard/statusschedule.php").header("accept", "application/json");
    let own = app.send(ask()).await.expect(200);
    assert_eq!(own.json()["relays"][0]["name"], "for application/json");
    assert_eq!(provider.asked().len(), 2, "one for each");
    let poller = app.send(Ask::get("/gateway/yard/statusschedule.php").header("accept", "*/*")).await;
    assert!(poller.header("cache-status").is_some_and(|v| v.contains("fwd=vary-miss") || v.contains("; hit")));
}

/// Two organizations have a connection of one name, each with a place of its own for its key: a token in that place is asked by its own one.
#[tokio::test(flavor = "multi_thread")]
async fn a_token_of_any_organization_may_stand_where_its_connection_s_key_goes() {
    let provider = Script::answering(counting).await;
    let hub = |organization: &str, place: &str, path: &str| {
        format!(
            "[[connection]]\nname = \"hub\"\norganization = \"{organization}\"\nbase_url = \"{}{path}\"\n\
             credential = {{ env = \"{}_KEY\", {place} }}\n[[connection.limit]]\nname = \"ample\"\nrequests = 1000\nwindow = \"1h\"\n\
             kind = \"rolling\"\n[connection.poll]\ninterval = \"1h\"\n",
            provider.base_url(),
            organization.to_uppercase(),
        )
    };
    let tables = [
        hub("default", "header = \"X-Api-Key\"", "/ours"),
        hub("acme", "header = \"X-Acme-Key\"", "/acme"),
        hub("birch", "query = \"key\"", "/birch"),
    ];
    let mut config = Config { extra: tables.concat(), ..Config::new() };
    for name in ["DEFAULT_KEY", "ACME_KEY", "BIRCH_KEY"] {
        config.environment.insert(name.to_owned(), secret::new_secret());
    }
    let app = TestApp::start(config).await;
    let mut tokens = Vec::new();
    for organization in ["acme", "birch"] {
        let create = ["token", "create", "--name", organization, "--role", "reader", "--organization", organization];
        tokens.push(app.larder_here(&create).await.expect(0).stdout.trim().to_owned());
    }
    let at =
        |reply: crate::support::http::Reply| reply.expect(200).json()["at"].as_str().unwrap_or_default().to_owned();
    let get = || Ask::get("/gateway/hub/x");
    assert_eq!(at(app.send(get()).await), "/ours/x", "who shows nothing is of the default organization");
    assert_eq!(at(app.send(get().header("x-acme-key", &tokens[0])).await), "/acme/x");
    let of_birch = at(app.get(&format!("/gateway/hub/x?key={}", tokens[1])).await);
    assert!(of_birch.starts_with("/birch/x?key="), "{of_birch}");
    assert_eq!(at(app.send(get().token(&tokens[0])).await), "/acme/x", "as in Authorization");
    // In the place of another's it is not read, and where it would be read it does not open another's.
    app.send(get().header("x-api-key", &tokens[0])).await.expect(403);
    for asked in provider.asked() {
        let told = format!("{asked:?}");
        assert!(tokens.iter().all(|token| !told.contains(token.as_str())), "{told}");
    }
}
