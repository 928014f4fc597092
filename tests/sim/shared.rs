//! Worlds in which somebody else spends from our limit: what the provider says is left is what we may still send.
//! `LARDER_SIM_SEED=17 cargo test --test sim shared` lives one world.

use crate::laws::{check_shared, shares_shrink};
use crate::provider::Leak;
use crate::record::{Fact, Meant, Record, What};
use crate::scenario::Scenario;
use crate::world::{Plant, live_in};
use crate::{PANICS, from_environment, notice_panics, tail};

const SEEDS: u64 = 24;

fn lived(seed: u64, plant: Plant) -> (Scenario, Record) {
    notice_panics();
    let (scenario, mut record) = live_in(Scenario::draw_shared(seed), seed, plant);
    let end = record.last().map_or(0, |f| f.at);
    let panics = PANICS.with_borrow_mut(std::mem::take);
    record.extend(panics.into_iter().map(|said| Fact { at: end, what: What::Panicked(said) }));
    (scenario, record)
}

fn refused(record: &[Fact]) -> usize {
    record.iter().filter(|f| matches!(f.what, What::Delivered { meant: Meant::Refused { .. }, .. })).count()
}

#[test]
fn a31_shared_worlds_keep_the_laws() {
    let seeds = match from_environment("LARDER_SIM_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..from_environment("LARDER_SIM_SEEDS").unwrap_or(SEEDS),
    };
    let (mut complaints, mut words, mut deaf, mut heard) = (Vec::new(), 0, 0, 0);
    let many = seeds.clone().count();
    for seed in seeds {
        let (scenario, record) = lived(seed, Plant::NOTHING);
        words += record.iter().filter(|f| matches!(f.what, What::Told { .. })).count();
        heard += refused(&record);
        if seed < 6 {
            deaf += refused(&lived(seed, Plant { leak: Leak::HidesCounts, ..Plant::NOTHING }).1);
        }
        if let Err(broken) = check_shared(&scenario, &record) {
            let story = tail(&record, broken.at);
            complaints.push(format!("seed {seed}: {broken:?}\n{:?}\n{story}", scenario.weather));
        }
    }
    println!("{many} worlds, {words} words of the provider, {heard} refusals; {deaf} in six worlds that hear no word");
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
    assert!(many == 1 || words > 10 * many, "these worlds prove nothing");
}

/// The provider says what is left, and on the way the words get lost: then the limit is overrun as if nobody had said anything.
#[test]
fn an_appliance_that_hears_no_counts_is_noticed() {
    let broken = (0..40).find_map(|seed| {
        let (scenario, record) = lived(seed, Plant { leak: Leak::HidesCounts, ..Plant::NOTHING });
        shares_shrink(&scenario, &record).err()
    });
    assert_eq!(broken.map(|broken| broken.law), Some("shares shrink"));
}
