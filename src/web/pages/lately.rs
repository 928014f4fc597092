//! How many requests each connection sent in the last day, hour by hour: a small drawing, and the same in a sentence. Must not know the rest of
//! the page.

use super::Visit;
use super::show;
use crate::domain::spend::{Hour, SpendAsk, SpendBy};
use crate::web::WebState;
use crate::web::errors::Problem;
use crate::web::svg::spark;
use std::collections::BTreeMap;

const HOURS: usize = 24;

pub struct Lately {
    pub svg: String,
    pub sentence: String,
}

/// Of all connections of the visitor's organization, in one reading of the file.
pub struct Day {
    by_hour: BTreeMap<String, [u64; HOURS]>,
}

impl Day {
    pub fn of(web: &WebState, visit: &Visit) -> Result<Day, Problem> {
        let now = web.shelf().now().wall();
        let first = Hour::of(now).0 - (HOURS as i64 - 1);
        let ask = SpendAsk {
            organization: Some(visit.organization.clone()),
            connection: None,
            by: SpendBy::Connection,
            starts: (first..).take(HOURS).map(|hour| Hour(hour).begins()).collect(),
            until: now,
        };
        let mut by_hour: BTreeMap<String, [u64; HOURS]> = BTreeMap::new();
        for (hour, slice) in web.shelf().spend(&ask)?.slices.into_iter().take(HOURS).enumerate() {
            for (connection, spent) in slice.groups {
                by_hour.entry(connection).or_default()[hour] = spent.requests;
            }
        }
        Ok(Day { by_hour })
    }

    pub fn lately(&self, connection: &str) -> Lately {
        let hours = self.by_hour.get(connection).copied().unwrap_or_default();
        Lately { svg: spark::bars(&hours), sentence: sentence(&hours) }
    }
}

fn sentence(hours: &[u64; HOURS]) -> String {
    let most = hours.iter().copied().max().unwrap_or(0);
    match hours.iter().fold(0_u64, |sum, n| sum.saturating_add(*n)) {
        0 => "No request in this time.".to_owned(),
        1 => "1 request in this time.".to_owned(),
        sum if sum == most => format!("{} requests, all in one hour.", show::count(sum)),
        sum => format!("{} requests, {} in the busiest hour.", show::count(sum), show::count(most)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sentence_says_what_the_bars_draw() {
        let mut hours = [0; HOURS];
        assert_eq!(sentence(&hours), "No request in this time.");
        hours[3] = 1;
        assert_eq!(sentence(&hours), "1 request in this time.");
        hours[3] = 7;
        assert_eq!(sentence(&hours), "7 requests, all in one hour.");
        hours[23] = 1200;
        assert_eq!(sentence(&hours), "1\u{202f}207 requests, 1\u{202f}200 in the busiest hour.");
        hours = [u64::MAX; HOURS];
        assert!(sentence(&hours).contains("in one hour"), "no sum runs over");
    }
}
