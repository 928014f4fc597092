//! A target whose own question a client asks: its reading is the client's answer, and the client's request is its reading. So a poller and a
//! gateway never ask the same twice. Knows which targets those are, and keeps their answers as they came.

use super::ask::Question;
use super::flight::Landing;
use super::given::Halt;
use super::place::{Entry, Place};
use super::{filed, room};
use crate::domain::gateway::{Kept, Reading, Shelved, Variant};
use crate::domain::ids::Caller;
use crate::domain::outcome::Outcome;
use crate::domain::reply::{Answer, Reply};
use crate::domain::time::Stamp;
use crate::engine::core::{Conn, Core};
use crate::engine::fetch::exchange::Exchanged;
use crate::engine::fetch::learn::Content;
use crate::engine::fetch::{Done, Wish, fetch_in_turn, first_request};
use crate::engine::targets::Target;
use crate::engine::words;
use crate::rules::gateway::{
    Answered, Asked, Location, NotKept, Policy, Times, Wishes, confirmed, fits, key, may_keep, shelve,
};
use crate::store::Write;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// What the door sends with a target's request, as far as an answer may vary by it.
fn sent_for_targets() -> Vec<(String, String)> {
    let agent = concat!("larder/", env!("CARGO_PKG_VERSION"));
    vec![("accept".to_owned(), "*/*".to_owned()), ("user-agent".to_owned(), agent.to_owned())]
}

/// Its answer is one to whoever asks for its address: one plain GET, and no list that comes page by page.
fn is_plain(target: &Target) -> bool {
    let send = &target.spec.send;
    send.is_get() && send.headers.is_empty() && send.body.is_none() && target.pager.is_none()
}

/// The target that asks this too, where its answer would do for the client.
pub fn target_of(core: &Core, conn: &Conn, question: &Question) -> Option<Arc<Target>> {
    let told = |name: &str| question.sent.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str());
    let takes_json = told("accept").is_none_or(|accept| accept.contains("*/*") || accept.contains("json"));
    let asked = &question.address.place.target;
    if question.alone || question.reading != Reading::Get || !takes_json || question.wishes.no_store {
        return None;
    }
    // What it reads is not kept: its answer would be the poller's alone, and the client would have to ask once more.
    if question.address.place.forbidden.load(Ordering::Relaxed) {
        return None;
    }
    // What it reads differs from what the client would be told: asking as the target would be a request for nothing.
    let (own, place) = (sent_for_targets(), &question.address.place);
    let varies = |e: &Arc<Entry>| fits(&e.head().variant, &own) && !fits(&e.head().variant, &question.sent);
    if place.with(|entries| entries.iter().any(varies)) {
        return None;
    }
    let path = |target: &str| target.split('?').next().unwrap_or_default().to_owned();
    let targets = conn.targets.now();
    let may_be = |target: &&Arc<Target>| {
        let endpoint = target.endpoint.as_ref().map(|e| e.as_str()).unwrap_or_default();
        is_plain(target) && (endpoint.contains('{') || endpoint == path(asked))
    };
    let asks_it = |target: &&Arc<Target>| {
        let request = first_request(core, conn, target).ok();
        request.and_then(|r| Location::read(&r.location).ok()).is_some_and(|l| l.target() == *asked)
    };
    targets.iter().filter(may_be).find(asks_it).cloned()
}

/// Asks as the target. Its answer is on the shelf then; `None`: it came, and none that would do for this client is.
pub async fn ask(core: &Core, conn: &Conn, target: &Target, question: &Question) -> Option<Landing> {
    let wished = core.clock.now().stamp();
    // Where nothing is kept, a confirmation of it would be of no use.
    let wish = if question.known.is_some() { Wish::NewerThan(wished) } else { Wish::Whole(wished) };
    let done = fetch_in_turn(core, conn, target, Caller::Gateway, wish).await;
    let endpoint = &question.address.endpoint;
    let halt = |halt| Some(Landing::Halted(Arc::new(halt)));
    match done {
        Err(stopped) => halt(Halt::stopped(conn, &stopped, &core.clock.now())),
        Ok(Done { outcome, .. }) if outcome.is_good() => {
            newest(conn, question, wished).map(|entry| Landing::Shelved { entry, status: None, own: None })
        }
        Ok(Done { outcome, .. }) => {
            let trouble = core.store.target(&target.key).ok().flatten().and_then(|state| state.trouble);
            let why = trouble.as_ref().map_or_else(|| words::reason(outcome, None, ""), |t| t.reason.clone());
            let said = trouble.as_ref().and_then(|t| t.said.as_deref());
            halt(Halt::of(core, conn, endpoint, outcome, &why, said))
        }
    }
}

/// What was read with this key since it was wished for: the new answer may be one that is not kept.
fn newest(conn: &Conn, question: &Question, wished: Stamp) -> Option<Arc<Entry>> {
    let when = |at: Stamp| (at.era, at.steady);
    let fitting = |e: &&Arc<Entry>| {
        let head = e.head();
        let is_own = head.kept == Kept::Data && head.key.credential == conn.credential;
        is_own && when(head.as_of) >= when(wished) && fits(&head.variant, &question.sent)
    };
    let newest = |entries: &[Arc<Entry>]| entries.iter().filter(fitting).max_by_key(|e| when(e.head().as_of)).cloned();
    question.address.place.with(newest)
}

/// A target's answer, as it comes onto the shelf with the commit of its charge.
pub struct Filling {
    place: Arc<Place>,
    shelved: Shelved,
}

/// What a target's answer puts onto the shelf; `None` where nobody could ask for it through the gateway, or it is no good answer.
pub fn filling(
    core: &Core,
    conn: &Conn,
    target: &Target,
    exchanged: &Exchanged,
    reply: &Reply,
    content: &Content,
) -> Option<Filling> {
    let answer = reply.result.as_ref().ok().filter(|_| conn.spec.gateway.enabled && is_plain(target))?;
    let location = Location::read(&exchanged.location).ok()?;
    let place = conn.desk.place(location.target());
    let policy = conn.desk.gate.policy(&location);
    let times = Times { asked_at: exchanged.reserved_at, as_of: reply.arrived_at };
    let sent = sent_for_targets();
    let known = place.with(|entries| {
        let mut own = entries.iter().filter(|e| e.head().kept == Kept::Data && fits(&e.head().variant, &sent));
        own.find(|e| e.head().key.credential == conn.credential).cloned()
    });
    let shelved = match content {
        Content::Confirmed => {
            let known = known.as_ref()?;
            let head = confirmed(known.head(), &answer.headers, times)?;
            allowed(&place, &policy, (head.status, &head.headers), &sent)?;
            Shelved { head, body: known.shelved.body.clone() }
        }
        Content::Replaced(_) if answer.status == 200 => {
            let headers = in_utf8(answer);
            let as_what = allowed(&place, &policy, (200, &headers), &sent)?;
            let answered = Answered { status: 200, headers: &headers, outcome: Outcome::Data };
            let key = key(&conn.spec.key, conn.credential, Reading::Get, &location);
            let body: Arc<[u8]> = answer.body.as_slice().into();
            let before = known.as_ref().map(|e| e.head());
            shelve(key, as_what, &answered, body, times, target.cost(), before)
        }
        _ => return None,
    };
    let fits_in = shelved.head.body_bytes <= room::largest(core);
    fits_in.then_some(Filling { place, shelved })
}

/// What an answer to a target is kept as: by the same rules as one to a client (RFC 9111 section 3).
fn allowed(
    place: &Place,
    policy: &Policy<'_>,
    (status, headers): (u16, &[(String, String)]),
    sent: &[(String, String)],
) -> Option<(Kept, Variant)> {
    let asked = Asked { reading: Reading::Get, sent, wishes: &Wishes::of(sent), authorized: false };
    let answered = Answered { status, headers, outcome: Outcome::Data };
    let allowed = may_keep(&asked, &answered, policy);
    place.forbidden.store(matches!(allowed, Err(NotKept::NoStore | NotKept::Private)), Ordering::Relaxed);
    allowed.ok()
}

impl Filling {
    /// What rides with the commit, where somebody has asked for it through the gateway: nobody else has a use for it in the file.
    pub fn write(&self, core: &Core, conn: &Conn) -> Option<Write> {
        let asked = self.place.asked.load(Ordering::Relaxed);
        if asked && !conn.desk.is_overtaken(&self.shelved.head) { filed::filing(core, &self.shelved) } else { None }
    }

    pub fn put(self, core: &Core, conn: &Conn) {
        room::put(core, conn, &self.place, self.shelved);
    }
}

/// The headers of an answer that the door took out of its coding and its charset.
fn in_utf8(answer: &Answer) -> Vec<(String, String)> {
    let coded = |name: &str| matches!(name, "content-encoding" | "content-length");
    let plain = answer.headers.iter().filter(|(name, _)| !coded(name)).cloned();
    let told = |(name, value): (String, String)| match name.as_str() {
        "content-type" if value.to_ascii_lowercase().contains("charset=") => {
            let kind = value.split(';').next().unwrap_or_default().trim().to_owned();
            (name, format!("{kind}; charset=utf-8"))
        }
        _ => (name, value),
    };
    plain.map(told).collect()
}
