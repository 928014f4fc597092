//! What no client writes that means well, octet by octet over a socket: it is refused or not found, nothing is sent for it, and who comes next is served.

use crate::support::*;
use std::net::SocketAddr;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// What comes back until the socket ends or says nothing more.
async fn answered(address: SocketAddr, octets: &[u8]) -> String {
    let mut socket = TcpStream::connect(address).await.expect("it listens");
    // Refused midway, it takes no more.
    let _ = socket.write_all(octets).await;
    let mut answer = Vec::new();
    let mut chunk = [0; 4096];
    while !answer.windows(4).any(|w| w == b"\r\n\r\n") {
        match tokio::time::timeout(SOON, socket.read(&mut chunk)).await {
            Ok(Ok(n @ 1..)) => answer.extend_from_slice(&chunk[..n]),
            _ => break,
        }
    }
    String::from_utf8_lossy(&answer).into_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn octets_that_no_client_writes_reach_nothing() {
    let provider = FakeProvider::unlimited().await;
    let app = TestApp::start(Config::yard(&provider.base_url()).tuned(|c| c.quiet())).await;
    app.has_polled("yard", "controller").await;
    let asked = provider.count();
    let host = app.address.to_string();
    let long = "a".repeat(1 << 20);
    let get = |target: &str| format!("GET {target} HTTP/1.1\r\nHost: {host}\r\n\r\n");
    let with = |lines: &str| format!("GET / HTTP/1.1\r\nHost: {host}\r\n{lines}\r\n\r\n");
    let post = |lines: &str, body: &str| {
        format!("POST /api/v1/connections/yard/probe HTTP/1.1\r\nHost: {host}\r\n{lines}\r\n\r\n{body}")
    };
    for (what, request, good) in [
        ("a NUL in an address", get("/c/yard\0"), false),
        ("a line in an address", get("/c/yard\nX: y"), false),
        ("a backslash", get("/c\\yard\\..\\..\\etc\\passwd"), false),
        ("dots as they are", get("/static/../../../../etc/passwd"), false),
        ("dots below the API", get("/api/v1/connections/../tokens"), false),
        ("an address of a megabyte", get(&format!("/{long}")), false),
        ("a query of a megabyte", get(&format!("/?organization={long}")), false),
        ("a header of a megabyte", with(&format!("X-Long: {long}")), false),
        ("many headers", with(&vec!["X: y"; 2_000].join("\r\n")), false),
        ("a NUL in a header", with("X-Nul: a\0b"), false),
        (
            "another site as the address",
            "GET http://evil.example/ HTTP/1.1\r\nHost: evil.example\r\n\r\n".to_owned(),
            false,
        ),
        ("another site beside our host", format!("GET http://evil.example/ HTTP/1.1\r\nHost: {host}\r\n\r\n"), false),
        ("two hosts", with("Host: evil.example"), false),
        ("a tunnel", "CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example:443\r\n\r\n".to_owned(), false),
        ("no version", "GET /\r\n\r\n".to_owned(), false),
        ("two lengths", post("Content-Length: 2\r\nContent-Length: 40", "{}"), false),
        (
            "a length and chunks",
            post("Content-Length: 4\r\nTransfer-Encoding: chunked", "0\r\n\r\nGET / HTTP/1.1\r\n\r\n"),
            false,
        ),
        ("a coding nobody knows", post("Transfer-Encoding: xchunked", "0\r\n\r\n"), false),
        ("the gateway, and out of it", get("/gateway/yard/../../api/v1/tokens"), false),
        ("the gateway, and out of it, encoded", get("/gateway/yard/%2e%2e/%2e%2e/api/v1/tokens"), false),
        ("the gateway, encoded twice", get("/gateway/yard/%252e%252e%252fapi"), false),
        ("the gateway with a NUL", get("/gateway/yard/statusschedule.php%00"), false),
        ("the gateway with a line", get("/gateway/yard/statusschedule.php%0d%0aX:%20y"), false),
        ("the gateway to another site", get("/gateway/yard//evil.example/"), false),
        ("what a client writes", get("/livez"), true),
    ] {
        let answer = answered(app.address, request.as_bytes()).await;
        let status: Option<u16> = answer.get(9..12).and_then(|status| status.parse().ok());
        // Closed without a word is an answer too.
        assert!(status.is_none_or(|status| (status < 300) == good && status < 500), "{what}: {answer}");
        assert!(status.is_some() || !good, "{what}: nobody answers");
        assert!(!answer.contains("evil.example/\r\n"), "{what} leads elsewhere: {answer}");
        app.get("/api/v1/connections").await.expect(200);
    }
    assert_eq!(provider.count(), asked, "nothing was sent for any of it");
}

/// Five megabytes, with markup and letters that turn: what is kept of it is a line, on pages and in the API.
#[tokio::test(flavor = "multi_thread")]
async fn a_sentence_of_five_megabytes_is_a_line() {
    let provider = FakeProvider::unlimited().await;
    let app = TestApp::start(Config::yard(&provider.base_url()).tuned(|c| c.no_limits().every("1s"))).await;
    app.has_polled("yard", "controller").await;
    let word = "API rate limit exceeded <b>\u{202e}\u{5e9}\u{1f469}\u{200d}\u{1f33e} ";
    let sentence = word.repeat((5 << 20) / word.len());
    provider.is(Mode::Json(429, serde_json::json!({ "error": sentence }).to_string()));
    let is_told = |c: &serde_json::Value| !c["hold"]["said"].is_null();
    let held = app.connection_when("yard", "it is held", is_told).await;
    let said = held["hold"]["said"].as_str().expect("a sentence");
    assert!(
        said.chars().count() <= 200 && said.contains("API rate limit exceeded") && !said.contains('\u{202e}'),
        "{said}"
    );
    for path in ["/", "/c/yard", "/c/yard/t/controller", "/activity"] {
        let page = app.get(path).await.expect(200).body;
        assert!(page.len() < 50_000 && !page.contains("<b>\u{202e}"), "{path} has {} bytes", page.len());
    }
    for path in ["/api/v1/connections/yard", "/api/v1/connections/yard/ledger", "/api/v1/activity", "/metrics"] {
        let reply = app.get(path).await.expect(200);
        assert!(reply.body.len() < 100_000, "{path} has {} bytes", reply.body.len());
    }
}
