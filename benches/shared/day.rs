//! Days that pass in a moment: tokio's paused clock, a file in memory that survives the appliance, and a door that counts what is sent.

use super::CREDENTIAL;
use super::field::{Work, page_of};
use larder::clock::{Clock, ClockMark, Timeline};
use larder::config::{Environment, Recipes, parse};
use larder::domain::ids::{ConnectionKey, Organization};
use larder::domain::reply::{Answer, Reply};
use larder::domain::time::{Now, Span, Stamp, Steady, Wall};
use larder::engine::appliance::Appliance;
use larder::engine::{Parts, Running};
use larder::rules::budget::Permit;
use larder::store::{Options, Store, Writer};
use larder::upstream::{Door, Request};
use redb::StorageBackend;
use redb::backends::InMemoryBackend;
use std::io;
use std::path::Path;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::time::Instant;

/// Midnight in UTC, when the day of the limit begins.
const MIDNIGHT: i64 = 1_796_083_200_000;
/// How long the provider thinks about a page.
const THINKS: Duration = Duration::from_millis(250);

/// A file in memory. It is there again when the appliance starts again.
#[derive(Clone, Debug)]
struct Memory(Arc<InMemoryBackend>);

impl StorageBackend for Memory {
    fn len(&self) -> io::Result<u64> {
        self.0.len()
    }
    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.0.read(offset, out)
    }
    fn set_len(&self, len: u64) -> io::Result<()> {
        self.0.set_len(len)
    }
    fn sync_data(&self) -> io::Result<()> {
        self.0.sync_data()
    }
    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.0.write(offset, data)
    }
}

/// The clock of one life of the appliance, on a machine that stays up.
struct VirtualClock {
    began: Instant,
    timeline: Mutex<Timeline>,
}

impl VirtualClock {
    const UP: u64 = 60_000;

    fn start(began: Instant, mark: Option<ClockMark>, high_water: Option<Stamp>) -> VirtualClock {
        let (boottime, wall) = Self::read(began);
        VirtualClock { began, timeline: Mutex::new(Timeline::resume(mark, high_water, "boot", boottime, wall)) }
    }

    fn read(began: Instant) -> (u64, Wall) {
        let passed = began.elapsed().as_millis() as u64;
        (Self::UP + passed, Wall(MIDNIGHT + passed as i64))
    }
}

impl Clock for VirtualClock {
    fn now(&self) -> Now {
        let (boottime, wall) = Self::read(self.began);
        self.timeline.lock().expect("no panic").read(boottime, wall)
    }
    fn mark(&self) -> ClockMark {
        let (boottime, wall) = Self::read(self.began);
        self.timeline.lock().expect("no panic").mark(boottime, wall)
    }
    fn sleep_until(&self, at: Steady) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(async move {
            loop {
                let left = at.since(self.now().steady);
                if left == Span::ZERO {
                    return;
                }
                tokio::time::sleep(left.to_std()).await;
            }
        })
    }
}

/// Counts every request that leaves the appliance.
struct CountingDoor {
    work: Work,
    clock: Arc<VirtualClock>,
    sent: Arc<AtomicU64>,
}

impl Door for CountingDoor {
    fn send(&self, permit: Permit, request: Request) -> Pin<Box<dyn Future<Output = Reply> + Send + '_>> {
        drop(permit);
        self.sent.fetch_add(1, Ordering::Relaxed);
        let hour = self.clock.began.elapsed().as_secs() / 3600;
        let body = self.work.page(page_of(&request.location), hour).into_bytes();
        Box::pin(async move {
            tokio::time::sleep(THINKS).await;
            let headers = vec![("content-type".to_owned(), "application/json".to_owned())];
            let arrived_at = self.clock.now().stamp();
            Reply { arrived_at, result: Ok(Answer { status: 200, headers, body }), detail: String::new() }
        })
    }
    fn redact(&self, text: &str) -> String {
        text.to_owned()
    }
}

pub fn field() -> ConnectionKey {
    ConnectionKey { organization: Organization::default(), connection: "field".into() }
}

/// A machine with a file, a provider and a clock.
pub struct World {
    work: Work,
    config: String,
    file: Memory,
    began: Instant,
    sent: Arc<AtomicU64>,
}

impl World {
    /// `rules`: limits and the interval, as in `larder.toml`. Within a paused runtime.
    pub fn new(work: Work, rules: &str) -> World {
        World {
            work,
            config: work.config("https://provider.invalid", rules),
            file: Memory(Arc::new(InMemoryBackend::new())),
            began: Instant::now(),
            sent: Arc::default(),
        }
    }

    pub async fn start(&self) -> (Appliance, Running) {
        let options = Options { writer: Writer::Inline, cache_bytes: 32 << 20 };
        let (store, opening) = Store::open_backend(self.file.clone(), options).expect("a store");
        let clock = Arc::new(VirtualClock::start(self.began, opening.mark.clone(), opening.high_water));
        let door = CountingDoor { work: self.work, clock: clock.clone(), sent: Arc::clone(&self.sent) };
        let nothing = Environment::new(Vec::<(String, String)>::new());
        let settings = parse(&self.config, Path::new("larder.toml"), &nothing, &Recipes::default());
        let parts = Parts {
            shelf: Default::default(),
            store,
            opening,
            clock,
            door: Arc::new(door),
            connections: settings.expect("a configuration").connections,
            polling: Default::default(),
            credentials: [(field(), CREDENTIAL)].into(),
            organizations: Default::default(),
            stored: Default::default(),
            putting: Default::default(),
            notes: Vec::new(),
        };
        larder::engine::start(parts).await.expect("an engine")
    }

    pub async fn until(&self, passed: Duration) {
        tokio::time::sleep_until(self.began + passed).await;
    }

    pub fn sent(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }
}
