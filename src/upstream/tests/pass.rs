//! What is passed on for clients of the gateway: octet by octet, with Larder's credential, to the connection's own host.

use super::provider::{Provider, Step, answers, says};
use super::*;
use crate::domain::reply::Failure;
use crate::upstream::pass::{Passed, Passing, Relayed, Rest};
use bytes::Bytes;
use hyper::{HeaderMap, Method};

fn headers(pairs: &[(&str, &str)]) -> HeaderMap {
    let pair =
        |(name, value): &(&str, &str)| (name.parse::<hyper::header::HeaderName>().unwrap(), value.parse().unwrap());
    pairs.iter().map(pair).collect()
}

fn asks(location: &str) -> Passing {
    Passing {
        connection: yard(),
        method: Method::GET,
        location: location.to_owned(),
        headers: HeaderMap::new(),
        body: Bytes::new(),
        most: 50_000,
        in_time: false,
    }
}

async fn pass(bench: &Bench, passing: Passing) -> Passed {
    let now = bench.clock.now().steady;
    bench.door.pass_within(None, now + Span(1500), now + Span(5000), passing).await
}

async fn relayed(script: Vec<Step>, carrier: Carrier, passing: Passing) -> (Relayed, String) {
    let provider = Provider::with(script).await;
    let passed = pass(&Bench::new(&provider.base_url(), carrier), passing).await;
    assert_eq!(passed.detail, "");
    (passed.result.unwrap(), provider.requests().remove(0))
}

fn line(head: &str) -> &str {
    head.lines().next().unwrap()
}

#[tokio::test]
async fn method_path_and_query_go_out_octet_by_octet() {
    for location in [
        "/zones/a%2Fb%2f?x=%7e&q='it''s'&&e=",
        "/a;v=1/b:c@d!$&()*+,=~/{id}?f[0]=1&j={a:1}",
        "/tasks//x/?",
        "/%E2%82%AC/caf%c3%a9?a+b=%20",
    ] {
        for method in [Method::GET, Method::HEAD, Method::DELETE, Method::OPTIONS] {
            let passing = Passing { method: method.clone(), ..asks(location) };
            let (_, head) = relayed(vec![answers("200 OK", b"")], bearer(), passing).await;
            assert_eq!(line(&head), format!("{method} {location} HTTP/1.1"));
        }
    }
}

#[tokio::test]
async fn the_path_of_the_base_url_stands_before_it_and_the_key_behind_it() {
    for (location, expected) in [
        ("/x?a=1", "/api/v1/x?a=1&api_key=k3y%2Fwith%2Bodd%3Dsigns"),
        ("/x", "/api/v1/x?api_key=k3y%2Fwith%2Bodd%3Dsigns"),
        ("", "/api/v1?api_key=k3y%2Fwith%2Bodd%3Dsigns"),
        ("?a", "/api/v1?a&api_key=k3y%2Fwith%2Bodd%3Dsigns"),
        ("/x?api_key=mine&a='&api%5Fkey=mine", "/api/v1/x?a='&api_key=k3y%2Fwith%2Bodd%3Dsigns"),
    ] {
        let provider = Provider::with(vec![answers("200 OK", b"{}")]).await;
        let bench = Bench::new(&format!("{}/api/v1", provider.base_url()), query());
        pass(&bench, asks(location)).await.result.unwrap();
        assert_eq!(line(&provider.requests()[0]), format!("GET {expected} HTTP/1.1"));
    }
}

#[tokio::test]
async fn a_client_s_headers_go_out_but_for_its_hop_its_house_and_its_credential() {
    let sent = [
        ("accept", "application/vnd.x+json"),
        ("user-agent", "PyClient/1"),
        ("x-custom", "1"),
        ("range", "bytes=0-1"),
        ("accept-encoding", "br;q=0, gzip"),
        ("authorization", "Bearer of-the-client"),
        ("cookie", "session=1"),
        ("connection", "close, x-hop"),
        ("x-hop", "1"),
        ("te", "trailers"),
        ("host", "larder.local:8474"),
        ("x-forwarded-for", "192.168.1.7"),
        ("x-forwarded-prefix", "/larder"),
        ("x-forwarded-user", "ann"),
        ("x-http-method-override", "DELETE"),
        ("x-http-method", "DELETE"),
        ("x-method-override", "DELETE"),
        ("x-original-url", "/admin"),
        ("x-rewrite-url", "/admin"),
        ("referer", "http://larder.local/c/yard"),
        ("proxy-authorization", "Basic x"),
    ];
    let passing = Passing { headers: headers(&sent), ..asks("/x") };
    let (_, head) = relayed(vec![answers("200 OK", b"{}")], bearer(), passing).await;
    for line in ["accept: application/vnd.x+json", "user-agent: PyClient/1", "x-custom: 1", "range: bytes=0-1"] {
        assert!(head.contains(line), "{head}");
    }
    assert!(head.contains("accept-encoding: identity\r\n"), "a part cannot be taken out of a coding: {head}");
    assert!(head.contains(&format!("authorization: Bearer {KEY}\r\n")) && head.contains("host: 127.0.0.1:"), "{head}");
    for name in ["of-the-client", "cookie", "x-hop", "te:", "larder.local", "x-forwarded", "proxy-", "DELETE", "/admin"]
    {
        assert!(!head.contains(name), "{name}: {head}");
    }
}

#[tokio::test]
async fn a_body_goes_out_whole() {
    let passing = Passing {
        method: Method::POST,
        headers: headers(&[
            ("content-type", "application/json"),
            ("content-length", "99"),
            ("transfer-encoding", "chunked"),
        ]),
        body: Bytes::from_static(b"{\"a\":1}"),
        ..asks("/runs")
    };
    let (_, head) = relayed(vec![answers("201 Created", b"{}")], bearer(), passing).await;
    assert!(head.contains("content-length: 7\r\n") && !head.contains("transfer-encoding"), "{head}");
    let empty = Passing { method: Method::POST, ..asks("/runs") };
    let (_, head) = relayed(vec![answers("201 Created", b"{}")], bearer(), empty).await;
    assert!(head.contains("content-length: 0\r\n"), "{head}");
}

#[tokio::test]
async fn an_answer_comes_back_as_it_is_and_redirects_are_handed_back() {
    let head =
        "302 Found\r\nLocation: /elsewhere\r\nSet-Cookie: s=1\r\nKeep-Alive: 5\r\nX-Kept: \u{e9}\r\nETag: W/\"1\"";
    let (answer, _) = relayed(vec![answers(head, b"see there")], bearer(), asks("/x")).await;
    assert_eq!((answer.status, answer.body.as_slice(), answer.rest.is_none()), (302, &b"see there"[..], true));
    let named = |name: &str| answer.headers.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_str());
    assert_eq!(
        (named("location"), named("etag"), named("x-kept")),
        (Some("/elsewhere"), Some("W/\"1\""), Some("\u{e9}"))
    );
    assert_eq!((named("set-cookie"), named("keep-alive"), named("connection")), (None, None, None));
}

#[tokio::test]
async fn a_coded_answer_is_decoded_and_an_echoed_key_is_hidden() {
    let plain = format!("{{\"you\":\"{KEY}\"}}");
    let packed = zstd::encode_all(plain.as_bytes(), 0).unwrap();
    let script = vec![answers("200 OK\r\nContent-Encoding: zstd\r\nContent-Type: application/json", &packed)];
    let (answer, _) = relayed(script, bearer(), asks("/x")).await;
    let text = String::from_utf8(answer.body).unwrap();
    assert!(text.starts_with("{\"you\":") && !text.contains(KEY), "{text}");
    assert!(!answer.headers.iter().any(|(name, _)| name == "content-encoding" || name == "content-length"));
}

#[tokio::test]
async fn a_long_answer_is_handed_on_as_it_comes() {
    let body = vec![b'x'; 200_000];
    let (answer, _) = relayed(vec![answers("200 OK", &body)], bearer(), asks("/video")).await;
    let mut got = answer.body.len();
    assert!((50_000..150_000).contains(&got), "memory is bounded: {got}");
    let mut rest = answer.rest.unwrap();
    while let Some(next) = rest.next().await {
        got += next.unwrap().len();
    }
    assert_eq!(got, 200_000);
}

#[tokio::test]
async fn the_rest_of_a_long_answer_says_when_the_provider_has_it_in_hand_no_more() {
    let body = vec![b'x'; 8 << 20];
    let is_over = |rest: &Rest| rest.over().is_cancelled();
    for in_time in [true, false] {
        let provider = Provider::with(vec![answers("200 OK", &body)]).await;
        let bench = Bench::new(&provider.base_url(), bearer());
        let asks = || Passing { in_time, ..asks("/video") };
        // Read to its end.
        let mut rest = pass(&bench, asks()).await.result.unwrap().rest.unwrap();
        while let Some(next) = rest.next().await {
            next.unwrap();
        }
        rest.over().cancelled().await;
        // Left.
        let rest = pass(&bench, asks()).await.result.unwrap().rest.unwrap();
        let over = rest.over();
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        assert!(!is_over(&rest), "nobody has read it yet");
        drop(rest);
        over.cancelled().await;
        // Neither read nor left by the end of its time.
        let now = bench.clock.now().steady;
        let passed = bench.door.pass_within(None, now + Span(1500), now + Span(700), asks()).await;
        let mut rest = passed.result.unwrap().rest.unwrap();
        tokio::time::sleep(std::time::Duration::from_millis(1000)).await;
        assert_eq!(is_over(&rest), in_time);
        let mut ended = None;
        while let Some(next) = rest.next().await {
            ended = next.err();
            if ended.is_some() {
                break;
            }
        }
        assert_eq!(ended.map(|(failure, _)| failure), in_time.then_some(Failure::Timeout));
    }
}

#[tokio::test]
async fn no_secret_is_left_in_a_long_answer_wherever_it_is_cut() {
    let echoed = format!("{{\"you\":\"{KEY}\"}}\n");
    let body = echoed.repeat(200_000 / echoed.len());
    let (answer, _) = relayed(vec![answers("200 OK", body.as_bytes())], bearer(), asks("/log")).await;
    let length = answer.headers.iter().find(|(name, _)| name == "content-length").map(|(_, v)| v.clone());
    let (mut got, mut rest) = (answer.body, answer.rest.unwrap());
    while let Some(next) = rest.next().await {
        got.extend_from_slice(&next.unwrap());
    }
    let hidden = body.replace(KEY, &"*".repeat(KEY.len()));
    assert_eq!(String::from_utf8(got).unwrap(), hidden);
    assert_eq!(length, Some(hidden.len().to_string()), "as long as was announced");
}

/// Long in its coding, or only out of it.
#[tokio::test]
async fn no_secret_is_left_in_a_long_answer_that_the_provider_has_compressed() {
    let noise = |n: usize| blake3::hash(&n.to_be_bytes()).to_hex();
    let long: String = (0..6000).map(|n| format!("{{\"you\":\"{KEY}\",\"n\":\"{}\"}}\n", noise(n))).collect();
    let dense = format!("{{\"you\":\"{KEY}\"}}\n").repeat(20_000);
    let gzip = |body: &[u8]| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        std::io::Write::write_all(&mut encoder, body).unwrap();
        encoder.finish().unwrap()
    };
    for body in [long, dense] {
        let packed = [("gzip", gzip(body.as_bytes())), ("zstd", zstd::encode_all(body.as_bytes(), 1).unwrap())];
        for (coding, packed) in packed {
            let head = format!("200 OK\r\ncontent-encoding: {coding}");
            let (answer, _) = relayed(vec![answers(&head, &packed)], bearer(), asks("/log")).await;
            let named = |name: &str| answer.headers.iter().any(|(n, _)| n == name);
            assert!(!named("content-encoding") && !named("content-length"), "{coding}: {:?}", answer.headers);
            let (mut got, mut rest) = (answer.body, answer.rest.expect("it is long"));
            assert!(got.len() < 150_000, "memory is bounded: {}", got.len());
            while let Some(next) = rest.next().await {
                got.extend_from_slice(&next.unwrap());
            }
            assert!(String::from_utf8(got).unwrap() == body.replace(KEY, &"*".repeat(KEY.len())), "{coding}");
            // Its end is missing, though all came that was announced.
            let half = &packed[..packed.len() - 5];
            let (answer, _) = relayed(vec![answers(&head, half)], bearer(), asks("/log")).await;
            let (mut rest, mut ended) = (answer.rest.expect("it is long"), None);
            while let Some(next) = rest.next().await {
                ended = next.err();
                if ended.is_some() {
                    break;
                }
            }
            assert_eq!(ended.expect("it is cut off").0, Failure::Undecodable, "{coding}");
        }
    }
}

#[tokio::test]
async fn a_cut_answer_is_none_and_a_cut_error_still_is_one() {
    for (head, is_answer) in [("200 OK", false), ("503 Service Unavailable", true)] {
        let script = vec![says(&format!("HTTP/1.1 {head}\r\ncontent-length: 50\r\n\r\n{{\"half\":"))];
        let provider = Provider::with(script).await;
        let passed = pass(&Bench::new(&provider.base_url(), bearer()), asks("/x")).await;
        match passed.result {
            Ok(answer) => assert!(is_answer && answer.cut, "{head}"),
            Err(failure) => assert!(!is_answer && failure == Failure::Undecodable, "{head}: {failure:?}"),
        }
    }
}

#[tokio::test]
async fn what_never_came_up_was_not_seen_and_no_answer_is_given_up() {
    let gone = Provider::with(vec![]).await;
    let nowhere = Bench::new("http://127.0.0.1:9", bearer());
    let passed = pass(&nowhere, asks("/x")).await;
    assert_eq!(passed.result.unwrap_err(), Failure::Connect);
    assert!(passed.detail.contains("nobody listens"), "{}", passed.detail);
    let dropped = pass(&Bench::new(&gone.base_url(), bearer()), asks("/x")).await;
    assert_eq!(dropped.result.unwrap_err(), Failure::Dropped);
    let silent = Provider::with(vec![Step::Hang]).await;
    let passed = pass(&Bench::new(&silent.base_url(), bearer()), asks("/x")).await;
    assert_eq!((passed.result.unwrap_err(), silent.requests().len()), (Failure::Timeout, 1));
}
