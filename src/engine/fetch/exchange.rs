//! Permit and reply: the only calls of `admit` and `send`; the one other thing that a permit pays for, new tokens, is asked by
//! `token`. Follows redirects on the provider's own host, each hop with a permit
//! of its own.

use super::{Stopped, With, token};
use crate::domain::charge::{Resolution, Settlement};
use crate::domain::ids::{Caller, ChargeId, CredentialId, Endpoint, TargetName};
use crate::domain::outcome::Outcome;
use crate::domain::reply::{Answer, Failure, Reply};
use crate::domain::spec::endpoint_of;
use crate::domain::time::{Span, Stamp};
use crate::engine::core::{Conn, Core, SLOW_COMMIT};
use crate::rules::address::{self, Elsewhere};
use crate::rules::budget;
use crate::rules::budget::Permit;
use crate::rules::quota::{Brought, Said};
use crate::store::{Admission, Commit, Lane};
use crate::upstream::Request;

/// Redirects that one fetch follows. Each costs a request; who needs more has moved, and the address belongs into the configuration.
const MAX_HOPS: usize = 3;

/// Who asks for what.
#[derive(Clone, Debug)]
pub struct Asking {
    pub caller: Caller,
    pub target: Option<TargetName>,
    pub endpoint: Endpoint,
    pub cost: u32,
}

/// Whose question it was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Whose {
    #[default]
    Ours,
    /// Of a program behind the gateway, which may ask anything: that there is no such thing says nothing of the provider's health.
    Clients,
}

/// A reply with the charge that paid for it, not yet resolved.
pub struct Exchanged {
    pub reply: Reply,
    pub charge: ChargeId,
    pub reserved_at: Stamp,
    pub caller: Caller,
    /// Where the answer came from.
    pub endpoint: Endpoint,
    /// Units that were reserved.
    pub charged: u32,
    /// What the answer says it cost, once somebody looked.
    pub cost: Option<u32>,
    /// What was asked for; a redirect may have led elsewhere.
    pub asked: Endpoint,
    /// What the answer says of the provider's own count, once somebody looked.
    pub claims: Said,
    /// And what it brought beside that.
    pub brought: Brought,
    /// The request that the reply answers, after redirects.
    pub location: String,
    pub whose: Whose,
}

impl Exchanged {
    /// `asking` is about the last hop, `first` about the first.
    pub fn new(
        reply: Reply,
        (charge, reserved_at): (ChargeId, Stamp),
        asking: &Asking,
        first: &Asking,
        at: &str,
    ) -> Exchanged {
        let (caller, endpoint, asked) = (asking.caller, asking.endpoint.clone(), first.endpoint.clone());
        let (charged, location) = (asking.cost, at.to_owned());
        Exchanged {
            reply,
            charge,
            reserved_at,
            caller,
            endpoint,
            charged,
            cost: None,
            asked,
            claims: Said::default(),
            brought: Brought::Something,
            location,
            whose: Whose::Ours,
        }
    }
}

/// Write 1: charged durably, or refused. `with` rides in the same transaction. Nothing begins with a credential that another one has
/// taken the place of.
pub async fn admit(
    core: &Core,
    conn: &Conn,
    payer: CredentialId,
    asking: &Asking,
    with: With,
) -> Result<Permit, Stopped> {
    if core.connections.is_superseded(conn) {
        return Err(Stopped::Superseded);
    }
    admit_more(core, conn, payer, asking, with).await
}

/// As [`admit`], for what is under way: it ends with the credential that it began with.
async fn admit_more(
    core: &Core,
    conn: &Conn,
    payer: CredentialId,
    asking: &Asking,
    with: With,
) -> Result<Permit, Stopped> {
    let now = core.clock.now();
    let mark = core.mark_if_due(now.steady);
    let request = budget::Request {
        connection: conn.spec.key.clone(),
        target: asking.target.clone(),
        ask: conn.ask(asking.caller, asking.endpoint.clone(), asking.cost),
        // A permit must outlive a slow commit and a slow handshake.
        send_grace: Span(SLOW_COMMIT.0.saturating_add(conn.spec.network.connect_timeout.0)),
        request_timeout: conn.spec.network.request_timeout,
    };
    let with: With = Box::new(move |id| {
        let mut writes = with(id);
        writes.extend(mark);
        writes
    });
    let admission = Admission { credential: payer, request, now, with };
    core.store.admit(admission).await?.map_err(Stopped::Refused)
}

/// Sends, and follows redirects on the same host while the budget funds them. Where the provider does not accept the access token any
/// more it is renewed and the request repeated, once: a rejection says that nothing was done.
pub async fn exchange(
    core: &Core,
    conn: &Conn,
    asking: &Asking,
    permit: Permit,
    request: Request,
) -> Result<Exchanged, Stopped> {
    let carried = token::version(core, conn);
    let first = hops(core, conn, asking, permit, request.clone()).await?;
    let Some(version) = carried.filter(|_| is_rejected(core, conn, &first.reply)) else { return Ok(first) };
    let permit = once_more(core, conn, asking, &first, version).await?;
    hops(core, conn, asking, permit, request).await
}

/// The access token of this version was not accepted: the charge is settled so, the token renewed, and the repetition admitted.
pub(super) async fn once_more(
    core: &Core,
    conn: &Conn,
    asking: &Asking,
    rejected: &Exchanged,
    version: u64,
) -> Result<Permit, Stopped> {
    let rule = "the access token is not accepted any more; it is renewed once".to_owned();
    settle(core, conn, rejected, Outcome::CredentialRejected, rule).await?;
    let renewed = token::renew(core, conn, asking.caller, Some(version)).await;
    renewed.map_err(|stopped| stopped.once(Stopped::Unrenewed))?;
    let permit = admit_more(core, conn, conn.credential, asking, Box::new(|_| Vec::new())).await;
    permit.map_err(|stopped| stopped.once(Stopped::Unrepeated))
}

pub(super) fn is_rejected(core: &Core, conn: &Conn, reply: &Reply) -> bool {
    let verdict = conn.classifier.classify(reply, false, core.clock.now().wall()).verdict;
    verdict.outcome == Outcome::CredentialRejected
}

async fn hops(
    core: &Core,
    conn: &Conn,
    first: &Asking,
    permit: Permit,
    request: Request,
) -> Result<Exchanged, Stopped> {
    let mut asking = first.clone();
    let mut permit = permit;
    let mut request = request;
    let mut asked = Vec::new();
    loop {
        let (charge, reserved_at) = (permit.id(), permit.charge().reserved_at);
        let reply = core.door.send(permit, request.clone()).await;
        let exchanged = Exchanged::new(reply, (charge, reserved_at), &asking, first, &request.location);
        let Some((status, location)) = redirect(conn, &exchanged.reply) else { return Ok(exchanged) };
        let next = match address::resolve(&conn.spec.base_url, &request.location, location) {
            Ok(next) => next,
            Err(elsewhere) => return Ok(refused(exchanged, &away(&elsewhere))),
        };
        let before = (request.method, std::mem::take(&mut request.location));
        asked.push(before);
        let then = redirected(request, status, next);
        if asked.iter().any(|(method, location)| *method == then.method && *location == then.location) {
            return Ok(refused(exchanged, IN_A_CIRCLE));
        }
        if asked.len() > MAX_HOPS {
            return Ok(refused(exchanged, TOO_FAR));
        }
        let rule = "redirect on the provider's host".to_owned();
        settle(core, conn, &exchanged, Outcome::Redirected, rule).await?;
        asking.endpoint = endpoint_of(&then.location);
        request = then;
        let admitted = admit_more(core, conn, conn.credential, &asking, Box::new(|_| Vec::new())).await;
        permit = admitted.map_err(|stopped| stopped.once(Stopped::Midway))?;
    }
}

const IN_A_CIRCLE: &str = "the provider redirects in a circle, to what was asked already";
const TOO_FAR: &str = "the provider redirects on and on; after three redirects nothing more is followed";

/// The host is named: it may be the new address.
fn away(elsewhere: &Elsewhere) -> String {
    match elsewhere {
        Elsewhere::NotAnAddress => "the provider redirects to what is no address".to_owned(),
        Elsewhere::OtherOrigin(host) => {
            format!(
                "the provider redirects to another host or scheme ({host}); not followed, the credential stays here"
            )
        }
    }
}

/// Where an answer leads on to, unless a rule knows it for an answer.
fn redirect<'r>(conn: &Conn, reply: &'r Reply) -> Option<(u16, &'r str)> {
    let answer: &Answer = reply.result.as_ref().ok()?;
    let is_redirect = matches!(answer.status, 301 | 302 | 303 | 307 | 308);
    let location = answer.header("location").filter(|_| is_redirect)?;
    Some((answer.status, location)).filter(|_| !conn.classifier.takes_redirect(answer))
}

/// 307 and 308 repeat the request; the others ask for the answer with a GET, as every client does (RFC 9110 section 15.4).
fn redirected(request: Request, status: u16, location: String) -> Request {
    if matches!(status, 307 | 308) || request.method == "GET" {
        return Request { location, ..request };
    }
    let headers = request.headers.into_iter().filter(|(name, _)| name != "content-type").collect();
    Request { method: "GET", location, headers, body: Vec::new(), ..request }
}

fn refused(exchanged: Exchanged, why: &str) -> Exchanged {
    let detail = why.to_owned();
    Exchanged { reply: Reply { result: Err(Failure::RedirectRefused), detail, ..exchanged.reply }, ..exchanged }
}

/// The request was counted by the provider; its charge is posted before the next is asked for.
pub(super) async fn settle(
    core: &Core,
    conn: &Conn,
    hop: &Exchanged,
    outcome: Outcome,
    rule: String,
) -> Result<(), Stopped> {
    let status = hop.reply.result.as_ref().ok().map(|a| a.status);
    core.count(&conn.spec.key, (hop.caller, &hop.endpoint), outcome, hop.charged);
    let resolution = Resolution {
        at: hop.reply.arrived_at,
        settlement: Settlement::Posted,
        outcome,
        status,
        rule,
        said: None,
        cost: None,
    };
    let commit =
        Commit { resolve: Some((conn.credential, hop.charge, resolution)), lane: Lane::Lazy, ..Commit::default() };
    core.commit(commit).await.map(drop).map_err(Stopped::unrecorded(status))
}
