//! An event stream of a provider for one of its readers: the same bytes that the provider would send, and now and then a comment, so that
//! nobody on the way takes the silence for an end. Must not know how the stream is come by.

use super::answer::{self, CACHE_STATUS};
use crate::domain::reply::Answer;
use crate::engine::gateway::Entrance;
use crate::engine::gateway::given::How;
use crate::engine::gateway::place::Address;
use crate::engine::streams::{Came, Joined, Reader};
use crate::web::WebState;
use crate::web::errors::Problem;
use crate::web::headers::listed;
use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use bytes::Bytes;
use futures_util::Stream;
use std::time::Duration;
use tokio::time::timeout;

const EVENT_STREAM: &str = "text/event-stream";
const COMMENT_EVERY: Duration = Duration::from_secs(15);

/// Whether the client takes a stream and nothing else, as an `EventSource` does.
pub(super) fn is_wanted(headers: &HeaderMap) -> bool {
    let ranges = listed(headers, header::ACCEPT);
    let mut kinds = ranges.filter_map(|range| range.split(';').next()).map(str::trim_end).peekable();
    kinds.peek().is_some() && kinds.all(|kind| kind.eq_ignore_ascii_case(EVENT_STREAM))
}

/// The last event that the client knows, in UTF-8 (WHATWG HTML, section 9.2.4).
fn last_event_id(headers: &HeaderMap) -> Option<String> {
    let id = headers.get("last-event-id").map(HeaderValue::as_bytes)?;
    Some(String::from_utf8_lossy(id).into_owned()).filter(|id| !id.is_empty())
}

/// One reader more of the stream at `address`.
pub(super) async fn answer(
    web: &WebState,
    entrance: &Entrance,
    address: &Address,
    headers: &HeaderMap,
) -> Result<Response<Body>, Problem> {
    let place = web.streams().take()?;
    let joined = entrance.stream(address, last_event_id(headers).as_deref()).await;
    let (reader, came) = match joined.inspect_err(|_| entrance.counted(How::Refused))? {
        Joined::Reading(reader, came) => (reader, came),
        Joined::Answered(answer) => {
            entrance.counted(How::Miss);
            return Ok(passed_on(answer));
        }
    };
    let (how, told) = match came {
        Came::First => (How::Miss, "larder; fwd=miss"),
        Came::ToOthers => (How::Collapsed, "larder; fwd=miss; collapsed"),
    };
    entrance.counted(how);
    let mut response = respond(StatusCode::OK, told, Body::from_stream(place.lasting(blocks(reader))));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(EVENT_STREAM));
    response.headers_mut().insert("x-accel-buffering", HeaderValue::from_static("no"));
    Ok(response)
}

fn respond(status: StatusCode, told: &'static str, body: Body) -> Response<Body> {
    let mut headers = answer::written(Vec::new());
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(CACHE_STATUS, HeaderValue::from_static(told));
    answer::respond(status, headers, body)
}

/// A first comment, so that the client knows at once that it is open.
fn blocks(mut reader: Reader) -> impl Stream<Item = Bytes> + Send + 'static {
    async_stream::stream! {
        yield Bytes::from_static(b": larder\n\n");
        loop {
            match timeout(COMMENT_EVERY, reader.next()).await {
                Ok(Some(block)) => yield block,
                Ok(None) => break,
                Err(_) => yield Bytes::from_static(b": still here\n\n"),
            }
        }
    }
}

/// What the provider says instead of a stream, as it says it, and when it wants to be asked again.
fn passed_on(answer: Answer) -> Response<Body> {
    let status = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::BAD_GATEWAY);
    let told = [header::CONTENT_TYPE, header::RETRY_AFTER].into_iter().filter_map(|name| {
        let value = answer.header(name.as_str()).and_then(|value| HeaderValue::from_str(value).ok())?;
        Some((name, value))
    });
    let told: HeaderMap = told.collect();
    let mut response = respond(status, "larder; fwd=miss", Body::from(answer.body));
    response.headers_mut().extend(told);
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asks(name: &'static str, value: &str) -> HeaderMap {
        let value = HeaderValue::from_bytes(value.as_bytes()).unwrap();
        HeaderMap::from_iter([(header::HeaderName::from_static(name), value)])
    }

    #[test]
    fn a_stream_is_wanted_by_who_takes_nothing_else() {
        for yes in ["text/event-stream", "Text/Event-Stream;q=0.9", "text/event-stream, text/event-stream;q=0.1"] {
            assert!(is_wanted(&asks("accept", yes)), "{yes}");
        }
        for no in ["*/*", "text/*", "", "application/json, text/event-stream", "text/event-streams"] {
            assert!(!is_wanted(&asks("accept", no)), "{no}");
        }
        assert!(!is_wanted(&HeaderMap::new()));
    }

    #[test]
    fn an_id_is_text_in_utf_8_and_an_empty_one_is_none() {
        assert_eq!(last_event_id(&asks("last-event-id", "ä 7")), Some("ä 7".to_owned()));
        assert_eq!(last_event_id(&asks("last-event-id", "")), None);
        assert_eq!(last_event_id(&HeaderMap::new()), None);
    }
}
