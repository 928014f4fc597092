//! The door itself: one request per permit, and an honest word about what became of it. Knows reqwest; decides nothing
//! about budgets, holds or retries, and must never send anything that it was not handed a permit for.
//!
//! Every request has a socket of its own, speaks HTTP/1.1 on it and is written once. A kept-alive socket may be closed by
//! the provider in the moment in which we write: then nobody can say whether the request was counted, a client library
//! that tries again makes the provider count twice (law 1), and one that does not loses a unit of a small quota. At the
//! pace of a rate-limited API a new socket costs nothing that matters, and TLS resumes its session.

use super::arrivals::{Arrival, Stored};
use super::boundary::Secrets;
use super::coding::{self, Decoded as Unpacked};
use super::gate::{Attempt, Progress};
use super::keyring::Keyring;
use super::messenger::Messenger;
use super::pass::{Passed, Passing};
use super::redact::Redactor;
use super::route::{Attached, NoWay, Route};
use super::tokens::{Renewal, Renewed, SealKey, Vault, identity};
use super::ways::Ways;
use super::{Door, Opened, Request, fault};
use crate::clock::Clock;
use crate::domain::ids::{ConnectionKey, CredentialId};
use crate::domain::reply::{Answer, Failure, Reply};
use crate::domain::send::FORM;
use crate::domain::spec::{ConnectionSpec, NetworkSpec};
use crate::domain::time::Steady;
use crate::rules::budget::Permit;
use crate::rules::text;
use reqwest::header::{
    ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderName,
    HeaderValue,
};
use reqwest::{Client, Method, Response};
use std::future::Future;
use std::path::Path;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};

/// What went wrong, and a sentence about it.
pub(super) type Fault = (Failure, String);

/// The network through reqwest and rustls.
pub struct HttpDoor {
    pub(super) ways: Ways,
    pub(super) redactor: Redactor,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) keyring: Keyring,
    /// Made when the first connection comes that renews its tokens.
    pub(super) vault: OnceLock<Vault>,
    messenger: Option<Messenger>,
}

impl HttpDoor {
    /// Prepares every connection. `redactor` knows all secrets, also those of clients. The error is a sentence.
    pub fn new(
        connections: &[ConnectionSpec],
        keyring: Keyring,
        clock: Arc<dyn Clock>,
        redactor: Redactor,
        vault: Option<Vault>,
    ) -> Result<HttpDoor, String> {
        let ways = Ways::new()?;
        for spec in connections {
            let route = Route::new(spec, keyring.in_force(&spec.key).0.as_ref())?;
            ways.prepare(&spec.key, &route)?;
            ways.lead(spec.key.clone(), route);
        }
        for spec in connections {
            // Also where nobody has set a refresh token yet: it may be set while everything runs.
            let Some(oauth) = &spec.oauth else { continue };
            let credential = identity(keyring.installation(), oauth);
            let route = Route::bare(&oauth.token_url, &spec.network)?;
            ways.prepare(&spec.key, &route)?;
            ways.lead_to_tokens(credential, route);
        }
        let vault = vault.map_or_else(OnceLock::new, OnceLock::from);
        Ok(HttpDoor { ways, redactor, clock, keyring, vault, messenger: None })
    }

    /// The key beside this data file seals what it holds. The error is a sentence.
    pub(super) fn vault_or_new(&self, data: &Path) -> Result<(), String> {
        if self.vault.get().is_none() {
            // Who comes second throws his away.
            let _ = self.vault.set(Vault::new(SealKey::beside(data)?.0, self.redactor.clone()));
        }
        Ok(())
    }

    /// With somebody who tells webhooks of events.
    pub fn telling(self, messenger: Option<Messenger>) -> HttpDoor {
        HttpDoor { messenger, ..self }
    }

    /// The redactor of this door's secrets, for log writers.
    pub fn redactor(&self) -> Redactor {
        self.redactor.clone()
    }

    /// Everything that `send` does, without the permit: nothing is written after `send_by`, and it ends by `deadline`. It goes out with the
    /// secret of who pays for it.
    pub(super) async fn send_within(
        &self,
        payer: Option<CredentialId>,
        send_by: Steady,
        deadline: Steady,
        request: Request,
    ) -> Reply {
        let reply = self.replied(self.exchange(payer, send_by, deadline, &request).await);
        if let Err(failure) = reply.result {
            tracing::debug!(connection = %request.connection, ?failure, "{}", reply.detail);
        }
        reply
    }

    async fn exchange(
        &self,
        payer: Option<CredentialId>,
        send_by: Steady,
        deadline: Steady,
        request: &Request,
    ) -> Result<Answer, Fault> {
        let route = self.ways.of(&request.connection)?;
        let prepared = self.prepare(&route, payer, request)?;
        self.exchange_over(send_by, deadline, &route, prepared).await.map(|answer| self.clean(answer))
    }

    async fn exchange_over(
        &self,
        send_by: Steady,
        deadline: Steady,
        route: &Route,
        prepared: (Client, reqwest::Request),
    ) -> Result<Answer, Fault> {
        let attempt = Attempt::begin(self.clock.clone(), send_by, route.network.connect_timeout)?;
        let work = attempt.run(self.ask(route, &attempt, prepared));
        tokio::select! {
            biased;
            done = work => done,
            () = self.give_up(&attempt, deadline, &route.network) => Err(out_of_time(&attempt, route)),
        }
    }

    /// Without any known secret.
    pub(super) fn clean(&self, answer: Answer) -> Answer {
        Answer { body: self.redactor.body(answer.body), ..answer }
    }

    /// The request for new tokens. Built here, so that no other room sees what is in it.
    fn prepare_renewal(
        &self,
        route: &Route,
        vault: &Vault,
        credential: CredentialId,
    ) -> Option<Result<(Client, reqwest::Request), Fault>> {
        let (form, basic) = vault.asking(credential)?;
        let client = match self.ways.client_for(&route.address()) {
            Ok(client) => client.clone(),
            Err(fault) => return Some(Err(fault)),
        };
        let mut prepared = reqwest::Request::new(Method::POST, route.address());
        let headers = prepared.headers_mut();
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static(coding::ACCEPTED));
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(FORM));
        if let Some(mut value) = basic.and_then(|basic| HeaderValue::from_str(&basic).ok()) {
            value.set_sensitive(true);
            headers.insert(AUTHORIZATION, value);
        }
        *prepared.body_mut() = Some(form.as_bytes().to_vec().into());
        Some(Ok((client, prepared)))
    }

    async fn renew_within(&self, send_by: Steady, deadline: Steady, credential: CredentialId) -> Renewal {
        let asked_at = self.clock.now().stamp();
        let nothing = |what: &str| Err((Failure::NotSent, format!("There is no {what}.")));
        let result = match (self.ways.to_tokens(credential), self.vault.get()) {
            (Some(route), Some(vault)) => match self.prepare_renewal(&route, vault, credential) {
                Some(Ok(prepared)) => match self.exchange_over(send_by, deadline, &route, prepared).await {
                    Ok(answer) => return vault.take(credential, asked_at, self.clock.now().stamp(), answer),
                    Err(fault) => Err(fault),
                },
                Some(Err(fault)) => Err(fault),
                None => nothing("refresh token"),
            },
            _ => nothing("token endpoint"),
        };
        let reply = self.replied(result);
        Renewal { arrived_at: reply.arrived_at, status: None, result: Renewed::Unclear(reply) }
    }

    /// What came of an exchange, now that it is over. Words about a failure lose their secrets here.
    pub(super) fn replied(&self, result: Result<Answer, Fault>) -> Reply {
        let arrived_at = self.clock.now().stamp();
        match result {
            Ok(answer) => Reply { arrived_at, result: Ok(answer), detail: String::new() },
            Err((failure, words)) => {
                Reply { arrived_at, result: Err(failure), detail: self.redactor.text(&words).into_owned() }
            }
        }
    }

    /// What travels with a request: a token of the vault, as it is when the request goes out, or the secret of who pays.
    pub(super) fn credential(
        &self,
        route: &Route,
        payer: Option<CredentialId>,
        key: &ConnectionKey,
    ) -> Result<Attached, String> {
        if !route.renews {
            return route.credential(self.keyring.secret(key, payer).as_ref());
        }
        let token = self.vault.get().and_then(|vault| vault.access_token(key));
        route.credential(Some(&token.ok_or("There is no access token yet; it is asked for before the next request.")?))
    }

    pub(super) fn prepare(
        &self,
        route: &Route,
        payer: Option<CredentialId>,
        request: &Request,
    ) -> Result<(Client, reqwest::Request), Fault> {
        let credential = self.credential(route, payer, &request.connection);
        let credential = credential.map_err(|words| (Failure::NotSent, words))?;
        let url = route.url(&request.location, &credential).map_err(|no_way| match no_way {
            NoWay::OtherOrigin(host) => (
                Failure::RedirectRefused,
                format!("The location is at another origin ({host}); the credential stays with {}.", route.origin()),
            ),
            NoWay::NotALocation => {
                (Failure::NotSent, "The location is neither a path that begins with / nor a URL.".to_owned())
            }
        })?;
        let method = Method::from_bytes(request.method.as_bytes())
            .map_err(|_| (Failure::NotSent, format!("{} is not a method of HTTP.", request.method)))?;
        let client = self.ways.client_for(&url)?;
        let mut prepared = reqwest::Request::new(method, url);
        *prepared.headers_mut() = Route::headers(&request.headers, &credential);
        prepared.headers_mut().insert(ACCEPT_ENCODING, HeaderValue::from_static(coding::ACCEPTED));
        if !request.body.is_empty() {
            *prepared.body_mut() = Some(request.body.clone().into());
        } else if prepared.method() != Method::GET {
            // Said aloud (RFC 9110 section 8.6): some servers answer 411 to a POST that does not say that it is empty.
            prepared.headers_mut().insert(CONTENT_LENGTH, HeaderValue::from_static("0"));
        }
        Ok((client.clone(), prepared))
    }

    async fn ask(
        &self,
        route: &Route,
        attempt: &Attempt,
        (client, request): (Client, reqwest::Request),
    ) -> Result<Answer, Fault> {
        match client.execute(request).await {
            Ok(response) => self.read(response, route).await,
            Err(error) => Err(fault::no_head(&error, attempt, route)),
        }
    }

    /// Reads the body. A broken body under an error status still is an answer, with what came of it: the status and its
    /// `Retry-After` arrived whole, and a 429 must hold whatever became of its page.
    pub(super) async fn read(&self, mut response: Response, route: &Route) -> Result<Answer, Fault> {
        let status = response.status().as_u16();
        let headers = self.text_headers(response.headers());
        let mut body = Vec::new();
        let filled = self.fill(&mut response, &mut body, &route.network).await;
        let unpacked = match filled {
            Ok(()) => unpack(body, response.headers(), route).await,
            Err(fault) => Unpacked { body, fault: Some(fault) },
        };
        match unpacked.fault {
            Some(fault) if status < 400 => return Err(fault),
            Some((_, words)) => tracing::debug!(status, "{}", self.redactor.text(&words)),
            None => (),
        }
        Ok(Answer { status, headers, body: unpacked.body })
    }

    async fn fill(&self, response: &mut Response, body: &mut Vec<u8>, network: &NetworkSpec) -> Result<(), Fault> {
        loop {
            let silence_ends = self.clock.now().steady + network.read_timeout;
            let next = tokio::select! {
                biased;
                next = response.chunk() => next,
                () = self.clock.sleep_until(silence_ends) => {
                    let silent = network.read_timeout;
                    return Err((Failure::Timeout, format!("The provider fell silent for {silent} in its answer.")));
                }
            };
            let Some(chunk) = next.map_err(|e| fault::in_body(&e, body.len()))? else { return Ok(()) };
            if (body.len() + chunk.len()) as u64 > network.max_body {
                let words = format!("The answer grew past {} bytes.", network.max_body);
                return Err((Failure::TooLarge, words));
            }
            body.extend_from_slice(&chunk);
        }
    }

    /// Lower-case names; values that are not text are left out, secrets are taken out (a `Location` may echo our query).
    pub(super) fn text_headers(&self, headers: &HeaderMap) -> Vec<(String, String)> {
        let text = |(name, value): (&HeaderName, &HeaderValue)| {
            let value = value.to_str().ok()?;
            Some((name.as_str().to_owned(), self.redactor.text(value).into_owned()))
        };
        headers.iter().filter_map(text).collect()
    }

    /// Ends at the deadline, or `request_timeout` after the socket was up, whichever is first.
    pub(super) async fn give_up(&self, attempt: &Attempt, deadline: Steady, network: &NetworkSpec) {
        tokio::select! {
            up = attempt.came_up() => self.clock.sleep_until(deadline.min(up + network.request_timeout)).await,
            () = self.clock.sleep_until(deadline) => (),
        }
    }
}

impl Door for HttpDoor {
    fn send(&self, permit: Permit, request: Request) -> Pin<Box<dyn Future<Output = Reply> + Send + '_>> {
        let payer = Some(permit.charge().credential);
        Box::pin(self.send_within(payer, permit.send_by(), permit.deadline(), request))
    }
    fn pass(&self, permit: Permit, passing: Passing) -> Pin<Box<dyn Future<Output = Passed> + Send + '_>> {
        let payer = Some(permit.charge().credential);
        Box::pin(self.pass_within(payer, permit.send_by(), permit.deadline(), passing))
    }
    fn open<'a>(
        &'a self,
        permit: Permit,
        request: &'a Request,
        last: Option<Arc<str>>,
    ) -> Pin<Box<dyn Future<Output = Opened> + Send + 'a>> {
        let payer = Some(permit.charge().credential);
        Box::pin(self.open_within(payer, permit.send_by(), permit.deadline(), request, last))
    }
    fn vault(&self) -> Option<&Vault> {
        self.vault.get()
    }
    fn keyring(&self) -> Option<&Keyring> {
        Some(&self.keyring)
    }
    fn messenger(&self) -> Option<&Messenger> {
        self.messenger.as_ref()
    }
    fn renew(&self, permit: Permit, credential: CredentialId) -> Pin<Box<dyn Future<Output = Renewal> + Send + '_>> {
        Box::pin(self.renew_within(permit.send_by(), permit.deadline(), credential))
    }
    fn redact(&self, text: &str) -> String {
        self.redactor.text(text).into_owned()
    }
    fn look_at(&self, spec: &ConnectionSpec, secrets: &Secrets, stored: Stored) -> Result<Arrival, String> {
        self.looked_at(spec, secrets, stored)
    }
    fn welcome(&self, arrival: Arrival, before: CredentialId, now: CredentialId) -> Option<String> {
        self.welcomed(arrival, before, now)
    }
    fn dismiss(&self, key: &ConnectionKey) {
        self.dismissed(key);
    }
}

/// Bytes of a coded answer above which its decoding is not for a thread that others wait for.
const MUCH: usize = 64 * 1024;

/// Out of its coding, and in UTF-8. Secrets are looked for afterwards, so that none hides in another spelling.
async fn unpack(body: Vec<u8>, headers: &HeaderMap, route: &Route) -> Unpacked {
    let all: Vec<&str> = headers.get_all(CONTENT_ENCODING).iter().filter_map(|v| v.to_str().ok()).collect();
    let (codings, most) = (all.join(","), route.network.max_body);
    let much = !codings.is_empty() && body.len() > MUCH;
    let decoding = move || coding::decode(&codings, body, most);
    let lost = || Unpacked { body: Vec::new(), fault: Some((Failure::Undecodable, "The answer was lost.".to_owned())) };
    let decoded = match much {
        true => tokio::task::spawn_blocking(decoding).await.unwrap_or_else(|_| lost()),
        false => decoding(),
    };
    if decoded.fault.is_some() {
        return decoded;
    }
    let kind = headers.get(CONTENT_TYPE).and_then(|v| v.to_str().ok());
    match text::utf8(decoded.body, kind, route.reading.charset.as_deref()) {
        Ok(body) => Unpacked { body, fault: None },
        Err(words) => Unpacked { body: Vec::new(), fault: Some((Failure::Undecodable, words)) },
    }
}

pub(super) fn out_of_time(attempt: &Attempt, route: &Route) -> Fault {
    match attempt.progress() {
        Progress::Up(_) => (Failure::Timeout, format!("No complete answer within {}.", route.network.request_timeout)),
        Progress::TooSlow => {
            let within = route.network.connect_timeout;
            (Failure::Connect, format!("No connection to {} within {within}.", route.origin()))
        }
        Progress::Connecting | Progress::TooLate => (
            Failure::NotSent,
            format!("The time to send ran out before {} was connected; nothing was written.", route.origin()),
        ),
    }
}
