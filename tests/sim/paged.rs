//! Worlds with a list that comes page by page: killed at any page, refused, lost, and judged by the rows that stand on the shelf.
//! `LARDER_SIM_SEED=17 cargo test --test sim paged` lives one world.

use crate::laws::{check_paged, only_wholes_have_an_age, pages_remove_nothing};
use crate::provider::Leak;
use crate::record::{Fact, Meant, Record, Shown, What};
use crate::scenario::Scenario;
use crate::world::{Plant, live_in};
use crate::{PANICS, from_environment, notice_panics, tail};

const SEEDS: u64 = 24;

fn lived(seed: u64, plant: Plant) -> (Scenario, Record) {
    notice_panics();
    let (scenario, mut record) = live_in(Scenario::draw_paged(seed), seed, plant);
    let end = record.last().map_or(0, |f| f.at);
    let panics = PANICS.with_borrow_mut(std::mem::take);
    record.extend(panics.into_iter().map(|said| Fact { at: end, what: What::Panicked(said) }));
    (scenario, record)
}

/// Deaths between two pages of one reading.
fn cut_short(record: &[Fact]) -> usize {
    let mut between = false;
    let mut deaths = 0;
    for fact in record {
        match &fact.what {
            What::Delivered { meant: Meant::Page { last, .. }, .. } => between = !last,
            What::Ended(_) => deaths += usize::from(std::mem::take(&mut between)),
            _ => {}
        }
    }
    deaths
}

#[test]
fn a33_paged_worlds_keep_the_laws() {
    let seeds = match from_environment("LARDER_SIM_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..from_environment("LARDER_SIM_SEEDS").unwrap_or(SEEDS),
    };
    let (mut complaints, mut whole, mut deaths) = (Vec::new(), 0, 0);
    let many = seeds.clone().count();
    for seed in seeds {
        let (scenario, record) = lived(seed, Plant::NOTHING);
        whole += usize::from(record.iter().any(|f| matches!(&f.what, What::Shown(Shown { content: Some(_), .. }))));
        deaths += cut_short(&record);
        if let Err(broken) = check_paged(&scenario, &record) {
            let story = tail(&record, broken.at);
            complaints.push(format!("seed {seed}: {broken:?}\n{:?}\n{story}", scenario.weather));
        }
    }
    println!("{many} worlds, {whole} with a complete list, {deaths} deaths between two pages");
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
    assert!(many == 1 || 2 * whole > many && deaths > 0, "these worlds prove nothing");
}

#[test]
fn a_row_that_is_lost_or_made_up_is_noticed() {
    let (_, mut record) = lived(1, Plant::NOTHING);
    let end = record.last().map_or(0, |f| f.at) + 1;
    let shown = record.iter().rev().find_map(|f| match &f.what {
        What::Shown(shown) if shown.content.is_some() => Some(shown.clone()),
        _ => None,
    });
    let shown = shown.expect("a list that was shown");
    let mut doctored = |content: &str, age_s| {
        let shown = Shown { content: Some(content.to_owned()), age_s, ..shown.clone() };
        record.push(Fact { at: end, what: What::Shown(shown) });
        let verdicts = (pages_remove_nothing(&record).is_err(), only_wholes_have_an_age(&record).is_err());
        record.pop();
        verdicts
    };
    let content = shown.content.clone().unwrap_or_default();
    let less = content.split_once(',').map_or("", |(_, rest)| rest);
    assert_eq!(doctored(&content, Some(u64::MAX >> 1)), (false, false));
    assert!(doctored(less, None).0, "a row is gone");
    assert!(doctored(&format!("{content},z9=999"), None).0, "a row that nobody said");
    assert!(doctored(&content, Some(0)).1, "younger than its first page");
}

/// A refusal that is taken for a page removes rows.
#[test]
fn a_refusal_that_arrives_as_a_page_is_noticed() {
    let plant = Plant { leak: Leak::AngerAsData, ..Plant::NOTHING };
    let broken = (0..40).find_map(|seed| {
        let (scenario, record) = lived(seed, plant);
        check_paged(&scenario, &record).err().filter(|broken| broken.law == "pages remove nothing")
    });
    assert!(broken.is_some(), "nobody noticed");
}
