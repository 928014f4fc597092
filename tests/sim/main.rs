//! The simulator: the real engine in virtual time, on a disk that crashes, with a provider that keeps its own count. Every world is a
//! seed. A seed whose world breaks a law is printed with the command that replays it.
//!
//! * `LARDER_SIM_SEED=17 cargo test --test sim worlds` lives one world and prints its record where a law broke.
//! * `LARDER_SIM_SEEDS=1000 cargo test --test sim worlds` lives as many, from `LARDER_SIM_FROM` (0) on.
//! * `LARDER_SIM_SEEDS=20 cargo test --test sim field` lives as many fields of each size.

mod dice;
mod disk;
mod divided;
mod field;
mod holds;
mod issuer;
#[path = "../judges/mod.rs"]
mod judges;
mod laws;
mod machine;
mod neighbour;
mod paged;
mod planted;
mod provider;
mod readers;
mod record;
mod rival;
mod rotation;
mod scans;
mod scenario;
mod shared;
mod silence;
mod stage;
mod tokens;
mod unrecorded;
mod world;

use record::{Fact, Record, What};
use scenario::Scenario;
use std::cell::RefCell;
use world::Plant;

/// Worlds of a run that nobody asked for more of.
const SEEDS: u64 = 100;

fn from_environment(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name} is a number, not {text:?}")))
}

thread_local! {
    static PANICS: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

/// A panic inside a task of the engine ends that task and nothing else: it must not go unnoticed.
fn notice_panics() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            PANICS.with_borrow_mut(|panics| panics.push(info.to_string()));
            before(info);
        }));
    });
    PANICS.with_borrow_mut(Vec::clear);
}

/// Lives a world and lets the laws judge it.
fn judged(seed: u64, plant: Plant) -> (Record, laws::Verdict) {
    notice_panics();
    let (scenario, mut record) = world::live(seed, plant);
    let end = record.last().map_or(0, |f| f.at);
    let panics = PANICS.with_borrow_mut(std::mem::take);
    record.extend(panics.into_iter().map(|said| Fact { at: end, what: What::Panicked(said) }));
    let verdict = laws::check(&scenario, &record);
    (record, verdict)
}

/// What was done in the minutes before a law broke, and what readers saw last.
fn tail(record: &[Fact], at: i64) -> String {
    let short = |f: &&Fact| !matches!(f.what, What::History { .. } | What::Ledger { .. });
    let near = record.iter().filter(|f| (at - 1_200_000..=at + 1).contains(&f.at)).filter(short);
    let near: Vec<_> = near.collect();
    let seen = |f: &&Fact| matches!(f.what, What::Shown(_) | What::Budget { .. } | What::Job { .. });
    let last = near.iter().rposition(seen).map_or(0, |last| last.saturating_sub(12));
    let told = near.iter().enumerate().filter(|(n, f)| *n > last || !seen(f));
    told.map(|(_, f)| format!("{:>9} {:?}\n", f.at, f.what)).collect()
}

fn complain(seed: u64, broken: &laws::Broken, record: &[Fact]) -> String {
    let Scenario { connections, clocks, weather, skew, .. } = Scenario::draw(seed);
    let names: Vec<_> = connections.iter().map(|c| c.key.connection.as_str()).collect();
    format!(
        "seed {seed} broke \"{}\" at {} ms: {}\nworld: {names:?}, clocks {clocks:?}, skew {skew} ms, {weather:?}\n\
         {}replay: LARDER_SIM_SEED={seed} cargo test --test sim worlds\n",
        broken.law,
        broken.at,
        broken.detail,
        tail(record, broken.at)
    )
}

/// What came of some worlds.
#[derive(Default)]
struct Tally {
    worlds: u64,
    requests: usize,
    /// Redirects that were followed, and looks at an appliance whose disk was full.
    hops: usize,
    full: usize,
    complaints: Vec<(u64, String)>,
}

/// Lives the worlds of `seeds`, one after the other.
fn tally(seeds: impl Iterator<Item = u64>) -> Tally {
    let mut tally = Tally::default();
    for seed in seeds {
        let (record, verdict) = judged(seed, Plant::NOTHING);
        tally.worlds += 1;
        let many = |is: fn(&What) -> bool| record.iter().filter(|f| is(&f.what)).count();
        tally.requests += many(|what| matches!(what, What::Sent(_)));
        tally.hops += many(|what| matches!(what, What::Sent(s) if s.is_hop()));
        tally.full += many(|what| matches!(what, What::Health { ok: false }));
        if let Err(broken) = verdict {
            tally.complaints.push((seed, complain(seed, &broken, &record)));
        }
    }
    tally
}

#[test]
fn worlds_keep_the_laws() {
    let (from, many) = match from_environment("LARDER_SIM_SEED") {
        Some(seed) => (seed, 1),
        None => {
            (from_environment("LARDER_SIM_FROM").unwrap_or(0), from_environment("LARDER_SIM_SEEDS").unwrap_or(SEEDS))
        }
    };
    let hands = std::thread::available_parallelism().map_or(1, usize::from);
    let tallies: Vec<Tally> = std::thread::scope(|scope| {
        let deal = |hand: usize| (from..from + many).skip(hand).step_by(hands);
        let hands: Vec<_> = (0..hands).map(|hand| scope.spawn(move || tally(deal(hand)))).collect();
        hands.into_iter().map(|hand| hand.join().expect("a hand that lives worlds")).collect()
    });
    let sum = |part: fn(&Tally) -> usize| tallies.iter().map(part).sum::<usize>();
    let (worlds, requests) = (sum(|t| t.worlds as usize), sum(|t| t.requests));
    let (hops, full) = (sum(|t| t.hops), sum(|t| t.full));
    let mut complaints: Vec<_> = tallies.into_iter().flat_map(|t| t.complaints).collect();
    complaints.sort();
    println!(
        "{worlds} worlds, {requests} requests, {hops} of them hops, {full} looks at a full disk, {} broke a law",
        complaints.len()
    );
    let told: Vec<String> = complaints.into_iter().map(|(_, complaint)| complaint).collect();
    assert!(told.is_empty(), "{}", told.join("\n"));
    assert!(worlds < 40 || hops > 0 && full > 0, "these worlds prove nothing of redirects and full disks");
}

#[test]
fn a_seed_replays_to_the_letter() {
    for seed in [3, 4, 5] {
        let (first, second) = (world::live(seed, Plant::NOTHING).1, world::live(seed, Plant::NOTHING).1);
        let parts = first.iter().zip(&second).find(|(a, b)| a != b);
        assert_eq!(parts, None, "seed {seed}");
        assert_eq!(first.len(), second.len(), "seed {seed}");
    }
}
