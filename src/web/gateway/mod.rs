//! `/gateway/{connection}/{path...}`: programs that know nothing of Larder. Any method; the path is taken as it stood in the request line,
//! before any router read it, and the layers of the pages are not in its way. Knows who may ask and how an answer is written; decides
//! nothing about freshness or the budget.

mod access;
mod answer;
mod streams;

use super::WebState;
use super::errors::{Kind, Problem};
use crate::domain::gateway::Reading;
use crate::engine::gateway::Entrance;
use crate::engine::gateway::given::How;
use crate::engine::gateway::place::Address;
use crate::engine::gateway::read::Wanted;
use crate::engine::gateway::write::{Write, Written};
use crate::rules::gateway::{NotAllowed, Passage};
use access::Caller;
use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, Request, Response, StatusCode, header};
use bytes::Bytes;
use http_body_util::{BodyExt, Limited};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

const PREFIX: &str = "/gateway/";
/// The longest that a client may take to send a body.
const SENDING: Duration = Duration::from_secs(60);
/// Answers on the shelf that a write made void.
const FORGOTTEN: HeaderName = HeaderName::from_static("larder-forgotten");

/// Whether this is the gateway's to answer.
pub fn is_for(path: &str) -> bool {
    path.starts_with(PREFIX)
}

/// Answers a client.
pub async fn answer(web: &WebState, request: Request<Body>, peer: Option<IpAddr>) -> Response<Body> {
    let head_only = request.method() == axum::http::Method::HEAD;
    match answered(web, request, peer).await {
        Ok(response) => response,
        Err(problem) => answer::problem(web, &problem, head_only),
    }
}

async fn answered(web: &WebState, request: Request<Body>, peer: Option<IpAddr>) -> Result<Response<Body>, Problem> {
    super::access::hosts::names_one(request.uri(), request.headers())?;
    let line = request.uri().path_and_query().map_or("/", |line| line.as_str());
    let (name, raw) = split(line.strip_prefix(PREFIX).unwrap_or_default());
    let (caller, organization) = Caller::of(web, &request, peer)?;
    let (caller, entrance) = caller.at_a_place(web, &request, (&organization, name), raw)?;
    // First of all: nobody who may not read is told what is there, or has an address looked at and remembered.
    caller.may_read(entrance.as_ref().map(Entrance::key))?;
    let Some(entrance) = entrance else {
        return Err(Problem::not_found(format!("There is no connection \"{}\" here.", shown(name))));
    };
    let address = entrance.address(raw).map_err(|why| Problem::bad_request(super::api::sentence(&why.to_string())))?;
    match entrance.passage(request.method().as_str(), &address) {
        Err(why) => {
            entrance.counted(How::Refused);
            Err(not_allowed(&entrance, why))
        }
        Ok(Passage::Read(reading)) => read(web, entrance, address, reading, request, caller).await,
        Ok(Passage::Write) => {
            let by = caller.may_write(web, entrance.key(), request.method())?;
            write(web, entrance, address, request, caller, by).await
        }
    }
}

async fn read(
    web: &WebState,
    entrance: Entrance,
    address: Arc<Address>,
    reading: Reading,
    request: Request<Body>,
    caller: Caller,
) -> Result<Response<Body>, Problem> {
    let (mut parts, body) = request.into_parts();
    if hyper::body::Body::size_hint(&body).exact() != Some(0) {
        return Err(Problem::bad_request(
            "A GET with a body has no meaning that a shelf could keep to; send it without.",
        ));
    }
    let authorized = parts.headers.contains_key(header::AUTHORIZATION);
    caller.leave_out(&mut parts.headers, entrance.carrier());
    if reading == Reading::Get && (streams::is_wanted(&parts.headers) || entrance.is_stream(&address)) {
        return streams::answer(web, &entrance, &address, &parts.headers).await;
    }
    let wanted = Wanted { address, reading, headers: parts.headers, authorized };
    let (now, mark) = (entrance.now(), entrance.mark(&wanted.address));
    let given = match entrance.at_once(&wanted, &now) {
        Some(given) => given,
        None => {
            let conditions = answer::conditions(&wanted.headers);
            let given = entrance.read(wanted).await;
            entrance.counted(given.how());
            return Ok(answer::write(web, &entrance, given, reading, (&conditions, &entrance.now())));
        }
    };
    entrance.counted(given.how());
    let is_repeatable = reading == Reading::Get && caller.is_unknown();
    let standing = is_repeatable.then(|| entrance.standing(&wanted.address, &wanted.headers, &given, (mark, &now)));
    let mut response = answer::write(web, &entrance, given, reading, (&wanted.headers, &now));
    // A part is not what stands behind it.
    let is_whole = matches!(response.status(), StatusCode::OK | StatusCode::NOT_MODIFIED);
    if let Some(standing) = standing.flatten().filter(|_| is_whole) {
        response.extensions_mut().insert(standing);
    }
    Ok(response)
}

async fn write(
    web: &WebState,
    entrance: Entrance,
    address: Arc<Address>,
    request: Request<Body>,
    caller: Caller,
    by: String,
) -> Result<Response<Body>, Problem> {
    let (mut parts, body) = request.into_parts();
    caller.leave_out(&mut parts.headers, entrance.carrier());
    // Read before anything is charged: a client that goes away in its own sentence has asked nothing.
    let most = usize::try_from(entrance.most_sent()).unwrap_or(usize::MAX);
    let body: Bytes = match timeout(SENDING, Limited::new(body, most).collect()).await {
        Err(_) => return Err(Problem::new(Kind::Timeout, "The body did not come in time. Nothing was sent.")),
        Ok(Ok(whole)) => whole.to_bytes(),
        Ok(Err(e)) if e.is::<http_body_util::LengthLimitError>() => {
            let detail = format!("The body is longer than {most} bytes, as long as a body of this provider's may be.");
            return Err(Problem::new(Kind::TooLarge, detail));
        }
        Ok(Err(_)) => return Err(Problem::bad_request("The body did not come whole. Nothing was sent.")),
    };
    let reading = if parts.method == axum::http::Method::HEAD { Reading::Head } else { Reading::Get };
    let hosts = answer::conditions(&parts.headers);
    let write = Write { address, method: parts.method, headers: parts.headers, body, by };
    let Written { given, forgotten } = entrance.write(write).await;
    entrance.counted(given.how());
    let mut response = answer::write(web, &entrance, given, reading, (&hosts, &entrance.now()));
    if let Some(count) = forgotten {
        response.headers_mut().insert(FORGOTTEN, HeaderValue::from(count));
    }
    Ok(response)
}

/// The connection's name, and what stands behind it.
fn split(rest: &str) -> (&str, &str) {
    rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()))
}

fn shown(name: &str) -> String {
    name.chars().filter(|c| c.is_ascii_graphic() && *c != '<').take(60).collect()
}

fn not_allowed(entrance: &Entrance, why: NotAllowed) -> Problem {
    let name = &entrance.key().connection;
    match why {
        NotAllowed::Off => {
            Problem::not_found(format!("{name} has no gateway: enabled = false in [connection.gateway]."))
        }
        NotAllowed::Path => Problem::new(
            Kind::Forbidden,
            format!(
                "Nothing may be asked there through the gateway of {name}; [[connection.gateway.allow]] says what may."
            ),
        ),
        NotAllowed::Method(methods) => Problem {
            allow: Some(methods.join(", ")),
            ..Problem::new(
                Kind::MethodNotAllowed,
                format!(
                    "Only {} may be asked there through the gateway of {name}; [[connection.gateway.allow]] says what may.",
                    methods.join(", ")
                ),
            )
        },
    }
}
