//! Worlds in which credentials are replaced while everything else goes wrong. `LARDER_SIM_SEED=17 cargo test --test sim rotat` lives one world.

use crate::laws::{Verdict, broken, check, never_over, starts_and_goes_on};
use crate::provider::Leak;
use crate::record::{Fact, Record, What};
use crate::scenario::Scenario;
use crate::world::{Plant, live_in};
use crate::{PANICS, from_environment, notice_panics, tail};
use larder::domain::credential::NewSecret;
use larder::domain::ids::CredentialId;
use std::collections::{BTreeMap, BTreeSet};

const SEEDS: u64 = 10;

fn lived(seed: u64, new: NewSecret, plant: Plant) -> (Scenario, Record) {
    notice_panics();
    let (scenario, mut record) = live_in(Scenario::draw_rotating(seed, new), seed, plant);
    let end = record.last().map_or(0, |f| f.at);
    let panics = PANICS.with_borrow_mut(std::mem::take);
    record.extend(panics.into_iter().map(|said| Fact { at: end, what: What::Panicked(said) }));
    (scenario, record)
}

/// Who paid for each request.
fn payers(record: &[Fact]) -> BTreeMap<usize, CredentialId> {
    let paid = |f: &Fact| match f.what {
        What::Paid { request, by, .. } => Some((request, by)),
        _ => None,
    };
    record.iter().filter_map(paid).collect()
}

/// Law 1 on each key by itself; and each request carries the secret whose budget paid for it.
fn each_on_its_own(scenario: &Scenario, record: &[Fact]) -> Verdict {
    starts_and_goes_on(record)?;
    for fact in record {
        if let What::Paid { request, by, with } = fact.what
            && by != with
        {
            return broken("the payer's secret", fact.at, format!("request {request}: {by} paid and {with} travelled"));
        }
    }
    let payers = payers(record);
    for payer in payers.values().collect::<BTreeSet<_>>() {
        let its = |f: &&Fact| match &f.what {
            What::Sent(sent) => payers.get(&sent.request) == Some(payer),
            _ => false,
        };
        let its: Vec<Fact> = record.iter().filter(its).cloned().collect();
        never_over(scenario, &its)?;
    }
    Ok(())
}

/// All worlds, each by the laws of what another secret is there; how many credentials paid, on average.
fn hold(new: NewSecret, laws: fn(&Scenario, &[Fact]) -> Verdict) -> f64 {
    let seeds = match from_environment("LARDER_SIM_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..from_environment("LARDER_SIM_SEEDS").unwrap_or(SEEDS),
    };
    let (many, mut complaints, mut paid) = (seeds.clone().count(), Vec::new(), 0);
    for seed in seeds {
        let (scenario, record) = lived(seed, new, Plant::NOTHING);
        paid += payers(&record).into_values().collect::<BTreeSet<_>>().len();
        if let Err(broken) = laws(&scenario, &record) {
            complaints.push(format!("seed {seed}: {broken:?}\n{:?}\n{}", scenario.weather, tail(&record, broken.at)));
        }
    }
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
    paid as f64 / many as f64
}

#[test]
fn law_1_a_rotated_secret_spends_its_own_budget_and_never_more() {
    let paid = hold(NewSecret::OwnBudget, each_on_its_own);
    println!("{paid:.1} credentials a world");
    assert!(paid > 1.5, "these worlds prove nothing");
}

#[test]
fn law_1_rotated_keys_of_one_account_are_together_never_over() {
    let paid = hold(NewSecret::SameAccount, check);
    assert!((paid - 1.0).abs() < 0.01, "one account, {paid} budgets");
}

/// Every request goes out twice, whatever its key.
#[test]
fn rotating_worlds_that_are_over_are_noticed() {
    let broken = (0..20).find_map(|seed| {
        let plant = Plant { leak: Leak::SendsTwice, ..Plant::NOTHING };
        let (scenario, record) = lived(seed, NewSecret::OwnBudget, plant);
        each_on_its_own(&scenario, &record).err()
    });
    assert_eq!(broken.map(|broken| broken.law), Some("never over"));
}
