//! Durable admissions a second at 1, 16 and 64 waiters, beside Redis with `appendfsync always` on the same disk in the same run.
//! An admission is `Store::admit`: all limits decided, the charge on disk, the permit handed out. Redis's side is one `INCR`, and the better of two
//! clients counts: the one here and its own `redis-benchmark`. Beside them redb alone, a row each and nothing else, with the same group commit.

mod shared;

use larder::domain::charge::{Resolution, Settlement};
use larder::domain::connection::Ask;
use larder::domain::ids::{Caller, Endpoint};
use larder::domain::outcome::Outcome;
use larder::domain::time::Span;
use larder::rules::budget::Request;
use larder::store::{Admission, Commit, Lane, Store};
use shared::bare::Bare;
use shared::redis::Redis;
use shared::{CREDENTIAL, connection, median, now, per_second, scratch, table, wide_limit};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

const WAITERS: [usize; 3] = [1, 16, 64];
const ROUNDS: usize = 3;
const ROUND: Duration = Duration::from_secs(3);

#[derive(Clone, Copy)]
enum Life {
    /// The charge alone.
    Admit,
    /// The charge, and its resolution in the lazy lane: what a request costs from beginning to end.
    AdmitAndResolve,
}

fn admission() -> Admission {
    let ask = Ask { caller: Caller::Gateway, endpoint: Endpoint::from("/status"), cost: 1, organization: None };
    let request = Request {
        connection: connection(),
        target: None,
        ask,
        send_grace: Span::from_secs(5),
        request_timeout: Span::from_secs(30),
    };
    Admission { credential: CREDENTIAL, request, now: now(), with: Box::new(|_| Vec::new()) }
}

async fn one(store: &Store, life: Life) {
    let permit = store.admit(admission()).await.expect("a store").expect("a permit");
    if let Life::AdmitAndResolve = life {
        let resolution = Resolution {
            at: now().stamp(),
            settlement: Settlement::Posted,
            outcome: Outcome::Data,
            status: Some(200),
            rule: "data".into(),
            said: None,
            cost: None,
        };
        let resolve = Some((CREDENTIAL, permit.id(), resolution));
        let commit = Commit { resolve, lane: Lane::Lazy, ..Commit::default() };
        store.commit(commit).await.expect("a commit");
    }
}

/// How many a second while `waiters` tasks each do one after another.
async fn rate<F, Fut>(waiters: usize, task: F) -> f64
where
    F: Fn(Arc<AtomicU64>, Instant) -> Fut,
    Fut: Future<Output = ()> + Send + 'static,
{
    let done = Arc::new(AtomicU64::new(0));
    let began = Instant::now();
    let tasks: Vec<_> = (0..waiters).map(|_| tokio::spawn(task(Arc::clone(&done), began + ROUND))).collect();
    for task in tasks {
        task.await.expect("a waiter");
    }
    per_second(done.load(Ordering::Relaxed), began.elapsed())
}

async fn larder_rate(store: &Store, waiters: usize, life: Life) -> f64 {
    rate(waiters, |done, until| {
        let store = store.clone();
        async move {
            while Instant::now() < until {
                one(&store, life).await;
                done.fetch_add(1, Ordering::Relaxed);
            }
        }
    })
    .await
}

async fn bare_rate(bare: &Arc<Bare>, waiters: usize) -> f64 {
    rate(waiters, |done, until| {
        let bare = Arc::clone(bare);
        async move {
            while Instant::now() < until {
                bare.put().await;
                done.fetch_add(1, Ordering::Relaxed);
            }
        }
    })
    .await
}

async fn redis_rate(redis: &Arc<Redis>, waiters: usize) -> f64 {
    let own_client = rate(waiters, |done, until| {
        let redis = Arc::clone(redis);
        async move {
            let mut client = redis.client().await;
            while Instant::now() < until {
                client.incr().await;
                done.fetch_add(1, Ordering::Relaxed);
            }
        }
    })
    .await;
    let requests = (own_client * ROUND.as_secs_f64()) as u64;
    let peer = Arc::clone(redis);
    let its_client = tokio::task::spawn_blocking(move || peer.own_benchmark(waiters, requests)).await.expect("a run");
    own_client.max(its_client)
}

/// What runs beside each other on one disk.
struct Peers {
    store: Store,
    bare: Arc<Bare>,
    redis: Option<Arc<Redis>>,
}

impl Peers {
    async fn row(&self, waiters: usize) -> Vec<String> {
        let (mut admit, mut whole, mut bare, mut theirs) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            admit.push(larder_rate(&self.store, waiters, Life::Admit).await);
            if let Some(redis) = &self.redis {
                theirs.push(redis_rate(redis, waiters).await);
            }
            bare.push(bare_rate(&self.bare, waiters).await);
            whole.push(larder_rate(&self.store, waiters, Life::AdmitAndResolve).await);
        }
        let (admit, whole, bare) = (median(admit), median(whole), median(bare));
        let (theirs, ratio) = match theirs.is_empty() {
            true => ("not installed".into(), "-".into()),
            false => (format!("{:.0}", median(theirs.clone())), format!("{:.2}", admit / median(theirs))),
        };
        let own = format!("{:.2}", admit / bare);
        vec![
            waiters.to_string(),
            format!("{admit:.0}"),
            theirs,
            ratio,
            format!("{bare:.0}"),
            own,
            format!("{whole:.0}"),
        ]
    }
}

fn main() {
    shared::runtime().block_on(async {
        let (folder, other, peer) = (scratch(), scratch(), scratch());
        let store = shared::open(&folder.path().join("larder.redb"));
        store.install_budget(CREDENTIAL, vec![wide_limit()], &now()).expect("a budget");
        let bare = Arc::new(Bare::start(&other.path().join("bare.redb"), 32 << 20));
        let redis = Redis::start(peer.path()).map(Arc::new);
        let peers = Peers { store, bare, redis };
        let mut rows = Vec::new();
        // `cargo bench --bench admissions -- 64` for one row.
        let only: Option<usize> = std::env::args().skip(1).find_map(|a| a.parse().ok());
        for waiters in WAITERS.into_iter().filter(|w| only.is_none_or(|o| o == *w)) {
            rows.push(peers.row(waiters).await);
        }
        let columns = [
            "waiters",
            "Larder, admissions/s",
            "Redis, INCR/s",
            "ratio",
            "redb alone, rows/s",
            "ratio",
            "Larder, admitted and resolved/s",
        ];
        table("Durable admissions", &columns, &rows);
        let Peers { store, bare, redis } = peers;
        store.close().expect("a clean close");
        if let Some(bare) = Arc::into_inner(bare) {
            bare.stop();
        }
        if let Some(redis) = redis.and_then(Arc::into_inner) {
            redis.stop();
        }
    });
}
