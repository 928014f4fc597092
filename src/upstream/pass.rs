//! Passing on: a client's request goes out as it was written, octet by octet, with Larder's credential in the place of its own, and the
//! answer comes back as it is, out of its coding. A long answer is handed on as it comes ([`Rest`]). Knows no shelf and decides nothing.

use super::fault;
use super::gate::{Attempt, Progress};
use super::http::{Fault, HttpDoor, out_of_time};
use super::redact::StreamRedactor;
pub use super::rest::Rest;
use super::rest::Times;
use super::route::Route;
use super::undoing::{self, Undoing, Undone};
use super::wire::Socket;
use crate::domain::ids::{ConnectionKey, CredentialId};
use crate::domain::octets;
use crate::domain::reply::Failure;
use crate::domain::time::{Stamp, Steady};
use crate::rules::text;
use bytes::Bytes;
use http_body_util::Full;
use hyper::client::conn::http1;
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::{Method, Request, Uri};
use tokio_util::sync::CancellationToken;

/// What a client asks of the provider.
#[derive(Clone, Debug)]
pub struct Passing {
    pub connection: ConnectionKey,
    pub method: Method,
    /// Path and query below the base URL, as the client wrote them; it begins with `/`.
    pub location: String,
    /// The client's own. What belongs to its hop, and every place of a credential, is left out by the door.
    pub headers: HeaderMap,
    pub body: Bytes,
    /// An answer of up to so many bytes is read to its end; a longer one is handed on as it comes.
    pub most: u64,
    /// A longer one too has ended by the deadline of its permit, or is cut off: the provider counts what it has in hand, and the budget
    /// counts with it until then.
    pub in_time: bool,
}

/// An answer or its absence, with the moment at which its head was there.
#[derive(Debug)]
pub struct Passed {
    pub arrived_at: Stamp,
    pub result: Result<Relayed, Failure>,
    /// A plain sentence about the failure, without secrets; empty for an answer.
    pub detail: String,
}

/// An answer as the client is to get it.
#[derive(Debug)]
pub struct Relayed {
    pub status: u16,
    /// Lower-case names, less what belongs to the hop to the provider; without any known secret.
    pub headers: Vec<(String, String)>,
    /// All of it, out of its coding; or its beginning, where there is a rest.
    pub body: Vec<u8>,
    /// The same in UTF-8, where it was written in another charset.
    pub in_utf8: Option<Vec<u8>>,
    /// The body of an error that broke off: status and headers arrived whole.
    pub cut: bool,
    /// What follows `body`.
    pub rest: Option<Rest>,
}

/// Of one hop alone (RFC 9110 section 7.6.1), and a session that the provider opens for this account.
const NOT_FOR_CLIENTS: [&str; 9] = [
    "connection",
    "keep-alive",
    "proxy-authenticate",
    "proxy-connection",
    "set-cookie",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];
/// Bytes of a coded answer above which its decoding is not for a thread that others wait for.
const MUCH: usize = 64 * 1024;

impl HttpDoor {
    /// Everything that `pass` does, without the permit: nothing is written after `send_by`, and an answer that is read to its end has
    /// ended by `deadline`.
    pub(super) async fn pass_within(
        &self,
        payer: Option<CredentialId>,
        send_by: Steady,
        deadline: Steady,
        passing: Passing,
    ) -> Passed {
        let result = self.passed(payer, send_by, deadline, passing).await;
        match result {
            Ok((arrived_at, relayed)) => Passed { arrived_at, result: Ok(relayed), detail: String::new() },
            Err((failure, words)) => {
                let arrived_at = self.clock.now().stamp();
                Passed { arrived_at, result: Err(failure), detail: self.redactor.text(&words).into_owned() }
            }
        }
    }

    async fn passed(
        &self,
        payer: Option<CredentialId>,
        send_by: Steady,
        deadline: Steady,
        passing: Passing,
    ) -> Result<(Stamp, Relayed), Fault> {
        let route = self.ways.of(&passing.connection)?;
        let credential = self.credential(&route, payer, &passing.connection);
        let credential = credential.map_err(|words| (Failure::NotSent, words))?;
        let line = route.line(&passing.location, &credential).map_err(|words| (Failure::NotSent, words))?;
        let headers = route.outgoing(&passing, &credential);
        let attempt = Attempt::begin(self.clock.clone(), send_by, route.network.connect_timeout)?;
        let request = request(passing.method, line, headers, passing.body)?;
        let until = passing.in_time.then_some(deadline);
        let work = async {
            let socket = match attempt.comes_up(self.ways.wire.connect(&route.address())).await {
                Ok(socket) => socket,
                Err(error) => return Err(self.never_up(&attempt, &route, &*error)),
            };
            self.relay(socket, request, &route, passing.most, until).await
        };
        tokio::select! {
            biased;
            done = work => done,
            () = self.give_up(&attempt, deadline, &route.network) => Err(out_of_time(&attempt, &route)),
        }
    }

    fn never_up(&self, attempt: &Attempt, route: &Route, error: &(dyn std::error::Error + 'static)) -> Fault {
        match attempt.progress() {
            Progress::TooSlow | Progress::TooLate => out_of_time(attempt, route),
            Progress::Connecting | Progress::Up(_) => {
                let words = fault::connect_words(error);
                (Failure::Connect, format!("No connection to {}: {words}.", route.origin()))
            }
        }
    }

    async fn relay(
        &self,
        socket: Box<dyn Socket>,
        request: Request<Full<Bytes>>,
        route: &Route,
        most: u64,
        until: Option<Steady>,
    ) -> Result<(Stamp, Relayed), Fault> {
        let opened = http1::handshake(socket).await;
        let (mut sender, connection) = opened.map_err(|e| fault::before_body(&e))?;
        let (over, clock) = (CancellationToken::new(), self.clock.clone());
        let closed = over.clone().drop_guard();
        let ends = async move {
            match until {
                Some(until) => clock.sleep_until(until).await,
                None => std::future::pending().await,
            }
        };
        tokio::spawn(async move {
            // What became of the socket is told to who reads the answer; who reads too slowly does not keep it.
            tokio::select! { _ = connection => {} () = ends => {} }
            drop(closed);
        });
        let response = sender.send_request(request).await.map_err(|e| fault::before_body(&e))?;
        let arrived_at = self.clock.now().stamp();
        let (head, incoming) = response.into_parts();
        let times = Times { silence: route.network.read_timeout, until };
        let mut rest = Rest::new(incoming, self.clock.clone(), times, over);
        let mut relayed = Relayed {
            status: head.status.as_u16(),
            headers: self.for_clients(&head.headers),
            body: Vec::new(),
            in_utf8: None,
            cut: false,
            rest: None,
        };
        while let Some(next) = rest.read().await {
            match next {
                Ok(data) => relayed.body.extend_from_slice(&data),
                Err(_) if relayed.status >= 400 => {
                    relayed.cut = true;
                    break;
                }
                Err(fault) => return Err(fault),
            }
            if relayed.body.len() as u64 > most {
                return self.long(relayed, rest).map(|relayed| (arrived_at, relayed));
            }
        }
        self.whole(relayed, rest, route, most).await.map(|relayed| (arrived_at, relayed))
    }

    /// An answer that goes on behind its beginning, out of its coding and without any known secret, as far as it goes.
    fn long(&self, mut relayed: Relayed, rest: Rest) -> Result<Relayed, Fault> {
        let coded = Bytes::from(std::mem::take(&mut relayed.body));
        let mut undoing = Undoing::of(&codings(&relayed.headers), coded.clone())?;
        let beginning = match &mut undoing {
            Some(undoing) => Bytes::from(undoing.yields()?),
            None => coded,
        };
        Ok(self.going_on(relayed, &beginning, undoing, rest))
    }

    fn going_on(&self, mut relayed: Relayed, beginning: &[u8], undoing: Option<Undoing>, rest: Rest) -> Relayed {
        if undoing.is_some() {
            relayed.headers.retain(|(name, _)| !is_of_a_coding(name));
        }
        let (body, rest) = rest.behind(beginning, undoing, StreamRedactor::new(self.redactor.clone()));
        Relayed { body, rest: Some(rest), ..relayed }
    }

    /// A whole answer, out of its coding and without any known secret; what is too long out of its coding goes on as a long one does.
    async fn whole(&self, mut relayed: Relayed, rest: Rest, route: &Route, most: u64) -> Result<Relayed, Fault> {
        let codings = codings(&relayed.headers);
        if !codings.is_empty() && !relayed.body.is_empty() {
            match undone(codings, Bytes::from(std::mem::take(&mut relayed.body)), most).await {
                Undone::Whole(body) => relayed.body = body,
                Undone::Longer(beginning, undoing) => {
                    return Ok(self.going_on(relayed, &beginning, Some(undoing), rest));
                }
                Undone::Broken(_, fault) if relayed.status < 400 => return Err(fault),
                Undone::Broken(body, _) => (relayed.body, relayed.cut) = (body, true),
            }
            relayed.headers.retain(|(name, _)| !is_of_a_coding(name));
        }
        relayed.body = self.redactor.body(std::mem::take(&mut relayed.body));
        let kind = relayed.headers.iter().find(|(n, _)| n == "content-type").map(|(_, v)| v.as_str());
        let read = text::utf8(relayed.body.clone(), kind, route.reading.charset.as_deref());
        relayed.in_utf8 = read.ok().filter(|read| *read != relayed.body);
        Ok(relayed)
    }

    /// Lower-case names; secrets are taken out.
    fn for_clients(&self, headers: &HeaderMap) -> Vec<(String, String)> {
        let named = hop_names(headers);
        let kept = headers
            .iter()
            .filter(|(name, _)| !NOT_FOR_CLIENTS.contains(&name.as_str()) && !named.contains(name.as_str()));
        let text = kept.map(|(name, value)| (name, octets::text(value.as_bytes())));
        text.map(|(name, value)| (name.as_str().to_owned(), self.redactor.text(&value).into_owned())).collect()
    }
}

fn codings(headers: &[(String, String)]) -> String {
    let named = headers.iter().filter(|(name, _)| name == "content-encoding").map(|(_, value)| value.as_str());
    named.collect::<Vec<_>>().join(",")
}

/// What is true of the octets in their coding alone.
fn is_of_a_coding(name: &str) -> bool {
    matches!(name, "content-encoding" | "content-length")
}

/// Headers that the message itself says are of its hop alone (RFC 9110 section 7.6.1).
pub(super) struct HopNames(Vec<String>);

pub(super) fn hop_names(headers: &HeaderMap) -> HopNames {
    let values = headers.get_all(header::CONNECTION).iter().filter_map(|v| v.to_str().ok());
    HopNames(values.flat_map(|v| v.split(',')).map(|name| name.trim().to_ascii_lowercase()).collect())
}

impl HopNames {
    pub(super) fn contains(&self, name: &str) -> bool {
        self.0.iter().any(|n| n == name)
    }
}

fn request(method: Method, line: String, mut headers: HeaderMap, body: Bytes) -> Result<Request<Full<Bytes>>, Fault> {
    let uri: Uri = line
        .parse()
        .map_err(|_| (Failure::NotSent, "The path has characters that no request line can carry.".to_owned()))?;
    headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
    if !body.is_empty() {
        headers.insert(header::CONTENT_LENGTH, HeaderValue::from(body.len()));
    } else if !method.is_safe() {
        // Said aloud (RFC 9110 section 8.6).
        headers.insert(header::CONTENT_LENGTH, HeaderValue::from_static("0"));
    }
    let mut request = Request::new(Full::new(body));
    *request.method_mut() = method;
    *request.uri_mut() = uri;
    *request.headers_mut() = headers;
    Ok(request)
}

async fn undone(codings: String, bytes: Bytes, most: u64) -> Undone {
    let much = bytes.len() > MUCH;
    let undoing = move || undoing::undone(&codings, bytes, most);
    let lost = || Undone::Broken(Vec::new(), (Failure::Undecodable, "The answer was lost.".to_owned()));
    match much {
        true => tokio::task::spawn_blocking(undoing).await.unwrap_or_else(|_| lost()),
        false => undoing(),
    }
}
