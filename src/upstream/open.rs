//! Opening a stream of events: the request is one as any other, with a permit and a deadline for the head of its answer; what follows the
//! head comes as long as the provider likes, event by event. Knows nothing of who reads them.

use super::gate::Attempt;
use super::http::{Fault, HttpDoor, out_of_time};
use super::redact::Redactor;
use super::route::Route;
use super::{EventFlow, Opened, Request, fault};
use crate::clock::Clock;
use crate::domain::ids::CredentialId;
use crate::domain::reply::{Answer, Failure};
use crate::domain::time::{Span, Steady};
use crate::rules::stream::event::Event;
use crate::rules::stream::reading::{Heard, Reader};
use reqwest::header::{ACCEPT, ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, HeaderValue};
use reqwest::{Client, Response};
use std::sync::Arc;

/// A stream that says nothing for so long, not even a comment, is taken for dead, although its socket is up: a hung provider must not
/// look like one that has no news. Those that mean to live say something every few seconds to minutes.
const SILENCE: Span = Span::from_secs(30 * 60);

const EVENT_STREAM: &str = "text/event-stream";

impl HttpDoor {
    /// Everything that `open` does, without the permit: nothing is written after `send_by`, and the head of the answer (or all of it,
    /// where it is no stream) is there by `deadline`.
    pub(super) async fn open_within(
        &self,
        payer: Option<CredentialId>,
        send_by: Steady,
        deadline: Steady,
        request: &Request,
        last: Option<Arc<str>>,
    ) -> Opened {
        match self.opened(payer, send_by, deadline, request, last).await {
            Ok((answer, events)) => Opened { reply: self.replied(Ok(answer)), events },
            Err(fault) => Opened { reply: self.replied(Err(fault)), events: None },
        }
    }

    async fn opened(
        &self,
        payer: Option<CredentialId>,
        send_by: Steady,
        deadline: Steady,
        request: &Request,
        last: Option<Arc<str>>,
    ) -> Result<(Answer, Option<EventFlow>), Fault> {
        let route = self.ways.of(&request.connection)?;
        let (client, mut prepared) = self.prepare(&route, payer, request)?;
        let headers = prepared.headers_mut();
        headers.insert(ACCEPT, HeaderValue::from_static(EVENT_STREAM));
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        // In UTF-8, whatever is in it (WHATWG HTML, section 9.2.4).
        if let Some(id) = last.as_ref().and_then(|id| HeaderValue::from_bytes(id.as_bytes()).ok()) {
            headers.insert("last-event-id", id);
        }
        let attempt = Attempt::begin(self.clock.clone(), send_by, route.network.connect_timeout)?;
        let work = attempt.run(self.head(&route, &attempt, (client, prepared), last));
        tokio::select! {
            biased;
            done = work => done,
            () = self.give_up(&attempt, deadline, &route.network) => Err(out_of_time(&attempt, &route)),
        }
    }

    async fn head(
        &self,
        route: &Route,
        attempt: &Attempt,
        (client, request): (Client, reqwest::Request),
        last: Option<Arc<str>>,
    ) -> Result<(Answer, Option<EventFlow>), Fault> {
        let response = client.execute(request).await.map_err(|error| fault::no_head(&error, attempt, route))?;
        if !is_event_stream(&response) {
            let answer = self.read(response, route).await?;
            return Ok((self.clean(answer), None));
        }
        if response.headers().contains_key(CONTENT_ENCODING) {
            return Err((Failure::Undecodable, "The stream is in a coding that was not asked for.".to_owned()));
        }
        let headers = self.text_headers(response.headers());
        let answer = Answer { status: response.status().as_u16(), headers, body: Vec::new() };
        let (clock, redactor) = (self.clock.clone(), self.redactor.clone());
        Ok((answer, Some(Box::pin(flow(response, Reader::new(last), clock, redactor)))))
    }
}

/// Only a 200 of that type is one; whatever else comes is an answer.
fn is_event_stream(response: &Response) -> bool {
    let kind = response.headers().get(CONTENT_TYPE).and_then(|v| v.to_str().ok());
    let essence = kind.and_then(|kind| kind.split(';').next()).unwrap_or_default().trim();
    response.status().as_u16() == 200 && essence.eq_ignore_ascii_case(EVENT_STREAM)
}

/// Events as they come; the last is the reason why no more do.
fn flow(
    mut response: Response,
    mut reader: Reader,
    clock: Arc<dyn Clock>,
    redactor: Redactor,
) -> impl futures_util::Stream<Item = Result<Heard, String>> + Send {
    async_stream::stream! {
        let ended = loop {
            let silence_ends = clock.now().steady + SILENCE;
            let next = tokio::select! {
                biased;
                next = response.chunk() => next,
                () = clock.sleep_until(silence_ends) => break format!("the provider said nothing for {SILENCE}"),
            };
            match next {
                Ok(Some(chunk)) => {
                    for heard in reader.read(&chunk) {
                        yield Ok(clean(heard, &redactor));
                    }
                }
                Ok(None) => break "the provider ended the stream".to_owned(),
                Err(_) => break "the socket of the stream broke".to_owned(),
            }
        };
        yield Err(ended);
    }
}

/// Without any known secret (A47). An event is looked at whole: no secret hides behind the border of a chunk.
fn clean(heard: Heard, redactor: &Redactor) -> Heard {
    let text = |text: String| String::from_utf8(redactor.body(text.into_bytes())).unwrap_or_default();
    let id = |id: Arc<str>| Arc::from(text(id.to_string()));
    match heard {
        Heard::Event(event) => {
            Heard::Event(Event { kind: text(event.kind), data: text(event.data), id: event.id.map(id) })
        }
        Heard::Id(last) => Heard::Id(id(last)),
        other => other,
    }
}
