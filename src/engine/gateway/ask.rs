//! What a flight does: asks as the target whose question it is, else passes the first client's request on; and puts what came onto the
//! shelf. Knows no client that waits.

use super::flight::Landing;
use super::given::{Halt, PassedOn};
use super::place::{Address, Entry};
use super::{filed, readings, room};
use crate::domain::gateway::{Freshness, Kept, Reading, Shelved, joined};
use crate::domain::ids::{Caller, Endpoint};
use crate::domain::octets;
use crate::domain::outcome::{Outcome, Verdict};
use crate::domain::spec::{CommandSpec, Conditional};
use crate::engine::core::{Conn, Core};
use crate::engine::fetch::exchange::Asking;
use crate::engine::fetch::pass::{Heard, Late, Passage, pass};
use crate::engine::fetch::{MOMENT, Stopped};
use crate::rules::gateway::{
    Answered, Asked, ByHead, CAPABILITY, NotKept, Pattern, Policy, Seen, Times, Wishes, announces, as_passed, as_tags,
    by_head, confirmed, fits, has_own_fields, is_conditional, is_revalidating, key, may_keep, shelve, validators,
    variant,
};
use crate::store::Write;
use crate::upstream::pass::{Passing, Relayed};
use bytes::Bytes;
use hyper::Method;
use hyper::header::{HeaderMap, HeaderName, HeaderValue, RANGE};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// The request of who asked first.
#[derive(Clone)]
pub struct Question {
    pub address: Arc<Address>,
    pub reading: Reading,
    /// The client's, without its credential.
    pub headers: HeaderMap,
    /// The same as they go out, as text.
    pub sent: Vec<(String, String)>,
    pub wishes: Wishes,
    pub authorized: bool,
    /// As the client wants it, part or condition and all: nobody shares it, and it is not kept.
    pub alone: bool,
    /// A 304 costs nothing, and nothing is kept that it could save: the client's own condition goes out with it.
    pub forwards: bool,
    /// What is kept, and may still stand.
    pub known: Option<Arc<Entry>>,
}

impl Question {
    fn asked(&self) -> Asked<'_> {
        Asked { reading: self.reading, sent: &self.sent, wishes: &self.wishes, authorized: self.authorized }
    }
}

/// What a client's headers say, as they go out: lower-case names. Codings are undone before anything is kept, so that no answer differs by
/// them.
pub fn as_text(headers: &HeaderMap) -> Vec<(String, String)> {
    let text = |(name, value): (&HeaderName, &HeaderValue)| {
        let value = octets::text(value.as_bytes());
        (name != hyper::header::ACCEPT_ENCODING).then(|| (name.as_str().to_owned(), value))
    };
    headers.iter().filter_map(text).collect()
}

/// Asks the provider. Who hands the answer on sees to the charge of one that still comes.
pub async fn ask(
    core: &Core,
    conn: &Conn,
    question: &Question,
    unwanted: &CancellationToken,
) -> (Landing, Option<Late>) {
    if let Some(target) = readings::target_of(core, conn, question) {
        // Redirected, or varied by what the client sent: then its own request finds out.
        if let Some(landing) = readings::ask(core, conn, &target, question).await {
            return (landing, None);
        }
    }
    let policy = conn.desk.gate.policy_by(&question.address.rules);
    let may_ask = conn.spec.conditional != Conditional::Off && !question.alone;
    let known = question.known.clone().filter(|known| may_ask && known.head().kept == Kept::Data);
    let own = known.as_ref().map(|entry| validators(entry.head())).unwrap_or_default();
    let asking = Asking {
        caller: Caller::Gateway,
        target: None,
        endpoint: endpoint(conn, &question.address),
        cost: policy.cost,
    };
    let inquiry = Inquiry { core, conn, question, policy, asking: &asking };
    let mut answered = inquiry.makes(&own, unwanted).await;
    // It speaks of another answer than the one that is here, and renews nothing (RFC 9111 section 4.3.4): the whole is asked for.
    if answered.as_ref().is_ok_and(|(heard, found)| inquiry.confirms_nothing(heard, found)) && !own.is_empty() {
        answered = inquiry.makes(&[], unwanted).await;
    }
    match answered {
        Err(_) if unwanted.is_cancelled() => (Landing::GivenUp, None),
        Err(stopped) => (Landing::Halted(Arc::new(Halt::stopped(conn, &stopped, &core.clock.now()))), None),
        Ok((mut heard, found)) => {
            let late = heard.late.take();
            (landed(core, conn, question, &policy, &asking.endpoint, heard, found), late)
        }
    }
}

/// A question on its way to the provider.
struct Inquiry<'a> {
    core: &'a Core,
    conn: &'a Conn,
    question: &'a Question,
    policy: Policy<'a>,
    asking: &'a Asking,
}

impl Inquiry<'_> {
    /// Asks with these validators. What of the answer is kept is written down with its charge.
    async fn makes(
        &self,
        validators: &[(String, String)],
        unwanted: &CancellationToken,
    ) -> Result<(Heard, Found), Stopped> {
        let Inquiry { core, conn, question, policy, asking } = self;
        let passage = Passage {
            asking,
            passing: Passing {
                connection: conn.spec.key.clone(),
                method: if question.reading == Reading::Head { Method::HEAD } else { Method::GET },
                location: question.address.sent.clone(),
                headers: outgoing(question, policy, validators),
                body: Bytes::new(),
                most: room::largest(core),
                in_time: conn.sharing.counts_in_flight(),
            },
            conditional: !validators.is_empty() || question.forwards,
            with: Vec::new(),
            patience: MOMENT,
            unwanted,
            judge: &|relayed, verdict| judged(question, policy, relayed, verdict),
        };
        let mut found = Found::default();
        let keep = |heard: &Heard| {
            found = Found::in_answer(core, conn, question, policy, heard);
            found.writes(core, conn)
        };
        let heard = pass(core, conn, passage, keep).await?;
        Ok((heard, found))
    }

    /// A 304 to a question of Larder's own that is none about what is kept.
    fn confirms_nothing(&self, heard: &Heard, found: &Found) -> bool {
        heard.verdict.outcome == Outcome::NotModified && !self.question.alone && found.kept.is_none()
    }
}

/// Where it is counted: with the targets and commands whose template it fits, which a provider may take for one; else by itself.
pub fn endpoint(conn: &Conn, address: &Address) -> Endpoint {
    let targets = conn.targets.now();
    let templates = targets.iter().filter_map(|target| target.endpoint.clone());
    let commands = conn.spec.commands.iter().map(CommandSpec::endpoint);
    let fits = |template: &Endpoint| {
        template.as_str().contains('{') && Pattern::of_template(template.as_str()).fits(&address.location)
    };
    templates.chain(commands).find(fits).unwrap_or_else(|| address.endpoint.clone())
}

/// A part or a condition is the client's own; without one the whole is asked for, by Larder's validators.
fn outgoing(question: &Question, policy: &Policy<'_>, asked_with: &[(String, String)]) -> HeaderMap {
    let mut headers = question.headers.clone();
    if !question.alone {
        headers.remove(RANGE);
        let own: Vec<HeaderName> = headers.keys().filter(|name| is_conditional(name.as_str())).cloned().collect();
        own.into_iter().for_each(|name| _ = headers.remove(name));
    }
    if question.forwards {
        let mut told = question.sent.iter().filter(|(name, _)| is_revalidating(name));
        let tags = joined(&question.sent, "if-none-match").map(|field| ("if-none-match".to_owned(), as_tags(&field)));
        let condition = tags.or_else(|| told.next_back().cloned());
        condition.iter().for_each(|condition| put(&mut headers, condition));
    }
    if policy.freshness == Freshness::Http && announces(policy.targeted) {
        headers.append("surrogate-capability", HeaderValue::from_static(CAPABILITY));
    }
    asked_with.iter().for_each(|validator| put(&mut headers, validator));
    headers
}

fn put(headers: &mut HeaderMap, (name, value): &(String, String)) {
    if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::from_bytes(&octets::octets(value))) {
        headers.insert(name, value);
    }
}

fn judged(question: &Question, policy: &Policy<'_>, relayed: &Relayed, verdict: Verdict) -> Verdict {
    let seen = Seen {
        status: relayed.status,
        headers: &relayed.headers,
        sent: &question.sent,
        has_body: question.reading == Reading::Get,
        is_whole: relayed.rest.is_none(),
    };
    as_passed(verdict, &seen, policy)
}

/// What an answer puts onto the shelf, and what it takes from it.
#[derive(Default)]
struct Found {
    kept: Option<Shelved>,
    /// It shows that this is not what is there any more.
    outdated: Option<Arc<Entry>>,
}

impl Found {
    fn in_answer(core: &Core, conn: &Conn, question: &Question, policy: &Policy<'_>, heard: &Heard) -> Found {
        let of_get = looked_at(conn, question, policy, heard);
        let Found { kept: renewed, outdated } = of_get.unwrap_or_default();
        Found { kept: renewed.or_else(|| kept(core, conn, question, policy, heard)), outdated }
    }

    fn writes(&self, core: &Core, conn: &Conn) -> Vec<Write> {
        let stands = self.kept.iter().filter(|shelved| !conn.desk.is_overtaken(&shelved.head));
        let gone = self.outdated.iter().map(|entry| Write::Unshelve(entry.head().clone()));
        gone.chain(stands.filter_map(|shelved| filed::filing(core, shelved))).collect()
    }
}

/// What a HEAD says of the GET that is kept (RFC 9111 section 4.3.5); `None`: none is, or it was asked in a way of the client's own.
fn looked_at(conn: &Conn, question: &Question, policy: &Policy<'_>, heard: &Heard) -> Option<Found> {
    let is_one = question.reading == Reading::Head && heard.verdict.outcome == Outcome::Data && !question.alone;
    let relayed = heard.answer.as_ref().filter(|_| is_one)?;
    let get = question.address.place.with(|entries| {
        let own = entries.iter().filter(|e| e.head().key.credential == conn.credential);
        let gets = own.filter(|e| e.head().key.reading == Reading::Get && e.head().kept == Kept::Data);
        gets.filter(|e| fits(&e.head().variant, &question.sent)).max_by_key(|e| e.head().as_of.steady).cloned()
    })?;
    let times = Times { asked_at: heard.asked_at, as_of: heard.arrived_at };
    let answered = Answered { status: relayed.status, headers: &relayed.headers, outcome: Outcome::Data };
    let asked = Asked { reading: Reading::Get, wishes: &Wishes::default(), ..question.asked() };
    let is_still_kept = relayed.status == get.head().status && may_keep(&asked, &answered, policy).is_ok();
    match by_head(get.head(), &relayed.headers, times) {
        ByHead::Confirmed(head) if is_still_kept => {
            let renewed = Shelved { head: *head, body: get.shelved.body.clone() };
            Some(Found { kept: Some(renewed).filter(|_| !question.wishes.no_store), outdated: None })
        }
        ByHead::Confirmed(_) | ByHead::Outdated => Some(Found { kept: None, outdated: Some(get) }),
    }
}

/// What of an answer comes onto the shelf, unless a change overtakes it.
fn kept(core: &Core, conn: &Conn, question: &Question, policy: &Policy<'_>, heard: &Heard) -> Option<Shelved> {
    let relayed = heard.answer.as_ref().filter(|answer| answer.rest.is_none() && !answer.cut && !question.alone)?;
    let times = Times { asked_at: heard.asked_at, as_of: heard.arrived_at };
    if heard.verdict.outcome == Outcome::NotModified {
        let known = question.known.as_ref()?;
        let head = confirmed(known.head(), &relayed.headers, times)?;
        return Some(Shelved { head, body: known.shelved.body.clone() });
    }
    if relayed.body.len() as u64 > room::largest(core) {
        return None;
    }
    let answered = Answered { status: relayed.status, headers: &relayed.headers, outcome: heard.verdict.outcome };
    let (kept, variant) = may_keep(&question.asked(), &answered, policy).ok()?;
    // Whatever it says: where the provider fails, what it said before is better, and the last good answer above all (law 4).
    let fails = kept == Kept::Declared && heard.verdict.outcome == Outcome::Overloaded;
    let is_better = |e: &Arc<Entry>| {
        let head = e.head();
        head.status < 500 && head.key.credential == conn.credential && fits(&head.variant, &question.sent)
    };
    if fails && question.address.place.with(|entries| entries.iter().any(is_better)) {
        return None;
    }
    let key = key(&conn.spec.key, conn.credential, question.reading, &question.address.location);
    let before = question.known.as_ref().map(|entry| entry.head());
    let body: Arc<[u8]> = relayed.body.as_slice().into();
    Some(shelve(key, (kept, variant), &answered, body, times, policy.cost, before))
}

fn landed(
    core: &Core,
    conn: &Conn,
    question: &Question,
    policy: &Policy<'_>,
    endpoint: &Endpoint,
    heard: Heard,
    Found { kept, outdated }: Found,
) -> Landing {
    if let Some(gone) = outdated {
        room::drop_from(core, &question.address.place, |entry| std::ptr::eq(entry, &*gone));
    }
    match kept.map(|shelved| room::put(core, conn, &question.address.place, shelved)) {
        Some(Some(entry)) => return Landing::Shelved { entry, status: heard.status, own: own(heard) },
        // What it confirms was changed meanwhile: it is asked for anew, and whole.
        Some(None) if heard.verdict.outcome == Outcome::NotModified => return Landing::GivenUp,
        _ => {}
    }
    let word = not_kept(question, policy, &heard);
    let outcome = heard.verdict.outcome;
    let is_error = is_told_as_it_is(policy, &heard);
    let is_passed = match outcome {
        Outcome::Data | Outcome::NotReady | Outcome::Gone | Outcome::Redirected | Outcome::Unexpected => true,
        // To the client's own condition; to one of ours it confirms nothing that is there.
        Outcome::NotModified => question.alone || question.forwards,
        _ => is_error,
    };
    // An error, or a success that cannot be believed: the last good answer is better where there is one (law 4).
    let is_doubted = is_error || outcome == Outcome::Unexpected && heard.status.is_some_and(|status| status < 300);
    let halt = (!is_passed || is_doubted).then(|| Arc::new(Halt::heard(core, conn, endpoint, &heard)));
    match (heard.answer, halt) {
        (Some(answer), doubted) if is_passed => {
            let Relayed { status, headers, body, rest, .. } = answer;
            let again = again(&headers, doubted.as_deref());
            let headers = headers.into_iter().chain(again).collect();
            let passed = PassedOn { status, headers, body: Bytes::from(body) };
            match rest {
                Some(rest) => Landing::Long(Some((passed, rest)).into()),
                None => {
                    let is_for_all = policy.freshness == Freshness::Memo || outcome == Outcome::NotModified;
                    let may_share = is_for_all && !question.wishes.no_store;
                    let shared = may_share.then(|| variant(&passed.headers, &question.sent)).flatten();
                    Landing::Passed { answer: Arc::new(passed), shared, doubted, word }
                }
            }
        }
        (_, Some(halt)) => Landing::Halted(halt),
        (_, None) => Landing::Halted(Arc::new(Halt::stopping())),
    }
}

/// The answer as it came, where not all of it is kept.
fn own(heard: Heard) -> Option<Arc<PassedOn>> {
    let is_new = heard.verdict.outcome != Outcome::NotModified;
    let Relayed { status, headers, body, .. } = heard.answer.filter(|a| is_new && has_own_fields(&a.headers))?;
    Some(Arc::new(PassedOn { status, headers, body: Bytes::from(body) }))
}

/// Whether who asked is told of a failure in the provider's own words: where those on caching count, so do those on what is wrong. A
/// challenge is the account's to meet, and what is long or broke off is no answer to anybody.
fn is_told_as_it_is(policy: &Policy<'_>, heard: &Heard) -> bool {
    let is_whole = heard.answer.as_ref().is_some_and(|answer| answer.rest.is_none() && !answer.cut);
    let is_refusal = matches!(
        heard.verdict.outcome,
        Outcome::Limited | Outcome::Unpaid | Outcome::CredentialRejected | Outcome::Overloaded
    );
    let is_error = heard.status.is_some_and(|status| status >= 400 && !matches!(status, 401 | 407));
    policy.freshness == Freshness::Http && is_whole && is_refusal && is_error
}

/// When to ask again, where the provider does not say it and a hold does.
fn again(headers: &[(String, String)], halt: Option<&Halt>) -> Option<(String, String)> {
    let is_said = headers.iter().any(|(name, _)| name == "retry-after");
    let wait = halt.and_then(|halt| halt.retry_after_s).filter(|_| !is_said)?;
    Some(("retry-after".to_owned(), wait.to_string()))
}

fn not_kept(question: &Question, policy: &Policy<'_>, heard: &Heard) -> &'static str {
    let Some(relayed) = &heard.answer else { return heard.verdict.outcome.word() };
    let answered = Answered { status: relayed.status, headers: &relayed.headers, outcome: heard.verdict.outcome };
    match may_keep(&question.asked(), &answered, policy) {
        Err(NotKept::NotGood) => heard.verdict.outcome.word(),
        Err(why) => why.word(),
        Ok(_) if relayed.rest.is_some() => NotKept::TooLarge.word(),
        Ok(_) => "not_kept",
    }
}
