//! The door against a server that writes its bytes by hand.

use super::provider::{Provider, Step, answers, says};
use super::*;
use crate::domain::reply::{Answer, Failure};
use crate::upstream::Door;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

const BODY: &[u8] = b"{\"zones\":[1,2,3]}";
const BOMB: &str = "H4sIAAAAAAACA+3BMQEAAADCoPVPbQZ/oAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAACA1wB7WOBcQA0DAA==";

fn decoded(text: &str) -> Vec<u8> {
    STANDARD.decode(text).unwrap()
}

/// One request against a script; the provider must have counted exactly `counted`.
async fn ask(script: Vec<Step>, counted: usize) -> Reply {
    let provider = Provider::with(script).await;
    let reply = Bench::new(&provider.base_url(), query()).ask(get("/status?x=1")).await;
    assert_eq!(provider.requests().len(), counted);
    reply
}

fn answer(reply: Reply) -> Answer {
    assert_eq!(reply.detail, "");
    reply.result.unwrap()
}

fn fails(reply: &Reply, failure: Failure, words: &str) {
    assert_eq!(reply.result, Err(failure), "{}", reply.detail);
    assert!(reply.detail.contains(words), "{}", reply.detail);
}

#[tokio::test]
async fn an_answer_comes_back_whole() {
    let script = vec![answers("200 OK\r\nETag: \"v1\"\r\nX-Bytes: \u{ff}\r\nX-Twice: 1\r\nX-Twice: 2", BODY)];
    let provider = Provider::with(script).await;
    let mut request = get("/status?x=1");
    request.headers.push(("if-none-match".to_owned(), "\"v0\"".to_owned()));
    let answer = answer(Bench::new(&provider.base_url(), query()).ask(request).await);
    assert_eq!((answer.status, answer.body.as_slice(), answer.header("etag")), (200, BODY, Some("\"v1\"")));
    assert_eq!(answer.header("x-bytes"), None, "a value that is not text is left out");
    assert_eq!(answer.headers.iter().filter(|(n, _)| n == "x-twice").count(), 2);
    let head = provider.requests().remove(0);
    assert!(head.starts_with("GET /status?x=1&api_key=k3y%2Fwith%2Bodd%3Dsigns HTTP/1.1\r\n"), "{head}");
    for line in ["if-none-match: \"v0\"", &format!("user-agent: larder/{}", env!("CARGO_PKG_VERSION"))] {
        assert!(head.contains(line), "{head}");
    }
    assert!(head.contains("accept-encoding: ") && !head.contains("cookie"), "{head}");
}

#[tokio::test]
async fn a_header_carries_the_key_where_the_connection_says_so() {
    let provider = Provider::with(vec![answers("200 OK", BODY)]).await;
    answer(Bench::new(&provider.base_url(), bearer()).ask(get("/status")).await);
    assert!(provider.requests()[0].contains(&format!("authorization: Bearer {KEY}\r\n")));
}

#[tokio::test]
async fn a_command_is_posted_without_a_body() {
    let provider = Provider::with(vec![answers("202 Accepted", b"")]).await;
    let request = Request { method: "POST", ..get("/run") };
    assert_eq!(answer(Bench::new(&provider.base_url(), Carrier::None).ask(request).await).status, 202);
    let head = provider.requests().remove(0);
    assert!(head.starts_with("POST /run HTTP/1.1") && head.contains("content-length: 0"), "{head}");
}

#[tokio::test]
async fn a_body_goes_out_whole_with_its_length() {
    let provider = Provider::with(vec![answers("200 OK", BODY)]).await;
    let headers = vec![("content-type".to_owned(), "application/json".to_owned())];
    let request = Request { method: "POST", headers, body: BODY.to_vec(), ..get("/graphql") };
    answer(Bench::new(&provider.base_url(), query()).ask(request).await);
    let head = provider.requests().remove(0);
    for line in ["content-length: 17\r\n", "content-type: application/json\r\n"] {
        assert!(head.contains(line), "{head}");
    }
    assert!(!head.contains("transfer-encoding"), "{head}");
}

#[tokio::test]
async fn an_answer_without_a_body_needs_no_decompression() {
    let script = vec![says("HTTP/1.1 304 Not Modified\r\nContent-Encoding: gzip\r\nETag: \"v1\"\r\n\r\n"), Step::Hang];
    let answer = answer(ask(script, 1).await);
    assert_eq!((answer.status, answer.body.len(), answer.header("etag")), (304, 0, Some("\"v1\"")));
}

#[tokio::test]
async fn redirects_are_handed_back_and_not_followed() {
    let script = vec![answers("302 Found\r\nLocation: /elsewhere?api_key=k3y%2Fwith%2Bodd%3Dsigns", b"")];
    let answer = answer(ask(script, 1).await);
    assert_eq!((answer.status, answer.header("location")), (302, Some("/elsewhere?api_key=***")));
}

#[tokio::test]
async fn another_origin_is_refused_before_anything_is_sent() {
    let other = Provider::with(vec![answers("200 OK", BODY)]).await;
    let own = Provider::with(vec![answers("200 OK", BODY)]).await;
    let location = format!("{}/status?x=1", other.base_url());
    let reply = Bench::new(&own.base_url(), query()).ask(get(&location)).await;
    fails(&reply, Failure::RedirectRefused, "the credential stays with http://127.0.0.1:");
    assert_eq!((own.requests().len(), other.requests().len()), (0, 0));
}

#[tokio::test]
async fn a_refused_connection_was_never_counted() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base_url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let reply = Bench::new(&base_url, query()).ask(get("/status")).await;
    fails(&reply, Failure::Connect, "nobody listens there (connection refused)");
}

#[tokio::test]
async fn without_tls_nothing_was_counted() {
    let provider = Provider::with(vec![says("not TLS")]).await;
    let base_url = provider.base_url().replace("http://", "https://");
    let reply = Bench::new(&base_url, query()).ask(get("/status")).await;
    assert_eq!(reply.result, Err(Failure::Connect), "{}", reply.detail);
    assert_eq!(provider.requests().len(), 0);
}

#[tokio::test]
async fn a_socket_that_comes_up_after_the_time_to_send_is_not_used() {
    let provider = Provider::with(vec![answers("200 OK", BODY)]).await;
    let bench = Bench::new(&provider.base_url(), query());
    bench.clock.jump(Span(1000));
    let reply = bench.ask_within(Steady(999), Steady(5000), get("/status")).await;
    fails(&reply, Failure::NotSent, "before anything was written");
    assert_eq!(provider.requests().len(), 0);
}

#[tokio::test]
async fn a_slow_connect_is_told_by_what_ran_out_first() {
    // A listener that never answers a TLS greeting: TCP is up, TLS never is.
    let provider = Provider::with(vec![Step::Hang]).await;
    let bench = Bench::new(&provider.base_url().replace("http://", "https://"), query());
    let reply = bench.ask_within(Steady(100), Steady(5000), get("/status")).await;
    fails(&reply, Failure::NotSent, "The time to send ran out before https://127.0.0.1:");
    let now = bench.clock.now().steady;
    let reply = bench.ask_within(now + Span(3000), now + Span(5000), get("/status")).await;
    fails(&reply, Failure::Connect, "No connection to https://127.0.0.1:");
    assert_eq!(provider.requests().len(), 0);
}

#[tokio::test]
async fn no_answer_until_the_timeout_counts() {
    fails(&ask(vec![Step::Hang], 1).await, Failure::Timeout, "No complete answer within 2 s");
}

#[tokio::test]
async fn the_deadline_of_the_permit_is_never_passed() {
    let provider = Provider::with(vec![Step::Hang]).await;
    let bench = Bench::new(&provider.base_url(), query());
    let reply = bench.ask_within(Steady(1000), Steady(1200), get("/status")).await;
    assert_eq!(reply.result, Err(Failure::Timeout));
    assert_eq!(reply.arrived_at.steady, Steady(1200));
}

#[tokio::test]
async fn slow_answers_are_waited_for() {
    let slow_head = vec![Step::Wait(1000), answers("200 OK", BODY)];
    assert_eq!(answer(ask(slow_head, 1).await).body, BODY, "a provider may think longer than it may pause");
    let slow_body = vec![says("HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nab"), Step::Wait(200), says("cd")];
    assert_eq!(answer(ask(slow_body, 1).await).body, b"abcd");
}

#[tokio::test]
async fn silence_in_the_middle_of_an_answer_ends_it() {
    let script = vec![says("HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nab"), Step::Hang];
    fails(&ask(script, 1).await, Failure::Timeout, "fell silent");
}

#[tokio::test]
async fn a_trickle_ends_with_the_request_timeout() {
    let mut script = vec![says("HTTP/1.1 200 OK\r\ncontent-length: 40\r\n\r\n")];
    for _ in 0..40 {
        script.extend([says("x"), Step::Wait(100)]);
    }
    fails(&ask(script, 1).await, Failure::Timeout, "No complete answer");
}

#[tokio::test]
async fn a_socket_lost_before_the_head_was_counted() {
    fails(&ask(vec![], 1).await, Failure::Dropped, "closed the socket without an answer");
    fails(&ask(vec![Step::Reset], 1).await, Failure::Dropped, "");
    fails(&ask(vec![says("HTTP/1.1 200 O")], 1).await, Failure::Dropped, "");
    fails(&ask(vec![says("SSH-2.0-OpenSSH\r\n\r\n")], 1).await, Failure::Undecodable, "not HTTP");
}

#[tokio::test]
async fn a_cut_answer_is_no_answer() {
    for script in [
        vec![says("HTTP/1.1 200 OK\r\ncontent-length: 400\r\n\r\n{\"zones\":")],
        vec![says("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n9\r\n{\"zones\":\r\n")],
    ] {
        fails(&ask(script, 1).await, Failure::Undecodable, "cut off after 9 bytes");
    }
    let script = vec![says("HTTP/1.1 200 OK\r\ncontent-length: 400\r\n\r\n{\"zones\":"), Step::Wait(50), Step::Reset];
    fails(&ask(script, 1).await, Failure::Dropped, "after 9 bytes");
}

#[tokio::test]
async fn a_bomb_is_refused_at_the_cap() {
    let bomb = decoded(BOMB);
    assert!(bomb.len() < 1000);
    let reply = ask(vec![answers("200 OK\r\nContent-Encoding: gzip", &bomb)], 1).await;
    fails(&reply, Failure::TooLarge, "grew past 100000 bytes when decompressed");
    let reply = ask(vec![answers("200 OK", &vec![b'x'; 100_001])], 1).await;
    fails(&reply, Failure::TooLarge, "grew past 100000 bytes");
    assert_eq!(answer(ask(vec![answers("200 OK", &vec![b'x'; 100_000])], 1).await).body.len(), 100_000);
}

#[tokio::test]
async fn a_refusal_stands_even_if_its_page_is_broken() {
    let cut = vec![says("HTTP/1.1 429 Too Many\r\nRetry-After: 3600\r\ncontent-length: 400\r\n\r\nslow do")];
    let garbled = vec![answers("503 Busy\r\nRetry-After: 60\r\nContent-Encoding: gzip", b"plain text")];
    for (script, status, wait) in [(cut, 429, "3600"), (garbled, 503, "60")] {
        let answer = answer(ask(script, 1).await);
        assert_eq!((answer.status, answer.header("retry-after")), (status, Some(wait)));
    }
}

#[tokio::test]
async fn an_echoed_key_goes_no_further() {
    let page = format!("503 for GET /status?api_key=k3y%2Fwith%2Bodd%3Dsigns, key {KEY}");
    let script = vec![answers(&format!("503 Busy\r\nContent-Type: text/html\r\nX-Key: {KEY}"), page.as_bytes())];
    let answer = answer(ask(script, 1).await);
    assert_eq!(answer.body, b"503 for GET /status?api_key=***, key ***");
    assert_eq!(answer.header("x-key"), Some("***"));
}

#[tokio::test]
async fn a_socket_closed_between_two_requests_costs_nothing() {
    // The provider promises to keep the socket open, and closes it as the next request may arrive.
    let script = vec![answers("200 OK\r\nConnection: keep-alive", BODY), Step::Wait(30), Step::Reset];
    let provider = Provider::with(script).await;
    let bench = Bench::new(&provider.base_url(), query());
    for sent in 1..=20 {
        assert_eq!(answer(bench.ask(get("/status")).await).body, BODY);
        assert_eq!(provider.requests().len(), sent, "one request per permit");
        tokio::time::sleep(std::time::Duration::from_millis(20 + sent as u64)).await;
    }
}

#[tokio::test]
async fn nothing_is_sent_again() {
    for script in
        [vec![], vec![Step::Reset], vec![answers("503 Busy\r\nRetry-After: 0", b"")], vec![answers("408 Slow", b"")]]
    {
        let provider = Provider::with([script, vec![Step::NextRequest, answers("200 OK", BODY)]].concat()).await;
        Bench::new(&provider.base_url(), query()).ask(get("/status")).await;
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        assert_eq!(provider.requests().len(), 1);
    }
}

#[tokio::test]
async fn a_dropped_request_closes_its_socket() {
    let provider = Provider::with(vec![Step::NextRequest]).await;
    let bench = Bench::new(&provider.base_url(), query());
    let asked = tokio::time::timeout(std::time::Duration::from_millis(700), bench.ask(get("/status"))).await;
    assert!(asked.is_err(), "given up by the caller");
    tokio::time::timeout(std::time::Duration::from_secs(5), provider.sees_a_close()).await.unwrap();
    assert_eq!(provider.requests().len(), 1);
}

#[tokio::test]
async fn the_door_knows_its_secrets_and_its_connections() {
    let bench = Bench::new("http://127.0.0.1:9", query());
    assert_eq!(bench.door.redact(&format!("key {KEY}!")), "key ***!");
    let mut request = get("/status");
    request.connection.connection = "attic".into();
    fails(&bench.ask(request).await, Failure::NotSent, "There is no connection named default/attic.");
    fails(&bench.ask(get("status")).await, Failure::NotSent, "neither a path");
}
