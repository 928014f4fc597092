//! Server-sent events: durable events by number, resumable, bounded; hints in between. An event says that something changed, the
//! store is the truth: where a client cannot be told everything it is told to start over (`reset`). Must not know the engine's
//! loops, only their broadcast.

use super::WebState;
use super::access::Viewer;
use super::access::guard::is_still_let_in;
use super::api::{refuse_unknown, scope};
use super::errors::Problem;
use super::shelf::Shelf;
use super::streams::unbuffered;
use crate::domain::cursor::Audience;
use crate::domain::event::{Event as Happened, EventKind};
use crate::domain::ids::{EventId, Organization};
use crate::engine::view::EventView;
use axum::Extension;
use axum::extract::{Query, State};
use axum::http::{HeaderMap, Uri};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::{Stream, StreamExt};
use serde::Deserialize;
use serde_json::json;
use std::time::Duration;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use utoipa::IntoParams;

/// Durable events that are replayed at most; beyond it a client has to read the state anew.
pub const REPLAY: usize = 1000;
const RETRY: Duration = Duration::from_secs(3);
const COMMENT_EVERY: Duration = Duration::from_secs(15);

#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct Asked {
    /// Whose events; the caller's own unless said.
    pub organization: Option<String>,
    /// Of one connection; those of the appliance itself come too.
    pub connection: Option<String>,
    /// Goes on after the event with this number, as `Last-Event-ID` does.
    #[param(value_type = Option<u64>)]
    pub after: Option<String>,
}

/// What a client gets to see.
#[derive(Clone, Debug)]
pub struct Filter {
    pub organization: Organization,
    pub connection: Option<String>,
    pub audience: Audience,
}

impl Filter {
    /// Events of the appliance itself concern everybody.
    pub fn lets(&self, event: &EventView) -> bool {
        let ours = event.organization.as_deref().is_none_or(|o| o == self.organization.as_str());
        let wanted = match (&self.connection, &event.connection) {
            (Some(wanted), Some(is)) => wanted == is,
            _ => true,
        };
        let shown = EventKind::from_word(event.kind).is_some_and(|kind| self.audience.may_see(kind));
        ours && wanted && shown
    }
}

/// One thing to write to a client.
#[derive(Clone, Debug)]
pub enum Frame {
    Shown(EventView),
    /// The client has missed something: read the state anew, then go on from `last`.
    Reset {
        last: EventId,
        why: &'static str,
    },
}

impl Frame {
    fn to_sse(&self) -> Event {
        match self {
            Frame::Shown(view) => {
                let event = Event::default().event(view.kind).data(json!(view).to_string());
                // A hint has no number of its own: a resume from it would miss what came between.
                if is_hint(view) { event } else { event.id(view.id.0.to_string()) }
            }
            Frame::Reset { last, why } => {
                let data = json!({ "reason": why, "last_event_id": last });
                Event::default().event("reset").id(last.0.to_string()).data(data.to_string())
            }
        }
    }
}

fn is_hint(view: &EventView) -> bool {
    view.kind == EventKind::TargetSeen.word()
}

/// Server-sent events: what happens, as it happens, and on resumption what was missed.
///
/// `id` is the number of a durable event. Where not everything can be told, an event `reset` says so: read the state anew.
#[utoipa::path(
    get, path = "/events", operation_id = "events", tag = "What happened",
    params(Asked,
        ("build" = Option<String>, Query, description = "By which build the page was made that asks; another one is refused (409)."),
        ("Last-Event-ID" = Option<u64>, Header, description = "The last event that was seen; wins over `after`.")),
    responses((status = 200, description = "An event stream that ends after an hour.", body = String, content_type = "text/event-stream")),
)]
pub async fn stream(
    State(web): State<WebState>,
    Extension(viewer): Extension<Viewer>,
    uri: Uri,
    Query(asked): Query<Asked>,
    request: HeaderMap,
) -> Result<Response, Problem> {
    refuse_unknown(&uri, &["connection", "after", "build"])?;
    let organization = scope(&viewer, asked.organization.as_deref())?;
    let resume = resume_from(&request, asked.after.as_deref())?;
    let place = web.streams().take()?;
    let filter = Filter { organization, connection: asked.connection, audience: viewer.audience() };
    // Subscribed before the replay is read: what happens in between is in both, and told once.
    let live = web.shelf().subscribe();
    let (missed, last) = replay(web.shelf(), resume);
    let frames = place.lasting(frames((web, viewer), filter, live, missed, last).map(|frame| frame.to_sse()));
    let hello = futures_util::stream::once(async { Ok(Event::default().retry(RETRY).comment("larder")) });
    let body = Sse::new(hello.chain(frames)).keep_alive(KeepAlive::new().interval(COMMENT_EVERY).text("still here"));
    Ok((unbuffered(), body).into_response())
}

/// `Last-Event-ID` (what a browser sends by itself) wins over `after=`.
fn resume_from(request: &HeaderMap, after: Option<&str>) -> Result<Option<EventId>, Problem> {
    let header = request.get("last-event-id").and_then(|v| v.to_str().ok()).map(str::trim).filter(|v| !v.is_empty());
    match header.or(after) {
        None => Ok(None),
        Some(text) => match text.parse() {
            Ok(id) => Ok(Some(EventId(id))),
            Err(_) => Err(Problem::bad_request("Last-Event-ID and after are the number of an event.")),
        },
    }
}

/// What a client that has seen `resume` missed: its replay, or a reset, and the last id it then knows.
pub fn replay(shelf: &dyn Shelf, resume: Option<EventId>) -> (Vec<Frame>, EventId) {
    let last = shelf.last_event_id();
    let reset = |why| (vec![Frame::Reset { last, why }], last);
    let Some(seen) = resume else { return (Vec::new(), last) };
    if seen > last {
        return reset("that event is not in this file");
    }
    if last.0 - seen.0 > REPLAY as u64 {
        return reset("more happened than is replayed");
    }
    match shelf.events_after(seen, REPLAY) {
        Ok(missed) => {
            let last = missed.last().map_or(seen, |e| e.id);
            (missed.into_iter().map(Frame::Shown).collect(), last)
        }
        Err(_) => reset("the events cannot be read"),
    }
}

/// Replay, then everything from now on; nothing twice, nothing lost without a `reset`.
fn frames(
    (web, viewer): (WebState, Viewer),
    filter: Filter,
    mut live: Receiver<Happened>,
    missed: Vec<Frame>,
    mut last: EventId,
) -> impl Stream<Item = Frame> + Send + 'static {
    async_stream::stream! {
        for frame in missed {
            if is_let(&filter, &frame) {
                yield frame;
            }
        }
        loop {
            let frame = match live.recv().await {
                // Signed out, revoked, removed: nothing more is told.
                Ok(event) if event.body.kind == EventKind::AccessChanged && !is_still_let_in(&web, &viewer) => break,
                Ok(event) => Frame::Shown(web.shelf().show_event(&event)),
                Err(RecvError::Lagged(_)) => Frame::Reset { last: web.shelf().last_event_id(), why: "the client was too slow" },
                Err(RecvError::Closed) => break,
            };
            if is_news(&frame, &mut last) && is_let(&filter, &frame) {
                yield frame;
            }
        }
    }
}

fn is_let(filter: &Filter, frame: &Frame) -> bool {
    match frame {
        Frame::Shown(view) => filter.lets(view),
        Frame::Reset { .. } => true,
    }
}

/// Whether the client does not know it yet; moves `last` on.
fn is_news(frame: &Frame, last: &mut EventId) -> bool {
    match frame {
        Frame::Shown(view) if is_hint(view) => true,
        Frame::Shown(view) if view.id <= *last => false,
        Frame::Shown(view) => {
            *last = view.id;
            true
        }
        Frame::Reset { last: newest, .. } => {
            *last = (*last).max(*newest);
            true
        }
    }
}

#[cfg(test)]
mod tests;
