//! A thousand work orders on one credential: requests a day and a restart, beside the design that asks once for each work order; and what
//! one reading that feeds them all takes of time, memory, disk, and of the patience of readers.

mod shared;

use larder::engine::plans::WhatIf;
use shared::day::{World, field};
use shared::field::{Service, Work};
use shared::http::Reader;
use shared::process::{Process, free_port, until};
use shared::{ms, scratch, table};
use std::net::SocketAddr;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const BINARY: &str = env!("CARGO_BIN_EXE_larder");
/// What a provider of the field lets its customers ask (CASES F).
const LIMITS: &str = "limit = [{ name = \"day\", requests = 10000, kind = \"daily\", time_zone = \"UTC\" }, \
                      { name = \"second\", requests = 2, window = \"1s\", kind = \"rolling\" }, \
                      { name = \"at-once\", requests = 5, kind = \"concurrent\", cap = { poller = 3, refresh = 2 } }]\n\
                      [connection.poll]\ninterval = \"5m\"\n";
const INTERVAL: Duration = Duration::from_secs(300);
const DAY: Duration = Duration::from_secs(86_400);
const ORDERS: [usize; 4] = [12, 34, 100, 1000];
/// Tasks of a work order, and of a page.
const EACH: usize = 200;
const PAGE: usize = 2000;
/// In virtual time both are a hundredth: as many pages.
const SMALLER: usize = 100;
const RESTARTS: u32 = 5;
/// One answer of two pages a second, as the provider of the field lets them come.
const PACE: Duration = Duration::from_millis(500);
const READERS: usize = 2;

/// Requests that were sent in a virtual day, and what the plan of the last moment says of a day.
struct Day {
    sent: u64,
    planned: u64,
    interval: f64,
    way: &'static str,
}

async fn a_day(orders: usize, restarts: u32) -> Day {
    let world = World::new(Work { orders, each: EACH / SMALLER, size: PAGE / SMALLER }, LIMITS);
    let (mut appliance, mut running) = world.start().await;
    for n in 1..=restarts {
        // Not at a multiple of the interval.
        world.until(DAY * n / (restarts + 1) + Duration::from_secs(97)).await;
        drop(appliance);
        running.stop().await.expect("a clean stop");
        (appliance, running) = world.start().await;
    }
    world.until(DAY).await;
    let asked = WhatIf {
        targets: Some(orders as u64),
        rows: Some(EACH as u64),
        page_size: Some(PAGE as u64),
        ..WhatIf::default()
    };
    let plan = appliance.what_if(&field(), &asked).expect("a plan");
    let interval = plan.figures.effective_interval_seconds.0.as_millis() as f64 / 1000.0;
    let shown = appliance.scans(&field()).expect("scans").pop().expect("a scan");
    assert_eq!(shown.targets, orders as u64, "all are fed");
    assert!(shown.age_seconds.is_some_and(|age| age < 2 * plan.figures.effective_interval_seconds.0.as_secs()));
    let day = Day { sent: world.sent(), planned: plan.figures.requests_per_day, interval, way: plan.way };
    drop(appliance);
    running.stop().await.expect("a clean stop");
    day
}

fn days(most: usize) {
    let mut rows = Vec::new();
    for orders in ORDERS.into_iter().filter(|orders| *orders <= most) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
        let runtime = runtime.expect("a runtime");
        let (steady, restarted) = runtime.block_on(async { (a_day(orders, 0).await, a_day(orders, RESTARTS).await) });
        let rounds = DAY.as_secs() / INTERVAL.as_secs();
        let extra = (restarted.sent as f64 - steady.sent as f64) / f64::from(RESTARTS);
        let row: [String; 9] = [
            orders.to_string(),
            Work { orders, each: EACH, size: PAGE }.pages().to_string(),
            (orders as u64 * rounds).to_string(),
            orders.to_string(),
            steady.way.to_owned(),
            format!("{} s", steady.interval),
            steady.planned.to_string(),
            steady.sent.to_string(),
            format!("{extra:.1}"),
        ];
        rows.push(row.into());
    }
    let columns = [
        "work orders",
        "pages",
        "naive: requests/day",
        "naive: requests/restart",
        "way",
        "plan: interval kept",
        "plan: requests/day",
        "sent in a virtual day",
        "sent more for each restart",
    ];
    table("Requests at a wished interval of 5 min", &columns, &rows);
}

/// The real binary, with a provider on loopback whose limit is never reached.
struct House {
    folder: tempfile::TempDir,
    process: Process,
    address: SocketAddr,
    token: String,
    service: Arc<Service>,
}

impl House {
    async fn build(work: Work) -> House {
        let (service, base_url) = Service::start(work).await;
        let (folder, address) = (scratch(), free_port());
        let rules = "refresh_min_age = \"0s\"\n\
                     limit = [{ name = \"wide\", requests = 1000000, window = \"1h\", kind = \"rolling\" }]\n\
                     [connection.poll]\ninterval = \"6h\"\n";
        // Nothing is asked but by the button.
        let head = format!("[server]\nlisten = \"{address}\"\ndata = \"larder.redb\"\n[polling]\nenabled = false\n");
        let config = format!("{head}{}", work.config(&base_url, rules));
        std::fs::write(folder.path().join("larder.toml"), config).expect("a configuration");
        let process = Process::start(BINARY, &["serve", "--config", "larder.toml"], folder.path());
        let mut house = House { folder, process, address, token: String::new(), service };
        until(|| {
            house.process.assert_alive(house.folder.path());
            std::net::TcpStream::connect(address).ok()
        });
        house.token = house.new_token();
        house
    }

    fn new_token(&self) -> String {
        let args = ["token", "create", "--name", "bench", "--role", "admin", "--config", "larder.toml"];
        let made = Command::new(BINARY).args(args).current_dir(self.folder.path()).output().expect("a command");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        String::from_utf8_lossy(&made.stdout).trim().to_owned()
    }

    /// Reads one work order after the other until it is told to stop: how long each took.
    fn reads(&self, orders: usize) -> Reading {
        let stop = Arc::new(AtomicBool::new(false));
        let reader = |n: usize| {
            let (stop, address) = (Arc::clone(&stop), self.address);
            tokio::spawn(async move {
                let mut reader = Reader::connect(address).await.expect("a socket");
                let (mut took, mut order) = (Vec::new(), n * orders / READERS);
                while !stop.load(Ordering::Relaxed) {
                    order = (order + 7) % orders;
                    let path = format!("/api/v1/connections/field/targets/wo-{order}");
                    let began = Instant::now();
                    assert_eq!(reader.get(&path).await.expect("an answer").0, 200, "{path}");
                    took.push(began.elapsed());
                    tokio::time::sleep(Duration::from_millis(4)).await;
                }
                took
            })
        };
        Reading { readers: (0..READERS).map(reader).collect(), stop }
    }

    /// One reading of all pages, by the button, and then until nothing more is written.
    async fn cycle(&mut self, name: &str, orders: usize) -> Cycle {
        self.process.assert_alive(self.folder.path());
        let asked = self.service.asked.load(Ordering::Relaxed);
        self.process.forget_highest();
        let (before, disk) = (self.process.memory_kb("VmRSS"), self.process.written_to_disk());
        let reading = self.reads(orders);
        let began = Instant::now();
        let mut reader = Reader::connect(self.address).await.expect("a socket");
        let path = "/api/v1/connections/field/targets/wo-0/refresh";
        let (status, length) = reader.post(path, &self.token).await.expect("an answer");
        // Each of its tasks takes more than its fields' names alone.
        assert!(status == 200 && length > EACH * 100, "{name}: {status}, {length} bytes");
        let published = began.elapsed();
        let settled = self.settled(began).await;
        let disk_after = self.process.written_to_disk();
        Cycle {
            name: name.to_owned(),
            requests: self.service.asked.load(Ordering::Relaxed) - asked,
            published,
            settled,
            before,
            highest: self.process.memory_kb("VmHWM"),
            after: self.process.memory_kb("VmRSS"),
            disk: disk_after - disk,
            reads: reading.stop().await,
        }
    }

    /// When it last wrote something, once it has not for a second.
    async fn settled(&self, began: Instant) -> Duration {
        let (mut last, mut known) = (began.elapsed(), self.process.written_to_disk());
        while began.elapsed() < last + Duration::from_secs(1) {
            tokio::time::sleep(Duration::from_millis(20)).await;
            let now = self.process.written_to_disk();
            if now != known {
                (last, known) = (began.elapsed(), now);
            }
        }
        last
    }
}

struct Reading {
    readers: Vec<tokio::task::JoinHandle<Vec<Duration>>>,
    stop: Arc<AtomicBool>,
}

impl Reading {
    async fn stop(self) -> Quantiles {
        self.stop.store(true, Ordering::Relaxed);
        let mut took = Vec::new();
        for reader in self.readers {
            took.extend(reader.await.expect("a reader"));
        }
        took.sort_unstable();
        Quantiles { reads: took.len(), p50: took[took.len() / 2], p99: took[took.len() * 99 / 100] }
    }
}

#[derive(Clone, Copy)]
struct Quantiles {
    reads: usize,
    p50: Duration,
    p99: Duration,
}

struct Cycle {
    name: String,
    requests: u64,
    /// From the button to its answer, and to the last write.
    published: Duration,
    settled: Duration,
    /// Resident, kB.
    before: u64,
    highest: u64,
    after: u64,
    /// Bytes.
    disk: u64,
    reads: Quantiles,
}

fn mib(bytes: u64) -> String {
    format!("{:.1} MiB", bytes as f64 / 1024.0 / 1024.0)
}

async fn cycles(orders: usize) {
    let work = Work { orders, each: EACH, size: PAGE };
    let mut house = House::build(work).await;
    let mut all = vec![house.cycle("first", orders).await];
    let idle = house.reads(orders);
    tokio::time::sleep(Duration::from_secs(8)).await;
    let idle = idle.stop().await;
    all.push(house.cycle("unchanged", orders).await);
    house.service.says(1);
    all.push(house.cycle("1 % changed", orders).await);
    house.service.says(2);
    house.service.thinks(PACE);
    all.push(house.cycle("1 % changed, two pages a second", orders).await);
    let file = std::fs::metadata(house.folder.path().join("larder.redb")).map_or(0, |m| m.len());
    house.process.stop();
    costs(orders, &all, file);
    latencies(idle, &all);
}

fn costs(orders: usize, all: &[Cycle], file: u64) {
    let row = |c: &Cycle| {
        let time = [c.published, c.settled].map(|t| format!("{:.1} s", t.as_secs_f64()));
        let size = [c.before << 10, c.highest << 10, c.after << 10, c.disk].map(mib);
        [c.name.clone(), c.requests.to_string()].into_iter().chain(time).chain(size).collect()
    };
    let rows: Vec<Vec<String>> = all.iter().map(row).collect();
    let columns = [
        "reading",
        "requests",
        "until it is published",
        "until all is in its place",
        "resident before",
        "highest",
        "after",
        "written to the disk",
    ];
    table(
        &format!("A reading of {orders} work orders of {EACH} tasks; the file has {} then", mib(file)),
        &columns,
        &rows,
    );
}

fn latencies(idle: Quantiles, all: &[Cycle]) {
    let row = |name: &str, q: &Quantiles| {
        let ratio = |of: fn(&Quantiles) -> Duration| format!("{:.1}", of(q).as_secs_f64() / of(&idle).as_secs_f64());
        vec![name.to_owned(), q.reads.to_string(), ms(q.p50), ms(q.p99), ratio(|q| q.p50), ratio(|q| q.p99)]
    };
    let rows: Vec<Vec<String>> =
        std::iter::once(row("idle", &idle)).chain(all.iter().map(|c| row(&c.name, &c.reads))).collect();
    let columns = ["meanwhile", "reads", "p50", "p99", "p50 to idle", "p99 to idle"];
    table("Reads of a work order with 200 tasks as JSON, two readers with a pause of 4 ms", &columns, &rows);
}

/// `days`, `cycles` or both; a number of work orders makes it quicker: the most of the days, and all of the cycles.
fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    let orders = args.iter().find_map(|a| a.parse().ok()).unwrap_or(1000);
    let only = args.iter().find(|a| a.parse::<usize>().is_err());
    let wanted = |name: &str| only.is_none_or(|o| o == name);
    if wanted("days") {
        days(orders);
    }
    if wanted("cycles") {
        shared::runtime().block_on(cycles(orders));
    }
}
