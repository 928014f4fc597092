//! Pages that keep themselves true. An open page listens here; whenever something happens the page is drawn again, and the parts of it that say
//! something else go over the wire, by their ids. Drawing reads the shelf alone: an open page costs the provider nothing. The page says which
//! versions of its parts it has, so whoever was hidden or away is told what is new, and nothing else. Must not know what a page shows.

pub mod parts;

use super::WebState;
use super::access::Viewer;
use super::access::guard::Bound;
use super::access::proxy::Came;
use super::api::scope;
use super::build::BUILD;
use super::errors::{Kind, Problem};
use super::events::Filter;
use super::streams::unbuffered;
use crate::domain::event::{Event as Happened, EventKind};
use axum::Extension;
use axum::Router;
use axum::body::Body;
use axum::extract::{Query, State};
use axum::http::uri::PathAndQuery;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Request, StatusCode, Uri, header};
use axum::response::sse::{Event, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::{Stream, StreamExt};
use serde::Deserialize;
use serde_json::json;
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};
use tower::ServiceExt;

/// The pages that can be listened to, without the guards before them.
#[derive(Clone)]
pub struct Pages(pub Router);

/// A page is drawn at most once in this time, however much happens.
const BREATH: Duration = Duration::from_secs(1);
/// A sign that the link lives, and by what time.
const BEAT: Duration = Duration::from_secs(10);
/// Budgets refill without an event: after so many signs the page is drawn anyway.
const BEATS: u32 = 3;
const RETRY: Duration = Duration::from_secs(3);
/// No page is longer.
const MOST: usize = 4 << 20;

#[derive(Debug, Deserialize)]
pub struct Asked {
    /// Path and query of the page, from the root of the site.
    #[serde(default)]
    page: String,
    /// `id.version`, with commas in between.
    #[serde(default)]
    have: String,
    organization: Option<String>,
    connection: Option<String>,
}

/// One page as one viewer sees it.
struct Sight {
    pages: Router,
    page: PathAndQuery,
    viewer: Viewer,
    /// What the forms of the page are bound to.
    bound: Bound,
    came: Option<Came>,
    headers: HeaderMap,
}

/// Versions by the id of their part.
type Have = BTreeMap<String, String>;

/// `GET /live`
pub async fn stream(
    State(web): State<WebState>,
    Extension(viewer): Extension<Viewer>,
    Extension(Pages(pages)): Extension<Pages>,
    (bound, came): (Option<Extension<Bound>>, Option<Extension<Came>>),
    Query(asked): Query<Asked>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let organization = scope(&viewer, asked.organization.as_deref())?;
    let page =
        asked.page.parse::<PathAndQuery>().map_err(|_| Problem::bad_request("The page's address cannot be read."))?;
    let place = web.streams().take()?;
    let filter = Filter { organization, connection: asked.connection, audience: viewer.audience() };
    let bound = bound.map(|Extension(bound)| bound).unwrap_or_default();
    let came = came.map(|Extension(came)| came);
    let sight = Sight { pages, page, viewer, bound, came, headers: as_page(headers) };
    // Before the page is drawn: what happens meanwhile is heard.
    let heard = web.shelf().subscribe();
    let first = match sight.draw().await {
        Drawn::Page(html) => html,
        Drawn::Gone => return Err(Problem::new(Kind::NotFound, "There is no such page, or it keeps still.")),
        Drawn::NotNow => return Err(Problem::new(Kind::Unavailable, "The page cannot be drawn now.").retry_after(15)),
    };
    let have = read_have(&asked.have);
    let events = place.lasting(events(web, sight, filter, heard, (first, have)));
    let hello = futures_util::stream::once(async { Ok(Event::default().retry(RETRY).comment("larder")) });
    Ok((unbuffered(), Sse::new(hello.chain(events))).into_response())
}

/// As the browser would ask for the page itself.
fn as_page(mut headers: HeaderMap) -> HeaderMap {
    headers.insert(header::ACCEPT, HeaderValue::from_static("text/html"));
    for name in [header::ACCEPT_ENCODING, header::IF_NONE_MATCH, HeaderName::from_static("last-event-id")] {
        headers.remove(name);
    }
    headers
}

fn read_have(text: &str) -> Have {
    let pairs = text.split(',').filter_map(|pair| pair.rsplit_once('.'));
    pairs.map(|(id, version)| (id.to_owned(), version.to_owned())).collect()
}

impl Sight {
    async fn draw(&self) -> Drawn {
        let mut request = Request::new(Body::empty());
        *request.uri_mut() = Uri::from(self.page.clone());
        *request.headers_mut() = self.headers.clone();
        request.extensions_mut().insert(self.viewer.clone());
        request.extensions_mut().insert(self.bound.clone());
        if let Some(came) = self.came.clone() {
            request.extensions_mut().insert(came);
        }
        let Ok(response) = self.pages.clone().oneshot(request).await;
        if response.status().is_client_error() {
            return Drawn::Gone;
        }
        let is_page = response.status() == StatusCode::OK;
        let text = axum::body::to_bytes(response.into_body(), MOST).await.ok().map(|bytes| bytes.to_vec());
        match text.and_then(|text| String::from_utf8(text).ok()).filter(|_| is_page) {
            Some(html) => Drawn::Page(html),
            None => Drawn::NotNow,
        }
    }
}

/// What became of a drawing.
enum Drawn {
    Page(String),
    /// The shelf cannot be read.
    NotNow,
    /// There is no such page any more, or not for this viewer.
    Gone,
}

/// The first drawing is compared with what the page has; then one follows each thing that happens.
fn events(
    web: WebState,
    sight: Sight,
    filter: Filter,
    mut heard: Receiver<Happened>,
    (first, mut have): (String, Have),
) -> impl Stream<Item = Event> + Send + 'static {
    async_stream::stream! {
        let mut drawn = Some(first);
        while let Some(html) = drawn {
            for patch in patches(&html, &mut have) {
                yield patch;
            }
            yield alive(&web);
            tokio::time::sleep(BREATH).await;
            let mut beats = 0;
            let next = loop {
                match happens(&web, &filter, &mut heard).await {
                    Next::Nothing if beats < BEATS => {
                        beats += 1;
                        yield alive(&web);
                    }
                    next => break next,
                }
            };
            // Who listens has to come in anew.
            if next == Next::Access || !skip_heard(&mut heard) {
                break;
            }
            drawn = match sight.draw().await {
                Drawn::Page(html) => Some(html),
                // The link ends, and is tried again: until then the page says from when it is.
                Drawn::NotNow => None,
                Drawn::Gone => {
                    yield Event::default().event("gone").data("{}");
                    None
                }
            };
        }
    }
}

/// What came within a beat.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    Nothing,
    News,
    /// Who may come in is another: perhaps not who listens.
    Access,
}

async fn happens(web: &WebState, filter: &Filter, heard: &mut Receiver<Happened>) -> Next {
    let news = async {
        loop {
            match heard.recv().await {
                Ok(event) if event.body.kind == EventKind::AccessChanged => return Next::Access,
                Ok(event) if !filter.lets(&web.shelf().show_event(&event)) => {}
                Ok(_) | Err(RecvError::Lagged(_) | RecvError::Closed) => return Next::News,
            }
        }
    };
    tokio::time::timeout(BEAT, news).await.unwrap_or(Next::Nothing)
}

/// What was heard already is in the next drawing; whether nobody's access changed with it.
fn skip_heard(heard: &mut Receiver<Happened>) -> bool {
    let mut same = true;
    loop {
        match heard.try_recv() {
            Ok(event) => same &= event.body.kind != EventKind::AccessChanged,
            Err(TryRecvError::Lagged(_)) => same = false,
            Err(TryRecvError::Empty | TryRecvError::Closed) => return same,
        }
    }
}

fn alive(web: &WebState) -> Event {
    let now = web.shelf().now().wall();
    Event::default().event("now").data(json!({ "at": now.0, "build": BUILD }).to_string())
}

/// The parts that say something else than those that the page has. What is inside a part that is sent goes with it.
fn patches(html: &str, have: &mut Have) -> Vec<Event> {
    let parts = parts::parts(html);
    let mut sent = vec![false; parts.len()];
    let mut patches = Vec::new();
    for (place, part) in parts.iter().enumerate() {
        let within = part.parent.is_some_and(|parent| sent[parent]);
        let is_new = have.get(&part.id) != Some(&part.version);
        sent[place] = within || is_new;
        if is_new && !within {
            let data = json!({ "id": part.id, "html": &html[part.span.clone()] });
            patches.push(Event::default().event("patch").data(data.to_string()));
        }
    }
    *have = parts.into_iter().map(|part| (part.id, part.version)).collect();
    patches
}
