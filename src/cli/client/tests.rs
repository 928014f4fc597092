//! The client against a small server on a real unix socket.

use super::*;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Method, Response};
use serde_json::json;
use tempfile::TempDir;
use tokio::net::UnixListener;

/// Answers: an echo of what was asked, a refusal, nothing, garbage, silence.
async fn answer(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, hyper::Error> {
    let (parts, body) = request.into_parts();
    let asked = body.collect().await?.to_bytes();
    let (status, text) = match (&parts.method, parts.uri.path()) {
        (&Method::GET, "/problem") => (429, json!({ "title": "Not yet", "detail": "Ask again at 07:15." }).to_string()),
        (&Method::GET, "/bare") => (503, String::new()),
        (&Method::GET, "/garbage") => (200, "<html>".to_owned()),
        (&Method::GET, "/silent") => std::future::pending().await,
        (&Method::GET, "/list") => (
            200,
            match parts.uri.query() {
                Some("of=x") => json!({ "names": ["a", "b&c"], "next": "b&c" }),
                Some("of=x&after=b%26c") => json!({ "names": ["d"], "next": null }),
                other => json!({ "names": [other] }),
            }
            .to_string(),
        ),
        (&Method::DELETE, _) => (204, String::new()),
        (method, path) => {
            let asked: Value = serde_json::from_slice(&asked).unwrap_or(Value::Null);
            let kind = parts.headers.get(CONTENT_TYPE).map(|k| k.to_str().unwrap_or_default().to_owned());
            let host = parts.headers.get(HOST).map(|h| h.to_str().unwrap_or_default().to_owned());
            let echo = json!({ "method": method.as_str(), "path": path, "asked": asked, "kind": kind, "host": host });
            (201, echo.to_string())
        }
    };
    let mut response = Response::new(Full::new(Bytes::from(text)));
    *response.status_mut() = hyper::StatusCode::from_u16(status).unwrap_or_default();
    Ok(response)
}

/// A server in a folder of its own, and a client that is not patient.
fn served() -> (TempDir, Client) {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("larder.redb.sock");
    let listener = UnixListener::bind(&socket).unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let connection = hyper::server::conn::http1::Builder::new();
            tokio::spawn(connection.serve_connection(TokioIo::new(stream), service_fn(answer)));
        }
    });
    let client = Client::new(&socket, Duration::from_millis(300));
    (folder, client)
}

#[tokio::test]
async fn it_sends_json_and_reads_json_and_the_appliances_time() {
    let (_folder, client) = served();
    let answer = client.post("/api/v1/tokens", json!({ "name": "x" })).await.unwrap();
    let expected = json!({
        "method": "POST", "path": "/api/v1/tokens", "asked": { "name": "x" },
        "kind": "application/json", "host": "localhost",
    });
    assert_eq!(answer.body, expected);
    assert!(answer.date.is_some(), "every answer carries Date");
}

#[tokio::test]
async fn a_list_is_read_to_its_end() {
    let (_folder, client) = served();
    assert_eq!(client.list("/list?of=x", "names").await.unwrap().0, [json!("a"), json!("b&c"), json!("d")]);
    assert_eq!(client.list("/list?of=y", "names").await.unwrap().0, [json!("of=y")], "one that has no pages is one");
}

#[tokio::test]
async fn no_content_is_null() {
    let (_folder, client) = served();
    assert_eq!(client.delete("/api/v1/tokens/3").await.unwrap().body, Value::Null);
}

#[tokio::test]
async fn refusals_are_sentences() {
    let (_folder, client) = served();
    for (path, expected) in [
        ("/problem", Trouble::Refused("Ask again at 07:15.".into())),
        ("/bare", Trouble::Refused("Larder answered with status 503.".into())),
    ] {
        assert_eq!(client.get(path).await.unwrap_err(), expected);
    }
    let garbage = client.get("/garbage").await.unwrap_err();
    assert!(matches!(&garbage, Trouble::Broken(s) if s.contains("no JSON")), "{garbage:?}");
    let silent = client.get("/silent").await.unwrap_err();
    assert!(matches!(&silent, Trouble::Broken(s) if s.contains("did not answer")), "{silent:?}");
}

#[tokio::test]
async fn nobody_there_is_not_an_error_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("larder.redb.sock");
    let client = Client::new(&socket, Duration::from_secs(1));
    assert_eq!(client.get("/").await.unwrap_err(), Trouble::NotRunning, "no socket");
    drop(UnixListener::bind(&socket).unwrap());
    assert_eq!(client.get("/").await.unwrap_err(), Trouble::NotRunning, "a socket that a killed process left behind");
}
