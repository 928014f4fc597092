//! The checkers: each reads a record and says where a law broke. None of them knows how the appliance works.

pub mod asking;
pub mod counts;
pub mod disk;
pub mod field;
pub mod pages;
pub mod shared;
pub mod shelf;
pub mod tokens;

use crate::machine::Ms;
use crate::record::{Fact, RequestNo, Sent, TargetAt, What};
use crate::scenario::Scenario;
pub use asking::*;
pub use counts::*;
pub use disk::*;
pub use pages::*;
pub use shared::*;
pub use shelf::*;
use std::collections::BTreeMap;
pub use tokens::*;

/// A law that broke, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    pub law: &'static str,
    pub at: Ms,
    pub detail: String,
}

pub type Verdict = Result<(), Broken>;

pub fn broken<T>(law: &'static str, at: Ms, detail: impl Into<String>) -> Result<T, Broken> {
    Err(Broken { law, at, detail: detail.into() })
}

/// Every law, in the order in which it is worth reading about them.
pub fn check(scenario: &Scenario, record: &[Fact]) -> Verdict {
    starts_and_goes_on(record)?;
    never_over(scenario, record)?;
    shows_no_less(scenario, record)?;
    every_request_is_charged(record)?;
    only_good_answers(record)?;
    honest_age(scenario, record)?;
    polls_keep_their_interval(scenario, record)?;
    polls_go_on(scenario, record)?;
    polls_heed_newer_answers(scenario, record)?;
    nothing_unasked(record)?;
    hops_follow(record)?;
    a_full_disk_stops_everything(record)?;
    health_comes_back(record)?;
    refreshes_are_worth_it(scenario, record)?;
    holds_hold(record)?;
    probes_go_alone(record)?;
    switches_are_heeded(record)?;
    generations_grow(record)?;
    history_is_whole(record)?;
    commands_are_sent_once(record)
}

/// Every law that speaks of a world whose list comes page by page.
pub fn check_paged(scenario: &Scenario, record: &[Fact]) -> Verdict {
    starts_and_goes_on(record)?;
    never_over(scenario, record)?;
    shows_no_less(scenario, record)?;
    every_request_is_charged(record)?;
    pages_remove_nothing(record)?;
    only_wholes_have_an_age(record)?;
    holds_hold(record)?;
    switches_are_heeded(record)?;
    generations_only_grow(record)?;
    history_is_whole(record)?;
    commands_are_sent_once(record)
}

/// Every law that speaks of a world with somebody else in it.
pub fn check_shared(scenario: &Scenario, record: &[Fact]) -> Verdict {
    starts_and_goes_on(record)?;
    shares_shrink(scenario, record)?;
    never_over(scenario, record)?;
    shows_no_less(scenario, record)?;
    every_request_is_charged(record)?;
    only_good_answers(record)?;
    honest_age(scenario, record)?;
    polls_keep_their_interval(scenario, record)?;
    holds_hold(record)?;
    switches_are_heeded(record)?;
    generations_grow(record)?;
    history_is_whole(record)?;
    commands_are_sent_once(record)
}

/// Every law that speaks of a world whose credential renews itself.
pub fn check_tokens(scenario: &Scenario, record: &[Fact]) -> Verdict {
    starts_and_goes_on(record)?;
    the_way_in_stays_open(record)?;
    one_refresher(record)?;
    renewals_are_needed(record)?;
    never_over(scenario, record)?;
    shows_no_less(scenario, record)?;
    every_request_is_charged(record)?;
    only_good_answers(record)?;
    honest_age(scenario, record)?;
    switches_are_heeded(record)?;
    generations_grow(record)?;
    history_is_whole(record)?;
    commands_are_taken_once(record)
}

/// Whatever happened to the file, the appliance starts again; and nothing in it panics.
pub fn starts_and_goes_on(record: &[Fact]) -> Verdict {
    for fact in record {
        match &fact.what {
            What::StartFailed(said) => return broken("starts again", fact.at, said),
            What::Panicked(said) => return broken("no panic", fact.at, said),
            _ => {}
        }
    }
    Ok(())
}

fn sent(record: &[Fact]) -> impl Iterator<Item = (Ms, &Sent)> {
    record.iter().filter_map(|f| match &f.what {
        What::Sent(sent) => Some((f.at, sent)),
        _ => None,
    })
}

/// Requests by number.
fn by_number(record: &[Fact]) -> BTreeMap<RequestNo, &Sent> {
    sent(record).map(|(_, s)| (s.request, s)).collect()
}

fn target_of(sent: &Sent) -> Option<TargetAt> {
    Some((sent.connection.clone(), sent.target.clone()?))
}
