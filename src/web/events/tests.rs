//! Streams: replay, resumption, resets, and their end.

use super::*;
use crate::web::sample::{Sample, live};
use crate::web::tests::{Site, ask};
use axum::body::Body;
use axum::http::{Method, StatusCode};
use http_body_util::BodyExt;

/// Reads frames of the body until `wanted` events (not comments) have come.
async fn read(body: &mut Body, wanted: usize) -> String {
    let mut text = String::new();
    while text.matches("event:").count() < wanted {
        let frame = tokio::time::timeout(Duration::from_secs(5), body.frame()).await.expect("an event in time");
        let Some(frame) = frame else { break };
        text.push_str(std::str::from_utf8(&frame.unwrap().into_data().unwrap()).unwrap());
    }
    text
}

async fn open(site: &Site, path: &str, headers: &[(&str, &str)]) -> Response {
    site.send(ask(Method::GET, path, headers).body(Body::empty()).unwrap()).await
}

/// `id:` lines in order; a frame without one is `-`.
fn ids(text: &str) -> Vec<String> {
    let events = text.split("\n\n").filter(|e| e.contains("event:"));
    events.map(|e| e.lines().find_map(|l| l.strip_prefix("id: ")).unwrap_or("-").to_owned()).collect()
}

#[tokio::test]
async fn a_stream_says_how_to_treat_it() {
    let site = Site::loopback(Sample::calm());
    let response = open(&site, "/api/v1/events?after=5", &[("accept-encoding", "gzip")]).await;
    let head = |n: &str| response.headers().get(n).map(|v| v.to_str().unwrap().to_owned());
    assert_eq!(head("content-type").as_deref(), Some("text/event-stream"));
    assert_eq!(head("cache-control").as_deref(), Some("no-store"));
    assert_eq!(head("x-accel-buffering").as_deref(), Some("no"));
    assert_eq!(head("content-encoding"), None);
    let text = read(&mut response.into_body(), 2).await;
    insta::assert_snapshot!(text, @r#"
    retry: 3000
    : larder

    event: target_changed
    data: {"id":6,"kind":"target_changed","at":"2026-11-30T08:13:50Z","organization":"default","connection":"yard","target":"controller","message":"1 item changed: Water: front lawn."}
    id: 6

    event: control_changed
    data: {"id":7,"kind":"control_changed","at":"2026-11-30T08:18:00Z","organization":"default","connection":"yard","target":null,"message":"anna resumed polling."}
    id: 7
    "#);
}

#[tokio::test]
async fn a_resume_replays_only_the_gap_and_tells_nothing_twice() {
    let site = Site::loopback(Sample::calm());
    // The browser's own header wins over the address that it was given once.
    let mut body = open(&site, "/api/v1/events?after=1", &[("last-event-id", "6")]).await.into_body();
    let send = |id, kind| site.sample.live.send(live(id, kind, Some(("default", "yard")))).unwrap();
    send(7, EventKind::ControlChanged); // already in the replay
    send(7, EventKind::TargetSeen); // a hint: no number of its own
    send(8, EventKind::HoldStarted);
    assert_eq!(ids(&read(&mut body, 3).await), ["7", "-", "8"]);
}

#[tokio::test]
async fn without_a_number_only_what_comes() {
    let site = Site::loopback(Sample::calm());
    let mut body = open(&site, "/api/v1/events", &[]).await.into_body();
    site.sample.live.send(live(8, EventKind::HoldStarted, None)).unwrap();
    assert_eq!(ids(&read(&mut body, 1).await), ["8"]);
}

#[tokio::test]
async fn a_stream_is_of_one_organization() {
    let site = Site::loopback(Sample::calm());
    let mut body = open(&site, "/api/v1/events?connection=yard", &[]).await.into_body();
    for (id, connection) in
        [(8, Some(("north", "yard"))), (9, Some(("default", "cellar"))), (10, None), (11, Some(("default", "yard")))]
    {
        site.sample.live.send(live(id, EventKind::TargetChanged, connection)).unwrap();
    }
    assert_eq!(ids(&read(&mut body, 2).await), ["10", "11"]);
}

#[tokio::test]
async fn a_client_that_is_too_slow_starts_over_and_goes_on() {
    let site = Site::loopback(Sample::calm());
    let mut body = open(&site, "/api/v1/events", &[]).await.into_body();
    assert!(ids(&read(&mut body, 0).await).is_empty());
    let _first = body.frame().await; // the stream subscribes when it is read
    for id in 8..=30 {
        let _ = site.sample.live.send(live(id, EventKind::TargetChanged, None));
    }
    let text = read(&mut body, 5).await;
    assert!(text.contains("event: reset") || ids(&text).len() >= 4, "{text}");
    site.sample.live.send(live(31, EventKind::TargetChanged, None)).unwrap();
    assert!(read(&mut body, 1).await.contains("target_changed"));
}

#[test]
fn replay_is_bounded() {
    let mut sample = Sample::calm();
    let pattern = sample.events[5].clone();
    sample.events = (1..=1500).map(|id| EventView { id: EventId(id), ..pattern.clone() }).collect();
    for (resume, shown, reset) in [
        (None, 0, false),
        (Some(1500), 0, false),
        (Some(500), 1000, false),
        (Some(499), 0, true),
        (Some(0), 0, true),
        (Some(1501), 0, true),
    ] {
        let (frames, last) = replay(&sample, resume.map(EventId));
        let resets = frames.iter().filter(|f| matches!(f, Frame::Reset { .. })).count();
        assert_eq!((frames.len() - resets, resets == 1), (shown, reset), "{resume:?}");
        assert_eq!(last, EventId(1500), "{resume:?}");
    }
}

#[tokio::test]
async fn a_number_that_is_none_is_refused() {
    let site = Site::loopback(Sample::calm());
    assert_eq!(open(&site, "/api/v1/events?after=x", &[]).await.status(), StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn streams_end_when_the_appliance_stops() {
    let site = Site::loopback(Sample::calm());
    let mut body = open(&site, "/api/v1/events", &[]).await.into_body();
    site.state.shared.stop.cancel();
    let rest = tokio::time::timeout(Duration::from_secs(5), async { while body.frame().await.is_some() {} }).await;
    assert!(rest.is_ok(), "the stream ended");
}

/// Who is signed out hears nothing more, on a stream that was open before as well.
#[tokio::test]
async fn a_stream_ends_with_the_session_that_opened_it() {
    let site = Site::at(crate::web::Listener::Network, Sample::calm());
    let cookie = Site::cookie('a');
    let mut body = open(&site, "/api/v1/events", &[("cookie", &cookie)]).await.into_body();
    let changed = |id| live(id, EventKind::AccessChanged, None);
    site.sample.live.send(changed(90)).unwrap();
    assert!(read(&mut body, 1).await.contains("access_changed"), "an operator is told of others");
    site.sample.door.sessions.lock().unwrap().clear();
    site.sample.live.send(changed(91)).unwrap();
    site.sample.live.send(live(92, EventKind::Appliance, None)).unwrap();
    let rest = read(&mut body, 1).await;
    assert!(!rest.contains("event:"), "{rest}");
}
