//! The provider: its content, its temper, and the door to it. It decides what it counts and when; the record keeps its truth.

use crate::dice::Dice;
use crate::issuer::{ENDPOINT, Grant, Issuer, number_in};
use crate::machine::{FakeClock, Machine, Ms};
use crate::neighbour::Shared;
use crate::record::{Fact, Meant, Record, Sent, What};
use crate::scenario::{Scenario, Weather};
use larder::clock::Clock;
use larder::domain::ids::CredentialId;
use larder::domain::reply::{Answer, Failure, Reply};
use larder::domain::spec::endpoint_of;
use larder::rules::budget::Permit;
use larder::upstream::keyring::Keyring;
use larder::upstream::tokens::{Renewal, Renewed, Vault};
use larder::upstream::{Door, Request};
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Items by key with their level. A level is never given twice, so that content tells its version.
type Content = BTreeMap<String, u64>;

/// A content as the laws compare it.
pub fn canonical<'a>(items: impl Iterator<Item = (&'a str, u64)>) -> String {
    let mut all: Vec<String> = items.map(|(key, level)| format!("{key}={level}")).collect();
    all.sort();
    all.join(",")
}

/// Planted on the way between the provider and the appliance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leak {
    None,
    /// Every request goes out twice.
    SendsTwice,
    /// What the provider says in anger arrives as if it were data.
    AngerAsData,
    /// Refusals are told as if the provider were merely out of order, without a wait.
    HidesRefusals,
    /// What the provider says of its own count is lost on the way.
    HidesCounts,
    /// Every page of a list says that it is the last.
    EndsEarly,
}

struct Inner {
    dice: Dice,
    /// Versions of the content of each path, with the moment each came into being.
    shelves: BTreeMap<String, Vec<(Ms, Content)>>,
    record: Record,
    requests: usize,
    issuer: Issuer,
    shared: Option<Shared>,
}

/// The list that is handed out two rows at a time, by a cursor. Its rows change and grow more; none ever goes.
pub const ROWS: &str = "/rows";

/// Where redirects lead: what is asked below it is what is asked without it.
pub const MOVED: &str = "/v2";

/// Survives the processes that ask it.
#[derive(Clone)]
pub struct Provider {
    machine: Machine,
    weather: Weather,
    validators: bool,
    unannounced: Ms,
    leak: Leak,
    inner: Arc<Mutex<Inner>>,
}

/// What becomes of one request, decided when it is sent.
struct Fate {
    counted_at: Option<Ms>,
    ends_at: Ms,
    result: Result<Answer, Failure>,
    meant: Meant,
}

impl Provider {
    pub fn new(machine: &Machine, scenario: &Scenario, dice: &mut Dice, leak: Leak) -> Provider {
        let mut content_dice = dice.fork();
        let paths = scenario.connections.iter().flat_map(|c| &c.targets).filter_map(|t| t.get.clone());
        let mut versions_of = |path: &String| match path.as_str() {
            ROWS => grown(versions(&mut content_dice, scenario.lasts)),
            _ => versions(&mut content_dice, scenario.lasts),
        };
        let shelves = paths.map(|path| (path.clone(), versions_of(&path))).collect();
        let (record, issuer) = Default::default();
        let shared = Shared::of(scenario);
        let inner = Inner { dice: dice.fork(), shelves, record, requests: 0, issuer, shared };
        Provider {
            machine: machine.clone(),
            weather: scenario.weather,
            validators: scenario.validators,
            unannounced: scenario.unannounced_hold(),
            leak,
            inner: Arc::new(Mutex::new(inner)),
        }
    }

    pub fn note(&self, what: What) {
        self.inner().record.push(Fact { at: self.machine.true_ms(), what });
    }

    pub fn record(&self) -> Record {
        self.inner().record.clone()
    }

    pub fn door(
        &self,
        clock: Arc<FakeClock>,
        alive: Arc<AtomicBool>,
        vault: Option<Vault>,
        keyring: Option<Keyring>,
    ) -> FakeDoor {
        FakeDoor { provider: self.clone(), clock, alive, vault, keyring }
    }

    /// Somebody else shows a refresh token to the token endpoint, is granted the tokens of another number, and uses them.
    pub fn grants_elsewhere(&self, refresh: u64) -> (u64, Answer) {
        let at = self.machine.true_ms();
        let mut inner = self.inner();
        let Inner { issuer, dice, .. } = &mut *inner;
        let grant = issuer.present(refresh, at, dice, 0);
        let number = grant.granted.expect("a calm endpoint");
        assert!(issuer.lets_in(number, at, dice), "nobody took it back");
        (number, grant.result.expect("a calm network"))
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How a content comes to be: now and then an item moves, comes or goes.
fn versions(dice: &mut Dice, lasts: Ms) -> Vec<(Ms, Content)> {
    let mut level = 0;
    let mut next = || {
        level += 1;
        level
    };
    let mut content: Content = (0..4).map(|n| (format!("z{n}"), next())).collect();
    let (mut at, mut all) = (0, Vec::new());
    while at <= lasts {
        all.push((at, content.clone()));
        at += *dice.pick(&[20_000, 60_000, 300_000, 1_200_000]) + dice.below(60_000) as Ms;
        let item = format!("z{}", dice.below(6));
        if content.contains_key(&item) && content.len() > 2 && dice.chance(300) {
            content.remove(&item);
        } else {
            content.insert(item, next());
        }
    }
    all
}

/// The same without what went.
fn grown(versions: Vec<(Ms, Content)>) -> Vec<(Ms, Content)> {
    let mut all = Content::new();
    let union = |(at, content): (Ms, Content)| {
        all.extend(content);
        (at, all.clone())
    };
    versions.into_iter().map(union).collect()
}

fn page(versions: &[(Ms, Content)], after: usize, at: Ms) -> (Result<Answer, Failure>, Meant) {
    let content = versions.iter().rfind(|(since, _)| *since <= at).map(|(_, content)| content);
    let rows: Vec<(&str, u64)> = content.into_iter().flatten().map(|(k, l)| (k.as_str(), *l)).collect();
    let here = rows.iter().skip(after).take(2);
    let items: Vec<_> =
        here.clone().map(|(key, level)| serde_json::json!({"id": key, "name": key, "level": level})).collect();
    let last = after + 2 >= rows.len();
    let next = if last { String::new() } else { (after + 2).to_string() };
    let meant = Meant::Page { content: canonical(here.copied()), first: after == 0, last };
    (Ok(text(200, &serde_json::json!({ "items": items, "next": next }).to_string())), meant)
}

impl Inner {
    fn fate(&mut self, p: &Provider, request: &Request, now: Ms, deadline: Ms) -> Fate {
        let w = &p.weather;
        let (up, down) = (self.dice.between(1, 400) as Ms, self.dice.between(1, 800) as Ms);
        let slow = self.dice.chance(w.slow);
        let up = if slow { self.dice.between(0, 25_000) as Ms } else { up };
        let counted_at = (now + up).min(deadline);
        let ends_at = (counted_at + down).min(deadline);
        let lost = |counted_at, failure| Fate { counted_at, ends_at, result: Err(failure), meant: Meant::Nothing };
        if self.dice.chance(w.unreachable) {
            return lost(None, Failure::Connect);
        }
        if self.dice.chance(w.lost_before) {
            return lost(None, Failure::Dropped);
        }
        if self.dice.chance(w.lost_after) {
            return lost(Some(counted_at), Failure::Dropped);
        }
        if self.dice.chance(w.silent) || ends_at == deadline {
            let silent = lost(Some(counted_at), Failure::Timeout);
            return Fate { ends_at: deadline, ..silent };
        }
        let (answer, meant) = self.answer(p, request, counted_at);
        let (result, meant) = match answer {
            // Cut off on the way.
            Ok(_) if self.dice.chance(w.garbled / 2) => (Err(Failure::Undecodable), Meant::Nothing),
            other => (other, meant),
        };
        Fate { counted_at: Some(counted_at), ends_at, result, meant }
    }

    /// What the provider says at the moment at which it counts.
    fn answer(&mut self, p: &Provider, request: &Request, at: Ms) -> (Result<Answer, Failure>, Meant) {
        let w = &p.weather;
        if self.dice.chance(w.sentence) {
            let body = "You have asked too often. Please wait a while.";
            return (Ok(text(200, body)), Meant::Refused { wait: p.unannounced });
        }
        if self.dice.chance(w.too_many) {
            return self.too_many(p);
        }
        if self.dice.chance(w.overloaded) {
            return (Ok(text(*self.dice.pick(&[500, 502, 503]), "try again")), Meant::Nothing);
        }
        if self.dice.chance(w.rejected) {
            return (Ok(text(*self.dice.pick(&[401, 403]), "who are you?")), Meant::Nothing);
        }
        if self.dice.chance(w.gone) {
            return (Ok(text(410, "gone for good")), Meant::Nothing);
        }
        let location = request.location.strip_prefix(MOVED).unwrap_or(&request.location);
        if self.dice.chance(w.moved) && self.shelves.contains_key(&request.location) {
            let mut answer = text(*self.dice.pick(&[301, 302, 307, 308]), "moved");
            answer.headers.push(("location".to_owned(), format!("{MOVED}{location}")));
            return (Ok(answer), Meant::Moved);
        }
        if self.dice.chance(w.hollow) && self.shelves.contains_key(location) {
            return (Ok(text(200, "{\"items\":[]}")), Meant::Hollow);
        }
        if self.dice.chance(w.garbled) {
            let body = *self.dice.pick(&["<html>maintenance</html>", "{}", "{\"items\":7}", "null", "", "{\"items\":"]);
            return (Ok(text(200, body)), Meant::Nothing);
        }
        let (path, after) = location.split_once("?after=").unwrap_or((location, "0"));
        if let Some(versions) = self.shelves.get(path).filter(|_| path == ROWS) {
            return page(versions, after.parse().unwrap_or(0), at);
        }
        match self.shelves.get(location) {
            Some(versions) => good(p, request, versions, at),
            None => (Ok(text(200, "{\"message\":\"done\"}")), Meant::Nothing),
        }
    }

    /// Where others spend too: what is left is said, and who comes too late is refused.
    fn share(&mut self, fate: &mut Fate) {
        let (Some(shared), Some(at)) = (&mut self.shared, fate.counted_at) else { return };
        let told = shared.count(at, &mut self.dice);
        let Ok(answer) = &mut fate.result else { return };
        if told.over {
            *answer = text(429, "{\"error\":\"too many requests\"}");
            answer.headers.push(("retry-after".to_owned(), told.reset_s.to_string()));
            fate.meant = Meant::Refused { wait: (told.reset_s as Ms * 1000).max(5_000) };
        }
        for (name, figure) in [("limit", shared.amount), ("remaining", told.left), ("reset", told.reset_s)] {
            answer.headers.push((format!("x-ratelimit-{name}"), figure.to_string()));
        }
    }

    /// Whoever carries no good token hears nothing else.
    fn let_in(&mut self, token: u64, now: Ms, fate: &mut Fate) {
        let Some(at) = fate.counted_at else { return };
        let accepted = self.issuer.lets_in(token, at, &mut self.dice);
        self.record.push(Fact { at: now, what: What::Carried { token, accepted } });
        if !accepted {
            (fate.result, fate.meant) = (Ok(text(401, "{\"error\":\"invalid_token\"}")), Meant::Nothing);
        }
    }

    fn too_many(&mut self, p: &Provider) -> (Result<Answer, Failure>, Meant) {
        let mut answer = text(429, "{\"error\":\"slow down\"}");
        if self.dice.chance(500) {
            return (Ok(answer), Meant::Refused { wait: p.unannounced });
        }
        let seconds = self.dice.between(0, 600);
        answer.headers.push(("retry-after".to_owned(), seconds.to_string()));
        // No hold is shorter than the floor of five seconds.
        (Ok(answer), Meant::Refused { wait: (seconds as Ms * 1000).max(5_000) })
    }
}

fn good(p: &Provider, request: &Request, versions: &[(Ms, Content)], at: Ms) -> (Result<Answer, Failure>, Meant) {
    let version = versions.iter().rposition(|(since, _)| *since <= at).unwrap_or(0);
    let content = &versions[version].1;
    let meant = Meant::Good(canonical(content.iter().map(|(k, l)| (k.as_str(), *l))));
    let etag = format!("\"v{version}\"");
    let known = request.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("if-none-match"));
    if p.validators && known.is_some_and(|(_, value)| *value == etag) {
        return (Ok(Answer { status: 304, headers: vec![("etag".to_owned(), etag)], body: Vec::new() }), meant);
    }
    let items: Vec<_> = content
        .iter()
        .map(|(key, level)| serde_json::json!({"id": key, "name": key, "level": level, "left": at / 1000 % 300}))
        .collect();
    let mut answer = text(200, &serde_json::json!({ "items": items }).to_string());
    if p.validators {
        answer.headers.push(("etag".to_owned(), etag));
    }
    (Ok(answer), meant)
}

fn text(status: u16, body: &str) -> Answer {
    let headers = vec![("content-type".to_owned(), "application/json".to_owned())];
    Answer { status, headers, body: body.as_bytes().to_vec() }
}

/// The door of one process.
pub struct FakeDoor {
    provider: Provider,
    clock: Arc<FakeClock>,
    /// The dead send and hear nothing.
    alive: Arc<AtomicBool>,
    /// Where the credential renews itself.
    vault: Option<Vault>,
    /// Where it can be replaced.
    keyring: Option<Keyring>,
}

impl FakeDoor {
    async fn go(&self, permit: Permit, request: Request) -> Reply {
        let p = &self.provider;
        self.stand_still_if_dead().await;
        if self.clock.now().steady > permit.send_by() {
            return self.reply(Err(Failure::NotSent));
        }
        let (no, fate) = self.send(&permit, &request);
        if p.leak == Leak::SendsTwice {
            self.send(&permit, &request);
        }
        tokio::time::sleep_until(p.machine.instant(fate.ends_at)).await;
        self.stand_still_if_dead().await;
        let left = fate.result.as_ref().ok().and_then(|a| a.header("x-ratelimit-remaining")?.parse().ok());
        let (result, meant) = self.leaked(fate);
        // A word in an answer of another kind may be somebody else's, and is not believed.
        let told = left.filter(|_| matches!(meant, Meant::Good(_) | Meant::Refused { .. }));
        p.note(What::Delivered { request: no, meant });
        if let Some(left) = told {
            p.note(What::Told { request: no, left });
        }
        self.reply(result)
    }

    fn send(&self, permit: &Permit, request: &Request) -> (usize, Fate) {
        let p = &self.provider;
        let now = p.machine.true_ms();
        let left = permit.deadline().since(self.clock.now().steady);
        let carried = self.carried(permit.charge().credential);
        let mut inner = p.inner();
        let mut fate = inner.fate(p, request, now, now + left.0 as Ms);
        if let (Some(token), Ok(_)) = (carried, &fate.result) {
            inner.let_in(token, now, &mut fate);
        }
        inner.share(&mut fate);
        inner.requests += 1;
        let (no, charge) = (inner.requests, permit.charge());
        let sent = Sent {
            request: no,
            charge: charge.id.0,
            connection: charge.connection.connection.to_string(),
            target: charge.target.as_ref().map(|t| t.to_string()),
            caller: charge.caller,
            endpoint: endpoint_of(&request.location).to_string(),
            cost: charge.cost,
            tag: request.location.split_once("&tag=").map(|(_, tag)| tag.to_owned()),
            counted: fate.counted_at.map(|at| (at, fate.ends_at)),
        };
        inner.record.push(Fact { at: now, what: What::Sent(sent) });
        let by = charge.credential;
        let with = self.keyring.as_ref().and_then(|keyring| keyring.fingerprint(&charge.connection, Some(by)));
        inner.record.extend(with.map(|with| Fact { at: now, what: What::Paid { request: no, by, with } }));
        (no, fate)
    }

    /// The number of the tokens that requests carry.
    fn carried(&self, credential: CredentialId) -> Option<u64> {
        self.vault.as_ref()?.asking(credential).map(|(form, _)| number_in(&form))
    }

    async fn ask_for_tokens(&self, permit: Permit, credential: CredentialId) -> Renewal {
        let p = &self.provider;
        self.stand_still_if_dead().await;
        let unclear =
            |reply: Reply| Renewal { arrived_at: reply.arrived_at, status: None, result: Renewed::Unclear(reply) };
        let (Some(vault), Some(refresh)) = (&self.vault, self.carried(credential)) else {
            return unclear(self.reply(Err(Failure::NotSent)));
        };
        let asked_at = self.clock.now().stamp();
        if asked_at.steady > permit.send_by() {
            return unclear(self.reply(Err(Failure::NotSent)));
        }
        let (no, ends_at, grant) = self.present(&permit, refresh);
        if p.leak == Leak::SendsTwice {
            self.present(&permit, refresh);
        }
        tokio::time::sleep_until(p.machine.instant(ends_at)).await;
        self.stand_still_if_dead().await;
        p.note(What::Renewed { request: no, granted: grant.granted });
        match grant.result {
            Ok(answer) => vault.take(credential, asked_at, self.clock.now().stamp(), answer),
            Err(failure) => unclear(self.reply(Err(failure))),
        }
    }

    fn present(&self, permit: &Permit, refresh: u64) -> (usize, Ms, Grant) {
        let p = &self.provider;
        let now = p.machine.true_ms();
        let mut inner = p.inner();
        let inner = &mut *inner;
        let counted_at = now + inner.dice.between(1, 400) as Ms;
        let ends_at = counted_at + inner.dice.between(1, 800) as Ms;
        let trouble = if p.weather.is_calm() { 0 } else { 150 };
        let grant = inner.issuer.present(refresh, counted_at, &mut inner.dice, trouble);
        inner.requests += 1;
        let (request, charge) = (inner.requests, permit.charge());
        let sent = Sent {
            request,
            charge: charge.id.0,
            connection: charge.connection.connection.to_string(),
            target: None,
            caller: charge.caller,
            endpoint: ENDPOINT.to_owned(),
            cost: charge.cost,
            tag: None,
            counted: Some((counted_at, ends_at)),
        };
        let presented = What::Presented { request, refresh, dead: grant.dead };
        inner.record.extend([What::Sent(sent), presented].map(|what| Fact { at: now, what }));
        (request, ends_at, grant)
    }

    /// The planted leaks. The record keeps what the provider meant.
    fn leaked(&self, fate: Fate) -> (Result<Answer, Failure>, Meant) {
        let refused = matches!(fate.meant, Meant::Refused { .. });
        match self.provider.leak {
            Leak::AngerAsData if refused => {
                let body = r#"{"items":[{"id":"anger","name":"anger","level":999}]}"#;
                (Ok(text(200, body)), fate.meant)
            }
            Leak::HidesCounts => {
                let (mut result, meant) = (fate.result, fate.meant);
                if let Ok(answer) = &mut result {
                    answer.headers.retain(|(name, _)| !name.starts_with("x-ratelimit-"));
                }
                (result, meant)
            }
            Leak::HidesRefusals if refused => (Ok(text(200, "<html>one moment</html>")), fate.meant),
            _ => (fate.result, fate.meant),
        }
    }

    async fn stand_still_if_dead(&self) {
        if !self.alive.load(Ordering::Relaxed) {
            std::future::pending::<()>().await;
        }
    }

    fn reply(&self, result: Result<Answer, Failure>) -> Reply {
        let detail = result.as_ref().err().map(|f| format!("{f:?}")).unwrap_or_default();
        Reply { arrived_at: self.clock.now().stamp(), result, detail }
    }
}

impl Door for FakeDoor {
    fn send(&self, permit: Permit, request: Request) -> Pin<Box<dyn Future<Output = Reply> + Send + '_>> {
        Box::pin(self.go(permit, request))
    }
    fn vault(&self) -> Option<&Vault> {
        self.vault.as_ref()
    }
    fn keyring(&self) -> Option<&Keyring> {
        self.keyring.as_ref()
    }
    fn renew(&self, permit: Permit, credential: CredentialId) -> Pin<Box<dyn Future<Output = Renewal> + Send + '_>> {
        Box::pin(self.ask_for_tokens(permit, credential))
    }
    fn redact(&self, text: &str) -> String {
        text.to_owned()
    }
}
