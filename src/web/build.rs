//! Which build serves (P6): its id is in every page and on every answer, and what an older page's script asks is refused, so that the page heals
//! and does not loop. Knows no page; must not know who asks.

use super::errors::{Kind, Problem};
use axum::extract::Request;
use axum::http::HeaderName;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

/// Of what pages are made of: see `build.rs`.
pub const BUILD: &str = env!("PAGES_BUILD");

/// On every answer; and on every request of a page's script, which says by which build its page was made.
pub const HEADER: HeaderName = HeaderName::from_static("larder-build");

/// The same for what carries no headers of its own: event streams.
const PARAMETER: &str = "build";
const STREAMS: [&str; 2] = ["/live", "/api/v1/events"];

/// Lets through who was made by this build, or says nothing of it; refuses the others (409).
pub async fn meet(request: Request, next: Next) -> Response {
    match stated(&request).filter(|stated| stated != BUILD) {
        None => next.run(request).await,
        Some(_) => Problem::new(Kind::StaleClient, STALE).into_response(),
    }
}

const STALE: &str = "The page that asks was made by another build of Larder than the one that runs now. Load the page again; until then its \
                     script gets no answers.";

/// By which build the page was made that asks.
fn stated(request: &Request) -> Option<String> {
    let header = request.headers().get(&HEADER).map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
    let parameter = || {
        let query = request.uri().query().filter(|_| STREAMS.contains(&request.uri().path()))?;
        let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        pairs.filter(|(name, _)| *name == PARAMETER).map(|(_, value)| value.to_owned()).next()
    };
    header.or_else(parameter)
}
