//! Streams of events through the door: what is asked for, what is one, what comes of it, and that no event tells the key.

use super::provider::{Provider, Step, answers, says};
use super::*;
use crate::domain::reply::Failure;
use crate::rules::stream::event::Event;
use crate::rules::stream::reading::Heard;
use crate::upstream::Opened;
use futures_util::StreamExt;

const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nx-ratelimit-remaining: 4\r\n\r\n";

/// Opens the stream of a script, to go on after `last`.
async fn opened(script: Vec<Step>, last: Option<&str>) -> (Bench, Provider, Opened) {
    let provider = Provider::with(script).await;
    let bench = Bench::new(&provider.base_url(), query());
    let now = bench.clock.now().steady;
    let opened = bench
        .door
        .open_within(None, now + Span(1500), now + Span(5000), &get("/events?of=1"), last.map(Into::into))
        .await;
    tells_no_secret(&opened.reply);
    (bench, provider, opened)
}

fn event(data: &str, id: &str) -> Heard {
    Heard::Event(Event { kind: "message".to_owned(), data: data.to_owned(), id: Some(id.into()) })
}

async fn all(opened: Opened) -> Vec<Result<Heard, String>> {
    opened.events.unwrap().collect().await
}

#[tokio::test]
async fn events_come_as_they_are_said_and_the_end_says_why() {
    let script = vec![says(HEAD), says("data: a\n\nid: 8\nda"), Step::Wait(20), says("ta: b\n\nretry: 5\n\ndata: c")];
    let (_bench, provider, opened) = opened(script, Some("7 ä")).await;
    let answer = opened.reply.result.as_ref().unwrap();
    assert_eq!((answer.status, answer.header("x-ratelimit-remaining"), answer.body.len()), (200, Some("4"), 0));
    let ended = Err("the provider ended the stream".to_owned());
    assert_eq!(all(opened).await, [Ok(event("a", "7 ä")), Ok(event("b", "8")), Ok(Heard::Retry(Span(5))), ended]);
    let head = provider.requests().remove(0);
    assert!(head.starts_with("GET /events?of=1&api_key="), "{head}");
    for line in ["accept: text/event-stream", "accept-encoding: identity", "cache-control: no-store"] {
        assert!(head.contains(&format!("{line}\r\n")), "{head}");
    }
    assert!(head.contains("last-event-id: 7 ä\r\n"), "{head}");
}

#[tokio::test]
async fn a47_no_event_tells_the_key_wherever_it_is_cut() {
    let (first, second) = KEY.split_at(5);
    let script = vec![
        says(HEAD),
        says(&format!("id: {KEY}\nevent: {KEY}\ndata: your key is {first}")),
        Step::Wait(20),
        says(&format!("{second}!\n\n")),
    ];
    let (_bench, _provider, opened) = opened(script, None).await;
    let heard = all(opened).await;
    assert!(!format!("{heard:?}").contains(KEY), "{heard:?}");
    let Ok(Heard::Event(event)) = &heard[0] else { panic!("{heard:?}") };
    assert_eq!((event.kind.as_str(), event.data.as_str()), ("***", "your key is ***!"));
}

#[tokio::test]
async fn what_is_no_stream_is_an_answer() {
    for head in [
        "200 OK\r\ncontent-type: application/json",
        "204 No Content\r\ncontent-type: text/event-stream",
        "429 Too Many Requests\r\nretry-after: 7\r\ncontent-type: text/event-stream",
        "200 OK",
    ] {
        let (_bench, _provider, opened) = opened(vec![answers(head, b"{}")], None).await;
        assert!(opened.events.is_none(), "{head}");
        assert!(opened.reply.result.unwrap().status >= 200, "{head}");
    }
    let coded = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-encoding: gzip\r\n\r\n";
    let (_bench, _provider, opened) = opened(vec![says(coded), says("\u{1f}")], None).await;
    assert_eq!(opened.reply.result, Err(Failure::Undecodable));
}

#[tokio::test]
async fn who_lets_go_of_it_closes_the_socket() {
    let (_bench, provider, opened) = opened(vec![says(HEAD), says("data: a\n\n"), Step::NextRequest], None).await;
    let mut events = opened.events.unwrap();
    assert!(events.next().await.unwrap().is_ok());
    drop(events);
    tokio::time::timeout(std::time::Duration::from_secs(5), provider.sees_a_close()).await.unwrap();
}

#[tokio::test]
async fn it_may_be_silent_for_longer_than_an_answer_and_not_for_ever() {
    let (_bench, _provider, opened) = opened(vec![says(HEAD), says("id: 1\ndata: a\n\n"), Step::Hang], None).await;
    let mut events = opened.events.unwrap();
    assert_eq!(events.next().await, Some(Ok(event("a", "1"))));
    let longer = quick().request_timeout.to_std() + std::time::Duration::from_millis(500);
    assert!(tokio::time::timeout(longer, events.next()).await.is_err());
    // Nothing else is awaited, so that the time passes at once.
    tokio::time::pause();
    assert_eq!(events.next().await, Some(Err("the provider said nothing for 30 min".to_owned())));
}

#[tokio::test]
async fn nothing_is_written_after_the_time_to_send() {
    let provider = Provider::with(vec![says(HEAD)]).await;
    let bench = Bench::new(&provider.base_url(), query());
    let now = bench.clock.now().steady;
    bench.clock.jump(Span(10));
    let opened = bench.door.open_within(None, now, now + Span(5000), &get("/events"), None).await;
    assert_eq!((opened.reply.result, opened.events.is_none()), (Err(Failure::NotSent), true));
    assert_eq!(provider.requests(), [""; 0]);
}
