//! A simulated irrigation provider with the true rules of one: five requests per window and endpoint by a sliding count, a
//! lockout that is HTTP 200 with an English sentence (I4), and answers that hold offsets only (I6). It keeps its own count.
//! It is somebody else's API: nothing here may know Larder.

mod book;
pub mod count;
mod server;
pub mod zones;

use super::serving::{self, TimeSource};
use book::Book;
use count::Count;
pub use count::{Entry, Standing, Verdict};
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::task::JoinHandle;
use zones::Zones;

/// The endpoint that answers with the zones.
pub const STATUS: &str = "statusschedule.php";
/// The endpoint that starts and stops them.
pub const SET_ZONE: &str = "setzone.php";

/// How strict the provider is, and where it keeps what.
#[derive(Clone)]
pub struct Rules {
    /// Requests per window and endpoint.
    pub requests: usize,
    pub window: Duration,
    /// The only key that it accepts.
    pub key: String,
    /// On loopback; 0 takes a free one.
    pub port: u16,
    pub time: TimeSource,
    /// Where it remembers its log over a restart. Needs a `time` that survives one too.
    pub book: Option<PathBuf>,
}

impl Rules {
    /// 5 requests in 5 minutes.
    pub fn real() -> Rules {
        Rules::quick(Duration::from_secs(300))
    }
    /// The same with another window, counted from now on by tokio's clock (which tests can pause).
    pub fn quick(window: Duration) -> Rules {
        let zero = tokio::time::Instant::now();
        Rules {
            requests: 5,
            window,
            key: "demo-key-5f2c".to_owned(),
            port: 0,
            time: Arc::new(move || zero.elapsed()),
            book: None,
        }
    }
}

impl Default for Rules {
    fn default() -> Rules {
        Rules::real()
    }
}

/// What it does to requests with the right key. Control requests are always answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    #[default]
    Normal,
    /// Reads the request and drops the socket. Not counted.
    Down,
    /// Thinks first. Counts only then: as late as a provider can.
    Slow(Duration),
    /// Answers everything with the lockout sentence, whatever the count.
    LockedOut,
    /// Counts, and answers with a maintenance page, status 200.
    Html,
    /// Counts, and answers 503.
    ServerError,
}

impl Mode {
    pub const fn word(self) -> &'static str {
        match self {
            Mode::Normal => "normal",
            Mode::Down => "down",
            Mode::Slow(_) => "slow",
            Mode::LockedOut => "locked_out",
            Mode::Html => "html",
            Mode::ServerError => "server_error",
        }
    }
}

/// A running provider; dropping it stops it and breaks its sockets.
pub struct Provider {
    shared: Arc<Shared>,
    address: SocketAddr,
    loop_: JoinHandle<()>,
}

struct Shared {
    rules: Rules,
    state: Mutex<State>,
}

struct State {
    count: Count,
    zones: Zones,
    mode: Mode,
    book: Option<Book>,
}

impl Provider {
    /// On the current tokio runtime. Panics if loopback has no free port: for tests; see [`Provider::bind`].
    pub fn start(rules: Rules) -> Provider {
        match Provider::bind(rules) {
            Ok(provider) => provider,
            Err(e) => panic!("the simulated provider could not start: {e}"),
        }
    }

    /// On the current tokio runtime. Fails if the port is taken or the book cannot be read.
    pub fn bind(rules: Rules) -> io::Result<Provider> {
        let (listener, address) = serving::bind(rules.port)?;
        let mut count = Count::new(rules.requests, rules.window);
        let open = |path| Book::open(path, &mut count, (rules.time)(), rules.window);
        let book = rules.book.as_deref().map(open).transpose()?;
        let zones = Zones::new(rules.window);
        let state = Mutex::new(State { count, zones, mode: Mode::Normal, book });
        let shared = Arc::new(Shared { rules, state });
        let loop_ = tokio::spawn(serving::accept(listener, shared.clone(), server::answer));
        Ok(Provider { shared, address, loop_ })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }
    /// What belongs into `base_url`.
    pub fn base_url(&self) -> String {
        format!("http://{}/api/v1", self.address)
    }
    pub fn control_url(&self) -> String {
        format!("http://{}/control", self.address)
    }
    pub fn key(&self) -> &str {
        &self.shared.rules.key
    }
    pub fn set_mode(&self, mode: Mode) {
        self.shared.state().mode = mode;
    }
    pub fn mode(&self) -> Mode {
        self.shared.state().mode
    }
    /// Locks every endpoint out for one window, as if somebody else with the same key had been greedy.
    pub fn lock_out(&self) {
        self.shared.lock_out();
    }
    /// Requests counted since the start. A leading slash does not matter.
    pub fn counted(&self, endpoint: &str) -> u64 {
        self.shared.state().count.counted(endpoint.trim_start_matches('/'))
    }
    /// Requests of any fate since the start.
    pub fn seen(&self, endpoint: &str) -> u64 {
        self.shared.state().count.seen(endpoint.trim_start_matches('/'))
    }
    /// Requests that asked for more than was allowed: law 1 says none.
    pub fn over_limit(&self) -> u64 {
        self.shared.state().count.over_limit()
    }
    pub fn log(&self) -> Vec<Entry> {
        self.shared.state().count.log()
    }
    pub fn standing(&self) -> Vec<Standing> {
        let now = self.shared.now();
        self.shared.state().count.standing(now)
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        self.loop_.abort();
    }
}

impl Shared {
    fn now(&self) -> Duration {
        (self.rules.time)()
    }
    /// A panic in a test's thread must not take the provider with it.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
    fn lock_out(&self) {
        let now = self.now();
        let mut state = self.state();
        for endpoint in [STATUS, SET_ZONE] {
            state.note(endpoint, now, Verdict::Ordered);
        }
    }
}

impl State {
    fn note(&mut self, endpoint: &str, at: Duration, verdict: Verdict) {
        let entry = self.count.note(endpoint, at, verdict);
        if let Some(book) = &mut self.book {
            book.write(&entry);
        }
    }
    /// Judges a request with the right key, and books the judgement.
    fn ask(&mut self, endpoint: &str, at: Duration) -> Verdict {
        let verdict = self.count.judge(endpoint, at);
        self.note(endpoint, at, verdict);
        verdict
    }
}

#[cfg(test)]
mod tests;
