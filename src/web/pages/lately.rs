//! How many requests each connection sent in the last day, hour by hour: a small drawing, and the same in a sentence. Must not know the rest of
//! the page.

use super::{Visit, show, stood};
use crate::domain::spend::{Hour, SpendAsk, SpendBy};
use crate::domain::time::Wall;
use crate::web::WebState;
use crate::web::errors::Problem;
use crate::web::svg::spark;
use crate::web::texts;
use std::collections::BTreeMap;

const HOURS: usize = 24;

pub struct Lately {
    pub svg: String,
    pub sentence: String,
}

/// Of all connections of the visitor's organization, in one reading of the file.
pub struct Day {
    by_hour: BTreeMap<String, [u64; HOURS]>,
    /// Where each hour of the clock lies on the axis that the drawing shares with the strip below it: its first is not over the left end, and its last
    /// goes on beyond the right one.
    places: [(f64, f64); HOURS],
}

impl Day {
    pub fn of(web: &WebState, visit: &Visit) -> Result<Day, Problem> {
        let now = web.shelf().now().wall();
        let first = first_hour(now);
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
        Ok(Day { by_hour, places: places(now) })
    }

    pub fn lately(&self, connection: &str) -> Lately {
        let hours = self.by_hour.get(connection).copied().unwrap_or_default();
        let counted: Vec<spark::Counted> = self.places.into_iter().zip(hours).collect();
        Lately { svg: spark::bars(&counted, spark::Last::Open), sentence: sentence(&hours) }
    }
}

fn first_hour(now: Wall) -> i64 {
    Hour::of(now).0 - (HOURS as i64 - 1)
}

/// As parts of the axis of [`stood::axis`].
fn places(now: Wall) -> [(f64, f64); HOURS] {
    let (from, until) = stood::axis(now);
    let part = |at: Wall| (at.0 - from.0) as f64 / (until.0 - from.0) as f64;
    let first = first_hour(now);
    std::array::from_fn(|n| {
        let hour = first + n as i64;
        (part(Hour(hour).begins()), part(Hour(hour + 1).begins().min(until)))
    })
}

fn sentence(hours: &[u64; HOURS]) -> String {
    let most = hours.iter().copied().max().unwrap_or(0);
    match hours.iter().fold(0_u64, |sum, n| sum.saturating_add(*n)) {
        0 => texts::t("lately-no-request-in-this").plain(),
        1 => texts::t("lately-1-request-in-this").plain(),
        sum if sum == most => texts::t("lately-requests-all-in-one").with("sum", show::count(sum)).plain(),
        sum => texts::t("lately-requests-in-the-busiest")
            .with("sum", show::count(sum))
            .with("most", show::count(most))
            .plain(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each bar stands over the stretch of the strip in which its requests were.
    #[test]
    fn every_hour_lies_where_the_axis_has_it() {
        let noon = 1_796_040_000_000;
        for minutes in [0, 1, 14, 15, 16, 44, 45, 59] {
            let now = Wall(noon + minutes * 60_000);
            let (from, until) = stood::axis(now);
            let places = places(now);
            assert!(places[0].0 >= 0.0 && places[0].0 < 1.0 / 24.0, "{minutes}: {places:?}");
            assert!((places[23].1 - 1.0).abs() < 1e-9, "{minutes}: {places:?}");
            assert!(places.windows(2).all(|p| p[0].1 == p[1].0), "{minutes}: {places:?}");
            let at = |part: f64| from.0 as f64 + part * (until.0 - from.0) as f64;
            assert!((at(places[23].0) - noon as f64).abs() < 1.0, "the open hour begins with the clock's: {minutes}");
            assert!(from.0 <= now.0 - 86_400_000 + 15 * 60_000 && now < until, "{minutes}");
        }
    }

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
