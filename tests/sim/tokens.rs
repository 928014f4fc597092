//! Worlds in which the credential renews itself: each renewal brings another refresh token, the old one dies with the first use of the new
//! one, the token endpoint is in trouble now and then, and the process dies at any moment in between.
//! `LARDER_SIM_SEED=17 cargo test --test sim tokens` lives one world.

use crate::laws::{check_tokens, one_refresher, renewals_are_needed, the_way_in_stays_open};
use crate::machine::Ms;
use crate::provider::Leak;
use crate::record::{Fact, Record, What};
use crate::scenario::Scenario;
use crate::world::{Plant, live_in};
use crate::{PANICS, from_environment, notice_panics, tail};

const SEEDS: u64 = 24;

fn lived(seed: u64, plant: Plant) -> (Scenario, Record) {
    notice_panics();
    let (scenario, mut record) = live_in(Scenario::draw_tokens(seed), seed, plant);
    let end = record.last().map_or(0, |f| f.at);
    let panics = PANICS.with_borrow_mut(std::mem::take);
    record.extend(panics.into_iter().map(|said| Fact { at: end, what: What::Panicked(said) }));
    (scenario, record)
}

/// Deaths between a grant and the first use of what it brought.
fn cut_short(record: &[Fact]) -> usize {
    let (mut unused, mut deaths) = (false, 0);
    for fact in record {
        match &fact.what {
            What::Presented { .. } => unused = true,
            What::Carried { .. } => unused = false,
            What::Ended(_) => deaths += usize::from(std::mem::take(&mut unused)),
            _ => {}
        }
    }
    deaths
}

#[test]
fn worlds_of_tokens_keep_the_laws() {
    let seeds = match from_environment("LARDER_SIM_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..from_environment("LARDER_SIM_SEEDS").unwrap_or(SEEDS),
    };
    let (mut complaints, mut renewals, mut rejected, mut deaths) = (Vec::new(), 0, 0, 0);
    let many = seeds.clone().count();
    for seed in seeds {
        let (scenario, record) = lived(seed, Plant::NOTHING);
        renewals += record.iter().filter(|f| matches!(f.what, What::Renewed { granted: Some(_), .. })).count();
        rejected += record.iter().filter(|f| matches!(f.what, What::Carried { accepted: false, .. })).count();
        deaths += cut_short(&record);
        if let Err(broken) = check_tokens(&scenario, &record) {
            let story = tail(&record, broken.at);
            complaints.push(format!("seed {seed}: {broken:?}\n{:?}\n{story}", scenario.weather));
        }
    }
    println!(
        "{many} worlds, {renewals} renewals, {rejected} tokens rejected early, {deaths} deaths before the first use"
    );
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
    assert!(many == 1 || renewals > many && rejected > 0 && deaths > 0, "these worlds prove nothing");
}

fn noticed(plant: Plant, by: &str) {
    let mut others = Vec::new();
    for seed in 0..40 {
        let (scenario, record) = lived(seed, plant);
        match check_tokens(&scenario, &record) {
            Err(broken) if broken.law == by => return,
            Err(broken) => others.push(broken.law),
            Ok(()) => {}
        }
    }
    panic!("nobody noticed {plant:?}; other laws: {others:?}");
}

/// What was used and is gone after a power cut leads to an old refresh token, which is dead.
#[test]
fn a_disk_that_loses_tokens_is_noticed() {
    noticed(Plant { disk_lies: true, ..Plant::NOTHING }, "the way in stays open");
}

#[test]
fn a_door_that_renews_twice_at_once_is_noticed() {
    noticed(Plant { leak: Leak::SendsTwice, ..Plant::NOTHING }, "one refresher");
}

fn fact(at: Ms, what: What) -> Fact {
    Fact { at, what }
}

fn presents(at: Ms, request: usize, refresh: u64) -> Fact {
    fact(at, What::Presented { request, refresh, dead: false })
}

fn grants(at: Ms, request: usize, token: u64) -> Fact {
    fact(at, What::Renewed { request, granted: Some(token) })
}

fn carries(at: Ms, token: u64, accepted: bool) -> Fact {
    fact(at, What::Carried { token, accepted })
}

#[test]
fn a_loop_of_renewals_is_noticed() {
    let started = fact(0, What::Started);
    let ended = || fact(4_000, What::Ended(crate::record::End::Killed));
    let first = [started.clone(), presents(1_000, 1, 0), grants(1_500, 1, 1), carries(2_000, 1, true)];
    let world = |more: &[Fact]| [&first[..], more].concat();
    assert_eq!(renewals_are_needed(&world(&[])), Ok(()));
    let law = |more: &[Fact]| renewals_are_needed(&world(more)).err().map(|broken| broken.law);
    assert_eq!(law(&[presents(5_000, 2, 1)]), Some("renewals are needed"));
    assert_eq!(law(&[carries(5_000, 1, false), presents(5_500, 2, 1)]), None, "it was rejected");
    assert_eq!(law(&[presents(600_000, 2, 1)]), None, "its time was up");
    assert_eq!(law(&[ended(), presents(5_000, 2, 1)]), Some("renewals are needed"), "it was durable");
    let unused = [started, presents(1_000, 1, 0), grants(1_500, 1, 1), ended(), presents(5_000, 2, 0)];
    assert_eq!(renewals_are_needed(&unused), Ok(()), "it may not have been durable");
}

#[test]
fn two_at_once_and_a_dead_token_are_noticed() {
    let one = [presents(1_000, 1, 0), presents(1_200, 2, 0)];
    assert!(one_refresher(&one).is_err());
    let ended = fact(1_100, What::Ended(crate::record::End::Killed));
    assert_eq!(one_refresher(&[one[0].clone(), ended, one[1].clone()]), Ok(()));
    assert_eq!(one_refresher(&[one[0].clone(), grants(1_100, 1, 1), one[1].clone()]), Ok(()));
    let dead = fact(1_000, What::Presented { request: 1, refresh: 0, dead: true });
    assert!(the_way_in_stays_open(&[dead]).is_err());
}
