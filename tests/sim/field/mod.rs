//! Fields of work orders: 12, 100 and 1,000 of them share one credential for three days (F1-F13, T7).
//! `LARDER_SIM_SEED=17 cargo test --test sim field` lives one field of each size.

mod office;
mod planted;
pub mod scene;
mod world;

use crate::laws::field::{Seen, check_field};
use crate::record::{Fact, Meant, Record, What};
use crate::world::Plant;
use crate::{PANICS, from_environment, notice_panics};
use larder::domain::ids::Caller;
use scene::{Field, HUNDRED, Size, THOUSAND, TWELVE};
use std::sync::Arc;

fn lived(size: Size, seed: u64, plant: Plant) -> (Arc<Field>, Record) {
    notice_panics();
    let (field, mut record) = world::live(Field::draw(size, seed), seed, plant);
    let end = record.last().map_or(0, |f| f.at);
    let panics = PANICS.with_borrow_mut(std::mem::take);
    record.extend(panics.into_iter().map(|said| Fact { at: end, what: What::Panicked(said) }));
    (field, record)
}

/// What was sent, answered and asked for around a moment.
fn story(record: &[Fact], at: i64) -> String {
    let brief = |fact: &Fact| match &fact.what {
        What::Field(Seen::Look(_)) | What::History { .. } | What::Ledger { .. } => None,
        What::Field(Seen::Page { project, page, last, rows, .. }) => {
            Some(format!("page {page} of project {project}, {} rows, last: {last}", rows.len()))
        }
        What::Sent(s) => Some(format!("{} {} {:?}", s.request, s.caller, s.target)),
        what => Some(format!("{what:?}")),
    };
    let near: Vec<String> = record
        .iter()
        .filter(|f| (at - 2 * 3_600_000..=at + 1).contains(&f.at))
        .filter_map(|f| brief(f).map(|told| format!("{:>9} {told}\n", f.at)))
        .collect();
    near[near.len().saturating_sub(120)..].concat()
}

/// What a run has met.
#[derive(Default, Debug)]
struct Met {
    requests: usize,
    triggers: usize,
    refused: usize,
    deaths: usize,
    /// Between two pages of one reading.
    cut_short: usize,
}

fn met(record: &[Fact]) -> Met {
    let (mut met, mut between) = (Met::default(), false);
    for fact in record {
        match &fact.what {
            What::Sent(s) => {
                met.requests += 1;
                met.triggers += usize::from(s.caller == Caller::Trigger);
            }
            What::Delivered { meant: Meant::Refused { .. }, .. } => met.refused += 1,
            What::Field(Seen::Page { last, .. }) => between = !last,
            What::Ended(_) => {
                met.deaths += 1;
                met.cut_short += usize::from(std::mem::take(&mut between));
            }
            _ => {}
        }
    }
    met
}

/// Lives fields of a size; each keeps every law, and has met what the law is about.
fn fields_of(size: Size, seeds: u64) {
    let seeds = match from_environment("LARDER_SIM_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..from_environment("LARDER_SIM_SEEDS").unwrap_or(seeds),
    };
    let (mut complaints, mut worlds) = (Vec::new(), Vec::new());
    for seed in seeds {
        let (field, record) = lived(size, seed, Plant::NOTHING);
        worlds.push(met(&record));
        if let Err(broken) = check_field(&field, &record) {
            let story = story(&record, broken.at);
            complaints.push(format!("seed {seed}: {broken:?}\n{:?}\n{story}", field.troubles));
        }
    }
    println!("{} work orders: {worlds:?}", size.orders);
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
    assert!(worlds.iter().all(|m| m.triggers > 3 && m.refused > 3 && m.deaths > 3), "these fields prove nothing");
    assert!(worlds.iter().any(|m| m.cut_short > 0), "no reading was cut short");
}

#[test]
fn f12_a_field_of_twelve_keeps_the_laws() {
    fields_of(TWELVE, 1);
}

#[test]
fn f12_a_field_of_a_hundred_keeps_the_laws() {
    fields_of(HUNDRED, 1);
}

#[test]
fn f12_a_field_of_a_thousand_keeps_the_laws() {
    fields_of(THOUSAND, 1);
}
