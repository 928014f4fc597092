//! The provider over a real socket.

use super::*;
use http_body_util::{BodyExt, Empty};
use hyper_util::rt::TokioIo;
use serde_json::Value;

/// Status and body of `GET path`, or nothing if the socket broke.
async fn get(provider: &Provider, path: &str) -> Option<(u16, String)> {
    let socket = tokio::net::TcpStream::connect(provider.address()).await.ok()?;
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(socket)).await.ok()?;
    tokio::spawn(connection);
    let request = hyper::Request::get(path).header("host", "provider").body(Empty::<bytes::Bytes>::new()).ok()?;
    let answer = sender.send_request(request).await.ok()?;
    let status = answer.status().as_u16();
    let body = answer.into_body().collect().await.ok()?.to_bytes();
    Some((status, String::from_utf8_lossy(&body).into_owned()))
}

/// The same by the provider's API, with its key.
async fn api(provider: &Provider, path_and_query: &str) -> Option<(u16, String)> {
    let joint = if path_and_query.contains('?') { '&' } else { '?' };
    get(provider, &format!("/api/v1/{path_and_query}{joint}api_key={}", provider.key())).await
}

async fn status(provider: &Provider) -> String {
    api(provider, STATUS).await.map(|(status, body)| format!("{status} {body}")).unwrap_or_else(|| "dropped".into())
}

fn relay<'a>(body: &'a Value, name: &str) -> &'a Value {
    body["relays"].as_array().unwrap().iter().find(|r| r["name"] == name).unwrap()
}

#[tokio::test]
async fn the_lockout_is_a_200_with_a_sentence() {
    let provider = Provider::start(Rules::real());
    for _ in 0..5 {
        assert!(status(&provider).await.starts_with("200 {\"nextpoll\":60"));
    }
    let sixth = status(&provider).await;
    assert_eq!(
        sixth,
        "200 Exceeded maximum number of requests. You cannot make more than 5 requests in any 5 minute period."
    );
    assert_eq!((provider.counted("/statusschedule.php"), provider.over_limit(), provider.seen(STATUS)), (5, 1, 6));
    assert_eq!(provider.log().last().unwrap().verdict, Verdict::OverLimit);
}

#[tokio::test]
async fn a_zone_runs_by_hand_and_counts_for_its_own_endpoint() {
    let provider = Provider::start(Rules::real());
    let (_, said) = api(&provider, "setzone.php?action=run&relay_id=5103&custom=90").await.unwrap();
    assert_eq!(said, "{\"message\":\"Starting zones Roses.\",\"message_type\":\"info\"}\n");
    let body: Value = serde_json::from_str(&api(&provider, STATUS).await.unwrap().1).unwrap();
    assert_eq!(relay(&body, "Roses")["time"], 1);
    assert!(relay(&body, "Roses")["run"].as_u64().unwrap() >= 89);
    let (_, said) = api(&provider, "setzone.php?action=run&relay_id=7").await.unwrap();
    assert!(said.contains("\"error\""), "{said}");
    assert_eq!((provider.counted(SET_ZONE), provider.counted(STATUS)), (2, 1));
}

#[tokio::test]
async fn a_wrong_key_has_its_own_text_and_spends_nothing() {
    let provider = Provider::start(Rules::real());
    let answer = get(&provider, "/api/v1/statusschedule.php?api_key=wrong").await.unwrap();
    assert_eq!(answer, (404, "API key not valid".to_owned()));
    assert_eq!((provider.counted(STATUS), provider.seen(STATUS)), (0, 1));
}

#[tokio::test]
async fn modes_fail_in_their_own_way() {
    let provider = Provider::start(Rules::real());
    for (mode, begins, counted) in [
        (Mode::Down, "dropped", 0),
        (Mode::LockedOut, "200 Exceeded maximum number", 0),
        (Mode::Html, "200 <!DOCTYPE html>", 1),
        (Mode::ServerError, "503 Service", 2),
        (Mode::Slow(Duration::from_millis(20)), "200 {", 3),
        (Mode::Normal, "200 {", 4),
    ] {
        provider.set_mode(mode);
        let answer = status(&provider).await;
        assert!(answer.starts_with(begins), "{mode:?}: {answer}");
        assert_eq!(provider.counted(STATUS), counted, "{mode:?}");
    }
    assert_eq!(provider.over_limit(), 0);
}

#[tokio::test]
async fn whoever_plays_with_it_controls_it_over_http() {
    let provider = Provider::start(Rules::real());
    let control = async |verb: &str| -> Value {
        let (_, body) = get(&provider, &format!("/control{verb}")).await.unwrap();
        serde_json::from_str(&body).unwrap()
    };
    assert_eq!(control("/stop").await["mode"], "down");
    assert_eq!(status(&provider).await, "dropped");
    assert_eq!(control("/start").await["mode"], "normal");
    assert!(control("/lockout").await["endpoints"][1]["locked_for_seconds"].as_u64().unwrap() >= 299);
    assert!(status(&provider).await.starts_with("200 Exceeded"));
    assert_eq!(control("").await["over_limit"], 0, "an ordered lockout blames nobody");
    assert!(control("/nonsense").await["error"].is_string());
}

#[tokio::test]
async fn dropped_it_is_gone() {
    let provider = Provider::start(Rules::real());
    let address = provider.address();
    drop(provider);
    for _ in 0..100 {
        if tokio::net::TcpStream::connect(address).await.is_err() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("the port still answers");
}
