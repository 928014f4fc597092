//! What holds where somebody else spends from the same limit.

use super::{Verdict, broken, by_number, sent};
use crate::machine::Ms;
use crate::neighbour::window;
use crate::record::{Fact, Sent, What};
use crate::scenario::Scenario;

/// A word that came so shortly before the end of a process may not have reached the disk.
const LANDED: Ms = 1_000;

/// So far may the two clocks and the leeway for them be apart.
const EDGE: Ms = 4_000;

/// A31: until the window ends, no more is sent than the provider said was left. A word is only held against us where it was said of
/// nothing but itself: not while another request of ours was on its way, nor where one may belong to the window or to the one before.
pub fn shares_shrink(scenario: &Scenario, record: &[Fact]) -> Verdict {
    let (length, began) = window(scenario);
    let window_of = |at: Ms| (began + at).div_euclid(length);
    let all: Vec<(Ms, &Sent, (Ms, Ms))> = sent(record).filter_map(|(at, s)| Some((at, s, s.counted?))).collect();
    let numbers = by_number(record);
    let ends: Vec<Ms> = record.iter().filter(|f| matches!(f.what, What::Ended(_))).map(|f| f.at).collect();
    for fact in record {
        let What::Told { request, left } = &fact.what else { continue };
        let Some(counted) = numbers.get(request).and_then(|s| s.counted) else { continue };
        let Some((asked, ..)) = all.iter().find(|(_, s, _)| s.request == *request) else { continue };
        let beside =
            |(at, s, over): &&(Ms, &Sent, (Ms, Ms))| s.request != *request && *at <= fact.at && over.1 >= *asked;
        let into = (began + counted.0).rem_euclid(length);
        let turn = (counted.0 - into - EDGE, counted.0 - into + EDGE);
        let on_the_edge = |over: &(Ms, &Sent, (Ms, Ms))| over.0 <= turn.1 && over.2.1 >= turn.0;
        let is_lost = ends.iter().any(|end| (fact.at..=fact.at + LANDED).contains(end));
        if is_lost || all.iter().any(|other| beside(&other) || on_the_edge(other)) {
            continue;
        }
        let since = all.iter().filter(|(at, _, when)| *at > fact.at && window_of(when.0) == window_of(counted.0));
        let many = since.count() as u64;
        if many > *left {
            let what = format!("{left} were left {into} ms into the window, and {many} were sent until it ended");
            return broken("shares shrink", fact.at, what);
        }
    }
    Ok(())
}
