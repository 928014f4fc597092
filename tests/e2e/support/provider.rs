//! A fake provider on loopback: an irrigation cloud with its own truth of the quota, its own zones, and moods.
//! It knows nothing of Larder; it writes HTTP by hand, so that it can also misbehave.

use super::quota::{CountedBy, Quota};
use super::wire::{gzip, header_lines, http, json, pairs, read_request};
use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};

pub const STATUS: &str = "/statusschedule.php";
pub const SET_ZONE: &str = "/setzone.php";
/// The words of a lockout: a sentence in a 200, as CASES I4 has it.
pub const LOCKOUT: &str = "API rate limit exceeded. Please wait before polling the controller again.";

/// How the provider answers.
#[derive(Clone, Debug)]
pub enum Mode {
    Normal,
    /// The sentence, with status 200 and type text/html.
    Lockout,
    /// The normal answer, this much later.
    Slow(Duration),
    /// Reads the request, closes the socket.
    Drop,
    /// Half of the announced body, then closes.
    Cut,
    /// A maintenance page with status 200.
    Html,
    /// 429, with this `Retry-After` if any.
    TooMany(Option<&'static str>),
    Unauthorized,
    ServerError,
    /// 302 to another path of the same host, which answers normally.
    RedirectHere,
    /// 302 to this origin.
    RedirectTo(String),
    Gzip,
    /// Entity tags; 304 where the tag still holds.
    Etag,
    /// A refusal that quotes the key back.
    EchoKey,
    /// Any status and JSON text.
    Json(u16, String),
    /// The normal answer with one more header.
    Saying(&'static str, &'static str),
    /// The normal answer, with `X-RateLimit-Limit` and `-Remaining`: each request so far has taken so many of the total.
    Counting {
        total: u64,
        each: u64,
    },
}

/// One request as it arrived.
#[derive(Clone, Debug)]
pub struct Seen {
    pub at: Instant,
    pub method: String,
    pub endpoint: String,
    pub query: String,
    pub parameters: BTreeMap<String, String>,
    pub headers: BTreeMap<String, String>,
    pub key: String,
    pub status: u16,
}

#[derive(Clone, Debug)]
struct Zone {
    id: u32,
    name: String,
    seconds_until: u64,
    /// Set while it runs.
    ends_at: Option<Instant>,
}

struct Inner {
    mode: Mode,
    next: VecDeque<Mode>,
    /// Requests to the switch endpoint alone, if it behaves otherwise.
    switch_mode: Option<Mode>,
    quota: Option<Quota>,
    seen: Vec<Seen>,
    zones: Vec<Zone>,
    /// Requests whose answer is not out yet: now, and the most there ever were.
    open_now: usize,
    open_most: usize,
}

/// Dropping it closes the door.
pub struct FakeProvider {
    pub address: SocketAddr,
    inner: Arc<Mutex<Inner>>,
    door: Option<tokio::task::JoinHandle<()>>,
}

impl Drop for FakeProvider {
    fn drop(&mut self) {
        self.goes_away();
    }
}

impl FakeProvider {
    /// Three zones, no limit.
    pub async fn unlimited() -> FakeProvider {
        FakeProvider::with(None).await
    }

    /// Three zones; `amount` requests per `window` for each key and endpoint, as CASES I has it.
    pub async fn limited(amount: usize, window: Duration) -> FakeProvider {
        FakeProvider::with(Some(Quota::new(amount, window, CountedBy::KeyAndEndpoint))).await
    }

    pub async fn with(quota: Option<Quota>) -> FakeProvider {
        let names = ["Lawn", "Beds", "Hedge"];
        let zones = (1..).zip(names).map(|(id, name)| Zone {
            id,
            name: name.to_owned(),
            seconds_until: 3600 * u64::from(id),
            ends_at: None,
        });
        let inner = Inner {
            mode: Mode::Normal,
            next: VecDeque::new(),
            switch_mode: None,
            quota,
            seen: Vec::new(),
            zones: zones.collect(),
            open_now: 0,
            open_most: 0,
        };
        let address = SocketAddr::from(([127, 0, 0, 1], super::process::free_port()));
        let mut provider = FakeProvider { address, inner: Arc::new(Mutex::new(inner)), door: None };
        provider.comes_back().await;
        provider
    }

    pub fn base_url(&self) -> String {
        format!("http://{}", self.address)
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().expect("no test panics while it holds the provider")
    }

    /// From now on.
    pub fn is(&self, mode: Mode) {
        self.lock().mode = mode;
    }
    /// Once, for the next request; then as before.
    pub fn next(&self, mode: Mode) {
        self.lock().next.push_back(mode);
    }
    /// The endpoint that switches zones, from now on.
    pub fn switches(&self, mode: Mode) {
        self.lock().switch_mode = Some(mode);
    }
    pub fn renames(&self, id: u32, name: &str) {
        self.lock().zones.iter_mut().filter(|z| z.id == id).for_each(|z| z.name = name.to_owned());
    }
    pub fn removes(&self, id: u32) {
        self.lock().zones.retain(|z| z.id != id);
    }
    pub fn adds(&self, id: u32, name: &str) {
        self.lock().zones.push(Zone { id, name: name.to_owned(), seconds_until: 60, ends_at: None });
    }
    pub fn starts_zone(&self, id: u32, length: Duration) {
        let ends = Some(Instant::now() + length);
        self.lock().zones.iter_mut().filter(|z| z.id == id).for_each(|z| z.ends_at = ends);
    }

    /// Connections are refused from now on.
    pub fn goes_away(&mut self) {
        if let Some(door) = self.door.take() {
            door.abort();
        }
    }

    pub async fn comes_back(&mut self) {
        let address = self.address;
        let listener = super::wait::eventually("the provider's port is free", super::wait::SOON, || async move {
            TcpListener::bind(address).await.ok()
        })
        .await;
        let inner = Arc::clone(&self.inner);
        self.door = Some(tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                tokio::spawn(serve(socket, Arc::clone(&inner)));
            }
        }));
    }

    pub fn seen(&self) -> Vec<Seen> {
        self.lock().seen.clone()
    }
    pub fn count(&self) -> usize {
        self.lock().seen.len()
    }
    pub fn count_of(&self, endpoint: &str) -> usize {
        self.lock().seen.iter().filter(|s| s.endpoint == endpoint).count()
    }
    /// The most requests that were ever open at once.
    pub fn open_most(&self) -> usize {
        self.lock().open_most
    }

    /// Waits until so many requests have arrived in all.
    pub async fn has_seen(&self, count: usize, within: Duration) {
        let what = format!("the provider has seen {count} requests");
        super::wait::eventually(&what, within, || async { (self.count() >= count).then_some(()) }).await;
    }

    /// Law 1, judged by the provider's own log.
    #[track_caller]
    pub fn was_never_over(&self) {
        let inner = self.lock();
        let quota = inner.quota.as_ref().expect("a provider with a quota");
        assert!(quota.is_within(), "over the limit: {:#?}", quota.violations());
    }
}

/// One request, one answer, then the socket closes: a refused connection is really refused, no idle socket lives on.
async fn serve(mut socket: TcpStream, inner: Arc<Mutex<Inner>>) {
    let Some(head) = read_request(&mut socket).await else { return };
    let Some((mode, answer)) = decide(&inner, &head) else { return };
    if let Mode::Slow(delay) = mode {
        tokio::time::sleep(delay).await;
    }
    // Still open until here: what is counted is the time between request and answer.
    if let Ok(mut inner) = inner.lock() {
        inner.open_now -= 1;
    }
    match mode {
        Mode::Drop => {}
        Mode::Cut => {
            let _ = socket.write_all(&answer[..answer.len() - 40]).await;
        }
        _ => {
            let _ = socket.write_all(&answer).await;
        }
    }
    let _ = socket.shutdown().await;
}

/// Counts, remembers and answers, in that order and at one moment.
fn decide(inner: &Mutex<Inner>, head: &str) -> Option<(Mode, Vec<u8>)> {
    let at = Instant::now();
    let mut words = head.lines().next()?.split(' ');
    let (method, location) = (words.next()?.to_owned(), words.next()?.to_owned());
    let (endpoint, query) = location.split_once('?').unwrap_or((&location, ""));
    let parameters: BTreeMap<String, String> = pairs(query).collect();
    let headers: BTreeMap<String, String> = header_lines(head).collect();
    let key = parameters.get("api_key").or(headers.get("authorization")).cloned().unwrap_or_default();

    let mut inner = inner.lock().ok()?;
    inner.open_now += 1;
    inner.open_most = inner.open_most.max(inner.open_now);
    let within = inner.quota.as_mut().is_none_or(|quota| quota.arrives(&key, endpoint, at));
    let switching = endpoint == SET_ZONE;
    let mode = match (within, inner.next.pop_front()) {
        (false, _) => Mode::Lockout,
        (true, Some(once)) => once,
        (true, None) if switching => inner.switch_mode.clone().unwrap_or_else(|| inner.mode.clone()),
        (true, None) => inner.mode.clone(),
    };
    let (status, answer) = inner.answer(&mode, endpoint, &parameters, &headers, &key);
    inner.seen.push(Seen {
        at,
        method,
        endpoint: endpoint.to_owned(),
        query: query.to_owned(),
        parameters,
        headers,
        key,
        status,
    });
    Some((mode, answer))
}

impl Inner {
    fn answer(
        &mut self,
        mode: &Mode,
        endpoint: &str,
        parameters: &BTreeMap<String, String>,
        headers: &BTreeMap<String, String>,
        key: &str,
    ) -> (u16, Vec<u8>) {
        let text = |status: u16, body: &str| (status, http(status, &[("content-type", "text/html")], body.as_bytes()));
        match mode {
            Mode::Lockout => text(200, LOCKOUT),
            Mode::Html => text(200, "<!doctype html><title>Down</title><h1>We are doing maintenance</h1>"),
            Mode::TooMany(None) => text(429, "Too Many Requests"),
            Mode::TooMany(Some(wait)) => (429, http(429, &[("retry-after", wait)], b"Too Many Requests")),
            Mode::Unauthorized => text(401, "The API key is not valid."),
            Mode::ServerError => text(500, "Internal Server Error"),
            Mode::RedirectHere if endpoint == STATUS => {
                let location = format!("/v2{STATUS}?{}", "moved=1");
                (302, http(302, &[("location", &location)], b""))
            }
            Mode::RedirectTo(origin) => (302, http(302, &[("location", &format!("{origin}{endpoint}"))], b"")),
            Mode::EchoKey => text(200, &format!("Sorry, the key {key} was not understood. (key={key})")),
            Mode::Counting { total, each } => {
                let left = total.saturating_sub(each * (self.seen.len() as u64 + 1)).to_string();
                let stated = [("x-ratelimit-limit", total.to_string()), ("x-ratelimit-remaining", left)];
                let headers: Vec<(&str, &str)> = stated.iter().map(|(n, v)| (*n, v.as_str())).collect();
                (200, json(200, &headers, &self.body(endpoint, parameters)))
            }
            Mode::Json(status, body) => (*status, json(*status, &[], body)),
            Mode::Saying(name, value) => (200, json(200, &[(name, value)], &self.body(endpoint, parameters))),
            Mode::Normal | Mode::Slow(_) | Mode::Drop | Mode::Cut | Mode::RedirectHere => {
                (200, json(200, &[], &self.body(endpoint, parameters)))
            }
            Mode::Gzip => {
                let packed = gzip(self.body(endpoint, parameters).as_bytes());
                let kinds = [("content-type", "application/json"), ("content-encoding", "gzip")];
                (200, http(200, &kinds, &packed))
            }
            Mode::Etag => {
                let body = self.body(endpoint, parameters);
                let tag = format!("\"{:x}\"", xxhash_rust::xxh3::xxh3_64(body.as_bytes()));
                if headers.get("if-none-match") == Some(&tag) {
                    return (304, http(304, &[("etag", &tag)], b""));
                }
                (200, json(200, &[("etag", &tag)], &body))
            }
        }
    }

    fn body(&mut self, endpoint: &str, parameters: &BTreeMap<String, String>) -> String {
        if endpoint == SET_ZONE {
            return self.switch(parameters);
        }
        let now = Instant::now();
        let relays: Vec<serde_json::Value> = self
            .zones
            .iter()
            .map(|zone| match zone.ends_at.map(|end| end.saturating_duration_since(now).as_secs()) {
                Some(left) if left > 0 => {
                    serde_json::json!({"relay_id": zone.id, "name": zone.name, "time": 1, "run": left})
                }
                _ => {
                    serde_json::json!({"relay_id": zone.id, "name": zone.name, "time": zone.seconds_until, "run": 600})
                }
            })
            .collect();
        serde_json::json!({ "nextpoll": 60, "relays": relays }).to_string()
    }

    fn switch(&mut self, parameters: &BTreeMap<String, String>) -> String {
        let number = |name: &str| parameters.get(name).and_then(|v| v.parse::<u64>().ok());
        let (Some(id), Some(seconds)) = (number("relay_id"), number("custom")) else {
            return serde_json::json!({"message": "Unknown zone.", "message_type": "error"}).to_string();
        };
        let ends = Some(Instant::now() + Duration::from_secs(seconds));
        self.zones.iter_mut().filter(|z| u64::from(z.id) == id).for_each(|z| z.ends_at = ends);
        serde_json::json!({"message": "Starting zone.", "message_type": "info"}).to_string()
    }
}
